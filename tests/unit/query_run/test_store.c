/* Queries over the store: revisions, snapshots, branches, what is hidden, updates, pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/query_run/fixture.h"

struct row {
    const char *query;
    const char *answer;
};

static void check_rows(struct query_fixture *f, const struct row *rows, size_t count)
{
    for (int naive = 0; naive < 2; naive++) {
        f->naive = naive != 0;
        for (size_t i = 0; i < count; i++) {
            char *answer = query_fixture_run(f, rows[i].query);

            if (strcmp(answer, rows[i].answer) != 0) {
                print_error("%s\n  gives %s\n  not   %s\n", rows[i].query, answer, rows[i].answer);
            }
            assert_string_equal(answer, rows[i].answer);
            free(answer);
        }
    }
    f->naive = false;
}

static void check_update(struct query_fixture *f, const char *query, const char *answer)
{
    char *got = query_fixture_update(f, query);

    if (strcmp(got, answer) != 0) {
        print_error("%s\n  gives %s\n  not   %s\n", query, got, answer);
    }
    assert_string_equal(got, answer);
    free(got);
}

static const char first[] = "{\"users\":[{\"name\":\"Ann\",\"age\":31,\"tags\":[\"x\",\"y\"]},"
                            "{\"name\":\"Bo\",\"age\":25,\"d\":1.10},"
                            "{\"name\":\"C\\\"y\\u0001\",\"age\":1e3}],"
                            "\"big\":12345678901234567890123}";

static void values_of_the_store_come_back_as_they_were_put(void **state)
{
    static const struct row rows[] = {
        {"$$.users[1].d", "1.10"},
        {"$$.users[1].d eq 1.1", "true"},
        {"$$.users[2].name", "\"C\\\"y\\u0001\""},
        {"string-length($$.users[2].name)", "4"},
        {"$$.users[2].age eq 1000", "true"},
        {"$$.big + 1", "12345678901234567890124"},
        {"$$.users[-1].name", "\"C\\\"y\\u0001\""},
        {"$$.users[7]", ""},
        {"$$.nope.x", ""},
        {"count($$.users[])", "3"},
        {"$$=>>name", "\"Ann\"\n\"Bo\"\n\"C\\\"y\\u0001\""},
        {"count($$=>>age)", "3"},
        {"$$.users[][?$$.age gt 30].name", "\"Ann\"\n\"C\\\"y\\u0001\""},
        {"$$.users[][$$.age lt 30]{name,d}", "{\"name\":\"Bo\",\"d\":1.10}"},
        {"{\"first\":$$.users[0],\"n\":count($$.users[])}",
         "{\"first\":{\"name\":\"Ann\",\"age\":31,\"tags\":[\"x\",\"y\"]},\"n\":3}"},
        {"$$.users[0].tags[]", "\"x\"\n\"y\""},
        {"keys($$.users[1])", "\"name\"\n\"age\"\n\"d\""},
        {"for $u in $$.users[] order by $u.age descending return $u.age", "1000\n31\n25"},
        {"deep-equal($$.users[0].tags, [\"x\",\"y\"])", "true"},
        {"sdb:path($$.users[1].d)", "\"/users/[1]/d\""},
        {"sdb:child-count($$.users)", "3"},
        {"sdb:descendant-count($$.users[0])", "5"},
        {"sdb:select-item($$, sdb:nodekey($$.users[1].d))", "1.10"},
        {"sdb:select-item($$, 999999)", ""},
        {"sdb:select-parent($$.users[0].tags)",
         "{\"name\":\"Ann\",\"age\":31,\"tags\":[\"x\",\"y\"]}"},
        {"sdb:select-parent($$)", ""},
        {"sdb:level-order($$.users[0].tags)", "[\"x\",\"y\"]\n\"x\"\n\"y\""},
        {"sdb:level-order($$.users[0], 1)",
         "{\"name\":\"Ann\",\"age\":31,\"tags\":[\"x\",\"y\"]}\n\"Ann\"\n31\n[\"x\",\"y\"]"},
        {"sdb:hash($$.users[0]) eq sdb:hash($$.users[0])", "true"},
        {"sdb:hash($$.users[0]) eq sdb:hash($$.users[1])", "false"},
        {"sdb:nodekey({\"a\":1}.a)", "! XPTY0004"},
        {"sdb:author-name($$)", "\"tester\""},
        {"let $u := $$.users for $n in (\"Bo\",\"Ann\",\"x\",\"Bo\",\"Ann\",()) "
         "return $u[][$$.name eq $n].age",
         "25\n31\n25\n31"},
        {"let $u := $$.users for $n in (25,31,1000,7,25.0,1e3) return $u[][$n = $$.age].name",
         "\"Bo\"\n\"Ann\"\n\"C\\\"y\\u0001\"\n\"Bo\"\n\"C\\\"y\\u0001\""},
        {"let $u := $$.users for $n in 1 to 9 return head($u[][$$.name eq \"Ann\"].tags[0])",
         "\"x\"\n\"x\"\n\"x\"\n\"x\"\n\"x\"\n\"x\"\n\"x\"\n\"x\"\n\"x\""},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", first);
    f.context = "r";
    check_rows(&f, rows, sizeof(rows) / sizeof(rows[0]));
    query_fixture_close(&f);
}

static void a_node_is_found_at_all_its_times(void **state)
{
    static const struct row rows[] = {
        {"jn:doc('db','r').v", "3"},
        {"jn:doc('db','r',1).v", "1"},
        {"jn:doc('db','r',9)", "! out_of_range revision_ahead"},
        {"jn:doc('db','r',0)", "! FOCA0002"},
        {"jn:all-times(jn:doc('db','r').v) ! [sdb:revision($$), $$]", "[1,1]\n[2,2]\n[3,3]"},
        {"jn:previous(jn:doc('db','r').v)", "2"},
        {"jn:next(jn:doc('db','r',1).v)", "2"},
        {"jn:next(jn:doc('db','r').v)", ""},
        {"jn:first(jn:doc('db','r').v)", "1"},
        {"jn:last(jn:doc('db','r',1).v)", "3"},
        {"jn:past(jn:doc('db','r').v)", "2\n1"},
        {"jn:past(jn:doc('db','r').v, true())", "3\n2\n1"},
        {"jn:future(jn:doc('db','r',1).v)", "2\n3"},
        {"jn:first-existing(jn:doc('db','r').w) ! sdb:revision($$)", "3"},
        {"jn:last-existing(jn:doc('db','r',2).x) ! sdb:revision($$)", "2"},
        {"sdb:is-deleted(jn:doc('db','r',2).x)", "true"},
        {"sdb:is-deleted(jn:doc('db','r').v)", "false"},
        {"sdb:item-history(jn:doc('db','r').v) ! sdb:revision($$)", "1\n2\n3"},
        {"sdb:most-recent-revision(jn:doc('db','r',1))", "3"},
        {"jn:open('db','r',xs:dateTime('1970-01-01T00:00:00Z'))", ""},
        {"jn:open('db','r',sdb:timestamp(jn:doc('db','r',2))).v", "2"},
        {"jn:open-revisions('db','r',sdb:timestamp(jn:doc('db','r',2)),current-dateTime()).v",
         "2\n3"},
        {"sdb:snapshot('db','r','before').v", "2"},
        {"sdb:snapshots('db','r')", "\"before\""},
        {"sdb:branches('db','r')", "\"main\"\n\"side\""},
        {"sdb:branch('db','r','side').v", "3"},
        {"sdb:branch('db','r','none')", "! not_found branch_unknown"},
        {"for $b in sdb:branches('db','r') return {\"b\":$b,\"v\":sdb:branch('db','r',$b).v}",
         "{\"b\":\"main\",\"v\":3}\n{\"b\":\"side\",\"v\":3}"},
        {"jn:exists-database('db')", "true"},
        {"jn:exists-database('dx')", "false"},
        {"jn:exists-resource('db','r')", "true"},
        {"jn:exists-resource('dx','r')", "false"},
        {"jn:collection('db')[$$ instance of object()].v", "3"},
        {"jn:diff('db','r',1,2).diffs[].update.value", "2"},
        {"jn:diff('db','r',2,2).diffs", "[]"},
        {"jn:doc('db','late',1)", ""},
        {"jn:doc('db','late',2)", "7"},
        {"jn:all-times(jn:doc('db','late')) ! [sdb:revision($$), $$]", "[2,7]"},
        {"jn:first-existing(jn:doc('db','late')) ! sdb:revision($$)", "2"},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", "{\"v\":1,\"x\":0}");
    query_fixture_create(&f, "late");
    query_fixture_put(&f, "late", "7");
    check_update(&f, "replace json value of jn:doc('db','r').v with 2", "changed 1");
    query_fixture_snapshot(&f, "r", "before");
    check_update(&f,
                 "let $d := jn:doc('db','r') return (replace json value of $d.v with 3, "
                 "delete json $d.x, insert json {\"w\":1} into $d)",
                 "changed 1");
    query_fixture_branch(&f, "r", "side");
    check_rows(&f, rows, sizeof(rows) / sizeof(rows[0]));
    query_fixture_close(&f);
}

static void what_is_hidden_answers_as_what_is_not_there(void **state)
{
    static const struct row rows[] = {
        {"jn:doc('db','secret')", "! not_found resource_unknown"},
        {"jn:doc('db','never')", "! not_found resource_unknown"},
        {"jn:doc('dx','never')", "! not_found database_unknown"},
        {"jn:open('db','secret')", "! not_found resource_unknown"},
        {"sdb:branches('db','secret')", "! not_found resource_unknown"},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "secret", "1");
    f.hidden = "secret";
    check_rows(&f, rows, sizeof(rows) / sizeof(rows[0]));
    query_fixture_close(&f);
}

static void updates_see_the_values_as_they_were(void **state)
{
    static const struct {
        const char *before;
        const char *update;
        const char *answer;
        const char *after;
    } rows[] = {
        {"[1,2,3,4]",
         "let $a := jn:doc('db','r') return (insert json 9 into $a at position 1, delete json "
         "$a[0], "
         "replace json value of $a[3] with 8, append json 7 into $a)",
         "changed 1", "[9,2,3,8,7]"},
        {"[1,2,3]", "insert json 9 into jn:doc('db','r') at position 3", "changed 1", "[1,2,3,9]"},
        {"[]", "insert json 1 into jn:doc('db','r') at position 0", "changed 1", "[1]"},
        {"[1]", "insert json 1 into jn:doc('db','r') at position 2", "! JNUP0016", "[1]"},
        {"[1]", "append json (1,2) into jn:doc('db','r')", "changed 1", "[1,[1,2]]"},
        {"{\"a\":1}", "insert json {\"a\":2} into jn:doc('db','r')", "! JNUP0006", "{\"a\":1}"},
        {"{\"a\":1}",
         "let $o := jn:doc('db','r') return (insert json {\"b\":2} into $o, insert json {\"b\":3} "
         "into $o)",
         "! JNUP0005", "{\"a\":1}"},
        {"{\"a\":1}",
         "let $o := jn:doc('db','r') return (replace json value of $o.a with 2, "
         "replace json value of $o.a with 3)",
         "! JNUP0009", "{\"a\":1}"},
        {"{\"a\":1}",
         "let $o := jn:doc('db','r') return (rename json $o.a as \"b\", rename json $o.a as \"c\")",
         "! JNUP0010", "{\"a\":1}"},
        {"{\"a\":1,\"b\":2}",
         "let $o := jn:doc('db','r') return (delete json $o.b, rename json $o.a as \"b\")",
         "changed 1", "{\"b\":1}"},
        {"{\"a\":1}", "delete json jn:doc('db','r').nope", "changed 0", "{\"a\":1}"},
        {"{\"a\":1}", "replace json value of jn:doc('db','r').nope with 1", "! JNUP0016",
         "{\"a\":1}"},
        {"{\"a\":1}", "append json 1 into jn:doc('db','r')", "! JNUP0008", "{\"a\":1}"},
        {"{\"a\":{\"b\":{\"c\":1}}}",
         "let $d := jn:doc('db','r') return (replace json value of $d.a.b.c with 2, "
         "delete json $d.a)",
         "changed 1", "{}"},
        {"{\"x\":1}", "insert json {\"n\":99999999999999999999} into jn:doc('db','r')", "changed 1",
         "{\"x\":1,\"n\":99999999999999999999}"},
        {"[{\"g\":1},{\"g\":2}]",
         "for $o in jn:doc('db','r')[] return replace json value of $o.g with $o.g + 10",
         "changed 1", "[{\"g\":11},{\"g\":12}]"},
        {"[1]", "insert json 1 into jn:doc('db','bare',1)", "! JNUP0008", "[1]"},
        {"{\"a\":1}", "replace json value of jn:doc('db','r').a with 1", "changed 0", "{\"a\":1}"},
        {"[1,2]",
         "delete json sdb:select-item(jn:doc('db','r'), "
         "sdb:nodekey(jn:doc('db','r')[0]))",
         "changed 1", "[2]"},
        {"[1]", "1 + 1", "changed 0", "[1]"},
    };
    char query[] = "jn:doc('db','r')";

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct query_fixture f;

        query_fixture_open(&f, NULL);
        query_fixture_create(&f, "bare");
        query_fixture_put(&f, "r", rows[i].before);
        check_update(&f, rows[i].update, rows[i].answer);
        char *after = query_fixture_run(&f, query);
        assert_string_equal(after, rows[i].after);
        free(after);
        query_fixture_close(&f);
    }
}

enum { ROWS = 2500, NAMES = 300, DEEP_BYTES = 512 * 1024 };

/* Long enough for a walk to ask which paths there are; with more names in one object than these tell. */
static char *deep_document(void)
{
    char *text = malloc(DEEP_BYTES);
    size_t len = 0;

    assert_non_null(text);
    len += (size_t)snprintf(text, DEEP_BYTES, "{\"names\":{");
    for (int i = 0; i < NAMES; i++) {
        len += (size_t)snprintf(text + len, DEEP_BYTES - len, "%s\"n%d\":{\"z\":1}",
                                i == 0 ? "" : ",", i);
    }
    len += (size_t)snprintf(text + len, DEEP_BYTES - len, "},\"rows\":[");
    for (int i = 0; i < ROWS; i++) {
        len +=
            (size_t)snprintf(text + len, DEEP_BYTES - len,
                             "%s{\"k\":{\"no\":[%d]},\"p\":{\"z\":%d,\"q\":{\"z\":[{\"s\":1}]}}}",
                             i == 0 ? "" : ",", i, i);
    }
    len += (size_t)snprintf(text + len, DEEP_BYTES - len, "]}");
    assert_true(len < DEEP_BYTES);
    return text;
}

