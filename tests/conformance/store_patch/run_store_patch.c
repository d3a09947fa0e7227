/*
 * Conformance of JSON patches on stored revisions: every case of json_patch.jsonl in
 * $SIRIX_SUITES/given (default: shared/suites beside the repository), and of the project's own cases,
 * which run wherever the suite is absent too. One failing case fails all.
 *
 * The document is imported, the patch applied to it as an edit: the value afterwards must be the
 * expected one, or the patch must fail and leave no revision. Then the diffs of the two revisions,
 * both ways, are written as patches, which must lead from one text to the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "store/document/patch.h"
#include "unit/document/fixture.h"
#include "json/patch.h"

struct run {
    unsigned cases;
    unsigned failures;
    struct sirix_arena arena; /* Of one case. */
    struct sirix_json_tree line;
    char id[256];
};

static void complain(struct run *run, const char *what, const char *detail)
{
    run->failures++;
    (void)printf("FAIL %s: %s%s%s\n", run->id, what, detail[0] == '\0' ? "" : ": ", detail);
}

static struct sirix_json_node *member(struct run *run, const char *name)
{
    return sirix_json_member_str(&run->line, run->line.root, name);
}

static enum sirix_status write_patch(struct fixture *f, const struct sirix_view *before,
                                     const struct sirix_view *after, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    const struct sirix_patch_options options = {
        .old_view = before, .new_view = after, .reader = f->reader};
    struct sirix_patch_writer *writer = NULL;
    bool done = false;
    enum sirix_status status = sirix_patch_writer_new(&options, &writer, err);

    while (status == SIRIX_OK && !done) {
        status = sirix_patch_writer_step(writer, 50, out, &done, err);
    }
    sirix_patch_writer_free(writer);
    return status;
}

/* The patch between two revisions leads from one value to the other. */
static void check_diff(struct run *run, struct fixture *f, const struct sirix_view *before,
                       const struct sirix_view *after)
{
    struct sirix_json_tree trees[3] = {0};
    struct sirix_error err = {0};
    struct sirix_buf patch;
    char *texts[2] = {text_of_view(f, before, 0), text_of_view(f, after, 0)};

    sirix_buf_init(&patch, SIZE_MAX);
    if (write_patch(f, before, after, &patch, &err) != SIRIX_OK) {
        complain(run, "no patch from one revision to the other", err.text);
        goto out;
    }
    for (size_t i = 0; i < 3; i++) {
        struct sirix_bytes text = i == 2 ? sirix_buf_view(&patch) : bytes_of(texts[i]);

        if (sirix_json_tree_init(&trees[i], &run->arena, &err) != SIRIX_OK ||
            sirix_json_tree_parse(&trees[i], text, NULL, NULL, &err) != SIRIX_OK) {
            complain(run, "what was written cannot be read", err.text);
            goto out;
        }
    }
    if (sirix_json_patch_apply(&trees[0], &trees[2], trees[2].root, NULL, &err) != SIRIX_OK) {
        complain(run, "the patch of the diff does not apply", err.text);
    } else if (!sirix_json_same_text(&trees[0], trees[0].root, &trees[1], trees[1].root, false)) {
        complain(run, "the patch of the diff leads elsewhere", "");
    }

out:
    sirix_buf_deinit(&patch);
    free(texts[0]);
    free(texts[1]);
}

static void check_after(struct run *run, struct fixture *f, const struct sirix_view *before,
                        struct sirix_json_node *expect)
{
    struct sirix_json_tree tree;
    struct sirix_error err = {0};
    struct sirix_view after;
    char *text = NULL;

    fixture_head(f, &after);
    text = text_of_view(f, &after, 0);
    if (sirix_json_tree_init(&tree, &run->arena, &err) != SIRIX_OK ||
        sirix_json_tree_parse(&tree, bytes_of(text), NULL, NULL, &err) != SIRIX_OK) {
        complain(run, "the value cannot be read", err.text);
    } else if (expect != NULL && !sirix_json_equal(&tree, tree.root, &run->line, expect)) {
        complain(run, "another value than expected", text);
    }
    check_diff(run, f, before, &after);
    check_diff(run, f, &after, before);
    free(text);
    sirix_view_close(&after);
}

