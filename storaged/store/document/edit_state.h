/*
 * What an edit holds, and the pieces that its operations are made of.
 *
 * Rows      changes stand in a trie edit. Only rows of this edit's fresh keys are written before an
 *           operation is sure to succeed, so that undoing one is removing its keys.
 * Lists     child lists of up to 64 stand in their container's row and are rewritten there. A child
 *           tree that changes is opened (struct sirix_open_list) and written at prepare; until then
 *           the container's row holds a placeholder for its address.
 * Early     pages that come before the commit's own segment: strings out of line and bulk values. Their
 *           segments are kept in memory while they are few, and else go to disk under an intent.
 * Broken    a failure in the middle of a change (no memory, a damaged page) ends the edit: every later
 *           operation gives that error again.
 *
 * Private to this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_EDIT_STATE_H
#define SIRIX_STORE_DOCUMENT_EDIT_STATE_H

#include "base/map.h"
#include "store/document/edit.h"
#include "store/document/path_summary.h"
#include "store/document/rows.h"
#include "store/page/string.h"

enum {
    SIRIX_EDIT_SHARED_KEYS = 8, /* First keys of an edit: from the resource's shared run. */
    SIRIX_EDIT_RUN_KEYS_MIN = 64,
    SIRIX_EDIT_RUN_KEYS_MAX = 4096,
    SIRIX_EDIT_BULK_RUN_KEYS = 1024 * 1024,
    SIRIX_EDIT_EARLY_BYTES_MAX = 4 * 1024 * 1024, /* Early pages and texts kept in memory. */
    SIRIX_EDIT_DROPPED_MAX = 1024 * 1024,         /* Duplicate members dropped by one value. */
};

/* A changed child tree. */
struct sirix_open_list {
    uint64_t container;
    struct sirix_child_edit *children;
    struct sirix_name_edit *names; /* Objects; else NULL. */
};

/* A text of this edit that lies out of line in a segment that no reader can see yet. */
struct sirix_early_text {
    size_t len;
    uint8_t bytes[];
};

/* Keys taken from the resource and not given to a node yet, and what was taken before. */
struct sirix_edit_keys {
    uint64_t next;
    uint64_t end;
    uint64_t run_keys;   /* Size of the next whole run. */
    uint32_t shared;     /* Taken one by one so far. */
    uint32_t shared_max; /* How many may be. */
    uint64_t max;        /* The largest key given or used. */
    bool straddle;       /* A pair may lie across two leaves. */
};

struct sirix_build;
struct sirix_edit_operation;
struct sirix_flusher;

struct sirix_edit {
    struct sirix_view base;
    struct sirix_reader *reader;
    struct sirix_trie_edit *trie;
    struct sirix_map open_lists; /* Container key to struct sirix_open_list. */
    uint64_t node_count;
    uint64_t text_bytes;
    struct sirix_edit_keys keys;
    uint64_t names_used[SIRIX_NAME_INTERNED_MAX / 64]; /* Bit: id is used by this edit. */
    struct sirix_buf record;                           /* Scratch for encoding rows. */
    struct sirix_buf deltas;                           /* Scratch for encoding children. */

    struct sirix_page_writer *early;
    struct sirix_segment_built *early_segments; /* Closed, not flushed. */
    size_t early_count;
    size_t early_cap;
    size_t early_bytes;                     /* Of these segments. */
    bool has_early;                         /* early_body counts. */
    uint8_t early_body[SIRIX_SHA256_BYTES]; /* Chained over all early writers. */
    uint64_t intent;                        /* 0: none. */
    struct sirix_flusher *flusher;          /* Runs since the first segment went out; or NULL. */
    bool intent_given;                      /* The publication will end it. */
    struct sirix_map early_texts;           /* Address to struct sirix_early_text. */
    size_t early_text_bytes;

    struct sirix_path_summary paths; /* Those that the edit may have added. */

    struct sirix_build *build;          /* The value that is being fed. */
    struct sirix_edit_operation *value; /* What it is for. */
    struct sirix_build *kept_build;     /* The one value so far, for a rebase; or NULL. */
    struct sirix_edit_operation *kept_value;
    uint32_t operations; /* Begun so far; counts to 2. */
    bool puts;           /* One of them was no delete. */

    sirix_edit_pause_fn pause; /* NULL: none. */
    void *pause_context;
    uint32_t steps; /* Since the last pause. */

    enum sirix_status broken;
    struct sirix_error broken_error;

