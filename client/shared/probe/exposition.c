/* Lines of text, one after the other. */
#include "probe/exposition.h"

#include <inttypes.h>

enum { US_PER_SECOND = 1000000 };

static bool goes_on(const struct sirix_exposition *exposition)
{
    return exposition->status == SIRIX_OK;
}

void sirix_exposition_family(struct sirix_exposition *exposition, const char *name,
                             const char *type, const char *help)
{
    if (goes_on(exposition)) {
        exposition->status = sirix_buf_printf(exposition->out, NULL, "# HELP %s %s\n# TYPE %s %s\n",
                                              name, help, name, type);
    }
}

void sirix_exposition_number(struct sirix_exposition *exposition, const char *name,
                             const char *labels, uint64_t value)
{
    if (goes_on(exposition)) {
        exposition->status =
            sirix_buf_printf(exposition->out, NULL, "%s%s %" PRIu64 "\n", name, labels, value);
    }
}

void sirix_exposition_seconds(struct sirix_exposition *exposition, const char *name,
                              const char *labels, uint64_t value_us)
{
    if (goes_on(exposition)) {
        exposition->status =
            sirix_buf_printf(exposition->out, NULL, "%s%s %" PRIu64 ".%06" PRIu64 "\n", name,
                             labels, value_us / US_PER_SECOND, value_us % US_PER_SECOND);
    }
}

void sirix_exposition_one(struct sirix_exposition *exposition, const char *name, const char *type,
                          const char *help, uint64_t value)
{
    sirix_exposition_family(exposition, name, type, help);
    sirix_exposition_number(exposition, name, "", value);
}

static void put_bucket(struct sirix_exposition *exposition, const char *name, const char *label,
                       const uint64_t *bounds, unsigned bucket, uint64_t below)
{
    const char *comma = label[0] == '\0' ? "" : ",";

    if (!goes_on(exposition)) {
        return;
    }
    if (bucket == SIRIX_HISTOGRAM_BUCKETS) {
        exposition->status =
            sirix_buf_printf(exposition->out, NULL, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n",
                             name, label, comma, below);
    } else if (bounds == sirix_histogram_times_us) {
        exposition->status = sirix_buf_printf(
            exposition->out, NULL, "%s_bucket{%s%sle=\"%" PRIu64 ".%06" PRIu64 "\"} %" PRIu64 "\n",
            name, label, comma, bounds[bucket] / US_PER_SECOND, bounds[bucket] % US_PER_SECOND,
            below);
    } else {
        exposition->status = sirix_buf_printf(exposition->out, NULL,
                                              "%s_bucket{%s%sle=\"%" PRIu64 "\"} %" PRIu64 "\n",
                                              name, label, comma, bounds[bucket], below);
    }
}

void sirix_exposition_histogram(struct sirix_exposition *exposition, const char *name,
                                const char *label, const uint64_t *bounds,
                                const struct sirix_histogram_reading *reading)
{
    const char *open = label[0] == '\0' ? "" : "{";
    const char *close = label[0] == '\0' ? "" : "}";
    uint64_t below = 0;

    for (unsigned i = 0; i <= SIRIX_HISTOGRAM_BUCKETS; i++) {
        below += reading->counts[i];
        put_bucket(exposition, name, label, bounds, i, below);
    }
    if (!goes_on(exposition)) {
        return;
    }
    if (bounds == sirix_histogram_times_us) {
        exposition->status = sirix_buf_printf(
            exposition->out, NULL, "%s_sum%s%s%s %" PRIu64 ".%06" PRIu64 "\n", name, open, label,
            close, reading->sum / US_PER_SECOND, reading->sum % US_PER_SECOND);
    } else {
        exposition->status = sirix_buf_printf(exposition->out, NULL, "%s_sum%s%s%s %" PRIu64 "\n",
                                              name, open, label, close, reading->sum);
    }
    if (goes_on(exposition)) {
        exposition->status = sirix_buf_printf(exposition->out, NULL, "%s_count%s%s%s %" PRIu64 "\n",
                                              name, open, label, close, reading->total);
    }
}
