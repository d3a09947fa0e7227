/* MCP over stdin and stdout. */
#include "transport/stdio.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "mcp/arguments.h"
#include "transport/lines.h"
#include "transport/output.h"
#include "transport/pool.h"
#include "transport/running.h"

enum { READ_BYTES = 64 * 1024 };

struct stdio {
    const struct sirix_mcp_server *server;
    struct sirix_stdio_options options;
    struct sirix_mcp_context context; /* Of the connection; the reading thread's. */
    struct sirix_pool pool;
    struct sirix_running running;
    struct sirix_output *output;
    atomic_size_t queued_bytes;
};

/* One line of input: what it says, and everything made of it. */
struct job {
    struct sirix_pool_job base;
    struct stdio *stdio;
    struct sirix_arena arena;
    struct sirix_mcp_context context; /* As it was when the line came. */
    struct sirix_jsonrpc_input input;
    struct sirix_running_entry *entry; /* Of a single request; NULL for a batch. */
    size_t counted_bytes;              /* In queued_bytes. */
};

/* --- Output ------------------------------------------------------------------------------------- */

static void log_lost(const struct sirix_error *error)
{
    sirix_log_error(SIRIX_LOG_ERROR, "an answer could not be made", error);
}

/* Sends what was made, if anything, as a line; a failure so far or now is logged. */
static void send_line(struct stdio *stdio, enum sirix_status status, struct sirix_buf *out,
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

/* --- Serving ------------------------------------------------------------------------------------ */

static bool is_method(const struct sirix_jsonrpc_message *message, const char *name)
{
    return !message->is_faulty && sirix_bytes_equal(message->method, sirix_bytes_from_str(name));
}

static void take_notification(struct job *job, const struct sirix_jsonrpc_message *message)
{
    struct sirix_bytes id = {.data = NULL, .len = 0};

    if (is_method(message, "notifications/cancelled") &&
        sirix_jsonrpc_id(&job->arena, sirix_arguments_member(message->params, "requestId"), &id,
                         NULL) == SIRIX_OK &&
        id.len != 0) {
        sirix_running_cancel(&job->stdio->running, id);
    }
}

/* Appends the refusal of one request. */
static enum sirix_status refuse(struct sirix_buf *out, struct sirix_bytes id, int code,
                                const struct sirix_error *error, struct sirix_error *err)
{
    return sirix_jsonrpc_write_error(out, id, code, error, err);
}

/* Appends the answer to one member of a batch, if it has one. */
static enum sirix_status answer_member(struct job *job, const struct sirix_jsonrpc_message *message,
                                       struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_running_entry *entry = NULL;
    struct sirix_mcp_context context = job->context;
    struct sirix_error failure = {0};
    const size_t start = out->len;

    if (!message->is_faulty && message->kind != SIRIX_JSONRPC_REQUEST) {
        take_notification(job, message);
        return SIRIX_OK;
    }
    enum sirix_status status = out->len == 1 ? SIRIX_OK : sirix_buf_append_u8(out, ',', err);
    if (status != SIRIX_OK || message->is_faulty) {
        return status == SIRIX_OK
                   ? sirix_mcp_answer(job->stdio->server, &context, &job->arena, message, out, err)
                   : status;
    }
    if (sirix_running_add(&job->stdio->running, message->id, &entry, &failure) != SIRIX_OK) {
        return refuse(out, message->id, sirix_status_jsonrpc_code(failure.status), &failure, err);
    }
    context.cancel = entry->cancel;
    status = sirix_mcp_answer(job->stdio->server, &context, &job->arena, message, out, err);
    if (sirix_running_remove(&job->stdio->running, entry)) {
        out->len = start;
    }
    return status;
}

static enum sirix_status answer_batch(struct job *job, struct sirix_buf *out,
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

static void free_job(struct job *job)
{
    (void)atomic_fetch_sub(&job->stdio->queued_bytes, job->counted_bytes);
    sirix_arena_deinit(&job->arena);
    free(job);
}

/* Answers what the job holds, on whatever thread. */
static void run_job(struct sirix_pool_job *base)
{
    struct job *job = (struct job *)base;
    struct stdio *stdio = job->stdio;
    struct sirix_error error = {0};
    struct sirix_buf out;
    bool is_cancelled = false;

    sirix_buf_init(&out, SIZE_MAX);
    job->context.cancel = job->entry != NULL ? job->entry->cancel : NULL;
    enum sirix_status status = job->input.is_batch
                                   ? answer_batch(job, &out, &error)
                                   : sirix_mcp_answer(stdio->server, &job->context, &job->arena,
                                                      &job->input.messages[0], &out, &error);
    if (job->entry != NULL) {
        is_cancelled = sirix_running_remove(&stdio->running, job->entry);
    }
    if (is_cancelled) {
        sirix_buf_clear(&out);
    }
    send_line(stdio, status, &out, &error);
    sirix_buf_deinit(&out);
    free_job(job);
}

/* --- Input -------------------------------------------------------------------------------------- */

/* Makes the only message of a job one that is refused. */
static void make_faulty(struct job *job, int code, const struct sirix_error *error)
{
    struct sirix_jsonrpc_message *message = &job->input.messages[0];

    message->is_faulty = true;
    message->fault.code = code;
    message->fault.error = *error;
}

/* One refusal for a whole batch. */
static void refuse_batch(struct job *job, int code, const struct sirix_error *error)
{
    job->input.is_batch = false;
    job->input.count = 1;
    make_faulty(job, code, error);
    job->input.messages[0].id = (struct sirix_bytes){.data = NULL, .len = 0};
}

/* Whether there is room for one more message to wait; one alone always has. */
static bool has_room(struct job *job, struct sirix_error *err)
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
static void queue(struct job *job)
{
    struct sirix_jsonrpc_message *message = &job->input.messages[0];
    struct sirix_error failure = {0};

    if (has_room(job, &failure) &&
        sirix_running_add(&job->stdio->running, message->id, &job->entry, &failure) == SIRIX_OK) {
        sirix_pool_add(&job->stdio->pool, &job->base);
        return;
    }
    make_faulty(job,
                failure.status == SIRIX_ALREADY_EXISTS ? SIRIX_JSONRPC_INVALID_REQUEST
                                                       : sirix_status_jsonrpc_code(failure.status),
                &failure);
    run_job(&job->base);
}

/* Decides who serves a job, which is given away. */
static void dispatch(struct job *job)
{
    const struct sirix_jsonrpc_message *message = &job->input.messages[0];
    struct stdio *stdio = job->stdio;
    struct sirix_error failure = {0};

    if (job->input.is_batch && !sirix_mcp_has_batches(job->context.version)) {
        (void)sirix_fail_reason(&failure, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                "batches are part of protocol revision %s alone",
                                sirix_mcp_version_name(SIRIX_MCP_2025_03_26));
        refuse_batch(job, SIRIX_JSONRPC_INVALID_REQUEST, &failure);
    } else if (job->input.is_batch && !has_room(job, &failure)) {
        refuse_batch(job, sirix_status_jsonrpc_code(failure.status), &failure);
    } else if (job->input.is_batch) {
        sirix_pool_add(&stdio->pool, &job->base);
        return;
    }
    if (!message->is_faulty && message->kind != SIRIX_JSONRPC_REQUEST) {
        take_notification(job, message);
        free_job(job);
    } else if (!message->is_faulty && sirix_mcp_is_long(message)) {
        queue(job);
    } else if (is_method(message, "initialize")) {
        struct sirix_buf out;
        struct sirix_error error = {0};

        sirix_buf_init(&out, SIZE_MAX);
        enum sirix_status status =
            sirix_mcp_answer(stdio->server, &stdio->context, &job->arena, message, &out, &error);
        send_line(stdio, status, &out, &error);
        sirix_buf_deinit(&out);
        free_job(job);
    } else {
        run_job(&job->base);
    }
}

/* A job for one line; with too_long, for one that was left out. */
static enum sirix_status take_line(struct stdio *stdio, struct sirix_bytes line, bool too_long,
                                   struct sirix_error *err)
{
    static const struct sirix_bytes empty_batch = {"[]", 2};
    struct sirix_error error = {0};
    struct job *job = calloc(1, sizeof(*job));

    if (job == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a message");
    }
    job->base.run = run_job;
    job->stdio = stdio;
    job->context = stdio->context;
    sirix_arena_init(&job->arena, SIRIX_JSONRPC_MEMORY_BYTES_MAX);
    enum sirix_status status =
        sirix_jsonrpc_read(&job->arena, too_long ? empty_batch : line, &job->input, err);
    if (status != SIRIX_OK) {
        free_job(job);
        return status;
    }
    if (too_long) {
        (void)sirix_fail_reason(&error, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                "a message is longer than the limit");
        make_faulty(job, SIRIX_JSONRPC_INVALID_REQUEST, &error);
    }
    dispatch(job);
    return SIRIX_OK;
}

static enum sirix_status take_lines(struct stdio *stdio, struct sirix_lines *lines,
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
static enum sirix_status read_input(struct stdio *stdio, struct sirix_lines *lines, uint8_t *block,
                                    enum ending *out_ending, struct sirix_error *err)
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
static bool is_reading(struct stdio *stdio)
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
static enum sirix_status step(struct stdio *stdio, struct sirix_lines *lines, uint8_t *block,
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
static bool finish_calls(struct stdio *stdio, enum ending ending)
{
    const struct sirix_settings *settings = stdio->server->settings;
    const uint64_t longest = settings->query_timeout_ms > settings->write_timeout_ms
                                 ? settings->query_timeout_ms
                                 : settings->write_timeout_ms;
    const uint32_t grace_ms = ending == STOPPED  ? (uint32_t)longest
                              : ending == BROKEN ? 0
                                                 : SIRIX_STDIO_END_GRACE_MS;

    if (sirix_pool_wait(&stdio->pool, grace_ms)) {
        return true;
    }
    sirix_running_stop(&stdio->running);
    return sirix_pool_wait(&stdio->pool, SIRIX_STDIO_CANCEL_GRACE_MS);
}

static enum sirix_status serve(struct stdio *stdio, struct sirix_error *err)
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
    if (!sirix_output_stop(stdio->output, SIRIX_STDIO_UNREAD_GRACE_MS)) {
        return sirix_fail(err, SIRIX_DEADLINE, "nobody read the last answers");
    }
    stdio->output = NULL;
    return status;
}

enum sirix_status sirix_stdio_run(const struct sirix_mcp_server *server,
                                  const struct sirix_stdio_options *options,
                                  struct sirix_error *err)
{
    /* On the heap: where a call does not end, its thread goes on using it. */
    struct stdio *stdio = calloc(1, sizeof(*stdio));

    if (stdio == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the transport");
    }
    stdio->server = server;
    stdio->options = *options;
    if (stdio->options.waiting_bytes_max == 0) {
        stdio->options.waiting_bytes_max = SIRIX_STDIO_WAITING_BYTES_MAX;
    }
    sirix_running_init(&stdio->running);
    enum sirix_status status = sirix_output_start(
        options->out_fd,
        options->output_bytes_max == 0 ? SIRIX_STDIO_OUTPUT_BYTES_MAX : options->output_bytes_max,
        &stdio->output, err);
    if (status == SIRIX_OK) {
        status = sirix_pool_start(&stdio->pool, err);
        if (status == SIRIX_OK) {
            status = serve(stdio, err);
            if (status == SIRIX_DEADLINE) {
                return status;
            }
            sirix_pool_stop(&stdio->pool);
        }
    }
    if (stdio->output != NULL) {
        /* Nothing was sent. */
        (void)sirix_output_stop(stdio->output, 0);
    }
    sirix_running_deinit(&stdio->running);
    free(stdio);
    return status;
}
