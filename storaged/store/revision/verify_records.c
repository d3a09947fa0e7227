/*
 * Verify, revision by revision: the index row, the record, its place in the graph, the chain, the
 * body where the commit is one segment, and the rows in which it differs from its parent.
 */
#include "store/revision/verify.h"

#include <inttypes.h>

#include "base/sha256.h"
#include "store/page/node.h"

struct records_walk {
    struct sirix_verify_run *run;
    struct sirix_resource *resource;
    const struct sirix_counters_row *counters;
    int64_t last_time_us;
};

/* One revision on its way through the checks. */
struct subject {
    uint64_t revision;
    struct sirix_index_entry entry;
    struct sirix_record record; /* Without texts. */
    struct sirix_step parent;
    bool has_parent;
};

/* The chain needs the texts, which die with the next yield: so it is computed at once. */
static enum sirix_status check_chain(struct records_walk *walk, const struct sirix_record *record,
                                     const uint8_t *parent_chain, struct sirix_error *err)
{
    uint8_t chain[SIRIX_HASH_BYTES];
    enum sirix_status status = sirix_record_chain(record, parent_chain, chain, err);

    if (status != SIRIX_OK || memcmp(chain, record->chain, SIRIX_HASH_BYTES) == 0) {
        return status;
    }
    return sirix_verify_fault(walk->run, walk->resource, record->revision, SIRIX_REASON_CHAIN, err,
                              "the hash chain does not fit this record");
}

static enum sirix_status check_body(struct records_walk *walk, const struct subject *subject,
                                    const struct sirix_record *record, struct sirix_bytes bytes,
                                    struct sirix_error *err)
{
    size_t record_bytes = sirix_record_bytes(record->author.len, record->message.len);
    uint8_t body[SIRIX_HASH_BYTES];
    enum sirix_status status = SIRIX_OK;

    if (record->segment_count != 1) {
        return SIRIX_OK;
    }
    status = sirix_sha256((const uint8_t *)bytes.data + record_bytes, bytes.len - record_bytes,
                          body, err);
    if (status != SIRIX_OK || memcmp(body, record->body, SIRIX_HASH_BYTES) == 0) {
        return status;
    }
    return sirix_verify_fault(walk->run, walk->resource, subject->revision, SIRIX_REASON_CHAIN, err,
                              "the pages are not those that the record vouches for");
}

/* The jump of a record follows from its parent. */
static enum sirix_status check_jump(struct records_walk *walk, const struct subject *subject,
                                    struct sirix_error *err)
{
    const struct sirix_record *record = &subject->record;
    struct sirix_step step = subject->parent;
    struct sirix_error cause = {0};
    uint64_t revision = step.record.revision;
    uint64_t address = step.address;

    if (sirix_jump_depth(record->depth) != step.record.depth) {
        enum sirix_status status =
            sirix_step_jump(walk->run->reader, walk->resource, &step, &cause);

        if (status != SIRIX_OK) {
            return sirix_verify_note(walk->run, walk->resource, subject->revision, status, &cause,
                                     err);
        }
        revision = step.record.jump_revision;
        address = step.record.jump_address;
    }
    if (record->jump_revision == revision && record->jump_address == address) {
        return SIRIX_OK;
    }
    return sirix_verify_fault(walk->run, walk->resource, subject->revision, SIRIX_REASON_CHAIN, err,
                              "its jump points to revision %" PRIu64 ", not to %" PRIu64,
                              record->jump_revision, revision);
}

/* What the index, the counters and the parent say about a record. */
static enum sirix_status check_place(struct records_walk *walk, struct subject *subject,
                                     struct sirix_error *err)
{
    const struct sirix_record *record = &subject->record;
    const struct sirix_record *parent = &subject->parent.record;
    const char *wrong = NULL;

