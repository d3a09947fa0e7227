/* Pointers and paths: one scanner for both, since they differ in brackets and one escape only. */
#include "json/pointer.h"

#include <string.h>

#include "json/number.h"
#include "json/text.h"

enum flavour { POINTER, PATH };

/* --- Reading ---------------------------------------------------------------------------------- */

static enum sirix_status refuse(size_t at, const char *what, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "%s at byte %zu", what, at);

    sirix_error_set_offset(err, at);
    return status;
}

/* Digits without a leading zero, within u64. */
static bool read_position(const uint8_t *text, size_t len, uint64_t *out)
{
    uint64_t value = 0;

    if (len == 0 || len > 20 || (text[0] == '0' && len > 1)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

/* What `~` and text[0] stand for; 0 if that is no escape. */
static uint8_t tilde(const uint8_t *text, size_t len, enum flavour flavour, bool is_first)
{
    if (len != 0 && text[0] == '0') {
        return '~';
    }
    if (len != 0 && text[0] == '1') {
        return '/';
    }
    return len != 0 && text[0] == '2' && flavour == PATH && is_first ? '[' : 0;
}

/* The plain name of a step with `~` in it; offset is where the step starts. */
static enum sirix_status unescape_step(struct sirix_buf *buf, struct sirix_bytes step,
                                       enum flavour flavour, size_t offset, struct sirix_error *err)
{
    const uint8_t *text = step.data;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < step.len && status == SIRIX_OK; i++) {
        uint8_t byte = text[i];
        bool is_escape = byte == '~';

        if (is_escape) {
            byte = tilde(text + i + 1, step.len - i - 1, flavour, i == 0);
            i++;
        }
        status = is_escape && byte == 0 ? refuse(offset + i - 1, "a '~' that starts no escape", err)
                                        : sirix_buf_append_u8(buf, byte, err);
    }
    return status;
}

static enum sirix_status read_name(struct sirix_arena *arena, struct sirix_bytes text,
                                   enum flavour flavour, size_t offset, struct sirix_bytes *out,
                                   struct sirix_error *err)
{
    struct sirix_buf plain;
    enum sirix_status status = SIRIX_OK;

    if (memchr(text.data, '~', text.len) == NULL) {
        status = sirix_json_text_to_canonical(arena, text, out, err);
    } else {
        sirix_buf_init(&plain, SIZE_MAX);
        status = unescape_step(&plain, text, flavour, offset, err);
        if (status == SIRIX_OK) {
            text = sirix_buf_view(&plain);
            status = sirix_json_text_to_canonical(arena, text, out, err);
        }
        if (status == SIRIX_OK && out->data == text.data) {
            status = sirix_arena_copy(arena, text, out, err);
        }
        sirix_buf_deinit(&plain);
    }
    if (status == SIRIX_INVALID && err != NULL && err->reason == SIRIX_REASON_JSON_ENCODING) {
        return refuse(offset, "invalid UTF-8 in the step", err);
    }
    return status;
}

static enum sirix_status read_step(struct sirix_arena *arena, struct sirix_bytes text,
                                   enum flavour flavour, size_t offset, struct sirix_json_step *out,
                                   struct sirix_error *err)
{
    const uint8_t *bytes = text.data;
    struct sirix_json_step step = {0};

    if (flavour == PATH && text.len != 0 && bytes[0] == '[') {
        if (bytes[text.len - 1] != ']' || !read_position(bytes + 1, text.len - 2, &step.position)) {
            return refuse(offset, "expected a position such as [5]", err);
        }
        step.is_position = true;
        *out = step;
        return SIRIX_OK;
    }
    if (flavour == POINTER) {
        step.is_position = read_position(bytes, text.len, &step.position);
        step.is_end = text.len == 1 && bytes[0] == '-';
    }
    enum sirix_status status = read_name(arena, text, flavour, offset, &step.name, err);
    if (status == SIRIX_OK) {
        *out = step;
    }
    return status;
}

static enum sirix_status parse(struct sirix_arena *arena, struct sirix_bytes text,
                               enum flavour flavour, struct sirix_json_steps *out,
                               struct sirix_error *err)
{
    const uint8_t *bytes = text.data;
    struct sirix_json_steps steps = {0};
    size_t count = 0;
    void *memory = NULL;

    if (text.len != 0 && bytes[0] != '/') {
        return refuse(0, "expected '/'", err);
    }
    for (size_t i = 0; i < text.len; i++) {
        count += bytes[i] == '/';
    }
    if (count > SIRIX_JSON_STEPS_MAX || text.len > SIRIX_JSON_PATH_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                 "%zu steps in %zu bytes: at most %d and %d are allowed", count,
                                 text.len, SIRIX_JSON_STEPS_MAX, SIRIX_JSON_PATH_BYTES_MAX);
    }
    enum sirix_status status = sirix_arena_calloc(arena, count, sizeof(*steps.steps), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    steps.steps = memory;
    for (size_t at = 0; at < text.len && status == SIRIX_OK;) {
        const uint8_t *start = bytes + at + 1;
        const uint8_t *slash = memchr(start, '/', text.len - at - 1);
        struct sirix_bytes step = {.data = start, .len = text.len - at - 1};

        step.len = slash == NULL ? step.len : (size_t)(slash - start);
        status = read_step(arena, step, flavour, at + 1, &steps.steps[steps.count++], err);
        at += 1 + step.len;
    }
    if (status == SIRIX_OK) {
        *out = steps;
    }
    return status;
}

enum sirix_status sirix_json_pointer_parse(struct sirix_arena *arena, struct sirix_bytes text,
                                           struct sirix_json_steps *out, struct sirix_error *err)
{
    return parse(arena, text, POINTER, out, err);
}

enum sirix_status sirix_json_path_parse(struct sirix_arena *arena, struct sirix_bytes text,
                                        struct sirix_json_steps *out, struct sirix_error *err)
{
    return parse(arena, text, PATH, out, err);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static enum sirix_status add_name(struct sirix_buf *buf, struct sirix_bytes canonical,
                                  enum flavour flavour, struct sirix_error *err)
{
    struct sirix_buf plain;
    struct sirix_bytes name = canonical;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&plain, SIZE_MAX);
    if (sirix_json_text_has_escapes(canonical)) {
        status = sirix_json_text_unescape(&plain, canonical, err);
        name = sirix_buf_view(&plain);
    }
    const uint8_t *bytes = name.data;
    if (status == SIRIX_OK) {
        status = sirix_buf_append_u8(buf, '/', err);
    }
    for (size_t i = 0; i < name.len && status == SIRIX_OK; i++) {
        if (bytes[i] == '~') {
            status = sirix_buf_append(buf, "~0", 2, err);
        } else if (bytes[i] == '/') {
            status = sirix_buf_append(buf, "~1", 2, err);
        } else if (bytes[i] == '[' && i == 0 && flavour == PATH) {
            status = sirix_buf_append(buf, "~2", 2, err);
        } else {
            status = sirix_buf_append_u8(buf, bytes[i], err);
        }
    }
    sirix_buf_deinit(&plain);
    return status;
}

static enum sirix_status add_position(struct sirix_buf *buf, uint64_t position,
                                      enum flavour flavour, struct sirix_error *err)
{
    return sirix_buf_printf(buf, err, flavour == PATH ? "/[%llu]" : "/%llu",
                            (unsigned long long)position);
}

enum sirix_status sirix_json_pointer_add_name(struct sirix_buf *buf, struct sirix_bytes canonical,
                                              struct sirix_error *err)
{
    return add_name(buf, canonical, POINTER, err);
}

enum sirix_status sirix_json_pointer_add_position(struct sirix_buf *buf, uint64_t position,
                                                  struct sirix_error *err)
{
    return add_position(buf, position, POINTER, err);
}

enum sirix_status sirix_json_pointer_format(struct sirix_buf *buf,
                                            const struct sirix_json_steps *steps,
                                            struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < steps->count && status == SIRIX_OK; i++) {
        const struct sirix_json_step *step = &steps->steps[i];

        /* Steps of a path have no name for a position. */
        status = step->is_position && step->name.len == 0
                     ? add_position(buf, step->position, POINTER, err)
                     : add_name(buf, step->name, POINTER, err);
    }
    return status;
}

