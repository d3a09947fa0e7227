/* GMP in an arena, and exact numbers to and from its form. */
#include "query/value/big.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* One run of a body; GMP's allocator finds it here. */
struct run {
    struct sirix_arena *arena;
    enum sirix_status status;
    struct sirix_query_error *err;
    jmp_buf out_of_memory;
};

static _Thread_local struct run *current;
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

/* Outside of a run GMP is not ours: whoever uses it gets plain memory, as without us. */
static void *give(size_t size)
{
    void *memory = NULL;

    if (current == NULL) {
        memory = malloc(size);
        if (memory == NULL) {
            abort(); /* What GMP itself does. */
        }
        return memory;
    }
    current->status = sirix_arena_alloc(current->arena, size, &memory,
                                        current->err == NULL ? NULL : &current->err->base);
    if (current->status != SIRIX_OK) {
        longjmp(current->out_of_memory, 1);
    }
    return memory;
}

static void *give_again(void *old, size_t old_size, size_t size)
{
    if (current == NULL) {
        void *memory = realloc(old, size);

        if (memory == NULL) {
            abort();
        }
        return memory;
    }
    if (size <= old_size) {
        return old;
    }
    void *memory = give(size);

    memcpy(memory, old, old_size);
    return memory;
}

static void take_back(void *memory, size_t size)
{
    (void)size;
    if (current == NULL) {
        free(memory);
    }
}

static void set_hooks(void)
{
    mp_set_memory_functions(give, give_again, take_back);
}

enum sirix_status sirix_big_run(struct sirix_work *work, sirix_big_body_fn body, void *context,
                                struct sirix_query_error *err)
{
    struct run run = {.arena = work->scratch, .status = SIRIX_OK, .err = err};
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);

    assert(current == NULL);

    (void)pthread_once(&hooks_once, set_hooks); /* Fails for a bad argument only. */
    current = &run;
    if (setjmp(run.out_of_memory) == 0) {
        run.status = body(context, err);
    }
    current = NULL;
    sirix_arena_rewind(work->scratch, mark);
    return run.status;
}

void sirix_big_power10(mpz_t to, uint32_t exponent)
{
    mpz_init(to);
    mpz_ui_pow_ui(to, 10, exponent);
}

void sirix_big_load(mpz_t to, uint32_t *out_scale, struct sirix_item item)
{
    if (item.kind == SIRIX_ITEM_BIG_INTEGER || item.kind == SIRIX_ITEM_BIG_DECIMAL) {
        mpz_t view;

        mpz_init_set(to, mpz_roinit_n(view, item.value.big->limbs, item.value.big->size));
        *out_scale = item.value.big->scale;
        return;
    }
    assert(item.kind == SIRIX_ITEM_INTEGER || item.kind == SIRIX_ITEM_DECIMAL);

    mpz_init_set_si(to, (long)item.value.integer);
    *out_scale = item.kind == SIRIX_ITEM_DECIMAL ? item.scale : 0;
}

void sirix_big_load_double(mpz_t to, uint32_t *out_scale, double value)
{
    int exponent = 0;
    double fraction = frexp(value, &exponent); /* value = fraction * 2^exponent. */

    /* 53 bits of the fraction as an integer, and what is left of the power of two. */
    mpz_init_set_d(to, ldexp(fraction, 53));
    exponent -= 53;
    *out_scale = 0;
    if (exponent >= 0) {
        mpz_mul_2exp(to, to, (mp_bitcnt_t)exponent);
        return;
    }
    mp_bitcnt_t twos = mpz_sgn(to) == 0 ? 0 : mpz_scan1(to, 0);
    mp_bitcnt_t down = twos < (mp_bitcnt_t)-exponent ? twos : (mp_bitcnt_t)-exponent;

    mpz_tdiv_q_2exp(to, to, down);
    uint32_t left = (uint32_t)((mp_bitcnt_t)-exponent - down);
    if (mpz_sgn(to) == 0 || left == 0) {
        return;
    }
    /* m / 2^n is m * 5^n / 10^n. */
    mpz_t fives;

    mpz_init(fives);
    mpz_ui_pow_ui(fives, 5, left);
    mpz_mul(to, to, fives);
    *out_scale = left;
}

