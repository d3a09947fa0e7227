/*
 * Paths of nodes, in both forms.
 *
 *     SIRIX     /users/[5]/name   names plain, `~` as ~0, `/` as ~1, a `[` that begins a name as ~2
 *     POINTER   /users/5/name     RFC 6901
 *
 * An index stands in brackets in one form and bare in the other; both count from 0.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "store/document/document.h"
#include "store/document/rows.h"
#include "json/text.h"

enum { INDEX_TEXT_BYTES = 24, STEP_SHOWN_BYTES_MAX = 80 };

/* --- Writing ------------------------------------------------------------------------------------- */

/* One step, kept as key and index while climbing; the texts are written from the top down. */
struct step {
    uint64_t key;
    uint64_t index; /* Elements. */
    bool is_member;
};

/* How a byte of a name is written in a step; NULL: as it is. */
static const char *escape_of(enum sirix_path_form form, uint8_t byte, bool is_first)
{
    if (byte == '~') {
        return "~0";
    }
    if (byte == '/') {
        return "~1";
    }
    return byte == '[' && is_first && form == SIRIX_PATH_SIRIX ? "~2" : NULL;
}

static enum sirix_status append_name(enum sirix_path_form form, struct sirix_bytes plain,
                                     struct sirix_buf *out, struct sirix_error *err)
{
    const uint8_t *at = plain.data;
    enum sirix_status status = SIRIX_OK;
    size_t from = 0;

    for (size_t i = 0; i < plain.len && status == SIRIX_OK; i++) {
        const char *instead = escape_of(form, at[i], i == 0);
        if (instead == NULL) {
            continue;
        }
        status = sirix_buf_append(out, at + from, i - from, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_append_str(out, instead, err);
        }
        from = i + 1;
    }
    if (status == SIRIX_OK && from != plain.len) {
        status = sirix_buf_append(out, at + from, plain.len - from, err);
    }
    return status;
}

enum sirix_status sirix_path_append_member(struct sirix_rows *rows, const struct sirix_node *field,
                                           enum sirix_path_form form, struct sirix_buf *out,
                                           struct sirix_error *err)
{
    struct sirix_buf stored;
    struct sirix_buf plain;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&stored, SIZE_MAX);
    sirix_buf_init(&plain, SIZE_MAX);
    status = sirix_rows_name(rows, field, &stored, err);
    if (status == SIRIX_OK) {
        status = sirix_json_text_unescape(&plain, sirix_buf_view(&stored), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(out, "/", err);
    }
    if (status == SIRIX_OK) {
        status = append_name(form, sirix_buf_view(&plain), out, err);
    }
    sirix_buf_deinit(&stored);
    sirix_buf_deinit(&plain);
    return status;
}

static enum sirix_status append_step(struct sirix_rows *rows, const struct step *step,
                                     enum sirix_path_form form, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    enum sirix_status status = SIRIX_OK;

    if (!step->is_member) {
        return sirix_buf_printf(out, err, form == SIRIX_PATH_SIRIX ? "/[%" PRIu64 "]" : "/%" PRIu64,
                                step->index);
    }
    status = sirix_rows_child(rows, step->key, &node, err);
    return status == SIRIX_OK
               ? sirix_path_append_member(rows, sirix_node_listed(&node), form, out, err)
               : status;
}

static enum sirix_status index_of(struct sirix_rows *rows,
                                  const struct sirix_document_node *element, uint64_t *out_index,
                                  struct sirix_error *err)
{
    struct sirix_document_node parent = {0};
    struct sirix_list list = {0};
    enum sirix_status status = sirix_rows_node(rows, element->parent, &parent, err);

    if (status == SIRIX_OK) {
        status = sirix_list_of(rows, &parent, &list, err);
    }
    return status == SIRIX_OK ? sirix_list_index(rows, &list, &element->stored, out_index, err)
                              : status;
}

