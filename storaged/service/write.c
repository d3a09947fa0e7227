/* Options, authors, turns and keys. */
#include "service/write.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/name.h"
#include "base/utf8.h"
#include "service/quota.h"
#include "service/watch.h"

enum { CLAIMED = '~', TRUSTED = ':' };

/* --- Options ------------------------------------------------------------------------------------ */

static enum sirix_status check_text(struct sirix_bytes text, size_t max, const char *field,
                                    struct sirix_error *err)
{
    size_t bad = 0;
    enum sirix_status status = SIRIX_OK;

    if (text.len > max) {
        status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                              "%s has %zu bytes, at most %zu are allowed", field, text.len, max);
        sirix_error_set_field(err, field);
    } else if (!sirix_utf8_valid(text.data, text.len, &bad)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_JSON_ENCODING,
                                   "%s is not UTF-8", field);
        sirix_error_set_field(err, field);
        sirix_error_set_offset(err, bad);
    }
    return status;
}

enum sirix_status sirix_write_options_check(const struct sirix_write_options *options,
                                            struct sirix_error *err)
{
    enum sirix_status status =
        check_text(options->message, SIRIX_MESSAGE_BYTES_MAX, "options.message", err);

    if (status == SIRIX_OK) {
        status = check_text(options->on_behalf_of, SIRIX_ON_BEHALF_BYTES_MAX,
                            "options.on_behalf_of", err);
    }
    if (status == SIRIX_OK && options->idempotency_key.len > SIRIX_IDEMPOTENCY_KEY_BYTES_MAX) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                   "an idempotency key has at most %d bytes",
                                   SIRIX_IDEMPOTENCY_KEY_BYTES_MAX);
        sirix_error_set_field(err, "options.idempotency_key");
    }
    return status;
}

static enum sirix_status refuse_text(struct sirix_bytes text, const char *field,
                                     struct sirix_error *err)
{
    if (text.len == 0) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "%s would be kept with a revision, and this call "
                                                 "makes none",
                                                 field);
    sirix_error_set_field(err, field);
    return status;
}

enum sirix_status sirix_write_options_check_bare(const struct sirix_write_options *options,
                                                 struct sirix_error *err)
{
    enum sirix_status status = refuse_text(options->message, "options.message", err);

    if (status == SIRIX_OK) {
        status = refuse_text(options->on_behalf_of, "options.on_behalf_of", err);
    }
    return status == SIRIX_OK ? sirix_write_options_check(options, err) : status;
}

void sirix_author_make(const struct sirix_caller *caller, struct sirix_bytes on_behalf_of,
                       struct sirix_author *out_author)
{
    size_t len = strlen(caller->name);

    assert(on_behalf_of.len <= SIRIX_ON_BEHALF_BYTES_MAX);

    memcpy(out_author->text, caller->name, len);
    if (on_behalf_of.len != 0) {
        out_author->text[len++] = caller->trusted_to_speak_for_others ? TRUSTED : CLAIMED;
        memcpy(out_author->text + len, on_behalf_of.data, on_behalf_of.len);
        len += on_behalf_of.len;
    }
    out_author->len = len;
}

void sirix_author_split(struct sirix_bytes author, struct sirix_bytes *out_principal,
                        struct sirix_bytes *out_on_behalf_of, bool *out_claimed)
{
    const char *text = author.data;
    size_t at = 0;

    while (at < author.len && text[at] != CLAIMED && text[at] != TRUSTED) {
        at++;
    }
    *out_principal = (struct sirix_bytes){.data = text, .len = at};
    *out_claimed = at < author.len && text[at] == CLAIMED;
    *out_on_behalf_of = (struct sirix_bytes){.data = NULL, .len = 0};
    if (at < author.len) {
        *out_on_behalf_of = (struct sirix_bytes){.data = text + at + 1, .len = author.len - at - 1};
    }
}

/* --- One write ---------------------------------------------------------------------------------- */

/* What needs nothing open. */
static enum sirix_status begin(const struct sirix_request *request,
                               const struct sirix_write_options *options, struct sirix_write *write,
                               struct sirix_error *err)
{
    enum sirix_status status = sirix_request_may_write(request, err);

    if (status == SIRIX_OK) {
        status = sirix_write_options_check(options, err);
    }
    if (status == SIRIX_OK) {
        write->request = *request;
        write->options = *options;
        sirix_author_make(&request->caller, options->on_behalf_of, &write->author);
    }
    return status;
}

/* By its rows alone: a damaged head is met by who reads it. name empty: main. */
static enum sirix_status branch_head(struct sirix_write *write, struct sirix_bytes name,
                                     struct sirix_branch_head *out_head, struct sirix_error *err)
{
    struct sirix_target *target = &write->target;
    enum sirix_status status =
        name.len == 0 ? SIRIX_OK : sirix_name_check(SIRIX_NAME_BRANCH, name, "branch", err);

    if (status == SIRIX_OK) {
        status = sirix_branch_find(target->resource, target->reader, name, write->any_branch,
                                   out_head, err);
        if (status == SIRIX_NOT_FOUND || status == SIRIX_PRECONDITION) {
            sirix_error_set_field(err, "branch");
        }
    }
    return status;
}

