/*
 * The graph of revisions against a naive model: random commits, branches, labels, promotes, reverts and
 * deletions with a clock that jumps about; then every revision, every head at every time, every pair of
 * ancestors, and what node histories say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/revision/support.h"

enum {
    OPERATIONS = 600,
    REVISIONS_MAX = OPERATIONS + 2,
    BRANCHES_MAX = 24, /* Names b0.. in use at the same time and one after the other. */
    EVENTS_MAX = 3 * OPERATIONS,
};

struct model_revision {
    uint64_t parent;
    int64_t value;
    int64_t time_us;
    uint64_t branch;
    bool revert;
};

/* Which revision a name pointed to from a time on; revision 0: it was not there. */
struct model_event {
    int name; /* 0: main. */
    int64_t from_us;
    uint64_t revision;
};

struct model {
    struct test_rev f;
    struct model_revision revisions[REVISIONS_MAX];
    uint64_t newest;
    uint64_t heads[BRANCHES_MAX]; /* 0: no such branch. */
    uint64_t labels[BRANCHES_MAX];
    struct model_event events[EVENTS_MAX];
    size_t event_count;
    int64_t last_us;
};

static const char *branch_name(int name, char text[16])
{
    if (name == 0) {
        return "main";
    }
    (void)snprintf(text, 16, "b%d", name);
    return text;
}

static const char *label_name(int name, char text[16])
{
    (void)snprintf(text, 16, "L%d", name);
    return text;
}

static void add_event(struct model *m, int name, int64_t from_us, uint64_t revision)
{
    m->events[m->event_count++] =
        (struct model_event){.name = name, .from_us = from_us, .revision = revision};
}

/* The time of an event that tells none of its own: the resource's last time. */
static int64_t last_time(struct model *m)
{
    const struct sirix_rows_key key = sirix_rows_key_counters(sirix_resource_id(m->f.resource));
    struct sirix_counters_row row;
    struct sirix_bytes value = {0};

    sirix_reader_yield(m->f.reader);
    assert_int_equal(sirix_ref_get(m->f.reader, sirix_rows_key_view(&key), &value, NULL), SIRIX_OK);
    assert_int_equal(sirix_rows_counters_decode(value, &row, NULL), SIRIX_OK);
    assert_true(row.last_time_us >= m->last_us);
    m->last_us = row.last_time_us;
    return row.last_time_us;
}

static int some_branch(struct model *m)
{
    int name = (int)test_rev_random(&m->f, BRANCHES_MAX);

    while (m->heads[name] == 0) {
        name = (name + 1) % BRANCHES_MAX;
    }
    return name;
}

static void note_revision(struct model *m, int name, const struct sirix_published *published,
                          int64_t value, bool revert)
{
    assert_int_equal(published->revision, m->newest + 1);
    assert_int_equal(published->parent_revision, m->heads[name]);
    assert_true(published->time_us > m->last_us);
    m->newest++;
    m->last_us = published->time_us;
    m->revisions[m->newest] = (struct model_revision){
        .parent = m->heads[name],
        .value = value,
        .time_us = published->time_us,
        .branch = (uint64_t)name,
        .revert = revert,
    };
    m->heads[name] = m->newest;
    add_event(m, name, published->time_us, m->newest);
}

static void do_commit(struct model *m, int name)
{
    char text[16];
    int64_t value = (int64_t)test_rev_random(&m->f, 3); /* Equal values happen. */
    struct sirix_published published = test_set(&m->f, branch_name(name, text), value);

    note_revision(m, name, &published, value, false);
}

static void do_revert(struct model *m, int name)
{
    char text[16];
    uint64_t source = 1 + test_rev_random(&m->f, m->newest);
    struct sirix_published published;
    struct sirix_view head;
    struct sirix_view old;

    assert_int_equal(test_view_branch(&m->f, branch_name(name, text), &head, NULL), SIRIX_OK);
    assert_int_equal(test_view_revision(&m->f, source, &old, NULL), SIRIX_OK);
    assert_int_equal(
        sirix_revert(&head, &old, test_name("x"), test_name("revert"), NULL, &published, NULL),
        SIRIX_OK);
    sirix_view_close(&head);
    sirix_view_close(&old);
    note_revision(m, name, &published, m->revisions[source].value, true);
}

