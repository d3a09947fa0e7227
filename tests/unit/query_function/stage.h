/*
 * A stage to call functions of the library on, by name. Arguments are separated by " | ", the items of
 * one by " , "; each item is written as in value_help.h, plain numbers, true, false and quoted strings
 * as they stand, JSON as it is; Fadd, Fnegate, Feven, Ftwice and Fnothing are callbacks; "()" is
 * nothing, "1 to 5" a range. The result is written likewise, its items joined by " , "; "!CODE" is an
 * error of the language, "!status" any other one.
 */
#ifndef TESTS_UNIT_QUERY_FUNCTION_STAGE_H
#define TESTS_UNIT_QUERY_FUNCTION_STAGE_H

#include "unit/query_value/value_help.h"

#include "query/function/function.h"

/* --- Callbacks: closures of the tests --------------------------------------------------------------- */

typedef enum sirix_status (*callback_fn)(struct bench *bench, const struct sirix_sequence *args,
                                         struct sirix_sequence *out);

static inline enum sirix_status add(struct bench *bench, const struct sirix_sequence *args,
                                    struct sirix_sequence *out)
{
    struct sirix_item sum = {0};
    enum sirix_status status =
        sirix_item_arithmetic(&bench->work, SIRIX_ADD, sirix_sequence_at(&args[0], 0),
                              sirix_sequence_at(&args[1], 0), &sum, &bench->err);

    return status != SIRIX_OK ? status : sirix_sequence_single(&bench->work, sum, out, &bench->err);
}

static enum sirix_status negate(struct bench *bench, const struct sirix_sequence *args,
                                struct sirix_sequence *out)
{
    struct sirix_item result = {0};
    enum sirix_status status =
        sirix_item_negate(&bench->work, sirix_sequence_at(&args[0], 0), &result, &bench->err);

    return status != SIRIX_OK ? status
                              : sirix_sequence_single(&bench->work, result, out, &bench->err);
}

static enum sirix_status is_even(struct bench *bench, const struct sirix_sequence *args,
                                 struct sirix_sequence *out)
{
    struct sirix_item item = sirix_sequence_at(&args[0], 0);

    return sirix_sequence_single(&bench->work, sirix_item_boolean(item.value.integer % 2 == 0), out,
                                 &bench->err);
}

static enum sirix_status twice(struct bench *bench, const struct sirix_sequence *args,
                               struct sirix_sequence *out)
{
    struct sirix_sequence both = {0};
    enum sirix_status status =
        sirix_sequence_append_all(&bench->work, &both, &args[0], &bench->err);

    if (status == SIRIX_OK) {
        status = sirix_sequence_append_all(&bench->work, &both, &args[0], &bench->err);
    }
    *out = both;
    return status;
}

static enum sirix_status nothing(struct bench *bench, const struct sirix_sequence *args,
                                 struct sirix_sequence *out)
{
    (void)bench;
    (void)args;
    *out = (struct sirix_sequence){0};
    return SIRIX_OK;
}

static const struct {
    const char *name;
    size_t arity;
    callback_fn call;
} CALLBACKS[] = {
    {"Fadd", 2, add},     {"Fnegate", 1, negate},   {"Feven", 1, is_even},
    {"Ftwice", 1, twice}, {"Fnothing", 1, nothing},
};

/* --- Calling ------------------------------------------------------------------------------------------ */

struct stage {
    struct bench *bench;
    struct sirix_function_set *set;
    struct sirix_evaluator evaluator;
    void (*arm)(struct stage *stage); /* Just before the function is called, and just behind it; */
    void (*disarm)(struct stage *stage); /* NULL: nothing. */
};

static enum sirix_status invoke_callback(void *run, struct sirix_item function,
                                         const struct sirix_sequence *arguments,
                                         size_t argument_count, struct sirix_sequence *out,
                                         struct sirix_query_error *err)
{
    struct stage *stage = run;
    const struct sirix_function_value *value = function.value.function;

    if (value->builtin != NULL) {
        return sirix_function_invoke(&stage->bench->work, &stage->evaluator, value, arguments,
                                     argument_count, out, err);
    }
    if (argument_count != value->signature.arity) {
        return sirix_query_fail(err, "XPTY0004", "the wrong number of arguments");
    }
    return CALLBACKS[(uintptr_t)value->closure - 1].call(stage->bench, arguments, out);
}

