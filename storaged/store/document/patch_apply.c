/* A whole patch, one operation after the other. */
#include <inttypes.h>

#include "store/document/patch.h"

enum sirix_status sirix_patch_fail_form(struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "a JSON patch is an array of operations");

    sirix_error_set_field(err, "patch");
    return status;
}

enum sirix_status sirix_patch_check_count(uint64_t count, uint64_t max_ops, struct sirix_error *err)
{
    if (max_ops == 0) {
        max_ops = SIRIX_PATCH_OPS_DEFAULT;
    }
    return count <= max_ops ? SIRIX_OK
                            : sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                                "the patch has %" PRIu64
                                                " operations, at most %" PRIu64 " are allowed",
                                                count, max_ops);
}

enum sirix_status sirix_patch_apply(struct sirix_edit *edit, struct sirix_json_tree *patch_tree,
                                    const struct sirix_json_node *patch, uint64_t max_ops,
                                    struct sirix_error *err)
{
    struct sirix_patch_copies copies = {0};
    uint64_t number = 0;

    if (patch->kind != SIRIX_JSON_KIND_ARRAY) {
        return sirix_patch_fail_form(err);
    }
    enum sirix_status status = sirix_patch_check_count(sirix_json_count(patch), max_ops, err);
    for (struct sirix_json_node *op = sirix_json_first(patch); op != NULL && status == SIRIX_OK;
         op = op->next) {
        status = sirix_patch_apply_one(edit, patch_tree, op, number++, &copies, NULL, err);
    }
    return status;
}
