/*
 * Lists that come in pages: asked for one after the other, shown item by item.
 */
#ifndef SIRIX_CLI_PAGES_H
#define SIRIX_CLI_PAGES_H

#include "cli/command.h"

/* One page, as its call answered it. */
struct sirixctl_page {
    const void *answer; /* Given back with sirix_client_free(). */
    const void *items;
    size_t count;
    struct sirix_bytes next_cursor;
};

/* A kind of list. context is the command's own: what it asks for. */
struct sirixctl_list_kind {
    enum sirix_status (*fetch)(struct sirixctl *ctl, void *context, const struct sirix_page *page,
                               struct sirixctl_page *out_page, struct sirix_error *err);
    void (*show_json)(struct sirixctl_json *json, const void *items, size_t index);
    void (*show_words)(struct sirixctl_out *out, const void *items, size_t index);
};

enum { SIRIXCTL_PAGE_MAX = 1000 };
#define SIRIXCTL_ALL_ITEMS UINT64_MAX

/*
 * Shows the first count items: with --json into json, else in words. SIRIX_INTERNAL: a page leads to
 * itself, so the list would never end.
 */
enum sirix_status sirixctl_show_list(struct sirixctl *ctl, const struct sirixctl_list_kind *kind,
                                     void *context, uint64_t count, struct sirixctl_json *json,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
