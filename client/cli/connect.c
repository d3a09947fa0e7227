/*
 * The way to the server: made when a command first needs it, which is after it has checked all that
 * it was given, so that a mistake starts no daemon and waits for nobody.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/interrupt.h"

enum { CONNECT_MS = 2000, NS_A_MS = 1000000, OTHERS_MODE = 0077, MODE_BITS = 07777 };

enum sirix_status sirixctl_check_door(const struct sirixctl *ctl, struct sirix_error *err)
{
    bool has_storage = ctl->args.common[SIRIXCTL_STORAGE] != NULL;
    bool has_data = ctl->args.common[SIRIXCTL_DATA] != NULL;

    if (ctl->command->needs == SIRIXCTL_NEEDS_NOTHING) {
        return SIRIX_OK;
    }
    if (has_storage && has_data) {
        return sirixctl_usage(err, "--storage and --data are both given; which one is meant?");
    }
    if (!has_storage && !has_data) {
        return sirixctl_usage(err,
                              "where is the data? give either --storage ADDRESS or --data DIR");
    }
    for (enum sirixctl_common flag = SIRIXCTL_TOKEN_FILE; flag <= SIRIXCTL_TLS_KEY; flag++) {
        if (has_data && ctl->args.common[flag] != NULL) {
            return sirixctl_usage(err,
                                  "--%s goes with --storage: the server of a folder asks for "
                                  "no tokens and has no TLS",
                                  sirixctl_common_flags.items[flag].name);
        }
    }
    return SIRIX_OK;
}

/* The flag's, else the environment's; NULL: none. */
static const char *token_file(const struct sirixctl *ctl)
{
    const char *file = ctl->args.common[SIRIXCTL_TOKEN_FILE];

    return file != NULL ? file : getenv("SIRIX_TOKEN_FILE");
}

/* What connecting took is no longer there for the calls. */
static void shorten_deadline(struct sirix_call_options *call, uint64_t since_ns)
{
    uint64_t taken_ms = (sirix_clock_monotonic_ns(sirix_clock_system()) - since_ns) / NS_A_MS;

    if (call->deadline_ms != 0) { /* 0: no --timeout; also of what is left, which is never 0. */
        call->deadline_ms =
            taken_ms < call->deadline_ms ? call->deadline_ms - (uint32_t)taken_ms : 1;
    }
}

/* The mode of a folder that is open to others; else 0, also where there is none. */
static unsigned open_mode(const char *folder)
{
    struct stat info = {0};

    if (stat(folder, &info) != 0 || (info.st_mode & OTHERS_MODE) == 0) {
        return 0;
    }
    return info.st_mode & MODE_BITS;
}

/* storaged closes its folder to others and logs that; whoever made it hears of it here. */
static enum sirix_status open_folder(struct sirixctl *ctl,
                                     const struct sirix_embedded_options *options,
                                     struct sirix_error *err)
{
    const char *folder = ctl->args.common[SIRIXCTL_DATA];
    const unsigned before = open_mode(folder);
    enum sirix_status status = sirix_embedded_open(folder, options, &ctl->client, err);

    if (status == SIRIX_OK && before != 0 && open_mode(folder) == 0 && !ctl->quiet && !ctl->json) {
        struct sirixctl_out words;

        sirixctl_out_init(&words, stderr, false);
        sirixctl_out_str(&words, folder);
        sirixctl_out_printf(
            &words, " was open to others (mode %04o); it is now its owner's alone\n", before);
    }
    return status;
}

enum sirix_status sirixctl_connect(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *storage = ctl->args.common[SIRIXCTL_STORAGE];
    const uint64_t start_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    const struct sirix_client_options options = {
        .client_name = "sirixctl",
        .connect_timeout_ms = CONNECT_MS,
    };
    struct sirix_client_options remote = options;
    const struct sirix_embedded_options embedded = {
        .read_only = ctl->command->needs == SIRIXCTL_NEEDS_READER,
        .start_timeout_ms = ctl->call.deadline_ms, /* Without --timeout: the library's. */
        .program = ctl->args.common[SIRIXCTL_STORAGED],
        .client = options,
    };
    enum sirix_status status = SIRIX_OK;

    if (ctl->client != NULL) {
        return SIRIX_OK;
    }
    if (storage != NULL) {
        remote.token_file = token_file(ctl);
        remote.tls_ca = ctl->args.common[SIRIXCTL_TLS_CA];
        remote.tls_cert = ctl->args.common[SIRIXCTL_TLS_CERT];
        remote.tls_key = ctl->args.common[SIRIXCTL_TLS_KEY];
        status = sirix_client_open(storage, &remote, &ctl->client, err);
    } else {
        status = open_folder(ctl, &embedded, err);
    }
    shorten_deadline(&ctl->call, start_ns);
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
