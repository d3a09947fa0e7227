#include "crash/segment/script.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/endian.h"

enum { DELETE_EVERY = 5, DELETE_BACK = 4, KEY_BYTES = 24, PATH_BYTES = 256 };

struct sirix_lmdb_options script_options(const char *dir)
{
    return (struct sirix_lmdb_options){
        .dir = dir, .create = true, .reserve_bytes = 1, .map_bytes_min = 16 << 20};
}

static size_t length_of(uint64_t batch, size_t part)
{
    const size_t lengths[SCRIPT_SEGMENTS] = {100, 3000, batch % 8 == 0 ? 20000 : 500};

    return lengths[part];
}

static struct sirix_bytes key_of(char key[KEY_BYTES], uint64_t batch)
{
    int len = snprintf(key, KEY_BYTES, "b%08u", (unsigned)batch);

    assert_true(len > 0);
    return (struct sirix_bytes){.data = key, .len = (size_t)len};
}

struct test_outcome script_run(struct sirix_backend *backend, uint64_t batch,
                               void (*around)(bool before))
{
    bool deletes = batch % DELETE_EVERY == 0 && batch > DELETE_BACK;
    uint64_t number = sirix_segment_reserve(backend, SCRIPT_SEGMENTS);
    struct sirix_segment_put puts[SCRIPT_SEGMENTS];
    struct sirix_segment_range range = {0};
    char key[KEY_BYTES];
    char old_key[KEY_BYTES];
    uint8_t counter[8];
    uint8_t first[8];

    sirix_store_u64le(counter, batch);
    sirix_store_u64le(first, number);
    const struct sirix_ref_put refs[] = {
        {.key = key_of(key, batch), .value = {first, 8}, .expect = SIRIX_REF_EXPECT_ABSENT},
        {.key = test_text("left"), .value = {counter, 8}},
        {.key = test_text("right"), .value = {counter, 8}},
        {.key = key_of(old_key, batch - DELETE_BACK)},
    };
    for (size_t i = 0; i < SCRIPT_SEGMENTS; i++) {
        puts[i] = (struct sirix_segment_put){
            .number = number + i, .bytes = test_segment_new(number + i, length_of(batch, i))};
    }
    if (deletes) {
        struct sirix_reader *reader = NULL;
        struct sirix_bytes value;

        assert_int_equal(sirix_reader_open(backend, &reader, NULL), SIRIX_OK);
        assert_int_equal(sirix_ref_get(reader, refs[3].key, &value, NULL), SIRIX_OK);
        range.first = sirix_load_u64le(value.data);
        range.last = range.first + SCRIPT_SEGMENTS - 1;
        sirix_reader_close(reader);
    }
    const struct sirix_batch what = {
        .puts = puts,
        .put_count = SCRIPT_SEGMENTS,
        .refs = refs,
        .ref_count = deletes ? 4 : 3,
        .deletes = &range,
        .delete_count = deletes ? 1 : 0,
    };
    if (around != NULL) {
        around(true);
    }
    struct test_outcome outcome = test_commit(backend, &what);
    if (around != NULL) {
        around(false);
    }
    for (size_t i = 0; i < SCRIPT_SEGMENTS; i++) {
        test_segment_free(puts[i].bytes);
    }
    return outcome;
}

static uint64_t counter_of(struct sirix_reader *reader, const char *key, const char *about)
{
    struct sirix_bytes value;
    struct sirix_error err = {0};
    enum sirix_status status = sirix_ref_get(reader, test_text(key), &value, &err);

    if (status == SIRIX_NOT_FOUND) {
        return 0;
    }
    if (status != SIRIX_OK || value.len != 8) {
        fail_msg("%s: row %s: %s", about, key, err.text);
    }
    return sirix_load_u64le(value.data);
}

/* One batch that must be there as a whole, or be gone as a whole. Returns its first number, or 0. */
static uint64_t check_batch(struct sirix_reader *reader, uint64_t batch, bool there,
                            const char *about)
{
    char key[KEY_BYTES];
    struct sirix_bytes value;
    struct sirix_error err = {0};
    enum sirix_status status = sirix_ref_get(reader, key_of(key, batch), &value, &err);

    if (status != (there ? SIRIX_OK : SIRIX_NOT_FOUND)) {
        fail_msg("%s: batch %u: %s", about, (unsigned)batch, err.text);
    }
    if (!there) {
        return 0;
    }
    uint64_t number = sirix_load_u64le(value.data);
    for (size_t i = 0; i < SCRIPT_SEGMENTS; i++) {
        struct sirix_bytes page;
        size_t len = length_of(batch, i);

        if (sirix_segment_get(reader, sirix_address_make(number + i, 16), len - 16, &page, &err) !=
            SIRIX_OK) {
            fail_msg("%s: batch %u: %s", about, (unsigned)batch, err.text);
        }
        assert_true(test_segment_equal(
            number + i, (struct sirix_bytes){(const uint8_t *)page.data - 16, page.len + 16}));
    }
    return number;
}

