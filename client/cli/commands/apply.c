/* sirixctl apply DB/RESOURCE PATCH.json     an RFC 6902 patch as one revision */
#include "cli/commands/apply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/commands.h"

enum own_flag { FLAG_DRY_RUN = SIRIXCTL_WRITE_FLAG_COUNT };

enum {
    PATCH_BYTES_MAX = 256 * 1024 * 1024,
    ARENA_BYTES_MAX = 1024 * 1024 * 1024,
};

static const struct sirixctl_flag own_flags[] = {
    SIRIXCTL_WRITE_FLAGS,
    [FLAG_DRY_RUN] = {"dry-run", NULL, "check the patch against the head and change nothing"},
};

static enum sirix_status read_patch(const char *path, struct sirix_arena *arena,
                                    struct sirix_json_tree *tree, struct sirix_error *err)
{
    char *text = NULL;
    size_t len = 0;
    enum sirix_status status = sirixctl_read_file(path, PATCH_BYTES_MAX, &text, &len, err);

    if (status == SIRIX_OK) {
        status = sirix_json_tree_init(tree, arena, err);
    }
    if (status == SIRIX_OK) {
        struct sirix_bytes bytes = {.data = text, .len = len};

        status = sirix_json_tree_parse(tree, bytes, NULL, NULL, err);
    }
    free(text); /* The tree has its own copy. */
    return status;
}

/* The head of the branch, as a view that stays the same however often it is read. */
static enum sirix_status fix_head(struct sirixctl *ctl, const struct sirixctl_name *name,
                                  struct sirix_view *out_view, struct sirix_error *err)
{
    struct sirix_resource_request request = {.database = name->database,
                                             .resource = name->resource};
    struct sirix_resource_info *info = NULL;
    enum sirix_status status =
        sirixctl_view(ctl, name, ctl->args.own[SIRIXCTL_BRANCH], &request.view, err);

    if (status == SIRIX_OK) {
        status = sirix_client_get_resource(ctl->client, &request, &ctl->call, &info, err);
    }
    if (status == SIRIX_OK) {
        *out_view = (struct sirix_view){.kind = SIRIX_VIEW_REVISION, .revision = info->revision};
    }
    sirix_client_free(info);
    return status;
}

static enum sirix_status answer(struct sirixctl *ctl, const struct sirixctl_plan *plan,
                                const struct sirix_write_result *result, struct sirix_error *err)
{
    struct sirixctl_json json;

    if (!ctl->json) {
        sirixctl_print_write_result(ctl, result);
        return SIRIX_OK;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_write_result(&json, result);
    sirixctl_json_u64(&json, "operations", plan->count);
    sirixctl_json_u64(&json, "tests", plan->tests);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static enum sirix_status execute(struct sirixctl *ctl, const struct sirixctl_plan *plan,
                                 const struct sirix_write_options *write, struct sirix_error *err)
{
    struct sirix_write_result result = {.revision = plan->view.revision};
    struct sirix_apply_result *applied = NULL;
    struct sirix_apply_request request = {
        .database = plan->name->database,
        .resource = plan->name->resource,
        .branch = ctl->args.own[SIRIXCTL_BRANCH],
        .operations = plan->operations,
        .operation_count = plan->count,
        .write = *write,
    };
    enum sirix_status status = SIRIX_OK;

    if (!request.write.has_expected_revision) {
        /* The keys are those of this revision; with another head they may mean other nodes. */
        request.write.has_expected_revision = true;
        request.write.expected_revision = plan->view.revision;
    }
    if (plan->count != 0 && ctl->args.own[FLAG_DRY_RUN] == NULL) {
        status = sirix_client_apply(ctl->client, &request, &ctl->call, &applied, err);
    }
    if (status == SIRIX_OK && applied != NULL) {
        result = applied->result;
    }
    if (status == SIRIX_OK) {
        status = answer(ctl, plan, &result, err);
    }
    sirix_client_free(applied);
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_json_tree tree;
    struct sirixctl_name name;
    struct sirix_arena arena;
    struct sirixctl_plan plan = {.ctl = ctl, .name = &name, .arena = &arena};
    struct sirix_write_options write;
    enum sirix_status status = sirixctl_write_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_write_options(ctl, &write, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_arena_init(&arena, ARENA_BYTES_MAX);
    status = read_patch(ctl->args.operands[1], &arena, &tree, err);
    if (status == SIRIX_OK) {
        status = fix_head(ctl, &name, &plan.view, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_plan_patch(&plan, &tree, err);
    }
    if (status == SIRIX_OK) {
        status = execute(ctl, &plan, &write, err);
    }
    sirix_arena_deinit(&arena);
    return status;
}

const struct sirixctl_command sirixctl_apply = {
    .name = "apply",
    .operands = "DB/RESOURCE PATCH.json",
    .summary = "Apply an RFC 6902 patch as one revision",
    .details = "`-` is stdin. Tests are checked first; if the head moves meanwhile, nothing\n"
               "happens. A place inside a value that the same patch adds cannot be named.",
    .answer = "{\"revision\",\"parentRevision\",\"timestamp\",\"changed\",\"replayed\","
              "\"operations\",\"tests\"}",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run,
};
