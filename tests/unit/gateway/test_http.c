/* The HTTP transport over raw sockets, in front of a made-up backend: what clients do to it. */
#include "unit/gateway/gateway_help.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "transport/http.h"
#include "transport/http_address.h"
#include "unit/gateway/fake_backend.h"

enum { LIMIT_MS = 30 * 1000, ANSWER_BYTES = 256 * 1024, SLOW_MS = 300 };

/* --- One server a test ------------------------------------------------------------------------ */

static struct sirix_settings settings;
static struct sirix_mcp_registry registry;
static struct sirix_mcp_server server;
static struct sirix_http_options options;
static struct sirix_error outcome_error;
static enum sirix_status outcome;
static pthread_t thread;
static uint16_t port;

static void *run(void *context)
{
    (void)context;
    outcome = sirix_http_run(&server, &options, &outcome_error);
    return NULL;
}

static void start(const struct sirix_http_options *limits)
{
    char url[128] = "";
    size_t len = 0;
    int ready[2];

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    options = *limits;
    options.listen = "127.0.0.1:0";
    options.stop_fd = eventfd(0, EFD_CLOEXEC);
    options.ready_fd = ready[1];
    fake = (struct fake_backend){.sentence = "made up", .before = fake.before};
    registry = sirix_mcp_product();
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    assert_int_equal(sirix_mcp_server_init(&server, &settings, &registry, NULL, NULL), SIRIX_OK);
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    while (len + 1 < sizeof(url) && read(ready[0], url + len, 1) == 1) {
        len++;
    }
    (void)close(ready[0]);
    const char *colon = strrchr(url, ':');
    assert_non_null(colon);
    port = (uint16_t)strtoul(colon + 1, NULL, 10);
    assert_int_not_equal(port, 0);
}

static void stop(void)
{
    const uint64_t one = 1;

    assert_int_equal(write(options.stop_fd, &one, sizeof(one)), sizeof(one));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(outcome, SIRIX_OK);
    (void)close(options.stop_fd);
    sirix_mcp_server_deinit(&server);
    sirix_settings_deinit(&settings);
    fake.before = NULL;
}

static int dial(void)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* False when the server has closed the connection. */
static bool put(int fd, const char *text_to_send, size_t len)
{
    while (len != 0) {
        ssize_t done = send(fd, text_to_send, len, MSG_NOSIGNAL);

        if (done <= 0) {
            return false;
        }
        text_to_send += done;
        len -= (size_t)done;
    }
    return true;
}

static char answer[ANSWER_BYTES];
static size_t answer_len;

/* Reads until the text is there count times; false: the connection ended before. */
static bool wait_for(int fd, const char *wanted, int count)
{
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        const char *at = answer;
        int found = 0;

        answer[answer_len] = '\0';
        while (found < count && (at = strstr(at, wanted)) != NULL) {
            at += strlen(wanted);
            found++;
        }
        if (found == count) {
            return true;
        }
        assert_int_equal(poll(&wait, 1, LIMIT_MS), 1);
        ssize_t got = recv(fd, answer + answer_len, sizeof(answer) - answer_len - 1, 0);
        if (got <= 0) {
            return false;
        }
        answer_len += (size_t)got;
    }
}

/* Everything until the server closes. */
static void wait_for_end(int fd)
{
    assert_false(wait_for(fd, "\x01 that never comes", 1));
}

static void forget(void)
{
    answer_len = 0;
    answer[0] = '\0';
}

static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

/* A whole request; more is one or more header lines. */
static size_t make_post(char *out, size_t size, const char *more, const char *body)
{
    return (size_t)snprintf(out, size,
                            "POST /mcp HTTP/1.1\r\nHost: localhost:%u\r\n"
                            "Content-Type: application/json\r\n"
                            "Accept: application/json, text/event-stream\r\n%s"
                            "Content-Length: %zu\r\n\r\n%s",
                            port, more, strlen(body), body);
}

static void ask(int fd, const char *more, const char *body)
{
    char text_to_send[8192];
    const size_t len = make_post(text_to_send, sizeof(text_to_send), more, body);

    assert_true(len < sizeof(text_to_send));
    /* Where the server has closed already, reading finds out. */
    (void)put(fd, text_to_send, len);
}

static void expect_service(void)
{
    const int fd = dial();

    forget();
    ask(fd, "", ping);
    assert_true(wait_for(fd, "\"result\":{}}", 1));
    (void)close(fd);
}

/* --- Names ------------------------------------------------------------------------------------- */

