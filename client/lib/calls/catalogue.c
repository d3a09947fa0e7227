/* Databases and resources. */
#include "lib/calls/encode.h"

/* --- Databases -------------------------------------------------------------------------------- */

static enum sirix_status fill_databases(struct sirix_arena *arena, const ProtobufCMessage *message,
                                        void *answer, struct sirix_error *err)
{
    const PB(ListDatabasesResponse) *from = (const void *)message;
    struct sirix_database_list *list = answer;
    struct sirix_database_info *items = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_databases, &items, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_databases; i++) {
        const PB(Database) *database = from->databases[i];

        items[i] = (struct sirix_database_info){
            .stored_bytes = database->stored_bytes,
            .resource_count = database->resource_count,
            .open = database->open != 0,
            .read_only_reason = sirix_message_bytes(database->read_only_reason),
        };
        status = sirix_answer_name(arena, database->name, &items[i].name, err);
    }
    list->items = items;
    list->count = from->n_databases;
    list->next_cursor = sirix_message_bytes(from->next_cursor);
    return status;
}

enum sirix_status sirix_client_list_databases(struct sirix_client *client,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_database_list **out_list,
                                              struct sirix_error *err)
{
    PB(ListDatabasesRequest) message = PB_INIT(LIST_DATABASES_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_LIST_DATABASES,
        .message = &message.base,
        .answer_type = PB_TYPE(list_databases_response),
        .page = page,
    };
    void *answer = NULL;

    enum sirix_status status = sirix_client_named_answer(client, &named, call, sizeof(**out_list),
                                                         fill_databases, &answer, err);
    if (status == SIRIX_OK) {
        *out_list = answer;
    }
    return status;
}

enum sirix_status sirix_client_create_database(struct sirix_client *client, const char *database,
                                               const struct sirix_write_options *write,
                                               const struct sirix_call_options *call,
                                               struct sirix_error *err)
{
    PB(CreateDatabaseRequest) message = PB_INIT(CREATE_DATABASE_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_CREATE_DATABASE,
        .message = &message.base,
        .answer_type = PB_TYPE(create_database_response),
        .database = database,
        .write = write,
    };

    return sirix_client_named_plain(client, &named, call, NULL, NULL, err);
}

enum sirix_status sirix_client_drop_database(struct sirix_client *client, const char *database,
                                             const struct sirix_write_options *write,
                                             const struct sirix_call_options *call,
                                             struct sirix_error *err)
{
    PB(DropDatabaseRequest) message = PB_INIT(DROP_DATABASE_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_DROP_DATABASE,
        .message = &message.base,
        .answer_type = PB_TYPE(drop_database_response),
        .database = database,
        .write = write,
    };

    return sirix_client_named_plain(client, &named, call, NULL, NULL, err);
}

/* --- Resources -------------------------------------------------------------------------------- */

static enum sirix_status fill_resources(struct sirix_arena *arena, const ProtobufCMessage *message,
                                        void *answer, struct sirix_error *err)
{
    const PB(ListResourcesResponse) *from = (const void *)message;
    struct sirix_resource_list *list = answer;
    struct sirix_resource_entry *items = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_resources, &items, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_resources; i++) {
        const PB(Resource) *resource = from->resources[i];

        items[i] = (struct sirix_resource_entry){
            .revision = resource->revision,
            .timestamp_us = resource->timestamp_us,
            .id = resource->id,
        };
        status = sirix_answer_name(arena, resource->name, &items[i].name, err);
    }
    list->items = items;
    list->count = from->n_resources;
    list->next_cursor = sirix_message_bytes(from->next_cursor);
    return status;
}

enum sirix_status sirix_client_list_resources(struct sirix_client *client, const char *database,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_resource_list **out_list,
                                              struct sirix_error *err)
{
    PB(ListResourcesRequest) message = PB_INIT(LIST_RESOURCES_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_LIST_RESOURCES,
        .message = &message.base,
        .answer_type = PB_TYPE(list_resources_response),
        .database = database,
        .page = page,
    };
    void *answer = NULL;

    enum sirix_status status = sirix_client_named_answer(client, &named, call, sizeof(**out_list),
                                                         fill_resources, &answer, err);
    if (status == SIRIX_OK) {
        *out_list = answer;
    }
    return status;
}

static void take_created(const ProtobufCMessage *answer, void *context)
{
    const PB(CreateResourceResponse) *from = (const void *)answer;
    struct sirix_write_result *to = context;

    *to = sirix_decode_write(from->result);
}