static void do_branch(struct model *m, int name)
{
    char text[16];
    struct sirix_branch_info info;
    struct sirix_view view;
    uint64_t base = 1 + test_rev_random(&m->f, m->newest);

    assert_int_equal(test_view_revision(&m->f, base, &view, NULL), SIRIX_OK);
    enum sirix_status status =
        sirix_branch_create(&view, test_name(branch_name(name, text)), 0, &info, NULL);
    sirix_view_close(&view);
    if (m->heads[name] != 0) {
        assert_int_equal(status, SIRIX_ALREADY_EXISTS);
        return;
    }
    assert_int_equal(status, SIRIX_OK);
    m->heads[name] = base;
    add_event(m, name, info.created_us, base);
    (void)last_time(m);
}

static void do_delete(struct model *m, int name)
{
    char text[16];
    enum sirix_status status =
        sirix_branch_delete(m->f.resource, test_name(branch_name(name, text)), NULL);

    if (name == 0) {
        assert_int_equal(status, SIRIX_INVALID);
        return;
    }
    assert_int_equal(status, SIRIX_OK);
    m->heads[name] = 0;
    add_event(m, name, last_time(m), 0);
}

static bool is_ancestor(const struct model *m, uint64_t ancestor, uint64_t descendant)
{
    while (descendant > ancestor) {
        descendant = m->revisions[descendant].parent;
    }
    return descendant == ancestor;
}

static void do_promote(struct model *m, int source, int target)
{
    char from[16];
    char to[16];
    struct sirix_promoted promoted;
    bool replace = test_rev_random(&m->f, 3) == 0;
    bool forward = is_ancestor(m, m->heads[target], m->heads[source]);
    enum sirix_status status =
        sirix_branch_promote(m->f.resource, test_name(branch_name(source, from)),
                             test_name(branch_name(target, to)), replace, &promoted, NULL);

    if (!forward && !replace) {
        assert_int_equal(status, SIRIX_PRECONDITION);
        return;
    }
    assert_int_equal(status, SIRIX_OK);
    assert_int_equal(promoted.previous_revision, m->heads[target]);
    assert_int_equal(promoted.revision, m->heads[source]);
    assert_int_equal(promoted.fast_forward, forward);
    if (m->heads[target] != m->heads[source]) {
        m->heads[target] = m->heads[source];
        add_event(m, target, last_time(m), m->heads[target]);
    }
}

static void do_label(struct model *m)
{
    char text[16];
    int name = (int)test_rev_random(&m->f, BRANCHES_MAX);
    uint64_t revision = 1 + test_rev_random(&m->f, m->newest);
    struct sirix_snapshot_created created;
    struct sirix_view view;

    if (m->labels[name] != 0 && test_rev_random(&m->f, 2) == 0) {
        assert_int_equal(
            sirix_snapshot_delete(m->f.resource, test_name(label_name(name, text)), NULL),
            SIRIX_OK);
        m->labels[name] = 0;
        return;
    }
    assert_int_equal(test_view_revision(&m->f, revision, &view, NULL), SIRIX_OK);
    assert_int_equal(
        sirix_snapshot_create(&view, test_name(label_name(name, text)), true, &created, NULL),
        SIRIX_OK);
    assert_int_equal(created.previous_revision, m->labels[name]);
    m->labels[name] = revision;
    sirix_view_close(&view);
}

static void do_something(struct model *m)
{
    if (test_rev_random(&m->f, 20) == 0) {
        atomic_fetch_sub(&m->f.now_us, 5000); /* The clock is set back. */
    } else if (test_rev_random(&m->f, 5) == 0) {
        atomic_fetch_add(&m->f.now_us, 300);
    }
    switch (test_rev_random(&m->f, 10)) {
    case 0:
        do_branch(m, (int)test_rev_random(&m->f, BRANCHES_MAX - 1) + 1);
        break;
    case 1:
        do_delete(m, some_branch(m));
        break;
    case 2:
        do_promote(m, some_branch(m), some_branch(m));
        break;
    case 3:
        do_revert(m, some_branch(m));
        break;
    case 4:
        do_label(m);
        break;
    default:
        do_commit(m, some_branch(m));
        break;
    }
}

/* --- Checks --------------------------------------------------------------------------------------- */

static uint64_t model_at(const struct model *m, int name, int64_t time_us)
{
    uint64_t revision = 0;

    for (size_t i = 0; i < m->event_count; i++) {
        if (m->events[i].name == name && m->events[i].from_us <= time_us) {
            revision = m->events[i].revision;
        }
    }
    return revision;
}

