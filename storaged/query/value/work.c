/* The beginning of a piece of query work. */
#include "query/value/work.h"

#include <time.h>

enum sirix_status sirix_work_init(struct sirix_work *work, struct sirix_arena *arena,
                                  struct sirix_arena *scratch, struct sirix_query_error *err)
{
    struct timespec now = {0};
    struct sirix_work made = {.arena = arena, .scratch = scratch};
    enum sirix_status status =
        sirix_random_bytes(made.hash_key.bytes, sizeof(made.hash_key.bytes), &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now); /* Cannot fail for this clock. */
    made.now_seconds = (int64_t)now.tv_sec;
    made.now_nanoseconds = (uint32_t)now.tv_nsec;
    *work = made;
    return SIRIX_OK;
}
