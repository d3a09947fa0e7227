/*
 * Name index of an object with more than 64 members: a persistent B-tree from a 32-bit hash of the
 * name to the member's key. Two names may share a hash: a hit is a candidate, and the caller compares
 * the names themselves. Pages: types 6 and 7 of page/page.h, docs/format.md.
 *
 * The hash is SipHash-2-4 of the name's stored (canonical escaped) bytes under the resource's own
 * 128-bit seed, cut to 32 bits, so that nobody outside can make members collide.
 */
#ifndef SIRIX_STORE_CHILD_NAME_INDEX_H
#define SIRIX_STORE_CHILD_NAME_INDEX_H

#include "store/page/writer.h"
#include "store/segment/segment.h"

enum { SIRIX_NAME_INDEX_LEAF_MAX = 64, SIRIX_NAME_INDEX_INNER_MAX = 16 };

struct sirix_name_seed {
    uint8_t bytes[16];
};

/* The 128-bit hash that import uses to find duplicates, and the 32 bits of it that are stored. */
struct sirix_name_hash {
    uint64_t high;
    uint64_t low;
};
struct sirix_name_hash sirix_name_hash(const struct sirix_name_seed *seed, struct sirix_bytes name);
static inline uint32_t sirix_name_hash_stored(struct sirix_name_hash hash)
{
    return (uint32_t)hash.high;
}

/* Visits the keys of all members with this hash; *stop ends early. */
typedef enum sirix_status (*sirix_name_candidate_fn)(void *context, uint64_t key, bool *stop,
                                                     struct sirix_error *err);
enum sirix_status sirix_name_index_find(struct sirix_reader *reader, uint64_t root, uint32_t hash,
                                        sirix_name_candidate_fn visit, void *context,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Changes in memory on top of an index (root 0: an empty one). */
struct sirix_name_edit;
enum sirix_status sirix_name_edit_new(struct sirix_reader *reader, uint64_t root,
                                      struct sirix_name_edit **out_edit,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_name_edit_free(struct sirix_name_edit *edit);
enum sirix_status sirix_name_edit_find(struct sirix_name_edit *edit, uint32_t hash,
                                       sirix_name_candidate_fn visit, void *context,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_name_edit_insert(struct sirix_name_edit *edit, uint32_t hash, uint64_t key,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* SIRIX_NOT_FOUND when the pair is not there. */
enum sirix_status sirix_name_edit_remove(struct sirix_name_edit *edit, uint32_t hash, uint64_t key,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_name_edit_write(struct sirix_name_edit *edit,
                                        struct sirix_page_writer *writer, uint64_t *out_root,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Bulk building with duplicate detection: members in any order. Up to memory_bytes they are sorted in
 * memory; past that, sorted runs go to an unlinked file in spill_dir (merged at the end). Pairs with
 * equal 128-bit hash are duplicates (a keyed hash: chance is nil): each is reported to `duplicate`
 * with the earlier and the later key, in rising order of the later one being irrelevant, and both stay
 * out of the caller's way: the index holds every key given, so the caller that keeps the last removes
 * the earlier ones afterwards; returning an error ends the build.
 */
struct sirix_name_bulk;
typedef enum sirix_status (*sirix_name_duplicate_fn)(void *context, uint64_t earlier_key,
                                                     uint64_t later_key, struct sirix_error *err);
struct sirix_name_bulk_options {
    size_t memory_bytes;   /* 0: 16 MiB. */
    const char *spill_dir; /* NULL: never spill, fail with SIRIX_EXHAUSTED. */
    sirix_name_duplicate_fn duplicate;
    void *context;
};
enum sirix_status sirix_name_bulk_new(const struct sirix_name_bulk_options *options,
                                      struct sirix_name_bulk **out_bulk,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_name_bulk_add(struct sirix_name_bulk *bulk, struct sirix_name_hash hash,
                                      uint64_t key, struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_name_bulk_finish(struct sirix_name_bulk *bulk,
                                         struct sirix_page_writer *writer, uint64_t *out_root,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_name_bulk_free(struct sirix_name_bulk *bulk);

#endif
