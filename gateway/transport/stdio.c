/* MCP over stdin and stdout. */
#include "transport/stdio.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/lines.h"
#include "transport/stdio_internal.h"

enum { READ_BYTES = 64 * 1024 };

/* --- Serving ------------------------------------------------------------------------------------ */

/* Notifications, and answers to requests of ours. */
static void take_message(struct sirix_stdio_job *job, const struct sirix_jsonrpc_message *message)
{
    struct sirix_bytes id = {.data = NULL, .len = 0};
    struct sirix_stdio *stdio = job->stdio;

    if (message->kind == SIRIX_JSONRPC_RESPONSE) {
        sirix_mcp_take_answer(stdio->server, message);
    } else if (sirix_mcp_cancelled_id(&job->arena, message, &id, NULL) == SIRIX_OK && id.len != 0) {
        sirix_running_cancel(&stdio->running, id);
        sirix_pending_wake(stdio->server->pending);
        sirix_stdio_end_listeners(stdio, false);
    }
}

static bool is_request(const struct sirix_jsonrpc_message *message)
{
    return message->is_faulty || message->kind == SIRIX_JSONRPC_REQUEST;
}

/* Appends the answer to one member of a batch, if it has one. */
static enum sirix_status answer_member(struct sirix_stdio_job *job,
                                       const struct sirix_jsonrpc_message *message,
                                       struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_running_entry *entry = NULL;
    struct sirix_mcp_request request;
    struct sirix_error failure = {0};
    const size_t start = out->len;
    enum sirix_status status = SIRIX_OK;

    if (!is_request(message)) {
        take_message(job, message);
        return SIRIX_OK;
    }
    status = out->len == 1 ? SIRIX_OK : sirix_buf_append_u8(out, ',', err);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_mcp_request_open(&request, job->stdio->server, &job->session, NULL, &job->arena, message);
    request.context.peer = &job->peer;
    if (!message->is_faulty &&
        sirix_running_add(&job->stdio->running, message->id, &entry, &failure) != SIRIX_OK) {
        status = sirix_mcp_refuse(&request, &failure, out, err);
    } else {
        request.context.cancel = entry == NULL ? NULL : &entry->cancel;
        status = sirix_mcp_answer(&request, out, err);
    }
    if (entry != NULL && sirix_running_remove(&job->stdio->running, entry)) {
        out->len = start;
    }
    sirix_mcp_request_close(&request);
    return status;
}

static enum sirix_status answer_batch(struct sirix_stdio_job *job, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_u8(out, '[', err);

    for (size_t i = 0; i < job->input.count && status == SIRIX_OK; i++) {
        status = answer_member(job, &job->input.messages[i], out, err);
    }
    if (status == SIRIX_OK && out->len == 1) {
        out->len = 0; /* Notifications only. */
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_buf_append_u8(out, ']', err) : status;
}

/* Answers what the job holds, on whatever thread. */
static void run_job(struct sirix_pool_job *base)
{
    struct sirix_stdio_job *job = (struct sirix_stdio_job *)base;
    struct sirix_stdio *stdio = job->stdio;
    struct sirix_error error = {0};
    struct sirix_error failure = {0};
    struct sirix_buf out;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&out, SIZE_MAX);
    if (job->entry != NULL && sirix_mcp_is_listening(&job->request)) {
        if (sirix_stdio_listen(job, &failure) == SIRIX_OK) {
            return;
        }
        status = sirix_mcp_refuse(&job->request, &failure, &out, &error);
    } else {
        status = job->input.is_batch ? answer_batch(job, &out, &error)
                                     : sirix_mcp_answer(&job->request, &out, &error);
    }
    if (job->entry != NULL && sirix_running_remove(&stdio->running, job->entry)) {
        sirix_buf_clear(&out);
    }
    sirix_stdio_send(stdio, status, &out, &error);
    sirix_buf_deinit(&out);
    sirix_stdio_free_job(job);
}

/* --- Input -------------------------------------------------------------------------------------- */

