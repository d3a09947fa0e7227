/* Who a caller is: static tokens, access tokens, and the keys that check them. */
#include "unit/gateway/gateway_help.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>

#include "guard/base64url.h"
#include "guard/gate.h"

enum { NOW_S = 1000000, TOKEN_BYTES = 8192 };

static struct sirix_arena arena;

/* --- An authorization server of our own --------------------------------------------------------- */

static EVP_PKEY *rsa_key;
static EVP_PKEY *ec_key;
static EVP_PKEY *ed_key;
static char jwks_text[8192];
static unsigned fetches;
static bool is_down;
static uint64_t now_ns;

static uint64_t monotonic_ns(void *context)
{
    (void)context;
    return now_ns;
}

static const struct sirix_clock test_clock = {.monotonic_ns = monotonic_ns};

static enum sirix_status fetch(const void *context, struct sirix_buf *out, struct sirix_error *err)
{
    (void)context;
    fetches++;
    return is_down ? sirix_fail(err, SIRIX_UNAVAILABLE, "made up")
                   : sirix_buf_append_str(out, jwks_text, err);
}

static void encode(const uint8_t *bytes, size_t len, char *out)
{
    struct sirix_buf buf;

    sirix_buf_init(&buf, SIZE_MAX);
    assert_int_equal(sirix_base64url_encode(&buf, bytes, len, NULL), SIRIX_OK);
    memcpy(out, buf.data, buf.len);
    out[buf.len] = '\0';
    sirix_buf_deinit(&buf);
}

static void number_of(EVP_PKEY *key, const char *name, size_t bytes, char *out)
{
    BIGNUM *number = NULL;
    uint8_t raw[1024];

    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &number), 1);
    assert_true(BN_bn2binpad(number, raw, (int)bytes) > 0);
    encode(raw, bytes, out);
    BN_free(number);
}

/* The three keys as r1, e1 and d1. */
static void publish(void)
{
    char n[1024];
    char e[16];
    char x[128];
    char y[128];
    char d[128];
    uint8_t raw[32];
    size_t len = sizeof(raw);

    number_of(rsa_key, OSSL_PKEY_PARAM_RSA_N, 256, n);
    number_of(rsa_key, OSSL_PKEY_PARAM_RSA_E, 3, e);
    number_of(ec_key, OSSL_PKEY_PARAM_EC_PUB_X, 32, x);
    number_of(ec_key, OSSL_PKEY_PARAM_EC_PUB_Y, 32, y);
    assert_int_equal(EVP_PKEY_get_raw_public_key(ed_key, raw, &len), 1);
    encode(raw, len, d);
    (void)snprintf(
        jwks_text, sizeof(jwks_text),
        "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"s1\",\"k\":\"AAAA\"},"
        "{\"kty\":\"RSA\",\"kid\":\"x1\",\"use\":\"enc\",\"n\":\"%s\",\"e\":\"%s\"},"
        "{\"kty\":\"RSA\",\"kid\":\"r1\",\"use\":\"sig\",\"n\":\"%s\",\"e\":\"%s\"},"
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e1\",\"alg\":\"ES256\",\"x\":\"%s\","
        "\"y\":\"%s\"},"
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"d1\",\"x\":\"%s\"}]}",
        n, e, n, e, x, y, d);
}

static void sign_with(EVP_PKEY *key, const char *signed_text, char *out)
{
    const bool is_ed = EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    uint8_t signature[512];
    size_t len = sizeof(signature);

    assert_int_equal(EVP_DigestSignInit(context, NULL, is_ed ? NULL : EVP_sha256(), NULL, key), 1);
    assert_int_equal(
        EVP_DigestSign(context, signature, &len, (const uint8_t *)signed_text, strlen(signed_text)),
        1);
    EVP_MD_CTX_free(context);
    if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC) {
        const uint8_t *at = signature;
        ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)len);
        uint8_t raw[64];

        assert_true(BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32) == 32);
        assert_true(BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32) == 32);
        ECDSA_SIG_free(pair);
        encode(raw, sizeof(raw), out);
        return;
    }
    encode(signature, len, out);
}

