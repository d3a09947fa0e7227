/* sirixctl status */
#include <inttypes.h>

#include "cli/commands/commands.h"

static enum sirix_status answer_json(struct sirixctl *ctl, const struct sirix_server_status *status,
                                     struct sirix_error *err)
{
    struct sirixctl_json json;

    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_str(&json, "version", status->version);
    sirixctl_json_time(&json, "startedAt", status->started_at_us);
    sirixctl_json_time(&json, "now", status->now_us);
    sirixctl_json_u64(&json, "processId", status->process_id);
    sirixctl_json_bool(&json, "embedded", status->embedded);
    sirixctl_json_bool(&json, "draining", status->draining);
    sirixctl_json_str(&json, "principal", status->principal);
    sirixctl_json_str(&json, "role", status->role);
    sirixctl_json_u64(&json, "databases", status->databases);
    sirixctl_json_u64(&json, "databasesOpen", status->databases_open);
    sirixctl_json_u64(&json, "callsRunning", status->calls_running);
    sirixctl_json_u64(&json, "writesWaiting", status->writes_waiting);
    sirixctl_json_u64(&json, "callsTotal", status->calls_total);
    sirixctl_json_u64(&json, "commitsTotal", status->commits_total);
    sirixctl_json_u64(&json, "residentBytes", status->resident_bytes);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static void print_words(struct sirixctl_out *out, const struct sirix_server_status *status)
{
    char size[16];

    sirixctl_out_printf(out, "version    ");
    sirixctl_out_str(out, status->version);
    sirixctl_out_printf(out, "%s%s\nprocess    %" PRIu32 "\nstarted    ",
                        status->embedded ? " (embedded)" : "",
                        status->draining ? " (draining)" : "", status->process_id);
    sirixctl_out_time(out, status->started_at_us);
    sirixctl_out_printf(out, "\nyou are    ");
    sirixctl_out_str(out, status->principal);
    sirixctl_out_printf(out, " (%s)\n", status->role);
    sirixctl_format_bytes(status->resident_bytes, size);
    sirixctl_out_printf(out,
                        "databases  %" PRIu64 ", %" PRIu64 " open\ncalls      %" PRIu64
                        " running, %" PRIu64 " in all\nwrites     %" PRIu64 " waiting, %" PRIu64
                        " commits in all\nmemory     %s\n",
                        status->databases, status->databases_open, status->calls_running,
                        status->calls_total, status->writes_waiting, status->commits_total, size);
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_server_status *server = NULL;
    enum sirix_status status = sirixctl_connect(ctl, err);

    if (status == SIRIX_OK) {
        status = sirix_client_status(ctl->client, &ctl->call, &server, err);
    }
    if (status == SIRIX_OK && ctl->json) {
        status = answer_json(ctl, server, err);
    } else if (status == SIRIX_OK) {
        print_words(&ctl->out, server);
    }
    sirix_client_free(server);
    return status;
}

const struct sirixctl_command sirixctl_status = {
    .name = "status",
    .operands = "",
    .summary = "Show the state of the server",
    .answer = "{\"version\",\"startedAt\",\"now\",\"processId\",\"embedded\",\"draining\","
              "\"principal\",\"role\",\n"
              "\"databases\",\"databasesOpen\",\"callsRunning\",\"writesWaiting\",\"callsTotal\","
              "\"commitsTotal\",\n"
              "\"residentBytes\"}",
    .operands_min = 0,
    .operands_max = 0,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
