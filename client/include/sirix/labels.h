/* Snapshots and branches. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_LABELS_H
#define SIRIX_SIRIX_LABELS_H

#include "sirix/catalogue.h"
#include "sirix/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sirix_create_snapshot_request {
    const char *database;
    const char *resource;
    const char *name;
    struct sirix_view view; /* What is labelled. */
    bool replace;           /* Move a label that is elsewhere; `main` always moves. */
    struct sirix_write_options write;
};

struct sirix_create_snapshot_result {
    struct sirix_snapshot_info snapshot;
    uint64_t previous_revision; /* 0: the label is new. */
    bool changed;               /* false: it was there already. */
    bool replayed;
};

enum sirix_status sirix_client_create_snapshot(struct sirix_client *client,
                                               const struct sirix_create_snapshot_request *request,
                                               const struct sirix_call_options *call,
                                               struct sirix_create_snapshot_result **out_result,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_snapshot_list {
    const struct sirix_snapshot_info *items;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_list_snapshots(struct sirix_client *client, const char *database,
                                              const char *resource, const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_snapshot_list **out_list,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* A snapshot or branch to delete. */
struct sirix_delete_name_request {
    const char *database;
    const char *resource;
    const char *name;
    struct sirix_write_options write; /* A branch's expected_revision is its own head. */
};

struct sirix_delete_name_result {
    uint64_t revision; /* Where it was. */
    bool replayed;
};

/* out_result may be NULL. */
enum sirix_status sirix_client_delete_snapshot(struct sirix_client *client,
                                               const struct sirix_delete_name_request *request,
                                               const struct sirix_call_options *call,
                                               struct sirix_delete_name_result *out_result,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_create_branch_request {
    const char *database;
    const char *resource;
    const char *name;
    struct sirix_view view; /* Where it begins. */
    uint64_t expires_at_us; /* 0: never. */
    struct sirix_write_options write;
};

struct sirix_create_branch_result {
    struct sirix_branch_info branch;
    bool replayed;
};

enum sirix_status sirix_client_create_branch(struct sirix_client *client,
                                             const struct sirix_create_branch_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_create_branch_result **out_result,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_branch_list {
    const struct sirix_branch_info *items;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_list_branches(struct sirix_client *client, const char *database,
                                             const char *resource, const struct sirix_page *page,
                                             const struct sirix_call_options *call,
                                             struct sirix_branch_list **out_list,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* out_result may be NULL. */
enum sirix_status sirix_client_delete_branch(struct sirix_client *client,
                                             const struct sirix_delete_name_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_delete_name_result *out_result,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Moves the head of `target` to the head of `branch`. */
struct sirix_promote_request {
    const char *database;
    const char *resource;
    const char *branch;
    const char *target; /* NULL: main. */
    bool replace;       /* Also if the target's head is no ancestor of the branch's. */
    struct sirix_write_options write; /* expected_revision is the target's. */
};

struct sirix_promote_result {
    uint64_t revision;          /* The head of the target now, */
    uint64_t previous_revision; /* and before. */
    bool changed;
    bool replayed;
};

enum sirix_status sirix_client_promote(struct sirix_client *client,
                                       const struct sirix_promote_request *request,
                                       const struct sirix_call_options *call,
                                       struct sirix_promote_result *out_result,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