static void hosts_and_origins_are_ours_or_not(void **state)
{
    static const struct {
        const char *listen;
        const char *host;
        bool is_ours;
    } HOSTS[] = {
        {"127.0.0.1:8760", "127.0.0.1", true},
        {"127.0.0.1:8760", "127.0.0.1:8760", true},
        {"127.0.0.1:8760", "localhost:9", true},
        {"127.0.0.1:8760", "LOCALHOST", true},
        {"127.0.0.1:8760", "[::1]:8760", true},
        {"127.0.0.1:8760", "named.example", true},
        {"127.0.0.1:8760", "evil.example", false},
        {"127.0.0.1:8760", "", false},
        {"127.0.0.1:8760", ":8760", false},
        {"127.0.0.1:8760", "[::1", false},
        {"127.0.0.1:8760", "localhost:", false},
        {"127.0.0.1:8760", "localhost:x", false},
        {"127.0.0.1:8760", "localhost.evil.example", false},
        {"127.0.0.1:8760", "127.0.0.1.evil.example:80", false},
        {"127.0.0.1:8760", "localhost:1:2", false},
        {"127.0.0.1:8760", "[::1]x", false},
        {"[::1]:8760", "localhost", true},
        {"10.0.0.1:80", "localhost", false},
        {"10.0.0.1:80", "10.0.0.1", true},
    };
    static const struct {
        const char *origin;
        bool is_ours;
    } ORIGINS[] = {
        {"http://localhost:3000", true},
        {"https://127.0.0.1", true},
        {"HTTP://named.example", true},
        {"null", false},
        {"", false},
        {"localhost", false},
        {"http://evil.example", false},
        {"ftp://localhost", false},
        {"http://localhost/x", false},
        {"http://user@localhost", false},
        {"http://localhost.evil.example", false},
    };
    struct sirix_http_address address;

    (void)state;
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    assert_int_equal(sirix_settings_parse(
                         &settings, text("{\"server\":{\"httpHosts\":[\"named.example\"]}}"), NULL),
                     SIRIX_OK);
    for (size_t i = 0; i < COUNT(HOSTS); i++) {
        assert_int_equal(sirix_http_address_parse(HOSTS[i].listen, &address, NULL), SIRIX_OK);
        if (sirix_http_host_is_ours(&address, &settings, HOSTS[i].host) != HOSTS[i].is_ours) {
            fail_msg("%s at %s", HOSTS[i].host, HOSTS[i].listen);
        }
    }
    assert_int_equal(sirix_http_address_parse("127.0.0.1:1", &address, NULL), SIRIX_OK);
    for (size_t i = 0; i < COUNT(ORIGINS); i++) {
        if (sirix_http_origin_is_ours(&address, &settings, ORIGINS[i].origin) !=
            ORIGINS[i].is_ours) {
            fail_msg("%s", ORIGINS[i].origin);
        }
    }
    sirix_settings_deinit(&settings);
}

static void addresses_are_read_and_wrong_ones_refused(void **state)
{
    static const char *const BAD[] = {
        "",
        "8760",
        "localhost",
        "localhost:",
        "localhost:x",
        "1.2.3:80",
        "localhost:65536",
        "::1:80",
        "[::1:80",
        "[127.0.0.1]:80",
        "host:80",
        ":80",
        "[]:80",
        "127.0.0.1:99999",
        "127.0.0.1:-1",
    };
    struct sirix_http_address address;
    struct sirix_error error = {0};
    bool is_loopback = false;

    (void)state;
    for (size_t i = 0; i < COUNT(BAD); i++) {
        if (sirix_http_address_parse(BAD[i], &address, &error) != SIRIX_INVALID) {
            fail_msg("%s", BAD[i]);
        }
        assert_string_equal(error.field, "httpListen");
    }
    assert_int_equal(sirix_http_check_address("localhost:0", &is_loopback, NULL), SIRIX_OK);
    assert_true(is_loopback);
    assert_int_equal(sirix_http_check_address("127.9.9.9:80", &is_loopback, NULL), SIRIX_OK);
    assert_true(is_loopback);
    assert_int_equal(sirix_http_check_address("[::1]:80", &is_loopback, NULL), SIRIX_OK);
    assert_true(is_loopback);
    assert_int_equal(sirix_http_check_address("0.0.0.0:80", &is_loopback, NULL), SIRIX_OK);
    assert_false(is_loopback);
    assert_int_equal(sirix_http_check_address("[::]:80", &is_loopback, NULL), SIRIX_OK);
    assert_false(is_loopback);
}

/* --- Clients that misbehave --------------------------------------------------------------------- */

