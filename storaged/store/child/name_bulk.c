/* Building a name index from all members of an object, and finding names that come twice. */
#include <stdlib.h>

#include "store/child/child_build.h"
#include "store/child/name_sort.h"

/* A name among those that share a stored hash, and the last key it came with. */
struct seen {
    struct sirix_name_hash hash;
    uint64_t key;
};

struct sirix_name_bulk {
    struct sirix_name_sort *sort;
    sirix_name_duplicate_fn duplicate;
    void *context;
    struct seen *seen; /* Names with the stored hash of the last pair: one, hardly ever two. */
    size_t seen_count;
    size_t seen_max;
    struct sirix_child_build build;
};

enum sirix_status sirix_name_bulk_new(const struct sirix_name_bulk_options *options,
                                      struct sirix_name_bulk **out_bulk, struct sirix_error *err)
{
    struct sirix_name_bulk *bulk = calloc(1, sizeof(*bulk));
    enum sirix_status status = SIRIX_OK;

    if (bulk == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the building of a name index");
    }
    status = sirix_name_sort_new(options->memory_bytes, options->spill_dir, &bulk->sort, err);
    if (status != SIRIX_OK) {
        free(bulk);
        return status;
    }
    bulk->duplicate = options->duplicate;
    bulk->context = options->context;
    *out_bulk = bulk;
    return SIRIX_OK;
}

void sirix_name_bulk_free(struct sirix_name_bulk *bulk)
{
    if (bulk != NULL) {
        sirix_name_sort_free(bulk->sort);
        free(bulk->seen);
        free(bulk);
    }
}

enum sirix_status sirix_name_bulk_add(struct sirix_name_bulk *bulk, struct sirix_name_hash hash,
                                      uint64_t key, struct sirix_error *err)
{
    const struct sirix_name_pair pair = {.hash = hash, .key = key};

    return sirix_name_sort_add(bulk->sort, &pair, err);
}

/* Reports the pair when its name was seen already; the pairs of a stored hash come in a row. */
static enum sirix_status look_for_duplicate(struct sirix_name_bulk *bulk,
                                            const struct sirix_name_pair *pair,
                                            struct sirix_error *err)
{
    if (bulk->seen_count != 0 &&
        sirix_name_hash_stored(bulk->seen[0].hash) != sirix_name_hash_stored(pair->hash)) {
        bulk->seen_count = 0;
    }
    for (size_t i = 0; i < bulk->seen_count; i++) {
        struct seen *seen = &bulk->seen[i];
        uint64_t earlier = seen->key;

        if (seen->hash.high == pair->hash.high && seen->hash.low == pair->hash.low) {
            seen->key = pair->key;
            return bulk->duplicate == NULL
                       ? SIRIX_OK
                       : bulk->duplicate(bulk->context, earlier, pair->key, err);
        }
    }
    if (bulk->seen_count == bulk->seen_max) {
        size_t seen_max = bulk->seen_max == 0 ? 4 : bulk->seen_max * 2;
        struct seen *seen = realloc(bulk->seen, seen_max * sizeof(*seen));

        if (seen == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate names with one hash");
        }
        bulk->seen = seen;
        bulk->seen_max = seen_max;
    }
    bulk->seen[bulk->seen_count] = (struct seen){.hash = pair->hash, .key = pair->key};
    bulk->seen_count += 1;
    return SIRIX_OK;
}

enum sirix_status sirix_name_bulk_finish(struct sirix_name_bulk *bulk,
                                         struct sirix_page_writer *writer, uint64_t *out_root,
                                         struct sirix_error *err)
{
    enum sirix_status status = sirix_name_sort_start(bulk->sort, err);
    bool more = true;

    sirix_child_build_init(&bulk->build, writer, SIRIX_CHILD_KIND_NAMES);
    while (status == SIRIX_OK && more) {
        struct sirix_name_pair pair;

        status = sirix_name_sort_next(bulk->sort, &pair, err);
        if (status == SIRIX_NOT_FOUND) {
            more = false;
            status = SIRIX_OK;
        } else if (status == SIRIX_OK) {
            status = look_for_duplicate(bulk, &pair, err);
        }
        if (status == SIRIX_OK && more) {
            const struct sirix_child_item item = {
                .key = pair.key,
                .label = {.major = (int64_t)sirix_name_hash_stored(pair.hash), .minor = pair.key},
                .order = SIRIX_ORDER_EXPLICIT,
            };
            status = sirix_child_build_append(&bulk->build, &item, err);
        }
    }
    return status == SIRIX_OK ? sirix_child_build_finish(&bulk->build, out_root, err) : status;
}
