/*
 * Publication: one or several revisions, each of its own resource, in one atomic commit.
 *
 * The caller's thread checks and seals what does not depend on the head; `prepare`, on a committer
 * thread, looks the rider up, compares the head, gives revision and time, links the record to its
 * parent, and adds segments and rows. A head that moved is a CONFLICT, so a parent is always one that a
 * writer has seen, and thus durable: its record can be read.
 *
 * The first publication on a hidden resource is its revision 1: it takes the place of the empty record
 * that the resource was made with.
 *
 * Rows of one publication: the head and the counters with the newest run of the index; the run before,
 * names, intent and rider only where there are any.
 */
#include "store/revision/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct sirix_publishing {
    struct sirix_commit_work work;
    struct sirix_database *database;
    struct sirix_publication *publications;
    size_t count;
    bool replayed;
    uint8_t *answer; /* A copy of the first write's answer, when replayed. */
    sirix_publishing_done_fn done;
    void *context;
    struct sirix_published results[];
};

/* --- On a committer thread ---------------------------------------------------------------------- */

/* Compares the head of the publication's branch with what the change was built on. */
static enum sirix_status check_head(struct sirix_group *group,
                                    const struct sirix_publication *publication,
                                    const struct sirix_counters_row *counters, int64_t now_us,
                                    struct sirix_head_row *out_head, struct sirix_error *err)
{
    const struct sirix_resource *resource = publication->resource;
    struct sirix_head_row head;
    enum sirix_status status = sirix_head_get(group, resource, publication->branch_id, &head, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_expired(head.expires_us, now_us, counters)) {
        static const char what[] = "of this view";

        return sirix_branch_expired((struct sirix_bytes){.data = what, .len = sizeof(what) - 1},
                                    head.expires_us, err);
    }
    if (head.revision != publication->base_revision || head.address != publication->base_address) {
        status = sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                   "resource %s: the branch is at revision %" PRIu64
                                   ", the change was made on %" PRIu64,
                                   resource->name, head.revision, publication->base_revision);
        if (err != NULL) {
            err->current_revision = head.revision;
        }
        return status;
    }
    *out_head = head;
    return SIRIX_OK;
}

/* Fills the record into its slot, seals the first segment, and adds all of them. */
static enum sirix_status add_segments(struct sirix_group *group,
                                      const struct sirix_publication *publication,
                                      struct sirix_error *err)
{
    const struct sirix_segment_built *first = &publication->segments[0];
    enum sirix_status status = SIRIX_OK;

    sirix_record_encode(&publication->record, first->bytes + SIRIX_SEGMENT_HEADER_BYTES);
    sirix_segment_seal(first->bytes, first->len, first->kind, publication->resource->id);
    for (size_t i = 0; status == SIRIX_OK && i < publication->segment_count; i++) {
        const struct sirix_segment_built *segment = &publication->segments[i];

        status = sirix_group_segment_put(
            group, segment->number,
            (struct sirix_bytes){.data = segment->bytes, .len = segment->len}, err);
    }
    return status;
}

/* Rows of names that no commit has written yet. Two commits of one group may both write one. */
static enum sirix_status add_names(struct sirix_group *group,
                                   const struct sirix_publication *publication,
                                   struct sirix_error *err)
{
    const struct sirix_resource *resource = publication->resource;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < publication->name_id_count; i++) {
        const struct sirix_names_entry *entry =
            sirix_names_entry(&resource->names, publication->name_ids[i]);

        assert(entry != NULL);
        if (!atomic_load_explicit(&entry->durable, memory_order_acquire)) {
            const struct sirix_rows_key key =
                sirix_rows_key_name(resource->id, publication->name_ids[i]);

            status = sirix_group_ref_put(
                group, sirix_rows_key_view(&key),
                (struct sirix_bytes){.data = entry->bytes, .len = entry->len}, err);
        }
    }
    return status;
}