    if (record->time_us != subject->entry.time_us || record->branch_id != subject->entry.branch) {
        wrong = "time or branch are not those of the index";
    } else if (record->time_us <= walk->last_time_us) {
        wrong = "its time is not after that of the revision before";
    } else if (record->time_us > walk->counters->last_time_us) {
        wrong = "its time is after that of the last change";
    } else if (record->next_key > walk->counters->next_key) {
        wrong = "its next key is beyond that of the resource";
    } else if (subject->has_parent && record->depth != parent->depth + 1) {
        wrong = "its depth does not follow its parent's";
    } else if (subject->has_parent &&
               record->adoptions != parent->adoptions + (record->adopted_from != 0)) {
        wrong = "its count of reverts does not follow its parent's";
    } else if (subject->has_parent && record->next_key < parent->next_key) {
        wrong = "its next key is below its parent's";
    } else if (subject->has_parent && sirix_address_number(subject->entry.address) <=
                                          sirix_address_number(subject->parent.address)) {
        wrong = "it is stored before its parent";
    } else if (!subject->has_parent && subject->revision != 1) {
        wrong = "it has no parent";
    }
    walk->last_time_us = subject->entry.time_us;
    if (wrong != NULL) {
        return sirix_verify_fault(walk->run, walk->resource, subject->revision, SIRIX_REASON_CHAIN,
                                  err, "%s", wrong);
    }
    return subject->has_parent ? check_jump(walk, subject, err) : SIRIX_OK;
}

/* Reads the record and its parent and checks what needs their texts. *out_sound: go on with it. */
static enum sirix_status read_subject(struct records_walk *walk, struct subject *subject,
                                      bool *out_sound, struct sirix_error *err)
{
    struct sirix_bytes bytes = {0};
    struct sirix_record record;
    struct sirix_error cause = {0};
    enum sirix_status status =
        sirix_segment_get(walk->run->reader, subject->entry.address, 1, &bytes, &cause);

    *out_sound = false;
    if (status == SIRIX_OK) {
        status = sirix_record_decode(bytes, &record, &cause);
    }
    if (status == SIRIX_OK && record.revision != subject->revision) {
        status = sirix_fail(&cause, SIRIX_CORRUPT, "the record says that it is revision %" PRIu64,
                            record.revision);
    }
    subject->has_parent = status == SIRIX_OK && record.depth != 0;
    subject->parent.address = subject->has_parent ? record.parent_address : 0;
    if (subject->has_parent) {
        status = sirix_record_of(walk->run->reader, walk->resource, record.parent_revision,
                                 record.parent_address, &subject->parent.record, &cause);
    }
    if (status != SIRIX_OK) {
        return sirix_verify_note(walk->run, walk->resource, subject->revision, status, &cause, err);
    }
    *out_sound = true;
    status =
        check_chain(walk, &record, subject->has_parent ? subject->parent.record.chain : NULL, err);
    if (status == SIRIX_OK) {
        status = check_body(walk, subject, &record, bytes, err);
    }
    record.author = (struct sirix_bytes){0};
    record.message = (struct sirix_bytes){0};
    subject->record = record;
    return status;
}

/* A revert holds the very trie of its source. */
static enum sirix_status check_adoption(struct records_walk *walk, const struct subject *subject,
                                        struct sirix_error *err)
{
    const struct sirix_record *record = &subject->record;
    struct sirix_index_entry entry;
    struct sirix_record source;
    struct sirix_error cause = {0};
    enum sirix_status status = sirix_index_read(walk->run->reader, walk->resource, walk->counters,
                                                record->adopted_from, &entry, &cause);

    if (status == SIRIX_OK && entry.address == 0) {
        return SIRIX_OK; /* Pruned. */
    }
    if (status == SIRIX_OK) {
        status = sirix_record_of(walk->run->reader, walk->resource, record->adopted_from,
                                 entry.address, &source, &cause);
    }
    if (status != SIRIX_OK) {
        return sirix_verify_note(walk->run, walk->resource, subject->revision, status, &cause, err);
    }
    if (source.trie.root == record->trie.root && source.trie.height == record->trie.height &&
        source.node_count == record->node_count && source.text_bytes == record->text_bytes) {
        return SIRIX_OK;
    }
    return sirix_verify_fault(walk->run, walk->resource, subject->revision, SIRIX_REASON_NONE, err,
                              "it is a revert to revision %" PRIu64 " and holds something else",
                              record->adopted_from);
}

