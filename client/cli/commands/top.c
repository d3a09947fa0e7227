/*
 * sirixctl top                 a live view: calls, queues, commits, once a second until Ctrl-C
 * sirixctl top --once          one view of the last interval, and the end
 * sirixctl top --json          the same as one JSON object a view
 *
 * Every view is the difference of two answers of the server, so what it shows is of the interval
 * between them and of nobody's clock but the server's.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/interrupt.h"

enum own_flag { FLAG_INTERVAL, FLAG_ONCE, FLAG_COUNT };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_INTERVAL] = {"interval", "MS", "between two views (default 1000)"},
    [FLAG_ONCE] = {"once", NULL, "one view, and the end"},
    [FLAG_COUNT] = {"count", "N", "so many views, and the end"},
};

enum {
    INTERVAL_DEFAULT_MS = 1000,
    INTERVAL_MIN_MS = 50,
    INTERVAL_MAX_MS = 3600000,
    ROWS_MAX = 128,
    TIME_BYTES = 48
};

#define US_PER_SECOND UINT64_C(1000000)

/* One method in an interval. */
struct row {
    const struct sirix_method_activity *method;
    uint64_t ended;
    uint64_t failed;
    uint64_t total_us;
    uint64_t p50_us; /* Upper estimates; UINT64_MAX: past the last bound; 0: not known. */
    uint64_t p99_us;
};

struct view {
    const struct sirix_server_activity *before;
    const struct sirix_server_activity *now;
    uint64_t span_us;
    struct row rows[ROWS_MAX];
    size_t count;
};

/* --- From counts to rows ------------------------------------------------------------------------ */

static const struct sirix_method_activity *find(const struct sirix_server_activity *activity,
                                                const char *method)
{
    for (size_t i = 0; i < activity->method_count; i++) {
        if (strcmp(activity->methods[i].method, method) == 0) {
            return &activity->methods[i];
        }
    }
    return NULL;
}

static uint64_t quantile(const struct view *view, const struct sirix_method_activity *before,
                         const struct sirix_method_activity *now, uint64_t ended, unsigned per_cent)
{
    enum { PER_CENT = 100 };
    uint64_t below = 0;

    if (now->bucket_counts == NULL || ended == 0) {
        return 0;
    }
    for (size_t i = 0; i < view->now->bucket_count; i++) {
        below += now->bucket_counts[i];
        if (before != NULL && before->bucket_counts != NULL) {
            below -= before->bucket_counts[i];
        }
        if (below * PER_CENT >= ended * per_cent) {
            return view->now->bucket_bounds_us[i];
        }
    }
    return UINT64_MAX;
}

/* Most calls first, then by name. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;

    if (left->ended != right->ended) {
        return left->ended < right->ended ? 1 : -1;
    }
    return strcmp(left->method->method, right->method->method);
}

static void make_view(const struct sirix_server_activity *before,
                      const struct sirix_server_activity *now, struct view *out_view)
{
    enum { MEDIAN = 50, LAST = 99 };

    out_view->before = before;
    out_view->now = now;
    out_view->span_us =
        now->status.now_us > before->status.now_us ? now->status.now_us - before->status.now_us : 1;
    out_view->count = 0;
    for (size_t i = 0; i < now->method_count && out_view->count < ROWS_MAX; i++) {
        const struct sirix_method_activity *method = &now->methods[i];
        const struct sirix_method_activity *old = find(before, method->method);
        struct row *row = &out_view->rows[out_view->count];

        *row = (struct row){
            .method = method,
            .ended = method->ended - (old == NULL ? 0 : old->ended),
            .failed = method->failed - (old == NULL ? 0 : old->failed),
            .total_us = method->total_us - (old == NULL ? 0 : old->total_us),
        };
        if (row->ended != 0 || method->running != 0) {
            row->p50_us = quantile(out_view, old, method, row->ended, MEDIAN);
            row->p99_us = quantile(out_view, old, method, row->ended, LAST);
            out_view->count++;
        }
    }
    if (out_view->count > 1) {
        qsort(out_view->rows, out_view->count, sizeof(out_view->rows[0]), compare_rows);
    }
}

/* --- Showing ------------------------------------------------------------------------------------ */

static uint64_t per_second(const struct view *view, uint64_t count)
{
    return (count * US_PER_SECOND + view->span_us / 2) / view->span_us;
}

static void json_time(struct sirixctl_json *json, const char *name, uint64_t us)
{
    if (us != 0 && us != UINT64_MAX) {
        sirixctl_json_u64(json, name, us);
    }
}

