/* Shared set-up of the revision tests. Everything in here must work: it asserts. */
#include "unit/revision/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/page/node.h"
#include "store/page/trie.h"

/* --- Failing allocations ------------------------------------------------------------------------ */

_Atomic int test_allocs_until_failure = -1;

static bool alloc_fails(void)
{
    if (atomic_load(&test_allocs_until_failure) < 0) {
        return false;
    }
    return atomic_fetch_sub(&test_allocs_until_failure, 1) == 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return alloc_fails() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return alloc_fails() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return alloc_fails() ? NULL : __real_realloc(old, size);
}

/* --- Fixture ------------------------------------------------------------------------------------ */

static int64_t clock_realtime(void *context)
{
    struct test_rev *f = context;

    return atomic_fetch_add(&f->now_us, atomic_load(&f->step_us));
}

/* A millisecond goes by whenever somebody looks. */
static uint64_t clock_monotonic(void *context)
{
    struct test_rev *f = context;

    return atomic_fetch_add(&f->now_ns, UINT64_C(1000000));
}

static struct sirix_backend *open_backend(struct test_rev *f, enum test_rev_backend backend,
                                          uint64_t seed)
{
    struct sirix_backend *opened = NULL;

    if (backend == TEST_REV_MEMORY || backend == TEST_REV_MEMORY_LATE) {
        const struct sirix_memory_options options = {
            .seed = seed, .delay_us_max = backend == TEST_REV_MEMORY_LATE ? 300 : 0};

        assert_int_equal(sirix_backend_open_memory(&options, &opened, NULL), SIRIX_OK);
        return opened;
    }
    if (f->dir[0] == '\0') {
        (void)snprintf(f->dir, sizeof(f->dir), "test_rev_XXXXXX");
        assert_non_null(mkdtemp(f->dir));
    }
    const struct sirix_lmdb_options options = {
        .dir = f->dir, .create = true, .no_sync = backend == TEST_REV_LMDB_NO_SYNC};
    struct sirix_error err = {0};

    if (sirix_backend_open_lmdb(&options, &opened, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    return opened;
}

static void open_database(struct test_rev *f, struct sirix_backend *backend,
                          struct sirix_recovery *recovery)
{
    const struct sirix_database_options options = {
        .backend = backend, .pool = f->pool, .clock = &f->clock};
    struct sirix_error err = {0};

    if (sirix_database_open(&options, &f->database, recovery, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(sirix_reader_open(sirix_database_backend(f->database), &f->reader, NULL),
                     SIRIX_OK);
}

void test_rev_open(struct test_rev *f, enum test_rev_backend backend, uint64_t seed)
{
    struct sirix_error err = {0};

    *f = (struct test_rev){.backend = backend, .random = seed};
    f->clock = (struct sirix_clock){
        .realtime_us = clock_realtime, .monotonic_ns = clock_monotonic, .context = f};
    atomic_store(&f->now_us, INT64_C(1700000000000000));
    atomic_store(&f->step_us, 10);
    assert_int_equal(sirix_committer_pool_start(0, &f->pool, NULL), SIRIX_OK);
    open_database(f, open_backend(f, backend, seed), NULL);
    if (sirix_resource_create(f->database, test_name("r"), test_name("tester"), test_name("made"),
                              &f->resource, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
}

void test_rev_reopen(struct test_rev *f, struct sirix_recovery *out_recovery)
{
    sirix_resource_unref(f->resource);
    sirix_reader_close(f->reader);
    sirix_database_close(f->database);
    open_database(f, open_backend(f, f->backend, 0), out_recovery);
    assert_int_equal(sirix_resource_open(f->database, test_name("r"), &f->resource, NULL),
                     SIRIX_OK);
}

/* The folder with whatever files the backend keeps in it. */
static void remove_dir(const char *dir)
{
    DIR *entries = opendir(dir);
    const struct dirent *entry = NULL;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        char path[sizeof(((struct test_rev *)NULL)->dir) + sizeof(entry->d_name) + 1];

        (void)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        (void)unlink(path); /* Not so for `.` and `..`, which is as it should be. */
    }
    assert_int_equal(closedir(entries), 0);
    assert_int_equal(rmdir(dir), 0);
}

void test_rev_close(struct test_rev *f)
{
    atomic_store(&test_allocs_until_failure, -1);
    sirix_resource_unref(f->resource);
    if (f->reader != NULL) {
        sirix_reader_close(f->reader);
    }
    sirix_database_close(f->database);
    sirix_committer_pool_stop(f->pool);
    if (f->dir[0] != '\0') {
        remove_dir(f->dir);
    }
}

uint64_t test_rev_random(struct test_rev *f, uint64_t limit)
{
    f->random = f->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (f->random >> 33) % limit;
}

/* --- Views -------------------------------------------------------------------------------------- */

static enum sirix_status open_view(struct test_rev *f, const struct sirix_view_spec *spec,
                                   struct sirix_view *view, struct sirix_error *err)
{
    sirix_reader_yield(f->reader);
    return sirix_view_open(f->resource, f->reader, spec, view, err);
}

enum sirix_status test_view_branch(struct test_rev *f, const char *branch, struct sirix_view *view,
                                   struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = test_name(branch)};

    return open_view(f, &spec, view, err);
}

enum sirix_status test_view_at(struct test_rev *f, const char *branch, int64_t time_us,
                               struct sirix_view *view, struct sirix_error *err)
{
    const struct sirix_view_spec spec = {
        .by = SIRIX_VIEW_BRANCH, .name = test_name(branch), .has_time = true, .time_us = time_us};

    return open_view(f, &spec, view, err);
}

enum sirix_status test_view_revision(struct test_rev *f, uint64_t revision, struct sirix_view *view,
                                     struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = revision};

    return open_view(f, &spec, view, err);
}

enum sirix_status test_view_snapshot(struct test_rev *f, const char *name, struct sirix_view *view,
                                     struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_SNAPSHOT, .name = test_name(name)};

    return open_view(f, &spec, view, err);
}

int64_t test_value(struct test_rev *f, const struct sirix_view *view)
{
    return test_value_at(f, view, 1);
}

int64_t test_value_at(struct test_rev *f, const struct sirix_view *view, uint64_t key)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row;
    struct sirix_node node;

    sirix_trie_cursor_init(&cursor, f->reader, view->record.trie);
    enum sirix_status status = sirix_trie_get(&cursor, key, &row, NULL);
    if (status == SIRIX_NOT_FOUND) {
        return INT64_MIN;
    }
    assert_int_equal(status, SIRIX_OK);
    assert_int_equal(sirix_node_decode(row.record, key, &node, NULL), SIRIX_OK);
    assert_int_equal(node.kind, SIRIX_NODE_INTEGER);
    return node.integer;
}

/* --- Publishing --------------------------------------------------------------------------------- */

void test_publication_make(struct test_rev *f, const struct sirix_view *base, int64_t value,
                           struct sirix_publication *publication)
{
    test_publication_make_at(f, base, 1, value, publication);
}

static void put_integer(struct sirix_trie_edit *edit, uint64_t key, int64_t value)
{
    const struct sirix_node node = {
        .kind = SIRIX_NODE_INTEGER, .key = key, .parent = 0, .integer = value};
    struct sirix_buf record;

    if (value == INT64_MIN) {
        assert_int_equal(sirix_trie_edit_remove(edit, key, key, NULL), SIRIX_OK);
        return;
    }
    sirix_buf_init(&record, SIZE_MAX);
    assert_int_equal(sirix_node_encode(&node, &record, NULL), SIRIX_OK);
    assert_int_equal(sirix_trie_edit_put(edit, key, 1, sirix_buf_view(&record), NULL), SIRIX_OK);
    sirix_buf_deinit(&record);
}

void test_publication_make_at(struct test_rev *f, const struct sirix_view *base, uint64_t key,
                              int64_t value, struct sirix_publication *publication)
{
    test_publication_make_both(f, base, key, key, value, publication);
}

void test_publication_make_both(struct test_rev *f, const struct sirix_view *base, uint64_t key,
                                uint64_t other, int64_t value,
                                struct sirix_publication *publication)
{
    static const char AUTHOR[] = "tester";
    const struct sirix_page_writer_options options = {
        .backend = sirix_database_backend(f->database),
        .resource_id = sirix_resource_id(base->resource),
        .record_bytes = sirix_record_bytes(sizeof(AUTHOR) - 1, 0),
    };
    struct sirix_reader *reader = NULL; /* Its own, so that threads may publish side by side. */
    struct sirix_page_writer *writer = NULL;
    struct sirix_trie_edit *edit = NULL;
    char digits[32];

    *publication = (struct sirix_publication){
        .resource = base->resource,
        .branch_id = base->branch_id,
        .base_revision = base->record.revision,
        .base_address = base->record_address,
        .record = {.node_count = 1, .author = {.data = AUTHOR, .len = sizeof(AUTHOR) - 1}},
    };
    publication->record.text_bytes =
        (uint64_t)snprintf(digits, sizeof(digits), "%lld", (long long)value);
    assert_int_equal(sirix_reader_open(options.backend, &reader, NULL), SIRIX_OK);
    assert_int_equal(sirix_page_writer_new(&options, &writer, NULL), SIRIX_OK);
    assert_int_equal(sirix_trie_edit_new(reader, base->record.trie, &edit, NULL), SIRIX_OK);
    put_integer(edit, key, value);
    put_integer(edit, other, value);
    assert_int_equal(sirix_trie_edit_write(edit, writer, &publication->record.trie, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_page_writer_finish(writer, &publication->segments,
                                              &publication->segment_count, publication->record.body,
                                              NULL),
                     SIRIX_OK);
    sirix_trie_edit_free(edit);
    sirix_page_writer_free(writer);
    sirix_reader_close(reader);
}

void test_publication_free(struct sirix_publication *publication)
{
    free(publication->segments);
    free(publication->replay);
    publication->segments = NULL;
    publication->replay = NULL;
}

enum sirix_status test_publish(struct test_rev *f, const struct sirix_view *base, int64_t value,
                               struct sirix_published *published, struct sirix_error *err)
{
    struct sirix_publication publication;

    test_publication_make(f, base, value, &publication);
    enum sirix_status status = sirix_publish(&publication, published, err);
    test_publication_free(&publication);
    return status;
}

struct sirix_published test_set(struct test_rev *f, const char *branch, int64_t value)
{
    struct sirix_published published = {0};
    struct sirix_view view;
    struct sirix_error err = {0};

    if (test_view_branch(f, branch, &view, &err) != SIRIX_OK ||
        test_publish(f, &view, value, &published, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    sirix_view_close(&view);
    return published;
}

uint64_t test_branch(struct test_rev *f, const char *from, const char *name, int64_t expires_us)
{
    struct sirix_branch_info info;
    struct sirix_view view;
    struct sirix_error err = {0};

    if (test_view_branch(f, from, &view, &err) != SIRIX_OK ||
        sirix_branch_create(&view, test_name(name), expires_us, &info, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    sirix_view_close(&view);
    return info.id;
}

/* --- Rows ---------------------------------------------------------------------------------------- */

static enum sirix_status count_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                   bool *stop, struct sirix_error *err)
{
    size_t *rows = context;

    (void)key;
    (void)value;
    (void)stop;
    (void)err;
    *rows += 1;
    return SIRIX_OK;
}

enum sirix_status test_count_rows(struct test_rev *f, const void *prefix, size_t len,
                                  size_t *out_rows)
{
    sirix_reader_yield(f->reader);
    *out_rows = 0;
    return sirix_ref_scan(f->reader, (struct sirix_bytes){.data = prefix, .len = len},
                          (struct sirix_bytes){0}, false, count_row, out_rows, NULL);
}

static void row_done(void *context, const struct sirix_commit_outcome *outcome)
{
    *(enum sirix_status *)context = outcome->status;
}

void test_put_row(struct test_rev *f, const struct sirix_rows_key *key, struct sirix_bytes value)
{
    const struct sirix_ref_put ref = {.key = sirix_rows_key_view(key), .value = value};
    const struct sirix_batch batch = {.refs = &ref, .ref_count = 1};
    enum sirix_status status = SIRIX_INTERNAL;

    sirix_backend_commit(sirix_database_backend(f->database), &batch, row_done, &status);
    assert_int_equal(status, SIRIX_OK);
}
