/*
 * A page's cursor is the number of the revision that the next page begins with: it is an ancestor of
 * the page's last one, whatever happens to branches meanwhile.
 */
#include "service/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "service/texts.h"

enum { CURSOR_TEXT_BYTES = 24 };

/* Replaces the view by the one that the cursor goes on with. */
static enum sirix_status apply_cursor(struct sirix_bytes cursor, struct sirix_view_request *view,
                                      struct sirix_error *err)
{
    uint64_t revision = 0;

    if (cursor.len == 0) {
        return SIRIX_OK;
    }
    if (!sirix_name_is_revision(cursor, &revision)) {
        enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_CURSOR,
                                                     "the cursor is not one of ours");
        sirix_error_set_field(err, "cursor");
        return status;
    }
    *view = (struct sirix_view_request){.which = SIRIX_VIEW_WHICH_REVISION, .revision = revision};
    return SIRIX_OK;
}

static enum sirix_status make_cursor(struct sirix_arena *arena, uint64_t revision,
                                     struct sirix_bytes *out_cursor, struct sirix_error *err)
{
    char text[CURSOR_TEXT_BYTES];

    int len = snprintf(text, sizeof(text), "%" PRIu64, revision);
    return sirix_arena_copy(arena, (struct sirix_bytes){.data = text, .len = (size_t)len},
                            out_cursor, err);
}

/* Names of branches: mostly that of the revision before. */
struct branch_names {
    struct sirix_target *target;
    bool known;
    uint64_t id;
    struct sirix_bytes name; /* In the arena. */
};

static enum sirix_status name_branch(struct branch_names *names, uint64_t id,
                                     struct sirix_arena *arena, struct sirix_bytes *out_name,
                                     struct sirix_error *err)
{
    struct sirix_error missing = {0};
    struct sirix_bytes name = {.data = NULL, .len = 0};

    if (names->known && names->id == id) {
        *out_name = names->name;
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_branch_name(names->target->resource, names->target->reader, id, &name, &missing);
    /* A lost name is verify's to tell; the revisions are there all the same. */
    if (status != SIRIX_OK && status != SIRIX_NOT_FOUND) {
        if (err != NULL) {
            *err = missing;
        }
        return status;
    }
    status = sirix_arena_copy(arena, name, &names->name, err);
    names->id = id;
    names->known = status == SIRIX_OK;
    if (status == SIRIX_OK) {
        *out_name = names->name;
    }
    return status;
}

static enum sirix_status fill_info(const struct sirix_record *record, struct branch_names *names,
                                   struct sirix_arena *arena, struct sirix_revision_info *info,
                                   struct sirix_error *err)
{
    struct sirix_bytes author = {.data = NULL, .len = 0};