static struct sirix_item callback(struct stage *stage, size_t index)
{
    static const struct sirix_sequence_type any[2] = {
        {.type = SIRIX_TYPE_ITEM, .occurrence = SIRIX_OCCURRENCE_MANY},
        {.type = SIRIX_TYPE_ITEM, .occurrence = SIRIX_OCCURRENCE_MANY}};
    void *memory = NULL;

    assert_int_equal(sirix_arena_calloc(&stage->bench->arena, 1,
                                        sizeof(struct sirix_function_value), &memory, NULL),
                     SIRIX_OK);
    struct sirix_function_value *value = memory;

    value->closure = (const void *)(uintptr_t)(index + 1); /* NOLINT: an index, never followed. */
    value->signature = (struct sirix_function_type){
        .arity = CALLBACKS[index].arity, .parameters = any, .result = any[0]};
    return (struct sirix_item){
        .kind = SIRIX_ITEM_FUNCTION, .type = SIRIX_TYPE_FUNCTION, .value.function = value};
}

static struct sirix_item item_in(struct stage *stage, const char *written)
{
    char buffer[2048];
    size_t len = strlen(written);

    for (size_t i = 0; i < sizeof(CALLBACKS) / sizeof(CALLBACKS[0]); i++) {
        if (strcmp(written, CALLBACKS[i].name) == 0) {
            return callback(stage, i);
        }
    }
    if (written[0] == '"') {
        (void)snprintf(buffer, sizeof(buffer), "string %.*s", (int)len - 2, written + 1);
    } else if (strcmp(written, "true") == 0 || strcmp(written, "false") == 0) {
        (void)snprintf(buffer, sizeof(buffer), "boolean %s", written);
    } else if (strchr("-0123456789.", written[0]) != NULL) {
        const char *type = strpbrk(written, "eE") != NULL ? "double"
                           : strchr(written, '.') != NULL ? "decimal"
                                                          : "integer";

        (void)snprintf(buffer, sizeof(buffer), "%s %s", type, written);
    } else if (written[0] == '[' || written[0] == '{') {
        (void)snprintf(buffer, sizeof(buffer), "json %s", written);
    } else {
        (void)snprintf(buffer, sizeof(buffer), "%s", written);
    }
    char *copy = NULL;

    assert_int_equal(sirix_arena_strdup(&stage->bench->arena, buffer, &copy, NULL), SIRIX_OK);
    return item_of(stage->bench, copy);
}

/* "a , b" as a sequence; "()" is the empty one; "1 to 5" a range. */
static struct sirix_sequence sequence_in(struct stage *stage, char *written)
{
    struct sirix_sequence sequence = {0};
    long long first = 0;
    long long last = 0;

    if (strcmp(written, "()") == 0) {
        return sequence;
    }
    if (written[0] != '"' && sscanf(written, "%lld to %lld", &first, &last) == 2) { /* NOLINT */
        return sirix_sequence_range(first, last);
    }
    while (written != NULL) {
        char *comma = strstr(written, " , ");

        if (comma != NULL) {
            *comma = '\0';
        }
        assert_int_equal(sirix_sequence_append(&stage->bench->work, &sequence,
                                               item_in(stage, written), &stage->bench->err),
                         SIRIX_OK);
        written = comma == NULL ? NULL : comma + 3;
    }
    return sequence;
}

static const char *result_of(struct stage *stage, enum sirix_status status,
                             const struct sirix_sequence *result)
{
    struct sirix_buf buf;
    const char *text = NULL;
    char *copy = NULL;

    if (status != SIRIX_OK) {
        return outcome(stage->bench, status, (struct sirix_item){0});
    }
    sirix_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < result->count; i++) {
        struct sirix_item item = sirix_sequence_at(result, i);
        const char *item_text =
            item.kind == SIRIX_ITEM_FUNCTION ? "function" : shown(stage->bench, item);
        bool plain = item.type == SIRIX_TYPE_INTEGER || item.type == SIRIX_TYPE_BOOLEAN ||
                     sirix_item_is_structured(item);
        bool quoted = item.type == SIRIX_TYPE_STRING;

        item_text = plain || quoted ? strchr(item_text, ' ') + 1 : item_text;
        assert_int_equal(sirix_buf_printf(&buf, NULL, "%s%s%s%s", i == 0 ? "" : " , ",
                                          quoted ? "\"" : "", item_text, quoted ? "\"" : ""),
                         SIRIX_OK);
    }
    assert_int_equal(sirix_buf_c_str(&buf, &text, NULL), SIRIX_OK);
    assert_int_equal(
        sirix_arena_strdup(&stage->bench->arena, result->count == 0 ? "()" : text, &copy, NULL),
        SIRIX_OK);
    sirix_buf_deinit(&buf);
    return copy;
}

