/*
 * The console of `query`. A text is whole when the server says that it does not end too early: an error of
 * syntax at the very end asks for another line.
 */
#include "cli/commands/query_console.h"

#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/tell.h"

static const char help[] =
    "A query ends with the line that completes it, or with an empty line. Tab completes names,\n"
    "Ctrl-C gives up what is being typed or running, Ctrl-D ends.\n"
    "  $$                           the resource that the console was opened with\n"
    "  jn:doc('DB', 'RESOURCE')     any resource; a third argument is a revision\n"
    "  :use DB/RESOURCE[@WHAT]      another one; `:use -` for none\n"
    "  :explain QUERY               the plan instead of items\n"
    "  :help  :quit\n";

static const char *const commands[] = {":explain", ":help", ":quit", ":use"};

static const char *const words[] = {
    "allowing empty",
    "and",
    "append json",
    "ascending",
    "at",
    "case",
    "cast as",
    "castable as",
    "catch",
    "collation",
    "copy",
    "count",
    "declare function",
    "declare variable",
    "default",
    "delete json",
    "descending",
    "div",
    "else",
    "empty greatest",
    "empty least",
    "eq",
    "every",
    "except",
    "external",
    "for",
    "ge",
    "group by",
    "gt",
    "idiv",
    "if",
    "in",
    "insert json",
    "instance of",
    "intersect",
    "into",
    "jsoniq version",
    "le",
    "let",
    "lt",
    "mod",
    "modify",
    "ne",
    "or",
    "order by",
    "rename json",
    "replace json value of",
    "return",
    "satisfies",
    "sliding window",
    "some",
    "stable order by",
    "switch",
    "then",
    "to",
    "treat as",
    "try",
    "tumbling window",
    "typeswitch",
    "union",
    "value of",
    "where",
    "with",
    "abs(",
    "accumulate(",
    "avg(",
    "boolean(",
    "ceiling(",
    "concat(",
    "contains(",
    "count(",
    "current-date(",
    "current-dateTime(",
    "deep-equal(",
    "descendant-arrays(",
    "descendant-objects(",
    "distinct-values(",
    "empty(",
    "ends-with(",
    "error(",
    "exactly-one(",
    "exists(",
    "filter(",
    "flatten(",
    "floor(",
    "fold-left(",
    "fold-right(",
    "for-each(",
    "format-number(",
    "head(",
    "index-of(",
    "insert-before(",
    "json-doc(",
    "keys(",
    "lower-case(",
    "matches(",
    "max(",
    "members(",
    "min(",
    "normalize-space(",
    "not(",
    "null(",
    "number(",
    "parse-json(",
    "position(",
    "project(",
    "remove(",
    "remove-keys(",
    "replace(",
    "reverse(",
    "round(",
    "serialize(",
    "size(",
    "sort(",
    "starts-with(",
    "string(",
    "string-join(",
    "string-length(",
    "subsequence(",
    "substring(",
    "substring-after(",
    "substring-before(",
    "sum(",
    "tail(",
    "tokenize(",
    "translate(",
    "upper-case(",
    "values(",
    "jn:all-times(",
    "jn:collection(",
    "jn:diff(",
    "jn:doc(",
    "jn:exists-database(",
    "jn:exists-resource(",
    "jn:first(",
    "jn:first-existing(",
    "jn:future(",
    "jn:last(",
    "jn:last-existing(",
    "jn:next(",
    "jn:open(",
    "jn:open-revisions(",
    "jn:past(",
    "jn:previous(",
    "jn:select-json-item(",
    "sdb:author-name(",
    "sdb:branch(",
    "sdb:branches(",
    "sdb:child-count(",
    "sdb:descendant-count(",
    "sdb:explain(",
    "sdb:hash(",
    "sdb:is-deleted(",
    "sdb:item-history(",
    "sdb:level-order(",
    "sdb:most-recent-revision(",
    "sdb:nodekey(",
    "sdb:path(",
    "sdb:revision(",
    "sdb:select-item(",
    "sdb:select-parent(",
    "sdb:snapshot(",
    "sdb:snapshots(",
    "sdb:timestamp(",
};

struct session {
    struct sirixctl *ctl;
    struct sirix_query_request request;
    struct sirixctl_name name; /* Of :use. */
    char *what;                /* What stands behind its @. */
};

