/* The made-up backend. */
#include "unit/gateway/fake_backend.h"

#include <stdio.h>
#include <stdlib.h>

struct fake_backend fake;

static _Atomic(const struct sirix_call_cancel *) cancel_of_last;

bool fake_is_cancelled(void)
{
    const struct sirix_call_cancel *cancel = atomic_load(&cancel_of_last);

    return cancel != NULL && sirix_call_cancel_triggered(cancel);
}

static enum sirix_status count_call(const struct sirix_call_options *call, struct sirix_error *err)
{
    atomic_store(&cancel_of_last, call->cancel);
    if (fake.before != NULL) {
        fake.before();
    }
    fake.calls++;
    fake.deadline_ms = call->deadline_ms;
    return fake.status == SIRIX_OK
               ? SIRIX_OK
               : sirix_fail_reason(err, fake.status, fake.reason, "%s", fake.sentence);
}

void sirix_backend_release(const void *answer)
{
    free((void *)(uintptr_t)answer);
}

/* Calls that the tests do not look into: empty answers. */
#define SIRIX_X(name, request_type, answer_type)                                                   \
    enum sirix_status sirix_backend_##name(                                                        \
        struct sirix_gateway_backend *backend, request_type *request,                              \
        const struct sirix_call_options *call, answer_type **out, struct sirix_error *err)         \
    {                                                                                              \
        enum sirix_status status = count_call(call, err);                                          \
                                                                                                   \
        (void)backend;                                                                             \
        (void)request;                                                                             \
        (void)out;                                                                                 \
        return status == SIRIX_OK ? sirix_fail(err, SIRIX_UNSUPPORTED, "made up") : status;        \
    }
SIRIX_BACKEND_CALLS(SIRIX_X)
#undef SIRIX_X

#define SIRIX_X(name, request_type, answer_type)                                                   \
    enum sirix_status sirix_backend_##name(                                                        \
        struct sirix_gateway_backend *backend, request_type *request,                              \
        const struct sirix_call_options *call, answer_type *out, struct sirix_error *err)          \
    {                                                                                              \
        (void)backend;                                                                             \
        (void)request;                                                                             \
        *out = (answer_type){0};                                                                   \
        return count_call(call, err);                                                              \
    }
SIRIX_BACKEND_PLAIN_CALLS(SIRIX_X)
#undef SIRIX_X

/* d0000 to d0999, in pages; the cursor is the number of the next one as text. */
enum sirix_status sirix_backend_list_databases(struct sirix_gateway_backend *backend,
                                               const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_database_list **out,
                                               struct sirix_error *err)
{
    struct made {
        struct sirix_database_list list;
        struct sirix_database_info items[FAKE_PAGE];
        char names[FAKE_PAGE][8];
        char cursor[8];
    };
    enum sirix_status status = count_call(call, err);
    long first = 0;

    (void)backend;
    if (status != SIRIX_OK) {
        return status;
    }
    struct made *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "made up");
    }
    if (page->cursor.len != 0) {
        char text[8] = "";

        memcpy(text, page->cursor.data, page->cursor.len);
        first = strtol(text, NULL, 10);
    }
    long count = FAKE_DATABASES - first < FAKE_PAGE ? FAKE_DATABASES - first : FAKE_PAGE;
    for (long i = 0; i < count; i++) {
        (void)snprintf(made->names[i], sizeof(made->names[i]), "d%04ld", (first + i) % 10000);
        made->items[i].name = made->names[i];
    }
    made->list.items = made->items;
    made->list.count = (size_t)count;
    if (first + count < FAKE_DATABASES) {
        (void)snprintf(made->cursor, sizeof(made->cursor), "%ld", (first + count) % 10000);
        made->list.next_cursor = sirix_bytes_from_str(made->cursor);
    }
    *out = &made->list;
    return SIRIX_OK;
}

enum sirix_status sirix_backend_list_resources(struct sirix_gateway_backend *backend,
                                               const char *database, const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_resource_list **out,
                                               struct sirix_error *err)
{
    enum sirix_status status = count_call(call, err);

    (void)backend;
    (void)database;
    (void)page;
    (void)out;
    return status == SIRIX_OK ? sirix_fail(err, SIRIX_UNSUPPORTED, "made up") : status;
}

enum sirix_status sirix_backend_list_snapshots(struct sirix_gateway_backend *backend,
                                               const char *database, const char *resource,
                                               const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_snapshot_list **out,
                                               struct sirix_error *err)
{
    (void)resource;
    (void)out;
    return sirix_backend_list_resources(backend, database, page, call, NULL, err);
}

enum sirix_status sirix_backend_list_branches(struct sirix_gateway_backend *backend,
                                              const char *database, const char *resource,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_branch_list **out,
                                              struct sirix_error *err)
{
    (void)resource;
    (void)out;
    return sirix_backend_list_resources(backend, database, page, call, NULL, err);
}

enum sirix_status sirix_backend_create_database(struct sirix_gateway_backend *backend,
                                                const char *database,
                                                const struct sirix_write_options *write,
                                                const struct sirix_call_options *call,
                                                struct sirix_error *err)
{
    (void)backend;
    (void)database;
    (void)write;
    return count_call(call, err);
}

enum sirix_status sirix_backend_create_resource(struct sirix_gateway_backend *backend,
                                                const char *database, const char *resource,
                                                const struct sirix_write_options *write,
                                                const struct sirix_call_options *call,
                                                struct sirix_write_result *out,
                                                struct sirix_error *err)
{
    (void)resource;
    *out = (struct sirix_write_result){.revision = 1};
    return sirix_backend_create_database(backend, database, write, call, err);
}

enum sirix_status sirix_backend_status(struct sirix_gateway_backend *backend,
                                       const struct sirix_call_options *call,
                                       struct sirix_server_status **out, struct sirix_error *err)
{
    return sirix_backend_list_resources(backend, "", NULL, call, (void *)out, err);
}

struct sirix_diff_ends sirix_backend_diff_ends(const struct sirix_diff_stream *stream)
{
    (void)stream;
    return (struct sirix_diff_ends){0};
}

enum sirix_status sirix_backend_diff_next(struct sirix_diff_stream *stream,
                                          struct sirix_diff_part *out_part, struct sirix_error *err)
{
    (void)stream;
    (void)out_part;
    return sirix_fail(err, SIRIX_UNSUPPORTED, "made up");
}

void sirix_backend_diff_close(struct sirix_diff_stream *stream)
{
    (void)stream;
}

enum sirix_status sirix_backend_query_next(struct sirix_query_stream *stream,
                                           struct sirix_query_part *out_part,
                                           struct sirix_error *err)
{
    (void)stream;
    (void)out_part;
    return sirix_fail(err, SIRIX_UNSUPPORTED, "made up");
}

void sirix_backend_query_close(struct sirix_query_stream *stream)
{
    (void)stream;
}

enum sirix_status sirix_backend_sql_next(struct sirix_sql_stream *stream,
                                         struct sirix_sql_part *out_part, struct sirix_error *err)
{
    (void)stream;
    (void)out_part;
    return sirix_fail(err, SIRIX_UNSUPPORTED, "made up");
}

void sirix_backend_sql_close(struct sirix_sql_stream *stream)
{
    (void)stream;
}
