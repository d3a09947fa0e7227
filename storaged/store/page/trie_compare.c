/*
 * Comparison walks both tries from above, level by level, and goes down only where the addresses of
 * the same place differ. A place above the root of the lower trie has no page: TALL stands for it,
 * differs from every address, and has that trie as its first child.
 *
 * Between calls are kept the next key and, of the places on the way, their children's addresses: changes
 * that lie close to each other share most of their way, and a yield in between costs no more than the
 * leaves.
 */
#include "store/page/trie.h"

#include "store/page/trie_cursor.h"

#define TALL UINT64_MAX

/* What a trie has at the top place of a comparison. */
static uint64_t top_of(const struct sirix_trie *trie, uint32_t level)
{
    return trie->root == 0 || trie->height == level ? trie->root : TALL;
}

/* The children of a place of a trie: all absent, the trie itself, or those of a page. */
static enum sirix_status children_of(struct sirix_trie_cursor *cursor, uint32_t level,
                                     uint64_t index, uint64_t address,
                                     uint64_t children[SIRIX_INNER_CHILDREN],
                                     struct sirix_error *err)
{
    const uint8_t *page = NULL;
    enum sirix_status status = SIRIX_OK;

    memset(children, 0, SIRIX_INNER_CHILDREN * sizeof(children[0]));
    if (address == 0) {
        return SIRIX_OK;
    }
    if (address == TALL) {
        children[0] = top_of(&cursor->trie, level - 1);
        return SIRIX_OK;
    }
    status = sirix_trie_cursor_page(cursor, level, index, address, &page, err);
    if (status == SIRIX_OK) {
        status = sirix_inner_children(page, address, children, err);
    }
    return status;
}

/* One place of both tries, on the way down. */
struct place {
    uint32_t level;
    uint64_t index;
    uint64_t a;
    uint64_t b;
};

/* The children of a place in both tries, read once while the comparison stays below it. */
static enum sirix_status look_at_place(struct sirix_trie_compare *compare,
                                       const struct place *place,
                                       const struct sirix_trie_compare_place **out_place,
                                       struct sirix_error *err)
{
    struct sirix_trie_compare_place *kept = &compare->places[place->level - 1];
    enum sirix_status status = SIRIX_OK;

    if (!kept->valid || kept->index != place->index || kept->a != place->a || kept->b != place->b) {
        kept->valid = false;
        kept->index = place->index;
        kept->a = place->a;
        kept->b = place->b;
        status =
            children_of(&compare->a, place->level, place->index, place->a, kept->a_children, err);
        if (status == SIRIX_OK) {
            status = children_of(&compare->b, place->level, place->index, place->b,
                                 kept->b_children, err);
        }
        kept->valid = status == SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        *out_place = kept;
    }
    return status;
}

/*
 * Goes from a place to its first child, at or behind the one that covers *from, that differs; *from
 * moves to where that child begins, or behind the place when there is none.
 */
static enum sirix_status step_down(struct sirix_trie_compare *compare, struct place *place,
                                   uint64_t *from, bool *out_found, struct sirix_error *err)
{
    const struct sirix_trie_compare_place *kept = NULL;
    const uint32_t first = sirix_trie_slot_at(*from, place->level);
    uint32_t slot = first;
    enum sirix_status status = look_at_place(compare, place, &kept, err);

    if (status != SIRIX_OK) {
        return status;
    }
    while (slot < SIRIX_INNER_CHILDREN && kept->a_children[slot] == kept->b_children[slot]) {
        slot++;
    }
    *out_found = slot < SIRIX_INNER_CHILDREN;
    if (!*out_found) {
        *from = (place->index + 1) << (SIRIX_INNER_BITS * place->level);
        return SIRIX_OK;
    }
    place->level--;
    place->index = place->index << SIRIX_INNER_BITS | slot;
    place->a = kept->a_children[slot];
    place->b = kept->b_children[slot];
    if (slot != first) {
        *from = place->index << (SIRIX_INNER_BITS * place->level);
    }
    return SIRIX_OK;
}

/* The first leaf at or behind *from that differs; both cursors then look at it. */
static enum sirix_status find_leaf(struct sirix_trie_compare *compare, uint64_t *from,
                                   struct sirix_error *err)
{
    const struct sirix_trie *a = &compare->a.trie;
    const struct sirix_trie *b = &compare->b.trie;
    const uint32_t top = a->height > b->height ? a->height : b->height;
    struct place place = {0};
    bool found = false;
    enum sirix_status status = SIRIX_OK;

