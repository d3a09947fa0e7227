/* The transport over pipes, in front of a made-up backend: its limits and its end. */
#include "unit/gateway/gateway_help.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "transport/stdio.h"
#include "unit/gateway/fake_backend.h"

enum { LIMIT_MS = 30 * 1000, LINE_BYTES = 4096 };

/* --- One transport a test --------------------------------------------------------------------- */

static struct sirix_settings settings;
static struct sirix_mcp_registry registry;
static struct sirix_mcp_server server;
static struct sirix_stdio_options options;
static struct sirix_error outcome_error;
static enum sirix_status outcome;
static int in_fd; /* Our ends. */
static int out_fd;
static pthread_t thread;

static void *run(void *context)
{
    (void)context;
    outcome = sirix_stdio_run(&server, &options, &outcome_error);
    return NULL;
}

static void start(const struct sirix_stdio_options *limits)
{
    int in[2];
    int out[2];

    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    options = *limits;
    options.in_fd = in[0];
    options.out_fd = out[1];
    options.stop_fd = eventfd(0, EFD_CLOEXEC);
    in_fd = in[1];
    out_fd = out[0];
    fake = (struct fake_backend){.sentence = "made up", .before = fake.before};
    outcome_error = (struct sirix_error){0};
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    registry = sirix_mcp_product();
    assert_int_equal(sirix_mcp_server_init(&server, &settings, &registry, NULL, NULL), SIRIX_OK);
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
}

static void tell_to_stop(void)
{
    const uint64_t one = 1;

    assert_int_equal(write(options.stop_fd, &one, sizeof(one)), sizeof(one));
}

/* The transport has ended by itself or is told to; false: it did not within the limit. */
static bool join(void)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LIMIT_MS / 1000;
    return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

static void clean_up(void)
{
    (void)close(in_fd);
    (void)close(out_fd);
    (void)close(options.in_fd);
    if (outcome != SIRIX_DEADLINE) {
        /* Else a thread is still left with it. */
        (void)close(options.out_fd);
    }
    (void)close(options.stop_fd);
    sirix_mcp_server_deinit(&server);
    sirix_settings_deinit(&settings);
    fake.before = NULL;
}

static void put(const char *chars, size_t len)
{
    while (len != 0) {
        ssize_t done = write(in_fd, chars, len);

        assert_true(done > 0);
        chars += done;
        len -= (size_t)done;
    }
}

static void put_line(const char *line)
{
    put(line, strlen(line));
    put("\n", 1);
}

/* The next line of the output; "" at its end. */
static const char *get_line(void)
{
    static char line[LINE_BYTES];
    struct pollfd wait = {.fd = out_fd, .events = POLLIN};
    size_t len = 0;

    while (len + 1 < sizeof(line) && (len == 0 || line[len - 1] != '\n')) {
        assert_int_equal(poll(&wait, 1, LIMIT_MS), 1);
        if (read(out_fd, line + len, 1) != 1) {
            break;
        }
        len++;
    }
    line[len] = '\0';
    return line;
}

static void initialize(void)
{
    put_line("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"2025-03-26\"}}");
    assert_non_null(strstr(get_line(), "\"id\":0,\"result\""));
}

/* --- A backend that waits ---------------------------------------------------------------------- */

static sem_t has_begun;
static sem_t may_go_on;

static void wait_for_leave(void)
{
    (void)sem_post(&has_begun);
    (void)sem_wait(&may_go_on);
}

/* A call of a tool; whatever the padding is for, it is memory that waits with the call. */
static void put_call(const char *id, size_t padding)
{
    char *pad = malloc(padding + 1);

    assert_non_null(pad);
    memset(pad, 'x', padding);
    put("{\"jsonrpc\":\"2.0\",\"id\":", strlen("{\"jsonrpc\":\"2.0\",\"id\":"));
    put(id, strlen(id));
    put(",\"pad\":\"", strlen(",\"pad\":\""));
    put(pad, padding);
    put_line("\",\"method\":\"tools/call\",\"params\":{\"name\":\"sirix_list_databases\","
             "\"arguments\":{\"limit\":1}}}");
    free(pad);
}