static enum sirix_status count_segment(void *context, uint64_t number, struct sirix_bytes bytes,
                                       bool *stop, struct sirix_error *err)
{
    uint64_t *count = context;

    *stop = false;
    *count += 1;
    return sirix_segment_check(bytes, number, err);
}

uint64_t script_check(struct sirix_backend *backend, uint64_t acknowledged, uint64_t attempted,
                      const char *about)
{
    struct sirix_reader *reader = NULL;
    struct sirix_error err = {0};
    struct sirix_backend_stats stats;
    uint64_t stored = 0;
    uint64_t counted = 0;

    assert_int_equal(sirix_reader_open(backend, &reader, NULL), SIRIX_OK);
    uint64_t left = counter_of(reader, "left", about);
    uint64_t right = counter_of(reader, "right", about);
    if (left != right || left < acknowledged || left > attempted) {
        fail_msg("%s: left is %u, right is %u, of %u acknowledged and %u attempted", about,
                 (unsigned)left, (unsigned)right, (unsigned)acknowledged, (unsigned)attempted);
    }
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    for (uint64_t batch = 1; batch <= attempted + 1; batch++) {
        uint64_t deleter = batch + DELETE_BACK;
        bool deleted = deleter % DELETE_EVERY == 0 && deleter <= left;
        uint64_t number = check_batch(reader, batch, batch <= left && !deleted, about);

        assert_true(number == 0 || number + SCRIPT_SEGMENTS <= stats.next_number);
        stored += number == 0 ? 0 : SCRIPT_SEGMENTS;
    }
    /* And nothing else is there. */
    if (sirix_segment_scan(reader, 1, UINT64_MAX, count_segment, &counted, &err) != SIRIX_OK) {
        fail_msg("%s: %s", about, err.text);
    }
    if (counted != stored || stats.segment_count != stored) {
        fail_msg("%s: %u segments are stored and %u counted, not %u", about, (unsigned)counted,
                 (unsigned)stats.segment_count, (unsigned)stored);
    }
    sirix_reader_close(reader);
    return left;
}

uint64_t script_verify(const char *dir, uint64_t acknowledged, uint64_t attempted,
                       const char *about)
{
    const struct sirix_lmdb_options options = script_options(dir);
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    if (sirix_backend_open_lmdb(&options, &backend, &err) != SIRIX_OK) {
        fail_msg("%s: %s", about, err.text);
    }
    uint64_t left = script_check(backend, acknowledged, attempted, about);
    sirix_backend_close(backend);
    return left;
}

enum sirix_status script_pack(struct sirix_backend *backend, struct sirix_error *err)
{
    bool more = true;
    enum sirix_status status = SIRIX_OK;
    uint64_t next = sirix_segment_reserve(backend, 1);

    sirix_backend_set_settled(backend, next);
    while (status == SIRIX_OK && more) {
        status = sirix_backend_maintain(backend, (size_t)64 * 1024, &more, err);
    }
    return status;
}

void script_prepare(const char *dir, uint64_t count)
{
    struct sirix_lmdb_options options = script_options(dir);
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    options.no_sync = true;
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
    for (uint64_t batch = 1; batch <= count; batch++) {
        assert_int_equal(script_run(backend, batch, NULL).status, SIRIX_OK);
        if (batch == count / 2) {
            assert_int_equal(script_pack(backend, &err), SIRIX_OK);
        }
    }
    sirix_backend_close(backend);
}

void script_copy(const char *from_dir, const char *to_dir)
{
    char path[PATH_BYTES];
    struct stat found;
    ssize_t len = 0;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", from_dir);
    int from = open(path, O_RDONLY);
    assert_true(from >= 0);
    assert_int_equal(fstat(from, &found), 0);
    uint8_t *content = malloc((size_t)found.st_size);
    assert_non_null(content);
    len = read(from, content, (size_t)found.st_size);
    assert_int_equal(len, found.st_size);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", to_dir);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(to >= 0);
    assert_int_equal(write(to, content, (size_t)len), len);
    (void)close(from);
    (void)close(to);
    free(content);
}
