/* Bulk building of child trees and name indexes. */
#include "store/child/child_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sirix_child_build_init(struct sirix_child_build *build, struct sirix_page_writer *writer,
                            enum sirix_child_kind kind)
{
    build->writer = writer;
    build->kind = kind;
    build->height = 0;
    build->pages[0].level = 0;
    build->pages[0].count = 0;
}

/* Writes the page of a level, empties it, and gives the entry for the page above. */
static enum sirix_status write_page(struct sirix_child_build *build, uint32_t level,
                                    struct sirix_child_entry *out_entry, struct sirix_error *err)
{
    struct sirix_child_page *page = &build->pages[level];
    struct sirix_child_entry entry = {
        .count = sirix_child_page_total(page),
        .first = sirix_child_page_first(page),
    };
    uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];
    uint8_t *place = NULL;
    size_t len = sirix_child_page_encode(page, build->kind, bytes);
    enum sirix_status status =
        sirix_page_writer_alloc(build->writer, len, &entry.address, &place, err);

    if (status == SIRIX_OK) {
        memcpy(place, bytes, len);
        page->count = 0;
        *out_entry = entry;
    }
    return status;
}

/* Writes the page of a level and puts its entry above, making room there first. */
static enum sirix_status push_up(struct sirix_child_build *build, uint32_t level,
                                 struct sirix_error *err)
{
    struct sirix_child_entry carried;
    enum sirix_status status = write_page(build, level, &carried, err);

    while (status == SIRIX_OK) {
        struct sirix_child_page *page = NULL;
        struct sirix_child_entry above;

        level += 1;
        if (level == SIRIX_CHILD_HEIGHT_MAX) {
            return sirix_fail(err, SIRIX_EXHAUSTED,
                              "the child tree has its full height of %d levels",
                              SIRIX_CHILD_HEIGHT_MAX);
        }
        page = &build->pages[level];
        if (level > build->height) {
            build->height = level;
            page->level = level;
            page->count = 0;
        }
        if (page->count < SIRIX_CHILD_INNER_MAX) {
            page->entries[page->count] = carried;
            page->count += 1;
            break;
        }
        status = write_page(build, level, &above, err);
        if (status == SIRIX_OK) {
            page->entries[0] = carried;
            page->count = 1;
            carried = above;
        }
    }
    return status;
}

enum sirix_status sirix_child_build_append(struct sirix_child_build *build,
                                           const struct sirix_child_item *item,
                                           struct sirix_error *err)
{
    struct sirix_child_page *leaf = &build->pages[0];
    enum sirix_status status = SIRIX_OK;

    assert(leaf->count == 0 ||
           sirix_label_compare(leaf->items[leaf->count - 1].label, item->label) < 0);
    if (leaf->count == SIRIX_CHILD_LEAF_MAX) {
        status = push_up(build, 0, err);
    }
    if (status == SIRIX_OK) {
        leaf->items[leaf->count] = *item;
        leaf->count += 1;
    }
    return status;
}

enum sirix_status sirix_child_build_finish(struct sirix_child_build *build, uint64_t *out_root,
                                           struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    struct sirix_child_entry root = {0};

    /* Every page below the highest level has one more entry to give; the highest has all the rest. */
    for (uint32_t level = 0; level < build->height && status == SIRIX_OK; level++) {
        status = push_up(build, level, err);
    }
    if (status == SIRIX_OK && build->pages[build->height].count != 0) {
        status = write_page(build, build->height, &root, err);
    }
    if (status == SIRIX_OK) {
        *out_root = root.address;
    }
    return status;
}

/* --- Child trees -------------------------------------------------------------------------------- */

struct sirix_child_bulk {
    struct sirix_child_build build;
};

enum sirix_status sirix_child_bulk_new(struct sirix_page_writer *writer,
                                       struct sirix_child_bulk **out_bulk, struct sirix_error *err)
{
    struct sirix_child_bulk *bulk = malloc(sizeof(*bulk));

    if (bulk == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the building of a child tree");
    }
    sirix_child_build_init(&bulk->build, writer, SIRIX_CHILD_KIND_CHILDREN);
    *out_bulk = bulk;
    return SIRIX_OK;
}

enum sirix_status sirix_child_bulk_append(struct sirix_child_bulk *bulk, uint64_t key,
                                          struct sirix_error *err)
{
    const struct sirix_child_item item = {
        .key = key,
        .label = sirix_label_default(key, SIRIX_ORDER_KEY),
        .order = SIRIX_ORDER_KEY,
    };

    assert(key != 0 && key <= INT64_MAX);
    return sirix_child_build_append(&bulk->build, &item, err);
}

enum sirix_status sirix_child_bulk_finish(struct sirix_child_bulk *bulk, uint64_t *out_root,
                                          struct sirix_error *err)
{
    return sirix_child_build_finish(&bulk->build, out_root, err);
}

void sirix_child_bulk_free(struct sirix_child_bulk *bulk)
{
    free(bulk);
}
