/* Databases and resources. */
#include "service/catalogue.h"

#include "rpc/methods/codec.h"

static void database_message(const void *database, void *out_message)
{
    const struct sirix_database_item *item = database;
    Sirix__Storage__V1__Database *message = out_message;

    sirix__storage__v1__database__init(message);
    message->name = sirix_rpc_binary_str(item->name);
    message->stored_bytes = item->stored_bytes;
    message->resource_count = item->resource_count;
    message->open = item->open;
    if (item->read_only_reason != NULL) {
        message->read_only_reason = sirix_rpc_binary_str(item->read_only_reason);
    }
}

static enum sirix_status list_databases(struct sirix_rpc_call *call, void *state,
                                        const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_list_page wanted = sirix_rpc_list_page(message);
    Sirix__Storage__V1__ListDatabasesResponse answer =
        SIRIX__STORAGE__V1__LIST_DATABASES_RESPONSE__INIT;
    struct sirix_rpc_page page = {.item_bytes = sizeof(struct sirix_database_item),
                                  .message_bytes = sizeof(Sirix__Storage__V1__Database),
                                  .fill = database_message};
    struct sirix_database_item *items = NULL;
    void **list = NULL;

    (void)state;
    enum sirix_status status = sirix_service_list_databases(
        &who, &wanted, sirix_rpc_call_arena(call), &items, &page.count, &page.more, err);
    if (status == SIRIX_OK) {
        page.items = items;
        status = sirix_rpc_page_messages(call, &page, &list, &answer.next_cursor, err);
    }
    answer.n_databases = page.count;
    answer.databases = (Sirix__Storage__V1__Database **)list;
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

static enum sirix_status create_database(struct sirix_rpc_call *call, void *state,
                                         const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    Sirix__Storage__V1__CreateDatabaseResponse answer =
        SIRIX__STORAGE__V1__CREATE_DATABASE_RESPONSE__INIT;
    Sirix__Storage__V1__Database database;
    struct sirix_rpc_named named;
    struct sirix_database_item item = {0};

    (void)state;
    enum sirix_status status = sirix_rpc_named(message, &named, err);
    if (status == SIRIX_OK) {
        status = sirix_service_create_database(&who, named.database, &named.options, &item, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    database_message(&item, &database);
    answer.database = &database;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status drop_database(struct sirix_rpc_call *call, void *state,
                                       const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    const Sirix__Storage__V1__DropDatabaseResponse answer =
        SIRIX__STORAGE__V1__DROP_DATABASE_RESPONSE__INIT;
    struct sirix_rpc_named named;

    (void)state;
    enum sirix_status status = sirix_rpc_named(message, &named, err);
    if (status == SIRIX_OK) {
        status = sirix_service_drop_database(&who, named.database, &named.options, err);
    }
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

static void resource_message(const void *resource, void *out_message)
{
    const struct sirix_resource_item *item = resource;
    Sirix__Storage__V1__Resource *message = out_message;

    sirix__storage__v1__resource__init(message);
    message->name = sirix_rpc_binary_str(item->name);
    message->revision = item->revision;
    message->timestamp_us = sirix_rpc_time(item->time_us);
    message->id = item->id;
}

static enum sirix_status list_resources(struct sirix_rpc_call *call, void *state,
                                        const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_list_page wanted = sirix_rpc_list_page(message);
    Sirix__Storage__V1__ListResourcesResponse answer =
        SIRIX__STORAGE__V1__LIST_RESOURCES_RESPONSE__INIT;
    struct sirix_rpc_page page = {.item_bytes = sizeof(struct sirix_resource_item),
                                  .message_bytes = sizeof(Sirix__Storage__V1__Resource),
                                  .fill = resource_message};
    struct sirix_resource_item *items = NULL;
    void **list = NULL;

    (void)state;
    enum sirix_status status = sirix_service_list_resources(
        &who, &wanted, sirix_rpc_call_arena(call), &items, &page.count, &page.more, err);
    if (status == SIRIX_OK) {
        page.items = items;
        status = sirix_rpc_page_messages(call, &page, &list, &answer.next_cursor, err);
    }
    answer.n_resources = page.count;
    answer.resources = (Sirix__Storage__V1__Resource **)list;
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

static enum sirix_status create_resource(struct sirix_rpc_call *call, void *state,
                                         const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    Sirix__Storage__V1__CreateResourceResponse answer =
        SIRIX__STORAGE__V1__CREATE_RESOURCE_RESPONSE__INIT;
    Sirix__Storage__V1__WriteResult result;
    struct sirix_rpc_named named;
    struct sirix_write_result created = {0};

    (void)state;
    enum sirix_status status = sirix_rpc_named(message, &named, err);
    if (status == SIRIX_OK) {
        status = sirix_service_create_resource(&who, named.database, named.resource, &named.options,
                                               &created, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_rpc_write_result(&created, &result);
    answer.result = &result;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

/* --- DropResource takes the turn of main -------------------------------------------------------- */

struct drop_state {
    struct sirix_rpc_turn turn;
    struct sirix_write write;
    struct sirix_bytes database;
    struct sirix_bytes resource;
};

static enum sirix_status drop_resource_run(struct sirix_rpc_call *call, void *state,
                                           struct sirix_error *err)
{
    struct drop_state *drop = state;
    const Sirix__Storage__V1__DropResourceResponse answer =
        SIRIX__STORAGE__V1__DROP_RESOURCE_RESPONSE__INIT;

    enum sirix_status status =
        sirix_drop_resource_run(&drop->write, drop->database, drop->resource, err);
    sirix_write_close(&drop->write);
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

static enum sirix_status drop_resource(struct sirix_rpc_call *call, void *state,
                                       const ProtobufCMessage *message, struct sirix_error *err)
{
    struct drop_state *drop = state;
    const struct sirix_request who = sirix_rpc_request(call);
    const Sirix__Storage__V1__DropResourceResponse answer =
        SIRIX__STORAGE__V1__DROP_RESOURCE_RESPONSE__INIT;
    struct sirix_rpc_named named;
    bool known = false;

    enum sirix_status status = sirix_rpc_named(message, &named, err);
    if (status == SIRIX_OK) {
        const struct sirix_write_place place = {
            .options = &named.options, .database = named.database, .resource = named.resource};
        drop->database = named.database;
        drop->resource = named.resource;
        status = sirix_drop_resource_open(&who, &place, &drop->write, &known, err);
    }
    if (status == SIRIX_OK && known) {
        return sirix_rpc_call_reply(call, &answer.base, err);
    }
    return status == SIRIX_OK
               ? sirix_rpc_turn_take(call, &drop->turn, &drop->write, drop_resource_run, err)
               : status;
}

static void drop_resource_ended(void *state)
{
    sirix_write_close(&((struct drop_state *)state)->write);
}

/* --- GetResource -------------------------------------------------------------------------------- */

static enum sirix_status details_lists(struct sirix_rpc_call *call,
                                       const struct sirix_resource_details *details,
                                       Sirix__Storage__V1__GetResourceResponse *answer,
                                       struct sirix_error *err)
{
    void *messages = NULL;
    void **branches = NULL;
    void **snapshots = NULL;
    void **paths = NULL;

    enum sirix_status status = sirix_rpc_list(
        call, details->branch_count, sizeof(Sirix__Storage__V1__Branch), &messages, &branches, err);
    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, details->snapshot_count, sizeof(Sirix__Storage__V1__Snapshot),
                                &messages, &snapshots, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_rpc_list(call, details->paths.count, sizeof(Sirix__Storage__V1__PathSummaryEntry),
                           &messages, &paths, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < details->branch_count; i++) {
        sirix_rpc_branch(&details->branches[i], branches[i]);
    }
    for (size_t i = 0; i < details->snapshot_count; i++) {
        sirix_rpc_snapshot(&details->snapshots[i], snapshots[i]);
    }
    for (size_t i = 0; i < details->paths.count; i++) {
        Sirix__Storage__V1__PathSummaryEntry *entry = paths[i];
        sirix__storage__v1__path_summary_entry__init(entry);
        entry->path = sirix_rpc_binary(details->paths.entries[i].path);
        entry->kinds = details->paths.entries[i].kinds; /* Both enums number the kinds alike. */
        entry->any_member = details->paths.entries[i].any_member;
    }
    answer->n_branches = details->branch_count;
    answer->branches = (Sirix__Storage__V1__Branch **)branches;
    answer->n_snapshots = details->snapshot_count;
    answer->snapshots = (Sirix__Storage__V1__Snapshot **)snapshots;
    answer->n_paths = details->paths.count;
    answer->paths = (Sirix__Storage__V1__PathSummaryEntry **)paths;
    answer->paths_truncated = details->paths_missing;
    answer->next_paths_cursor = sirix_rpc_binary(details->paths.next_cursor);
    return SIRIX_OK;
}

static enum sirix_status get_resource(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__GetResourceRequest *request =
        (const Sirix__Storage__V1__GetResourceRequest *)message;
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_details_request wanted = {
        .database = sirix_rpc_bytes(request->database),
        .resource = sirix_rpc_bytes(request->resource),
        .view = sirix_rpc_view(request->view),
        .with_paths = request->with_path_summary,
        .paths_cursor = sirix_rpc_bytes(request->paths_cursor),
    };
    Sirix__Storage__V1__GetResourceResponse answer =
        SIRIX__STORAGE__V1__GET_RESOURCE_RESPONSE__INIT;
    struct sirix_resource_details details = {0};

    (void)state;
    enum sirix_status status =
        sirix_service_get_resource(&who, &wanted, sirix_rpc_call_arena(call), &details, err);
    if (status == SIRIX_OK) {
        status = details_lists(call, &details, &answer, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    answer.database = request->database;
    answer.resource = request->resource;
    answer.revision_count = details.info.revision_count;
    answer.newest_revision = details.info.newest_revision;
    answer.oldest_revision = details.info.oldest_revision;
    answer.created_at_us = sirix_rpc_time(details.info.created_us);
    answer.last_modified_at_us = sirix_rpc_time(details.info.last_modified_us);
    answer.revision = details.revision;
    answer.node_count = details.node_count;
    answer.text_bytes = details.text_bytes;
    answer.stored_bytes = details.stored_bytes;
    answer.storage_type = sirix_rpc_binary_str("lmdb");
    answer.branch_count = details.info.branch_count;
    answer.snapshot_count = details.info.snapshot_count;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

const struct sirix_rpc_method sirix_rpc_catalogue_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("ListDatabases"),
        .request = &sirix__storage__v1__list_databases_request__descriptor,
        .start = list_databases,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("CreateDatabase"),
        .request = &sirix__storage__v1__create_database_request__descriptor,
        .writes = true,
        .start = create_database,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("DropDatabase"),
        .request = &sirix__storage__v1__drop_database_request__descriptor,
        .writes = true,
        .start = drop_database,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("ListResources"),
        .request = &sirix__storage__v1__list_resources_request__descriptor,
        .start = list_resources,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("CreateResource"),
        .request = &sirix__storage__v1__create_resource_request__descriptor,
        .writes = true,
        .start = create_resource,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("DropResource"),
        .request = &sirix__storage__v1__drop_resource_request__descriptor,
        .writes = true,
        .state_bytes = sizeof(struct drop_state),
        .start = drop_resource,
        .woken = sirix_rpc_turn_woken,
        .cancelled = sirix_rpc_turn_cancelled,
        .draining = sirix_rpc_turn_draining,
        .ended = drop_resource_ended,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("GetResource"),
        .request = &sirix__storage__v1__get_resource_request__descriptor,
        .start = get_resource,
    },
    {.path = NULL},
};
