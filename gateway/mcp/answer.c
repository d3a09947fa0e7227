/* Building answers. */
#include "mcp/answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "guard/suspicion.h"
#include "guard/visible.h"
#include "sirix/client.h"
#include "json/text.h"

enum { PRINTED_BYTES_MAX = 1024, SHOWN_CHARACTER_BYTES = 9 /* <U+E0001> */ };
/* Together less than what SIRIX_ANSWER_HEAD_BYTES leaves for them. */
enum { FLAGS_MAX = 6, FLAG_PATH_BYTES = 72, FLAG_TEXT_BYTES_MIN = 12 };

static bool is_failed(struct sirix_answer *answer, enum sirix_status status)
{
    if (answer->status == SIRIX_OK) {
        answer->status = status;
    }
    return answer->status != SIRIX_OK;
}

/* Where a call writes its error: only the first one counts. */
static struct sirix_error *error_of(struct sirix_answer *answer)
{
    return answer->status == SIRIX_OK ? &answer->error : NULL;
}

enum sirix_status sirix_answer_init(struct sirix_answer *answer, struct sirix_arena *arena,
                                    const struct sirix_settings *settings, struct sirix_error *err)
{
    *answer = (struct sirix_answer){
        .bytes_max = (size_t)settings->max_result_bytes,
        .string_max = (size_t)settings->max_string_value_length,
        .show = settings->sanitize_output,
    };
    sirix_buf_init(&answer->scratch, SIZE_MAX);
    /* A character takes at most SHOWN_CHARACTER_BYTES, so that one string always fits. */
    const size_t fits =
        (answer->bytes_max - 2 * (size_t)SIRIX_ANSWER_HEAD_BYTES) / SHOWN_CHARACTER_BYTES;
    if (answer->string_max > fits) {
        answer->string_max = fits;
    }
    enum sirix_status status = sirix_json_tree_init(&answer->tree, arena, err);
    if (status == SIRIX_OK) {
        status = sirix_json_new(&answer->tree, SIRIX_JSON_KIND_OBJECT, &answer->body, err);
    }
    return status;
}

void sirix_answer_deinit(struct sirix_answer *answer)
{
    sirix_buf_deinit(&answer->scratch);
}

static struct sirix_json_node *new_node(struct sirix_answer *answer, enum sirix_json_kind kind)
{
    struct sirix_json_node *node = NULL;

    if (answer->status == SIRIX_OK) {
        (void)is_failed(answer, sirix_json_new(&answer->tree, kind, &node, error_of(answer)));
    }
    return node;
}

struct sirix_json_node *sirix_answer_object(struct sirix_answer *answer)
{
    return new_node(answer, SIRIX_JSON_KIND_OBJECT);
}

struct sirix_json_node *sirix_answer_array(struct sirix_answer *answer)
{
    return new_node(answer, SIRIX_JSON_KIND_ARRAY);
}

void sirix_answer_set(struct sirix_answer *answer, struct sirix_json_node *object, const char *name,
                      struct sirix_json_node *value)
{
    if (answer->status == SIRIX_OK && object != NULL && value != NULL) {
        (void)is_failed(answer, sirix_json_object_set_str(&answer->tree, object, name, value,
                                                          error_of(answer)));
    }
}

void sirix_answer_append(struct sirix_answer *answer, struct sirix_json_node *array,
                         struct sirix_json_node *value)
{
    if (answer->status == SIRIX_OK && array != NULL && value != NULL) {
        sirix_json_array_append(array, value);
    }
}

void sirix_answer_u64(struct sirix_answer *answer, struct sirix_json_node *object, const char *name,
                      uint64_t value)
{
    struct sirix_json_node *node = NULL;

    if (answer->status == SIRIX_OK &&
        !is_failed(answer, sirix_json_new_u64(&answer->tree, value, &node, error_of(answer)))) {
        sirix_answer_set(answer, object, name, node);
    }
}

void sirix_answer_bool(struct sirix_answer *answer, struct sirix_json_node *object,
                       const char *name, bool value)
{
    sirix_answer_set(answer, object, name,
                     new_node(answer, value ? SIRIX_JSON_KIND_TRUE : SIRIX_JSON_KIND_FALSE));
}

void sirix_answer_time(struct sirix_answer *answer, struct sirix_json_node *object,
                       const char *name, uint64_t time_us)
{
    char text[SIRIX_TIME_TEXT_BYTES];

    (void)sirix_time_format(time_us > INT64_MAX ? INT64_MAX : (int64_t)time_us, text);
    sirix_answer_str(answer, object, name, text);
}

