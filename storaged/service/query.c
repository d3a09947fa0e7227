/*
 * The engine's catalogue over the registry, and queries that read. A page's cursor has how many items
 * came before it, the time, and the revisions that were read:
 *
 *     q1|HASH|SKIP|NOW_US|DATABASE/RESOURCE@REVISION|...        HASH: of what was asked
 *                                                               `=` for `@`: by the request's view
 */
#include "service/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "service/query_state.h"

enum { DECIMAL = 10, HASH_CHARACTERS = 16, LIST_NAMES_MAX = 129 };

/* --- The catalogue -------------------------------------------------------------------------------- */

static bool visible(const struct sirix_query_session *session, struct sirix_bytes database,
                    struct sirix_bytes resource)
{
    return sirix_request_sees(&session->request, database, resource) &&
           (session->wanted.visible == NULL ||
            session->wanted.visible(session->wanted.visible_context, database, resource));
}

static enum sirix_status hidden(struct sirix_bytes database, struct sirix_bytes resource,
                                bool database_hidden, struct sirix_error *err)
{
    const struct sirix_bytes name = database_hidden ? database : resource;
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_NOT_FOUND,
        database_hidden ? SIRIX_REASON_DATABASE_UNKNOWN : SIRIX_REASON_RESOURCE_UNKNOWN,
        "there is no %s %.*s", database_hidden ? "database" : "resource", (int)name.len,
        (const char *)name.data);

    sirix_error_set_field(err, database_hidden ? "database" : "resource");
    return status;
}

static struct sirix_query_opened *same_database(const struct sirix_query_session *session,
                                                const struct sirix_handle *handle)
{
    struct sirix_query_opened *opened = session->opened;

    while (opened != NULL && opened->target.handle != handle) {
        opened = opened->next;
    }
    return opened;
}

/* One stream's reader serves all resources of a database. */
static enum sirix_status open_place(void *context, struct sirix_bytes database,
                                    struct sirix_bytes resource,
                                    struct sirix_query_place *out_place, struct sirix_error *err)
{
    struct sirix_query_session *session = context;
    struct sirix_target *target = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!visible(session, database, resource)) {
        return hidden(database, resource, !visible(session, database, (struct sirix_bytes){0}),
                      err);
    }
    struct sirix_query_opened *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a resource that is queried");
    }
    target = &opened->target;
    status = sirix_target_open_named(&session->request, database, resource, target, err);
    if (status != SIRIX_OK) {
        free(opened);
        return status;
    }
    const struct sirix_query_opened *same = same_database(session, target->handle);
    sirix_handle_reader_put(target->handle, target->reader);
    target->reader = NULL;
    if (same != NULL) {
        opened->reader = same->reader;
    } else {
        status = sirix_handle_stream_reader_open(target->handle, &target->reader, err);
        target->stream = true;
        opened->reader = target->reader;
    }
    if (status != SIRIX_OK) {
        sirix_target_close(target);
        free(opened);
        return status;
    }
    opened->next = session->opened;
    session->opened = opened;
    *out_place = (struct sirix_query_place){
        .resource = target->resource, .reader = opened->reader, .handle = opened};
    return SIRIX_OK;
}

static void close_place(void *context, struct sirix_query_place *place)
{
    struct sirix_query_session *session = context;
    struct sirix_query_opened **at = &session->opened;

    while (*at != place->handle) {
        at = &(*at)->next;
    }
    struct sirix_query_opened *opened = *at;
    *at = opened->next;
    sirix_target_close(&opened->target);
    free(opened);
}

static enum sirix_status list_databases(void *context, sirix_name_visit_fn visit,
                                        void *visit_context, struct sirix_error *err)
{
    struct sirix_query_session *session = context;
    struct sirix_registry_name *names = NULL;
    size_t count = 0;
    bool stop = false;
    enum sirix_status status = sirix_registry_list(session->request.service->registry,
                                                   (struct sirix_bytes){0}, &names, &count, err);

    for (size_t i = 0; i < count && status == SIRIX_OK && !stop; i++) {
        const struct sirix_bytes name = {.data = names[i].name, .len = strlen(names[i].name)};

        if (visible(session, name, (struct sirix_bytes){0})) {
            status = visit(visit_context, name, &stop, err);
        }
    }
    free(names);
    return status;
}

