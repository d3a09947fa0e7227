/* Verify: says nothing about what is sound, and names resource, revision and place of what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/endian.h"
#include "store/child/child_tree.h"
#include "store/child/name_index.h"
#include "store/page/string.h"
#include "store/revision/rows.h"
#include "unit/revision/support.h"

static int setup(void **state)
{
    static struct test_rev f;

    test_rev_open(&f, TEST_REV_MEMORY, 1);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_rev_close(*state);
    return 0;
}

/* --- Running it ---------------------------------------------------------------------------------- */

struct faults {
    struct test_rev *f;
    int count;
    int yields;
    struct sirix_error first;
    char resource[SIRIX_NAME_BYTES_MAX + 1]; /* Of the first. */
};

static enum sirix_status take_fault(void *context, struct sirix_bytes resource,
                                    const struct sirix_error *fault, struct sirix_error *err)
{
    struct faults *faults = context;

    (void)err;
    if (faults->count++ == 0) {
        faults->first = *fault;
        (void)snprintf(faults->resource, sizeof(faults->resource), "%.*s", (int)resource.len,
                       resource.len == 0 ? "" : (const char *)resource.data);
    }
    return SIRIX_OK;
}

static enum sirix_status take_yield(void *context, const struct sirix_verify_progress *progress,
                                    struct sirix_error *err)
{
    struct faults *faults = context;

    (void)progress;
    (void)err;
    faults->yields++;
    sirix_reader_yield(faults->f->reader);
    return SIRIX_OK;
}

static struct faults verify(struct test_rev *f, struct sirix_resource *resource)
{
    struct faults faults = {.f = f};
    struct sirix_verify_progress progress;
    struct sirix_error err = {0};

