/* Status, Attach and ReloadPrincipals. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/principal_store.h"
#include "rpc/methods/codec.h"
#include "service/quota.h"

enum { CLIENT_NAME_BYTES_MAX = 256, STATM_BYTES = 128 };

/* Pages of /proc/self/statm; 0 where it cannot be read. */
static uint64_t resident_bytes(void)
{
    char text[STATM_BYTES];
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL) {
        return 0;
    }
    if (fgets(text, sizeof(text), file) != NULL) { /* "TOTAL RESIDENT ..." */
        const char *second = strchr(text, ' ');
        pages = second == NULL ? 0 : strtoull(second, NULL, 10);
    }
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static Sirix__Storage__V1__Role role_of(const struct sirix_principal *principal)
{
    switch (principal->role) {
    case SIRIX_ROLE_READER:
        return SIRIX__STORAGE__V1__ROLE__ROLE_READER;
    case SIRIX_ROLE_WRITER:
        return SIRIX__STORAGE__V1__ROLE__ROLE_WRITER;
    default:
        return SIRIX__STORAGE__V1__ROLE__ROLE_OPERATOR;
    }
}

/* Memory of an answer about activity, in the call's arena. */
struct activity {
    Sirix__Storage__V1__Activity message;
    Sirix__Storage__V1__MethodActivity methods[SIRIX_RPC_METHODS_MAX + 1];
    Sirix__Storage__V1__MethodActivity *list[SIRIX_RPC_METHODS_MAX + 1];
    uint64_t counts[SIRIX_RPC_METHODS_MAX + 1][SIRIX_HISTOGRAM_BUCKETS + 1];
    uint64_t bounds[SIRIX_HISTOGRAM_BUCKETS];
};

static bool was_called(const struct sirix_rpc_method_stats *stats)
{
    uint64_t all = stats->running;

    for (unsigned i = 0; i < SIRIX_RPC_CODES; i++) {
        all += stats->codes[i];
    }
    return all != 0;
}

static void fill_method(const struct sirix_rpc_method_stats *stats, uint64_t *counts,
                        Sirix__Storage__V1__MethodActivity *message)
{
    static const char own[] = SIRIX_RPC_STORAGE_PATH("");
    bool is_own = strncmp(stats->path, own, sizeof(own) - 1) == 0;

    sirix__storage__v1__method_activity__init(message);
    message->method = sirix_rpc_binary_str(stats->path + (is_own ? sizeof(own) - 1 : 0));
    message->running = stats->running;
    for (unsigned i = 0; i < SIRIX_RPC_CODES; i++) {
        message->ended += stats->codes[i];
    }
    message->failed = message->ended - stats->codes[0];
    if (!stats->lasts) {
        message->total_us = stats->times.sum;
        memcpy(counts, stats->times.counts, sizeof(stats->times.counts));
        message->n_bucket_counts = SIRIX_HISTOGRAM_BUCKETS + 1;
        message->bucket_counts = counts;
    }
}

static enum sirix_status fill_activity(struct sirix_rpc_call *call,
                                       Sirix__Storage__V1__Activity **out, struct sirix_error *err)
{
    const struct sirix_rpc_storage *storage = sirix_rpc_storage_of(call);
    struct sirix_committer_totals totals;
    struct activity *activity = NULL;
    size_t count = 0;
    enum sirix_status status = sirix_arena_calloc(sirix_rpc_call_arena(call), 1, sizeof(*activity),
                                                  (void **)&activity, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < sirix_rpc_server_method_count(storage->server); i++) {
        struct sirix_rpc_method_stats stats;
        sirix_rpc_server_method_stats(storage->server, i, &stats);
        if (was_called(&stats)) {
            fill_method(&stats, activity->counts[count], &activity->methods[count]);
            activity->list[count] = &activity->methods[count];
            count++;
        }
    }
    sirix_committer_pool_totals(storage->service->committers, &totals);
    memcpy(activity->bounds, sirix_histogram_times_us, sizeof(activity->bounds));
    sirix__storage__v1__activity__init(&activity->message);
    activity->message.calls_queued = sirix_rpc_server_calls_waiting(storage->server);
    activity->message.groups = totals.groups;
    activity->message.group_works = totals.works;
    activity->message.group_bytes = totals.bytes;
    activity->message.group_write_us = totals.write_us.sum;
    activity->message.n_bucket_bounds_us = SIRIX_HISTOGRAM_BUCKETS;
    activity->message.bucket_bounds_us = activity->bounds;
    activity->message.n_methods = count;
    activity->message.methods = activity->list;
    *out = &activity->message;
    return SIRIX_OK;
}

