/*
 * What a diff holds. Private to the diff files of this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_DIFF_STATE_H
#define SIRIX_STORE_DOCUMENT_DIFF_STATE_H

#include "base/map.h"
#include "store/document/diff.h"
#include "store/document/rows.h"

/* Where a node that both revisions have stands in both. */
struct sirix_diff_scope {
    bool shared;    /* Its ancestors up to start are the same nodes, of the same kinds. */
    uint32_t depth; /* Levels below start, if shared. */
};

enum sirix_diff_fate {
    SIRIX_DIFF_FATE_GONE,  /* In this list only. */
    SIRIX_DIFF_FATE_KEPT,  /* In both, and nothing to tell. */
    SIRIX_DIFF_FATE_MOVED, /* In both, elsewhere. */
    SIRIX_DIFF_FATE_NAMED, /* The same member under another key, with another value. */
};

/* A child in a place where the two lists differ. */
struct sirix_diff_child {
    uint64_t key;
    uint64_t index;
    size_t partner; /* Place in the other list's children; SIZE_MAX: none. */
    enum sirix_diff_fate fate;
};

struct sirix_diff_children {
    struct sirix_diff_child *items; /* Rising indexes. */
    size_t count;
    size_t cap;
};

/* The phases in which a container's changes are given. */
enum sirix_diff_phase {
    SIRIX_DIFF_PHASE_NAMED,
    SIRIX_DIFF_PHASE_DELETES,
    SIRIX_DIFF_PHASE_PLACES,
    SIRIX_DIFF_PHASE_END,
};

/* The changed children of one container that both revisions have. */
struct sirix_diff_container {
    uint64_t key;   /* Canonical. */
    uint32_t depth; /* Of its children. */
    bool is_object;
    struct sirix_diff_children before;
    struct sirix_diff_children after;
    enum sirix_diff_phase phase; /* What sirix_diff_container_next() gives next. */
    size_t at;
};

struct sirix_diff {
    struct sirix_reader *reader;
    struct sirix_document before;
    struct sirix_document after;
    struct sirix_rows rows_before; /* Of the two documents. */
    struct sirix_rows rows_after;
    uint64_t start; /* Canonical; 1: all. */
    uint32_t depth_max;
    struct sirix_trie_compare compare;
    bool compare_done;
    uint64_t last_key;       /* Canonical key of the last changed node looked at; 0: none. */
    struct sirix_map scopes; /* Container to 0 (not shared) or its depth + 1. */
    uint64_t *climb;         /* Scratch: containers on the way up. */
    size_t climb_cap;
    struct sirix_change pending[2]; /* Changes of one node, not given yet. */
    size_t pending_count;
    size_t pending_at;
    struct sirix_diff_container container;
    struct sirix_diff_counts counts;
    sirix_diff_pause_fn pause;
    void *pause_context;
    uint32_t steps; /* Since the last pause. */
};

/* One step of work; now and then the pause. Slices of the reader are gone afterwards. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_diff_step(struct sirix_diff *diff,
                                                                 struct sirix_error *err)
{
    diff->steps += 1;
    if (diff->pause == NULL || diff->steps < SIRIX_DIFF_PAUSE_STEPS) {
        return SIRIX_OK;
    }
    diff->steps = 0;
    return diff->pause(diff->pause_context, err);
}

/* --- diff_scope.c ------------------------------------------------------------------------------ */

/* The scope of a node that stands under parent (canonical) in both revisions. */
enum sirix_status sirix_diff_scope_below(struct sirix_diff *diff, uint64_t parent,
                                         struct sirix_diff_scope *out_scope,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- diff_children.c --------------------------------------------------------------------------- */

/* Finds what changed among the children of a container; depth is the children's. */
enum sirix_status sirix_diff_container_open(struct sirix_diff *diff,
                                            const struct sirix_document_node *before,
                                            const struct sirix_document_node *after, uint32_t depth,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
/* The next change of the open container; NOT_FOUND after the last. */
enum sirix_status sirix_diff_container_next(struct sirix_diff *diff,
                                            struct sirix_change *out_change,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_diff_container_deinit(struct sirix_diff_container *container);

/* --- diff_names.c ------------------------------------------------------------------------------ */

/* Pairs members of the open container that are gone with new ones of the same names. */
enum sirix_status sirix_diff_match_names(struct sirix_diff *diff,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- diff_values.c ----------------------------------------------------------------------------- */

/* Pairs elements of the open container that are gone with new ones of the same values. */
enum sirix_status sirix_diff_match_values(struct sirix_diff *diff,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- diff_same.c ------------------------------------------------------------------------------- */

/* Whether two scalars have one stored text; *out_equal_value, for numbers: at least one value. */
enum sirix_status sirix_diff_scalars(struct sirix_rows *rows_a, const struct sirix_node *a,
                                     struct sirix_rows *rows_b, const struct sirix_node *b,
                                     bool *out_same, bool *out_equal_value,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Whether the values of two nodes have the same text but for the order of members. false also when
 * more than SIRIX_DIFF_SAME_NODES_MAX values would have to be read. Pauses as the diff does.
 */
enum sirix_status sirix_diff_same(struct sirix_diff *diff, struct sirix_rows *rows_a,
                                  uint64_t key_a, struct sirix_rows *rows_b, uint64_t key_b,
                                  bool *out_same, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Integers and other numbers are one type, true and false are one. */
static inline enum sirix_node_kind sirix_json_type(enum sirix_node_kind kind)
{
    if (kind == SIRIX_NODE_NUMBER) {
        return SIRIX_NODE_INTEGER;
    }
    return kind == SIRIX_NODE_FALSE ? SIRIX_NODE_TRUE : kind;
}

#endif
