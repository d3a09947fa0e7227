/* Sealed texts, and URI templates: what clients keep for us and bring back. */
#include "unit/gateway/gateway_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/seal.h"
#include "mcp/uri.h"

static struct sirix_arena arena;
static struct sirix_buf sealed;
static struct sirix_seal_keys keys;
static const struct sirix_seal_binding binding = {"purpose", {"context", 7}};

static int setup(void **state)
{
    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    sirix_buf_init(&sealed, SIZE_MAX);
    return sirix_seal_keys_random(&keys, NULL) == SIRIX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sirix_buf_deinit(&sealed);
    sirix_arena_deinit(&arena);
    return 0;
}

static void seal(struct sirix_bytes payload, int64_t expires_at_s)
{
    sirix_buf_clear(&sealed);
    assert_int_equal(sirix_seal_close(&keys, &binding, payload, expires_at_s, &sealed, NULL),
                     SIRIX_OK);
}

static enum sirix_status open_it(const struct sirix_seal_binding *with, int64_t now_s,
                                 struct sirix_bytes *out)
{
    return sirix_seal_open(&keys, with, sirix_buf_view(&sealed), now_s, &arena, out, NULL);
}

static void what_is_sealed_opens_as_it_was(void **state)
{
    char payload[300];
    struct sirix_bytes out = {.data = NULL, .len = 0};

    (void)state;
    for (size_t len = 0; len < sizeof(payload); len++) {
        memset(payload, (int)len, sizeof(payload));
        seal((struct sirix_bytes){payload, len}, 100);
        for (size_t i = 0; i < sealed.len; i++) {
            const char c = (char)sealed.data[i];

            assert_true((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_');
        }
        assert_int_equal(open_it(&binding, 100, &out), SIRIX_OK);
        assert_true(sirix_bytes_equal(out, (struct sirix_bytes){payload, len}));
    }
}

static void the_same_is_never_sealed_alike(void **state)
{
    uint8_t first[256];

    (void)state;
    seal(text("x"), 1);
    const size_t len = sealed.len;
    assert_true(len < sizeof(first));
    memcpy(first, sealed.data, len);
    seal(text("x"), 1);
    assert_int_equal(sealed.len, len);
    assert_memory_not_equal(first, sealed.data, len);
}

static void what_was_changed_does_not_open(void **state)
{
    struct sirix_bytes out = {.data = NULL, .len = 0};

    (void)state;
    seal(text("the payload"), INT64_MAX);
    for (size_t i = 0; i < sealed.len; i++) {
        const uint8_t before = sealed.data[i];

        for (size_t j = 0; j < 4; j++) {
            sealed.data[i] = (uint8_t) "Ab0 "[j];
            if (sealed.data[i] != before) {
                assert_int_equal(open_it(&binding, 1, &out), SIRIX_INVALID);
            }
        }
        sealed.data[i] = before;
    }
    assert_int_equal(open_it(&binding, 1, &out), SIRIX_OK);
    while (sealed.len != 0) {
        sealed.len--;
        assert_int_equal(open_it(&binding, 1, &out), SIRIX_INVALID);
    }
}

static void it_opens_for_what_it_was_sealed_for(void **state)
{
    static const struct sirix_seal_binding OTHERS[] = {
        {"purpose", {"contex", 6}},     {"purpose", {"contextx", 8}}, {"purpos", {"econtext", 8}},
        {"purposec", {"ontext", 6}},    {"other", {"context", 7}},    {"purpose", {NULL, 0}},
        {"", {"purpose\0context", 15}},
    };
    struct sirix_bytes out = {.data = NULL, .len = 0};

    (void)state;
    seal(text("x"), INT64_MAX);
    for (size_t i = 0; i < COUNT(OTHERS); i++) {
        assert_int_equal(open_it(&OTHERS[i], 1, &out), SIRIX_INVALID);
    }
    assert_int_equal(open_it(&binding, 1, &out), SIRIX_OK);
}

static void it_expires(void **state)
{
    struct sirix_bytes out = {.data = NULL, .len = 0};
    struct sirix_error error = {0};

    (void)state;
    seal(text("x"), 1000);
    assert_int_equal(open_it(&binding, 1000, &out), SIRIX_OK);
    assert_int_equal(
        sirix_seal_open(&keys, &binding, sirix_buf_view(&sealed), 1001, &arena, &out, &error),
        SIRIX_INVALID);
    assert_non_null(strstr(error.text, "expired"));
}

static void an_older_key_opens_while_keys_are_changed(void **state)
{
    struct sirix_seal_keys fresh;
    struct sirix_bytes out = {.data = NULL, .len = 0};

    (void)state;
    seal(text("x"), INT64_MAX);
    assert_int_equal(sirix_seal_keys_random(&fresh, NULL), SIRIX_OK);
    memcpy(fresh.keys[1], keys.keys[0], sizeof(fresh.keys[1]));
    keys = fresh;
    assert_int_equal(open_it(&binding, 1, &out), SIRIX_INVALID);
    keys.count = 2;
    assert_int_equal(open_it(&binding, 1, &out), SIRIX_OK);
    seal(text("y"), INT64_MAX);
    keys.count = 1;
    assert_int_equal(open_it(&binding, 1, &out), SIRIX_OK);
}

static void keys_come_from_a_file_that_others_cannot_read(void **state)
{
    static const char line[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    static const struct {
        const char *format;
        size_t count;
    } FILES[] = {
        {"%s", 1},    {"%s\n", 1},  {"%s\n%s\n", 2}, {"%s\n%s", 2}, {"", 0},     {"%s\n%s\n%s", 0},
        {"%s \n", 0}, {"x%s\n", 0}, {"%.10s", 0},    {"\n", 0},     {"%s%s", 0}, {"%s\n\n", 0},
    };
    char folder[] = "/tmp/sirix-seal-XXXXXX";
    char path[64];
    struct sirix_seal_keys read_keys;
    struct sirix_seal_keys again;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/key", folder);
    for (size_t i = 0; i < COUNT(FILES); i++) {
        FILE *file = fopen(path, "w");

        assert_non_null(file);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)fprintf(file, FILES[i].format, line, line, line);
#pragma GCC diagnostic pop
        assert_int_equal(fclose(file), 0);
        assert_int_equal(chmod(path, 0600), 0);
        read_keys.count = 0;
        assert_int_equal(sirix_seal_keys_load(path, false, &read_keys, NULL),
                         FILES[i].count == 0 ? SIRIX_INVALID : SIRIX_OK);
        assert_int_equal(read_keys.count, FILES[i].count);
    }
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(sirix_seal_keys_load(path, true, &read_keys, NULL), SIRIX_INVALID);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sirix_seal_keys_load(path, false, &read_keys, NULL), SIRIX_IO);
    assert_int_equal(sirix_seal_keys_load(path, true, &read_keys, NULL), SIRIX_OK);
    assert_int_equal(sirix_seal_keys_load(path, true, &again, NULL), SIRIX_OK);
    assert_memory_equal(read_keys.keys[0], again.keys[0], sizeof(again.keys[0]));
    assert_int_equal(unlink(path), 0);
    /* Nothing is left beside it. */
    assert_int_equal(rmdir(folder), 0);
}

/* --- URIs ------------------------------------------------------------------------------------------ */

static void uris_match_their_template(void **state)
{
    static const char form[] = "sirix:///{database}/{resource}/revision/{revision}";
    static const struct {
        const char *uri;
        const char *values[3]; /* NULL: it does not match. */
    } CASES[] = {
        {"sirix:///db/users/revision/7", {"db", "users", "7"}},
        {"sirix:///a%20b/%C3%A9%2f/revision/%37", {"a b", "\xc3\xa9/", "7"}},
        {"sirix:///db/users/revision/", {NULL}},
        {"sirix:///db//revision/7", {NULL}},
        {"sirix:///db/users/revision/7/", {NULL}},
        {"sirix:///db/users/revision", {NULL}},
        {"sirix:///db/users/Revision/7", {NULL}},
        {"sirix:///db/%zz/revision/7", {NULL}},
        {"sirix:///db/%4/revision/7", {NULL}},
        {"sirix:///db/%/revision/7", {NULL}},
        {"sirix:///db/%00/revision/7", {NULL}},
        {"sirix:///db/%ff/revision/7", {NULL}},
        {"xsirix:///db/users/revision/7", {NULL}},
        {"", {NULL}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_uri_values values = {.count = 0};
        bool matches = false;

        assert_int_equal(sirix_uri_match(&arena, form, text(CASES[i].uri), &matches, &values, NULL),
                         SIRIX_OK);
        if (matches != (CASES[i].values[0] != NULL)) {
            fail_msg("%s", CASES[i].uri);
        }
        for (size_t j = 0; j < 3 && matches; j++) {
            assert_text(values.items[j], CASES[i].values[j]);
            assert_int_equal(((const char *)values.items[j].data)[values.items[j].len], '\0');
        }
    }
}

static void what_is_expanded_matches_again(void **state)
{
    static const struct sirix_bytes VALUES[] = {{"a b/\xc3\xa9%~", 8}, {"-._", 3}};
    static const char form[] = "sirix:///{database}/{resource}/info";
    struct sirix_uri_values values = {.count = 0};
    bool matches = false;

    (void)state;
    sirix_buf_clear(&sealed);
    assert_int_equal(sirix_uri_expand(&sealed, form, VALUES, 2, NULL), SIRIX_OK);
    assert_text(sirix_buf_view(&sealed), "sirix:///a%20b%2F%C3%A9%25~/-._/info");
    assert_int_equal(
        sirix_uri_match(&arena, form, sirix_buf_view(&sealed), &matches, &values, NULL), SIRIX_OK);
    assert_true(matches);
    assert_true(sirix_bytes_equal(values.items[0], VALUES[0]));
    assert_int_equal(sirix_uri_expand(&sealed, form, VALUES, 1, NULL), SIRIX_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sealed_opens_as_it_was),
        cmocka_unit_test(the_same_is_never_sealed_alike),
        cmocka_unit_test(what_was_changed_does_not_open),
        cmocka_unit_test(it_opens_for_what_it_was_sealed_for),
        cmocka_unit_test(it_expires),
        cmocka_unit_test(an_older_key_opens_while_keys_are_changed),
        cmocka_unit_test(keys_come_from_a_file_that_others_cannot_read),
        cmocka_unit_test(uris_match_their_template),
        cmocka_unit_test(what_is_expanded_matches_again),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
