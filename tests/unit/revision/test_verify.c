/* Verify: says nothing about what is sound, and names resource, revision and place of what is not. */
#include "unit/revision/verify_fixture.h"

static void a_sound_document_has_no_faults(void **state)
{
    struct test_rev *f = *state;
    struct sirix_published published;
    struct sirix_view head;
    struct sirix_view source;

    (void)test_branch(f, "main", "b", 0);
    small_document(f, NULL, 0);
    (void)test_set(f, "b", 5);
    assert_int_equal(test_view_branch(f, "main", &head, NULL), SIRIX_OK);
    assert_int_equal(test_view_revision(f, 1, &source, NULL), SIRIX_OK);
    assert_int_equal(
        sirix_revert(&head, &source, test_name(""), test_name("undo"), NULL, &published, NULL),
        SIRIX_OK);
    sirix_view_close(&head);
    sirix_view_close(&source);
    expect_sound(f);
}

/* An integer is put in the object's place, and what the object listed stays. */
static void rows_that_belong_to_no_node_are_found(void **state)
{
    struct test_rev *f = *state;

    small_document(f, NULL, 0);
    (void)test_set(f, "main", 5);
    expect_fault(f, "7 rows belong to no node");
}

static void wrong_sums_are_found(void **state)
{
    small_document(*state, NULL, 1);
    expect_fault(*state, "its record says 8");
}

static void bend_parent(struct doc *doc, struct sirix_node *node, const char *what)
{
    (void)doc;
    if (strcmp(what, "two") == 0) {
        node->parent++;
    }
}

static void a_child_with_another_parent_is_found(void **state)
{
    small_document(*state, bend_parent, 0);
    expect_fault(*state, "as its parent, it is listed by");
}

static void bend_kind(struct doc *doc, struct sirix_node *node, const char *what)
{
    (void)doc;
    if (strcmp(what, "member") == 0) {
        node->kind = SIRIX_NODE_TRUE;
    }
}

static void an_element_in_an_object_is_found(void **state)
{
    small_document(*state, bend_kind, 0);
    expect_fault(*state, "is an element in an object");
}

static void bend_missing(struct doc *doc, struct sirix_node *node, const char *what)
{
    (void)doc;
    if (strcmp(what, "four") == 0) {
        node->key += 100;
    }
}

static void a_missing_child_is_found(void **state)
{
    small_document(*state, bend_missing, 0);
    expect_fault(*state, "a container lists it and it is not there");
}

static void bend_length(struct doc *doc, struct sirix_node *node, const char *what)
{
    (void)doc;
    if (strcmp(what, "member") == 0) {
        node->text.len++;
    }
}

static void a_long_text_of_another_length_is_found(void **state)
{
    small_document(*state, bend_length, 0);
    expect_fault(*state, "another length than its node says");
}

static void bend_name(struct doc *doc, struct sirix_node *node, const char *what)
{
    (void)doc;
    if (strcmp(what, "field") == 0) {
        node->name_id = 77;
    }
}

static void a_name_without_its_row_is_found(void **state)
{
    small_document(*state, bend_name, 0);
    expect_fault(*state, "has no name 77");
}

/* --- Large containers ---------------------------------------------------------------------------- */

/* An object of `count` members "m0".. with numbers, over a child tree and a name index. */
static void large_object(struct test_rev *f, size_t count, size_t leave_out, bool swap)
{
    struct doc doc;
    struct sirix_child_bulk *tree = NULL;
    struct sirix_name_edit *names = NULL;
    uint64_t text_bytes = 2 + count - 1;
    struct sirix_node object = {.kind = SIRIX_NODE_OBJECT, .key = 1, .child_count = count};

    doc_begin(&doc, f);
    assert_int_equal(sirix_child_bulk_new(doc.writer, &tree, NULL), SIRIX_OK);
    assert_int_equal(sirix_name_edit_new(f->reader, 0, &names, NULL), SIRIX_OK);
    for (size_t i = 0; i < count; i++) {
        char name[16];
        char digits[16];
        size_t len = (size_t)snprintf(name, sizeof(name), "m%zu", i);
        uint32_t hash = sirix_name_hash_stored(
            sirix_name_hash(sirix_resource_name_seed(f->resource), test_name(name)));
        struct sirix_node node = {
            .kind = SIRIX_NODE_FIELD_INTEGER,
            .key = doc.next_key + 2 * i,
            .parent = 1,
            .integer = (int64_t)i,
            .name = {.bytes = test_name(name), .len = len},
        };

        text_bytes += len + 3 + (size_t)snprintf(digits, sizeof(digits), "%zu", i);
        assert_int_equal(sirix_child_bulk_append(tree, node.key, NULL), SIRIX_OK);
        if (i != leave_out) {
            assert_int_equal(sirix_name_edit_insert(names, hash, node.key, NULL), SIRIX_OK);
        }
        if (swap && i == 50) {
            node.order = SIRIX_ORDER_MIRRORED;
        }
        doc_put(&doc, &node);
    }
    assert_int_equal(sirix_child_bulk_finish(tree, &object.child_tree_address, NULL), SIRIX_OK);
    assert_int_equal(sirix_name_edit_write(names, doc.writer, &object.name_index_address, NULL),
                     SIRIX_OK);
    sirix_child_bulk_free(tree);
    sirix_name_edit_free(names);
    object.child_tree = true;
    doc_put(&doc, &object);
    doc_publish(&doc, count + 1, text_bytes);
}

static void a_sound_large_object_has_no_faults_and_lets_others_run(void **state)
{
    large_object(*state, 3000, SIZE_MAX, false);
    struct faults faults = verify(*state, NULL);
    if (faults.count != 0) {
        fail_msg("%s", faults.first.text);
    }
    assert_in_range(faults.yields, 50, 10000);
}

static void a_name_missing_from_the_index_is_found(void **state)
{
    large_object(*state, 200, 123, false);
    expect_fault(*state, "its name is not in the index of its object");
}

static void a_label_out_of_order_is_found(void **state)
{
    large_object(*state, 200, SIZE_MAX, true);
    expect_fault(*state, "label");
}

static enum sirix_status stop_at_once(void *context, const struct sirix_verify_progress *progress,
                                      struct sirix_error *err)
{
    (void)context;
    (void)progress;
    return sirix_fail(err, SIRIX_CANCELLED, "enough");
}

static void a_caller_can_stop_it(void **state)
{
    struct test_rev *f = *state;
    struct faults faults = {.f = f};
    struct sirix_verify_progress progress;
    struct sirix_error err = {0};

    large_object(f, 3000, SIZE_MAX, false);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_verify(f->database, NULL, f->reader, take_fault, stop_at_once, &faults,
                                  &progress, &err),
                     SIRIX_CANCELLED);
    assert_string_equal(err.text, "enough");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_sound_document_has_no_faults),
        TEST(rows_that_belong_to_no_node_are_found),
        TEST(wrong_sums_are_found),
        TEST(a_child_with_another_parent_is_found),
        TEST(an_element_in_an_object_is_found),
        TEST(a_missing_child_is_found),
        TEST(a_long_text_of_another_length_is_found),
        TEST(a_name_without_its_row_is_found),
        TEST(a_sound_large_object_has_no_faults_and_lets_others_run),
        TEST(a_name_missing_from_the_index_is_found),
        TEST(a_label_out_of_order_is_found),
        TEST(a_caller_can_stop_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
