/* Operations, one after the other, on one edit; and how any edit of an Apply becomes a revision. */
#include "service/apply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "service/apply_sources.h"
#include "json/text.h"

enum { FIELD_BYTES = 96 };

static const char *const kind_names[] = {
    [SIRIX_OPERATION_NONE] = "",          [SIRIX_OPERATION_INSERT] = ".insert",
    [SIRIX_OPERATION_UPDATE] = ".update", [SIRIX_OPERATION_REPLACE] = ".replace",
    [SIRIX_OPERATION_DELETE] = ".delete", [SIRIX_OPERATION_RENAME] = ".rename",
    [SIRIX_OPERATION_MOVE] = ".move",
};

static void set_field(struct sirix_error *err, size_t index, enum sirix_operation_kind kind,
                      const char *member)
{
    char text[FIELD_BYTES];

    (void)snprintf(text, sizeof(text), "operations[%zu]%s%s", index, kind_names[kind], member);
    sirix_error_set_field(err, text);
}

static bool has_value(const struct sirix_operation *operation)
{
    return operation->kind == SIRIX_OPERATION_INSERT || operation->kind == SIRIX_OPERATION_UPDATE ||
           operation->kind == SIRIX_OPERATION_REPLACE;
}

static enum sirix_status check_operations(const struct sirix_operation *operations, size_t count,
                                          struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (count == 0 || count > SIRIX_APPLY_OPERATIONS_MAX) {
        status = sirix_fail_reason(
            err, SIRIX_INVALID, count == 0 ? SIRIX_REASON_FIELD_MISSING : SIRIX_REASON_SIZE_LIMIT,
            "a request has 1 to %d operations, this one %zu", SIRIX_APPLY_OPERATIONS_MAX, count);
        sirix_error_set_field(err, "operations");
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        const struct sirix_operation *operation = &operations[i];
        if (operation->kind == SIRIX_OPERATION_NONE) {
            status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                       "operation %zu says nothing that this version knows", i);
            set_field(err, i, operation->kind, "");
            return status;
        }
        if (!has_value(operation) || operation->streamed) {
            continue;
        }
        if (operation->json.len == 0 || operation->json.len > SIRIX_APPLY_VALUE_BYTES_MAX) {
            status = sirix_fail_reason(
                err, SIRIX_INVALID,
                operation->json.len == 0 ? SIRIX_REASON_FIELD_MISSING : SIRIX_REASON_SIZE_LIMIT,
                "the value of operation %zu has %zu bytes; 1 to %d are allowed here, more go "
                "through ApplyStream or Import",
                i, operation->json.len, SIRIX_APPLY_VALUE_BYTES_MAX);
            set_field(err, i, operation->kind, ".value");
            return status;
        }
    }
    return SIRIX_OK;
}

enum sirix_status sirix_apply_check(const struct sirix_apply_request *wanted,
                                    const struct sirix_write_options *options,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (wanted->source == SIRIX_APPLY_OPERATIONS) {
        status = check_operations(wanted->operations, wanted->operation_count, err);
    } else if (wanted->operation_count != 0) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "a request has operations, or a patch or diff instead of them");
        sirix_error_set_field(err, "operations");
    } else {
        status = sirix_apply_check_source(wanted, err);
    }
    if (status == SIRIX_OK && wanted->dry_run && options->idempotency_key.len != 0) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "a dry run keeps nothing, so it has no idempotency key");
        sirix_error_set_field(err, "options.idempotency_key");
    }
    return status;
}

/* --- One run ------------------------------------------------------------------------------------ */

struct applying {
    struct sirix_write *write;
    struct sirix_edit *edit;
    const struct sirix_spool *spool;
    struct sirix_arena *arena;
    struct sirix_buf scratch;
    size_t keys_left; /* How many more an answer may name. */
};

/* Feeds the value that was begun, and ends it. */
static enum sirix_status put_value(struct applying *a, const struct sirix_operation *operation,
                                   struct sirix_edit_result *out_result, struct sirix_error *err)
{
    uint64_t at = 0;
    enum sirix_status status = SIRIX_OK;

    if (!operation->streamed) {
        status = sirix_edit_value_feed(a->edit, operation->json, err);
    }
    while (status == SIRIX_OK && operation->streamed && at < operation->spool_len) {
        struct sirix_bytes piece = {.data = NULL, .len = 0};
        status = sirix_cancel_check(a->write->request.cancel, err);
        if (status == SIRIX_OK) {
            status = sirix_spool_read(a->spool, operation->spool_offset + at,
                                      operation->spool_len - at, &a->scratch, &piece, err);
        }
        if (status != SIRIX_OK) {
            sirix_edit_value_abort(a->edit);
            return status;
        }
        status = sirix_edit_value_feed(a->edit, piece, err);
        at += piece.len;
    }
    return status == SIRIX_OK ? sirix_edit_value_end(a->edit, out_result, err) : status;
}

