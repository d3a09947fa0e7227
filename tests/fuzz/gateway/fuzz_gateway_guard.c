/*
 * What the guard reads that somebody else may have written: lines of an audit log, and stored text that
 * is looked through for instructions. The first byte says which reader gets the rest.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "guard/audit_check.h"
#include "guard/suspicion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { READERS = 4 };

/* As a file: broken, or whole lines. */
static void read_file(const uint8_t *data, size_t size)
{
    struct sirix_audit_check check;
    const int fd = memfd_create("audit", MFD_CLOEXEC);

    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    assert(sirix_audit_check_init(&check, NULL) == SIRIX_OK);
    (void)(sirix_audit_check_file(&check, fd, NULL) == SIRIX_OK);
    assert(check.intent_count <= SIRIX_AUDIT_INTENTS_MAX);
    sirix_audit_check_deinit(&check);
    (void)close(fd);
}

/* As members of a line whose hash is right, behind a genesis: what a forger can write. */
static void read_lines(const uint8_t *data, size_t size)
{
    static const char genesis[] =
        "{\"seq\":0,\"event\":\"genesis\",\"instance\":\"i\",\"part\":1,\"prev\":"
        "\"0000000000000000000000000000000000000000000000000000000000000000\"";
    struct sirix_audit_check check;
    struct sirix_buf line;
    uint8_t digest[SIRIX_SHA256_BYTES];
    char hash[SIRIX_SHA256_HEX_BYTES] = "";

    assert(sirix_audit_check_init(&check, NULL) == SIRIX_OK);
    sirix_buf_init(&line, SIZE_MAX);
    for (unsigned seq = 0; seq < 3; seq++) {
        sirix_buf_clear(&line);
        enum sirix_status status =
            seq == 0 ? sirix_buf_append_str(&line, genesis, NULL)
                     : sirix_buf_printf(&line, NULL, "{\"seq\":%u,\"prev\":\"%s\",", seq, hash);

        assert(status == SIRIX_OK);
        if (seq != 0) {
            assert(sirix_buf_append(&line, data, size, NULL) == SIRIX_OK);
        }
        assert(sirix_sha256(line.data, line.len, digest, NULL) == SIRIX_OK);
        sirix_sha256_hex(digest, hash);
        assert(sirix_buf_printf(&line, NULL, ",\"hash\":\"%s\"}", hash) == SIRIX_OK);
        status = sirix_audit_check_line(&check, sirix_buf_view(&line), NULL);
        assert(seq != 0 || status == SIRIX_OK);
        if (status != SIRIX_OK) {
            break;
        }
        /* A bit that is another one is always noticed. */
        line.data[size % line.len] ^= 4;
        assert(sirix_audit_check_line(&check, sirix_buf_view(&line), NULL) != SIRIX_OK);
    }
    sirix_audit_check_deinit(&check);
    sirix_buf_deinit(&line);
}

static void look(const uint8_t *data, size_t size)
{
    enum sirix_suspicion found = SIRIX_SUSPICION_NONE;
    enum sirix_suspicion again = SIRIX_SUSPICION_NONE;

    assert(sirix_suspicion_of((struct sirix_bytes){data, size}, &found, NULL) == SIRIX_OK);
    assert(sirix_suspicion_of((struct sirix_bytes){data, size}, &again, NULL) == SIRIX_OK);
    assert(found == again && strlen(sirix_suspicion_name(found)) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    switch (data[0] % READERS) {
    case 0:
        read_file(data + 1, size - 1);
        break;
    case 1:
        read_lines(data + 1, size - 1);
        break;
    default:
        look(data + 1, size - 1);
        break;
    }
    return 0;
}