static void run_case(struct run *run)
{
    struct sirix_json_node *doc = member(run, "doc");
    struct sirix_json_node *patch = member(run, "patch");
    bool must_fail = member(run, "error") != NULL;
    struct sirix_error err = {0};
    struct sirix_edit *edit = NULL;
    struct sirix_view before;
    struct sirix_view view;
    struct sirix_buf text;
    struct fixture f;
    bool applied = false;

    sirix_buf_init(&text, SIZE_MAX);
    if (doc == NULL || patch == NULL || sirix_json_tree_print(doc, &text, &err) != SIRIX_OK) {
        complain(run, "the runner does not know this form of case", "");
        sirix_buf_deinit(&text);
        return;
    }
    fixture_open(&f);
    import_bytes(&f, sirix_buf_view(&text), SIZE_MAX / 2);
    fixture_head(&f, &before);
    edit = fixture_edit(&f, &view);
    applied = sirix_patch_apply(edit, &run->line, patch, 0, &err) == SIRIX_OK;
    if (applied) {
        (void)fixture_commit(&f, edit, &view);
    } else {
        fixture_drop(edit, &view);
    }
    if (applied == must_fail) {
        complain(run, applied ? "applied" : "refused", err.text);
    } else if (applied) {
        check_after(run, &f, &before, member(run, "expect"));
    } else if (err.status != SIRIX_INVALID || err.reason == SIRIX_REASON_NONE) {
        complain(run, "an error without a reason", err.text);
    }
    sirix_view_close(&before);
    sirix_buf_deinit(&text);
    fixture_close(&f);
}

static void run_line(struct run *run, struct sirix_bytes text)
{
    const struct sirix_json_node *id = NULL;
    struct sirix_error err = {0};

    run->cases++;
    (void)snprintf(run->id, sizeof(run->id), "a line of the suite");
    sirix_arena_reset(&run->arena);
    if (sirix_json_tree_init(&run->line, &run->arena, &err) != SIRIX_OK ||
        sirix_json_tree_parse(&run->line, text, NULL, NULL, &err) != SIRIX_OK) {
        complain(run, "cannot be read", err.text);
        return;
    }
    id = member(run, "id");
    if (id != NULL && id->kind == SIRIX_JSON_KIND_STRING) {
        (void)snprintf(run->id, sizeof(run->id), "%.*s", (int)id->value.text.len,
                       (const char *)id->value.text.data);
    }
    run_case(run);
}

/* Runs every line of a file; false if there is no such file. */
static bool run_file(struct run *run, const char *folder, const char *name)
{
    char path[4096];
    char *line = NULL;
    size_t line_cap = 0;
    ssize_t len = 0;
    unsigned before = run->cases;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    while ((len = getline(&line, &line_cap, file)) > 0) {
        run_line(run, (struct sirix_bytes){.data = line, .len = (size_t)len});
    }
    free(line);
    (void)fclose(file);
    print_message("%s: %u cases\n", name, run->cases - before);
    return true;
}

static void stored_revisions_are_patched_as_the_suite_wants(void **state)
{
    const char *suites = getenv("SIRIX_SUITES");
    struct run run = {.cases = 0};
    char given[4096];

    (void)state;
    sirix_arena_init(&run.arena, SIZE_MAX);
    (void)snprintf(given, sizeof(given), "%s/given",
                   suites != NULL ? suites : SIRIX_SUITES_DEFAULT);
    if (!run_file(&run, given, "json_patch.jsonl")) {
        print_message("no suites in %s (set SIRIX_SUITES): only the project's own cases are run\n",
                      given);
    }
    assert_true(run_file(&run, SIRIX_OWN_CASES, "own_patch.jsonl"));
    sirix_arena_deinit(&run.arena);
    assert_int_equal(run.failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_revisions_are_patched_as_the_suite_wants),
    };
    return cmocka_run_group_tests_name("store_patch", tests, NULL, NULL);
}
