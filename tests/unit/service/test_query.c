/* Queries through the service: pages with cursors, scope, updates with turns, retried calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/catalogue.h"
#include "service/query.h"
#include "unit/document/temp_dir.h"

enum { DIR_BYTES = 64, TEXT_BYTES = 1024 };

struct fixture {
    char dir[DIR_BYTES];
    struct sirix_service *service;
    struct sirix_cancel cancel;
    struct sirix_request request;
    struct sirix_query_request wanted;
};

static struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

static void must(enum sirix_status status, const struct sirix_error *err)
{
    if (status != SIRIX_OK) {
        print_error("%s: %s\n", sirix_status_name(status), err->text);
        fail();
    }
}

/* A resource with a value, by the store's own means. */
static void put(struct fixture *f, const char *resource, const char *json)
{
    const struct sirix_write_options options = {.message = text("")};
    const struct sirix_edit_insert insert = {.target = 1, .place = SIRIX_PLACE_LAST_CHILD};
    const struct sirix_edit_commit commit = {.author = text("t")};
    const struct sirix_view_request newest = {.which = SIRIX_VIEW_WHICH_NONE};
    struct sirix_write_result result;
    struct sirix_edit_result inserted;
    struct sirix_published published;
    struct sirix_target target = {0};
    struct sirix_edit *edit = NULL;
    struct sirix_view view;
    struct sirix_error err = {0};
    bool changed = false;

    must(sirix_service_create_resource(&f->request, text("db"), text(resource), &options, &result,
                                       &err),
         &err);
    must(sirix_target_open(&f->request, text("db"), text(resource), &target, &err), &err);
    must(sirix_target_view(&target, &newest, "view", &view, &err), &err);
    must(sirix_edit_new(&view, target.reader, &edit, &err), &err);
    must(sirix_edit_insert(edit, &insert, text(json), &inserted, &err), &err);
    must(sirix_edit_commit(edit, &commit, &published, &changed, &err), &err);
    sirix_edit_free(edit);
    sirix_view_close(&view);
    sirix_target_close(&target);
}

static void open_fixture(struct fixture *f)
{
    const struct sirix_write_options options = {.message = text("")};
    struct sirix_database_item item;
    struct sirix_error err = {0};

    *f = (struct fixture){.dir = "/tmp/sirix-query-XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    const struct sirix_service_options service = {.dir = f->dir};
    must(sirix_service_open(&service, &f->service, &err), &err);
    f->cancel.deadline_us = UINT64_MAX;
    f->request = (struct sirix_request){
        .service = f->service,
        .caller = {.name = "tester", .may_write = true},
        .cancel = &f->cancel,
    };
    must(sirix_service_create_database(&f->request, text("db"), &options, &item, &err), &err);
    f->wanted = (struct sirix_query_request){.database = text("db"), .resource = text("r")};
}

static void close_fixture(struct fixture *f)
{
    sirix_service_close(f->service);
    temp_dir_remove(f->dir);
}

/* One page as text, items joined by blanks; the cursor to the next one in `cursor`. */
static enum sirix_status page(struct fixture *f, const char *query, char *out, char *cursor)
{
    struct sirix_query_stream *stream = NULL;
    struct sirix_query_page got = {0};
    struct sirix_error err = {0};

    out[0] = '\0';
    f->wanted.text = text(query);
    f->wanted.cursor = text(cursor);
    enum sirix_status status = sirix_query_stream_open(&f->request, &f->wanted, &stream, &err);
    while (status == SIRIX_OK && !got.done) {
        status = sirix_query_stream_next(stream, &got, &err);
        for (size_t i = 0; status == SIRIX_OK && i < got.count; i++) {
            if (out[0] != '\0') {
                (void)strcat(out, " ");
            }
            (void)strncat(out, got.items[i].json.data, got.items[i].json.len);
        }
    }
    cursor[0] = '\0';
    if (status == SIRIX_OK && got.next_cursor.len != 0) {
        assert_true(got.next_cursor.len < TEXT_BYTES);
        (void)strncat(cursor, got.next_cursor.data, got.next_cursor.len);
    }
    if (status != SIRIX_OK) {
        (void)snprintf(out, TEXT_BYTES, "%s", err.text);
    }
    sirix_query_stream_close(stream);
    return status;
}

/* Commits an updating query; how many resources it names as changed. */
static enum sirix_status update(struct fixture *f, const char *query,
                                const struct sirix_write_options *options, size_t *out_changed,
                                uint64_t *out_revision, bool *out_replayed, struct sirix_error *err)
{
    const struct sirix_query_update_result *results = NULL;
    struct sirix_query_update *made = NULL;
    size_t count = 0;
    bool waits = false;

    f->wanted.text = text(query);
    f->wanted.cursor = text("");
    enum sirix_status status =
        sirix_query_update_open(&f->request, &f->wanted, options, &made, err);
    if (status == SIRIX_OK) {
        status = sirix_query_update_take_turn(made, NULL, NULL, &waits, err);
        assert_false(waits);
    }
    if (status == SIRIX_OK) {
        status = sirix_query_update_run(made, &results, &count, err);
    }
    *out_changed = 0;
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        *out_changed += results[i].result.changed ? 1 : 0;
        *out_revision = results[i].result.revision;
        *out_replayed = results[i].result.replayed;
    }
    sirix_query_update_close(made);
    return status;
}