void sirix_answer_str(struct sirix_answer *answer, struct sirix_json_node *object, const char *name,
                      const char *text)
{
    const struct sirix_bytes plain = {.data = text, .len = strlen(text)};
    struct sirix_json_node *node = NULL;

    if (answer->status == SIRIX_OK &&
        !is_failed(answer,
                   sirix_json_new_string_plain(&answer->tree, plain, &node, error_of(answer)))) {
        sirix_answer_set(answer, object, name, node);
    }
}

void sirix_answer_printf(struct sirix_answer *answer, struct sirix_json_node *object,
                         const char *name, const char *fmt, ...)
{
    char text[PRINTED_BYTES_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    sirix_answer_str(answer, object, name, text);
}

/* A canonical text made visible and cut, in the arena; *out_seen says what was done. */
static struct sirix_bytes treat(struct sirix_answer *answer, struct sirix_bytes canonical,
                                struct sirix_visible *out_seen)
{
    struct sirix_bytes kept = {.data = NULL, .len = 0};

    sirix_buf_clear(&answer->scratch);
    if (answer->status != SIRIX_OK ||
        is_failed(answer, sirix_visible_append(&answer->scratch, canonical, answer->string_max,
                                               answer->show, out_seen, error_of(answer)))) {
        return kept;
    }
    if (out_seen->was_changed) {
        answer->limits |= SIRIX_ANSWER_LIMIT_SHOWN;
    }
    if (out_seen->is_cut) {
        sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_STRINGS);
    }
    if (!out_seen->was_changed && !out_seen->is_cut) {
        return canonical;
    }
    (void)is_failed(answer, sirix_arena_copy(answer->tree.arena, sirix_buf_view(&answer->scratch),
                                             &kept, error_of(answer)));
    return kept;
}

/* A marker behind a text that was cut. */
static struct sirix_bytes mark(struct sirix_answer *answer, struct sirix_bytes text,
                               const char *marker)
{
    struct sirix_bytes kept = {.data = NULL, .len = 0};

    sirix_buf_clear(&answer->scratch);
    if (answer->status == SIRIX_OK &&
        !is_failed(answer, sirix_buf_append_bytes(&answer->scratch, text, error_of(answer))) &&
        !is_failed(answer, sirix_buf_append_str(&answer->scratch, marker, error_of(answer)))) {
        (void)is_failed(answer,
                        sirix_arena_copy(answer->tree.arena, sirix_buf_view(&answer->scratch),
                                         &kept, error_of(answer)));
    }
    return kept;
}

static struct sirix_json_node *string_node(struct sirix_answer *answer,
                                           struct sirix_bytes canonical)
{
    struct sirix_json_node *node = NULL;

    if (answer->status == SIRIX_OK) {
        (void)is_failed(answer,
                        sirix_json_new_string(&answer->tree, canonical, &node, error_of(answer)));
    }
    return node;
}

/* A canonical text; what is cut off it says so. */
static struct sirix_bytes treat_whole(struct sirix_answer *answer, struct sirix_bytes canonical)
{
    struct sirix_visible seen = {0};
    struct sirix_bytes text = treat(answer, canonical, &seen);
    char marker[96];

    if (!seen.is_cut) {
        return text;
    }
    (void)snprintf(marker, sizeof(marker), " [cut after %zu of %zu bytes]", seen.taken,
                   canonical.len);
    return mark(answer, text, marker);
}

struct sirix_bytes sirix_answer_clean(struct sirix_answer *answer, struct sirix_bytes plain)
{
    struct sirix_bytes canonical = {.data = NULL, .len = 0};

    if (answer->status != SIRIX_OK ||
        is_failed(answer, sirix_json_text_to_canonical(answer->tree.arena, plain, &canonical,
                                                       error_of(answer)))) {
        return canonical;
    }
    struct sirix_bytes text = treat_whole(answer, canonical);
    /* What was not changed may still be the caller's memory. */
    if (answer->status == SIRIX_OK && text.data == plain.data) {
        (void)is_failed(answer,
                        sirix_arena_copy(answer->tree.arena, text, &text, error_of(answer)));
    }
    return text;
}

void sirix_answer_stored(struct sirix_answer *answer, struct sirix_json_node *object,
                         const char *name, struct sirix_bytes plain)
{
    sirix_answer_set(answer, object, name, sirix_answer_text(answer, plain));
}

struct sirix_json_node *sirix_answer_text(struct sirix_answer *answer, struct sirix_bytes plain)
{
    return string_node(answer, sirix_answer_clean(answer, plain));
}

/* All strings and names of a value that was just read. */
static void treat_tree(struct sirix_answer *answer, struct sirix_json_node *top)
{
    for (struct sirix_json_node *at = top; at != NULL && answer->status == SIRIX_OK;
         at = sirix_json_walk(top, at)) {
        if (at->kind == SIRIX_JSON_KIND_STRING) {
            at->value.text = treat_whole(answer, at->value.text);
        }
        if (at->has_name && at != top) {
            /* Only printed from here on: the index of names is not used any more. */
            at->name = treat_whole(answer, at->name);
        }
    }
}

