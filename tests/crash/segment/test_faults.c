/*
 * Failing writes, syncs, allocations and maps, each at every place in turn, in commits, packing,
 * opening and reading. After each: what was acknowledged is there and whole, what was refused is
 * not, an unknown outcome is one or the other, and only it keeps the database from being written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "crash/segment/faults.h"
#include "crash/segment/script.h"

enum { PREPARED = 260, ABOUT_BYTES = 96, LARGE_BYTES = 100 * 1024, SWEEP_MAX = 5000 };

static char template_dir[TEST_DIR_BYTES];

static int make_template(void **state)
{
    (void)state;
    faults_skip_syncs();
    test_dir_make(template_dir);
    script_prepare(template_dir, PREPARED);
    return 0;
}

static int remove_template(void **state)
{
    (void)state;
    test_dir_remove(template_dir);
    return 0;
}

static struct fault_plan plan;
static int64_t calls_seen;

static void arm_around(bool before)
{
    if (before) {
        faults_arm(&plan);
    } else {
        calls_seen = faults_disarm();
    }
}

struct tally {
    unsigned refused;
    unsigned unknown;
    unsigned runs;
};

/* Opens a copy of the template and runs one batch with the plan armed. False once nothing was hit. */
static bool fail_one_commit(uint64_t batch, struct tally *tally, const char *about)
{
    char dir[TEST_DIR_BYTES];
    struct sirix_backend *backend = NULL;

    test_dir_make(dir);
    script_copy(template_dir, dir);
    const struct sirix_lmdb_options options = script_options(dir);
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
    for (uint64_t i = PREPARED + 1; i < batch; i++) {
        assert_int_equal(script_run(backend, i, NULL).status, SIRIX_OK);
    }
    struct test_outcome outcome = script_run(backend, batch, arm_around);
    bool hit = calls_seen > plan.nth;

    if (!hit) {
        assert_int_equal(outcome.status, SIRIX_OK);
    }
    if (outcome.status == SIRIX_OUTCOME_UNKNOWN) {
        tally->unknown++;
        struct test_outcome next = script_run(backend, batch + 2, NULL);
        if (next.status != SIRIX_UNAVAILABLE ||
            next.error.reason != SIRIX_REASON_DATABASE_READ_ONLY) {
            fail_msg("%s: after an unknown outcome a commit gave %s", about,
                     sirix_status_name(next.status));
        }
    } else if (outcome.status != SIRIX_OK) {
        tally->refused++;
        /* Refused means not there, and the next try of the very same works. */
        (void)script_check(backend, batch - 1, batch - 1, about);
        assert_int_equal(script_run(backend, batch, NULL).status, SIRIX_OK);
    }
    tally->runs++;
    sirix_backend_close(backend);
    bool unknown = outcome.status == SIRIX_OUTCOME_UNKNOWN;
    (void)script_verify(dir, unknown ? batch - 1 : batch, batch, about);
    test_dir_remove(dir);
    return hit;
}

static void sweep_commits(const struct fault_plan *kind, struct tally *tally, const char *name)
{
    *tally = (struct tally){0};
    /* An ordinary batch, and one that deletes in packs. */
    for (uint64_t batch = PREPARED + 4; batch <= PREPARED + 5; batch++) {
        bool hit = true;

        for (int64_t nth = 0; hit; nth++) {
            char about[ABOUT_BYTES];
            assert_true(nth < SWEEP_MAX);
            (void)snprintf(about, sizeof(about), "%s, batch %u, call %d", name, (unsigned)batch,
                           (int)nth);
            plan = *kind;
            plan.nth = nth;
            hit = fail_one_commit(batch, tally, about);
        }
    }
    assert_true(tally->refused + tally->unknown > 0);
}

static void a_failed_write_leaves_nothing_or_latches(void **state)
{
    (void)state;
    struct tally tally;
    const struct fault_plan io = {.calls = FAULT_WRITE, .effect = FAULT_FAILS, .error = EIO};

    sweep_commits(&io, &tally, "EIO of a write");
    assert_true(tally.unknown > 0);
}

static void a_full_disk_before_the_sync_is_a_clean_refusal(void **state)
{
    (void)state;
    struct tally tally;
    const struct fault_plan full = {.calls = FAULT_WRITE, .effect = FAULT_FAILS, .error = ENOSPC};

    sweep_commits(&full, &tally, "ENOSPC of a write");
    assert_true(tally.refused > 0);
    /* Only the meta page's: two batches, one each. */
    assert_int_equal(tally.unknown, 2);
}

