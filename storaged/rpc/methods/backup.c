/* Backup: pieces of bytes, one write after the other. Restore: the same the other way. */
#include "service/backup.h"

#include "rpc/methods/codec.h"
#include "service/restore.h"

static enum sirix_status fail_field(struct sirix_error *err, const char *text, const char *field)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", text);

    sirix_error_set_field(err, field);
    return status;
}

/* --- Backup ------------------------------------------------------------------------------------- */

struct backup_state {
    struct sirix_backup *backup;
    bool ending;
};

static enum sirix_status backup_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__BackupRequest *request =
        (const Sirix__Storage__V1__BackupRequest *)message;
    const struct sirix_backup_request wanted = {
        .database = sirix_rpc_bytes(request->database),
        .base = sirix_rpc_bytes(request->since),
    };
    const struct sirix_request who = sirix_rpc_request(call);
    Sirix__Storage__V1__BackupResponse answer = SIRIX__STORAGE__V1__BACKUP_RESPONSE__INIT;
    Sirix__Storage__V1__BackupStart start = SIRIX__STORAGE__V1__BACKUP_START__INIT;
    struct sirix_backup_estimate estimate = {0};
    struct backup_state *backup = state;

    enum sirix_status status = sirix_backup_open(&who, &wanted, &backup->backup, &estimate, err);
    if (status != SIRIX_OK) {
        return status;
    }
    start.estimated_bytes = estimate.bytes;
    start.incremental = estimate.incremental;
    answer.part_case = SIRIX__STORAGE__V1__BACKUP_RESPONSE__PART_START;
    answer.start = &start;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status backup_written(struct sirix_rpc_call *call, void *state,
                                        struct sirix_error *err)
{
    Sirix__Storage__V1__BackupResponse answer = SIRIX__STORAGE__V1__BACKUP_RESPONSE__INIT;
    Sirix__Storage__V1__BackupEnd end = SIRIX__STORAGE__V1__BACKUP_END__INIT;
    struct backup_state *backup = state;
    struct sirix_backup_end summary;
    struct sirix_bytes piece = {.data = NULL, .len = 0};

    if (backup->ending) {
        sirix_rpc_call_end(call);
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_backup_next(backup->backup, &piece, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (piece.len != 0) {
        answer.part_case = SIRIX__STORAGE__V1__BACKUP_RESPONSE__PART_DATA;
        answer.data = sirix_rpc_binary(piece);
        return sirix_rpc_call_write(call, &answer.base, err);
    }
    sirix_backup_summary(backup->backup, &summary, &end.bytes);
    end.segments = summary.segments;
    end.sha256 =
        sirix_rpc_binary((struct sirix_bytes){.data = summary.sha, .len = sizeof(summary.sha)});
    answer.part_case = SIRIX__STORAGE__V1__BACKUP_RESPONSE__PART_END;
    answer.end = &end;
    backup->ending = true;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static void backup_ended(void *state)
{
    sirix_backup_close(((struct backup_state *)state)->backup);
}

/* --- Restore ------------------------------------------------------------------------------------ */

struct restore_state {
    struct sirix_restore *restore;
};

static enum sirix_status restore_start(struct sirix_rpc_call *call, void *state,
                                       const ProtobufCMessage *message, struct sirix_error *err)
{
    (void)state;
    (void)message;
    (void)err;
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

/* Before the client hears of a failure: nothing is left by then. */
static enum sirix_status drop(struct restore_state *state, enum sirix_status status)
{
    sirix_restore_close(state->restore);
    state->restore = NULL;
    return status;
}

static enum sirix_status restore_message(struct sirix_rpc_call *call, void *state,
                                         const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__RestoreRequest *request =
        (const Sirix__Storage__V1__RestoreRequest *)message;
    const struct sirix_request who = sirix_rpc_request(call);
    struct restore_state *restore = state;
    enum sirix_status status = SIRIX_OK;

    if (restore->restore == NULL) {
        if (request->part_case != SIRIX__STORAGE__V1__RESTORE_REQUEST__PART_START) {
            return fail_field(err, "the first message is the start", "start");
        }
        status = sirix_restore_open(&who, sirix_rpc_bytes(request->start->database),
                                    &restore->restore, err);
    } else if (request->part_case != SIRIX__STORAGE__V1__RESTORE_REQUEST__PART_DATA) {
        return drop(restore, fail_field(err, "after the start comes data", "data"));
    } else {
        status = sirix_restore_feed(restore->restore, sirix_rpc_bytes(request->data), err);
    }
    if (status != SIRIX_OK) {
        return drop(restore, status);
    }
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

static enum sirix_status restore_end(struct sirix_rpc_call *call, void *state,
                                     struct sirix_error *err)
{
    Sirix__Storage__V1__RestoreResponse answer = SIRIX__STORAGE__V1__RESTORE_RESPONSE__INIT;
    struct restore_state *restore = state;
    struct sirix_restore_result done = {0};

    if (restore->restore == NULL) {
        return fail_field(err, "the stream ended before its start", "start");
    }
    enum sirix_status status = sirix_restore_finish(restore->restore, &done, err);
    (void)drop(restore, status);
    if (status != SIRIX_OK) {
        return status;
    }
    answer.backups = done.backups;
    answer.segments = done.segments;
    answer.bytes = done.bytes;
    answer.resources = done.resources;
    answer.revisions = done.revisions;
    answer.made_at_us = sirix_rpc_time(done.made_us);
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static void restore_ended(void *state)
{
    sirix_restore_close(((struct restore_state *)state)->restore);
}

const struct sirix_rpc_method sirix_rpc_backup_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Backup"),
        .request = &sirix__storage__v1__backup_request__descriptor,
        .server_streams = true,
        .operates = true,
        .state_bytes = sizeof(struct backup_state),
        .start = backup_start,
        .written = backup_written,
        .ended = backup_ended,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("Restore"),
        .request = &sirix__storage__v1__restore_request__descriptor,
        .client_streams = true,
        .operates = true,
        .state_bytes = sizeof(struct restore_state),
        .start = restore_start,
        .message = restore_message,
        .half_closed = restore_end,
        .ended = restore_ended,
    },
    {.path = NULL},
};
