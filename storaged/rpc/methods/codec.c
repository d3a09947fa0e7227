/* What more than one method needs. */
#include "rpc/methods/codec.h"

#include <assert.h>

_Static_assert((int)SIRIX_PRINCIPAL_NAME_BYTES_MAX <= (int)SIRIX_CALLER_NAME_BYTES_MAX,
               "a principal's name fits into an author");

static bool principal_allows(const void *rights, enum sirix_right right,
                             struct sirix_bytes database, struct sirix_bytes name)
{
    const struct sirix_principal *principal = rights;

    switch (right) {
    case SIRIX_RIGHT_SEE:
        return sirix_principal_sees(principal, database, name);
    case SIRIX_RIGHT_SEE_ALL:
        return sirix_principal_sees_all(principal, database);
    default:
        return sirix_principal_may_change(principal, name);
    }
}

struct sirix_request sirix_rpc_request(struct sirix_rpc_call *call)
{
    const struct sirix_principal *principal = sirix_rpc_call_principal(call);

    return (struct sirix_request){
        .service = sirix_rpc_storage_of(call)->service,
        .caller = {.name = principal->name,
                   .may_write = sirix_principal_may_write(principal),
                   .trusted_to_speak_for_others = principal->trusted_to_speak_for_others,
                   .allows = principal_allows,
                   .rights = principal},
        .cancel = sirix_rpc_call_cancel(call),
    };
}

enum sirix_status sirix_rpc_list(struct sirix_rpc_call *call, size_t count, size_t size,
                                 void **out_items, void ***out_list, struct sirix_error *err)
{
    struct sirix_arena *arena = sirix_rpc_call_arena(call);
    void *items = NULL;
    void *list = NULL;

    if (count == 0) {
        *out_items = NULL;
        *out_list = NULL;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_arena_calloc(arena, count, size, &items, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, count, sizeof(void *), &list, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        ((void **)list)[i] = (char *)items + i * size;
    }
    *out_items = items;
    *out_list = list;
    return SIRIX_OK;
}

/* --- Requests ----------------------------------------------------------------------------------- */

struct sirix_view_request sirix_rpc_view(const Sirix__Storage__V1__View *message)
{
    struct sirix_view_request view = {.which = SIRIX_VIEW_WHICH_NONE};

    if (message == NULL) {
        return view;
    }
    switch (message->which_case) {
    case SIRIX__STORAGE__V1__VIEW__WHICH_REVISION:
        view.which = SIRIX_VIEW_WHICH_REVISION;
        view.revision = message->revision;
        break;
    case SIRIX__STORAGE__V1__VIEW__WHICH_SNAPSHOT:
        view.which = SIRIX_VIEW_WHICH_SNAPSHOT;
        view.name = sirix_rpc_bytes(message->snapshot);
        break;
    case SIRIX__STORAGE__V1__VIEW__WHICH_BRANCH:
        view.which = SIRIX_VIEW_WHICH_BRANCH;
        view.name = sirix_rpc_bytes(message->branch);
        break;
    default:
        break;
    }
    view.timestamp = sirix_rpc_bytes(message->timestamp);
    return view;
}

/* A sink that hashes what protobuf-c packs into it. */
struct hash_sink {
    ProtobufCBuffer base;
    struct sirix_sha256 sha;
    enum sirix_status status;
    struct sirix_error *err;
};

static void hash_append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
    struct hash_sink *sink = (struct hash_sink *)buffer;

    if (sink->status == SIRIX_OK) {
        sink->status = sirix_sha256_update(&sink->sha, data, len, sink->err);
    }
}

enum sirix_status sirix_rpc_hash(const ProtobufCMessage *message,
                                 uint8_t out_hash[SIRIX_SHA256_BYTES], struct sirix_error *err)
{
    struct hash_sink sink = {.base = {.append = hash_append}, .err = err};

    sink.status = sirix_sha256_init(&sink.sha, err);
    if (sink.status == SIRIX_OK) {
        const char *type = message->descriptor->name; /* Two calls may have equal fields. */
        sink.status = sirix_sha256_update(&sink.sha, type, strlen(type) + 1, err);
    }
    if (sink.status == SIRIX_OK) {
        (void)protobuf_c_message_pack_to_buffer(message, &sink.base);
    }
    if (sink.status == SIRIX_OK) {
        sink.status = sirix_sha256_final(&sink.sha, out_hash, err);
    }
    sirix_sha256_deinit(&sink.sha);
    return sink.status;
}

enum sirix_status sirix_rpc_write_options(const Sirix__Storage__V1__WriteOptions *options,
                                          const ProtobufCMessage *request,
                                          struct sirix_write_options *out_options,
                                          struct sirix_error *err)
{
    struct sirix_write_options result = {0};
    enum sirix_status status = SIRIX_OK;

