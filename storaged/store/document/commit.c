/*
 * From an edit to a publication: pages are written, the record is filled in, the rest is the revision
 * layer's. A small commit is one segment. A large one writes its pages early, under an intent, and its
 * own segment holds the record alone.
 */
#include <assert.h>
#include <stdlib.h>

#include "store/document/build.h"
#include "store/document/edit_state.h"
#include "store/document/path_rows.h"

/* Pages of child trees and the trie, into the commit's segment or, when they are many, early. */
static enum sirix_status write_pages(struct sirix_edit *edit, struct sirix_page_writer *writer,
                                     struct sirix_trie *out_trie, struct sirix_error *err)
{
    enum sirix_status status = sirix_edit_open_lists_write(edit, writer, err);

    return status == SIRIX_OK ? sirix_trie_edit_write(edit->trie, writer, out_trie, err) : status;
}

static enum sirix_status writer_new(struct sirix_edit *edit, const struct sirix_edit_commit *commit,
                                    struct sirix_page_writer **out_writer, struct sirix_error *err)
{
    const struct sirix_page_writer_options options = {
        .backend = sirix_reader_backend(edit->reader),
        .resource_id = sirix_resource_id(edit->base.resource),
        .segment_bytes = SIRIX_SEGMENT_BYTES_MAX,
        .record_bytes = sirix_record_bytes(commit->author.len, commit->message.len),
    };

    return sirix_page_writer_new(&options, out_writer, err);
}

/* Counts and collects the ids of names that the edit used. */
static enum sirix_status collect_names(struct sirix_edit *edit, size_t *out_count,
                                       struct sirix_error *err)
{
    enum { WORDS = SIRIX_NAME_INTERNED_MAX / 64 };
    size_t count = 0;

    for (size_t i = 0; i < WORDS; i++) {
        count += (size_t)__builtin_popcountll(edit->names_used[i]);
    }
    edit->name_ids = malloc((count + 1) * sizeof(*edit->name_ids));
    if (edit->name_ids == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu names", count);
    }
    *out_count = count;
    count = 0;
    for (size_t i = 0; i < WORDS; i++) {
        for (uint64_t word = edit->names_used[i]; word != 0; word &= word - 1) {
            edit->name_ids[count++] = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(word));
        }
    }
    return SIRIX_OK;
}

/* The commit's own segments first, then early ones that no intent has put. */
static enum sirix_status join_segments(struct sirix_edit *edit, struct sirix_error *err)
{
    struct sirix_segment_built *all = NULL;

    if (edit->early_count == 0) {
        return SIRIX_OK;
    }
    all = realloc(edit->segments, (edit->segment_count + edit->early_count) * sizeof(*all));
    if (all == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu segments", edit->early_count);
    }
    memcpy(all + edit->segment_count, edit->early_segments, edit->early_count * sizeof(*all));
    edit->segments = all;
    edit->segment_count += edit->early_count;
    edit->early_count = 0;
    edit->early_bytes = 0;
    return SIRIX_OK;
}

/* What identifies the commit's pages: those of its segment, after those written early. */
static enum sirix_status mix_body(const struct sirix_edit *edit, uint8_t body[SIRIX_HASH_BYTES],
                                  struct sirix_error *err)
{
    uint8_t both[2 * SIRIX_HASH_BYTES];

    if (!edit->has_early) {
        return SIRIX_OK;
    }
    memcpy(both, edit->early_body, SIRIX_HASH_BYTES);
    memcpy(both + SIRIX_HASH_BYTES, body, SIRIX_HASH_BYTES);
    return sirix_sha256(both, sizeof(both), body, err);
}

static bool same_trie(const struct sirix_trie *a, const struct sirix_trie *b)
{
    return a->root == b->root && a->height == b->height;
}

static void fill_record(const struct sirix_edit *edit, const struct sirix_edit_commit *commit,
                        const struct sirix_trie *trie, struct sirix_record *record)
{
    uint64_t next_key = edit->keys.max + 1;

    record->trie = *trie;
    record->next_key =
        next_key > edit->base.record.next_key ? next_key : edit->base.record.next_key;
    record->node_count = edit->node_count;
    record->text_bytes = edit->text_bytes;
    record->author = commit->author;
    record->message = commit->message;
}

