/* Lists with caps and cursors. */
#include "mcp/listing.h"

#include <string.h>

#include "mcp/cursor.h"

enum { PAGE_SIZE = 200 };

struct filling {
    struct sirix_mcp_call *call;
    const struct sirix_listing *listing;
    struct sirix_json_node *items;
    uint64_t limit;
    uint64_t count;
    uint64_t seen; /* Names of all pages, also those that are not for the caller. */
    size_t bytes;
    bool is_full; /* The item of next_skip does not fit any more. */
    uint64_t next_skip;
};

/* Adds the items of one page, from `skip` on. */
static enum sirix_status fill(struct filling *f, const void *list, size_t count, uint64_t skip,
                              struct sirix_error *err)
{
    struct sirix_answer *answer = &f->call->answer;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = (size_t)skip; i < count && !f->is_full && status == SIRIX_OK; i++) {
        const char *key = NULL;
        char *name = NULL;
        struct sirix_json_node *item = f->listing->item(f->call, list, i, &key);
        size_t size = sirix_answer_size(answer, item) + (key == NULL ? 1 : strlen(key) + 4);

        if (item == NULL) {
            continue;
        }
        if (f->count == f->limit) {
            sirix_answer_truncate(answer, sirix_mcp_limit_reason(f->call, f->limit));
            f->is_full = true;
        } else if (f->count != 0 && !sirix_answer_has_room(answer, f->bytes, size)) {
            sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_BYTES);
            f->is_full = true;
        } else if (key != NULL) {
            status = sirix_arena_strdup(f->call->arena, key, &name, err);
            sirix_answer_set(answer, f->items, name, item);
        } else {
            sirix_answer_append(answer, f->items, item);
        }
        f->next_skip = i;
        f->count += !f->is_full;
        f->bytes += size;
    }
    return status;
}

enum sirix_status sirix_listing_run(struct sirix_mcp_call *call,
                                    const struct sirix_listing *listing, struct sirix_error *err)
{
    const struct sirix_argument *given = sirix_argument(&call->arguments, "cursor");
    const uint64_t tag = sirix_cursor_tag(call->tool->name, call->database, call->resource, 0);
    struct sirix_cursor cursor = {0};
    struct filling f = {
        .call = call, .listing = listing, .limit = sirix_mcp_limit(call, "limit", 0)};
    enum sirix_status status = SIRIX_OK;

    f.items =
        listing->is_map ? sirix_answer_object(&call->answer) : sirix_answer_array(&call->answer);
    if (given != NULL) {
        status = sirix_cursor_read(call->arena, tag, given->text, &cursor, err);
    }
    while (status == SIRIX_OK) {
        const struct sirix_page page = {.size = PAGE_SIZE, .cursor = cursor.server};
        struct sirix_bytes next = {.data = NULL, .len = 0};
        const void *list = NULL;
        size_t count = 0;

        status = listing->fetch(call, &page, &list, &count, &next, err);
        if (status == SIRIX_OK) {
            status = fill(&f, list, count, cursor.skip, err);
        }
        if (status == SIRIX_OK && !f.is_full) {
            status = sirix_arena_copy(call->arena, next, &next, err);
        }
        sirix_backend_release(list);
        f.seen += count;
        sirix_mcp_tell_progress(call->request, f.seen, 0, "names looked at", false);
        if (f.is_full || next.len == 0 || status != SIRIX_OK) {
            break;
        }
        cursor = (struct sirix_cursor){.server = next};
    }
    if (status == SIRIX_OK && f.is_full) {
        cursor.skip = f.next_skip;
        status = sirix_cursor_write(call->arena, tag, &cursor, &call->answer.next_cursor, err);
    }
    if (status == SIRIX_OK) {
        call->answer.has_count = true;
        call->answer.count = f.count;
        sirix_answer_set(&call->answer, call->answer.body, listing->name, f.items);
    }
    return status;
}
