/* Rows of a group are an append-only log with a hash index: undoing is popping. */
#include "store/revision/group.h"

#include <assert.h>
#include <stdlib.h>

enum { ROWS_MIN = 64, ARENA_BYTES_MAX = 64 * 1024 * 1024 };

struct sirix_group_row {
    struct sirix_bytes key;
    struct sirix_bytes value; /* data NULL: deleted. */
    uint64_t hash;
    size_t same_hash; /* Place of the row before with this hash, from 1; 0: none. */
    size_t same_key;  /* Place of the row that this one supersedes. */
    bool superseded;
};

enum sirix_status sirix_group_init(struct sirix_group *group, struct sirix_backend *backend,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *group = (struct sirix_group){.backend = backend};
    sirix_arena_init(&group->arena, ARENA_BYTES_MAX);
    sirix_map_init(&group->newest);
    status = sirix_random_bytes(&group->hash_key, sizeof(group->hash_key), err);
    if (status == SIRIX_OK) {
        status = sirix_reader_open(backend, &group->reader, err);
    }
    return status;
}

void sirix_group_deinit(struct sirix_group *group)
{
    sirix_reader_close(group->reader);
    sirix_arena_deinit(&group->arena);
    sirix_map_deinit(&group->newest);
    free(group->rows);
    free(group->refs);
    free(group->puts);
    free(group->deletes);
    *group = (struct sirix_group){0};
}

void sirix_group_begin(struct sirix_group *group, size_t budget_bytes)
{
    sirix_arena_reset(&group->arena);
    sirix_map_clear(&group->newest);
    group->budget_bytes = budget_bytes;
    group->row_count = 0;
    group->put_count = 0;
    group->delete_count = 0;
    group->put_bytes = 0;
    sirix_reader_yield(group->reader);
}

struct sirix_group_mark sirix_group_mark(const struct sirix_group *group)
{
    return (struct sirix_group_mark){
        .arena = sirix_arena_mark(&group->arena),
        .row_count = group->row_count,
        .put_count = group->put_count,
        .delete_count = group->delete_count,
        .put_bytes = group->put_bytes,
    };
}

static void pop_row(struct sirix_group *group)
{
    const struct sirix_group_row *row = &group->rows[--group->row_count];

    if (row->same_key != 0) {
        group->rows[row->same_key - 1].superseded = false;
    }
    if (row->same_hash == 0) {
        (void)sirix_map_remove(&group->newest, row->hash, NULL);
    } else {
        /* The hash is in the map, so nothing is allocated. */
        enum sirix_status status = sirix_map_put(&group->newest, row->hash, row->same_hash, NULL);
        assert(status == SIRIX_OK);
    }
}

void sirix_group_undo(struct sirix_group *group, struct sirix_group_mark mark)
{
    while (group->row_count > mark.row_count) {
        pop_row(group);
    }
    group->put_count = mark.put_count;
    group->delete_count = mark.delete_count;
    group->put_bytes = mark.put_bytes;
    sirix_arena_rewind(&group->arena, mark.arena);
}

static int compare_puts(const void *a, const void *b)
{
    uint64_t left = ((const struct sirix_segment_put *)a)->number;
    uint64_t right = ((const struct sirix_segment_put *)b)->number;

    return (left > right) - (left < right);
}

bool sirix_group_batch(struct sirix_group *group, bool frees_space, struct sirix_batch *out_batch)
{
    size_t ref_count = 0;

    for (size_t i = 0; i < group->row_count; i++) {
        const struct sirix_group_row *row = &group->rows[i];

        if (!row->superseded) {
            group->refs[ref_count++] = (struct sirix_ref_put){.key = row->key, .value = row->value};
        }
    }
    if (group->put_count > 1) {
        qsort(group->puts, group->put_count, sizeof(*group->puts), compare_puts);
    }
    sirix_reader_yield(group->reader);
    *out_batch = (struct sirix_batch){
        .puts = group->puts,
        .put_count = group->put_count,
        .deletes = group->deletes,
        .delete_count = group->delete_count,
        .refs = group->refs,
        .ref_count = ref_count,
        .frees_space = frees_space,
        .is_checked = true,
    };
    return ref_count + group->put_count + group->delete_count != 0;
}

/* --- For prepare ------------------------------------------------------------------------------- */

struct sirix_reader *sirix_group_reader(struct sirix_group *group)
{
    return group->reader;
}

size_t sirix_group_budget(const struct sirix_group *group)
{
    return group->budget_bytes;
}

/* Place of the newest row of key, from 1; 0: the group has none. */
static size_t find_row(const struct sirix_group *group, struct sirix_bytes key, uint64_t hash)
{
    uint64_t place = 0;

    if (!sirix_map_get(&group->newest, hash, &place)) {
        return 0;
    }
    while (place != 0 && !sirix_bytes_equal(group->rows[place - 1].key, key)) {
        place = group->rows[place - 1].same_hash;
    }
    return (size_t)place;
}