static enum sirix_status find_branch(struct sirix_write *write, struct sirix_bytes branch,
                                     struct sirix_error *err)
{
    static const struct sirix_bytes main_branch = {.data = SIRIX_BRANCH_MAIN,
                                                   .len = sizeof(SIRIX_BRANCH_MAIN) - 1};
    struct sirix_branch_head head;

    enum sirix_status status = branch_head(write, branch, &head, err);
    if (status == SIRIX_OK) {
        status = sirix_request_check_change(&write->request,
                                            (struct sirix_bytes){.data = NULL, .len = 0},
                                            branch.len == 0 ? main_branch : branch, "branch", err);
    }
    if (status == SIRIX_OK) {
        write->branch_id = head.id;
        memcpy(write->branch, branch.len == 0 ? SIRIX_BRANCH_MAIN : branch.data,
               branch.len == 0 ? sizeof(SIRIX_BRANCH_MAIN) : branch.len);
    }
    return status;
}

enum sirix_status sirix_write_open(const struct sirix_request *request,
                                   const struct sirix_write_options *options,
                                   struct sirix_bytes database, struct sirix_bytes resource,
                                   struct sirix_bytes branch, struct sirix_write *write,
                                   struct sirix_error *err)
{
    enum sirix_status status = begin(request, options, write, err);

    if (status == SIRIX_OK && resource.len == 0) {
        status = sirix_name_check(SIRIX_NAME_RESOURCE, resource, "resource", err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = write->stream
                 ? sirix_target_open_stream(request, database, resource, &write->target, err)
                 : sirix_target_open(request, database, resource, &write->target, err);
    if (status == SIRIX_OK) {
        status = find_branch(write, branch, err);
    }
    if (status == SIRIX_OK && !write->adds_nothing) {
        status = sirix_quota_check_bytes(request->service, write->target.handle, err);
    }
    if (status != SIRIX_OK) {
        sirix_target_close(&write->target);
    }
    return status;
}

enum sirix_status sirix_write_open_hidden(const struct sirix_request *request,
                                          const struct sirix_write_options *options,
                                          struct sirix_handle *handle,
                                          struct sirix_resource *resource,
                                          struct sirix_bytes branch, struct sirix_write *write,
                                          struct sirix_error *err)
{
    struct sirix_target *target = &write->target;

    assert(write->stream);

    enum sirix_status status = begin(request, options, write, err);
    if (status != SIRIX_OK) {
        return status;
    }
    write->hidden = true;
    *target = (struct sirix_target){.handle = handle, .resource = resource, .stream = true};
    status = sirix_handle_stream_reader_open(handle, &target->reader, err);
    if (status == SIRIX_OK) {
        status = find_branch(write, branch, err);
    }
    if (status != SIRIX_OK) {
        sirix_handle_stream_reader_close(handle, target->reader);
        *target = (struct sirix_target){0};
    }
    return status;
}

static void on_granted(struct sirix_turn *turn, enum sirix_status status,
                       const struct sirix_error *err)
{
    struct sirix_write *write =
        (struct sirix_write *)((char *)turn - offsetof(struct sirix_write, turn));

    write->turn_status = status;
    if (err != NULL) {
        write->turn_err = *err;
    }
    write->ready(write->context); /* From here the write may be gone. */
}

enum sirix_status sirix_write_take_turn(struct sirix_write *write, sirix_write_ready_fn ready,
                                        void *context, bool *out_waits, struct sirix_error *err)
{
    write->ready = ready;
    write->context = context;
    write->turn.key = (struct sirix_turn_key){
        .database = write->target.handle,
        .resource = sirix_resource_id(write->target.resource),
        .branch = write->branch_id,
    };
    write->turn.granted = on_granted;
    if (write->stream) {
        sirix_reader_yield(write->target.reader);
    } else {
        sirix_handle_reader_put(write->target.handle, write->target.reader);
        write->target.reader = NULL;
    }
    return sirix_turns_take(write->request.service->turns, &write->turn,
                            write->request.cancel->deadline_us, out_waits, err);
}

enum sirix_status sirix_write_turn_came(struct sirix_write *write, struct sirix_error *err)
{
    if (write->turn_status != SIRIX_OK && err != NULL) {
        *err = write->turn_err;
    }
    return write->turn_status;
}

bool sirix_write_withdraw(struct sirix_write *write)
{
    return sirix_turns_withdraw(write->request.service->turns, &write->turn);
}

static enum sirix_status need_reader(struct sirix_write *write, struct sirix_error *err)
{
    if (write->target.reader != NULL) {
        return SIRIX_OK;
    }
    return sirix_handle_reader_get(write->target.handle, &write->target.reader, err);
}

static struct sirix_bytes branch_name(const struct sirix_write *write)
{
    return (struct sirix_bytes){.data = write->branch, .len = strlen(write->branch)};
}

static enum sirix_status check_expected(const struct sirix_write *write, uint64_t head,
                                        struct sirix_error *err)
{
    const struct sirix_write_options *options = &write->options;
    const uint64_t revision = write->hidden ? 0 : head;

    if (!options->has_expected || options->expected_revision == revision) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                          "branch %s is at revision %" PRIu64 ", not %" PRIu64, write->branch,
                          revision, options->expected_revision);
    sirix_error_set_field(err, "options.expected_revision");
    if (err != NULL) {
        err->current_revision = revision;
    }
    return status;
}

enum sirix_status sirix_write_head(struct sirix_write *write, struct sirix_view *out_view,
                                   struct sirix_error *err)
{
    struct sirix_view view = {0};

