/* Static tokens, and the rights of whoever has one. */
#include "guard/identity.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "guard/settings_read.h"
#include "json/canonical.h"
#include "json/text.h"

const char *sirix_rights_text(unsigned rights)
{
    return (rights & SIRIX_RIGHT_ADMIN) != 0   ? "read write admin"
           : (rights & SIRIX_RIGHT_WRITE) != 0 ? "read write"
           : (rights & SIRIX_RIGHT_READ) != 0  ? "read"
                                               : "";
}

/* The rights that go by a name, with all that they imply; 0: there are none. */
static unsigned rights_of(struct sirix_bytes word, const char *const names[3])
{
    static const unsigned rights[] = {
        SIRIX_RIGHT_READ,
        SIRIX_RIGHT_READ | SIRIX_RIGHT_WRITE,
        SIRIX_RIGHT_READ | SIRIX_RIGHT_WRITE | SIRIX_RIGHT_ADMIN,
    };

    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        if (sirix_bytes_equal(word, (struct sirix_bytes){names[i], strlen(names[i])})) {
            return rights[i];
        }
    }
    return 0;
}

unsigned sirix_rights_of_scope(struct sirix_bytes scope)
{
    static const char *const names[] = {"read", "write", "admin"};
    const char *text = scope.data;
    unsigned rights = 0;

    for (size_t at = 0; at < scope.len;) {
        const char *space = memchr(text + at, ' ', scope.len - at);
        const size_t end = space == NULL ? scope.len : (size_t)(space - text);

        rights |= rights_of((struct sirix_bytes){text + at, end - at}, names);
        at = end + 1;
    }
    return rights;
}

bool sirix_identity_name_is_good(struct sirix_bytes name)
{
    const uint8_t *bytes = name.data;
    bool is_good = name.len != 0 && name.len <= SIRIX_IDENTITY_NAME_BYTES_MAX;

    for (size_t i = 0; i < name.len && is_good; i++) {
        is_good = bytes[i] > ' ' && bytes[i] <= '~';
    }
    return is_good;
}

/* --- The file ----------------------------------------------------------------------------------- */

static enum sirix_status bad(const char *key, const char *wanted, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "%s must be %s", key, wanted);
    sirix_error_set_field(err, key);
    return status;
}

static bool read_hash(struct sirix_bytes text, uint8_t out[SIRIX_SHA256_BYTES])
{
    const uint8_t *digits = text.data;

    if (text.len != 2 * (size_t)SIRIX_SHA256_BYTES) {
        return false;
    }
    for (size_t i = 0; i < SIRIX_SHA256_BYTES; i++) {
        const int high = sirix_json_hex_digit(digits[2 * i]);
        const int low = sirix_json_hex_digit(digits[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* One of the three members that each line must have; *out_is_known false: it is another one. */
static enum sirix_status read_own(struct sirix_arena *arena, const struct sirix_json_node *member,
                                  struct sirix_token *token, bool *out_is_known,
                                  struct sirix_error *err)
{
    static const char *const roles[] = {"reader", "writer", "admin"};
    const struct sirix_bytes text = member->kind == SIRIX_JSON_KIND_STRING
                                        ? member->value.text
                                        : (struct sirix_bytes){.data = "", .len = 0};
    char *name = NULL;

    *out_is_known = true;
    if (sirix_bytes_equal(member->name, (struct sirix_bytes){"name", 4})) {
        /* With a colon it could be taken for a caller of the authorization server. */
        if (!sirix_identity_name_is_good(text) || sirix_json_text_has_escapes(text) ||
            memchr(text.data, ':', text.len) != NULL) {
            return bad("name", "1 to 128 visible characters of ASCII without colons", err);
        }
        enum sirix_status status = sirix_arena_c_str(arena, text, &name, err);
        token->identity.name = name;
        return status;
    }
    if (sirix_bytes_equal(member->name, (struct sirix_bytes){"role", 4})) {
        token->identity.rights = rights_of(text, roles);
        return token->identity.rights != 0 ? SIRIX_OK : bad("role", "reader, writer or admin", err);
    }
    if (sirix_bytes_equal(member->name, (struct sirix_bytes){"tokenSha256", 11})) {
        return read_hash(text, token->hash) ? SIRIX_OK
                                            : bad("tokenSha256", "a text of 64 hex digits", err);
    }
    *out_is_known = false;
    return SIRIX_OK;
}

static enum sirix_status read_line(struct sirix_tokens *tokens, struct sirix_bytes line,
                                   struct sirix_error *err)
{
    struct sirix_token *token = &tokens->items[tokens->count];
    struct sirix_json_tree tree;
    size_t own = 0;

    enum sirix_status status = sirix_json_tree_init(&tree, &tokens->arena, err);
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&tree, line, NULL, NULL, err);
    }
    if (status == SIRIX_OK && tree.root->kind != SIRIX_JSON_KIND_OBJECT) {
        status = bad("a line", "an object", err);
    }
    for (const struct sirix_json_node *at = status == SIRIX_OK ? sirix_json_first(tree.root) : NULL;
         at != NULL && status == SIRIX_OK; at = at->next) {
        bool is_known = false;

        status = read_own(&tokens->arena, at, token, &is_known, err);
        own += is_known ? 1 : 0;
        if (status == SIRIX_OK && !is_known) {
            status = sirix_setting_read_access(&tokens->arena, at, &token->identity.access,
                                               &is_known, err);
        }
        if (status == SIRIX_OK && !is_known) {
            status = sirix_fail_reason(
                err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "unknown key \"%.*s\"",
                (int)sirix_json_text_cut(at->name, 80), (const char *)at->name.data);
        }
    }
    if (status == SIRIX_OK && own != 3) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                   "a line needs name, role and tokenSha256");
    }
    tokens->count += status == SIRIX_OK ? 1 : 0;
    return status;
}

