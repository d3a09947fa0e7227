/* Node records: one node has one record, and nothing else decodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/varint.h"
#include "page_fixture.h"

#define ADDRESS UINT64_C(0x0000123400000042)

static struct sirix_bytes literal(const char *text)
{
    return (struct sirix_bytes){text, strlen(text)};
}

static struct sirix_text inline_text(const char *text, bool escaped)
{
    return (struct sirix_text){.bytes = literal(text), .len = strlen(text), .escaped = escaped};
}

static void assert_texts_equal(const struct sirix_text *a, const struct sirix_text *b)
{
    assert_int_equal(a->len, b->len);
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->escaped, b->escaped);
    assert_true(sirix_bytes_equal(a->bytes, b->bytes));
}

static void assert_nodes_equal(const struct sirix_node *a, const struct sirix_node *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->key, b->key);
    assert_int_equal(a->parent, b->parent);
    assert_int_equal(a->order, b->order);
    assert_int_equal(a->label.major, b->label.major);
    assert_int_equal(a->label.minor, b->label.minor);
    assert_int_equal(a->name_interned, b->name_interned);
    assert_int_equal(a->name_id, b->name_id);
    assert_texts_equal(&a->name, &b->name);
    assert_int_equal(a->integer, b->integer);
    assert_int_equal(a->scale, b->scale);
    assert_int_equal(a->number_text, b->number_text);
    assert_texts_equal(&a->text, &b->text);
    assert_int_equal(a->child_count, b->child_count);
    assert_int_equal(a->child_tree, b->child_tree);
    assert_true(sirix_bytes_equal(a->children, b->children));
    assert_int_equal(a->child_tree_address, b->child_tree_address);
    assert_int_equal(a->name_index_address, b->name_index_address);
}

static void assert_survives(const struct sirix_node *node)
{
    struct sirix_buf record;
    struct sirix_node again;
    struct sirix_error err = {0};

    sirix_buf_init(&record, SIRIX_RECORD_BYTES_MAX);
    assert_int_equal(sirix_node_encode(node, &record, &err), SIRIX_OK);
    if (sirix_node_decode(sirix_buf_view(&record), node->key, &again, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    assert_nodes_equal(&again, node);
    assert_int_equal(sirix_record_width(record.data[0]), sirix_node_width(node->kind));

    /* No proper beginning of a record is a record, except that a list of children may end early. */
    for (size_t len = 0; len < record.len && node->children.len == 0; len++) {
        struct sirix_bytes cut = {record.data, len};
        assert_int_equal(sirix_node_decode(cut, node->key, &again, NULL), SIRIX_CORRUPT);
    }
    assert_int_equal(sirix_buf_append_u8(&record, 0, NULL), SIRIX_OK);
    assert_int_equal(sirix_node_decode(sirix_buf_view(&record), node->key, &again, NULL),
                     SIRIX_CORRUPT);
    sirix_buf_deinit(&record);
}

