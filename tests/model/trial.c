#include "model/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/document/path_summary.h"
#include "unit/document/temp_dir.h"

uint64_t trial_random(struct trial *trial, uint64_t limit)
{
    trial->random += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(trial->random) % limit;
}

void trial_say(const struct trial *trial, const char *fmt, ...)
{
    va_list args;

    if (!trial->verbose) {
        return;
    }
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

bool trial_is_done(struct trial *trial, enum sirix_status status, const struct sirix_error *err,
                   const char *what)
{
    if (trial->fails && status == SIRIX_NO_SPACE) {
        trial_say(trial, "%s: no space", what);
        return false;
    }
    if ((trial->fails || trial->durable) &&
        (status == SIRIX_OUTCOME_UNKNOWN || status == SIRIX_UNAVAILABLE)) {
        trial_say(trial, "%s: %s", what, sirix_status_name(status));
        MODEL_CHECK(status == SIRIX_OUTCOME_UNKNOWN || trial->unknown,
                    "%s: unavailable, and no answer was lost before", what);
        trial->unknown = true;
        return false;
    }
    MODEL_CHECK(status == SIRIX_OK, "%s: %s: %s", what, sirix_status_name(status), err->text);
    return true;
}

static struct sirix_bytes bytes_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static void must(enum sirix_status status, const struct sirix_error *err, const char *what)
{
    MODEL_CHECK(status == SIRIX_OK, "%s: %s: %s", what, sirix_status_name(status), err->text);
}

/* --- The database ---------------------------------------------------------------------------------- */

static struct sirix_backend *open_backend(struct trial *trial, uint64_t seed, bool create)
{
    const struct sirix_memory_options memory = {
        .seed = seed,
        .delay_us_max = seed % 3 == 0 ? 20 : 0,
        .no_space_per_mille = trial->fails ? 50 : 0,
        .unknown_per_mille = trial->fails ? 30 : 0,
    };
    const struct sirix_lmdb_options lmdb = {
        .dir = trial->dir, .create = create, .no_sync = true, .map_bytes_min = 1 << 20};
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    if (trial->memory != NULL) {
        sirix_backend_memory_reopen(trial->memory);
        return trial->memory;
    }
    if (trial->durable) {
        must(sirix_backend_open_lmdb(&lmdb, &backend, &err), &err, "backend");
        return backend;
    }
    must(sirix_backend_open_memory(&memory, &backend, &err), &err, "backend");
    trial->memory = backend;
    trial_keep_backend(backend);
    return backend;
}

/* The database alone. Opening it may write, and that may fail as any write may: once more, then. */
static void open_once_more(struct trial *trial, uint64_t seed, bool create)
{
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_OK;

    do {
        const struct sirix_database_options options = {.backend = open_backend(trial, seed, create),
                                                       .pool = trial->pool,
                                                       .clock = &trial->clock,
                                                       .dir = trial->durable ? trial->dir : NULL};
        struct sirix_recovery recovery = {0};

        trial->unknown = false;
        status = sirix_database_open(&options, &trial->database, &recovery, &err);
    } while (!trial_is_done(trial, status, &err, "database"));
    trial->unknown = false;
}

/* The resource of a new database; after a lost answer it may be there already. */
static void create_resource(struct trial *trial, uint64_t seed)
{
    const struct sirix_bytes name = bytes_of("r");
    struct sirix_error err = {0};

    while (!trial_is_done(trial,
                          sirix_resource_create(trial->database, name, bytes_of("me"), bytes_of(""),
                                                &trial->resource, &err),
                          &err, "resource")) {
        if (trial->unknown) {
            sirix_database_close(trial->database);
            open_once_more(trial, seed, false);
            enum sirix_status status =
                sirix_resource_open(trial->database, name, &trial->resource, &err);
            MODEL_CHECK(status == SIRIX_OK || status == SIRIX_NOT_FOUND, "resource: %s", err.text);
            if (status == SIRIX_OK) {
                return;
            }
        }
    }
}

void trial_open_database(struct trial *trial, uint64_t seed, bool create)
{
    struct sirix_error err = {0};

    open_once_more(trial, seed, create);
    if (create) {
        create_resource(trial, seed);
    } else {
        must(sirix_resource_open(trial->database, bytes_of("r"), &trial->resource, &err), &err,
             "resource");
    }

    must(sirix_reader_open(sirix_database_backend(trial->database), &trial->reader, &err), &err,
         "reader");
}

void trial_close_database(struct trial *trial)
{
    sirix_reader_close(trial->reader);
    sirix_resource_unref(trial->resource);
    sirix_database_close(trial->database);
}

/* --- Revisions ------------------------------------------------------------------------------------- */

static const struct trial_revision *note_revision(struct trial *trial, uint64_t number,
                                                  uint64_t parent, const struct model_node *root)
{
    if (trial->revision_count == trial->revision_cap) {
        trial->revision_cap = trial->revision_cap == 0 ? 64 : trial->revision_cap * 2;
        trial->revisions =
            realloc(trial->revisions, trial->revision_cap * sizeof(*trial->revisions));
        MODEL_CHECK(trial->revisions != NULL, "no memory");
    }
    trial->revisions[trial->revision_count] =
        (struct trial_revision){.number = number, .parent = parent, .root = model_copy(root)};
    return &trial->revisions[trial->revision_count++];
}

const struct trial_revision *trial_find_revision(const struct trial *trial, uint64_t number)
{
    for (size_t i = trial->revision_count; i-- > 0;) {
        if (trial->revisions[i].number == number) {
            return &trial->revisions[i];
        }
    }
    model_fail(__FILE__, __LINE__, "there is no revision %" PRIu64, number);
}

const struct trial_revision *trial_any_revision(struct trial *trial)
{
    return &trial->revisions[trial_random(trial, trial->revision_count)];
}

void trial_open_view(struct trial *trial, const struct sirix_view_spec *spec,
                     struct sirix_view *view)
{
    struct sirix_error err = {0};

    sirix_reader_yield(trial->reader);
    must(sirix_view_open(trial->resource, trial->reader, spec, view, &err), &err, "view");
}

void trial_open_branch(struct trial *trial, const struct trial_branch *branch,
                       struct sirix_view *view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = bytes_of(branch->name)};

    trial_open_view(trial, &spec, view);
}

