/* Write turns: first come first served, one at a time, and no waiting without an end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "service/cancel.h"
#include "service/turns.h"

enum { WAITERS = 20, THREADS = 8, ROUNDS = 500, LONG_MS = 600000, SHORT_MS = 20 };

static char database; /* Its address is a database's. */

/* A writer, and what it was told. */
struct writer {
    struct sirix_turn turn;
    enum sirix_status status;
    struct sirix_error err;
    unsigned order; /* From 1; 0: not told yet. */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static unsigned told_count;

static void on_granted(struct sirix_turn *turn, enum sirix_status status,
                       const struct sirix_error *err)
{
    struct writer *writer = (struct writer *)turn;

    (void)pthread_mutex_lock(&mutex);
    writer->status = status;
    if (err != NULL) {
        writer->err = *err;
    }
    writer->order = ++told_count;
    (void)pthread_cond_broadcast(&told);
    (void)pthread_mutex_unlock(&mutex);
}

static void wait_until_told(const struct writer *writer)
{
    (void)pthread_mutex_lock(&mutex);
    while (writer->order == 0) {
        (void)pthread_cond_wait(&told, &mutex);
    }
    (void)pthread_mutex_unlock(&mutex);
}

static struct writer make(uint32_t resource, uint64_t branch)
{
    return (struct writer){
        .turn = {.key = {.database = &database, .resource = resource, .branch = branch},
                 .granted = on_granted}};
}

static bool take(struct sirix_turns *turns, struct writer *writer)
{
    bool waits = false;

    assert_int_equal(sirix_turns_take(turns, &writer->turn, UINT64_MAX, &waits, NULL), SIRIX_OK);
    return waits;
}

static struct sirix_turns *start(uint32_t timeout_ms)
{
    struct sirix_turns *turns = NULL;

    told_count = 0;
    assert_int_equal(sirix_turns_start(timeout_ms, &turns, NULL), SIRIX_OK);
    return turns;
}

static void turns_are_granted_in_the_order_of_asking(void **state)
{
    struct sirix_turns *turns = start(LONG_MS);
    struct writer first = make(1, 0);
    struct writer waiting[WAITERS];

    (void)state;
    assert_false(take(turns, &first));
    for (int i = 0; i < WAITERS; i++) {
        waiting[i] = make(1, 0);
        assert_true(take(turns, &waiting[i]));
    }
    assert_int_equal(sirix_turns_waiting(turns), WAITERS);

    sirix_turns_release(turns, &first.turn);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiting[i].order, i + 1);
        assert_int_equal(waiting[i].status, SIRIX_OK);
        assert_int_equal(told_count, i + 1); /* Nobody after it was told. */
        sirix_turns_release(turns, &waiting[i].turn);
    }
    assert_int_equal(sirix_turns_waiting(turns), 0);
    sirix_turns_stop(turns);
}

static void other_branches_and_resources_do_not_wait(void **state)
{
    struct sirix_turns *turns = start(LONG_MS);
    struct writer writers[] = {make(1, 0), make(1, 1), make(2, 0), make(2, 1)};
    char other_database = 0;
    struct writer elsewhere = make(1, 0);

    (void)state;
    elsewhere.turn.key.database = &other_database;
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        assert_false(take(turns, &writers[i]));
    }
    assert_false(take(turns, &elsewhere));
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        sirix_turns_release(turns, &writers[i].turn);
    }
    sirix_turns_release(turns, &elsewhere.turn);
    sirix_turns_stop(turns);
}

