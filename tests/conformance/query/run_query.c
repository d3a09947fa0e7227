/*
 * Conformance of the query language: every case of query_*.jsonl in $SIRIX_SUITES/given (default:
 * shared/suites beside the repository; the README there says what the fields mean). Nothing runs
 * where there are no suites, which is said.
 *
 * Each case runs twice, with the rewrites of the planner and the shortcuts of the executor and
 * without any: both have to give the same. Cases run in the default dialect; one that depends on a
 * choice where the dialects disagree (`conflict`) runs in the one that it was written for.
 *
 * ledger.tsv lists the ids of cases that fail, each with its reason. A failure that it does not
 * list fails the test, and so does a listed case that passes, or that is not there.
 *
 *     SIRIX_QUERY_CASE=id        runs the cases whose id holds this text, and shows what they give
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "engine.h"

enum { LEDGER_MAX = 400, ID_BYTES_MAX = 200, INPUTS_MAX = 16, PATH_BYTES_MAX = 4096 };

struct ledger_entry {
    char id[ID_BYTES_MAX];
    bool is_seen;
};

struct score {
    unsigned cases;
    unsigned passed;
    unsigned conflict_cases;
    unsigned conflict_passed;
    unsigned own_passed; /* In the dialect that they were written for, those without a conflict. */
    unsigned other_code;
};

struct runner {
    struct ledger_entry ledger[LEDGER_MAX];
    size_t ledger_count;
    unsigned surprises;
    const char *only; /* SIRIX_QUERY_CASE. */
    struct score score;
    struct sirix_arena arena; /* Of one case. */
    struct sirix_json_tree line;
    char id[ID_BYTES_MAX];
    char why[1024]; /* Of a failure. */
};

/* --- Cases -------------------------------------------------------------------------------------- */

static struct sirix_json_node *member(struct runner *runner, const char *name)
{
    return sirix_json_member_str(&runner->line, runner->line.root, name);
}

static bool is_text(const struct sirix_json_node *node, const char *text)
{
    return node != NULL && node->kind == SIRIX_JSON_KIND_STRING &&
           sirix_bytes_equal(node->value.text, bytes_of(text));
}

/* Texts by name, for json-lines() and the like. */
static void read_files(struct runner *runner, struct sirix_json_node *input, struct engine *engine)
{
    struct sirix_json_node *files =
        input == NULL ? NULL : sirix_json_member_str(&runner->line, input, "files");
    struct sirix_query_named *named = NULL;
    void *memory = NULL;

    if (files == NULL) {
        return;
    }
    assert_true(sirix_json_count(files) <= INPUTS_MAX);
    assert_int_equal(sirix_arena_calloc(&runner->arena, INPUTS_MAX, sizeof(*named), &memory, NULL),
                     SIRIX_OK);
    named = memory;
    for (const struct sirix_json_node *file = sirix_json_first(files); file != NULL;
         file = file->next) {
        named[engine->input_count].name = file->name;
        named[engine->input_count++].text = plain_text(&runner->arena, file);
    }
    engine->inputs = named;
}

/* Runs the queries of the set-up, or makes the revisions one after the other. */
static bool set_up(struct runner *runner, struct engine *engine)
{
    struct sirix_json_node *input = member(runner, "input");
    struct sirix_json_node *list = NULL;
    struct sirix_query_error err = {.line = 0};

    read_files(runner, input, engine);
    list = input == NULL ? NULL : sirix_json_member_str(&runner->line, input, "setup");
    for (const struct sirix_json_node *node = list == NULL ? NULL : sirix_json_first(list);
         node != NULL; node = node->next) {
        if (!engine_set_up(engine, plain_text(&runner->arena, node), &err)) {
            (void)snprintf(runner->why, sizeof(runner->why), "the set-up failed: %s %.600s",
                           err.code, err.base.text);
            return false;
        }
    }
    list = input == NULL ? NULL : sirix_json_member_str(&runner->line, input, "revisions");
    for (const struct sirix_json_node *node = list == NULL ? NULL : sirix_json_first(list);
         node != NULL; node = node->next) {
        struct sirix_bytes text = plain_text(&runner->arena, node);

        if (!engine->has_document) {
            engine_store(engine, bytes_of("json-path1"), bytes_of("mydoc.jn"), text);
        } else if (!engine_bring_to(engine, text, &err.base)) {
            (void)snprintf(runner->why, sizeof(runner->why), "a revision could not be made: %.600s",
                           err.base.text);
            return false;
        }
    }
    return true;
}

