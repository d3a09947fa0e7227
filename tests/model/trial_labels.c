/* Branches and snapshots: made, moved, promoted, deleted; after each the lists are the model's. */
#include <inttypes.h>
#include <stdio.h>

#include "model/operation.h"

enum { BRANCH_NAMES = 6, LABEL_NAMES = 5 };

/* Whether it was done. What the model expects to be refused is refused so. */
static bool was_done(struct trial *trial, enum sirix_status status, enum sirix_status expected,
                     const struct sirix_error *err, const char *what)
{
    if (expected != SIRIX_OK && status == expected) {
        trial_say(trial, "%s: refused: %s", what, err->text);
        return false;
    }
    if (!trial_is_done(trial, status, err, what)) {
        return false;
    }
    MODEL_CHECK(expected == SIRIX_OK, "%s was done, not %s", what, sirix_status_name(expected));
    return true;
}

/* --- Lists ----------------------------------------------------------------------------------------- */

static struct trial_branch *find_branch(struct trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->branch_count; i++) {
        if (strcmp(trial->branches[i].name, name) == 0) {
            return &trial->branches[i];
        }
    }
    return NULL;
}

static struct trial_label *find_label(struct trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->label_count; i++) {
        if (strcmp(trial->labels[i].name, name) == 0) {
            return &trial->labels[i];
        }
    }
    return NULL;
}

/* One name in a list of the store's, and where it is. */
struct place {
    const char *name;
    bool found;
    uint64_t revision;
};

struct listing {
    struct trial *trial;
    struct place *wanted; /* NULL: every name is the model's. */
    char last[16];
    size_t count;
};

static void check_order(struct listing *list, struct sirix_bytes name)
{
    char text[sizeof(list->last)];

    (void)snprintf(text, sizeof(text), "%.*s", (int)name.len, (const char *)name.data);
    /* Branch main is first; the second is compared with nothing. */
    MODEL_CHECK(list->count == 0 || strcmp(list->last, "main") == 0 || strcmp(list->last, text) < 0,
                "%s is listed before %s", list->last, text);
    (void)strcpy(list->last, text);
    list->count++;
}

static enum sirix_status visit_branch(void *context, const struct sirix_branch_info *info,
                                      bool *stop, struct sirix_error *err)
{
    struct listing *list = context;
    const struct trial_branch *branch = NULL;

    (void)stop;
    (void)err;
    check_order(list, info->name);
    if (list->wanted != NULL) {
        if (strcmp(list->last, list->wanted->name) == 0) {
            list->wanted->found = true;
            list->wanted->revision = info->head_revision;
        }
        return SIRIX_OK;
    }
    branch = find_branch(list->trial, list->last);
    MODEL_CHECK(branch != NULL, "branch %s is listed and not there", list->last);
    MODEL_CHECK(info->head_revision == branch->head, "branch %s is listed at %" PRIu64, list->last,
                info->head_revision);
    MODEL_CHECK(strcmp(list->last, "main") == 0 || info->base_revision == branch->base,
                "branch %s is listed with base %" PRIu64, list->last, info->base_revision);
    return SIRIX_OK;
}

static enum sirix_status visit_label(void *context, const struct sirix_snapshot_info *info,
                                     bool *stop, struct sirix_error *err)
{
    struct listing *list = context;
    const struct trial_label *label = NULL;

    (void)stop;
    (void)err;
    check_order(list, info->name);
    if (list->wanted != NULL) {
        if (strcmp(list->last, list->wanted->name) == 0) {
            list->wanted->found = true;
            list->wanted->revision = info->revision;
        }
        return SIRIX_OK;
    }
    label = find_label(list->trial, list->last);
    MODEL_CHECK(label != NULL && info->revision == label->revision,
                "snapshot %s is listed at %" PRIu64, list->last, info->revision);
    return SIRIX_OK;
}

static struct place stored_branch(struct trial *trial, const char *name)
{
    struct place place = {.name = name};
    struct listing list = {.trial = trial, .wanted = &place};
    struct sirix_error err = {0};

    sirix_reader_yield(trial->reader);
    operation_must(sirix_branch_list(trial->resource, trial->reader, (struct sirix_bytes){0},
                                     visit_branch, &list, &err),
                   &err, "list branches");
    return place;
}

static struct place stored_label(struct trial *trial, const char *name)
{
    struct place place = {.name = name};
    struct listing list = {.trial = trial, .wanted = &place};
    struct sirix_error err = {0};

    sirix_reader_yield(trial->reader);
    operation_must(sirix_snapshot_list(trial->resource, trial->reader, (struct sirix_bytes){0},
                                       visit_label, &list, &err),
                   &err, "list snapshots");
    return place;
}

