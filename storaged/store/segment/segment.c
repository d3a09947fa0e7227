/*
 * Segments as bytes (header, checksum, sparse directory), and the front of every backend: what all
 * of them have in common is checked here once, the rest goes through the table of backend.h.
 */
#include "store/segment/segment.h"

#include <assert.h>
#include <inttypes.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "store/segment/backend.h"

/* --- Segments as bytes ------------------------------------------------------------------------ */

enum {
    AT_MAGIC = 0,
    AT_FORMAT = 2,
    AT_KIND = 3,
    AT_RESOURCE = 4,
    AT_LENGTH = 8,
    AT_CRC = 12,
};

static uint32_t checksum_of(const uint8_t *bytes, size_t len)
{
    uint32_t crc = sirix_crc32c(0, bytes, AT_CRC);

    return sirix_crc32c(crc, bytes + SIRIX_SEGMENT_HEADER_BYTES, len - SIRIX_SEGMENT_HEADER_BYTES);
}

static const char *kind_name(unsigned kind)
{
    switch (kind) {
    case SIRIX_SEGMENT_COMMIT:
        return "commit";
    case SIRIX_SEGMENT_PAGES:
        return "pages";
    case SIRIX_SEGMENT_SPARSE:
        return "sparse";
    default:
        return NULL;
    }
}

void sirix_segment_seal(uint8_t *bytes, size_t len, enum sirix_segment_kind kind,
                        uint32_t resource_id)
{
    assert(len >= SIRIX_SEGMENT_HEADER_BYTES && len <= SIRIX_SEGMENT_BYTES_MAX);

    sirix_store_u16le(bytes + AT_MAGIC, SIRIX_SEGMENT_MAGIC);
    bytes[AT_FORMAT] = SIRIX_SEGMENT_FORMAT;
    bytes[AT_KIND] = (uint8_t)kind;
    sirix_store_u32le(bytes + AT_RESOURCE, resource_id);
    sirix_store_u32le(bytes + AT_LENGTH, (uint32_t)len);
    sirix_store_u32le(bytes + AT_CRC, checksum_of(bytes, len));
}

/* The sentence about a damaged segment. What the header says is only as good as the header. */
static enum sirix_status damaged(struct sirix_bytes bytes, uint64_t number, const char *what,
                                 struct sirix_error *err)
{
    const uint8_t *at = bytes.data;

    if (bytes.len < SIRIX_SEGMENT_HEADER_BYTES || kind_name(at[AT_KIND]) == NULL) {
        return sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHECKSUM,
                                 "segment %" PRIu64 " of unknown kind and resource: %s", number,
                                 what);
    }
    return sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHECKSUM,
                             "segment %" PRIu64 " (%s, resource %" PRIu32 "): %s", number,
                             kind_name(at[AT_KIND]), sirix_load_u32le(at + AT_RESOURCE), what);
}

enum sirix_status sirix_segment_check(struct sirix_bytes bytes, uint64_t number,
                                      struct sirix_error *err)
{
    const uint8_t *at = bytes.data;
    const char *what = NULL;

    if (bytes.len < SIRIX_SEGMENT_HEADER_BYTES) {
        what = "shorter than its header";
    } else if (sirix_load_u16le(at + AT_MAGIC) != SIRIX_SEGMENT_MAGIC) {
        what = "does not begin with the magic number";
    } else if (at[AT_FORMAT] != SIRIX_SEGMENT_FORMAT) {
        what = "has an unknown format";
    } else if (sirix_load_u32le(at + AT_LENGTH) != bytes.len) {
        what = "does not have the length that its header says";
    } else if (sirix_load_u32le(at + AT_CRC) != checksum_of(at, bytes.len)) {
        what = "checksum does not match";
    } else if (kind_name(at[AT_KIND]) == NULL) {
        what = "has an unknown kind";
    }
    return what == NULL ? SIRIX_OK : damaged(bytes, number, what, err);
}

