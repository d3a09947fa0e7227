/*
 * The inputs of sql_readonly.jsonl: what is allowed gives rows, what is to be refused is refused and leaves
 * the store as it was, and what is long is cut. There is no ledger: all of them pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql_fixture.h"
#include "json/text.h"
#include "json/tree.h"

enum {
    CASE_BYTES_MAX = 1024 * 1024,
    ROW_MAX = 1000,
    TIME_MAX_MS = 1000,
    CASES_MIN = 76,
    EXIT_SKIPPED = 77,
};

static const struct sirix_json_node *member(const struct sirix_json_node *object, const char *name)
{
    const struct sirix_json_node *node = sirix_json_first(object);

    while (node != NULL && !(node->name.len == strlen(name) &&
                             memcmp(node->name.data, name, node->name.len) == 0)) {
        node = node->next;
    }
    return node;
}

static struct sirix_bytes plain(struct sirix_arena *arena, const struct sirix_json_node *node)
{
    struct sirix_bytes text = {.data = "", .len = 0};

    assert_non_null(node);
    assert_int_equal(sirix_json_text_to_plain(arena, node->value.text, &text, NULL), SIRIX_OK);
    return text;
}

/* {T}, {TXT} and {NUM} are a table of ours and two of its columns. */
static void fill_in(struct sirix_bytes sql, struct sirix_buf *out)
{
    static const struct {
        const char *mark;
        const char *is;
    } marks[] = {{"{T}", "goods"}, {"{TXT}", "name"}, {"{NUM}", "price"}};
    const char *at = sql.data;
    const char *end = at + sql.len;

    sirix_buf_clear(out);
    while (at < end) {
        size_t taken = 1;
        const char *is = NULL;

        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
            const size_t len = strlen(marks[i].mark);

            if ((size_t)(end - at) >= len && memcmp(at, marks[i].mark, len) == 0) {
                is = marks[i].is;
                taken = len;
            }
        }
        assert_int_equal(is == NULL ? sirix_buf_append(out, at, 1, NULL)
                                    : sirix_buf_append_str(out, is, NULL),
                         SIRIX_OK);
        at += taken;
    }
}

static bool store_is_unchanged(struct sql_fixture *f)
{
    return sql_fixture_run(f, "SELECT revision FROM resources") == SIRIX_OK &&
           strcmp(f->rows, "2") == 0 && sql_fixture_run(f, "SELECT 1") == SIRIX_OK &&
           strcmp(f->rows, "1") == 0 && access("other.db", F_OK) != 0 &&
           access("copy.db", F_OK) != 0 && access("f", F_OK) != 0;
}

static size_t rows_in(const struct sql_fixture *f)
{
    return (size_t)f->end.row_count;
}

static bool runs_as_told(struct sql_fixture *f, struct sirix_arena *arena,
                         const struct sirix_json_node *one, struct sirix_buf *sql)
{
    const struct sirix_bytes verdict = plain(arena, member(one, "verdict"));
    const struct sirix_json_node *rows = member(one, "expect_rows");
    const struct sirix_json_node *first = member(one, "expect_first");
    char number[32] = "";

    fill_in(plain(arena, member(one, "sql")), sql);
    const enum sirix_status status = sql_fixture_run_bytes(f, sirix_buf_view(sql));
    if (memcmp(verdict.data, "refuse", 1) == 0) {
        return status == SIRIX_INVALID && store_is_unchanged(f);
    }
    if (status != SIRIX_OK) {
        return false;
    }
    if (memcmp(verdict.data, "truncate", 1) == 0) {
        return f->end.cut == SIRIX_SQL_CUT_ROWS && f->end.row_count == ROW_MAX;
    }
    if (rows != NULL) {
        (void)snprintf(number, sizeof(number), "%zu", rows_in(f));
        if (rows->value.text.len != strlen(number) ||
            memcmp(rows->value.text.data, number, rows->value.text.len) != 0) {
            return false;
        }
    }
    if (first != NULL) {
        const struct sirix_bytes text = plain(arena, first);

        return strlen(f->rows) >= text.len && memcmp(f->rows, text.data, text.len) == 0 &&
               strchr("|;", f->rows[text.len]) != NULL;
    }
    return f->end.cut == SIRIX_SQL_WHOLE;
}

static size_t run_file(struct sql_fixture *f, FILE *file, size_t *out_failed)
{
    char *line = malloc(CASE_BYTES_MAX);
    struct sirix_buf sql = {.max = CASE_BYTES_MAX};
    size_t cases = 0;

    assert_non_null(line);
    *out_failed = 0;
    while (fgets(line, CASE_BYTES_MAX, file) != NULL) {
        struct sirix_arena arena;
        struct sirix_json_tree tree;
        const struct sirix_bytes text = {.data = line, .len = strcspn(line, "\n")};

        sirix_arena_init(&arena, SIZE_MAX);
        assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
        assert_int_equal(sirix_json_tree_parse(&tree, text, NULL, NULL, NULL), SIRIX_OK);
        cases++;
        if (!runs_as_told(f, &arena, tree.root, &sql)) {
            const struct sirix_bytes id = plain(&arena, member(tree.root, "id"));

            print_error("%.*s: %s\n", (int)id.len, (const char *)id.data, f->err.text);
            ++*out_failed;
        }
        sirix_arena_deinit(&arena);
    }
    sirix_buf_deinit(&sql);
    free(line);
    return cases;
}

static void every_input_has_its_verdict(void **state)
{
    struct sql_fixture *f = calloc(1, sizeof(*f));
    size_t failed = 0;

    assert_non_null(f);
    sql_fixture_open(f);
    sql_fixture_put(f, "db", "goods",
                    "[{\"name\":\"apple\",\"price\":120},{\"name\":\"bread\",\"price\":250},"
                    "{\"name\":\"cheese\",\"price\":999},{\"name\":\"date\",\"price\":80},"
                    "{\"name\":\"egg\",\"price\":30},{\"name\":\"fig\",\"price\":120}]");
    f->wanted.row_max = ROW_MAX;
    f->wanted.time_max_ms = TIME_MAX_MS;
    const size_t cases = run_file(f, *state, &failed);
    sql_fixture_close(f);
    free(f);
    print_message("%zu inputs, %zu failed\n", cases, failed);
    assert_true(cases >= CASES_MIN);
    assert_int_equal(failed, 0);
}

int main(void)
{
    enum { PATH_BYTES = 4096 };
    const char *suites = getenv("SIRIX_SUITES");
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/given/sql_readonly.jsonl",
                   suites == NULL ? SIRIX_SUITES_DEFAULT : suites);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        (void)fprintf(stderr, "%s is not there: the suite is skipped\n", path);
        return EXIT_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_input_has_its_verdict, file)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)fclose(file);
    return failed;
}
