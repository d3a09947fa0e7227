/* paths: the summary of a resource, and how often each occurs where that is asked for. */
#include <string.h>

#include "sql/list.h"
#include "json/text.h"

#define COLUMN(title, kind, text)                                                                  \
    {                                                                                              \
        .name = (title), .type = (kind), .meaning = (text)                                         \
    }
#define ARGUMENT(title, kind, text)                                                                \
    {                                                                                              \
        .name = (title), .type = (kind), .argument = true, .meaning = (text)                       \
    }

/* --- Counting --------------------------------------------------------------------------------------- */

/* How many values are at each path: all nodes of the revision are read once. */
struct tally {
    struct sirix_sql_session *session;
    const struct sirix_paths *paths;
    struct sirix_document document;
    struct sirix_bytes *names; /* Canonical, of members. */
    uint64_t *counts;          /* One a path. */
    uint32_t *guesses;         /* Of a path: which child came last. */
    uint32_t *stack;           /* The paths from the value down to the present node. */
};

static bool fits(const struct tally *tally, uint32_t path, const struct sirix_document_node *node)
{
    switch (tally->paths->nodes[path].step) {
    case SIRIX_STEP_ELEMENT:
        return !node->is_member;
    case SIRIX_STEP_MEMBER:
        return node->is_member && node->long_name.len == 0 &&
               sirix_bytes_equal(node->name, tally->names[path]);
    default:
        return false;
    }
}

/* The path of a node below another one; members of one shape come in one order, so the next is tried. */
static uint32_t path_below(struct tally *tally, uint32_t parent,
                           const struct sirix_document_node *node)
{
    const struct sirix_path_node *nodes = tally->paths->nodes;
    const uint32_t end = nodes[parent].end;
    const uint32_t first = parent + 1;
    uint32_t at = tally->guesses[parent] == 0 ? first : nodes[tally->guesses[parent]].end;
    uint32_t any = SIRIX_PATH_NONE;

    at = at >= end ? first : at;
    if (at < end && fits(tally, at, node)) {
        tally->guesses[parent] = at;
        return at;
    }
    for (at = first; at < end; at = nodes[at].end) {
        if (fits(tally, at, node)) {
            tally->guesses[parent] = at;
            return at;
        }
        any = node->is_member && nodes[at].step == SIRIX_STEP_ANY_MEMBER ? at : any;
    }
    return any;
}

static enum sirix_status name_paths(struct tally *tally, struct sirix_arena *arena,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i < tally->paths->count && status == SIRIX_OK; i++) {
        if (tally->paths->nodes[i].step == SIRIX_STEP_MEMBER) {
            status = sirix_json_text_to_canonical(arena, tally->paths->nodes[i].name,
                                                  &tally->names[i], err);
        }
    }
    return status;
}

static enum sirix_status tally_init(struct tally *tally, struct sirix_arena *arena,
                                    struct sirix_error *err)
{
    const size_t count = tally->paths->count;
    void *memory[4] = {NULL};
    const size_t sizes[4] = {sizeof(*tally->names), sizeof(*tally->counts), sizeof(*tally->guesses),
                             sizeof(*tally->stack)};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < 4 && status == SIRIX_OK; i++) {
        status = sirix_arena_calloc(arena, i == 3 ? SIRIX_DOCUMENT_DEPTH_MAX + 2 : count, sizes[i],
                                    &memory[i], err);
    }
    if (status == SIRIX_OK) {
        tally->names = memory[0];
        tally->counts = memory[1];
        tally->guesses = memory[2];
        tally->stack = memory[3];
        status = name_paths(tally, arena, err);
    }
    return status;
}

static enum sirix_status tally_all(struct tally *tally, struct sirix_error *err)
{
    struct sirix_walk *walk = NULL;
    enum sirix_status status = sirix_walk_new(&tally->document, 1, &walk, err);

    while (status == SIRIX_OK) {
        struct sirix_document_node node = {0};
        uint32_t depth = 0;

        status = sirix_sql_touch(tally->session, err);
        if (status != SIRIX_OK) {
            break;
        }
        status = sirix_walk_next(walk, &node, &depth, err);
        if (status != SIRIX_OK || depth > SIRIX_DOCUMENT_DEPTH_MAX) {
            break;
        }
        const uint32_t parent = depth == 0 ? 0 : tally->stack[depth - 1];
        tally->stack[depth] = depth == 0                  ? 0
                              : parent == SIRIX_PATH_NONE ? SIRIX_PATH_NONE
                                                          : path_below(tally, parent, &node);
        if (tally->stack[depth] != SIRIX_PATH_NONE) {
            tally->counts[tally->stack[depth]]++;
        }
    }
    sirix_walk_free(walk);
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/* scan->state becomes the counts, one a path; they live as long as the statement. */
static enum sirix_status count_paths(struct sirix_sql_list_scan *scan, struct sirix_sql_view *view,
                                     const struct sirix_paths *paths, struct sirix_error *err)
{
    struct tally tally = {.session = scan->session, .paths = paths};

    if (paths->count == 0 || scan->state != NULL) {
        return SIRIX_OK;
    }
    sirix_document_init(&tally.document, &view->view, view->place->reader);
    enum sirix_status status = tally_init(&tally, &scan->session->arena, err);
    if (status == SIRIX_OK) {
        status = tally_all(&tally, err);
    }
    if (status == SIRIX_OK) {
        scan->state = tally.counts;
    }
    return status;
}

/* --- paths ------------------------------------------------------------------------------------------ */

static enum sirix_status kinds_text(struct sirix_sql_list_scan *scan, uint32_t kinds,
                                    struct sirix_sql_value *out, struct sirix_error *err)
{
    static const char *const names[] = {
        [SIRIX_VALUE_OBJECT] = "object",   [SIRIX_VALUE_ARRAY] = "array",
        [SIRIX_VALUE_STRING] = "string",   [SIRIX_VALUE_NUMBER] = "number",
        [SIRIX_VALUE_BOOLEAN] = "boolean", [SIRIX_VALUE_NULL] = "null",
    };
    enum { KINDS_BYTES_MAX = 64 };
    struct sirix_buf text = {.max = KINDS_BYTES_MAX};
    enum sirix_status status = SIRIX_OK;

