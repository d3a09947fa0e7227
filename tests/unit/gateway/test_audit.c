/* The audit log: its chain, what is on the disk when, and what is left when writing fails. */
#include "unit/gateway/gateway_help.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "guard/audit.h"
#include "guard/audit_check.h"
#include "mcp/server.h"
#include "mcp/tools.h"
#include "unit/gateway/fake_backend.h"

/* --- Faults ---------------------------------------------------------------------------------------- */

static long writes_left = -1; /* Then a write is cut in the middle and the next one fails. */
static bool truncate_fails;
static bool sync_fails;
static _Atomic int syncs; /* By several threads. */

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __real_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    if (writes_left < 0 || writes_left-- > 0) {
        return __real_write(fd, data, len);
    }
    if (len > 10) {
        writes_left = 0;
        return __real_write(fd, data, 10);
    }
    errno = ENOSPC;
    writes_left = 0;
    return -1;
}

int __wrap_ftruncate(int fd, off_t len)
{
    return truncate_fails ? -1 : __real_ftruncate(fd, len);
}

int __wrap_fdatasync(int fd)
{
    syncs++;
    if (sync_fails) {
        errno = EIO;
        return -1;
    }
    return __real_fdatasync(fd);
}

/* --- One folder a test ----------------------------------------------------------------------------- */

static char folder[64];
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    writes_left = -1;
    truncate_fails = false;
    sync_fails = false;
    syncs = 0;
    (void)snprintf(folder, sizeof(folder), "/tmp/sirix-audit-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/audit.jsonl", folder);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;

    return strcmp(*left, *right);
}

/* The files of the folder with their parts in order; at most 16. */
static size_t list_files(char *out[16])
{
    DIR *dir = opendir(folder);
    const struct dirent *entry = NULL;
    size_t count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            assert_true(count < 16);
            out[count] = malloc(512);
            assert_non_null(out[count]);
            (void)snprintf(out[count], 512, "%s/%s", folder, entry->d_name);
            count++;
        }
    }
    (void)closedir(dir);
    qsort(out, count, sizeof(*out), compare);
    /* "….2.jsonl" sorts before "….jsonl". */
    if (count > 1) {
        char *first = out[count - 1];
        memmove(out + 1, out, (count - 1) * sizeof(*out));
        out[0] = first;
    }
    return count;
}

static void free_files(char *files[16], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)unlink(files[i]);
        free(files[i]);
    }
}

static int remove_folder(void **state)
{
    char *files[16];

    (void)state;
    free_files(files, list_files(files));
    return rmdir(folder);
}

static struct sirix_audit *open_log(uint64_t file_bytes)
{
    const struct sirix_audit_options options = {.path = path, .file_bytes = file_bytes};
    struct sirix_audit *audit = NULL;

    assert_int_equal(sirix_audit_open(&options, &audit, NULL), SIRIX_OK);
    return audit;
}

static enum sirix_status append(struct sirix_audit *audit, const char *event, const char *members,
                                bool is_durable, uint64_t *out_seq)
{
    return sirix_audit_append(audit, event, text(members), is_durable, out_seq, NULL);
}

/* Checks all files of the folder in their order; what is left in check is the caller's. */
static enum sirix_status check_all(struct sirix_audit_check *check)
{
    char *files[16];
    const size_t count = list_files(files);
    enum sirix_status status = SIRIX_OK;

    assert_int_equal(sirix_audit_check_init(check, NULL), SIRIX_OK);
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        struct sirix_error err = {0};
        const int fd = open(files[i], O_RDONLY);

        assert_true(fd >= 0);
        status = sirix_audit_check_file(check, fd, &err);
        (void)close(fd);
    }
    for (size_t i = 0; i < count; i++) {
        free(files[i]);
    }
    return status;
}

/* --- The log --------------------------------------------------------------------------------------- */

static void lines_are_a_chain_with_an_end(void **state)
{
    struct sirix_audit *audit = open_log(0);
    struct sirix_audit_check check;
    uint64_t seq = 0;

    (void)state;
    assert_int_equal(append(audit, "call", "\"tool\":\"a\"", false, &seq), SIRIX_OK);
    assert_int_equal(seq, 1);
    assert_int_equal(append(audit, "call", "", false, &seq), SIRIX_OK);
    sirix_audit_close(audit);

    assert_int_equal(check_all(&check), SIRIX_OK);
    assert_int_equal(check.lines, 4);
    assert_true(check.has_ended);
    sirix_audit_check_deinit(&check);
}

static void only_what_must_be_is_waited_for_on_the_disk(void **state)
{
    struct sirix_audit *audit = open_log(0);

    (void)state;
    assert_int_equal(append(audit, "call", "", false, NULL), SIRIX_OK);
    assert_int_equal(syncs, 0);
    assert_int_equal(append(audit, "intent", "", true, NULL), SIRIX_OK);
    assert_int_equal(syncs, 1);
    sync_fails = true;
    assert_int_equal(append(audit, "intent", "", true, NULL), SIRIX_IO);
    sirix_audit_close(audit);
}