struct listing {
    const struct sirix_query_session *session;
    struct sirix_bytes database;
    sirix_name_visit_fn visit;
    void *context;
};

static enum sirix_status visit_visible(void *context, struct sirix_bytes name, bool *stop,
                                       struct sirix_error *err)
{
    const struct listing *listing = context;

    return visible(listing->session, listing->database, name)
               ? listing->visit(listing->context, name, stop, err)
               : SIRIX_OK;
}

static enum sirix_status list_resources(void *context, struct sirix_bytes database,
                                        sirix_name_visit_fn visit, void *visit_context,
                                        struct sirix_error *err)
{
    struct sirix_query_session *session = context;
    struct listing listing = {
        .session = session, .database = database, .visit = visit, .context = visit_context};
    struct sirix_target target = {0};

    if (!visible(session, database, (struct sirix_bytes){0})) {
        return hidden(database, (struct sirix_bytes){0}, true, err);
    }
    enum sirix_status status =
        sirix_target_open(&session->request, database, (struct sirix_bytes){0}, &target, err);
    if (status == SIRIX_OK) {
        status = sirix_resource_list(sirix_handle_database(target.handle), (struct sirix_bytes){0},
                                     visit_visible, &listing, err);
        sirix_target_close(&target);
    }
    return status;
}

/* --- What both kinds share ------------------------------------------------------------------------ */

void sirix_query_session_init(struct sirix_query_session *session,
                              const struct sirix_request *request,
                              const struct sirix_query_request *wanted)
{
    *session = (struct sirix_query_session){.request = *request, .wanted = *wanted};
    session->catalogue = (struct sirix_query_catalogue){
        .context = session,
        .open = open_place,
        .close = close_place,
        .databases = list_databases,
        .resources = list_resources,
    };
}

static enum sirix_status go_on(void *context, struct sirix_error *err)
{
    return sirix_cancel_check(((struct sirix_query_session *)context)->request.cancel, err);
}

static enum sirix_status fail_field(struct sirix_error *err, enum sirix_reason reason,
                                    const char *field, const char *text)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, reason, "%s", text);

    sirix_error_set_field(err, field);
    return status;
}

static enum sirix_status check_request(const struct sirix_query_request *wanted,
                                       struct sirix_error *err)
{
    if (wanted->text.len == 0) {
        return fail_field(err, SIRIX_REASON_FIELD_MISSING, "query", "query is missing");
    }
    if (wanted->database.len == 0 && wanted->resource.len != 0) {
        return fail_field(err, SIRIX_REASON_FIELD_MISSING, "database",
                          "database is missing: it and resource are both given or neither");
    }
    if (wanted->resource.len == 0 && wanted->database.len != 0) {
        return fail_field(err, SIRIX_REASON_FIELD_MISSING, "resource",
                          "resource is missing: it and database are both given or neither");
    }
    if (wanted->database.len == 0 && wanted->view.which != SIRIX_VIEW_WHICH_NONE) {
        return fail_field(err, SIRIX_REASON_FIELD_INVALID, "view",
                          "a revision, snapshot or branch is of one resource: name database and "
                          "resource too, or say it in the query, such as jn:doc('db', 'resource', "
                          "3); a timestamp alone is of all");
    }
    if (wanted->variable_count > SIRIX_QUERY_VARIABLES_MAX) {
        return fail_field(err, SIRIX_REASON_FIELD_INVALID, "variables",
                          "a query is given at most 256 variables");
    }
    if (wanted->limits.memory_bytes > SIRIX_QUERY_MEMORY_BYTES_MAX) {
        return fail_field(err, SIRIX_REASON_FIELD_INVALID, "limits.memory_bytes",
                          "a query takes at most 4 GiB of memory");
    }
    if (wanted->limits.items_visited > SIRIX_QUERY_ITEMS_VISITED_DEFAULT) {
        return fail_field(err, SIRIX_REASON_FIELD_INVALID, "limits.items_visited",
                          "a query passes at most 1,000,000,000 items");
    }
    return SIRIX_OK;
}

