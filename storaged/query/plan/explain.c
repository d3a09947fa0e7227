/* Plans as text. The walk recurses over the tree, whose height is bounded. */
#include "query/plan/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "query/function/function.h"

enum { TEXT_BYTES_MAX = 60, TYPE_BYTES_MAX = 200 };

struct printer {
    struct sirix_buf *out;
    struct sirix_error *err;
    enum sirix_status status;
};

static void put(struct printer *printer, const char *text)
{
    if (printer->status == SIRIX_OK) {
        printer->status = sirix_buf_append_str(printer->out, text, printer->err);
    }
}

static void SIRIX_PRINTF(2, 3) putf(struct printer *printer, const char *fmt, ...)
{
    if (printer->status == SIRIX_OK) {
        va_list args;

        va_start(args, fmt);
        printer->status = sirix_buf_vprintf(printer->out, printer->err, fmt, args);
        va_end(args);
    }
}

static void put_spaces(struct printer *printer, unsigned depth)
{
    if (printer->status == SIRIX_OK) {
        printer->status = sirix_buf_append_fill(printer->out, ' ', (size_t)depth * 2, printer->err);
    }
}

/* A text in quotes, controls as escapes, cut where it is long. */
static void put_quoted(struct printer *printer, struct sirix_bytes text)
{
    const uint8_t *bytes = text.data;
    size_t len = text.len;

    if (len > TEXT_BYTES_MAX) {
        len = sirix_utf8_cut(bytes, text.len, TEXT_BYTES_MAX);
    }
    put(printer, "\"");
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] < 0x20) {
            putf(printer, "\\u%04x", bytes[i]);
        } else if (bytes[i] == '"' || bytes[i] == '\\') {
            putf(printer, "\\%c", bytes[i]);
        } else if (printer->status == SIRIX_OK) {
            printer->status = sirix_buf_append_u8(printer->out, bytes[i], printer->err);
        }
    }
    put(printer, len < text.len ? "...\"" : "\"");
}

/* --- What a node carries ---------------------------------------------------------------------- */

static void put_item(struct printer *printer, const struct sirix_item *item)
{
    switch ((enum sirix_item_kind)item->kind) {
    case SIRIX_ITEM_NULL:
        put(printer, " null");
        return;
    case SIRIX_ITEM_BOOLEAN:
        put(printer, item->value.boolean ? " true" : " false");
        return;
    case SIRIX_ITEM_INTEGER:
        putf(printer, " %" PRId64, item->value.integer);
        return;
    case SIRIX_ITEM_DOUBLE:
        putf(printer, " %.17g", item->value.number);
        return;
    case SIRIX_ITEM_STRING:
    case SIRIX_ITEM_UNTYPED:
    case SIRIX_ITEM_ANY_URI:
        put(printer, " ");
        put_quoted(printer, sirix_item_bytes(*item));
        return;
    default:
        putf(printer, " of type %s", sirix_type_name((enum sirix_type)item->type));
        return;
    }
}

static void put_slot(struct printer *printer, const char *word, uint32_t slot)
{
    if (slot != SIRIX_PLAN_NO_SLOT) {
        putf(printer, " %s$%" PRIu32, word, slot);
    }
}

static void put_flags(struct printer *printer, const struct sirix_plan *node)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } flags[] = {
        {SIRIX_PLAN_ALLOWING_EMPTY, "allowing empty"},
        {SIRIX_PLAN_UNWRAP, "members of one array"},
        {SIRIX_PLAN_DESCENDING, "descending"},
        {SIRIX_PLAN_EMPTY_GREATEST, "empty greatest"},
        {SIRIX_PLAN_SLIDING, "sliding"},
        {SIRIX_PLAN_ONLY, "only"},
        {SIRIX_PLAN_JSONIQ, "positions from 1"},
        {SIRIX_PLAN_MEMBER_FROM_0, "positions from 0"},
        {SIRIX_PLAN_EARLY, "early"},
        {SIRIX_PLAN_OF_ITEM, "of the table"},
    };
    bool is_first = true;

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if ((node->flags & flags[i].flag) != 0) {
            putf(printer, "%s%s", is_first ? " (" : ", ", flags[i].text);
            is_first = false;
        }
    }
    put(printer, is_first ? "" : ")");
}

static void put_operators(struct printer *printer, const struct sirix_plan *node)
{
    if (node->kind == SIRIX_PLAN_COMPARE || node->kind == SIRIX_PLAN_UNARY) {
        putf(printer, " %s", sirix_ast_op_name((enum sirix_ast_op)node->op));
    } else if (node->kind == SIRIX_PLAN_COMPARE_ANY) {
        putf(
            printer, " %s",
            sirix_ast_op_name((enum sirix_ast_op)(node->op - SIRIX_AST_EQ + SIRIX_AST_GENERAL_EQ)));
    }
    for (uint32_t i = 1; node->ops != NULL && i < node->child_count; i++) {
        putf(printer, " %s", sirix_ast_op_name((enum sirix_ast_op)node->ops[i]));
    }
}

