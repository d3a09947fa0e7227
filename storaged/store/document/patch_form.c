/* The form of an operation: its members, and what is said of those that are missing or wrong. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/document/patch_applying.h"
#include "json/text.h"

static const struct {
    const char *name;
    bool has_value;
    bool has_from;
} ops[SIRIX_PATCH_OP_KINDS] = {
    [SIRIX_PATCH_OP_ADD] = {"add", true, false},
    [SIRIX_PATCH_OP_REMOVE] = {"remove", false, false},
    [SIRIX_PATCH_OP_REPLACE] = {"replace", true, false},
    [SIRIX_PATCH_OP_MOVE] = {"move", false, true},
    [SIRIX_PATCH_OP_COPY] = {"copy", false, true},
    [SIRIX_PATCH_OP_TEST] = {"test", true, false},
};

enum sirix_status sirix_patch_refuse(const struct sirix_patch_applying *a, enum sirix_status status,
                                     enum sirix_reason reason, const struct sirix_json_steps *steps,
                                     const char *what, struct sirix_error *err)
{
    bool known = a->kind != SIRIX_PATCH_OP_KINDS;

    (void)sirix_fail_reason(err, status, reason, "operation %" PRIu64 " of the patch%s%s%s%s",
                            a->number, known ? " (" : "", known ? ops[a->kind].name : "",
                            known ? ")" : "", what);
    sirix_error_set_field(err, "patch");
    if (steps != NULL) {
        sirix_json_error_set_steps(err, steps);
    }
    return status;
}

static enum sirix_status refuse_member(const struct sirix_patch_applying *a,
                                       enum sirix_reason reason, const char *member,
                                       const char *what, struct sirix_error *err)
{
    char text[SIRIX_ERROR_TEXT_BYTES];

    (void)snprintf(text, sizeof(text), ": \"%s\" %.400s", member, what);
    return sirix_patch_refuse(a, SIRIX_INVALID, reason, NULL, text, err);
}

static enum sirix_status read_pointer(struct sirix_patch_applying *a, struct sirix_json_node *op,
                                      const char *member, struct sirix_json_steps *out_steps,
                                      struct sirix_error *err)
{
    const struct sirix_json_node *node = sirix_json_member_str(a->tree, op, member);
    struct sirix_bytes plain = {0};
    struct sirix_error why = {0};
    char what[SIRIX_ERROR_TEXT_BYTES];
    enum sirix_status status = SIRIX_OK;

    if (node == NULL) {
        return refuse_member(a, SIRIX_REASON_FIELD_MISSING, member, "is missing", err);
    }
    if (node->kind != SIRIX_JSON_KIND_STRING) {
        return refuse_member(a, SIRIX_REASON_FIELD_INVALID, member, "is not a string", err);
    }
    status = sirix_json_text_to_plain(&a->arena, node->value.text, &plain, &why);
    if (status == SIRIX_OK) {
        status = sirix_json_pointer_parse(&a->arena, plain, out_steps, &why);
    }
    if (status == SIRIX_INVALID) {
        (void)snprintf(what, sizeof(what), "is not a JSON pointer: %.200s", why.text);
        return refuse_member(a, SIRIX_REASON_FIELD_INVALID, member, what, err);
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = why;
    }
    return status;
}

/* The kind that "op" names. */
static enum sirix_status read_kind(struct sirix_patch_applying *a, struct sirix_json_node *op,
                                   struct sirix_error *err)
{
    const struct sirix_json_node *name = sirix_json_member_str(a->tree, op, "op");

    if (name == NULL) {
        return refuse_member(a, SIRIX_REASON_FIELD_MISSING, "op", "is missing", err);
    }
    if (name->kind != SIRIX_JSON_KIND_STRING) {
        return refuse_member(a, SIRIX_REASON_FIELD_INVALID, "op", "is not a string", err);
    }
    for (int kind = 0; kind < SIRIX_PATCH_OP_KINDS; kind++) {
        const struct sirix_bytes known = {.data = ops[kind].name, .len = strlen(ops[kind].name)};

        if (sirix_bytes_equal(known, name->value.text)) {
            a->kind = (enum sirix_patch_kind)kind;
            return SIRIX_OK;
        }
    }
    return refuse_member(a, SIRIX_REASON_FIELD_INVALID, "op",
                         "is none of add, remove, replace, move, copy and test", err);
}

enum sirix_status sirix_patch_read_op(struct sirix_patch_applying *a, struct sirix_json_node *op,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    a->kind = SIRIX_PATCH_OP_KINDS;
    a->value = NULL;
    a->from = (struct sirix_json_steps){0};
    if (op->kind != SIRIX_JSON_KIND_OBJECT) {
        return sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, NULL,
                                  " is not an object", err);
    }
    status = read_kind(a, op, err);
    if (status == SIRIX_OK) {
        status = read_pointer(a, op, "path", &a->path, err);
    }
    if (status == SIRIX_OK && ops[a->kind].has_from) {
        status = read_pointer(a, op, "from", &a->from, err);
    }
    if (status == SIRIX_OK && ops[a->kind].has_value) {
        a->value = sirix_json_member_str(a->tree, op, "value");
        if (a->value == NULL) {
            status = sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING, &a->path,
                                        ": \"value\" is missing", err);
        }
    }
    return status;
}
