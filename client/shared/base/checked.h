/* Sums and products of sizes that tell when they do not fit. *out is written on true only. */
#ifndef SIRIX_BASE_CHECKED_H
#define SIRIX_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool sirix_add_size(size_t a, size_t b, size_t *out)
{
    size_t sum = 0;
    bool fits = !__builtin_add_overflow(a, b, &sum);

    if (fits) {
        *out = sum;
    }
    return fits;
}

static inline bool sirix_mul_size(size_t a, size_t b, size_t *out)
{
    size_t product = 0;
    bool fits = !__builtin_mul_overflow(a, b, &product);

    if (fits) {
        *out = product;
    }
    return fits;
}

static inline bool sirix_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum = 0;
    bool fits = !__builtin_add_overflow(a, b, &sum);

    if (fits) {
        *out = sum;
    }
    return fits;
}

static inline bool sirix_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product = 0;
    bool fits = !__builtin_mul_overflow(a, b, &product);

    if (fits) {
        *out = product;
    }
    return fits;
}

static inline bool sirix_add_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum = 0;
    bool fits = !__builtin_add_overflow(a, b, &sum);

    if (fits) {
        *out = sum;
    }
    return fits;
}

static inline bool sirix_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t product = 0;
    bool fits = !__builtin_mul_overflow(a, b, &product);

    if (fits) {
        *out = product;
    }
    return fits;
}

#endif