enum sirix_status sirix_query_session_options(struct sirix_query_session *session,
                                              struct sirix_query_options *out_options,
                                              struct sirix_error *err)
{
    const struct sirix_query_request *wanted = &session->wanted;
    enum sirix_status status = SIRIX_OK;

    *out_options = (struct sirix_query_options){
        .text = wanted->text,
        .dialect = wanted->jsoniq ? SIRIX_QUERY_DIALECT_JSONIQ : SIRIX_QUERY_DIALECT_DEFAULT,
        .catalogue = &session->catalogue,
        .database = wanted->database,
        .resource = wanted->resource,
        .variables = wanted->variables,
        .variable_count = wanted->variable_count,
        .with_nodes = wanted->with_nodes,
        .limits = wanted->limits,
        .check = go_on,
        .context = session,
    };
    status = check_request(wanted, err);
    return status == SIRIX_OK
               ? sirix_view_request_check(&wanted->view, "view", &out_options->view, err)
               : status;
}

enum sirix_status sirix_query_session_fail(enum sirix_status status,
                                           const struct sirix_query_error *from,
                                           struct sirix_error *err)
{
    sirix_query_error_convert(from, err);
    return status;
}

/* --- Cursors -------------------------------------------------------------------------------------- */

struct sirix_query_stream {
    struct sirix_query_session session;
    struct sirix_query *query;
    struct sirix_query_pin pins[SIRIX_QUERY_PINS_MAX];
    char hash[SIRIX_SHA256_HEX_BYTES];
    uint64_t skip;
    uint64_t given;
    struct sirix_buf cursor; /* The one given out. */
    bool done;
};

static enum sirix_status hash_part(struct sirix_sha256 *sha, struct sirix_bytes part,
                                   struct sirix_error *err)
{
    enum sirix_status status = sirix_sha256_update(sha, &part.len, sizeof(part.len), err);

    return status == SIRIX_OK ? sirix_sha256_update(sha, part.data, part.len, err) : status;
}

/* What a cursor belongs to: the text and everything that makes it mean something else. */
static enum sirix_status hash_request(struct sirix_query_stream *stream, struct sirix_error *err)
{
    const struct sirix_query_request *wanted = &stream->session.wanted;
    const uint64_t numbers[] = {wanted->text.len, wanted->view.which, wanted->view.revision,
                                wanted->jsoniq};
    const struct sirix_bytes parts[] = {wanted->text, wanted->database, wanted->resource,
                                        wanted->view.name, wanted->view.timestamp};
    uint8_t hash[SIRIX_SHA256_BYTES];
    struct sirix_sha256 sha = {0};
    enum sirix_status status = sirix_sha256_init(&sha, err);