/* Whether a token of the last line is one of another line too: then nobody knows whose it is. */
static bool is_doubled(const struct sirix_tokens *tokens)
{
    const struct sirix_token *last = &tokens->items[tokens->count - 1];

    for (size_t i = 0; i + 1 < tokens->count; i++) {
        if (memcmp(tokens->items[i].hash, last->hash, sizeof(last->hash)) == 0) {
            return true;
        }
    }
    return false;
}

/* One line of any kind. */
static enum sirix_status take_line(struct sirix_tokens *tokens, struct sirix_bytes line,
                                   struct sirix_error *err)
{
    const char *text = line.data;

    if (line.len == 0 || text[0] == '#' || text[0] == '\r') {
        return SIRIX_OK;
    }
    if (tokens->count == SIRIX_IDENTITY_TOKENS_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                 "there are more than %d tokens", SIRIX_IDENTITY_TOKENS_MAX);
    }
    enum sirix_status status = read_line(tokens, line, err);
    return status == SIRIX_OK && is_doubled(tokens)
               ? sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "tokenSha256 is that of another line")
               : status;
}

static enum sirix_status read_lines(struct sirix_tokens *tokens, struct sirix_bytes text,
                                    struct sirix_error *err)
{
    struct sirix_error inner = {0};
    const char *at = text.data;
    const char *end = at + text.len;
    enum sirix_status status = SIRIX_OK;

    for (size_t number = 1; at < end && status == SIRIX_OK; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline == NULL ? end : newline;

        status = take_line(tokens, (struct sirix_bytes){at, (size_t)(line_end - at)}, &inner);
        if (status != SIRIX_OK) {
            (void)sirix_fail_reason(err, status, inner.reason, "line %zu: %s", number, inner.text);
        }
        at = line_end + 1;
    }
    return status;
}

enum sirix_status sirix_tokens_parse(struct sirix_bytes text, struct sirix_tokens *out,
                                     struct sirix_error *err)
{
    struct sirix_tokens tokens = {.count = 0};
    void *memory = NULL;

    sirix_arena_init(&tokens.arena, SIZE_MAX);
    enum sirix_status status = sirix_arena_calloc(&tokens.arena, SIRIX_IDENTITY_TOKENS_MAX,
                                                  sizeof(*tokens.items), &memory, err);
    if (status == SIRIX_OK) {
        tokens.items = memory;
        status = read_lines(&tokens, text, err);
    }
    if (status == SIRIX_OK && tokens.count == 0) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                   "there is no token in it");
    }
    if (status != SIRIX_OK) {
        sirix_arena_deinit(&tokens.arena);
        return status;
    }
    *out = tokens;
    return SIRIX_OK;
}

enum sirix_status sirix_tokens_load(const char *path, struct sirix_tokens *out,
                                    struct sirix_error *err)
{
    struct sirix_error inner = {0};
    struct stat facts;
    struct sirix_buf text;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&text, SIRIX_IDENTITY_FILE_BYTES_MAX);
    if (stat(path, &facts) == 0 && (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        status = sirix_fail(&inner, SIRIX_INVALID, "others may write to it; make its mode 0600");
    }
    if (status == SIRIX_OK) {
        status = sirix_setting_read_file(path, &text, &inner);
    }
    if (status == SIRIX_OK) {
        status = sirix_tokens_parse(sirix_buf_view(&text), out, &inner);
    }
    sirix_buf_deinit(&text);
    if (status != SIRIX_OK) {
        (void)sirix_fail_reason(err, status, inner.reason, "%s: %s", path, inner.text);
    }
    return status;
}

void sirix_tokens_deinit(struct sirix_tokens *tokens)
{
    if (tokens != NULL) {
        sirix_arena_deinit(&tokens->arena);
        tokens->count = 0;
    }
}

/* --- Looking ------------------------------------------------------------------------------------ */

enum sirix_status sirix_tokens_find(const struct sirix_tokens *tokens, struct sirix_bytes token,
                                    const struct sirix_token **out, struct sirix_error *err)
{
    uint8_t hash[SIRIX_SHA256_BYTES];
    const struct sirix_token *found = NULL;
    enum sirix_status status = sirix_sha256(token.data, token.len, hash, err);

    for (size_t i = 0; i < tokens->count && status == SIRIX_OK; i++) {
        /* All of them, so that time does not tell where one was found. */
        if (sirix_equal_constant_time(tokens->items[i].hash, hash, sizeof(hash))) {
            found = &tokens->items[i];
        }
    }
    if (status == SIRIX_OK) {
        *out = found;
    }
    return status;
}
