/* Signals that end the program. */
#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const int taken_signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { SIGNAL_COUNT = sizeof(taken_signals) / sizeof(taken_signals[0]) };

/* A signal has no context to give to its handler, so there is one of these a process. */
static struct {
    bool started;
    struct sirix_call_cancel *cancel;
    pthread_t watcher;
    int wake_fd; /* An eventfd that becomes readable, and stays so. */
    atomic_bool interrupted;
    atomic_bool stopping;
    struct sigaction before[SIGNAL_COUNT];
} interrupt = {.wake_fd = -1};

static void wake(void)
{
    static const uint64_t one = 1;
    int saved = errno;

    /* The counter never overflows: it is written twice at most. */
    ssize_t written = write(interrupt.wake_fd, &one, sizeof(one));
    (void)written;
    errno = saved;
}

static void take_signal(int number)
{
    (void)number;
    if (atomic_exchange(&interrupt.interrupted, true)) {
        _exit(sirix_status_exit_code(SIRIX_CANCELLED));
    }
    wake();
}

static void wait_for(struct pollfd *fds, nfds_t count)
{
    while (poll(fds, count, -1) < 0 && errno == EINTR) {
    }
}

static void *watch(void *context)
{
    struct pollfd fd = {.fd = interrupt.wake_fd, .events = POLLIN};

    (void)context;
    wait_for(&fd, 1);
    if (!atomic_load(&interrupt.stopping)) {
        sirix_call_cancel_trigger(interrupt.cancel);
    }
    return NULL;
}

static void take_signals(void)
{
    struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};

    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        (void)sigaction(taken_signals[i], NULL, &interrupt.before[i]);
        if (interrupt.before[i].sa_handler != SIG_IGN) {
            (void)sigaction(taken_signals[i], &action, NULL);
        }
    }
}

enum sirix_status sirixctl_interrupt_start(struct sirix_call_cancel **out_cancel,
                                           struct sirix_error *err)
{
    struct sirix_call_cancel *cancel = NULL;
    int rc = 0;
    enum sirix_status status = sirix_call_cancel_new(&cancel, err);

    if (status != SIRIX_OK) {
        return status;
    }
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        status = sirix_fail(err, SIRIX_IO, "make an eventfd: %s", strerror(errno));
        goto out;
    }
    interrupt.wake_fd = fd;
    interrupt.cancel = cancel;
    atomic_store(&interrupt.interrupted, false);
    atomic_store(&interrupt.stopping, false);
    rc = pthread_create(&interrupt.watcher, NULL, watch, NULL);
    if (rc != 0) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "start a thread: %s", strerror(rc));
        goto out;
    }
    interrupt.started = true;
    take_signals();
    *out_cancel = cancel;
    cancel = NULL;
    fd = -1;
out:
    if (fd >= 0) {
        interrupt.wake_fd = -1;
        (void)close(fd);
    }
    sirix_call_cancel_free(cancel);
    return status;
}

void sirixctl_interrupt_stop(void)
{
    if (!interrupt.started) {
        return;
    }
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        (void)sigaction(taken_signals[i], &interrupt.before[i], NULL);
    }
    atomic_store(&interrupt.stopping, true);
    wake();
    (void)pthread_join(interrupt.watcher, NULL);
    (void)close(interrupt.wake_fd);
    sirix_call_cancel_free(interrupt.cancel);
    interrupt.wake_fd = -1;
    interrupt.cancel = NULL;
    interrupt.started = false;
}

bool sirixctl_interrupt_wait_readable(int fd)
{
    struct pollfd fds[] = {
        {.fd = fd, .events = POLLIN},
        {.fd = interrupt.wake_fd, .events = POLLIN}, /* Left out by poll() where it is -1. */
    };

    wait_for(fds, 2);
    return fds[1].revents == 0;
}