static void every_kind_of_node_comes_back_as_it_was(void **state)
{
    const struct sirix_text long_text = {.address = ADDRESS, .len = 5000, .escaped = true};
    const struct sirix_text name = inline_text("caf\\u00e9 \\\"x\\\"", true);
    const struct sirix_node nodes[] = {
        {.kind = SIRIX_NODE_OBJECT, .key = 1, .parent = 0},
        {.kind = SIRIX_NODE_ARRAY,
         .key = 9,
         .parent = 8,
         .child_count = 3,
         .children = {"\x02\x04\x80\x01", 4}},
        {.kind = SIRIX_NODE_ARRAY,
         .key = 9,
         .parent = 800,
         .child_count = 1000000,
         .child_tree = true,
         .child_tree_address = ADDRESS},
        {.kind = SIRIX_NODE_OBJECT,
         .key = 9,
         .parent = 8,
         .child_count = 70,
         .child_tree = true,
         .child_tree_address = ADDRESS,
         .name_index_address = ADDRESS + 9},
        {.kind = SIRIX_NODE_OBJECT,
         .key = 9,
         .parent = 8,
         .child_count = 70,
         .child_tree = true,
         .child_tree_address = ADDRESS},
        {.kind = SIRIX_NODE_STRING, .key = 5, .parent = 4, .text = inline_text("", false)},
        {.kind = SIRIX_NODE_STRING, .key = 5, .parent = 4, .text = inline_text("a\\nb", true)},
        {.kind = SIRIX_NODE_STRING, .key = 5, .parent = 4, .text = long_text},
        {.kind = SIRIX_NODE_INTEGER, .key = 5, .parent = 4, .integer = INT64_MIN},
        {.kind = SIRIX_NODE_INTEGER, .key = 5, .parent = 4, .integer = INT64_MAX},
        {.kind = SIRIX_NODE_NUMBER, .key = 5, .parent = 4, .integer = -1250, .scale = 3},
        {.kind = SIRIX_NODE_NUMBER, .key = 5, .parent = 4, .integer = 0, .scale = 127},
        {.kind = SIRIX_NODE_NUMBER,
         .key = 5,
         .parent = 4,
         .number_text = true,
         .text = inline_text("1e400", false)},
        {.kind = SIRIX_NODE_NUMBER,
         .key = 5,
         .parent = 4,
         .number_text = true,
         .text = {.address = ADDRESS, .len = SIRIX_NUMBER_TEXT_BYTES_MAX}},
        {.kind = SIRIX_NODE_TRUE, .key = SIRIX_KEY_MAX, .parent = 1},
        {.kind = SIRIX_NODE_FALSE, .key = 2, .parent = SIRIX_KEY_MAX},
        {.kind = SIRIX_NODE_NULL, .key = 2, .parent = 1, .order = SIRIX_ORDER_MIRRORED},
        {.kind = SIRIX_NODE_FIELD, .key = 2, .parent = 1, .name_interned = true, .name_id = 0},
        {.kind = SIRIX_NODE_FIELD,
         .key = 2,
         .parent = 1,
         .name_interned = true,
         .name_id = SIRIX_NAME_INTERNED_MAX - 1},
        {.kind = SIRIX_NODE_FIELD, .key = 2, .parent = 1, .name = inline_text("", false)},
        {.kind = SIRIX_NODE_FIELD_STRING,
         .key = 2,
         .parent = 1,
         .name = name,
         .text = inline_text("v", false)},
        {.kind = SIRIX_NODE_FIELD_STRING,
         .key = 2,
         .parent = 1,
         .name = long_text,
         .text = long_text},
        {.kind = SIRIX_NODE_FIELD_INTEGER, .key = 2, .parent = 1, .name = name, .integer = -1},
        {.kind = SIRIX_NODE_FIELD_NUMBER,
         .key = 2,
         .parent = 1,
         .name = name,
         .integer = 15,
         .scale = 1},
        {.kind = SIRIX_NODE_FIELD_TRUE, .key = 2, .parent = 1, .name = name},
        {.kind = SIRIX_NODE_FIELD_FALSE, .key = 2, .parent = 1, .name = name},
        {.kind = SIRIX_NODE_FIELD_NULL,
         .key = 2,
         .parent = 1,
         .name = name,
         .order = SIRIX_ORDER_EXPLICIT,
         .label = {.major = -70000, .minor = UINT64_MAX}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        assert_survives(&nodes[i]);
    }
}

/* Forms that encoding never chooses, each as the bytes of a record of node 100. */
static void forms_that_encoding_never_chooses_are_refused(void **state)
{
    const struct {
        const char *why;
        const char *bytes;
        size_t len;
    } cases[] = {
        {"nothing", "", 0},
        {"kind document", "\x00\x01", 2},
        {"order mode 3", "\x36\x01", 2},
        {"flags on true", "\x46\x01", 2},
        {"flags on a fused null", "\x4f\x01\x04", 3},
        {"flag 0x80 on an array", "\x82\x01\x00", 3},
        {"a decimal out of line", "\x45\x01\x02\x04", 4},
        {"its own parent", "\x06\x00", 2},
        {"a parent in two bytes where one does", "\x06\x81\x00", 3},
        {"an endless number", "\x04\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13},
        {"a decimal without digits behind the point", "\x05\x01\x00\x04", 4},
        {"a decimal of scale 128", "\x05\x01\x80\x01\x04", 5},
        {"an empty number text", "\x85\x01\x00", 3},
        {"a string longer than the record",
         "\x03\x01\x05"
         "abcd",
         7},
        {"a short string out of line", "\x43\x01\x05\x00\x00\x20\x00\x00\x00\x00\x00", 11},
        {"a long string at segment 0", "\x43\x01\x81\x10\x01\x00\x00\x00\x00\x00\x00\x00", 12},
        {"name form 3", "\x0f\x01\x03", 3},
        {"name id 65536", "\x0f\x01\x80\x80\x10", 5},
        {"too many inline children", "\x02\x01\x41", 3},
        {"fewer children than counted", "\x02\x01\x02\x02", 4},
        {"more children than counted", "\x02\x01\x01\x02\x02", 5},
        {"a child cut off", "\x02\x01\x01\x02\x82", 5},
        {"an empty child tree", "\x42\x01\x00\x00\x00\x20\x00\x00\x00\x00\x00", 11},
        {"a child tree at segment 0", "\x42\x01\x41\x00\x00\x00\x00\x00\x00\x00\x00", 11},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_node node = {.key = 77};
        struct sirix_error err = {0};
        enum sirix_status status =
            sirix_node_decode((struct sirix_bytes){cases[i].bytes, cases[i].len}, 100, &node, &err);
        if (status != SIRIX_CORRUPT || strstr(err.text, "node 100") == NULL || node.key != 77) {
            fail_msg("case '%s': got %s, '%s'", cases[i].why, sirix_status_name(status), err.text);
        }
    }
}

static void random_bytes_decode_only_to_what_encodes_to_them(void **state)
{
    struct dice dice = {.state = 1};
    struct sirix_buf record;
    uint32_t decoded = 0;

    (void)state;
    sirix_buf_init(&record, SIRIX_RECORD_BYTES_MAX);
    for (uint32_t round = 0; round < 300000; round++) {
        uint8_t bytes[24];
        uint32_t len = 1 + dice_below(&dice, sizeof(bytes));
        struct sirix_node node;
        for (uint32_t i = 0; i < len; i++) {
            bytes[i] = (uint8_t)(dice_roll(&dice) & (dice_below(&dice, 2) == 0 ? 0x0f : 0xff));
        }
        if (sirix_node_decode((struct sirix_bytes){bytes, len}, 1000, &node, NULL) == SIRIX_OK) {
            sirix_buf_clear(&record);
            assert_int_equal(sirix_node_encode(&node, &record, NULL), SIRIX_OK);
            assert_int_equal(record.len, len);
            assert_memory_equal(record.data, bytes, len);
            decoded++;
        }
    }
    assert_true(decoded > 1000);
    sirix_buf_deinit(&record);
}

static void inline_children_come_back_in_order(void **state)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    uint64_t again[SIRIX_NODE_CHILDREN_INLINE_MAX];
    struct dice dice = {.state = 5};
    struct sirix_buf deltas;

    (void)state;
    sirix_buf_init(&deltas, SIZE_MAX);
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t count = dice_below(&dice, SIRIX_NODE_CHILDREN_INLINE_MAX + 1);
        struct sirix_node node = {.kind = SIRIX_NODE_ARRAY, .key = 500, .child_count = count};
        for (uint32_t i = 0; i < count; i++) {
            uint32_t shift = dice_below(&dice, 62);
            keys[i] = 2 * (dice_roll(&dice) & ((UINT64_C(1) << shift) - 1)) + 1;
            keys[i] += i != 0 && keys[i] == keys[i - 1] ? 2 : 0;
        }
        sirix_buf_clear(&deltas);
        assert_int_equal(sirix_node_children_encode(500, keys, count, &deltas, NULL), SIRIX_OK);
        node.children = sirix_buf_view(&deltas);
        assert_int_equal(sirix_node_children(&node, again, NULL), SIRIX_OK);
        assert_memory_equal(again, keys, count * sizeof(keys[0]));
    }
    sirix_buf_deinit(&deltas);
}

