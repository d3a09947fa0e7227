/*
 * Imports: a whole document in pieces, as JSON or NDJSON, over what is there. Now and then it is long
 * enough to be built in bulk, or ends badly and leaves everything as it was.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "model/operation.h"

enum { LONG_EVERY = 4, BAD_EVERY = 5, ROWS_MAX = 12, LONG_STRING_BYTES = 300 * 1000 };

static void add(struct sirix_buf *out, const char *text)
{
    struct sirix_error err = {0};

    operation_must(sirix_buf_append_str(out, text, &err), &err, "text");
}

/* Elements, one a line where they are NDJSON; before them what fills a bulk's first megabyte. */
static void import_text(struct trial *trial, bool ndjson, bool is_long, struct sirix_buf *out)
{
    uint64_t rows = trial_random(trial, ROWS_MAX);
    char *filler = NULL;
    bool first = true;

    add(out, ndjson ? "" : "[");
    for (size_t bytes = 0; is_long && bytes < SIRIX_EDIT_BULK_BYTES; bytes += LONG_STRING_BYTES) {
        filler = malloc(LONG_STRING_BYTES + 3);
        MODEL_CHECK(filler != NULL, "no memory");
        memset(filler, (int)('a' + bytes / LONG_STRING_BYTES), LONG_STRING_BYTES + 2);
        filler[0] = filler[LONG_STRING_BYTES + 1] = '"';
        filler[LONG_STRING_BYTES + 2] = '\0';
        add(out, first ? "" : ndjson ? "\n" : ",");
        add(out, filler);
        free(filler);
        first = false;
    }
    for (uint64_t i = 0; i < rows || (ndjson && first); i++) {
        add(out, first ? "" : ndjson ? "\n" : ",");
        trial_value(trial, 2, out);
        first = false;
    }
    add(out, ndjson ? "\n" : "]");
}

/* The text as one array. */
static struct model_node *model_of(const char *text, bool ndjson)
{
    struct sirix_buf array;
    struct model_node *root = NULL;

    if (!ndjson) {
        return model_parse(text);
    }
    sirix_buf_init(&array, SIZE_MAX);
    add(&array, "[");
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        struct sirix_error err = {0};
        add(&array, line == text ? "" : ",");
        operation_must(sirix_buf_append(&array, line, len, &err), &err, "text");
        line += len + (line[len] == '\n' ? 1 : 0);
    }
    add(&array, "]");
    root = model_parse(trial_text(&array));
    sirix_buf_deinit(&array);
    return root;
}

/* Any split; what was written early may be seen after a yield. */
static enum sirix_status feed(struct trial *trial, struct sirix_bytes text, size_t piece,
                              struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t at = 0; at < text.len && status == SIRIX_OK; at += piece) {
        size_t len = text.len - at < piece ? text.len - at : piece;
        status = sirix_edit_value_feed(
            trial->edit, (struct sirix_bytes){.data = (const char *)text.data + at, .len = len},
            err);
        sirix_reader_yield(trial->reader);
    }
    return status;
}

static enum sirix_status begin(struct trial *trial, bool ndjson, struct sirix_error *err)
{
    const struct sirix_edit_insert insert = {.target = 0, .ndjson = ndjson};
    const struct sirix_edit_update update = {.target = 0, .ndjson = ndjson};

    return trial->root == NULL ? sirix_edit_insert_begin(trial->edit, &insert, err)
                               : sirix_edit_update_begin(trial->edit, &update, err);
}

/* Whether the value is in the edit; refused or lost, nothing is. */
static bool import_value(struct trial *trial, struct sirix_bytes text, bool ndjson, bool bad)
{
    size_t piece = 1 + trial_random(trial, text.len > 100000 ? 200000 : 200);
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    enum sirix_status status = begin(trial, ndjson, &err);

    if (status == SIRIX_OK) {
        status = feed(trial, text, piece, &err);
    }
    if (status == SIRIX_OK && bad && trial_random(trial, 2) == 0) {
        sirix_edit_value_abort(trial->edit);
        return false;
    }
    if (status == SIRIX_OK && bad) {
        status = sirix_edit_value_feed(trial->edit, operation_bytes("[1,}"), &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_value_end(trial->edit, &result, &err);
    }
    if (bad && status == SIRIX_INVALID) {
        return false;
    }
    if (!trial_is_done(trial, status, &err, "import")) {
        return false;
    }
    MODEL_CHECK(!bad, "a bad text was imported");
    trial->changed = result.changed;
    return true;
}

void trial_import_step(struct trial *trial)
{
    struct trial_branch *branch = trial_any_branch(trial);
    const struct sirix_edit_commit commit = {.author = operation_bytes("me"),
                                             .message = operation_bytes("import")};
    bool ndjson = trial_random(trial, 2) == 0;
    bool is_long = trial_random(trial, LONG_EVERY) == 0;
    bool bad = trial_random(trial, BAD_EVERY) == 0;
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_buf text;
    struct model_node *root = NULL;
    bool changed = false;
    bool done = false;

    sirix_buf_init(&text, SIZE_MAX);
    import_text(trial, ndjson, is_long, &text);
    trial_say(trial, "import of %zu bytes%s into %s%s", text.len, ndjson ? " of NDJSON" : "",
              branch->name, bad ? ", which ends badly" : "");
    trial_open_branch(trial, branch, &view);
    operation_must(sirix_edit_new(&view, trial->reader, &trial->edit, &err), &err, "edit");
    trial->root = branch->root;
    root = model_of(trial_text(&text), ndjson);
    root->key = 1;
    trial_arm(trial);
    if (import_value(trial, sirix_buf_view(&text), ndjson, bad)) {
        if (trial->changed) {
            operation_learn_children(trial, root);
        }
        sirix_reader_yield(trial->reader);
        done = trial_is_done(trial,
                             sirix_edit_commit(trial->edit, &commit, &published, &changed, &err),
                             &err, "commit of an import");
    }
    sirix_edit_free(trial->edit);
    trial->edit = NULL;
    trial->root = NULL;
    sirix_view_close(&view);
    trial_note_write(trial, branch, done && changed, published.revision, root);
    model_free(root);
    sirix_buf_deinit(&text);
}
