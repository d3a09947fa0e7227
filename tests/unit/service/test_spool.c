/* Spooled text: the same bytes back, small or large, and the disk's failures told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/spool.h"

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __real_pread(int fd, void *data, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset);

static int failing_write;
static int failing_read;
static size_t most; /* Bytes that one write or read moves; 0: all. */

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    if (failing_write != 0) {
        errno = failing_write;
        return -1;
    }
    return __real_write(fd, data, most != 0 && len > most ? most : len);
}

ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset)
{
    if (failing_read != 0) {
        errno = failing_read;
        return -1;
    }
    return __real_pread(fd, data, most != 0 && len > most ? most : len, offset);
}

static void fill(struct sirix_spool *spool, size_t len)
{
    uint8_t piece[1000];

    for (size_t at = 0; at < len; at += sizeof(piece)) {
        for (size_t i = 0; i < sizeof(piece); i++) {
            piece[i] = (uint8_t)((at + i) * 7 % 251);
        }
        size_t part = len - at < sizeof(piece) ? len - at : sizeof(piece);
        assert_int_equal(
            sirix_spool_append(spool, (struct sirix_bytes){.data = piece, .len = part}, NULL),
            SIRIX_OK);
    }
}

static void check(const struct sirix_spool *spool, uint64_t from)
{
    struct sirix_buf scratch;
    uint64_t at = from;

    sirix_buf_init(&scratch, SIRIX_SPOOL_PIECE_BYTES);
    while (at < spool->len) {
        struct sirix_bytes piece = {.data = NULL, .len = 0};
        assert_int_equal(sirix_spool_read(spool, at, UINT64_MAX, &scratch, &piece, NULL), SIRIX_OK);
        assert_in_range(piece.len, 1, SIRIX_SPOOL_PIECE_BYTES);
        for (size_t i = 0; i < piece.len; i++) {
            assert_int_equal(((const uint8_t *)piece.data)[i], (at + i) * 7 % 251);
        }
        at += piece.len;
    }
    sirix_buf_deinit(&scratch);
}

static void what_is_put_in_comes_out_on_both_sides_of_the_memory_limit(void **state)
{
    const size_t sizes[] = {1, SIRIX_SPOOL_MEMORY_BYTES - 1, SIRIX_SPOOL_MEMORY_BYTES,
                            SIRIX_SPOOL_MEMORY_BYTES + 1, 5 * SIRIX_SPOOL_MEMORY_BYTES};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct sirix_spool spool;
        sirix_spool_init(&spool, "/tmp");
        fill(&spool, sizes[i]);
        assert_int_equal(spool.len, sizes[i]);
        assert_int_equal(spool.fd >= 0, sizes[i] > SIRIX_SPOOL_MEMORY_BYTES);
        check(&spool, 0);
        check(&spool, sizes[i] / 2);
        sirix_spool_deinit(&spool);
    }
}

static void short_writes_and_reads_are_gone_on_with(void **state)
{
    struct sirix_spool spool;

    (void)state;
    most = 777;
    sirix_spool_init(&spool, "/tmp");
    fill(&spool, SIRIX_SPOOL_MEMORY_BYTES + 5000);
    check(&spool, 0);
    sirix_spool_deinit(&spool);
    most = 0;
}

static void a_full_disk_is_no_space(void **state)
{
    struct sirix_spool spool;
    struct sirix_error err = {0};
    static uint8_t piece[SIRIX_SPOOL_MEMORY_BYTES];

    (void)state;
    sirix_spool_init(&spool, "/tmp");
    fill(&spool, 10);
    failing_write = ENOSPC;
    enum sirix_status status =
        sirix_spool_append(&spool, (struct sirix_bytes){.data = piece, .len = sizeof(piece)}, &err);
    failing_write = 0;
    assert_int_equal(status, SIRIX_NO_SPACE);
    sirix_spool_deinit(&spool);
}

static void a_disk_that_fails_to_read_is_told(void **state)
{
    struct sirix_spool spool;
    struct sirix_buf scratch;
    struct sirix_bytes piece = {.data = NULL, .len = 0};

    (void)state;
    sirix_buf_init(&scratch, SIRIX_SPOOL_PIECE_BYTES);
    sirix_spool_init(&spool, "/tmp");
    fill(&spool, 2 * SIRIX_SPOOL_MEMORY_BYTES);
    failing_read = EIO;
    assert_int_equal(sirix_spool_read(&spool, 0, 10, &scratch, &piece, NULL), SIRIX_IO);
    failing_read = 0;
    assert_null(piece.data);
    sirix_spool_deinit(&spool);
    sirix_buf_deinit(&scratch);
}

static void more_than_the_limit_is_refused(void **state)
{
    struct sirix_spool spool;
    struct sirix_error err = {0};

    (void)state;
    sirix_spool_init(&spool, "/tmp");
    fill(&spool, 10);
    assert_int_equal(
        sirix_spool_append(
            &spool, (struct sirix_bytes){.data = &spool, .len = SIRIX_SPOOL_BYTES_MAX - 9}, &err),
        SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_int_equal(spool.len, 10);
    sirix_spool_deinit(&spool);
}

static void a_folder_that_is_gone_is_told(void **state)
{
    static uint8_t piece[SIRIX_SPOOL_MEMORY_BYTES + 1];
    struct sirix_spool spool;

    (void)state;
    sirix_spool_init(&spool, "/none/such");
    assert_int_equal(
        sirix_spool_append(&spool, (struct sirix_bytes){.data = piece, .len = sizeof(piece)}, NULL),
        SIRIX_IO);
    sirix_spool_deinit(&spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_in_comes_out_on_both_sides_of_the_memory_limit),
        cmocka_unit_test(short_writes_and_reads_are_gone_on_with),
        cmocka_unit_test(a_full_disk_is_no_space),
        cmocka_unit_test(a_disk_that_fails_to_read_is_told),
        cmocka_unit_test(more_than_the_limit_is_refused),
        cmocka_unit_test(a_folder_that_is_gone_is_told),
    };
    return cmocka_run_group_tests_name("service spool", tests, NULL, NULL);
}