/* Takes zeros off the end of the digits behind the point. */
static void strip_zeros(mpz_t value, uint32_t *scale)
{
    mpz_t quotient;
    mpz_t power;

    if (mpz_sgn(value) == 0) {
        *scale = 0;
        return;
    }
    if (mpz_fdiv_ui(value, 10) != 0) { /* Most numbers have none. */
        return;
    }
    mpz_init(quotient);
    mpz_init(power);
    for (uint32_t step = UINT32_C(1) << 17; step != 0; step /= 2) { /* Above any scale allowed. */
        if (step > *scale) {
            continue;
        }
        mpz_ui_pow_ui(power, 10, step);
        if (mpz_divisible_p(value, power) != 0) {
            mpz_divexact(value, value, power);
            *scale -= step;
        }
    }
}

enum sirix_status sirix_big_store(struct sirix_work *work, mpz_t value, uint32_t scale,
                                  enum sirix_type type, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    struct sirix_item item = {.type = (uint8_t)type};
    bool is_integer = sirix_type_derives(type, SIRIX_TYPE_INTEGER);

    if (scale != 0) {
        strip_zeros(value, &scale);
    }
    size_t digits = mpz_sizeinbase(value, 10); /* Exact or one too many. */
    if (scale > SIRIX_NUMBER_DIGITS_MAX || digits > (size_t)SIRIX_NUMBER_DIGITS_MAX + scale) {
        return sirix_query_fail_limit(err, "number_digits", "a number has more than %d digits",
                                      SIRIX_NUMBER_DIGITS_MAX);
    }
    if (scale <= 18 && mpz_fits_slong_p(value) != 0) {
        item.kind = is_integer ? SIRIX_ITEM_INTEGER : SIRIX_ITEM_DECIMAL;
        item.scale = (uint8_t)scale;
        item.value.integer = mpz_get_si(value);
        *out = item;
        return SIRIX_OK;
    }

    size_t limbs = mpz_size(value);
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc(
        work->arena, sizeof(struct sirix_big) + limbs * sizeof(mp_limb_t), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_big *big = memory;

    big->size = mpz_sgn(value) < 0 ? -(int32_t)limbs : (int32_t)limbs;
    big->scale = scale;
    memcpy(big->limbs, mpz_limbs_read(value), limbs * sizeof(mp_limb_t));
    item.kind = is_integer ? SIRIX_ITEM_BIG_INTEGER : SIRIX_ITEM_BIG_DECIMAL;
    item.value.big = big;
    *out = item;
    return SIRIX_OK;
}

void sirix_big_align(mpz_t a, uint32_t a_scale, mpz_t b, uint32_t b_scale, uint32_t *out_scale)
{
    mpz_t power;

    if (a_scale < b_scale) {
        sirix_big_power10(power, b_scale - a_scale);
        mpz_mul(a, a, power);
        a_scale = b_scale;
    } else if (b_scale < a_scale) {
        sirix_big_power10(power, a_scale - b_scale);
        mpz_mul(b, b, power);
    }
    *out_scale = a_scale;
}

/* Whether the quotient of a floor division moves up by one. */
static bool rounds_up(const mpz_t quotient, const mpz_t rest, const mpz_t divisor, int sign,
                      enum sirix_rounding rounding)
{
    if (mpz_sgn(rest) == 0 || rounding == SIRIX_ROUND_FLOOR) {
        return false;
    }
    if (rounding == SIRIX_ROUND_CEILING) {
        return true;
    }
    if (rounding == SIRIX_ROUND_TRUNCATE) {
        return sign < 0;
    }
    mpz_t twice;

    mpz_init(twice);
    mpz_mul_2exp(twice, rest, 1);
    int half = mpz_cmp(twice, divisor);
    if (half != 0) {
        return half > 0;
    }
    if (rounding == SIRIX_ROUND_HALF_EVEN) {
        return mpz_odd_p(quotient) != 0;
    }
    return rounding == SIRIX_ROUND_HALF_UP || sign > 0;
}

void sirix_big_divide(mpz_t out, const mpz_t value, const mpz_t divisor,
                      enum sirix_rounding rounding)
{
    mpz_t rest;

    mpz_init(out);
    mpz_init(rest);
    mpz_fdiv_qr(out, rest, value, divisor);
    if (rounds_up(out, rest, divisor, mpz_sgn(value), rounding)) {
        mpz_add_ui(out, out, 1);
    }
}