/* The keys of what was inserted: one node, or members that stand side by side. */
static enum sirix_status name_keys(struct applying *a, const struct sirix_edit_result *inserted,
                                   struct sirix_operation_result *result, struct sirix_error *err)
{
    struct sirix_document_node node;
    uint64_t index = 0;
    void *memory = NULL;
    uint64_t count = inserted->key_count;

    if (count > a->keys_left) {
        count = a->keys_left;
    }
    if (count == 0) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_arena_calloc(a->arena, (size_t)count, sizeof(uint64_t), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    result->node_keys = memory;
    result->node_keys[0] = inserted->key;
    result->node_key_count = (size_t)count;
    a->keys_left -= (size_t)count;
    if (count == 1) {
        return SIRIX_OK;
    }
    status = sirix_edit_get(a->edit, inserted->key, &node, err);
    if (status == SIRIX_OK) {
        status = sirix_edit_child_index(a->edit, inserted->key, &index, err);
    }
    for (uint64_t i = 1; status == SIRIX_OK && i < count; i++) {
        if (i % SIRIX_EDIT_PAUSE_STEPS == 0) {
            status = sirix_cancel_check(a->write->request.cancel, err);
        }
        if (status != SIRIX_OK) {
            break;
        }
        status = sirix_edit_child_at(a->edit, node.parent, index + i, &result->node_keys[i], err);
    }
    return status;
}

static enum sirix_status run_insert(struct applying *a, const struct sirix_operation *operation,
                                    const struct sirix_bytes *name,
                                    struct sirix_operation_result *result, struct sirix_error *err)
{
    const struct sirix_edit_insert insert = {
        .target = operation->target,
        .place = operation->place,
        .index = operation->index,
        .name = name,
    };
    struct sirix_edit_result inserted = {0};

    enum sirix_status status = sirix_edit_insert_begin(a->edit, &insert, err);
    if (status == SIRIX_OK) {
        status = put_value(a, operation, &inserted, err);
    }
    if (status == SIRIX_OK) {
        result->kind = sirix_value_kind_of(inserted.kind);
        result->changed = inserted.changed || inserted.key_count != 0;
        status = name_keys(a, &inserted, result, err);
    }
    return status;
}

static enum sirix_status run_update(struct applying *a, const struct sirix_operation *operation,
                                    struct sirix_operation_result *result, struct sirix_error *err)
{
    const struct sirix_edit_update update = {.target = operation->node_key};
    struct sirix_edit_result updated = {0};
    struct sirix_document_node node;

    enum sirix_status status = sirix_edit_get(a->edit, operation->node_key, &node, err);
    if (status == SIRIX_OK && operation->kind == SIRIX_OPERATION_UPDATE &&
        sirix_node_is_container(node.kind) && node.child_count != 0) {
        status = sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_KIND,
                                   "node %" PRIu64 " is an %s with %" PRIu64
                                   " children, which update would lose; replace does that",
                                   operation->node_key,
                                   node.kind == SIRIX_NODE_OBJECT ? "object" : "array",
                                   node.child_count);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_update_begin(a->edit, &update, err);
    }
    if (status == SIRIX_OK) {
        status = put_value(a, operation, &updated, err);
    }
    if (status == SIRIX_OK) {
        result->kind = sirix_value_kind_of(updated.kind);
        result->changed = updated.changed;
        result->equal_value = updated.equal_value;
    }
    return status;
}

static enum sirix_status run_move(struct applying *a, const struct sirix_operation *operation,
                                  const struct sirix_bytes *name,
                                  struct sirix_operation_result *result, struct sirix_error *err)
{
    const struct sirix_edit_move move = {
        .key = operation->node_key,
        .target = operation->target,
        .place = operation->place,
        .index = operation->index,
        .name = name,
    };
    uint64_t key = operation->node_key;

    enum sirix_status status = sirix_edit_move(a->edit, &move, &key, &result->changed, err);
    if (status == SIRIX_OK && key != operation->node_key) {
        const struct sirix_edit_result moved = {.key = key, .key_count = 1};
        status = name_keys(a, &moved, result, err);
    }
    return status;
}

static enum sirix_status run_operation(struct applying *a, const struct sirix_operation *operation,
                                       struct sirix_operation_result *result,
                                       struct sirix_error *err)
{
    struct sirix_bytes canonical = {.data = NULL, .len = 0};
    const struct sirix_bytes *name = NULL;
    enum sirix_status status = SIRIX_OK;
    uint64_t nodes = 0;