/* A token of that header and those claims; key NULL: the signature is empty base64 of three bytes. */
static const char *make(EVP_PKEY *key, const char *header, const char *claims)
{
    static char token[TOKEN_BYTES];
    char signature[1024] = "AAAA";
    char head[1024];
    char body[4096];

    encode((const uint8_t *)header, strlen(header), head);
    encode((const uint8_t *)claims, strlen(claims), body);
    (void)snprintf(token, sizeof(token), "%s.%s", head, body);
    if (key != NULL) {
        sign_with(key, token, signature);
    }
    (void)strncat(token, ".", sizeof(token) - strlen(token) - 1);
    (void)strncat(token, signature, sizeof(token) - strlen(token) - 1);
    return token;
}

#define CLAIMS                                                                                     \
    "{\"iss\":\"https://as\",\"aud\":\"https://us/mcp\",\"sub\":\"alice\",\"exp\":1000100,"        \
    "\"scope\":\"openid write\"}"
#define WITH(members)                                                                              \
    "{\"iss\":\"https://as\",\"aud\":\"https://us/mcp\",\"sub\":\"alice\"," members "}"
#define RS256 "{\"alg\":\"RS256\",\"kid\":\"r1\",\"typ\":\"at+jwt\"}"

static struct sirix_gate gate;

static int setup(void **state)
{
    const struct sirix_jwks_options options = {
        .url = "https://as/jwks", .fetch = fetch, .clock = &test_clock};

    (void)state;
    if (rsa_key == NULL) {
        rsa_key = EVP_RSA_gen(2048);
        ec_key = EVP_EC_gen("P-256");
        ed_key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    }
    publish();
    fetches = 0;
    is_down = false;
    now_ns = UINT64_C(1000000000000);
    sirix_arena_init(&arena, SIZE_MAX);
    gate = (struct sirix_gate){
        .rules = {.issuer = "https://as", .audience = "https://us/mcp"},
    };
    return sirix_jwks_open(&options, &gate.jwks, NULL) == SIRIX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sirix_gate_close(&gate);
    sirix_arena_deinit(&arena);
    return 0;
}

static enum sirix_status identify(const char *token, struct sirix_identity *out)
{
    struct sirix_error err = {0};
    enum sirix_status status = sirix_gate_identify(&gate, text(token), NOW_S, &arena, out, &err);

    if (status != SIRIX_OK && strlen(token) > 20) {
        assert_null(strstr(err.text, token)); /* No sentence repeats a token. */
    }
    return status;
}

/* --- Access tokens ------------------------------------------------------------------------------ */

static void good_tokens_of_each_algorithm_are_taken(void **state)
{
    struct sirix_identity who = {0};

    (void)state;
    assert_int_equal(identify(make(rsa_key, RS256, CLAIMS), &who), SIRIX_OK);
    assert_string_equal(who.name, "oauth:alice");
    assert_int_equal(who.rights, SIRIX_RIGHT_READ | SIRIX_RIGHT_WRITE);
    assert_int_equal(identify(make(ec_key, "{\"alg\":\"ES256\",\"kid\":\"e1\"}", CLAIMS), &who),
                     SIRIX_OK);
    assert_int_equal(identify(make(ed_key, "{\"alg\":\"EdDSA\",\"kid\":\"d1\"}", CLAIMS), &who),
                     SIRIX_OK);
    assert_int_equal(identify(make(ec_key, "{\"alg\":\"ES256\"}", CLAIMS), &who), SIRIX_OK);
    assert_int_equal(fetches, 1);
}

