/* Keys of ref rows. The tags below are the format: a tag is never given another meaning. */
#include "store/revision/rows.h"

#include <assert.h>

#include "base/endian.h"
#include "base/utf8.h"

/* First byte of every key. */
enum {
    TAG_META = 'D',
    TAG_RIDER_EXPIRY = 'E',
    TAG_RIDER = 'K',
    TAG_RESOURCE_NAME = 'N',
    TAG_RIDER_COUNT = 'Q',
    TAG_INTENT = 'T',
    TAG_INTENT_RANGES = 'U',
    TAG_EXPIRY = 'X',
    TAG_HOT = 'h',
    TAG_RESOURCE = 'r',
};

/* Sixth byte of a resource's keys: counters and heads behind 'h', all others behind 'r'. */
enum {
    TAG_BRANCH_NAME = 'B',
    TAG_COUNTERS = 'C',
    TAG_DESCRIPTOR = 'D',
    TAG_HEAD = 'H',
    TAG_INDEX = 'I',
    TAG_LABEL = 'L',
    TAG_MOVE = 'M',
    TAG_PATH = 'P',
    TAG_NAME = 'W',
    TAG_TOMB = 'Z',
};

enum { RESOURCE_PREFIX_BYTES = 5, RESOURCE_TAG_BYTES = 6 };

_Static_assert(1 + 8 + 2 + SIRIX_RIDER_PRINCIPAL_BYTES_ROOM + SIRIX_RIDER_KEY_BYTES_ROOM <=
                   SIRIX_REF_KEY_BYTES_MAX,
               "rider keys must fit");

static void add_u8(struct sirix_rows_key *key, uint8_t value)
{
    key->bytes[key->len++] = value;
}

static void add_u32(struct sirix_rows_key *key, uint32_t value)
{
    sirix_store_u32be(key->bytes + key->len, value);
    key->len += sizeof(value);
}

static void add_u64(struct sirix_rows_key *key, uint64_t value)
{
    sirix_store_u64be(key->bytes + key->len, value);
    key->len += sizeof(value);
}

static void add_time(struct sirix_rows_key *key, int64_t time_us)
{
    add_u64(key, (uint64_t)time_us ^ (UINT64_C(1) << 63));
}

static int64_t load_time(const uint8_t *from)
{
    return (int64_t)(sirix_load_u64be(from) ^ (UINT64_C(1) << 63));
}

static void add_bytes(struct sirix_rows_key *key, struct sirix_bytes bytes)
{
    assert(bytes.len <= sizeof(key->bytes) - key->len);
    if (bytes.len != 0) {
        memcpy(key->bytes + key->len, bytes.data, bytes.len);
        key->len += bytes.len;
    }
}

static void add_folded(struct sirix_rows_key *key, struct sirix_bytes name)
{
    assert(name.len <= SIRIX_NAME_BYTES_MAX);
    if (name.len != 0) {
        char folded[SIRIX_NAME_BYTES_MAX];

        sirix_ascii_fold(name.data, name.len, folded);
        memcpy(key->bytes + key->len, folded, name.len);
        key->len += name.len;
    }
}

static struct sirix_rows_key of_database(uint8_t tag)
{
    struct sirix_rows_key key;

    key.len = 0;
    add_u8(&key, tag);
    return key;
}

static struct sirix_rows_key of_resource(uint32_t resource, uint8_t tag)
{
    struct sirix_rows_key key = sirix_rows_prefix_resource(resource);

    add_u8(&key, tag);
    return key;
}

static struct sirix_rows_key hot_of_resource(uint32_t resource, uint8_t tag)
{
    struct sirix_rows_key key = sirix_rows_prefix_hot(resource);

    add_u8(&key, tag);
    return key;
}

struct sirix_rows_key sirix_rows_key_meta(void)
{
    return of_database(TAG_META);
}

struct sirix_rows_key sirix_rows_key_resource_name(struct sirix_bytes name)
{
    struct sirix_rows_key key = of_database(TAG_RESOURCE_NAME);

    add_folded(&key, name);
    return key;
}

struct sirix_rows_key sirix_rows_prefix_resource_names(void)
{
    return of_database(TAG_RESOURCE_NAME);
}

struct sirix_rows_key sirix_rows_prefix_resource(uint32_t resource)
{
    struct sirix_rows_key key = of_database(TAG_RESOURCE);

    add_u32(&key, resource);
    return key;
}

struct sirix_rows_key sirix_rows_prefix_hot(uint32_t resource)
{
    struct sirix_rows_key key = of_database(TAG_HOT);

    add_u32(&key, resource);
    return key;
}

