/* The command line: what is taken, what is refused, and where one may listen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/arguments.h"

enum { ARGS_MAX = 16 };

static enum sirix_status parse(const char *line, struct sirix_app_options *options,
                               struct sirix_error *err)
{
    static char text[512];
    char *argv[ARGS_MAX] = {text};
    int argc = 1;

    (void)snprintf(text, sizeof(text), "%s", line);
    for (char *at = text; *at != '\0' && argc < ARGS_MAX;) {
        char *space = strchr(at, ' ');
        argv[argc++] = at;
        if (space == NULL) {
            break;
        }
        *space = '\0';
        at = space + 1;
    }
    return sirix_app_options_parse(argc, argv, options, err);
}

static void the_data_folder_alone_is_enough(void **state)
{
    struct sirix_app_options options;

    (void)state;
    assert_int_equal(parse("--data d", &options, NULL), SIRIX_OK);
    assert_string_equal(options.data, "d");
    assert_int_equal(options.action, SIRIX_APP_RUN);
    assert_int_equal(options.listen_count, 0);
    assert_int_equal(options.ready_fd, -1);
    assert_int_equal(options.write_queue_timeout_ms, 5000);
    assert_int_equal(options.log_level, SIRIX_LOG_INFO);
    assert_false(options.embedded);
}

static void values_come_with_a_space_or_an_equals_sign(void **state)
{
    struct sirix_app_options options;

    (void)state;
    assert_int_equal(parse("--workers=3 --data=a=b --embedded --ready-fd 7 --log-level off "
                           "--listen unix:/x=y --listen localhost:0",
                           &options, NULL),
                     SIRIX_OK);
    assert_string_equal(options.data, "a=b");
    assert_int_equal(options.workers, 3);
    assert_true(options.embedded);
    assert_int_equal(options.ready_fd, 7);
    assert_int_equal(options.log_level, SIRIX_LOG_OFF);
    assert_int_equal(options.listen_count, 2);
    assert_string_equal(options.listen[0], "unix:/x=y");
}

static void what_is_wrong_is_named(void **state)
{
    const struct {
        const char *line;
        const char *word;
    } cases[] = {
        {"", "--data"},
        {"--dat d", "--dat"},
        {"-h", "-h"},
        {"d", "unknown option d"},
        {"--data", "--data wants a value"},
        {"--data a --data b", "twice"},
        {"--data= ", "empty"},
        {"--data d --embedded=no", "takes no value"},
        {"--data d --workers x", "--workers x"},
        {"--data d --workers 0", "from 1"},
        {"--data d --workers 1025", "to 1024"},
        {"--data d --workers", "wants a value"},
        {"--data d --grace -1", "--grace"},
        {"--data d --ready-fd 2", "--ready-fd"},
        {"--data d --map-max 9223372036854775808", "--map-max"},
        {"--data d --log-level LOUD", "--log-level"},
        {"--data d --listen 1.2.3.4:5", "loopback"},
        {"--data d --listen a:1 --version", "loopback"},
        {"--data d --tls-cert c", "go together"},
        {"--data d --tls-key k", "go together"},
        {"--data d --tls-client-ca c", "--tls-cert"},
        {"--data d --listen 0.0.0.0:1 --principals p", "--insecure"},
        {"--data d --listen 0.0.0.0:1 --tls-cert c --tls-key k", "--insecure"},
        {"--data d --listen [::]:1 --principals p --principals q", "twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_app_options options = {.workers = 77};
        struct sirix_error err = {0};
        enum sirix_status status = parse(cases[i].line, &options, &err);
        if (status != SIRIX_INVALID || strstr(err.text, cases[i].word) == NULL) {
            fail_msg("'%s': %s, \"%s\"", cases[i].line, sirix_status_name(status), err.text);
        }
        assert_int_equal(options.workers, 77);
    }
}

static void beyond_this_machine_it_takes_tls_and_principals_or_a_word(void **state)
{
    struct sirix_app_options options;

    (void)state;
    assert_int_equal(parse("--data d --listen 0.0.0.0:1 --tls-cert c --tls-key k --principals p",
                           &options, NULL),
                     SIRIX_OK);
    assert_string_equal(options.principals, "p");
    assert_string_equal(options.tls_certificate, "c");
    assert_string_equal(options.tls_key, "k");
    assert_null(options.tls_client_ca);
    assert_int_equal(parse("--data d --listen [::]:1 --insecure", &options, NULL), SIRIX_OK);
    assert_true(options.insecure);
    assert_int_equal(parse("--data d --listen 127.0.0.1:0 --principals p", &options, NULL),
                     SIRIX_OK);
}

static void help_and_version_need_no_folder(void **state)
{
    struct sirix_app_options options;

    (void)state;
    assert_int_equal(parse("--help", &options, NULL), SIRIX_OK);
    assert_int_equal(options.action, SIRIX_APP_HELP);
    assert_int_equal(parse("--version", &options, NULL), SIRIX_OK);
    assert_int_equal(options.action, SIRIX_APP_VERSION);
    assert_int_equal(parse("--check-config", &options, NULL), SIRIX_INVALID);
}

static void addresses_are_told_that_only_this_machine_reaches(void **state)
{
    const struct {
        const char *address;
        enum sirix_status status;
        bool is_here;
    } cases[] = {
        {"unix:/a", SIRIX_OK, true},
        {"unix:a", SIRIX_OK, true},
        {"unix:", SIRIX_INVALID, false},
        {"127.0.0.1:50051", SIRIX_OK, true},
        {"127.255.0.9:0", SIRIX_OK, true},
        {"[::1]:1", SIRIX_OK, true},
        {"::1:1", SIRIX_OK, true},
        {"localhost:65535", SIRIX_OK, true},
        {"localhost:65536", SIRIX_INVALID, false},
        {"localhost:", SIRIX_INVALID, false},
        {"localhost:-1", SIRIX_INVALID, false},
        {"localhost", SIRIX_INVALID, false},
        {":5", SIRIX_INVALID, false},
        {"", SIRIX_INVALID, false},
        {"0.0.0.0:1", SIRIX_OK, false},
        {"[::]:1", SIRIX_OK, false},
        {"[::ffff:127.0.0.1]:1", SIRIX_OK, false},
        {"192.168.0.1:1", SIRIX_OK, false},
        {"localhost.evil.example:1", SIRIX_OK, false},
        {"127.0.0.1.nip.io:1", SIRIX_OK, false},
        {"2130706433:1", SIRIX_OK, false},
        {"dns:///localhost:1", SIRIX_INVALID, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_here = false;

        if (sirix_app_address_check(cases[i].address, &is_here, NULL) != cases[i].status ||
            is_here != cases[i].is_here) {
            fail_msg("address '%s'", cases[i].address);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_data_folder_alone_is_enough),
        cmocka_unit_test(values_come_with_a_space_or_an_equals_sign),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(beyond_this_machine_it_takes_tls_and_principals_or_a_word),
        cmocka_unit_test(help_and_version_need_no_folder),
        cmocka_unit_test(addresses_are_told_that_only_this_machine_reaches),
    };
    return cmocka_run_group_tests_name("app arguments", tests, NULL, NULL);
}