    if (options != NULL) {
        result.has_expected =
            options->expected_case == SIRIX__STORAGE__V1__WRITE_OPTIONS__EXPECTED_EXPECTED_REVISION;
        result.expected_revision = result.has_expected ? options->expected_revision : 0;
        result.message = sirix_rpc_bytes(options->message);
        result.on_behalf_of = sirix_rpc_bytes(options->on_behalf_of);
        result.idempotency_key = sirix_rpc_bytes(options->idempotency_key);
        if (result.idempotency_key.len != 0) {
            status = sirix_rpc_hash(request, result.request_hash, err);
        }
    }
    if (status == SIRIX_OK) {
        *out_options = result;
    }
    return status;
}

/* A field that the request may have; NULL where it does not. */
static const void *field_of(const ProtobufCMessage *request, const char *name, ProtobufCType type)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(request->descriptor, name);

    if (field == NULL) {
        return NULL;
    }
    assert(field->type == type && field->label != PROTOBUF_C_LABEL_REPEATED);
    return (const char *)request + field->offset;
}

static struct sirix_bytes bytes_field(const ProtobufCMessage *request, const char *name)
{
    const ProtobufCBinaryData *field = field_of(request, name, PROTOBUF_C_TYPE_BYTES);

    return field == NULL ? (struct sirix_bytes){.data = NULL, .len = 0} : sirix_rpc_bytes(*field);
}

enum sirix_status sirix_rpc_named(const ProtobufCMessage *request,
                                  struct sirix_rpc_named *out_named, struct sirix_error *err)
{
    Sirix__Storage__V1__View *const *view = field_of(request, "view", PROTOBUF_C_TYPE_MESSAGE);
    Sirix__Storage__V1__WriteOptions *const *options =
        field_of(request, "options", PROTOBUF_C_TYPE_MESSAGE);
    struct sirix_rpc_named named = {
        .database = bytes_field(request, "database"),
        .resource = bytes_field(request, "resource"),
        .name = bytes_field(request, "name"),
        .view = sirix_rpc_view(view == NULL ? NULL : *view),
    };

    enum sirix_status status =
        sirix_rpc_write_options(options == NULL ? NULL : *options, request, &named.options, err);
    if (status == SIRIX_OK) {
        *out_named = named;
    }
    return status;
}

struct sirix_list_page sirix_rpc_list_page(const ProtobufCMessage *request)
{
    const uint32_t *size = field_of(request, "page_size", PROTOBUF_C_TYPE_UINT32);

    return (struct sirix_list_page){
        .database = bytes_field(request, "database"),
        .resource = bytes_field(request, "resource"),
        .page_size = size == NULL ? 0 : *size,
        .cursor = bytes_field(request, "cursor"),
    };
}

enum sirix_status sirix_rpc_place(const Sirix__Storage__V1__Place *message, const char *field,
                                  uint64_t *out_target, enum sirix_place *out_place,
                                  uint64_t *out_index, struct sirix_error *err)
{
    static const enum sirix_place places[] = {
        [SIRIX__STORAGE__V1__POSITION__POSITION_UNSPECIFIED] = SIRIX_PLACE_FIRST_CHILD,
        [SIRIX__STORAGE__V1__POSITION__POSITION_FIRST_CHILD] = SIRIX_PLACE_FIRST_CHILD,
        [SIRIX__STORAGE__V1__POSITION__POSITION_LAST_CHILD] = SIRIX_PLACE_LAST_CHILD,
        [SIRIX__STORAGE__V1__POSITION__POSITION_LEFT_SIBLING] = SIRIX_PLACE_LEFT_SIBLING,
        [SIRIX__STORAGE__V1__POSITION__POSITION_RIGHT_SIBLING] = SIRIX_PLACE_RIGHT_SIBLING,
        [SIRIX__STORAGE__V1__POSITION__POSITION_INDEX] = SIRIX_PLACE_INDEX,
    };

    *out_target = 0;
    *out_place = SIRIX_PLACE_FIRST_CHILD;
    *out_index = 0;
    if (message == NULL) {
        return SIRIX_OK;
    }
    /* An unknown enum value arrives as its number. */
    if ((unsigned)message->position >= sizeof(places) / sizeof(places[0])) {
        enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                     "position %u is none that this version knows",
                                                     (unsigned)message->position);
        sirix_error_set_field(err, field);
        return status;
    }
    *out_target = message->node_key;
    *out_place = places[message->position];
    *out_index = message->index;
    return SIRIX_OK;
}

/* --- Answers ------------------------------------------------------------------------------------ */

void sirix_rpc_write_result(const struct sirix_write_result *result,
                            Sirix__Storage__V1__WriteResult *out_message)
{
    sirix__storage__v1__write_result__init(out_message);
    out_message->revision = result->revision;
    out_message->parent_revision = result->parent_revision;
    out_message->timestamp_us = sirix_rpc_time(result->time_us);
    out_message->changed = result->changed;
    out_message->replayed = result->replayed;
}