static void put_function(struct printer *printer, const struct sirix_plan *node)
{
    if (node->function != NULL) {
        putf(printer, " %s:%s", sirix_function_ns_prefix(node->function->ns), node->function->name);
    } else if (node->user != NULL && node->user->name.len != 0) {
        putf(printer, " %.*s",
             (int)(node->user->name.len < TEXT_BYTES_MAX ? node->user->name.len : TEXT_BYTES_MAX),
             (const char *)node->user->name.data);
    }
    if (node->kind == SIRIX_PLAN_FUNCTION_ITEM) {
        putf(printer, "#%" PRIu64, node->number);
    }
}

/* How an order holds its tuples: a limit from outside makes it a heap, too. */
static void put_order(struct printer *printer, const struct sirix_plan *node)
{
    if (node->number != 0) {
        putf(printer, " (heap of the first %" PRIu64 ")", node->number);
    } else if ((node->flags & (SIRIX_PLAN_ONE_EACH | SIRIX_PLAN_ONE_OR_NONE)) != 0) {
        put(printer, " (heap where few are asked for, else sort)");
    } else {
        put(printer, " (sort)");
    }
}

static void put_line(struct printer *printer, const struct sirix_plan *node, unsigned depth)
{
    char type[TYPE_BYTES_MAX];

    put_spaces(printer, depth);
    put(printer, sirix_plan_kind_name((enum sirix_plan_kind)node->kind));
    put_operators(printer, node);
    if (node->kind == SIRIX_PLAN_CONSTANT) {
        put_item(printer, &node->item);
    }
    put_function(printer, node);
    put_slot(printer, node->kind == SIRIX_PLAN_GLOBAL ? "global " : "", node->slot);
    put_slot(printer, "at ", node->position_slot);
    put_slot(printer, "previous ", node->previous_slot);
    put_slot(printer, "next ", node->next_slot);
    if (node->typed) {
        sirix_sequence_type_show(&node->type, type, sizeof(type));
        putf(printer, " as %s", type);
    }
    for (uint32_t i = 0; node->types != NULL && i < node->list_count; i++) {
        sirix_sequence_type_show(&node->types[i], type, sizeof(type));
        putf(printer, "%s %s", i == 0 ? "" : " |", type);
    }
    put_flags(printer, node);
    if (node->kind == SIRIX_PLAN_ORDER) {
        put_order(printer, node);
    }
    if (node->inner_key != NULL) {
        put(printer, " (hash join)");
    }
    putf(printer, "  [%" PRIu32 ":%" PRIu32 "]\n", node->line, node->column);
}

static void put_tree(struct printer *printer, const struct sirix_plan *node, unsigned depth);

static void put_join(struct printer *printer, const struct sirix_plan *node, unsigned depth)
{
    put_spaces(printer, depth);
    put(printer, "table by\n");
    put_tree(printer, node->inner_key, depth + 1);
    put_spaces(printer, depth);
    put(printer, "looked up by\n");
    put_tree(printer, node->outer_key, depth + 1);
}

static void put_tree(struct printer *printer, const struct sirix_plan *node, unsigned depth)
{
    if (printer->status != SIRIX_OK) {
        return;
    }
    if (node == NULL) {
        put_spaces(printer, depth);
        put(printer, "nothing\n");
        return;
    }
    put_line(printer, node, depth);
    for (uint32_t i = 0; i < node->child_count; i++) {
        put_tree(printer, node->children[i], depth + 1);
    }
    if (node->inner_key != NULL) {
        put_join(printer, node, depth + 1);
    }
    if (node->kind == SIRIX_PLAN_CLOSURE) {
        put_tree(printer, node->user->body, depth + 1);
    }
}

enum sirix_status sirix_plan_explain(const struct sirix_plan_query *query, struct sirix_buf *out,
                                     struct sirix_query_error *err)
{
    struct printer printer = {
        .out = out, .err = err == NULL ? NULL : &err->base, .status = SIRIX_OK};

    if (query->context != NULL) {
        put(&printer, "context item\n");
        put_tree(&printer, query->context, 1);
    }
    for (uint32_t i = 0; i < query->global_count; i++) {
        const struct sirix_plan_global *global = &query->globals[i];

        putf(&printer, "global $%" PRIu32 " %.*s%s\n", i, (int)global->name.len,
             (const char *)global->name.data, global->external ? " (external)" : "");
        if (global->body != NULL) {
            put_tree(&printer, global->body, 1);
        }
    }
    for (uint32_t i = 0; i < query->function_count; i++) {
        const struct sirix_plan_function *function = query->functions[i];

        putf(&printer, "function %.*s, %" PRIu32 " parameters%s\n", (int)function->name.len,
             (const char *)function->name.data, function->parameter_count,
             function->updating ? " (updating)" : "");
        put_tree(&printer, function->body, 1);
    }
    put(&printer, query->updating ? "query (updating)\n" : "query\n");
    put_tree(&printer, query->body, 1);
    return printer.status;
}
