/*
 * Building in bulk: what comes after the first SIRIX_EDIT_BULK_BYTES of a value's text goes straight to
 * pages of a key range of its own. Containers that are open at the change keep their rows in the edit.
 *
 * A duplicate in a large object is only found when its name index is finished, when most of its rows
 * are on disk. To name it in the error, everything that is open is closed as it stands, and the member
 * is read back; then all of it is undone.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/build.h"

/* --- Name indexes ---------------------------------------------------------------------------------- */

static enum sirix_status on_duplicate(void *context, uint64_t earlier_key, uint64_t later_key,
                                      struct sirix_error *err)
{
    struct sirix_build *build = context;
    const struct sirix_build_frame *frame = &build->frames[build->depth - 1];

    if (build->options.duplicates == SIRIX_DUPLICATES_LAST) {
        return sirix_build_duplicate(build, frame->container, earlier_key, later_key, err);
    }
    if (!build->has_refused) {
        build->has_refused = true;
        build->refused = (struct sirix_build_duplicate){
            .container = frame->container,
            .earlier = earlier_key,
            .later = later_key,
        };
        (void)sirix_json_reader_pointer(&build->reader, build->refused_pointer,
                                        sizeof(build->refused_pointer));
    }
    return SIRIX_OK;
}

static enum sirix_status names_new(struct sirix_build *build, struct sirix_name_bulk **out_names,
                                   struct sirix_error *err)
{
    const char *dir = sirix_database_dir(sirix_resource_database(build->edit->base.resource));
    const struct sirix_name_bulk_options options = {
        .memory_bytes = dir != NULL ? SIRIX_BUILD_NAME_BYTES : SIRIX_BUILD_NAME_BYTES_NO_DIR,
        .spill_dir = dir,
        .duplicate = on_duplicate,
        .context = build,
    };

    return sirix_name_bulk_new(&options, out_names, err);
}

/* --- Frames ---------------------------------------------------------------------------------------- */

static enum sirix_status trees_new(struct sirix_build *build, struct sirix_build_frame *frame,
                                   struct sirix_error *err)
{
    struct sirix_page_writer *pages = NULL;
    enum sirix_status status = sirix_edit_early(build->edit, &pages, err);

    if (status == SIRIX_OK) {
        status = sirix_child_bulk_new(pages, &frame->bulk, err);
    }
    if (status == SIRIX_OK && frame->is_object) {
        status = names_new(build, &frame->names, err);
    }
    return status;
}

enum sirix_status sirix_build_bulk_append(struct sirix_build *build,
                                          struct sirix_build_frame *frame, uint64_t key,
                                          uint32_t token, struct sirix_error *err)
{
    struct sirix_name_hash hash = {0};
    enum sirix_status status = sirix_child_bulk_append(frame->bulk, key, err);

    if (status != SIRIX_OK || !frame->is_object) {
        return status;
    }
    status = sirix_build_token_hash(build, frame, token, &hash, err);
    return status == SIRIX_OK ? sirix_name_bulk_add(frame->names, hash, key, err) : status;
}

enum sirix_status sirix_build_bulk_promote(struct sirix_build *build,
                                           struct sirix_build_frame *frame, struct sirix_error *err)
{
    enum sirix_status status = trees_new(build, frame, err);

    for (uint64_t i = 0; i < frame->count && status == SIRIX_OK; i++) {
        uint64_t key = build->keys[frame->keys_base + i];
        status =
            sirix_build_bulk_append(build, frame, key, build->tokens[frame->keys_base + i], err);
    }
    return status;
}

/* The name of a child of an open list; the member in the making may have no row yet. */
static enum sirix_status child_hash(struct sirix_build *build, uint64_t key,
                                    struct sirix_name_hash *out_hash, struct sirix_error *err)
{
    struct sirix_row row = {0};
    struct sirix_node field = {0};
    enum sirix_status status = sirix_trie_edit_get(build->edit->trie, key, &row, err);

    if (status == SIRIX_NOT_FOUND && key == build->child_key) {
        return sirix_edit_name_hash(build->edit, &build->child, out_hash, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_INTERNAL, "member %" PRIu64 " has no row", key);
    }
    if (status == SIRIX_OK) {
        status = sirix_node_decode(row.record, key, &field, err);
    }
    return status == SIRIX_OK ? sirix_edit_name_hash(build->edit, &field, out_hash, err) : status;
}

