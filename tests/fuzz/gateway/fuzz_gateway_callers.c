/*
 * What says who a caller is: files of static tokens, sets of keys, tokens, and the claims of a token
 * that is signed as it should be. The first byte says which reader gets the rest. What must hold:
 *   - nobody is known by a token that was made up
 *   - whoever is known has a name that can be shown, and rights that imply each other
 */
#include <assert.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "guard/base64url.h"
#include "guard/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { READERS = 4, NOW_S = 1000000, CLAIMS_BYTES_MAX = 8 * 1024 };

static EVP_PKEY *key;
static struct sirix_gate gate;
static char key_set[256];

static enum sirix_status fetch(const void *context, struct sirix_buf *out, struct sirix_error *err)
{
    (void)context;
    return sirix_buf_append_str(out, key_set, err);
}

static void start(void)
{
    static const uint8_t secret[32] = {1, 2, 3};
    const struct sirix_jwks_options options = {.url = "https://as/", .fetch = fetch};
    struct sirix_buf text;
    uint8_t raw[32];
    size_t len = sizeof(raw);

    if (key != NULL) {
        return;
    }
    sirix_log_setup(SIRIX_LOG_OFF, 2, NULL);
    key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, sizeof(secret));
    assert(key != NULL && EVP_PKEY_get_raw_public_key(key, raw, &len) == 1);
    sirix_buf_init(&text, SIZE_MAX);
    assert(sirix_base64url_encode(&text, raw, len, NULL) == SIRIX_OK);
    (void)snprintf(key_set, sizeof(key_set),
                   "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%.*s\"}]}",
                   (int)text.len, (const char *)text.data);
    sirix_buf_deinit(&text);
    gate.rules = (struct sirix_jwt_rules){.issuer = "i", .audience = "a"};
    assert(sirix_jwks_open(&options, &gate.jwks, NULL) == SIRIX_OK);
}

static void check(const struct sirix_identity *who)
{
    const struct sirix_bytes name = {who->name, strlen(who->name)};

    assert(sirix_identity_name_is_good(name));
    assert((who->rights & SIRIX_RIGHT_WRITE) == 0 || (who->rights & SIRIX_RIGHT_READ) != 0);
    assert((who->rights & SIRIX_RIGHT_ADMIN) == 0 || (who->rights & SIRIX_RIGHT_WRITE) != 0);
}

static void read_tokens(struct sirix_bytes text)
{
    struct sirix_tokens tokens;

    if (sirix_tokens_parse(text, &tokens, NULL) != SIRIX_OK) {
        return;
    }
    assert(tokens.count != 0 && tokens.count <= SIRIX_IDENTITY_TOKENS_MAX);
    for (size_t i = 0; i < tokens.count; i++) {
        check(&tokens.items[i].identity);
        assert(tokens.items[i].identity.rights != 0);
    }
    sirix_tokens_deinit(&tokens);
}

static void read_keys(struct sirix_bytes text)
{
    struct sirix_jwt_keys *keys = NULL;

    if (sirix_jwt_keys_parse(text, &keys, NULL) == SIRIX_OK) {
        sirix_jwt_keys_unref(keys);
    }
}

static void read_token(struct sirix_arena *arena, struct sirix_bytes text)
{
    struct sirix_identity who;

    assert(sirix_gate_identify(&gate, text, NOW_S, arena, &who, NULL) == SIRIX_UNAUTHENTICATED);
}

/* The text as claims, signed by the one who may. */
static void read_claims(struct sirix_arena *arena, struct sirix_bytes text)
{
    static const char header[] = "eyJhbGciOiJFZERTQSJ9."; /* {"alg":"EdDSA"} */
    struct sirix_identity who;
    struct sirix_buf token;
    uint8_t signature[64];
    size_t len = sizeof(signature);

    sirix_buf_init(&token, SIZE_MAX);
    assert(sirix_buf_append_str(&token, header, NULL) == SIRIX_OK &&
           sirix_base64url_encode(&token, text.data, text.len, NULL) == SIRIX_OK);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert(context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
           EVP_DigestSign(context, signature, &len, token.data, token.len) == 1);
    EVP_MD_CTX_free(context);
    assert(sirix_buf_append_u8(&token, '.', NULL) == SIRIX_OK &&
           sirix_base64url_encode(&token, signature, len, NULL) == SIRIX_OK);
    if (sirix_gate_identify(&gate, sirix_buf_view(&token), NOW_S, arena, &who, NULL) == SIRIX_OK) {
        check(&who);
        assert(strncmp(who.name, "oauth:", 6) == 0);
    }
    sirix_buf_deinit(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirix_arena arena;

    start();
    if (size == 0 || size > CLAIMS_BYTES_MAX) {
        return 0;
    }
    const struct sirix_bytes text = {.data = data + 1, .len = size - 1};
    sirix_arena_init(&arena, SIZE_MAX);
    switch (data[0] % READERS) {
    case 0:
        read_tokens(text);
        break;
    case 1:
        read_keys(text);
        break;
    case 2:
        read_token(&arena, text);
        break;
    default:
        read_claims(&arena, text);
        break;
    }
    sirix_arena_deinit(&arena);
    return 0;
}
