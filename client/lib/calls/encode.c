/* What many calls share. */
#include "lib/calls/encode.h"

#include <assert.h>

/* --- Requests --------------------------------------------------------------------------------- */

PB(View) * sirix_encode_view(const struct sirix_view *view, PB(View) * message)
{
    sirix__storage__v1__view__init(message);
    if (view->kind == SIRIX_VIEW_DEFAULT && view->timestamp.len == 0) {
        return NULL;
    }
    message->timestamp = sirix_message_from_bytes(view->timestamp);
    switch (view->kind) {
    case SIRIX_VIEW_DEFAULT:
        break;
    case SIRIX_VIEW_REVISION:
        message->which_case = SIRIX__STORAGE__V1__VIEW__WHICH_REVISION;
        message->revision = view->revision;
        break;
    case SIRIX_VIEW_SNAPSHOT:
        message->which_case = SIRIX__STORAGE__V1__VIEW__WHICH_SNAPSHOT;
        message->snapshot = sirix_message_from_str(view->name);
        break;
    case SIRIX_VIEW_BRANCH:
        message->which_case = SIRIX__STORAGE__V1__VIEW__WHICH_BRANCH;
        message->branch = sirix_message_from_str(view->name);
        break;
    }
    return message;
}

PB(WriteOptions) *
    sirix_encode_write(const struct sirix_write_options *write, PB(WriteOptions) * message)
{
    sirix__storage__v1__write_options__init(message);
    if (write == NULL) {
        return NULL;
    }
    if (write->has_expected_revision) {
        message->expected_case = SIRIX__STORAGE__V1__WRITE_OPTIONS__EXPECTED_EXPECTED_REVISION;
        message->expected_revision = write->expected_revision;
    }
    message->message = sirix_message_from_bytes(write->message);
    message->on_behalf_of = sirix_message_from_bytes(write->on_behalf_of);
    message->idempotency_key = sirix_message_from_bytes(write->idempotency_key);
    return message;
}

enum sirix_repeat sirix_write_repeat(const struct sirix_write_options *write)
{
    return write != NULL && write->idempotency_key.len != 0 ? SIRIX_REPEAT_KEYED
                                                            : SIRIX_REPEAT_BY_METHOD;
}

void sirix_encode_place(const struct sirix_place *place, PB(Place) * message)
{
    static const PB(Position) positions[] = {
        [SIRIX_POSITION_FIRST_CHILD] = SIRIX__STORAGE__V1__POSITION__POSITION_FIRST_CHILD,
        [SIRIX_POSITION_LAST_CHILD] = SIRIX__STORAGE__V1__POSITION__POSITION_LAST_CHILD,
        [SIRIX_POSITION_LEFT_SIBLING] = SIRIX__STORAGE__V1__POSITION__POSITION_LEFT_SIBLING,
        [SIRIX_POSITION_RIGHT_SIBLING] = SIRIX__STORAGE__V1__POSITION__POSITION_RIGHT_SIBLING,
        [SIRIX_POSITION_INDEX] = SIRIX__STORAGE__V1__POSITION__POSITION_INDEX,
    };

    sirix__storage__v1__place__init(message);
    message->node_key = place->node_key;
    message->position = positions[place->position];
    message->index = place->position == SIRIX_POSITION_INDEX ? place->index : 0;
}

/* --- Answers ---------------------------------------------------------------------------------- */

struct sirix_write_result sirix_decode_write(const PB(WriteResult) * message)
{
    if (message == NULL) {
        return (struct sirix_write_result){0};
    }
    return (struct sirix_write_result){
        .revision = message->revision,
        .parent_revision = message->parent_revision,
        .timestamp_us = message->timestamp_us,
        .changed = message->changed != 0,
        .replayed = message->replayed != 0,
    };
}

/* The public enums have the contract's numbers; what a newer server adds is NONE. */
_Static_assert((int)SIRIX_NODE_TYPE_NULL == (int)SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_NULL,
               "node types are numbered as in the contract");
_Static_assert((int)SIRIX_CHANGE_KIND_MOVE ==
                   (int)SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_MOVE,
               "kinds of changes are numbered as in the contract");