static void forged_tokens_are_refused(void **state)
{
    static const char *const headers[] = {
        "{\"alg\":\"none\",\"kid\":\"r1\"}",
        "{\"alg\":\"None\"}",
        "{\"alg\":\"HS256\",\"kid\":\"s1\"}",
        "{\"alg\":\"HS256\",\"kid\":\"r1\"}",
        "{\"alg\":\"RS512\",\"kid\":\"r1\"}",
        "{\"alg\":\"ES256\",\"kid\":\"r1\"}", /* The key of another kind. */
        "{\"alg\":\"RS256\",\"kid\":\"x1\"}", /* A key for encrypting. */
        "{\"alg\":\"RS256\",\"kid\":\"r1\",\"crit\":[\"exp\"]}",
        "{\"alg\":\"RS256\",\"kid\":\"r1\",\"typ\":\"dpop+jwt\"}",
        "{\"alg\":\"RS256\",\"kid\":1}",
        "{\"alg\":[\"RS256\"],\"kid\":\"r1\"}",
        "{\"kid\":\"r1\"}",
        "[]",
        "nonsense",
    };
    struct sirix_identity who = {0};
    char token[TOKEN_BYTES];

    (void)state;
    for (size_t i = 0; i < COUNT(headers); i++) {
        assert_int_equal(identify(make(rsa_key, headers[i], CLAIMS), &who), SIRIX_UNAUTHENTICATED);
    }
    assert_int_equal(identify(make(NULL, RS256, CLAIMS), &who), SIRIX_UNAUTHENTICATED);
    assert_int_equal(identify(make(ec_key, RS256, CLAIMS), &who), SIRIX_UNAUTHENTICATED);
    /* Each byte of a good one counts. */
    (void)snprintf(token, sizeof(token), "%s", make(rsa_key, RS256, CLAIMS));
    assert_int_equal(identify(token, &who), SIRIX_OK);
    for (size_t i = 0; token[i] != '\0'; i++) {
        const char was = token[i];

        token[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(identify(token, &who), SIRIX_UNAUTHENTICATED);
        token[i] = was;
    }
}

/* HMAC with the public key as its secret: what libraries that trust `alg` fell for. */
static void a_public_key_is_no_secret(void **state)
{
    struct sirix_identity who = {0};
    static const char header[] = "{\"alg\":\"HS256\",\"kid\":\"r1\"}";
    char token[TOKEN_BYTES];
    char head[128];
    char body[1024];
    char signature[128];
    uint8_t mac[32];
    unsigned len = 0;

    (void)state;
    encode((const uint8_t *)header, strlen(header), head);
    encode((const uint8_t *)CLAIMS, strlen(CLAIMS), body);
    (void)snprintf(token, sizeof(token), "%s.%s", head, body);
    assert_non_null(HMAC(EVP_sha256(), jwks_text, (int)strlen(jwks_text), (const uint8_t *)token,
                         strlen(token), mac, &len));
    encode(mac, len, signature);
    (void)snprintf(token, sizeof(token), "%s.%s.%s", head, body, signature);
    assert_int_equal(identify(token, &who), SIRIX_UNAUTHENTICATED);
}

static void texts_that_are_no_tokens_are_refused(void **state)
{
    static const char *const tokens[] = {"",
                                         "a",
                                         "a.b",
                                         "..",
                                         "a..c",
                                         "a.b.c.d",
                                         "e30.e30.e30",
                                         "!!!!.e30.AAAA",
                                         "e30=.e30.AAAA",
                                         "e31.e30.AAAA"};
    struct sirix_identity who = {0};
    char *longest = malloc(SIRIX_JWT_BYTES_MAX + 2);

    (void)state;
    for (size_t i = 0; i < COUNT(tokens); i++) {
        assert_int_equal(identify(tokens[i], &who), SIRIX_UNAUTHENTICATED);
    }
    assert_non_null(longest);
    memset(longest, 'A', SIRIX_JWT_BYTES_MAX + 1);
    longest[SIRIX_JWT_BYTES_MAX + 1] = '\0';
    assert_int_equal(identify(longest, &who), SIRIX_UNAUTHENTICATED);
    free(longest);
}

static void claims_decide_for_whom_and_when(void **state)
{
    static const struct {
        const char *claims;
        enum sirix_status wanted;
    } cases[] = {
        {WITH("\"exp\":1000000"), SIRIX_OK}, /* Within the skew. */
        {WITH("\"exp\":999941"), SIRIX_OK},
        {WITH("\"exp\":999940"), SIRIX_UNAUTHENTICATED},
        {WITH("\"exp\":1000100.5"), SIRIX_OK},
        {WITH("\"exp\":1000100.5e0"), SIRIX_UNAUTHENTICATED},
        {WITH("\"exp\":1e9"), SIRIX_OK},
        {WITH("\"exp\":-1"), SIRIX_UNAUTHENTICATED},
        {WITH("\"exp\":9223372036854775807"), SIRIX_OK},
        {WITH("\"exp\":99999999999999999999"), SIRIX_UNAUTHENTICATED},
        {WITH("\"exp\":\"1000100\""), SIRIX_UNAUTHENTICATED},
        {WITH("\"iat\":999000"), SIRIX_UNAUTHENTICATED}, /* No end. */
        {WITH("\"exp\":1000100,\"nbf\":1000060"), SIRIX_OK},
        {WITH("\"exp\":1000100,\"nbf\":1000061"), SIRIX_UNAUTHENTICATED},
        {WITH("\"exp\":1000100,\"iat\":1000061"), SIRIX_UNAUTHENTICATED},
        {WITH("\"exp\":1000100,\"exp\":1000100"), SIRIX_UNAUTHENTICATED},
        {"{\"iss\":\"https://as\",\"aud\":[\"x\",\"https://us/"
         "mcp\"],\"sub\":\"a\",\"exp\":1000100}",
         SIRIX_OK},
        {"{\"iss\":\"https://as\",\"aud\":[\"x\"],\"sub\":\"a\",\"exp\":1000100}",
         SIRIX_UNAUTHENTICATED},
        {"{\"iss\":\"https://as\",\"aud\":\"https://us/mcp/\",\"sub\":\"a\",\"exp\":1000100}",
         SIRIX_UNAUTHENTICATED},
        {"{\"iss\":\"https://as\",\"sub\":\"a\",\"exp\":1000100}", SIRIX_UNAUTHENTICATED},
        {"{\"iss\":\"https://as/\",\"aud\":\"https://us/mcp\",\"sub\":\"a\",\"exp\":1000100}",
         SIRIX_UNAUTHENTICATED},
        {"{\"aud\":\"https://us/mcp\",\"sub\":\"a\",\"exp\":1000100}", SIRIX_UNAUTHENTICATED},
        {"{\"iss\":\"https://as\",\"aud\":\"https://us/mcp\",\"exp\":1000100}",
         SIRIX_UNAUTHENTICATED},
        {"{\"iss\":\"https://as\",\"aud\":\"https://us/mcp\",\"sub\":\"a\\nb\",\"exp\":1000100}",
         SIRIX_UNAUTHENTICATED},
    };
    struct sirix_identity who = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (identify(make(rsa_key, RS256, cases[i].claims), &who) != cases[i].wanted) {
            fail_msg("%s", cases[i].claims);
        }
    }
}