    enum sirix_status status = need_reader(write, err);
    if (status == SIRIX_OK) {
        status = sirix_target_branch(&write->target, branch_name(write), "branch", &view, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = check_expected(write, view.record.revision, err);
    if (status != SIRIX_OK) {
        sirix_view_close(&view);
        return status;
    }
    *out_view = view;
    return SIRIX_OK;
}

enum sirix_status sirix_write_head_revision(struct sirix_write *write, uint64_t *out_revision,
                                            struct sirix_error *err)
{
    struct sirix_branch_head head;

    enum sirix_status status = need_reader(write, err);
    if (status == SIRIX_OK) {
        status = branch_head(write, branch_name(write), &head, err);
    }
    if (status == SIRIX_OK && head.id != write->branch_id) {
        status =
            sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_BRANCH_UNKNOWN,
                              "the branch %s is gone, another one has its name now", write->branch);
        sirix_error_set_field(err, "branch");
    }
    if (status == SIRIX_OK) {
        status = check_expected(write, head.revision, err);
    }
    if (status == SIRIX_OK) {
        *out_revision = head.revision;
    }
    return status;
}

struct sirix_rider sirix_write_rider(const struct sirix_write *write)
{
    struct sirix_rider rider = {
        .principal = {.data = write->request.caller.name,
                      .len = strlen(write->request.caller.name)},
        .key = write->options.idempotency_key,
    };

    memcpy(rider.request_hash, write->options.request_hash, sizeof(rider.request_hash));
    return rider;
}

/* What was found under the key: nothing is no failure, and an error names the option. */
static enum sirix_status found(enum sirix_status status, const struct sirix_error *unknown,
                               bool *out_replayed, struct sirix_error *err)
{
    *out_replayed = status == SIRIX_OK;
    if (status == SIRIX_OK || status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (err != NULL) {
        *err = *unknown;
    }
    if (status == SIRIX_INVALID) {
        sirix_error_set_field(err, "options.idempotency_key");
    }
    return status;
}

enum sirix_status sirix_write_replay_all(struct sirix_write *write, struct sirix_published_of *out,
                                         size_t max, size_t *out_count, struct sirix_error *err)
{
    const struct sirix_rider rider = sirix_write_rider(write);
    struct sirix_error unknown = {0};
    bool replayed = false;
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    if (rider.key.len != 0) {
        status = need_reader(write, err);
        if (status != SIRIX_OK) {
            return status;
        }
        status =
            found(sirix_rider_find_all(sirix_handle_database(write->target.handle),
                                       write->target.reader, &rider, out, max, &count, &unknown),
                  &unknown, &replayed, err);
    }
    if (status == SIRIX_OK) {
        *out_count = replayed ? count : 0;
    }
    return status;
}

enum sirix_status sirix_write_replay(struct sirix_write *write, bool *out_replayed,
                                     struct sirix_write_result *out_result,
                                     struct sirix_bytes *out_answer, struct sirix_error *err)
{
    const struct sirix_rider rider = sirix_write_rider(write);
    struct sirix_published published = {0};
    struct sirix_error unknown = {0};
    enum sirix_status status = SIRIX_OK;

    *out_replayed = false;
    if (rider.key.len == 0) {
        return SIRIX_OK;
    }
    status = need_reader(write, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = found(sirix_rider_find(sirix_handle_database(write->target.handle),
                                    write->target.reader, &rider, &published, &unknown),
                   &unknown, out_replayed, err);
    if (status == SIRIX_OK && *out_replayed) {
        *out_result = (struct sirix_write_result){
            .revision = published.revision,
            .parent_revision = published.parent_revision,
            .time_us = published.time_us,
            .replayed = true,
        };
        *out_answer = published.answer;
    }
    return status;
}

void sirix_write_tell(const struct sirix_write *write)
{
    sirix_watch_hub_tell(write->request.service->watches, sirix_handle_name(write->target.handle),
                         sirix_resource_name(write->target.resource), false);
}

enum sirix_status sirix_write_ended(struct sirix_write *write, enum sirix_status status)
{
    if (status == SIRIX_OK) {
        (void)atomic_fetch_add(&write->request.service->commits, 1);
        sirix_write_tell(write);
    } else if (status == SIRIX_OUTCOME_UNKNOWN || status == SIRIX_UNAVAILABLE) {
        sirix_handle_suspect(write->target.handle);
    }
    return status;
}

void sirix_write_close(struct sirix_write *write)
{
    assert(!write->turn.waiting);

    if (write->request.service != NULL) {
        sirix_turns_release(write->request.service->turns, &write->turn);
    }
    sirix_target_close(&write->target);
}