enum sirix_node_type sirix_decode_node_type(PB(NodeKind) kind)
{
    int number = (int)kind;

    return number >= 0 && number <= (int)SIRIX_NODE_TYPE_NULL ? (enum sirix_node_type)number
                                                              : SIRIX_NODE_TYPE_NONE;
}

enum sirix_change_kind sirix_decode_change_kind(PB(ChangeKind) kind)
{
    int number = (int)kind;

    return number >= 0 && number <= (int)SIRIX_CHANGE_KIND_MOVE ? (enum sirix_change_kind)number
                                                                : SIRIX_CHANGE_KIND_NONE;
}

const char *sirix_node_type_name(enum sirix_node_type type)
{
    static const char *const known_names[] = {"none",   "object",  "array", "string",
                                              "number", "boolean", "null"};
    size_t index = (size_t)type;

    return known_names[index < sizeof(known_names) / sizeof(known_names[0]) ? index : 0];
}

const char *sirix_change_kind_name(enum sirix_change_kind kind)
{
    static const char *const known_names[] = {"none",    "insert", "delete", "update",
                                              "replace", "rename", "move"};
    size_t index = (size_t)kind;

    return known_names[index < sizeof(known_names) / sizeof(known_names[0]) ? index : 0];
}

enum sirix_status sirix_decode_branches(struct sirix_arena *arena, PB(Branch) * *messages, size_t n,
                                        const struct sirix_branch_info **out_items,
                                        struct sirix_error *err)
{
    struct sirix_branch_info *items = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, n, &items, err);

    for (size_t i = 0; status == SIRIX_OK && i < n; i++) {
        const PB(Branch) *from = messages[i];

        items[i] = (struct sirix_branch_info){
            .revision = from->revision,
            .timestamp_us = from->timestamp_us,
            .base_revision = from->base_revision,
            .created_at_us = from->created_at_us,
            .expires_at_us = from->expires_at_us,
        };
        status = sirix_answer_name(arena, from->name, &items[i].name, err);
    }
    if (status == SIRIX_OK) {
        *out_items = items;
    }
    return status;
}

enum sirix_status sirix_decode_snapshots(struct sirix_arena *arena, PB(Snapshot) * *messages,
                                         size_t n, const struct sirix_snapshot_info **out_items,
                                         struct sirix_error *err)
{
    struct sirix_snapshot_info *items = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, n, &items, err);

    for (size_t i = 0; status == SIRIX_OK && i < n; i++) {
        const PB(Snapshot) *from = messages[i];

        items[i] = (struct sirix_snapshot_info){
            .revision = from->revision,
            .timestamp_us = from->timestamp_us,
            .created_at_us = from->created_at_us,
        };
        status = sirix_answer_name(arena, from->name, &items[i].name, err);
    }
    if (status == SIRIX_OK) {
        *out_items = items;
    }
    return status;
}

enum sirix_status sirix_decode_revision(struct sirix_arena *arena, const PB(RevisionInfo) * message,
                                        struct sirix_revision_info *out_info,
                                        struct sirix_error *err)
{
    const char *branch = "";

    if (message == NULL) {
        *out_info = (struct sirix_revision_info){.branch = branch};
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_answer_name(arena, message->branch, &branch, err);
    if (status != SIRIX_OK) {
        return status;
    }
    *out_info = (struct sirix_revision_info){
        .revision = message->revision,
        .parent_revision = message->parent_revision,
        .branch = branch,
        .timestamp_us = message->timestamp_us,
        .author = sirix_message_bytes(message->author),
        .on_behalf_of = sirix_message_bytes(message->on_behalf_of),
        .message = sirix_message_bytes(message->message),
        .reverted_to = message->reverted_to,
        .chain = sirix_message_bytes(message->chain),
        .node_count = message->node_count,
    };
    return SIRIX_OK;
}

/* --- Calls ------------------------------------------------------------------------------------ */

enum sirix_status sirix_client_unary_plain(struct sirix_client *client,
                                           const struct sirix_unary *unary,
                                           const struct sirix_call_options *call,
                                           sirix_take_fn take, void *context,
                                           struct sirix_error *err)
{
    const ProtobufCMessage *answer = NULL;
    struct sirix_arena arena;

