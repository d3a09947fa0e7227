/*
 * Queries that update: evaluated on the present heads, then, with the turn of every branch that they
 * touch, committed. A head that has moved in between makes the query run again under the turns.
 */
#include <stdlib.h>
#include <string.h>

#include "service/query_state.h"

enum { TOUCHED_MAX = 64, EVALUATIONS_MAX = 3 };

struct sirix_query_update {
    struct sirix_query_session session;
    struct sirix_write_options options;
    struct sirix_query *query;
    const struct sirix_query_touched *touched; /* As evaluated last. */
    size_t touched_count;
    /* Taken in the order of the resources' ids, so that no two updates wait for each other. */
    struct sirix_write writes[TOUCHED_MAX];
    size_t write_count;
    size_t turns; /* Held. */
    unsigned evaluations;
    struct sirix_query_committed committed[TOUCHED_MAX];
    struct sirix_query_update_result results[TOUCHED_MAX];
    /* Kept with the idempotency key: the names of what is changed; see keep_names(). */
    uint8_t names[SIRIX_RIDER_ANSWER_BYTES_MAX];
    size_t names_len;
    size_t replayed_count;
};

static enum sirix_status evaluate(struct sirix_query_update *update, struct sirix_error *err)
{
    struct sirix_query_options options = {0};
    struct sirix_query_error failed = {0};
    enum sirix_status status = sirix_query_session_options(&update->session, &options, err);

    if (status != SIRIX_OK) {
        return status;
    }
    update->evaluations++;
    sirix_query_close(update->query);
    update->query = NULL;
    options.updating = true;
    status = sirix_query_prepare(&options, &update->query, &failed);
    if (status == SIRIX_OK) {
        status =
            sirix_query_evaluate(update->query, &update->touched, &update->touched_count, &failed);
    }
    return status == SIRIX_OK ? status : sirix_query_session_fail(status, &failed, err);
}

static int compare_places(const void *left, const void *right)
{
    const struct sirix_query_touched *const *a = left;
    const struct sirix_query_touched *const *b = right;
    const uint32_t id_a = sirix_resource_id((*a)->store);
    const uint32_t id_b = sirix_resource_id((*b)->store);

    return (id_a > id_b) - (id_a < id_b);
}

static enum sirix_status open_writes(struct sirix_query_update *update, struct sirix_error *err)
{
    const struct sirix_query_touched *order[TOUCHED_MAX];
    enum sirix_status status = SIRIX_OK;

    if (update->touched_count > TOUCHED_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "a query updates at most %d resources", TOUCHED_MAX);
    }
    if (update->touched_count > 1 && update->options.has_expected) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "an expected revision is of one resource, and the query "
                                   "updates %zu",
                                   update->touched_count);
        sirix_error_set_field(err, "options.expected_revision");
        return status;
    }
    if (update->touched_count == 0 && update->options.idempotency_key.len != 0 &&
        update->session.wanted.database.len != 0) {
        /* It may have been done before: then there is nothing left to touch. */
        status = sirix_write_open(&update->session.request, &update->options,
                                  update->session.wanted.database, update->session.wanted.resource,
                                  (struct sirix_bytes){0}, &update->writes[0], err);
        update->write_count = status == SIRIX_OK ? 1 : 0;
        return status;
    }
    for (size_t i = 0; i < update->touched_count; i++) {
        order[i] = &update->touched[i];
    }
    qsort(order, update->touched_count, sizeof(struct sirix_query_touched *), compare_places);
    for (size_t i = 0; i < update->touched_count && status == SIRIX_OK; i++) {
        status = sirix_write_open(&update->session.request, &update->options, order[i]->database,
                                  order[i]->resource, order[i]->branch,
                                  &update->writes[update->write_count], err);
        update->write_count += status == SIRIX_OK ? 1 : 0;
    }
    return status;
}

enum sirix_status sirix_query_update_open(const struct sirix_request *request,
                                          const struct sirix_query_request *wanted,
                                          const struct sirix_write_options *options,
                                          struct sirix_query_update **out_update,
                                          struct sirix_error *err)
{
    struct sirix_query_update *update = NULL;
    enum sirix_status status = sirix_request_may_write(request, err);

