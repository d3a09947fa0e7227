/* Each call is one call of the store, checked before and kept for retries after. */
#include "service/labels.h"

#include <inttypes.h>
#include <string.h>

#include "base/name.h"

static void set_name(char out[SIRIX_NAME_BYTES_MAX + 1], struct sirix_bytes name)
{
    size_t len = name.len > SIRIX_NAME_BYTES_MAX ? SIRIX_NAME_BYTES_MAX : name.len;

    if (len != 0) {
        memcpy(out, name.data, len);
    }
    out[len] = '\0';
}

static enum sirix_status check_expected(const struct sirix_write_options *options,
                                        uint64_t revision, struct sirix_error *err)
{
    if (!options->has_expected || options->expected_revision == revision) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                                 "the revision is %" PRIu64 ", not %" PRIu64,
                                                 revision, options->expected_revision);
    sirix_error_set_field(err, "options.expected_revision");
    if (err != NULL) {
        err->current_revision = revision;
    }
    return status;
}

/* What a change needs: the request and what it is about. */
struct change {
    const struct sirix_request *request;
    const struct sirix_label_request *wanted;
    struct sirix_write *write;
    struct sirix_bytes source;
    bool replace;
};

static enum sirix_status open_view(const struct change *change, struct sirix_target *target,
                                   struct sirix_view *out_view, struct sirix_error *err)
{
    const struct sirix_label_request *wanted = change->wanted;

    enum sirix_status status =
        wanted->resource.len == 0
            ? sirix_name_check(SIRIX_NAME_RESOURCE, wanted->resource, "resource", err)
            : sirix_target_open(change->request, wanted->database, wanted->resource, target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_target_view(target, &wanted->view, "view", out_view, err);
    if (status == SIRIX_OK) {
        status = check_expected(&wanted->options, out_view->record.revision, err);
        if (status != SIRIX_OK) {
            sirix_view_close(out_view);
        }
    }
    if (status != SIRIX_OK) {
        sirix_target_close(target);
    }
    return status;
}

/* --- Snapshots ---------------------------------------------------------------------------------- */

static enum sirix_status create_snapshot(void *context, void *answer, struct sirix_error *err)
{
    const struct change *change = context;
    struct sirix_snapshot_change *out = answer;
    struct sirix_target target = {0};
    struct sirix_view view = {0};
    struct sirix_snapshot_created created = {0};

    enum sirix_status status = open_view(change, &target, &view, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status =
        sirix_snapshot_create(&view, change->wanted->name, change->wanted->replace, &created, err);
    if (status == SIRIX_OK) {
        set_name(out->snapshot.name, change->wanted->name);
        out->snapshot.revision = created.revision;
        out->snapshot.time_us = created.time_us;
        out->previous_revision = created.previous_revision;
        out->changed = created.previous_revision != created.revision;
    } else if (status == SIRIX_ALREADY_EXISTS) {
        sirix_error_set_field(err, "name");
    }
    sirix_view_close(&view);
    sirix_target_close(&target);
    return status;
}

enum sirix_status sirix_service_create_snapshot(const struct sirix_request *request,
                                                const struct sirix_label_request *wanted,
                                                struct sirix_snapshot_change *out_change,
                                                bool *out_replayed, struct sirix_error *err)
{
    struct change change = {.request = request, .wanted = wanted};
    struct sirix_snapshot_change answer = {0};

    enum sirix_status status = sirix_name_check(SIRIX_NAME_SNAPSHOT, wanted->name, "name", err);
    if (status == SIRIX_OK) {
        status = sirix_write_once(&(struct sirix_write_change){.request = request,
                                                               .options = &wanted->options,
                                                               .database = wanted->database,
                                                               .change = create_snapshot,
                                                               .context = &change,
                                                               .answer = &answer,
                                                               .answer_len = sizeof(answer)},
                                  out_replayed, err);
    }
    if (status == SIRIX_OK) {
        *out_change = answer;
    }
    return status;
}

static enum sirix_status delete_snapshot(void *context, void *answer, struct sirix_error *err)
{
    const struct change *change = context;
    const struct sirix_label_request *wanted = change->wanted;
    const struct sirix_label_request labelled = {
        .database = wanted->database,
        .resource = wanted->resource,
        .view = {.which = SIRIX_VIEW_WHICH_SNAPSHOT, .name = wanted->name},
        .options = wanted->options,
    };
    const struct change lookup = {.request = change->request, .wanted = &labelled};
    uint64_t *revision = answer;
    struct sirix_target target = {0};
    struct sirix_view view = {0};

