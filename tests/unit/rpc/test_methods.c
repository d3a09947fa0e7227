/*
 * The methods of the service on a call that is no call of gRPC: each is run with each of its allocations
 * failing, one after the other. It answers, or it fails with SIRIX_NO_MEMORY and has changed nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc/methods/codec.h"
#include "rpc/methods/storage.h"
#include "service/folder.h"
#include "unit/base/alloc_sweep.h"
#include "unit/rpc/fake_call.h"

enum { ARENA_BYTES = 32 * 1024 * 1024, TURNS_MAX = 1000 };

#define PB(name)      Sirix__Storage__V1__##name
#define PB_INIT(NAME) SIRIX__STORAGE__V1__##NAME##__INIT

static char dir[64];

/* --- Calls --------------------------------------------------------------------------------------- */

static const struct sirix_rpc_method *find(const struct sirix_rpc_method *table, const char *name)
{
    while (table->path != NULL && strcmp(strrchr(table->path, '/') + 1, name) != 0) {
        table++;
    }
    assert_non_null(table->path);
    return table;
}

static enum sirix_status feed(struct sirix_rpc_call *call, void *state,
                              const ProtobufCMessage *const *messages, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (; status == SIRIX_OK && !call->ended && *messages != NULL; messages++) {
        assert_true(call->reads);
        call->reads = false;
        status = call->method->message(call, state, *messages, err);
    }
    return status == SIRIX_OK && !call->ended ? call->method->half_closed(call, state, err)
                                              : status;
}

/* Runs a method to its end. messages: the request, or those of a client stream; NULL ends them. */
static enum sirix_status run(const struct sirix_rpc_method *method,
                             const ProtobufCMessage *const *messages, struct sirix_error *err)
{
    struct sirix_rpc_call call = {.method = method, .cancel = {.deadline_us = UINT64_MAX}};
    /* As the runtime has it, before the method is entered. */
    void *state = __real_calloc(1, method->state_bytes == 0 ? 1 : method->state_bytes);

    assert_non_null(state);
    sirix_arena_init(&call.arena, ARENA_BYTES);
    enum sirix_status status =
        method->start(&call, state, method->client_streams ? NULL : messages[0], err);
    if (status == SIRIX_OK && method->client_streams) {
        status = feed(&call, state, messages, err);
    }
    for (int i = 0; status == SIRIX_OK && !call.ended; i++) {
        assert_true(i < TURNS_MAX);
        if (call.written) {
            call.written = false;
            status = method->written(&call, state, err);
        } else {
            sirix_fake_call_wait_for_wake(&call);
            status = method->woken(&call, state, err);
        }
    }
    if (method->ended != NULL) {
        method->ended(state);
    }
    sirix_fake_call_wait_until_alone(&call);
    assert_true(status != SIRIX_OK || call.messages != 0);
    sirix_arena_deinit(&call.arena);
    free(state);
    return status;
}

/* --- Requests ----------------------------------------------------------------------------------- */

static ProtobufCBinaryData bin(const char *text)
{
    return sirix_rpc_binary_str(text);
}

static enum sirix_status call_one(const struct sirix_rpc_method *table, const char *name,
                                  const ProtobufCMessage *request, struct sirix_error *err)
{
    const ProtobufCMessage *const messages[] = {request, NULL};

    return run(find(table, name), messages, err);
}

static enum sirix_status import(const char *resource, const char *json, bool replace,
                                struct sirix_error *err)
{
    PB(ImportStart) start = PB_INIT(IMPORT_START);
    PB(ImportRequest) first = PB_INIT(IMPORT_REQUEST);
    PB(ImportRequest) data = PB_INIT(IMPORT_REQUEST);
    const ProtobufCMessage *const messages[] = {&first.base, &data.base, NULL};

    start.database = bin("db");
    start.resource = bin(resource);
    start.replace = replace;
    first.part_case = SIRIX__STORAGE__V1__IMPORT_REQUEST__PART_START;
    first.start = &start;
    data.part_case = SIRIX__STORAGE__V1__IMPORT_REQUEST__PART_DATA;
    data.data = bin(json);
    return run(find(sirix_rpc_import_methods, "Import"), messages, err);
}

static enum sirix_status do_import(struct sirix_error *err)
{
    return import("new", "{\"a\":[1,2.5,\"three\",null,true]}", false, err);
}

