/* query and update-query: one text, or a console for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/commands/query_console.h"
#include "cli/commands/query_variables.h"

enum { QUERY_BYTES_MAX = 1024 * 1024 };

enum {
    FLAG_BRANCH,
    FLAG_LIMIT,
    FLAG_CURSOR,
    FLAG_EXPLAIN,
    FLAG_JSONIQ,
    FLAG_VARIABLES,
};

static const struct sirixctl_flag query_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "read this branch instead of main"},
    [FLAG_LIMIT] = {"limit", "N", "at most N items"},
    [FLAG_CURSOR] = {"cursor", "TEXT", "go on after an earlier answer, in the same revisions"},
    [FLAG_EXPLAIN] = {"explain", NULL, "show the plan instead of items"},
    [FLAG_JSONIQ] = {"jsoniq", NULL, "JSONiq's dialect, unless the text says which"},
    [FLAG_VARIABLES] = {"variables", "JSON",
                        "values of external variables, {\"name\": value, ...}"},
};

/* --- Operands ----------------------------------------------------------------------------------- */

/* What the operands give: a resource, a text, or both. */
struct asked {
    struct sirixctl_name name;
    bool has_name;
    const char *text; /* NULL: not among the operands. */
};

/* A single operand that is a name is one: no query that means anything looks like it. */
static enum sirix_status read_operands(const struct sirixctl *ctl, struct asked *asked,
                                       struct sirix_error *err)
{
    const size_t count = ctl->args.operand_count;
    struct sirixctl_name name;

    *asked = (struct asked){.text = count == 0 ? NULL : ctl->args.operands[count - 1]};
    if (count == 2) {
        asked->has_name = true;
        return sirixctl_resource_operand(ctl, 0, &asked->name, err);
    }
    if (count == 1 && strcmp(asked->text, "-") != 0 && strchr(asked->text, '/') != NULL &&
        sirixctl_name_parse(asked->text, &name, NULL) == SIRIX_OK && name.resource[0] != '\0') {
        asked->has_name = true;
        asked->name = name;
        asked->text = NULL;
    }
    return SIRIX_OK;
}

/* The text: an operand, or stdin. *out_memory is the caller's to free(). */
static enum sirix_status read_text(const struct asked *asked, char **out_memory,
                                   struct sirix_bytes *out, struct sirix_error *err)
{
    size_t len = 0;

    if (asked->text != NULL && strcmp(asked->text, "-") != 0) {
        *out = sirix_bytes_from_str(asked->text);
        return SIRIX_OK;
    }
    enum sirix_status status = sirixctl_read_file("-", QUERY_BYTES_MAX, out_memory, &len, err);
    if (status == SIRIX_OK) {
        *out = (struct sirix_bytes){.data = *out_memory, .len = len};
    }
    return status;
}

/* --- query -------------------------------------------------------------------------------------- */

static void show_items(struct sirixctl *ctl, const struct sirix_query_part *part, uint64_t before)
{
    for (size_t i = 0; i < part->count; i++) {
        if (ctl->json && before + i != 0) {
            sirixctl_out_printf(&ctl->out, ",");
        }
        sirixctl_out_json(&ctl->out, part->items[i].json);
        if (!ctl->json) {
            sirixctl_out_printf(&ctl->out, "\n");
        }
    }
}

static enum sirix_status show_end(struct sirixctl *ctl, const struct sirix_query_part *end,
                                  uint64_t count, struct sirix_error *err)
{
    struct sirixctl_out words;
    struct sirixctl_json json;

    if (ctl->json) {
        sirixctl_out_printf(&ctl->out, "],\"count\":%" PRIu64, count);
        if (end->next_cursor.len != 0) {
            sirixctl_json_init(&json);
            sirixctl_out_printf(&ctl->out, ",\"nextCursor\":");
            sirixctl_json_text(&json, NULL, end->next_cursor);
            return sirixctl_json_finish(&json, &ctl->out, err);
        }
        return SIRIX_OK;
    }
    if (end->next_cursor.len != 0 && !ctl->quiet) {
        sirixctl_out_init(&words, stderr, false);
        sirixctl_out_printf(&words, "more items: --cursor '");
        sirixctl_out_text(&words, end->next_cursor);
        sirixctl_out_printf(&words, "' goes on\n");
    }
    return SIRIX_OK;
}

