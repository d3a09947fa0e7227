/* Status and Attach. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rpc/methods/codec.h"

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

static enum sirix_status status_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_rpc_storage *storage = sirix_rpc_storage_of(call);
    struct sirix_service *service = storage->service;
    const struct sirix_principal *principal = sirix_rpc_call_principal(call);
    Sirix__Storage__V1__StatusResponse answer = SIRIX__STORAGE__V1__STATUS_RESPONSE__INIT;

    (void)state;
    (void)message;
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
        .start = attach_start,
        .draining = attach_draining,
    },
    {.path = NULL},
};
