/*
 * The builder: JSON text in, rows of a new subtree out.
 *
 * It makes everything below a top value, whose own row is left to the operation that wanted it: the top
 * may be a new element, a new member, the value of an old one, or (SIRIX_BUILD_MEMBERS) an object of
 * which only the members are wanted.
 *
 * Keys     in document order: an element one, a member two. They are fresh, so that a build that is
 *          dropped is undone by removing them.
 * Memory   a stack of open containers; of each the keys of up to 64 children and a token of each
 *          member's name. Past 64 the children go to a child tree.
 * Small    rows go into the edit. Past SIRIX_EDIT_BULK_BYTES of text the rest is built in bulk: rows of
 *          a key range of its own, leaf by leaf onto early pages, grafted in at the end.
 *
 * Private to this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_BUILD_H
#define SIRIX_STORE_DOCUMENT_BUILD_H

#include "store/document/edit_state.h"

enum {
    SIRIX_BUILD_NAME_SLOTS = 1024,
    SIRIX_BUILD_TAPE_BYTES = 64 * 1024,
    SIRIX_BUILD_BULK_RUN_MIN = 64 * 1024,
    SIRIX_BUILD_BULK_RUN_MAX = 1024 * 1024,
    SIRIX_BUILD_EVENTS_PER_RELIEF = 4096,
    SIRIX_BUILD_NAME_BYTES =
        8 * 1024 * 1024, /* Of one name index in the making, before it spills. */
    SIRIX_BUILD_NAME_BYTES_NO_DIR = 256 * 1024 * 1024, /* Where it cannot. */
};

enum sirix_build_form {
    SIRIX_BUILD_VALUE,   /* One value. */
    SIRIX_BUILD_MEMBERS, /* An object whose members are wanted. */
};

/* What a build is for; set by the operation. */
struct sirix_build_options {
    enum sirix_build_form form;
    uint64_t container;  /* Row key of the top container, if it is one; of MEMBERS: their parent. */
    uint32_t depth_left; /* Levels that the value may have in the document, */
    unsigned depth_max;  /* and those that its text may have; 0: no limit of its own. */
    enum sirix_duplicates duplicates;
    bool ndjson;
    bool tape; /* Hash the minified text. */
};

/* An open container. */
struct sirix_build_frame {
    uint64_t container;
    uint64_t parent; /* Of its row. */
    uint64_t count;
    uint64_t token_bits;    /* A bit of each member's token: one not set is a name not seen. */
    enum sirix_order order; /* Of its row, if it is an element. */
    struct sirix_label label;
    bool is_object;
    uint32_t path;    /* In build->paths. */
    size_t keys_base; /* Where its part of the stacks begins. */
    size_t hashes_base;
    struct sirix_open_list *open;  /* Small, past 64 children. */
    struct sirix_map *seen;        /* Members of it, by hash. */
    struct sirix_child_bulk *bulk; /* In bulk, past 64 children. */
    struct sirix_name_bulk *names;
};

/* A duplicate member to be dropped: the later one takes the place of the earlier. */
struct sirix_build_duplicate {
    uint64_t container;
    uint64_t earlier;
    uint64_t later;
};

struct sirix_build_name {
    uint64_t hash;
    struct sirix_bytes name; /* The dictionary's. */
    uint32_t id;
};

struct sirix_build {
    struct sirix_edit *edit;
    struct sirix_build_options options;
    struct sirix_json_reader reader;
    bool early_fresh; /* Nothing early was there when the build began. */

    /* The result. */
    bool has_top;
    struct sirix_node top;      /* Value kind; key, parent and label are the operation's. */
    struct sirix_buf top_bytes; /* What top's texts and children point to. */
    struct sirix_open_list *top_open;
    uint64_t node_count;
    uint64_t text_bytes;
    struct sirix_build_duplicate *duplicates;
    size_t duplicate_count;
    size_t duplicate_cap;

    struct sirix_build_frame *frames;
    uint32_t depth;
    uint32_t frame_cap;
    uint64_t *keys;   /* Children of open containers. */
    uint32_t *tokens; /* Of the same children; 0 for elements. */
    size_t key_count;
    size_t key_cap;
    struct sirix_name_hash *hashes; /* Of members whose name has no id. */
    size_t hash_count;
    size_t hash_cap;

    /* The member or element in the making. */
    uint64_t child_key;
    struct sirix_node child; /* Name, order and label. */
    struct sirix_buf child_name;

    uint32_t child_path;
    struct sirix_path_summary paths; /* Path 0: of the top value, or of the object of MEMBERS. */

    struct sirix_string_writer string;
    bool string_open;
    struct sirix_buf string_copy; /* Small builds keep the text readable. */

