/* The calls of sirix.storage.v1.Storage that the library makes. */
#ifndef SIRIX_TRANSPORT_METHOD_H
#define SIRIX_TRANSPORT_METHOD_H

#include <stdbool.h>

/* X(NAME, Name of the call, whether it writes, whether either side streams) */
#define SIRIX_METHOD_LIST(X)                                                                       \
    X(LIST_DATABASES, ListDatabases, false, false)                                                 \
    X(CREATE_DATABASE, CreateDatabase, true, false)                                                \
    X(DROP_DATABASE, DropDatabase, true, false)                                                    \
    X(LIST_RESOURCES, ListResources, false, false)                                                 \
    X(CREATE_RESOURCE, CreateResource, true, false)                                                \
    X(DROP_RESOURCE, DropResource, true, false)                                                    \
    X(GET_RESOURCE, GetResource, false, false)                                                     \
    X(READ_NODE, ReadNode, false, false)                                                           \
    X(READ_DOCUMENT, ReadDocument, false, true)                                                    \
    X(HISTORY, History, false, false)                                                              \
    X(NODE_HISTORY, NodeHistory, false, false)                                                     \
    X(DIFF, Diff, false, true)                                                                     \
    X(APPLY, Apply, true, false)                                                                   \
    X(APPLY_STREAM, ApplyStream, true, true)                                                       \
    X(IMPORT, Import, true, true)                                                                  \
    X(QUERY, Query, false, true)                                                                   \
    X(SQL, Sql, false, true)                                                                       \
    X(UPDATE_QUERY, UpdateQuery, true, false)                                                      \
    X(REVERT, Revert, true, false)                                                                 \
    X(CREATE_SNAPSHOT, CreateSnapshot, true, false)                                                \
    X(LIST_SNAPSHOTS, ListSnapshots, false, false)                                                 \
    X(DELETE_SNAPSHOT, DeleteSnapshot, true, false)                                                \
    X(CREATE_BRANCH, CreateBranch, true, false)                                                    \
    X(LIST_BRANCHES, ListBranches, false, false)                                                   \
    X(DELETE_BRANCH, DeleteBranch, true, false)                                                    \
    X(PROMOTE, Promote, true, false)                                                               \
    X(STATUS, Status, false, false)                                                                \
    X(VERIFY, Verify, false, true)                                                                 \
    X(BACKUP, Backup, false, true)                                                                 \
    X(RESTORE, Restore, true, true)                                                                \
    X(ATTACH, Attach, false, true)                                                                 \
    X(WATCH, Watch, false, true)                                                                   \
    X(RELOAD_PRINCIPALS, ReloadPrincipals, false, false)                                           \
    X(SET_QUOTA, SetQuota, false, false)

enum sirix_method {
#define SIRIX_X(upper, name, writes, streams) SIRIX_METHOD_##upper,
    SIRIX_METHOD_LIST(SIRIX_X)
#undef SIRIX_X
        SIRIX_METHOD_COUNT,
};

struct sirix_method_row {
    const char *path; /* "/sirix.storage.v1.Storage/Apply" */
    bool writes;
    bool streams;
};

extern const struct sirix_method_row sirix_method_rows[SIRIX_METHOD_COUNT];

#endif