static enum sirix_status show_json(struct sirixctl *ctl, const struct view *view,
                                   struct sirix_error *err)
{
    const struct sirix_server_activity *now = view->now;
    const struct sirix_server_activity *before = view->before;
    struct sirixctl_json json;

    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_time(&json, "now", now->status.now_us);
    sirixctl_json_u64(&json, "intervalMicroseconds", view->span_us);
    sirixctl_json_u64(&json, "callsRunning", now->status.calls_running);
    sirixctl_json_u64(&json, "callsQueued", now->calls_queued);
    sirixctl_json_u64(&json, "writesWaiting", now->status.writes_waiting);
    sirixctl_json_u64(&json, "databasesOpen", now->status.databases_open);
    sirixctl_json_u64(&json, "residentBytes", now->status.resident_bytes);
    sirixctl_json_u64(&json, "commits", now->status.commits_total - before->status.commits_total);
    sirixctl_json_u64(&json, "groups", now->groups - before->groups);
    sirixctl_json_u64(&json, "groupWorks", now->group_works - before->group_works);
    sirixctl_json_u64(&json, "groupBytes", now->group_bytes - before->group_bytes);
    sirixctl_json_u64(&json, "groupWriteMicroseconds",
                      now->group_write_us - before->group_write_us);
    sirixctl_json_array(&json, "methods");
    for (size_t i = 0; i < view->count; i++) {
        const struct row *row = &view->rows[i];
        sirixctl_json_object(&json, NULL);
        sirixctl_json_str(&json, "method", row->method->method);
        sirixctl_json_u64(&json, "running", row->method->running);
        sirixctl_json_u64(&json, "ended", row->ended);
        sirixctl_json_u64(&json, "failed", row->failed);
        sirixctl_json_u64(&json, "totalMicroseconds", row->total_us);
        json_time(&json, "medianMicroseconds", row->p50_us);
        json_time(&json, "p99Microseconds", row->p99_us);
        sirixctl_json_object_end(&json);
    }
    sirixctl_json_array_end(&json);
    sirixctl_json_object_end(&json);
    enum sirix_status status = sirixctl_json_finish(&json, &ctl->out, err);
    if (status == SIRIX_OK) {
        status = sirixctl_out_finish(&ctl->out, err);
    }
    return status;
}

/* At most 9 characters: "<=250us", "<=2.5ms", ">10s", "-". */
static void format_time(uint64_t us, const char *sign, char out[TIME_BYTES])
{
    enum { US_PER_MS = 1000, TENTHS = 10 };

    if (us == 0) {
        (void)snprintf(out, TIME_BYTES, "-");
    } else if (us == UINT64_MAX) {
        (void)snprintf(out, TIME_BYTES, ">10s");
    } else if (us < US_PER_MS) {
        (void)snprintf(out, TIME_BYTES, "%s%" PRIu64 "us", sign, us);
    } else if (us < US_PER_SECOND) {
        (void)snprintf(out, TIME_BYTES, "%s%" PRIu64 ".%" PRIu64 "ms", sign, us / US_PER_MS,
                       us % US_PER_MS * TENTHS / US_PER_MS);
    } else {
        (void)snprintf(out, TIME_BYTES, "%s%" PRIu64 ".%" PRIu64 "s", sign, us / US_PER_SECOND,
                       us % US_PER_SECOND * TENTHS / US_PER_SECOND);
    }
}

static void show_head(struct sirixctl_out *out, const struct view *view)
{
    const struct sirix_server_activity *now = view->now;
    uint64_t groups = now->groups - view->before->groups;
    uint64_t works = now->group_works - view->before->group_works;
    char size[16];
    char rate[16];
    char wrote[TIME_BYTES];

    sirixctl_format_bytes(now->status.resident_bytes, size);
    sirixctl_format_bytes(per_second(view, now->group_bytes - view->before->group_bytes), rate);
    format_time(groups == 0 ? 0 : (now->group_write_us - view->before->group_write_us) / groups, "",
                wrote);
    sirixctl_out_time(out, now->status.now_us);
    sirixctl_out_printf(out, "  storaged ");
    sirixctl_out_str(out, now->status.version);
    sirixctl_out_printf(
        out,
        "%s  memory %s  databases %" PRIu64 " open of %" PRIu64 "\n"
        "calls    %" PRIu64 " running, %" PRIu64 " queued   writes %" PRIu64 " waiting\n"
        "commits  %" PRIu64 "/s in %" PRIu64 " groups/s of %" PRIu64 ".%" PRIu64
        ", %s to disk, %s/s\n\n",
        now->status.draining ? " (draining)" : "", size, now->status.databases_open,
        now->status.databases, now->status.calls_running, now->calls_queued,
        now->status.writes_waiting,
        per_second(view, now->status.commits_total - view->before->status.commits_total),
        per_second(view, groups), groups == 0 ? 0 : works / groups,
        groups == 0 ? 0 : works * 10 / groups % 10, wrote, rate);
}

