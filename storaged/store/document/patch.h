/*
 * RFC 6902 patches and stored revisions: writing one out of a diff, and applying one to an edit.
 */
#ifndef SIRIX_STORE_DOCUMENT_PATCH_H
#define SIRIX_STORE_DOCUMENT_PATCH_H

#include "store/document/diff.h"
#include "store/document/edit.h"
#include "json/tree.h"

enum {
    SIRIX_PATCH_OPS_DEFAULT = 10 * 1000,
    SIRIX_PATCH_OPS_MAX = 1000 * 1000,
    SIRIX_PATCH_COPY_NODES_MAX = 8 * 1024 * 1024,   /* That all copies of one patch make, */
    SIRIX_PATCH_COPY_BYTES_MAX = 256 * 1024 * 1024, /* and of their JSON text, minified. */
};

/* --- Out ------------------------------------------------------------------------------------------ */

/*
 * Writes the patch from one revision to another as the JSON text of one array, a piece at a time.
 * Applied to the text of the old revision it gives the value of the new one, with every number and
 * string as that writes it; members may stand in another order, added ones last.
 *
 * Order     First values, at their old places. Then structure, the deepest container first, each at
 *           its old place: removes from right to left, renames (in a cycle one member is removed
 *           and added again), then moves and adds from left to right.
 * Memory    About 100 bytes an operation.
 * Errors    EXHAUSTED (size_limit) past max_ops, and the sentence has the count; PRECONDITION when
 *           the new revision has no value, which no patch can say.
 */
struct sirix_patch_writer;

struct sirix_patch_options {
    const struct sirix_view *old_view;
    const struct sirix_view *new_view;
    struct sirix_reader *reader;
    uint64_t max_ops;          /* 0: SIRIX_PATCH_OPS_DEFAULT; at most SIRIX_PATCH_OPS_MAX. */
    sirix_diff_pause_fn pause; /* See diff.h; while the diff is read. NULL: none. */
    void *pause_context;
};

/* Reads the whole diff; the reader may yield afterwards. */
enum sirix_status sirix_patch_writer_new(const struct sirix_patch_options *options,
                                         struct sirix_patch_writer **out_writer,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_patch_writer_free(struct sirix_patch_writer *writer);

uint64_t sirix_patch_writer_count(const struct sirix_patch_writer *writer);

/* Of the whole diff that the patch says; an operation may say several changes, or a part of one. */
struct sirix_diff_counts sirix_patch_writer_changes(const struct sirix_patch_writer *writer);

/*
 * Appends about max_bytes more (a path, or a long string's chunk, may pass it). The reader may yield
 * between steps.
 */
enum sirix_status sirix_patch_writer_step(struct sirix_patch_writer *writer, size_t max_bytes,
                                          struct sirix_buf *out, bool *out_done,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- In ------------------------------------------------------------------------------------------- */

/*
 * Does the operations of a patch (a JSON array, of any tree) in an edit, in order, later ones seeing
 * the effect of earlier ones. All or none: after a failure the edit can only be freed, and nothing of
 * it was stored.
 *
 * add       to a member that is there replaces its value in place, key and all
 * move      keeps the keys of what it moves; a member that was at the target goes
 * copy      puts the text of the value there once more; all of them together make no more than
 *           SIRIX_PATCH_COPY_NODES_MAX nodes and SIRIX_PATCH_COPY_BYTES_MAX bytes of text
 * test      compares by value: numbers exactly (1.0 equals 1.00), members in any order
 * Refused   removing or moving the whole value; moving a value into itself. Unknown members of an
 *           operation are ignored, missing ones refused.
 * Errors    as json/patch.h: SIRIX_INVALID with reason field_missing, field_invalid, patch_target or
 *           patch_test; the pointer is the operation's path (or from), the sentence names the
 *           operation's number, from 0. EXHAUSTED (size_limit) past max_ops, and before a copy
 *           past its limits is put, with the limit, the operation's number and its path. Others are
 *           those of the edit, with the operation's pointer where they have none.
 */
enum sirix_status sirix_patch_apply(struct sirix_edit *edit, struct sirix_json_tree *patch_tree,
                                    const struct sirix_json_node *patch, uint64_t max_ops,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same in pieces, for a patch that is not read into one tree: the number of operations is checked
 * (max_ops 0: SIRIX_PATCH_OPS_DEFAULT), then each is done, in order and numbered from 0; op is the
 * whole of tree or lies in it. copies counts over all of them: its nodes and bytes are 0 before the
 * first. out_is_test may be NULL. _fail_form() is the error of a patch that is no array.
 */
struct sirix_patch_copies {
    uint64_t nodes_max; /* 0: SIRIX_PATCH_COPY_NODES_MAX. */
    uint64_t bytes_max; /* 0: SIRIX_PATCH_COPY_BYTES_MAX. */
    uint64_t nodes;     /* Made so far. */
    uint64_t bytes;
};

enum sirix_status sirix_patch_check_count(uint64_t count, uint64_t max_ops,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_patch_apply_one(struct sirix_edit *edit, struct sirix_json_tree *tree,
                                        struct sirix_json_node *op, uint64_t number,
                                        struct sirix_patch_copies *copies, bool *out_is_test,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_patch_fail_form(struct sirix_error *err);

#endif
