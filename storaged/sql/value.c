/* Values: what SQLite has no type for is text with all its digits. */
#include "sql/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/text.h"

enum { SERIALISE_STEP_BYTES = 64 * 1024, DECIMAL_TEXT_BYTES = 64, EXACT_SCALE_MAX = 22 };

enum sirix_status sirix_sql_json_append(struct sirix_document *document, uint64_t key,
                                        struct sirix_buf *out, struct sirix_error *err)
{
    const struct sirix_serialise_options options = {.key = key};
    struct sirix_serialiser *serialiser = NULL;
    bool done = false;

    enum sirix_status status = sirix_serialiser_new(document, &options, &serialiser, err);
    while (status == SIRIX_OK && !done) {
        status = sirix_serialiser_step(serialiser, SERIALISE_STEP_BYTES, out, &done, err);
    }
    sirix_serialiser_free(serialiser);
    return status;
}

/* mantissa / 10^scale, correctly rounded. */
static double decimal(int64_t mantissa, uint32_t scale)
{
    static const double powers[EXACT_SCALE_MAX + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int64_t exact = INT64_C(1) << 53;
    char text[DECIMAL_TEXT_BYTES];

    if (mantissa <= exact && mantissa >= -exact && scale <= EXACT_SCALE_MAX) {
        return (double)mantissa /
               powers[scale]; /* Both are exact, so the quotient is the nearest. */
    }
    (void)snprintf(text, sizeof(text), "%llde-%u", (long long)mantissa, scale);
    return strtod(text, NULL);
}

/* A number kept as text: an integer past 64 bits stays text, anything else is its nearest double. */
static struct sirix_sql_cell number_text(struct sirix_bytes text, const char *terminated)
{
    struct sirix_sql_cell cell = sirix_sql_cell_text(text);

    if (memchr(text.data, '.', text.len) != NULL || memchr(text.data, 'e', text.len) != NULL ||
        memchr(text.data, 'E', text.len) != NULL) {
        const double real = strtod(terminated, NULL);

        if (isfinite(real)) {
            cell.value.kind = SIRIX_SQL_REAL;
            cell.value.real = real;
        }
    }
    return cell;
}

static enum sirix_status text_cell(struct sirix_document *document, const struct sirix_node *node,
                                   struct sirix_buf *scratch, struct sirix_sql_cell *out_cell,
                                   struct sirix_error *err)
{
    struct sirix_buf stored = {.max = SIRIX_SQL_VALUE_BYTES_MAX};
    const char *terminated = NULL;
    struct sirix_bytes text = node->text.bytes;
    enum sirix_status status = SIRIX_OK;

    if (node->text.address == 0 && !node->text.escaped && !node->number_text) {
        *out_cell = sirix_sql_cell_text(text);
        return SIRIX_OK;
    }
    if (node->text.address != 0) {
        status = sirix_stored_text_append(document, &node->text, &stored, err);
        text = sirix_buf_view(&stored);
    }
    sirix_buf_clear(scratch);
    if (status == SIRIX_OK) {
        status = node->number_text ? sirix_buf_append_bytes(scratch, text, err)
                                   : sirix_json_text_unescape(scratch, text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(scratch, &terminated, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_bytes plain = {.data = terminated, .len = scratch->len};

        *out_cell = node->number_text ? number_text(plain, terminated) : sirix_sql_cell_text(plain);
    }
    sirix_buf_deinit(&stored);
    return status;
}

enum sirix_status sirix_sql_cell_of(struct sirix_document *document, const struct sirix_node *node,
                                    bool containers, struct sirix_buf *scratch,
                                    struct sirix_sql_cell *out_cell, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *out_cell = (struct sirix_sql_cell){0};
    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_STRING:
        return text_cell(document, node, scratch, out_cell, err);
    case SIRIX_NODE_INTEGER:
        *out_cell = sirix_sql_cell_integer(node->integer);
        return SIRIX_OK;
    case SIRIX_NODE_NUMBER:
        if (node->number_text) {
            return text_cell(document, node, scratch, out_cell, err);
        }
        out_cell->value.kind = SIRIX_SQL_REAL;
        out_cell->value.real = decimal(node->integer, node->scale);
        return SIRIX_OK;
    case SIRIX_NODE_TRUE:
    case SIRIX_NODE_FALSE:
        *out_cell =
            sirix_sql_cell_integer(sirix_node_value_kind(node->kind) == SIRIX_NODE_TRUE ? 1 : 0);
        return SIRIX_OK;
    case SIRIX_NODE_OBJECT:
    case SIRIX_NODE_ARRAY:
        if (containers) {
            const uint64_t key = node->key;

            sirix_buf_clear(scratch);
            status = sirix_sql_json_append(document, key, scratch, err);
            *out_cell = sirix_sql_cell_text(sirix_buf_view(scratch));
            out_cell->json = true;
        }
        return status;
    default:
        return SIRIX_OK;
    }
}

void sirix_sql_cell_give(const struct sirix_sql_cell *cell, sqlite3_context *context)
{
    enum { SUBTYPE_JSON = 'J' };
    const struct sirix_sql_value *value = &cell->value;

    switch (value->kind) {
    case SIRIX_SQL_INTEGER:
        sqlite3_result_int64(context, value->integer);
        break;
    case SIRIX_SQL_REAL:
        sqlite3_result_double(context, value->real);
        break;
    case SIRIX_SQL_TEXT:
        sqlite3_result_text64(context, value->bytes.len == 0 ? "" : value->bytes.data,
                              value->bytes.len, SQLITE_TRANSIENT, SQLITE_UTF8);
        if (cell->json) {
            sqlite3_result_subtype(context, SUBTYPE_JSON);
        }
        break;
    default:
        sqlite3_result_null(context);
        break;
    }
}

/* --- Filters -------------------------------------------------------------------------------------- */

static int order_of(int64_t integer, double real)
{
    /* As SQLite does: at this size a double has no fraction, and the other way round it is exact. */
    const double limit = 9223372036854775808.0;

    if (real >= limit) {
        return -1;
    }
    if (real < -limit) {
        return 1;
    }
    const int64_t whole = (int64_t)real;
    if (integer != whole) {
        return integer < whole ? -1 : 1;
    }
    const double fraction = real - (double)whole;
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0;
}

/* -1, 0, 1; false: these two are not compared here. */
static bool compare(const struct sirix_sql_value *a, const struct sirix_sql_value *b, int *out)
{
    if (a->kind == SIRIX_SQL_INTEGER && b->kind == SIRIX_SQL_INTEGER) {
        *out = (a->integer > b->integer) - (a->integer < b->integer);
    } else if (a->kind == SIRIX_SQL_INTEGER && b->kind == SIRIX_SQL_REAL) {
        *out = order_of(a->integer, b->real);
    } else if (a->kind == SIRIX_SQL_REAL && b->kind == SIRIX_SQL_INTEGER) {
        *out = -order_of(b->integer, a->real);
    } else if (a->kind == SIRIX_SQL_REAL && b->kind == SIRIX_SQL_REAL) {
        *out = (a->real > b->real) - (a->real < b->real);
    } else if (a->kind == SIRIX_SQL_TEXT && b->kind == SIRIX_SQL_TEXT) {
        const size_t common = a->bytes.len < b->bytes.len ? a->bytes.len : b->bytes.len;
        const int order = common == 0 ? 0 : memcmp(a->bytes.data, b->bytes.data, common);

        *out = order != 0 ? order : (a->bytes.len > b->bytes.len) - (a->bytes.len < b->bytes.len);
    } else {
        return false;
    }
    return true;
}

bool sirix_sql_filter_passes(const struct sirix_sql_filter *filter,
                             const struct sirix_sql_value *value)
{
    int order = 0;

    if (filter->op == SQLITE_INDEX_CONSTRAINT_ISNULL) {
        return value->kind == SIRIX_SQL_NULL;
    }
    if (value->kind == SIRIX_SQL_NULL) {
        return false;
    }
    if (filter->op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL ||
        (filter->numbers && value->kind == SIRIX_SQL_TEXT) ||
        !compare(value, &filter->with, &order)) {
        return true;
    }
    switch (filter->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return order == 0;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return order > 0;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return order >= 0;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return order < 0;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return order <= 0;
    case SQLITE_INDEX_CONSTRAINT_NE:
        return order != 0;
    default:
        return true;
    }
}

enum sirix_status sirix_sql_value_from(sqlite3_value *value, struct sirix_sql_value *out_value,
                                       struct sirix_error *err)
{
    struct sirix_sql_value out = {.kind = SIRIX_SQL_NULL};

    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        out.kind = SIRIX_SQL_INTEGER;
        out.integer = sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        out.kind = SIRIX_SQL_REAL;
        out.real = sqlite3_value_double(value);
        break;
    case SQLITE_TEXT:
        out.kind = SIRIX_SQL_TEXT;
        out.bytes.data = sqlite3_value_text(value);
        out.bytes.len = (size_t)sqlite3_value_bytes(value);
        if (out.bytes.data == NULL) {
            return sirix_sql_no_memory(err);
        }
        break;
    case SQLITE_BLOB:
        out.kind = SIRIX_SQL_BLOB;
        out.bytes.data = sqlite3_value_blob(value);
        out.bytes.len = (size_t)sqlite3_value_bytes(value);
        break;
    default:
        break;
    }
    *out_value = out;
    return SIRIX_OK;
}
