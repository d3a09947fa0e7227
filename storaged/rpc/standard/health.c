/*
 * The health service. A watcher is sent the status that is current when it can take one: states that
 * came and went while a message was on its way are skipped, as the standard allows.
 */
#include "rpc/standard/health.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "grpc/health/v1/health.pb-c.h"

typedef Grpc__Health__V1__HealthCheckResponse__ServingStatus serving_status;

struct sirix_rpc_health {
    struct sirix_rpc_server *server;
    atomic_bool serving[SIRIX_RPC_HEALTH_SERVICES];
};

static const char watch_path[] = "/grpc.health.v1.Health/Watch";

static const char *const service_names[SIRIX_RPC_HEALTH_SERVICES] = {
    [SIRIX_RPC_HEALTH_PROCESS] = "",
    [SIRIX_RPC_HEALTH_STORAGE] = "sirix.storage.v1.Storage",
};

/* The number of a service; SIRIX_RPC_HEALTH_SERVICES if there is none of that name. */
static unsigned service_find(const char *name)
{
    unsigned service = 0;

    while (service < SIRIX_RPC_HEALTH_SERVICES && strcmp(service_names[service], name) != 0) {
        service++;
    }
    return service;
}

static serving_status status_of(const struct sirix_rpc_health *health, unsigned service)
{
    if (service == SIRIX_RPC_HEALTH_SERVICES) {
        return GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN;
    }
    return atomic_load(&health->serving[service])
               ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
               : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
}

/* --- Check and List ----------------------------------------------------------------------------- */

static enum sirix_status check_start(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_rpc_health *health = sirix_rpc_call_context(call);
    const Grpc__Health__V1__HealthCheckRequest *request =
        (const Grpc__Health__V1__HealthCheckRequest *)message;
    Grpc__Health__V1__HealthCheckResponse answer = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

    (void)state;
    unsigned service = service_find(request->service);
    if (service == SIRIX_RPC_HEALTH_SERVICES) {
        return sirix_fail(err, SIRIX_NOT_FOUND, "no service of that name is known here");
    }
    answer.status = status_of(health, service);
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status list_start(struct sirix_rpc_call *call, void *state,
                                    const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_rpc_health *health = sirix_rpc_call_context(call);
    Grpc__Health__V1__HealthCheckResponse statuses[SIRIX_RPC_HEALTH_SERVICES];
    Grpc__Health__V1__HealthListResponse__StatusesEntry entries[SIRIX_RPC_HEALTH_SERVICES];
    Grpc__Health__V1__HealthListResponse__StatusesEntry *list[SIRIX_RPC_HEALTH_SERVICES];
    Grpc__Health__V1__HealthListResponse answer = GRPC__HEALTH__V1__HEALTH_LIST_RESPONSE__INIT;

    (void)state;
    (void)message;
    for (unsigned i = 0; i < SIRIX_RPC_HEALTH_SERVICES; i++) {
        union {
            const char *in;
            char *out;
        } name = {.in = service_names[i]};
        grpc__health__v1__health_check_response__init(&statuses[i]);
        grpc__health__v1__health_list_response__statuses_entry__init(&entries[i]);
        statuses[i].status = status_of(health, i);
        entries[i].key = name.out; /* Only read. */
        entries[i].value = &statuses[i];
        list[i] = &entries[i];
    }
    answer.n_statuses = SIRIX_RPC_HEALTH_SERVICES;
    answer.statuses = list;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

/* --- Watch -------------------------------------------------------------------------------------- */

struct watch {
    unsigned service;
    serving_status sent;
    bool writing;
    bool ending;
};

static enum sirix_status watch_tell(struct sirix_rpc_call *call, struct watch *watch, bool first,
                                    struct sirix_error *err)
{
    const struct sirix_rpc_health *health = sirix_rpc_call_context(call);
    Grpc__Health__V1__HealthCheckResponse answer = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

    if (watch->writing) {
        return SIRIX_OK; /* The end of that write looks again. */
    }
    answer.status = status_of(health, watch->service);
    if (first || answer.status != watch->sent) {
        watch->sent = answer.status;
        watch->writing = true;
        return sirix_rpc_call_write(call, &answer.base, err);
    }
    if (watch->ending) {
        sirix_rpc_call_end(call);
    }
    return SIRIX_OK;
}

static enum sirix_status watch_start(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    struct watch *watch = state;

    watch->service = service_find(((const Grpc__Health__V1__HealthCheckRequest *)message)->service);
    return watch_tell(call, watch, true, err);
}

static enum sirix_status watch_written(struct sirix_rpc_call *call, void *state,
                                       struct sirix_error *err)
{
    struct watch *watch = state;

    watch->writing = false;
    return watch_tell(call, watch, false, err);
}

static enum sirix_status watch_woken(struct sirix_rpc_call *call, void *state,
                                     struct sirix_error *err)
{
    return watch_tell(call, state, false, err);
}

/* A live watch would hold a shutdown for its whole grace time. */
static enum sirix_status watch_draining(struct sirix_rpc_call *call, void *state,
                                        struct sirix_error *err)
{
    struct watch *watch = state;

    watch->ending = true;
    return watch_tell(call, watch, false, err);
}

static const struct sirix_rpc_method methods[] = {
    {
        .path = "/grpc.health.v1.Health/Check",
        .request = &grpc__health__v1__health_check_request__descriptor,
        .inline_turns = true,
        .for_everybody = true, /* Probes send no credentials. */
        .start = check_start,
    },
    {
        .path = "/grpc.health.v1.Health/List",
        .request = &grpc__health__v1__health_list_request__descriptor,
        .inline_turns = true,
        .for_everybody = true, /* Probes send no credentials. */
        .start = list_start,
    },
    {
        .path = watch_path,
        .request = &grpc__health__v1__health_check_request__descriptor,
        .server_streams = true,
        .inline_turns = true,
        .lasts = true,
        .for_everybody = true, /* Probes send no credentials. */
        .state_bytes = sizeof(struct watch),
        .start = watch_start,
        .written = watch_written,
        .woken = watch_woken,
        .draining = watch_draining,
    },
};

enum sirix_status sirix_rpc_health_new(struct sirix_rpc_server *server,
                                       struct sirix_rpc_health **out_health,
                                       struct sirix_error *err)
{
    struct sirix_rpc_health *health = calloc(1, sizeof(*health));

    if (health == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the health service");
    }
    health->server = server;
    enum sirix_status status = sirix_rpc_server_add_methods(
        server, methods, sizeof(methods) / sizeof(methods[0]), health, err);
    if (status != SIRIX_OK) {
        free(health);
        return status;
    }
    *out_health = health;
    return SIRIX_OK;
}

void sirix_rpc_health_free(struct sirix_rpc_health *health)
{
    free(health);
}

void sirix_rpc_health_set(struct sirix_rpc_health *health, enum sirix_rpc_health_service service,
                          bool serving)
{
    atomic_store(&health->serving[service], serving);
    sirix_rpc_server_wake_path(health->server, watch_path);
}