enum sirix_status sirix_json_path_format(struct sirix_buf *buf,
                                         const struct sirix_json_steps *steps,
                                         struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < steps->count && status == SIRIX_OK; i++) {
        const struct sirix_json_step *step = &steps->steps[i];

        status = step->is_position ? add_position(buf, step->position, PATH, err)
                                   : add_name(buf, step->name, PATH, err);
    }
    return status;
}

/* The ancestors of a node are met bottom up, so each is looked for again from its depth. */
static enum sirix_status place_of(const struct sirix_json_node *node, enum flavour flavour,
                                  struct sirix_buf *buf, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    size_t depth = 0;

    for (const struct sirix_json_node *at = node; at->parent != NULL; at = at->parent) {
        depth++;
    }
    for (; depth > 0 && status == SIRIX_OK; depth--) {
        const struct sirix_json_node *at = node;

        for (size_t up = 1; up < depth; up++) {
            at = at->parent;
        }
        status = at->has_name ? add_name(buf, at->name, flavour, err)
                              : add_position(buf, sirix_json_position(at), flavour, err);
    }
    return status;
}

enum sirix_status sirix_json_pointer_of(const struct sirix_json_node *node, struct sirix_buf *buf,
                                        struct sirix_error *err)
{
    return place_of(node, POINTER, buf, err);
}