static void show_items(char *to, size_t to_bytes, const struct result_item *items, size_t count)
{
    size_t at = 0;

    for (size_t i = 0; i < count && at + 1 < to_bytes; i++) {
        int len = snprintf(to + at, to_bytes - at, "%s%.*s", i == 0 ? "" : " | ",
                           (int)(items[i].text.len < 200 ? items[i].text.len : 200),
                           (const char *)items[i].text.data);

        at += len > 0 ? (size_t)len : 0;
    }
}

/* Whether a run is what the case expects; why not, if not. */
static bool judge(struct runner *runner, enum sirix_status status,
                  const struct sirix_query_error *err, const struct result_item *items,
                  size_t count)
{
    const struct sirix_json_node *code = member(runner, "error");
    const struct sirix_json_node *expect = member(runner, "expect");
    const struct sirix_json_node *tolerance = member(runner, "tolerance");
    char shown[700] = "";
    struct comparison comparison = {.arena = &runner->arena,
                                    .tolerance = 1e-12,
                                    .any_order = is_text(member(runner, "order"), "any"),
                                    .ignore_keys = member(runner, "ignore_keys")};

    if (tolerance != NULL && tolerance->kind == SIRIX_JSON_KIND_NUMBER) {
        comparison.tolerance = strtod(tolerance->value.text.data, NULL);
    }
    show_items(shown, sizeof(shown), items, count);
    if (status != SIRIX_OK) {
        if (code != NULL && sirix_bytes_equal(code->value.text, bytes_of(err->code))) {
            return true;
        }
        runner->score.other_code += code != NULL ? 1 : 0;
        (void)snprintf(runner->why, sizeof(runner->why), "failed with %s%s at %u:%u: %.500s",
                       err->code, err->code[0] == '\0' ? sirix_status_name(status) : "", err->line,
                       err->column, err->base.text);
        return false;
    }
    if (code != NULL) {
        (void)snprintf(runner->why, sizeof(runner->why), "did not fail, but gave %s", shown);
        return false;
    }
    (void)snprintf(runner->why, sizeof(runner->why), "gave %s", shown);
    return expect != NULL && compare_results(&comparison, items, count, expect);
}

/* Whether the case was written for JSONiq's side where the dialects disagree. */
static bool is_jsoniq(struct runner *runner)
{
    const struct sirix_json_node *dialect = member(runner, "dialect");

    return is_text(dialect, "jsoniq") || is_text(dialect, "jsoniq-xq");
}

/* Runs the case once. */
static bool run_once(struct runner *runner, bool jsoniq, bool naive)
{
    const struct sirix_json_node *query = member(runner, "query");
    const struct engine_options options = {.jsoniq = jsoniq, .naive = naive};
    struct engine engine;
    struct sirix_query_error err = {.line = 0};
    struct result_item *items = NULL;
    size_t count = 0;
    bool passed = false;

    engine_open(&engine, &runner->arena);
    if (set_up(runner, &engine)) {
        enum sirix_status status =
            engine_run(&engine, plain_text(&runner->arena, query), &options, &items, &count, &err);

        passed = judge(runner, status, &err, items, count);
    }
    engine_close(&engine);
    return passed;
}

/* --- Scores ------------------------------------------------------------------------------------- */

static struct ledger_entry *find_entry(struct runner *runner)
{
    for (size_t i = 0; i < runner->ledger_count; i++) {
        if (strcmp(runner->ledger[i].id, runner->id) == 0) {
            return &runner->ledger[i];
        }
    }
    return NULL;
}

static void note_result(struct runner *runner, bool passed)
{
    struct ledger_entry *entry = find_entry(runner);
    bool has_conflict = member(runner, "conflict") != NULL;

    runner->score.cases += has_conflict ? 0 : 1;
    runner->score.conflict_cases += has_conflict ? 1 : 0;
    runner->score.passed += passed && !has_conflict ? 1 : 0;
    runner->score.conflict_passed += passed && has_conflict ? 1 : 0;
    if (entry != NULL) {
        entry->is_seen = true;
    }
    if (passed && entry != NULL) {
        runner->surprises++;
        print_message("PASSES, but is in the ledger: %s\n", runner->id);
    } else if (!passed && entry == NULL) {
        runner->surprises++;
        print_message("FAIL %s: %s\n", runner->id, runner->why);
    } else if (runner->only != NULL) {
        print_message("%s %s: %s\n", passed ? "ok" : "in the ledger", runner->id, runner->why);
    }
}