struct sirix_rows_key sirix_rows_key_descriptor(uint32_t resource)
{
    return of_resource(resource, TAG_DESCRIPTOR);
}

struct sirix_rows_key sirix_rows_key_counters(uint32_t resource)
{
    return hot_of_resource(resource, TAG_COUNTERS);
}

struct sirix_rows_key sirix_rows_key_head(uint32_t resource, uint64_t branch)
{
    struct sirix_rows_key key = hot_of_resource(resource, TAG_HEAD);

    add_u64(&key, branch);
    return key;
}

struct sirix_rows_key sirix_rows_prefix_heads(uint32_t resource)
{
    return hot_of_resource(resource, TAG_HEAD);
}

struct sirix_rows_key sirix_rows_key_index(uint32_t resource, uint64_t revision)
{
    struct sirix_rows_key key = of_resource(resource, TAG_INDEX);

    add_u64(&key, revision / SIRIX_INDEX_RUN);
    return key;
}

struct sirix_rows_key sirix_rows_key_label(uint32_t resource, struct sirix_bytes name)
{
    struct sirix_rows_key key = of_resource(resource, TAG_LABEL);

    add_folded(&key, name);
    return key;
}

struct sirix_rows_key sirix_rows_prefix_labels(uint32_t resource)
{
    return of_resource(resource, TAG_LABEL);
}

struct sirix_rows_key sirix_rows_prefix_moves(uint32_t resource, uint64_t branch)
{
    struct sirix_rows_key key = of_resource(resource, TAG_MOVE);

    add_u64(&key, branch);
    return key;
}

struct sirix_rows_key sirix_rows_key_move(uint32_t resource, uint64_t branch, int64_t time_us)
{
    struct sirix_rows_key key = sirix_rows_prefix_moves(resource, branch);

    add_time(&key, time_us);
    return key;
}

struct sirix_rows_key sirix_rows_prefix_tombs(uint32_t resource, struct sirix_bytes name)
{
    struct sirix_rows_key key = of_resource(resource, TAG_TOMB);

    add_folded(&key, name);
    add_u8(&key, 0); /* No name holds it, so no name's tombs lie among another's. */
    return key;
}

struct sirix_rows_key sirix_rows_key_tomb(uint32_t resource, struct sirix_bytes name,
                                          int64_t deleted_us)
{
    struct sirix_rows_key key = sirix_rows_prefix_tombs(resource, name);

    add_time(&key, deleted_us);
    return key;
}

struct sirix_rows_key sirix_rows_key_branch_name(uint32_t resource, uint64_t branch)
{
    struct sirix_rows_key key = of_resource(resource, TAG_BRANCH_NAME);

    add_u64(&key, branch);
    return key;
}

struct sirix_rows_key sirix_rows_key_name(uint32_t resource, uint32_t name_id)
{
    struct sirix_rows_key key = of_resource(resource, TAG_NAME);

    add_u32(&key, name_id);
    return key;
}

struct sirix_rows_key sirix_rows_prefix_names(uint32_t resource)
{
    return of_resource(resource, TAG_NAME);
}

struct sirix_rows_key sirix_rows_prefix_paths(uint32_t resource)
{
    return of_resource(resource, TAG_PATH);
}

struct sirix_rows_key sirix_rows_prefix_expiries(void)
{
    return of_database(TAG_EXPIRY);
}

struct sirix_rows_key sirix_rows_key_expiry(int64_t expires_us, uint32_t resource, uint64_t branch)
{
    struct sirix_rows_key key = of_database(TAG_EXPIRY);

    add_time(&key, expires_us);
    add_u32(&key, resource);
    add_u64(&key, branch);
    return key;
}

struct sirix_rows_key sirix_rows_prefix_intents(void)
{
    return of_database(TAG_INTENT);
}

struct sirix_rows_key sirix_rows_key_intent(uint64_t intent)
{
    struct sirix_rows_key key = of_database(TAG_INTENT);

    add_u64(&key, intent);
    return key;
}

struct sirix_rows_key sirix_rows_key_intent_ranges(uint64_t intent, uint32_t part)
{
    struct sirix_rows_key key = of_database(TAG_INTENT_RANGES);

    add_u64(&key, intent);
    add_u32(&key, part);
    return key;
}

/* A principal may hold any byte: its length stands before it. */
static void add_principal(struct sirix_rows_key *key, struct sirix_bytes principal)
{
    assert(principal.len <= SIRIX_RIDER_PRINCIPAL_BYTES_ROOM);
    add_u8(key, (uint8_t)(principal.len >> 8));
    add_u8(key, (uint8_t)principal.len);
    add_bytes(key, principal);
}