static void scopes_and_limits_come_with_the_token(void **state)
{
    static const struct {
        const char *claims;
        unsigned rights;
    } cases[] = {
        {WITH("\"exp\":1000100"), 0},
        {WITH("\"exp\":1000100,\"scope\":\"\""), 0},
        {WITH("\"exp\":1000100,\"scope\":\"reader writes\""), 0},
        {WITH("\"exp\":1000100,\"scope\":\"x read\""), SIRIX_RIGHT_READ},
        {WITH("\"exp\":1000100,\"scope\":\"admin\""),
         SIRIX_RIGHT_READ | SIRIX_RIGHT_WRITE | SIRIX_RIGHT_ADMIN},
        {WITH("\"exp\":1000100,\"scp\":[\"read\",\"write\",1]"),
         SIRIX_RIGHT_READ | SIRIX_RIGHT_WRITE},
        {WITH("\"exp\":1000100,\"scope\":[],\"scp\":\"admin\""), 0},
    };
    struct sirix_identity who = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(identify(make(rsa_key, RS256, cases[i].claims), &who), SIRIX_OK);
        assert_int_equal(who.rights, cases[i].rights);
    }
    assert_int_equal(
        identify(make(rsa_key, RS256,
                      WITH("\"exp\":1000100,\"scope\":\"read\",\"sirix\":{\"allowDatabases\":"
                           "[\"shop\"],\"allowBranches\":[\"a\"]}")),
                 &who),
        SIRIX_OK);
    assert_true(sirix_access_database(&who.access, text("shop")));
    assert_false(sirix_access_database(&who.access, text("hr")));
    assert_false(sirix_access_branch(&who.access, text("main")));
    /* A limit that is not understood is not left out. */
    assert_int_equal(
        identify(make(rsa_key, RS256, WITH("\"exp\":1000100,\"sirix\":{\"allowdatabases\":[]}")),
                 &who),
        SIRIX_UNAUTHENTICATED);
    assert_int_equal(identify(make(rsa_key, RS256, WITH("\"exp\":1000100,\"sirix\":[]")), &who),
                     SIRIX_UNAUTHENTICATED);
}

/* --- Keys --------------------------------------------------------------------------------------- */