    sirix_reader_yield(f->reader);
    if (sirix_verify(f->database, resource, f->reader, take_fault, take_yield, &faults, &progress,
                     &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(progress.faults, faults.count);
    return faults;
}

static void expect_sound(struct test_rev *f)
{
    struct faults faults = verify(f, NULL);

    if (faults.count != 0) {
        fail_msg("%s", faults.first.text);
    }
}

static void expect_fault(struct test_rev *f, const char *text)
{
    struct faults faults = verify(f, f->resource);

    assert_int_not_equal(faults.count, 0);
    if (strstr(faults.first.text, text) == NULL ||
        (strstr(faults.first.text, "resource r") == NULL &&
         strstr(faults.first.text, "segment") == NULL)) {
        fail_msg("%s", faults.first.text);
    }
}

/* --- Documents ----------------------------------------------------------------------------------- */

/* A document in the making, on top of an empty resource. */
struct doc {
    struct test_rev *f;
    struct sirix_view base;
    struct sirix_page_writer *writer;
    struct sirix_trie_edit *edit;
    struct sirix_publication publication;
    uint32_t name_ids[8];
    uint64_t next_key;
};

static void doc_begin(struct doc *doc, struct test_rev *f)
{
    const struct sirix_page_writer_options options = {
        .backend = sirix_database_backend(f->database),
        .resource_id = sirix_resource_id(f->resource),
        .record_bytes = sirix_record_bytes(0, 0),
        .segment_bytes = 8 * 1024 * 1024,
    };

    *doc = (struct doc){.f = f};
    assert_int_equal(test_view_branch(f, "main", &doc->base, NULL), SIRIX_OK);
    assert_int_equal(sirix_page_writer_new(&options, &doc->writer, NULL), SIRIX_OK);
    assert_int_equal(sirix_trie_edit_new(f->reader, doc->base.record.trie, &doc->edit, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_resource_take_keys(f->resource, 10000, true, &doc->next_key, NULL),
                     SIRIX_OK);
}

static void doc_put(struct doc *doc, const struct sirix_node *node)
{
    struct sirix_buf record;

    sirix_buf_init(&record, SIZE_MAX);
    assert_int_equal(sirix_node_encode(node, &record, NULL), SIRIX_OK);
    assert_int_equal(sirix_trie_edit_put(doc->edit, node->key, sirix_node_width(node->kind),
                                         sirix_buf_view(&record), NULL),
                     SIRIX_OK);
    sirix_buf_deinit(&record);
}

static void doc_list(struct doc *doc, struct sirix_node *node, const uint64_t *keys, size_t count)
{
    struct sirix_buf children;

    sirix_buf_init(&children, SIZE_MAX);
    assert_int_equal(sirix_node_children_encode(node->key, keys, count, &children, NULL), SIRIX_OK);
    node->child_count = count;
    node->children = sirix_buf_view(&children);
    doc_put(doc, node);
    sirix_buf_deinit(&children);
}

static void doc_publish(struct doc *doc, uint64_t nodes, uint64_t text_bytes)
{
    struct sirix_published published;
    struct sirix_publication *publication = &doc->publication;
    struct sirix_error err = {0};

    publication->resource = doc->f->resource;
    publication->branch_id = doc->base.branch_id;
    publication->base_revision = doc->base.record.revision;
    publication->base_address = doc->base.record_address;
    publication->record.node_count = nodes;
    publication->record.text_bytes = text_bytes;
    publication->name_ids = doc->name_ids;
    assert_int_equal(sirix_trie_edit_write(doc->edit, doc->writer, &publication->record.trie, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_page_writer_finish(doc->writer, &publication->segments,
                                              &publication->segment_count, publication->record.body,
                                              NULL),
                     SIRIX_OK);
    if (sirix_publish(publication, &published, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    test_publication_free(publication);
    sirix_trie_edit_free(doc->edit);
    sirix_page_writer_free(doc->writer);
    sirix_view_close(&doc->base);
}

/*
 * {"list":[1,-2.50,true,null],"s":"<3000 x>"}, whose member names are one interned and one inline.
 * bend changes one node before it is written.
 */
typedef void (*bend_fn)(struct doc *doc, struct sirix_node *node, const char *what);

static void small_document(struct test_rev *f, bend_fn bend, uint64_t extra_nodes)
{
    char text[3000];
    struct doc doc;
    struct sirix_string_writer string;
    struct sirix_text long_text;
    uint64_t decoded = 0;
    bool interned = false;

    memset(text, 'x', sizeof(text));
    doc_begin(&doc, f);
    const uint64_t k = doc.next_key;
    struct sirix_node object = {.kind = SIRIX_NODE_OBJECT, .key = 1};
    struct sirix_node field = {.kind = SIRIX_NODE_FIELD, .key = k, .parent = 1};
    struct sirix_node array = {.kind = SIRIX_NODE_ARRAY, .key = k + 1, .parent = k};
    struct sirix_node one = {
        .kind = SIRIX_NODE_INTEGER, .key = k + 2, .parent = k + 1, .integer = 1};
    struct sirix_node two = {
        .kind = SIRIX_NODE_NUMBER, .key = k + 3, .parent = k + 1, .integer = -250, .scale = 2};
    struct sirix_node three = {.kind = SIRIX_NODE_TRUE, .key = k + 4, .parent = k + 1};
    struct sirix_node four = {.kind = SIRIX_NODE_NULL, .key = k + 5, .parent = k + 1};
    struct sirix_node member = {.kind = SIRIX_NODE_FIELD_STRING, .key = k + 6, .parent = 1};
    const uint64_t members[] = {k, k + 6};
    const uint64_t elements[] = {k + 2, k + 3, k + 4, k + 5};

    assert_int_equal(
        sirix_names_intern(f->resource, test_name("list"), &interned, &doc.name_ids[0], NULL),
        SIRIX_OK);
    doc.publication.name_id_count = 1;
    field.name_interned = true;
    field.name_id = doc.name_ids[0];
    member.name = (struct sirix_text){.bytes = test_name("s"), .len = 1};
    assert_int_equal(sirix_string_writer_init(&string, doc.writer, NULL), SIRIX_OK);
    assert_int_equal(sirix_string_writer_append(
                         &string, (struct sirix_bytes){.data = text, .len = sizeof(text)}, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_string_writer_finish(&string, &long_text, &decoded, NULL), SIRIX_OK);
    sirix_string_writer_deinit(&string);
    member.text = long_text;

    struct sirix_node *all[] = {&field, &array, &one, &two, &three, &four, &member, &object};
    const char *names[] = {"field", "array", "one", "two", "three", "four", "member", "object"};
    for (size_t i = 0; i < 8; i++) {
        if (bend != NULL) {
            bend(&doc, all[i], names[i]);
        }
        if (all[i] == &object) {
            doc_list(&doc, &object, members, 2);
        } else if (all[i] == &array) {
            doc_list(&doc, &array, elements, 4);
        } else {
            doc_put(&doc, all[i]);
        }
    }
    doc_publish(&doc, 7 + extra_nodes,
                strlen("{\"list\":[1,-2.50,true,null],\"s\":\"\"}") + sizeof(text));
}

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

/* --- Rows and records ----------------------------------------------------------------------------- */

static void index_edit(struct test_rev *f, uint64_t revision, size_t offset, int64_t add)
{
    const struct sirix_rows_key key =
        sirix_rows_key_index(sirix_resource_id(f->resource), revision);
    struct sirix_bytes value = {0};
    uint8_t bytes[512];

    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_ref_get(f->reader, sirix_rows_key_view(&key), &value, NULL), SIRIX_OK);
    memcpy(bytes, value.data, value.len);
    uint8_t *field = bytes + revision * 24 + offset;
    sirix_store_u64le(field, sirix_load_u64le(field) + (uint64_t)add);
    value.data = bytes;
    test_put_row(f, &key, value);
}

static void an_index_that_disagrees_with_the_record_is_found(void **state)
{
    struct test_rev *f = *state;

    for (int i = 0; i < 5; i++) {
        (void)test_set(f, "main", i);
    }
    expect_sound(f);
    index_edit(f, 3, 8, 1);
    expect_fault(f, "revision 3: time or branch are not those of the index");
    index_edit(f, 3, 8, -1);
    index_edit(f, 4, 0, (int64_t)(UINT64_C(500) << 21));
    expect_fault(f, "revision 4");
}

static void a_head_and_counts_that_lie_are_found(void **state)
{
    struct test_rev *f = *state;
    const uint32_t id = sirix_resource_id(f->resource);
    const struct sirix_rows_key key = sirix_rows_key_head(id, 0);
    const struct sirix_rows_key stray = sirix_rows_key_head(id, 9);
    struct sirix_published last = test_set(f, "main", 1);
    struct sirix_head_row head = {.revision = 1, .address = last.record_address};
    struct sirix_rows_value value = sirix_rows_head_encode(&head);

    test_put_row(f, &key, sirix_rows_value_view(&value));
    expect_fault(f, "a head has another address than the index");
    head.revision = 2;
    value = sirix_rows_head_encode(&head);
    test_put_row(f, &key, sirix_rows_value_view(&value));
    expect_sound(f);
    test_put_row(f, &stray, sirix_rows_value_view(&value));
    expect_fault(f, "2 branches and 0 snapshots are there, counted are 1 and 0");
    test_put_row(f, &key, (struct sirix_bytes){.data = "short", .len = 5});
    expect_fault(f, "head row has a wrong length");
}

static void a_branch_that_has_another_name_under_its_id_is_found(void **state)
{
    struct test_rev *f = *state;
    uint64_t branch = test_branch(f, "main", "Side", 0);
    const struct sirix_rows_key key =
        sirix_rows_key_branch_name(sirix_resource_id(f->resource), branch);

    expect_sound(f);
    test_put_row(f, &key, test_name("side"));
    expect_fault(f, "branch Side has another name under its id");
    test_put_row(f, &key, (struct sirix_bytes){0});
    expect_fault(f, "branch Side has another name under its id");
    test_put_row(f, &key, test_name("Side"));
    expect_sound(f);
}

/* Flips a byte of the file where a pattern stands; returns how often it stood there. */
static int damage_file(const char *dir, const void *pattern, size_t len, size_t at)
{
    char path[128];
    int found = 0;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    off_t size = lseek(file, 0, SEEK_END);
    uint8_t *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_int_equal(pread(file, bytes, (size_t)size, 0), size);
    for (size_t i = 0; i + len <= (size_t)size; i++) {
        if (memcmp(bytes + i, pattern, len) == 0) {
            bytes[i + at] ^= 0x40;
            assert_int_equal(pwrite(file, bytes + i + at, 1, (off_t)(i + at)), 1);
            found++;
        }
    }
    free(bytes);
    assert_int_equal(close(file), 0);
    return found;
}

static void a_damaged_segment_is_named_and_the_rest_is_read(void **state)
{
    static struct test_rev f;
    struct sirix_view view;
    uint8_t chain[SIRIX_HASH_BYTES];
    struct sirix_error err = {0};

    (void)state;
    test_rev_open(&f, TEST_REV_LMDB, 1);
    for (int i = 0; i < 20; i++) {
        (void)test_set(&f, "main", i);
    }
    assert_int_equal(test_view_revision(&f, 7, &view, NULL), SIRIX_OK);
    memcpy(chain, view.record.chain, sizeof(chain));
    sirix_view_close(&view);
    sirix_resource_unref(f.resource);
    sirix_reader_close(f.reader);
    sirix_database_close(f.database);
    assert_in_range(damage_file(f.dir, chain, sizeof(chain), 3), 1, 100);

    /* As test_rev_reopen() does, but everything was closed already. */
    const struct sirix_lmdb_options lmdb = {.dir = f.dir};
    struct sirix_database_options options = {.pool = f.pool, .clock = &f.clock};
    assert_int_equal(sirix_backend_open_lmdb(&lmdb, &options.backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_database_open(&options, &f.database, NULL, NULL), SIRIX_OK);
    assert_int_equal(sirix_reader_open(sirix_database_backend(f.database), &f.reader, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_resource_open(f.database, test_name("r"), &f.resource, NULL), SIRIX_OK);

    struct faults faults = verify(&f, NULL);
    assert_int_equal(faults.first.reason, SIRIX_REASON_CHECKSUM);
    assert_string_equal(faults.resource, "r");
    assert_ptr_equal(strstr(faults.first.text, "resource r: segment"), faults.first.text);
    /* The segment; revision 7, which is in it; revision 8, whose parent it is; those that jump there. */
    assert_in_range(faults.count, 3, 12);
    assert_int_equal(test_view_revision(&f, 7, &view, &err), SIRIX_CORRUPT);
    assert_ptr_equal(strstr(err.text, "resource r: segment"), err.text);
    assert_int_equal(test_view_branch(&f, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(&f, &view), 19);
    sirix_view_close(&view);
    test_rev_close(&f);
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
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_sound_document_has_no_faults),
        CASE(rows_that_belong_to_no_node_are_found),
        CASE(wrong_sums_are_found),
        CASE(a_child_with_another_parent_is_found),
        CASE(an_element_in_an_object_is_found),
        CASE(a_missing_child_is_found),
        CASE(a_long_text_of_another_length_is_found),
        CASE(a_name_without_its_row_is_found),
        CASE(a_sound_large_object_has_no_faults_and_lets_others_run),
        CASE(a_name_missing_from_the_index_is_found),
        CASE(a_label_out_of_order_is_found),
        CASE(an_index_that_disagrees_with_the_record_is_found),
        CASE(a_head_and_counts_that_lie_are_found),
        CASE(a_branch_that_has_another_name_under_its_id_is_found),
        cmocka_unit_test(a_damaged_segment_is_named_and_the_rest_is_read),
        CASE(a_caller_can_stop_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
