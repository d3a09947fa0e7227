/* The map that grows under readers, and a disk without room. */
#include "unit/segment/lmdb_fixture.h"

/* --- The map ---------------------------------------------------------------------------------- */

static void the_map_grows_with_what_is_put(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 100);
    for (uint64_t number = 1; number <= 64; number++) {
        expect_absent(f->reader, number);
        sirix_reader_yield(f->reader);
        assert_int_equal(test_put(f->backend, number, 1, (size_t)200 * 1024).status, SIRIX_OK);
    }
    sirix_reader_yield(f->reader);
    expect_stored(f->reader, 1, 64);
    assert_true(stats_of(f).file_bytes > 12 << 20);
    f->options.map_bytes_min = 0;
    reopen(f);
    expect_stored(f->reader, 1, 64);
}

static void a_batch_larger_than_the_map_makes_it_grow_at_once(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 40, (size_t)256 * 1024).status, SIRIX_OK);
    expect_stored(f->reader, 1, 40);
}

static void a_reader_that_does_not_yield_delays_growth_and_nothing_breaks(void **state)
{
    struct fixture *f = *state;
    struct sirix_reader *second = NULL;
    struct sirix_bytes page;

    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 1, 1000).status, SIRIX_OK);
    expect_stored(f->reader, 1, 1);
    assert_int_equal(sirix_segment_get(f->reader, sirix_address_make(1, 16), 984, &page, NULL),
                     SIRIX_OK);

    struct test_outcome outcome = test_put(f->backend, 2, 10, (size_t)256 * 1024);
    assert_int_equal(outcome.status, SIRIX_NO_SPACE);
    assert_non_null(strstr(outcome.error.text, "did not yield"));
    /* The slice still stands where it stood, and a second reader of this thread is let in. */
    assert_true(test_segment_equal(
        1, (struct sirix_bytes){.data = (const uint8_t *)page.data - 16, .len = 1000}));
    assert_int_equal(sirix_reader_open(f->backend, &second, NULL), SIRIX_OK);
    expect_stored(second, 1, 1);
    expect_absent(second, 2);
    sirix_reader_close(second);

    sirix_reader_yield(f->reader);
    assert_int_equal(test_put(f->backend, 2, 10, (size_t)256 * 1024).status, SIRIX_OK);
    expect_stored(f->reader, 1, 11);
}

static void the_limit_of_the_map_is_kept_and_named(void **state)
{
    struct fixture *f = *state;

    f->options.map_bytes_max = 4 << 20;
    reopen(f);
    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 10, (size_t)256 * 1024).status, SIRIX_OK);
    struct test_outcome outcome = test_put(f->backend, 11, 10, (size_t)256 * 1024);

    assert_int_equal(outcome.status, SIRIX_NO_SPACE);
    assert_non_null(strstr(outcome.error.text, "limit"));
    expect_stored(f->reader, 1, 10);
    expect_absent(f->reader, 11);
    assert_int_equal(test_delete(f->backend, 1, 5).status, SIRIX_OK);
    assert_false(stats_of(f).read_only);
}

static void deletes_go_on_when_the_map_is_full_to_its_limit(void **state)
{
    struct fixture *f = *state;
    enum sirix_status status = SIRIX_OK;
    uint64_t number = 0;

    f->options.map_bytes_max = 1 << 20;
    reopen(f);
    (void)sirix_segment_reserve(f->backend, 2000);
    for (size_t len = 3000; len > 20; len /= 2) {
        for (status = SIRIX_OK; status == SIRIX_OK;) {
            status = test_put(f->backend, ++number, 1, len).status;
        }
        assert_int_equal(status, SIRIX_NO_SPACE);
    }
    for (uint64_t first = 1; first < number; first++) {
        assert_int_equal(test_delete(f->backend, first, first).status, SIRIX_OK);
    }
    assert_int_equal(stats_of(f).segment_count, 0);
    assert_int_equal(test_put(f->backend, number + 1, 20, 3000).status, SIRIX_OK);
}

struct reading {
    struct sirix_backend *backend;
    _Atomic uint64_t *stored; /* Numbers up to this one are there. */
    _Atomic bool *stop;
    unsigned failures;
    unsigned reads;
};

static void *read_and_yield(void *context)
{
    struct reading *reading = context;
    struct sirix_reader *reader = NULL;

    if (sirix_reader_open(reading->backend, &reader, NULL) != SIRIX_OK) {
        reading->failures++;
        return NULL;
    }
    while (!atomic_load(reading->stop)) {
        uint64_t stored = atomic_load(reading->stored);

        for (uint64_t number = stored > 20 ? stored - 20 : 1; number <= stored; number++) {
            struct sirix_bytes whole;
            if (get(reader, number, &whole, NULL) != SIRIX_OK ||
                !test_segment_equal(number, whole)) {
                reading->failures++;
            }
            reading->reads++;
        }
        sirix_reader_yield(reader);
    }
    sirix_reader_close(reader);
    return NULL;
}

