/* Arguments by schema. */
#include "mcp/arguments.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "json/number.h"
#include "json/text.h"

enum { SHOWN_BYTES_MAX = 64, LIST_BYTES_MAX = 400 };

static bool is_text(struct sirix_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

const struct sirix_json_node *sirix_arguments_member(const struct sirix_json_node *object,
                                                     const char *name)
{
    if (object == NULL || object->kind != SIRIX_JSON_KIND_OBJECT) {
        return NULL;
    }
    const struct sirix_json_node *at = sirix_json_first(object);
    while (at != NULL && !is_text(at->name, name)) {
        at = at->next;
    }
    return at;
}

static enum sirix_status refuse(const struct sirix_argument *argument, const char *wanted,
                                struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "%s must be %s", argument->name, wanted);
    sirix_error_set_field(err, argument->name);
    return status;
}

/* Names of an object's members, or the strings of an array, with commas. */
static enum sirix_status list_names(const struct sirix_json_node *container, struct sirix_buf *out,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (const struct sirix_json_node *at = sirix_json_first(container);
         at != NULL && status == SIRIX_OK; at = at->next) {
        const struct sirix_bytes name =
            container->kind == SIRIX_JSON_KIND_OBJECT ? at->name : at->value.text;
        if (out->len != 0) {
            status = sirix_buf_append_str(out, ", ", err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(out, name, err);
        }
    }
    return status;
}

static enum sirix_status refuse_unknown(const struct sirix_json_node *properties,
                                        struct sirix_bytes name, struct sirix_error *err)
{
    size_t shown = sirix_json_text_cut(name, SHOWN_BYTES_MAX);
    char field[SHOWN_BYTES_MAX + 1] = "";
    struct sirix_buf list;

    sirix_buf_init(&list, LIST_BYTES_MAX);
    enum sirix_status status = list_names(properties, &list, err);
    if (status == SIRIX_OK) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "there is no argument \"%.*s\"; known are: %.*s", (int)shown,
                                   (const char *)name.data,
                                   list.len == 0 ? (int)strlen("none") : (int)list.len,
                                   list.len == 0 ? "none" : (const char *)list.data);
        if (shown != 0) {
            memcpy(field, name.data, shown);
        }
        sirix_error_set_field(err, field);
    }
    sirix_buf_deinit(&list);
    return status;
}

/* The number of a schema member such as minimum; otherwise where there is none. */
static uint64_t limit(const struct sirix_json_node *property, const char *name, uint64_t otherwise)
{
    const struct sirix_json_node *node = sirix_arguments_member(property, name);
    int64_t number = 0;

    return node != NULL && sirix_json_get_i64(node, &number) && number >= 0 ? (uint64_t)number
                                                                            : otherwise;
}

static enum sirix_status read_integer(const struct sirix_json_node *property,
                                      const struct sirix_json_node *value,
                                      struct sirix_argument *out, struct sirix_error *err)
{
    const uint64_t min = limit(property, "minimum", 0);
    const uint64_t max = limit(property, "maximum", INT64_MAX);
    int64_t number = 0;

    /* A string of digits has no escapes, so its canonical form is its text. */
    bool is_number = (value->kind == SIRIX_JSON_KIND_NUMBER ||
                      (value->kind == SIRIX_JSON_KIND_STRING &&
                       sirix_json_number_valid(value->value.text, NULL))) &&
                     sirix_json_number_to_i64(value->value.text, &number);
    if (!is_number || number < 0 || (uint64_t)number < min || (uint64_t)number > max) {
        enum sirix_status status =
            max == INT64_MAX
                ? sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                    "%s must be a whole number of at least %" PRIu64, out->name,
                                    min)
                : sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                    "%s must be a whole number from %" PRIu64 " to %" PRIu64,
                                    out->name, min, max);
        sirix_error_set_field(err, out->name);
        return status;
    }
    out->number = (uint64_t)number;
    return SIRIX_OK;
}

static enum sirix_status read_boolean(const struct sirix_json_node *value,
                                      struct sirix_argument *out, struct sirix_error *err)
{
    if (value->kind == SIRIX_JSON_KIND_STRING) {
        out->boolean = is_text(value->value.text, "true");
        return out->boolean || is_text(value->value.text, "false")
                   ? SIRIX_OK
                   : refuse(out, "true or false", err);
    }
    return sirix_json_get_bool(value, &out->boolean) ? SIRIX_OK : refuse(out, "true or false", err);
}

static enum sirix_status read_string(struct sirix_arena *arena,
                                     const struct sirix_json_node *property,
                                     const struct sirix_json_node *value,
                                     struct sirix_argument *out, struct sirix_error *err)
{
    const struct sirix_json_node *choices = sirix_arguments_member(property, "enum");
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    char *copy = NULL;

    if (value->kind != SIRIX_JSON_KIND_STRING) {
        return refuse(out, "a string", err);
    }
    const struct sirix_json_node *choice = choices == NULL ? NULL : sirix_json_first(choices);
    while (choice != NULL && !sirix_bytes_equal(choice->value.text, value->value.text)) {
        choice = choice->next;
    }
    if (choices != NULL && choice == NULL) {
        struct sirix_buf list;

        sirix_buf_init(&list, LIST_BYTES_MAX);
        enum sirix_status listed = list_names(choices, &list, err);
        if (listed == SIRIX_OK) {
            listed = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                       "%s must be one of: %.*s", out->name, (int)list.len,
                                       (const char *)list.data);
            sirix_error_set_field(err, out->name);
        }
        sirix_buf_deinit(&list);
        return listed;
    }
    enum sirix_status status = sirix_json_text_to_plain(arena, value->value.text, &plain, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(arena, plain, &copy, err);
    }
    if (status == SIRIX_OK) {
        out->text = (struct sirix_bytes){.data = copy, .len = plain.len};
    }
    return status;
}

