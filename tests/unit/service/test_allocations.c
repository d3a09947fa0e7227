/*
 * Each call of the service with each of its allocations failing, one after the other, on whatever
 * thread: the call fails with SIRIX_NO_MEMORY and has changed nothing, or it succeeds; and the next one
 * finds everything as it should be. (Under the address sanitizer: and nothing leaks.)
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

#include "service/apply.h"
#include "service/backup.h"
#include "service/catalogue.h"
#include "service/diff.h"
#include "service/folder.h"
#include "service/history.h"
#include "service/import.h"
#include "service/labels.h"
#include "service/paths.h"
#include "service/read.h"
#include "service/restore.h"
#include "service/verify.h"
#include "unit/base/alloc_sweep.h"

enum { ARENA_BYTES = 16 * 1024 * 1024 };

static char dir[64];
static struct sirix_service *service;
static struct sirix_cancel cancel = {.deadline_us = UINT64_MAX};
static struct sirix_request request;
static struct sirix_arena arena;

/* --- Short words -------------------------------------------------------------------------------- */

static struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

static const struct sirix_write_options plain;

/* Nobody else writes, so that every turn is free. */
static void never(void *context)
{
    (void)context;
    fail_msg("a turn was waited for");
}

static enum sirix_status take_turn(struct sirix_write *write, struct sirix_error *err)
{
    bool waits = false;
    enum sirix_status status = sirix_write_take_turn(write, never, NULL, &waits, err);

    assert_false(waits);
    return status;
}

static enum sirix_status import(const char *resource, const char *json, bool replace,
                                struct sirix_error *err)
{
    const struct sirix_import_request wanted = {
        .database = text("db"), .resource = text(resource), .replace = replace};
    struct sirix_import *import = NULL;
    struct sirix_import_result result = {0};
    bool replayed = false;