static enum sirix_status status_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_rpc_storage *storage = sirix_rpc_storage_of(call);
    struct sirix_service *service = storage->service;
    const struct sirix_principal *principal = sirix_rpc_call_principal(call);
    Sirix__Storage__V1__StatusResponse answer = SIRIX__STORAGE__V1__STATUS_RESPONSE__INIT;

    (void)state;
    if (((const Sirix__Storage__V1__StatusRequest *)message)->with_activity != 0) {
        enum sirix_status status = fill_activity(call, &answer.activity, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    answer.version = sirix_rpc_binary_str(SIRIX_VERSION);
    answer.started_at_us = sirix_rpc_time(storage->started_us);
    answer.now_us = sirix_rpc_time(sirix_clock_realtime_us(service->clock));
    answer.process_id = (uint32_t)getpid();
    answer.embedded = storage->embedded;
    answer.draining = sirix_rpc_server_draining(storage->server);
    answer.principal = sirix_rpc_binary_str(principal->name);
    answer.role = role_of(principal);
    answer.databases = sirix_registry_count(service->registry);
    answer.databases_open = sirix_registry_open_count(service->registry);
    answer.calls_running = sirix_rpc_server_calls_running(storage->server);
    answer.calls_total = sirix_rpc_server_calls_total(storage->server);
    answer.writes_waiting = sirix_turns_waiting(service->turns);
    answer.commits_total = atomic_load(&service->commits);
    answer.resident_bytes = resident_bytes();
    return sirix_rpc_call_reply(call, &answer.base, err);
}

/* --- Attach: a call that lasts as long as its client is there ----------------------------------- */

static enum sirix_status attach_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__AttachRequest *request =
        (const Sirix__Storage__V1__AttachRequest *)message;
    Sirix__Storage__V1__AttachResponse answer = SIRIX__STORAGE__V1__ATTACH_RESPONSE__INIT;

    (void)state;
    if (request->client.len > CLIENT_NAME_BYTES_MAX) {
        (void)sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                "client has %zu bytes, at most %d are allowed", request->client.len,
                                CLIENT_NAME_BYTES_MAX);
        sirix_error_set_field(err, "client");
        return SIRIX_INVALID;
    }
    answer.version = sirix_rpc_binary_str(SIRIX_VERSION);
    answer.process_id = (uint32_t)getpid();
    answer.embedded = sirix_rpc_storage_of(call)->embedded;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status attach_draining(struct sirix_rpc_call *call, void *state,
                                         struct sirix_error *err)
{
    (void)state;
    (void)err;
    sirix_rpc_call_end(call);
    return SIRIX_OK;
}

/* --- ReloadPrincipals --------------------------------------------------------------------------- */

enum sirix_status sirix_rpc_storage_reload_principals(struct sirix_rpc_storage *storage,
                                                      size_t *out_count, struct sirix_error *err)
{
    if (storage->principals == NULL) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "the server was started without a file of principals (--principals)");
    }
    enum sirix_status status = sirix_principal_store_reload(storage->principals, out_count, err);
    if (status == SIRIX_OK) {
        sirix_rpc_server_wake_path(storage->server, SIRIX_RPC_STORAGE_PATH("Watch"));
    }
    return status;
}