    if (status == SIRIX_OK) {
        status = sirix_write_options_check(options, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    update = calloc(1, sizeof(*update));
    if (update == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for an updating query");
    }
    update->options = *options;
    sirix_query_session_init(&update->session, request, wanted);
    status = evaluate(update, err);
    if (status == SIRIX_OK) {
        status = open_writes(update, err);
    }
    if (status != SIRIX_OK) {
        sirix_query_update_close(update);
        return status;
    }
    *out_update = update;
    return SIRIX_OK;
}

void sirix_query_update_preview(struct sirix_query_update *update,
                                const struct sirix_query_update_result **out_results,
                                size_t *out_count)
{
    for (size_t i = 0; i < update->touched_count; i++) {
        const struct sirix_query_touched *touched = &update->touched[i];

        update->results[i] = (struct sirix_query_update_result){
            .database = touched->database,
            .resource = touched->resource,
            .branch = touched->branch,
            .result = {.revision = touched->revision},
            .changes = touched->changes,
        };
    }
    *out_results = update->results;
    *out_count = update->touched_count;
}

enum sirix_status sirix_query_update_take_turn(struct sirix_query_update *update,
                                               sirix_write_ready_fn ready, void *context,
                                               bool *out_waits, struct sirix_error *err)
{
    bool waits = false;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && !waits && update->turns < update->write_count) {
        status = sirix_write_take_turn(&update->writes[update->turns], ready, context, &waits, err);
        update->turns += status == SIRIX_OK && !waits ? 1 : 0;
    }
    if (status == SIRIX_OK) {
        *out_waits = waits;
    }
    return status;
}

enum sirix_status sirix_query_update_turn_came(struct sirix_query_update *update,
                                               struct sirix_error *err)
{
    enum sirix_status status = sirix_write_turn_came(&update->writes[update->turns], err);

    update->turns += status == SIRIX_OK ? 1 : 0;
    return status;
}

bool sirix_query_update_withdraw(struct sirix_query_update *update)
{
    return sirix_write_withdraw(&update->writes[update->turns]);
}

static struct sirix_write *write_of(struct sirix_query_update *update,
                                    const struct sirix_query_touched *touched)
{
    for (size_t i = 0; i < update->write_count; i++) {
        struct sirix_write *write = &update->writes[i];

        if (sirix_resource_id(write->target.resource) == sirix_resource_id(touched->store) &&
            write->branch_id == touched->branch_id) {
            return write;
        }
    }
    return NULL;
}

/* Whether every touched head is what was read; SIRIX_CONFLICT: a branch whose turn is not held. */
static enum sirix_status heads_stand(struct sirix_query_update *update, bool *out_stand,
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool stand = true;

    for (size_t i = 0; i < update->touched_count && status == SIRIX_OK; i++) {
        struct sirix_write *write = write_of(update, &update->touched[i]);
        struct sirix_view view;

        if (write == NULL) {
            return sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                     "what the query updates has changed while it waited; run it "
                                     "again");
        }
        status = sirix_write_head(write, &view, err);
        if (status == SIRIX_OK) {
            stand = stand && view.record.revision == update->touched[i].revision;
            sirix_view_close(&view);
        }
    }
    if (status == SIRIX_OK) {
        *out_stand = stand;
    }
    return status;
}

static void take_results(struct sirix_query_update *update)
{
    for (size_t i = 0; i < update->touched_count; i++) {
        const struct sirix_published *published = &update->committed[i].published;

        update->results[i] = (struct sirix_query_update_result){
            .database = update->touched[i].database,
            .resource = update->touched[i].resource,
            .branch = update->touched[i].branch,
            .result = {.revision = published->revision,
                       .parent_revision = published->parent_revision,
                       .time_us = published->time_us,
                       .changed = update->committed[i].changed,
                       .replayed = published->replayed},
            .changes = update->touched[i].changes,
        };
    }
}

/* --- What a retried call answers ---------------------------------------------------------------- */

enum { NAME_HEADER_BYTES = 6 };

/*
 * Names of what is changed, for the retry that finds only the ids of resources:
 *
 *     bytes  0..3  the resource's id, little endian
 *     byte   4     length of the resource's name, which follows the header
 *     byte   5     length of the branch's name, which follows that
 *
 * What does not fit is left out; a retry then takes the names of what it would touch itself.
 */
static void keep_names(struct sirix_query_update *update)
{
    update->names_len = 0;
    for (size_t i = 0; i < update->touched_count; i++) {
        const struct sirix_query_touched *touched = &update->touched[i];
        const uint32_t id = sirix_resource_id(touched->store);
        const size_t len = NAME_HEADER_BYTES + touched->resource.len + touched->branch.len;
        uint8_t *to = update->names + update->names_len;

        if (touched->resource.len > UINT8_MAX || touched->branch.len > UINT8_MAX ||
            len > sizeof(update->names) - update->names_len) {
            continue;
        }
        for (size_t j = 0; j < sizeof(id); j++) {
            to[j] = (uint8_t)(id >> (8 * j));
        }
        to[4] = (uint8_t)touched->resource.len;
        to[5] = (uint8_t)touched->branch.len;
        memcpy(to + NAME_HEADER_BYTES, touched->resource.data, touched->resource.len);
        if (touched->branch.len != 0) {
            memcpy(to + NAME_HEADER_BYTES + touched->resource.len, touched->branch.data,
                   touched->branch.len);
        }
        update->names_len += len;
    }
}

