/*
 * The table of keys in memory makes a second request wait for the first, and keeps the answers about
 * databases; all other answers are the store's.
 */
#include "service/once.h"

#include <assert.h>
#include <string.h>

#include "base/varint.h"

/* --- Answers ------------------------------------------------------------------------------------ */

size_t sirix_answer_encode(const struct sirix_answer *answer, uint8_t bytes[SIRIX_ANSWER_BYTES_MAX])
{
    size_t len = 0;

    assert(answer->count <= SIRIX_ANSWER_NUMBERS_MAX);

    for (size_t i = 0; i < answer->count; i++) {
        len += sirix_varint_encode(answer->numbers[i], bytes + len);
    }
    return len;
}

enum sirix_status sirix_answer_decode(struct sirix_bytes bytes, size_t count,
                                      struct sirix_answer *out_answer, struct sirix_error *err)
{
    struct sirix_answer answer = {.count = count};
    const uint8_t *at = bytes.data;
    size_t left = bytes.len;

    assert(count <= SIRIX_ANSWER_NUMBERS_MAX);

    for (size_t i = 0; i < count; i++) {
        size_t size = sirix_varint_decode(at, left, &answer.numbers[i]);
        if (size == 0) {
            return sirix_fail(err, SIRIX_CORRUPT, "the kept answer of a change ends early");
        }
        at += size;
        left -= size;
    }
    if (left != 0) {
        return sirix_fail(err, SIRIX_CORRUPT, "the kept answer of a change is too long");
    }
    *out_answer = answer;
    return SIRIX_OK;
}

/* --- Keys --------------------------------------------------------------------------------------- */

static enum sirix_status make_id(const struct sirix_request *request, struct sirix_bytes database,
                                 struct sirix_bytes key, struct sirix_idempotency_id *out_id,
                                 struct sirix_error *err)
{
    struct sirix_sha256 sha = {0};

