/*
 * What would help after a failure: a name that is near to the unknown one, or advice.
 *
 * Names are asked for once more, one page of each list: a hint is worth one call, not many.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/tell.h"

enum { NAMES_MAX = 1000 };

struct advice {
    enum sirix_reason reason;
    const char *text;
    const struct sirixctl_command *command; /* Of this one alone; NULL: of any. */
};

static const struct advice advice_by_reason[] = {
    {SIRIX_REASON_DUPLICATE_KEY, "--duplicate-keys last keeps the last of each", &sirixctl_import},
    {SIRIX_REASON_RESOURCE_HAS_VALUE, "--replace replaces it; every old revision can still be read",
     NULL},
    {SIRIX_REASON_REVISION_MOVED,
     "somebody wrote meanwhile: `history` and `diff` show what, then "
     "try again with the new revision",
     NULL},
    {SIRIX_REASON_APPLY_CONFLICT,
     "nothing was changed; `diff` of the two ends shows what was to be "
     "done, `read` what is there",
     NULL},
    {SIRIX_REASON_NOT_FAST_FORWARD, "--replace moves it all the same and leaves revisions behind",
     NULL},
    {SIRIX_REASON_NODE_UNKNOWN, "`read` shows which nodes there are, with their keys", NULL},
    {SIRIX_REASON_REVISION_UNKNOWN, "`history` lists the revisions", NULL},
    {SIRIX_REASON_REVISION_AHEAD, "`history` lists the revisions", NULL},
    {SIRIX_REASON_REVISION_BEFORE_FIRST, "`history` lists the revisions with their times", NULL},
    {SIRIX_REASON_NODE_KIND, "update --replace also replaces an object or array", &sirixctl_update},
    {SIRIX_REASON_SIZE_LIMIT,
     "--max-operations allows more, up to 1000000; without --json-patch a diff has no such limit",
     &sirixctl_diff},
    {SIRIX_REASON_BRANCH_EXPIRED, "`branch list` shows the branches that are left", NULL},
};

static const char *advice_of_status(const struct sirixctl *ctl, enum sirix_status status)
{
    switch (status) {
    case SIRIX_OUTCOME_UNKNOWN:
        return "`history` shows whether it happened; with --idempotency-key the same command can "
               "be given again";
    case SIRIX_UNAVAILABLE:
        return ctl->args.common[SIRIXCTL_DATA] != NULL
                   ? "storaged.log in the folder of --data may say why"
                   : "is a storaged running there? With --data DIR one is started";
    case SIRIX_CORRUPT:
        return "`verify` says what else is damaged; other resources are not affected";
    default:
        return "";
    }
}

/* --- Near names ------------------------------------------------------------------------------- */

/* Names under collection, and the answers that they lie in. */
struct names {
    const char *items[NAMES_MAX];
    size_t count;
    const void *answers[2];
    size_t answer_count;
};

static void hint_nearest(const char *unknown, const char *const *names, size_t count,
                         char hint[SIRIXCTL_HINT_BYTES_MAX])
{
    const char *nearest = sirixctl_nearest(unknown, names, count);

    if (nearest != NULL) {
        (void)snprintf(hint, SIRIXCTL_HINT_BYTES_MAX, "did you mean %s?", nearest);
    } else if (count == 1) {
        (void)snprintf(hint, SIRIXCTL_HINT_BYTES_MAX, "there is only %s", names[0]);
    } else if (count != 0) {
        (void)snprintf(hint, SIRIXCTL_HINT_BYTES_MAX, "there are %zu, such as %s and %s", count,
                       names[0], names[1]);
    }
}

static void add_name(struct names *names, const char *name)
{
    if (names->count < NAMES_MAX) {
        names->items[names->count++] = name;
    }
}

static void collect_databases(struct sirixctl *ctl, struct names *names)
{
    struct sirix_database_list *list = NULL;

    if (sirix_client_list_databases(ctl->client, NULL, &ctl->call, &list, NULL) != SIRIX_OK) {
        return;
    }
    names->answers[names->answer_count++] = list;
    for (size_t i = 0; i < list->count; i++) {
        add_name(names, list->items[i].name);
    }
}

static void collect_resources(struct sirixctl *ctl, const struct sirixctl_name *name,
                              struct names *names)
{
    struct sirix_resource_list *list = NULL;

    if (sirix_client_list_resources(ctl->client, name->database, NULL, &ctl->call, &list, NULL) !=
        SIRIX_OK) {
        return;
    }
    names->answers[names->answer_count++] = list;
    for (size_t i = 0; i < list->count; i++) {
        add_name(names, list->items[i].name);
    }
}

static void collect_branches(struct sirixctl *ctl, const struct sirixctl_name *name,
                             struct names *names)
{
    struct sirix_branch_list *list = NULL;

    if (sirix_client_list_branches(ctl->client, name->database, name->resource, NULL, &ctl->call,
                                   &list, NULL) != SIRIX_OK) {
        return;
    }
    names->answers[names->answer_count++] = list;
    for (size_t i = 0; i < list->count; i++) {
        add_name(names, list->items[i].name);
    }
}

static void collect_snapshots(struct sirixctl *ctl, const struct sirixctl_name *name,
                              struct names *names)
{
    struct sirix_snapshot_list *list = NULL;