static void a_short_write_leaves_nothing_or_latches(void **state)
{
    (void)state;
    struct tally tally;
    const struct fault_plan cut = {.calls = FAULT_WRITE, .effect = FAULT_IS_SHORT, .error = EIO};

    sweep_commits(&cut, &tally, "a short write");
}

static void a_failed_sync_is_an_unknown_outcome_whatever_its_error(void **state)
{
    (void)state;
    struct tally tally;
    const int errors[] = {EIO, ENOSPC, EDQUOT};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        const struct fault_plan sync = {
            .calls = FAULT_SYNC, .effect = FAULT_FAILS, .error = errors[i]};
        sweep_commits(&sync, &tally, "a failed sync");
        assert_int_equal(tally.refused, 0);
        assert_true(tally.unknown > 0);
    }
}

static void a_failed_allocation_leaves_nothing_or_latches(void **state)
{
    (void)state;
    struct tally tally;
    const struct fault_plan memory = {.calls = FAULT_ALLOC, .effect = FAULT_FAILS};

    sweep_commits(&memory, &tally, "a failed allocation");
    assert_true(tally.refused > 0);
}

/* --- Packing ---------------------------------------------------------------------------------- */

static void a_failure_while_packing_loses_nothing(void **state)
{
    (void)state;
    const struct fault_plan kinds[] = {
        {.calls = FAULT_WRITE, .effect = FAULT_FAILS, .error = EIO},
        {.calls = FAULT_WRITE, .effect = FAULT_FAILS, .error = ENOSPC},
        {.calls = FAULT_SYNC, .effect = FAULT_FAILS, .error = EIO},
        {.calls = FAULT_ALLOC, .effect = FAULT_FAILS},
    };

    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        bool hit = true;

        for (int64_t nth = 0; hit; nth += 1 + nth / 8) {
            char dir[TEST_DIR_BYTES];
            char about[ABOUT_BYTES];
            struct sirix_backend *backend = NULL;
            struct sirix_error err = {0};

            (void)snprintf(about, sizeof(about), "packing, kind %zu, call %d", kind, (int)nth);
            test_dir_make(dir);
            script_copy(template_dir, dir);
            const struct sirix_lmdb_options options = script_options(dir);
            assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
            plan = kinds[kind];
            plan.nth = nth;
            faults_arm(&plan);
            enum sirix_status status = script_pack(backend, &err);
            hit = faults_disarm() > nth;
            if (status == SIRIX_OUTCOME_UNKNOWN) {
                assert_int_equal(script_run(backend, PREPARED + 1, NULL).status, SIRIX_UNAVAILABLE);
            }
            sirix_backend_close(backend);
            assert_int_equal(script_verify(dir, PREPARED, PREPARED, about), PREPARED);
            test_dir_remove(dir);
        }
    }
}

/* --- Opening ---------------------------------------------------------------------------------- */

static void opening_survives_any_failure(void **state)
{
    (void)state;
    const struct fault_plan kinds[] = {
        {.calls = FAULT_WRITE, .effect = FAULT_FAILS, .error = ENOSPC},
        {.calls = FAULT_SYNC, .effect = FAULT_FAILS, .error = EIO},
        {.calls = FAULT_ALLOC, .effect = FAULT_FAILS},
        {.calls = FAULT_MMAP, .effect = FAULT_FAILS},
    };

    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        for (unsigned existing = 0; existing < 2; existing++) {
            unsigned failures = 0;
            enum sirix_status status = SIRIX_IO;

            for (int64_t nth = 0; status != SIRIX_OK; nth++) {
                char dir[TEST_DIR_BYTES];
                struct sirix_backend *backend = NULL;
                struct sirix_error err = {0};

                test_dir_make(dir);
                if (existing == 1) {
                    script_copy(template_dir, dir);
                }
                const struct sirix_lmdb_options options = script_options(dir);
                plan = kinds[kind];
                plan.nth = nth;
                faults_arm(&plan);
                status = sirix_backend_open_lmdb(&options, &backend, &err);
                (void)faults_disarm();
                failures += status == SIRIX_OK ? 0 : 1;
                assert_true(status == SIRIX_OK || err.text[0] != '\0');
                sirix_backend_close(backend);
                /* Whatever was left behind, the next opening makes a database of it. */
                (void)script_verify(dir, existing == 1 ? PREPARED : 0, existing == 1 ? PREPARED : 0,
                                    "opening");
                test_dir_remove(dir);
            }
            assert_true(failures > 0 || (existing == 1 && kind < 2));
        }
    }
}

/* --- Reading ---------------------------------------------------------------------------------- */

static enum sirix_status look(void *context, uint64_t number, struct sirix_bytes bytes, bool *stop,
                              struct sirix_error *err)
{
    unsigned *seen = context;

