/* parse-json() in its dialects, and serialize(). */
#include "query/value/json.h"

#include <math.h>

#include "query/function/support.h"
#include "query/function/tables.h"

/* An option of the object that is argument i; kind NONE when absent. */
static enum sirix_status option(struct sirix_call *call, size_t i, const char *name,
                                struct sirix_item *out, struct sirix_query_error *err)
{
    *out = (struct sirix_item){0};
    return has_argument(call, i)
               ? sirix_object_field(call->work, argument(call, i), literal_bytes(name), out, err)
               : SIRIX_OK;
}

/* --- parse-json() ------------------------------------------------------------------------------------- */

/* fn:parse-json: duplicates are kept as its option says, the first one without it. */
static enum sirix_status duplicates_option(struct sirix_call *call, enum sirix_json_doubles *out,
                                           struct sirix_query_error *err)
{
    struct sirix_item given = {0};
    enum sirix_status status = option(call, 1, "duplicates", &given, err);

    *out = SIRIX_JSON_DOUBLES_FIRST;
    if (status != SIRIX_OK || given.kind == SIRIX_ITEM_NONE) {
        return status;
    }
    struct sirix_bytes name =
        sirix_item_is_text(given) ? sirix_item_bytes(given) : literal_bytes("");

    if (bytes_are(name, "reject")) {
        *out = SIRIX_JSON_DOUBLES_REFUSE;
    } else if (bytes_are(name, "use-last")) {
        *out = SIRIX_JSON_DOUBLES_LAST;
    } else if (!bytes_are(name, "use-first")) {
        return sirix_query_fail(err, "FOJS0005",
                                "the option duplicates is not reject, use-first or use-last");
    }
    return SIRIX_OK;
}

static enum sirix_status parse_json(struct sirix_call *call, struct sirix_sequence *out,
                                    struct sirix_query_error *err)
{
    enum sirix_json_doubles doubles = SIRIX_JSON_DOUBLES_FIRST;
    struct sirix_item item = {0};

    if (!has_argument(call, 0)) {
        return give_nothing(out);
    }
    enum sirix_status status = duplicates_option(call, &doubles, err);
    if (status == SIRIX_OK) {
        status = sirix_item_parse_json(call->work, text_argument(call, 0), doubles, &item, err);
    }
    return status != SIRIX_OK ? status : give(call, item, out, err);
}

/* jn:parse: of several fields of one name the last stays. */
static enum sirix_status parse(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_item item = {0};

    if (!has_argument(call, 0)) {
        return give_nothing(out);
    }
    enum sirix_status status = sirix_item_parse_json(call->work, text_argument(call, 0),
                                                     SIRIX_JSON_DOUBLES_LAST, &item, err);
    return status != SIRIX_OK ? status : give(call, item, out, err);
}

/* The text with a line feed behind each value at its top, which may touch the next one: {}{}. */
static enum sirix_status separate(struct sirix_bytes text, struct sirix_buf *to,
                                  struct sirix_query_error *err)
{
    const char *chars = text.data;
    size_t depth = 0;
    bool in_string = false;
    enum sirix_status status = sirix_buf_reserve(to, text.len, &err->base);

    for (size_t i = 0; status == SIRIX_OK && i < text.len; i++) {
        bool ends = false;

        status = sirix_buf_append_u8(to, (uint8_t)chars[i], &err->base);
        if (in_string && chars[i] == '\\' && i + 1 < text.len && status == SIRIX_OK) {
            status = sirix_buf_append_u8(to, (uint8_t)chars[++i], &err->base);
        } else if (chars[i] == '"') {
            in_string = !in_string;
            ends = !in_string && depth == 0;
        } else if (!in_string && (chars[i] == '{' || chars[i] == '[')) {
            depth++;
        } else if (!in_string && (chars[i] == '}' || chars[i] == ']') && depth > 0) {
            ends = --depth == 0;
        }
        if (status == SIRIX_OK && ends) {
            status = sirix_buf_append_u8(to, '\n', &err->base);
        }
    }
    return status;
}

/* jn:parse-json: several values one after the other give a sequence, unless an option forbids it. */
static enum sirix_status parse_values(struct sirix_call *call, struct sirix_sequence *out,
                                      struct sirix_query_error *err)
{
    struct sirix_item several = {0};
    struct sirix_buf separated;
    enum sirix_status status = option(call, 1, "jsoniq-multiple-top-level-items", &several, err);

    if (status != SIRIX_OK || !has_argument(call, 0)) {
        return status != SIRIX_OK ? status : give_nothing(out);
    }
    if (several.kind != SIRIX_ITEM_NONE && several.kind != SIRIX_ITEM_BOOLEAN) {
        return sirix_query_fail(err, "JNTY0020",
                                "the option jsoniq-multiple-top-level-items is a boolean");
    }
    sirix_buf_init(&separated, 2 * (size_t)SIRIX_ITEM_STRING_BYTES_MAX);
    status = separate(text_argument(call, 0), &separated, err);
    if (status == SIRIX_OK) {
        status = sirix_items_parse_json_lines(call->work, sirix_buf_view(&separated), out, err);
    }
    sirix_buf_deinit(&separated);
    if (status == SIRIX_OK && out->count != 1 && several.kind == SIRIX_ITEM_BOOLEAN &&
        !several.value.boolean) {
        return sirix_query_fail(err, "JNDY0021", "the text holds %zu values, not one", out->count);
    }
    if (status == SIRIX_INVALID && strcmp(err->code, "FOJS0001") == 0) {
        struct sirix_error found = err->base;

        return sirix_query_fail(err, "JNDY0021", "%s", found.text);
    }
    return status;
}