/* Writes everything and fills the publication; nothing is published yet. */
static enum sirix_status build_publication(struct sirix_edit *edit,
                                           const struct sirix_edit_commit *commit,
                                           struct sirix_publication *publication, bool *out_changed,
                                           struct sirix_error *err)
{
    struct sirix_page_writer *own = NULL;
    struct sirix_page_writer *pages = NULL;
    struct sirix_trie trie = {0};
    enum sirix_status status = writer_new(edit, commit, &own, err);

    pages = own;
    if (status == SIRIX_OK && sirix_trie_edit_size(edit->trie) > SIRIX_EDIT_BULK_BYTES) {
        status = sirix_edit_early(edit, &pages, err);
    }
    if (status == SIRIX_OK) {
        status = write_pages(edit, pages, &trie, err);
    }
    if (status == SIRIX_OK) {
        *out_changed = !same_trie(&trie, &edit->base.record.trie) || commit->force;
    }
    if (status == SIRIX_OK && *out_changed) {
        status = sirix_edit_early_finish(edit, err);
        if (status == SIRIX_OK) {
            status = sirix_page_writer_finish(own, &edit->segments, &edit->segment_count,
                                              publication->record.body, err);
        }
        if (status == SIRIX_OK) {
            status = join_segments(edit, err);
        }
        if (status == SIRIX_OK) {
            status = mix_body(edit, publication->record.body, err);
        }
        if (status == SIRIX_OK) {
            fill_record(edit, commit, &trie, &publication->record);
            status = collect_names(edit, &publication->name_id_count, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_edit_paths_rows(edit, &publication->extra_ref_count, err);
        }
    }
    sirix_page_writer_free(own);
    return status;
}

enum sirix_status sirix_edit_prepare(struct sirix_edit *edit,
                                     const struct sirix_edit_commit *commit,
                                     struct sirix_publication *out_publication, bool *out_changed,
                                     struct sirix_error *err)
{
    struct sirix_publication publication = {
        .resource = edit->base.resource,
        .branch_id = edit->base.branch_id,
        .base_revision = edit->base.record.revision,
        .base_address = edit->base.record_address,
        .rider = commit->rider,
    };
    struct sirix_error error = {0};
    bool changed = false;
    enum sirix_status status = sirix_edit_check(edit, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (commit->author.len > SIRIX_AUTHOR_BYTES_MAX ||
        commit->message.len > SIRIX_MESSAGE_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                 "the author has at most %d bytes, the message at most %d",
                                 SIRIX_AUTHOR_BYTES_MAX, SIRIX_MESSAGE_BYTES_MAX);
    }
    changed = sirix_trie_edit_dirty(edit->trie) || edit->open_lists.count != 0 || commit->force;
    if (changed) {
        status = sirix_edit_break(
            edit, build_publication(edit, commit, &publication, &changed, &error), &error);
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = error;
        }
        return status;
    }
    edit->prepared = true;
    if (changed) {
        publication.segments = edit->segments;
        publication.segment_count = edit->segment_count;
        publication.name_ids = edit->name_ids;
        publication.extra_refs = edit->extra_refs;
        publication.intent = edit->intent;
        publication.frees_space = edit->operations != 0 && !edit->puts;
        *out_publication = publication;
    }
    *out_changed = changed;
    return SIRIX_OK;
}

enum sirix_status sirix_edit_commit(struct sirix_edit *edit, const struct sirix_edit_commit *commit,
                                    struct sirix_published *out_published, bool *out_changed,
                                    struct sirix_error *err)
{
    struct sirix_publication publication = {0};
    struct sirix_published published = {
        .revision = edit->base.record.revision,
        .parent_revision = edit->base.record.parent_revision,
        .time_us = edit->base.record.time_us,
        .record_address = edit->base.record_address,
    };
    bool changed = false;
    enum sirix_status status = sirix_edit_prepare(edit, commit, &publication, &changed, err);

    if (status == SIRIX_OK && changed) {
        /* A reader that is in between would keep the map from growing for this very commit. */
        sirix_reader_yield(edit->reader);
        status = sirix_publish(&publication, &published, err);
        sirix_edit_published(edit, status);
    }
    if (status == SIRIX_OK) {
        *out_published = published;
        *out_changed = changed;
    }
    return status;
}

void sirix_edit_published(struct sirix_edit *edit, enum sirix_status status)
{
    /* An unknown outcome is settled when the database is opened again: the intent is there, or not. */
    edit->intent_given = status == SIRIX_OK || status == SIRIX_OUTCOME_UNKNOWN;
}
