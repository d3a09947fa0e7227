/*
 * Building a whole tree of either kind from its items in order: full pages, written as they fill.
 * Memory: one page a level.
 */
#ifndef SIRIX_STORE_CHILD_CHILD_BUILD_H
#define SIRIX_STORE_CHILD_CHILD_BUILD_H

#include "store/child/child_page.h"

struct sirix_child_build {
    struct sirix_page_writer *writer;
    enum sirix_child_kind kind;
    uint32_t height; /* Highest level that has a page. */
    struct sirix_child_page pages[SIRIX_CHILD_HEIGHT_MAX];
};

/* Caller's storage; there is nothing to deinit. */
void sirix_child_build_init(struct sirix_child_build *build, struct sirix_page_writer *writer,
                            enum sirix_child_kind kind);

/* The next item; labels rise (assert). */
enum sirix_status sirix_child_build_append(struct sirix_child_build *build,
                                           const struct sirix_child_item *item,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Writes what is pending; *out_root is 0 when there was no item. */
enum sirix_status sirix_child_build_finish(struct sirix_child_build *build, uint64_t *out_root,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