struct sirix_rows_key sirix_rows_key_rider(struct sirix_bytes principal, struct sirix_bytes key)
{
    struct sirix_rows_key row = of_database(TAG_RIDER);

    add_principal(&row, principal);
    add_bytes(&row, key);
    return row;
}

struct sirix_rows_key sirix_rows_key_rider_count(struct sirix_bytes principal)
{
    struct sirix_rows_key row = of_database(TAG_RIDER_COUNT);

    add_bytes(&row, principal);
    return row;
}

struct sirix_rows_key sirix_rows_key_rider_expiry(int64_t expires_us, struct sirix_bytes principal,
                                                  struct sirix_bytes key)
{
    struct sirix_rows_key row = of_database(TAG_RIDER_EXPIRY);

    add_time(&row, expires_us);
    add_principal(&row, principal);
    add_bytes(&row, key);
    return row;
}

struct sirix_rows_key sirix_rows_prefix_rider_expiries(void)
{
    return of_database(TAG_RIDER_EXPIRY);
}

static bool is_resource_key(struct sirix_bytes key, uint8_t prefix, uint8_t tag, size_t len)
{
    const uint8_t *bytes = key.data;

    return key.len == len && bytes[0] == prefix && bytes[RESOURCE_PREFIX_BYTES] == tag;
}

bool sirix_rows_key_name_parse(struct sirix_bytes key, uint32_t *out_name_id)
{
    const uint8_t *bytes = key.data;

    if (!is_resource_key(key, TAG_RESOURCE, TAG_NAME, RESOURCE_TAG_BYTES + 4)) {
        return false;
    }
    *out_name_id = sirix_load_u32be(bytes + RESOURCE_TAG_BYTES);
    return true;
}

bool sirix_rows_key_move_parse(struct sirix_bytes key, int64_t *out_time_us)
{
    const uint8_t *bytes = key.data;

    if (!is_resource_key(key, TAG_RESOURCE, TAG_MOVE, RESOURCE_TAG_BYTES + 16)) {
        return false;
    }
    *out_time_us = load_time(bytes + RESOURCE_TAG_BYTES + 8);
    return true;
}

bool sirix_rows_key_tomb_parse(struct sirix_bytes key, int64_t *out_deleted_us)
{
    const uint8_t *bytes = key.data;

    if (key.len < RESOURCE_TAG_BYTES + 9 ||
        !is_resource_key(key, TAG_RESOURCE, TAG_TOMB, key.len)) {
        return false;
    }
    *out_deleted_us = load_time(bytes + key.len - 8);
    return true;
}

bool sirix_rows_key_expiry_parse(struct sirix_bytes key, int64_t *out_expires_us,
                                 uint32_t *out_resource, uint64_t *out_branch)
{
    const uint8_t *bytes = key.data;

    if (key.len != 1 + 8 + 4 + 8 || bytes[0] != TAG_EXPIRY) {
        return false;
    }
    *out_expires_us = load_time(bytes + 1);
    *out_resource = sirix_load_u32be(bytes + 9);
    *out_branch = sirix_load_u64be(bytes + 13);
    return true;
}

bool sirix_rows_key_intent_parse(struct sirix_bytes key, uint64_t *out_intent)
{
    const uint8_t *bytes = key.data;

    if (key.len != 1 + 8 || bytes[0] != TAG_INTENT) {
        return false;
    }
    *out_intent = sirix_load_u64be(bytes + 1);
    return true;
}

bool sirix_rows_key_head_parse(struct sirix_bytes key, uint64_t *out_branch)
{
    const uint8_t *bytes = key.data;

    if (!is_resource_key(key, TAG_HOT, TAG_HEAD, RESOURCE_TAG_BYTES + 8)) {
        return false;
    }
    *out_branch = sirix_load_u64be(bytes + RESOURCE_TAG_BYTES);
    return true;
}

bool sirix_rows_key_rider_expiry_parse(struct sirix_bytes key, int64_t *out_expires_us,
                                       struct sirix_bytes *out_principal,
                                       struct sirix_bytes *out_key)
{
    const uint8_t *bytes = key.data;
    size_t principal_len = 0;

    if (key.len < 1 + 8 + 2 || bytes[0] != TAG_RIDER_EXPIRY) {
        return false;
    }
    principal_len = (size_t)bytes[9] << 8 | bytes[10];
    if (principal_len > key.len - 11) {
        return false;
    }
    *out_expires_us = load_time(bytes + 1);
    *out_principal = (struct sirix_bytes){.data = bytes + 11, .len = principal_len};
    *out_key = (struct sirix_bytes){.data = bytes + 11 + principal_len,
                                    .len = key.len - 11 - principal_len};
    return true;
}
