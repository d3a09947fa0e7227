/* Documents built row by row, so that each can be bent, and verify run over them. */
#ifndef SIRIX_TESTS_REVISION_VERIFY_FIXTURE_H
#define SIRIX_TESTS_REVISION_VERIFY_FIXTURE_H

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

static inline int setup(void **state)
{
    static struct test_rev f;

    test_rev_open(&f, TEST_REV_MEMORY, 1);
    *state = &f;
    return 0;
}

static inline int teardown(void **state)
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

static inline enum sirix_status take_fault(void *context, struct sirix_bytes resource,
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

static inline enum sirix_status
take_yield(void *context, const struct sirix_verify_progress *progress, struct sirix_error *err)
{
    struct faults *faults = context;

    (void)progress;
    (void)err;
    faults->yields++;
    sirix_reader_yield(faults->f->reader);
    return SIRIX_OK;
}

static inline struct faults verify(struct test_rev *f, struct sirix_resource *resource)
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

static inline void expect_sound(struct test_rev *f)
{
    struct faults faults = verify(f, NULL);

    if (faults.count != 0) {
        fail_msg("%s", faults.first.text);
    }
}

static inline void expect_fault(struct test_rev *f, const char *text)
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

static inline void doc_begin(struct doc *doc, struct test_rev *f)
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

static inline void doc_put(struct doc *doc, const struct sirix_node *node)
{
    struct sirix_buf record;

    sirix_buf_init(&record, SIZE_MAX);
    assert_int_equal(sirix_node_encode(node, &record, NULL), SIRIX_OK);
    assert_int_equal(sirix_trie_edit_put(doc->edit, node->key, sirix_node_width(node->kind),
                                         sirix_buf_view(&record), NULL),
                     SIRIX_OK);
    sirix_buf_deinit(&record);
}

static inline void doc_list(struct doc *doc, struct sirix_node *node, const uint64_t *keys,
                            size_t count)
{
    struct sirix_buf children;

    sirix_buf_init(&children, SIZE_MAX);
    assert_int_equal(sirix_node_children_encode(node->key, keys, count, &children, NULL), SIRIX_OK);
    node->child_count = count;
    node->children = sirix_buf_view(&children);
    doc_put(doc, node);
    sirix_buf_deinit(&children);
}

static inline void doc_publish(struct doc *doc, uint64_t nodes, uint64_t text_bytes)
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

static inline void small_document(struct test_rev *f, bend_fn bend, uint64_t extra_nodes)
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

#endif
