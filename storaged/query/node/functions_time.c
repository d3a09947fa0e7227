/*
 * The same node at other times. A timeline is the branch that the item's revision belongs to, from its
 * first revision to the head as the query sees it. A revision before the resource's first value counts
 * as none.
 */
#include "query/node/functions.h"

enum { HISTORY_MAX = 1000000 };

/* Where an item stands in time. */
struct moment {
    struct sirix_store_view *view;
    const struct sirix_store_timeline *line;
    size_t at;    /* Of its own revision. */
    uint64_t key; /* Canonical. */
};

static enum sirix_status moment_of(struct sirix_call *call, struct moment *out,
                                   struct sirix_query_error *err)
{
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &out->view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_store_canonical(out->view, key, &out->key, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_query_store_timeline(out->view, &out->line, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (out->at = 0; out->at + 1 < out->line->count &&
                      out->line->revisions[out->at] < out->view->view.record.revision;) {
        out->at++;
    }
    return SIRIX_OK;
}

/* The node in revision number `at` of the timeline; kind NONE: it is not there. */
static enum sirix_status item_at(struct sirix_call *call, const struct moment *moment, size_t at,
                                 struct sirix_item *out, struct sirix_query_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION,
                                         .revision = moment->line->revisions[at]};
    struct sirix_store_view *view = NULL;
    enum sirix_status status = sirix_work_tick(call->work, 16, err);

    if (status == SIRIX_OK) {
        status =
            sirix_query_store_view(moment->view->resource, moment->view->store, &spec, &view, err);
    }
    return status == SIRIX_OK ? sirix_store_select(call->work, view, moment->key, out, err)
                              : status;
}

/* The first revision of the timeline in which the resource has a value. */
static enum sirix_status first_value(struct sirix_call *call, const struct moment *moment,
                                     size_t *out_at, struct sirix_query_error *err)
{
    const struct moment root = {.view = moment->view, .line = moment->line, .key = 1};
    struct sirix_item item = {0};
    enum sirix_status status = SIRIX_OK;
    size_t at = 0;

    for (; at < moment->line->count && status == SIRIX_OK; at++) {
        status = item_at(call, &root, at, &item, err);
        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            break;
        }
    }
    if (status == SIRIX_OK) {
        *out_at = at;
    }
    return status;
}

/* --- One item ------------------------------------------------------------------------------------------- */

enum step {
    STEP_PREVIOUS,
    STEP_NEXT,
    STEP_FIRST,
    STEP_LAST,
    STEP_FIRST_EXISTING,
    STEP_LAST_EXISTING
};

/* The ends of the node's existence: from one end of the timeline to the first revision that has it. */
static enum sirix_status existing(struct sirix_call *call, const struct moment *moment, bool last,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < moment->line->count; i++) {
        const size_t at = last ? moment->line->count - 1 - i : i;

        status = item_at(call, moment, at, out, err);
        if (status != SIRIX_OK || out->kind != SIRIX_ITEM_NONE) {
            break;
        }
    }
    return status;
}

static enum sirix_status step(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct moment moment = {0};
    struct sirix_item item = {0};
    size_t at = 0;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_call_has(call, 0)) {
        return sirix_call_give(call, item, out, err);
    }
    status = moment_of(call, &moment, err);
    if (status != SIRIX_OK) {
        return status;
    }
    switch ((enum step)call->function->detail) {
    case STEP_PREVIOUS:
        if (moment.at != 0) {
            status = item_at(call, &moment, moment.at - 1, &item, err);
        }
        break;
    case STEP_NEXT:
        if (moment.at + 1 < moment.line->count) {
            status = item_at(call, &moment, moment.at + 1, &item, err);
        }
        break;
    case STEP_FIRST:
        status = first_value(call, &moment, &at, err);
        if (status == SIRIX_OK && at < moment.line->count) {
            status = item_at(call, &moment, at, &item, err);
        }
        break;
    case STEP_LAST:
        status = item_at(call, &moment, moment.line->count - 1, &item, err);
        break;
    default:
        status = existing(call, &moment, call->function->detail == STEP_LAST_EXISTING, &item, err);
        break;
    }
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

/* --- Several ---------------------------------------------------------------------------------------------- */

enum span { SPAN_PAST, SPAN_FUTURE, SPAN_ALL };

struct times {
    struct sirix_iterator iterator; /* First. */
    struct sirix_call call;         /* A copy: its arguments have been read. */
    struct moment moment;
    enum span span;
    size_t at;   /* Of the next one. */
    size_t left; /* How many may still come. */
    bool seen;
};

