/*
 * Conformance of JSON text and JSON patch: every case of json_text.jsonl and json_patch.jsonl in
 * $SIRIX_SUITES/given (default: shared/suites beside the repository), and of the files of the same
 * form in this folder, which run wherever the suites are absent too. One failing case fails all.
 *
 *   text   the verdict, for any cut into chunks; for accepted ones that events, tree and canonical
 *          text agree. Where the suite leaves the choice, DECISIONS says what ours is.
 *   patch  the document after it, or that it fails and leaves the document alone; and where a case
 *          allows it, that the patch made from both documents leads from one to the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/text.h"
#include "json/tree.h"
#include "json/writer.h"

/* What we do where RFC 8259 and the suite allow either; the first prefix that fits counts. */
static const struct {
    const char *id_prefix;
    bool accept;
} DECISIONS[] = {
    {"jsontestsuite/i_number_", true},  /* Numbers are text; no exponent is too large. */
    {"jsontestsuite/i_string_", false}, /* Lone surrogates, invalid UTF-8, UTF-16. */
    {"jsontestsuite/i_object_key_lone_2nd_surrogate", false},
    {"jsontestsuite/i_structure_500_nested_arrays", true},
    {"jsontestsuite/i_structure_UTF-8_BOM_empty_object", true}, /* Skipped, and told. */
    {"jsontestsuite/string_", false}, /* Its transformations: the same kinds of string. */
    {"edge/exp-huge-", true},
    {"edge/lone-", false},
    {"edge/high-surrogate-then-text", false},
    {"edge/bom-prefix", true},
    {"edge/dup-keys-", true}, /* By the reader; a tree refuses them unless told to take the last. */
    {"edge/depth-array-100000", false},
    {"edge/depth-object-1000", true}, /* The default limit; 10000 begins with it too: see below. */
};

enum { SMALL_BYTES = 20000 };

struct run {
    unsigned cases;
    unsigned failures;
    struct sirix_arena arena; /* Of one case. */
    struct sirix_json_tree line;
    const char *id;
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

/* The text of a string member, or NULL. */
static const char *text_member(struct run *run, struct sirix_json_node *object, const char *name)
{
    struct sirix_json_node *node = sirix_json_member_str(&run->line, object, name);
    struct sirix_bytes plain = {0};
    char *text = NULL;

    if (node == NULL || node->kind != SIRIX_JSON_KIND_STRING ||
        sirix_json_text_to_plain(&run->arena, node->value.text, &plain, NULL) != SIRIX_OK ||
        sirix_arena_c_str(&run->arena, plain, &text, NULL) != SIRIX_OK) {
        return NULL;
    }
    return text;
}

/* --- Text ------------------------------------------------------------------------------------- */

static bool add_base64(struct sirix_buf *out, const char *text)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned have = 0;

    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(DIGITS, *text);

        if (digit == NULL) {
            return false;
        }
        bits = bits << 6 | (uint32_t)(digit - DIGITS);
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (sirix_buf_append_u8(out, (uint8_t)(bits >> have), NULL) != SIRIX_OK) {
                return false;
            }
        }
    }
    return true;
}

/* The bytes of a text case; false when the case gives them in no way that we know. */
static bool make_input(struct run *run, struct sirix_buf *out)
{
    const char *whole = text_member(run, run->line.root, "input_b64");
    const char *generator = text_member(run, run->line.root, "generator");
    struct sirix_json_node *repeat = member(run, "input_repeat");
    bool ok = true;

    if (whole != NULL) {
        return add_base64(out, whole);
    }
    if (repeat != NULL && repeat->kind == SIRIX_JSON_KIND_ARRAY) {
        for (struct sirix_json_node *part = sirix_json_first(repeat); part != NULL && ok;
             part = part->next) {
            const char *text = text_member(run, part, "b64");
            struct sirix_json_node *times = sirix_json_member_str(&run->line, part, "times");
            int64_t count = 0;

            ok = text != NULL && times != NULL && sirix_json_get_i64(times, &count);
            for (int64_t i = 0; i < count && ok; i++) {
                ok = add_base64(out, text);
            }
        }
        return ok;
    }
    if (generator != NULL &&
        strcmp(generator, "object with keys k0..k19999, value = the number") == 0) {
        for (int i = 0; i < 20000 && ok; i++) {
            ok = sirix_buf_printf(out, NULL, "%s\"k%d\":%d", i == 0 ? "{" : ",", i, i) == SIRIX_OK;
        }
        return ok && sirix_buf_append_u8(out, '}', NULL) == SIRIX_OK;
    }
    return false;
}

