/* Tokens: taken apart, and what they claim. */
#include "guard/jwt.h"

#include <string.h>

#include "guard/base64url.h"
#include "guard/jwt_keys.h"
#include "json/number.h"
#include "json/text.h"

enum { PARTS = 3 };

static struct sirix_bytes bytes_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static enum sirix_status refuse(const char *text, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_UNAUTHENTICATED, "%s", text);
}

/* --- Taking apart ------------------------------------------------------------------------------- */

/* Cuts a token at its two dots; false: it has more or fewer, or an empty part. */
static bool split(struct sirix_bytes token, struct sirix_bytes parts[PARTS])
{
    const char *at = token.data;
    const char *end = at + token.len;

    for (size_t i = 0; i < PARTS; i++) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        const char *part_end = dot == NULL ? end : dot;

        parts[i] = (struct sirix_bytes){.data = at, .len = (size_t)(part_end - at)};
        if (parts[i].len == 0 || (dot == NULL) != (i == PARTS - 1)) {
            return false;
        }
        at = part_end + 1;
    }
    return true;
}

static enum sirix_status decode(struct sirix_arena *arena, struct sirix_bytes text,
                                struct sirix_bytes *out, struct sirix_error *err)
{
    void *bytes = NULL;
    size_t len = 0;
    enum sirix_status status = sirix_arena_alloc(arena, text.len, &bytes, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!sirix_base64url_decode(text, bytes, &len)) {
        return refuse("the token is not encoded as it should be", err);
    }
    *out = (struct sirix_bytes){.data = bytes, .len = len};
    return SIRIX_OK;
}

/* A part of a token that is an object. */
static enum sirix_status decode_object(struct sirix_arena *arena, struct sirix_bytes text,
                                       struct sirix_json_node **out, struct sirix_error *err)
{
    struct sirix_bytes json = {.data = NULL, .len = 0};
    struct sirix_json_tree tree;
    enum sirix_status status = decode(arena, text, &json, err);

    if (status == SIRIX_OK) {
        status = sirix_json_tree_init(&tree, arena, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_json_tree_parse(&tree, json, NULL, NULL, NULL);
    if (status == SIRIX_NO_MEMORY) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a token");
    }
    if (status != SIRIX_OK || tree.root->kind != SIRIX_JSON_KIND_OBJECT) {
        return refuse("the token does not consist of JSON objects", err);
    }
    *out = tree.root;
    return SIRIX_OK;
}

const struct sirix_json_node *sirix_jwt_member(const struct sirix_json_node *object,
                                               const char *name)
{
    const struct sirix_json_node *at = sirix_json_first(object);

    while (at != NULL && !sirix_bytes_equal(at->name, bytes_of(name))) {
        at = at->next;
    }
    return at;
}

struct sirix_bytes sirix_jwt_text(const struct sirix_json_node *node)
{
    return node != NULL && node->kind == SIRIX_JSON_KIND_STRING
               ? node->value.text
               : (struct sirix_bytes){.data = NULL, .len = 0};
}

bool sirix_jwt_algorithm_find(struct sirix_bytes name, enum sirix_jwt_algorithm *out)
{
    static const char *const names[] = {
        [SIRIX_JWT_RS256] = "RS256",
        [SIRIX_JWT_ES256] = "ES256",
        [SIRIX_JWT_EDDSA] = "EdDSA",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sirix_bytes_equal(name, bytes_of(names[i]))) {
            *out = (enum sirix_jwt_algorithm)i;
            return true;
        }
    }
    return false;
}

static enum sirix_status read_header(const struct sirix_json_node *header, struct sirix_jwt *jwt,
                                     struct sirix_error *err)
{
    const struct sirix_json_node *type = sirix_jwt_member(header, "typ");
    const struct sirix_json_node *key_id = sirix_jwt_member(header, "kid");
    const struct sirix_bytes name = sirix_jwt_text(type);

    if (!sirix_jwt_algorithm_find(sirix_jwt_text(sirix_jwt_member(header, "alg")),
                                  &jwt->algorithm)) {
        return refuse("the token is signed in a way that is not taken; RS256, ES256 and EdDSA are",
                      err);
    }
    if (sirix_jwt_member(header, "crit") != NULL) {
        return refuse("the token has extensions that must be understood, and are not", err);
    }
    if (type != NULL && !sirix_bytes_equal(name, bytes_of("JWT")) &&
        !sirix_bytes_equal(name, bytes_of("at+jwt")) &&
        !sirix_bytes_equal(name, bytes_of("application/at+jwt"))) {
        return refuse("the token is no access token", err);
    }
    if (key_id != NULL && key_id->kind != SIRIX_JSON_KIND_STRING) {
        return refuse("the token does not name its key as it should", err);
    }
    jwt->key_id = sirix_jwt_text(key_id);
    return SIRIX_OK;
}