enum { READING_THREADS = 3, PUT_TRIES = 20 };

/* A reader that gets no processor for half a second keeps the map from growing: then once more. */
static enum sirix_status put_patiently(struct fixture *f, uint64_t number, size_t len)
{
    enum sirix_status status = SIRIX_NO_SPACE;

    for (unsigned i = 0; i < PUT_TRIES && status == SIRIX_NO_SPACE; i++) {
        status = test_put(f->backend, number, 1, len).status;
    }
    return status;
}

static void readers_see_right_bytes_while_the_map_moves_and_packs_are_made(void **state)
{
    struct fixture *f = *state;
    _Atomic uint64_t stored = 0;
    _Atomic bool stop = false;
    struct reading readings[READING_THREADS];
    pthread_t threads[READING_THREADS];
    enum sirix_status status = SIRIX_OK;
    bool more = false;

    for (size_t i = 0; i < READING_THREADS; i++) {
        readings[i] = (struct reading){.backend = f->backend, .stored = &stored, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, read_and_yield, &readings[i]), 0);
    }
    for (uint64_t number = 1; number <= 1500 && status == SIRIX_OK; number++) {
        (void)sirix_segment_reserve(f->backend, 1);
        status = put_patiently(f, number, number % 10 == 0 ? 100000 : 900);
        atomic_store(&stored, status == SIRIX_OK ? number : number - 1);
        if (status == SIRIX_OK && number % 64 == 0) {
            sirix_backend_set_settled(f->backend, number);
            status = sirix_backend_maintain(f->backend, 1 << 20, &more, NULL);
        }
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < READING_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readings[i].failures, 0);
    }
    assert_int_equal(status, SIRIX_OK);
    assert_true(stats_of(f).file_bytes > 12 << 20);
    assert_true(stats_of(f).pack_count >= 5);
    sirix_reader_yield(f->reader);
    expect_stored(f->reader, 1, 1500);
}

/* Pages of deleted segments are soon used again: what a reader remembers must not outlive them. */
static void a_reader_that_yields_often_never_sees_pages_used_again(void **state)
{
    struct fixture *f = *state;
    enum { ROUNDS = 400, ALIVE = 12 };

    (void)sirix_segment_reserve(f->backend, ROUNDS + 1);
    for (uint64_t number = 1; number <= ROUNDS; number++) {
        uint64_t oldest = number > ALIVE ? number - ALIVE + 1 : 1;

        assert_int_equal(test_put(f->backend, number, 1, 500 + number % 9 * 1700).status, SIRIX_OK);
        /* Twice without a commit in between, and after every third commit only. */
        if (number % 3 == 0) {
            sirix_reader_yield(f->reader);
            expect_stored(f->reader, oldest, number);
            sirix_reader_yield(f->reader);
            expect_stored(f->reader, oldest, number);
        }
        if (number >= ALIVE) {
            assert_int_equal(test_delete(f->backend, number - ALIVE + 1, number - ALIVE + 1).status,
                             SIRIX_OK);
        }
        if (number % 3 == 0) {
            expect_stored(f->reader, oldest, number); /* Its snapshot is from before the delete. */
            sirix_reader_yield(f->reader);
            if (number >= ALIVE) {
                expect_absent(f->reader, number - ALIVE + 1);
            }
        }
    }
    assert_true(stats_of(f).file_bytes < 2 << 20); /* Pages were used again indeed. */
}

static void readers_past_the_slots_are_refused_by_name(void **state)
{
    struct fixture *f = *state;
    enum { MANY = 513 };
    struct sirix_reader *readers[MANY];
    struct sirix_bytes value;
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(sirix_reader_open(f->backend, &readers[i], NULL), SIRIX_OK);
        status = sirix_ref_get(readers[i], test_text("none"), &value, &err);
        assert_int_equal(status, i < MANY - 1 ? SIRIX_NOT_FOUND : SIRIX_EXHAUSTED);
    }
    for (size_t i = 0; i < MANY; i++) {
        sirix_reader_close(readers[i]);
    }
    assert_int_equal(sirix_ref_get(f->reader, test_text("none"), &value, NULL), SIRIX_NOT_FOUND);
}

static void readers_that_have_yielded_need_no_slots(void **state)
{
    struct fixture *f = *state;
    enum { MANY = 2000, ROUNDS = 3 };
    static struct sirix_reader *readers[MANY];
    struct sirix_bytes value;
    struct sirix_error err = {0};

    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < MANY; i++) {
            if (round == 0) {
                assert_int_equal(sirix_reader_open(f->backend, &readers[i], NULL), SIRIX_OK);
            }
            assert_int_equal(sirix_ref_get(readers[i], test_text("none"), &value, &err),
                             SIRIX_NOT_FOUND);
            sirix_reader_yield(readers[i]);
        }
    }
    assert_int_equal(stats_of(f).readers, MANY + 1);
    for (size_t i = 0; i < MANY; i++) {
        sirix_reader_close(readers[i]);
    }
}

