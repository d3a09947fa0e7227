/*
 * One call that reads a node, again and again: through the gateway over HTTP, and straight over gRPC.
 *
 *     bench_gateway http PORT DATABASE RESOURCE CLIENTS SECONDS
 *     bench_gateway grpc ADDRESS DATABASE RESOURCE CLIENTS SECONDS
 *
 * Each client is a thread with a connection of its own that waits for each answer. Prints calls_per_s,
 * median_us and p99_us.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/common/measure.h"
#include "sirix/sirix.h"

enum { CLIENTS_MAX = 512, REQUEST_BYTES = 1024, ANSWER_BYTES = 64 * 1024 };

struct caller {
    const char *target; /* A port or an address. */
    const char *database;
    const char *resource;
    bool is_http;
    double until;
    struct bench_times times;
    pthread_t thread;
};

/* --- HTTP ----------------------------------------------------------------------------------------- */

static int connect_to(const char *port)
{
    const int yes = 1;
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    bench_check(fd >= 0, "making a socket");
    bench_check(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0,
                "connecting to the gateway");
    bench_check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) == 0, "TCP_NODELAY");
    return fd;
}

/* Reads one answer whole; false: it is none that says that the call went well. */
static bool read_answer(int fd, char *buffer)
{
    size_t len = 0;
    size_t wanted = SIZE_MAX;

    while (len < wanted) {
        const ssize_t got = read(fd, buffer + len, ANSWER_BYTES - 1 - len);

        if (got <= 0) {
            return false;
        }
        len += (size_t)got;
        buffer[len] = '\0';
        const char *end = strstr(buffer, "\r\n\r\n");
        const char *length = strstr(buffer, "Content-Length: ");
        if (wanted == SIZE_MAX && end != NULL && length != NULL) {
            wanted = (size_t)(end + 4 - buffer) + strtoul(length + 16, NULL, 10);
            bench_check(wanted < ANSWER_BYTES, "an answer that is not too long");
        }
    }
    return strncmp(buffer, "HTTP/1.1 200", 12) == 0 && strstr(buffer, "\"isError\":false") != NULL;
}

static void call_http(struct caller *caller)
{
    char request[REQUEST_BYTES];
    char body[REQUEST_BYTES / 2];
    char *answer = malloc(ANSWER_BYTES);
    const int fd = connect_to(caller->target);

    bench_check(answer != NULL, "memory");
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"sirix_read_node\",\"arguments\":{\"database\":\"%s\",\"resource\":\"%s\"}}}",
                   caller->database, caller->resource);
    const int len =
        snprintf(request, sizeof(request),
                 "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Type: application/json\r\n"
                 "Accept: application/json\r\nMCP-Protocol-Version: 2025-11-25\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 caller->target, strlen(body), body);
    while (bench_wall_s() < caller->until) {
        const double began = bench_wall_s();

        bench_check(write(fd, request, (size_t)len) == len, "sending");
        bench_check(read_answer(fd, answer), "an answer that is good");
        bench_times_add(&caller->times, (bench_wall_s() - began) * 1e6);
    }
    (void)close(fd);
    free(answer);
}

/* --- gRPC ----------------------------------------------------------------------------------------- */

static void call_grpc(struct caller *caller)
{
    struct sirix_read_node_request request = {
        .database = caller->database,
        .resource = caller->resource,
        .has_max_depth = true,
        .max_depth = 3,
        .target = {.node_key = 1},
    };
    struct sirix_client *client = NULL;
    struct sirix_error err = {0};

    bench_must(sirix_client_open(caller->target, NULL, &client, &err), &err);
    while (bench_wall_s() < caller->until) {
        struct sirix_node_page *page = NULL;
        const double began = bench_wall_s();

        bench_must(sirix_client_read_node(client, &request, NULL, &page, &err), &err);
        bench_times_add(&caller->times, (bench_wall_s() - began) * 1e6);
        sirix_client_free(page);
    }
    sirix_client_close(client);
}

/* --- Both ----------------------------------------------------------------------------------------- */

static void *run(void *context)
{
    struct caller *caller = context;

    if (caller->is_http) {
        call_http(caller);
    } else {
        call_grpc(caller);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct caller callers[CLIENTS_MAX];
    struct bench_times all = {0};

    bench_check(argc == 7, "six arguments (see the head of the source)");
    const size_t count = strtoul(argv[5], NULL, 10);
    const double seconds = strtod(argv[6], NULL);
    bench_check(count > 0 && count <= CLIENTS_MAX, "a number of clients");
    const double began = bench_wall_s();
    for (size_t i = 0; i < count; i++) {
        callers[i] = (struct caller){
            .target = argv[2],
            .database = argv[3],
            .resource = argv[4],
            .is_http = strcmp(argv[1], "http") == 0,
            .until = began + seconds,
        };
        bench_check(pthread_create(&callers[i].thread, NULL, run, &callers[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < count; i++) {
        (void)pthread_join(callers[i].thread, NULL);
        for (size_t j = 0; j < callers[i].times.count; j++) {
            bench_times_add(&all, callers[i].times.us[j]);
        }
        bench_times_deinit(&callers[i].times);
    }
    bench_print("calls_per_s", (double)all.count / (bench_wall_s() - began));
    bench_print("median_us", bench_times_at(&all, 0.5));
    bench_print("p99_us", bench_times_at(&all, 0.99));
    bench_times_deinit(&all);
    return 0;
}