static void check_at(struct model *m, int name, int64_t time_us)
{
    char text[16];
    struct sirix_view view;
    uint64_t expected = model_at(m, name, time_us);
    enum sirix_status status = test_view_at(&m->f, branch_name(name, text), time_us, &view, NULL);

    if (expected == 0) {
        assert_int_equal(status, SIRIX_NOT_FOUND);
        return;
    }
    assert_int_equal(status, SIRIX_OK);
    if (view.record.revision != expected) {
        fail_msg("branch %s as of %lld: revision %llu, not %llu", branch_name(name, text),
                 (long long)time_us, (unsigned long long)view.record.revision,
                 (unsigned long long)expected);
    }
    sirix_view_close(&view);
}

static void check_times(struct model *m)
{
    for (size_t i = 0; i < m->event_count; i++) {
        int64_t time_us = m->events[i].from_us;
        int other = (int)test_rev_random(&m->f, BRANCHES_MAX);

        check_at(m, m->events[i].name, time_us);
        check_at(m, m->events[i].name, time_us - 1);
        check_at(m, 0, time_us);
        check_at(m, other, time_us);
    }
}

static void check_revisions(struct model *m)
{
    struct sirix_view view;
    struct sirix_view parent;

    for (uint64_t r = 1; r <= m->newest; r++) {
        assert_int_equal(test_view_revision(&m->f, r, &view, NULL), SIRIX_OK);
        assert_int_equal(test_value(&m->f, &view), m->revisions[r].value);
        assert_int_equal(view.record.parent_revision, m->revisions[r].parent);
        assert_int_equal(view.record.time_us, m->revisions[r].time_us);
        if (r > 1) {
            assert_int_equal(sirix_view_open_parent(&view, m->f.reader, &parent, NULL), SIRIX_OK);
            assert_int_equal(parent.record.revision, m->revisions[r].parent);
            sirix_view_close(&parent);
        } else {
            assert_int_equal(sirix_view_open_parent(&view, m->f.reader, &parent, NULL),
                             SIRIX_NOT_FOUND);
        }
        sirix_view_close(&view);
    }
}

static void check_ancestry(struct model *m)
{
    for (int i = 0; i < 400; i++) {
        struct sirix_view a;
        struct sirix_view b;
        bool is = false;
        uint64_t base = 0;
        uint64_t address = 0;
        uint64_t ra = 1 + test_rev_random(&m->f, m->newest);
        uint64_t rb = 1 + test_rev_random(&m->f, m->newest);
        uint64_t expected = ra;

        assert_int_equal(test_view_revision(&m->f, ra, &a, NULL), SIRIX_OK);
        assert_int_equal(test_view_revision(&m->f, rb, &b, NULL), SIRIX_OK);
        assert_int_equal(sirix_view_is_ancestor(m->f.reader, &a, &b, &is, NULL), SIRIX_OK);
        assert_int_equal(is, is_ancestor(m, ra, rb));
        while (!is_ancestor(m, expected, rb)) {
            expected = m->revisions[expected].parent;
        }
        assert_int_equal(sirix_view_merge_base(m->f.reader, &a, &b, &base, &address, NULL),
                         SIRIX_OK);
        assert_int_equal(base, expected);
        sirix_view_close(&a);
        sirix_view_close(&b);
    }
}

/* --- Histories ------------------------------------------------------------------------------------- */

struct history {
    struct test_rev *f;
    uint64_t revisions[REVISIONS_MAX];
    bool deleted[REVISIONS_MAX];
    size_t count;
};

static enum sirix_status take_record(void *context, const struct sirix_record *record,
                                     uint64_t address, bool *stop, struct sirix_error *err)
{
    struct history *history = context;

    (void)address;
    (void)stop;
    (void)err;
    history->revisions[history->count++] = record->revision;
    sirix_reader_yield(history->f->reader); /* Allowed here. */
    return SIRIX_OK;
}

static enum sirix_status take_node(void *context, const struct sirix_record *record,
                                   uint64_t address, bool deleted, bool *stop,
                                   struct sirix_error *err)
{
    struct history *history = context;

    history->deleted[history->count] = deleted;
    return take_record(context, record, address, stop, err);
}