static void who_waits_too_long_is_told_its_place(void **state)
{
    struct sirix_turns *turns = start(SHORT_MS);
    struct writer holder = make(1, 0);
    struct writer second = make(1, 0);
    struct writer third = make(1, 0);

    (void)state;
    assert_false(take(turns, &holder));
    assert_true(take(turns, &second));
    assert_true(take(turns, &third));
    wait_until_told(&second);
    wait_until_told(&third);

    assert_int_equal(second.status, SIRIX_DEADLINE);
    assert_int_equal(second.err.reason, SIRIX_REASON_QUEUE_TIMEOUT);
    assert_non_null(strstr(second.err.text, "at place 1"));
    assert_int_equal(second.err.queue_place, 1);
    assert_int_equal(third.status, SIRIX_DEADLINE);
    assert_int_equal(second.err.retry_after_ms, SHORT_MS);
    sirix_turns_release(turns, &holder.turn);
    sirix_turns_release(turns, &second.turn); /* Never held: nothing. */
    assert_int_equal(told_count, 2);
    sirix_turns_stop(turns);
}

static void a_deadline_before_the_queues_own_ends_the_waiting(void **state)
{
    struct sirix_turns *turns = start(LONG_MS);
    struct writer holder = make(1, 0);
    struct writer patient = make(1, 0);
    struct writer hurried = make(1, 0);
    bool waits = false;

    (void)state;
    assert_false(take(turns, &holder));
    assert_true(take(turns, &patient));
    assert_int_equal(
        sirix_turns_take(turns, &hurried.turn, sirix_cancel_now_us() + 1000, &waits, NULL),
        SIRIX_OK);
    assert_true(waits);
    wait_until_told(&hurried);

    assert_int_equal(hurried.status, SIRIX_DEADLINE);
    assert_non_null(strstr(hurried.err.text, "at place 2"));
    assert_int_equal(hurried.err.queue_place, 2);
    assert_int_equal(patient.order, 0);
    sirix_turns_release(turns, &holder.turn);
    assert_int_equal(patient.status, SIRIX_OK);
    sirix_turns_release(turns, &patient.turn);
    sirix_turns_stop(turns);
}

static void who_withdraws_is_never_told(void **state)
{
    struct sirix_turns *turns = start(LONG_MS);
    struct writer holder = make(1, 0);
    struct writer gone[3] = {make(1, 0), make(1, 0), make(1, 0)};
    struct writer stays = make(1, 0);

    (void)state;
    assert_false(take(turns, &holder));
    assert_true(take(turns, &gone[0]));
    assert_true(take(turns, &stays));
    assert_true(take(turns, &gone[1]));
    assert_true(take(turns, &gone[2]));
    for (int i = 2; i >= 0; i--) {
        assert_true(sirix_turns_withdraw(turns, &gone[i].turn));
        assert_false(sirix_turns_withdraw(turns, &gone[i].turn));
    }

    sirix_turns_release(turns, &holder.turn);
    assert_int_equal(stays.order, 1);
    assert_false(sirix_turns_withdraw(turns, &stays.turn)); /* It has been granted. */
    sirix_turns_release(turns, &stays.turn);
    assert_int_equal(told_count, 1);
    sirix_turns_stop(turns);
}

static struct sirix_turns *shared;
static int inside; /* Guarded by the turn alone: the thread sanitizer is the judge. */
static int done;

static void *write_often(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        struct writer writer = make(1, 0);
        if (take(shared, &writer)) {
            wait_until_told(&writer);
        }
        inside++;
        if (inside == 1) {
            done++;
        }
        inside--;
        sirix_turns_release(shared, &writer.turn);
    }
    return NULL;
}

static void one_writer_is_inside_at_a_time(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    shared = start(LONG_MS);
    inside = 0;
    done = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }

    assert_int_equal(done, THREADS * ROUNDS);
    sirix_turns_stop(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_granted_in_the_order_of_asking),
        cmocka_unit_test(other_branches_and_resources_do_not_wait),
        cmocka_unit_test(who_waits_too_long_is_told_its_place),
        cmocka_unit_test(a_deadline_before_the_queues_own_ends_the_waiting),
        cmocka_unit_test(who_withdraws_is_never_told),
        cmocka_unit_test(one_writer_is_inside_at_a_time),
    };
    return cmocka_run_group_tests_name("service turns", tests, NULL, NULL);
}