/* --- serialize() --------------------------------------------------------------------------------------- */

struct serialisation {
    bool is_text; /* String values alone. */
    bool is_json; /* One value, and only what JSON has. */
    struct sirix_bytes separator;
    struct sirix_json_writer_options writer;
};

static enum sirix_status serialisation_options(struct sirix_call *call, struct serialisation *out,
                                               struct sirix_query_error *err)
{
    struct sirix_item method = {0};
    struct sirix_item indent = {0};
    struct sirix_item separator = {0};
    enum sirix_status status = option(call, 1, "method", &method, err);

    if (status == SIRIX_OK) {
        status = option(call, 1, "indent", &indent, err);
    }
    if (status == SIRIX_OK) {
        status = option(call, 1, "item-separator", &separator, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out = (struct serialisation){.is_text = true, .separator = literal_bytes(" ")};
    out->writer.depth_max = SIRIX_VALUE_DEPTH_MAX;
    if (method.kind != SIRIX_ITEM_NONE) {
        struct sirix_bytes name =
            sirix_item_is_text(method) ? sirix_item_bytes(method) : literal_bytes("");

        out->is_text = bytes_are(name, "text");
        out->is_json = bytes_are(name, "json");
        if (!out->is_text && !out->is_json && !bytes_are(name, "adaptive")) {
            return sirix_query_fail(err, "SEPM0016", "the method is not json, adaptive or text");
        }
    }
    if (indent.kind == SIRIX_ITEM_BOOLEAN && indent.value.boolean) {
        out->writer.indent = 2;
    }
    if (sirix_item_is_text(separator)) {
        out->separator = sirix_item_bytes(separator);
    }
    return SIRIX_OK;
}

static enum sirix_status print_item(struct sirix_call *call, const struct serialisation *how,
                                    struct sirix_item item, struct sirix_buf *to,
                                    struct sirix_query_error *err)
{
    struct sirix_json_writer writer;
    struct sirix_bytes text = {0};
    const double number = sirix_item_is_numeric(item) ? sirix_number_to_double(item) : 0;

    if (how->is_json && item.kind == SIRIX_ITEM_FUNCTION) {
        return sirix_query_fail(err, "SERE0021", "JSON has no functions");
    }
    if (how->is_json && item.kind >= SIRIX_ITEM_DOUBLE && !isfinite(number)) {
        return sirix_query_fail(err, "SERE0020", "JSON has no number that is %s",
                                isnan(number) ? "NaN" : "infinite");
    }
    if ((how->is_text && sirix_item_is_atomic(item)) || sirix_item_is_numeric(item)) {
        enum sirix_status status = sirix_item_text(call->work, item, &text, err);

        return status != SIRIX_OK ? status : sirix_buf_append_bytes(to, text, &err->base);
    }
    sirix_json_writer_init_buf(&writer, to, &how->writer);
    enum sirix_status status = sirix_item_write_json(call->work, item, &writer, err);
    if (status == SIRIX_OK) {
        status = sirix_json_writer_finish(&writer, &err->base);
    }
    sirix_json_writer_deinit(&writer);
    return status;
}

static enum sirix_status serialize(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct serialisation how;
    struct sirix_buf buf;
    enum sirix_status status = serialisation_options(call, &how, err);

    text_buffer_init(&buf);
    for (bool first = true; status == SIRIX_OK; first = false) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (!first && how.is_json) {
            status = sirix_query_fail(err, "SERE0023", "a JSON text holds one value, not several");
        } else if (!first) {
            status = sirix_buf_append_bytes(&buf, how.separator, &err->base);
        }
        if (status == SIRIX_OK) {
            status = print_item(call, &how, item, &buf, err);
        }
    }
    if (status == SIRIX_OK && how.is_json && buf.len == 0) {
        status = sirix_buf_append_str(&buf, "null", &err->base);
    }
    return give_buffer(call, status, &buf, out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "parse-json", 1, 2, PURE, parse_json, 0, T(ITEM, OPTIONAL), T(STRING, OPTIONAL),
        T(OBJECT, OPTIONAL)),
    ROW(JN, "parse-json", 1, 2, PURE, parse_values, 0, T(ITEM, MANY), T(STRING, OPTIONAL),
        T(OBJECT, OPTIONAL)),
    ROW(JN, "parse", 1, 1, PURE, parse, 0, T(ITEM, OPTIONAL), T(STRING, OPTIONAL)),
    ROW(FN, "serialize", 1, 2, PURE | STREAMS, serialize, 0, T(STRING, ONE), T(ITEM, MANY),
        T(OBJECT, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_json = {rows, sizeof(rows) / sizeof(rows[0])};
