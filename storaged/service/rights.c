/* What a caller may see and change, and what its request leaves of that. */
#include "base/name.h"
#include "service/scope.h"
#include "service/service.h"

static bool caller_allows(const struct sirix_request *request, enum sirix_right right,
                          struct sirix_bytes database, struct sirix_bytes name)
{
    const struct sirix_caller *caller = &request->caller;

    return caller->allows == NULL || caller->allows(caller->rights, right, database, name);
}

bool sirix_request_sees(const struct sirix_request *request, struct sirix_bytes database,
                        struct sirix_bytes resource)
{
    return caller_allows(request, SIRIX_RIGHT_SEE, database, resource) &&
           (request->scope == NULL || sirix_scope_sees(request->scope, database, resource));
}

bool sirix_request_sees_all(const struct sirix_request *request, struct sirix_bytes database)
{
    return caller_allows(request, SIRIX_RIGHT_SEE_ALL, database,
                         (struct sirix_bytes){.data = NULL, .len = 0}) &&
           (request->scope == NULL || sirix_scope_sees_all(request->scope, database));
}

enum sirix_status sirix_request_check_seen(const struct sirix_request *request,
                                           struct sirix_bytes database, struct sirix_bytes resource,
                                           struct sirix_error *err)
{
    static const struct sirix_bytes nothing = {.data = NULL, .len = 0};

    if (sirix_request_sees(request, database, resource)) {
        return SIRIX_OK;
    }
    bool database_seen = resource.len != 0 && sirix_request_sees(request, database, nothing);
    const struct sirix_bytes name = database_seen ? resource : database;
    enum sirix_status status =
        sirix_name_check(database_seen ? SIRIX_NAME_RESOURCE : SIRIX_NAME_DATABASE, name,
                         database_seen ? "resource" : "database", err);
    if (status != SIRIX_OK) { /* What is no name is refused as such, whoever asks. */
        return status;
    }
    status = sirix_fail_reason(err, SIRIX_NOT_FOUND,
                               database_seen ? SIRIX_REASON_RESOURCE_UNKNOWN
                                             : SIRIX_REASON_DATABASE_UNKNOWN,
                               "there is no %s %.*s", database_seen ? "resource" : "database",
                               (int)name.len, (const char *)name.data);
    sirix_error_set_field(err, database_seen ? "resource" : "database");
    return status;
}

enum sirix_status sirix_request_check_seen_all(const struct sirix_request *request,
                                               struct sirix_bytes database, const char *what,
                                               struct sirix_error *err)
{
    if (sirix_request_sees_all(request, database)) {
        return SIRIX_OK;
    }
    return sirix_fail_reason(err, SIRIX_PERMISSION, SIRIX_REASON_ROLE,
                             "%s may not %s a whole database, but see some of its resources",
                             request->caller.name, what);
}

enum sirix_status sirix_request_check_change(const struct sirix_request *request,
                                             struct sirix_bytes database, struct sirix_bytes name,
                                             const char *field, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (caller_allows(request, SIRIX_RIGHT_CHANGE, database, name)) {
        return SIRIX_OK;
    }
    if (name.len == 0) {
        status = sirix_fail_reason(err, SIRIX_PERMISSION, SIRIX_REASON_BRANCH_FORBIDDEN,
                                   "%s may change some branches, and this is about all of them",
                                   request->caller.name);
    } else {
        status = sirix_fail_reason(err, SIRIX_PERMISSION, SIRIX_REASON_BRANCH_FORBIDDEN,
                                   "%s may not change the branch or snapshot %.*s",
                                   request->caller.name, (int)name.len, (const char *)name.data);
    }
    sirix_error_set_field(err, field);
    return status;
}