    *info = (struct sirix_revision_info){
        .revision = record->revision,
        .parent_revision = record->parent_revision,
        .time_us = record->time_us,
        .reverted_to = record->adopted_from,
        .node_count = record->node_count,
    };
    memcpy(info->chain, record->chain, sizeof(info->chain));
    enum sirix_status status = sirix_arena_copy(arena, record->author, &author, err);
    if (status == SIRIX_OK) {
        sirix_author_split(author, &info->author, &info->on_behalf_of, &info->claimed);
        status = sirix_arena_copy(arena, record->message, &info->message, err);
    }
    return status == SIRIX_OK ? name_branch(names, record->branch_id, arena, &info->branch, err)
                              : status;
}

/* --- Of a resource ------------------------------------------------------------------------------ */

struct page {
    const struct sirix_request *request;
    struct sirix_arena *arena;
    struct branch_names names;
    struct sirix_history history;
    uint64_t size;
    size_t bytes;
};

static enum sirix_status visit_record(void *context, const struct sirix_record *record,
                                      uint64_t address, bool *stop, struct sirix_error *err)
{
    struct page *page = context;

    (void)address;
    enum sirix_status status = sirix_cancel_check(page->request->cancel, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (page->history.count == page->size || page->bytes > SIRIX_HISTORY_BYTES_MAX) {
        *stop = true;
        return make_cursor(page->arena, record->revision, &page->history.next_cursor, err);
    }
    page->bytes += record->message.len + record->author.len;
    return fill_info(record, &page->names, page->arena,
                     &page->history.revisions[page->history.count++], err);
}

enum sirix_status sirix_service_history(const struct sirix_request *request,
                                        const struct sirix_history_request *wanted,
                                        struct sirix_arena *arena,
                                        struct sirix_history *out_history, struct sirix_error *err)
{
    struct page page = {.request = request, .arena = arena};
    struct sirix_view_request which = wanted->view;
    struct sirix_target target = {0};
    struct sirix_view view = {0};
    void *memory = NULL;

    enum sirix_status status =
        sirix_limit_check(wanted->page_size, SIRIX_SERVICE_HISTORY_DEFAULT, SIRIX_SERVICE_PAGE_MAX,
                          "page_size", &page.size, err);
    if (status == SIRIX_OK) {
        status = apply_cursor(wanted->cursor, &which, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_arena_calloc(arena, page.size, sizeof(struct sirix_revision_info), &memory, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_target_open(request, wanted->database, wanted->resource, &target, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    page.history.revisions = memory;
    status = sirix_target_view(&target, &which, "view", &view, err);
    if (status == SIRIX_OK) {
        page.names.target = &target;
        status = sirix_view_history(&view, target.reader, visit_record, &page, err);
        sirix_view_close(&view);
    }
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_history = page.history;
    }
    return status;
}

/* --- One revision ------------------------------------------------------------------------------- */

struct one {
    struct branch_names names;
    struct sirix_arena *arena;
    struct sirix_revision_info *info;
};

static enum sirix_status visit_one(void *context, const struct sirix_record *record,
                                   uint64_t address, bool *stop, struct sirix_error *err)
{
    struct one *one = context;

    (void)address;
    *stop = true;
    return fill_info(record, &one->names, one->arena, one->info, err);
}

enum sirix_status sirix_revision_info_read(struct sirix_target *target, uint64_t revision,
                                           struct sirix_arena *arena,
                                           struct sirix_revision_info *out_info,
                                           struct sirix_error *err)
{
    const struct sirix_view_request which = {.which = SIRIX_VIEW_WHICH_REVISION,
                                             .revision = revision};
    struct sirix_revision_info info = {0};
    struct one one = {.names = {.target = target}, .arena = arena, .info = &info};
    struct sirix_view view = {0};

    enum sirix_status status = sirix_target_view(target, &which, "view", &view, err);
    if (status == SIRIX_OK) {
        status = sirix_view_history(&view, target->reader, visit_one, &one, err);
        sirix_view_close(&view);
    }
    if (status == SIRIX_OK) {
        *out_info = info;
    }
    return status;
}

/* --- Of a node ---------------------------------------------------------------------------------- */

struct node_page {
    const struct sirix_request *request;
    const struct sirix_node_history_request *wanted;
    struct sirix_arena *arena;
    struct sirix_target *target;
    struct branch_names names;
    struct sirix_node_history history;
    uint64_t size;
    uint64_t value_max;
    size_t bytes;
    bool pending; /* entries[count] is read; what it did is known from the one before it. */
    bool full;
};

/* Reads the node as the revision has it. */
static enum sirix_status read_entry(struct node_page *page, uint64_t revision,
                                    struct sirix_node_history_entry *entry, struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = revision};
    struct sirix_view view = {0};
    struct sirix_document document;
    struct sirix_document_node node;
    struct sirix_buf text;

    enum sirix_status status =
        sirix_view_open(page->target->resource, page->target->reader, &spec, &view, err);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&text, SIZE_MAX);
    sirix_document_init(&document, &view, page->target->reader);
    status = sirix_document_get(&document, page->wanted->node_key, &node, err);
    if (status == SIRIX_OK) {
        entry->kind = sirix_value_kind_of(node.kind);
        entry->is_member = node.is_member;
        entry->text_address = sirix_node_value_kind(node.stored.kind) == SIRIX_NODE_STRING
                                  ? node.stored.text.address
                                  : 0;
        if (!sirix_node_is_container(node.kind)) {
            status =
                sirix_document_scalar(&document, &node, page->value_max, &text, &entry->cut, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(page->arena, sirix_buf_view(&text), &entry->value, err);
    }
    if (status == SIRIX_OK && node.is_member) {
        sirix_buf_clear(&text);
        status =
            sirix_member_name(page->target->reader, &node, page->arena, &text, &entry->name, err);
    }
    sirix_buf_deinit(&text);
    sirix_view_close(&view);
    return status;
}

/* What made `newer` out of `older`; NONE: only children changed. */
static enum sirix_node_change change_between(const struct sirix_node_history_entry *older,
                                             const struct sirix_node_history_entry *newer)
{
    if (newer->change == SIRIX_NODE_CHANGE_DELETE) {
        return SIRIX_NODE_CHANGE_DELETE;
    }
    if (older->change == SIRIX_NODE_CHANGE_DELETE) {
        return SIRIX_NODE_CHANGE_INSERT;
    }
    if (older->kind != newer->kind) {
        return SIRIX_NODE_CHANGE_REPLACE;
    }
    if (!sirix_bytes_equal(older->value, newer->value) ||
        (newer->cut && (older->text_address != newer->text_address || newer->text_address == 0))) {
        return SIRIX_NODE_CHANGE_UPDATE;
    }
    if (!sirix_bytes_equal(older->name, newer->name)) {
        return SIRIX_NODE_CHANGE_RENAME;
    }
    return SIRIX_NODE_CHANGE_NONE;
}

static enum sirix_status visit_node(void *context, const struct sirix_record *record,
                                    uint64_t address, bool deleted, bool *stop,
                                    struct sirix_error *err)
{
    struct node_page *page = context;
    struct sirix_node_history_entry entry = {0};

    (void)address;
    enum sirix_status status = sirix_cancel_check(page->request->cancel, err);
    if (status == SIRIX_OK) {
        status = fill_info(record, &page->names, page->arena, &entry.revision, err);
    }
    if (status == SIRIX_OK && deleted) {
        entry.change = SIRIX_NODE_CHANGE_DELETE;
    } else if (status == SIRIX_OK) {
        status = read_entry(page, record->revision, &entry, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_node_history_entry *newer = &page->history.entries[page->history.count];
    if (page->pending) {
        newer->change = change_between(&entry, newer);
        if (newer->change != SIRIX_NODE_CHANGE_NONE) {
            page->bytes += newer->value.len + newer->revision.message.len;
            page->history.count++;
        }
    }
    if (page->history.count == page->size || page->bytes > SIRIX_HISTORY_BYTES_MAX) {
        *stop = true;
        page->full = true;
        page->pending = false;
        return make_cursor(page->arena, record->revision, &page->history.next_cursor, err);
    }
    page->history.entries[page->history.count] = entry;
    page->pending = true;
    return SIRIX_OK;
}

enum sirix_status sirix_service_node_history(const struct sirix_request *request,
                                             const struct sirix_node_history_request *wanted,
                                             struct sirix_arena *arena,
                                             struct sirix_node_history *out_history,
                                             struct sirix_error *err)
{
    struct sirix_target target = {0};
    struct node_page page = {
        .request = request, .wanted = wanted, .arena = arena, .target = &target};
    struct sirix_view_request which = wanted->page.view;
    struct sirix_view view = {0};
    void *memory = NULL;

    enum sirix_status status =
        sirix_limit_check(wanted->page.page_size, SIRIX_SERVICE_HISTORY_DEFAULT,
                          SIRIX_SERVICE_PAGE_MAX, "page_size", &page.size, err);
    if (status == SIRIX_OK) {
        status = sirix_limit_check(wanted->max_value_bytes, SIRIX_NODE_HISTORY_VALUE_DEFAULT,
                                   SIRIX_NODE_HISTORY_VALUE_MAX, "max_value_bytes", &page.value_max,
                                   err);
    }
    if (status == SIRIX_OK) {
        status = apply_cursor(wanted->page.cursor, &which, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, page.size + 1, sizeof(struct sirix_node_history_entry),
                                    &memory, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_target_open(request, wanted->page.database, wanted->page.resource, &target, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    page.history.entries = memory;
    status = sirix_target_view(&target, &which, "view", &view, err);
    if (status == SIRIX_OK) {
        page.names.target = &target;
        status =
            sirix_view_node_history(&view, target.reader, wanted->node_key, visit_node, &page, err);
        if (status == SIRIX_NOT_FOUND) {
            sirix_error_set_field(err, "node_key");
        }
        sirix_view_close(&view);
    }
    if (status == SIRIX_OK && !page.pending && page.history.count == 0 && !page.full) {
        status = sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_NODE_UNKNOWN,
                                   "no revision on the way to this one has had node %" PRIu64,
                                   wanted->node_key);
        sirix_error_set_field(err, "node_key");
    }
    if (status == SIRIX_OK && page.pending && !page.full) {
        /* The oldest: the revision that made the node. */
        struct sirix_node_history_entry *first = &page.history.entries[page.history.count++];
        first->change = first->change == SIRIX_NODE_CHANGE_DELETE ? SIRIX_NODE_CHANGE_DELETE
                                                                  : SIRIX_NODE_CHANGE_INSERT;
    }
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_history = page.history;
    }
    return status;
}
