/* Keys of an authorization server, and signatures that they made. */
#include "guard/jwt_keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "guard/base64url.h"

enum {
    NUMBER_BYTES_MAX = SIRIX_JWT_RSA_BITS_MAX / 8 + 2,
    NUMBER_TEXT_BYTES_MAX = NUMBER_BYTES_MAX / 3 * 4,
    P256_BYTES = 32,
    ED25519_BYTES = 32,
    POINT_BYTES = 1 + 2 * P256_BYTES,
    UNCOMPRESSED = 4,
};

struct key {
    enum sirix_jwt_algorithm algorithm;
    struct sirix_bytes id; /* In the arena; data NULL: none. */
    EVP_PKEY *key;
};

struct sirix_jwt_keys {
    atomic_int references;
    struct sirix_arena arena;
    size_t count;
    struct key items[SIRIX_JWT_KEYS_MAX];
};

/* --- Numbers and points --------------------------------------------------------------------------- */

/* The bytes of a member; false: it is not there, or too long, or not encoded as it should be. */
static bool read_bytes(const struct sirix_json_node *object, const char *name,
                       uint8_t out[NUMBER_BYTES_MAX], size_t *out_len)
{
    const struct sirix_bytes text = sirix_jwt_text(sirix_jwt_member(object, name));

    return text.len != 0 && text.len <= NUMBER_TEXT_BYTES_MAX &&
           sirix_base64url_decode(text, out, out_len);
}

/* Makes a key out of parameters; NULL: it is none. */
static EVP_PKEY *make_key(const char *type, OSSL_PARAM_BLD *builder)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    if (params == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *make_rsa(const struct sirix_json_node *object)
{
    uint8_t modulus[NUMBER_BYTES_MAX];
    uint8_t exponent[NUMBER_BYTES_MAX];
    size_t modulus_len = 0;
    size_t exponent_len = 0;
    EVP_PKEY *key = NULL;

    if (!read_bytes(object, "n", modulus, &modulus_len) ||
        !read_bytes(object, "e", exponent, &exponent_len)) {
        return NULL;
    }
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_len, NULL);
    BIGNUM *e = BN_bin2bn(exponent, (int)exponent_len, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    /* An even exponent, or 1, would let anybody sign. */
    if (n != NULL && e != NULL && builder != NULL && BN_num_bits(n) >= SIRIX_JWT_RSA_BITS_MIN &&
        BN_num_bits(n) <= SIRIX_JWT_RSA_BITS_MAX && BN_is_odd(n) && BN_is_odd(e) && !BN_is_one(e) &&
        BN_num_bits(e) <= 64 && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1) {
        key = make_key("RSA", builder);
    }
    OSSL_PARAM_BLD_free(builder);
    BN_free(e);
    BN_free(n);
    return key;
}

static EVP_PKEY *make_ec(const struct sirix_json_node *object)
{
    uint8_t x[NUMBER_BYTES_MAX];
    uint8_t y[NUMBER_BYTES_MAX];
    uint8_t point[POINT_BYTES] = {UNCOMPRESSED};
    size_t x_len = 0;
    size_t y_len = 0;
    EVP_PKEY *key = NULL;

    if (!read_bytes(object, "x", x, &x_len) || !read_bytes(object, "y", y, &y_len) ||
        x_len != P256_BYTES || y_len != P256_BYTES) {
        return NULL;
    }
    memcpy(point + 1, x, P256_BYTES);
    memcpy(point + 1 + P256_BYTES, y, P256_BYTES);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)) ==
            1) {
        /* A point that is not on the curve makes no key. */
        key = make_key("EC", builder);
    }
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static EVP_PKEY *make_ed25519(const struct sirix_json_node *object)
{
    uint8_t x[NUMBER_BYTES_MAX];
    size_t len = 0;

    return read_bytes(object, "x", x, &len) && len == ED25519_BYTES
               ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, len)
               : NULL;
}

/* --- Sets ----------------------------------------------------------------------------------------- */

static bool is_text(const struct sirix_json_node *node, const char *text)
{
    return sirix_bytes_equal(sirix_jwt_text(node), (struct sirix_bytes){text, strlen(text)});
}

