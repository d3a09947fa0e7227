/* See engine.h. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <assert.h>

#include "query/syntax/parser.h"
#include "store/document/patch.h"
#include "json/patch.h"

/* --- Catalogue ---------------------------------------------------------------------------------- */

static int64_t now_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static enum sirix_status open_place(void *context, struct sirix_bytes database,
                                    struct sirix_bytes resource,
                                    struct sirix_query_place *out_place, struct sirix_error *err)
{
    struct engine *engine = context;

    if (!engine->has_document || !sirix_bytes_equal(database, engine->database)) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN,
                                 "there is no such database");
    }
    if (!sirix_bytes_equal(resource, engine->resource)) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
                                 "there is no such resource");
    }
    *out_place = (struct sirix_query_place){.resource = engine->store.resource,
                                            .reader = engine->store.reader};
    return SIRIX_OK;
}

static void close_place(void *context, struct sirix_query_place *place)
{
    (void)context;
    (void)place;
}

static enum sirix_status list_databases(void *context, sirix_name_visit_fn visit,
                                        void *visit_context, struct sirix_error *err)
{
    struct engine *engine = context;
    bool stop = false;

    return engine->has_document ? visit(visit_context, engine->database, &stop, err) : SIRIX_OK;
}

static enum sirix_status list_resources(void *context, struct sirix_bytes database,
                                        sirix_name_visit_fn visit, void *visit_context,
                                        struct sirix_error *err)
{
    struct engine *engine = context;
    bool stop = false;

    return sirix_bytes_equal(database, engine->database)
               ? visit(visit_context, engine->resource, &stop, err)
               : SIRIX_OK;
}

static enum sirix_status look_at_the_clock(void *context, struct sirix_error *err)
{
    const struct engine *engine = context;

    return now_us() > engine->deadline_us
               ? sirix_fail(err, SIRIX_DEADLINE, "the case takes too long")
               : SIRIX_OK;
}

void engine_open(struct engine *engine, struct sirix_arena *arena)
{
    *engine = (struct engine){.arena = arena};
    fixture_open_new(&engine->store);
    engine->catalogue = (struct sirix_query_catalogue){.context = engine,
                                                       .open = open_place,
                                                       .close = close_place,
                                                       .databases = list_databases,
                                                       .resources = list_resources};
}

void engine_close(struct engine *engine)
{
    fixture_close(&engine->store);
}

/* --- Documents ---------------------------------------------------------------------------------- */

void engine_store(struct engine *engine, struct sirix_bytes database, struct sirix_bytes resource,
                  struct sirix_bytes text)
{
    import_bytes(&engine->store, text, SIZE_MAX / 2);
    engine->has_document = true;
    engine->database = database;
    engine->resource = resource;
}

bool engine_bring_to(struct engine *engine, struct sirix_bytes text, struct sirix_error *err)
{
    struct sirix_json_tree trees[3] = {0};
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    char *before = text_of_head(&engine->store);
    bool is_done = false;

    for (size_t i = 0; i < 3; i++) {
        if (sirix_json_tree_init(&trees[i], engine->arena, err) != SIRIX_OK) {
            goto out;
        }
    }
    if (sirix_json_tree_parse(&trees[0], bytes_of(before), NULL, NULL, err) != SIRIX_OK ||
        sirix_json_tree_parse(&trees[1], text, NULL, NULL, err) != SIRIX_OK ||
        sirix_json_patch_diff(&trees[0], trees[0].root, &trees[1], trees[1].root, &trees[2], NULL,
                              err) != SIRIX_OK) {
        goto out;
    }
    edit = fixture_edit(&engine->store, &view);
    if (sirix_patch_apply(edit, &trees[2], trees[2].root, 0, err) == SIRIX_OK) {
        is_done = fixture_commit(&engine->store, edit, &view);
    } else {
        fixture_drop(edit, &view);
    }

out:
    free(before);
    return is_done;
}

/* --- Queries ------------------------------------------------------------------------------------ */

static enum sirix_status keep_items(struct engine *engine, const struct sirix_query_item *items,
                                    size_t count, struct sirix_buf *all, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        struct result_item item = {.atomic = items[i].atomic};

        status = sirix_arena_copy(engine->arena, items[i].json, &item.json, err);
        item.text = item.json;
        if (status == SIRIX_OK && item.atomic) {
            status = sirix_arena_copy(engine->arena, items[i].text, &item.text, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append(all, &item, sizeof(item), err);
        }
    }
    return status;
}