static void check_lists(struct trial *trial)
{
    struct listing branches = {.trial = trial};
    struct listing labels = {.trial = trial};
    struct sirix_error err = {0};

    sirix_reader_yield(trial->reader);
    operation_must(sirix_branch_list(trial->resource, trial->reader, (struct sirix_bytes){0},
                                     visit_branch, &branches, &err),
                   &err, "list branches");
    MODEL_CHECK(branches.count == trial->branch_count, "%zu branches are listed, not %zu",
                branches.count, trial->branch_count);
    operation_must(sirix_snapshot_list(trial->resource, trial->reader, (struct sirix_bytes){0},
                                       visit_label, &labels, &err),
                   &err, "list snapshots");
    MODEL_CHECK(labels.count == trial->label_count, "%zu snapshots are listed, not %zu",
                labels.count, trial->label_count);
}

static void check_view(struct trial *trial, const struct sirix_view_spec *spec, uint64_t revision)
{
    const struct model_node *root = trial_find_revision(trial, revision)->root;
    struct sirix_view view;

    trial_open_view(trial, spec, &view);
    MODEL_CHECK(view.record.revision == revision, "%.*s shows revision %" PRIu64,
                (int)spec->name.len, (const char *)spec->name.data, view.record.revision);
    model_compare(&view, trial->reader, root, root);
    sirix_view_close(&view);
}

/* --- Branches -------------------------------------------------------------------------------------- */

static void create_branch(struct trial *trial)
{
    const struct trial_revision *from =
        trial_random(trial, 3) == 0 ? trial_any_revision(trial)
                                    : trial_find_revision(trial, trial_any_branch(trial)->head);
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = from->number};
    struct trial_branch *branch = NULL;
    struct sirix_branch_info info = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    char name[16];
    int64_t expires_us = 0;
    bool done = false;

    (void)snprintf(name, sizeof(name), "b%" PRIu64, trial_random(trial, BRANCH_NAMES));
    branch = find_branch(trial, name);
    if (branch == NULL && trial->branch_count == TRIAL_BRANCHES_MAX) {
        return;
    }
    expires_us = trial_any_expiry(trial);
    trial_say(trial, "branch %s at revision %" PRIu64 "%s", name, from->number,
              expires_us == 0 ? "" : ", for a while");
    trial_open_view(trial, &spec, &view);
    trial_arm(trial);
    done =
        was_done(trial, sirix_branch_create(&view, operation_bytes(name), expires_us, &info, &err),
                 branch == NULL ? SIRIX_OK : SIRIX_ALREADY_EXISTS, &err, "branch");
    sirix_view_close(&view);
    if (trial_settle(trial)) {
        done = branch == NULL && stored_branch(trial, name).found;
    }
    if (done) {
        branch = &trial->branches[trial->branch_count++];
        *branch = (struct trial_branch){
            .base = from->number, .life = ++trial->lives, .expires_us = expires_us};
        (void)strcpy(branch->name, name);
        trial_set_head(branch, from);
    }
}

static void delete_branch(struct trial *trial)
{
    struct trial_branch *branch = NULL;
    struct sirix_error err = {0};
    char name[16];
    enum sirix_status expected = SIRIX_OK;
    bool done = false;

    (void)snprintf(name, sizeof(name), "b%" PRIu64, trial_random(trial, BRANCH_NAMES));
    if (trial_random(trial, 8) == 0) {
        (void)strcpy(name, "main");
    }
    branch = find_branch(trial, name);
    expected = branch == NULL              ? SIRIX_NOT_FOUND
               : branch == trial->branches ? SIRIX_INVALID
                                           : SIRIX_OK;
    trial_say(trial, "delete branch %s", name);
    trial_arm(trial);
    done = was_done(trial, sirix_branch_delete(trial->resource, operation_bytes(name), &err),
                    expected, &err, "delete branch");
    if (trial_settle(trial)) {
        done = expected == SIRIX_OK && !stored_branch(trial, name).found;
    }
    if (done) {
        const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH,
                                             .name = operation_bytes(name)};
        struct sirix_view view;
        model_free(branch->root);
        *branch = trial->branches[--trial->branch_count];
        sirix_reader_yield(trial->reader);
        operation_must_be(sirix_view_open(trial->resource, trial->reader, &spec, &view, &err),
                          SIRIX_NOT_FOUND, &err, "a view of a branch that is gone");
    }
}

static bool is_ancestor(struct trial *trial, uint64_t ancestor, uint64_t revision)
{
    while (revision != 0 && revision != ancestor) {
        revision = trial_find_revision(trial, revision)->parent;
    }
    return revision == ancestor;
}