static void children_that_repeat_or_are_the_document_are_refused(void **state)
{
    const struct sirix_node repeats = {
        .kind = SIRIX_NODE_ARRAY, .key = 5, .child_count = 2, .children = {"\x02\x00", 2}};
    const struct sirix_node document = {
        .kind = SIRIX_NODE_ARRAY, .key = 5, .child_count = 1, .children = {"\x09", 1}};
    const struct sirix_node padded = {
        .kind = SIRIX_NODE_ARRAY, .key = 5, .child_count = 1, .children = {"\x82\x00", 2}};
    uint64_t keys[2];

    (void)state;
    assert_int_equal(sirix_node_children(&repeats, keys, NULL), SIRIX_CORRUPT);
    assert_int_equal(sirix_node_children(&document, keys, NULL), SIRIX_CORRUPT);
    assert_int_equal(sirix_node_children(&padded, keys, NULL), SIRIX_CORRUPT);
}

static void labels_follow_the_order_mode(void **state)
{
    struct sirix_node node = {.key = 40, .label = {.major = 3, .minor = 9}};

    (void)state;
    assert_int_equal(sirix_node_label(&node).major, 40);
    assert_int_equal(sirix_node_label(&node).minor, 0);
    node.order = SIRIX_ORDER_MIRRORED;
    assert_int_equal(sirix_node_label(&node).major, -40);
    node.order = SIRIX_ORDER_EXPLICIT;
    assert_int_equal(sirix_node_label(&node).major, 3);
    assert_int_equal(sirix_node_label(&node).minor, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_node_comes_back_as_it_was),
        cmocka_unit_test(forms_that_encoding_never_chooses_are_refused),
        cmocka_unit_test(random_bytes_decode_only_to_what_encodes_to_them),
        cmocka_unit_test(inline_children_come_back_in_order),
        cmocka_unit_test(children_that_repeat_or_are_the_document_are_refused),
        cmocka_unit_test(labels_follow_the_order_mode),
    };
    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
