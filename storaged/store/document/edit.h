/*
 * An edit: operations on the head of one branch, published together as one revision.
 *
 *     sirix_edit_new(view of the branch's head) -> operations -> sirix_edit_commit()
 *
 * Reads through the edit see its operations. Nothing is shared until the commit, which fails with
 * CONFLICT when the head has moved. Subtrees come from JSON text in pieces (sirix_edit_value_*), so a
 * value of any size passes with bounded memory: past SIRIX_EDIT_BULK_BYTES of text it is built in bulk
 * segments under an intent.
 *
 * Keys       a member keeps k and k + 1 for life, whatever its value becomes; an array element that is
 *            replaced keeps its key; the children of a replaced container are deleted. Keys of deleted
 *            nodes are never given again.
 * Refused    a duplicate member name (ALREADY_EXISTS duplicate_key with the pointer); an insert into a
 *            scalar (PRECONDITION node_kind, names `update`); a member without a name or an element
 *            with one; deleting or moving the document; moving a node into its own subtree; nesting
 *            beyond SIRIX_DOCUMENT_DEPTH_MAX. A refused operation leaves the edit as it was before it.
 * Duplicates two members of one name in a text are INVALID (duplicate_key, with the pointer); with LAST
 *            the last one takes the first one's place.
 * Broken     a failure in the middle of a change (memory, disk, damage) ends the edit: every later call
 *            gives that error again, and nothing was published.
 * Pause      one operation may pass a whole document: see sirix_edit_set_pause().
 * Reader     the view and the reader stay open until _free(). What goes to disk before the commit
 *            (bulk values, many long strings) is only seen after a yield: feeding and ending a value may
 *            yield the reader, and sirix_edit_commit() does.
 * Threads    one thread at a time; a bulk value has one of its own for writing.
 */
#ifndef SIRIX_STORE_DOCUMENT_EDIT_H
#define SIRIX_STORE_DOCUMENT_EDIT_H

#include "store/document/document.h"
#include "json/reader.h"

enum { SIRIX_EDIT_BULK_BYTES = 1024 * 1024 };

struct sirix_edit;