/* Everything that occurs in the revision is in the stored summary. */
static void check_paths(struct trial *trial, const struct sirix_view *view)
{
    struct sirix_document document;
    struct sirix_path_summary stored;
    struct sirix_path_summary found;
    struct sirix_error err = {0};
    uint32_t *map = NULL;

    sirix_document_init(&document, view, trial->reader);
    sirix_path_summary_init(&found);
    must(sirix_path_summary_collect(&document, &found, &err), &err, "collect paths");
    must(sirix_path_summary_read(trial->resource, trial->reader, &stored, &err), &err, "paths");
    map = calloc(found.count + 1, sizeof(*map));
    MODEL_CHECK(map != NULL, "no memory");
    for (uint32_t i = 0; i < found.count && !stored.coarse; i++) {
        const struct sirix_path *path = &found.paths[i];
        uint32_t any = SIRIX_PATH_NONE;
        if (i != 0) {
            uint32_t child = stored.paths[map[path->parent]].first_child;
            while (child != SIRIX_PATH_NONE && stored.paths[child].step != path->step) {
                any = stored.paths[child].step == SIRIX_PATH_STEP_ANY ? child : any;
                child = stored.paths[child].next;
            }
            map[i] = child != SIRIX_PATH_NONE ? child : any;
        }
        MODEL_CHECK(map[i] != SIRIX_PATH_NONE && stored.count != 0, "path %u is not stored", i);
        MODEL_CHECK((path->kinds & ~stored.paths[map[i]].kinds) == 0,
                    "path %u has kinds %x, stored %x", i, path->kinds, stored.paths[map[i]].kinds);
    }
    free(map);
    sirix_path_summary_deinit(&found);
    sirix_path_summary_deinit(&stored);
}

static void check_revision(struct trial *trial, const struct trial_revision *revision)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = revision->number};
    struct sirix_view view;

    trial_open_view(trial, &spec, &view);
    MODEL_CHECK(view.record.revision == revision->number, "revision %" PRIu64, revision->number);
    model_compare(&view, trial->reader, revision->root, revision->root);
    check_paths(trial, &view);
    sirix_view_close(&view);
}

struct trial_branch *trial_any_branch(struct trial *trial)
{
    return &trial->branches[trial_random(trial, trial->branch_count)];
}

