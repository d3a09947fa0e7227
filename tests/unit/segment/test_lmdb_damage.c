/* Damage in the file of an LMDB database: it is named, and everything else goes on. */
#include "unit/segment/lmdb_fixture.h"

#include <signal.h>
#include <sys/wait.h>

/* --- Damage ----------------------------------------------------------------------------------- */

/* Flips one bit of the first place in the data file that holds these bytes. */
static void damage_file(const char *dir, const void *needle, size_t len, size_t at)
{
    char path[TEST_DIR_BYTES + 16];
    struct stat found;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &found), 0);
    uint8_t *content = malloc((size_t)found.st_size);
    assert_non_null(content);
    assert_int_equal(pread(fd, content, (size_t)found.st_size, 0), found.st_size);
    uint8_t *place = memmem(content, (size_t)found.st_size, needle, len);
    assert_non_null(place);
    place[at] ^= 4;
    assert_int_equal(pwrite(fd, place + at, 1, place + at - content), 1);
    assert_int_equal(close(fd), 0);
    free(content);
}

static void a_damaged_segment_is_named_and_others_still_read(void **state)
{
    struct fixture *f = *state;
    struct sirix_bytes victim = test_segment_new(2, 3000);
    struct sirix_bytes whole;
    struct sirix_error err = {0};

    (void)sirix_segment_reserve(f->backend, 10);
    assert_int_equal(test_put(f->backend, 1, 3, 3000).status, SIRIX_OK);
    close_backend(f);
    damage_file(f->dir, victim.data, 64, 40);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);

    for (unsigned i = 0; i < 2; i++) { /* Bad news is not remembered as good. */
        assert_int_equal(get(f->reader, 2, &whole, &err), SIRIX_CORRUPT);
        assert_int_equal(err.reason, SIRIX_REASON_CHECKSUM);
        assert_string_equal(err.text, "segment 2 (pages, resource 7): checksum does not match");
        sirix_reader_yield(f->reader);
    }
    expect_stored(f->reader, 1, 1);
    expect_stored(f->reader, 3, 3);
    test_segment_free(victim);
}

static void a_damaged_pack_is_named_and_others_still_read(void **state)
{
    struct fixture *f = *state;
    struct sirix_bytes whole;
    struct sirix_error err = {0};
    uint8_t header[14]; /* Of the second pack: group, length, count. */

    (void)sirix_segment_reserve(f->backend, 600);
    assert_int_equal(test_put(f->backend, 256, 256, 100).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, 1, 255, 100).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 512);
    maintain_all(f);
    close_backend(f);
    sirix_store_u64le(header, 256);
    sirix_store_u32le(header + 8, 24 + 256 * 4 + 256 * 104);
    sirix_store_u16le(header + 12, 256);
    damage_file(f->dir, header, sizeof(header), 1);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);

    expect_stored(f->reader, 1, 255);
    assert_int_equal(get(f->reader, 300, &whole, &err), SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "pack of segments up to 511"));
}

static void a_file_that_was_cut_gives_errors_and_no_crash(void **state)
{
    struct fixture *f = *state;
    char path[TEST_DIR_BYTES + 16];
    struct stat found;

    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 20, 3000).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, 21, 20, 100).status, SIRIX_OK);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", f->dir);
    assert_int_equal(stat(path, &found), 0);
    for (off_t len = found.st_size - 4096; len >= 8192; len -= 4096) {
        unsigned failures = 0;
        struct sirix_error err = {0};

        close_backend(f);
        assert_int_equal(truncate(path, len), 0);
        if (open_backend(f, &err) != SIRIX_OK) {
            if (err.status != SIRIX_CORRUPT) {
                fail_msg("cut to %u: %s", (unsigned)len, err.text);
            }
            continue;
        }
        for (uint64_t number = 1; number <= 40; number++) {
            struct sirix_bytes whole;
            if (get(f->reader, number, &whole, &err) != SIRIX_OK) {
                assert_int_equal(err.status, SIRIX_CORRUPT);
                failures++;
            }
        }
        assert_true(failures > 0 || len > found.st_size - (off_t)8 * 4096);
    }
}

static enum sirix_status count_damage(void *context, uint64_t number, struct sirix_bytes bytes,
                                      bool *stop, struct sirix_error *err)
{
    unsigned *counts = context; /* Sound, damaged. */

    (void)err;
    *stop = false;
    counts[sirix_segment_check(bytes, number, NULL) == SIRIX_OK ? 0 : 1]++;
    return SIRIX_OK;
}

static enum sirix_status count_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                   bool *stop, struct sirix_error *err)
{
    (void)key;
    (void)value;
    (void)stop;
    (void)err;
    *(unsigned *)context += 1;
    return SIRIX_OK;
}

static void damage_ends_neither_a_scan_nor_a_delete(void **state)
{
    struct fixture *f = *state;
    uint8_t header[14];
    unsigned counts[2] = {0};

    (void)sirix_segment_reserve(f->backend, 1100);
    assert_int_equal(test_put(f->backend, 1, 800, 100).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 800);
    maintain_all(f);
    close_backend(f);
    sirix_store_u64le(header, 256);
    sirix_store_u32le(header + 8, 24 + 256 * 4 + 256 * 104);
    sirix_store_u16le(header + 12, 256);
    damage_file(f->dir, header, sizeof(header), 1);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);

    assert_int_equal(sirix_segment_scan(f->reader, 1, 900, count_damage, counts, NULL), SIRIX_OK);
    assert_int_equal(counts[0], 800 - 256);
    assert_int_equal(counts[1], 1);
    assert_int_equal(test_delete(f->backend, 200, 300).status, SIRIX_OK);
    assert_int_equal(stats_of(f).pack_count, 3);
    assert_int_equal(test_delete(f->backend, 1, 800).status, SIRIX_OK);
    assert_int_equal(stats_of(f).pack_count, 0);
}

