/* Short words for the gateway's tests. */
#ifndef SIRIX_TESTS_UNIT_GATEWAY_HELP_H
#define SIRIX_TESTS_UNIT_GATEWAY_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "base/status.h"

/* A length of array elements. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline struct sirix_bytes text(const char *chars)
{
    return (struct sirix_bytes){.data = chars, .len = strlen(chars)};
}

static inline void assert_text(struct sirix_bytes found, const char *wanted)
{
    if (found.len != strlen(wanted) ||
        (found.len != 0 && memcmp(found.data, wanted, found.len) != 0)) {
        fail_msg("\"%.*s\" instead of \"%s\"", (int)found.len,
                 found.len == 0 ? "" : (const char *)found.data, wanted);
    }
}

#endif