static void check_histories(struct model *m)
{
    static struct history history;

    for (int name = 0; name < BRANCHES_MAX; name++) {
        char text[16];
        struct sirix_view view;
        uint64_t revision = m->heads[name];

        if (revision == 0) {
            continue;
        }
        assert_int_equal(test_view_branch(&m->f, branch_name(name, text), &view, NULL), SIRIX_OK);
        history = (struct history){.f = &m->f};
        assert_int_equal(sirix_view_history(&view, m->f.reader, take_record, &history, NULL),
                         SIRIX_OK);
        for (size_t i = 0; i < history.count; i++) {
            assert_int_equal(history.revisions[i], revision);
            revision = m->revisions[revision].parent;
        }
        assert_int_equal(revision, 0);

        history = (struct history){.f = &m->f};
        assert_int_equal(sirix_view_node_history(&view, m->f.reader, 1, take_node, &history, NULL),
                         SIRIX_OK);
        size_t at = 0;
        for (uint64_t r = m->heads[name]; r != 0; r = m->revisions[r].parent) {
            int64_t now = m->revisions[r].value;
            uint64_t parent = m->revisions[r].parent;

            if (now != (parent == 0 ? INT64_MIN : m->revisions[parent].value)) {
                assert_true(at < history.count);
                assert_int_equal(history.revisions[at], r);
                assert_int_equal(history.deleted[at], now == INT64_MIN);
                at++;
            }
        }
        assert_int_equal(at, history.count);
        sirix_view_close(&view);
    }
}

static void check_labels(struct model *m)
{
    struct sirix_resource_info info;
    uint64_t branches = 0;
    uint64_t labels = 0;

    for (int name = 0; name < BRANCHES_MAX; name++) {
        char text[16];
        struct sirix_view view;
        enum sirix_status status = test_view_branch(&m->f, branch_name(name, text), &view, NULL);

        assert_int_equal(status, m->heads[name] != 0 ? SIRIX_OK : SIRIX_NOT_FOUND);
        if (status == SIRIX_OK) {
            assert_int_equal(view.record.revision, m->heads[name]);
            sirix_view_close(&view);
        }
        status = test_view_snapshot(&m->f, label_name(name, text), &view, NULL);
        assert_int_equal(status, m->labels[name] != 0 ? SIRIX_OK : SIRIX_NOT_FOUND);
        if (status == SIRIX_OK) {
            assert_int_equal(view.record.revision, m->labels[name]);
            sirix_view_close(&view);
        }
        branches += m->heads[name] != 0;
        labels += m->labels[name] != 0;
    }
    assert_int_equal(sirix_resource_info(m->f.resource, &info, NULL), SIRIX_OK);
    assert_int_equal(info.branch_count, branches);
    assert_int_equal(info.snapshot_count, labels);
    assert_int_equal(info.revision_count, m->newest);
    assert_int_equal(info.newest_revision, m->newest);
}

static enum sirix_status no_fault(void *context, struct sirix_bytes resource,
                                  const struct sirix_error *fault, struct sirix_error *err)
{
    (void)context;
    (void)resource;
    (void)err;
    fail_msg("%s", fault->text);
    return SIRIX_OK;
}

static void run_model(uint64_t seed)
{
    static struct model m;
    struct sirix_verify_progress progress;

    print_message("seed %llu\n", (unsigned long long)seed);
    m = (struct model){.newest = 1, .heads = {1}};
    test_rev_open(&m.f, TEST_REV_MEMORY, seed);
    m.last_us = last_time(&m);
    m.revisions[1] = (struct model_revision){.value = INT64_MIN, .time_us = m.last_us};
    add_event(&m, 0, m.last_us, 1);
    for (int i = 0; i < OPERATIONS; i++) {
        do_something(&m);
    }
    check_revisions(&m);
    check_times(&m);
    check_labels(&m);
    check_ancestry(&m);
    check_histories(&m);
    sirix_reader_yield(m.f.reader);
    assert_int_equal(
        sirix_verify(m.f.database, NULL, m.f.reader, no_fault, NULL, NULL, &progress, NULL),
        SIRIX_OK);
    assert_int_equal(progress.revisions, m.newest);
    test_rev_close(&m.f);
}

static void the_graph_of_revisions_is_what_the_model_says(void **state)
{
    const char *given = getenv("SIRIX_TEST_SEED");

    (void)state;
    if (given != NULL) {
        run_model(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= 24; seed++) {
        run_model(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_graph_of_revisions_is_what_the_model_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
