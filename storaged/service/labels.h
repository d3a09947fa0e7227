/* Snapshots (labels on revisions) and branches. Nothing here copies data. */
#ifndef SIRIX_SERVICE_LABELS_H
#define SIRIX_SERVICE_LABELS_H

#include "base/name.h"
#include "service/once.h"

enum { SIRIX_LABEL_NAME_BYTES = 129 };

/* Names end with a NUL and stand first in every item of a list. */
struct sirix_snapshot_item {
    char name[SIRIX_LABEL_NAME_BYTES];
    uint64_t revision;
    int64_t time_us;
    int64_t created_us;
};

struct sirix_branch_item {
    char name[SIRIX_LABEL_NAME_BYTES];
    uint64_t revision;
    int64_t time_us;
    uint64_t base_revision;
    int64_t created_us;
    int64_t expires_us;
};

/* What a label or branch call is about. */
struct sirix_label_request {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_bytes name;
    struct sirix_view_request view;
    struct sirix_write_options options;
    bool replace;
    int64_t expires_us; /* 0: never. */
};

struct sirix_snapshot_change {
    struct sirix_snapshot_item snapshot;
    uint64_t previous_revision;
    bool changed;
};

/* expected_revision: the one that the view must come to. */
enum sirix_status sirix_service_create_snapshot(const struct sirix_request *request,
                                                const struct sirix_label_request *wanted,
                                                struct sirix_snapshot_change *out_change,
                                                bool *out_replayed,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* expected_revision: the one that the label must be at. */
enum sirix_status sirix_service_delete_snapshot(const struct sirix_request *request,
                                                const struct sirix_label_request *wanted,
                                                uint64_t *out_revision, bool *out_replayed,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* expected_revision: the one that the view must come to. */
enum sirix_status sirix_service_create_branch(const struct sirix_request *request,
                                              const struct sirix_label_request *wanted,
                                              struct sirix_branch_item *out_branch,
                                              bool *out_replayed,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Opens the branch, also one whose time is over, to take its turn; or, *out_known true, gives what the
 * deletion answered when it was made with this key before: then nothing is open.
 */
enum sirix_status sirix_delete_branch_open(const struct sirix_request *request,
                                           const struct sirix_write_place *place,
                                           struct sirix_write *write, uint64_t *out_revision,
                                           bool *out_known,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* With the branch's turn (write->branch). */
enum sirix_status sirix_delete_branch_run(struct sirix_write *write, struct sirix_bytes database,
                                          uint64_t *out_revision, bool *out_replayed,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_promotion {
    uint64_t revision;
    uint64_t previous_revision;
    bool changed;
};

/* The same for a promote; place->branch is the target. */
enum sirix_status sirix_promote_open(const struct sirix_request *request,
                                     const struct sirix_write_place *place,
                                     struct sirix_bytes source, struct sirix_write *write,
                                     struct sirix_promotion *out_promotion, bool *out_known,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* With the turn of the target (write->branch). */
enum sirix_status sirix_promote_run(struct sirix_write *write, struct sirix_bytes database,
                                    struct sirix_bytes source, bool replace,
                                    struct sirix_promotion *out_promotion, bool *out_replayed,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* A name of at most 128 bytes as an item has it. */
void sirix_label_name(char out[SIRIX_LABEL_NAME_BYTES], struct sirix_bytes name);

/* A page of items in the arena; *out_more: there are others after the last. */
struct sirix_list_page {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    uint32_t page_size;
    struct sirix_bytes cursor; /* The last name of the page before; empty: from the first. */
};

/* How many items the page has at most. SIRIX_INVALID names page_size, or a cursor that is no name. */
enum sirix_status sirix_list_page_check(const struct sirix_list_page *page,
                                        enum sirix_name_kind kind, uint64_t *out_size,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_service_list_snapshots(const struct sirix_request *request,
                                               const struct sirix_list_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_snapshot_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_service_list_branches(const struct sirix_request *request,
                                              const struct sirix_list_page *page,
                                              struct sirix_arena *arena,
                                              struct sirix_branch_item **out_items,
                                              size_t *out_count, bool *out_more,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