void trial_set_head(struct trial_branch *branch, const struct trial_revision *revision)
{
    model_free(branch->root);
    branch->root = model_copy(revision->root);
    branch->head = revision->number;
}

static void use_keys_of(struct trial *trial, const struct model_node *node)
{
    struct sirix_error err = {0};

    if (node == NULL) {
        return;
    }
    must(sirix_map_put(&trial->used, node->key, 1, &err), &err, "map");
    if (node->name != NULL) {
        must(sirix_map_put(&trial->used, node->key + 1, 1, &err), &err, "map");
    }
    for (size_t i = 0; i < node->count; i++) {
        use_keys_of(trial, node->children[i]);
    }
}

void trial_note_write(struct trial *trial, struct trial_branch *branch, bool done,
                      uint64_t published, const struct model_node *root)
{
    struct sirix_view view;
    struct model_node *before = model_copy(branch->root);

    if (trial_settle(trial)) {
        trial_open_branch(trial, branch, &view);
        published = view.record.revision;
        done = published != branch->head;
        sirix_view_close(&view);
        trial_say(trial, "it was %s", done ? "done" : "not done");
    }
    if (done) {
        uint64_t head_before = branch->head;

        trial_set_head(branch, note_revision(trial, published, head_before, root));
        use_keys_of(trial, root);
        trial_note_moment(trial, branch, published, head_before);
    }
    trial_open_branch(trial, branch, &view);
    MODEL_CHECK(view.record.revision == branch->head,
                "the head is revision %" PRIu64 ", not %" PRIu64, view.record.revision,
                branch->head);
    model_compare(&view, trial->reader, branch->root, before);
    sirix_view_close(&view);
    model_free(before);
}

/* --- Steps ----------------------------------------------------------------------------------------- */

static void commit_step(struct trial *trial)
{
    struct trial_branch *branch = trial_any_branch(trial);
    const struct sirix_edit_commit commit = {.author = bytes_of("me"), .message = bytes_of("step")};
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    uint64_t operations = 1 + trial_random(trial, 6);
    bool changed = false;
    bool done = false;

    trial_open_branch(trial, branch, &view);
    must(sirix_edit_new(&view, trial->reader, &trial->edit, &err), &err, "edit");
    trial->root = model_copy(branch->root);
    trial->changed = false;
    trial_say(trial, "edit of %s at revision %" PRIu64, branch->name, view.record.revision);
    for (uint64_t i = 0; i < operations; i++) {
        trial_operation(trial);
        if (trial_random(trial, 4) == 0) {
            sirix_reader_yield(trial->reader);
        }
    }
    if (trial_random(trial, 10) == 0) {
        trial_say(trial, "dropped");
    } else {
        sirix_reader_yield(trial->reader); /* A reader in between keeps the map from growing. */
        trial_arm(trial);
        done = trial_is_done(trial,
                             sirix_edit_commit(trial->edit, &commit, &published, &changed, &err),
                             &err, "commit");
        MODEL_CHECK(trial->changed || !changed, "a commit without a change made a revision");
    }
    sirix_edit_free(trial->edit);
    trial->edit = NULL;
    sirix_view_close(&view);
    trial_note_write(trial, branch, done && changed, published.revision, trial->root);
    model_free(trial->root);
    trial->root = NULL;
}

static void revert_step(struct trial *trial)
{
    struct trial_branch *branch = trial_any_branch(trial);
    const struct trial_revision *revision = trial_any_revision(trial);
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = revision->number};
    struct model_node *root = model_copy(revision->root);
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    struct sirix_view base;
    struct sirix_view source;
    bool done = false;

    trial_open_branch(trial, branch, &base);
    trial_open_view(trial, &spec, &source);
    trial_say(trial, "revert %s to revision %" PRIu64, branch->name, revision->number);
    trial_arm(trial);
    done = trial_is_done(
        trial,
        sirix_revert(&base, &source, bytes_of("me"), bytes_of("back"), NULL, &published, &err),
        &err, "revert");
    sirix_view_close(&base);
    sirix_view_close(&source);
    trial_note_write(trial, branch, done, published.revision, root);
    model_free(root);
}

/* --- Opening again --------------------------------------------------------------------------------- */

