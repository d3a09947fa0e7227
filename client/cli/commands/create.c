/*
 * sirixctl create DB | DB/RESOURCE
 * sirixctl drop DB | DB/RESOURCE --yes
 */
#include "cli/commands/commands.h"

enum own_flag { FLAG_YES };

static const struct sirixctl_flag drop_flags[] = {
    [FLAG_YES] = {"yes", NULL, "really: nothing brings it back"},
};

static enum sirix_status answer(struct sirixctl *ctl, const struct sirixctl_name *name,
                                const char *done, struct sirix_error *err)
{
    struct sirixctl_json json;

    if (!ctl->json) {
        if (!ctl->quiet) {
            sirixctl_out_printf(&ctl->out, "%s %s%s%s\n", done, name->database,
                                name->resource[0] != '\0' ? "/" : "", name->resource);
        }
        return SIRIX_OK;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_str(&json, "database", name->database);
    if (name->resource[0] != '\0') {
        sirixctl_json_str(&json, "resource", name->resource);
    }
    sirixctl_json_bool(&json, done, true);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static enum sirix_status parse_operand(struct sirixctl *ctl, struct sirixctl_name *out_name,
                                       struct sirix_error *err)
{
    enum sirix_status status = sirixctl_name_parse(ctl->args.operands[0], out_name, err);

    return status != SIRIX_OK ? status : sirixctl_name_refuse_at(out_name, err);
}

static enum sirix_status run_create(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirixctl_name name;
    enum sirix_status status = parse_operand(ctl, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK && name.resource[0] == '\0') {
        status = sirix_client_create_database(ctl->client, name.database, NULL, &ctl->call, err);
    } else if (status == SIRIX_OK) {
        status = sirix_client_create_resource(ctl->client, name.database, name.resource, NULL,
                                              &ctl->call, NULL, err);
    }
    return status != SIRIX_OK ? status : answer(ctl, &name, "created", err);
}

static enum sirix_status run_drop(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirixctl_name name;
    enum sirix_status status = parse_operand(ctl, &name, err);

    if (status == SIRIX_OK && ctl->args.own[FLAG_YES] == NULL) {
        status = sirixctl_usage(err, "drop removes every revision; say --yes if that is meant");
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK && name.resource[0] == '\0') {
        status = sirix_client_drop_database(ctl->client, name.database, NULL, &ctl->call, err);
    } else if (status == SIRIX_OK) {
        status = sirix_client_drop_resource(ctl->client, name.database, name.resource, NULL,
                                            &ctl->call, err);
    }
    return status != SIRIX_OK ? status : answer(ctl, &name, "dropped", err);
}

const struct sirixctl_command sirixctl_create = {
    .name = "create",
    .operands = "DB | DB/RESOURCE",
    .summary = "Make a database, or a resource without a value",
    .answer = "{\"database\",\"resource\"?,\"created\":true}",
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_create,
};

const struct sirixctl_command sirixctl_drop = {
    .name = "drop",
    .operands = "DB | DB/RESOURCE",
    .summary = "Remove a database or a resource with all its revisions",
    .details =
        "A database gives its bytes back to the disk at once. Those of a resource stay in its\n"
        "database, where nothing can read them, until they are pruned, which this version\n"
        "cannot do yet, or until the database is dropped.",
    .answer = "{\"database\",\"resource\"?,\"dropped\":true}",
    .flags = SIRIXCTL_FLAGS(drop_flags),
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_drop,
};
