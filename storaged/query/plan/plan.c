/* Names of plan nodes. */
#include "query/plan/plan.h"

const char *sirix_plan_kind_name(enum sirix_plan_kind kind)
{
    static const char *const names[] = {
#define SIRIX_X(upper, lower) #lower,
        SIRIX_PLAN_KIND_LIST(SIRIX_X)
#undef SIRIX_X
    };

    return (unsigned)kind < SIRIX_PLAN_KIND_COUNT ? names[kind] : "unknown";
}