enum { ARGUMENTS_MAX = 8 };

/* Calls by name, through conversion, both ways of giving results. */
static const char *called(struct stage *stage, const char *name, const char *written)
{
    struct bench *bench = stage->bench;
    const char *colon = strchr(name, ':');
    enum sirix_function_ns ns = SIRIX_NS_NONE;
    struct sirix_sequence arguments[ARGUMENTS_MAX] = {0};
    struct sirix_sequence kept[ARGUMENTS_MAX] = {0};
    struct sirix_sequence_iterator over;
    struct sirix_sequence result = {0};
    size_t count = 0;
    char buffer[4096];

    (void)snprintf(buffer, sizeof(buffer), "%s", written);
    for (char *at = buffer; written[0] != '\0' && at != NULL; count++) {
        char *bar = strstr(at, " | ");

        if (bar != NULL) {
            *bar = '\0';
        }
        kept[count] = sequence_in(stage, at);
        at = bar == NULL ? NULL : bar + 3;
    }
    if (colon != NULL) {
        struct sirix_bytes prefix = {.data = name, .len = (size_t)(colon - name)};

        assert_true(sirix_function_ns_of_prefix(prefix, &ns));
        name = colon + 1;
    }
    const struct sirix_function *function =
        sirix_function_find(stage->set, ns, text_of(name), count);
    if (function == NULL) {
        return "!XPST0017";
    }

    memcpy(arguments, kept, sizeof(arguments));
    struct sirix_call call = {.work = &bench->work,
                              .function = function,
                              .argument_count = count,
                              .arguments = arguments,
                              .evaluator = &stage->evaluator};
    if ((function->flags & SIRIX_FUNCTION_STREAMS) != 0 && count > 0) {
        sirix_sequence_iterate(&over, &kept[0]);
        call.input = &over.iterator;
        arguments[0] = (struct sirix_sequence){0};
    }
    memset(&bench->err, 0, sizeof(bench->err));
    if (stage->arm != NULL) {
        stage->arm(stage);
    }
    enum sirix_status status = sirix_function_call(&call, &result, &bench->err);
    if (stage->disarm != NULL) {
        stage->disarm(stage);
    }
    const char *text = result_of(stage, status, &result);

    if (function->open != NULL && stage->arm == NULL) { /* The same item by item. */
        struct sirix_iterator *iterator = NULL;
        struct sirix_sequence streamed = {0};

        memcpy(arguments, kept, sizeof(arguments));
        arguments[0] = (struct sirix_sequence){0};
        call.pending = (struct sirix_sequence){0};
        call.pending_at = 0;
        sirix_sequence_iterate(&over, &kept[0]);
        memset(&bench->err, 0, sizeof(bench->err));
        status = sirix_function_open(&call, &iterator, &bench->err);
        while (status == SIRIX_OK) {
            struct sirix_item item = {0};

            status = sirix_iterator_next(iterator, &item, &bench->err);
            if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
                break;
            }
            status = sirix_sequence_append(&bench->work, &streamed, item, &bench->err);
        }
        assert_string_equal(result_of(stage, status, &streamed), text);
    }
    return text;
}

static int set_up(void **state)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES];
    size_t count = sirix_function_library(tables);
    struct stage *stage = test_calloc(1, sizeof(*stage));

    stage->bench = bench_new(SIZE_MAX);
    assert_int_equal(sirix_function_set_new(tables, count, &stage->set, NULL), SIRIX_OK);
    stage->evaluator =
        (struct sirix_evaluator){.run = stage, .invoke = invoke_callback, .functions = stage->set};
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    sirix_function_set_free(stage->set);
    bench_free(stage->bench);
    test_free(stage);
    return 0;
}

struct row {
    const char *name;
    const char *arguments;
    const char *expect;
};

static inline void check(void **state, const struct row *rows, size_t count)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++) {
        const char *got = called(*state, rows[i].name, rows[i].arguments);

        if (strcmp(got, rows[i].expect) != 0) {
            print_error("%s(%s): %s, not %s\n", rows[i].name, rows[i].arguments, got,
                        rows[i].expect);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

#define CHECK(rows) check(state, rows, sizeof(rows) / sizeof((rows)[0]))

#define WITH_STAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