/* Answers a job with a refusal. */
static void refuse(struct sirix_stdio_job *job, const struct sirix_error *failure)
{
    struct sirix_error error = {0};
    struct sirix_buf out;

    sirix_buf_init(&out, SIZE_MAX);
    sirix_stdio_send(job->stdio, sirix_mcp_refuse(&job->request, failure, &out, &error), &out,
                     &error);
    sirix_buf_deinit(&out);
    sirix_stdio_free_job(job);
}

/* Makes the only message of a job one that cannot be read. */
static void make_faulty(struct sirix_stdio_job *job, const struct sirix_error *error)
{
    struct sirix_jsonrpc_message *message = &job->input.messages[0];

    job->input.is_batch = false;
    job->input.count = 1;
    message->is_faulty = true;
    message->fault.code = SIRIX_JSONRPC_INVALID_REQUEST;
    message->fault.error = *error;
    message->id = (struct sirix_bytes){.data = NULL, .len = 0};
}

/* Whether there is room for one more message to wait; one alone always has. */
static bool has_room(struct sirix_stdio_job *job, struct sirix_error *err)
{
    const size_t before = atomic_fetch_add(&job->stdio->queued_bytes, job->arena.used_bytes);

    job->counted_bytes = job->arena.used_bytes;
    if (before != 0 && before + job->counted_bytes > job->stdio->options.waiting_bytes_max) {
        (void)sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                "too many bytes of requests are waiting; wait for an answer");
        return false;
    }
    return true;
}

/* A request that may take long goes to the pool, known by its id. */
static void queue(struct sirix_stdio_job *job)
{
    struct sirix_jsonrpc_message *message = &job->input.messages[0];
    struct sirix_error failure = {0};

    if (has_room(job, &failure) &&
        sirix_running_add(&job->stdio->running, message->id, &job->entry, &failure) == SIRIX_OK) {
        job->request.context.cancel = &job->entry->cancel;
        sirix_pool_add(&job->stdio->pool, &job->base);
        return;
    }
    refuse(job, &failure);
}

static void open_request(struct sirix_stdio_job *job)
{
    struct sirix_stdio *stdio = job->stdio;

    sirix_mcp_request_open(&job->request, stdio->server, &stdio->session, NULL, &job->arena,
                           &job->input.messages[0]);
    job->request.context.peer = &job->peer;
}

static void dispatch_batch(struct sirix_stdio_job *job)
{
    struct sirix_error failure = {0};

    if (!sirix_mcp_has_batches(job->stdio->session.context.version)) {
        (void)sirix_fail_reason(&failure, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                "batches are part of protocol revision %s alone",
                                sirix_mcp_version_name(SIRIX_MCP_2025_03_26));
        make_faulty(job, &failure);
        open_request(job);
        run_job(&job->base);
    } else if (!has_room(job, &failure)) {
        make_faulty(job, &failure);
        open_request(job);
        refuse(job, &failure);
    } else {
        job->session = job->stdio->session;
        job->session.is_copy = true;
        sirix_pool_add(&job->stdio->pool, &job->base);
    }
}

/* Decides who serves a job, which is given away. */
static void dispatch(struct sirix_stdio_job *job)
{
    const struct sirix_jsonrpc_message *message = &job->input.messages[0];

    if (job->input.is_batch) {
        dispatch_batch(job);
        return;
    }
    if (!is_request(message)) {
        take_message(job, message);
        sirix_stdio_free_job(job);
        return;
    }
    open_request(job);
    if (sirix_mcp_is_long(&job->request) || sirix_mcp_is_listening(&job->request)) {
        queue(job);
    } else {
        run_job(&job->base);
    }
}