    enum sirix_status status = open_view(&lookup, &target, &view, err);
    if (status == SIRIX_OK) {
        *revision = view.record.revision;
        sirix_view_close(&view);
        status = sirix_snapshot_delete(target.resource, wanted->name, err);
        sirix_target_close(&target);
    }
    if (status == SIRIX_NOT_FOUND && err != NULL && err->reason == SIRIX_REASON_SNAPSHOT_UNKNOWN) {
        sirix_error_set_field(err, "name");
    }
    return status;
}

enum sirix_status sirix_service_delete_snapshot(const struct sirix_request *request,
                                                const struct sirix_label_request *wanted,
                                                uint64_t *out_revision, bool *out_replayed,
                                                struct sirix_error *err)
{
    struct change change = {.request = request, .wanted = wanted};
    uint64_t revision = 0;

    enum sirix_status status = sirix_name_check(SIRIX_NAME_SNAPSHOT, wanted->name, "name", err);
    if (status == SIRIX_OK) {
        status = sirix_write_once(&(struct sirix_write_change){.request = request,
                                                               .options = &wanted->options,
                                                               .database = wanted->database,
                                                               .change = delete_snapshot,
                                                               .context = &change,
                                                               .answer = &revision,
                                                               .answer_len = sizeof(revision)},
                                  out_replayed, err);
    }
    if (status == SIRIX_OK) {
        *out_revision = revision;
    }
    return status;
}

/* --- Branches ----------------------------------------------------------------------------------- */

static enum sirix_status create_branch(void *context, void *answer, struct sirix_error *err)
{
    const struct change *change = context;
    struct sirix_branch_item *out = answer;
    struct sirix_target target = {0};
    struct sirix_view view = {0};
    struct sirix_branch_info info = {0};

    enum sirix_status status = open_view(change, &target, &view, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status =
        sirix_branch_create(&view, change->wanted->name, change->wanted->expires_us, &info, err);
    if (status == SIRIX_OK) {
        set_name(out->name, change->wanted->name);
        out->revision = info.head_revision;
        out->time_us = view.record.time_us;
        out->base_revision = info.base_revision;
        out->created_us = info.created_us;
        out->expires_us = info.expires_us;
    } else if (status == SIRIX_ALREADY_EXISTS) {
        sirix_error_set_field(err, "name");
    }
    sirix_view_close(&view);
    sirix_target_close(&target);
    return status;
}

enum sirix_status sirix_service_create_branch(const struct sirix_request *request,
                                              const struct sirix_label_request *wanted,
                                              struct sirix_branch_item *out_branch,
                                              bool *out_replayed, struct sirix_error *err)
{
    struct change change = {.request = request, .wanted = wanted};
    struct sirix_branch_item answer = {0};

    enum sirix_status status = sirix_name_check(SIRIX_NAME_BRANCH, wanted->name, "name", err);
    if (status == SIRIX_OK && wanted->expires_us != 0 &&
        wanted->expires_us <= sirix_clock_realtime_us(request->service->clock)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "the branch would expire in the past");
        sirix_error_set_field(err, "expires_at_us");
    }
    if (status == SIRIX_OK) {
        status = sirix_write_once(&(struct sirix_write_change){.request = request,
                                                               .options = &wanted->options,
                                                               .database = wanted->database,
                                                               .change = create_branch,
                                                               .context = &change,
                                                               .answer = &answer,
                                                               .answer_len = sizeof(answer)},
                                  out_replayed, err);
    }
    if (status == SIRIX_OK) {
        *out_branch = answer;
    }
    return status;
}

static enum sirix_status delete_branch(void *context, void *answer, struct sirix_error *err)
{
    const struct change *change = context;
    struct sirix_write *write = change->write;
    uint64_t *revision = answer;
    struct sirix_view head = {0};

