/*
 * Time: views as of then, and branches whose time runs out. The clock stands still but where a step moves it,
 * so that nothing expires in the middle of one; the store sets its events apart all the same.
 */
#include <inttypes.h>

#include "model/operation.h"

enum { MOMENT_LIVES_US = 1000, SECOND_US = 1000000 };

static int64_t realtime_us(void *context)
{
    return atomic_load(&((struct trial *)context)->now_us);
}

static uint64_t monotonic_ns(void *context)
{
    (void)context;
    return sirix_clock_monotonic_ns(sirix_clock_system());
}

void trial_clock_start(struct trial *trial)
{
    atomic_store(&trial->now_us, INT64_C(1700000000000000));
    trial->clock = (struct sirix_clock){
        .realtime_us = realtime_us, .monotonic_ns = monotonic_ns, .context = trial};
}

int64_t trial_any_expiry(struct trial *trial)
{
    /* Never on a millisecond, where the clock stands, nor within the store's microseconds behind it. */
    return trial_random(trial, 3) != 0 ? 0
                                       : atomic_load(&trial->now_us) + SECOND_US +
                                             (int64_t)trial_random(trial, 1000) * 1000 + 500;
}

/* --- As of then ------------------------------------------------------------------------------------ */

void trial_note_moment(struct trial *trial, const struct trial_branch *branch, uint64_t revision,
                       uint64_t before)
{
    enum { MAX = sizeof(trial->moments) / sizeof(trial->moments[0]) };
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = revision};
    struct trial_moment *moment = &trial->moments[trial_random(trial, MAX)];
    struct sirix_view view;

    if (trial->moment_count < MAX) {
        moment = &trial->moments[trial->moment_count++];
    }
    trial_open_view(trial, &spec, &view);
    *moment = (struct trial_moment){.life = branch->life,
                                    .time_us = view.record.time_us,
                                    .revision = revision,
                                    .before = before};
    (void)strcpy(moment->name, branch->name);
    sirix_view_close(&view);
}

static void check_at(struct trial *trial, const char *name, int64_t time_us, uint64_t revision)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH,
                                         .name = operation_bytes(name),
                                         .has_time = true,
                                         .time_us = time_us};
    struct sirix_view view;

    trial_open_view(trial, &spec, &view);
    MODEL_CHECK(view.record.revision == revision,
                "branch %s at %" PRId64 " is revision %" PRIu64 ", not %" PRIu64, name, time_us,
                view.record.revision, revision);
    sirix_view_close(&view);
}

/* A branch was at the revision when that was made, and a microsecond before at the one before. */
static void check_moment(struct trial *trial, const struct trial_moment *moment)
{
    check_at(trial, moment->name, moment->time_us, moment->revision);
    check_at(trial, moment->name, moment->time_us - 1, moment->before);
}

void trial_check_moments(struct trial *trial)
{
    for (size_t i = 0; i < trial->moment_count; i++) {
        check_moment(trial, &trial->moments[i]);
    }
}

/* --- Time that passes ------------------------------------------------------------------------------ */

/* Of a branch that expired nothing can be asked any more. */
static void forget_life(struct trial *trial, uint64_t life)
{
    for (size_t i = trial->moment_count; i-- > 0;) {
        if (trial->moments[i].life == life) {
            trial->moments[i] = trial->moments[--trial->moment_count];
        }
    }
}

static enum sirix_status view_of(struct trial *trial, const char *name, struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = operation_bytes(name)};
    struct sirix_view view;

    sirix_reader_yield(trial->reader);
    enum sirix_status status = sirix_view_open(trial->resource, trial->reader, &spec, &view, err);
    if (status == SIRIX_OK) {
        sirix_view_close(&view);
    }
    return status;
}

static void sweep(struct trial *trial)
{
    uint32_t swept = 0;
    bool more = true;

    while (more) {
        struct sirix_error err = {0};

        if (trial_is_done(trial, sirix_branch_sweep(trial->database, 3, &swept, &more, &err), &err,
                          "sweep")) {
            trial_say(trial, "%u branches are swept", swept);
        } else {
            more = true;
            (void)trial_settle(trial);
        }
    }
}

/* Removes those whose time is over from the model; the store refuses them at once, swept or not. */
static void expire(struct trial *trial)
{
    char names[TRIAL_BRANCHES_MAX][sizeof(trial->branches[0].name)];
    size_t count = 0;

    for (size_t i = trial->branch_count; i-- > 0;) {
        struct trial_branch *branch = &trial->branches[i];
        struct sirix_error err = {0};

        if (branch->expires_us != 0 && branch->expires_us <= atomic_load(&trial->now_us)) {
            operation_must_be(view_of(trial, branch->name, &err), SIRIX_PRECONDITION, &err,
                              "a view of a branch that expired");
            MODEL_CHECK(err.reason == SIRIX_REASON_BRANCH_EXPIRED, "%s", err.text);
            (void)strcpy(names[count++], branch->name);
            forget_life(trial, branch->life);
            model_free(branch->root);
            *branch = trial->branches[--trial->branch_count];
        }
    }
    sweep(trial);
    for (size_t i = 0; i < count; i++) {
        struct sirix_error err = {0};

        operation_must_be(view_of(trial, names[i], &err), SIRIX_NOT_FOUND, &err,
                          "a view of a branch that was swept");
    }
}

