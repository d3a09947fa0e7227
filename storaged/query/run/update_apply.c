/* Applying collected updates to values in memory: one object or array after the other. */
#include <stdlib.h>

#include "query/run/update.h"

/* What an update is done to, as a number that tells different ones apart most of the time. */
static const void *container_of(const struct sirix_update *update)
{
    return update->target.value.container;
}

static bool same_place(const struct sirix_update *a, const struct sirix_update *b)
{
    if (a->stored != b->stored) {
        return false;
    }
    if (a->kind == SIRIX_UPDATE_INSERT_FIELD) {
        return sirix_container_same(a->target, b->target) && sirix_bytes_equal(a->name, b->name);
    }
    if (a->stored) {
        return a->target.origin == b->target.origin;
    }
    return container_of(a) == container_of(b) && a->position == b->position &&
           sirix_bytes_equal(a->field, b->field);
}

static uint64_t place_hash(struct sirix_run *run, const struct sirix_update *update)
{
    const struct sirix_bytes name =
        update->kind == SIRIX_UPDATE_INSERT_FIELD ? update->name : update->field;
    uint64_t hash = sirix_item_hash(&run->work, sirix_item_string(name));

    hash = hash * 31 + (uint64_t)update->kind;
    if (update->stored) {
        return hash * 31 + update->target.origin;
    }
    return (hash * 31 + update->position) * 31 + (uint64_t)(uintptr_t)container_of(update);
}

static const char *conflict_code(enum sirix_update_kind kind)
{
    switch (kind) {
    case SIRIX_UPDATE_INSERT_FIELD:
        return "JNUP0005";
    case SIRIX_UPDATE_REPLACE:
        return "JNUP0009";
    case SIRIX_UPDATE_RENAME:
        return "JNUP0010";
    default:
        return NULL; /* Any number of deletes and inserts into an array. */
    }
}