void trial_reopen(struct trial *trial)
{
    trial_say(trial, "reopen");
    trial_close_database(trial);
    trial_open_database(trial, 0, false);
    /* Keys that were given but never published may be given again. */
    sirix_map_clear(&trial->used);
    for (size_t i = 0; i < trial->revision_count; i++) {
        use_keys_of(trial, trial->revisions[i].root);
    }
    for (size_t i = trial->grave_count; i-- > 0;) {
        if (!sirix_map_get(&trial->used, trial->graves[i].key, NULL)) {
            trial->graves[i] = trial->graves[--trial->grave_count];
        }
    }
}

static void step(struct trial *trial)
{
    switch (trial_random(trial, 28)) {
    case 0:
    case 1:
    case 2:
        trial_branch_step(trial);
        break;
    case 3:
    case 4:
        trial_snapshot_step(trial);
        break;
    case 5:
        revert_step(trial);
        break;
    case 6:
        trial_reopen(trial);
        break;
    case 7:
        check_revision(trial, trial_any_revision(trial));
        break;
    case 8:
    case 9:
        trial_compare_revisions(trial);
        break;
    case 10:
        trial_import_step(trial);
        break;
    case 11:
    case 12:
    case 13:
        trial_time_step(trial);
        break;
    case 14:
        trial_rebase_step(trial);
        break;
    default:
        commit_step(trial);
        break;
    }
}

static enum sirix_status fault_found(void *context, struct sirix_bytes resource,
                                     const struct sirix_error *fault, struct sirix_error *err)
{
    (void)context;
    (void)resource;
    (void)err;
    model_fail(__FILE__, __LINE__, "verify finds a fault: %s", fault->text);
}

/* Every revision once more, the heads in all detail, and every byte. */
static void check_everything(struct trial *trial)
{
    struct sirix_verify_progress progress = {0};
    struct sirix_backend_stats stats = {0};
    struct sirix_error err = {0};
    struct sirix_view view;

    must(sirix_backend_stats(sirix_database_backend(trial->database), &stats, &err), &err, "stats");
    atomic_fetch_add(&trial->seen->packs, stats.pack_count);
    for (size_t i = 0; i < trial->revision_count; i++) {
        check_revision(trial, &trial->revisions[i]);
    }
    trial_check_moments(trial);
    for (size_t i = 0; i < trial->branch_count; i++) {
        trial_open_branch(trial, &trial->branches[i], &view);
        model_compare(&view, trial->reader, trial->branches[i].root, NULL);
        sirix_view_close(&view);
    }
    sirix_reader_yield(trial->reader);
    must(sirix_verify(trial->database, NULL, trial->reader, fault_found, NULL, NULL, &progress,
                      &err),
         &err, "verify");
}

void trial_run(uint64_t seed, const uint64_t *steps, size_t count, bool verbose,
               struct trial_seen *seen)
{
    struct trial trial = {.random = seed,
                          .verbose = verbose,
                          .durable = seed % 4 == 0,
                          .fails = seed % 4 == 1,
                          .seen = seen};
    struct sirix_error err = {0};

    (void)snprintf(trial.dir, sizeof(trial.dir), "/tmp/sirix-model-XXXXXX");
    MODEL_CHECK(!trial.durable || mkdtemp(trial.dir) != NULL, "no folder");
    must(sirix_committer_pool_start(1, &trial.pool, &err), &err, "pool");
    trial_clock_start(&trial);
    trial_open_database(&trial, seed, true);
    (void)snprintf(trial.branches[0].name, sizeof(trial.branches[0].name), "main");
    trial.branch_count = 1;
    trial.branches[0].base = 1;
    trial_set_head(&trial.branches[0], note_revision(&trial, 1, 0, NULL));
    for (size_t i = 0; i < count; i++) {
        trial.random = steps[i];
        step(&trial);
    }
    check_everything(&trial);
    for (size_t i = 0; i < trial.revision_count; i++) {
        model_free(trial.revisions[i].root);
    }
    for (size_t i = 0; i < trial.branch_count; i++) {
        model_free(trial.branches[i].root);
    }
    free(trial.revisions);
    sirix_map_deinit(&trial.used);
    trial_close_database(&trial);
    trial_keep_backend(NULL);
    sirix_backend_close(trial.memory);
    sirix_committer_pool_stop(trial.pool);
    if (trial.durable) {
        temp_dir_remove(trial.dir);
    }
}