/* Puts before the sentence whose segment it is. */
static void tell_owner(const struct sirix_backend *backend, struct sirix_bytes bytes,
                       struct sirix_error *err)
{
    char name[SIRIX_OWNER_NAME_BYTES];
    const uint8_t *at = bytes.data;
    struct sirix_error told = {0};

    if (err == NULL || backend->owner == NULL || bytes.len < SIRIX_SEGMENT_HEADER_BYTES ||
        !backend->owner(backend->owner_context, sirix_load_u32le(at + AT_RESOURCE), name)) {
        return;
    }
    (void)sirix_fail_reason(&told, err->status, err->reason, "resource %s: %s", name, err->text);
    *err = told;
}

enum sirix_status sirix_segment_verify(const struct sirix_backend *backend,
                                       struct sirix_bytes bytes, uint64_t number,
                                       struct sirix_error *err)
{
    enum sirix_status status = sirix_segment_check(bytes, number, err);

    if (status == SIRIX_CORRUPT) {
        tell_owner(backend, bytes, err);
    }
    return status;
}

void sirix_backend_name_owners(struct sirix_backend *backend, sirix_owner_fn owner, void *context)
{
    backend->owner = owner;
    backend->owner_context = context;
}

enum sirix_status sirix_segment_absent(uint64_t number, struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHECKSUM,
                             "segment %" PRIu64 " is not stored", number);
}

bool sirix_segment_is_sparse(struct sirix_bytes bytes)
{
    return ((const uint8_t *)bytes.data)[AT_KIND] == SIRIX_SEGMENT_SPARSE;
}

enum sirix_status sirix_segment_stored_already(uint64_t number, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_INVALID,
                      "segment %" PRIu64 " is stored already and only a sparse one may replace it",
                      number);
}

/* The place of a page in a sparse segment; the entries rise by original offset. */
static enum sirix_status sparse_find(struct sirix_bytes whole, uint64_t number, uint32_t offset,
                                     struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    const uint8_t *at = whole.data;
    size_t first = 0;
    size_t end = 0;

    if (whole.len >= SIRIX_SPARSE_DIRECTORY_AT) {
        end = sirix_load_u32le(at + SIRIX_SEGMENT_HEADER_BYTES);
    }
    if (whole.len < SIRIX_SPARSE_DIRECTORY_AT ||
        end > (whole.len - SIRIX_SPARSE_DIRECTORY_AT) / SIRIX_SPARSE_ENTRY_BYTES) {
        return damaged(whole, number, "its directory passes its end", err);
    }
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const uint8_t *entry = at + SIRIX_SPARSE_DIRECTORY_AT + middle * SIRIX_SPARSE_ENTRY_BYTES;
        uint32_t begins = sirix_load_u32le(entry);
        uint32_t stored = sirix_load_u32le(entry + 4);
        uint32_t len = sirix_load_u32le(entry + 8);

        if (stored > whole.len || len > whole.len - stored) {
            return damaged(whole, number, "a page passes its end", err);
        }
        if (offset >= begins && offset - begins < len) {
            *out_bytes = (struct sirix_bytes){.data = at + stored + (offset - begins),
                                              .len = len - (offset - begins)};
            return SIRIX_OK;
        }
        if (offset < begins) {
            end = middle;
        } else {
            first = middle + 1;
        }
    }
    return damaged(whole, number, "the page asked for has been pruned", err);
}

/* --- What backends share ---------------------------------------------------------------------- */