    /* Handed out by prepare. The publishing frees the segments' bytes and sets them to NULL. */
    struct sirix_segment_built *segments;
    size_t segment_count;
    uint32_t *name_ids;
    struct sirix_ref_put *extra_refs;
    struct sirix_buf extra_bytes;
    bool prepared;
};

/* A pointer out of a map, which holds it as a number. */
static inline void *sirix_edit_pointer(uint64_t value)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it was a pointer when it went in. */
    return (void *)(uintptr_t)value;
}

/* --- edit.c: life and failure ------------------------------------------------------------------ */

/* The error of a broken edit, of one with a value open, or of one that was prepared. */
enum sirix_status sirix_edit_check(struct sirix_edit *edit,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same before an operation that may change something; deletes: it only removes nodes. */
enum sirix_status sirix_edit_begin(struct sirix_edit *edit, bool deletes,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Notes that a change failed half-way; returns status. */
enum sirix_status sirix_edit_break(struct sirix_edit *edit, enum sirix_status status,
                                   const struct sirix_error *error);

/* The pause itself; what is not SIRIX_OK breaks the edit. */
enum sirix_status sirix_edit_pause(struct sirix_edit *edit,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* One row or child was passed; now and then the pause. Slices of the reader stay. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_edit_step(struct sirix_edit *edit,
                                                                 struct sirix_error *err)
{
    edit->steps += 1;
    return edit->steps < SIRIX_EDIT_PAUSE_STEPS ? SIRIX_OK : sirix_edit_pause(edit, err);
}

/* count (1 or 2) consecutive fresh keys, both in one leaf unless straddling is allowed. */
enum sirix_status sirix_edit_take_keys(struct sirix_edit *edit, uint32_t count, uint64_t *out_key,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Encodes node and puts its row: a step. */
enum sirix_status sirix_edit_put(struct sirix_edit *edit, const struct sirix_node *node,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* Fills a field's name in: interned (and noted as used), inline or out of line. */
enum sirix_status sirix_edit_name(struct sirix_edit *edit, struct sirix_bytes name,
                                  struct sirix_node *field,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Depth of a container: the document's value is at 1. */
enum sirix_status sirix_edit_depth(struct sirix_edit *edit, uint64_t key, uint32_t *out_depth,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- edit_lists.c: child lists ------------------------------------------------------------------- */

struct sirix_open_list *sirix_edit_open_list_find(struct sirix_edit *edit, uint64_t container);
void sirix_open_list_free(struct sirix_open_list *open);
/* Forgets and frees it, if it is there. */
void sirix_edit_open_list_drop(struct sirix_edit *edit, uint64_t container);
void sirix_edit_open_lists_free(struct sirix_edit *edit);

/* An open list on the container's stored tree, or an empty one. It belongs to no edit yet. */
enum sirix_status sirix_open_list_new(struct sirix_edit *edit, const struct sirix_node *container,
                                      struct sirix_open_list **out_open,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* Gives it to the edit; on failure it stays the caller's. */
enum sirix_status sirix_edit_open_list_keep(struct sirix_edit *edit, struct sirix_open_list *open,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
/* Makes a container's row speak of an open list: count, and placeholders for addresses. */
void sirix_open_list_mark(struct sirix_node *container, const struct sirix_open_list *open);
/* Puts child at index and its order into *child; rows of siblings that get new labels are written. */
enum sirix_status sirix_open_list_insert(struct sirix_edit *edit, struct sirix_open_list *open,
                                         uint64_t index, struct sirix_node *child,
                                         uint32_t name_hash,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Puts child into the list at index and writes its order into *child (its row is the caller's to
 * put). name_hash counts for members.
 */
enum sirix_status sirix_edit_list_insert(struct sirix_edit *edit, uint64_t container,
                                         uint64_t index, struct sirix_node *child,
                                         uint32_t name_hash,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* Takes the child at index out of the list; its row is the caller's. */
enum sirix_status sirix_edit_list_remove(struct sirix_edit *edit, uint64_t container,
                                         uint64_t index, const struct sirix_node *child,
                                         uint32_t name_hash,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* The hash under which a member stands in a name index. */
enum sirix_status sirix_edit_name_hash(struct sirix_edit *edit, const struct sirix_node *field,
                                       struct sirix_name_hash *out_hash,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
/* A member of the list has another name. */
enum sirix_status sirix_edit_list_rename(struct sirix_edit *edit, uint64_t container, uint64_t key,
                                         uint32_t old_hash, uint32_t new_hash,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* Writes all open lists' pages and their addresses into the containers' rows. */
enum sirix_status sirix_edit_open_lists_write(struct sirix_edit *edit,
                                              struct sirix_page_writer *writer,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- edit_scan.c: what a subtree holds ------------------------------------------------------------ */

struct sirix_key_range {
    uint64_t first;
    uint64_t last;
};
/* Keys, counts and open lists of a subtree. Caller's storage. */
struct sirix_subtree {
    struct sirix_key_range *ranges;
    size_t range_count;
    size_t range_cap;
    uint64_t node_count; /* Values, the top one included. */
    uint64_t text_bytes; /* Minified text of the value; without the member's name. */
    uint32_t height;     /* Open containers at the deepest place. */
    uint64_t *open;      /* Containers with an open list. */
    size_t open_count;
    size_t open_cap;
};
void sirix_subtree_deinit(struct sirix_subtree *subtree);
/* Reads the whole subtree; nothing changes. with_top: the node's own rows are among the ranges. */
enum sirix_status sirix_edit_scan(struct sirix_edit *edit, const struct sirix_document_node *node,
                                  bool with_top, struct sirix_subtree *out_subtree,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
/* Removes all rows of the ranges and the open lists. */
enum sirix_status sirix_edit_scan_remove(struct sirix_edit *edit, struct sirix_subtree *subtree,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- edit_early.c: pages before the commit -------------------------------------------------------- */

enum sirix_status sirix_edit_early(struct sirix_edit *edit, struct sirix_page_writer **out_writer,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
/* Writes a whole text out of line; keep: it is read through the edit before it is on disk. */
enum sirix_status sirix_edit_early_text(struct sirix_edit *edit, struct sirix_bytes text, bool keep,
                                        struct sirix_text *out_text,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
/* Keeps a copy of a text that was written at address. */
enum sirix_status sirix_edit_early_keep(struct sirix_edit *edit, uint64_t address,
                                        struct sirix_bytes text,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
/* The bytes of a text that no reader can see yet; NULL: it is stored. */
const struct sirix_early_text *sirix_edit_early_text_find(struct sirix_edit *edit,
                                                          uint64_t address);
/*
 * Sends closed segments to the disk when they are many and nothing has to be waited for: the reader may be
 * in between, and would keep the map from growing for them. Builders in bulk call it now and then.
 */
enum sirix_status sirix_edit_early_relieve(struct sirix_edit *edit,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
/* Between two pieces of a text: yields the reader while segments go to disk; waits when they are many. */
enum sirix_status sirix_edit_early_between(struct sirix_edit *edit,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
/* Puts everything early on disk and yields the reader, so that it is readable. */
enum sirix_status sirix_edit_early_settle(struct sirix_edit *edit,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
/* Settles when much is kept in memory. */
enum sirix_status sirix_edit_early_tidy(struct sirix_edit *edit,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
/* Ends early writing; what an intent does not name yet stays in early_segments. */
enum sirix_status sirix_edit_early_finish(struct sirix_edit *edit,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_edit_early_deinit(struct sirix_edit *edit);

/* --- edit_delete.c ------------------------------------------------------------------------------ */

/*
 * Takes a node out of its list and removes its subtree; counts follow. The spot where it stood goes
 * to *out_index (may be NULL).
 */
enum sirix_status sirix_edit_remove_node(struct sirix_edit *edit,
                                         const struct sirix_document_node *node,
                                         struct sirix_subtree *subtree, uint64_t *out_index,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Moves a child to another index of its list (counted without it); the list and the row follow. */
enum sirix_status sirix_edit_relist(struct sirix_edit *edit, uint64_t key, uint64_t index,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- edit_place.c: where things go ----------------------------------------------------------------- */

/* A place in a child list, checked. */
struct sirix_spot {
    struct sirix_document_node parent; /* kind DOCUMENT: the value slot of an empty resource. */
    uint64_t container;                /* Its row key; 0 for the value slot. */
    uint64_t index;
};
enum sirix_status sirix_edit_spot(struct sirix_edit *edit, uint64_t target, enum sirix_place place,
                                  uint64_t index, struct sirix_spot *out_spot,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
/* ALREADY_EXISTS (duplicate_key, with the pointer) when the object has a member of that name. */
enum sirix_status sirix_edit_name_free(struct sirix_edit *edit,
                                       const struct sirix_document_node *object,
                                       struct sirix_bytes name,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
/* Checks a name that a caller gives. */
enum sirix_status sirix_edit_name_check(struct sirix_bytes name,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* A row of the edit, decoded; absent is SIRIX_CORRUPT. */
enum sirix_status sirix_edit_row(struct sirix_edit *edit, uint64_t key, struct sirix_node *out_node,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
