/*
 * One operation as one revision:
 *
 * sirixctl insert DB/RESOURCE NODE JSON     below NODE, or beside it with --position before|after
 * sirixctl update DB/RESOURCE NODE JSON     sets a value; of an object or array with --replace
 * sirixctl delete DB/RESOURCE NODE
 * sirixctl rename DB/RESOURCE NODE NAME
 * sirixctl move DB/RESOURCE NODE TO         into TO, or beside it
 *
 * NODE and TO are keys or paths; JSON is a text, @FILE, or - for stdin.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/commands.h"

enum own_flag { FLAG_POSITION = SIRIXCTL_WRITE_FLAG_COUNT, FLAG_NAME };
enum update_flag { FLAG_REPLACE = SIRIXCTL_WRITE_FLAG_COUNT };

enum { VALUE_BYTES_MAX = 256 * 1024 * 1024 };

#define POSITION_FLAG                                                                              \
    {                                                                                              \
        "position", "WHERE", "first (default), last, before, after, or an index"                   \
    }

#define EDIT_ANSWER                                                                                \
    "{\"revision\",\"parentRevision\",\"timestamp\",\"changed\",\"replayed\",\"nodeKeys\","        \
    "\"kind\"}"

static const struct sirixctl_flag place_flags[] = {
    SIRIXCTL_WRITE_FLAGS,
    [FLAG_POSITION] = POSITION_FLAG,
    [FLAG_NAME] = {"name", "NAME", "in an object: the member's name"},
};

static const struct sirixctl_flag update_flags[] = {
    SIRIXCTL_WRITE_FLAGS,
    [FLAG_REPLACE] = {"replace", NULL, "also if it is an object or array, which is then lost"},
};

static const struct sirixctl_flag plain_flags[] = {SIRIXCTL_WRITE_FLAGS};

/* --- Reading the command line ----------------------------------------------------------------- */

/* What a command was given, all of it checked before anything connects. */
struct edit {
    struct sirixctl_name name;
    struct sirix_write_options write;
    struct sirix_target node;
};

/* DB/RESOURCE, NODE, and the flags of a write. */
static enum sirix_status read_edit(const struct sirixctl *ctl, struct edit *edit,
                                   struct sirix_error *err)
{
    enum sirix_status status = sirixctl_write_operand(ctl, 0, &edit->name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_write_options(ctl, &edit->write, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_target(ctl->args.operands[1], &edit->node, err);
    }
    return status;
}

/* A value as it was typed, or out of a file; *out_owned is the caller's to free(). */
static enum sirix_status value_operand(const char *text, struct sirix_bytes *out_value,
                                       char **out_owned, struct sirix_error *err)
{
    size_t len = 0;

    if (text[0] != '@' && strcmp(text, "-") != 0) {
        *out_value = sirix_bytes_from_str(text);
        return sirixctl_check_json(*out_value, SIRIXCTL_JSON_DEPTH_MAX, err);
    }
    const char *path = text[0] == '@' ? text + 1 : text;
    enum sirix_status status = sirixctl_read_file(path, VALUE_BYTES_MAX, out_owned, &len, err);
    if (status == SIRIX_OK) {
        *out_value = (struct sirix_bytes){.data = *out_owned, .len = len};
        status = sirixctl_check_json(*out_value, SIRIXCTL_JSON_DEPTH_MAX, err);
    }
    return status;
}

/* --- Doing it --------------------------------------------------------------------------------- */

static enum sirix_status answer(struct sirixctl *ctl, const struct sirix_apply_result *result,
                                struct sirix_error *err)
{
    struct sirixctl_json json;

    if (!sirixctl_begin_write_answer(ctl, &result->result, &json)) {
        return SIRIX_OK;
    }
    sirixctl_json_array(&json, "nodeKeys");
    for (size_t i = 0; result->count > 0 && i < result->operations[0].node_key_count; i++) {
        sirixctl_json_u64(&json, NULL, result->operations[0].node_keys[i]);
    }
    sirixctl_json_array_end(&json);
    if (result->count > 0) {
        sirixctl_json_str(&json, "kind", sirix_node_type_name(result->operations[0].type));
    }
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

/* The key of a node on the branch that is written. */
static enum sirix_status find_node(struct sirixctl *ctl, const struct edit *edit,
                                   const struct sirix_target *target, uint64_t *out_key,
                                   struct sirix_error *err)
{
    struct sirix_view view;
    enum sirix_status status =
        sirixctl_view(ctl, &edit->name, ctl->args.own[SIRIXCTL_BRANCH], &view, err);

    return status != SIRIX_OK ? status
                              : sirixctl_target_key(ctl, &edit->name, &view, target, out_key, err);
}

static enum sirix_status apply_one(struct sirixctl *ctl, const struct edit *edit,
                                   const struct sirix_operation *operation, struct sirix_error *err)
{
    struct sirix_apply_result *result = NULL;
    struct sirix_apply_request request = {
        .database = edit->name.database,
        .resource = edit->name.resource,
        .branch = ctl->args.own[SIRIXCTL_BRANCH],
        .write = edit->write,
        .operations = operation,
        .operation_count = 1,
    };
    enum sirix_status status = sirix_client_apply(ctl->client, &request, &ctl->call, &result, err);

    if (status == SIRIX_OK) {
        status = answer(ctl, result, err);
    }
    sirix_client_free(result);
    return status;
}

/* Commands that have a value: reads it, finds their node, whose key goes to *key, and does it. */
static enum sirix_status apply_value(struct sirixctl *ctl, struct edit *edit,
                                     struct sirix_operation *operation, uint64_t *key,
                                     struct sirix_error *err)
{
    char *owned = NULL;
    enum sirix_status status = value_operand(ctl->args.operands[2], &operation->json, &owned, err);

