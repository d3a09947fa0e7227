/* Health: alive and ready are told apart, and draining is for good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/health.h"

struct seen {
    int count;
    bool alive;
    bool ready;
};

static void note(void *context, bool alive, bool ready)
{
    struct seen *seen = context;

    seen->count++;
    seen->alive = alive;
    seen->ready = ready;
}

static void changes_are_told_once_and_draining_is_for_good(void **state)
{
    struct sirix_health health;
    struct seen seen = {0};

    (void)state;
    sirix_health_init(&health, note, &seen);
    assert_true(seen.count == 1 && seen.alive && !seen.ready);
    sirix_health_set(&health, SIRIX_HEALTH_SERVING);
    sirix_health_set(&health, SIRIX_HEALTH_SERVING);
    assert_true(seen.count == 2 && seen.alive && seen.ready);
    sirix_health_set(&health, SIRIX_HEALTH_DRAINING);
    assert_true(seen.count == 3 && !seen.alive && !seen.ready);
    sirix_health_set(&health, SIRIX_HEALTH_SERVING);
    assert_int_equal(seen.count, 3);
    assert_int_equal(sirix_health_get(&health), SIRIX_HEALTH_DRAINING);
    sirix_health_deinit(&health);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told_once_and_draining_is_for_good),
    };
    return cmocka_run_group_tests_name("ops health", tests, NULL, NULL);
}