enum sirix_status sirix_group_ref_get(struct sirix_group *group, struct sirix_bytes key,
                                      struct sirix_bytes *out_value, struct sirix_error *err)
{
    size_t place = find_row(group, key, sirix_hash(&group->hash_key, key.data, key.len));

    if (place == 0) {
        return sirix_ref_get(group->reader, key, out_value, err);
    }
    if (group->rows[place - 1].value.data == NULL) {
        return sirix_fail(err, SIRIX_NOT_FOUND, "no such row");
    }
    *out_value = group->rows[place - 1].value;
    return SIRIX_OK;
}

bool sirix_group_changes(const struct sirix_group *group, struct sirix_bytes prefix)
{
    for (size_t i = 0; i < group->row_count; i++) {
        const struct sirix_bytes key = group->rows[i].key;

        if (key.len >= prefix.len && memcmp(key.data, prefix.data, prefix.len) == 0) {
            return true;
        }
    }
    return false;
}

/* Makes room for one more row, and for it in the batch. */
static enum sirix_status make_row(struct sirix_group *group, struct sirix_error *err)
{
    size_t cap = group->row_cap == 0 ? ROWS_MIN : 2 * group->row_cap;

    if (group->row_count < group->row_cap) {
        return SIRIX_OK;
    }
    struct sirix_group_row *rows = realloc(group->rows, cap * sizeof(*rows));
    if (rows != NULL) {
        group->rows = rows;
        struct sirix_ref_put *refs = realloc(group->refs, cap * sizeof(*refs));
        if (refs != NULL) {
            group->refs = refs;
            group->row_cap = cap;
            return SIRIX_OK;
        }
    }
    return sirix_fail(err, SIRIX_NO_MEMORY, "grow a group to %zu rows", cap);
}

static enum sirix_status check_row(struct sirix_bytes key, struct sirix_bytes value,
                                   struct sirix_error *err)
{
    if (key.len == 0 || key.len > SIRIX_REF_KEY_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                 "a row's key has %zu bytes, not 1 to %d", key.len,
                                 SIRIX_REF_KEY_BYTES_MAX);
    }
    if (value.len > SIRIX_REF_VALUE_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                 "a row's value has %zu bytes, the limit is %d", value.len,
                                 SIRIX_REF_VALUE_BYTES_MAX);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_group_ref_put(struct sirix_group *group, struct sirix_bytes key,
                                      struct sirix_bytes value, struct sirix_error *err)
{
    uint64_t before = 0;
    struct sirix_group_row row = {.hash = sirix_hash(&group->hash_key, key.data, key.len)};
    enum sirix_status status = check_row(key, value, err);

    if (status == SIRIX_OK) {
        status = make_row(group, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&group->arena, key, &row.key, err);
    }
    if (status == SIRIX_OK && value.data != NULL) {
        status = sirix_arena_copy(&group->arena, value, &row.value, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    row.same_key = find_row(group, key, row.hash);
    if (sirix_map_get(&group->newest, row.hash, &before)) {
        row.same_hash = (size_t)before;
    }
    status = sirix_map_put(&group->newest, row.hash, group->row_count + 1, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (row.same_key != 0) {
        group->rows[row.same_key - 1].superseded = true;
    }
    group->rows[group->row_count++] = row;
    return SIRIX_OK;
}

enum sirix_status sirix_group_segment_put(struct sirix_group *group, uint64_t number,
                                          struct sirix_bytes bytes, struct sirix_error *err)
{
    /* Checked here: a bad segment fails the work that brings it and not the whole group. */
    enum sirix_status status = sirix_segment_check(bytes, number, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (group->put_count == group->put_cap) {
        size_t cap = group->put_cap == 0 ? ROWS_MIN : 2 * group->put_cap;
        struct sirix_segment_put *puts = realloc(group->puts, cap * sizeof(*puts));

        if (puts == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "grow a group to %zu segments", cap);
        }
        group->puts = puts;
        group->put_cap = cap;
    }
    group->puts[group->put_count++] = (struct sirix_segment_put){.number = number, .bytes = bytes};
    group->put_bytes += bytes.len;
    return SIRIX_OK;
}

enum sirix_status sirix_group_segment_delete(struct sirix_group *group,
                                             struct sirix_segment_range range,
                                             struct sirix_error *err)
{
    if (range.first == 0 || range.first > range.last || range.last > SIRIX_SEGMENT_NUMBER_MAX) {
        return sirix_fail(err, SIRIX_INVALID, "not a range of segment numbers");
    }
    if (group->delete_count == group->delete_cap) {
        size_t cap = group->delete_cap == 0 ? ROWS_MIN : 2 * group->delete_cap;
        struct sirix_segment_range *deletes = realloc(group->deletes, cap * sizeof(*deletes));

        if (deletes == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "grow a group to %zu deletes", cap);
        }
        group->deletes = deletes;
        group->delete_cap = cap;
    }
    group->deletes[group->delete_count++] = range;
    return SIRIX_OK;
}