static void a_line_that_is_cut_is_taken_back(void **state)
{
    struct sirix_audit *audit = open_log(0);
    struct sirix_audit_check check;

    (void)state;
    for (long turn = 0; turn < 3; turn++) {
        writes_left = 0;
        assert_int_equal(append(audit, "call", "\"lost\":true", false, NULL), SIRIX_IO);
        writes_left = -1;
        assert_int_equal(append(audit, "call", "\"kept\":true", false, NULL), SIRIX_OK);
    }
    sirix_audit_close(audit);

    assert_int_equal(check_all(&check), SIRIX_OK);
    assert_int_equal(check.lines, 5);
    assert_false(check.is_torn);
    sirix_audit_check_deinit(&check);
}

static void what_cannot_be_taken_back_ends_the_log(void **state)
{
    struct sirix_audit *audit = open_log(0);
    struct sirix_audit_check check;

    (void)state;
    truncate_fails = true;
    writes_left = 0;
    assert_int_equal(append(audit, "call", "", false, NULL), SIRIX_IO);
    writes_left = -1;
    truncate_fails = false;
    assert_int_equal(append(audit, "call", "", false, NULL), SIRIX_IO);
    sirix_audit_close(audit);

    assert_int_equal(check_all(&check), SIRIX_OK);
    assert_int_equal(check.lines, 1);
    assert_true(check.is_torn);
    assert_false(check.has_ended);
    sirix_audit_check_deinit(&check);
}

static void a_line_that_is_too_long_is_refused_whole(void **state)
{
    struct sirix_audit *audit = open_log(0);
    struct sirix_audit_check check;
    char *members = malloc(SIRIX_AUDIT_LINE_BYTES_MAX + 16);

    (void)state;
    assert_non_null(members);
    (void)snprintf(members, SIRIX_AUDIT_LINE_BYTES_MAX + 16, "\"x\":\"%0*d\"",
                   (int)SIRIX_AUDIT_LINE_BYTES_MAX, 0);
    assert_int_equal(append(audit, "call", members, false, NULL), SIRIX_EXHAUSTED);
    assert_int_equal(append(audit, "call", "", false, NULL), SIRIX_OK);
    free(members);
    sirix_audit_close(audit);
    assert_int_equal(check_all(&check), SIRIX_OK);
    assert_int_equal(check.lines, 3);
    sirix_audit_check_deinit(&check);
}

static void a_large_file_goes_on_in_the_next_one(void **state)
{
    struct sirix_audit *audit = open_log(2000);
    struct sirix_audit_check check;
    char *files[16];

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(append(audit, "call", "\"tool\":\"a\"", i % 2 == 0, NULL), SIRIX_OK);
    }
    sirix_audit_close(audit);

    const size_t count = list_files(files);
    assert_true(count > 1);
    assert_int_equal(check_all(&check), SIRIX_OK);
    assert_int_equal(check.part, count);
    assert_true(check.has_ended);
    sirix_audit_check_deinit(&check);

    /* Without the first part the second follows nothing. */
    (void)unlink(files[0]);
    assert_int_equal(sirix_audit_check_init(&check, NULL), SIRIX_OK);
    const int fd = open(files[1], O_RDONLY);
    assert_int_equal(sirix_audit_check_file(&check, fd, NULL), SIRIX_CORRUPT);
    (void)close(fd);
    sirix_audit_check_deinit(&check);
    free_files(files, count);
}

static void *append_many(void *context)
{
    for (int i = 0; i < 100; i++) {
        if (append(context, "call", "\"tool\":\"a\"", i % 8 == 0, NULL) != SIRIX_OK) {
            return context;
        }
    }
    return NULL;
}

static void many_threads_make_one_chain(void **state)
{
    struct sirix_audit *audit = open_log(20000);
    struct sirix_audit_check check;
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, audit), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    sirix_audit_close(audit);
    assert_int_equal(check_all(&check), SIRIX_OK);
    assert_int_equal(check.lines, 400 + 2 * check.part);
    sirix_audit_check_deinit(&check);
}

static void a_folder_that_cannot_be_made_is_refused(void **state)
{
    const struct sirix_audit_options options = {.path = "/dev/null/audit/audit.jsonl"};
    struct sirix_audit *audit = NULL;
    struct sirix_error err = {0};

    (void)state;
    assert_int_equal(sirix_audit_open(&options, &audit, &err), SIRIX_IO);
    assert_non_null(strstr(err.text, "/dev/null"));
}

/* --- Checking -------------------------------------------------------------------------------------- */

