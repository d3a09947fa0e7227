/* The progress bar. */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/output.h"

enum { BAR_WIDTH = 20, LABEL_BYTES = 40, TIME_BYTES = 32 };

static const uint64_t ns_a_second = 1000000000;
static const uint64_t draw_each_ns = 100000000;

static uint64_t now_ns(void)
{
    return sirix_clock_monotonic_ns(sirix_clock_system());
}

void sirixctl_progress_start(struct sirixctl_progress *progress, const char *label,
                             uint64_t total_bytes, bool wanted)
{
    *progress = (struct sirixctl_progress){
        .label = label,
        .shown = wanted && isatty(STDERR_FILENO) == 1,
        .total_bytes = total_bytes,
        .start_ns = now_ns(),
    };
}

/* File names may hold anything; letters and what is common in names stay. */
static void safe_label(const char *label, char to[LABEL_BYTES])
{
    const char *base = strrchr(label, '/');
    size_t used = 0;

    base = base != NULL ? base + 1 : label;
    for (; *base != '\0' && used + 1 < LABEL_BYTES; base++) {
        unsigned char byte = (unsigned char)*base;

        to[used++] = (char)(byte >= ' ' && byte < 0x7f ? byte : '?');
    }
    to[used] = '\0';
}

static void format_left(const struct sirixctl_progress *progress, uint64_t bytes_a_second,
                        char to[TIME_BYTES])
{
    to[0] = '\0';
    if (progress->total_bytes > progress->done_bytes && bytes_a_second != 0) {
        uint64_t left_s = (progress->total_bytes - progress->done_bytes) / bytes_a_second;

        (void)snprintf(to, TIME_BYTES, "  %" PRIu64 ":%02u left", left_s / 60,
                       (unsigned)(left_s % 60));
    }
}

size_t sirixctl_progress_format(const struct sirixctl_progress *progress, uint64_t elapsed_ns,
                                char out_text[SIRIXCTL_PROGRESS_BYTES_MAX])
{
    char label[LABEL_BYTES];
    char left[TIME_BYTES];
    char bar[BAR_WIDTH + 1];
    char done[16];
    char total[16];
    char rate[16];
    double seconds = (double)elapsed_ns / (double)ns_a_second;
    uint64_t bytes_a_second = seconds > 0 ? (uint64_t)((double)progress->done_bytes / seconds) : 0;
    int len = 0;

    safe_label(progress->label, label);
    sirixctl_format_bytes(progress->done_bytes, done);
    sirixctl_format_bytes(bytes_a_second, rate);
    format_left(progress, bytes_a_second, left);
    if (progress->total_bytes == 0) {
        len = snprintf(out_text, SIRIXCTL_PROGRESS_BYTES_MAX, "%s  %s  %s/s", label, done, rate);
    } else {
        double part = (double)progress->done_bytes / (double)progress->total_bytes;

        part = part > 1 ? 1 : part; /* A file that grew meanwhile. */
        size_t filled = (size_t)(part * BAR_WIDTH);
        memset(bar, ' ', BAR_WIDTH);
        memset(bar, '=', filled);
        if (filled < BAR_WIDTH) {
            bar[filled] = '>';
        }
        bar[BAR_WIDTH] = '\0';
        sirixctl_format_bytes(progress->total_bytes, total);
        len = snprintf(out_text, SIRIXCTL_PROGRESS_BYTES_MAX, "%s %3u%% [%s] %s of %s  %s/s%s",
                       label, (unsigned)(part * 100), bar, done, total, rate, left);
    }
    return len < 0 ? 0 : (size_t)len;
}

void sirixctl_progress_add(struct sirixctl_progress *progress, uint64_t bytes)
{
    char text[SIRIXCTL_PROGRESS_BYTES_MAX];

    progress->done_bytes += bytes;
    if (!progress->shown) {
        return;
    }
    uint64_t now = now_ns();
    if (now - progress->drawn_ns < draw_each_ns) {
        return;
    }
    progress->drawn_ns = now;
    (void)sirixctl_progress_format(progress, now - progress->start_ns, text);
    (void)fprintf(stderr, "\r%s\033[K", text);
}

void sirixctl_progress_stop(struct sirixctl_progress *progress)
{
    if (progress->shown && progress->drawn_ns != 0) {
        (void)fputs("\r\033[K", stderr);
    }
    progress->shown = false;
}