    if (status == SIRIX_OK) {
        status = sirix_sha256_update(&sha, numbers, sizeof(numbers), err);
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && status == SIRIX_OK; i++) {
        status = hash_part(&sha, parts[i], err);
    }
    for (size_t i = 0; i < wanted->variable_count && status == SIRIX_OK; i++) {
        status = hash_part(&sha, wanted->variables[i].name, err);
        if (status == SIRIX_OK) {
            status = hash_part(&sha, wanted->variables[i].text, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_final(&sha, hash, err);
    }
    sirix_sha256_deinit(&sha);
    if (status == SIRIX_OK) {
        sirix_sha256_hex(hash, stream->hash);
        stream->hash[HASH_CHARACTERS] = '\0';
    }
    return status;
}

static enum sirix_status bad_cursor(struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_CURSOR,
                                                 "the cursor is none of this query");

    sirix_error_set_field(err, "cursor");
    return status;
}

/* The next part of a cursor, up to a bar or its end. */
static bool take_part(struct sirix_bytes *rest, struct sirix_bytes *out)
{
    const char *start = rest->data;
    const char *bar = rest->len == 0 ? NULL : memchr(start, '|', rest->len);

    if (rest->len == 0) {
        return false;
    }
    out->data = start;
    out->len = bar == NULL ? rest->len : (size_t)(bar - start);
    rest->data = bar == NULL ? start + rest->len : bar + 1;
    rest->len = bar == NULL ? 0 : rest->len - out->len - 1;
    return true;
}

static bool take_number(struct sirix_bytes part, uint64_t *out)
{
    char text[32];
    char *end = NULL;

    if (part.len == 0 || part.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, part.data, part.len);
    text[part.len] = '\0';
    errno = 0;
    *out = strtoull(text, &end, DECIMAL);
    return errno == 0 && *end == '\0' && text[0] >= '0' && text[0] <= '9';
}

static bool take_pin(struct sirix_bytes part, struct sirix_query_pin *out)
{
    const char *start = part.data;
    const char *slash = memchr(start, '/', part.len);
    const char *at = memchr(start, '@', part.len);

    out->asked = at == NULL;
    if (at == NULL) {
        at = memchr(start, '=', part.len);
    }
    if (slash == NULL || at == NULL || at < slash) {
        return false;
    }
    out->database = (struct sirix_bytes){.data = start, .len = (size_t)(slash - start)};
    out->resource = (struct sirix_bytes){.data = slash + 1, .len = (size_t)(at - slash - 1)};
    return take_number(
        (struct sirix_bytes){.data = at + 1, .len = (size_t)(start + part.len - at - 1)},
        &out->revision);
}

static enum sirix_status read_cursor(struct sirix_query_stream *stream,
                                     struct sirix_query_options *options, struct sirix_error *err)
{
    struct sirix_bytes rest = stream->session.wanted.cursor;
    struct sirix_bytes part = {0};
    uint64_t now = 0;

    if (rest.len == 0) {
        return SIRIX_OK;
    }
    if (rest.len > SIRIX_QUERY_CURSOR_BYTES_MAX || !take_part(&rest, &part) ||
        !sirix_bytes_equal(part, (struct sirix_bytes){.data = "q1", .len = 2}) ||
        !take_part(&rest, &part) ||
        !sirix_bytes_equal(part,
                           (struct sirix_bytes){.data = stream->hash, .len = HASH_CHARACTERS}) ||
        !take_part(&rest, &part) || !take_number(part, &stream->skip) || !take_part(&rest, &part) ||
        !take_number(part, &now) || now > INT64_MAX) {
        return bad_cursor(err);
    }
    options->has_now = true;
    options->now_us = (int64_t)now;
    options->pins = stream->pins;
    while (take_part(&rest, &part)) {
        if (options->pin_count == SIRIX_QUERY_PINS_MAX ||
            !take_pin(part, &stream->pins[options->pin_count])) {
            return bad_cursor(err);
        }
        options->pin_count++;
    }
    return SIRIX_OK;
}

static enum sirix_status write_cursor(struct sirix_query_stream *stream, struct sirix_error *err)
{
    size_t count = 0;
    const struct sirix_query_pin *pins = sirix_query_pins(stream->query, &count);

    if (pins == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a cursor");
    }
    if (count > SIRIX_QUERY_PINS_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "a query of more than %d resources has no pages",
                                 SIRIX_QUERY_PINS_MAX);
    }
    sirix_buf_clear(&stream->cursor);
    enum sirix_status status =
        sirix_buf_printf(&stream->cursor, err, "q1|%s|%" PRIu64 "|%" PRId64, stream->hash,
                         stream->skip + stream->given, sirix_query_now_us(stream->query));
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = sirix_buf_printf(&stream->cursor, err, "|%.*s/%.*s%c%" PRIu64,
                                  (int)pins[i].database.len, (const char *)pins[i].database.data,
                                  (int)pins[i].resource.len, (const char *)pins[i].resource.data,
                                  pins[i].asked ? '=' : '@', pins[i].revision);
    }
    return status;
}

