/* Which texts are a trace, and what is taken of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/runtime/observe.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static void a_trace_and_its_span_are_taken(void **state)
{
    static const char *const good[] = {"00-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-00",
                                       "01-" TRACE "-" SPAN "-01-more"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct sirix_rpc_trace trace = {.trace_id = ""};
        assert_true(sirix_rpc_traceparent_parse(good[i], strlen(good[i]), &trace));
        assert_string_equal(trace.trace_id, TRACE);
        assert_string_equal(trace.span_id, SPAN);
    }
}

static void anything_else_is_none(void **state)
{
    static const char *const bad[] = {
        "",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-0",
        "00-" TRACE "-" SPAN "-01-more",
        "ff-" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473\n-" SPAN "-01",
        "00-" TRACE "-" SPAN "-zz",
        "01-" TRACE "-" SPAN "-01more",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sirix_rpc_trace trace = {.trace_id = ""};
        assert_false(sirix_rpc_traceparent_parse(bad[i], strlen(bad[i]), &trace));
        assert_string_equal(trace.trace_id, "");
        assert_string_equal(trace.span_id, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_and_its_span_are_taken),
        cmocka_unit_test(anything_else_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