static void keys_are_fetched_again_when_they_change(void **state)
{
    struct sirix_identity who = {0};
    char old[TOKEN_BYTES];

    (void)state;
    (void)snprintf(old, sizeof(old), "%s", make(rsa_key, RS256, CLAIMS));
    assert_int_equal(identify(old, &who), SIRIX_OK);
    EVP_PKEY *former = rsa_key;
    rsa_key = EVP_RSA_gen(2048);
    publish();
    char *at = strstr(jwks_text, "\"r1\"");
    assert_non_null(at);
    at[2] = '2';
    now_ns += (uint64_t)SIRIX_JWKS_PAUSE_MS * 1000000;
    assert_int_equal(identify(make(rsa_key, "{\"alg\":\"RS256\",\"kid\":\"r2\"}", CLAIMS), &who),
                     SIRIX_OK);
    assert_int_equal(fetches, 2);
    /* What is no longer published is no longer good. */
    assert_int_equal(identify(old, &who), SIRIX_UNAUTHENTICATED);
    EVP_PKEY_free(former);
}

static void unknown_keys_do_not_make_a_flood(void **state)
{
    struct sirix_identity who = {0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        char header[64];

        (void)snprintf(header, sizeof(header), "{\"alg\":\"RS256\",\"kid\":\"made-up-%d\"}", i);
        assert_int_equal(identify(make(rsa_key, header, CLAIMS), &who), SIRIX_UNAUTHENTICATED);
    }
    assert_int_equal(fetches, 1);
    now_ns += (uint64_t)SIRIX_JWKS_PAUSE_MS * 1000000;
    assert_int_equal(identify(make(rsa_key, "{\"alg\":\"RS256\",\"kid\":\"z\"}", CLAIMS), &who),
                     SIRIX_UNAUTHENTICATED);
    assert_int_equal(fetches, 2);
}

static void keys_outlive_an_outage_but_not_for_ever(void **state)
{
    struct sirix_identity who = {0};
    char token[TOKEN_BYTES];

    (void)state;
    (void)snprintf(token, sizeof(token), "%s", make(rsa_key, RS256, CLAIMS));
    is_down = true;
    assert_int_equal(identify(token, &who), SIRIX_UNAVAILABLE);
    is_down = false;
    now_ns += (uint64_t)SIRIX_JWKS_PAUSE_MS * 1000000;
    assert_int_equal(identify(token, &who), SIRIX_OK);
    is_down = true;
    now_ns += (uint64_t)(SIRIX_JWKS_FRESH_S + 1) * 1000000000;
    assert_int_equal(identify(token, &who), SIRIX_OK);
    now_ns += (uint64_t)SIRIX_JWKS_STALE_S * 1000000000;
    assert_int_equal(identify(token, &who), SIRIX_UNAVAILABLE);
}

static void keys_that_are_too_weak_are_passed_over(void **state)
{
    static const char *const sets[] = {
        "{}",
        "{\"keys\":{}}",
        "{\"keys\":[]}",
        "[]",
        "nonsense",
        "{\"keys\":[1,{\"kty\":\"RSA\"}]}",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}]}",
        /* A point that is not on the curve. */
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
        "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\",\"y\":"
        "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}",
    };
    struct sirix_jwt_keys *keys = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT(sets); i++) {
        assert_int_not_equal(sirix_jwt_keys_parse(text(sets[i]), &keys, NULL), SIRIX_OK);
    }
}

static void keys_come_over_tls_or_from_this_machine(void **state)
{
    static const char *const good[] = {"https://as.example/jwks", "http://127.0.0.1:1/",
                                       "http://localhost/x", "http://[::1]:80/"};
    static const char *const bad[] = {"",
                                      "http://as.example/jwks",
                                      "http://127.0.0.1.evil.example/",
                                      "http://localhost.evil.example/",
                                      "http://localhost@evil.example/",
                                      "file:///etc/passwd",
                                      "https://",
                                      "https:///x"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(sirix_jwks_url_is_good(good[i]));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_false(sirix_jwks_url_is_good(bad[i]));
    }
}

/* --- Static tokens ------------------------------------------------------------------------------ */

static void hash_of(const char *token, char out[SIRIX_SHA256_HEX_BYTES])
{
    uint8_t hash[SIRIX_SHA256_BYTES];

    assert_int_equal(sirix_sha256(token, strlen(token), hash, NULL), SIRIX_OK);
    sirix_sha256_hex(hash, out);
}