static enum sirix_status write_event(struct sirix_json_writer *writer,
                                     const struct sirix_json_event *event, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    switch (event->kind) {
    case SIRIX_JSON_OBJECT_BEGIN:
        return sirix_json_write_object_begin(writer, err);
    case SIRIX_JSON_OBJECT_END:
        return sirix_json_write_object_end(writer, err);
    case SIRIX_JSON_ARRAY_BEGIN:
        return sirix_json_write_array_begin(writer, err);
    case SIRIX_JSON_ARRAY_END:
        return sirix_json_write_array_end(writer, err);
    case SIRIX_JSON_NAME:
        return sirix_json_write_name(writer, event->text, err);
    case SIRIX_JSON_STRING:
        return sirix_json_write_string(writer, event->text, err);
    case SIRIX_JSON_STRING_PART:
        if (event->is_first) {
            status = sirix_json_write_string_begin(writer, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_json_write_string_part(writer, event->text, err);
        }
        return status == SIRIX_OK && event->is_last ? sirix_json_write_string_end(writer, err)
                                                    : status;
    case SIRIX_JSON_NUMBER:
        return sirix_json_write_number(writer, event->text, err);
    case SIRIX_JSON_TRUE:
    case SIRIX_JSON_FALSE:
        return sirix_json_write_bool(writer, event->kind == SIRIX_JSON_TRUE, err);
    case SIRIX_JSON_NULL:
        return sirix_json_write_null(writer, err);
    case SIRIX_JSON_NEED_INPUT:
    case SIRIX_JSON_END:
        break;
    }
    return SIRIX_OK;
}

/* Reads the text in chunks of chunk_bytes and writes what was read. */
static enum sirix_status read_in_chunks(const struct sirix_buf *input, size_t chunk_bytes,
                                        struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    struct sirix_json_reader reader;
    struct sirix_json_writer writer;
    enum sirix_status status = SIRIX_OK;
    size_t at = 0;

    sirix_json_reader_init(&reader, NULL);
    sirix_json_writer_init_buf(&writer, out, NULL);
    while (status == SIRIX_OK && event.kind != SIRIX_JSON_END) {
        status = sirix_json_reader_next(&reader, &event, err);
        if (status != SIRIX_OK) {
            break;
        }
        if (event.kind == SIRIX_JSON_NEED_INPUT) {
            size_t len = input->len - at < chunk_bytes ? input->len - at : chunk_bytes;
            struct sirix_bytes chunk = {.data = input->data + at, .len = len};

            at += len;
            sirix_json_reader_feed(&reader, chunk, at == input->len);
        } else {
            status = write_event(&writer, &event, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_json_writer_finish(&writer, err);
    }
    sirix_json_writer_deinit(&writer);
    sirix_json_reader_deinit(&reader);
    return status;
}

static bool decide(const char *id, bool *out_accept)
{
    if (strcmp(id, "edge/depth-object-10000") == 0) {
        *out_accept = false;
        return true;
    }
    for (size_t i = 0; i < sizeof(DECISIONS) / sizeof(DECISIONS[0]); i++) {
        if (strncmp(id, DECISIONS[i].id_prefix, strlen(DECISIONS[i].id_prefix)) == 0) {
            *out_accept = DECISIONS[i].accept;
            return true;
        }
    }
    return false;
}

/* The tree of an accepted text says the same as the events, and as the canonical text given. */
static void check_tree(struct run *run, const struct sirix_buf *input, const struct sirix_buf *read)
{
    const struct sirix_json_tree_options options = {.duplicates = SIRIX_JSON_DUPLICATES_LAST};
    const char *canonical = text_member(run, run->line.root, "canonical");
    struct sirix_json_tree_stats stats = {0};
    struct sirix_error err = {0};
    struct sirix_json_tree tree;
    struct sirix_buf printed;

    sirix_buf_init(&printed, SIZE_MAX);
    if (sirix_json_tree_init(&tree, &run->arena, &err) != SIRIX_OK ||
        sirix_json_tree_parse(&tree, sirix_buf_view(input), &options, &stats, &err) != SIRIX_OK ||
        sirix_json_tree_print(tree.root, &printed, &err) != SIRIX_OK) {
        complain(run, "the reader accepts it, the tree does not", err.text);
        canonical = NULL;
    } else if (stats.duplicates == 0 &&
               !sirix_bytes_equal(sirix_buf_view(&printed), sirix_buf_view(read))) {
        complain(run, "tree and events differ", "");
    }
    if (canonical != NULL) {
        /* Numbers keep their text here, so theirs is compared by value and all else as it stands. */
        struct sirix_bytes text = {.data = canonical, .len = strlen(canonical)};
        struct sirix_json_tree other;

        if (sirix_json_tree_init(&other, &run->arena, &err) != SIRIX_OK ||
            sirix_json_tree_parse(&other, text, NULL, NULL, &err) != SIRIX_OK ||
            !sirix_json_equal(&tree, tree.root, &other, other.root)) {
            complain(run, "not the canonical text", canonical);
        }
    }
    sirix_buf_deinit(&printed);
}

static void run_text(struct run *run)
{
    static const size_t CHUNKS[] = {1, 2, 3, 7, 64};
    const char *expect = text_member(run, run->line.root, "expect");
    struct sirix_error err = {0};
    struct sirix_buf input;
    struct sirix_buf whole;
    struct sirix_buf cut;
    bool accept = false;
    bool accepted = false;

    sirix_buf_init(&input, SIZE_MAX);
    sirix_buf_init(&whole, SIZE_MAX);
    sirix_buf_init(&cut, SIZE_MAX);
    if (expect == NULL || sirix_buf_reserve(&input, 1, NULL) != SIRIX_OK ||
        !make_input(run, &input)) {
        complain(run, "the runner does not know this form of case", "");
        goto out;
    }
    accept = strcmp(expect, "accept") == 0;
    if (strcmp(expect, "either") == 0 && !decide(run->id, &accept)) {
        complain(run, "no decision for this case", "");
        goto out;
    }
    accepted = read_in_chunks(&input, SIZE_MAX, &whole, &err) == SIRIX_OK;
    if (accepted != accept) {
        complain(run, accepted ? "accepted" : "refused", err.text);
    }
    if (!accepted && (!err.has_offset || err.offset > input.len || err.reason == 0)) {
        complain(run, "an error without offset or reason", err.text);
    }
    for (size_t i = 0; i < sizeof(CHUNKS) / sizeof(CHUNKS[0]); i++) {
        struct sirix_error cut_err = {0};

        if (CHUNKS[i] < 7 && input.len > SMALL_BYTES) {
            continue; /* Tiny chunks of large inputs show nothing new and take long. */
        }
        sirix_buf_clear(&cut);
        bool ok = read_in_chunks(&input, CHUNKS[i], &cut, &cut_err) == SIRIX_OK;
        if (ok != accepted ||
            (ok && !sirix_bytes_equal(sirix_buf_view(&cut), sirix_buf_view(&whole)))) {
            complain(run, "chunks make a difference", cut_err.text);
        }
        if (!ok && (cut_err.offset != err.offset || cut_err.reason != err.reason)) {
            complain(run, "chunks make another error", cut_err.text);
        }
    }
    if (accepted) {
        check_tree(run, &input, &whole);
    }

out:
    sirix_buf_deinit(&cut);
    sirix_buf_deinit(&whole);
    sirix_buf_deinit(&input);
}

/* --- Patch ------------------------------------------------------------------------------------ */

static bool copy_tree(struct run *run, const struct sirix_json_node *node,
                      struct sirix_json_tree *out)
{
    return sirix_json_tree_init(out, &run->arena, NULL) == SIRIX_OK &&
           sirix_json_clone(out, node, &out->root, NULL) == SIRIX_OK;
}

static void check_round_trip(struct run *run, struct sirix_json_node *from,
                             struct sirix_json_node *to)
{
    struct sirix_error err = {0};
    struct sirix_json_tree a;
    struct sirix_json_tree b;
    struct sirix_json_tree patch;

    if (!copy_tree(run, from, &a) || !copy_tree(run, to, &b) ||
        sirix_json_tree_init(&patch, &run->arena, &err) != SIRIX_OK) {
        complain(run, "out of memory", "");
        return;
    }
    if (sirix_json_patch_diff(&a, a.root, &b, b.root, &patch, NULL, &err) != SIRIX_OK ||
        sirix_json_patch_apply(&a, &patch, patch.root, NULL, &err) != SIRIX_OK) {
        complain(run, "no patch from one to the other", err.text);
    } else if (!sirix_json_same_text(&a, a.root, &b, b.root, false)) {
        complain(run, "the patch does not lead from one to the other", "");
    }
}

static void run_patch(struct run *run)
{
    struct sirix_json_node *doc = member(run, "doc");
    struct sirix_json_node *patch = member(run, "patch");
    struct sirix_json_node *expect = member(run, "expect");
    bool must_fail = member(run, "error") != NULL;
    struct sirix_error err = {0};
    struct sirix_json_tree tree;

    if (doc == NULL || patch == NULL || !copy_tree(run, doc, &tree)) {
        complain(run, "the runner does not know this form of case", "");
        return;
    }
    bool applied = sirix_json_patch_apply(&tree, &run->line, patch, NULL, &err) == SIRIX_OK;
    if (applied == must_fail) {
        complain(run, applied ? "applied" : "refused", err.text);
    } else if (!applied && !sirix_json_same_text(&tree, tree.root, &run->line, doc, true)) {
        complain(run, "failed and left the document changed", err.text);
    } else if (!applied && (err.status != SIRIX_INVALID || err.reason == SIRIX_REASON_NONE)) {
        complain(run, "an error without a reason", err.text);
    } else if (applied && expect != NULL &&
               !sirix_json_equal(&tree, tree.root, &run->line, expect)) {
        complain(run, "another document than expected", "");
    }
    if (expect != NULL) {
        check_round_trip(run, doc, expect);
        check_round_trip(run, expect, doc);
    }
}

/* --- Files ------------------------------------------------------------------------------------ */

static void run_line(struct run *run, struct sirix_bytes text, void (*run_case)(struct run *))
{
    struct sirix_error err = {0};

    run->cases++;
    run->id = "a line of the suite";
    sirix_arena_reset(&run->arena);
    if (sirix_json_tree_init(&run->line, &run->arena, &err) != SIRIX_OK ||
        sirix_json_tree_parse(&run->line, text, NULL, NULL, &err) != SIRIX_OK) {
        complain(run, "cannot be read", err.text);
        return;
    }
    run->id = text_member(run, run->line.root, "id");
    if (run->id == NULL) {
        run->id = "a case without id";
    }
    run_case(run);
}

/* Runs every line of a file; false if there is no such file. */
static bool run_file(struct run *run, const char *folder, const char *name,
                     void (*run_case)(struct run *))
{
    char path[4096];
    char *line = NULL;
    size_t line_cap = 0;
    ssize_t len = 0;
    unsigned before = run->cases;
    unsigned failed_before = run->failures;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    while ((len = getline(&line, &line_cap, file)) > 0) {
        run_line(run, (struct sirix_bytes){.data = line, .len = (size_t)len}, run_case);
    }
    free(line);
    (void)fclose(file);
    (void)printf("%s: %u cases, %u failures\n", name, run->cases - before,
                 run->failures - failed_before);
    return true;
}

int main(void)
{
    const char *suites = getenv("SIRIX_SUITES");
    char given[4096];
    struct run run = {.id = ""};

    sirix_arena_init(&run.arena, SIZE_MAX);
    (void)snprintf(given, sizeof(given), "%s/given",
                   suites != NULL ? suites : SIRIX_SUITES_DEFAULT);
    if (!run_file(&run, given, "json_text.jsonl", run_text) ||
        !run_file(&run, given, "json_patch.jsonl", run_patch)) {
        (void)printf("no suites in %s (set SIRIX_SUITES): only this folder's own cases are run\n",
                     given);
    }
    bool own = run_file(&run, SIRIX_OWN_CASES, "own_text.jsonl", run_text) &&
               run_file(&run, SIRIX_OWN_CASES, "own_patch.jsonl", run_patch);
    sirix_arena_deinit(&run.arena);
    (void)printf("%u cases, %u failures\n", run.cases, run.failures);
    return own && run.failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