/* --- Reading -------------------------------------------------------------------------------------- */

enum sirix_status sirix_query_stream_open(const struct sirix_request *request,
                                          const struct sirix_query_request *wanted,
                                          struct sirix_query_stream **out_stream,
                                          struct sirix_error *err)
{
    struct sirix_query_options options = {0};
    struct sirix_query_error failed = {0};
    struct sirix_query_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a query");
    }
    sirix_buf_init(&stream->cursor, SIRIX_QUERY_CURSOR_BYTES_MAX);
    sirix_query_session_init(&stream->session, request, wanted);
    enum sirix_status status = sirix_query_session_options(&stream->session, &options, err);
    if (status == SIRIX_OK) {
        status = hash_request(stream, err);
    }
    if (status == SIRIX_OK) {
        status = read_cursor(stream, &options, err);
    }
    if (status == SIRIX_OK && wanted->limit != 0 && wanted->limit < UINT64_MAX - stream->skip - 1) {
        options.want = stream->skip + wanted->limit + 1; /* One more tells whether more come. */
    }
    if (status == SIRIX_OK) {
        status = sirix_query_prepare(&options, &stream->query, &failed);
        if (status != SIRIX_OK) {
            status = sirix_query_session_fail(status, &failed, err);
        }
    }
    if (status != SIRIX_OK) {
        sirix_query_stream_close(stream);
        return status;
    }
    sirix_query_skip(stream->query, stream->skip);
    *out_stream = stream;
    return SIRIX_OK;
}

const struct sirix_query_pin *sirix_query_stream_reads(struct sirix_query_stream *stream,
                                                       size_t *out_count)
{
    return sirix_query_pins(stream->query, out_count);
}

void sirix_query_stream_close(struct sirix_query_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    sirix_query_close(stream->query);
    sirix_buf_deinit(&stream->cursor);
    free(stream);
}

enum sirix_status sirix_query_stream_explain(struct sirix_query_stream *stream,
                                             struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_query_error failed = {0};
    enum sirix_status status = sirix_query_explain(stream->query, out, &failed);

    return status == SIRIX_OK ? status : sirix_query_session_fail(status, &failed, err);
}

static enum sirix_status gather(struct sirix_query_stream *stream, size_t item_max,
                                struct sirix_query_page *page, struct sirix_error *err)
{
    struct sirix_query_error failed = {0};
    enum sirix_status status = sirix_query_next(stream->query, item_max, SIRIX_QUERY_TURN_US,
                                                &page->items, &page->count, &page->done, &failed);

    return status == SIRIX_OK ? status : sirix_query_session_fail(status, &failed, err);
}

enum sirix_status sirix_query_stream_next(struct sirix_query_stream *stream,
                                          struct sirix_query_page *out_page,
                                          struct sirix_error *err)
{
    const uint64_t limit = stream->session.wanted.limit;
    struct sirix_query_page page = {0};
    enum sirix_status status = sirix_cancel_check(stream->session.request.cancel, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (limit != 0 && stream->given == limit) {
        /* The page is full: is there anything behind it? */
        status = gather(stream, 1, &page, err);
        if (status == SIRIX_OK && page.count != 0) {
            status = write_cursor(stream, err);
            page.next_cursor = sirix_buf_view(&stream->cursor);
            page.done = true;
        }
        page.count = 0;
    } else {
        const uint64_t left = limit == 0 ? 0 : limit - stream->given;

        status = gather(stream, left > SIZE_MAX ? SIZE_MAX : (size_t)left, &page, err);
        stream->given += page.count;
    }
    if (status == SIRIX_OK) {
        *out_page = page;
    }
    return status;
}