enum sirix_status sirix_client_create_resource(struct sirix_client *client, const char *database,
                                               const char *resource,
                                               const struct sirix_write_options *write,
                                               const struct sirix_call_options *call,
                                               struct sirix_write_result *out_result,
                                               struct sirix_error *err)
{
    PB(CreateResourceRequest) message = PB_INIT(CREATE_RESOURCE_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_CREATE_RESOURCE,
        .message = &message.base,
        .answer_type = PB_TYPE(create_resource_response),
        .database = database,
        .resource = resource,
        .write = write,
    };

    return sirix_client_named_plain(client, &named, call, out_result != NULL ? take_created : NULL,
                                    out_result, err);
}

enum sirix_status sirix_client_drop_resource(struct sirix_client *client, const char *database,
                                             const char *resource,
                                             const struct sirix_write_options *write,
                                             const struct sirix_call_options *call,
                                             struct sirix_error *err)
{
    PB(DropResourceRequest) message = PB_INIT(DROP_RESOURCE_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_DROP_RESOURCE,
        .message = &message.base,
        .answer_type = PB_TYPE(drop_resource_response),
        .database = database,
        .resource = resource,
        .write = write,
    };

    return sirix_client_named_plain(client, &named, call, NULL, NULL, err);
}

static enum sirix_status fill_paths(struct sirix_arena *arena, const PB(GetResourceResponse) * from,
                                    struct sirix_resource_info *info, struct sirix_error *err)
{
    struct sirix_path_summary *paths = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_paths, &paths, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_paths; i++) {
        paths[i] = (struct sirix_path_summary){
            .path = sirix_message_bytes(from->paths[i]->path),
            .types = from->paths[i]->kinds,
            .any_member = from->paths[i]->any_member != 0,
        };
    }
    info->paths = paths;
    info->path_count = from->n_paths;
    info->next_paths_cursor = sirix_message_bytes(from->next_paths_cursor);
    info->paths_truncated = from->paths_truncated != 0;
    return status;
}

static enum sirix_status fill_resource_info(struct sirix_arena *arena,
                                            const ProtobufCMessage *message, void *answer,
                                            struct sirix_error *err)
{
    const PB(GetResourceResponse) *from = (const void *)message;
    struct sirix_resource_info *info = answer;

    *info = (struct sirix_resource_info){
        .revision_count = from->revision_count,
        .newest_revision = from->newest_revision,
        .oldest_revision = from->oldest_revision,
        .created_at_us = from->created_at_us,
        .last_modified_at_us = from->last_modified_at_us,
        .revision = from->revision,
        .node_count = from->node_count,
        .text_bytes = from->text_bytes,
        .stored_bytes = from->stored_bytes,
        .branch_count = from->branch_count,
        .snapshot_count = from->snapshot_count,
        .listed_branch_count = from->n_branches,
        .listed_snapshot_count = from->n_snapshots,
    };
    enum sirix_status status = sirix_answer_name(arena, from->database, &info->database, err);
    if (status == SIRIX_OK) {
        status = sirix_answer_name(arena, from->resource, &info->resource, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_answer_name(arena, from->storage_type, &info->storage_type, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_decode_branches(arena, from->branches, from->n_branches, &info->branches, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_decode_snapshots(arena, from->snapshots, from->n_snapshots, &info->snapshots,
                                        err);
    }
    return status != SIRIX_OK ? status : fill_paths(arena, from, info, err);
}

enum sirix_status sirix_client_get_resource(struct sirix_client *client,
                                            const struct sirix_resource_request *request,
                                            const struct sirix_call_options *call,
                                            struct sirix_resource_info **out_info,
                                            struct sirix_error *err)
{
    PB(GetResourceRequest) message = PB_INIT(GET_RESOURCE_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_GET_RESOURCE,
        .message = &message.base,
        .answer_type = PB_TYPE(get_resource_response),
        .database = request->database,
        .resource = request->resource,
        .view = &request->view,
    };
    void *answer = NULL;

    message.with_path_summary = request->with_path_summary;
    message.paths_cursor = sirix_message_from_bytes(request->paths_cursor);
    enum sirix_status status = sirix_client_named_answer(client, &named, call, sizeof(**out_info),
                                                         fill_resource_info, &answer, err);
    if (status == SIRIX_OK) {
        *out_info = answer;
    }
    return status;
}