    struct sirix_build_name names[SIRIX_BUILD_NAME_SLOTS];
    struct sirix_key_range *taken; /* Keys given to rows of the edit. */
    size_t taken_count;
    size_t taken_cap;

    struct sirix_trie_bulk *bulk;
    uint64_t bulk_first;
    uint64_t bulk_settled; /* Leaf index. */
    uint64_t bulk_run;
    uint32_t events;
    bool bulk_done; /* What was built in bulk is in the edit. */
    struct sirix_trie_graft *grafts;
    size_t graft_count;
    bool has_refused; /* A duplicate ends the build as soon as it can be named. */
    struct sirix_build_duplicate refused;
    char refused_pointer[SIRIX_ERROR_WHERE_BYTES];

    struct sirix_buf tape;
    struct sirix_sha256 sha;
};

/* Starts a build; it belongs to the edit (edit->build). */
enum sirix_status sirix_build_new(struct sirix_edit *edit,
                                  const struct sirix_build_options *options,
                                  struct sirix_build **out_build,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_build_free(struct sirix_build *build);

/* Takes text. On failure the build is only good to be undone. */
enum sirix_status sirix_build_feed(struct sirix_build *build, struct sirix_bytes text, bool is_last,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * After the last text: ends bulk building, so that all rows below the top are in the edit. The keys of
 * MEMBERS are build->keys[0..key_count).
 */
enum sirix_status sirix_build_finish(struct sirix_build *build,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Takes everything back that the build put into the edit. */
enum sirix_status sirix_build_undo(struct sirix_build *build,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether the build gave this key to a row. */
bool sirix_build_is_taken(const struct sirix_build *build, uint64_t key);

/* The hash of the minified text (options.tape). */
enum sirix_status sirix_build_hash(struct sirix_build *build, uint8_t out_hash[SIRIX_SHA256_BYTES],
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Between the builder's files ------------------------------------------------------------------- */

/* The hash's text, and what stands in it before a value. */
enum sirix_status sirix_build_tape(struct sirix_build *build, const void *data, size_t len,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_build_tape_before(struct sirix_build *build,
                                          const struct sirix_json_event *event,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
/* Before a value: an element gets its key and place. A member has both since its name. */
enum sirix_status sirix_build_begin_value(struct sirix_build *build,
                                          const struct sirix_json_event *event,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_build_scalar(struct sirix_build *build,
                                     const struct sirix_json_event *event,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_build_string_part(struct sirix_build *build,
                                          const struct sirix_json_event *event,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_build_take_keys(struct sirix_build *build, uint32_t count,
                                        uint64_t *out_key,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_build_put(struct sirix_build *build, const struct sirix_node *node,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
/* Notes keys whose rows are in the edit, to be undone. */
enum sirix_status sirix_build_note_taken(struct sirix_build *build, uint64_t first, uint64_t last,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* Closes the innermost container: its row, or the top. */
enum sirix_status sirix_build_close(struct sirix_build *build,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
/* A new child of the innermost frame; its order goes to build->child. */
enum sirix_status sirix_build_add_child(struct sirix_build *build, uint64_t key, uint32_t token,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
/* Name, token and duplicate check of a member; the name goes to build->child. */
enum sirix_status sirix_build_member(struct sirix_build *build,
                                     const struct sirix_json_event *event,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
/* The hash of the name that a token stands for. */
enum sirix_status sirix_build_token_hash(struct sirix_build *build,
                                         const struct sirix_build_frame *frame, uint32_t token,
                                         struct sirix_name_hash *out_hash,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_build_duplicate(struct sirix_build *build, uint64_t container,
                                        uint64_t earlier, uint64_t later,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_build_frame_deinit(struct sirix_build_frame *frame);
/* Writes the children of the innermost frame and fills node's payload; pops nothing. */
enum sirix_status sirix_build_children(struct sirix_build *build, struct sirix_node *node,
                                       struct sirix_buf *deltas,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
/* Bulk. */
enum sirix_status sirix_build_bulk_start(struct sirix_build *build,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* Adds a child to a frame that is in bulk. */
enum sirix_status sirix_build_bulk_append(struct sirix_build *build,
                                          struct sirix_build_frame *frame, uint64_t key,
                                          uint32_t token, struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_build_bulk_promote(struct sirix_build *build,
                                           struct sirix_build_frame *frame,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_build_bulk_finish(struct sirix_build *build,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
/* Grafts what was built in bulk into the edit's trie: at the end, and on another base. */
enum sirix_status sirix_build_graft(struct sirix_build *build,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
/* Ends a build in which a duplicate was found late, with the error that names it. */
enum sirix_status sirix_build_refuse(struct sirix_build *build,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