    if (operation->has_name) {
        status = sirix_json_text_to_canonical(a->arena, operation->name, &canonical, err);
        name = &canonical;
    }
    if (status != SIRIX_OK) {
        return status;
    }
    switch (operation->kind) {
    case SIRIX_OPERATION_INSERT:
        return run_insert(a, operation, name, result, err);
    case SIRIX_OPERATION_UPDATE:
    case SIRIX_OPERATION_REPLACE:
        return run_update(a, operation, result, err);
    case SIRIX_OPERATION_DELETE:
        status = sirix_edit_delete(a->edit, operation->node_key, &nodes, err);
        result->changed = nodes != 0;
        return status;
    case SIRIX_OPERATION_RENAME:
        return sirix_edit_rename(a->edit, operation->node_key, canonical, &result->changed, err);
    case SIRIX_OPERATION_MOVE:
        return run_move(a, operation, name, result, err);
    default:
        return sirix_fail(err, SIRIX_INTERNAL, "an operation was not checked");
    }
}

/* Which member of the request an error of an operation is about. */
static const char *member_of(const struct sirix_error *err)
{
    switch (err->reason) {
    case SIRIX_REASON_JSON_SYNTAX:
    case SIRIX_REASON_JSON_ENCODING:
    case SIRIX_REASON_JSON_TRUNCATED:
    case SIRIX_REASON_DUPLICATE_KEY:
    case SIRIX_REASON_DEPTH_LIMIT:
        return ".value";
    case SIRIX_REASON_NODE_UNKNOWN:
        return ".node_key";
    default:
        return "";
    }
}

static enum sirix_status run_all(struct applying *a, const struct sirix_operation *operations,
                                 size_t count, struct sirix_apply_result *result,
                                 struct sirix_error *err)
{
    void *memory = NULL;

    enum sirix_status status =
        sirix_arena_calloc(a->arena, count, sizeof(struct sirix_operation_result), &memory, err);
    result->operations = memory;
    result->operation_count = count;
    result->operations_known = true;
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        status = sirix_cancel_check(a->write->request.cancel, err);
        if (status != SIRIX_OK) {
            break;
        }
        status = run_operation(a, &operations[i], &result->operations[i], err);
        if (status != SIRIX_OK && err != NULL) {
            set_field(err, i, operations[i].kind, member_of(err));
        }
    }
    return status;
}

/* Publishes the edit; what is kept with the key goes into the same transaction. */
static enum sirix_status commit(struct applying *a, const struct sirix_apply_request *wanted,
                                struct sirix_apply_result *result, struct sirix_error *err)
{
    struct sirix_write *write = a->write;
    struct sirix_published published = {0};
    struct sirix_buf answer = {0};
    struct sirix_edit_commit commit = {
        .author = {.data = write->author.text, .len = write->author.len},
        .message = write->options.message,
        .rider = sirix_write_rider(write),
        .force = wanted->force_revision,
    };

    enum sirix_status status = sirix_apply_answer_encode(wanted->source, result, &answer, err);
    if (status == SIRIX_OK) {
        status = sirix_cancel_check(write->request.cancel, err);
    }
    if (status == SIRIX_OK) {
        commit.rider.answer = sirix_buf_view(&answer);
        status = sirix_write_ended(
            write, sirix_edit_commit(a->edit, &commit, &published, &result->result.changed, err));
    }
    if (status == SIRIX_OK && !result->result.changed && !published.replayed &&
        commit.rider.key.len != 0) {
        sirix_apply_answer_unchanged(&answer);
        status =
            sirix_rider_record(write->target.resource, &commit.rider, &published, &published, err);
    }
    if (status == SIRIX_OK) {
        result->result.revision = published.revision;
        result->result.parent_revision = published.parent_revision;
        result->result.time_us = published.time_us;
        result->result.replayed = published.replayed;
        if (published.replayed && published.answer.len != 0) {
            status = sirix_apply_answer_decode(published.answer, a->arena, result, err);
        }
    }
    sirix_buf_deinit(&answer);
    return status;
}

/* A revision is the answer's sign of a change: a no-op's answer names the head that it found. */
static bool any_changed(const struct sirix_apply_result *result)
{
    bool changed = !result->operations_known;

    for (size_t i = 0; i < result->operation_count; i++) {
        changed = changed || result->operations[i].changed;
    }
    return changed;
}

