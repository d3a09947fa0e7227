/* storaged: reads its command line and runs the daemon. */
#include <stdio.h>
#include <stdlib.h>

#include "app/arguments.h"
#include "app/daemon.h"

enum { EXIT_USAGE = 2 };

static int check_config(const struct sirix_app_options *options)
{
    struct sirix_error err = {0};

    if (sirix_daemon_check(options, &err) != SIRIX_OK) {
        (void)fprintf(stderr, "storaged: %s\n", err.text);
        return sirix_status_exit_code(err.status);
    }
    sirix_app_options_print(options, stdout);
    return EXIT_SUCCESS;
}

static int run(const struct sirix_app_options *options)
{
    struct sirix_error err = {0};

    switch (options->action) {
    case SIRIX_APP_HELP:
        sirix_app_help(stdout);
        return EXIT_SUCCESS;
    case SIRIX_APP_VERSION:
        (void)puts("storaged " SIRIX_VERSION);
        return EXIT_SUCCESS;
    case SIRIX_APP_CHECK_CONFIG:
        return check_config(options);
    default:
        break;
    }
    return sirix_daemon_run(options, &err) == SIRIX_OK ? EXIT_SUCCESS
                                                       : sirix_status_exit_code(err.status);
}

int main(int argc, char **argv)
{
    struct sirix_app_options options = {0};
    struct sirix_error err = {0};
    int code = EXIT_USAGE;

    if (sirix_app_options_parse(argc, argv, &options, &err) == SIRIX_OK) {
        code = run(&options);
    } else {
        (void)fprintf(stderr, "storaged: %s\n", err.text);
    }
    free(options.config_text);
    return code;
}