static struct sirix_json_node *parse(struct sirix_answer *answer, struct sirix_bytes json)
{
    struct sirix_json_tree tree = answer->tree;

    tree.root = NULL;
    if (answer->status != SIRIX_OK ||
        is_failed(answer, sirix_json_tree_parse(&tree, json, NULL, NULL, error_of(answer)))) {
        return NULL;
    }
    return tree.root;
}

struct sirix_json_node *sirix_answer_value(struct sirix_answer *answer, struct sirix_bytes json)
{
    struct sirix_json_node *node = parse(answer, json);

    if (node != NULL) {
        treat_tree(answer, node);
    }
    return node;
}

struct sirix_json_node *sirix_answer_string_part(struct sirix_answer *answer,
                                                 struct sirix_bytes json, uint64_t offset,
                                                 uint64_t total, uint64_t node_key,
                                                 uint64_t *out_next)
{
    struct sirix_json_node *node = parse(answer, json);
    struct sirix_visible seen = {0};
    char marker[160];

    if (node == NULL || node->kind != SIRIX_JSON_KIND_STRING) {
        *out_next = total;
        return node;
    }
    node->value.text = treat(answer, node->value.text, &seen);
    *out_next = offset + seen.taken;
    if (*out_next < total) {
        sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_STRINGS);
        (void)snprintf(marker, sizeof(marker),
                       " [cut: bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64
                       "; goes on with nodeKey %" PRIu64 ", offset %" PRIu64 "]",
                       offset, *out_next, total, node_key, *out_next);
        node->value.text = mark(answer, node->value.text, marker);
    }
    return node;
}

size_t sirix_answer_size(struct sirix_answer *answer, const struct sirix_json_node *value)
{
    sirix_buf_clear(&answer->scratch);
    if (value == NULL || answer->status != SIRIX_OK ||
        is_failed(answer, sirix_json_tree_print(value, &answer->scratch, error_of(answer)))) {
        return 0;
    }
    return answer->scratch.len;
}

bool sirix_answer_has_room(const struct sirix_answer *answer, size_t bytes, size_t more)
{
    return bytes + more + SIRIX_ANSWER_HEAD_BYTES <= answer->bytes_max;
}

void sirix_answer_truncate(struct sirix_answer *answer, unsigned limits)
{
    answer->is_truncated = true;
    answer->limits |= limits;
}

static void add_limits(struct sirix_answer *answer, struct sirix_json_node *root)
{
    static const struct {
        unsigned bit;
        const char *name;
    } known[] = {
        {SIRIX_ANSWER_LIMIT_ITEMS, "maxResultSize"},
        {SIRIX_ANSWER_LIMIT_BYTES, "maxResultBytes"},
        {SIRIX_ANSWER_LIMIT_STRINGS, "maxStringValueLength"},
        {SIRIX_ANSWER_LIMIT_SHOWN, "sanitizeOutput"},
        {SIRIX_ANSWER_LIMIT_ASKED, "limit"},
        {SIRIX_ANSWER_LIMIT_SQL_DEFAULT, "sqlDefaultRows"},
        {SIRIX_ANSWER_LIMIT_SQL_MAX, "sqlMaxRows"},
    };
    struct sirix_json_node *array = sirix_answer_array(answer);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if ((answer->limits & known[i].bit) != 0) {
            const struct sirix_bytes name = {known[i].name, strlen(known[i].name)};
            sirix_answer_append(answer, array, string_node(answer, name));
        }
    }
    sirix_answer_set(answer, root, "limitsApplied", array);
}

/* --- Flags ---------------------------------------------------------------------------------------- */

/* Puts one step before what is there; false: it does not fit. */
static bool add_step(const struct sirix_json_node *at, char out[FLAG_PATH_BYTES], size_t *begin)
{
    char step[FLAG_PATH_BYTES] = "/";
    const char *name = at->name.data;
    size_t len = 1;

    if (!at->has_name) {
        len = (size_t)snprintf(step, sizeof(step), "/%zu", sirix_json_position(at));
    }
    for (size_t i = 0; i < at->name.len; i++) {
        const bool is_special = name[i] == '/' || name[i] == '~';

        if (len + 2 > sizeof(step)) {
            return false;
        }
        if (is_special) {
            step[len++] = '~';
            step[len++] = name[i] == '/' ? '1' : '0';
        } else {
            step[len++] = name[i];
        }
    }
    if (len > *begin) {
        return false;
    }
    *begin -= len;
    memcpy(out + *begin, step, len);
    return true;
}