static void what_comes_too_slowly_is_ended(void **state)
{
    static const char *const BEGINNINGS[] = {
        "", /* Nothing at all. */
        "POST /mcp HTTP/1.1\r\nHost: local",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 100\r\n\r\n{\"jsonrpc\"",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":",
    };
    const struct sirix_http_options limits = {.head_ms = SLOW_MS, .body_ms = SLOW_MS};

    (void)state;
    start(&limits);
    for (size_t i = 0; i < COUNT(BEGINNINGS); i++) {
        const int fd = dial();
        struct pollfd wait = {.fd = fd, .events = POLLIN};

        forget();
        assert_true(put(fd, BEGINNINGS[i], strlen(BEGINNINGS[i])));
        /* One byte after the other, never idle for long, until the server has had enough. */
        for (int bytes = 0; poll(&wait, 1, 50) == 0 && i != 0; bytes++) {
            (void)put(fd, "x", 1);
            assert_true(bytes < LIMIT_MS / 50);
        }
        wait_for_end(fd);
        (void)close(fd);
    }
    expect_service();
    stop();
}

static void what_is_too_long_is_refused(void **state)
{
    const struct sirix_http_options limits = {.body_bytes_max = 1000};
    char *big = calloc(1, 100 * 1024);
    char head[256];
    char body[1100];
    int fd = -1;

    (void)state;
    assert_non_null(big);
    start(&limits);
    /* By its own word. */
    fd = dial();
    forget();
    (void)snprintf(head, sizeof(head),
                   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Content-Length: 1001\r\n\r\n");
    assert_true(put(fd, head, strlen(head)));
    assert_true(wait_for(fd, "HTTP/1.1 413", 1));
    (void)close(fd);
    /* In chunks, which say nothing before. */
    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    fd = dial();
    forget();
    (void)snprintf(head, sizeof(head),
                   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n44b\r\n");
    assert_true(put(fd, head, strlen(head)));
    assert_true(put(fd, body, sizeof(body) - 1));
    assert_true(put(fd, "\r\n0\r\n\r\n", 7));
    assert_true(wait_for(fd, "HTTP/1.1 413", 1));
    (void)close(fd);
    /* Chunks without end. */
    fd = dial();
    forget();
    assert_true(put(fd, head, strlen(head) - 5));
    int chunks = 0;
    while (put(fd, "5\r\nxxxxx\r\n", 10)) {
        assert_true(++chunks < 1000 * 1000);
    }
    (void)close(fd);
    /* A head. */
    memset(big, 'y', 100 * 1024 - 1);
    fd = dial();
    forget();
    (void)put(fd, "POST /mcp HTTP/1.1\r\nX-Big: ", 27);
    (void)put(fd, big, 100 * 1024 - 1);
    wait_for_end(fd);
    assert_null(strstr(answer, "200 OK"));
    (void)close(fd);
    expect_service();
    stop();
    free(big);
}

static void what_is_no_http_is_refused(void **state)
{
    static const char *const BAD[] = {
        "nonsense\r\n\r\n",
        "POST /mcp HTTP/1.1\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 5\r\nContent-Length: 7\r\n\r\n{}",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "\x16\x03\x01\x02\x01\x01\r\n\r\n",
    };
    const struct sirix_http_options limits = {.head_ms = SLOW_MS, .body_ms = SLOW_MS};

    (void)state;
    start(&limits);
    for (size_t i = 0; i < COUNT(BAD); i++) {
        const int fd = dial();

        forget();
        (void)put(fd, BAD[i], strlen(BAD[i]));
        wait_for_end(fd);
        if (strstr(answer, "\"result\"") != NULL) {
            fail_msg("%s", BAD[i]);
        }
        (void)close(fd);
    }
    expect_service();
    stop();
}

static void requests_in_a_pipeline_are_answered_in_their_order(void **state)
{
    const struct sirix_http_options limits = {.head_ms = 0};
    enum { REQUESTS = 20 };
    char all[REQUESTS * 512] = "";
    size_t len = 0;

    (void)state;
    start(&limits);
    for (int i = 0; i < REQUESTS; i++) {
        char body[64];

        (void)snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}",
                       i);
        len += make_post(all + len, sizeof(all) - len, "", body);
    }
    const int fd = dial();
    forget();
    assert_true(put(fd, all, len));
    assert_true(wait_for(fd, "\"result\":{}}", REQUESTS));
    const char *at = answer;
    for (int i = 0; i < REQUESTS; i++) {
        char wanted[32];

        (void)snprintf(wanted, sizeof(wanted), "\"id\":%d,", i);
        at = strstr(at, wanted);
        assert_non_null(at);
    }
    (void)close(fd);
    stop();
}

static void more_connections_than_allowed_leave_when_they_are_idle(void **state)
{
    const struct sirix_http_options limits = {.connections_max = 8, .head_ms = SLOW_MS};
    int fds[64];
    int fd = -1;
    bool is_served = false;

    (void)state;
    start(&limits);
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = dial();
    }
    /* Those past the limit are closed at once, the others when they have been idle too long. */
    for (const time_t until = time(NULL) + LIMIT_MS / 1000; !is_served;) {
        assert_true(time(NULL) < until);
        fd = dial();
        forget();
        ask(fd, "", ping);
        is_served = wait_for(fd, "\"result\":{}}", 1);
        (void)close(fd);
    }
    for (size_t i = 0; i < COUNT(fds); i++) {
        (void)close(fds[i]);
    }
    stop();
}