Sirix__Storage__V1__NodeKind sirix_rpc_kind(enum sirix_value_kind kind)
{
    static const Sirix__Storage__V1__NodeKind kinds[] = {
        [SIRIX_VALUE_NONE] = SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_UNSPECIFIED,
        [SIRIX_VALUE_OBJECT] = SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_OBJECT,
        [SIRIX_VALUE_ARRAY] = SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_ARRAY,
        [SIRIX_VALUE_STRING] = SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_STRING,
        [SIRIX_VALUE_NUMBER] = SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_NUMBER,
        [SIRIX_VALUE_BOOLEAN] = SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_BOOLEAN,
        [SIRIX_VALUE_NULL] = SIRIX__STORAGE__V1__NODE_KIND__NODE_KIND_NULL,
    };

    return kinds[kind];
}

void sirix_rpc_branch(const void *branch, void *out_branch)
{
    const struct sirix_branch_item *item = branch;
    Sirix__Storage__V1__Branch *out_message = out_branch;

    sirix__storage__v1__branch__init(out_message);
    out_message->name = sirix_rpc_binary_str(item->name);
    out_message->revision = item->revision;
    out_message->timestamp_us = sirix_rpc_time(item->time_us);
    out_message->base_revision = item->base_revision;
    out_message->created_at_us = sirix_rpc_time(item->created_us);
    out_message->expires_at_us = sirix_rpc_time(item->expires_us);
}

void sirix_rpc_snapshot(const void *snapshot, void *out_snapshot)
{
    const struct sirix_snapshot_item *item = snapshot;
    Sirix__Storage__V1__Snapshot *out_message = out_snapshot;

    sirix__storage__v1__snapshot__init(out_message);
    out_message->name = sirix_rpc_binary_str(item->name);
    out_message->revision = item->revision;
    out_message->timestamp_us = sirix_rpc_time(item->time_us);
    out_message->created_at_us = sirix_rpc_time(item->created_us);
}

enum sirix_status sirix_rpc_page_messages(struct sirix_rpc_call *call,
                                          const struct sirix_rpc_page *page, void ***out_list,
                                          ProtobufCBinaryData *out_cursor, struct sirix_error *err)
{
    const char *items = page->items;
    void *messages = NULL;

    enum sirix_status status =
        sirix_rpc_list(call, page->count, page->message_bytes, &messages, out_list, err);
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < page->count; i++) {
        page->fill(items + i * page->item_bytes, (*out_list)[i]);
    }
    *out_cursor = (ProtobufCBinaryData){.len = 0, .data = NULL};
    if (page->more && page->count != 0) {
        *out_cursor = sirix_rpc_binary_str(items + (page->count - 1) * page->item_bytes);
    }
    return SIRIX_OK;
}

/* --- Writes that take a turn -------------------------------------------------------------------- */

/* On another thread; the reference keeps the call there until this is over. */
static void on_ready(void *context)
{
    struct sirix_rpc_turn *turn = context;
    struct sirix_rpc_call *call = turn->call;

    sirix_rpc_call_wake(call);
    sirix_rpc_call_unref(call);
}

enum sirix_status sirix_rpc_turn_take(struct sirix_rpc_call *call, struct sirix_rpc_turn *turn,
                                      struct sirix_write *write, sirix_rpc_turn_fn run,
                                      struct sirix_error *err)
{
    bool waits = false;

    turn->call = call;
    turn->write = write;
    turn->run = run;
    /* Set before: the grant may come on another thread before this one goes on. */
    turn->waits = true;
    sirix_rpc_call_ref(call);
    enum sirix_status status = sirix_write_take_turn(write, on_ready, turn, &waits, err);
    if (status == SIRIX_OK && waits) {
        return SIRIX_OK;
    }
    turn->waits = false;
    sirix_rpc_call_unref(call);
    return status == SIRIX_OK ? run(call, turn, err) : status;
}

enum sirix_status sirix_rpc_turn_woken(struct sirix_rpc_call *call, void *state,
                                       struct sirix_error *err)
{
    struct sirix_rpc_turn *turn = state;

    if (!turn->waits) {
        return SIRIX_OK;
    }
    turn->waits = false;
    enum sirix_status status = sirix_write_turn_came(turn->write, err);
    return status == SIRIX_OK ? turn->run(call, state, err) : status;
}

static void stop_waiting(struct sirix_rpc_call *call, struct sirix_rpc_turn *turn)
{
    if (turn->waits && sirix_write_withdraw(turn->write)) {
        turn->waits = false;
        sirix_rpc_call_unref(call);
    }
}

void sirix_rpc_turn_cancelled(struct sirix_rpc_call *call, void *state)
{
    stop_waiting(call, state);
}

enum sirix_status sirix_rpc_turn_draining(struct sirix_rpc_call *call, void *state,
                                          struct sirix_error *err)
{
    struct sirix_rpc_turn *turn = state;

    if (!turn->waits) {
        return SIRIX_OK; /* It runs, or its turn has just come: it may end within the grace time. */
    }
    stop_waiting(call, turn);
    return turn->waits ? SIRIX_OK
                       : sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_SHUTTING_DOWN,
                                           "the server is shutting down; nothing was changed");
}