    enum sirix_status status = sirix_write_head(write, &head, err);
    if (status == SIRIX_OK) {
        *revision = head.record.revision;
        sirix_view_close(&head);
        status = sirix_branch_delete(
            write->target.resource,
            (struct sirix_bytes){.data = write->branch, .len = strlen(write->branch)}, err);
    }
    if (status != SIRIX_OK && err != NULL && err->field[0] == '\0') {
        sirix_error_set_field(err, "name");
    }
    return status;
}

enum sirix_status sirix_delete_branch_run(struct sirix_write *write, struct sirix_bytes database,
                                          uint64_t *out_revision, bool *out_replayed,
                                          struct sirix_error *err)
{
    struct change change = {.request = &write->request, .write = write};
    uint64_t revision = 0;

    enum sirix_status status =
        sirix_write_once(&(struct sirix_write_change){.request = &write->request,
                                                      .options = &write->options,
                                                      .database = database,
                                                      .change = delete_branch,
                                                      .context = &change,
                                                      .answer = &revision,
                                                      .answer_len = sizeof(revision)},
                         out_replayed, err);
    if (status == SIRIX_OK) {
        *out_revision = revision;
    }
    return status;
}

static enum sirix_status promote(void *context, void *answer, struct sirix_error *err)
{
    const struct change *change = context;
    struct sirix_write *write = change->write;
    struct sirix_promotion *out = answer;
    struct sirix_view head = {0};
    struct sirix_promoted promoted = {0};

    enum sirix_status status = sirix_write_head(write, &head, err);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_view_close(&head);
    status = sirix_branch_promote(
        write->target.resource, change->source,
        (struct sirix_bytes){.data = write->branch, .len = strlen(write->branch)}, change->replace,
        &promoted, err);
    if (status == SIRIX_OK) {
        *out = (struct sirix_promotion){
            .revision = promoted.revision,
            .previous_revision = promoted.previous_revision,
            .changed = promoted.revision != promoted.previous_revision,
        };
    } else if (err != NULL && err->field[0] == '\0') {
        sirix_error_set_field(err, "branch");
    }
    return status;
}

enum sirix_status sirix_promote_run(struct sirix_write *write, struct sirix_bytes database,
                                    struct sirix_bytes source, bool replace,
                                    struct sirix_promotion *out_promotion, bool *out_replayed,
                                    struct sirix_error *err)
{
    struct change change = {
        .request = &write->request, .write = write, .source = source, .replace = replace};
    struct sirix_promotion answer = {0};