static enum sirix_status add_rows(struct sirix_group *group,
                                  const struct sirix_publication *publication,
                                  struct sirix_counters_row *counters,
                                  const struct sirix_head_row *head, struct sirix_error *err)
{
    const struct sirix_resource *resource = publication->resource;
    const struct sirix_record *record = &publication->record;
    const struct sirix_index_entry entry = {
        .address = head->address,
        .time_us = record->time_us,
        .branch = record->branch_id,
    };
    enum sirix_status status = sirix_index_append(group, resource, counters, &entry, err);

    if (status == SIRIX_OK) {
        status = sirix_head_put(group, resource, record->branch_id, head, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_counters_put(group, resource, counters, err);
    }
    if (status == SIRIX_OK) {
        status = add_names(group, publication, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < publication->extra_ref_count; i++) {
        const struct sirix_ref_put *ref = &publication->extra_refs[i];

        status = sirix_group_ref_put(group, ref->key, ref->value, err);
    }
    if (status == SIRIX_OK && atomic_load(&resource->hidden_intent) != 0) {
        status = sirix_resource_reveal(group, resource, err);
    }
    if (status == SIRIX_OK && publication->intent != 0) {
        status = sirix_intent_settle(group, publication->intent, resource->id, err);
    }
    return status;
}

/* Keys that were given, to this writer or another, are never given again once this is on disk. */
static void note_keys(struct sirix_publication *publication, struct sirix_counters_row *counters)
{
    struct sirix_resource *resource = publication->resource;

    (void)pthread_mutex_lock(&resource->key_lock);
    if (publication->record.next_key > resource->next_key) {
        /* Keys that were not taken from us: those up to them are not given any more. */
        resource->next_key = (publication->record.next_key + SIRIX_LEAF_KEYS - 1) /
                             SIRIX_LEAF_KEYS * SIRIX_LEAF_KEYS;
    }
    counters->next_key = resource->next_key;
    counters->run_key = resource->run_key;
    (void)pthread_mutex_unlock(&resource->key_lock);
    if (publication->record.next_key < counters->next_key) {
        publication->record.next_key = counters->next_key;
    }
}

/* The place of a revision: behind the one that the change was built on. */
static enum sirix_status place_behind(struct sirix_group *group,
                                      struct sirix_publication *publication,
                                      struct sirix_counters_row *counters,
                                      const struct sirix_head_row *head, struct sirix_error *err)
{
    struct sirix_step parent = {.address = head->address};
    enum sirix_status status = sirix_record_of(sirix_group_reader(group), publication->resource,
                                               head->revision, head->address, &parent.record, err);

    if (status != SIRIX_OK) {
        return status;
    }
    counters->revision_count++;
    publication->record.revision = ++counters->last_revision;
    note_keys(publication, counters);
    return sirix_record_link(sirix_group_reader(group), publication->resource, &publication->record,
                             &parent, err);
}

/*
 * Of a resource that nobody has seen: it begins with this revision, the first, and with this time. What
 * it was made with, a record alone, goes.
 */
static enum sirix_status place_first(struct sirix_group *group,
                                     struct sirix_publication *publication,
                                     struct sirix_counters_row *counters,
                                     const struct sirix_head_row *head, struct sirix_error *err)
{
    const uint64_t made_with = sirix_address_number(head->address);
    enum sirix_status status =
        sirix_resource_begin(group, publication->resource, publication->record.time_us, err);

    if (status == SIRIX_OK) {
        status = sirix_group_segment_delete(
            group, (struct sirix_segment_range){.first = made_with, .last = made_with}, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    counters->last_revision = 1;
    counters->revision_count = 1;
    publication->record.revision = 1;
    note_keys(publication, counters);
    return sirix_record_link(sirix_group_reader(group), publication->resource, &publication->record,
                             NULL, err);
}

static enum sirix_status prepare_one(struct sirix_group *group,
                                     struct sirix_publication *publication, int64_t now_us,
                                     struct sirix_published *result, struct sirix_error *err)
{
    const struct sirix_resource *resource = publication->resource;
    const bool hidden = atomic_load(&resource->hidden_intent) != 0;
    struct sirix_record *record = &publication->record;
    uint64_t number = publication->segments[0].number;
    struct sirix_counters_row counters;
    struct sirix_head_row head = {0};
    enum sirix_status status = sirix_counters_get(group, resource, &counters, err);

    if (status == SIRIX_OK) {
        status = check_head(group, publication, &counters, now_us, &head, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (number <= sirix_address_number(head.address)) {
        return sirix_fail(err, SIRIX_INTERNAL,
                          "resource %s: segment %" PRIu64 " is older than its parent's",
                          resource->name, number);
    }
    record->time_us = sirix_counters_tick(&counters, now_us);
    record->branch_id = publication->branch_id;
    status = hidden ? place_first(group, publication, &counters, &head, err)
                    : place_behind(group, publication, &counters, &head, err);
    if (status != SIRIX_OK) {
        return status;
    }
    head.revision = record->revision;
    head.address = sirix_address_make(number, SIRIX_SEGMENT_HEADER_BYTES);
    status = add_segments(group, publication, err);
    if (status == SIRIX_OK) {
        status = add_rows(group, publication, &counters, &head, err);
    }
    *result = (struct sirix_published){
        .revision = record->revision,
        .parent_revision = record->parent_revision,
        .time_us = record->time_us,
        .record_address = head.address,
    };
    return status;
}

/* Answers with what the first write under the key gave. */
static enum sirix_status replay(struct sirix_publishing *publishing,
                                const struct sirix_rider_row *row, struct sirix_error *err)
{
    free(publishing->answer);
    publishing->answer = malloc(row->answer.len + 1); /* One more, so that none is no failure. */
    if (publishing->answer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot keep the answer of an earlier write");
    }
    if (row->answer.len != 0) {
        memcpy(publishing->answer, row->answer.data, row->answer.len);
    }
    publishing->replayed = true;
    for (size_t i = 0; i < publishing->count; i++) {
        struct sirix_rider_result result = {0};

        if (i < row->result_count) {
            result = sirix_rows_rider_result(row, i);
        }
        publishing->results[i] = (struct sirix_published){
            .revision = result.revision,
            .parent_revision = result.parent_revision,
            .time_us = result.time_us,
            .record_address = result.record_address,
            .replayed = true,
            .answer = {.data = publishing->answer, .len = row->answer.len},
        };
    }
    return SIRIX_OK;
}

static enum sirix_status keep_rider(const struct sirix_publishing *publishing,
                                    struct sirix_group *group, const struct sirix_rider *rider,
                                    int64_t now_us, struct sirix_error *err)
{
    struct sirix_rider_result results[SIRIX_PUBLICATIONS_MAX];

    for (size_t i = 0; i < publishing->count; i++) {
        results[i] = (struct sirix_rider_result){
            .resource = publishing->publications[i].resource->id,
            .revision = publishing->results[i].revision,
            .parent_revision = publishing->results[i].parent_revision,
            .time_us = publishing->results[i].time_us,
            .record_address = publishing->results[i].record_address,
        };
    }
    return sirix_rider_put(group, rider, now_us, results, publishing->count, err);
}

/* The rider of the commit as a whole: the first that there is. */
static const struct sirix_rider *rider_of(const struct sirix_publishing *publishing)
{
    for (size_t i = 0; i < publishing->count; i++) {
        if (publishing->publications[i].rider.key.len != 0) {
            return &publishing->publications[i].rider;
        }
    }
    return NULL;
}

static enum sirix_status publishing_prepare(struct sirix_commit_work *work,
                                            struct sirix_group *group, struct sirix_error *err)
{
    struct sirix_publishing *publishing = (struct sirix_publishing *)work;
    const struct sirix_rider *rider = rider_of(publishing);
    int64_t now_us = sirix_database_now_us(publishing->database);
    enum sirix_status status = SIRIX_OK;

    if (rider != NULL) {
        struct sirix_rider_row row;
        bool known = false;

        status = sirix_rider_lookup(group, rider, now_us, &known, &row, err);
        if (status == SIRIX_OK && known) {
            return replay(publishing, &row, err);
        }
    }
    for (size_t i = 0; status == SIRIX_OK && i < publishing->count; i++) {
        status =
            prepare_one(group, &publishing->publications[i], now_us, &publishing->results[i], err);
    }
    if (status == SIRIX_OK && rider != NULL) {
        status = keep_rider(publishing, group, rider, now_us, err);
    }
    return status;
}

/* The segments' bytes were taken over: they go whatever came of them. */
static void drop_segments(struct sirix_publication *publications, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < publications[i].segment_count; j++) {
            free(publications[i].segments[j].bytes);
            publications[i].segments[j].bytes = NULL;
        }
    }
}

static void publishing_done(struct sirix_commit_work *work, enum sirix_status status,
                            const struct sirix_error *error)
{
    struct sirix_publishing *publishing = (struct sirix_publishing *)work;

    drop_segments(publishing->publications, publishing->count);
    for (size_t i = 0; i < publishing->count; i++) {
        struct sirix_publication *publication = &publishing->publications[i];
        struct sirix_resource *resource = publication->resource;

        for (size_t j = 0;
             status == SIRIX_OK && !publishing->replayed && j < publication->name_id_count; j++) {
            atomic_store_explicit(
                &sirix_names_entry(&resource->names, publication->name_ids[j])->durable, true,
                memory_order_release);
        }
        if (status == SIRIX_OK && !publishing->replayed) {
            atomic_store(&resource->hidden_intent, 0);
        }
        sirix_resource_unref(resource);
    }
    publishing->done(publishing->context, status, status == SIRIX_OK ? publishing->results : NULL,
                     status == SIRIX_OK ? publishing->count : 0, error);
}

/* --- On the caller's thread --------------------------------------------------------------------- */

static enum sirix_status check_one(const struct sirix_publication *publication,
                                   const struct sirix_database *database, struct sirix_error *err)
{
    const struct sirix_record *record = &publication->record;
    enum sirix_status status = sirix_texts_check(record->author, record->message, err);

    if (status == SIRIX_OK && publication->rider.key.len != 0) {
        status = sirix_rider_check(&publication->rider, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (publication->resource->database != database) {
        return sirix_fail(err, SIRIX_INVALID, "one commit cannot change two databases");
    }
    if (publication->segment_count == 0 ||
        publication->segments[0].len <
            SIRIX_SEGMENT_HEADER_BYTES +
                sirix_record_bytes(record->author.len, record->message.len)) {
        return sirix_fail(err, SIRIX_INTERNAL, "a publication has no room for its record");
    }
    return SIRIX_OK;
}

/* Whether an earlier publication is of the same resource. */
static bool is_second(const struct sirix_publication *publications, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (publications[i].resource == publications[index].resource) {
            return true;
        }
    }
    return false;
}

static enum sirix_status check(const struct sirix_publication *publications, size_t count,
                               struct sirix_error *err)
{
    const struct sirix_database *database = publications[0].resource->database;
    enum sirix_status status = sirix_database_writable(database, err);

    if (count > SIRIX_PUBLICATIONS_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "one commit may change %d resources, not %zu",
                                 SIRIX_PUBLICATIONS_MAX, count);
    }
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        status = check_one(&publications[i], database, err);
        if (status == SIRIX_OK && is_second(publications, i)) {
            status = sirix_fail(err, SIRIX_INVALID,
                                "one commit cannot make two revisions of resource %s",
                                publications[i].resource->name);
        }
    }
    return status;
}

/* Seals all segments but the first one, which lacks its record; gives the bytes of all. */
static size_t seal_further(const struct sirix_publication *publication)
{
    size_t bytes = publication->segments[0].len;

    for (size_t i = 1; i < publication->segment_count; i++) {
        const struct sirix_segment_built *segment = &publication->segments[i];

        sirix_segment_seal(segment->bytes, segment->len, segment->kind, publication->resource->id);
        bytes += segment->len;
    }
    return bytes;
}

/* A publication with its work, not submitted yet. */
static enum sirix_status publishing_new(struct sirix_publication *publications, size_t count,
                                        sirix_publishing_done_fn done, void *context,
                                        struct sirix_publishing **out_publishing,
                                        struct sirix_error *err)
{
    struct sirix_publishing *publishing = NULL;
    enum sirix_status status = SIRIX_OK;

    assert(count > 0);
    status = check(publications, count, err);
    if (status != SIRIX_OK) {
        drop_segments(publications, count);
        return status;
    }
    publishing = calloc(1, sizeof(*publishing) + count * sizeof(publishing->results[0]));
    if (publishing == NULL) {
        drop_segments(publications, count);
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a publication");
    }
    publishing->database = publications[0].resource->database;
    publishing->publications = publications;
    publishing->count = count;
    publishing->done = done;
    publishing->context = context;
    publishing->work = (struct sirix_commit_work){
        .work_class = SIRIX_WORK_SMALL,
        .frees_space = true,
        .prepare = publishing_prepare,
        .done = publishing_done,
    };
    for (size_t i = 0; i < count; i++) {
        bool flushed = publications[i].intent != 0;

        publishing->work.frees_space &= publications[i].frees_space;
        publishing->work.size_hint += seal_further(&publications[i]);
        publications[i].record.segment_count =
            flushed ? 0 : (uint32_t)publications[i].segment_count;
        (void)sirix_resource_ref(publications[i].resource);
    }
    *out_publishing = publishing;
    return SIRIX_OK;
}

enum sirix_status sirix_publishing_start(struct sirix_publication *publications, size_t count,
                                         sirix_publishing_done_fn done, void *context,
                                         struct sirix_publishing **out_publishing,
                                         struct sirix_error *err)
{
    struct sirix_publishing *publishing = NULL;
    enum sirix_status status = publishing_new(publications, count, done, context, &publishing, err);

    if (status == SIRIX_OK) {
        /* Done may come, and the caller's done may free, before submit returns. */
        *out_publishing = publishing;
        sirix_committer_submit(publishing->database->committer, &publishing->work);
    }
    return status;
}

void sirix_publishing_free(struct sirix_publishing *publishing)
{
    if (publishing != NULL) {
        free(publishing->answer);
        free(publishing);
    }
}

static void keep_published(void *context, enum sirix_status status,
                           const struct sirix_published *published, size_t count,
                           const struct sirix_error *error)
{
    struct sirix_published *kept = context;

    (void)count;
    (void)error; /* sirix_committer_run() gives it. */
    if (status == SIRIX_OK) {
        *kept = published[0];
    }
}

enum sirix_status sirix_publish(struct sirix_publication *publication,
                                struct sirix_published *out_published, struct sirix_error *err)
{
    struct sirix_publishing *publishing = NULL;
    struct sirix_published published;
    enum sirix_status status = SIRIX_OK;

    publication->replay = NULL;
    status = publishing_new(publication, 1, keep_published, &published, &publishing, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_committer_run(publishing->database->committer, &publishing->work, err);
    if (status == SIRIX_OK) {
        *out_published = published;
        publication->replay = publishing->answer;
        publishing->answer = NULL;
    }
    sirix_publishing_free(publishing);
    return status;
}