/* An array or object, or a string that holds exactly one. */
static enum sirix_status read_container(struct sirix_arena *arena, enum sirix_json_kind kind,
                                        struct sirix_json_node *value, struct sirix_argument *out,
                                        struct sirix_error *err)
{
    const char *wanted = kind == SIRIX_JSON_KIND_ARRAY ? "an array" : "an object";
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    struct sirix_json_tree tree;

    if (value->kind == kind) {
        out->node = value;
        return SIRIX_OK;
    }
    if (value->kind != SIRIX_JSON_KIND_STRING) {
        return refuse(out, wanted, err);
    }
    enum sirix_status status = sirix_json_tree_init(&tree, arena, err);
    if (status == SIRIX_OK) {
        status = sirix_json_text_to_plain(arena, value->value.text, &plain, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_json_tree_parse(&tree, plain, NULL, NULL, err);
    if (status == SIRIX_INVALID || (status == SIRIX_OK && tree.root->kind != kind)) {
        return refuse(out, wanted, err);
    }
    out->node = tree.root;
    return status;
}

static enum sirix_status read_one(struct sirix_arena *arena, const struct sirix_json_node *property,
                                  struct sirix_json_node *value, struct sirix_argument *out,
                                  struct sirix_error *err)
{
    const struct sirix_json_node *type = sirix_arguments_member(property, "type");

    if (type == NULL) {
        out->node = value;
        return SIRIX_OK;
    }
    if (is_text(type->value.text, "integer")) {
        return read_integer(property, value, out, err);
    }
    if (is_text(type->value.text, "boolean")) {
        return read_boolean(value, out, err);
    }
    if (is_text(type->value.text, "string")) {
        return read_string(arena, property, value, out, err);
    }
    return read_container(
        arena, is_text(type->value.text, "array") ? SIRIX_JSON_KIND_ARRAY : SIRIX_JSON_KIND_OBJECT,
        value, out, err);
}

static enum sirix_status check_required(const struct sirix_json_node *schema,
                                        const struct sirix_arguments *arguments,
                                        struct sirix_error *err)
{
    const struct sirix_json_node *required = sirix_arguments_member(schema, "required");
    const struct sirix_json_node *at = required == NULL ? NULL : sirix_json_first(required);

    for (; at != NULL; at = at->next) {
        bool is_there = false;

        for (size_t i = 0; i < arguments->count; i++) {
            is_there |= is_text(at->value.text, arguments->items[i].name);
        }
        if (!is_there) {
            char name[SHOWN_BYTES_MAX] = "";
            size_t len = at->value.text.len < sizeof(name) ? at->value.text.len : 0;

            memcpy(name, at->value.text.data, len);
            enum sirix_status status = sirix_fail_reason(
                err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING, "the argument %s is missing", name);
            sirix_error_set_field(err, name);
            return status;
        }
    }
    return SIRIX_OK;
}

enum sirix_status sirix_arguments_read(struct sirix_arena *arena,
                                       const struct sirix_json_node *schema,
                                       struct sirix_json_node *object, struct sirix_arguments *out,
                                       struct sirix_error *err)
{
    const struct sirix_json_node *properties = sirix_arguments_member(schema, "properties");
    enum sirix_status status = SIRIX_OK;

    *out = (struct sirix_arguments){.count = 0};
    struct sirix_json_node *at = object == NULL ? NULL : sirix_json_first(object);
    for (; at != NULL && status == SIRIX_OK; at = at->next) {
        const struct sirix_json_node *property = sirix_json_first(properties);
        struct sirix_argument argument = {0};
        char *name = NULL;

        while (property != NULL && !sirix_bytes_equal(property->name, at->name)) {
            property = property->next;
        }
        if (property == NULL) {
            return refuse_unknown(properties, at->name, err);
        }
        if (at->kind == SIRIX_JSON_KIND_NULL && sirix_arguments_member(property, "type") != NULL) {
            continue;
        }
        status = sirix_arena_c_str(arena, property->name, &name, err);
        argument.name = name;
        if (status == SIRIX_OK) {
            status = read_one(arena, property, at, &argument, err);
        }
        if (status == SIRIX_OK) {
            /* No name is twice in a message, and a schema has no more than there is room for. */
            out->items[out->count++] = argument;
        }
    }
    return status == SIRIX_OK ? check_required(schema, out, err) : status;
}

const struct sirix_argument *sirix_argument(const struct sirix_arguments *arguments,
                                            const char *name)
{
    for (size_t i = 0; i < arguments->count; i++) {
        if (strcmp(arguments->items[i].name, name) == 0) {
            return &arguments->items[i];
        }
    }
    return NULL;
}

uint64_t sirix_argument_number(const struct sirix_arguments *arguments, const char *name,
                               uint64_t otherwise)
{
    const struct sirix_argument *argument = sirix_argument(arguments, name);

    return argument != NULL ? argument->number : otherwise;
}

bool sirix_argument_boolean(const struct sirix_arguments *arguments, const char *name)
{
    const struct sirix_argument *argument = sirix_argument(arguments, name);

    return argument != NULL && argument->boolean;
}

struct sirix_bytes sirix_argument_text(const struct sirix_arguments *arguments, const char *name)
{
    const struct sirix_argument *argument = sirix_argument(arguments, name);

    return argument != NULL ? argument->text : (struct sirix_bytes){.data = NULL, .len = 0};
}

enum sirix_status sirix_arguments_append_text(const struct sirix_json_node *member,
                                              struct sirix_buf *text, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_bytes(text, member->name, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_u8(text, '"', err); /* What follows an inner one is no value. */
    }
    return status == SIRIX_OK ? sirix_json_tree_print(member, text, err) : status;
}
