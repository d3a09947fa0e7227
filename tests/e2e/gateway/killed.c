/*
 * sirix-mcp that kills itself at a step of a write, which the environment names: SIRIX_TEST_KILL is
 * intent-before, intent-torn, intent-after, call-after, outcome-before, outcome-torn or outcome-after.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "backend/backend.h"
#include "guard/audit.h"

static _Thread_local const char *current = ""; /* The event that is being written. */

static bool is_step(const char *event, const char *when)
{
    const char *wanted = getenv("SIRIX_TEST_KILL");
    const size_t len = strlen(event);

    return wanted != NULL && strncmp(wanted, event, len) == 0 && wanted[len] == '-' &&
           strcmp(wanted + len + 1, when) == 0;
}

static void die_at(const char *event, const char *when)
{
    if (is_step(event, when)) {
        (void)raise(SIGKILL);
    }
}

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    if (is_step(current, "torn")) {
        (void)__real_write(fd, data, len / 2);
        (void)raise(SIGKILL);
    }
    return __real_write(fd, data, len);
}

/* NOLINTBEGIN(readability-function-size): the parameters are those of what is wrapped. */
enum sirix_status __real_sirix_audit_append(struct sirix_audit *audit, const char *event,
                                            struct sirix_bytes members, bool is_durable,
                                            uint64_t *out_seq, struct sirix_error *err);
enum sirix_status __wrap_sirix_audit_append(struct sirix_audit *audit, const char *event,
                                            struct sirix_bytes members, bool is_durable,
                                            uint64_t *out_seq, struct sirix_error *err);

enum sirix_status __wrap_sirix_audit_append(struct sirix_audit *audit, const char *event,
                                            struct sirix_bytes members, bool is_durable,
                                            uint64_t *out_seq, struct sirix_error *err)
{
    die_at(event, "before");
    current = event;
    enum sirix_status status =
        __real_sirix_audit_append(audit, event, members, is_durable, out_seq, err);
    current = "";
    die_at(event, "after");
    return status;
}
/* NOLINTEND(readability-function-size) */

#define WRAP(name, request_type, answer_type)                                                      \
    enum sirix_status __real_sirix_backend_##name(                                                 \
        struct sirix_gateway_backend *backend, const struct request_type *request,                 \
        const struct sirix_call_options *call, answer_type out, struct sirix_error *err);          \
    enum sirix_status __wrap_sirix_backend_##name(                                                 \
        struct sirix_gateway_backend *backend, const struct request_type *request,                 \
        const struct sirix_call_options *call, answer_type out, struct sirix_error *err);          \
    enum sirix_status __wrap_sirix_backend_##name(                                                 \
        struct sirix_gateway_backend *backend, const struct request_type *request,                 \
        const struct sirix_call_options *call, answer_type out, struct sirix_error *err)           \
    {                                                                                              \
        enum sirix_status status = __real_sirix_backend_##name(backend, request, call, out, err);  \
                                                                                                   \
        die_at("call", "after");                                                                   \
        return status;                                                                             \
    }

WRAP(apply, sirix_apply_request, struct sirix_apply_result **)
WRAP(revert, sirix_revert_request, struct sirix_revert_result *)
WRAP(promote, sirix_promote_request, struct sirix_promote_result *)

int main(int argc, char **argv)
{
    const struct sirix_mcp_registry registry = sirix_mcp_product();

    return sirix_gateway_main(argc, argv, &registry);
}