    enum sirix_status status = sirix_name_check(SIRIX_NAME_BRANCH, source, "branch", err);
    if (status == SIRIX_OK) {
        status = sirix_write_once(&(struct sirix_write_change){.request = &write->request,
                                                               .options = &write->options,
                                                               .database = database,
                                                               .change = promote,
                                                               .context = &change,
                                                               .answer = &answer,
                                                               .answer_len = sizeof(answer)},
                                  out_replayed, err);
    }
    if (status == SIRIX_OK) {
        *out_promotion = answer;
    }
    return status;
}

/* --- Lists -------------------------------------------------------------------------------------- */

struct listing {
    const struct sirix_request *request;
    uint64_t size;
    size_t count;
    bool more;
    struct sirix_snapshot_item *snapshots;
    struct sirix_branch_item *branches;
};

static enum sirix_status step(struct listing *listing, bool *stop, struct sirix_error *err)
{
    if (listing->count == listing->size) {
        listing->more = true;
        *stop = true;
    }
    return sirix_cancel_check(listing->request->cancel, err);
}

static enum sirix_status visit_snapshot(void *context, const struct sirix_snapshot_info *info,
                                        bool *stop, struct sirix_error *err)
{
    struct listing *listing = context;

    enum sirix_status status = step(listing, stop, err);
    if (status == SIRIX_OK && !*stop) {
        struct sirix_snapshot_item *item = &listing->snapshots[listing->count++];
        set_name(item->name, info->name);
        item->revision = info->revision;
        item->time_us = info->time_us;
        item->created_us = info->created_us;
    }
    return status;
}

static enum sirix_status visit_branch(void *context, const struct sirix_branch_info *info,
                                      bool *stop, struct sirix_error *err)
{
    struct listing *listing = context;

    enum sirix_status status = step(listing, stop, err);
    if (status == SIRIX_OK && !*stop) {
        struct sirix_branch_item *item = &listing->branches[listing->count++];
        set_name(item->name, info->name);
        item->revision = info->head_revision;
        item->base_revision = info->base_revision;
        item->created_us = info->created_us;
        item->expires_us = info->expires_us;
    }
    return status;
}

static enum sirix_status open_list(const struct sirix_request *request,
                                   const struct sirix_label_page *page, enum sirix_name_kind kind,
                                   struct listing *listing, struct sirix_target *target,
                                   struct sirix_error *err)
{
    listing->request = request;
    enum sirix_status status =
        sirix_limit_check(page->page_size, SIRIX_SERVICE_PAGE_MAX, SIRIX_SERVICE_PAGE_MAX,
                          "page_size", &listing->size, err);
    if (status == SIRIX_OK && page->cursor.len != 0) {
        status = sirix_name_check(kind, page->cursor, "cursor", err);
    }
    if (status == SIRIX_OK && page->resource.len == 0) {
        status = sirix_name_check(SIRIX_NAME_RESOURCE, page->resource, "resource", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_target_open(request, page->database, page->resource, target, err);
    }
    return status;
}

enum sirix_status sirix_service_list_snapshots(const struct sirix_request *request,
                                               const struct sirix_label_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_snapshot_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err)
{
    struct listing listing = {0};
    struct sirix_target target = {0};
    void *memory = NULL;

    enum sirix_status status =
        open_list(request, page, SIRIX_NAME_SNAPSHOT, &listing, &target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_arena_calloc(arena, (size_t)listing.size, sizeof(struct sirix_snapshot_item),
                                &memory, err);
    listing.snapshots = memory;
    if (status == SIRIX_OK) {
        status = sirix_snapshot_list(target.resource, target.reader, page->cursor, visit_snapshot,
                                     &listing, err);
    }
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_items = listing.snapshots;
        *out_count = listing.count;
        *out_more = listing.more;
    }
    return status;
}

/* The head's time is not in the list's rows. An expired branch has none to read. */
static enum sirix_status head_time(struct sirix_target *target, struct sirix_branch_item *item,
                                   struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = item->revision};
    struct sirix_view view = {0};
    struct sirix_error gone = {0};

    if (item->revision == 0) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_view_open(target->resource, target->reader, &spec, &view, &gone);
    if (status == SIRIX_OK) {
        item->time_us = view.record.time_us;
        sirix_view_close(&view);
        return SIRIX_OK;
    }
    if (status == SIRIX_NOT_FOUND || status == SIRIX_PRECONDITION) {
        return SIRIX_OK; /* Pruned meanwhile. */
    }
    if (err != NULL) {
        *err = gone;
    }
    return status;
}

enum sirix_status sirix_service_list_branches(const struct sirix_request *request,
                                              const struct sirix_label_page *page,
                                              struct sirix_arena *arena,
                                              struct sirix_branch_item **out_items,
                                              size_t *out_count, bool *out_more,
                                              struct sirix_error *err)
{
    struct listing listing = {0};
    struct sirix_target target = {0};
    void *memory = NULL;

    enum sirix_status status = open_list(request, page, SIRIX_NAME_BRANCH, &listing, &target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_arena_calloc(arena, (size_t)listing.size, sizeof(struct sirix_branch_item),
                                &memory, err);
    listing.branches = memory;
    if (status == SIRIX_OK) {
        status = sirix_branch_list(target.resource, target.reader, page->cursor, visit_branch,
                                   &listing, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < listing.count; i++) {
        status = head_time(&target, &listing.branches[i], err);
    }
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_items = listing.branches;
        *out_count = listing.count;
        *out_more = listing.more;
    }
    return status;
}