    (void)number;
    (void)bytes;
    (void)err;
    *seen += 1;
    *stop = *seen == 10;
    return SIRIX_OK;
}

static enum sirix_status look_ref(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    (void)key;
    return look(context, 0, value, stop, err);
}

/* Reads a little of everything; the first failure, or SIRIX_OK. */
static enum sirix_status read_all_kinds(struct sirix_backend *backend, struct sirix_error *err)
{
    struct sirix_reader *reader = NULL;
    struct sirix_bytes bytes;
    unsigned seen = 0;
    unsigned refs_seen = 0;
    enum sirix_status status = sirix_reader_open(backend, &reader, err);

    if (status == SIRIX_OK) {
        status = sirix_ref_get(reader, test_text("left"), &bytes, err);
    }
    /* Of batches 2 to 5, three segments each, packed ones and single ones. */
    for (uint64_t number = 4; number < 16 && status == SIRIX_OK; number++) {
        status = sirix_segment_get(reader, sirix_address_make(number, 16), 0, &bytes, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_segment_scan(reader, 1, UINT64_MAX, look, &seen, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_ref_scan(reader, test_text("b"), test_text(""), true, look_ref, &refs_seen, err);
    }
    sirix_reader_close(reader);
    return status;
}

static void reading_survives_the_failure_of_any_allocation(void **state)
{
    (void)state;
    unsigned failures = 0;
    enum sirix_status status = SIRIX_NO_MEMORY;
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};
    const struct sirix_lmdb_options options = script_options(template_dir);

    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
    bool hit = true;
    for (int64_t nth = 0; hit; nth++) {
        plan = (struct fault_plan){.calls = FAULT_ALLOC, .effect = FAULT_FAILS, .nth = nth};
        faults_arm(&plan);
        status = read_all_kinds(backend, &err);
        hit = faults_disarm() > nth;
        if (status != SIRIX_OK && status != SIRIX_NO_MEMORY) {
            fail_msg("allocation %d: %s", (int)nth, err.text);
        }
        failures += status == SIRIX_OK ? 0 : 1;
    }
    assert_int_equal(status, SIRIX_OK);
    assert_true(failures >= 4); /* Reader, transaction, tables, cursors. */
    sirix_backend_close(backend);
}

static void a_map_that_cannot_grow_is_a_full_one(void **state)
{
    (void)state;
    char dir[TEST_DIR_BYTES];
    struct sirix_backend *backend = NULL;
    struct sirix_reader *reader = NULL;
    unsigned refused = 0;

    test_dir_make(dir);
    struct sirix_lmdb_options options = script_options(dir);
    options.map_bytes_min = 1 << 20;
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_reader_open(backend, &reader, NULL), SIRIX_OK);
    (void)sirix_segment_reserve(backend, 100);
    plan = (struct fault_plan){
        .calls = FAULT_MMAP, .effect = FAULT_FAILS, .nth = 0, .and_all_after = true};
    faults_arm(&plan);
    for (uint64_t number = 1; number <= 20; number++) {
        struct test_outcome outcome = test_put(backend, number, 1, LARGE_BYTES);
        assert_true(outcome.status == SIRIX_OK || outcome.status == SIRIX_NO_SPACE);
        refused += outcome.status == SIRIX_OK ? 0 : 1;
    }
    (void)faults_disarm();
    assert_true(refused > 5 && refused < 20);
    for (uint64_t number = 1; number <= 20; number++) {
        (void)test_put(backend, number, 1, LARGE_BYTES);
    }
    for (uint64_t number = 1; number <= 20; number++) {
        struct sirix_bytes bytes;
        assert_int_equal(sirix_segment_get(reader, sirix_address_make(number, 16), 1, &bytes, NULL),
                         SIRIX_OK);
    }
    sirix_reader_close(reader);
    sirix_backend_close(backend);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_write_leaves_nothing_or_latches),
        cmocka_unit_test(a_full_disk_before_the_sync_is_a_clean_refusal),
        cmocka_unit_test(a_short_write_leaves_nothing_or_latches),
        cmocka_unit_test(a_failed_sync_is_an_unknown_outcome_whatever_its_error),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_or_latches),
        cmocka_unit_test(a_failure_while_packing_loses_nothing),
        cmocka_unit_test(opening_survives_any_failure),
        cmocka_unit_test(reading_survives_the_failure_of_any_allocation),
        cmocka_unit_test(a_map_that_cannot_grow_is_a_full_one),
    };
    return cmocka_run_group_tests_name("segment faults", tests, make_template, remove_template);
}
