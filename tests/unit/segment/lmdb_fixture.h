/* A database on LMDB of its own for each test, and what the tests ask of it. */
#ifndef SIRIX_TESTS_SEGMENT_LMDB_FIXTURE_H
#define SIRIX_TESTS_SEGMENT_LMDB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/endian.h"
#include "store/segment/pack.h"
#include "unit/segment/support.h"

struct fixture {
    char dir[TEST_DIR_BYTES];
    struct sirix_lmdb_options options;
    struct sirix_backend *backend;
    struct sirix_reader *reader;
};

static inline enum sirix_status open_backend(struct fixture *f, struct sirix_error *err)
{
    enum sirix_status status = sirix_backend_open_lmdb(&f->options, &f->backend, err);

    if (status == SIRIX_OK) {
        assert_int_equal(sirix_reader_open(f->backend, &f->reader, NULL), SIRIX_OK);
    }
    return status;
}

static inline void close_backend(struct fixture *f)
{
    sirix_reader_close(f->reader);
    sirix_backend_close(f->backend);
    f->reader = NULL;
    f->backend = NULL;
}

static inline void reopen(struct fixture *f)
{
    struct sirix_error err = {0};

    close_backend(f);
    if (open_backend(f, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
}

static inline int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){0};
    test_dir_make(f.dir);
    f.options = (struct sirix_lmdb_options){
        .dir = f.dir, .create = true, .reserve_bytes = 1, .no_sync = true};
    *state = &f;
    assert_int_equal(open_backend(&f, NULL), SIRIX_OK);
    return 0;
}

/* A map of 1 MiB, so that a test can fill it. */
static inline int setup_small_map(void **state)
{
    static struct fixture f;

    f = (struct fixture){0};
    test_dir_make(f.dir);
    f.options = (struct sirix_lmdb_options){.dir = f.dir,
                                            .create = true,
                                            .reserve_bytes = 1,
                                            .no_sync = true,
                                            .map_bytes_min = 1 << 20};
    *state = &f;
    assert_int_equal(open_backend(&f, NULL), SIRIX_OK);
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    close_backend(f);
    test_dir_remove(f->dir);
    return 0;
}

static inline enum sirix_status get(struct sirix_reader *reader, uint64_t number,
                                    struct sirix_bytes *out_whole, struct sirix_error *err)
{
    struct sirix_bytes page;
    enum sirix_status status =
        sirix_segment_get(reader, sirix_address_make(number, 16), 0, &page, err);

    if (status == SIRIX_OK) {
        *out_whole =
            (struct sirix_bytes){.data = (const uint8_t *)page.data - 16, .len = page.len + 16};
    }
    return status;
}

static inline void expect_stored(struct sirix_reader *reader, uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number <= last; number++) {
        struct sirix_bytes whole;
        struct sirix_error err = {0};

        if (get(reader, number, &whole, &err) != SIRIX_OK) {
            fail_msg("segment %u: %s", (unsigned)number, err.text);
        }
        assert_true(test_segment_equal(number, whole));
    }
}

static inline void expect_absent(struct sirix_reader *reader, uint64_t number)
{
    struct sirix_bytes whole;
    struct sirix_error err = {0};

    assert_int_equal(get(reader, number, &whole, &err), SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "is not stored"));
}

static inline struct sirix_backend_stats stats_of(struct fixture *f)
{
    struct sirix_backend_stats stats;

    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    return stats;
}

static inline void maintain_all(struct fixture *f)
{
    bool more = true;

    while (more) {
        struct sirix_error err = {0};
        if (sirix_backend_maintain(f->backend, 1 << 20, &more, &err) != SIRIX_OK) {
            fail_msg("%s", err.text);
        }
    }
    sirix_reader_yield(f->reader);
}

#endif
