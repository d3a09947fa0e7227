/* The door for health and metrics, asked over a socket. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/probe.h"

enum { ANSWER_BYTES = 64 * 1024 };

static bool started;
static bool ready;
static bool fails;
static bool no_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

static bool is_started(void *context)
{
    (void)context;
    return started;
}

static bool is_ready(void *context)
{
    (void)context;
    return ready;
}

static void write_metrics(void *context, struct sirix_exposition *exposition)
{
    sirix_exposition_one(exposition, "things", "gauge", "Things.", *(const unsigned *)context);
    if (fails) {
        exposition->status = SIRIX_NO_MEMORY;
    }
}

static unsigned things = 7;
static const struct sirix_probe_owner owner = {
    .context = &things,
    .is_started = is_started,
    .is_ready = is_ready,
    .write_metrics = write_metrics,
};

/* What is answered to the request, from its first line on. */
static const char *ask(uint16_t port, const char *method, const char *path)
{
    static char answer[ANSWER_BYTES];
    char request[256];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    size_t len = 0;

    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &at.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    int size =
        snprintf(request, sizeof(request),
                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", method, path);
    assert_int_equal(write(fd, request, (size_t)size), size);
    for (;;) {
        ssize_t got = read(fd, answer + len, sizeof(answer) - 1 - len);
        assert_true(got >= 0);
        if (got == 0) {
            break;
        }
        len += (size_t)got;
    }
    (void)close(fd);
    answer[len] = '\0';
    return answer;
}

static void each_path_tells_its_state(void **state)
{
    struct sirix_probe *probe = NULL;

    (void)state;
    assert_int_equal(sirix_probe_start(&owner, "127.0.0.1:0", &probe, NULL), SIRIX_OK);
    uint16_t port = sirix_probe_port(probe);
    started = false;
    ready = false;
    assert_non_null(strstr(ask(port, "GET", "/healthz/started"), " 503 "));
    assert_non_null(strstr(ask(port, "GET", "/healthz/alive"), " 200 "));
    assert_non_null(strstr(ask(port, "GET", "/healthz/ready"), " 503 "));
    started = true;
    assert_non_null(strstr(ask(port, "GET", "/healthz/started"), " 200 "));
    ready = true;
    assert_non_null(strstr(ask(port, "GET", "/healthz/ready"), " 200 "));
    assert_non_null(strstr(ask(port, "HEAD", "/healthz/ready"), " 200 "));
    sirix_probe_stop(probe);
}

static void numbers_are_told_or_an_error(void **state)
{
    struct sirix_probe *probe = NULL;

    (void)state;
    assert_int_equal(sirix_probe_start(&owner, "localhost:0", &probe, NULL), SIRIX_OK);
    uint16_t port = sirix_probe_port(probe);
    fails = false;
    const char *answer = ask(port, "GET", "/metrics");
    assert_non_null(strstr(answer, " 200 "));
    assert_non_null(strstr(answer, "text/plain; version=0.0.4"));
    assert_non_null(strstr(answer, "\nthings 7\n"));
    fails = true;
    assert_non_null(strstr(ask(port, "GET", "/metrics"), " 503 "));
    fails = false;
    sirix_probe_stop(probe);
}

static void other_paths_and_methods_are_refused(void **state)
{
    struct sirix_probe *probe = NULL;

    (void)state;
    assert_int_equal(sirix_probe_start(&owner, "127.0.0.1:0", &probe, NULL), SIRIX_OK);
    uint16_t port = sirix_probe_port(probe);
    assert_non_null(strstr(ask(port, "GET", "/"), " 404 "));
    assert_non_null(strstr(ask(port, "GET", "/metrics/.."), " 404 "));
    assert_non_null(strstr(ask(port, "DELETE", "/metrics"), " 405 "));
    assert_non_null(strstr(ask(port, "DELETE", "/metrics"), "GET, HEAD"));
    sirix_probe_stop(probe);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const bad[] = {
        "",          "9090",        ":9090",       "127.0.0.1",
        "host:9090", "127.0.0.1:x", "127.0.0.1:",  "127.0.0.1:65536",
        "::1:9090",  "[::1]",       "[1.2.3.4]:1", "127.0.0.1:99999999999"};
    struct sirix_probe *probe = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sirix_error err = {0};
        assert_int_equal(sirix_probe_start(&owner, bad[i], &probe, &err), SIRIX_INVALID);
        assert_non_null(strstr(err.text, "HOST:PORT"));
    }
    assert_int_equal(sirix_probe_check_address("[::1]:9090", NULL), SIRIX_OK);
    assert_int_equal(sirix_probe_check_address("0.0.0.0:0", NULL), SIRIX_OK);
    assert_null(probe);
}

static void an_address_that_is_taken_is_an_error(void **state)
{
    struct sirix_probe *first = NULL;
    struct sirix_probe *second = NULL;
    char address[32];

    (void)state;
    assert_int_equal(sirix_probe_start(&owner, "127.0.0.1:0", &first, NULL), SIRIX_OK);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", (unsigned)sirix_probe_port(first));
    assert_int_equal(sirix_probe_start(&owner, address, &second, NULL), SIRIX_IO);
    assert_null(second);
    sirix_probe_stop(first);
    sirix_probe_stop(NULL);
}

static void without_memory_there_is_no_door(void **state)
{
    struct sirix_probe *probe = NULL;

    (void)state;
    no_memory = true;
    enum sirix_status status = sirix_probe_start(&owner, "127.0.0.1:0", &probe, NULL);
    no_memory = false;
    assert_int_equal(status, SIRIX_NO_MEMORY);
    assert_null(probe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_tells_its_state),
        cmocka_unit_test(numbers_are_told_or_an_error),
        cmocka_unit_test(other_paths_and_methods_are_refused),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(an_address_that_is_taken_is_an_error),
        cmocka_unit_test(without_memory_there_is_no_door),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