static void lines_that_are_none_are_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "{}",
        "hello",
        ",\"hash\":\"",
        "{\"seq\":0,\"hash\":\"00\"}",
        "{\"seq\":0,\"time\":\"\",\"event\":\"genesis\",\"prev\":"
        "\"0000000000000000000000000000000000"
        "000000000000000000000000000000\",\"hash\":"
        "\"000000000000000000000000000000000000000000000000"
        "0000000000000000\"}",
    };
    struct sirix_audit_check check;

    (void)state;
    assert_int_equal(sirix_audit_check_init(&check, NULL), SIRIX_OK);
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct sirix_error err = {0};
        assert_int_equal(sirix_audit_check_line(&check, text(lines[i]), &err), SIRIX_CORRUPT);
        assert_int_equal(err.reason, SIRIX_REASON_CHAIN);
    }
    sirix_audit_check_deinit(&check);
}

static void an_outcome_without_an_intent_is_found(void **state)
{
    struct sirix_audit *audit = open_log(0);
    struct sirix_audit_check check;
    uint64_t seq = 0;

    (void)state;
    assert_int_equal(append(audit, "intent", "\"tool\":\"t\",\"key\":\"k\"", true, &seq), SIRIX_OK);
    assert_int_equal(append(audit, "outcome", "\"intent\":1", true, NULL), SIRIX_OK);
    assert_int_equal(append(audit, "outcome", "\"intent\":1", true, NULL), SIRIX_OK);
    sirix_audit_close(audit);
    assert_int_equal(seq, 1);
    assert_int_equal(check_all(&check), SIRIX_CORRUPT);
    sirix_audit_check_deinit(&check);
}

/* --- A write --------------------------------------------------------------------------------------- */

static struct sirix_audit *log_of_server;
static bool had_intent;

/* What is on the disk at the moment when the store is asked. */
static void look_at_the_log(void)
{
    static char content[8192];
    FILE *file = fopen(sirix_audit_file(log_of_server), "r");

    assert_non_null(file);
    const size_t len = fread(content, 1, sizeof(content) - 1, file);
    content[len] = '\0';
    (void)fclose(file);
    had_intent = syncs == 1 && strstr(content, "\"event\":\"intent\"") != NULL &&
                 strstr(content, "\"event\":\"outcome\"") == NULL;
}

static void insert(const struct sirix_mcp_server *server, struct sirix_buf *answer)
{
    static const char line[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"sirix_insert\",\"arguments\":{\"database\":\"d\",\"resource\":\"r\",\"data\":\"secret\"}"
        "}}";
    struct sirix_mcp_session session = {.context = {.version = SIRIX_MCP_NEWEST_LEGACY}};
    struct sirix_jsonrpc_input input = {0};
    struct sirix_mcp_request request;
    struct sirix_arena arena;

    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(sirix_jsonrpc_read(&arena, text(line), &input, NULL), SIRIX_OK);
    sirix_mcp_request_open(&request, server, &session, NULL, &arena, &input.messages[0]);
    assert_int_equal(sirix_mcp_answer(&request, answer, NULL), SIRIX_OK);
    sirix_mcp_request_close(&request);
    sirix_arena_deinit(&arena);
}

static void an_intent_is_on_the_disk_before_the_store_is_asked(void **state)
{
    const struct sirix_mcp_registry registry = sirix_mcp_product();
    struct sirix_settings settings;
    struct sirix_mcp_server server;
    struct sirix_audit_check check;
    struct sirix_buf answer;

    (void)state;
    fake = (struct fake_backend){
        .sentence = "made up", .status = SIRIX_OUTCOME_UNKNOWN, .before = look_at_the_log};
    sirix_buf_init(&answer, SIZE_MAX);
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    settings.read_only = false;
    assert_int_equal(sirix_mcp_server_init(&server, &settings, &registry, NULL, NULL), SIRIX_OK);
    server.audit = log_of_server = open_log(0);

    insert(&server, &answer);
    assert_int_equal(fake.calls, 1);
    assert_true(had_intent);
    assert_int_equal(syncs, 2);

    /* And where it cannot be, the store is not asked. */
    sync_fails = true;
    insert(&server, &answer);
    assert_int_equal(fake.calls, 1);
    sync_fails = false;
    writes_left = 0;
    insert(&server, &answer);
    assert_int_equal(fake.calls, 1);
    writes_left = -1;

    sirix_audit_close(server.audit);
    sirix_mcp_server_deinit(&server);
    sirix_settings_deinit(&settings);
    sirix_buf_deinit(&answer);
    assert_int_equal(check_all(&check), SIRIX_OK);
    /* Of the one that may be on the disk or not nobody knows that it was not tried. */
    assert_int_equal(check.intent_count, 1);
    sirix_audit_check_deinit(&check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_a_chain_with_an_end, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(only_what_must_be_is_waited_for_on_the_disk, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_line_that_is_cut_is_taken_back, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_taken_back_ends_the_log, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_line_that_is_too_long_is_refused_whole, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_large_file_goes_on_in_the_next_one, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(many_threads_make_one_chain, make_folder, remove_folder),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_refused),
        cmocka_unit_test(lines_that_are_none_are_refused),
        cmocka_unit_test_setup_teardown(an_outcome_without_an_intent_is_found, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(an_intent_is_on_the_disk_before_the_store_is_asked,
                                        make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
