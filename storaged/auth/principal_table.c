/* One arena holds everything that a table points to. */
#include "auth/principal_table.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sha256.h"

enum {
    HEX_DIGITS = 2 * SIRIX_SHA256_BYTES,
    ARENA_BYTES_MAX = 64 * 1024 * 1024,
    WORD_SHOWN_MAX = 64
};

/* A principal and what shows that somebody is it. */
struct entry {
    struct sirix_principal principal;
    uint8_t tokens[SIRIX_PRINCIPAL_TOKENS_MAX][SIRIX_SHA256_BYTES];
    size_t token_count;
    struct sirix_identity certificates[SIRIX_PRINCIPAL_CERTIFICATES_MAX];
    size_t certificate_count;
};

struct sirix_principal_table {
    atomic_size_t refs;
    atomic_bool retired;
    struct sirix_arena arena;
    struct entry *entries;
    size_t count;
};

/* --- Reading one line --------------------------------------------------------------------------- */

struct line {
    struct sirix_principal_table *table;
    struct entry *entry;
    uint64_t number;
    const char *at; /* What is left of it. */
    const char *end;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word; empty at the end. */
static struct sirix_bytes next_word(struct line *line)
{
    while (line->at < line->end && is_space(*line->at)) {
        line->at++;
    }
    const char *begin = line->at;
    if (begin < line->end && *begin == '#') {
        line->at = line->end;
        return (struct sirix_bytes){.data = begin, .len = 0};
    }
    while (line->at < line->end && !is_space(*line->at)) {
        line->at++;
    }
    return (struct sirix_bytes){.data = begin, .len = (size_t)(line->at - begin)};
}

static enum sirix_status refuse(const struct line *line, const char *what, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                          "line %" PRIu64 " of the principals: %s", line->number, what);

    if (err != NULL) {
        err->line = (uint32_t)line->number;
    }
    return status;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static enum sirix_status take_name(struct line *line, struct sirix_bytes word,
                                   struct sirix_error *err)
{
    static const struct sirix_principal *const fixed[] = {
        &sirix_principal_owner, &sirix_principal_reader, &sirix_principal_nobody};
    struct sirix_principal *principal = &line->entry->principal;
    const char *name = word.data;

    if (word.len > SIRIX_PRINCIPAL_NAME_BYTES_MAX) {
        return refuse(line, "a name has at most 64 characters", err);
    }
    for (size_t i = 0; i < word.len; i++) {
        if (!is_name_byte(name[i])) {
            return refuse(line, "a name has letters, digits, '.', '_' and '-'", err);
        }
    }
    memcpy(principal->name, name, word.len);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        if (strcmp(fixed[i]->name, principal->name) == 0) {
            return refuse(line, "owner, reader and nobody are names of the server's own", err);
        }
    }
    for (size_t i = 0; i < line->table->count; i++) {
        if (strcmp(line->table->entries[i].principal.name, principal->name) == 0) {
            return refuse(line, "a principal of that name stands above", err);
        }
    }
    return SIRIX_OK;
}

