/* Limiting calls. */
#include "guard/rate.h"

enum { NS_PER_MS = 1000 * 1000 };

static const uint64_t ns_per_s = UINT64_C(1000) * 1000 * 1000;

bool sirix_rate_take(struct sirix_rate *rate, uint64_t per_minute, const struct sirix_clock *clock,
                     uint64_t *out_wait_ms)
{
    const uint64_t now = sirix_clock_monotonic_ns(clock);
    const uint64_t cost = 60 * ns_per_s / per_minute;
    /* One call at least, however seldom they may come. */
    const uint64_t depth = cost > ns_per_s ? cost : ns_per_s;
    uint64_t full_at = atomic_load(&rate->full_at_ns);
    uint64_t next = 0;

    do {
        next = (full_at > now ? full_at : now) + cost;
        if (next - now > depth) {
            *out_wait_ms = (next - now - depth + NS_PER_MS - 1) / NS_PER_MS;
            return false;
        }
    } while (!atomic_compare_exchange_weak(&rate->full_at_ns, &full_at, next));
    return true;
}

bool sirix_rate_enter(struct sirix_rate *rate, uint64_t max)
{
    if (atomic_fetch_add(&rate->running, 1) < max) {
        return true;
    }
    sirix_rate_leave(rate);
    return false;
}

void sirix_rate_leave(struct sirix_rate *rate)
{
    (void)atomic_fetch_sub(&rate->running, 1);
}