#ifdef SIRIX_SANITIZED
enum { MANY_DATABASES = 200 };
#else
enum { MANY_DATABASES = 1000 };
#endif
enum { DESCRIPTORS_EACH = 5, DESCRIPTORS_OTHER = 64 };

static void a_thousand_databases_are_open_at_once(void **state)
{
    struct fixture *f = *state;
    static struct sirix_backend *backends[MANY_DATABASES];
    static char dirs[MANY_DATABASES][TEST_DIR_BYTES + 16];
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < (rlim_t)MANY_DATABASES * DESCRIPTORS_EACH + DESCRIPTORS_OTHER) {
        print_message("only %u files may be open\n", (unsigned)limit.rlim_max);
        skip();
    }
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < MANY_DATABASES; i++) {
        struct sirix_error err = {0};

        (void)snprintf(dirs[i], sizeof(dirs[i]), "%s/%zu", f->dir, i);
        assert_int_equal(mkdir(dirs[i], 0700), 0);
        struct sirix_lmdb_options options = f->options;
        options.dir = dirs[i];
        if (sirix_backend_open_lmdb(&options, &backends[i], &err) != SIRIX_OK) {
            fail_msg("database %zu: %s", i, err.text);
        }
        assert_int_equal(sirix_segment_reserve(backends[i], 1), 1);
        assert_int_equal(test_put(backends[i], 1, 1, 100 + i).status, SIRIX_OK);
    }
    for (size_t i = 0; i < MANY_DATABASES; i++) {
        struct sirix_reader *reader = NULL;

        assert_int_equal(sirix_reader_open(backends[i], &reader, NULL), SIRIX_OK);
        expect_stored(reader, 1, 1);
        sirix_reader_close(reader);
        sirix_backend_close(backends[i]);
        test_dir_remove(dirs[i]);
    }
}

/* --- Room on the disk ------------------------------------------------------------------------- */

static void below_the_limit_of_free_space_only_deletes_go_on(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 10);
    assert_int_equal(test_put(f->backend, 1, 2, 100).status, SIRIX_OK);
    assert_int_equal(sirix_backend_writable(f->backend, NULL), SIRIX_OK);
    f->options.reserve_bytes = UINT64_MAX; /* More than any disk has. */
    reopen(f);

    struct sirix_error why = {0};
    assert_int_equal(sirix_backend_writable(f->backend, &why), SIRIX_NO_SPACE);
    assert_int_equal(why.reason, SIRIX_REASON_DISK_FULL);
    struct test_outcome outcome = test_put(f->backend, 3, 1, 100);
    assert_int_equal(outcome.status, SIRIX_NO_SPACE);
    assert_non_null(strstr(outcome.error.text, "bytes free, writes stop below"));
    assert_int_equal(test_ref(f->backend, "k", "v").status, SIRIX_NO_SPACE);
    expect_stored(f->reader, 1, 2);
    assert_int_equal(test_delete(f->backend, 1, 1).status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_absent(f->reader, 1);
    assert_false(stats_of(f).read_only);
}

enum { RESERVE_LEAST = 256 * 1024 };

static void housekeeping_keeps_a_reserve_file(void **state)
{
    struct fixture *f = *state;
    char path[TEST_DIR_BYTES + 16];
    struct stat found;

    maintain_all(f);
    (void)snprintf(path, sizeof(path), "%s/reserve", f->dir);
    assert_int_equal(stat(path, &found), 0);
    assert_true(found.st_size >= RESERVE_LEAST);
    assert_true(found.st_blocks * 512 >= RESERVE_LEAST); /* Allocated, not sparse. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_map_grows_with_what_is_put, setup_small_map, teardown),
        cmocka_unit_test_setup_teardown(a_batch_larger_than_the_map_makes_it_grow_at_once,
                                        setup_small_map, teardown),
        cmocka_unit_test_setup_teardown(
            a_reader_that_does_not_yield_delays_growth_and_nothing_breaks, setup_small_map,
            teardown),
        cmocka_unit_test_setup_teardown(the_limit_of_the_map_is_kept_and_named, setup_small_map,
                                        teardown),
        cmocka_unit_test_setup_teardown(deletes_go_on_when_the_map_is_full_to_its_limit,
                                        setup_small_map, teardown),
        cmocka_unit_test_setup_teardown(
            readers_see_right_bytes_while_the_map_moves_and_packs_are_made, setup_small_map,
            teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_yields_often_never_sees_pages_used_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(readers_past_the_slots_are_refused_by_name, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(readers_that_have_yielded_need_no_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thousand_databases_are_open_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(below_the_limit_of_free_space_only_deletes_go_on, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(housekeeping_keeps_a_reserve_file, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
