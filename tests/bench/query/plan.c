/*
 * Parsing and planning alone: microseconds a query, of short and of typical ones.
 *
 *     bench_plan [ROUNDS]
 */
#include <stdio.h>

#include "bench/common/measure.h"
#include "query/query.h"

static const struct {
    const char *name;
    const char *text;
} queries[] = {
    {"short_us", "jn:doc('mydb','users').users[0].name"},
    {"typical_us", "for $u in jn:doc('mydb','users').users[]\n"
                   "let $total := sum($u.orders[].total)\n"
                   "where $u.age ge 18 and $u.country = ('DE', 'FR', 'IT')\n"
                   "group by $country := $u.country\n"
                   "order by count($u) descending, $country\n"
                   "return {\"country\": $country, \"users\": count($u), \"mean\": avg($u.age),\n"
                   "        \"total\": sum($total), \"names\": [ $u.name ]}"},
    {"join_us", "for $o in jn:doc('shop','orders')[], $c in jn:doc('shop','customers')[]\n"
                "where $o.customer eq $c.id and $c.active\n"
                "return {\"order\": $o.id, \"name\": upper-case($c.name), \"lines\":\n"
                "        for $l in $o.lines[] where $l.count gt 1 return $l{sku, count}}"},
};

int main(int argc, char **argv)
{
    const size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;

    bench_check(rounds != 0, "the number of rounds");
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        struct bench_times times = {0};

        for (size_t round = 0; round < rounds; round++) {
            const struct sirix_query_options options = {.text = bench_bytes(queries[i].text)};
            struct sirix_query *query = NULL;
            struct sirix_query_error err = {0};
            const double start = bench_wall_s();

            bench_must(sirix_query_prepare(&options, &query, &err), &err.base);
            bench_times_add(&times, (bench_wall_s() - start) * 1e6);
            sirix_query_close(query);
        }
        bench_print(queries[i].name, bench_times_at(&times, 0.5));
        bench_times_deinit(&times);
    }
    return 0;
}
