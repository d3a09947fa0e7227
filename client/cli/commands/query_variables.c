/* See query_variables.h. */
#include "cli/commands/query_variables.h"

#include <string.h>

#include "cli/args.h"
#include "json/text.h"
#include "json/tree.h"

/* A name as a C string. */
static enum sirix_status take_name(struct sirix_arena *arena, struct sirix_bytes canonical,
                                   const char **out, struct sirix_error *err)
{
    struct sirix_bytes plain = {"", 0};
    void *memory = NULL;
    enum sirix_status status = sirix_json_text_to_plain(arena, canonical, &plain, err);

    if (status == SIRIX_OK && (plain.len == 0 || memchr(plain.data, '\0', plain.len) != NULL)) {
        return sirixctl_usage(err, "--variables has a name that no variable can have");
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, plain.len + 1, 1, &memory, err);
    }
    if (status == SIRIX_OK) {
        memcpy(memory, plain.data, plain.len);
        *out = memory;
    }
    return status;
}

static enum sirix_status take_value(struct sirix_arena *arena, const struct sirix_json_node *value,
                                    struct sirix_bytes *out, struct sirix_error *err)
{
    struct sirix_buf text;

    sirix_buf_init(&text, SIRIXCTL_VARIABLES_BYTES_MAX);
    enum sirix_status status = sirix_json_tree_print(value, &text, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(arena, sirix_buf_view(&text), out, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

enum sirix_status sirixctl_variables_init(struct sirixctl_variables *variables, const char *text,
                                          struct sirix_error *err)
{
    struct sirix_json_tree tree;
    void *memory = NULL;

    *variables = (struct sirixctl_variables){.count = 0};
    sirix_arena_init(&variables->arena, (size_t)16 * SIRIXCTL_VARIABLES_BYTES_MAX);
    if (text == NULL) {
        return SIRIX_OK;
    }
    if (strlen(text) > SIRIXCTL_VARIABLES_BYTES_MAX) {
        return sirixctl_usage(err, "--variables has more than %d bytes",
                              SIRIXCTL_VARIABLES_BYTES_MAX);
    }
    enum sirix_status status = sirix_json_tree_init(&tree, &variables->arena, err);
    if (status == SIRIX_OK) {
        struct sirix_error why = {0};

        status = sirix_json_tree_parse(&tree, sirix_bytes_from_str(text), NULL, NULL, &why);
        if (status != SIRIX_OK || tree.root->kind != SIRIX_JSON_KIND_OBJECT) {
            return sirixctl_usage(
                err, "--variables takes a JSON object, {\"name\": value, ...}%s%s",
                status == SIRIX_OK ? "" : ": ", status == SIRIX_OK ? "" : why.text);
        }
        status = sirix_arena_calloc(&variables->arena, sirix_json_count(tree.root) + 1,
                                    sizeof(*variables->list), &memory, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    variables->list = memory;
    for (const struct sirix_json_node *node = sirix_json_first(tree.root);
         node != NULL && status == SIRIX_OK; node = node->next) {
        struct sirix_query_variable *variable = &variables->list[variables->count];

        status = take_name(&variables->arena, node->name, &variable->name, err);
        if (status == SIRIX_OK) {
            status = take_value(&variables->arena, node, &variable->json, err);
        }
        variables->count++;
    }
    return status;
}

void sirixctl_variables_deinit(struct sirixctl_variables *variables)
{
    sirix_arena_deinit(&variables->arena);
    *variables = (struct sirixctl_variables){.count = 0};
}