static enum sirix_status show_words(struct sirixctl *ctl, const struct view *view,
                                    struct sirix_error *err)
{
    struct sirixctl_out *out = &ctl->out;

    if (out->is_terminal && ctl->args.own[FLAG_ONCE] == NULL) {
        sirixctl_out_printf(out, "\033[H\033[2J");
    }
    show_head(out, view);
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_BOLD);
    sirixctl_out_printf(out, "%-28s %8s %9s %9s %9s %9s %9s\n", "method", "running", "calls/s",
                        "failed", "mean", "p50", "p99");
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
    for (size_t i = 0; i < view->count; i++) {
        const struct row *row = &view->rows[i];
        char mean[TIME_BYTES];
        char p50[TIME_BYTES];
        char p99[TIME_BYTES];

        format_time(row->ended == 0 ? 0 : row->total_us / row->ended, "", mean);
        format_time(row->p50_us, "<=", p50);
        format_time(row->p99_us, "<=", p99);
        sirixctl_out_str(out, row->method->method);
        sirixctl_out_printf(
            out, "%*s %8" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9s %9s %9s\n",
            (int)(strlen(row->method->method) < 28 ? 28 - strlen(row->method->method) : 0), "",
            row->method->running, per_second(view, row->ended), row->failed, mean, p50, p99);
    }
    if (!out->is_terminal && ctl->args.own[FLAG_ONCE] == NULL) {
        sirixctl_out_printf(out, "\n");
    }
    return sirixctl_out_finish(out, err);
}

/* --- The command -------------------------------------------------------------------------------- */

/* False: the program was interrupted. */
static bool wait_interval(struct sirixctl *ctl, uint64_t interval_ms)
{
    enum { STEP_MS = 50 };

    for (uint64_t waited = 0; waited < interval_ms; waited += STEP_MS) {
        uint64_t left = interval_ms - waited;
        (void)poll(NULL, 0, (int)(left < STEP_MS ? left : STEP_MS));
        if (ctl->call.cancel != NULL && sirix_call_cancel_triggered(ctl->call.cancel)) {
            return false;
        }
    }
    return true;
}

static enum sirix_status follow(struct sirixctl *ctl, uint64_t interval_ms, uint64_t count,
                                struct sirix_error *err)
{
    struct sirix_server_activity *before = NULL;
    struct sirix_server_activity *now = NULL;
    struct view view;
    enum sirix_status status = sirix_client_activity(ctl->client, &ctl->call, &before, err);

    for (uint64_t shown = 0; status == SIRIX_OK && (count == 0 || shown < count); shown++) {
        if (!wait_interval(ctl, interval_ms)) {
            break;
        }
        status = sirix_client_activity(ctl->client, &ctl->call, &now, err);
        if (status == SIRIX_OK) {
            make_view(before, now, &view);
            status = ctl->json ? show_json(ctl, &view, err) : show_words(ctl, &view, err);
            sirix_client_free(before);
            before = now;
        }
    }
    sirix_client_free(before);
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *const *flags = ctl->args.own;
    uint64_t interval_ms = INTERVAL_DEFAULT_MS;
    uint64_t count = 0;
    enum sirix_status status = sirixctl_parse_optional(flags[FLAG_INTERVAL], "--interval",
                                                       INTERVAL_MAX_MS, &interval_ms, err);

    if (status == SIRIX_OK && interval_ms < INTERVAL_MIN_MS) {
        status = sirixctl_usage(err, "--interval: at least %d", INTERVAL_MIN_MS);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(flags[FLAG_COUNT], "--count", UINT32_MAX, &count, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        status = follow(ctl, interval_ms, flags[FLAG_ONCE] != NULL ? 1 : count, err);
    }
    return status;
}

const struct sirixctl_command sirixctl_top = {
    .name = "top",
    .operands = "",
    .summary = "Show calls, queues and commits as they go on",
    .answer =
        "{\"now\",\"intervalMicroseconds\",\"callsRunning\",\"callsQueued\",\"writesWaiting\","
        "\"databasesOpen\",\n"
        "\"residentBytes\",\"commits\",\"groups\",\"groupWorks\",\"groupBytes\","
        "\"groupWriteMicroseconds\",\n"
        "\"methods\":[{\"method\",\"running\",\"ended\",\"failed\",\"totalMicroseconds\","
        "\"medianMicroseconds\"?,\n"
        "\"p99Microseconds\"?}]}, one object a view",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 0,
    .operands_max = 0,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
