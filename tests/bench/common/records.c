#include "bench/common/records.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

enum { RECORD_BYTES_MAX = 1024 };

void records_init(struct records *records, uint64_t seed, uint64_t bytes_max, bool lines)
{
    *records = (struct records){.random = seed, .bytes_max = bytes_max, .lines = lines};
}

static uint64_t next(struct records *records, uint64_t limit)
{
    records->random += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(records->random) % limit;
}

static const char *pick(struct records *records, const char *const *from, size_t count)
{
    return from[next(records, count)];
}

static size_t one(struct records *records, char *to)
{
    static const char *const first[] = {"Ada", "Grace", "Alan", "Edsger", "Barbara", "Tony"};
    static const char *const last[] = {"Lovelace", "Hopper", "Turing",
                                       "Dijkstra", "Liskov", "Hoare"};
    static const char *const city[] = {"Konstanz", "Boston", "Kyoto", "Lagos", "Quito", "Oslo"};
    static const char *const tag[] = {"alpha", "beta", "gamma", "delta", "epsilon"};
    static const char *const state[] = {"active", "blocked", "pending"};
    uint64_t id = records->next_id++;

    return (size_t)snprintf(
        to, RECORD_BYTES_MAX,
        "{\"id\":%" PRIu64 ",\"user\":{\"name\":\"%s %s\",\"email\":\"u%" PRIu64
        "@example.org\",\"age\":%" PRIu64 ",\"address\":{\"city\":\"%s\",\"zip\":\"%05" PRIu64
        "\",\"geo\":[%" PRIu64 ".%06" PRIu64 ",-%" PRIu64 ".%06" PRIu64
        "]}},\"tags\":[\"%s\",\"%s\",\"%s\"],\"balance\":%" PRIu64 ".%02" PRIu64
        ",\"active\":%s,\"state\":\"%s\",\"manager\":%s,\"scores\":[%" PRIu64 ",%" PRIu64
        ",%" PRIu64 ",%" PRIu64 "],\"created\":\"2026-%02" PRIu64 "-%02" PRIu64 "T%02" PRIu64
        ":00:00Z\",\"note\":\"line %" PRIu64 "\\nsecond\"}",
        id, pick(records, first, 6), pick(records, last, 6), id, 18 + next(records, 60),
        pick(records, city, 6), next(records, 100000), next(records, 90), next(records, 1000000),
        next(records, 180), next(records, 1000000), pick(records, tag, 5), pick(records, tag, 5),
        pick(records, tag, 5), next(records, 100000), next(records, 100),
        next(records, 2) == 0 ? "true" : "false", pick(records, state, 3),
        next(records, 4) == 0 ? "null" : "7", next(records, 100), next(records, 100),
        next(records, 1000), next(records, 10), 1 + next(records, 12), 1 + next(records, 28),
        next(records, 24), next(records, 1000));
}

size_t records_next(struct records *records, char *to, size_t cap)
{
    size_t len = 0;

    while (records->state != 2 && cap - len > RECORD_BYTES_MAX) {
        /* Both forms have as many bytes but for one, so they hold the same records. */
        if (records->state == 1 && records->bytes + len >= records->bytes_max) {
            to[len++] = records->lines ? '\n' : ']';
            records->state = 2;
            break;
        }
        if (records->state == 1 || !records->lines) {
            to[len++] = records->lines ? '\n' : records->state == 0 ? '[' : ',';
        } else {
            records->bytes++; /* The bracket of the other form. */
        }
        records->state = 1;
        len += one(records, to + len);
    }
    records->bytes += len;
    return len;
}