static enum sirix_status commit(struct sirix_query *query, struct sirix_query_error *err)
{
    enum { TOUCHED_MAX = 4 };
    const struct sirix_edit_commit how = {.author = {"tester", 6}, .message = {"case", 4}};
    const struct sirix_query_touched *touched = NULL;
    struct sirix_query_committed committed[TOUCHED_MAX] = {0};
    size_t count = 0;
    enum sirix_status status = sirix_query_evaluate(query, &touched, &count, err);

    assert(count <= TOUCHED_MAX);
    return status == SIRIX_OK ? sirix_query_commit(query, &how, committed, err) : status;
}

enum sirix_status engine_run(struct engine *engine, struct sirix_bytes text,
                             const struct engine_options *options, struct result_item **out_items,
                             size_t *out_count, struct sirix_query_error *err)
{
    const struct sirix_query_options how = {
        .text = text,
        .dialect = options->jsoniq ? SIRIX_QUERY_DIALECT_JSONIQ : SIRIX_QUERY_DIALECT_DEFAULT,
        .updating = true,
        .naive = options->naive,
        .catalogue = &engine->catalogue,
        .inputs = engine->inputs,
        .input_count = engine->input_count,
        .check = look_at_the_clock,
        .context = engine};
    struct sirix_query *query = NULL;
    struct sirix_buf all;
    void *kept = NULL;
    bool done = false;

    sirix_buf_init(&all, SIZE_MAX);
    engine->deadline_us = now_us() + (int64_t)ENGINE_SECONDS_MAX * 1000000;

    enum sirix_status status = sirix_query_prepare(&how, &query, err);

    while (status == SIRIX_OK && !done) {
        const struct sirix_query_item *items = NULL;
        size_t count = 0;

        status = sirix_query_next(query, 0, 0, &items, &count, &done, err);
        if (status == SIRIX_OK) {
            status = keep_items(engine, items, count, &all, &err->base);
        }
    }
    if (status == SIRIX_OK && sirix_query_is_updating(query)) {
        status = commit(query, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_alloc(engine->arena, all.len, &kept, &err->base);
    }
    if (status == SIRIX_OK) {
        memcpy(kept, all.data != NULL ? (const void *)all.data : "", all.len);
        *out_count = all.len / sizeof(struct result_item);
        *out_items = kept;
    }
    sirix_query_close(query);
    sirix_reader_yield(engine->store.reader);
    sirix_buf_deinit(&all);
    return status;
}

/* --- Setting up --------------------------------------------------------------------------------- */

/* jn:store('database', 'resource', 'text'): whether it is one. */
static bool is_store(const struct sirix_ast *ast)
{
    bool is = ast->kind == SIRIX_AST_CALL && ast->child_count == 3 &&
              sirix_bytes_equal(ast->name->local, bytes_of("store"));

    for (uint32_t i = 0; is && i < ast->child_count; i++) {
        is = ast->children[i]->kind == SIRIX_AST_STRING;
    }
    return is;
}

static bool has_text(struct sirix_bytes text, const char *part)
{
    return memmem(text.data, text.len, part, strlen(part)) != NULL;
}

bool engine_set_up(struct engine *engine, struct sirix_bytes text, struct sirix_query_error *err)
{
    const struct engine_options options = {.jsoniq = false};
    struct sirix_ast_module *module = NULL;
    struct result_item *items = NULL;
    size_t count = 0;

    if (sirix_syntax_parse(engine->arena, text, SIRIX_SYNTAX_SIRIX, &module, err) != SIRIX_OK) {
        return false;
    }
    if (is_store(module->body)) {
        struct sirix_ast **arguments = module->body->children;

        engine_store(engine, arguments[0]->text, arguments[1]->text, arguments[2]->text);
        return true;
    }
    if (has_text(text, "jn:create-") && !has_text(text, " json ")) {
        return true; /* Only indexes. */
    }
    return engine_run(engine, text, &options, &items, &count, err) == SIRIX_OK;
}
