/* Fields of requests, and arguments of tools. */
#include "mcp/fields.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Members of requests that have another name as arguments, or stand for one of several. */
static const struct {
    const char *field;
    const char *arguments[4]; /* Of those the tool has, the first that was given, else the first. */
} others[] = {
    {"value", {"data", "dataJson", "value", "valueJson"}},
    {"node_key", {"parentNodeKey", "nodeKey", NULL}},
    {"value_offset", {"offset", NULL}},
    {"branch", {"branch", "name", NULL}},
    {"page_size", {"limit", "count", NULL}},
    {"max_children", {"limit", NULL}},
};

static bool has_argument(const struct sirix_mcp_call *call, const char *name)
{
    const struct sirix_json_node *schema =
        call->server->schemas[call->tool - call->server->registry->tools];

    return sirix_arguments_member(sirix_arguments_member(schema, "properties"), name) != NULL;
}

static const char *pick(const struct sirix_mcp_call *call, const char *const *arguments)
{
    const char *found = NULL;

    for (size_t i = 0; i < sizeof(others[0].arguments) / sizeof(arguments[0]); i++) {
        if (arguments[i] == NULL || !has_argument(call, arguments[i])) {
            continue;
        }
        if (sirix_argument(&call->arguments, arguments[i]) != NULL) {
            return arguments[i];
        }
        found = found == NULL ? arguments[i] : found;
    }
    return found;
}

/* expected_revision becomes expectedRevision. */
static void to_camel_case(const char *name, char out[SIRIX_ERROR_WHERE_BYTES])
{
    size_t len = 0;

    for (; *name != '\0' && len + 1 < SIRIX_ERROR_WHERE_BYTES; name++) {
        const bool is_break = *name == '_' && name[1] != '\0';

        name += is_break;
        out[len++] = (char)(is_break ? toupper((unsigned char)*name) : *name);
    }
    out[len] = '\0';
}

/* Whether an error of an operation is about what it was to store, not about where. */
static bool is_about_value(const struct sirix_error *error)
{
    switch (error->reason) {
    case SIRIX_REASON_JSON_SYNTAX:
    case SIRIX_REASON_JSON_ENCODING:
    case SIRIX_REASON_JSON_TRUNCATED:
    case SIRIX_REASON_DUPLICATE_KEY:
    case SIRIX_REASON_DEPTH_LIMIT:
    case SIRIX_REASON_SIZE_LIMIT:
    case SIRIX_REASON_FIELD_INVALID:
        return true;
    default:
        return false;
    }
}

/* Whether an error can be about an argument, not about the state of the storage. */
static bool can_be_about_argument(enum sirix_status status)
{
    switch (status) {
    case SIRIX_INVALID:
    case SIRIX_NOT_FOUND:
    case SIRIX_ALREADY_EXISTS:
    case SIRIX_CONFLICT:
    case SIRIX_OUT_OF_RANGE:
    case SIRIX_PRECONDITION:
    case SIRIX_EXHAUSTED:
        return true;
    default:
        return false;
    }
}

/* The argument that a field stands for, in out or a constant; NULL: none. */
static const char *argument_of(const struct sirix_mcp_call *call, const struct sirix_error *error,
                               char out[SIRIX_ERROR_WHERE_BYTES])
{
    const char *last = strrchr(error->field, '.');
    const size_t first_len = strcspn(error->field, ".");

    if (has_argument(call, error->field)) {
        return error->field;
    }
    if (strncmp(error->field, "operations[", strlen("operations[")) == 0) {
        last = is_about_value(error) ? ".value" : ".node_key";
    }
    const char *member = last == NULL ? error->field : last + 1;
    if (last != NULL) {
        /* The ends of a diff: from.revision is from_revision. */
        (void)snprintf(out, SIRIX_ERROR_WHERE_BYTES, "%.*s_%.*s", (int)first_len, error->field,
                       (int)(SIRIX_ERROR_WHERE_BYTES / 2), member);
        if (has_argument(call, out)) {
            return out;
        }
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(others[i].field, member) == 0) {
            return pick(call, others[i].arguments);
        }
    }
    to_camel_case(member, out);
    return has_argument(call, out) ? out : NULL;
}

/* The first place where the sentence names the field. */
static void rename_in_text(struct sirix_error *error, const char *argument)
{
    char text[SIRIX_ERROR_TEXT_BYTES];
    const char *at = strstr(error->text, error->field);

    if (at == NULL || error->field[0] == '\0') {
        return;
    }
    /* Cut, where the new name is longer and the sentence was at its limit. */
    const int len = snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - error->text), error->text,
                             argument, at + strlen(error->field));
    if (len >= 0) {
        memcpy(error->text, text, sizeof(text));
    }
}

void sirix_mcp_name_argument(const struct sirix_mcp_call *call, struct sirix_error *error)
{
    char name[SIRIX_ERROR_WHERE_BYTES] = "";
    const char *argument = NULL;

    if (error->field[0] == '\0' && error->reason == SIRIX_REASON_NODE_UNKNOWN) {
        sirix_error_set_field(error, "node_key");
    }
    if (error->field[0] != '\0' && can_be_about_argument(error->status)) {
        argument = argument_of(call, error, name);
    }
    if (argument == NULL) {
        error->field[0] = '\0';
        return;
    }
    if (argument != error->field) {
        rename_in_text(error, argument);
        sirix_error_set_field(error, argument);
    }
}