static void run_line(struct runner *runner, struct sirix_bytes text)
{
    const struct sirix_json_node *id = NULL;
    struct sirix_error err = {0};

    sirix_arena_reset(&runner->arena);
    if (sirix_json_tree_init(&runner->line, &runner->arena, &err) != SIRIX_OK ||
        sirix_json_tree_parse(&runner->line, text, NULL, NULL, &err) != SIRIX_OK) {
        fail_msg("a line of the suite cannot be read: %s", err.text);
    }
    id = member(runner, "id");
    assert_non_null(id);
    (void)snprintf(runner->id, sizeof(runner->id), "%.*s", (int)id->value.text.len,
                   (const char *)id->value.text.data);
    if (runner->only != NULL && strstr(runner->id, runner->only) == NULL) {
        return;
    }

    const bool has_conflict = member(runner, "conflict") != NULL;
    const bool jsoniq = has_conflict && is_jsoniq(runner);
    unsigned other_code = runner->score.other_code;
    bool passed_own = is_jsoniq(runner) && !has_conflict && run_once(runner, true, false);

    runner->score.other_code = other_code;

    bool passed = run_once(runner, jsoniq, false);

    other_code = runner->score.other_code;

    bool passed_naive = run_once(runner, jsoniq, true);

    runner->score.own_passed +=
        passed_own || (passed && !is_jsoniq(runner) && !has_conflict) ? 1 : 0;
    runner->score.other_code = other_code;

    if (passed != passed_naive) {
        runner->surprises++;
        print_message("%s with rewrites, %s without: %s: %s\n", passed ? "passes" : "fails",
                      passed_naive ? "passes" : "fails", runner->id, runner->why);
    }
    note_result(runner, passed);
}

static double percent(unsigned part, unsigned whole)
{
    return whole == 0 ? 0 : 100.0 * part / whole;
}

/* Runs every line of a file; false if there is no such file. */
static bool run_file(struct runner *runner, const char *folder, const char *name)
{
    char path[PATH_BYTES_MAX];
    char *line = NULL;
    size_t line_cap = 0;
    ssize_t len = 0;

    int path_len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = path_len < (int)sizeof(path) ? fopen(path, "rb") : NULL;
    if (file == NULL) {
        return false;
    }
    runner->score = (struct score){.cases = 0};
    while ((len = getline(&line, &line_cap, file)) > 0) {
        run_line(runner, (struct sirix_bytes){.data = line, .len = (size_t)len});
    }
    free(line);
    (void)fclose(file);
    print_message(
        "%s: %u of %u cases pass (%.1f %%), in their own dialect %u (%.1f %%); of those with "
        "a conflict %u of %u; %u failed with another code\n",
        name, runner->score.passed, runner->score.cases,
        percent(runner->score.passed, runner->score.cases), runner->score.own_passed,
        percent(runner->score.own_passed, runner->score.cases), runner->score.conflict_passed,
        runner->score.conflict_cases, runner->score.other_code);
    return true;
}

static void read_ledger(struct runner *runner)
{
    FILE *file = fopen(SIRIX_QUERY_LEDGER, "rb");
    char *line = NULL;
    size_t line_cap = 0;

    assert_non_null(file);
    while (getline(&line, &line_cap, file) > 0) {
        char *tab = strchr(line, '\t');

        if (line[0] == '#' || line[0] == '\n') {
            continue;
        }
        assert_non_null(tab);
        assert_true(runner->ledger_count < LEDGER_MAX);
        *tab = '\0';
        (void)snprintf(runner->ledger[runner->ledger_count++].id, ID_BYTES_MAX, "%s", line);
    }
    free(line);
    (void)fclose(file);
}

static void check_ledger(struct runner *runner)
{
    for (size_t i = 0; i < runner->ledger_count && runner->only == NULL; i++) {
        if (!runner->ledger[i].is_seen) {
            runner->surprises++;
            print_message("in the ledger, but no case: %s\n", runner->ledger[i].id);
        }
    }
}

static void queries_give_what_the_suites_want(void **state)
{
    static const char *const files[] = {"query_sirix.jsonl", "query_brackit.jsonl",
                                        "query_qt3.jsonl", "query_rumble.jsonl",
                                        "query_zorba.jsonl"};
    const char *suites = getenv("SIRIX_SUITES");
    struct runner *runner = calloc(1, sizeof(*runner));
    char given[PATH_BYTES_MAX];
    unsigned surprises = 0;

    (void)state;
    assert_non_null(runner);
    runner->only = getenv("SIRIX_QUERY_CASE");
    sirix_arena_init(&runner->arena, SIZE_MAX);
    (void)snprintf(given, sizeof(given), "%s/given",
                   suites != NULL ? suites : SIRIX_SUITES_DEFAULT);
    read_ledger(runner);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!run_file(runner, given, files[i])) {
            print_message("no %s in %s (set SIRIX_SUITES)\n", files[i], given);
            runner->only = "";
        }
    }
    check_ledger(runner);
    surprises = runner->surprises;
    sirix_arena_deinit(&runner->arena);
    free(runner);
    assert_int_equal(surprises, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_give_what_the_suites_want),
    };

    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
