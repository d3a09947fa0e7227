/* SipHash-2-4 as its authors describe it (Aumasson, Bernstein 2012), and the kernel's randomness. */
#include "base/hash.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/endian.h"

struct sip {
    uint64_t v0;
    uint64_t v1;
    uint64_t v2;
    uint64_t v3;
};

static inline uint64_t rotl(uint64_t value, unsigned bits)
{
    return (value << bits) | (value >> (64 - bits));
}

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v2 = rotl(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    sip_round(s);
    s->v0 ^= word;
}

uint64_t sirix_hash(const struct sirix_hash_key *key, const void *data, size_t len)
{
    const uint8_t *at = data;
    uint64_t k0 = sirix_load_u64le(key->bytes);
    uint64_t k1 = sirix_load_u64le(key->bytes + 8);
    struct sip s = {
        .v0 = k0 ^ UINT64_C(0x736f6d6570736575),
        .v1 = k1 ^ UINT64_C(0x646f72616e646f6d),
        .v2 = k0 ^ UINT64_C(0x6c7967656e657261),
        .v3 = k1 ^ UINT64_C(0x7465646279746573),
    };
    uint64_t last = (uint64_t)len << 56;
    size_t left = len;

    for (; left >= 8; left -= 8, at += 8) {
        sip_word(&s, sirix_load_u64le(at));
    }
    for (size_t i = 0; i < left; i++) {
        last |= (uint64_t)at[i] << (8 * i);
    }
    sip_word(&s, last);
    s.v2 ^= 0xff;
    for (int i = 0; i < 4; i++) {
        sip_round(&s);
    }
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

enum sirix_status sirix_random_bytes(void *data, size_t len, struct sirix_error *err)
{
    uint8_t *at = data;

    while (len != 0) {
        ssize_t got = getrandom(at, len, 0);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return sirix_fail(err, SIRIX_IO, "the system gave no random bytes: error %d", errno);
        }
        at += got;
        len -= (size_t)got;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_random_id(char out_text[SIRIX_RANDOM_ID_BYTES], struct sirix_error *err)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[(SIRIX_RANDOM_ID_BYTES - 1) / 2];
    enum sirix_status status = sirix_random_bytes(bytes, sizeof(bytes), err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        out_text[2 * i] = digits[bytes[i] >> 4];
        out_text[2 * i + 1] = digits[bytes[i] & 15];
    }
    out_text[SIRIX_RANDOM_ID_BYTES - 1] = '\0';
    return SIRIX_OK;
}