/* A job for one line; with too_long, for one that was left out. */
static enum sirix_status take_line(struct sirix_stdio *stdio, struct sirix_bytes line,
                                   bool too_long, struct sirix_error *err)
{
    static const struct sirix_bytes empty_batch = {"[]", 2};
    struct sirix_error error = {0};
    struct sirix_stdio_job *job = calloc(1, sizeof(*job));

    if (job == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a message");
    }
    job->base.run = run_job;
    job->stdio = stdio;
    job->peer = sirix_stdio_peer();
    sirix_arena_init(&job->arena, SIRIX_JSONRPC_MEMORY_BYTES_MAX);
    enum sirix_status status =
        sirix_jsonrpc_read(&job->arena, too_long ? empty_batch : line, &job->input, err);
    if (status != SIRIX_OK) {
        sirix_stdio_free_job(job);
        return status;
    }
    if (too_long) {
        (void)sirix_fail_reason(&error, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                "a message is longer than the limit");
        make_faulty(job, &error);
    }
    dispatch(job);
    return SIRIX_OK;
}

static enum sirix_status take_lines(struct sirix_stdio *stdio, struct sirix_lines *lines,
                                    struct sirix_error *err)
{
    struct sirix_bytes line = {.data = NULL, .len = 0};
    enum sirix_lines_kind kind = SIRIX_LINES_MORE;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && (kind = sirix_lines_next(lines, &line)) != SIRIX_LINES_MORE) {
        status = take_line(stdio, line, kind == SIRIX_LINES_TOO_LONG, err);
    }
    return status;
}

enum ending { GOES_ON, INPUT_ENDED, STOPPED, BROKEN };

/* Takes what can be read. */
static enum sirix_status read_input(struct sirix_stdio *stdio, struct sirix_lines *lines,
                                    uint8_t *block, enum ending *out_ending,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    ssize_t got = read(stdio->options.in_fd, block, READ_BYTES);

    if (got < 0) {
        return errno == EINTR || errno == EAGAIN
                   ? SIRIX_OK
                   : sirix_fail(err, SIRIX_IO, "cannot read: %s", strerror(errno));
    }
    if (got == 0) {
        sirix_lines_end(lines);
        *out_ending = INPUT_ENDED;
    } else {
        status = sirix_lines_feed(lines, (struct sirix_bytes){block, (size_t)got}, err);
    }
    return status == SIRIX_OK ? take_lines(stdio, lines, err) : status;
}

/* The peer has closed its end and left answers unread: whether it still reads them. */
static bool is_reading(struct sirix_stdio *stdio)
{
    struct pollfd fds[] = {
        {.fd = stdio->options.stop_fd, .events = POLLIN},
        {.fd = sirix_output_event_fd(stdio->output), .events = POLLIN},
    };
    const uint64_t before = sirix_output_written_bytes(stdio->output);

    return poll(fds, 2, SIRIX_STDIO_UNREAD_GRACE_MS) != 0 ||
           sirix_output_written_bytes(stdio->output) != before;
}

/* Waits for what comes next and takes it. While too many answers wait, nothing new is read. */
static enum sirix_status step(struct sirix_stdio *stdio, struct sirix_lines *lines, uint8_t *block,
                              enum ending *out_ending, struct sirix_error *err)
{
    const bool is_full = sirix_output_is_full(stdio->output);
    struct pollfd fds[] = {
        {.fd = stdio->options.in_fd, .events = is_full ? 0 : POLLIN},
        {.fd = stdio->options.stop_fd, .events = POLLIN},
        {.fd = sirix_output_event_fd(stdio->output), .events = POLLIN},
    };

    if (poll(fds, 3, -1) < 0) {
        return errno == EINTR ? SIRIX_OK
                              : sirix_fail(err, SIRIX_IO, "cannot wait: %s", strerror(errno));
    }
    if (fds[2].revents != 0) {
        sirix_output_take_event(stdio->output);
    }
    if (sirix_output_is_broken(stdio->output)) {
        *out_ending = BROKEN;
    } else if (fds[1].revents != 0) {
        *out_ending = STOPPED;
    } else if (fds[2].revents != 0) {
        return SIRIX_OK;
    } else if (is_full) {
        *out_ending = is_reading(stdio) ? GOES_ON : INPUT_ENDED;
    } else if (fds[0].revents != 0) {
        return read_input(stdio, lines, block, out_ending, err);
    }
    return SIRIX_OK;
}