static void a_database_that_is_open_is_not_opened_again(void **state)
{
    struct fixture *f = *state;
    struct sirix_backend *second = NULL;
    struct sirix_error err = {0};

    assert_int_equal(sirix_backend_open_lmdb(&f->options, &second, &err), SIRIX_UNAVAILABLE);
    assert_int_equal(err.reason, SIRIX_REASON_LOCKED);
    assert_int_equal(sirix_segment_reserve(f->backend, 1), 1);
    assert_int_equal(test_put(f->backend, 1, 1, 100).status, SIRIX_OK);
    reopen(f);
    expect_stored(f->reader, 1, 1);
}

/* --- Damage in the tree itself ---------------------------------------------------------------- */

enum {
    TREE_SEGMENTS = 200,
    TREE_ROWS = 100,
    TREE_PAGE_BYTES = 4096,
    TREE_LOWER_AT = 12, /* In the header of one of LMDB's pages. */
    TREE_FIRST_PAGE = 2,
};

/* Reads everything, in a process of its own; whether that was possible. */
static bool read_all(const struct fixture *f)
{
    struct fixture mine = {.options = f->options};
    struct sirix_bytes whole;
    unsigned rows = 0;
    bool all = true;

    if (open_backend(&mine, NULL) != SIRIX_OK) {
        return false;
    }
    for (uint64_t number = 1; number <= TREE_SEGMENTS; number++) {
        all = get(mine.reader, number, &whole, NULL) == SIRIX_OK && all;
        sirix_reader_yield(mine.reader);
    }
    all = sirix_ref_scan(mine.reader, test_text("k"), (struct sirix_bytes){0}, false, count_row,
                         &rows, NULL) == SIRIX_OK &&
          rows == TREE_ROWS && all;
    close_backend(&mine);
    return all;
}

/* The data file as it is at content, but for one page that says that it holds nothing; 0: none. */
static void write_data(const struct fixture *f, const uint8_t *content, size_t len, size_t page)
{
    static const uint8_t empty[2] = {16, 0}; /* Where the list of items ends: behind the header. */
    char path[TEST_DIR_BYTES + 16];

    (void)snprintf(path, sizeof(path), "%s/data.mdb", f->dir);
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, content, len, 0), len);
    assert_true(page == 0 ||
                pwrite(fd, empty, sizeof(empty), (off_t)(page * TREE_PAGE_BYTES + TREE_LOWER_AT)) ==
                    (ssize_t)sizeof(empty));
    assert_int_equal(close(fd), 0);
}

/* Opening is refused with the folder's name and what was met; without the note and the damage it is not. */
static void expect_refused(struct fixture *f, const uint8_t *content, size_t len)
{
    char path[TEST_DIR_BYTES + 16];
    struct sirix_error err = {0};

    assert_int_equal(open_backend(f, &err), SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, f->dir));
    assert_non_null(strstr(err.text, "Assertion"));
    assert_int_equal(open_backend(f, &err), SIRIX_CORRUPT);
    (void)snprintf(path, sizeof(path), "%s/damaged", f->dir);
    assert_int_equal(unlink(path), 0);
    write_data(f, content, len, 0);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);
    expect_stored(f->reader, 1, TREE_SEGMENTS);
    close_backend(f);
}

/*
 * LMDB gives errors for most of it; what it takes for impossible ends the process. That happens once, and
 * then the database is refused by its name.
 */
static void a_tree_that_ends_the_process_is_refused_from_then_on(void **state)
{
    struct fixture *f = *state;
    char path[TEST_DIR_BYTES + 16];
    struct stat found;
    unsigned aborts = 0;

    (void)sirix_segment_reserve(f->backend, TREE_SEGMENTS + 1);
    assert_int_equal(test_put(f->backend, 1, TREE_SEGMENTS, 300).status, SIRIX_OK);
    for (int i = 0; i < TREE_ROWS; i++) {
        char key[8];

        (void)snprintf(key, sizeof(key), "k%02d", i);
        assert_int_equal(test_ref(f->backend, key, "the value of a row").status, SIRIX_OK);
    }
    close_backend(f);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", f->dir);
    assert_int_equal(stat(path, &found), 0);
    uint8_t *content = malloc((size_t)found.st_size);
    int fd = open(path, O_RDONLY);
    assert_non_null(content);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, content, (size_t)found.st_size, 0), found.st_size);
    assert_int_equal(close(fd), 0);

    for (size_t page = TREE_FIRST_PAGE; page < (size_t)found.st_size / TREE_PAGE_BYTES; page++) {
        int status = 0;

        write_data(f, content, (size_t)found.st_size, page);
        (void)fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            FILE *silent = freopen("/dev/null", "w", stderr);
            _exit(silent != NULL && read_all(f) ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status)) {
            assert_int_equal(WTERMSIG(status), SIGABRT);
            aborts++;
            expect_refused(f, content, (size_t)found.st_size);
        }
    }
    assert_in_range(aborts, 1, 100);
    write_data(f, content, (size_t)found.st_size, 0);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);
    free(content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_damaged_segment_is_named_and_others_still_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_damaged_pack_is_named_and_others_still_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(damage_ends_neither_a_scan_nor_a_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(a_database_that_is_open_is_not_opened_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_was_cut_gives_errors_and_no_crash, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_tree_that_ends_the_process_is_refused_from_then_on, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
