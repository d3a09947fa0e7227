/* What changed between two revisions, as a stream: typed changes, or an RFC 6902 patch. */
#ifndef SIRIX_SERVICE_DIFF_H
#define SIRIX_SERVICE_DIFF_H

#include "service/read.h"
#include "store/document/diff.h"

enum {
    SIRIX_DIFF_VALUE_DEFAULT = 64 * 1024,
    SIRIX_DIFF_VALUE_MAX = 1024 * 1024,
    SIRIX_DIFF_BATCH_BYTES = 128 * 1024,
    SIRIX_DIFF_BATCH_CHANGES = 1000,
};

/* The two ends of a diff, and how the request calls them. */
struct sirix_diff_views {
    bool has_from; /* False: the parent of `to`, or `to` itself where that is the first revision. */
    struct sirix_view_request from;
    struct sirix_view_request to;
    bool since_parted; /* Instead of `from`: the newest revision that both ends come from. */
    const char *from_field;
    const char *to_field;
};

/* Opens both; they are the caller's to close. */
enum sirix_status sirix_diff_views_open(struct sirix_target *target,
                                        const struct sirix_diff_views *wanted,
                                        struct sirix_view *out_from, struct sirix_view *out_to,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_diff_request {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    bool has_from; /* False: the parent of `to`. */
    struct sirix_view_request from;
    struct sirix_view_request to;
    bool since_parted; /* From where the two parted. */
    bool json_patch;
    uint64_t max_changes; /* 0: all. */
    uint32_t max_value_bytes;
    uint32_t max_patch_operations;
};

struct sirix_diff_item {
    struct sirix_change change;
    struct sirix_bytes path;
    struct sirix_bytes old_value;
    struct sirix_bytes new_value;
    bool old_cut;
    bool new_cut;
    struct sirix_bytes old_name;
    struct sirix_bytes new_name;
};

struct sirix_diff_ends {
    uint64_t from_revision;
    uint64_t to_revision;
    int64_t from_time_us;
    int64_t to_time_us;
};

struct sirix_diff_stream;

enum sirix_status sirix_diff_stream_open(const struct sirix_request *request,
                                         const struct sirix_diff_request *wanted,
                                         struct sirix_diff_stream **out_stream,
                                         struct sirix_diff_ends *out_ends,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_diff_stream_close(struct sirix_diff_stream *stream);

/* The next changes, valid until the next call. None: the diff is over. Not of a patch. */
enum sirix_status sirix_diff_stream_changes(struct sirix_diff_stream *stream,
                                            const struct sirix_diff_item **out_items,
                                            size_t *out_count,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next piece of the patch's text, valid until the next call. Empty: it is over. */
enum sirix_status sirix_diff_stream_patch(struct sirix_diff_stream *stream,
                                          struct sirix_bytes *out_piece,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* After the last changes or piece: of the whole diff, in either form. */
struct sirix_diff_counts sirix_diff_stream_counts(const struct sirix_diff_stream *stream,
                                                  bool *out_truncated);

#endif