static enum sirix_status do_create_resource(struct sirix_error *err)
{
    PB(CreateResourceRequest) request = PB_INIT(CREATE_RESOURCE_REQUEST);

    request.database = bin("db");
    request.resource = bin("new");
    return call_one(sirix_rpc_catalogue_methods, "CreateResource", &request.base, err);
}

static enum sirix_status do_drop_resource(struct sirix_error *err)
{
    PB(DropResourceRequest) request = PB_INIT(DROP_RESOURCE_REQUEST);

    request.database = bin("db");
    request.resource = bin("new");
    return call_one(sirix_rpc_catalogue_methods, "DropResource", &request.base, err);
}

static enum sirix_status do_create_snapshot(struct sirix_error *err)
{
    PB(CreateSnapshotRequest) request = PB_INIT(CREATE_SNAPSHOT_REQUEST);

    request.database = bin("db");
    request.resource = bin("r");
    request.name = bin("label");
    return call_one(sirix_rpc_label_methods, "CreateSnapshot", &request.base, err);
}

static enum sirix_status do_delete_snapshot(struct sirix_error *err)
{
    PB(DeleteSnapshotRequest) request = PB_INIT(DELETE_SNAPSHOT_REQUEST);

    request.database = bin("db");
    request.resource = bin("r");
    request.name = bin("label");
    return call_one(sirix_rpc_label_methods, "DeleteSnapshot", &request.base, err);
}

static enum sirix_status do_create_branch(struct sirix_error *err)
{
    PB(CreateBranchRequest) request = PB_INIT(CREATE_BRANCH_REQUEST);

    request.database = bin("db");
    request.resource = bin("r");
    request.name = bin("branch");
    return call_one(sirix_rpc_label_methods, "CreateBranch", &request.base, err);
}

static enum sirix_status do_delete_branch(struct sirix_error *err)
{
    PB(DeleteBranchRequest) request = PB_INIT(DELETE_BRANCH_REQUEST);

    request.database = bin("db");
    request.resource = bin("r");
    request.name = bin("branch");
    return call_one(sirix_rpc_label_methods, "DeleteBranch", &request.base, err);
}

static enum sirix_status do_lists(struct sirix_error *err)
{
    PB(ListDatabasesRequest) databases = PB_INIT(LIST_DATABASES_REQUEST);
    PB(ListResourcesRequest) resources = PB_INIT(LIST_RESOURCES_REQUEST);
    PB(ListSnapshotsRequest) snapshots = PB_INIT(LIST_SNAPSHOTS_REQUEST);
    PB(ListBranchesRequest) branches = PB_INIT(LIST_BRANCHES_REQUEST);

    resources.database = snapshots.database = branches.database = bin("db");
    snapshots.resource = branches.resource = bin("r");
    enum sirix_status status =
        call_one(sirix_rpc_catalogue_methods, "ListDatabases", &databases.base, err);
    if (status == SIRIX_OK) {
        status = call_one(sirix_rpc_catalogue_methods, "ListResources", &resources.base, err);
    }
    if (status == SIRIX_OK) {
        status = call_one(sirix_rpc_label_methods, "ListSnapshots", &snapshots.base, err);
    }
    return status == SIRIX_OK
               ? call_one(sirix_rpc_label_methods, "ListBranches", &branches.base, err)
               : status;
}

static enum sirix_status do_get_resource(struct sirix_error *err)
{
    PB(GetResourceRequest) request = PB_INIT(GET_RESOURCE_REQUEST);

    request.database = bin("db");
    request.resource = bin("r");
    request.with_path_summary = 1;
    return call_one(sirix_rpc_catalogue_methods, "GetResource", &request.base, err);
}

static enum sirix_status do_reads(struct sirix_error *err)
{
    PB(ReadNodeRequest) node = PB_INIT(READ_NODE_REQUEST);
    PB(ReadDocumentRequest) document = PB_INIT(READ_DOCUMENT_REQUEST);

    node.database = document.database = bin("db");
    node.resource = document.resource = bin("r");
    node.with_paths = 1;
    enum sirix_status status = call_one(sirix_rpc_read_methods, "ReadNode", &node.base, err);
    return status == SIRIX_OK
               ? call_one(sirix_rpc_read_methods, "ReadDocument", &document.base, err)
               : status;
}

static enum sirix_status do_histories(struct sirix_error *err)
{
    PB(HistoryRequest) history = PB_INIT(HISTORY_REQUEST);
    PB(NodeHistoryRequest) of_node = PB_INIT(NODE_HISTORY_REQUEST);

