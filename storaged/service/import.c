/*
 * Import on top of an edit. The idempotency row keeps counts beside the revision:
 *
 *     varint nodes, text bytes, duplicates dropped, root key, items; byte: bit 0 database, bit 1 resource
 *     created
 */
#include "service/import.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "base/varint.h"
#include "service/quota.h"
#include "json/text.h"

enum { ANSWER_BYTES_MAX = 64, CREATED_DATABASE = 1, CREATED_RESOURCE = 2 };

struct sirix_import {
    struct sirix_request request;
    struct sirix_import_request wanted;
    struct sirix_write write;
    struct sirix_view base;
    struct sirix_edit *edit;
    struct sirix_arena arena;
    struct sirix_edit_result built;
    uint64_t text_bytes;
    uint64_t items;
    bool based;
    bool value_open; /* Begun in the edit, and neither ended nor lost to an error. */
    bool database_created;
    bool resource_created;
};

/* --- Kept answers ------------------------------------------------------------------------------- */

static size_t encode_answer(const struct sirix_import *import, uint8_t out[ANSWER_BYTES_MAX])
{
    size_t len = 0;

    len += sirix_varint_encode(import->built.node_count, out + len);
    len += sirix_varint_encode(import->text_bytes, out + len);
    len += sirix_varint_encode(import->built.duplicates_dropped, out + len);
    len += sirix_varint_encode(import->built.key, out + len);
    len += sirix_varint_encode(import->items, out + len);
    out[len++] = (uint8_t)((import->database_created ? CREATED_DATABASE : 0) |
                           (import->resource_created ? CREATED_RESOURCE : 0));
    return len;
}

static enum sirix_status decode_answer(struct sirix_bytes answer,
                                       struct sirix_import_result *result, struct sirix_error *err)
{
    uint64_t *const numbers[] = {&result->nodes, &result->text_bytes, &result->duplicates_dropped,
                                 &result->root_key, &result->items};
    const uint8_t *at = answer.data;
    size_t left = answer.len;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        size_t size = sirix_varint_decode(at, left, numbers[i]);
        if (size == 0) {
            return sirix_fail(err, SIRIX_CORRUPT, "the kept answer of an import ends early");
        }
        at += size;
        left -= size;
    }
    if (left != 1) {
        return sirix_fail(err, SIRIX_CORRUPT, "the kept answer of an import has a wrong length");
    }
    result->database_created = (*at & CREATED_DATABASE) != 0;
    result->resource_created = (*at & CREATED_RESOURCE) != 0;
    return SIRIX_OK;
}

/* --- Beginning ---------------------------------------------------------------------------------- */

static struct sirix_bytes author_of(const struct sirix_author *author)
{
    return (struct sirix_bytes){.data = author->text, .len = author->len};
}

/* The database, made where it is missing and may be made. */
static enum sirix_status open_database(struct sirix_import *import,
                                       struct sirix_handle **out_handle, struct sirix_error *err)
{
    const struct sirix_bytes name = import->wanted.database;
    struct sirix_registry *registry = import->request.service->registry;
    struct sirix_error missing = {0};

    enum sirix_status status = sirix_registry_acquire(registry, name, out_handle, &missing);
    if (status == SIRIX_NOT_FOUND) {
        status = sirix_registry_create(registry, name, err);
        import->database_created = status == SIRIX_OK;
        if (status == SIRIX_OK) {
            status = sirix_registry_acquire(registry, name, out_handle, err);
        }
    } else if (status != SIRIX_OK && err != NULL) {
        *err = missing;
    }
    return status;
}

/* Gives up what no name leads to. */
static void discard(struct sirix_resource *resource)
{
    struct sirix_error left = {0};

    /* If it cannot be removed now, it is at the next opening of the database: nobody sees it. */
    enum sirix_status status = sirix_resource_discard(resource, &left);

    (void)status;
}