/* A cancellation is for ever, so that each statement after one gets a handle of its own. */
static enum sirix_status renew_cancel(struct sirixctl *ctl, struct sirix_error *err)
{
    if (!sirix_call_cancel_triggered(ctl->call.cancel)) {
        return SIRIX_OK;
    }
    sirixctl_interrupt_stop();
    ctl->call.cancel = NULL;
    return sirixctl_interrupt_start(&ctl->call.cancel, err);
}

/* --- Whole or not ------------------------------------------------------------------------------- */

/* Line and column just behind the text, in code points, from 1. */
static void find_end(struct sirix_bytes text, uint32_t *out_line, uint32_t *out_column)
{
    const char *bytes = text.data;

    *out_line = 1;
    *out_column = 1;
    for (size_t i = 0; i < text.len; i++) {
        if (bytes[i] == '\n') {
            (*out_line)++;
            *out_column = 1;
        } else if (((unsigned char)bytes[i] & 0xc0) != 0x80) {
            (*out_column)++;
        }
    }
}

static bool is_complete(void *context, struct sirix_bytes text)
{
    struct session *session = context;
    struct sirix_query_request request = session->request;
    struct sirix_query_stream *stream = NULL;
    struct sirix_error err = {0};
    uint32_t line = 0;
    uint32_t column = 0;

    if (*(const char *)text.data == ':' || renew_cancel(session->ctl, NULL) != SIRIX_OK) {
        return true;
    }
    request.query = text;
    request.explain = true;
    if (sirix_client_query(session->ctl->client, &request, &session->ctl->call, &stream, &err) ==
        SIRIX_OK) {
        sirix_query_stream_close(stream);
        return true;
    }
    find_end(text, &line, &column);
    return strcmp(err.code, "XPST0003") != 0 || err.line != line || err.column < column;
}

/* --- Completion --------------------------------------------------------------------------------- */

/* Keeps what is between two quotes, if it fits. */
static void keep_quoted(const char *opened, const char *closed, char *out, size_t bytes)
{
    if (closed != NULL && (size_t)(closed - opened) <= bytes) {
        memcpy(out, opened + 1, (size_t)(closed - opened - 1));
        out[closed - opened - 1] = '\0';
    }
}

/* Inside of quotes names of databases, or of the resources of the one that was quoted before. */
static bool quoted(const struct sirixctl_candidates *candidates, char *out_database, size_t bytes)
{
    const char *start = candidates->before.data;
    size_t quotes = 0;
    const char *opened = NULL;
    const char *closed = NULL;

    out_database[0] = '\0';
    for (size_t i = 0; i < candidates->before.len; i++) {
        if (start[i] != '\'' && start[i] != '"') {
            continue;
        }
        if (++quotes % 2 == 1) {
            keep_quoted(opened, closed, out_database, bytes);
            opened = start + i;
        } else {
            closed = start + i;
        }
    }
    return quotes % 2 == 1;
}

static void add_databases(struct sirixctl *ctl, struct sirixctl_candidates *candidates)
{
    struct sirix_database_list *list = NULL;

    if (sirix_client_list_databases(ctl->client, NULL, &ctl->call, &list, NULL) != SIRIX_OK) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        sirixctl_candidates_add(candidates, list->items[i].name);
    }
    sirix_client_free(list);
}

static void add_resources(struct sirixctl *ctl, const char *database,
                          struct sirixctl_candidates *candidates)
{
    struct sirix_resource_list *list = NULL;

    if (sirix_client_list_resources(ctl->client, database, NULL, &ctl->call, &list, NULL) !=
        SIRIX_OK) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        sirixctl_candidates_add(candidates, list->items[i].name);
    }
    sirix_client_free(list);
}

static void complete(void *context, struct sirixctl_candidates *candidates)
{
    struct sirixctl *ctl = ((struct session *)context)->ctl;
    char database[SIRIX_NAME_BYTES_MAX + 2];

    if (quoted(candidates, database, sizeof(database))) {
        add_databases(ctl, candidates);
        if (database[0] != '\0') {
            add_resources(ctl, database, candidates);
        }
        return;
    }
    if (candidates->before.len == 0) {
        for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
            sirixctl_candidates_add(candidates, commands[i]);
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && candidates->word.len != 0; i++) {
        sirixctl_candidates_add(candidates, words[i]);
    }
}

/* --- Statements --------------------------------------------------------------------------------- */