int sirix_ref_key_compare(struct sirix_bytes a, struct sirix_bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool sirix_ref_expectation_holds(const struct sirix_ref_put *put, struct sirix_bytes current)
{
    switch (put->expect) {
    case SIRIX_REF_EXPECT_ABSENT:
        return current.data == NULL;
    case SIRIX_REF_EXPECT_VALUE:
        return current.data != NULL && sirix_bytes_equal(current, put->expected);
    case SIRIX_REF_EXPECT_ANY:
    default:
        return true;
    }
}

void sirix_commit_failed(sirix_committed_fn done, void *context, enum sirix_status status,
                         const struct sirix_error *error)
{
    struct sirix_commit_outcome outcome = {.status = status, .error = *error};

    outcome.error.status = status;
    done(context, &outcome);
}

/* --- Reading ---------------------------------------------------------------------------------- */

enum sirix_status sirix_reader_open(struct sirix_backend *backend, struct sirix_reader **out_reader,
                                    struct sirix_error *err)
{
    return backend->ops->reader_open(backend, out_reader, err);
}

void sirix_reader_close(struct sirix_reader *reader)
{
    if (reader != NULL) {
        reader->backend->ops->reader_close(reader);
    }
}

void sirix_reader_yield(struct sirix_reader *reader)
{
    reader->generation++;
    reader->backend->ops->reader_yield(reader);
}

uint64_t sirix_reader_generation(const struct sirix_reader *reader)
{
    return reader->generation;
}

struct sirix_backend *sirix_reader_backend(const struct sirix_reader *reader)
{
    return reader->backend;
}

enum sirix_status sirix_segment_get(struct sirix_reader *reader, uint64_t address, size_t min_len,
                                    struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    uint64_t number = sirix_address_number(address);
    uint32_t offset = sirix_address_offset(address);
    struct sirix_bytes whole;
    struct sirix_bytes page;
    enum sirix_status status = reader->backend->ops->segment_get(reader, number, &whole, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_segment_is_sparse(whole)) {
        status = sparse_find(whole, number, offset, &page, err);
    } else if (offset < SIRIX_SEGMENT_HEADER_BYTES || offset > whole.len) {
        status = damaged(whole, number, "an address points outside of it", err);
    } else {
        page = (struct sirix_bytes){.data = (const uint8_t *)whole.data + offset,
                                    .len = whole.len - offset};
    }
    if (status == SIRIX_OK && page.len < min_len) {
        status = damaged(whole, number, "a page passes its end", err);
    }
    if (status != SIRIX_OK) {
        tell_owner(reader->backend, whole, err);
        return status;
    }
    *out_bytes = page;
    return SIRIX_OK;
}

enum sirix_status sirix_ref_get(struct sirix_reader *reader, struct sirix_bytes key,
                                struct sirix_bytes *out_value, struct sirix_error *err)
{
    assert(key.len >= 1 && key.len <= SIRIX_REF_KEY_BYTES_MAX);

    return reader->backend->ops->ref_get(reader, key, out_value, err);
}

enum sirix_status sirix_ref_scan(struct sirix_reader *reader, struct sirix_bytes prefix,
                                 struct sirix_bytes from, bool reverse, sirix_ref_visit_fn visit,
                                 void *context, struct sirix_error *err)
{
    assert(prefix.len <= SIRIX_REF_KEY_BYTES_MAX && from.len <= SIRIX_REF_KEY_BYTES_MAX);

    return reader->backend->ops->ref_scan(reader, prefix, from, reverse, visit, context, err);
}

enum sirix_status sirix_segment_scan(struct sirix_reader *reader, uint64_t first, uint64_t last,
                                     sirix_segment_visit_fn visit, void *context,
                                     struct sirix_error *err)
{
    if (first > last) {
        return SIRIX_OK;
    }
    return reader->backend->ops->segment_scan(reader, first, last, visit, context, err);
}

/* --- Writing ---------------------------------------------------------------------------------- */

uint64_t sirix_segment_reserve(struct sirix_backend *backend, uint64_t count)
{
    uint64_t first = atomic_fetch_add(&backend->next_number, count);

    assert(count <= SIRIX_SEGMENT_NUMBER_MAX && first <= SIRIX_SEGMENT_NUMBER_MAX - count);
    return first;
}

static enum sirix_status check_puts(const struct sirix_backend *backend,
                                    const struct sirix_batch *batch, struct sirix_error *err)
{
    uint64_t before = 0;
    uint64_t next = atomic_load(&backend->next_number);

    for (size_t i = 0; i < batch->put_count; i++) {
        const struct sirix_segment_put *put = &batch->puts[i];
        enum sirix_status status = SIRIX_OK;

        if (put->number <= before || put->number >= next) {
            return sirix_fail(err, SIRIX_INVALID,
                              "put %zu: segment number %" PRIu64 " is out of order or not reserved",
                              i, put->number);
        }
        before = put->number;
        if (put->bytes.len > SIRIX_SEGMENT_BYTES_MAX) {
            return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                     "segment %" PRIu64 " has %zu bytes, the limit is %d",
                                     put->number, put->bytes.len, SIRIX_SEGMENT_BYTES_MAX);
        }
        if (!batch->is_checked) {
            status = sirix_segment_check(put->bytes, put->number, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    return SIRIX_OK;
}

static enum sirix_status check_refs(const struct sirix_batch *batch, struct sirix_error *err)
{
    for (size_t i = 0; i < batch->ref_count; i++) {
        const struct sirix_ref_put *put = &batch->refs[i];

        if (put->key.len == 0 || put->key.len > SIRIX_REF_KEY_BYTES_MAX) {
            return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                     "ref %zu: the key has %zu bytes, not 1 to %d", i, put->key.len,
                                     SIRIX_REF_KEY_BYTES_MAX);
        }
        if (put->value.len > SIRIX_REF_VALUE_BYTES_MAX) {
            return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                     "ref %zu: the value has %zu bytes, the limit is %d", i,
                                     put->value.len, SIRIX_REF_VALUE_BYTES_MAX);
        }
    }
    return SIRIX_OK;
}

static enum sirix_status check_deletes(const struct sirix_batch *batch, struct sirix_error *err)
{
    for (size_t i = 0; i < batch->delete_count; i++) {
        const struct sirix_segment_range *range = &batch->deletes[i];

        if (range->first == 0 || range->first > range->last ||
            range->last > SIRIX_SEGMENT_NUMBER_MAX) {
            return sirix_fail(err, SIRIX_INVALID,
                              "delete %zu: %" PRIu64 "..%" PRIu64 " is no range of numbers", i,
                              range->first, range->last);
        }
    }
    return SIRIX_OK;
}

void sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                          sirix_committed_fn done, void *context)
{
    struct sirix_error error = {0};
    enum sirix_status status = check_puts(backend, batch, &error);

    if (status == SIRIX_OK) {
        status = check_refs(batch, &error);
    }
    if (status == SIRIX_OK) {
        status = check_deletes(batch, &error);
    }
    if (status != SIRIX_OK) {
        sirix_commit_failed(done, context, status, &error);
        return;
    }
    backend->ops->commit(backend, batch, done, context);
}

enum sirix_status sirix_backend_maintain(struct sirix_backend *backend, size_t budget_bytes,
                                         bool *out_more, struct sirix_error *err)
{
    return backend->ops->maintain(backend, budget_bytes, out_more, err);
}

void sirix_backend_set_settled(struct sirix_backend *backend, uint64_t number)
{
    uint64_t before = atomic_load(&backend->settled);

    while (number > before && !atomic_compare_exchange_weak(&backend->settled, &before, number)) {
    }
}

enum sirix_status sirix_backend_writable(struct sirix_backend *backend, struct sirix_error *err)
{
    return backend->ops->writable(backend, err);
}

enum sirix_status sirix_backend_stats(struct sirix_backend *backend,
                                      struct sirix_backend_stats *out_stats,
                                      struct sirix_error *err)
{
    return backend->ops->stats(backend, out_stats, err);
}

void sirix_backend_close(struct sirix_backend *backend)
{
    if (backend != NULL) {
        backend->ops->close(backend);
    }
}