enum sirix_status sirix_jwt_read(struct sirix_bytes token, struct sirix_arena *arena,
                                 struct sirix_jwt *out, struct sirix_error *err)
{
    struct sirix_bytes parts[PARTS];
    struct sirix_json_node *header = NULL;
    struct sirix_jwt jwt = {.claims = NULL};

    if (token.len > SIRIX_JWT_BYTES_MAX || token.len == 0 || !split(token, parts)) {
        return refuse("the token is not known", err);
    }
    enum sirix_status status = decode_object(arena, parts[0], &header, err);
    if (status == SIRIX_OK) {
        status = read_header(header, &jwt, err);
    }
    if (status == SIRIX_OK) {
        status = decode_object(arena, parts[1], &jwt.claims, err);
    }
    if (status == SIRIX_OK) {
        status = decode(arena, parts[2], &jwt.signature, err);
    }
    if (status == SIRIX_OK) {
        jwt.signed_text = (struct sirix_bytes){
            .data = token.data,
            .len = parts[0].len + 1 + parts[1].len,
        };
        *out = jwt;
    }
    return status;
}

/* --- Claims ------------------------------------------------------------------------------------- */

const struct sirix_json_node *sirix_jwt_claim(const struct sirix_jwt *jwt, const char *name)
{
    return sirix_jwt_member(jwt->claims, name);
}

/* A canonical text that has no escapes is the plain one; one that has is none of ours. */
static bool is_text(const struct sirix_json_node *node, const char *text)
{
    return node != NULL && node->kind == SIRIX_JSON_KIND_STRING &&
           sirix_bytes_equal(node->value.text, bytes_of(text));
}

static bool is_for(const struct sirix_json_node *audience, const char *us)
{
    if (audience == NULL || audience->kind != SIRIX_JSON_KIND_ARRAY) {
        return is_text(audience, us);
    }
    for (const struct sirix_json_node *at = sirix_json_first(audience); at != NULL; at = at->next) {
        if (is_text(at, us)) {
            return true;
        }
    }
    return false;
}

/* A time that a token claims, in whole seconds; false: it is there, and is none. */
static bool read_time(const struct sirix_json_node *node, int64_t *out)
{
    enum { DIGITS_MAX = 15 };
    size_t digits = 0;

    if (node == NULL) {
        return true;
    }
    if (node->kind != SIRIX_JSON_KIND_NUMBER) {
        return false;
    }
    if (sirix_json_number_to_i64(node->value.text, out)) {
        return *out >= 0;
    }
    /* Fractions of a second are allowed, and dropped. */
    const char *text = node->value.text.data;
    int64_t seconds = 0;
    while (digits < node->value.text.len && digits <= DIGITS_MAX && text[digits] >= '0' &&
           text[digits] <= '9') {
        seconds = seconds * 10 + (text[digits++] - '0');
    }
    if (digits == 0 || digits > DIGITS_MAX || digits == node->value.text.len ||
        text[digits] != '.' || memchr(text, 'e', node->value.text.len) != NULL ||
        memchr(text, 'E', node->value.text.len) != NULL) {
        return false;
    }
    *out = seconds;
    return true;
}

enum sirix_status sirix_jwt_check_claims(const struct sirix_jwt *jwt,
                                         const struct sirix_jwt_rules *rules, int64_t now_s,
                                         struct sirix_error *err)
{
    int64_t expires_at_s = -1;
    int64_t begins_at_s = 0;
    int64_t made_at_s = 0;

    if (!is_text(sirix_jwt_claim(jwt, "iss"), rules->issuer)) {
        return refuse("the token is of another issuer", err);
    }
    if (!is_for(sirix_jwt_claim(jwt, "aud"), rules->audience)) {
        return refuse("the token is for another audience", err);
    }
    if (!read_time(sirix_jwt_claim(jwt, "exp"), &expires_at_s) ||
        !read_time(sirix_jwt_claim(jwt, "nbf"), &begins_at_s) ||
        !read_time(sirix_jwt_claim(jwt, "iat"), &made_at_s) || expires_at_s < 0) {
        return refuse("the token does not say when it is good", err);
    }
    /* Compared so that no sum can overflow. */
    if (expires_at_s <= now_s - SIRIX_JWT_SKEW_S) {
        return refuse("the token has expired", err);
    }
    if (begins_at_s - SIRIX_JWT_SKEW_S > now_s || made_at_s - SIRIX_JWT_SKEW_S > now_s) {
        return refuse("the token is not good yet", err);
    }
    return SIRIX_OK;
}
