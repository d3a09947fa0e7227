/* Names of things on the command line. */
#include "cli/name.h"

#include <string.h>

#include "cli/args.h"

/* Copies one part and checks it as a name. */
static enum sirix_status take_part(enum sirix_name_kind kind, const char *text, size_t len,
                                   const char *field, char to[SIRIX_NAME_BYTES_MAX + 1],
                                   struct sirix_error *err)
{
    struct sirix_bytes bytes = {.data = text, .len = len};
    enum sirix_status status = sirix_name_check(kind, bytes, field, err);

    if (status == SIRIX_OK) {
        memcpy(to, text, len);
        to[len] = '\0';
    }
    return status;
}

/* The name behind "snapshot:" or "branch:"; *at stays for a text without. */
static const char *skip_kind(const char *what, enum sirixctl_at_kind *at)
{
    static const struct {
        const char *prefix;
        enum sirixctl_at_kind at;
    } kinds[] = {
        {"snapshot:", SIRIXCTL_AT_SNAPSHOT},
        {"branch:", SIRIXCTL_AT_BRANCH},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t len = strlen(kinds[i].prefix);

        if (strncmp(what, kinds[i].prefix, len) == 0) {
            *at = kinds[i].at;
            return what + len;
        }
    }
    return what;
}

enum sirix_status sirixctl_name_parse_at(const char *what, struct sirixctl_name *name,
                                         struct sirix_error *err)
{
    struct sirix_bytes bytes = sirix_bytes_from_str(what);
    uint64_t revision = 0;

    name->what = what;
    if (sirix_name_is_revision(bytes, &revision)) {
        name->at = SIRIXCTL_AT_REVISION;
        name->revision = revision;
        return SIRIX_OK;
    }
    if (sirix_name_is_timestamp(bytes)) {
        name->at = SIRIXCTL_AT_TIMESTAMP; /* The server reads it, and knows what is wrong. */
        return SIRIX_OK;
    }
    enum sirixctl_at_kind at =
        strcmp(what, SIRIX_BRANCH_MAIN) == 0 ? SIRIXCTL_AT_BRANCH : SIRIXCTL_AT_LABEL;
    const char *label = skip_kind(what, &at);
    enum sirix_status status =
        sirix_name_check(at == SIRIXCTL_AT_BRANCH ? SIRIX_NAME_BRANCH : SIRIX_NAME_SNAPSHOT,
                         sirix_bytes_from_str(label), "@", err);
    if (status == SIRIX_OK) {
        name->at = at;
        name->label = label;
    }
    return status;
}

enum sirix_status sirixctl_name_parse(const char *text, struct sirixctl_name *out_name,
                                      struct sirix_error *err)
{
    struct sirixctl_name name = {.at = SIRIXCTL_AT_NOTHING};
    const char *at = strchr(text, '@');
    size_t len = at != NULL ? (size_t)(at - text) : strlen(text);
    const char *slash = memchr(text, '/', len);
    size_t database_len = slash != NULL ? (size_t)(slash - text) : len;

    enum sirix_status status =
        take_part(SIRIX_NAME_DATABASE, text, database_len, "database", name.database, err);
    if (status == SIRIX_OK && slash != NULL) {
        status = take_part(SIRIX_NAME_RESOURCE, slash + 1, len - database_len - 1, "resource",
                           name.resource, err);
    }
    if (status == SIRIX_OK && at != NULL && slash == NULL) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_NAME_INVALID,
                                   "only a resource has revisions: DB/RESOURCE@WHAT");
    }
    if (status == SIRIX_OK && at != NULL) {
        status = sirixctl_name_parse_at(at + 1, &name, err);
    }
    if (status == SIRIX_OK) {
        *out_name = name;
    }
    return status;
}

enum sirix_status sirixctl_name_refuse_at(const struct sirixctl_name *name, struct sirix_error *err)
{
    if (name->at == SIRIXCTL_AT_NOTHING) {
        return SIRIX_OK;
    }
    return sirixctl_usage(err, "@%s: a write goes to the head of a branch; use --branch",
                          name->what);
}

enum sirix_status sirixctl_name_check_branch(const struct sirixctl_name *name, const char *branch,
                                             struct sirix_error *err)
{
    if (branch != NULL && name->at != SIRIXCTL_AT_NOTHING && name->at != SIRIXCTL_AT_TIMESTAMP) {
        return sirixctl_usage(
            err, "--branch and @%s name two things; a branch goes with a time only", name->what);
    }
    return SIRIX_OK;
}

/* Whether the server has that view; SIRIX_NOT_FOUND with the reason of its kind where it has not. */
static enum sirix_status try_view(struct sirix_client *client, const struct sirixctl_name *name,
                                  const struct sirix_view *view,
                                  const struct sirix_call_options *call, struct sirix_error *err)
{
    const struct sirix_resource_request request = {
        .database = name->database, .resource = name->resource, .view = *view};
    struct sirix_resource_info *info = NULL;
    enum sirix_status status = sirix_client_get_resource(client, &request, call, &info, err);

    sirix_client_free(info);
    return status;
}

/* A snapshot if the server has one of that name, else a branch. */
static enum sirix_status resolve_label(struct sirix_client *client,
                                       const struct sirixctl_name *name,
                                       const struct sirix_call_options *call,
                                       struct sirix_view *out_view, struct sirix_error *err)
{
    struct sirix_view view = {.kind = SIRIX_VIEW_SNAPSHOT, .name = name->label};
    struct sirix_error failure = {0};
    enum sirix_status status = try_view(client, name, &view, call, &failure);

    if (status == SIRIX_NOT_FOUND && failure.reason == SIRIX_REASON_SNAPSHOT_UNKNOWN) {
        view.kind = SIRIX_VIEW_BRANCH;
        status = try_view(client, name, &view, call, &failure);
    }
    if (status == SIRIX_NOT_FOUND && failure.reason == SIRIX_REASON_BRANCH_UNKNOWN) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_BRANCH_UNKNOWN,
                                 "%s/%s has neither a snapshot nor a branch %s", name->database,
                                 name->resource, name->label);
    }
    if (status == SIRIX_OK) {
        *out_view = view;
    } else if (err != NULL) {
        *err = failure;
    }
    return status;
}

enum sirix_status sirixctl_name_view(struct sirix_client *client, const struct sirixctl_name *name,
                                     const char *branch, const struct sirix_call_options *call,
                                     struct sirix_view *out_view, struct sirix_error *err)
{
    struct sirix_view view = {.kind = SIRIX_VIEW_DEFAULT};
    enum sirix_status status = sirixctl_name_check_branch(name, branch, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (branch != NULL) {
        view.kind = SIRIX_VIEW_BRANCH;
        view.name = branch;
    }
    switch (name->at) {
    case SIRIXCTL_AT_NOTHING:
        break;
    case SIRIXCTL_AT_REVISION:
        view = (struct sirix_view){.kind = SIRIX_VIEW_REVISION, .revision = name->revision};
        break;
    case SIRIXCTL_AT_TIMESTAMP:
        view.timestamp = sirix_bytes_from_str(name->what);
        break;
    case SIRIXCTL_AT_BRANCH:
        view = (struct sirix_view){.kind = SIRIX_VIEW_BRANCH, .name = name->label};
        break;
    case SIRIXCTL_AT_SNAPSHOT:
        view = (struct sirix_view){.kind = SIRIX_VIEW_SNAPSHOT, .name = name->label};
        break;
    case SIRIXCTL_AT_LABEL:
        status = resolve_label(client, name, call, &view, err);
        break;
    }
    if (status == SIRIX_OK) {
        *out_view = view;
    }
    return status;
}
