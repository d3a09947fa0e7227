/* The client of a connection: what it is sent, and the requests of it that listen. */
#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"
#include "mcp/listen.h"
#include "transport/stdio_internal.h"

/* The objects that one of their members is part of. */
static struct sirix_stdio_job *job_of_peer(struct sirix_mcp_peer *peer)
{
    return (struct sirix_stdio_job *)(void *)((char *)peer -
                                              offsetof(struct sirix_stdio_job, peer));
}

static struct sirix_stdio_job *job_of_listener(struct sirix_events_listener *listener)
{
    return (struct sirix_stdio_job *)(void *)((char *)listener -
                                              offsetof(struct sirix_stdio_job, listener));
}

/* --- Output ------------------------------------------------------------------------------------- */

static void log_lost(const struct sirix_error *error)
{
    sirix_log_error(SIRIX_LOG_ERROR, "an answer could not be made", error);
}

/* Sends what was made, if anything, as a line; a failure so far or now is logged. */
void sirix_stdio_send(struct sirix_stdio *stdio, enum sirix_status status, struct sirix_buf *out,
                      struct sirix_error *err)
{
    if (status == SIRIX_OK && out->len != 0) {
        status = sirix_buf_append_u8(out, '\n', err);
        if (status == SIRIX_OK) {
            status = sirix_output_send(stdio->output, out, err);
        }
    }
    if (status != SIRIX_OK) {
        log_lost(err);
    }
}

static enum sirix_status send_message(struct sirix_stdio *stdio, struct sirix_bytes message,
                                      struct sirix_error *err)
{
    struct sirix_buf line;

    sirix_buf_init(&line, SIZE_MAX);
    enum sirix_status status = sirix_buf_append_bytes(&line, message, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_u8(&line, '\n', err);
    }
    if (status == SIRIX_OK) {
        status = sirix_output_send(stdio->output, &line, err);
    }
    sirix_buf_deinit(&line);
    return status;
}

static enum sirix_status send_to_peer(struct sirix_mcp_peer *peer, struct sirix_bytes message,
                                      struct sirix_error *err)
{
    return send_message(job_of_peer(peer)->stdio, message, err);
}

static void begin_wait(struct sirix_mcp_peer *peer)
{
    sirix_pool_lend(&job_of_peer(peer)->stdio->pool);
}

static void end_wait(struct sirix_mcp_peer *peer)
{
    sirix_pool_take_back(&job_of_peer(peer)->stdio->pool);
}

void sirix_stdio_tell_session(struct sirix_events_listener *listener, struct sirix_bytes message)
{
    struct sirix_stdio *stdio =
        (struct sirix_stdio *)(void *)((char *)listener - offsetof(struct sirix_stdio, listener));

    (void)!send_message(stdio, message, NULL);
}

static void tell_listener(struct sirix_events_listener *listener, struct sirix_bytes message)
{
    (void)!send_message(job_of_listener(listener)->stdio, message, NULL);
}

struct sirix_mcp_peer sirix_stdio_peer(void)
{
    return (struct sirix_mcp_peer){
        .send = send_to_peer,
        .wait_begin = begin_wait,
        .wait_end = end_wait,
    };
}

/* --- Requests that listen ----------------------------------------------------------------------- */

void sirix_stdio_free_job(struct sirix_stdio_job *job)
{
    (void)atomic_fetch_sub(&job->stdio->queued_bytes, job->counted_bytes);
    sirix_mcp_request_close(&job->request);
    sirix_arena_deinit(&job->arena);
    free(job);
}

/* Ends one that is on no list any more; it is answered unless its client cancelled it. */
static void end_listening(struct sirix_stdio_job *job)
{
    struct sirix_stdio *stdio = job->stdio;
    struct sirix_error error = {0};
    struct sirix_buf out;

    sirix_buf_init(&out, SIZE_MAX);
    sirix_events_remove(stdio->server->events, &job->listener);
    if (!sirix_running_remove(&stdio->running, job->entry)) {
        sirix_stdio_send(stdio, sirix_mcp_answer(&job->request, &out, &error), &out, &error);
    }
    sirix_buf_deinit(&out);
    sirix_stdio_free_job(job);
}

/* Ends those that were cancelled, or all. */
void sirix_stdio_end_listeners(struct sirix_stdio *stdio, bool all)
{
    struct sirix_stdio_job *ended = NULL;

    (void)pthread_mutex_lock(&stdio->mutex);
    for (struct sirix_stdio_job **at = &stdio->listening; *at != NULL;) {
        struct sirix_stdio_job *job = *at;

        if (all || sirix_running_is_cancelled(&stdio->running, job->entry)) {
            *at = job->next;
            job->next = ended;
            ended = job;
            stdio->listening_count--;
        } else {
            at = &job->next;
        }
    }
    (void)pthread_mutex_unlock(&stdio->mutex);
    while (ended != NULL) {
        struct sirix_stdio_job *job = ended;

        ended = job->next;
        end_listening(job);
    }
}

/* Begins to listen; the job is given away on success. */
enum sirix_status sirix_stdio_listen(struct sirix_stdio_job *job, struct sirix_error *err)
{
    struct sirix_stdio *stdio = job->stdio;
    struct sirix_buf out;
    bool has_room = false;

    job->listener.tell = tell_listener;
    sirix_buf_init(&out, SIZE_MAX);
    enum sirix_status status = sirix_mcp_listen_open(&job->request, &job->listener, &out, err);
    if (status == SIRIX_OK) {
        status = sirix_events_add(stdio->server->events, &job->listener, sirix_buf_view(&out), err);
    }
    sirix_buf_deinit(&out);
    (void)pthread_mutex_lock(&stdio->mutex);
    has_room = stdio->listening_count < SIRIX_STDIO_LISTENERS_MAX;
    if (status == SIRIX_OK && has_room) {
        job->next = stdio->listening;
        stdio->listening = job;
        stdio->listening_count++;
    }
    (void)pthread_mutex_unlock(&stdio->mutex);
    if (status == SIRIX_OK && !has_room) {
        status = sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                   "%d requests listen already", SIRIX_STDIO_LISTENERS_MAX);
    }
    if (status == SIRIX_OK) {
        /* It may have been cancelled before it was on the list. */
        sirix_stdio_end_listeners(stdio, false);
    } else {
        sirix_events_remove(stdio->server->events, &job->listener);
    }
    return status;
}