/* Lets calls finish, or makes them; false: one does not end. */
static bool finish_calls(struct sirix_stdio *stdio, enum ending ending)
{
    const struct sirix_settings *settings = stdio->server->settings;
    const uint64_t longest = settings->query_timeout_ms > settings->write_timeout_ms
                                 ? settings->query_timeout_ms
                                 : settings->write_timeout_ms;
    const uint32_t grace_ms = ending == STOPPED  ? (uint32_t)longest
                              : ending == BROKEN ? 0
                                                 : SIRIX_STDIO_END_GRACE_MS;

    sirix_mcp_server_end(stdio->server);
    if (sirix_pool_wait(&stdio->pool, grace_ms)) {
        return true;
    }
    sirix_running_stop(&stdio->running);
    return sirix_pool_wait(&stdio->pool, SIRIX_STDIO_CANCEL_GRACE_MS);
}

static enum sirix_status serve(struct sirix_stdio *stdio, struct sirix_error *err)
{
    enum ending ending = GOES_ON;
    struct sirix_lines lines;
    enum sirix_status status = SIRIX_OK;
    uint8_t *block = malloc(READ_BYTES);

    if (block == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for input");
    }
    sirix_lines_init(&lines, stdio->options.line_bytes_max);
    while (status == SIRIX_OK && ending == GOES_ON) {
        status = step(stdio, &lines, block, &ending, err);
    }
    sirix_lines_deinit(&lines);
    free(block);
    if (!finish_calls(stdio, ending)) {
        return sirix_fail(err, SIRIX_DEADLINE, "a call did not end when it was cancelled");
    }
    sirix_stdio_end_listeners(stdio, true);
    sirix_events_remove(stdio->server->events, &stdio->listener);
    if (!sirix_output_stop(stdio->output, SIRIX_STDIO_UNREAD_GRACE_MS)) {
        return sirix_fail(err, SIRIX_DEADLINE, "nobody read the last answers");
    }
    stdio->output = NULL;
    return status;
}

/* Starts what serving needs, and serves. */
static enum sirix_status start_and_serve(struct sirix_stdio *stdio, struct sirix_error *err)
{
    const size_t unread_max = stdio->options.output_bytes_max == 0
                                  ? SIRIX_STDIO_OUTPUT_BYTES_MAX
                                  : stdio->options.output_bytes_max;
    static const struct sirix_bytes nothing = {.data = NULL, .len = 0};
    enum sirix_status status =
        sirix_output_start(stdio->options.out_fd, unread_max, &stdio->output, err);

    if (status == SIRIX_OK) {
        status = sirix_events_add(stdio->server->events, &stdio->listener, nothing, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_pool_start(&stdio->pool, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = serve(stdio, err);
    if (status != SIRIX_DEADLINE) {
        sirix_pool_stop(&stdio->pool);
    }
    return status;
}

enum sirix_status sirix_stdio_run(const struct sirix_mcp_server *server,
                                  const struct sirix_stdio_options *options,
                                  struct sirix_error *err)
{
    /* On the heap: where a call does not end, its thread goes on using it. */
    struct sirix_stdio *stdio = calloc(1, sizeof(*stdio));

    if (stdio == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the transport");
    }
    stdio->server = server;
    stdio->options = *options;
    if (stdio->options.waiting_bytes_max == 0) {
        stdio->options.waiting_bytes_max = SIRIX_STDIO_WAITING_BYTES_MAX;
    }
    stdio->listener.tell = sirix_stdio_tell_session;
    stdio->session.listener = &stdio->listener;
    sirix_running_init(&stdio->running);
    (void)pthread_mutex_init(&stdio->mutex, NULL);
    enum sirix_status status = start_and_serve(stdio, err);
    if (status == SIRIX_DEADLINE) {
        return status;
    }
    if (stdio->output != NULL) {
        /* Nothing was sent. */
        (void)sirix_output_stop(stdio->output, 0);
    }
    sirix_events_remove(server->events, &stdio->listener);
    (void)pthread_mutex_destroy(&stdio->mutex);
    sirix_running_deinit(&stdio->running);
    free(stdio);
    return status;
}