    enum sirix_status status =
        sirix_import_open(&request, &wanted, &import, &replayed, &result, err);
    if (status == SIRIX_OK) {
        status = sirix_import_feed(import, text(json), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_import_end(import, err);
    }
    if (status == SIRIX_OK) {
        status = take_turn(sirix_import_write(import), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_import_publish(import, &result, err);
    }
    sirix_import_close(import);
    return status;
}

static enum sirix_status drop(const char *resource, struct sirix_error *err)
{
    const struct sirix_write_place place = {
        .options = &plain, .database = text("db"), .resource = text(resource)};
    struct sirix_write write = {0};
    bool known = false;

    enum sirix_status status = sirix_drop_resource_open(&request, &place, &write, &known, err);
    if (status == SIRIX_OK) {
        status = take_turn(&write, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_drop_resource_run(&write, place.database, place.resource, err);
    }
    sirix_write_close(&write);
    return status;
}

static struct sirix_label_request label(const char *name)
{
    return (struct sirix_label_request){
        .database = text("db"), .resource = text("r"), .name = text(name)};
}

static enum sirix_status delete_branch(const char *name, struct sirix_error *err)
{
    const struct sirix_write_place place = {
        .options = &plain, .database = text("db"), .resource = text("r"), .branch = text(name)};
    struct sirix_write write = {0};
    uint64_t revision = 0;
    bool known = false;

    enum sirix_status status =
        sirix_delete_branch_open(&request, &place, &write, &revision, &known, err);
    if (status == SIRIX_OK) {
        status = take_turn(&write, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_delete_branch_run(&write, place.database, &revision, &known, err);
    }
    sirix_write_close(&write);
    return status;
}

/* --- The calls ---------------------------------------------------------------------------------- */

static enum sirix_status do_create_database(struct sirix_error *err)
{
    struct sirix_database_item item;

    return sirix_service_create_database(&request, text("other"), &plain, &item, err);
}

static enum sirix_status do_drop_database(struct sirix_error *err)
{
    return sirix_service_drop_database(&request, text("other"), &plain, err);
}

static struct {
    uint8_t bytes[256 * 1024];
    size_t len;
} kept;

static enum sirix_status do_backup(struct sirix_error *err)
{
    const struct sirix_backup_request wanted = {.database = text("db")};
    struct sirix_backup_estimate estimate = {0};
    struct sirix_backup *backup = NULL;
    struct sirix_bytes piece = {.data = NULL, .len = 0};

    kept.len = 0;
    enum sirix_status status = sirix_backup_open(&request, &wanted, &backup, &estimate, err);
    while (status == SIRIX_OK) {
        status = sirix_backup_next(backup, &piece, err);
        if (status != SIRIX_OK || piece.len == 0) {
            break;
        }
        assert_true(piece.len <= sizeof(kept.bytes) - kept.len);
        memcpy(kept.bytes + kept.len, piece.data, piece.len);
        kept.len += piece.len;
    }
    sirix_backup_close(backup);
    return status;
}

/* Of the last backup. */
static enum sirix_status do_restore(struct sirix_error *err)
{
    struct sirix_restore *restore = NULL;
    struct sirix_restore_result result = {0};
    enum sirix_status status = sirix_restore_open(&request, text("other"), &restore, err);

    if (status == SIRIX_OK) {
        status = sirix_restore_feed(restore,
                                    (struct sirix_bytes){.data = kept.bytes, .len = kept.len}, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_restore_finish(restore, &result, err);
    }
    sirix_restore_close(restore);
    return status;
}

static enum sirix_status do_create_resource(struct sirix_error *err)
{
    struct sirix_write_result result;

    return sirix_service_create_resource(&request, text("db"), text("new"), &plain, &result, err);
}

static enum sirix_status do_drop_resource(struct sirix_error *err)
{
    return drop("new", err);
}

static enum sirix_status do_import(struct sirix_error *err)
{
    return import("new", "{\"a\":[1,2.5,\"three\",null,true],\"b\":{\"c\":{}}}", false, err);
}

static enum sirix_status do_create_snapshot(struct sirix_error *err)
{
    const struct sirix_label_request wanted = label("label");
    struct sirix_snapshot_change change;
    bool replayed = false;

    return sirix_service_create_snapshot(&request, &wanted, &change, &replayed, err);
}

static enum sirix_status do_delete_snapshot(struct sirix_error *err)
{
    const struct sirix_label_request wanted = label("label");
    uint64_t revision = 0;
    bool replayed = false;

    return sirix_service_delete_snapshot(&request, &wanted, &revision, &replayed, err);
}

static enum sirix_status do_create_branch(struct sirix_error *err)
{
    const struct sirix_label_request wanted = label("branch");
    struct sirix_branch_item item;
    bool replayed = false;

    return sirix_service_create_branch(&request, &wanted, &item, &replayed, err);
}

static enum sirix_status do_delete_branch(struct sirix_error *err)
{
    return delete_branch("branch", err);
}

static enum sirix_status do_promote(struct sirix_error *err)
{
    const struct sirix_write_place place = {
        .options = &plain, .database = text("db"), .resource = text("r")};
    struct sirix_write write = {0};
    struct sirix_promotion promotion;
    bool known = false;

    enum sirix_status status =
        sirix_promote_open(&request, &place, text("side"), &write, &promotion, &known, err);
    if (status == SIRIX_OK) {
        status = take_turn(&write, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_promote_run(&write, place.database, text("side"), true, &promotion, &known, err);
    }
    sirix_write_close(&write);
    return status;
}

static enum sirix_status do_lists(struct sirix_error *err)
{
    const struct sirix_list_page page = {.database = text("db"), .resource = text("r")};
    struct sirix_database_item *databases = NULL;
    struct sirix_resource_item *resources = NULL;
    struct sirix_snapshot_item *snapshots = NULL;
    struct sirix_branch_item *branches = NULL;
    size_t count = 0;
    bool more = false;

    enum sirix_status status =
        sirix_service_list_databases(&request, &page, &arena, &databases, &count, &more, err);
    if (status == SIRIX_OK) {
        status =
            sirix_service_list_resources(&request, &page, &arena, &resources, &count, &more, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_service_list_snapshots(&request, &page, &arena, &snapshots, &count, &more, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_service_list_branches(&request, &page, &arena, &branches, &count, &more, err);
        assert_true(status != SIRIX_OK || (count == 2 && branches[1].time_us > 0));
    }
    return status;
}

static enum sirix_status do_get_resource(struct sirix_error *err)
{
    const struct sirix_details_request wanted = {
        .database = text("db"), .resource = text("r"), .with_paths = true};
    struct sirix_resource_details details;

    enum sirix_status status = sirix_service_get_resource(&request, &wanted, &arena, &details, err);
    assert_true(status != SIRIX_OK || (details.paths.count == 6 && !details.paths_missing));
    return status;
}

static enum sirix_status do_read_node(struct sirix_error *err)
{
    const struct sirix_read_node_request wanted = {
        .database = text("db"),
        .resource = text("r"),
        .with_paths = true,
        .target = {.has_path = true, .path = text("/users")},
    };
    struct sirix_read_node read;

    enum sirix_status status = sirix_service_read_node(&request, &wanted, &arena, &read, err);
    assert_true(status != SIRIX_OK || read.count == 3);
    return status;
}

static enum sirix_status do_read_document(struct sirix_error *err)
{
    const struct sirix_read_document_request wanted = {.database = text("db"),
                                                       .resource = text("r")};
    struct sirix_read_document *read = NULL;
    struct sirix_bytes piece = {.data = NULL, .len = 0};
    uint64_t revision = 0;
    int64_t time_us = 0;
    bool done = false;

    enum sirix_status status =
        sirix_read_document_open(&request, &wanted, &read, &revision, &time_us, err);
    while (status == SIRIX_OK && !done) {
        status = sirix_read_document_next(read, &piece, &done, err);
    }
    sirix_read_document_close(read);
    return status;
}

static enum sirix_status do_histories(struct sirix_error *err)
{
    const struct sirix_node_history_request wanted = {
        .page = {.database = text("db"), .resource = text("r")}, .node_key = 1};
    struct sirix_history history;
    struct sirix_node_history of_node;

    enum sirix_status status = sirix_service_history(&request, &wanted.page, &arena, &history, err);
    if (status == SIRIX_OK) {
        assert_true(sirix_bytes_equal(history.revisions[0].branch, text("main")));
        status = sirix_service_node_history(&request, &wanted, &arena, &of_node, err);
    }
    return status;
}

static enum sirix_status diff(bool json_patch, struct sirix_error *err)
{
    const struct sirix_diff_request wanted = {
        .database = text("db"),
        .resource = text("r"),
        .has_from = true,
        .from = {.which = SIRIX_VIEW_WHICH_REVISION, .revision = 1},
        .json_patch = json_patch,
        .since_parted = true,
    };
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_ends ends;
    const struct sirix_diff_item *items = NULL;
    struct sirix_bytes piece = {.data = NULL, .len = 1};
    size_t count = 1;

    enum sirix_status status = sirix_diff_stream_open(&request, &wanted, &stream, &ends, err);
    while (status == SIRIX_OK && count != 0 && piece.len != 0) {
        status = json_patch ? sirix_diff_stream_patch(stream, &piece, err)
                            : sirix_diff_stream_changes(stream, &items, &count, err);
    }
    sirix_diff_stream_close(stream);
    return status;
}

static enum sirix_status do_diff(struct sirix_error *err)
{
    return diff(false, err);
}

static enum sirix_status do_patch(struct sirix_error *err)
{
    return diff(true, err);
}

/* Applies to branch `side`. */
static enum sirix_status apply(struct sirix_apply_request wanted, struct sirix_error *err)
{
    struct sirix_apply_result result = {0};
    struct sirix_write write = {0};

    enum sirix_status status = sirix_apply_check(&wanted, &plain, err);
    if (status == SIRIX_OK) {
        status =
            sirix_write_open(&request, &plain, text("db"), text("r"), text("side"), &write, err);
    }
    if (status == SIRIX_OK) {
        status = take_turn(&write, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_apply_run(&write, &wanted, &arena, &result, err);
    }
    sirix_write_close(&write);
    return status;
}

static enum sirix_status do_apply(struct sirix_error *err)
{
    const struct sirix_operation operations[] = {
        {.kind = SIRIX_OPERATION_INSERT, .target = 1, .json = text("{\"x\":[1],\"y\":2}")},
    };

    return apply((struct sirix_apply_request){.operations = operations,
                                              .operation_count = 1,
                                              .dry_run = true},
                 err);
}

static const char patch_text[] =
    "[{\"op\":\"test\",\"path\":\"/users/0/name\",\"value\":\"a\"},"
    "{\"op\":\"add\",\"path\":\"/new\",\"value\":{\"deep\":[1,\"two\"]}},"
    "{\"op\":\"copy\",\"from\":\"/new\",\"path\":\"/users/-\"},"
    "{\"op\":\"move\",\"from\":\"/n\",\"path\":\"/new/n\"},"
    "{\"op\":\"move\",\"from\":\"/new/n\",\"path\":\"/n\"},"
    "{\"op\":\"remove\",\"path\":\"/new\"}]";

static enum sirix_status do_apply_patch(struct sirix_error *err)
{
    return apply(
        (struct sirix_apply_request){.source = SIRIX_APPLY_PATCH, .patch = text(patch_text)}, err);
}

static enum sirix_status do_apply_spooled(struct sirix_error *err)
{
    struct sirix_spool spool;

    sirix_spool_init(&spool, dir);
    enum sirix_status status = sirix_spool_append(&spool, text(patch_text), err);
    if (status == SIRIX_OK) {
        status = apply((struct sirix_apply_request){.source = SIRIX_APPLY_PATCH,
                                                    .patch_streamed = true,
                                                    .spool = &spool},
                       err);
    }
    sirix_spool_deinit(&spool);
    return status;
}

static enum sirix_status do_apply_diff(struct sirix_error *err)
{
    return apply(
        (struct sirix_apply_request){.source = SIRIX_APPLY_DIFF,
                                     .to = {.which = SIRIX_VIEW_WHICH_BRANCH, .name = text("main")},
                                     .since_parted = true,
                                     .dry_run = true},
        err);
}

/* --- Sweeping ----------------------------------------------------------------------------------- */

static void after_round(void)
{
    sirix_arena_reset(&arena);
}

static void every_call_bears_every_failing_allocation(void **state)
{
    static const struct alloc_sweep_row rows[] = {
        {"CreateDatabase", do_create_database, do_drop_database, 8, 8},
        {"Backup", do_backup, NULL, 8, 10},
        {"Restore", do_restore, do_drop_database, 20, 30},
        {"CreateResource", do_create_resource, do_drop_resource, 2, 3},
        {"Import", do_import, do_drop_resource, 43, 55},
        {"CreateSnapshot", do_create_snapshot, do_delete_snapshot, 1, 4},
        {"CreateBranch", do_create_branch, do_delete_branch, 1, 4},
        {"lists", do_lists, NULL, 6, 25},
        {"GetResource", do_get_resource, NULL, 6, 33},
        {"ReadNode", do_read_node, NULL, 14, 17},
        {"ReadDocument", do_read_document, NULL, 8, 12},
        {"History and NodeHistory", do_histories, NULL, 4, 14},
        {"Diff", do_diff, NULL, 23, 32},
        {"Diff as a patch", do_patch, NULL, 22, 31},
        {"Apply of a diff", do_apply_diff, NULL, 47, 60},
        {"Apply", do_apply, NULL, 24, 31},
        {"Apply of a patch", do_apply_patch, NULL, 85, 108},
        {"Apply of a spooled patch", do_apply_spooled, NULL, 84, 108},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        alloc_sweep(&rows[i], after_round);
    }
}

static void every_taking_back_bears_every_failing_allocation(void **state)
{
    static const struct alloc_sweep_row rows[] = {
        {"DropDatabase", do_drop_database, do_create_database, 0, 0},
        {"DropResource", do_drop_resource, do_create_resource, 4, 8},
        {"DeleteSnapshot", do_delete_snapshot, do_create_snapshot, 1, 6},
        {"DeleteBranch", do_delete_branch, do_create_branch, 2, 10},
        {"Promote", do_promote, NULL, 3, 10},
    };
    struct sirix_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].undo != NULL && rows[i].undo(&err) != SIRIX_OK) {
            fail_msg("%s", err.text);
        }
        alloc_sweep(&rows[i], after_round);
    }
}

/* --- Fixture ------------------------------------------------------------------------------------ */

static int setup(void **state)
{
    struct sirix_label_request side = label("side");
    struct sirix_branch_item branch;
    struct sirix_error err = {0};
    bool replayed = false;

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/sirix_allocations_XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    const struct sirix_service_options options = {.dir = dir};
    sirix_arena_init(&arena, ARENA_BYTES);
    enum sirix_status status = sirix_service_open(&options, &service, &err);
    request = (struct sirix_request){
        .service = service,
        .caller = {.name = "tester", .may_write = true},
        .cancel = &cancel,
    };
    if (status == SIRIX_OK) {
        status = import("r", "{\"users\":[{\"name\":\"a\"},{\"name\":\"b\",\"age\":7}],\"n\":1}",
                        false, &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_service_create_branch(&request, &side, &branch, &replayed, &err);
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
    sirix_service_close(service);
    sirix_arena_deinit(&arena);
    int failed = sirix_folder_open("/", "tmp", &parent, NULL) != SIRIX_OK ||
                 sirix_folder_delete(parent, strrchr(dir, '/') + 1, NULL) != SIRIX_OK;
    sirix_folder_close(parent);
    return failed ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_bears_every_failing_allocation, setup, teardown),
        cmocka_unit_test_setup_teardown(every_taking_back_bears_every_failing_allocation, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