    history.database = of_node.database = bin("db");
    history.resource = of_node.resource = bin("r");
    enum sirix_status status = call_one(sirix_rpc_history_methods, "History", &history.base, err);
    return status == SIRIX_OK
               ? call_one(sirix_rpc_history_methods, "NodeHistory", &of_node.base, err)
               : status;
}

static enum sirix_status do_diffs(struct sirix_error *err)
{
    PB(DiffRequest) request = PB_INIT(DIFF_REQUEST);

    request.database = bin("db");
    request.resource = bin("r");
    enum sirix_status status = call_one(sirix_rpc_diff_methods, "Diff", &request.base, err);
    request.format = SIRIX__STORAGE__V1__DIFF_FORMAT__DIFF_FORMAT_JSON_PATCH;
    return status == SIRIX_OK ? call_one(sirix_rpc_diff_methods, "Diff", &request.base, err)
                              : status;
}

static enum sirix_status do_create_database(struct sirix_error *err)
{
    PB(CreateDatabaseRequest) request = PB_INIT(CREATE_DATABASE_REQUEST);

    request.database = bin("other");
    return call_one(sirix_rpc_catalogue_methods, "CreateDatabase", &request.base, err);
}

static enum sirix_status do_drop_database(struct sirix_error *err)
{
    PB(DropDatabaseRequest) request = PB_INIT(DROP_DATABASE_REQUEST);

    request.database = bin("other");
    return call_one(sirix_rpc_catalogue_methods, "DropDatabase", &request.base, err);
}

/* A value under a new name of the object, on a branch. */
static enum sirix_status insert(const char *branch, const char *name, struct sirix_error *err)
{
    PB(ApplyRequest) request = PB_INIT(APPLY_REQUEST);
    PB(Operation) operation = PB_INIT(OPERATION);
    PB(Insert) insert = PB_INIT(INSERT);
    PB(Place) place = PB_INIT(PLACE);
    PB(Value) value = PB_INIT(VALUE);
    PB(Operation) * operations[] = {&operation};

    request.database = bin("db");
    request.resource = bin("r");
    request.branch = bin(branch);
    request.n_operations = 1;
    request.operations = operations;
    operation.kind_case = SIRIX__STORAGE__V1__OPERATION__KIND_INSERT;
    operation.insert = &insert;
    insert.place = &place;
    insert.member_case = SIRIX__STORAGE__V1__INSERT__MEMBER_NAME;
    insert.name = bin(name);
    insert.value = &value;
    place.node_key = 1;
    value.form_case = SIRIX__STORAGE__V1__VALUE__FORM_JSON;
    value.json = bin("[1,{\"a\":null}]");
    return call_one(sirix_rpc_apply_methods, "Apply", &request.base, err);
}

static enum sirix_status patch(const char *text, struct sirix_error *err)
{
    PB(ApplyRequest) request = PB_INIT(APPLY_REQUEST);
    PB(Value) value = PB_INIT(VALUE);

    request.database = bin("db");
    request.resource = bin("r");
    request.source_case = SIRIX__STORAGE__V1__APPLY_REQUEST__SOURCE_JSON_PATCH;
    request.json_patch = &value;
    value.form_case = SIRIX__STORAGE__V1__VALUE__FORM_JSON;
    value.json = bin(text);
    return call_one(sirix_rpc_apply_methods, "Apply", &request.base, err);
}

static enum sirix_status do_apply(struct sirix_error *err)
{
    return insert("main", "new", err);
}

static enum sirix_status do_patch(struct sirix_error *err)
{
    return patch("[{\"op\":\"add\",\"path\":\"/new\",\"value\":[1,{\"a\":null}]}]", err);
}

static enum sirix_status do_remove(struct sirix_error *err)
{
    return patch("[{\"op\":\"remove\",\"path\":\"/new\"}]", err);
}

static enum sirix_status do_revert(struct sirix_error *err)
{
    PB(RevertRequest) request = PB_INIT(REVERT_REQUEST);
    PB(View) view = PB_INIT(VIEW);

    request.database = bin("db");
    request.resource = bin("r");
    request.view = &view;
    view.which_case = SIRIX__STORAGE__V1__VIEW__WHICH_REVISION;
    view.revision = 1;
    return call_one(sirix_rpc_apply_methods, "Revert", &request.base, err);
}