    if (status == SIRIX_OK) {
        status = find_node(ctl, edit, &edit->node, key, err);
    }
    if (status == SIRIX_OK) {
        status = apply_one(ctl, edit, operation, err);
    }
    free(owned);
    return status;
}

static enum sirix_status run_insert(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_operation operation = {
        .kind = SIRIX_OPERATION_INSERT,
        .has_name = ctl->args.own[FLAG_NAME] != NULL,
        .name = sirix_bytes_from_str(ctl->args.own[FLAG_NAME]),
    };
    struct edit edit;
    enum sirix_status status = read_edit(ctl, &edit, err);

    if (status == SIRIX_OK) {
        status = sirixctl_position(ctl->args.own[FLAG_POSITION], &operation.place, err);
    }
    return status != SIRIX_OK ? status
                              : apply_value(ctl, &edit, &operation, &operation.place.node_key, err);
}

static enum sirix_status run_update(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_operation operation = {
        .kind =
            ctl->args.own[FLAG_REPLACE] != NULL ? SIRIX_OPERATION_REPLACE : SIRIX_OPERATION_UPDATE,
    };
    struct edit edit;
    enum sirix_status status = read_edit(ctl, &edit, err);

    return status != SIRIX_OK ? status
                              : apply_value(ctl, &edit, &operation, &operation.node_key, err);
}

/* Commands that have no value: finds their node, then does it. */
static enum sirix_status apply_to_node(struct sirixctl *ctl, const struct edit *edit,
                                       struct sirix_operation *operation, struct sirix_error *err)
{
    enum sirix_status status = find_node(ctl, edit, &edit->node, &operation->node_key, err);

    return status != SIRIX_OK ? status : apply_one(ctl, edit, operation, err);
}

static enum sirix_status run_delete(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_operation operation = {.kind = SIRIX_OPERATION_DELETE};
    struct edit edit;
    enum sirix_status status = read_edit(ctl, &edit, err);

    return status != SIRIX_OK ? status : apply_to_node(ctl, &edit, &operation, err);
}

static enum sirix_status run_rename(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_operation operation = {
        .kind = SIRIX_OPERATION_RENAME,
        .name = sirix_bytes_from_str(ctl->args.operands[2]),
    };
    struct edit edit;
    enum sirix_status status = read_edit(ctl, &edit, err);

    return status != SIRIX_OK ? status : apply_to_node(ctl, &edit, &operation, err);
}

static enum sirix_status run_move(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_operation operation = {
        .kind = SIRIX_OPERATION_MOVE,
        .has_name = ctl->args.own[FLAG_NAME] != NULL,
        .name = sirix_bytes_from_str(ctl->args.own[FLAG_NAME]),
    };
    struct edit edit;
    struct sirix_target to;
    enum sirix_status status = read_edit(ctl, &edit, err);

    if (status == SIRIX_OK) {
        status = sirixctl_position(ctl->args.own[FLAG_POSITION], &operation.place, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_target(ctl->args.operands[2], &to, err);
    }
    if (status == SIRIX_OK) {
        status = find_node(ctl, &edit, &to, &operation.place.node_key, err);
    }
    return status != SIRIX_OK ? status : apply_to_node(ctl, &edit, &operation, err);
}

const struct sirixctl_command sirixctl_insert = {
    .name = "insert",
    .operands = "DB/RESOURCE NODE JSON",
    .summary = "Insert a value below or beside a node",
    .details = "JSON is a text, @FILE, or - for stdin. Into an object: with --name, or an object\n"
               "whose members are inserted.",
    .answer = EDIT_ANSWER,
    .flags = SIRIXCTL_FLAGS(place_flags),
    .operands_min = 3,
    .operands_max = 3,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_insert,
};

const struct sirixctl_command sirixctl_update = {
    .name = "update",
    .operands = "DB/RESOURCE NODE JSON",
    .summary = "Set the value of a node",
    .details = "JSON is a text, @FILE, or - for stdin.",
    .answer = EDIT_ANSWER,
    .flags = SIRIXCTL_FLAGS(update_flags),
    .operands_min = 3,
    .operands_max = 3,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_update,
};

const struct sirixctl_command sirixctl_delete = {
    .name = "delete",
    .operands = "DB/RESOURCE NODE",
    .summary = "Delete a node and what is below it",
    .answer = EDIT_ANSWER,
    .flags = SIRIXCTL_FLAGS(plain_flags),
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_delete,
};

const struct sirixctl_command sirixctl_rename = {
    .name = "rename",
    .operands = "DB/RESOURCE NODE NAME",
    .summary = "Give a member another name",
    .answer = EDIT_ANSWER,
    .flags = SIRIXCTL_FLAGS(plain_flags),
    .operands_min = 3,
    .operands_max = 3,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_rename,
};

const struct sirixctl_command sirixctl_move = {
    .name = "move",
    .operands = "DB/RESOURCE NODE TO",
    .summary = "Move a node into or beside another one",
    .answer = EDIT_ANSWER,
    .flags = SIRIXCTL_FLAGS(place_flags),
    .operands_min = 3,
    .operands_max = 3,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_move,
};