static enum sirix_status next_time(struct sirix_iterator *iterator, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    struct times *times = (struct times *)iterator;
    struct sirix_item item = {0};
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && times->left != 0 && item.kind == SIRIX_ITEM_NONE) {
        status = item_at(&times->call, &times->moment, times->at, &item, err);
        times->left--;
        times->at = times->span == SPAN_PAST ? times->at - 1 : times->at + 1;
        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE &&
            (times->seen || times->span != SPAN_ALL)) {
            times->left = 0; /* It ends where the node does. */
        }
    }
    if (status == SIRIX_OK) {
        times->seen = item.kind != SIRIX_ITEM_NONE;
        *out = item;
    }
    return status;
}

static enum sirix_status open_times(struct sirix_call *call, struct sirix_iterator **out,
                                    struct sirix_query_error *err)
{
    const bool self = sirix_call_has(call, 1) && sirix_call_item(call, 1).value.boolean;
    struct times *times = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(call->work->arena, 1, sizeof(*times), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    times = memory;
    times->iterator.next = next_time;
    times->call = *call;
    times->span = (enum span)call->function->detail;
    *out = &times->iterator;
    if (!sirix_call_has(call, 0)) {
        return SIRIX_OK;
    }
    status = moment_of(call, &times->moment, err);
    if (status != SIRIX_OK) {
        return status;
    }
    switch (times->span) {
    case SPAN_PAST:
        times->left = times->moment.at + (self ? 1 : 0);
        times->at = self ? times->moment.at : times->moment.at - 1;
        break;
    case SPAN_FUTURE:
        times->at = times->moment.at + (self ? 0 : 1);
        times->left = times->moment.line->count - times->at;
        break;
    default:
        times->left = times->moment.line->count;
        break;
    }
    return SIRIX_OK;
}

static enum sirix_status all_times(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_iterator *iterator = NULL;
    enum sirix_status status = open_times(call, &iterator, err);

    return status == SIRIX_OK ? sirix_iterator_drain(call->work, iterator, out, err) : status;
}

/* --- Its history -------------------------------------------------------------------------------------------- */

struct history {
    struct sirix_work *work;
    uint64_t *revisions;
    size_t count;
    size_t cap;
};

static enum sirix_status note_revision(void *context, const struct sirix_record *record,
                                       uint64_t address, bool deleted, bool *stop,
                                       struct sirix_error *err)
{
    struct history *history = context;
    void *memory = NULL;

    (void)address;
    *stop = false;
    if (deleted) {
        return SIRIX_OK;
    }
    if (history->count == HISTORY_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "a node that changed in more than %d revisions", HISTORY_MAX);
    }
    if (history->count == history->cap) {
        const size_t cap = history->cap == 0 ? 64 : history->cap * 2;
        enum sirix_status status = sirix_arena_alloc(
            history->work->arena, cap * sizeof(*history->revisions), &memory, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (history->count != 0) {
            memcpy(memory, history->revisions, history->count * sizeof(*history->revisions));
        }
        history->revisions = memory;
        history->cap = cap;
    }
    history->revisions[history->count++] = record->revision;
    return SIRIX_OK;
}

/* Two lists, newest first, as one without repeats. */
static enum sirix_status give_history(struct sirix_call *call, struct moment *moment,
                                      const struct history *a, const struct history *b,
                                      struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence items = {0};
    size_t from_a = a->count;
    size_t from_b = b->count;
    enum sirix_status status = SIRIX_OK;

    while ((from_a != 0 || from_b != 0) && status == SIRIX_OK) {
        struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = UINT64_MAX};
        struct sirix_store_view *view = NULL;
        struct sirix_item item = {0};

        if (from_a != 0) {
            spec.revision = a->revisions[from_a - 1];
        }
        if (from_b != 0 && b->revisions[from_b - 1] < spec.revision) {
            spec.revision = b->revisions[from_b - 1];
        }
        from_a -= from_a != 0 && a->revisions[from_a - 1] == spec.revision ? 1 : 0;
        from_b -= from_b != 0 && b->revisions[from_b - 1] == spec.revision ? 1 : 0;
        status = sirix_work_tick(call->work, 16, err);
        if (status == SIRIX_OK) {
            status = sirix_query_store_view(moment->view->resource, moment->view->store, &spec,
                                            &view, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_store_select(call->work, view, moment->key, &item, err);
        }
        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            status = sirix_sequence_append(call->work, &items, item, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = items;
    }
    return status;
}

/* sdb:item-history($item): the node in each revision that changed it, oldest first. */
static enum sirix_status item_history(struct sirix_call *call, struct sirix_sequence *out,
                                      struct sirix_query_error *err)
{
    struct history field = {.work = call->work};
    struct history value = {.work = call->work};
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION};
    struct sirix_view_spec head = spec;
    struct sirix_store_view *view = NULL;
    struct moment moment = {0};
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = moment_of(call, &moment, err);
    }
    if (status == SIRIX_OK) {
        head.revision = moment.line->revisions[moment.line->count - 1];
        status = sirix_query_store_view(view->resource, view->store, &head, &view, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_view_node_history(&view->view, view->resource->place.reader, moment.key,
                                         note_revision, &field, &err->base);
    }
    /* A member with an object or array has a second row, in which its children are. */
    if (status == SIRIX_OK && key != moment.key) {
        status = sirix_view_node_history(&view->view, view->resource->place.reader, key,
                                         note_revision, &value, &err->base);
    }
    return status == SIRIX_OK ? give_history(call, &moment, &field, &value, out, err) : status;
}

/* sdb:is-deleted($item): whether the newest revision of its branch is without it. */
static enum sirix_status is_deleted(struct sirix_call *call, struct sirix_sequence *out,
                                    struct sirix_query_error *err)
{
    struct moment moment = {0};
    struct sirix_item item = {0};
    enum sirix_status status = moment_of(call, &moment, err);