    sirix_arena_init(&arena, SIRIX_MESSAGE_DECODED_BYTES_MAX);
    enum sirix_status status = sirix_client_unary(client, unary, call, &arena, &answer, err);
    if (status == SIRIX_OK && take != NULL) {
        take(answer, context);
    }
    sirix_arena_deinit(&arena);
    return status;
}

enum sirix_status sirix_client_unary_answer(struct sirix_client *client,
                                            const struct sirix_unary *unary,
                                            const struct sirix_call_options *call, size_t size,
                                            sirix_fill_fn fill, void **out_answer,
                                            struct sirix_error *err)
{
    const ProtobufCMessage *message = NULL;
    void *answer = NULL;
    enum sirix_status status = sirix_answer_new(size, &answer, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_arena *arena = sirix_answer_arena(answer);
    status = sirix_client_unary(client, unary, call, arena, &message, err);
    if (status == SIRIX_OK) {
        status = sirix_client_untaken(sirix_client_writes(unary->method, unary->repeat),
                                      fill(arena, message, answer, err), err);
    }
    if (status != SIRIX_OK) {
        sirix_client_free(answer);
        return status;
    }
    *out_answer = answer;
    return SIRIX_OK;
}

/* --- Calls about a name ----------------------------------------------------------------------- */

/* The messages inside one that is sent. */
struct named_parts {
    PB(View) view;
    PB(WriteOptions) options;
};

/* A field that every such request has. */
static void *field_of(ProtobufCMessage *message, const char *name, ProtobufCType type)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);

    assert(field != NULL && field->type == type && field->label != PROTOBUF_C_LABEL_REPEATED);
    return (char *)message + field->offset;
}

static void set_text(ProtobufCMessage *message, const char *name, const char *text)
{
    if (text != NULL) {
        *(ProtobufCBinaryData *)field_of(message, name, PROTOBUF_C_TYPE_BYTES) =
            sirix_message_from_str(text);
    }
}

static struct sirix_unary encode_named(const struct sirix_named_call *named,
                                       struct named_parts *parts)
{
    ProtobufCMessage *message = named->message;

    set_text(message, "database", named->database);
    set_text(message, "resource", named->resource);
    set_text(message, "name", named->name);
    if (named->view != NULL) {
        *(PB(View) **)field_of(message, "view", PROTOBUF_C_TYPE_MESSAGE) =
            sirix_encode_view(named->view, &parts->view);
    }
    if (named->write != NULL) {
        *(PB(WriteOptions) **)field_of(message, "options", PROTOBUF_C_TYPE_MESSAGE) =
            sirix_encode_write(named->write, &parts->options);
    }
    if (named->page != NULL) {
        *(uint32_t *)field_of(message, "page_size", PROTOBUF_C_TYPE_UINT32) = named->page->size;
        *(ProtobufCBinaryData *)field_of(message, "cursor", PROTOBUF_C_TYPE_BYTES) =
            sirix_message_from_bytes(named->page->cursor);
    }
    return (struct sirix_unary){
        .method = named->method,
        .request = message,
        .answer_type = named->answer_type,
        .repeat = sirix_write_repeat(named->write),
    };
}

enum sirix_status sirix_client_named_plain(struct sirix_client *client,
                                           const struct sirix_named_call *named,
                                           const struct sirix_call_options *call,
                                           sirix_take_fn take, void *context,
                                           struct sirix_error *err)
{
    struct named_parts parts;
    const struct sirix_unary unary = encode_named(named, &parts);

    return sirix_client_unary_plain(client, &unary, call, take, context, err);
}

enum sirix_status sirix_client_named_answer(struct sirix_client *client,
                                            const struct sirix_named_call *named,
                                            const struct sirix_call_options *call, size_t size,
                                            sirix_fill_fn fill, void **out_answer,
                                            struct sirix_error *err)
{
    struct named_parts parts;
    const struct sirix_unary unary = encode_named(named, &parts);

    return sirix_client_unary_answer(client, &unary, call, size, fill, out_answer, err);
}
