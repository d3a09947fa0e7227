/*
 * Texts that clients bring: cursors, sealed states, URIs, hosts, origins, addresses, encoded names. The
 * first byte says which reader gets the rest. What must hold:
 *   - a reader refuses or gives out what writing it again makes the same text of
 *   - nothing opens that was not sealed, and everything opens that was
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guard/seal.h"
#include "mcp/cursor.h"
#include "mcp/uri.h"
#include "transport/http_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { READERS = 5, TAG = 7 };

static struct sirix_settings settings;
static struct sirix_seal_keys keys;
static const struct sirix_seal_binding binding = {"fuzz", {"context", 7}};

static void read_cursor(struct sirix_arena *arena, struct sirix_bytes text)
{
    struct sirix_cursor cursor = {0};
    struct sirix_cursor again = {0};
    const char *written = NULL;

    if (sirix_cursor_read(arena, TAG, text, &cursor, NULL) != SIRIX_OK) {
        return;
    }
    assert(sirix_cursor_write(arena, TAG, &cursor, &written, NULL) == SIRIX_OK);
    const struct sirix_bytes view = {written, strlen(written)};
    assert(sirix_cursor_read(arena, TAG, view, &again, NULL) == SIRIX_OK);
    assert(again.revision == cursor.revision && again.skip == cursor.skip &&
           sirix_bytes_equal(again.server, cursor.server));
}

/* The text as it came does not open; as a payload it comes back, and any change is noticed. */
static void read_sealed(struct sirix_arena *arena, struct sirix_bytes text)
{
    struct sirix_bytes out = {.data = NULL, .len = 0};
    struct sirix_buf sealed;

    assert(sirix_seal_open(&keys, &binding, text, 0, arena, &out, NULL) == SIRIX_INVALID);
    if (text.len == 0 || text.len > SIRIX_SEAL_PAYLOAD_BYTES_MAX) {
        return;
    }
    sirix_buf_init(&sealed, SIZE_MAX);
    assert(sirix_seal_close(&keys, &binding, text, 1, &sealed, NULL) == SIRIX_OK);
    assert(sirix_seal_open(&keys, &binding, sirix_buf_view(&sealed), 1, arena, &out, NULL) ==
           SIRIX_OK);
    assert(sirix_bytes_equal(out, text));
    const uint8_t *bytes = text.data;
    sealed.data[bytes[0] % sealed.len] ^= 1;
    assert(sirix_seal_open(&keys, &binding, sirix_buf_view(&sealed), 1, arena, &out, NULL) ==
           SIRIX_INVALID);
    sirix_buf_deinit(&sealed);
}

static void read_uri(struct sirix_arena *arena, struct sirix_bytes text)
{
    static const char form[] = "sirix:///{database}/{resource}/revision/{revision}";
    struct sirix_uri_values values = {.count = 0};
    struct sirix_uri_values again = {.count = 0};
    struct sirix_buf uri;
    bool matches = false;

    assert(sirix_uri_match(arena, form, text, &matches, &values, NULL) == SIRIX_OK);
    if (!matches) {
        return;
    }
    assert(values.count == 3);
    sirix_buf_init(&uri, SIZE_MAX);
    assert(sirix_uri_expand(&uri, form, values.items, values.count, NULL) == SIRIX_OK);
    if (uri.len <= SIRIX_URI_BYTES_MAX) {
        assert(sirix_uri_match(arena, form, sirix_buf_view(&uri), &matches, &again, NULL) ==
               SIRIX_OK);
        assert(matches);
        for (size_t i = 0; i < values.count; i++) {
            assert(sirix_bytes_equal(values.items[i], again.items[i]));
        }
    }
    sirix_buf_deinit(&uri);
}

static void read_host(const char *text)
{
    struct sirix_http_address address;

    assert(sirix_http_address_parse("127.0.0.1:80", &address, NULL) == SIRIX_OK);
    /* Whatever else it says, a host of another name is not ours. */
    if (sirix_http_host_is_ours(&address, &settings, text)) {
        assert(strncasecmp(text, "localhost", 9) == 0 || strncmp(text, "127.0.0.1", 9) == 0 ||
               strncmp(text, "[127.0.0.1]", 11) == 0 || strncasecmp(text, "[localhost]", 11) == 0 ||
               strncmp(text, "[::1]", 5) == 0 || strncmp(text, "::1", 3) == 0);
    }
    (void)sirix_http_origin_is_ours(&address, &settings, text);
    (void)!sirix_http_address_parse(text, &address, NULL);
}

static void read_name(const char *text)
{
    char *out = malloc(strlen(text) + 1);

    assert(out != NULL);
    if (sirix_http_decode_name(text, out)) {
        assert(strlen(out) <= strlen(text));
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirix_arena arena;
    char *text = NULL;

    if (size == 0) {
        return 0;
    }
    if (keys.count == 0) {
        assert(sirix_settings_init(&settings, NULL) == SIRIX_OK);
        assert(sirix_seal_keys_random(&keys, NULL) == SIRIX_OK);
    }
    const struct sirix_bytes rest = {.data = data + 1, .len = size - 1};
    sirix_arena_init(&arena, SIZE_MAX);
    assert(sirix_arena_c_str(&arena, rest, &text, NULL) == SIRIX_OK);
    switch (data[0] % READERS) {
    case 0:
        read_cursor(&arena, rest);
        break;
    case 1:
        read_sealed(&arena, rest);
        break;
    case 2:
        read_uri(&arena, rest);
        break;
    case 3:
        read_host(text);
        break;
    default:
        read_name(text);
        break;
    }
    sirix_arena_deinit(&arena);
    return 0;
}