static enum sirix_status take_role(struct line *line, struct sirix_bytes word,
                                   struct sirix_error *err)
{
    for (enum sirix_role role = SIRIX_ROLE_READER; role <= SIRIX_ROLE_OPERATOR; role++) {
        const char *name = sirix_role_name(role);

        if (word.len == strlen(name) && memcmp(word.data, name, word.len) == 0) {
            line->entry->principal.role = role;
            return SIRIX_OK;
        }
    }
    return refuse(line, "behind the name stands reader, writer or operator", err);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex_decode(const char *text, uint8_t out[SIRIX_SHA256_BYTES])
{
    for (size_t i = 0; i < SIRIX_SHA256_BYTES; i++) {
        int high = hex_value(text[2 * i]);
        int low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool has_token(const struct entry *entry, const uint8_t hash[SIRIX_SHA256_BYTES])
{
    bool found = false;

    /* All of them are looked at, whichever it is. */
    for (size_t i = 0; i < entry->token_count; i++) {
        found |= sirix_equal_constant_time(entry->tokens[i], hash, SIRIX_SHA256_BYTES);
    }
    return found;
}

/* Whoever puts the token itself there is not told it back. */
static enum sirix_status take_token(struct line *line, struct sirix_bytes word,
                                    struct sirix_error *err)
{
    static const char prefix[] = "sha256:";
    struct entry *entry = line->entry;
    const char *text = word.data;
    const size_t prefix_len = sizeof(prefix) - 1;

    if (word.len != prefix_len + HEX_DIGITS || memcmp(text, prefix, prefix_len) != 0) {
        return refuse(line, "token=sha256: and the 64 hex digits of a token's hash", err);
    }
    if (entry->token_count == SIRIX_PRINCIPAL_TOKENS_MAX) {
        return refuse(line, "a principal has at most two tokens: the old one and the new one", err);
    }
    uint8_t *hash = entry->tokens[entry->token_count++];
    if (!hex_decode(text + prefix_len, hash)) {
        return refuse(line, "token=sha256: and 64 lower-case hex digits", err);
    }
    for (size_t i = 0; i < line->table->count; i++) {
        if (has_token(&line->table->entries[i], hash)) {
            return refuse(line, "a principal above has the same token", err);
        }
    }
    return SIRIX_OK;
}

static bool same_identity(const struct sirix_identity *a, const struct sirix_identity *b)
{
    return a->kind == b->kind && sirix_bytes_equal(a->name, b->name);
}

static bool has_identity(const struct entry *entry, const struct sirix_identity *identity)
{
    for (size_t i = 0; i < entry->certificate_count; i++) {
        if (same_identity(&entry->certificates[i], identity)) {
            return true;
        }
    }
    return false;
}

/* False: the word begins with no kind of name, or there is none behind it. */
static bool split_identity(struct sirix_bytes word, struct sirix_identity *out_identity)
{
    static const struct {
        const char *prefix;
        enum sirix_identity_kind kind;
    } kinds[] = {
        {"dns:", SIRIX_IDENTITY_DNS}, {"uri:", SIRIX_IDENTITY_URI}, {"cn:", SIRIX_IDENTITY_CN}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t len = strlen(kinds[i].prefix);

        if (word.len > len && memcmp(word.data, kinds[i].prefix, len) == 0) {
            *out_identity = (struct sirix_identity){
                .kind = kinds[i].kind,
                .name = {.data = (const char *)word.data + len, .len = word.len - len},
            };
            return true;
        }
    }
    return false;
}

static enum sirix_status take_certificate(struct line *line, struct sirix_bytes word,
                                          struct sirix_error *err)
{
    struct entry *entry = line->entry;

    if (entry->certificate_count == SIRIX_PRINCIPAL_CERTIFICATES_MAX) {
        return refuse(line, "a principal has at most eight names of certificates", err);
    }
    struct sirix_identity *identity = &entry->certificates[entry->certificate_count];
    if (!split_identity(word, identity)) {
        return refuse(line, "certificate=dns:NAME, uri:NAME or cn:NAME", err);
    }
    for (size_t i = 0; i < line->table->count; i++) {
        if (has_identity(&line->table->entries[i], identity)) {
            return refuse(line, "a principal above has the same certificate name", err);
        }
    }
    entry->certificate_count++;
    return sirix_arena_copy(&line->table->arena, identity->name, &identity->name, err);
}

static bool is_pattern(struct sirix_bytes pattern, bool may_have_slash)
{
    const char *text = pattern.data;
    size_t slashes = 0;

    for (size_t i = 0; i < pattern.len; i++) {
        bool is_slash = text[i] == '/';

        slashes += is_slash ? 1 : 0;
        if ((is_slash && (i == 0 || i + 1 == pattern.len)) ||
            (!is_slash && text[i] != '*' && !is_name_byte(text[i]))) {
            return false;
        }
    }
    return pattern.len != 0 && slashes <= (may_have_slash ? 1 : 0);
}

static enum sirix_status take_patterns(struct line *line, struct sirix_bytes list,
                                       struct sirix_patterns *patterns, bool may_have_slash,
                                       struct sirix_error *err)
{
    const char *text = list.data;
    const char **items = NULL;
    void *memory = NULL;
    size_t count = 0;

    if (patterns->count != 0) {
        return refuse(line, "a list of patterns is given twice", err);
    }
    enum sirix_status status = sirix_arena_calloc(&line->table->arena, SIRIX_PRINCIPAL_PATTERNS_MAX,
                                                  sizeof(*items), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    items = memory;
    for (size_t begin = 0; begin <= list.len;) {
        const char *comma = memchr(text + begin, ',', list.len - begin);
        size_t end = comma == NULL ? list.len : (size_t)(comma - text);
        const struct sirix_bytes item = {.data = text + begin, .len = end - begin};
        char *copy = NULL;

        if (count == SIRIX_PRINCIPAL_PATTERNS_MAX) {
            return refuse(line, "a list has at most 64 patterns", err);
        }
        if (!is_pattern(item, may_have_slash)) {
            return refuse(line,
                          "patterns have letters, digits, '.', '_', '-' and '*', and commas "
                          "between them",
                          err);
        }
        status = sirix_arena_c_str(&line->table->arena, item, &copy, err);
        if (status != SIRIX_OK) {
            return status;
        }
        items[count++] = copy;
        begin = end + 1;
    }
    *patterns = (struct sirix_patterns){.items = items, .count = count};
    return SIRIX_OK;
}

static bool takes_prefix(struct sirix_bytes word, const char *prefix, struct sirix_bytes *out_rest)
{
    size_t len = strlen(prefix);

    if (word.len < len || memcmp(word.data, prefix, len) != 0) {
        return false;
    }
    *out_rest = (struct sirix_bytes){.data = (const char *)word.data + len, .len = word.len - len};
    return true;
}

static enum sirix_status take_word(struct line *line, struct sirix_bytes word,
                                   struct sirix_error *err)
{
    struct sirix_principal *principal = &line->entry->principal;
    struct sirix_bytes rest = {.data = NULL, .len = 0};

    if (takes_prefix(word, "token=", &rest)) {
        return take_token(line, rest, err);
    }
    if (takes_prefix(word, "certificate=", &rest)) {
        return take_certificate(line, rest, err);
    }
    if (takes_prefix(word, "databases=", &rest)) {
        return take_patterns(line, rest, &principal->databases, false, err);
    }
    if (takes_prefix(word, "resources=", &rest)) {
        return take_patterns(line, rest, &principal->resources, true, err);
    }
    if (takes_prefix(word, "branches=", &rest)) {
        return take_patterns(line, rest, &principal->branches, false, err);
    }
    if (takes_prefix(word, "speaks-for-others", &rest) && rest.len == 0) {
        principal->trusted_to_speak_for_others = true;
        return SIRIX_OK;
    }
    return refuse(line,
                  "a word is none of token=, certificate=, databases=, resources=, branches= and "
                  "speaks-for-others",
                  err);
}

static enum sirix_status take_line(struct line *line, struct sirix_error *err)
{
    struct sirix_principal_table *table = line->table;
    struct sirix_bytes word = next_word(line);

    if (word.len == 0) {
        return SIRIX_OK;
    }
    if (table->count == SIRIX_PRINCIPALS_MAX) {
        return refuse(line, "there are at most 1,024 principals", err);
    }
    line->entry = &table->entries[table->count];
    line->entry->principal.table = table;
    enum sirix_status status = take_name(line, word, err);
    if (status == SIRIX_OK) {
        status = take_role(line, next_word(line), err);
    }
    while (status == SIRIX_OK && (word = next_word(line)).len != 0) {
        status = take_word(line, word, err);
    }
    if (status == SIRIX_OK && line->entry->token_count + line->entry->certificate_count == 0) {
        status = refuse(line, "a principal has a token or a certificate", err);
    }
    if (status == SIRIX_OK) {
        table->count++;
    }
    return status;
}

/* --- Tables ------------------------------------------------------------------------------------- */

enum sirix_status sirix_principal_table_parse(struct sirix_bytes text,
                                              struct sirix_principal_table **out_table,
                                              struct sirix_error *err)
{
    struct sirix_principal_table *table = calloc(1, sizeof(*table));
    const char *at = text.data;
    const char *end = at + text.len;
    void *memory = NULL;
    uint64_t number = 0;

    if (table == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the principals");
    }
    atomic_init(&table->refs, 1);
    sirix_arena_init(&table->arena, ARENA_BYTES_MAX);
    enum sirix_status status = sirix_arena_calloc(&table->arena, SIRIX_PRINCIPALS_MAX,
                                                  sizeof(*table->entries), &memory, err);
    table->entries = memory;
    if (status == SIRIX_OK && text.len > SIRIX_PRINCIPALS_FILE_BYTES_MAX) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                   "a file of principals has at most 4 MiB");
    }
    while (status == SIRIX_OK && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline == NULL ? end : newline;

        number++;
        struct line line = {.table = table, .number = number, .at = at, .end = line_end};

        status = take_line(&line, err);
        at = newline == NULL ? end : newline + 1;
    }
    if (status != SIRIX_OK) {
        sirix_principal_table_unref(table);
        return status;
    }
    *out_table = table;
    return SIRIX_OK;
}

void sirix_principal_table_ref(struct sirix_principal_table *table)
{
    (void)atomic_fetch_add(&table->refs, 1);
}

void sirix_principal_table_unref(struct sirix_principal_table *table)
{
    if (table != NULL && atomic_fetch_sub(&table->refs, 1) == 1) {
        sirix_arena_deinit(&table->arena);
        free(table);
    }
}

size_t sirix_principal_table_count(const struct sirix_principal_table *table)
{
    return table->count;
}

void sirix_principal_table_retire(struct sirix_principal_table *table)
{
    atomic_store(&table->retired, true);
}

void sirix_principal_ref(const struct sirix_principal *principal)
{
    if (principal->table != NULL) {
        sirix_principal_table_ref(principal->table);
    }
}

void sirix_principal_unref(const struct sirix_principal *principal)
{
    if (principal != NULL) {
        sirix_principal_table_unref(principal->table);
    }
}

bool sirix_principal_is_outdated(const struct sirix_principal *principal)
{
    return principal->table != NULL && atomic_load(&principal->table->retired);
}

/* --- Finding ------------------------------------------------------------------------------------ */

static const struct sirix_principal *find_token(const struct sirix_principal_table *table,
                                                const uint8_t hash[SIRIX_SHA256_BYTES])
{
    const struct sirix_principal *found = NULL;

    for (size_t i = 0; i < table->count; i++) {
        if (has_token(&table->entries[i], hash)) {
            found = &table->entries[i].principal;
        }
    }
    return found;
}

static const struct sirix_principal *find_identity(const struct sirix_principal_table *table,
                                                   const struct sirix_identity *identity)
{
    for (size_t i = 0; i < table->count; i++) {
        if (has_identity(&table->entries[i], identity)) {
            return &table->entries[i].principal;
        }
    }
    return NULL;
}

static enum sirix_status unknown(struct sirix_error *err, const char *text)
{
    return sirix_fail_reason(err, SIRIX_UNAUTHENTICATED, SIRIX_REASON_CREDENTIALS, "%s", text);
}

enum sirix_status sirix_principal_table_find(const struct sirix_principal_table *table,
                                             const struct sirix_credentials *credentials,
                                             const struct sirix_principal **out_principal,
                                             struct sirix_error *err)
{
    const struct sirix_principal *found = NULL;
    uint8_t hash[SIRIX_SHA256_BYTES];

    if (credentials->has_token) {
        if (credentials->token.len < SIRIX_TOKEN_BYTES_MIN ||
            credentials->token.len > SIRIX_TOKEN_BYTES_MAX) {
            return unknown(err, "the token is none of this server's");
        }
        enum sirix_status status =
            sirix_sha256(credentials->token.data, credentials->token.len, hash, err);
        if (status != SIRIX_OK) {
            return status;
        }
        found = find_token(table, hash);
        if (found == NULL) {
            return unknown(err, "the token is none of this server's");
        }
    }
    for (size_t i = 0; found == NULL && i < credentials->identity_count; i++) {
        found = find_identity(table, &credentials->identities[i]);
    }
    if (found == NULL) {
        return unknown(err, credentials->identity_count == 0
                                ? "this address asks for a token (authorization: Bearer TOKEN) or "
                                  "a client certificate"
                                : "the client certificate has no name of this server's principals");
    }
    *out_principal = found;
    return SIRIX_OK;
}