    enum sirix_status status = sirix_sha256_init(&sha, err);
    /* Each part with the NUL or the length that no other split of the same bytes has. */
    if (status == SIRIX_OK) {
        status =
            sirix_sha256_update(&sha, request->caller.name, strlen(request->caller.name) + 1, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_update(&sha, &database.len, sizeof(database.len), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_update(&sha, database.data, database.len, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_update(&sha, key.data, key.len, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_final(&sha, out_id->bytes, err);
    }
    sirix_sha256_deinit(&sha);
    return status;
}

/* The right to write, the options, and the key's digest where there is a key. */
static enum sirix_status check(const struct sirix_request *request,
                               const struct sirix_write_options *options, bool makes_revision,
                               struct sirix_bytes database, struct sirix_idempotency_id *out_id,
                               struct sirix_error *err)
{
    enum sirix_status status = sirix_request_may_write(request, err);

    if (status == SIRIX_OK) {
        status = makes_revision ? sirix_write_options_check(options, err)
                                : sirix_write_options_check_bare(options, err);
    }
    if (status == SIRIX_OK && options->idempotency_key.len != 0) {
        status = make_id(request, database, options->idempotency_key, out_id, err);
    }
    return status;
}

static struct sirix_rider make_rider(const struct sirix_request *request,
                                     const struct sirix_write_options *options)
{
    struct sirix_rider rider = {
        .principal = {.data = request->caller.name, .len = strlen(request->caller.name)},
        .key = options->idempotency_key,
    };

    memcpy(rider.request_hash, options->request_hash, sizeof(rider.request_hash));
    return rider;
}

/* Asks the store for the key's row. */
static enum sirix_status find_row(struct sirix_target *target, const struct sirix_rider *rider,
                                  size_t answer_count, struct sirix_answer *out_answer,
                                  bool *out_known, struct sirix_error *err)
{
    struct sirix_published published = {0};
    struct sirix_error found = {0};

    enum sirix_status status = sirix_rider_find(sirix_handle_database(target->handle),
                                                target->reader, rider, &published, &found);
    if (status == SIRIX_NOT_FOUND) {
        *out_known = false;
        return SIRIX_OK;
    }
    if (status != SIRIX_OK) {
        if (status == SIRIX_INVALID) {
            sirix_error_set_field(&found, "options.idempotency_key");
        }
        if (err != NULL) {
            *err = found;
        }
        return status;
    }
    status = sirix_answer_decode(published.answer, answer_count, out_answer, err);
    if (status == SIRIX_OK) {
        *out_known = true;
    }
    return status;
}

/* The same, with what it takes to ask. No such database: no such key. */
static enum sirix_status find_known(const struct sirix_request *request,
                                    const struct sirix_write_options *options,
                                    struct sirix_bytes database, size_t answer_count,
                                    struct sirix_answer *out_answer, bool *out_known,
                                    struct sirix_error *err)
{
    const struct sirix_rider rider = make_rider(request, options);
    struct sirix_target target = {0};
    struct sirix_error missing = {0};

    *out_known = false;
    if (rider.key.len == 0) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_target_open(
        request, database, (struct sirix_bytes){.data = NULL, .len = 0}, &target, &missing);
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = missing;
        }
        return status;
    }
    status = find_row(&target, &rider, answer_count, out_answer, out_known, err);
    sirix_target_close(&target);
    return status;
}

/* --- Changes ------------------------------------------------------------------------------------ */

static size_t tell_row(void *context, const void *result, uint8_t *bytes)
{
    const struct sirix_change_once *change = context;
    struct sirix_answer answer = {0};

    change->tell(change->context, result, &answer);
    assert(answer.count == change->answer_count);
    return sirix_answer_encode(&answer, bytes);
}

/* With a key that no other request of this process holds. */
static enum sirix_status run_keyed(struct sirix_change_once *change,
                                   struct sirix_answer *out_answer, bool *out_replayed,
                                   struct sirix_error *err)
{
    struct sirix_once once = {
        .rider = make_rider(change->request, change->options),
        .answer = tell_row,
        .context = change,
    };

    enum sirix_status status = find_known(change->request, change->options, change->database,
                                          change->answer_count, out_answer, out_replayed, err);
    if (status != SIRIX_OK || *out_replayed) {
        return status;
    }
    status = change->change(change->context, &once, out_answer, err);
    if (status == SIRIX_INVALID && err != NULL &&
        err->reason == SIRIX_REASON_IDEMPOTENCY_MISMATCH) {
        sirix_error_set_field(err, "options.idempotency_key");
    }
    if (status == SIRIX_OK) { /* The row's answer, whoever wrote it, is what a retry gets. */
        const struct sirix_bytes row = {.data = once.answer_bytes, .len = once.answer_len};
        status = sirix_answer_decode(row, change->answer_count, out_answer, err);
        *out_replayed = once.replayed;
    }
    return status;
}

enum sirix_status sirix_once_run(const struct sirix_change_once *wanted,
                                 struct sirix_answer *out_answer, bool *out_replayed,
                                 struct sirix_error *err)
{
    struct sirix_idempotency *table = wanted->request->service->idempotency;
    struct sirix_change_once change = *wanted;
    struct sirix_idempotency_id id = {{0}};
    struct sirix_answer answer = {0};
    bool replayed = false;
    bool of_database = false;

    enum sirix_status status =
        check(change.request, change.options, change.makes_revision, change.database, &id, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (change.options->idempotency_key.len == 0) {
        status = change.change(change.context, NULL, &answer, err);
    } else {
        /* An answer that is remembered here belongs to another request: it is refused. */
        status = sirix_idempotency_begin(table, &id, change.options->request_hash, NULL, 0,
                                         &of_database, err);
        if (status == SIRIX_OK) {
            assert(!of_database);
            status = run_keyed(&change, &answer, &replayed, err);
            sirix_idempotency_end(table, &id, NULL, 0);
        }
    }
    if (status == SIRIX_OK) {
        *out_answer = answer;
        *out_replayed = replayed;
    }
    return status;
}

/* Where what the change is about is not there, that may be the change's own doing. */
static enum sirix_status open_or_know(const struct sirix_request *request,
                                      const struct sirix_write_place *place, size_t answer_count,
                                      struct sirix_write *write, struct sirix_answer *answer,
                                      bool *known, struct sirix_error *err)
{
    struct sirix_error failed = {0};

    enum sirix_status status = sirix_write_open(request, place->options, place->database,
                                                place->resource, place->branch, write, &failed);
    if (status == SIRIX_NOT_FOUND) {
        enum sirix_status asked = find_known(request, place->options, place->database, answer_count,
                                             answer, known, &failed);
        if (asked != SIRIX_OK || *known) {
            status = asked;
        }
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = failed;
    }
    return status;
}

enum sirix_status sirix_once_open(const struct sirix_request *request,
                                  const struct sirix_write_place *place, size_t answer_count,
                                  struct sirix_write *write, struct sirix_answer *out_answer,
                                  bool *out_known, struct sirix_error *err)
{
    struct sirix_answer answer = {0};
    struct sirix_idempotency_id id = {{0}};
    bool known = false;

    enum sirix_status status = check(request, place->options, false, place->database, &id, err);
    if (status == SIRIX_OK) {
        status = find_known(request, place->options, place->database, answer_count, &answer, &known,
                            err);
    }
    if (status == SIRIX_OK && !known) {
        status = open_or_know(request, place, answer_count, write, &answer, &known, err);
    }
    if (status == SIRIX_OK) {
        *out_answer = answer;
        *out_known = known;
    }
    return status;
}

enum sirix_status sirix_remembered_run(const struct sirix_change_remembered *change,
                                       bool *out_replayed, struct sirix_error *err)
{
    struct sirix_idempotency *table = change->request->service->idempotency;
    bool keyed = change->options->idempotency_key.len != 0;
    struct sirix_idempotency_id id = {{0}};
    bool replayed = false;

    enum sirix_status status =
        check(change->request, change->options, false, change->database, &id, err);
    if (status == SIRIX_OK && keyed) {
        status = sirix_idempotency_begin(table, &id, change->options->request_hash, change->answer,
                                         change->answer_len, &replayed, err);
    }
    if (status == SIRIX_OK && !replayed) {
        status = change->change(change->context, change->answer, err);
        if (keyed) {
            sirix_idempotency_end(table, &id, status == SIRIX_OK ? change->answer : NULL,
                                  change->answer_len);
        }
    }
    if (status == SIRIX_OK) {
        *out_replayed = replayed;
    }
    return status;
}