/* A large child list in memory goes on as one in bulk. */
static enum sirix_status convert(struct sirix_build *build, struct sirix_build_frame *frame,
                                 struct sirix_error *err)
{
    struct sirix_open_list *open = frame->open;
    enum sirix_status status = trees_new(build, frame, err);

    for (uint64_t i = 0; i < frame->count && status == SIRIX_OK; i++) {
        struct sirix_name_hash hash = {0};
        uint64_t key = 0;
        status = sirix_edit_step(build->edit, err);
        if (status == SIRIX_OK) {
            status = sirix_child_edit_at(open->children, i, &key, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_child_bulk_append(frame->bulk, key, err);
        }
        if (status == SIRIX_OK && frame->is_object) {
            status = child_hash(build, key, &hash, err);
        }
        if (status == SIRIX_OK && frame->is_object) {
            status = sirix_name_bulk_add(frame->names, hash, key, err);
        }
    }
    if (status == SIRIX_OK) {
        sirix_open_list_free(open);
        frame->open = NULL;
        if (frame->seen != NULL) {
            sirix_map_deinit(frame->seen);
            free(frame->seen);
            frame->seen = NULL;
        }
    }
    return status;
}

/* --- Start and end --------------------------------------------------------------------------------- */

enum sirix_status sirix_build_bulk_start(struct sirix_build *build, struct sirix_error *err)
{
    struct sirix_edit_keys *keys = &build->edit->keys;
    struct sirix_page_writer *pages = NULL;
    uint64_t first = 0;
    enum sirix_status status = sirix_edit_early(build->edit, &pages, err);

    if (status == SIRIX_OK) {
        status = sirix_resource_take_keys(build->edit->base.resource, build->bulk_run, true, &first,
                                          err);
    }
    if (status == SIRIX_OK && first <= keys->max) {
        status = sirix_fail(err, SIRIX_INTERNAL, "key %" PRIu64 " was given after %" PRIu64, first,
                            keys->max);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_bulk_new(pages, first, &build->bulk, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    keys->next = first;
    keys->end = first + build->bulk_run;
    keys->shared_max = 0;
    build->bulk_first = first;
    build->bulk_settled = first / SIRIX_LEAF_KEYS;
    sirix_buf_deinit(&build->string_copy);
    sirix_buf_init(&build->string_copy, SIZE_MAX);
    for (uint32_t i = 0; i < build->depth && status == SIRIX_OK; i++) {
        if (build->frames[i].open != NULL) {
            status = convert(build, &build->frames[i], err);
        }
    }
    return status;
}

enum sirix_status sirix_build_graft(struct sirix_build *build, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < build->graft_count && status == SIRIX_OK; i++) {
        const struct sirix_trie_graft *graft = &build->grafts[i];
        status = sirix_trie_edit_graft(build->edit->trie, graft->level, graft->index,
                                       graft->address, err);
    }
    return status;
}

enum sirix_status sirix_build_bulk_finish(struct sirix_build *build, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_trie_bulk_finish(build->bulk, &build->grafts, &build->graft_count, err);

    sirix_trie_bulk_free(build->bulk);
    build->bulk = NULL;
    build->bulk_done = true;
    if (status == SIRIX_OK) {
        status = sirix_build_graft(build, err);
    }
    if (status == SIRIX_OK && build->edit->keys.max >= build->bulk_first) {
        status = sirix_build_note_taken(build, build->bulk_first, build->edit->keys.max, err);
    }
    return status == SIRIX_OK ? sirix_edit_early_settle(build->edit, err) : status;
}

enum sirix_status sirix_build_refuse(struct sirix_build *build, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(build->edit);
    struct sirix_document_node node = {0};
    struct sirix_buf text;
    const char *pointer = NULL;
    enum sirix_status status = SIRIX_OK;

    while (build->depth != 0 && !build->has_top && status == SIRIX_OK) {
        status = sirix_build_close(build, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_build_bulk_finish(build, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_child(&rows, build->refused.later, &node, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_DUPLICATE_KEY,
                               "an object has two members of one name");
    sirix_buf_init(&text, SIZE_MAX);
    if (sirix_buf_append_str(&text, build->refused_pointer, NULL) == SIRIX_OK &&
        sirix_path_append_member(&rows, sirix_node_listed(&node), SIRIX_PATH_POINTER, &text,
                                 NULL) == SIRIX_OK &&
        sirix_buf_c_str(&text, &pointer, NULL) == SIRIX_OK) {
        sirix_error_set_pointer(err, pointer);
    }
    sirix_buf_deinit(&text);
    return status;
}