    if (sirix_client_list_snapshots(ctl->client, name->database, name->resource, NULL, &ctl->call,
                                    &list, NULL) != SIRIX_OK) {
        return;
    }
    names->answers[names->answer_count++] = list;
    for (size_t i = 0; i < list->count; i++) {
        add_name(names, list->items[i].name);
    }
}

/* --- Snapshots and branches ------------------------------------------------------------------- */

/* A word of the command that may name a snapshot or a branch. */
struct label {
    const char *name;
    bool either; /* Written bare behind an @, or for a flag that takes the same. */
};

static struct label label_of(const char *word, bool flag_of_ends)
{
    const char *at = strchr(word, '@');
    const char *what = at != NULL ? at + 1 : word;
    const char *colon = strchr(what, ':'); /* "snapshot:" or "branch:" */

    return (struct label){
        .name = colon != NULL ? colon + 1 : what,
        .either = colon == NULL && (at != NULL || flag_of_ends),
    };
}

static bool is_among(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* All of them: two ends of a diff, a branch to write to beside a label to read. */
static size_t find_labels(const struct sirixctl *ctl, struct label labels[2 + SIRIXCTL_FLAGS_MAX])
{
    const struct sirixctl_flags *flags = &ctl->command->flags;
    size_t count = 0;

    if (strchr(ctl->args.operands[0], '@') != NULL) {
        labels[count++] = label_of(ctl->args.operands[0], false);
    }
    for (size_t i = 0; i < flags->count; i++) {
        const char *name = flags->items[i].name;
        bool is_end = strcmp(name, "to") == 0 || strcmp(name, "from") == 0;

        if (ctl->args.own[i] != NULL && (is_end || strcmp(name, "branch") == 0)) {
            labels[count++] = label_of(ctl->args.own[i], is_end);
        }
    }
    if (ctl->args.operand_count > 1) {
        labels[count++] = label_of(ctl->args.operands[1], false);
    }
    return count;
}

/* Which of the labels there is not, and what of the right kind is near to it. */
static void hint_label(struct sirixctl *ctl, const struct sirixctl_name *name,
                       enum sirix_reason reason, struct names *names,
                       char hint[SIRIXCTL_HINT_BYTES_MAX])
{
    struct label labels[2 + SIRIXCTL_FLAGS_MAX];
    size_t label_count = find_labels(ctl, labels);
    bool branch = reason == SIRIX_REASON_BRANCH_UNKNOWN;

    collect_snapshots(ctl, name, names);
    size_t snapshot_count = names->count;
    collect_branches(ctl, name, names);

    for (size_t i = 0; i < label_count; i++) {
        size_t from = branch && !labels[i].either ? snapshot_count : 0;
        size_t to = branch || labels[i].either ? names->count : snapshot_count;

        if (is_among(labels[i].name, names->items + from, to - from)) {
            continue;
        }
        if (is_among(labels[i].name, names->items, names->count)) {
            (void)snprintf(hint, SIRIXCTL_HINT_BYTES_MAX,
                           branch ? "%s is a snapshot" : "%s is a branch", labels[i].name);
        } else {
            hint_nearest(labels[i].name, names->items + from, to - from, hint);
        }
        return;
    }
}

static void hint_near_name(struct sirixctl *ctl, const struct sirix_error *err,
                           char hint[SIRIXCTL_HINT_BYTES_MAX])
{
    struct names names = {.count = 0};
    struct sirixctl_name name;

    if (ctl->client == NULL || ctl->args.operand_count == 0 ||
        sirixctl_name_parse(ctl->args.operands[0], &name, NULL) != SIRIX_OK) {
        return;
    }
    switch (err->reason) {
    case SIRIX_REASON_DATABASE_UNKNOWN:
        collect_databases(ctl, &names);
        hint_nearest(name.database, names.items, names.count, hint);
        break;
    case SIRIX_REASON_RESOURCE_UNKNOWN:
        collect_resources(ctl, &name, &names);
        hint_nearest(name.resource, names.items, names.count, hint);
        break;
    case SIRIX_REASON_BRANCH_UNKNOWN:
    case SIRIX_REASON_SNAPSHOT_UNKNOWN:
        hint_label(ctl, &name, err->reason, &names, hint);
        break;
    default:
        break;
    }
    for (size_t i = 0; i < names.answer_count; i++) {
        sirix_client_free(names.answers[i]);
    }
}

void sirixctl_hint(struct sirixctl *ctl, const struct sirix_error *err,
                   char out_hint[SIRIXCTL_HINT_BYTES_MAX])
{
    out_hint[0] = '\0';
    hint_near_name(ctl, err, out_hint);
    for (size_t i = 0;
         out_hint[0] == '\0' && i < sizeof(advice_by_reason) / sizeof(advice_by_reason[0]); i++) {
        const struct advice *advice = &advice_by_reason[i];

        if (advice->reason == err->reason &&
            (advice->command == NULL || advice->command == ctl->command)) {
            (void)snprintf(out_hint, SIRIXCTL_HINT_BYTES_MAX, "%s", advice->text);
        }
    }
    if (out_hint[0] == '\0') {
        (void)snprintf(out_hint, SIRIXCTL_HINT_BYTES_MAX, "%s", advice_of_status(ctl, err->status));
    }
}
