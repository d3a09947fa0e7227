/*
 * The way to the server: made when a command first needs it, which is after it has checked all that
 * it was given, so that a mistake starts no daemon and waits for nobody.
 */
#include "cli/command.h"
#include "cli/interrupt.h"

enum { CONNECT_MS = 2000 };

enum sirix_status sirixctl_check_door(const struct sirixctl *ctl, struct sirix_error *err)
{
    bool has_storage = ctl->args.common[SIRIXCTL_STORAGE] != NULL;
    bool has_data = ctl->args.common[SIRIXCTL_DATA] != NULL;

    if (ctl->command->needs != SIRIXCTL_NEEDS_NOTHING && has_storage == has_data) {
        return sirixctl_usage(err,
                              "where is the data? give either --storage ADDRESS or --data DIR");
    }
    return SIRIX_OK;
}

enum sirix_status sirixctl_connect(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *storage = ctl->args.common[SIRIXCTL_STORAGE];
    const struct sirix_client_options options = {
        .client_name = "sirixctl",
        .connect_timeout_ms = CONNECT_MS,
    };
    const struct sirix_embedded_options embedded = {
        .read_only = ctl->command->needs == SIRIXCTL_NEEDS_READER,
        .program = ctl->args.common[SIRIXCTL_STORAGED],
        .client = options,
    };
    enum sirix_status status = SIRIX_OK;

    if (ctl->client != NULL) {
        return SIRIX_OK;
    }
    if (storage != NULL) {
        status = sirix_client_open(storage, &options, &ctl->client, err);
    } else {
        status = sirix_embedded_open(ctl->args.common[SIRIXCTL_DATA], &embedded, &ctl->client, err);
    }
    /* Only now: until here Ctrl-C just ends the program, as nothing has begun. */
    return status != SIRIX_OK ? status : sirixctl_interrupt_start(&ctl->call.cancel, err);
}

void sirixctl_disconnect(struct sirixctl *ctl)
{
    sirix_client_close(ctl->client);
    sirixctl_interrupt_stop();
    ctl->client = NULL;
    ctl->call.cancel = NULL;
}