/* A row that the revision has written. */
static enum sirix_status check_row(struct records_walk *walk, const struct subject *subject,
                                   const struct sirix_row *row, struct sirix_error *err)
{
    struct sirix_node node;
    struct sirix_error cause = {0};
    enum sirix_status status = sirix_node_decode(row->record, row->key, &node, &cause);

    if (status == SIRIX_OK && row->key >= subject->record.next_key) {
        status = sirix_fail(&cause, SIRIX_CORRUPT,
                            "node %" PRIu64 " has a key that was not given yet", row->key);
    }
    return sirix_verify_note(walk->run, walk->resource, subject->revision, status, &cause, err);
}

/* Decodes every row in which the revision differs from its parent. */
static enum sirix_status check_changes(struct records_walk *walk, const struct subject *subject,
                                       struct sirix_error *err)
{
    const struct sirix_trie none = {0};
    struct sirix_trie_compare compare;
    struct sirix_row before;
    struct sirix_row after;
    struct sirix_error cause = {0};
    enum sirix_status found = SIRIX_OK;
    enum sirix_status status = SIRIX_OK;

    sirix_trie_compare_init(&compare, walk->run->reader,
                            subject->has_parent ? subject->parent.record.trie : none,
                            walk->run->reader, subject->record.trie);
    while (status == SIRIX_OK) {
        found = sirix_trie_compare_next(&compare, &before, &after, &cause);
        if (found != SIRIX_OK) {
            break;
        }
        walk->run->progress.nodes++;
        if (after.record.data != NULL) {
            status = check_row(walk, subject, &after, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_verify_step(walk->run, err);
        }
    }
    if (status != SIRIX_OK || found == SIRIX_NOT_FOUND) {
        return status;
    }
    /* The page that the walk stands on is damaged; what lies behind it cannot be reached. */
    return sirix_verify_note(walk->run, walk->resource, subject->revision, found, &cause, err);
}

static enum sirix_status check_revision(struct records_walk *walk, uint64_t revision,
                                        struct sirix_error *err)
{
    struct subject subject = {.revision = revision};
    struct sirix_error cause = {0};
    bool sound = false;
    enum sirix_status status = sirix_index_read(walk->run->reader, walk->resource, walk->counters,
                                                revision, &subject.entry, &cause);

    if (status != SIRIX_OK) {
        return sirix_verify_note(walk->run, walk->resource, revision, status, &cause, err);
    }
    if (subject.entry.address == 0) {
        return SIRIX_OK; /* Pruned. */
    }
    walk->run->progress.revisions++;
    status = read_subject(walk, &subject, &sound, err);
    if (status != SIRIX_OK || !sound) {
        return status;
    }
    status = check_place(walk, &subject, err);
    if (status != SIRIX_OK) {
        return status;
    }
    return subject.record.adopted_from != 0 ? check_adoption(walk, &subject, err)
                                            : check_changes(walk, &subject, err);
}

enum sirix_status sirix_verify_records(struct sirix_verify_run *run,
                                       struct sirix_resource *resource,
                                       const struct sirix_counters_row *counters,
                                       struct sirix_error *err)
{
    struct records_walk walk = {
        .run = run, .resource = resource, .counters = counters, .last_time_us = INT64_MIN};
    enum sirix_status status = SIRIX_OK;

    for (uint64_t revision = 1; status == SIRIX_OK && revision <= counters->last_revision;
         revision++) {
        status = check_revision(&walk, revision, err);
        if (status == SIRIX_OK) {
            status = sirix_verify_step(run, err);
        }
    }
    return status;
}