static enum sirix_status reload_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    Sirix__Storage__V1__ReloadPrincipalsResponse answer =
        SIRIX__STORAGE__V1__RELOAD_PRINCIPALS_RESPONSE__INIT;
    size_t count = 0;

    (void)state;
    (void)message;
    enum sirix_status status =
        sirix_rpc_storage_reload_principals(sirix_rpc_storage_of(call), &count, err);
    if (status != SIRIX_OK) {
        return status;
    }
    answer.principals = (uint32_t)count;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

/* --- SetQuota ----------------------------------------------------------------------------------- */

static enum sirix_status check_quota(const Sirix__Storage__V1__SetQuotaRequest *request,
                                     enum sirix_quota_of of, struct sirix_bytes name,
                                     struct sirix_error *err)
{
    const Sirix__Storage__V1__Quota *quota = request->quota;
    const bool is_principal = of == SIRIX_QUOTA_PRINCIPAL;

    /* Names of principals have the characters of those of databases. */
    enum sirix_status status =
        sirix_name_check(SIRIX_NAME_DATABASE, name, is_principal ? "principal" : "database", err);
    if (status == SIRIX_OK && is_principal && quota != NULL &&
        (quota->bytes != 0 || quota->snapshots != 0 || quota->branches != 0)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "a principal has a quota of calls alone");
        sirix_error_set_field(err, "quota");
    }
    return status;
}

static enum sirix_status quota_start(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__SetQuotaRequest *request =
        (const Sirix__Storage__V1__SetQuotaRequest *)message;
    struct sirix_quotas *quotas = sirix_rpc_storage_of(call)->service->quotas;
    Sirix__Storage__V1__SetQuotaResponse answer = SIRIX__STORAGE__V1__SET_QUOTA_RESPONSE__INIT;
    Sirix__Storage__V1__Quota shown = SIRIX__STORAGE__V1__QUOTA__INIT;
    const bool is_principal =
        request->of_case == SIRIX__STORAGE__V1__SET_QUOTA_REQUEST__OF_PRINCIPAL;
    const enum sirix_quota_of of = is_principal ? SIRIX_QUOTA_PRINCIPAL : SIRIX_QUOTA_DATABASE;
    struct sirix_bytes name = {.data = NULL, .len = 0};

    (void)state;
    if (request->of_case != SIRIX__STORAGE__V1__SET_QUOTA_REQUEST__OF__NOT_SET) {
        name = sirix_rpc_bytes(is_principal ? request->principal : request->database);
    }
    enum sirix_status status = check_quota(request, of, name, err);
    if (status == SIRIX_OK && request->quota != NULL) {
        const struct sirix_quota quota = {
            .bytes = request->quota->bytes,
            .snapshots = request->quota->snapshots,
            .branches = request->quota->branches,
            .calls = request->quota->calls,
        };
        status = sirix_quotas_set(quotas, of, name, &quota, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const struct sirix_quota now = sirix_quotas_get(quotas, of, name);
    shown.bytes = now.bytes;
    shown.snapshots = now.snapshots;
    shown.branches = now.branches;
    shown.calls = now.calls;
    answer.quota = &shown;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

const struct sirix_rpc_method sirix_rpc_admin_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Status"),
        .request = &sirix__storage__v1__status_request__descriptor,
        .inline_turns = true, /* Answers whatever waits for a worker. */
        .start = status_start,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("Attach"),
        .request = &sirix__storage__v1__attach_request__descriptor,
        .server_streams = true,
        .inline_turns = true,
        .lasts = true,
        .start = attach_start,
        .draining = attach_draining,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("ReloadPrincipals"),
        .request = &sirix__storage__v1__reload_principals_request__descriptor,
        .operates = true,
        .start = reload_start,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("SetQuota"),
        .request = &sirix__storage__v1__set_quota_request__descriptor,
        .operates = true,
        .start = quota_start,
    },
    {.path = NULL},
};
