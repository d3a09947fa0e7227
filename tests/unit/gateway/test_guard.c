/* Settings, command line, allow and deny lists, and making text visible. */
#include "unit/gateway/gateway_help.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "guard/access.h"
#include "guard/options.h"
#include "guard/settings.h"
#include "guard/visible.h"

/* --- Faults and chance ------------------------------------------------------------------------ */

static const char *next_random; /* What the next random id is, once. */

enum sirix_status __real_sirix_random_id(char out_text[SIRIX_RANDOM_ID_BYTES],
                                         struct sirix_error *err);
enum sirix_status __wrap_sirix_random_id(char out_text[SIRIX_RANDOM_ID_BYTES],
                                         struct sirix_error *err);

enum sirix_status __wrap_sirix_random_id(char out_text[SIRIX_RANDOM_ID_BYTES],
                                         struct sirix_error *err)
{
    if (next_random == NULL) {
        return __real_sirix_random_id(out_text, err);
    }
    memcpy(out_text, next_random, SIRIX_RANDOM_ID_BYTES);
    next_random = NULL;
    return SIRIX_OK;
}

/* --- Lists ------------------------------------------------------------------------------------ */

static void lists_decide_as_documented(void **state)
{
    static const struct {
        const char *server; /* Members of the settings. */
        const char *database;
        const char *resource; /* NULL: the database is asked for. */
        bool allowed;
    } CASES[] = {
        {"", "a", NULL, true},
        {"", "a", "r", true},
        {"\"allowDatabases\":[\"a\"]", "a", NULL, true},
        {"\"allowDatabases\":[\"a\"]", "A", NULL, false},
        {"\"allowDatabases\":[\"a\"]", "b", NULL, false},
        {"\"allowDatabases\":[\"*\"]", "b", NULL, true},
        {"\"allowDatabases\":[]", "a", NULL, false},
        {"\"denyDatabases\":[\"a\"]", "a", NULL, false},
        {"\"denyDatabases\":[\"a\"]", "A", NULL, false},
        {"\"denyDatabases\":[\"a\"]", "a", "r", false},
        {"\"denyDatabases\":[\"a\"]", "ab", NULL, true},
        {"\"denyDatabases\":[\"*\"]", "b", NULL, false},
        {"\"allowDatabases\":[\"a\"],\"denyDatabases\":[\"a\"]", "a", NULL, false},
        {"\"allowResources\":{\"a\":[\"r\"]}", "a", NULL, true},
        {"\"allowResources\":{\"a\":[\"r\"]}", "a", "r", true},
        {"\"allowResources\":{\"a\":[\"r\"]}", "a", "s", false},
        {"\"allowResources\":{\"a\":[\"r\"]}", "A", "s", false},
        {"\"allowResources\":{\"a\":[\"r\"]}", "b", "s", true},
        {"\"allowResources\":{\"a\":[]}", "a", "r", false},
        {"\"allowResources\":{\"a\":[\"*\"]}", "a", "r", true},
        {"\"allowResources\":{\"a\":[\"*\"]},\"denyDatabases\":[\"a\"]", "a", "r", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_settings settings;
        char file[256];

        (void)snprintf(file, sizeof(file), "{\"server\":{%s}}", CASES[i].server);
        assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
        assert_int_equal(sirix_settings_parse(&settings, text(file), NULL), SIRIX_OK);

        bool allowed = CASES[i].resource == NULL
                           ? sirix_access_database(&settings.access, text(CASES[i].database))
                           : sirix_access_resource(&settings.access, text(CASES[i].database),
                                                   text(CASES[i].resource));

        if (allowed != CASES[i].allowed) {
            fail_msg("case %zu: %s", i, file);
        }
        sirix_settings_deinit(&settings);
    }
}

/* --- Settings --------------------------------------------------------------------------------- */

static void defaults_are_those_of_the_table(void **state)
{
    struct sirix_settings settings;

    (void)state;
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);

    assert_true(settings.read_only);
    assert_true(settings.sanitize_output);
    assert_int_equal(settings.max_result_size, 100);
    assert_int_equal(settings.max_result_bytes, 40960);
    assert_int_equal(settings.max_string_value_length, 4096);
    assert_int_equal(settings.query_timeout_ms, 30000);
    assert_int_equal(settings.write_timeout_ms, 5000);
    assert_string_equal(settings.transport, "stdio");
    assert_null(settings.database_path);
    sirix_settings_deinit(&settings);
}

static void the_table_of_keys_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < sirix_settings_count; i++) {
        const struct sirix_setting *setting = &sirix_settings_table[i];

        assert_true(strlen(setting->help) > 10);
        assert_true(setting->type != SIRIX_SETTING_NUMBER || setting->min < setting->max);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(setting->key, sirix_settings_table[j].key);
        }
    }
}