static void fields_at_any_depth_are_found_whatever_paths_there_are(void **state)
{
    static const struct row before[] = {
        {"count(jn:doc('db','r')=>>z)", "5300"},
        {"count(for $z in jn:doc('db','r')=>>z return $z)", "5300"},
        {"count(for $z in jn:doc('db','r').rows=>>z return $z)", "5000"},
        {"count(jn:doc('db','r').rows[]=>>z)", "5000"},
        {"sum(for $s in jn:doc('db','r')=>>s return $s)", "2500"},
        {"count(for $n in jn:doc('db','r')=>>no[] return $n)", "2500"},
        {"count(jn:doc('db','r')=>>nope), count(for $n in jn:doc('db','r')=>>nope return 1)",
         "0\n0"},
        {"count(for $n in jn:doc('db','r')=>>n299 return $n), count(jn:doc('db','r')=>>n299)",
         "1\n1"},
    };
    static const struct row after[] = {
        {"count(jn:doc('db','r')=>>z)", "5299"},
        {"count(for $z in jn:doc('db','r')=>>z return $z)", "5299"},
        {"sum(for $s in jn:doc('db','r').rows=>>s return $s)", "2498"},
        {"count(jn:doc('db','r')=>>nope), count(for $n in jn:doc('db','r')=>>nope return 1)",
         "1\n1"},
        {"count(jn:doc('db','r')=>>y), jn:doc('db','r')=>>y", "1\n{\"z\":7}"},
    };
    char *text = deep_document();
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", text);
    check_rows(&f, before, sizeof(before) / sizeof(before[0]));
    check_update(&f,
                 "let $d := jn:doc('db','r') return (delete json $d.rows[0], "
                 "replace json value of $d.rows[1].p with {\"z\":7}, "
                 "rename json $d.rows[1].p as \"y\", "
                 "insert json {\"deep\":[{\"nope\":{\"z\":1}},{\"z\":2}]} into $d.rows[2].k)",
                 "changed 1");
    check_rows(&f, after, sizeof(after) / sizeof(after[0]));
    query_fixture_close(&f);
    free(text);
}