static void a_query_that_finds_nothing_for_long_lets_others_have_a_turn(void **state)
{
    struct sirix_query_stream *stream = NULL;
    struct sirix_query_page got = {0};
    struct sirix_error err = {0};
    struct fixture f;
    unsigned empty = 0;
    uint64_t found = 0;

    (void)state;
    open_fixture(&f);
    put(&f, "r", "1");
    /* Longer than a turn on any machine; of a page, so that what is behind it is looked for, too. */
    f.wanted.limit = 1;
    f.wanted.text = text("count(for $x in 1 to 2000000 where $x lt 0 return $x)");
    must(sirix_query_stream_open(&f.request, &f.wanted, &stream, &err), &err);
    while (!got.done) {
        must(sirix_query_stream_next(stream, &got, &err), &err);
        empty += got.count == 0 && !got.done ? 1 : 0;
        found += got.count;
    }
    sirix_query_stream_close(stream);

    assert_true(empty != 0);
    assert_int_equal(found, 1);
    assert_int_equal(got.next_cursor.len, 0);
    close_fixture(&f);
}

static void pages_go_on_where_the_last_one_ended(void **state)
{
    const struct sirix_write_options options = {.message = text("more")};
    char cursor[TEXT_BYTES] = "";
    char out[TEXT_BYTES];
    struct sirix_error err = {0};
    struct fixture f;
    size_t changed = 0;
    uint64_t revision = 0;
    bool replayed = false;

    (void)state;
    open_fixture(&f);
    put(&f, "r", "[1,2,3,4,5]");
    f.wanted.limit = 2;
    assert_int_equal(page(&f, "$$[]", out, cursor), SIRIX_OK);
    assert_string_equal(out, "1 2");
    assert_string_not_equal(cursor, "");

    /* What is added meanwhile is not of these pages. */
    must(update(&f, "append json 6 into $$", &options, &changed, &revision, &replayed, &err), &err);
    assert_int_equal(changed, 1);
    char next[TEXT_BYTES];
    memcpy(next, cursor, sizeof(next));
    assert_int_equal(page(&f, "$$[]", out, next), SIRIX_OK);
    assert_string_equal(out, "3 4");
    assert_int_equal(page(&f, "$$[]", out, next), SIRIX_OK);
    assert_string_equal(out, "5");
    assert_string_equal(next, "");

    /* A cursor belongs to its query. */
    assert_int_equal(page(&f, "$$[1]", out, cursor), SIRIX_INVALID);
    close_fixture(&f);
}

static void a_full_last_page_has_no_cursor(void **state)
{
    char cursor[TEXT_BYTES] = "";
    char out[TEXT_BYTES];
    struct fixture f;

    (void)state;
    open_fixture(&f);
    put(&f, "r", "[1,2]");
    f.wanted.limit = 2;
    assert_int_equal(page(&f, "for $x in $$[] order by -$x return $x", out, cursor), SIRIX_OK);
    assert_string_equal(out, "2 1");
    assert_string_equal(cursor, "");
    close_fixture(&f);
}

static bool only_r(void *context, struct sirix_bytes database, struct sirix_bytes resource)
{
    (void)context;
    (void)database;
    return resource.len == 0 || sirix_bytes_equal(resource, text("r"));
}

static void what_is_out_of_scope_is_not_there(void **state)
{
    static const struct {
        const char *query;
        enum sirix_status status;
        const char *out;
    } rows[] = {
        {"jn:doc('db','r')[0]", SIRIX_OK, "1"},
        {"jn:doc('db','secret')", SIRIX_NOT_FOUND, NULL},
        {"jn:doc('db','never')", SIRIX_NOT_FOUND, NULL},
        {"jn:collection('db')[0]", SIRIX_OK, "1"},
        {"jn:exists-resource('db','secret')", SIRIX_OK, "false"},
        {"for $x in 1 to 2 return try { jn:doc('db','secret') } catch * { 0 }", SIRIX_NOT_FOUND,
         NULL},
    };
    char out[TEXT_BYTES];
    struct fixture f;

    (void)state;
    open_fixture(&f);
    put(&f, "r", "[1]");
    put(&f, "secret", "[2]");
    f.wanted.visible = only_r;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char cursor[TEXT_BYTES] = "";

        assert_int_equal(page(&f, rows[i].query, out, cursor), rows[i].status);
        if (rows[i].out != NULL) {
            assert_string_equal(out, rows[i].out);
        }
    }
    close_fixture(&f);
}