static void promote(struct trial *trial)
{
    struct trial_branch *source = trial_any_branch(trial);
    struct trial_branch *target = trial_any_branch(trial);
    bool replace = trial_random(trial, 2) == 0;
    bool forward = is_ancestor(trial, target->head, source->head);
    uint64_t before = target->head;
    uint64_t head = source->head;
    struct sirix_promoted promoted = {0};
    struct sirix_error err = {0};
    bool done = false;

    if (source == target) {
        return;
    }
    trial_say(trial, "promote %s to %s%s", source->name, target->name,
              replace ? ", replacing" : "");
    trial_arm(trial);
    done = was_done(trial,
                    sirix_branch_promote(trial->resource, operation_bytes(source->name),
                                         operation_bytes(target->name), replace, &promoted, &err),
                    forward || replace ? SIRIX_OK : SIRIX_PRECONDITION, &err, "promote");
    MODEL_CHECK(!done || (promoted.revision == head && promoted.previous_revision == before &&
                          promoted.fast_forward == forward),
                "promoted to %" PRIu64 " from %" PRIu64 ", fast-forward %d", promoted.revision,
                promoted.previous_revision, promoted.fast_forward);
    if (trial_settle(trial)) {
        done = (forward || replace) && stored_branch(trial, target->name).revision == head;
    }
    if (done) {
        trial_set_head(target, trial_find_revision(trial, head));
    }
}

void trial_branch_step(struct trial *trial)
{
    struct trial_branch *branch = NULL;

    switch (trial_random(trial, 5)) {
    case 0:
    case 1:
        create_branch(trial);
        break;
    case 2:
        delete_branch(trial);
        break;
    default:
        promote(trial);
        break;
    }
    branch = trial_any_branch(trial);
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH,
                                         .name = operation_bytes(branch->name)};
    check_lists(trial);
    check_view(trial, &spec, branch->head);
}

/* --- Snapshots ------------------------------------------------------------------------------------- */

static void create_label(struct trial *trial, const char *name)
{
    const struct trial_revision *revision = trial_any_revision(trial);
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = revision->number};
    struct trial_label *label = find_label(trial, name);
    bool replace = trial_random(trial, 2) == 0;
    bool allowed = label == NULL || label->revision == revision->number || replace ||
                   strcmp(name, "main") == 0;
    struct sirix_snapshot_created created = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    bool done = false;

    trial_say(trial, "label %s on revision %" PRIu64 "%s", name, revision->number,
              replace ? ", replacing" : "");
    trial_open_view(trial, &spec, &view);
    trial_arm(trial);
    done = was_done(trial,
                    sirix_snapshot_create(&view, operation_bytes(name), replace, &created, &err),
                    allowed ? SIRIX_OK : SIRIX_ALREADY_EXISTS, &err, "label");
    sirix_view_close(&view);
    MODEL_CHECK(!done || (created.revision == revision->number &&
                          created.previous_revision == (label == NULL ? 0 : label->revision)),
                "labelled %" PRIu64 ", before %" PRIu64, created.revision,
                created.previous_revision);
    if (trial_settle(trial)) {
        done = allowed && stored_label(trial, name).revision == revision->number;
    }
    if (done && label == NULL) {
        label = &trial->labels[trial->label_count++];
        (void)snprintf(label->name, sizeof(label->name), "%s", name);
    }
    if (done) {
        label->revision = revision->number;
    }
}

static void delete_label(struct trial *trial, const char *name)
{
    struct trial_label *label = find_label(trial, name);
    struct sirix_error err = {0};
    bool done = false;

    trial_say(trial, "delete label %s", name);
    trial_arm(trial);
    done = was_done(trial, sirix_snapshot_delete(trial->resource, operation_bytes(name), &err),
                    label == NULL ? SIRIX_NOT_FOUND : SIRIX_OK, &err, "delete label");
    if (trial_settle(trial)) {
        done = label != NULL && !stored_label(trial, name).found;
    }
    if (done) {
        *label = trial->labels[--trial->label_count];
    }
}

void trial_snapshot_step(struct trial *trial)
{
    char name[16];

    (void)snprintf(name, sizeof(name), "s%" PRIu64, trial_random(trial, LABEL_NAMES));
    if (trial_random(trial, 6) == 0) {
        (void)strcpy(name, "main");
    }
    if (trial_random(trial, 3) == 0) {
        delete_label(trial, name);
    } else {
        create_label(trial, name);
    }
    const struct trial_label *label = find_label(trial, name);
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_SNAPSHOT, .name = operation_bytes(name)};
    check_lists(trial);
    if (label != NULL) {
        check_view(trial, &spec, label->revision);
    } else if (strcmp(name, "main") == 0) {
        check_view(trial, &spec, trial->branches[0].head);
    }
}