/* The names that were kept for a resource; else those of what this call touches, or was asked for. */
static void name_result(const struct sirix_query_update *update, uint32_t id,
                        struct sirix_query_update_result *result)
{
    const char *database = sirix_handle_name(update->writes[0].target.handle);
    const uint8_t *at = update->names;
    const uint8_t *end = at + update->names_len;

    result->database = (struct sirix_bytes){.data = database, .len = strlen(database)};
    result->resource = update->session.wanted.resource;
    result->branch = (struct sirix_bytes){.data = update->writes[0].branch,
                                          .len = strlen(update->writes[0].branch)};
    for (size_t i = 0; i < update->touched_count; i++) {
        if (sirix_resource_id(update->touched[i].store) == id) {
            result->resource = update->touched[i].resource;
            result->branch = update->touched[i].branch;
        }
    }
    while ((size_t)(end - at) >= NAME_HEADER_BYTES) {
        const uint32_t is =
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        const size_t resource_len = at[4];
        const size_t branch_len = at[5];

        at += NAME_HEADER_BYTES;
        if ((size_t)(end - at) < resource_len + branch_len) {
            return; /* Not what we have written. */
        }
        if (is == id) {
            result->resource = (struct sirix_bytes){.data = at, .len = resource_len};
            result->branch = (struct sirix_bytes){.data = at + resource_len, .len = branch_len};
            return;
        }
        at += resource_len + branch_len;
    }
}

static enum sirix_status commit(struct sirix_query_update *update, struct sirix_error *err)
{
    struct sirix_write *first = &update->writes[0];
    struct sirix_edit_commit how = {
        .author = {.data = first->author.text, .len = first->author.len},
        .message = update->options.message,
        .rider = sirix_write_rider(first),
    };
    struct sirix_query_error failed = {0};
    enum sirix_status status = sirix_cancel_check(update->session.request.cancel, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (how.rider.key.len != 0) {
        keep_names(update);
        how.rider.answer = (struct sirix_bytes){.data = update->names, .len = update->names_len};
    }
    status = sirix_write_ended(first,
                               sirix_query_commit(update->query, &how, update->committed, &failed));
    if (status != SIRIX_OK) {
        return sirix_query_session_fail(status, &failed, err);
    }
    for (size_t i = 1; i < update->write_count; i++) {
        sirix_write_tell(&update->writes[i]);
    }
    take_results(update);
    return SIRIX_OK;
}

/* A retried call answers as the first one did. */
static enum sirix_status replay(struct sirix_query_update *update, bool *out_replayed,
                                struct sirix_error *err)
{
    struct sirix_published_of all[TOUCHED_MAX];
    size_t count = 0;
    enum sirix_status status =
        sirix_write_replay_all(&update->writes[0], all, TOUCHED_MAX, &count, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (count != 0) {
        const struct sirix_bytes kept = all[0].published.answer;

        update->names_len = kept.len < sizeof(update->names) ? kept.len : sizeof(update->names);
        if (update->names_len != 0) {
            memcpy(update->names, kept.data, update->names_len);
        }
    }
    for (size_t i = 0; i < count; i++) {
        update->results[i] = (struct sirix_query_update_result){
            .result = {.revision = all[i].published.revision,
                       .parent_revision = all[i].published.parent_revision,
                       .time_us = all[i].published.time_us,
                       .changed = true,
                       .replayed = true}};
        name_result(update, all[i].resource, &update->results[i]);
    }
    update->replayed_count = count;
    *out_replayed = count != 0;
    return SIRIX_OK;
}

enum sirix_status sirix_query_update_run(struct sirix_query_update *update,
                                         const struct sirix_query_update_result **out_results,
                                         size_t *out_count, struct sirix_error *err)
{
    bool stand = update->touched_count == 0;
    bool replayed = false;
    enum sirix_status status = update->write_count != 0 ? replay(update, &replayed, err) : SIRIX_OK;

    while (status == SIRIX_OK && !replayed && !stand) {
        status = heads_stand(update, &stand, err);
        if (status == SIRIX_OK && !stand) {
            status = update->evaluations == EVALUATIONS_MAX
                         ? sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                             "the branch moves while the query waits; run it again")
                         : evaluate(update, err);
        }
    }
    if (status == SIRIX_OK && !replayed && update->touched_count != 0) {
        status = commit(update, err);
    }
    if (status == SIRIX_OK) {
        *out_results = update->results;
        *out_count = replayed ? update->replayed_count : update->touched_count;
    }
    return status;
}

void sirix_query_update_close(struct sirix_query_update *update)
{
    if (update == NULL) {
        return;
    }
    sirix_query_close(update->query);
    for (size_t i = 0; i < update->write_count; i++) {
        sirix_write_close(&update->writes[i]);
    }
    free(update);
}
