/* Revisions along an ancestry, and what they did to one node; newest first, a page at a time. */
#ifndef SIRIX_SERVICE_HISTORY_H
#define SIRIX_SERVICE_HISTORY_H

#include "service/read.h"
#include "service/write.h"

enum {
    SIRIX_NODE_HISTORY_VALUE_DEFAULT = 4096,
    SIRIX_NODE_HISTORY_VALUE_MAX = 64 * 1024,
    SIRIX_HISTORY_BYTES_MAX = 3 * 1024 * 1024, /* Of texts in one page, which then ends early. */
};

struct sirix_revision_info {
    uint64_t revision;
    uint64_t parent_revision;
    struct sirix_bytes branch; /* That it was committed on, also one that is gone. */
    int64_t time_us;
    struct sirix_bytes author;
    struct sirix_bytes on_behalf_of;
    bool claimed;
    struct sirix_bytes message;
    uint64_t reverted_to;
    uint8_t chain[SIRIX_HASH_BYTES];
    uint64_t node_count;
};

struct sirix_history_request {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_view_request view;
    uint32_t page_size;
    struct sirix_bytes cursor;
};

struct sirix_history {
    struct sirix_revision_info *revisions;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_service_history(const struct sirix_request *request,
                                        const struct sirix_history_request *wanted,
                                        struct sirix_arena *arena,
                                        struct sirix_history *out_history,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* One revision, by its number; texts in the arena. Errors as those of sirix_target_view(). */
enum sirix_status sirix_revision_info_read(struct sirix_target *target, uint64_t revision,
                                           struct sirix_arena *arena,
                                           struct sirix_revision_info *out_info,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_node_change {
    SIRIX_NODE_CHANGE_NONE,
    SIRIX_NODE_CHANGE_INSERT,
    SIRIX_NODE_CHANGE_DELETE,
    SIRIX_NODE_CHANGE_UPDATE,
    SIRIX_NODE_CHANGE_REPLACE,
    SIRIX_NODE_CHANGE_RENAME,
    SIRIX_NODE_CHANGE_MOVE,
};

struct sirix_node_history_request {
    struct sirix_history_request page;
    uint64_t node_key;
    uint32_t max_value_bytes;
};

struct sirix_node_history_entry {
    struct sirix_revision_info revision;
    enum sirix_node_change change;
    enum sirix_value_kind kind;
    struct sirix_bytes value;
    bool cut;
    uint64_t text_address; /* Where a long string is stored: the same for the same value; else 0. */
    bool is_member;
    struct sirix_bytes name;
};

struct sirix_node_history {
    struct sirix_node_history_entry *entries;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_service_node_history(const struct sirix_request *request,
                                             const struct sirix_node_history_request *wanted,
                                             struct sirix_arena *arena,
                                             struct sirix_node_history *out_history,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
