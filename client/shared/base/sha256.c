/* The only file of base that knows OpenSSL. */
#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

enum sirix_status sirix_sha256_init(struct sirix_sha256 *sha, struct sirix_error *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    sha->context = NULL;
    if (context == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a hash");
    }
    if (EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(context);
        return sirix_fail(err, SIRIX_INTERNAL, "SHA-256 cannot be started");
    }
    sha->context = context;
    return SIRIX_OK;
}

enum sirix_status sirix_sha256_update(struct sirix_sha256 *sha, const void *data, size_t len,
                                      struct sirix_error *err)
{
    if (len != 0 && EVP_DigestUpdate(sha->context, data, len) != 1) {
        return sirix_fail(err, SIRIX_INTERNAL, "SHA-256 failed");
    }
    return SIRIX_OK;
}

enum sirix_status sirix_sha256_final(struct sirix_sha256 *sha, uint8_t out[SIRIX_SHA256_BYTES],
                                     struct sirix_error *err)
{
    uint8_t hash[EVP_MAX_MD_SIZE];

    if (EVP_DigestFinal_ex(sha->context, hash, NULL) != 1 ||
        EVP_DigestInit_ex(sha->context, NULL, NULL) != 1) {
        return sirix_fail(err, SIRIX_INTERNAL, "SHA-256 failed");
    }
    memcpy(out, hash, SIRIX_SHA256_BYTES);
    return SIRIX_OK;
}

void sirix_sha256_deinit(struct sirix_sha256 *sha)
{
    if (sha != NULL) {
        EVP_MD_CTX_free(sha->context);
        sha->context = NULL;
    }
}

enum sirix_status sirix_sha256(const void *data, size_t len, uint8_t out[SIRIX_SHA256_BYTES],
                               struct sirix_error *err)
{
    uint8_t hash[EVP_MAX_MD_SIZE];

    if (EVP_Digest(len == 0 ? "" : data, len, hash, NULL, EVP_sha256(), NULL) != 1) {
        return sirix_fail(err, SIRIX_INTERNAL, "SHA-256 failed");
    }
    memcpy(out, hash, SIRIX_SHA256_BYTES);
    return SIRIX_OK;
}

void sirix_sha256_hex(const uint8_t hash[SIRIX_SHA256_BYTES], char out[SIRIX_SHA256_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < SIRIX_SHA256_BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[SIRIX_SHA256_HEX_BYTES - 1] = '\0';
}

bool sirix_equal_constant_time(const void *a, const void *b, size_t len)
{
    return len == 0 || CRYPTO_memcmp(a, b, len) == 0;
}
