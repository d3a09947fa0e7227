/* Options, authors and kept answers: pure parts of a write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "service/apply.h"
#include "service/once.h"

static struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

static void an_author_is_made_and_taken_apart(void **state)
{
    const struct {
        const char *name;
        const char *for_whom;
        bool trusted;
        const char *author;
    } cases[] = {
        {"owner", "", false, "owner"},
        {"owner", "", true, "owner"},
        {"owner", "anna", false, "owner~anna"},
        {"gate-1", "anna", true, "gate-1:anna"},
        {"owner", "a~b:c", false, "owner~a~b:c"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sirix_caller caller = {.name = cases[i].name,
                                            .trusted_to_speak_for_others = cases[i].trusted};
        struct sirix_author author;
        struct sirix_bytes name = {.data = NULL, .len = 0};
        struct sirix_bytes for_whom = {.data = NULL, .len = 0};
        bool claimed = false;

        sirix_author_make(&caller, text(cases[i].for_whom), &author);
        assert_true(sirix_bytes_equal((struct sirix_bytes){.data = author.text, .len = author.len},
                                      text(cases[i].author)));
        sirix_author_split(text(cases[i].author), &name, &for_whom, &claimed);
        assert_true(sirix_bytes_equal(name, text(cases[i].name)));
        assert_true(sirix_bytes_equal(for_whom, text(cases[i].for_whom)));
        assert_int_equal(claimed, !cases[i].trusted && cases[i].for_whom[0] != '\0');
    }
}

static void the_longest_author_fits_into_a_record(void **state)
{
    char name[SIRIX_CALLER_NAME_BYTES_MAX + 1];
    char for_whom[SIRIX_ON_BEHALF_BYTES_MAX + 1];
    struct sirix_author author;

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memset(for_whom, 'f', sizeof(for_whom) - 1);
    for_whom[sizeof(for_whom) - 1] = '\0';
    const struct sirix_caller caller = {.name = name};
    sirix_author_make(&caller, text(for_whom), &author);

    assert_int_equal(author.len, SIRIX_AUTHOR_TEXT_BYTES);
    assert_true(author.len <= SIRIX_AUTHOR_BYTES_MAX);
}

static void a_kept_answer_is_read_as_it_was_written(void **state)
{
    uint64_t keys_a[] = {1000, 1002, 900, UINT64_MAX, 0};
    uint64_t keys_b[] = {7};
    struct sirix_operation_result operations[] = {
        {.node_keys = keys_a, .node_key_count = 5, .kind = SIRIX_VALUE_OBJECT, .changed = true},
        {.kind = SIRIX_VALUE_NUMBER, .equal_value = true, .changed = true},
        {.kind = SIRIX_VALUE_NONE},
        {.node_keys = keys_b, .node_key_count = 1, .kind = SIRIX_VALUE_NULL, .changed = true},
    };
    const struct sirix_apply_result given = {.operations = operations, .operation_count = 4};
    struct sirix_apply_result result = {0};
    struct sirix_arena arena;
    struct sirix_buf answer;

    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(sirix_apply_answer_encode(SIRIX_APPLY_OPERATIONS, &given, &answer, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_apply_answer_decode(sirix_buf_view(&answer), &arena, &result, NULL),
                     SIRIX_OK);

    assert_true(result.operations_known);
    assert_int_equal(result.operation_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct sirix_operation_result *got = &result.operations[i];
        assert_int_equal(got->kind, operations[i].kind);
        assert_int_equal(got->changed, operations[i].changed);
        assert_int_equal(got->equal_value, operations[i].equal_value);
        assert_int_equal(got->node_key_count, operations[i].node_key_count);
        for (size_t j = 0; j < got->node_key_count; j++) {
            assert_true(got->node_keys[j] == operations[i].node_keys[j]);
        }
    }
    sirix_buf_deinit(&answer);
    sirix_arena_deinit(&arena);
}

static void an_answer_that_is_too_long_is_kept_without_its_operations(void **state)
{
    static struct sirix_operation_result operations[SIRIX_APPLY_OPERATIONS_MAX];
    const struct sirix_apply_result given = {.operations = operations,
                                             .operation_count = SIRIX_APPLY_OPERATIONS_MAX};
    struct sirix_apply_result result = {.operations_known = true};
    struct sirix_arena arena;
    struct sirix_buf answer;

    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(sirix_apply_answer_encode(SIRIX_APPLY_OPERATIONS, &given, &answer, NULL),
                     SIRIX_OK);
    assert_int_equal(answer.len, 1);
    assert_int_equal(sirix_apply_answer_decode(sirix_buf_view(&answer), &arena, &result, NULL),
                     SIRIX_OK);
    assert_false(result.operations_known);
    assert_int_equal(result.operation_count, 0);
    sirix_buf_deinit(&answer);
    sirix_arena_deinit(&arena);
}

static void the_counts_and_keys_of_a_diff_are_kept(void **state)
{
    struct sirix_key_pair keys[] = {{5, 900}, {6, 12}, {UINT64_C(1) << 40, 13}};
    const struct sirix_apply_result given = {
        .applied = 300, .already = 2, .tests = 1, .keys = keys, .key_count = 3};

    (void)state;
    for (int unchanged = 0; unchanged < 2; unchanged++) {
        struct sirix_apply_result result = {0};
        struct sirix_arena arena;
        struct sirix_buf answer;

        sirix_arena_init(&arena, SIZE_MAX);
        assert_int_equal(sirix_apply_answer_encode(SIRIX_APPLY_DIFF, &given, &answer, NULL),
                         SIRIX_OK);
        if (unchanged == 1) {
            sirix_apply_answer_unchanged(&answer);
        }
        assert_int_equal(sirix_apply_answer_decode(sirix_buf_view(&answer), &arena, &result, NULL),
                         SIRIX_OK);
        assert_int_equal(result.result.changed, unchanged == 0);
        assert_true(result.operations_known);
        assert_true(result.applied == 300 && result.already == 2 && result.tests == 1);
        assert_int_equal(result.key_count, 3);
        assert_memory_equal(result.keys, keys, sizeof(keys));
        sirix_buf_deinit(&answer);
        sirix_arena_deinit(&arena);
    }
}

static void keys_that_are_too_many_are_not_kept_but_the_counts_are(void **state)
{
    static struct sirix_key_pair keys[SIRIX_APPLY_KEYS_MAX];
    const struct sirix_apply_result given = {
        .applied = SIRIX_APPLY_KEYS_MAX, .keys = keys, .key_count = SIRIX_APPLY_KEYS_MAX};
    struct sirix_apply_result result = {.operations_known = true};
    struct sirix_arena arena;
    struct sirix_buf answer;

    (void)state;
    for (uint64_t i = 0; i < SIRIX_APPLY_KEYS_MAX; i++) {
        keys[i] = (struct sirix_key_pair){.source_key = 2 + 2 * i, .node_key = 900000 + i};
    }
    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(sirix_apply_answer_encode(SIRIX_APPLY_DIFF, &given, &answer, NULL), SIRIX_OK);
    assert_int_equal(sirix_apply_answer_decode(sirix_buf_view(&answer), &arena, &result, NULL),
                     SIRIX_OK);
    assert_false(result.operations_known);
    assert_true(result.result.changed && result.applied == SIRIX_APPLY_KEYS_MAX);
    assert_int_equal(result.key_count, 0);
    sirix_buf_deinit(&answer);
    sirix_arena_deinit(&arena);
}

/* A damaged row is an error, never a wild read: the sanitizers are the judge. */
static void a_damaged_answer_is_corrupt(void **state)
{
    uint64_t node_keys[] = {300, 302};
    struct sirix_operation_result operations[] = {
        {.node_keys = node_keys, .node_key_count = 2, .kind = SIRIX_VALUE_ARRAY, .changed = true}};
    struct sirix_key_pair keys[] = {{5, 900}, {6, 12}};
    const struct sirix_apply_result given = {
        .operations = operations, .operation_count = 1, .keys = keys, .key_count = 2};

    (void)state;
    for (int source = SIRIX_APPLY_OPERATIONS; source <= SIRIX_APPLY_DIFF; source++) {
        struct sirix_buf answer;

        assert_int_equal(
            sirix_apply_answer_encode((enum sirix_apply_source)source, &given, &answer, NULL),
            SIRIX_OK);
        for (size_t len = 1; len < answer.len; len++) {
            struct sirix_apply_result result = {0};
            struct sirix_arena arena;
            uint8_t *cut = malloc(len);

            assert_non_null(cut);
            memcpy(cut, answer.data, len);
            sirix_arena_init(&arena, SIZE_MAX);
            assert_int_equal(
                sirix_apply_answer_decode((struct sirix_bytes){.data = cut, .len = len}, &arena,
                                          &result, NULL),
                SIRIX_CORRUPT);
            sirix_arena_deinit(&arena);
            free(cut);
        }
        sirix_buf_deinit(&answer);
    }
}