    if (top > SIRIX_TRIE_HEIGHT_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "a trie of height %u: at most %d", top,
                          SIRIX_TRIE_HEIGHT_MAX);
    }
    do {
        place = (struct place){.level = top, .a = top_of(a, top), .b = top_of(b, top)};
        if (place.a == place.b || sirix_trie_index_at(*from, top) != 0) {
            return SIRIX_NOT_FOUND;
        }
        found = true;
        while (status == SIRIX_OK && found && place.level != 0) {
            status = step_down(compare, &place, from, &found, err);
        }
    } while (status == SIRIX_OK && !found);
    if (status == SIRIX_OK) {
        status = sirix_trie_cursor_descend(&compare->a, 0, place.a, *from, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_cursor_descend(&compare->b, 0, place.b, *from, err);
    }
    return status;
}

/* The slots at which the two leaves may differ: of two deltas of one base, those they speak of. */
static enum sirix_status slots_to_compare(struct sirix_leaf_view *a, struct sirix_leaf_view *b,
                                          uint64_t *out_slots, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (a->base_address == b->base_address) {
        *out_slots = a->changed | b->changed;
        return SIRIX_OK;
    }
    status = sirix_leaf_view_walk(a, SIRIX_LEAF_KEYS, err);
    if (status == SIRIX_OK) {
        status = sirix_leaf_view_walk(b, SIRIX_LEAF_KEYS, err);
    }
    *out_slots = a->begins | b->begins;
    return status;
}

static struct sirix_row row_of(uint64_t key, struct sirix_bytes record)
{
    return (struct sirix_row){
        .key = key,
        .width = record.data == NULL ? 0 : sirix_record_width(*(const uint8_t *)record.data),
        .record = record,
    };
}

/* The first key >= compare->next_key of the leaf under both cursors that differs. */
static enum sirix_status next_in_leaf(struct sirix_trie_compare *compare, struct sirix_row *out_a,
                                      struct sirix_row *out_b, struct sirix_error *err)
{
    const uint32_t from = (uint32_t)compare->next_key & (SIRIX_LEAF_KEYS - 1);
    uint64_t slots = 0;
    enum sirix_status status = slots_to_compare(&compare->a.leaf, &compare->b.leaf, &slots, err);

    for (slots = slots >> from << from; status == SIRIX_OK && slots != 0; slots &= slots - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(slots);
        uint64_t key = (compare->a.leaf.index << SIRIX_LEAF_BITS) + slot;
        struct sirix_bytes a = {0};
        struct sirix_bytes b = {0};
        status = sirix_leaf_view_at(&compare->a.leaf, slot, &a, err);
        if (status == SIRIX_OK) {
            status = sirix_leaf_view_at(&compare->b.leaf, slot, &b, err);
        }
        if (status == SIRIX_OK && !sirix_bytes_equal(a, b)) {
            compare->next_key = key + 1;
            *out_a = row_of(key, a);
            *out_b = row_of(key, b);
            return SIRIX_OK;
        }
    }
    return status == SIRIX_OK ? SIRIX_NOT_FOUND : status;
}

void sirix_trie_compare_init(struct sirix_trie_compare *compare, struct sirix_reader *reader_a,
                             struct sirix_trie a, struct sirix_reader *reader_b,
                             struct sirix_trie b)
{
    sirix_trie_cursor_init(&compare->a, reader_a, a);
    sirix_trie_cursor_init(&compare->b, reader_b, b);
    compare->next_key = 0;
    compare->done = false;
    for (uint32_t i = 0; i < SIRIX_TRIE_HEIGHT_MAX; i++) {
        compare->places[i].valid = false;
    }
}

/* Goes on to the leaf that holds the next key, or else to the next one that differs. */
static enum sirix_status find_next_leaf(struct sirix_trie_compare *compare, struct sirix_error *err)
{
    const struct sirix_leaf_view *a = &compare->a.leaf;
    const struct sirix_leaf_view *b = &compare->b.leaf;
    const uint64_t index = compare->next_key >> SIRIX_LEAF_BITS;
    uint64_t found = index;
    enum sirix_status status = SIRIX_OK;

    if (a->valid && a->index == index && b->valid && b->index == index) {
        return SIRIX_OK;
    }
    status = find_leaf(compare, &found, err);
    if (status == SIRIX_OK && found != index) {
        compare->next_key = found << SIRIX_LEAF_BITS;
    }
    return status;
}

enum sirix_status sirix_trie_compare_next(struct sirix_trie_compare *compare,
                                          struct sirix_row *out_a, struct sirix_row *out_b,
                                          struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_trie_cursor_sync(&compare->a);
    sirix_trie_cursor_sync(&compare->b);
    while (!compare->done) {
        status = find_next_leaf(compare, err);
        compare->done = status == SIRIX_NOT_FOUND;
        if (status != SIRIX_OK) {
            return status;
        }
        status = next_in_leaf(compare, out_a, out_b, err);
        if (status != SIRIX_NOT_FOUND) {
            return status;
        }
        compare->next_key = (compare->a.leaf.index + 1) << SIRIX_LEAF_BITS;
    }
    return SIRIX_NOT_FOUND;
}
