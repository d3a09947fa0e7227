/* The parts of the service, and what every request begins with. */
#include "service/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "service/idempotency.h"
#include "service/quota.h"
#include "service/watch.h"

enum { FIELD_BYTES = 64, SWEEP_BRANCHES_MAX = 100 };

/* A commit whose outcome was not known has been made or not: now it shows. */
static void on_opened(void *context, const char *database, const struct sirix_recovery *recovery)
{
    struct sirix_service *service = context;

    sirix_watch_hub_tell(service->watches, database, NULL, false);
    if (service->opened != NULL) {
        service->opened(service->context, database, recovery);
    }
}

enum sirix_status sirix_service_open(const struct sirix_service_options *options,
                                     struct sirix_service **out_service, struct sirix_error *err)
{
    struct sirix_service *service = calloc(1, sizeof(*service));

    if (service == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the service");
    }
    service->clock = options->clock != NULL ? options->clock : sirix_clock_system();
    service->dir = strdup(options->dir);
    service->opened = options->opened;
    service->context = options->context;
    enum sirix_status status =
        service->dir == NULL ? sirix_fail(err, SIRIX_NO_MEMORY, "allocate the service") : SIRIX_OK;
    if (status == SIRIX_OK) {
        status = sirix_watch_hub_new(&service->watches, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_quotas_open(options->dir, &service->quotas, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_committer_pool_start(0, &service->committers, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_registry_options registry = {
            .dir = options->dir,
            .clock = service->clock,
            .pool = service->committers,
            .map_bytes_max = options->map_bytes_max,
            .open_max = options->databases_open_max != 0 ? options->databases_open_max
                                                         : SIRIX_DATABASES_OPEN_DEFAULT,
            .idle_close_ms =
                options->idle_close_ms != 0 ? options->idle_close_ms : SIRIX_IDLE_CLOSE_DEFAULT_MS,
            .opened = on_opened,
            .context = service,
        };
        status = sirix_registry_open(&registry, &service->registry, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_turns_start(options->write_queue_timeout_ms != 0 ? options->write_queue_timeout_ms
                                                                   : SIRIX_WRITE_QUEUE_DEFAULT_MS,
                              &service->turns, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_idempotency_new(service->clock, &service->idempotency, err);
    }
    if (status != SIRIX_OK) {
        sirix_service_close(service);
        return status;
    }
    *out_service = service;
    return SIRIX_OK;
}

void sirix_service_close(struct sirix_service *service)
{
    if (service == NULL) {
        return;
    }
    sirix_turns_stop(service->turns);
    sirix_registry_close(service->registry);
    if (service->committers != NULL) {
        sirix_committer_pool_stop(service->committers);
    }
    sirix_idempotency_free(service->idempotency);
    sirix_watch_hub_free(service->watches);
    sirix_quotas_close(service->quotas);
    free(service->dir);
    free(service);
}

/* Branches whose time is over refuse to be opened at once; here their names become free. */
static void sweep_branches(void *context, struct sirix_database *database)
{
    struct sirix_error err = {0};
    uint32_t swept = 0;
    bool more = false;

    (void)context;
    if (sirix_branch_sweep(database, SWEEP_BRANCHES_MAX, &swept, &more, &err) != SIRIX_OK) {
        return; /* Tried again at the next tick; a database that is ill tells its callers. */
    }
}

void sirix_service_tick(struct sirix_service *service)
{
    sirix_registry_each_open(service->registry, sweep_branches, NULL);
    sirix_registry_tick(service->registry);
}

enum sirix_status sirix_request_may_write(const struct sirix_request *request,
                                          struct sirix_error *err)
{
    if (request->caller.may_write) {
        return SIRIX_OK;
    }
    return sirix_fail_reason(err, SIRIX_PERMISSION, SIRIX_REASON_READ_ONLY,
                             "%s may read and not write", request->caller.name);
}

/* --- Targets ------------------------------------------------------------------------------------ */

static enum sirix_status open_target(const struct sirix_request *request,
                                     struct sirix_bytes database, struct sirix_bytes resource,
                                     struct sirix_target *target, struct sirix_error *err)
{
    enum sirix_status status = sirix_request_check_seen(request, database, resource, err);

    if (status == SIRIX_OK) {
        status = sirix_registry_acquire(request->service->registry, database, &target->handle, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_quota_check_calls(request->service, target->handle, err);
    }
    if (status != SIRIX_OK || resource.len == 0) {
        return status;
    }
    status = sirix_name_check(SIRIX_NAME_RESOURCE, resource, "resource", err);
    if (status == SIRIX_OK) {
        status = sirix_resource_open(sirix_handle_database(target->handle), resource,
                                     &target->resource, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        sirix_error_set_field(err, "resource");
    }
    return status;
}

enum sirix_status sirix_target_open(const struct sirix_request *request,
                                    struct sirix_bytes database, struct sirix_bytes resource,
                                    struct sirix_target *target, struct sirix_error *err)
{
    enum sirix_status status = open_target(request, database, resource, target, err);

    if (status == SIRIX_OK) {
        status = sirix_handle_reader_get(target->handle, &target->reader, err);
    }
    if (status != SIRIX_OK) {
        sirix_target_close(target);
    }
    return status;
}

enum sirix_status sirix_target_open_named(const struct sirix_request *request,
                                          struct sirix_bytes database, struct sirix_bytes resource,
                                          struct sirix_target *target, struct sirix_error *err)
{
    enum sirix_status status =
        resource.len == 0 ? sirix_name_check(SIRIX_NAME_RESOURCE, resource, "resource", err)
                          : SIRIX_OK;

    return status == SIRIX_OK ? sirix_target_open(request, database, resource, target, err)
                              : status;
}

enum sirix_status sirix_target_open_stream(const struct sirix_request *request,
                                           struct sirix_bytes database, struct sirix_bytes resource,
                                           struct sirix_target *target, struct sirix_error *err)
{
    enum sirix_status status = open_target(request, database, resource, target, err);

    target->stream = true;
    if (status == SIRIX_OK) {
        status = sirix_handle_stream_reader_open(target->handle, &target->reader, err);
    }
    if (status != SIRIX_OK) {
        sirix_target_close(target);
    }
    return status;
}

void sirix_target_close(struct sirix_target *target)
{
    if (target->stream) {
        sirix_handle_stream_reader_close(target->handle, target->reader);
    } else {
        sirix_handle_reader_put(target->handle, target->reader);
    }
    if (target->resource != NULL) {
        sirix_resource_unref(target->resource);
    }
    sirix_registry_release(target->handle);
    *target = (struct sirix_target){0};
}

/* --- Views -------------------------------------------------------------------------------------- */

static void name_field(struct sirix_error *err, const char *field, const char *member)
{
    char text[FIELD_BYTES];

    (void)snprintf(text, sizeof(text), "%s.%s", field, member);
    sirix_error_set_field(err, text);
}

enum sirix_status sirix_view_request_check(const struct sirix_view_request *wanted,
                                           const char *field, struct sirix_view_spec *out_spec,
                                           struct sirix_error *err)
{
    struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = wanted->name};
    char text[FIELD_BYTES];
    enum sirix_status status = SIRIX_OK;

    switch (wanted->which) {
    case SIRIX_VIEW_WHICH_NONE:
        spec.name = (struct sirix_bytes){.data = NULL, .len = 0};
        break;
    case SIRIX_VIEW_WHICH_REVISION:
        spec.by = SIRIX_VIEW_REVISION;
        spec.revision = wanted->revision;
        break;
    case SIRIX_VIEW_WHICH_SNAPSHOT:
        spec.by = SIRIX_VIEW_SNAPSHOT;
        (void)snprintf(text, sizeof(text), "%s.snapshot", field);
        status = sirix_name_check(SIRIX_NAME_SNAPSHOT, wanted->name, text, err);
        break;
    case SIRIX_VIEW_WHICH_BRANCH:
        (void)snprintf(text, sizeof(text), "%s.branch", field);
        status = sirix_name_check(SIRIX_NAME_BRANCH, wanted->name, text, err);
        break;
    }
    if (status == SIRIX_OK && wanted->timestamp.len != 0) {
        if (spec.by != SIRIX_VIEW_BRANCH) {
            status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                       "a timestamp goes with a branch or alone, not with a %s",
                                       spec.by == SIRIX_VIEW_REVISION ? "revision" : "snapshot");
        } else {
            spec.has_time = true;
            status = sirix_time_parse(wanted->timestamp, &spec.time_us, err);
        }
        if (status != SIRIX_OK) {
            name_field(err, field, "timestamp");
        }
    }
    if (status == SIRIX_OK) {
        *out_spec = spec;
    }
    return status;
}

/* Adds to a failure about revisions which there are; without it where that cannot be told. */
static void name_range(struct sirix_target *target, struct sirix_error *err)
{
    struct sirix_resource_info info = {0};
    struct sirix_error untold = {0};

    if (err != NULL &&
        (err->reason == SIRIX_REASON_REVISION_UNKNOWN ||
         err->reason == SIRIX_REASON_REVISION_AHEAD ||
         err->reason == SIRIX_REASON_REVISION_BEFORE_FIRST ||
         err->reason == SIRIX_REASON_REVISION_PRUNED) &&
        sirix_resource_info(target->resource, &info, &untold) == SIRIX_OK) {
        err->oldest_revision = info.oldest_revision;
        err->newest_revision = info.newest_revision;
    }
}

enum sirix_status sirix_target_view(struct sirix_target *target,
                                    const struct sirix_view_request *wanted, const char *field,
                                    struct sirix_view *out_view, struct sirix_error *err)
{
    static const char *const members[] = {
        [SIRIX_VIEW_WHICH_NONE] = "timestamp",
        [SIRIX_VIEW_WHICH_REVISION] = "revision",
        [SIRIX_VIEW_WHICH_SNAPSHOT] = "snapshot",
        [SIRIX_VIEW_WHICH_BRANCH] = "branch",
    };
    struct sirix_view_spec spec = {0};
    enum sirix_status status = SIRIX_OK;

    if (target->resource == NULL) { /* The request names none. */
        status = sirix_name_check(SIRIX_NAME_RESOURCE, (struct sirix_bytes){.data = NULL, .len = 0},
                                  "resource", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_view_request_check(wanted, field, &spec, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_view_open(target->resource, target->reader, &spec, out_view, err);
    if (status == SIRIX_NOT_FOUND || status == SIRIX_OUT_OF_RANGE || status == SIRIX_PRECONDITION) {
        name_field(err, field, members[wanted->which]);
        name_range(target, err);
    }
    return status;
}

enum sirix_status sirix_target_branch(struct sirix_target *target, struct sirix_bytes name,
                                      const char *field, struct sirix_view *out_view,
                                      struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = name};
    enum sirix_status status = SIRIX_OK;

    if (name.len != 0) {
        status = sirix_name_check(SIRIX_NAME_BRANCH, name, field, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_view_open(target->resource, target->reader, &spec, out_view, err);
        if (status == SIRIX_NOT_FOUND || status == SIRIX_PRECONDITION) {
            sirix_error_set_field(err, field);
        }
    }
    return status;
}

/* --- Pages -------------------------------------------------------------------------------------- */

enum sirix_status sirix_limit_check(uint64_t asked, uint64_t preset, uint64_t max,
                                    const char *field, uint64_t *out_value, struct sirix_error *err)
{
    if (asked > max) {
        enum sirix_status status = sirix_fail_reason(
            err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
            "%s is %" PRIu64 ", at most %" PRIu64 " is allowed", field, asked, max);
        sirix_error_set_field(err, field);
        return status;
    }
    *out_value = asked == 0 ? preset : asked;
    return SIRIX_OK;
}
