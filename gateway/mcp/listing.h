/*
 * Lists that the server gives in pages, as answers with caps: items that the caller may not see are
 * left out, and a cursor says how many of which page were given.
 */
#ifndef SIRIX_MCP_LISTING_H
#define SIRIX_MCP_LISTING_H

#include "mcp/tools.h"

struct sirix_listing {
    const char *name; /* Of the member that gets the items. */
    bool is_map;      /* An object of names instead of an array. */
    /* One page; the list goes back through sirix_backend_release(). */
    enum sirix_status (*fetch)(struct sirix_mcp_call *call, const struct sirix_page *page,
                               const void **out_list, size_t *out_count,
                               struct sirix_bytes *out_next, struct sirix_error *err);
    /* An item as a value that is not placed; NULL: not for the caller. Name: of a map. */
    struct sirix_json_node *(*item)(struct sirix_mcp_call *call, const void *list, size_t index,
                                    const char **out_name);
};

enum sirix_status sirix_listing_run(struct sirix_mcp_call *call,
                                    const struct sirix_listing *listing,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