static enum sirix_status show_plan(struct sirixctl *ctl, struct sirix_bytes plan,
                                   struct sirix_error *err)
{
    const char *at = plan.data;
    const char *end = at + plan.len;
    struct sirixctl_json json;

    if (ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        sirixctl_json_text(&json, "plan", plan);
        sirixctl_json_object_end(&json);
        return sirixctl_json_finish(&json, &ctl->out, err);
    }
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = stop == NULL ? end : stop;

        sirixctl_out_text(&ctl->out,
                          (struct sirix_bytes){.data = at, .len = (size_t)(line_end - at)});
        sirixctl_out_printf(&ctl->out, "\n");
        at = stop == NULL ? end : stop + 1;
    }
    return SIRIX_OK;
}

enum sirix_status sirixctl_query_show(struct sirixctl *ctl,
                                      const struct sirix_query_request *request,
                                      struct sirix_error *err)
{
    struct sirix_query_stream *stream = NULL;
    struct sirix_query_part part = {.kind = SIRIX_QUERY_PART_ITEMS};
    const bool lists = ctl->json && !request->explain;
    uint64_t count = 0;
    enum sirix_status status = sirix_client_query(ctl->client, request, &ctl->call, &stream, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (lists) {
        sirixctl_out_printf(&ctl->out, "{\"items\":[");
    }
    while (status == SIRIX_OK && part.kind != SIRIX_QUERY_PART_END) {
        status = sirix_query_stream_next(stream, &part, err);
        if (status != SIRIX_OK) {
            break;
        }
        if (part.kind == SIRIX_QUERY_PART_ITEMS) {
            show_items(ctl, &part, count);
            count += part.count;
        } else if (part.kind == SIRIX_QUERY_PART_PLAN) {
            status = show_plan(ctl, part.plan, err);
        }
    }
    if (status == SIRIX_OK && !request->explain) {
        status = show_end(ctl, &part, count, err);
    }
    if (status == SIRIX_OK && lists) {
        sirixctl_out_printf(&ctl->out, "}\n");
    }
    sirix_query_stream_close(stream);
    return status;
}

static enum sirix_status run_query(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *const *flags = ctl->args.own;
    struct sirix_query_request request = {
        .cursor = sirix_bytes_from_str(flags[FLAG_CURSOR]),
        .explain = flags[FLAG_EXPLAIN] != NULL,
        .jsoniq = flags[FLAG_JSONIQ] != NULL,
    };
    struct sirixctl_variables variables;
    struct asked asked;
    char *memory = NULL;
    enum sirix_status status = sirixctl_variables_init(&variables, flags[FLAG_VARIABLES], err);

    request.variables = variables.list;
    request.variable_count = variables.count;
    if (status == SIRIX_OK) {
        status = read_operands(ctl, &asked, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirixctl_parse_optional(flags[FLAG_LIMIT], "--limit", UINT64_MAX, &request.limit, err);
    }
    if (status == SIRIX_OK && !asked.has_name && flags[FLAG_BRANCH] != NULL) {
        status = sirixctl_usage(err, "--branch is of a resource: name it before the query");
    }
    const bool is_console =
        status == SIRIX_OK && asked.text == NULL && !ctl->json && sirixctl_console_possible();
    if (status == SIRIX_OK && !is_console) {
        status = read_text(&asked, &memory, &request.query, err);
    }
    if (status == SIRIX_OK) {
        status = asked.has_name
                     ? sirixctl_view(ctl, &asked.name, flags[FLAG_BRANCH], &request.view, err)
                     : sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        request.database = asked.has_name ? asked.name.database : NULL;
        request.resource = asked.has_name ? asked.name.resource : NULL;
        status = is_console ? sirixctl_query_console(ctl, &request, err)
                            : sirixctl_query_show(ctl, &request, err);
    }
    free(memory);
    sirixctl_variables_deinit(&variables);
    return status;
}

const struct sirixctl_command sirixctl_query = {
    .name = "query",
    .operands = "[DB/RESOURCE[@WHAT]] [QUERY]",
    .summary = "Ask with JSONiq, of one revision or over all of them",
    .details =
        "The resource is the context item `$$`; jn:doc('DB', 'RESOURCE') opens any. `-` is stdin.\n"
        "Without a query, on a terminal: a console, where :help says more. Each item is a line of\n"
        "JSON.",
    .answer = "{\"items\":[...],\"count\",\"nextCursor\"?}, with --explain {\"plan\"}",
    .flags = SIRIXCTL_FLAGS(query_flags),
    .operands_min = 0,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run_query,
};

/* --- update-query ------------------------------------------------------------------------------- */

static const struct sirixctl_flag update_flags[] = {
    SIRIXCTL_WRITE_FLAGS,
    [SIRIXCTL_WRITE_FLAG_COUNT] = {"jsoniq", NULL, "JSONiq's dialect, unless the text says which"},
    {"variables", "JSON", "values of external variables, {\"name\": value, ...}"},
};

static enum sirix_status show_updates(struct sirixctl *ctl,
                                      const struct sirix_update_query_result *result,
                                      struct sirix_error *err)
{
    struct sirixctl_json json;

    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_array(&json, "updates");
    for (size_t i = 0; i < result->count; i++) {
        const struct sirix_query_update *update = &result->updates[i];

        sirixctl_json_object(&json, NULL);
        sirixctl_json_str(&json, "database", update->database);
        sirixctl_json_str(&json, "resource", update->resource);
        sirixctl_json_str(&json, "branch", update->branch);
        sirixctl_json_write_result(&json, &update->result);
        sirixctl_json_object_end(&json);
        if (!ctl->json && !ctl->quiet) {
            sirixctl_out_printf(&ctl->out, "%s/%s", update->database, update->resource);
            sirixctl_out_printf(&ctl->out, " (%s): revision %" PRIu64 "%s\n", update->branch,
                                update->result.revision,
                                update->result.replayed ? " (done before, by the same key)" : "");
        }
    }
    if (result->count == 0 && !ctl->json && !ctl->quiet) {
        sirixctl_out_printf(&ctl->out, "nothing changed\n");
    }
    sirixctl_json_array_end(&json);
    sirixctl_json_object_end(&json);
    return sirixctl_json_end(&json, ctl->json ? &ctl->out : NULL, SIRIX_OK, err);
}

static enum sirix_status run_update(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_update_query_request request = {
        .branch = ctl->args.own[SIRIXCTL_BRANCH],
        .jsoniq = ctl->args.own[SIRIXCTL_WRITE_FLAG_COUNT] != NULL,
    };
    struct sirix_update_query_result *result = NULL;
    struct sirixctl_variables variables;
    struct asked asked;
    char *memory = NULL;
    enum sirix_status status =
        sirixctl_variables_init(&variables, ctl->args.own[SIRIXCTL_WRITE_FLAG_COUNT + 1], err);

    request.variables = variables.list;
    request.variable_count = variables.count;
    if (status == SIRIX_OK) {
        status = read_operands(ctl, &asked, err);
    }
    if (status == SIRIX_OK && asked.has_name) {
        status = sirixctl_name_refuse_at(&asked.name, err);
    }
    if (status == SIRIX_OK && !asked.has_name && request.branch != NULL) {
        status = sirixctl_usage(err, "--branch is of a resource: name it before the query");
    }
    if (status == SIRIX_OK) {
        status = sirixctl_write_options(ctl, &request.write, err);
    }
    if (status == SIRIX_OK) {
        status = read_text(&asked, &memory, &request.query, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        request.database = asked.has_name ? asked.name.database : NULL;
        request.resource = asked.has_name ? asked.name.resource : NULL;
        status = sirix_client_update_query(ctl->client, &request, &ctl->call, &result, err);
    }
    if (status == SIRIX_OK) {
        status = show_updates(ctl, result, err);
    }
    sirix_client_free(result);
    free(memory);
    sirixctl_variables_deinit(&variables);
    return status;
}

const struct sirixctl_command sirixctl_update_query = {
    .name = "update-query",
    .operands = "[DB/RESOURCE] [QUERY]",
    .summary = "Change what a JSONiq query says, as one revision of each resource",
    .details =
        "insert json, delete json, replace json value of, rename json and append json, with any\n"
        "query around them. `-`, or no query, is stdin. All resources are of one database; either\n"
        "all of them are changed or none.",
    .answer = "{\"updates\":[{\"database\",\"resource\",\"branch\",\"revision\",\"parentRevision\","
              "\"timestamp\",\n"
              "\"changed\",\"replayed\"}]}",
    .flags = SIRIXCTL_FLAGS(update_flags),
    .operands_min = 0,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_update,
};