void trial_time_step(struct trial *trial)
{
    if (trial_random(trial, 2) == 0) {
        int64_t step_us = trial_random(trial, 2) == 0 ? MOMENT_LIVES_US : 3 * SECOND_US / 2;

        trial_say(trial, "%" PRId64 " ms pass", step_us / 1000);
        (void)atomic_fetch_add(&trial->now_us, step_us);
        expire(trial);
    } else if (trial->moment_count != 0) {
        check_moment(trial, &trial->moments[trial_random(trial, trial->moment_count)]);
    }
}

/* --- A head that moves meanwhile ------------------------------------------------------------------- */

/* Begins an edit of one value at the end of the document; NULL: it is no container. */
static struct sirix_edit *begin_one(struct trial *trial, struct trial_branch *branch,
                                    struct sirix_view *view, const char *name, const char *text,
                                    struct model_node **out_node)
{
    const struct sirix_bytes member = operation_bytes(name);
    const struct sirix_edit_insert insert = {.target = 1,
                                             .place = SIRIX_PLACE_LAST_CHILD,
                                             .name = branch->root->kind == MODEL_OBJECT ? &member
                                                                                        : NULL};
    struct sirix_edit_result result = {0};
    struct sirix_edit *edit = NULL;
    struct sirix_error err = {0};

    trial_open_branch(trial, branch, view);
    operation_must(sirix_edit_new(view, trial->reader, &edit, &err), &err, "edit");
    operation_must(sirix_edit_insert(edit, &insert, operation_bytes(text), &result, &err), &err,
                   "insert");
    *out_node = model_parse(text);
    (*out_node)->key = result.key;
    operation_set_name(*out_node, insert.name == NULL ? NULL : name);
    trial->edit = edit;
    operation_learn_children(trial, *out_node);
    trial->edit = NULL;
    return edit;
}

/* An edit and what it began with. */
struct waiting {
    struct sirix_edit *edit;
    struct sirix_view view;
};

static void drop_waiting(struct waiting *waiting)
{
    sirix_edit_free(waiting->edit);
    waiting->edit = NULL;
    sirix_view_close(&waiting->view);
}

/*
 * Commits it; the model gets the node at the end of the branch's document. Takes all over. When the
 * answer is lost, `other` (or NULL) is dropped: the database has to be opened again.
 */
static void commit_one(struct trial *trial, struct trial_branch *branch, struct sirix_edit *edit,
                       struct sirix_view *view, struct model_node *node, struct waiting *other)
{
    const struct sirix_edit_commit commit = {.author = operation_bytes("me")};
    struct model_node *root = model_copy(branch->root);
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    bool changed = false;

    sirix_reader_yield(trial->reader);
    bool done = trial_is_done(trial, sirix_edit_commit(edit, &commit, &published, &changed, &err),
                              &err, "commit");

    sirix_edit_free(edit);
    sirix_view_close(view);
    if (trial->unknown && other != NULL) {
        drop_waiting(other);
    }
    model_insert(root, root->count, node);
    trial_note_write(trial, branch, done && changed, published.revision, root);
    model_free(root);
}

void trial_rebase_step(struct trial *trial)
{
    struct trial_branch *branch = trial_any_branch(trial);
    struct model_node *late = NULL;
    struct model_node *early = NULL;
    struct sirix_error err = {0};
    struct waiting first = {0};
    struct sirix_view view;
    struct sirix_view head;

    if (branch->root == NULL || branch->root->kind == MODEL_SCALAR ||
        (branch->root->kind == MODEL_OBJECT && (model_member(branch->root, "late") != NULL ||
                                                model_member(branch->root, "early") != NULL))) {
        return;
    }
    trial_say(trial, "two inserts into %s at revision %" PRIu64, branch->name, branch->head);
    first.edit = begin_one(trial, branch, &first.view, "late", "[5,{\"x\":null}]", &late);
    struct sirix_edit *other = begin_one(trial, branch, &view, "early", "\"first\"", &early);

    commit_one(trial, branch, other, &view, early, &first);
    if (first.edit == NULL) {
        model_free(late);
        return;
    }
    trial_open_branch(trial, branch, &head);
    operation_must(sirix_edit_rebase(first.edit, &head, &err), &err, "rebase");
    sirix_view_close(&first.view);
    commit_one(trial, branch, first.edit, &head, late, NULL);
}