enum sirix_status sirix_json_path_of(const struct sirix_json_node *node, struct sirix_buf *buf,
                                     struct sirix_error *err)
{
    return place_of(node, PATH, buf, err);
}

/* --- Resolving -------------------------------------------------------------------------------- */

static struct sirix_json_node *follow(struct sirix_json_tree *tree, struct sirix_json_node *node,
                                      const struct sirix_json_step *step)
{
    bool is_bracket = step->is_position && step->name.len == 0;

    if (node->kind == SIRIX_JSON_KIND_OBJECT) {
        return is_bracket ? NULL : sirix_json_member(tree, node, step->name);
    }
    if (node->kind == SIRIX_JSON_KIND_ARRAY && step->is_position && step->position < SIZE_MAX) {
        return sirix_json_element(tree, node, (size_t)step->position);
    }
    return NULL;
}

enum sirix_status sirix_json_resolve(struct sirix_json_tree *tree, struct sirix_json_node *root,
                                     const struct sirix_json_steps *steps,
                                     struct sirix_json_node **out, struct sirix_error *err)
{
    struct sirix_json_node *node = root;

    for (size_t i = 0; i < steps->count; i++) {
        struct sirix_json_node *child = follow(tree, node, &steps->steps[i]);

        if (child == NULL) {
            const struct sirix_json_steps up_to = {.steps = steps->steps, .count = i + 1};
            enum sirix_status status =
                sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_NODE_UNKNOWN,
                                  "step %zu of the pointer leads nowhere", i + 1);

            sirix_json_error_set_steps(err, &up_to);
            return status;
        }
        node = child;
    }
    *out = node;
    return SIRIX_OK;
}

void sirix_json_error_set_steps(struct sirix_error *err, const struct sirix_json_steps *steps)
{
    struct sirix_buf text;
    struct sirix_buf shown;
    const char *pointer = NULL;

    if (err == NULL) {
        return;
    }
    sirix_buf_init(&text, SIZE_MAX);
    sirix_buf_init(&shown, SIZE_MAX);
    /* Controls are shown as escapes; without memory the error stays without its pointer. */
    if (sirix_json_pointer_format(&text, steps, NULL) == SIRIX_OK &&
        sirix_json_text_show(&shown, sirix_buf_view(&text), NULL) == SIRIX_OK &&
        sirix_buf_c_str(&shown, &pointer, NULL) == SIRIX_OK) {
        sirix_error_set_pointer(err, pointer);
    }
    sirix_buf_deinit(&shown);
    sirix_buf_deinit(&text);
}
