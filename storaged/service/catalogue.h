/* Databases and resources. */
#ifndef SIRIX_SERVICE_CATALOGUE_H
#define SIRIX_SERVICE_CATALOGUE_H

#include "service/labels.h"
#include "service/paths.h"

/* Names stand first in every item of a list. */
struct sirix_database_item {
    char name[129];
    uint64_t stored_bytes;
    uint64_t resource_count; /* Known while it is open. */
    bool open;
    const char *read_only_reason; /* A sentence in the arena, while it is open; NULL: none. */
};

struct sirix_resource_item {
    char name[129];
    uint64_t revision;
    int64_t time_us;
    uint32_t id;
};

enum sirix_status sirix_service_list_databases(const struct sirix_request *request,
                                               const struct sirix_list_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_database_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_service_create_database(const struct sirix_request *request,
                                                struct sirix_bytes database,
                                                const struct sirix_write_options *options,
                                                struct sirix_database_item *out_item,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_service_drop_database(const struct sirix_request *request,
                                              struct sirix_bytes database,
                                              const struct sirix_write_options *options,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_service_list_resources(const struct sirix_request *request,
                                               const struct sirix_list_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_resource_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_service_create_resource(const struct sirix_request *request,
                                                struct sirix_bytes database,
                                                struct sirix_bytes resource,
                                                const struct sirix_write_options *options,
                                                struct sirix_write_result *out_result,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Opens the resource to take the turn of main; or, *out_known true, it was dropped with this key
 * before: then nothing is open.
 */
enum sirix_status sirix_drop_resource_open(const struct sirix_request *request,
                                           const struct sirix_write_place *place,
                                           struct sirix_write *write, bool *out_known,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* With the turn of main. */
enum sirix_status sirix_drop_resource_run(struct sirix_write *write, struct sirix_bytes database,
                                          struct sirix_bytes resource,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- About one resource ------------------------------------------------------------------------- */

struct sirix_resource_details {
    struct sirix_resource_info info;
    uint64_t revision;
    uint64_t node_count;
    uint64_t text_bytes;
    uint64_t stored_bytes; /* Of the database's files. */
    struct sirix_branch_item *branches;
    size_t branch_count; /* Listed. */
    struct sirix_snapshot_item *snapshots;
    size_t snapshot_count;
    struct sirix_path_page paths;
    bool paths_missing; /* The summary is not whole. */
};

struct sirix_details_request {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_view_request view;
    bool with_paths;
    struct sirix_bytes paths_cursor;
};

enum sirix_status sirix_service_get_resource(const struct sirix_request *request,
                                             const struct sirix_details_request *wanted,
                                             struct sirix_arena *arena,
                                             struct sirix_resource_details *out_details,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