    if (status == SIRIX_OK) {
        status = item_at(call, &moment, moment.line->count - 1, &item, err);
    }
    return status == SIRIX_OK
               ? sirix_call_give(call, sirix_item_boolean(item.kind == SIRIX_ITEM_NONE), out, err)
               : status;
}

/* --- Of the revision ------------------------------------------------------------------------------------------ */

static enum sirix_status revision(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    return status == SIRIX_OK
               ? sirix_call_give(call, sirix_item_integer((int64_t)view->view.record.revision), out,
                                 err)
               : status;
}

static enum sirix_status most_recent(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    const struct sirix_store_timeline *line = NULL;
    struct sirix_store_view *view = NULL;
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_query_store_timeline(view, &line, err);
    }
    return status == SIRIX_OK
               ? sirix_call_give(
                     call, sirix_item_integer((int64_t)line->revisions[line->count - 1]), out, err)
               : status;
}

static enum sirix_status timestamp(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    return status == SIRIX_OK
               ? sirix_call_give(call, sirix_store_time_item(view->view.record.time_us), out, err)
               : status;
}

/* The author's name: what stands before the mark of whom it speaks for. */
static enum sirix_status author_name(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    struct sirix_record record;
    struct sirix_item item = {0};
    uint64_t key = 0;
    size_t len = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_record_read(view->resource->place.reader, view->view.record_address, &record,
                                   &err->base);
    }
    if (status == SIRIX_OK) {
        const char *author = record.author.data;

        while (len < record.author.len && author[len] != '~' && author[len] != ':') {
            len++;
        }
        status = sirix_item_new_string(call->work, (struct sirix_bytes){.data = author, .len = len},
                                       &item, err);
    }
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

#define TIME_STEP(title, which)                                                                    \
    SIRIX_ROW(JN, title, 1, 1, step, NULL, which, SIRIX_T(ITEM, OPTIONAL), SIRIX_T(ITEM, OPTIONAL))
#define TIME_SPAN(title, which)                                                                    \
    SIRIX_ROW(JN, title, 1, 2, all_times, open_times, which, SIRIX_T(ITEM, MANY),                  \
              SIRIX_T(ITEM, OPTIONAL), SIRIX_T(BOOLEAN, OPTIONAL))

static const struct sirix_function rows[] = {
    TIME_STEP("previous", STEP_PREVIOUS),
    TIME_STEP("next", STEP_NEXT),
    TIME_STEP("first", STEP_FIRST),
    TIME_STEP("last", STEP_LAST),
    TIME_STEP("first-existing", STEP_FIRST_EXISTING),
    TIME_STEP("last-existing", STEP_LAST_EXISTING),
    TIME_SPAN("past", SPAN_PAST),
    TIME_SPAN("future", SPAN_FUTURE),
    TIME_SPAN("all-times", SPAN_ALL),
    SIRIX_ROW(SDB, "item-history", 1, 1, item_history, NULL, 0, SIRIX_T(ITEM, MANY),
              SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "is-deleted", 1, 1, is_deleted, NULL, 0, SIRIX_T(BOOLEAN, ONE),
              SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "revision", 1, 1, revision, NULL, 0, SIRIX_T(INTEGER, ONE), SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "most-recent-revision", 1, 1, most_recent, NULL, 0, SIRIX_T(INTEGER, ONE),
              SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "timestamp", 1, 1, timestamp, NULL, 0, SIRIX_T(DATE_TIME, ONE),
              SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "author-name", 1, 1, author_name, NULL, 0, SIRIX_T(STRING, ONE),
              SIRIX_T(ITEM, ONE)),
};
const struct sirix_function_table sirix_store_time_functions = {
    .functions = rows, .count = sizeof(rows) / sizeof(rows[0])};