static void several_resources_change_in_one_commit(void **state)
{
    static const struct row rows[] = {
        {"jn:doc('db','r').n", "2"},
        {"jn:doc('db','s').n", "1"},
        {"sdb:timestamp(jn:doc('db','r')) eq sdb:timestamp(jn:doc('db','r'))", "true"},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", "{\"n\":1}");
    query_fixture_put(&f, "s", "{\"n\":2}");
    check_update(&f,
                 "let $r := jn:doc('db','r'), $s := jn:doc('db','s') return "
                 "(replace json value of $r.n with $s.n, replace json value of $s.n with $r.n)",
                 "changed 2");
    check_rows(&f, rows, sizeof(rows) / sizeof(rows[0]));
    /* What is old is not changed behind what came later. */
    check_update(&f, "replace json value of jn:doc('db','r',1).n with 5", "! precondition none");
    query_fixture_close(&f);
}

static void reading_never_updates(void **state)
{
    static const struct row rows[] = {
        {"replace json value of jn:doc('db','r').n with 2", "! XUST0001"},
        {"declare updating function local:f() { delete json jn:doc('db','r').n }; local:f()",
         "! XUST0001"},
        {"copy $c := jn:doc('db','r') modify replace json value of $c.n with 2 return $c",
         "{\"n\":2}"},
        {"copy $c := {} modify delete json jn:doc('db','r').n return $c", "! XUDY0014"},
        {"jn:doc('db','r')", "{\"n\":1}"},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", "{\"n\":1}");
    check_rows(&f, rows, sizeof(rows) / sizeof(rows[0]));
    query_fixture_close(&f);
}

/* Takes a page of two items: skips, reads at the pinned revisions, tells the pins. */
static void check_page(struct query_fixture *f, uint64_t skip, const struct sirix_query_pin *pin,
                       const char *expected)
{
    const struct sirix_query_item *items = NULL;
    struct sirix_query_options options;
    struct sirix_query *query = NULL;
    struct sirix_query_error err = {0};
    char got[64] = "";
    size_t count = 0;
    size_t pins = 0;
    bool done = false;

    query_fixture_options(f, "jn:doc('db','r')[]", &options);
    options.pins = pin;
    options.pin_count = pin == NULL ? 0 : 1;
    assert_int_equal(sirix_query_prepare(&options, &query, &err), SIRIX_OK);
    sirix_query_skip(query, skip);
    assert_int_equal(sirix_query_next(query, 2, 0, &items, &count, &done, &err), SIRIX_OK);
    for (size_t i = 0; i < count; i++) {
        (void)strncat(got, items[i].text.data, items[i].text.len);
    }
    assert_string_equal(got, expected);
    const struct sirix_query_pin *told = sirix_query_pins(query, &pins);
    assert_int_equal(pins, 1);
    assert_int_equal(told[0].revision, 1);
    sirix_query_close(query);
}

static void a_later_page_reads_what_the_first_one_read(void **state)
{
    const struct sirix_query_pin pin = {
        .database = {.data = "db", .len = 2}, .resource = {.data = "r", .len = 1}, .revision = 1};
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", "[1,2,3]");
    check_page(&f, 0, NULL, "12");
    check_update(&f, "append json 4 into jn:doc('db','r')", "changed 1");
    check_page(&f, 2, &pin, "3");
    query_fixture_close(&f);
}

struct late_page {
    const char *query;
    uint64_t skip;
    const char *items;
    bool sought; /* Without passing what comes before. */
};

static void a_late_page_begins_where_it_begins(void **state)
{
    enum { MEMBERS = 50000, BYTES = MEMBERS * 6 + 64 };
    static const struct late_page pages[] = {
        {"jn:doc('db','r').a[]", 49998, "49998 49999", true},
        {"jn:doc('db','r').a[]", 60000, "", true},
        {"jn:doc('db','r').a[], jn:doc('db','r').b[]", 50001, "8 9", true},
        {"jn:doc('db','r').a[], 5, jn:doc('db','r').b[]", 50001, "7 8", true},
        {"jn:doc('db','r').l[][]", 3, "4 5", true},
        {"for $x in jn:doc('db','r').a[] return $x", 49997, "49997 49998", true},
        {"for $x at $i in jn:doc('db','r').a let $y := $x return $i || '/' || $y", 49998,
         "49999/49998 50000/49999", true},
        {"for $x in jn:doc('db','r').a[] where $x mod 2 eq 0 return $x", 3, "6 8", false},
        {"for $x in jn:doc('db','r').b[] return ($x, $x)", 1, "7 8", false},
        {"for $x in jn:doc('db','r').b[] order by $x descending return $x", 1, "8 7", false},
        {"jn:doc('db','r').b[][$$ gt 7]", 1, "9", false},
    };
    char *text = malloc(BYTES);
    struct query_fixture f;
    size_t len = 0;

    (void)state;
    assert_non_null(text);
    len += (size_t)snprintf(text, BYTES, "{\"b\":[7,8,9],\"l\":[[1,2],[3,4],[5]],\"a\":[");
    for (int i = 0; i < MEMBERS; i++) {
        len += (size_t)snprintf(text + len, BYTES - len, "%s%d", i == 0 ? "" : ",", i);
    }
    (void)snprintf(text + len, BYTES - len, "]}");
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", text);
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        const struct sirix_query_item *items = NULL;
        struct sirix_query_options options;
        struct sirix_query *query = NULL;
        struct sirix_query_error err = {0};
        struct sirix_buf got;
        size_t count = 0;
        bool done = false;

        sirix_buf_init(&got, SIZE_MAX);
        f.limits.items_visited = pages[i].sought ? 10000 : 0;
        query_fixture_options(&f, pages[i].query, &options);
        assert_int_equal(sirix_query_prepare(&options, &query, &err), SIRIX_OK);
        sirix_query_skip(query, pages[i].skip);
        if (sirix_query_next(query, 2, 0, &items, &count, &done, &err) != SIRIX_OK) {
            fail_msg("%s: %s", pages[i].query, err.base.text);
        }
        for (size_t c = 0; c < count; c++) {
            assert_int_equal(sirix_buf_append_str(&got, c == 0 ? "" : " ", NULL), SIRIX_OK);
            assert_int_equal(sirix_buf_append_bytes(&got, items[c].text, NULL), SIRIX_OK);
        }
        assert_int_equal(sirix_buf_append_u8(&got, '\0', NULL), SIRIX_OK);
        if (strcmp((const char *)got.data, pages[i].items) != 0) {
            print_error("%s\n  gives %s\n", pages[i].query, (const char *)got.data);
        }
        assert_string_equal((const char *)got.data, pages[i].items);
        sirix_buf_deinit(&got);
        sirix_query_close(query);
    }
    query_fixture_close(&f);
    free(text);
}

static void a_commit_on_a_head_that_moved_is_a_conflict(void **state)
{
    const struct sirix_edit_commit commit = {.author = {.data = "t", .len = 1}};
    const struct sirix_query_touched *touched = NULL;
    struct sirix_query_committed committed[1];
    struct sirix_query_options options;
    struct sirix_query *query = NULL;
    struct sirix_query_error err = {0};
    struct query_fixture f;
    size_t count = 0;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", "[1]");
    query_fixture_options(&f, "append json 2 into jn:doc('db','r')", &options);
    options.updating = true;
    assert_int_equal(sirix_query_prepare(&options, &query, &err), SIRIX_OK);
    assert_int_equal(sirix_query_evaluate(query, &touched, &count, &err), SIRIX_OK);
    assert_int_equal(count, 1);
    assert_int_equal(touched[0].revision, 1);
    assert_int_equal(touched[0].branch.len, 4);
    check_update(&f, "append json 3 into jn:doc('db','r')", "changed 1");
    assert_int_equal(sirix_query_commit(query, &commit, committed, &err), SIRIX_CONFLICT);
    assert_int_equal(err.base.reason, SIRIX_REASON_REVISION_MOVED);
    sirix_query_close(query);
    query_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_the_store_come_back_as_they_were_put),
        cmocka_unit_test(a_node_is_found_at_all_its_times),
        cmocka_unit_test(what_is_hidden_answers_as_what_is_not_there),
        cmocka_unit_test(updates_see_the_values_as_they_were),
        cmocka_unit_test(fields_at_any_depth_are_found_whatever_paths_there_are),
        cmocka_unit_test(several_resources_change_in_one_commit),
        cmocka_unit_test(reading_never_updates),
        cmocka_unit_test(a_later_page_reads_what_the_first_one_read),
        cmocka_unit_test(a_late_page_begins_where_it_begins),
        cmocka_unit_test(a_commit_on_a_head_that_moved_is_a_conflict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