static void an_answer_of_numbers_is_read_as_it_was_written_and_no_other_way(void **state)
{
    const struct sirix_answer answers[] = {
        {.count = 0},
        {.count = 1, .numbers = {0}},
        {.count = 3, .numbers = {1, 127, 128}},
        {.count = SIRIX_ANSWER_NUMBERS_MAX,
         .numbers = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        uint8_t bytes[SIRIX_ANSWER_BYTES_MAX + 1] = {0};
        struct sirix_answer back = {.count = SIRIX_ANSWER_NUMBERS_MAX};
        struct sirix_bytes kept = {.data = bytes, .len = sirix_answer_encode(&answers[i], bytes)};

        assert_int_equal(sirix_answer_decode(kept, answers[i].count, &back, NULL), SIRIX_OK);
        assert_int_equal(back.count, answers[i].count);
        assert_memory_equal(back.numbers, answers[i].numbers, sizeof(back.numbers));
        for (size_t len = 0; len < kept.len; len++) {
            const struct sirix_bytes cut = {.data = bytes, .len = len};
            assert_int_equal(sirix_answer_decode(cut, answers[i].count, &back, NULL),
                             SIRIX_CORRUPT);
        }
        kept.len++;
        assert_int_equal(sirix_answer_decode(kept, answers[i].count, &back, NULL), SIRIX_CORRUPT);
    }
}

static const struct sirix_write_options no_options = {.has_expected = false};

static void operations_are_checked_before_anything_is_opened(void **state)
{
    static char big[SIRIX_APPLY_VALUE_BYTES_MAX + 1];
    const struct {
        struct sirix_operation operation;
        enum sirix_status status;
        const char *field;
    } cases[] = {
        {{.kind = SIRIX_OPERATION_NONE}, SIRIX_INVALID, "operations[1]"},
        {{.kind = SIRIX_OPERATION_INSERT}, SIRIX_INVALID, "operations[1].insert.value"},
        {{.kind = SIRIX_OPERATION_UPDATE, .json = {.data = big, .len = sizeof(big)}},
         SIRIX_INVALID,
         "operations[1].update.value"},
        {{.kind = SIRIX_OPERATION_REPLACE, .json = {.data = big, .len = sizeof(big) - 1}},
         SIRIX_OK,
         ""},
        {{.kind = SIRIX_OPERATION_INSERT, .streamed = true}, SIRIX_OK, ""},
        {{.kind = SIRIX_OPERATION_MOVE}, SIRIX_OK, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sirix_operation operations[] = {{.kind = SIRIX_OPERATION_DELETE},
                                                     cases[i].operation};
        const struct sirix_apply_request wanted = {.operations = operations, .operation_count = 2};
        struct sirix_error err = {0};
        assert_int_equal(sirix_apply_check(&wanted, &no_options, &err), cases[i].status);
        assert_string_equal(err.field, cases[i].field);
    }
}

static void a_request_is_checked_before_anything_is_opened(void **state)
{
    static char big[SIRIX_APPLY_VALUE_BYTES_MAX + 1];
    const struct sirix_write_options keyed = {.idempotency_key = {.data = "k", .len = 1}};
    const struct sirix_bytes text = {.data = "[]", .len = 2};
    const struct sirix_operation one[] = {{.kind = SIRIX_OPERATION_DELETE}};
    const struct {
        struct sirix_apply_request wanted;
        bool keyed;
        enum sirix_status status;
        const char *field;
    } cases[] = {
        {{.operation_count = 0}, false, SIRIX_INVALID, "operations"},
        {{.operation_count = SIRIX_APPLY_OPERATIONS_MAX + 1}, false, SIRIX_INVALID, "operations"},
        {{.source = SIRIX_APPLY_PATCH, .patch = text}, true, SIRIX_OK, ""},
        {{.source = SIRIX_APPLY_PATCH, .patch_streamed = true}, false, SIRIX_OK, ""},
        {{.source = SIRIX_APPLY_PATCH}, false, SIRIX_INVALID, "json_patch"},
        {{.source = SIRIX_APPLY_PATCH, .patch = {.data = big, .len = sizeof(big)}},
         false,
         SIRIX_INVALID,
         "json_patch"},
        {{.source = SIRIX_APPLY_PATCH, .patch = text, .operations = one, .operation_count = 1},
         false,
         SIRIX_INVALID,
         "operations"},
        {{.source = SIRIX_APPLY_DIFF}, false, SIRIX_INVALID, "diff.to"},
        {{.source = SIRIX_APPLY_DIFF, .to = {.which = SIRIX_VIEW_WHICH_REVISION}},
         false,
         SIRIX_OK,
         ""},
        {{.source = SIRIX_APPLY_DIFF, .to = {.timestamp = text}}, false, SIRIX_OK, ""},
        {{.operations = one, .operation_count = 1, .dry_run = true}, false, SIRIX_OK, ""},
        {{.operations = one, .operation_count = 1, .dry_run = true},
         true,
         SIRIX_INVALID,
         "options.idempotency_key"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_error err = {0};
        assert_int_equal(
            sirix_apply_check(&cases[i].wanted, cases[i].keyed ? &keyed : &no_options, &err),
            cases[i].status);
        assert_string_equal(err.field, cases[i].field);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_author_is_made_and_taken_apart),
        cmocka_unit_test(the_longest_author_fits_into_a_record),
        cmocka_unit_test(a_kept_answer_is_read_as_it_was_written),
        cmocka_unit_test(an_answer_that_is_too_long_is_kept_without_its_operations),
        cmocka_unit_test(the_counts_and_keys_of_a_diff_are_kept),
        cmocka_unit_test(keys_that_are_too_many_are_not_kept_but_the_counts_are),
        cmocka_unit_test(a_damaged_answer_is_corrupt),
        cmocka_unit_test(an_answer_of_numbers_is_read_as_it_was_written_and_no_other_way),
        cmocka_unit_test(operations_are_checked_before_anything_is_opened),
        cmocka_unit_test(a_request_is_checked_before_anything_is_opened),
    };
    return cmocka_run_group_tests_name("service write", tests, NULL, NULL);
}
