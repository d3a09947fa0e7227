/*
 * Property: whatever bytes come as a backup are taken apart inside of their bounds, and a start or an end
 * that is taken is written back to the same bytes. Checksums are not asked, so that mistakes get deeper.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "service/backup_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const struct sirix_buf *buf, struct sirix_bytes payload)
{
    assert(buf->len == payload.len + SIRIX_BACKUP_FRAME_HEADER_BYTES);
    assert(memcmp(buf->data + SIRIX_BACKUP_FRAME_HEADER_BYTES, payload.data, payload.len) == 0);
    assert(sirix_backup_frame_is_whole(sirix_buf_view(buf)));
}

static void take_start(struct sirix_bytes payload)
{
    struct sirix_backup_start start;
    struct sirix_buf buf;

    if (sirix_backup_get_start(payload, &start, NULL) != SIRIX_OK) {
        return;
    }
    sirix_buf_init(&buf, SIRIX_BACKUP_FRAME_BYTES_MAX);
    if (sirix_backup_put_start(&buf, &start, NULL) == SIRIX_OK) {
        check_written(&buf, payload);
    }
    sirix_buf_deinit(&buf);
}

static void take_end(struct sirix_bytes payload)
{
    struct sirix_backup_end end;
    struct sirix_buf buf;

    if (sirix_backup_get_end(payload, &end, NULL) != SIRIX_OK) {
        return;
    }
    sirix_buf_init(&buf, SIRIX_BACKUP_FRAME_BYTES_MAX);
    if (sirix_backup_put_end(&buf, &end, NULL) == SIRIX_OK) {
        check_written(&buf, payload);
    }
    sirix_buf_deinit(&buf);
    free(end.holes);
}

/* So that every byte is looked at. */
static volatile unsigned looked_at;

static unsigned sum(struct sirix_bytes bytes)
{
    unsigned all = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        all += ((const uint8_t *)bytes.data)[i];
    }
    return all;
}

static void take_items(struct sirix_bytes payload, bool rows)
{
    struct sirix_bytes key;
    struct sirix_bytes value;
    uint64_t number = 0;

    while (rows ? sirix_backup_take_row(&payload, &key, &value)
                : sirix_backup_take_segment(&payload, &number, &value)) {
        assert(!rows || (key.len != 0 && key.len <= SIRIX_REF_KEY_BYTES_MAX));
        assert(rows || (number != 0 && number < SIRIX_BACKUP_NUMBER_MAX));
        looked_at += sum(value) + (rows ? sum(key) : 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    while (size >= SIRIX_BACKUP_FRAME_HEADER_BYTES) {
        enum sirix_backup_frame type = SIRIX_BACKUP_START;
        size_t len = 0;

        if (sirix_backup_frame_read(data, &type, &len, NULL) != SIRIX_OK ||
            len > size - SIRIX_BACKUP_FRAME_HEADER_BYTES) {
            break;
        }
        const struct sirix_bytes payload = {.data = data + SIRIX_BACKUP_FRAME_HEADER_BYTES,
                                            .len = len};
        if (type == SIRIX_BACKUP_START) {
            take_start(payload);
        } else if (type == SIRIX_BACKUP_END) {
            take_end(payload);
        } else {
            take_items(payload, type == SIRIX_BACKUP_REFS);
        }
        data += SIRIX_BACKUP_FRAME_HEADER_BYTES + len;
        size -= SIRIX_BACKUP_FRAME_HEADER_BYTES + len;
    }
    return 0;
}