static void updates_need_the_right_to_write_and_happen_once(void **state)
{
    struct sirix_write_options options = {.message = text("m"), .idempotency_key = text("k1")};
    char cursor[TEXT_BYTES] = "";
    char out[TEXT_BYTES];
    struct sirix_error err = {0};
    struct fixture f;
    size_t changed = 0;
    uint64_t first = 0;
    uint64_t again = 0;
    bool replayed = false;

    (void)state;
    open_fixture(&f);
    put(&f, "r", "{\"n\":1}");
    f.request.caller.may_write = false;
    assert_int_equal(update(&f, "replace json value of $$.n with 2", &options, &changed, &first,
                            &replayed, &err),
                     SIRIX_PERMISSION);
    f.request.caller.may_write = true;
    assert_int_equal(page(&f, "replace json value of $$.n with 2", out, cursor), SIRIX_INVALID);

    must(update(&f, "replace json value of $$.n with $$.n + 1", &options, &changed, &first,
                &replayed, &err),
         &err);
    assert_false(replayed);
    must(update(&f, "replace json value of $$.n with $$.n + 1", &options, &changed, &again,
                &replayed, &err),
         &err);
    assert_true(replayed);
    assert_int_equal(first, again);
    assert_int_equal(page(&f, "$$.n", out, cursor), SIRIX_OK);
    assert_string_equal(out, "2");

    /* Also where the first time has left nothing to do. */
    options.idempotency_key = text("k2");
    must(update(&f, "delete json $$.n", &options, &changed, &first, &replayed, &err), &err);
    assert_int_equal(changed, 1);
    must(update(&f, "delete json $$.n", &options, &changed, &again, &replayed, &err), &err);
    assert_true(replayed);
    assert_int_equal(first, again);

    options = (struct sirix_write_options){.has_expected = true, .expected_revision = 1};
    assert_int_equal(
        update(&f, "insert json {\"n\":9} into $$", &options, &changed, &first, &replayed, &err),
        SIRIX_CONFLICT);
    close_fixture(&f);
}

static void a_query_runs_again_when_its_branch_moved_while_it_waited(void **state)
{
    const struct sirix_write_options options = {.message = text("m")};
    const struct sirix_query_update_result *results = NULL;
    struct sirix_query_update *slow = NULL;
    char cursor[TEXT_BYTES] = "";
    char out[TEXT_BYTES];
    struct sirix_error err = {0};
    struct fixture f;
    size_t count = 0;
    uint64_t revision = 0;
    bool replayed = false;
    bool waits = false;

    (void)state;
    open_fixture(&f);
    put(&f, "r", "{\"n\":1}");
    f.wanted.text = text("replace json value of $$.n with $$.n * 10");
    must(sirix_query_update_open(&f.request, &f.wanted, &options, &slow, &err), &err);
    must(update(&f, "replace json value of $$.n with 7", &options, &count, &revision, &replayed,
                &err),
         &err);
    must(sirix_query_update_take_turn(slow, NULL, NULL, &waits, &err), &err);
    assert_false(waits);
    must(sirix_query_update_run(slow, &results, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_true(results[0].result.changed);
    sirix_query_update_close(slow);
    assert_int_equal(page(&f, "$$.n", out, cursor), SIRIX_OK);
    assert_string_equal(out, "70");
    close_fixture(&f);
}

static void a_cancelled_call_ends_its_query(void **state)
{
    char cursor[TEXT_BYTES] = "";
    char out[TEXT_BYTES];
    struct fixture f;

    (void)state;
    open_fixture(&f);
    put(&f, "r", "[1]");
    f.cancel.deadline_us = sirix_cancel_now_us() + 20 * 1000;
    assert_int_equal(
        page(&f, "count(for $a in 1 to 1000000, $b in 1 to 1000000 return 1)", out, cursor),
        SIRIX_DEADLINE);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_that_finds_nothing_for_long_lets_others_have_a_turn),
        cmocka_unit_test(pages_go_on_where_the_last_one_ended),
        cmocka_unit_test(a_full_last_page_has_no_cursor),
        cmocka_unit_test(what_is_out_of_scope_is_not_there),
        cmocka_unit_test(updates_need_the_right_to_write_and_happen_once),
        cmocka_unit_test(a_query_runs_again_when_its_branch_moved_while_it_waited),
        cmocka_unit_test(a_cancelled_call_ends_its_query),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
