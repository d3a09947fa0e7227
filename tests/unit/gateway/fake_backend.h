/* A backend that is made up, for tests: counts calls, fails on demand, has a long list. */
#ifndef SIRIX_TESTS_UNIT_GATEWAY_FAKE_BACKEND_H
#define SIRIX_TESTS_UNIT_GATEWAY_FAKE_BACKEND_H

#include <stdatomic.h>

#include "backend/backend.h"

enum { FAKE_DATABASES = 1000, FAKE_PAGE = 64 };

struct fake_backend {
    int calls;
    enum sirix_status status; /* What every call returns unless it is SIRIX_OK. */
    enum sirix_reason reason;
    const char *sentence;
    uint32_t deadline_ms; /* Of the last call. */
    void (*before)(void); /* Called by each call first, on its thread; NULL: nothing. */
};

extern struct fake_backend fake;

/* Whether the call that came last was cancelled by its caller; while it runs. */
bool fake_is_cancelled(void);

#endif