enum sirix_status sirix_edit_new(const struct sirix_view *base, struct sirix_reader *reader,
                                 struct sirix_edit **out_edit,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;
/*
 * Called every SIRIX_EDIT_PAUSE_STEPS rows or children that one call passes, and for each segment that
 * is closed before the commit: the place to look at a deadline. It may neither use the edit nor let
 * its reader yield. Anything but SIRIX_OK ends the call with that status and breaks the edit, whatever
 * the operation had done by then: nothing is published, and it can only be freed. A publication that
 * was prepared is never stopped. set: before the first operation.
 */
typedef enum sirix_status (*sirix_edit_pause_fn)(void *context, struct sirix_error *err);
enum { SIRIX_EDIT_PAUSE_STEPS = 512 };
void sirix_edit_set_pause(struct sirix_edit *edit, sirix_edit_pause_fn pause, void *context);

/* Also ends an edit that was never committed; bulk segments are abandoned. */
void sirix_edit_free(struct sirix_edit *edit);

enum sirix_place {
    SIRIX_PLACE_FIRST_CHILD,
    SIRIX_PLACE_LAST_CHILD,
    SIRIX_PLACE_LEFT_SIBLING, /* target is the sibling. */
    SIRIX_PLACE_RIGHT_SIBLING,
    SIRIX_PLACE_INDEX, /* target is the parent; index 0..child count. */
};

enum sirix_duplicates { SIRIX_DUPLICATES_REFUSE, SIRIX_DUPLICATES_LAST };

/*
 * Opens a value to be put somewhere; its text follows through sirix_edit_value_feed() and ends with
 * sirix_edit_value_end(). One at a time; no other operation in between.
 *
 * insert   as a child of target (a container, or 0/1 of an empty resource: the value itself). Into an
 *          object: `name` is the member's name (stored form) and the text its value; with name NULL the
 *          text is an object whose members are all inserted, in order.
 * update   the value of target becomes the text, of any kind. Identical text changes nothing.
 */
struct sirix_edit_insert {
    uint64_t target;
    enum sirix_place place;
    uint64_t index;
    const struct sirix_bytes *name;
    enum sirix_duplicates duplicates;
    bool ndjson;        /* The text is NDJSON: one array. */
    unsigned depth_max; /* Levels of the text; 0: as many as a document may have. */
};
enum sirix_status sirix_edit_insert_begin(struct sirix_edit *edit,
                                          const struct sirix_edit_insert *insert,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
struct sirix_edit_update {
    uint64_t target;
    enum sirix_duplicates duplicates;
    bool ndjson;
    unsigned depth_max;
};
enum sirix_status sirix_edit_update_begin(struct sirix_edit *edit,
                                          const struct sirix_edit_update *update,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
/*
 * Any split. Errors carry offset and pointer of the input; the value is then gone. May yield the reader, of
 * which the text is no slice.
 */
enum sirix_status sirix_edit_value_feed(struct sirix_edit *edit, struct sirix_bytes text,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
struct sirix_edit_result {
    uint64_t key;              /* Of the inserted or updated node (the first of several members). */
    uint64_t key_count;        /* Inserted top nodes. */
    enum sirix_node_kind kind; /* Of the stored value. */
    uint64_t node_count;       /* Values written. */
    uint64_t duplicates_dropped; /* SIRIX_DUPLICATES_LAST. */
    bool changed;                /* False: an update with identical text. */
    bool equal_value; /* An update whose value is equal but whose text is not: 1.1 -> 1.10. */
};
enum sirix_status sirix_edit_value_end(struct sirix_edit *edit,
                                       struct sirix_edit_result *out_result,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
/* Drops a value begun; the edit is as before it. */
void sirix_edit_value_abort(struct sirix_edit *edit);

/* Whole small values at once; as begin, feed, end. */
enum sirix_status sirix_edit_insert(struct sirix_edit *edit, const struct sirix_edit_insert *insert,
                                    struct sirix_bytes text, struct sirix_edit_result *out_result,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_edit_update(struct sirix_edit *edit, const struct sirix_edit_update *update,
                                    struct sirix_bytes text, struct sirix_edit_result *out_result,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Insert under given keys, for applying a diff: the top node gets `key` (a member also key + 1), which a
 * node of the resource has had before (INVALID: it would come to another as a fresh one), and which must
 * be free in this resource's revision; descendants get fresh keys. ALREADY_EXISTS: key is taken.
 */
enum sirix_status sirix_edit_insert_keyed(struct sirix_edit *edit,
                                          const struct sirix_edit_insert *insert, uint64_t key,
                                          struct sirix_bytes text,
                                          struct sirix_edit_result *out_result,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Removes the node and its subtree; *out_nodes: values removed. The document's value can be removed:
 * key 0 or 1 empties the resource. */
enum sirix_status sirix_edit_delete(struct sirix_edit *edit, uint64_t key, uint64_t *out_nodes,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* A member gets another name, in its place; *out_changed false: it has it already. */
enum sirix_status sirix_edit_rename(struct sirix_edit *edit, uint64_t key, struct sirix_bytes name,
                                    bool *out_changed, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Moves a node with its subtree to another place, keeping all keys. Among its siblings an index is
 * counted without the node itself: it is where the node ends up. Between an object and an array a
 * member becomes an element or the reverse: then `name` is required (into an object) or ignored, and
 * the top node gets a fresh key (*out_key).
 */
struct sirix_edit_move {
    uint64_t key;
    uint64_t target;
    enum sirix_place place;
    uint64_t index;
    const struct sirix_bytes *name; /* NULL: keeps its name. */
};
enum sirix_status sirix_edit_move(struct sirix_edit *edit, const struct sirix_edit_move *move,
                                  uint64_t *out_key, bool *out_changed,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Reading through the edit: the same questions as document.h's, seeing the operations so far. */
enum sirix_status sirix_edit_get(struct sirix_edit *edit, uint64_t key,
                                 struct sirix_document_node *out_node,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_edit_child_at(struct sirix_edit *edit, uint64_t key, uint64_t index,
                                      uint64_t *out_key, struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_edit_child_index(struct sirix_edit *edit, uint64_t key, uint64_t *out_index,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_edit_member(struct sirix_edit *edit, uint64_t key, struct sirix_bytes name,
                                    uint64_t *out_key, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Publishes everything as one revision and ends the edit's life but for _free(). An edit without a
 * change publishes nothing unless force (*out_changed false then; published holds the base). One of
 * deletes alone goes on where the disk is too full for other writes. While a long value came the
 * branch may have moved: sirix_edit_rebase() puts an edit that is one insert on the new head.
 */
struct sirix_edit_commit {
    struct sirix_bytes author;
    struct sirix_bytes message;
    struct sirix_rider rider; /* key empty: none. */
    bool force;
};
enum sirix_status sirix_edit_commit(struct sirix_edit *edit, const struct sirix_edit_commit *commit,
                                    struct sirix_published *out_published, bool *out_changed,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Puts an edit that consists of one insert, not yet prepared, on another revision of its branch (the
 * reader sees it): the value that was built is linked there, its keys stay. Fails as an insert does when
 * the target is gone, is no container any more or has a member of that name; SIRIX_CONFLICT
 * (revision_moved) when it is something else than it was, lies deeper, when the edit is no single insert
 * or has dropped duplicates. The edit is then broken.
 */
enum sirix_status sirix_edit_rebase(struct sirix_edit *edit, const struct sirix_view *base,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same for services: prepares the publication (pages built, segments ready), to be started with
 * sirix_publishing_start(), alone or with those of other resources. *out_changed false: there is
 * nothing to publish. The publication's arrays belong to the edit, which must outlive the publishing;
 * its segments are taken over by the publishing.
 */
enum sirix_status sirix_edit_prepare(struct sirix_edit *edit,
                                     const struct sirix_edit_commit *commit,
                                     struct sirix_publication *out_publication, bool *out_changed,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * How a publication of sirix_edit_prepare() ended, before the edit is freed: an intent that was not
 * published is abandoned then. (sirix_edit_commit() does it itself.)
 */
void sirix_edit_published(struct sirix_edit *edit, enum sirix_status status);

#endif
