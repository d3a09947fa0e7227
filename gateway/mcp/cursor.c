/* Cursors: tag, revision, skip and the server's cursor, in hex with dashes between. */
#include "mcp/cursor.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "mcp/arguments.h"
#include "mcp/request.h"
#include "json/canonical.h"

uint64_t sirix_cursor_tag(const char *tool, const char *database, const char *resource,
                          uint64_t detail)
{
    /* Against mistakes, not against forgery. */
    static const struct sirix_hash_key fixed_key = {{'c', 'u', 'r', 's', 'o', 'r'}};
    uint64_t tag = sirix_hash(&fixed_key, tool, strlen(tool));

    tag = sirix_mix64(tag ^ sirix_hash(&fixed_key, database, strlen(database)));
    tag = sirix_mix64(tag ^ sirix_hash(&fixed_key, resource, strlen(resource)));
    return sirix_mix64(tag ^ detail);
}

enum sirix_status sirix_cursor_write(struct sirix_arena *arena, uint64_t tag,
                                     const struct sirix_cursor *cursor, const char **out,
                                     struct sirix_error *err)
{
    const uint8_t *server = cursor->server.data;
    struct sirix_buf text;
    char *copy = NULL;

    sirix_buf_init(&text, SIRIX_CURSOR_BYTES_MAX);
    enum sirix_status status = sirix_buf_printf(&text, err, "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-",
                                                tag, cursor->revision, cursor->skip);
    for (size_t i = 0; i < cursor->server.len && status == SIRIX_OK; i++) {
        status = sirix_buf_printf(&text, err, "%02x", server[i]);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(arena, sirix_buf_view(&text), &copy, err);
    }
    if (status == SIRIX_OK) {
        *out = copy;
    }
    sirix_buf_deinit(&text);
    return status;
}

/* Hex digits up to a dash; false when there are none, too many, or no dash. */
static bool read_number(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t number = 0;
    int digits = 0;

    for (; *at < end && **at != '-'; (*at)++) {
        int digit = sirix_json_hex_digit(**at);
        if (digit < 0 || ++digits > 16) {
            return false;
        }
        number = number << 4 | (uint64_t)digit;
    }
    if (digits == 0 || *at == end) {
        return false;
    }
    (*at)++;
    *out = number;
    return true;
}

static bool read_bytes(const uint8_t *at, size_t count, uint8_t *to)
{
    for (size_t i = 0; i < count; i++) {
        int high = sirix_json_hex_digit(at[2 * i]);
        int low = sirix_json_hex_digit(at[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

enum sirix_status sirix_cursor_read(struct sirix_arena *arena, uint64_t tag,
                                    struct sirix_bytes text, struct sirix_cursor *out,
                                    struct sirix_error *err)
{
    const uint8_t *at = text.data;
    const uint8_t *end = at + text.len;
    struct sirix_cursor cursor = {0};
    uint64_t found = 0;
    void *server = NULL;
    bool is_good = text.len <= SIRIX_CURSOR_BYTES_MAX && text.len != 0 &&
                   read_number(&at, end, &found) && read_number(&at, end, &cursor.revision) &&
                   read_number(&at, end, &cursor.skip) && found == tag && (end - at) % 2 == 0;

    if (is_good) {
        cursor.server.len = (size_t)(end - at) / 2;
        enum sirix_status status = sirix_arena_alloc(arena, cursor.server.len, &server, err);
        if (status != SIRIX_OK) {
            return status;
        }
        cursor.server.data = server;
        is_good = read_bytes(at, cursor.server.len, server);
    }
    if (!is_good) {
        enum sirix_status status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_CURSOR,
                              "cursor is not one that this call with these arguments has answered");
        sirix_error_set_field(err, "cursor");
        return status;
    }
    *out = cursor;
    return SIRIX_OK;
}

enum sirix_status sirix_cursor_param(struct sirix_mcp_request *request, uint64_t tag,
                                     struct sirix_cursor *out, struct sirix_error *err)
{
    const struct sirix_json_node *given =
        sirix_arguments_member(request->message->params, "cursor");

    if (given == NULL) {
        *out = (struct sirix_cursor){0};
        return SIRIX_OK;
    }
    const struct sirix_bytes text = given->kind == SIRIX_JSON_KIND_STRING
                                        ? given->value.text
                                        : (struct sirix_bytes){.data = "", .len = 0};
    enum sirix_status status = sirix_cursor_read(request->arena, tag, text, out, err);
    if (status != SIRIX_OK) {
        sirix_error_set_field(err, "params.cursor");
    }
    return status;
}