static void static_tokens_say_who_and_what(void **state)
{
    struct sirix_identity who = {0};
    char file[2048];
    char a[SIRIX_SHA256_HEX_BYTES];
    char b[SIRIX_SHA256_HEX_BYTES];

    (void)state;
    hash_of("token-a", a);
    hash_of("token-b", b);
    (void)snprintf(
        file, sizeof(file),
        "# who may call\n\n{\"name\":\"agent\",\"role\":\"writer\",\"tokenSha256\":\"%s\","
        "\"allowResources\":{\"shop\":[\"orders\"]}}\r\n"
        "{\"name\":\"agent\",\"role\":\"reader\",\"tokenSha256\":\"%s\"}",
        a, b);
    assert_int_equal(sirix_tokens_parse(text(file), &gate.tokens, NULL), SIRIX_OK);
    assert_int_equal(identify("token-a", &who), SIRIX_OK);
    assert_string_equal(who.name, "agent");
    assert_int_equal(who.rights, SIRIX_RIGHT_READ | SIRIX_RIGHT_WRITE);
    assert_true(sirix_access_resource(&who.access, text("shop"), text("orders")));
    assert_false(sirix_access_resource(&who.access, text("shop"), text("cards")));
    assert_int_equal(identify("token-b", &who), SIRIX_OK);
    assert_int_equal(who.rights, SIRIX_RIGHT_READ);
    /* Neither another text nor the hash itself is a token. */
    assert_int_equal(identify("token-c", &who), SIRIX_UNAUTHENTICATED);
    assert_int_equal(identify(a, &who), SIRIX_UNAUTHENTICATED);
    assert_int_equal(fetches, 0);
}

static void a_file_of_tokens_that_is_not_good_is_refused_by_line(void **state)
{
    static const char *const lines[] = {
        "",
        "# nothing\n",
        "nonsense",
        "[]",
        "{\"name\":\"a\",\"role\":\"reader\"}",
        "{\"name\":\"a\",\"role\":\"operator\",\"tokenSha256\":\"%s\"}",
        "{\"name\":\"\",\"role\":\"reader\",\"tokenSha256\":\"%s\"}",
        "{\"name\":\"a b\",\"role\":\"reader\",\"tokenSha256\":\"%s\"}",
        "{\"name\":\"oauth:a\",\"role\":\"reader\",\"tokenSha256\":\"%s\"}",
        "{\"name\":\"a\",\"role\":\"reader\",\"tokenSha256\":\"0%s\"}",
        "{\"name\":\"a\",\"role\":\"reader\",\"tokenSha256\":\"%s\",\"allowDatabase\":[]}",
        "{\"name\":\"a\",\"role\":\"reader\",\"tokenSha256\":\"%s\",\"allowDatabases\":\"x\"}",
        ("{\"name\":\"a\",\"role\":\"reader\",\"tokenSha256\":\"%1$s\"}\n"
         "{\"name\":\"b\",\"role\":\"reader\",\"tokenSha256\":\"%1$s\"}"),
    };
    char a[SIRIX_SHA256_HEX_BYTES];

    (void)state;
    hash_of("token-a", a);
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct sirix_tokens tokens = {.count = 0};
        struct sirix_error err = {0};
        char file[1024];
        const char *mark = strstr(lines[i], "%1$s") != NULL ? "%1$s" : "%s";
        const char *from = lines[i];
        size_t len = 0;

        for (const char *at = strstr(from, mark); at != NULL; at = strstr(from, mark)) {
            len += (size_t)snprintf(file + len, sizeof(file) - len, "%.*s%s", (int)(at - from),
                                    from, a);
            from = at + strlen(mark);
        }
        (void)snprintf(file + len, sizeof(file) - len, "%s", from);
        assert_int_equal(sirix_tokens_parse(text(file), &tokens, &err), SIRIX_INVALID);
        assert_true(i < 2 || strstr(err.text, "line ") != NULL);
        assert_null(strstr(err.text, a));
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(good_tokens_of_each_algorithm_are_taken),
        CASE(forged_tokens_are_refused),
        CASE(a_public_key_is_no_secret),
        CASE(texts_that_are_no_tokens_are_refused),
        CASE(claims_decide_for_whom_and_when),
        CASE(scopes_and_limits_come_with_the_token),
        CASE(keys_are_fetched_again_when_they_change),
        CASE(unknown_keys_do_not_make_a_flood),
        CASE(keys_outlive_an_outage_but_not_for_ever),
        CASE(keys_that_are_too_weak_are_passed_over),
        CASE(keys_come_over_tls_or_from_this_machine),
        CASE(static_tokens_say_who_and_what),
        CASE(a_file_of_tokens_that_is_not_good_is_refused_by_line),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    EVP_PKEY_free(rsa_key);
    EVP_PKEY_free(ec_key);
    EVP_PKEY_free(ed_key);
    return failed;
}
