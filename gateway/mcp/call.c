/* What the handlers of tools share. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/name.h"
#include "mcp/tools.h"

enum { NS_PER_MS = 1000 * 1000 };

struct sirix_call_options sirix_mcp_options(const struct sirix_mcp_call *call)
{
    const uint64_t now = sirix_clock_monotonic_ns(sirix_clock_system());
    const uint64_t left_ms = now < call->deadline_ns ? (call->deadline_ns - now) / NS_PER_MS : 0;

    /* 0 would mean the default. */
    return (struct sirix_call_options){
        .deadline_ms = left_ms == 0 ? 1 : (uint32_t)left_ms,
        .cancel = call->context->cancel == NULL ? NULL : call->context->cancel->call,
        .traceparent = sirix_bytes_from_str(call->context->traceparent),
    };
}

enum sirix_status sirix_mcp_no_database(const struct sirix_mcp_call *call, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN,
        "there is no database \"%s\"; sirix_list_databases lists them", call->database);
    sirix_error_set_field(err, "database");
    return status;
}

enum sirix_status sirix_mcp_no_resource(const struct sirix_mcp_call *call, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
        "there is no resource \"%s\" in database \"%s\"; sirix_list_resources lists them",
        call->resource, call->database);
    sirix_error_set_field(err, "resource");
    return status;
}

enum sirix_status sirix_mcp_take_database(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_bytes name = sirix_argument_text(&call->arguments, "database");
    enum sirix_status status = sirix_name_check(SIRIX_NAME_DATABASE, name, "database", err);

    if (status != SIRIX_OK) {
        return status;
    }
    call->database = name.data;
    return sirix_access_database(&call->server->settings->access, name)
               ? SIRIX_OK
               : sirix_mcp_no_database(call, err);
}

enum sirix_status sirix_mcp_take_resource(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_bytes name = sirix_argument_text(&call->arguments, "resource");
    enum sirix_status status = sirix_name_check(SIRIX_NAME_RESOURCE, name, "resource", err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_take_database(call, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    call->resource = name.data;
    const struct sirix_bytes database = sirix_argument_text(&call->arguments, "database");
    return sirix_access_resource(&call->server->settings->access, database, name)
               ? SIRIX_OK
               : sirix_mcp_no_resource(call, err);
}

enum sirix_status sirix_mcp_name(const struct sirix_mcp_call *call, const char *argument,
                                 bool is_branch, const char **out, struct sirix_error *err)
{
    const struct sirix_argument *given = sirix_argument(&call->arguments, argument);
    enum sirix_status status = SIRIX_OK;

    if (given != NULL) {
        status = sirix_name_check(is_branch ? SIRIX_NAME_BRANCH : SIRIX_NAME_SNAPSHOT, given->text,
                                  argument, err);
    }
    if (status == SIRIX_OK) {
        *out = given == NULL ? NULL : given->text.data;
    }
    return status;
}

enum sirix_status sirix_mcp_view(const struct sirix_mcp_call *call, struct sirix_view *out,
                                 struct sirix_error *err)
{
    const struct sirix_argument *revision = sirix_argument(&call->arguments, "revision");
    const struct sirix_argument *timestamp = sirix_argument(&call->arguments, "timestamp");
    const char *snapshot = NULL;
    const char *branch = NULL;
    struct sirix_view view = {.kind = SIRIX_VIEW_DEFAULT};

    enum sirix_status status = sirix_mcp_name(call, "snapshot", false, &snapshot, err);
    if (status == SIRIX_OK) {
        status = sirix_mcp_name(call, "branch", true, &branch, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if ((revision != NULL) + (snapshot != NULL) + (timestamp != NULL) > 1) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "revision, snapshot and timestamp exclude each other; give one");
        sirix_error_set_field(err, revision != NULL ? "revision" : "snapshot");
        return status;
    }
    if (revision != NULL) {
        view.kind = SIRIX_VIEW_REVISION;
        view.revision = revision->number;
    } else if (snapshot != NULL) {
        view.kind = SIRIX_VIEW_SNAPSHOT;
        view.name = snapshot;
    } else if (branch != NULL) {
        view.kind = SIRIX_VIEW_BRANCH;
        view.name = branch;
    }
    if (timestamp != NULL) {
        view.timestamp = timestamp->text;
    }
    *out = view;
    return SIRIX_OK;
}

enum sirix_status sirix_mcp_write_options(const struct sirix_mcp_call *call,
                                          struct sirix_write_options *out, struct sirix_error *err)
{
    const struct sirix_argument *expected = sirix_argument(&call->arguments, "expectedRevision");
    char id[SIRIX_RANDOM_ID_BYTES];
    char *key = NULL;

    enum sirix_status status = sirix_random_id(id, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_strdup(call->arena, id, &key, err);
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_write_options){
            .has_expected_revision = expected != NULL,
            .expected_revision = expected != NULL ? expected->number : 0,
            .message = sirix_argument_text(&call->arguments, "message"),
            .on_behalf_of =
                sirix_bytes_from_str(call->server->principal != NULL ? call->server->principal
                                                                     : call->context->client_name),
            .idempotency_key = sirix_bytes_from_str(key),
        };
    }
    return status;
}

enum sirix_status sirix_mcp_label_options(const struct sirix_mcp_call *call,
                                          struct sirix_write_options *out, struct sirix_error *err)
{
    struct sirix_write_options options;
    enum sirix_status status = sirix_mcp_write_options(call, &options, err);

    if (status == SIRIX_OK) {
        options.message = (struct sirix_bytes){.data = NULL, .len = 0};
        options.on_behalf_of = (struct sirix_bytes){.data = NULL, .len = 0};
        *out = options;
    }
    return status;
}

uint64_t sirix_mcp_limit(struct sirix_mcp_call *call, const char *argument, uint64_t otherwise)
{
    const uint64_t cap = call->server->settings->max_result_size;
    const uint64_t wanted = sirix_argument_number(&call->arguments, argument, otherwise);

    return wanted == 0 || wanted > cap ? cap : wanted;
}

unsigned sirix_mcp_limit_reason(const struct sirix_mcp_call *call, uint64_t limit)
{
    return limit < call->server->settings->max_result_size ? SIRIX_ANSWER_LIMIT_ASKED
                                                           : SIRIX_ANSWER_LIMIT_ITEMS;
}

enum sirix_status sirix_mcp_scope(struct sirix_mcp_call *call, struct sirix_scope *out,
                                  struct sirix_error *err)
{
    const struct sirix_access *access = &call->server->settings->access;
    struct sirix_scope_rule *rules = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(call->arena, access->rule_count, sizeof(*rules), &memory, err);

    if (status != SIRIX_OK) {
        return status;
    }
    rules = memory;
    for (size_t i = 0; i < access->rule_count; i++) {
        rules[i] = (struct sirix_scope_rule){
            .database = access->rules[i].database,
            .resources = access->rules[i].resources.names,
            .resource_count = access->rules[i].resources.count,
        };
    }
    *out = (struct sirix_scope){
        .has_allow_databases = access->allow_databases.is_given,
        .allow_databases = access->allow_databases.names,
        .allow_database_count = access->allow_databases.count,
        .deny_databases = access->deny_databases.names,
        .deny_database_count = access->deny_databases.count,
        .allow_resources = rules,
        .allow_resource_count = access->rule_count,
    };
    return SIRIX_OK;
}
