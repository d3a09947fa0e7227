/* Databases and resources. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_CATALOGUE_H
#define SIRIX_SIRIX_CATALOGUE_H

#include "sirix/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sirix_database_info {
    const char *name;
    uint64_t stored_bytes;
    uint64_t resource_count; /* 0 and unknown while not open. */
    bool open;
    struct sirix_bytes read_only_reason; /* Empty: it can be written. */
};

struct sirix_database_list {
    const struct sirix_database_info *items; /* By name. */
    size_t count;
    struct sirix_bytes next_cursor; /* Empty after the last page. */
};

/* page may be NULL. */
enum sirix_status sirix_client_list_databases(struct sirix_client *client,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_database_list **out_list,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* write may be NULL here and in the three calls below. */
enum sirix_status sirix_client_create_database(struct sirix_client *client, const char *database,
                                               const struct sirix_write_options *write,
                                               const struct sirix_call_options *call,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_client_drop_database(struct sirix_client *client, const char *database,
                                             const struct sirix_write_options *write,
                                             const struct sirix_call_options *call,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_resource_entry {
    const char *name;
    uint64_t revision; /* Head of main; 0 before the first. */
    uint64_t timestamp_us;
    uint64_t id;
};

struct sirix_resource_list {
    const struct sirix_resource_entry *items;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_list_resources(struct sirix_client *client, const char *database,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_resource_list **out_list,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* out_result may be NULL. */
enum sirix_status sirix_client_create_resource(struct sirix_client *client, const char *database,
                                               const char *resource,
                                               const struct sirix_write_options *write,
                                               const struct sirix_call_options *call,
                                               struct sirix_write_result *out_result,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_client_drop_resource(struct sirix_client *client, const char *database,
                                             const char *resource,
                                             const struct sirix_write_options *write,
                                             const struct sirix_call_options *call,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_snapshot_info {
    const char *name;
    uint64_t revision;
    uint64_t timestamp_us;  /* Of that revision. */
    uint64_t created_at_us; /* When the label was set. */
};

struct sirix_branch_info {
    const char *name;
    uint64_t revision; /* Its head; 0 where it has none. */
    uint64_t timestamp_us;
    uint64_t base_revision; /* That it began at; 0 for main. */
    uint64_t created_at_us;
    uint64_t expires_at_us; /* 0: never. */
};

/* A path that has occurred in a resource; how often, and in which revisions, is not known. */
struct sirix_path_summary {
    struct sirix_bytes path; /* Such as "/users/[]/name"; "*": names without a path of their own. */
    uint32_t types;          /* Bit (1 << enum sirix_node_type) for each seen there. */
    bool any_member;         /* The last step is such a "*", not a member of that name. */
};

struct sirix_resource_request {
    const char *database;
    const char *resource;
    struct sirix_view view; /* Governs revision, node_count and text_bytes. */
    bool with_path_summary;
    struct sirix_bytes paths_cursor; /* next_paths_cursor of an answer: continues its paths. */
};

struct sirix_resource_info {
    const char *database;
    const char *resource;
    uint64_t revision_count;
    uint64_t newest_revision;
    uint64_t oldest_revision;
    uint64_t created_at_us;
    uint64_t last_modified_at_us;
    uint64_t revision;
    uint64_t node_count;
    uint64_t text_bytes;
    uint64_t stored_bytes; /* On disk, of the database that it is in. */
    const char *storage_type;
    uint64_t branch_count;
    uint64_t snapshot_count;
    const struct sirix_branch_info *branches; /* The first 1,000. */
    size_t listed_branch_count;
    const struct sirix_snapshot_info *snapshots; /* The first 1,000. */
    size_t listed_snapshot_count;
    const struct sirix_path_summary *paths; /* Of all revisions, in the order of the tree. */
    size_t path_count;
    struct sirix_bytes next_paths_cursor; /* Empty after the last. */
    bool paths_truncated;                 /* Paths are missing: there are too many to keep. */
};

enum sirix_status sirix_client_get_resource(struct sirix_client *client,
                                            const struct sirix_resource_request *request,
                                            const struct sirix_call_options *call,
                                            struct sirix_resource_info **out_info,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