static enum sirix_status do_promote(struct sirix_error *err)
{
    PB(PromoteRequest) request = PB_INIT(PROMOTE_REQUEST);

    request.database = bin("db");
    request.resource = bin("r");
    request.branch = bin("branch");
    return call_one(sirix_rpc_label_methods, "Promote", &request.base, err);
}

/* Something for a promote to bring: the branch anew, a step ahead of main. */
static enum sirix_status step_ahead(struct sirix_error *err)
{
    static unsigned number;
    char name[32];
    enum sirix_status status = number == 0 ? do_create_branch(err) : SIRIX_OK;

    (void)snprintf(name, sizeof(name), "ahead %u", number++);
    return status == SIRIX_OK ? insert("branch", name, err) : status;
}

static enum sirix_status do_verify(struct sirix_error *err)
{
    PB(VerifyRequest) request = PB_INIT(VERIFY_REQUEST);

    request.database = bin("db");
    return call_one(sirix_rpc_verify_methods, "Verify", &request.base, err);
}

static enum sirix_status do_status(struct sirix_error *err)
{
    const PB(StatusRequest) request = PB_INIT(STATUS_REQUEST);

    return call_one(sirix_rpc_admin_methods, "Status", &request.base, err);
}

/* --- Sweeping ----------------------------------------------------------------------------------- */

static void every_method_bears_every_failing_allocation(void **state)
{
    static const struct alloc_sweep_row rows[] = {
        {"CreateResource", do_create_resource, do_drop_resource, 2, 3},
        {"Import", do_import, do_drop_resource, 38, 50},
        {"CreateSnapshot", do_create_snapshot, do_delete_snapshot, 1, 4},
        {"CreateBranch", do_create_branch, do_delete_branch, 1, 4},
        {"lists", do_lists, NULL, 9, 22},
        {"GetResource", do_get_resource, NULL, 8, 29},
        {"ReadNode and ReadDocument", do_reads, NULL, 24, 31},
        {"History and NodeHistory", do_histories, NULL, 5, 16},
        {"Diff in both formats", do_diffs, NULL, 46, 60},
        {"Status", do_status, NULL, 0, 0},
        {"Apply", do_apply, do_remove, 33, 51},
        {"Apply of a patch", do_patch, do_remove, 36, 50},
        {"Revert", do_revert, NULL, 4, 14},
        {"Verify", do_verify, NULL, 8, 39},
        {"CreateDatabase", do_create_database, do_drop_database, 8, 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        alloc_sweep(&rows[i], NULL);
    }
}

static void every_taking_back_bears_every_failing_allocation(void **state)
{
    static const struct alloc_sweep_row rows[] = {
        {"Promote", do_promote, step_ahead, 3, 13},
        {"DropDatabase", do_drop_database, do_create_database, 0, 0},
        {"DropResource", do_drop_resource, do_create_resource, 4, 8},
        {"DeleteSnapshot", do_delete_snapshot, do_create_snapshot, 1, 6},
    };
    struct sirix_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].undo(&err) != SIRIX_OK) {
            fail_msg("%s", err.text);
        }
        alloc_sweep(&rows[i], NULL);
    }
}

/* --- Fixture ------------------------------------------------------------------------------------ */

static int setup(void **state)
{
    struct sirix_error err = {0};

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/sirix_methods_XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    const struct sirix_service_options options = {.dir = dir};
    enum sirix_status status = sirix_service_open(&options, &sirix_fake_storage.service, &err);
    if (status == SIRIX_OK) {
        status = import("r", "{\"users\":[{\"name\":\"a\"},{\"name\":\"b\",\"age\":7}],\"n\":1}",
                        false, &err);
    }
    if (status == SIRIX_OK) {
        status = import("r", "{\"users\":[{\"name\":\"c\"}],\"n\":2}", true, &err);
    }
    if (status != SIRIX_OK) {
        print_error("%s\n", err.text);
    }
    return status == SIRIX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct sirix_folder *parent = NULL;

    (void)state;
    sirix_service_close(sirix_fake_storage.service);
    int failed = sirix_folder_open("/", "tmp", &parent, NULL) != SIRIX_OK ||
                 sirix_folder_delete(parent, strrchr(dir, '/') + 1, NULL) != SIRIX_OK;
    sirix_folder_close(parent);
    return failed ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_method_bears_every_failing_allocation, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(every_taking_back_bears_every_failing_allocation, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