/* Whether a key is for checking signatures, as far as it says. */
static bool is_for_signatures(const struct sirix_json_node *object)
{
    const struct sirix_json_node *use = sirix_jwt_member(object, "use");
    const struct sirix_json_node *operations = sirix_jwt_member(object, "key_ops");

    if (use != NULL && !is_text(use, "sig")) {
        return false;
    }
    if (operations == NULL) {
        return true;
    }
    if (operations->kind != SIRIX_JSON_KIND_ARRAY) {
        return false;
    }
    for (const struct sirix_json_node *at = sirix_json_first(operations); at != NULL;
         at = at->next) {
        if (is_text(at, "verify")) {
            return true;
        }
    }
    return false;
}

/* The kind of a key by its type; false: it is none that is taken. */
static bool find_algorithm(const struct sirix_json_node *object, enum sirix_jwt_algorithm *out)
{
    const struct sirix_json_node *type = sirix_jwt_member(object, "kty");
    const struct sirix_json_node *curve = sirix_jwt_member(object, "crv");
    const struct sirix_json_node *said = sirix_jwt_member(object, "alg");
    enum sirix_jwt_algorithm found = SIRIX_JWT_RS256;
    enum sirix_jwt_algorithm named = SIRIX_JWT_RS256;

    if (is_text(type, "EC") && is_text(curve, "P-256")) {
        found = SIRIX_JWT_ES256;
    } else if (is_text(type, "OKP") && is_text(curve, "Ed25519")) {
        found = SIRIX_JWT_EDDSA;
    } else if (!is_text(type, "RSA")) {
        return false;
    }
    if (said != NULL &&
        (!sirix_jwt_algorithm_find(sirix_jwt_text(said), &named) || named != found)) {
        return false;
    }
    *out = found;
    return true;
}

/* Takes a key over if it is one that can be used. */
static enum sirix_status take_key(struct sirix_jwt_keys *keys, const struct sirix_json_node *object,
                                  struct sirix_error *err)
{
    static EVP_PKEY *(*const makers[])(const struct sirix_json_node *) = {
        [SIRIX_JWT_RS256] = make_rsa,
        [SIRIX_JWT_ES256] = make_ec,
        [SIRIX_JWT_EDDSA] = make_ed25519,
    };
    struct key key = {.key = NULL};

    if (object->kind != SIRIX_JSON_KIND_OBJECT || !is_for_signatures(object) ||
        !find_algorithm(object, &key.algorithm)) {
        return SIRIX_OK;
    }
    const struct sirix_bytes id = sirix_jwt_text(sirix_jwt_member(object, "kid"));
    if (id.data != NULL) {
        enum sirix_status status = sirix_arena_copy(&keys->arena, id, &key.id, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    key.key = makers[key.algorithm](object);
    if (key.key != NULL) {
        keys->items[keys->count++] = key;
    }
    return SIRIX_OK;
}

static enum sirix_status take_keys(struct sirix_jwt_keys *keys, struct sirix_bytes text,
                                   struct sirix_error *err)
{
    struct sirix_json_tree tree;
    const struct sirix_json_node *list = NULL;
    enum sirix_status status = sirix_json_tree_init(&tree, &keys->arena, err);

    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&tree, text, NULL, NULL, err);
    }
    if (status == SIRIX_OK && tree.root->kind == SIRIX_JSON_KIND_OBJECT) {
        list = sirix_jwt_member(tree.root, "keys");
    }
    if (status == SIRIX_OK && (list == NULL || list->kind != SIRIX_JSON_KIND_ARRAY)) {
        status = sirix_fail(err, SIRIX_INVALID, "this is no set of keys");
    }
    for (const struct sirix_json_node *at = status == SIRIX_OK ? sirix_json_first(list) : NULL;
         at != NULL && status == SIRIX_OK && keys->count < SIRIX_JWT_KEYS_MAX; at = at->next) {
        status = take_key(keys, at, err);
    }
    return status == SIRIX_OK && keys->count == 0
               ? sirix_fail(err, SIRIX_INVALID, "none of the keys can be used")
               : status;
}