/* Where a value is in the answer, as a JSON pointer; of one too long what is above it. */
static const char *pointer_of(const struct sirix_json_node *body, const struct sirix_json_node *at,
                              char out[FLAG_PATH_BYTES])
{
    size_t begin = FLAG_PATH_BYTES - 1;

    out[begin] = '\0';
    for (; at != NULL && at != body; at = at->parent) {
        if (!add_step(at, out, &begin)) {
            begin = FLAG_PATH_BYTES - 1;
        }
    }
    return out + begin;
}

static enum sirix_suspicion suspicion_of(struct sirix_answer *answer, struct sirix_bytes canonical)
{
    enum sirix_suspicion found = SIRIX_SUSPICION_NONE;
    struct sirix_bytes plain = {.data = NULL, .len = 0};

    if (canonical.len < FLAG_TEXT_BYTES_MIN || answer->status != SIRIX_OK ||
        is_failed(answer, sirix_json_text_to_plain(answer->tree.arena, canonical, &plain,
                                                   error_of(answer)))) {
        return SIRIX_SUSPICION_NONE;
    }
    (void)is_failed(answer, sirix_suspicion_of(plain, &found, error_of(answer)));
    return found;
}

/* Texts of ours, which tell a model what to do. */
static bool is_ours(const struct sirix_answer *answer, const struct sirix_json_node *node)
{
    return node->parent == answer->body &&
           (sirix_bytes_equal(node->name, sirix_bytes_from_str("message")) ||
            sirix_bytes_equal(node->name, sirix_bytes_from_str("confirmToken")) ||
            sirix_bytes_equal(node->name, sirix_bytes_from_str("note")));
}

/* What a name or a text of the body looks like. */
static enum sirix_suspicion suspicion_at(struct sirix_answer *answer,
                                         const struct sirix_json_node *at)
{
    enum sirix_suspicion found = SIRIX_SUSPICION_NONE;

    if (at->kind == SIRIX_JSON_KIND_STRING && !is_ours(answer, at)) {
        found = suspicion_of(answer, at->value.text);
    }
    if (found == SIRIX_SUSPICION_NONE && at->has_name) {
        found = suspicion_of(answer, at->name);
    }
    return found;
}

static struct sirix_json_node *
make_flag(struct sirix_answer *answer, const struct sirix_json_node *at, enum sirix_suspicion found)
{
    struct sirix_json_node *flag = sirix_answer_object(answer);
    char path[FLAG_PATH_BYTES];
    struct sirix_bytes where = sirix_bytes_from_str(pointer_of(answer->body, at, path));

    if (answer->status == SIRIX_OK) {
        (void)is_failed(answer,
                        sirix_arena_copy(answer->tree.arena, where, &where, error_of(answer)));
    }
    sirix_answer_set(answer, flag, "path", string_node(answer, where));
    sirix_answer_str(answer, flag, "looksLike", sirix_suspicion_name(found));
    return flag;
}

/* Which stored texts look like instructions: nothing is left out because of it. */
static void add_flags(struct sirix_answer *answer, struct sirix_json_node *root)
{
    struct sirix_json_node *list = NULL;
    size_t count = 0;

    for (struct sirix_json_node *at = answer->body;
         at != NULL && count < FLAGS_MAX && answer->status == SIRIX_OK;
         at = sirix_json_walk(answer->body, at)) {
        const enum sirix_suspicion found = suspicion_at(answer, at);

        if (found != SIRIX_SUSPICION_NONE) {
            list = list == NULL ? sirix_answer_array(answer) : list;
            sirix_answer_append(answer, list, make_flag(answer, at, found));
            count++;
        }
    }
    sirix_answer_set(answer, root, "flags", list);
}

enum sirix_status sirix_answer_finish(struct sirix_answer *answer, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    struct sirix_json_node *root = sirix_answer_object(answer);

    sirix_answer_str(answer, root, "notice", SIRIX_ANSWER_NOTICE);
    if (answer->has_count) {
        sirix_answer_u64(answer, root, "count", answer->count);
    }
    sirix_answer_bool(answer, root, "truncated", answer->is_truncated);
    add_limits(answer, root);
    if (answer->next_cursor != NULL) {
        sirix_answer_str(answer, root, "nextCursor", answer->next_cursor);
    }
    if (answer->show) {
        add_flags(answer, root);
    }
    while (answer->status == SIRIX_OK && sirix_json_first(answer->body) != NULL) {
        struct sirix_json_node *member = sirix_json_first(answer->body);
        const struct sirix_bytes name = member->name;

        sirix_json_detach(member);
        (void)is_failed(answer, sirix_json_object_set(&answer->tree, root, name, member, NULL,
                                                      error_of(answer)));
    }
    if (answer->status == SIRIX_OK) {
        (void)is_failed(answer, sirix_json_tree_print(root, out, error_of(answer)));
    }
    if (answer->status != SIRIX_OK && err != NULL) {
        *err = answer->error;
    }
    return answer->status;
}