/* The same request again: what was answered then. */
static enum sirix_status replay(struct sirix_write *write, const struct sirix_apply_request *wanted,
                                struct sirix_arena *arena, struct sirix_apply_result *result,
                                bool *out_replayed, struct sirix_error *err)
{
    struct sirix_bytes kept = {.data = NULL, .len = 0};

    enum sirix_status status = sirix_write_replay(write, out_replayed, &result->result, &kept, err);
    if (status != SIRIX_OK || !*out_replayed) {
        return status;
    }
    status = sirix_apply_answer_decode(kept, arena, result, err);
    if (wanted->source == SIRIX_APPLY_OPERATIONS) {
        result->result.changed = wanted->force_revision || any_changed(result);
    }
    return status;
}

/* Does what is wanted to the edit. */
static enum sirix_status do_source(struct applying *a, const struct sirix_apply_request *wanted,
                                   struct sirix_apply_result *result, struct sirix_error *err)
{
    const struct sirix_apply_work work = {
        .write = a->write, .edit = a->edit, .wanted = wanted, .arena = a->arena};

    switch (wanted->source) {
    case SIRIX_APPLY_PATCH:
        return sirix_apply_patch_source(&work, result, err);
    case SIRIX_APPLY_DIFF:
        return sirix_apply_diff_source(&work, result, err);
    default:
        return run_all(a, wanted->operations, wanted->operation_count, result, err);
    }
}

enum sirix_status sirix_apply_run(struct sirix_write *write,
                                  const struct sirix_apply_request *wanted,
                                  struct sirix_arena *arena, struct sirix_apply_result *out_result,
                                  struct sirix_error *err)
{
    struct applying a = {
        .write = write, .spool = wanted->spool, .arena = arena, .keys_left = SIRIX_APPLY_KEYS_MAX};
    struct sirix_apply_result result = {0};
    struct sirix_view head = {0};
    bool replayed = false;

    enum sirix_status status = replay(write, wanted, arena, &result, &replayed, err);
    if (status == SIRIX_OK && replayed) {
        *out_result = result;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_write_head(write, &head, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&a.scratch, SIRIX_SPOOL_PIECE_BYTES);
    status = sirix_edit_new(&head, write->target.reader, &a.edit, err);
    if (status == SIRIX_OK) {
        sirix_edit_set_pause(a.edit, sirix_apply_pause, write);
        status = do_source(&a, wanted, &result, err);
    }
    if (status == SIRIX_OK && !wanted->dry_run) {
        status = commit(&a, wanted, &result, err);
    } else if (status == SIRIX_OK) {
        result.result = (struct sirix_write_result){
            .revision = head.record.revision,
            .parent_revision = head.record.parent_revision,
            .time_us = head.record.time_us,
        };
    }
    if (status == SIRIX_OK) {
        *out_result = result;
    }
    sirix_edit_free(a.edit);
    sirix_view_close(&head);
    sirix_buf_deinit(&a.scratch);
    return status;
}

/* --- Revert ------------------------------------------------------------------------------------- */

enum sirix_status sirix_revert_run(struct sirix_write *write,
                                   const struct sirix_view_request *source,
                                   struct sirix_write_result *out_result, uint64_t *out_reverted_to,
                                   struct sirix_error *err)
{
    struct sirix_rider rider = sirix_write_rider(write);
    struct sirix_published published = {0};
    struct sirix_view head = {0};
    struct sirix_view wanted = {0};
    struct sirix_bytes kept = {.data = NULL, .len = 0};
    struct sirix_write_result result = {0};
    bool replayed = false;
    uint64_t reverted_to = 0;

    enum sirix_status status = sirix_write_replay(write, &replayed, &result, &kept, err);
    if (status == SIRIX_OK && replayed) {
        result.changed = true;
        if (kept.len == sizeof(reverted_to)) {
            memcpy(&reverted_to, kept.data, sizeof(reverted_to));
        }
        *out_result = result;
        *out_reverted_to = reverted_to;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_write_head(write, &head, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_cancel_check(write->request.cancel, err);
    if (status == SIRIX_OK) {
        status = sirix_target_view(&write->target, source, "view", &wanted, err);
    }
    if (status == SIRIX_OK) {
        reverted_to = wanted.record.revision;
        rider.answer = (struct sirix_bytes){.data = &reverted_to, .len = sizeof(reverted_to)};
        status = sirix_write_ended(
            write,
            sirix_revert(&head, &wanted,
                         (struct sirix_bytes){.data = write->author.text, .len = write->author.len},
                         write->options.message, rider.key.len == 0 ? NULL : &rider, &published,
                         err));
        sirix_view_close(&wanted);
    }
    sirix_view_close(&head);
    if (status == SIRIX_OK) {
        *out_result = (struct sirix_write_result){
            .revision = published.revision,
            .parent_revision = published.parent_revision,
            .time_us = published.time_us,
            .changed = true,
            .replayed = published.replayed,
        };
        *out_reverted_to = reverted_to;
    }
    return status;
}