enum sirix_status sirix_jwt_keys_parse(struct sirix_bytes text, struct sirix_jwt_keys **out,
                                       struct sirix_error *err)
{
    struct sirix_jwt_keys *keys = calloc(1, sizeof(*keys));

    if (keys == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for keys");
    }
    atomic_init(&keys->references, 1);
    sirix_arena_init(&keys->arena, SIZE_MAX);
    enum sirix_status status = take_keys(keys, text, err);
    if (status != SIRIX_OK) {
        sirix_jwt_keys_unref(keys);
        return status;
    }
    *out = keys;
    return SIRIX_OK;
}

struct sirix_jwt_keys *sirix_jwt_keys_ref(struct sirix_jwt_keys *keys)
{
    (void)atomic_fetch_add(&keys->references, 1);
    return keys;
}

void sirix_jwt_keys_unref(struct sirix_jwt_keys *keys)
{
    if (keys == NULL || atomic_fetch_sub(&keys->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < keys->count; i++) {
        EVP_PKEY_free(keys->items[i].key);
    }
    sirix_arena_deinit(&keys->arena);
    free(keys);
}

/* --- Signatures ----------------------------------------------------------------------------------- */

/* The key of a token; NULL: there is none, or it could be any of several. */
static const struct key *find_key(const struct sirix_jwt_keys *keys, const struct sirix_jwt *jwt)
{
    const struct key *found = NULL;

    for (size_t i = 0; i < keys->count; i++) {
        const struct key *key = &keys->items[i];

        if (key->algorithm != jwt->algorithm ||
            (jwt->key_id.data != NULL && !sirix_bytes_equal(key->id, jwt->key_id))) {
            continue;
        }
        if (found != NULL && jwt->key_id.data == NULL) {
            return NULL;
        }
        found = found == NULL ? key : found;
    }
    return found;
}

bool sirix_jwt_has_key(const struct sirix_jwt_keys *keys, const struct sirix_jwt *jwt)
{
    return find_key(keys, jwt) != NULL;
}

/* A signature of two numbers side by side in the form that the library reads; 0: it is none. */
static size_t to_der(struct sirix_bytes raw, uint8_t **out)
{
    const uint8_t *bytes = raw.data;
    ECDSA_SIG *pair = raw.len == 2 * (size_t)P256_BYTES ? ECDSA_SIG_new() : NULL;
    size_t len = 0;

    if (pair == NULL) {
        return 0;
    }
    BIGNUM *r = BN_bin2bn(bytes, P256_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(bytes + P256_BYTES, P256_BYTES, NULL);
    if (r == NULL || s == NULL || ECDSA_SIG_set0(pair, r, s) != 1) {
        BN_free(r);
        BN_free(s);
    } else {
        const int made = i2d_ECDSA_SIG(pair, out);

        len = made > 0 ? (size_t)made : 0;
    }
    ECDSA_SIG_free(pair);
    return len;
}

static bool verifies(const struct key *key, const struct sirix_jwt *jwt)
{
    const EVP_MD *digest = key->algorithm == SIRIX_JWT_EDDSA ? NULL : EVP_sha256();
    struct sirix_bytes signature = jwt->signature;
    uint8_t *der = NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (key->algorithm == SIRIX_JWT_ES256) {
        signature.len = to_der(jwt->signature, &der);
        signature.data = der;
    }
    const bool is_good = context != NULL && signature.len != 0 &&
                         EVP_DigestVerifyInit(context, NULL, digest, NULL, key->key) == 1 &&
                         EVP_DigestVerify(context, signature.data, signature.len,
                                          jwt->signed_text.data, jwt->signed_text.len) == 1;
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    return is_good;
}

enum sirix_status sirix_jwt_check_signature(const struct sirix_jwt_keys *keys,
                                            const struct sirix_jwt *jwt, struct sirix_error *err)
{
    const struct key *key = find_key(keys, jwt);

    return key != NULL && verifies(key, jwt)
               ? SIRIX_OK
               : sirix_fail(err, SIRIX_UNAUTHENTICATED, "the token's signature is not good");
}