/* Climbs from key to the document's value; steps end up innermost first. */
static enum sirix_status climb(struct sirix_rows *rows, uint64_t key, struct step *steps,
                               size_t *out_count, struct sirix_error *err)
{
    size_t count = 0;

    for (;;) {
        struct sirix_document_node node = {0};
        enum sirix_status status = sirix_rows_node(rows, key, &node, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (node.key <= 1) {
            *out_count = count;
            return SIRIX_OK;
        }
        if (count == SIRIX_DOCUMENT_DEPTH_MAX) {
            return sirix_fail(err, SIRIX_CORRUPT, "node %" PRIu64 " has more than %d ancestors",
                              key, (int)count);
        }
        steps[count].key = node.key;
        steps[count].is_member = node.is_member;
        if (!node.is_member) {
            status = index_of(rows, &node, &steps[count].index, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        count++;
        key = node.parent;
    }
}

enum sirix_status sirix_rows_path(struct sirix_rows *rows, uint64_t key, enum sirix_path_form form,
                                  struct sirix_buf *out, struct sirix_error *err)
{
    struct step *steps = malloc(SIRIX_DOCUMENT_DEPTH_MAX * sizeof(*steps));
    size_t len_before = out->len;
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    if (steps == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a path");
    }
    status = climb(rows, key, steps, &count, err);
    while (status == SIRIX_OK && count != 0) {
        status = append_step(rows, &steps[--count], form, out, err);
    }
    if (status != SIRIX_OK) {
        out->len = len_before;
    }
    free(steps);
    return status;
}

enum sirix_status sirix_document_path(struct sirix_document *document, uint64_t key,
                                      enum sirix_path_form form, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);

    return sirix_rows_path(&rows, key, form, out, err);
}

/* --- Reading ------------------------------------------------------------------------------------- */

static enum sirix_status bad_step(struct sirix_bytes path, size_t end, const char *what,
                                  enum sirix_status status, struct sirix_error *err)
{
    size_t shown = end < STEP_SHOWN_BYTES_MAX
                       ? end
                       : sirix_utf8_cut(path.data, path.len, STEP_SHOWN_BYTES_MAX);

    status =
        status == SIRIX_NOT_FOUND
            ? sirix_fail_reason(err, status, SIRIX_REASON_NODE_UNKNOWN, "%.*s%s: %s", (int)shown,
                                (const char *)path.data, shown == end ? "" : "...", what)
            : sirix_fail_reason(err, status, SIRIX_REASON_FIELD_INVALID, "%.*s%s: %s", (int)shown,
                                (const char *)path.data, shown == end ? "" : "...", what);
    sirix_error_set_offset(err, end);
    return status;
}

/* What a tilde and this byte stand for; 0: nothing. */
static uint8_t escaped_byte(enum sirix_path_form form, uint8_t byte)
{
    switch (byte) {
    case '0':
        return '~';
    case '1':
        return '/';
    case '2':
        return form == SIRIX_PATH_SIRIX ? '[' : 0;
    default:
        return 0;
    }
}

/* The byte at *at of a step, one or two places on; false when a tilde stands alone. */
static bool take_byte(enum sirix_path_form form, struct sirix_bytes step, size_t *at,
                      uint8_t *out_byte)
{
    const uint8_t *bytes = step.data;
    uint8_t byte = bytes[(*at)++];

    if (byte == '~') {
        byte = *at < step.len ? escaped_byte(form, bytes[(*at)++]) : 0;
        if (byte == 0) {
            return false;
        }
    }
    *out_byte = byte;
    return true;
}

/* The plain name of a step; false when a tilde stands alone. */
static bool unescape_step(enum sirix_path_form form, struct sirix_bytes step, uint8_t *to,
                          size_t *out_len)
{
    size_t len = 0;

    for (size_t at = 0; at < step.len;) {
        if (!take_byte(form, step, &at, &to[len])) {
            return false;
        }
        len++;
    }
    *out_len = len;
    return true;
}

/* The index that a step names: digits without a leading zero, bare or in brackets. */
static bool read_index(enum sirix_path_form form, struct sirix_bytes step, uint64_t *out_index)
{
    const uint8_t *at = step.data;
    size_t len = step.len;
    uint64_t index = 0;

    if (form == SIRIX_PATH_SIRIX) {
        if (len < 3 || at[0] != '[' || at[len - 1] != ']') {
            return false;
        }
        at++;
        len -= 2;
    }
    if (len == 0 || len > 19 || (len > 1 && at[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9') {
            return false;
        }
        index = index * 10 + (uint64_t)(at[i] - '0');
    }
    *out_index = index;
    return true;
}

struct resolving {
    struct sirix_rows rows;
    enum sirix_path_form form;
    struct sirix_bytes path;
    uint8_t *plain; /* Room for the longest step. */
    struct sirix_buf stored;
    uint64_t key;
};

static enum sirix_status step_member(struct resolving *r, const struct sirix_list *list,
                                     struct sirix_bytes step, size_t end, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    size_t len = 0;

    if (!unescape_step(r->form, step, r->plain, &len)) {
        return bad_step(r->path, end, "a ~ in a path is written ~0", SIRIX_INVALID, err);
    }
    sirix_buf_clear(&r->stored);
    status =
        sirix_json_text_escape(&r->stored, (struct sirix_bytes){.data = r->plain, .len = len}, err);
    if (status == SIRIX_OK) {
        status = sirix_list_member(&r->rows, list, sirix_buf_view(&r->stored), &r->key, err);
    }
    return status == SIRIX_NOT_FOUND
               ? bad_step(r->path, end, "the object has no such member", status, err)
               : status;
}

static enum sirix_status step_down(struct resolving *r, size_t begin, size_t end,
                                   struct sirix_error *err)
{
    struct sirix_bytes step = {.data = (const uint8_t *)r->path.data + begin, .len = end - begin};
    struct sirix_document_node node = {0};
    struct sirix_list list = {0};
    enum sirix_status status = sirix_rows_node(&r->rows, r->key, &node, err);
    uint64_t index = 0;

    if (status == SIRIX_OK) {
        status = sirix_list_of(&r->rows, &node, &list, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (node.kind == SIRIX_NODE_OBJECT) {
        /* In this form a step in brackets is an index, and a name that begins so is written ~2. */
        if (r->form == SIRIX_PATH_SIRIX && step.len != 0 && *(const uint8_t *)step.data == '[') {
            return bad_step(r->path, end, "an object has no elements", SIRIX_NOT_FOUND, err);
        }
        return step_member(r, &list, step, end, err);
    }
    if (node.kind != SIRIX_NODE_ARRAY) {
        return bad_step(r->path, end, "the value above it is neither object nor array",
                        SIRIX_NOT_FOUND, err);
    }
    if (!read_index(r->form, step, &index)) {
        return bad_step(r->path, end, "an array has elements by index only", SIRIX_NOT_FOUND, err);
    }
    status = sirix_list_at(&r->rows, &list, index, &r->key, err);
    return status == SIRIX_NOT_FOUND
               ? bad_step(r->path, end, "the array has no such element", status, err)
               : status;
}

enum sirix_status sirix_document_resolve(struct sirix_document *document, enum sirix_path_form form,
                                         struct sirix_bytes path, uint64_t *out_key,
                                         struct sirix_error *err)
{
    struct resolving r = {.form = form, .path = path, .key = 1};
    struct sirix_document_node top = {0};
    const uint8_t *at = path.data;
    enum sirix_status status = SIRIX_OK;
    size_t begin = 0;

    r.rows = sirix_rows_of_document(document);
    if (path.len != 0 && at[0] != '/') {
        return bad_step(path, path.len, "a path is empty or begins with /", SIRIX_INVALID, err);
    }
    r.plain = malloc(path.len + 1);
    if (r.plain == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a path of %zu bytes", path.len);
    }
    sirix_buf_init(&r.stored, SIZE_MAX);
    status = sirix_rows_node(&r.rows, 1, &top, err);
    while (status == SIRIX_OK && begin < path.len) {
        const uint8_t *slash = memchr(at + begin + 1, '/', path.len - begin - 1);
        size_t end = slash == NULL ? path.len : (size_t)(slash - at);
        status = step_down(&r, begin + 1, end, err);
        begin = end;
    }
    if (status == SIRIX_OK) {
        *out_key = r.key;
    }
    sirix_buf_deinit(&r.stored);
    free(r.plain);
    return status;
}