enum sirix_status sirix_updates_check(struct sirix_run *run, const struct sirix_updates *updates,
                                      struct sirix_query_error *err)
{
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    size_t size = 16;
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    while (size < updates->count * 2) {
        size *= 2;
    }
    status = sirix_arena_calloc(run->work.arena, size, sizeof(uint32_t), &memory, &err->base);
    uint32_t *table = memory;
    for (size_t i = 0; i < updates->count && status == SIRIX_OK; i++) {
        const struct sirix_update *update = &updates->list[i];
        const char *code = conflict_code(update->kind);
        size_t at = (size_t)place_hash(run, update) & (size - 1);

        for (; code != NULL && table[at] != 0; at = (at + 1) & (size - 1)) {
            const struct sirix_update *other = &updates->list[table[at] - 1];

            if (other->kind == update->kind && same_place(other, update)) {
                status = sirix_query_fail_at(err, update->line, update->column, code,
                                             "another update of the query does the same to the "
                                             "same place");
                break;
            }
        }
        if (code != NULL && status == SIRIX_OK) {
            table[at] = (uint32_t)i + 1;
        }
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

/* --- Roots ------------------------------------------------------------------------------------------ */

/* The containers of the values that a copy has made: the only ones that it may change. */
struct containers {
    const void **table;
    size_t size; /* A power of two. */
    size_t count;
};

static size_t slot_of(const struct containers *set, const void *container)
{
    size_t at =
        (size_t)((uintptr_t)container * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (set->size - 1);

    while (set->table[at] != NULL && set->table[at] != container) {
        at = (at + 1) & (set->size - 1);
    }
    return at;
}

static enum sirix_status add_container(struct sirix_run *run, struct containers *set,
                                       const void *container, struct sirix_query_error *err)
{
    void *memory = NULL;

    if (set->count * 2 >= set->size) {
        struct containers bigger = {.size = set->size == 0 ? 64 : set->size * 2,
                                    .count = set->count};
        enum sirix_status status = sirix_arena_calloc(run->work.arena, bigger.size,
                                                      sizeof(*bigger.table), &memory, &err->base);
        if (status != SIRIX_OK) {
            return status;
        }
        bigger.table = memory;
        for (size_t i = 0; i < set->size; i++) {
            if (set->table[i] != NULL) {
                bigger.table[slot_of(&bigger, set->table[i])] = set->table[i];
            }
        }
        *set = bigger;
    }
    const size_t at = slot_of(set, container);
    set->count += set->table[at] == NULL ? 1 : 0;
    set->table[at] = container;
    return SIRIX_OK;
}

struct walk {
    struct sirix_cursor cursor;
    struct walk *up;
};

static enum sirix_status enter(struct sirix_run *run, struct containers *set,
                               struct sirix_item item, struct walk **walks,
                               struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_item_is_structured(item) || sirix_container_is_stored(item)) {
        return SIRIX_OK;
    }
    status = add_container(run, set, item.value.container, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_alloc(run->work.arena, sizeof(struct walk), &memory, &err->base);
    }
    if (status == SIRIX_OK) {
        struct walk *walk = memory;

        walk->up = *walks;
        status = sirix_cursor_start(&run->work, item, &walk->cursor, err);
        *walks = walk;
    }
    return status;
}

static enum sirix_status collect_containers(struct sirix_run *run, struct sirix_item root,
                                            struct containers *set, struct sirix_query_error *err)
{
    struct walk *walks = NULL;
    enum sirix_status status = enter(run, set, root, &walks, err);

    while (status == SIRIX_OK && walks != NULL) {
        struct sirix_item child = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(&run->work, &walks->cursor, NULL, &child, err);
        }
        if (status == SIRIX_OK && child.kind == SIRIX_ITEM_NONE) {
            walks = walks->up;
        } else if (status == SIRIX_OK) {
            status = enter(run, set, child, &walks, err);
        }
    }
    return status;
}

static enum sirix_status check_roots(struct sirix_run *run, const struct sirix_updates *updates,
                                     const struct sirix_sequence *roots,
                                     struct sirix_query_error *err)
{
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    struct containers set = {0};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < roots->count && status == SIRIX_OK; i++) {
        status = collect_containers(run, sirix_sequence_at(roots, i), &set, err);
    }
    for (size_t i = 0; i < updates->count && status == SIRIX_OK; i++) {
        const struct sirix_update *update = &updates->list[i];

        if (update->stored || set.size == 0 ||
            set.table[slot_of(&set, container_of(update))] == NULL) {
            status = sirix_query_fail_at(err, update->line, update->column, "XUDY0014",
                                         "modify may change only what its copy has made");
        }
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

/* --- Applying --------------------------------------------------------------------------------------- */

static enum sirix_status exists(struct sirix_run *run, const struct sirix_update *update,
                                struct sirix_bytes name, struct sirix_query_error *err)
{
    struct sirix_item found = {0};
    enum sirix_status status = sirix_object_field(&run->work, update->target, name, &found, err);

    if (status == SIRIX_OK && found.kind != SIRIX_ITEM_NONE) {
        return sirix_query_fail_at(err, update->line, update->column, "JNUP0006",
                                   "the object has a field \"%.*s\" already",
                                   (int)(name.len < 100 ? name.len : 100), (const char *)name.data);
    }
    return status;
}

/* All updates of one object: what goes makes room for names that come. */
static enum sirix_status apply_object(struct sirix_run *run, struct sirix_update *const *list,
                                      size_t count, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        if (list[i]->kind == SIRIX_UPDATE_REPLACE) {
            status =
                sirix_object_set(&run->work, list[i]->target, list[i]->field, list[i]->value, err);
        }
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        if (list[i]->kind == SIRIX_UPDATE_DELETE) {
            (void)sirix_object_remove(list[i]->target, list[i]->field); /* Twice is once. */
        }
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        struct sirix_item old = {0};

        if (list[i]->kind != SIRIX_UPDATE_RENAME) {
            continue;
        }
        status = sirix_object_field(&run->work, list[i]->target, list[i]->field, &old, err);
        if (status == SIRIX_OK && old.kind != SIRIX_ITEM_NONE &&
            !sirix_bytes_equal(list[i]->field, list[i]->name)) {
            status = exists(run, list[i], list[i]->name, err);
            if (status == SIRIX_OK) {
                status = sirix_object_rename(&run->work, list[i]->target, list[i]->field,
                                             list[i]->name, err);
            }
        }
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        if (list[i]->kind == SIRIX_UPDATE_INSERT_FIELD) {
            status = exists(run, list[i], list[i]->name, err);
            if (status == SIRIX_OK) {
                status = sirix_object_add(&run->work, list[i]->target, list[i]->name,
                                          list[i]->value, err);
            }
        }
    }
    return status;
}

/* All updates of one array in the order of their positions, from the last one to the first. */
static enum sirix_status apply_array(struct sirix_run *run, struct sirix_update *const *list,
                                     size_t count, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;
    size_t end = count;

    while (end != 0 && status == SIRIX_OK) {
        const uint64_t position = list[end - 1]->position;
        const struct sirix_item array = list[end - 1]->target;
        size_t begin = end - 1;
        bool removed = false;
        size_t at = (size_t)position;

        while (begin != 0 && list[begin - 1]->position == position) {
            begin--;
        }
        for (size_t i = begin; i < end; i++) {
            if (list[i]->kind == SIRIX_UPDATE_REPLACE && !removed) {
                sirix_array_replace(array, (size_t)position, list[i]->value);
            } else if (list[i]->kind == SIRIX_UPDATE_DELETE && !removed) {
                sirix_array_remove(array, (size_t)position);
                removed = true;
            }
        }
        for (size_t i = begin; i < end && status == SIRIX_OK; i++) {
            if (list[i]->kind == SIRIX_UPDATE_INSERT_ELEMENT) {
                status = sirix_array_insert(&run->work, array, at++, list[i]->value, err);
            }
        }
        end = begin;
    }
    return status;
}

/* By container, then position, then as they were collected. */
static int compare(const void *left, const void *right)
{
    const struct sirix_update *a = *(struct sirix_update *const *)left;
    const struct sirix_update *b = *(struct sirix_update *const *)right;
    const uintptr_t container_a = (uintptr_t)container_of(a);
    const uintptr_t container_b = (uintptr_t)container_of(b);

    if (container_a != container_b) {
        return container_a < container_b ? -1 : 1;
    }
    if (a->position != b->position) {
        return a->position < b->position ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static enum sirix_status apply_memory(struct sirix_run *run, struct sirix_updates *updates,
                                      struct sirix_query_error *err)
{
    struct sirix_update **list = NULL;
    void *memory = NULL;
    size_t count = 0;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, updates->count + 1, sizeof(*list), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    list = memory;
    for (size_t i = 0; i < updates->count; i++) {
        if (!updates->list[i].stored) {
            list[count++] = &updates->list[i];
        }
    }
    qsort(list, count, sizeof(*list), compare);
    for (size_t begin = 0; begin < count && status == SIRIX_OK;) {
        size_t end = begin + 1;

        while (end < count && container_of(list[end]) == container_of(list[begin])) {
            end++;
        }
        status = list[begin]->target.kind == SIRIX_ITEM_OBJECT
                     ? apply_object(run, list + begin, end - begin, err)
                     : apply_array(run, list + begin, end - begin, err);
        begin = end;
    }
    return status;
}

enum sirix_status sirix_updates_apply(struct sirix_run *run, struct sirix_updates *updates,
                                      const struct sirix_sequence *roots,
                                      struct sirix_query_error *err)
{
    struct sirix_arena *const arena = run->work.arena;
    size_t left = 0;
    enum sirix_status status = sirix_updates_check(run, updates, err);

    if (status == SIRIX_OK && roots != NULL) {
        status = check_roots(run, updates, roots, err);
    }
    if (status == SIRIX_OK) {
        run->work.arena = updates->arena; /* What grows, grows where the values live. */
        status = apply_memory(run, updates, err);
        run->work.arena = arena;
        run->kept++;
    }
    for (size_t i = 0; i < updates->count; i++) {
        if (updates->list[i].stored) {
            updates->list[left++] = updates->list[i];
        }
    }
    updates->count = left;
    return status;
}

/* --- copy ... modify ... return --------------------------------------------------------------------- */

static enum sirix_status copy_values(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_sequence *roots, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i + 2 < plan->child_count && status == SIRIX_OK; i++) {
        const struct sirix_plan *let = plan->children[i];
        struct sirix_sequence value = {0};
        struct sirix_sequence copies = {0};

        status = sirix_run_all(run, let->children[0], &value, err);
        for (size_t j = 0; j < value.count && status == SIRIX_OK; j++) {
            struct sirix_item copied = {0};

            status = sirix_item_copy(&run->work, sirix_sequence_at(&value, j), &copied, err);
            if (status == SIRIX_OK) {
                status = sirix_sequence_append(&run->work, &copies, copied, err);
            }
            if (status == SIRIX_OK) {
                status = sirix_sequence_append(&run->work, roots, copied, err);
            }
        }
        if (status == SIRIX_OK) {
            status = sirix_run_bind(run, let, &run->frame[let->slot], &copies, err);
        }
    }
    return status;
}

/* An updating expression gives no items; one that is not is evaluated for what it gives. */
static enum sirix_status ignore(struct sirix_sink *sink, struct sirix_run *run,
                                const struct sirix_item *item, struct sirix_query_error *err)
{
    (void)sink;
    (void)run;
    (void)item;
    (void)err;
    return SIRIX_OK;
}

enum sirix_status sirix_run_copy(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_updates *const outer = run->updates;
    struct sirix_updates own = {.arena = run->work.arena};
    struct sirix_sink nowhere = {.take = ignore, .want = UINT64_MAX};
    struct sirix_sequence roots = {0};
    const uint64_t kept = run->kept;
    enum sirix_status status = copy_values(run, plan, &roots, err);

    if (status == SIRIX_OK) {
        run->updates = &own;
        status = sirix_run_push(run, plan->children[plan->child_count - 2], &nowhere, err);
        run->updates = outer;
    }
    if (status == SIRIX_OK) {
        status = sirix_updates_apply(run, &own, &roots, err);
    }
    run->kept = kept;
    return status == SIRIX_OK
               ? sirix_run_push(run, plan->children[plan->child_count - 1], sink, err)
               : status;
}