    for (unsigned i = SIRIX_VALUE_OBJECT; i <= SIRIX_VALUE_NULL && status == SIRIX_OK; i++) {
        if ((kinds & (1U << i)) != 0) {
            status = sirix_buf_printf(&text, err, "%s%s", text.len == 0 ? "" : ",", names[i]);
        }
    }
    out->kind = SIRIX_SQL_TEXT;
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&scan->arena, sirix_buf_view(&text), &out->bytes, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

enum { PATHS_DATABASE = 3, PATHS_RESOURCE = 4 };

/* Of a resource that stays open, with counts where they are asked for. */
static enum sirix_status open_paths(struct sirix_sql_list_scan *scan, struct sirix_bytes database,
                                    struct sirix_bytes resource, struct sirix_paths *out_paths,
                                    struct sirix_error *err)
{
    const struct sirix_paths *paths = NULL;
    struct sirix_sql_place *place = NULL;
    struct sirix_sql_view *view = NULL;
    enum sirix_status status = sirix_sql_place_open(scan->session, database, resource, &place, err);

    if (status == SIRIX_OK) {
        status = sirix_sql_view_open(scan->session, place, (struct sirix_bytes){0}, &view, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_view_paths(scan->session, view, &paths, err);
    }
    if (status == SIRIX_OK && scan->is_costly) {
        status = count_paths(scan, view, paths, err);
    }
    if (status == SIRIX_OK) {
        *out_paths = *paths;
    }
    return status;
}

/* Many resources may be asked one after the other: what is not open stays closed. */
static enum sirix_status find_paths(struct sirix_sql_list_scan *scan, struct sirix_paths *out_paths,
                                    struct sirix_error *err)
{
    const struct sirix_bytes resource = sirix_sql_list_given(scan, PATHS_RESOURCE);
    struct sirix_bytes database = {0};
    enum sirix_status status = sirix_sql_default_database(
        scan->session, sirix_sql_list_given(scan, PATHS_DATABASE), &database, err);

    if (status != SIRIX_OK) {
        return status;
    }
    return scan->is_costly || !sirix_sql_visible(scan->session, database, resource) ||
                   sirix_sql_place_is_open(scan->session, database, resource)
               ? open_paths(scan, database, resource, out_paths, err)
               : sirix_sql_paths_look(scan->session, database, resource, &scan->arena, out_paths,
                                      err);
}

static enum sirix_status paths_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    struct sirix_path_page page = {0};
    struct sirix_paths paths = {0};
    const uint64_t first = scan->position;
    enum sirix_status status = find_paths(scan, &paths, err);

    if (status == SIRIX_OK) {
        status = sirix_paths_page(&paths, sirix_buf_view(&scan->cursor), &scan->arena, &page, err);
    }
    for (size_t i = 0; i < page.count && status == SIRIX_OK; i++) {
        const uint64_t *counts = scan->state;
        struct sirix_sql_value values[3] = {sirix_sql_text_value(page.entries[i].path)};

        status = kinds_text(scan, page.entries[i].kinds, &values[1], err);
        if (counts != NULL) {
            values[2] = sirix_sql_number_value(counts[first + i]);
        }
        if (status == SIRIX_OK) {
            status = sirix_sql_list_add(scan, values, 3, err);
            scan->position++;
        }
    }
    sirix_buf_clear(&scan->cursor);
    scan->done = page.next_cursor.len == 0;
    return status == SIRIX_OK ? sirix_buf_append_bytes(&scan->cursor, page.next_cursor, err)
                              : status;
}

const struct sirix_sql_list sirix_sql_list_paths = {
    .name = "paths",
    .meaning = "One row a path that occurs in a resource, in any of its revisions.",
    .form = "paths('database', 'resource')",
    .columns = {COLUMN("path", "text", "Such as /users/[]/name."),
                COLUMN("kinds", "text", "Kinds of values seen there, with commas."),
                {.name = "count",
                 .type = "integer",
                 .costly = true,
                 .meaning = "Values there in the newest revision; reads all of it."},
                ARGUMENT("database", "text", "Argument 1."),
                ARGUMENT("resource", "text", "Argument 2.")},
    .required = 2,
    .page = paths_page,
};