static void begin_waiting(void)
{
    assert_int_equal(sem_init(&has_begun, 0, 0), 0);
    assert_int_equal(sem_init(&may_go_on, 0, 0), 0);
    fake.before = wait_for_leave;
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void a_peer_that_reads_nothing_does_not_hold_up_the_end(void **state)
{
    const struct sirix_stdio_options limits = {.output_bytes_max = 1024};
    int written = 0;

    (void)state;
    start(&limits);
    initialize();
    /* As long as the transport reads; at last the pipe of its input is full. */
    assert_int_equal(fcntl(in_fd, F_SETFL, O_NONBLOCK), 0);
    for (struct pollfd wait = {.fd = in_fd, .events = POLLOUT}; poll(&wait, 1, 300) == 1;) {
        static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

        written += write(in_fd, line, sizeof(line) - 1) == sizeof(line) - 1;
    }
    assert_true(written > 1000);
    tell_to_stop();
    assert_true(join());

    assert_int_equal(outcome, SIRIX_DEADLINE);
    assert_non_null(strstr(outcome_error.text, "read"));
    clean_up();
}

static void a_peer_that_reads_nothing_and_goes_ends_it(void **state)
{
    const struct sirix_stdio_options limits = {.output_bytes_max = 1024};

    (void)state;
    start(&limits);
    initialize();
    assert_int_equal(fcntl(in_fd, F_SETFL, O_NONBLOCK), 0);
    for (struct pollfd wait = {.fd = in_fd, .events = POLLOUT}; poll(&wait, 1, 300) == 1;) {
        static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

        (void)!write(in_fd, line, sizeof(line) - 1);
    }
    (void)close(in_fd);
    in_fd = -1;
    assert_true(join());

    assert_int_equal(outcome, SIRIX_DEADLINE);
    clean_up();
}

static void what_was_held_back_comes_when_it_is_read(void **state)
{
    const struct sirix_stdio_options limits = {.output_bytes_max = 1024};
    enum { PINGS = 20000 };
    char line[128];
    int next = 0;

    (void)state;
    start(&limits);
    initialize();
    for (int i = 0; i < PINGS; i++) {
        struct pollfd ready[] = {{.fd = in_fd, .events = POLLOUT},
                                 {.fd = out_fd, .events = POLLIN}};

        /* Reads only when it cannot write. */
        assert_int_equal(fcntl(in_fd, F_SETFL, O_NONBLOCK), 0);
        int len = snprintf(line, sizeof(line),
                           "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i);
        while (write(in_fd, line, (size_t)len) != len) {
            char wanted[64];

            assert_true(poll(ready, 2, LIMIT_MS) >= 1);
            (void)snprintf(wanted, sizeof(wanted), "{\"jsonrpc\":\"2.0\",\"id\":%d,", next++);
            assert_non_null(strstr(get_line(), wanted));
        }
    }
    (void)close(in_fd);
    in_fd = -1;
    for (; next < PINGS; next++) {
        (void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%d,", next);
        assert_non_null(strstr(get_line(), line));
    }
    assert_true(join());
    assert_int_equal(outcome, SIRIX_OK);
    clean_up();
}

static void calls_are_refused_when_too_many_bytes_wait(void **state)
{
    const struct sirix_stdio_options limits = {.waiting_bytes_max = 1024 * 1024};

    (void)state;
    begin_waiting();
    start(&limits);
    initialize();
    /* One alone may be as long as it is. */
    put_call("1", 3 * 1024 * 1024);
    assert_int_equal(sem_wait(&has_begun), 0);
    put_call("2", 10);
    const char *line = get_line();
    assert_non_null(strstr(line, "\"id\":2,\"error\":{\"code\":-32008"));
    assert_non_null(strstr(line, "size_limit"));
    put_line("[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]");
    line = get_line();
    assert_non_null(strstr(line, "\"id\":null,\"error\":{\"code\":-32008"));
    put_line("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");
    assert_non_null(strstr(get_line(), "\"id\":4,\"result\":{}"));

    assert_int_equal(sem_post(&may_go_on), 0);
    while (strchr(get_line(), '\n') == NULL) {
    }
    /* What was counted is given back. */
    assert_int_equal(sem_post(&may_go_on), 0);
    for (bool is_served = false; !is_served;) {
        put_call("5", 10);
        line = get_line();
        is_served = strstr(line, "\"id\":5,\"error\"") == NULL;
    }
    (void)close(in_fd);
    in_fd = -1;
    assert_true(join());
    assert_int_equal(outcome, SIRIX_OK);
    clean_up();
}

static void calls_that_run_are_finished_before_the_end(void **state)
{
    const struct sirix_stdio_options limits = {.line_bytes_max = 0};

    (void)state;
    begin_waiting();
    start(&limits);
    initialize();
    put_call("1", 10);
    assert_int_equal(sem_wait(&has_begun), 0);
    tell_to_stop();
    assert_int_equal(sem_post(&may_go_on), 0);
    assert_non_null(strstr(get_line(), "\"id\":1,\"result\""));
    assert_true(join());
    assert_int_equal(outcome, SIRIX_OK);
    clean_up();
}

static void a_call_that_is_silent_tells_that_it_goes_on(void **state)
{
    const struct sirix_stdio_options limits = {.line_bytes_max = 0};
    unsigned long last = 0;

    (void)state;
    begin_waiting();
    start(&limits);
    server.heartbeat->interval_ms = 40;
    initialize();
    put_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
             "\"sirix_list_databases\",\"arguments\":{\"limit\":1},\"_meta\":{"
             "\"progressToken\":\"p\"}}}");
    assert_int_equal(sem_wait(&has_begun), 0);
    for (int i = 0; i < 5; i++) {
        const char *line = get_line();
        const char *progress = strstr(line, "\"progress\":");

        assert_non_null(strstr(line, "\"progressToken\":\"p\""));
        assert_non_null(progress);
        const unsigned long now = strtoul(progress + strlen("\"progress\":"), NULL, 10);
        assert_true(i == 0 || now > last);
        last = now;
    }
    assert_int_equal(sem_post(&may_go_on), 0);
    while (strstr(get_line(), "\"id\":1,\"result\"") == NULL) {
    }
    (void)close(in_fd);
    in_fd = -1;
    assert_true(join());
    assert_int_equal(outcome, SIRIX_OK);
    clean_up();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_reads_nothing_does_not_hold_up_the_end),
        cmocka_unit_test(a_peer_that_reads_nothing_and_goes_ends_it),
        cmocka_unit_test(what_was_held_back_comes_when_it_is_read),
        cmocka_unit_test(calls_are_refused_when_too_many_bytes_wait),
        cmocka_unit_test(calls_that_run_are_finished_before_the_end),
        cmocka_unit_test(a_call_that_is_silent_tells_that_it_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
