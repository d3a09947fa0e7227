/* What the commands for snapshots and those for branches share. */
#include "cli/commands/labels.h"

#include <inttypes.h>

enum sirix_status sirixctl_label_operands(struct sirixctl *ctl, enum sirix_name_kind kind,
                                          struct sirixctl_name *out_name, struct sirix_error *err)
{
    struct sirixctl_name name;
    enum sirix_status status = sirixctl_write_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_check_operand(ctl, 1, kind, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        *out_name = name;
    }
    return status;
}

enum sirix_status sirixctl_label_list(struct sirixctl *ctl, const struct sirixctl_list_kind *kind,
                                      const char *array, struct sirix_error *err)
{
    struct sirixctl_name name;
    struct sirixctl_json json;
    enum sirix_status status = sirixctl_write_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    if (array != NULL) {
        sirixctl_json_array(&json, array);
    }
    status = sirixctl_show_list(ctl, kind, &name, SIRIXCTL_ALL_ITEMS, &json, err);
    if (array != NULL) {
        sirixctl_json_array_end(&json);
    }
    sirixctl_json_object_end(&json);
    return sirixctl_json_end(&json, ctl->json ? &ctl->out : NULL, status, err);
}

enum sirix_status sirixctl_label_remove(struct sirixctl *ctl,
                                        const struct sirixctl_label_delete *what,
                                        struct sirix_error *err)
{
    struct sirix_delete_name_request request = {.name = ctl->args.operands[1]};
    struct sirix_delete_name_result result;
    struct sirixctl_name name;
    struct sirixctl_json json;
    enum sirix_status status = sirixctl_label_operands(ctl, what->kind, &name, err);

    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        status = what->call(ctl->client, &request, &ctl->call, &result, err);
    }
    if (status == SIRIX_OK && ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        sirixctl_json_str(&json, what->member, request.name);
        sirixctl_json_u64(&json, "revision", result.revision);
        sirixctl_json_object_end(&json);
        status = sirixctl_json_finish(&json, &ctl->out, err);
    } else if (status == SIRIX_OK && !ctl->quiet) {
        sirixctl_out_printf(&ctl->out, "deleted; it was %s %" PRIu64 "\n", what->was,
                            result.revision);
    }
    return status;
}
