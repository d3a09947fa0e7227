/* A chained table, and a list by age: all entries live equally long, so the oldest expires first. */
#include "service/idempotency.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 16384, ANSWER_BYTES = SIRIX_IDEMPOTENCY_ANSWER_BYTES_MAX };

#define NS_PER_HOUR (UINT64_C(3600) * 1000000000U)

struct entry {
    struct entry *next; /* In its bucket. */
    struct entry *newer;
    struct sirix_idempotency_id id;
    uint8_t request_hash[SIRIX_SHA256_BYTES];
    bool in_flight;
    uint64_t since_ns;
    size_t answer_len;
    uint8_t answer[];
};

struct sirix_idempotency {
    const struct sirix_clock *clock;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    size_t count;
    struct entry *oldest;
    struct entry *newest;
    struct entry *buckets[BUCKETS];
};

enum sirix_status sirix_idempotency_new(const struct sirix_clock *clock,
                                        struct sirix_idempotency **out_table,
                                        struct sirix_error *err)
{
    struct sirix_idempotency *table = calloc(1, sizeof(*table));

    if (table == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the table of idempotency keys");
    }
    table->clock = clock;
    (void)pthread_mutex_init(&table->mutex, NULL);
    (void)pthread_cond_init(&table->ended, NULL);
    *out_table = table;
    return SIRIX_OK;
}

void sirix_idempotency_free(struct sirix_idempotency *table)
{
    if (table == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        while (table->buckets[i] != NULL) {
            struct entry *entry = table->buckets[i];
            table->buckets[i] = entry->next;
            free(entry);
        }
    }
    (void)pthread_cond_destroy(&table->ended);
    (void)pthread_mutex_destroy(&table->mutex);
    free(table);
}

/* The ids are digests: any bytes of them are as good as a hash. */
static struct entry **bucket_of(struct sirix_idempotency *table,
                                const struct sirix_idempotency_id *id)
{
    uint64_t number = 0;

    memcpy(&number, id->bytes, sizeof(number));
    return &table->buckets[number % BUCKETS];
}

static struct entry *find(struct sirix_idempotency *table, const struct sirix_idempotency_id *id)
{
    struct entry *entry = *bucket_of(table, id);

    while (entry != NULL && memcmp(entry->id.bytes, id->bytes, sizeof(id->bytes)) != 0) {
        entry = entry->next;
    }
    return entry;
}

static void remove_entry(struct sirix_idempotency *table, struct entry *entry)
{
    struct entry **at = bucket_of(table, &entry->id);

    while (*at != entry) {
        at = &(*at)->next;
    }
    *at = entry->next;
    table->count--;
    free(entry);
}

static void expire(struct sirix_idempotency *table)
{
    uint64_t now = sirix_clock_monotonic_ns(table->clock);

    while (table->oldest != NULL &&
           now - table->oldest->since_ns >= SIRIX_IDEMPOTENCY_HOURS * NS_PER_HOUR) {
        struct entry *entry = table->oldest;
        table->oldest = entry->newer;
        if (table->oldest == NULL) {
            table->newest = NULL;
        }
        remove_entry(table, entry);
    }
}

static enum sirix_status add(struct sirix_idempotency *table, const struct sirix_idempotency_id *id,
                             const uint8_t request_hash[SIRIX_SHA256_BYTES], size_t answer_len,
                             struct sirix_error *err)
{
    struct entry *entry = NULL;

    if (table->count >= SIRIX_IDEMPOTENCY_ENTRIES_MAX) {
        enum sirix_status status = sirix_fail(
            err, SIRIX_EXHAUSTED, "%d idempotency keys were used within %d hours, the limit",
            SIRIX_IDEMPOTENCY_ENTRIES_MAX, SIRIX_IDEMPOTENCY_HOURS);
        sirix_error_set_field(err, "options.idempotency_key");
        return status;
    }
    entry = calloc(1, sizeof(*entry) + answer_len);
    if (entry == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate an idempotency key");
    }
    entry->id = *id;
    memcpy(entry->request_hash, request_hash, sizeof(entry->request_hash));
    entry->in_flight = true;
    entry->answer_len = answer_len;
    entry->next = *bucket_of(table, id);
    *bucket_of(table, id) = entry;
    table->count++;
    return SIRIX_OK;
}

/* What an ended entry says to a request. */
static enum sirix_status replay(const struct entry *entry,
                                const uint8_t request_hash[SIRIX_SHA256_BYTES], void *answer,
                                size_t answer_len, struct sirix_error *err)
{
    if (memcmp(entry->request_hash, request_hash, sizeof(entry->request_hash)) != 0 ||
        entry->answer_len != answer_len) {
        enum sirix_status status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_IDEMPOTENCY_MISMATCH,
                              "the idempotency key was used for another request");
        sirix_error_set_field(err, "options.idempotency_key");
        return status;
    }
    memcpy(answer, entry->answer, answer_len);
    return SIRIX_OK;
}

enum sirix_status sirix_idempotency_find(struct sirix_idempotency *table,
                                         const struct sirix_idempotency_id *id,
                                         const uint8_t request_hash[SIRIX_SHA256_BYTES],
                                         void *answer, size_t answer_len, bool *out_known,
                                         struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&table->mutex);
    expire(table);
    const struct entry *entry = find(table, id);
    bool known = entry != NULL && !entry->in_flight;
    if (known) {
        status = replay(entry, request_hash, answer, answer_len, err);
    }
    (void)pthread_mutex_unlock(&table->mutex);
    if (status == SIRIX_OK) {
        *out_known = known;
    }
    return status;
}

enum sirix_status sirix_idempotency_begin(struct sirix_idempotency *table,
                                          const struct sirix_idempotency_id *id,
                                          const uint8_t request_hash[SIRIX_SHA256_BYTES],
                                          void *answer, size_t answer_len, bool *out_replayed,
                                          struct sirix_error *err)
{
    struct entry *entry = NULL;
    enum sirix_status status = SIRIX_OK;

    assert(answer_len <= ANSWER_BYTES);

    (void)pthread_mutex_lock(&table->mutex);
    expire(table);
    while ((entry = find(table, id)) != NULL && entry->in_flight) {
        (void)pthread_cond_wait(&table->ended, &table->mutex);
    }
    if (entry == NULL) {
        status = add(table, id, request_hash, answer_len, err);
        if (status == SIRIX_OK) {
            *out_replayed = false;
        }
    } else {
        status = replay(entry, request_hash, answer, answer_len, err);
        if (status == SIRIX_OK) {
            *out_replayed = true;
        }
    }
    (void)pthread_mutex_unlock(&table->mutex);
    return status;
}

void sirix_idempotency_end(struct sirix_idempotency *table, const struct sirix_idempotency_id *id,
                           const void *answer, size_t answer_len)
{
    (void)pthread_mutex_lock(&table->mutex);
    struct entry *entry = find(table, id);
    assert(entry != NULL && entry->in_flight);
    if (answer == NULL) {
        remove_entry(table, entry);
    } else {
        assert(answer_len == entry->answer_len);
        memcpy(entry->answer, answer, answer_len);
        entry->in_flight = false;
        entry->since_ns = sirix_clock_monotonic_ns(table->clock);
        if (table->newest == NULL) {
            table->oldest = entry;
        } else {
            table->newest->newer = entry;
        }
        table->newest = entry;
    }
    (void)pthread_cond_broadcast(&table->ended);
    (void)pthread_mutex_unlock(&table->mutex);
}