/* Begins the write on a new resource, which gets its name when the import is published. */
static enum sirix_status open_hidden(struct sirix_import *import, struct sirix_handle *handle,
                                     struct sirix_error *err)
{
    const struct sirix_import_request *wanted = &import->wanted;
    struct sirix_resource *resource = NULL;

    enum sirix_status status = sirix_quota_check_bytes(import->request.service, handle, err);
    if (status == SIRIX_OK) {
        status = sirix_resource_create_hidden(sirix_handle_database(handle), wanted->resource,
                                              &resource, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_write_open_hidden(&import->request, &wanted->options, handle, resource,
                                     wanted->branch, &import->write, err);
    if (status != SIRIX_OK) {
        discard(resource);
        sirix_resource_unref(resource);
        return status;
    }
    import->resource_created = true;
    return SIRIX_OK;
}

/* Begins the write on a resource that is made where it is missing; else *out_made stays false. */
static enum sirix_status make_missing(struct sirix_import *import, struct sirix_handle *handle,
                                      bool *out_made, struct sirix_error *err)
{
    struct sirix_resource *resource = NULL;
    struct sirix_error missing = {0};

    enum sirix_status status = sirix_resource_open(sirix_handle_database(handle),
                                                   import->wanted.resource, &resource, &missing);
    if (status == SIRIX_NOT_FOUND) {
        status = open_hidden(import, handle, err);
        *out_made = status == SIRIX_OK;
        return status;
    }
    if (resource != NULL) {
        sirix_resource_unref(resource);
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = missing;
    }
    return status;
}

/* Begins the write; on what is missing too, where that may be made. */
static enum sirix_status open_write(struct sirix_import *import, struct sirix_error *err)
{
    const struct sirix_import_request *wanted = &import->wanted;
    struct sirix_handle *handle = NULL;
    bool made = false;

    enum sirix_status status =
        sirix_name_check(SIRIX_NAME_RESOURCE, wanted->resource, "resource", err);
    if (status == SIRIX_OK) {
        status =
            sirix_request_check_seen(&import->request, wanted->database, wanted->resource, err);
    }
    if (status == SIRIX_OK && !wanted->existing_only) {
        status = open_database(import, &handle, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (handle != NULL) {
        status = make_missing(import, handle, &made, err);
        if (!made) {
            sirix_registry_release(handle);
        }
    }
    if (status != SIRIX_OK || made) {
        return status;
    }
    return sirix_write_open(&import->request, &wanted->options, wanted->database, wanted->resource,
                            wanted->branch, &import->write, err);
}

/* In the middle of an operation of the edit. */
static enum sirix_status look_at_cancel(void *context, struct sirix_error *err)
{
    const struct sirix_import *import = context;

    return sirix_cancel_check(import->request.cancel, err);
}

/* Opens the value in the edit, where the request wants it. */
static enum sirix_status begin_value(struct sirix_import *import, struct sirix_error *err)
{
    const struct sirix_import_request *wanted = &import->wanted;
    enum sirix_duplicates duplicates =
        wanted->last_duplicate_wins ? SIRIX_DUPLICATES_LAST : SIRIX_DUPLICATES_REFUSE;
    struct sirix_edit_insert insert = {
        .duplicates = duplicates, .ndjson = wanted->ndjson, .depth_max = wanted->max_depth};
    struct sirix_document document;
    struct sirix_bytes name = {.data = NULL, .len = 0};
    bool has_value = false;
    enum sirix_status status = SIRIX_OK;

    if (wanted->has_place) {
        insert.target = wanted->target;
        insert.place = wanted->place;
        insert.index = wanted->index;
        if (wanted->has_name) {
            status = sirix_json_text_to_canonical(&import->arena, wanted->name, &name, err);
            insert.name = &name;
        }
        return status == SIRIX_OK ? sirix_edit_insert_begin(import->edit, &insert, err) : status;
    }
    sirix_document_init(&document, &import->base, import->write.target.reader);
    status = sirix_document_has_value(&document, &has_value, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (!has_value) {
        return sirix_edit_insert_begin(import->edit, &insert, err);
    }
    if (!wanted->replace) {
        status = sirix_fail_reason(err, SIRIX_ALREADY_EXISTS, SIRIX_REASON_RESOURCE_HAS_VALUE,
                                   "the resource has a value already; replace it, or name a place "
                                   "in it");
        sirix_error_set_field(err, "resource");
        return status;
    }
    const struct sirix_edit_update update = {.target = 1,
                                             .duplicates = duplicates,
                                             .ndjson = wanted->ndjson,
                                             .depth_max = wanted->max_depth};
    return sirix_edit_update_begin(import->edit, &update, err);
}

static enum sirix_status begin(struct sirix_import *import, bool *out_replayed,
                               struct sirix_import_result *out_result, struct sirix_error *err)
{
    const struct sirix_import_request *wanted = &import->wanted;
    struct sirix_bytes kept = {.data = NULL, .len = 0};

    enum sirix_status status = sirix_request_may_write(&import->request, err);
    if (status == SIRIX_OK) {
        status = sirix_write_options_check(&wanted->options, err);
    }
    if (status == SIRIX_OK && wanted->has_name && !wanted->has_place) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "a name goes with a place");
        sirix_error_set_field(err, "name");
    }
    if (status == SIRIX_OK) {
        status = open_write(import, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_write_replay(&import->write, out_replayed, &out_result->result, &kept, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (*out_replayed) {
        out_result->result.changed = true;
        return decode_answer(kept, out_result, err);
    }
    status = sirix_write_head(&import->write, &import->base, err);
    import->based = status == SIRIX_OK;
    if (status == SIRIX_OK) {
        status = sirix_edit_new(&import->base, import->write.target.reader, &import->edit, err);
    }
    if (status == SIRIX_OK) {
        sirix_edit_set_pause(import->edit, look_at_cancel, import);
        status = begin_value(import, err);
        import->value_open = status == SIRIX_OK;
        sirix_reader_yield(import->write.target.reader);
    }
    return status;
}

enum sirix_status sirix_import_open(const struct sirix_request *request,
                                    const struct sirix_import_request *wanted,
                                    struct sirix_import **out_import, bool *out_replayed,
                                    struct sirix_import_result *out_result, struct sirix_error *err)
{
    struct sirix_import_result result = {0};
    bool replayed = false;
    struct sirix_import *import = calloc(1, sizeof(*import));

    if (import == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate an import");
    }
    import->request = *request;
    import->wanted = *wanted;
    import->write.stream = true;
    sirix_arena_init(&import->arena,
                     (size_t)2 * SIRIX_MEMBER_NAME_BYTES_MAX * SIRIX_ESCAPED_FACTOR_MAX);
    enum sirix_status status = begin(import, &replayed, &result, err);
    if (status != SIRIX_OK || replayed) {
        sirix_import_close(import);
        import = NULL;
    }
    if (status == SIRIX_OK) {
        *out_import = import;
        *out_replayed = replayed;
        *out_result = result;
    }
    return status;
}

/* --- The text ----------------------------------------------------------------------------------- */

enum sirix_status sirix_import_feed(struct sirix_import *import, struct sirix_bytes piece,
                                    struct sirix_error *err)
{
    const uint8_t *at = piece.data;
    enum sirix_status status = SIRIX_OK;

    for (size_t left = piece.len; status == SIRIX_OK && left > 0;) {
        size_t part = left < SIRIX_FEED_BYTES ? left : SIRIX_FEED_BYTES;
        status = sirix_cancel_check(import->request.cancel, err);
        if (status != SIRIX_OK) {
            break;
        }
        status =
            sirix_edit_value_feed(import->edit, (struct sirix_bytes){.data = at, .len = part}, err);
        import->value_open = status == SIRIX_OK;
        sirix_reader_yield(import->write.target.reader);
        at += part;
        left -= part;
    }
    import->text_bytes += piece.len;
    return status;
}

enum sirix_status sirix_import_end(struct sirix_import *import, struct sirix_error *err)
{
    struct sirix_document_node node;
    enum sirix_status status = sirix_edit_value_end(import->edit, &import->built, err);

    import->value_open = false;
    if (status == SIRIX_OK && import->wanted.ndjson) {
        status = sirix_edit_get(import->edit, import->built.key, &node, err);
        import->items = status == SIRIX_OK ? node.child_count : 0;
    }
    sirix_reader_yield(import->write.target.reader);
    return status;
}

struct sirix_write *sirix_import_write(struct sirix_import *import)
{
    return &import->write;
}

/*
 * A branch that moved while the text came: an insert is linked to the new head where its place is
 * still what it was; anything else is SIRIX_CONFLICT. (A writer that expects a revision has been
 * refused before.)
 */
static enum sirix_status follow_head(struct sirix_import *import, struct sirix_error *err)
{
    struct sirix_view head = {0};

    enum sirix_status status = sirix_write_head(&import->write, &head, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (head.record.revision == import->base.record.revision) {
        sirix_view_close(&head);
        return SIRIX_OK;
    }
    status = sirix_edit_rebase(import->edit, &head, err);
    if (status != SIRIX_OK) {
        if (status == SIRIX_CONFLICT && err != NULL) {
            err->current_revision = head.record.revision;
        }
        sirix_view_close(&head);
        return status;
    }
    sirix_view_close(&import->base);
    import->base = head;
    return SIRIX_OK;
}

enum sirix_status sirix_import_publish(struct sirix_import *import,
                                       struct sirix_import_result *out_result,
                                       struct sirix_error *err)
{
    struct sirix_write *write = &import->write;
    uint8_t answer[ANSWER_BYTES_MAX];
    struct sirix_published published = {0};
    struct sirix_edit_commit commit = {
        .author = author_of(&write->author),
        .message = import->wanted.options.message,
        .rider = sirix_write_rider(write),
    };
    bool changed = false;

    enum sirix_status status = sirix_cancel_check(import->request.cancel, err);
    if (status == SIRIX_OK) {
        status = follow_head(import, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    commit.rider.answer =
        (struct sirix_bytes){.data = answer, .len = encode_answer(import, answer)};
    status = sirix_write_ended(write,
                               sirix_edit_commit(import->edit, &commit, &published, &changed, err));
    if (status == SIRIX_OK && !changed && !published.replayed && commit.rider.key.len != 0) {
        status =
            sirix_rider_record(write->target.resource, &commit.rider, &published, &published, err);
    }
    if (status == SIRIX_ALREADY_EXISTS) { /* Somebody else gave its name away meanwhile. */
        sirix_error_set_field(err, "resource");
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out_result = (struct sirix_import_result){
        .result = {.revision = published.revision,
                   .parent_revision = published.parent_revision,
                   .time_us = published.time_us,
                   .changed = changed,
                   .replayed = published.replayed},
        .nodes = import->built.node_count,
        .text_bytes = import->text_bytes,
        .duplicates_dropped = import->built.duplicates_dropped,
        .root_key = import->built.key,
        .items = import->items,
        .database_created = import->database_created,
        .resource_created = import->resource_created,
    };
    return SIRIX_OK;
}

void sirix_import_close(struct sirix_import *import)
{
    if (import == NULL) {
        return;
    }
    if (import->value_open) {
        sirix_edit_value_abort(import->edit);
    }
    sirix_edit_free(import->edit);
    if (import->based) {
        sirix_view_close(&import->base);
    }
    if (import->resource_created) {
        discard(import->write.target.resource); /* Does nothing once it has its name. */
    }
    sirix_write_close(&import->write);
    sirix_arena_deinit(&import->arena);
    free(import);
}
