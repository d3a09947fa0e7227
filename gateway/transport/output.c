/* The thread that writes. */
#include "transport/output.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct line {
    struct line *next;
    uint8_t *data;
    size_t len;
};

struct sirix_output {
    int fd;
    int event_fd;
    size_t bytes_max;
    pthread_mutex_t mutex;
    pthread_cond_t work; /* A line came, or the end. */
    pthread_cond_t idle; /* Nothing is left to write. */
    struct line *first;
    struct line *last;
    size_t bytes; /* Of all lines that are not written, the one that is being written included. */
    atomic_ullong written_bytes;
    bool is_writing;
    bool is_broken;
    bool is_ending;
    pthread_t thread;
};

static void line_free(struct line *line)
{
    free(line->data);
    free(line);
}

static void tell(const struct sirix_output *output)
{
    const uint64_t one = 1;

    /* Full is as good as told; nothing else can fail. */
    (void)!write(output->event_fd, &one, sizeof(one));
}

/* Whether all of a line went out. */
static bool write_line(struct sirix_output *output, const struct line *line)
{
    const int fd = output->fd;
    size_t done = 0;

    while (done < line->len) {
        ssize_t written = write(fd, line->data + done, line->len - done);
        struct pollfd wait = {.fd = fd, .events = POLLOUT};

        if (written >= 0) {
            done += (size_t)written;
            (void)atomic_fetch_add(&output->written_bytes, (size_t)written);
        } else if (errno == EAGAIN) {
            /* A descriptor that somebody else made non-blocking. */
            (void)poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* What waits will never be read. Called with the mutex. */
static void drop_all(struct sirix_output *output)
{
    while (output->first != NULL) {
        struct line *line = output->first;

        output->first = line->next;
        line_free(line);
    }
    output->last = NULL;
    output->bytes = 0;
}

static void *run(void *context)
{
    struct sirix_output *output = context;

    (void)pthread_mutex_lock(&output->mutex);
    for (;;) {
        while (output->first == NULL && !output->is_ending) {
            (void)pthread_cond_wait(&output->work, &output->mutex);
        }
        struct line *line = output->first;
        if (line == NULL) {
            break;
        }
        output->first = line->next;
        if (output->first == NULL) {
            output->last = NULL;
        }
        output->is_writing = true;
        (void)pthread_mutex_unlock(&output->mutex);
        const bool is_written = write_line(output, line);
        const size_t len = line->len;
        line_free(line);
        (void)pthread_mutex_lock(&output->mutex);
        const bool was_full = output->bytes > output->bytes_max;
        output->is_writing = false;
        output->bytes -= len;
        if (!is_written) {
            output->is_broken = true;
            drop_all(output);
        }
        if (!is_written || (was_full && output->bytes <= output->bytes_max)) {
            tell(output);
        }
        if (output->first == NULL) {
            (void)pthread_cond_broadcast(&output->idle);
        }
    }
    (void)pthread_mutex_unlock(&output->mutex);
    return NULL;
}

static void output_free(struct sirix_output *output)
{
    drop_all(output);
    if (output->event_fd >= 0) {
        (void)close(output->event_fd);
    }
    (void)pthread_cond_destroy(&output->work);
    (void)pthread_cond_destroy(&output->idle);
    (void)pthread_mutex_destroy(&output->mutex);
    free(output);
}

enum sirix_status sirix_output_start(int fd, size_t bytes_max, struct sirix_output **out,
                                     struct sirix_error *err)
{
    struct sirix_output *output = calloc(1, sizeof(*output));
    pthread_condattr_t attributes;

    if (output == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the output");
    }
    output->fd = fd;
    output->bytes_max = bytes_max;
    (void)pthread_mutex_init(&output->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&output->work, &attributes);
    (void)pthread_cond_init(&output->idle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    output->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (output->event_fd < 0 || pthread_create(&output->thread, NULL, run, output) != 0) {
        output_free(output);
        return sirix_fail(err, SIRIX_IO, "cannot start the thread that writes");
    }
    *out = output;
    return SIRIX_OK;
}

enum sirix_status sirix_output_send(struct sirix_output *output, struct sirix_buf *line,
                                    struct sirix_error *err)
{
    struct line *added = calloc(1, sizeof(*added));

    if (added == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a line");
    }
    sirix_buf_take(line, &added->data, &added->len);
    (void)pthread_mutex_lock(&output->mutex);
    const bool is_broken = output->is_broken;
    if (!is_broken) {
        if (output->last == NULL) {
            output->first = added;
        } else {
            output->last->next = added;
        }
        output->last = added;
        output->bytes += added->len;
        (void)pthread_cond_signal(&output->work);
    }
    (void)pthread_mutex_unlock(&output->mutex);
    if (is_broken) {
        line_free(added);
    }
    return SIRIX_OK;
}

bool sirix_output_is_full(struct sirix_output *output)
{
    (void)pthread_mutex_lock(&output->mutex);
    const bool is_full = output->bytes > output->bytes_max;
    (void)pthread_mutex_unlock(&output->mutex);
    return is_full;
}

bool sirix_output_is_broken(struct sirix_output *output)
{
    (void)pthread_mutex_lock(&output->mutex);
    const bool is_broken = output->is_broken;
    (void)pthread_mutex_unlock(&output->mutex);
    return is_broken;
}

int sirix_output_event_fd(const struct sirix_output *output)
{
    return output->event_fd;
}

void sirix_output_take_event(struct sirix_output *output)
{
    uint64_t count = 0;

    /* Nothing to read is nothing to take. */
    (void)!read(output->event_fd, &count, sizeof(count));
}

uint64_t sirix_output_written_bytes(struct sirix_output *output)
{
    return atomic_load(&output->written_bytes);
}

static struct timespec after_ms(uint32_t ms)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* Waits until nothing is left; false when nothing was written for so long. Called with the mutex. */
static bool drain(struct sirix_output *output, uint32_t quiet_ms)
{
    uint64_t before = atomic_load(&output->written_bytes);
    bool goes_on = true;

    while (goes_on && (output->first != NULL || output->is_writing)) {
        const struct timespec until = after_ms(quiet_ms);

        if (pthread_cond_timedwait(&output->idle, &output->mutex, &until) == ETIMEDOUT) {
            const uint64_t after = atomic_load(&output->written_bytes);

            goes_on = after != before;
            before = after;
        }
    }
    return output->first == NULL && !output->is_writing;
}

bool sirix_output_stop(struct sirix_output *output, uint32_t quiet_ms)
{
    (void)pthread_mutex_lock(&output->mutex);
    const bool is_idle = drain(output, quiet_ms);
    output->is_ending = is_idle;
    (void)pthread_cond_signal(&output->work);
    (void)pthread_mutex_unlock(&output->mutex);
    if (!is_idle) {
        return false;
    }
    (void)pthread_join(output->thread, NULL);
    output_free(output);
    return true;
}