/* --- Clients that go ------------------------------------------------------------------------------ */

static sem_t has_begun;
static sem_t may_go_on;

static void wait_for_leave(void)
{
    (void)sem_post(&has_begun);
    (void)sem_wait(&may_go_on);
}

static void begin_waiting(void)
{
    assert_int_equal(sem_init(&has_begun, 0, 0), 0);
    assert_int_equal(sem_init(&may_go_on, 0, 0), 0);
    fake.before = wait_for_leave;
}

#define MODERN_META                                                                                \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN_HEADERS                                                                             \
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"                               \
    "Mcp-Name: sirix_list_databases\r\n"
#define CALL(meta)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"                \
    "\"sirix_list_databases\",\"arguments\":{\"limit\":1}" meta "}}"

static void who_goes_in_the_modern_era_cancels_its_request(void **state)
{
    const struct sirix_http_options limits = {.head_ms = 0};

    (void)state;
    for (int half = 0; half < 2; half++) {
        begin_waiting();
        start(&limits);
        const int fd = dial();
        ask(fd, MODERN_HEADERS, CALL("," MODERN_META));
        assert_int_equal(sem_wait(&has_begun), 0);
        assert_false(fake_is_cancelled());
        if (half == 1) {
            assert_int_equal(shutdown(fd, SHUT_WR), 0);
        } else {
            (void)close(fd);
        }
        for (const time_t until = time(NULL) + LIMIT_MS / 1000; !fake_is_cancelled();) {
            assert_true(time(NULL) < until);
        }
        assert_int_equal(sem_post(&may_go_on), 0);
        stop();
        if (half == 1) {
            (void)close(fd);
        }
    }
}

static void who_goes_in_the_legacy_era_cancels_nothing(void **state)
{
    const struct sirix_http_options limits = {.head_ms = 0};

    (void)state;
    begin_waiting();
    start(&limits);
    int fd = dial();
    ask(fd, "MCP-Protocol-Version: 2025-11-25\r\n", CALL(""));
    assert_int_equal(sem_wait(&has_begun), 0);
    (void)shutdown(fd, SHUT_WR);
    /* Half of a connection is enough to be answered. */
    assert_int_equal(sem_post(&may_go_on), 0);
    forget();
    assert_true(wait_for(fd, "\"structuredContent\"", 1));
    (void)close(fd);
    fake.before = NULL;
    expect_service();
    stop();
}

static void the_end_waits_for_calls_and_ends_who_listens(void **state)
{
    static const char listen_body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"w\",\"method\":\"subscriptions/listen\",\"params\":{"
        "\"notifications\":{}," MODERN_META "}}";
    const struct sirix_http_options limits = {.head_ms = 0};
    const uint64_t one = 1;

    (void)state;
    begin_waiting();
    start(&limits);
    const int listener = dial();
    forget();
    ask(listener, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n",
        listen_body);
    assert_true(wait_for(listener, "subscriptions/acknowledged", 1));
    const int caller = dial();
    ask(caller, "", CALL(""));
    assert_int_equal(sem_wait(&has_begun), 0);
    assert_int_equal(write(options.stop_fd, &one, sizeof(one)), sizeof(one));
    assert_true(wait_for(listener, "\"id\":\"w\",\"result\"", 1));
    assert_int_equal(sem_post(&may_go_on), 0);
    forget();
    assert_true(wait_for(caller, "\"id\":1,\"result\"", 1));
    (void)close(listener);
    (void)close(caller);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_origins_are_ours_or_not),
        cmocka_unit_test(addresses_are_read_and_wrong_ones_refused),
        cmocka_unit_test(what_comes_too_slowly_is_ended),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(what_is_no_http_is_refused),
        cmocka_unit_test(requests_in_a_pipeline_are_answered_in_their_order),
        cmocka_unit_test(more_connections_than_allowed_leave_when_they_are_idle),
        cmocka_unit_test(who_goes_in_the_modern_era_cancels_its_request),
        cmocka_unit_test(who_goes_in_the_legacy_era_cancels_nothing),
        cmocka_unit_test(the_end_waits_for_calls_and_ends_who_listens),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