static bool is_command(struct sirix_bytes text, const char *name, struct sirix_bytes *out_rest)
{
    const size_t len = strlen(name);
    const char *bytes = text.data;

    if (text.len < len || memcmp(bytes, name, len) != 0 ||
        (text.len > len && bytes[len] != ' ' && bytes[len] != '\n')) {
        return false;
    }
    size_t at = len;
    while (at < text.len && (bytes[at] == ' ' || bytes[at] == '\n')) {
        at++;
    }
    *out_rest = (struct sirix_bytes){.data = bytes + at, .len = text.len - at};
    return true;
}

/* The statement ends with a NUL, so its rest does too. */
static enum sirix_status use(struct session *session, struct sirix_bytes rest,
                             struct sirix_error *err)
{
    struct sirixctl_name name = {0};
    struct sirix_view view = {0};
    char *text = NULL;
    enum sirix_status status = SIRIX_OK;

    if (rest.len == 1 && *(const char *)rest.data == '-') {
        session->request.database = NULL;
        session->request.resource = NULL;
        session->request.view = view;
        return SIRIX_OK;
    }
    text = strdup(rest.data);
    if (text == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a name");
    }
    status = sirixctl_name_parse(text, &name, err);
    if (status == SIRIX_OK && name.resource[0] == '\0') {
        status = sirixctl_usage(err, ":use wants DB/RESOURCE[@WHAT]");
    }
    if (status == SIRIX_OK) {
        status =
            sirixctl_name_view(session->ctl->client, &name, NULL, &session->ctl->call, &view, err);
    }
    if (status != SIRIX_OK) {
        free(text);
        return status;
    }
    free(session->what);
    session->what = text; /* The view's name lies in it. */
    session->name = name;
    session->request.database = session->name.database;
    session->request.resource = session->name.resource;
    session->request.view = view;
    return SIRIX_OK;
}

static enum sirix_status run_statement(struct session *session, struct sirix_bytes text,
                                       bool *out_quit, struct sirix_error *err)
{
    struct sirix_query_request request = session->request;
    struct sirix_bytes rest = {0};

    if (is_command(text, ":quit", &rest)) {
        *out_quit = true;
        return SIRIX_OK;
    }
    if (is_command(text, ":help", &rest)) {
        sirixctl_out_printf(&session->ctl->out, "%s", help);
        return SIRIX_OK;
    }
    if (is_command(text, ":use", &rest)) {
        return use(session, rest, err);
    }
    request.query = text;
    if (is_command(text, ":explain", &rest)) {
        request.query = rest;
        request.explain = true;
    } else if (*(const char *)text.data == ':') {
        return sirixctl_usage(err, "there is no such command; :help lists them");
    }
    return sirixctl_query_show(session->ctl, &request, err);
}

static void tell(struct sirixctl *ctl, const struct sirix_error *err)
{
    char hint[SIRIXCTL_HINT_BYTES_MAX];
    struct sirixctl_out errors;

    sirixctl_out_init(&errors, stderr, ctl->out.colours);
    sirixctl_hint(ctl, err, hint);
    sirixctl_tell_words(&errors, err, hint);
}

enum sirix_status sirixctl_query_console(struct sirixctl *ctl,
                                         const struct sirix_query_request *request,
                                         struct sirix_error *err)
{
    struct session session = {.ctl = ctl, .request = *request};
    const struct sirixctl_console_options options = {
        .name = "query",
        .prompt = "query> ",
        .word_bytes = "_-.:$",
        .is_complete = is_complete,
        .complete = complete,
        .context = &session,
    };
    struct sirixctl_console *console = NULL;
    struct sirix_bytes text = {0};
    bool ended = false;
    enum sirix_status status = sirixctl_console_open(&options, &console, err);

    while (status == SIRIX_OK && !ended) {
        struct sirix_error failed = {0};

        status = sirixctl_console_read(console, &text, &ended, err);
        if (status != SIRIX_OK || ended) {
            break;
        }
        if (run_statement(&session, text, &ended, &failed) != SIRIX_OK) {
            (void)fflush(ctl->out.file); /* What was answered before it failed. */
            tell(ctl, &failed);
        }
        status = renew_cancel(ctl, err);
        if (status == SIRIX_OK) {
            status = sirixctl_out_finish(&ctl->out, err);
        }
    }
    sirixctl_console_close(console);
    free(session.what);
    return status;
}