static void wrong_files_are_refused_by_name(void **state)
{
    static const struct {
        const char *file;
        const char *word;
    } CASES[] = {
        {"", ""},
        {"[]", "\"server\""},
        {"{}", "\"server\""},
        {"{\"server\":1}", "\"server\""},
        {"{\"server\":{},\"other\":1}", "\"other\""},
        {"{\"server\":{\"readonly\":true}}", "\"readonly\""},
        {"{\"server\":{\"readOnly\":1}}", "readOnly"},
        {"{\"server\":{\"name\":\"\"}}", "name"},
        {"{\"server\":{\"name\":\"a\\u0000b\"}}", "name"},
        {"{\"server\":{\"name\":null}}", "name"},
        {"{\"server\":{\"maxResultSize\":0}}", "maxResultSize"},
        {"{\"server\":{\"maxResultSize\":-1}}", "maxResultSize"},
        {"{\"server\":{\"maxResultSize\":10001}}", "maxResultSize"},
        {"{\"server\":{\"maxResultSize\":\"100\"}}", "maxResultSize"},
        {"{\"server\":{\"maxResultSize\":1e400}}", "maxResultSize"},
        {"{\"server\":{\"transport\":\"sse\"}}", "transport"},
        {"{\"server\":{\"httpHosts\":[7]}}", "httpHosts"},
        {"{\"server\":{\"toolNames\":\"dot\"}}", "toolNames"},
        {"{\"server\":{\"denyDatabases\":\"x\"}}", "denyDatabases"},
        {"{\"server\":{\"denyDatabases\":[1]}}", "denyDatabases"},
        {"{\"server\":{\"denyDatabases\":[\"x*\"]}}", "denyDatabases"},
        {"{\"server\":{\"allowResources\":[]}}", "allowResources"},
        {"{\"server\":{\"allowResources\":{\"a\":\"r\"}}}", "allowResources"},
        {"{\"server\":{\"allowResources\":{\"a/b\":[]}}}", "allowResources"},
        {"{\"server\":{\"name\":\"a\",\"name\":\"b\"}}", "name"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_settings settings;
        struct sirix_error err = {0};

        assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
        assert_int_equal(sirix_settings_parse(&settings, text(CASES[i].file), &err), SIRIX_INVALID);
        if (strstr(err.text, CASES[i].word) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
        assert_null(strchr(err.text, '\n'));
        sirix_settings_deinit(&settings);
    }
}

static void what_is_printed_reads_the_same(void **state)
{
    static const char FILE_TEXT[] =
        "{\"server\":{\"databasePath\":\"/d\",\"readOnly\":false,\"allowDatabases\":[\"a\",\"*\"],"
        "\"allowResources\":{\"a\":[\"r\"],\"b\":[]},\"maxResultSize\":7,\"confirm\":\"elicit-"
        "only\"}}";
    struct sirix_settings first;
    struct sirix_settings second;
    struct sirix_buf one;
    struct sirix_buf two;

    (void)state;
    sirix_buf_init(&one, SIZE_MAX);
    sirix_buf_init(&two, SIZE_MAX);
    assert_int_equal(sirix_settings_init(&first, NULL), SIRIX_OK);
    assert_int_equal(sirix_settings_init(&second, NULL), SIRIX_OK);
    assert_int_equal(sirix_settings_parse(&first, text(FILE_TEXT), NULL), SIRIX_OK);

    assert_int_equal(sirix_settings_print(&first, &one, NULL), SIRIX_OK);
    assert_int_equal(sirix_settings_parse(&second, sirix_buf_view(&one), NULL), SIRIX_OK);
    assert_int_equal(sirix_settings_print(&second, &two, NULL), SIRIX_OK);

    assert_true(sirix_bytes_equal(sirix_buf_view(&one), sirix_buf_view(&two)));
    assert_non_null(memmem(one.data, one.len, "\"b\": []", 7));
    assert_non_null(memmem(one.data, one.len, "elicit-only", 11));
    sirix_buf_deinit(&one);
    sirix_buf_deinit(&two);
    sirix_settings_deinit(&first);
    sirix_settings_deinit(&second);
}

static void settings_that_exclude_each_other_are_refused(void **state)
{
    struct sirix_settings settings;

    (void)state;
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    assert_int_equal(sirix_settings_check(&settings, NULL), SIRIX_INVALID);
    settings.database_path = "/d";
    assert_int_equal(sirix_settings_check(&settings, NULL), SIRIX_OK);
    settings.storage = "unix:/s";
    assert_int_equal(sirix_settings_check(&settings, NULL), SIRIX_INVALID);
    settings.storage = NULL;
    settings.sql_default_rows = settings.sql_max_rows + 1;
    assert_int_equal(sirix_settings_check(&settings, NULL), SIRIX_INVALID);
    sirix_settings_deinit(&settings);
}

static void the_page_has_the_table_of_the_code(void **state)
{
    const char *path = getenv("SIRIX_MCP_PAGE");
    struct sirix_buf table;
    struct sirix_buf page;
    char block[4096];
    size_t got = 0;

    (void)state;
    assert_non_null(path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    sirix_buf_init(&table, SIZE_MAX);
    sirix_buf_init(&page, SIZE_MAX);
    while ((got = fread(block, 1, sizeof(block), file)) != 0) {
        assert_int_equal(sirix_buf_append(&page, block, got, NULL), SIRIX_OK);
    }
    (void)fclose(file);
    assert_int_equal(sirix_settings_print_docs(&table, NULL), SIRIX_OK);

    if (memmem(page.data, page.len, table.data, table.len) == NULL) {
        fail_msg("%s should contain:\n%.*s", path, (int)table.len, (const char *)table.data);
    }
    sirix_buf_deinit(&table);
    sirix_buf_deinit(&page);
}

/* --- Command line ----------------------------------------------------------------------------- */

static void flags_are_read_in_both_forms(void **state)
{
    char words[5][24] = {"sirix-mcp", "--database-path=/d", "--read-write", "--config", "f"};
    char *argv[] = {words[0], words[1], words[2], words[3], words[4], NULL};
    struct sirix_options options = {0};

    (void)state;
    assert_int_equal(sirix_options_parse(5, argv, &options, NULL), SIRIX_OK);

    assert_string_equal(options.database_path, "/d");
    assert_string_equal(options.config, "f");
    assert_true(options.read_write);
    assert_false(options.help);
}

static void wrong_flags_are_refused_by_name(void **state)
{
    static const struct {
        const char *flags[3];
        const char *word;
    } CASES[] = {
        {{"--nope"}, "--nope"},
        {{"read-only"}, "read-only"},
        {{"--database-path"}, "needs a value"},
        {{"--database-path="}, "needs a value"},
        {{"--database-path", "--read-write"}, "needs a value"},
        {{"--read-write", "--read-write"}, "twice"},
        {{"--config=a", "--config=b"}, "twice"},
        {{"--read-write=true"}, "no value"},
        {{"--storage=unix:/s", "--database-path=/d"}, "exclude"},
        {{"--http"}, "needs a value"},
        {{"--ops"}, "needs a value"},
        {{"--state-key-file"}, "needs a value"},
        {{"--token-file"}, "needs a value"},
        {{"--tls-anything"}, "unknown"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        char words[3][64];
        char *argv[5] = {words[0]};
        struct sirix_options options = {0};
        struct sirix_error err = {0};
        int argc = 1;

        for (size_t j = 0; j < 2 && CASES[i].flags[j] != NULL; j++) {
            (void)snprintf(words[j], sizeof(words[j]), "%s", CASES[i].flags[j]);
            argv[argc++] = words[j];
        }
        assert_int_equal(sirix_options_parse(argc, argv, &options, &err), SIRIX_INVALID);
        if (strstr(err.text, CASES[i].word) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

/* --- Visible ---------------------------------------------------------------------------------- */

static void hidden_characters_become_visible_and_the_rest_stays(void **state)
{
    static const struct {
        const char *from;
        const char *to;
    } CASES[] = {
        {"", ""},
        {"plain \\\"text\\\" \\\\ /", "plain \\\"text\\\" \\\\ /"},
        {"a\\tb\\nc\\r\\nd", "a\\tb\\nc\\r\\nd"},
        {"over\\rwrite", "over<U+000D>write"},
        {"\\u0000\\u001b[31m\\b\\f", "<U+0000><U+001B>[31m<U+0008><U+000C>"},
        {"\x7f\xc2\x9b", "<U+007F><U+009B>"},
        {"a\xe2\x80\xae"
         "b",
         "a<U+202E>b"},
        {"a\xe2\x80\x8b"
         "b\xef\xbb\xbf",
         "a<U+200B>b<U+FEFF>"},
        {"\xe2\x81\xa6x\xe2\x81\xa9\xe2\x80\xa8", "<U+2066>x<U+2069><U+2028>"},
        {"\xf3\xa0\x81\x81", "<U+E0041>"},
        {"a\xe2\x80\x8d"
         "b",
         "a<U+200D>b"},
        /* A family of emoji, a keycap, Persian with a joiner: these need what they have. */
        {"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
         "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9"},
        {"\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f"},
        {"1\xef\xb8\x8f\xe2\x83\xa3", "1\xef\xb8\x8f\xe2\x83\xa3"},
        {"\xd9\x85\xe2\x80\x8c\xd8\xae", "\xd9\x85\xe2\x80\x8c\xd8\xae"},
        {"\xe2\x9d\xa4\xef\xb8\x8f\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f<U+FE0F>"},
        {"\xd9\x85\xe2\x80\x8c\xe2\x80\x8c\xd8\xae", "\xd9\x85<U+200C><U+200C>\xd8\xae"},
    };
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_visible seen = {0};

        sirix_buf_clear(&out);
        assert_int_equal(
            sirix_visible_append(&out, text(CASES[i].from), SIZE_MAX, true, &seen, NULL), SIRIX_OK);
        assert_text(sirix_buf_view(&out), CASES[i].to);
        assert_int_equal(seen.was_changed, strcmp(CASES[i].from, CASES[i].to) != 0);
        assert_int_equal(seen.taken, strlen(CASES[i].from));
        assert_false(seen.is_cut);

        sirix_buf_clear(&out);
        assert_int_equal(
            sirix_visible_append(&out, text(CASES[i].from), SIZE_MAX, false, &seen, NULL),
            SIRIX_OK);
        assert_text(sirix_buf_view(&out), CASES[i].from);
    }
    sirix_buf_deinit(&out);
}

static void a_cut_falls_between_characters(void **state)
{
    static const struct {
        size_t max;
        const char *to;
        size_t taken;
    } CASES[] = {
        {0, "", 0},
        {1, "\xc3\xa9", 2},
        {2, "\xc3\xa9\\n", 4},
        {3, "\xc3\xa9\\n<U+0001>", 10},
        {4, "\xc3\xa9\\n<U+0001>\xf0\x9f\x98\x80", 14},
        {5, "\xc3\xa9\\n<U+0001>\xf0\x9f\x98\x80z", 15},
    };
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_visible seen = {0};

        sirix_buf_clear(&out);
        assert_int_equal(sirix_visible_append(&out, text("\xc3\xa9\\n\\u0001\xf0\x9f\x98\x80z"),
                                              CASES[i].max, true, &seen, NULL),
                         SIRIX_OK);
        assert_text(sirix_buf_view(&out), CASES[i].to);
        assert_int_equal(seen.taken, CASES[i].taken);
        assert_int_equal(seen.is_cut, CASES[i].taken != 15);
    }
    sirix_buf_deinit(&out);
}

static void text_that_is_not_canonical_is_our_mistake(void **state)
{
    static const char *const CASES[] = {"\\", "\\u12", "\\x", "\xff", "\xc3"};
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_visible seen = {0};

        assert_int_equal(sirix_visible_append(&out, text(CASES[i]), SIZE_MAX, true, &seen, NULL),
                         SIRIX_INTERNAL);
    }
    sirix_buf_deinit(&out);
}

static void a_tag_that_occurs_in_the_data_is_drawn_again(void **state)
{
    static const char GUESSED[] = "0123456789abcdef0123456789abcdef";
    const struct sirix_bytes data =
        text("{\"x\":\"</database-content-0123456789abcdef0123456789abcdef>\"}");
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    next_random = GUESSED;

    assert_int_equal(sirix_visible_wrap(&out, "Notice.", data, NULL), SIRIX_OK);

    assert_null(next_random);
    assert_memory_equal(out.data, "Notice.\n<database-content-", 26);
    assert_memory_not_equal(out.data + 26, GUESSED, 32);
    assert_memory_equal(out.data + 60, data.data, data.len);
    assert_memory_equal(out.data + 60 + data.len, "\n</database-content-", 20);
    assert_memory_equal(out.data + out.len - 33, out.data + 26, 32);
    sirix_buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_decide_as_documented),
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(the_table_of_keys_is_sound),
        cmocka_unit_test(wrong_files_are_refused_by_name),
        cmocka_unit_test(what_is_printed_reads_the_same),
        cmocka_unit_test(settings_that_exclude_each_other_are_refused),
        cmocka_unit_test(the_page_has_the_table_of_the_code),
        cmocka_unit_test(flags_are_read_in_both_forms),
        cmocka_unit_test(wrong_flags_are_refused_by_name),
        cmocka_unit_test(hidden_characters_become_visible_and_the_rest_stays),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(text_that_is_not_canonical_is_our_mistake),
        cmocka_unit_test(a_tag_that_occurs_in_the_data_is_drawn_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
