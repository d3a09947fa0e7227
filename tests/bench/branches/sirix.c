/*
 * The workflows on storaged, over gRPC: all tables are one document, a branch is a branch of it, a
 * statement is one call and one revision. All workers share one connection.
 *
 * Rows that are named are changed by JSON patches, sets of rows by updating queries.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "bench/branches/workload.h"
#include "bench/common/measure.h"
#include "sirix/sirix.h"

enum {
    TEXT_BYTES = 1024,
    QUERY_BYTES_MAX = 1024 * 1024,
    DEADLINE_MS = 600000,
    FULL_PAUSE_NS = 5 * 1000 * 1000,
};

static const char database[] = "bench";
static const char resource[] = "tables";
static const struct sirix_call_options patient = {.deadline_ms = DEADLINE_MS};

static struct branches_scale sizes; /* Bound at the first opening, as the client is. */
static struct sirix_client *shared;
static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *open_client(const char *where, const struct branches_scale *scale)
{
    struct sirix_error err = {0};

    (void)pthread_mutex_lock(&shared_mutex);
    if (shared == NULL) {
        sizes = *scale;
        bench_must(sirix_client_open(where, NULL, &shared, &err), &err);
    }
    (void)pthread_mutex_unlock(&shared_mutex);
    return shared;
}

static void close_client(void *connection)
{
    (void)connection; /* It is the process's, and ends with it. */
}

/*
 * Whether a call is over. A database serves so many readers at once, which 1,000 workers pass: whoever
 * finds no room asks again soon.
 */
static bool settled(enum sirix_status status, const struct sirix_error *err)
{
    const struct timespec pause = {.tv_nsec = FULL_PAUSE_NS};

    if (status == SIRIX_EXHAUSTED) {
        (void)nanosleep(&pause, NULL);
        return false;
    }
    bench_must(status, err);
    return true;
}

static void create(void *connection, const char *branch, const char *parent)
{
    const struct sirix_create_branch_request request = {
        .database = database,
        .resource = resource,
        .name = branch,
        .view = {.kind = SIRIX_VIEW_BRANCH, .name = parent},
    };
    struct sirix_create_branch_result *result = NULL;
    struct sirix_error err = {0};

    while (
        !settled(sirix_client_create_branch(connection, &request, &patient, &result, &err), &err)) {
    }
    sirix_client_free(result);
}

static void connect_to(void *connection, const char *branch)
{
    const struct sirix_read_node_request request = {
        .database = database,
        .resource = resource,
        .view = {.kind = SIRIX_VIEW_BRANCH, .name = branch},
        .target = {.path = bench_bytes("/warehouse/1")},
        .has_max_depth = true,
    };
    struct sirix_node_page *page = NULL;
    struct sirix_error err = {0};

    while (!settled(sirix_client_read_node(connection, &request, &patient, &page, &err), &err)) {
    }
    sirix_client_free(page);
}

static void drop(void *connection, const char *branch)
{
    const struct sirix_delete_name_request request = {
        .database = database, .resource = resource, .name = branch};
    struct sirix_error err = {0};

    while (!settled(sirix_client_delete_branch(connection, &request, &patient, NULL, &err), &err)) {
    }
}

/* --- Statements ---------------------------------------------------------------------------------- */

static void SIRIX_PRINTF(3, 4)
    patch(struct sirix_client *client, const char *branch, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    bench_check(len > 0 && (size_t)len < sizeof(text), "writing a patch");
    const struct sirix_apply_request request = {
        .database = database,
        .resource = resource,
        .branch = branch,
        .source = SIRIX_APPLY_JSON_PATCH,
        .json_patch = {.data = text, .len = (size_t)len},
    };
    struct sirix_apply_result *result = NULL;
    struct sirix_error err = {0};
    while (!settled(sirix_client_apply(client, &request, &patient, &result, &err), &err)) {
    }
    sirix_client_free(result);
}

static void SIRIX_PRINTF(3, 4)
    update(struct sirix_client *client, const char *branch, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    bench_check(len > 0 && (size_t)len < sizeof(text), "writing a query");
    const struct sirix_update_query_request request = {
        .query = {.data = text, .len = (size_t)len},
        .database = database,
        .resource = resource,
        .branch = branch,
    };
    struct sirix_update_query_result *result = NULL;
    struct sirix_error err = {0};
    while (!settled(sirix_client_update_query(client, &request, &patient, &result, &err), &err)) {
    }
    sirix_client_free(result);
}

/* Statements about sets of rows. */
static void run_on_sets(struct sirix_client *client, const char *branch,
                        const struct branches_statement *s)
{
    switch (s->kind) {
    case BRANCHES_ADD_TIER:
        update(client, branch,
               "for $c in values($$.customer) return insert json {\"tier%u\":null,\"copy%u\":null} "
               "into $c",
               s->column, s->column);
        break;
    case BRANCHES_FILL_TIER:
        update(
            client, branch,
            "for $c in values($$.customer) return (replace json value of $c.tier%u with "
            "(if ($c.balance gt 9000) then \"gold\" else if ($c.balance gt 5000) then \"silver\" "
            "else \"basic\"), replace json value of $c.copy%u with $c.balance)",
            s->column, s->column);
        break;
    case BRANCHES_ADD_CHECKED:
        update(client, branch,
               "for $c in values($$.customer) return insert json {\"checked%u\":false} into $c",
               s->column);
        break;
    case BRANCHES_ZERO_MISSING:
        update(client, branch,
               "for $c in values($$.customer) where $c.balance eq null "
               "return replace json value of $c.balance with 0");
        break;
    case BRANCHES_DELETE_MISSING:
        update(client, branch,
               "let $t := $$.customer for $k in keys($t) where $t.$k.balance eq null "
               "return delete json $t.$k");
        break;
    case BRANCHES_ADD_TO_DISTRICTS:
    case BRANCHES_ADD_TO_WAREHOUSES:
    case BRANCHES_ADD_TO_ORDERS:
        update(client, branch, "for $r in values($$.%s) return insert json {\"added\":0} into $r",
               s->kind == BRANCHES_ADD_TO_DISTRICTS    ? "district"
               : s->kind == BRANCHES_ADD_TO_WAREHOUSES ? "warehouse"
                                                       : "orders");
        break;
    case BRANCHES_DROP_FROM_DISTRICTS:
    case BRANCHES_DROP_FROM_WAREHOUSES:
        update(client, branch, "for $r in values($$.%s) return delete json $r.added",
               s->kind == BRANCHES_DROP_FROM_DISTRICTS ? "district" : "warehouse");
        break;
    default:
        update(client, branch,
               "for $s in values($$.stock.\"%u\") where $s.quantity lt 10 "
               "return replace json value of $s.quantity with 91",
               s->warehouse);
        break;
    }
}

static void run(void *connection, const char *branch, const struct branches_statement *s)
{
    struct sirix_client *client = connection;

    switch (s->kind) {
    case BRANCHES_INSERT_ORDER:
        patch(
            client, branch,
            "[{\"op\":\"add\",\"path\":\"/orders/%u-%u-%u\",\"value\":{\"w\":%u,\"d\":%u,\"o\":%u,"
            "\"c\":%u,\"lines\":%u}},"
            "{\"op\":\"add\",\"path\":\"/order_line/%u-%u-%u\",\"value\":[]}]",
            s->warehouse, s->district, s->order, s->warehouse, s->district, s->order, s->customer,
            s->value, s->warehouse, s->district, s->order);
        break;
    case BRANCHES_SET_BALANCE:
        patch(client, branch,
              "[{\"op\":\"replace\",\"path\":\"/customer/%u-%u-%u/balance\",\"value\":%u.25}]",
              s->warehouse, s->district, s->customer, s->value);
        break;
    case BRANCHES_DELETE_LINES:
        patch(client, branch,
              "[{\"op\":\"replace\",\"path\":\"/order_line/%u-%u-%u\",\"value\":[]}]", s->warehouse,
              s->district, s->order);
        break;
    case BRANCHES_INSERT_LINE:
        patch(client, branch,
              "[{\"op\":\"add\",\"path\":\"/order_line/%u-%u-%u/-\",\"value\":{\"w\":%u,\"d\":%u,"
              "\"o\":%u,\"n\":%u,\"i\":%u,\"quantity\":1,\"amount\":1.50}}]",
              s->warehouse, s->district, s->order, s->warehouse, s->district, s->order, s->line,
              s->item);
        break;
    case BRANCHES_DECREMENT:
        update(client, branch,
               "for $s in $$.stock.\"%u\".\"%u\" where $s.quantity ge %u "
               "return replace json value of $s.quantity with $s.quantity - %u",
               s->warehouse, s->item, s->value, s->value);
        break;
    default:
        run_on_sets(client, branch, s);
        break;
    }
}

/* --- Questions ----------------------------------------------------------------------------------- */

/* The sum of the numbers that a query answers. */
static double sum_of(struct sirix_client *client, const char *branch, struct sirix_bytes text)
{
    const struct sirix_query_request request = {
        .query = text,
        .database = branch != NULL ? database : NULL,
        .resource = branch != NULL ? resource : NULL,
        .view = {.kind = branch != NULL ? SIRIX_VIEW_BRANCH : SIRIX_VIEW_DEFAULT, .name = branch},
    };
    struct sirix_query_stream *stream = NULL;
    struct sirix_query_part part = {.kind = SIRIX_QUERY_PART_ITEMS};
    struct sirix_error err = {0};
    double sum = 0;

    while (!settled(sirix_client_query(client, &request, &patient, &stream, &err), &err)) {
    }
    while (part.kind != SIRIX_QUERY_PART_END) {
        bench_must(sirix_query_stream_next(stream, &part, &err), &err);
        for (size_t i = 0; part.kind == SIRIX_QUERY_PART_ITEMS && i < part.count; i++) {
            char number[64] = "";

            bench_check(part.items[i].json.len < sizeof(number), "reading a number");
            memcpy(number, part.items[i].json.data, part.items[i].json.len);
            sum += strtod(number, NULL);
        }
    }
    sirix_query_stream_close(stream);
    return sum;
}

/* The question of a document; `root` stands for the document in it. */
static int write_question(char *to, size_t size, const char *root, enum branches_question question,
                          unsigned column, unsigned items, unsigned orders)
{
    switch (question) {
    case BRANCHES_NULL_TIERS:
        return snprintf(to, size,
                        "count(for $c in values(%s.customer) where $c.tier%u eq null "
                        "return 1)",
                        root, column);
    case BRANCHES_TIERS:
        return snprintf(to, size,
                        "(for $c in values(%s.customer) let $b := $c.balance "
                        "where $b ne null group by $t := $c.tier%u "
                        "return (count($b), avg($b)))",
                        root, column);
    case BRANCHES_WRONG_COUNTS:
        return snprintf(to, size,
                        "(let $d := %s let $l := $d.order_line "
                        "for $o in values($d.orders) where $o.o gt %u "
                        "let $k := $o.w || \"-\" || $o.d || \"-\" || $o.o "
                        "where size($l.$k) ne $o.lines return 1)",
                        root, orders);
    case BRANCHES_NEGATIVE_BALANCES:
        return snprintf(to, size,
                        "count(for $c in values(%s.customer) where $c.balance lt 0 "
                        "and $c.balance ne null return 1)",
                        root);
    case BRANCHES_MISSING_BALANCES:
        return snprintf(to, size,
                        "(let $c := values(%s.customer) let $p := $c.payment return "
                        "count($c[$$.balance eq null]) + max($p) - min($p))",
                        root);
    case BRANCHES_REVENUE:
        return snprintf(to, size,
                        "(let $d := %s return sum(for $l in members(values($d.order_line)),"
                        " $w in values($d.warehouse) where $l.w eq $w.w return $l.amount))",
                        root);
    case BRANCHES_STOCK_OUTS:
        return snprintf(to, size,
                        "(let $s := for $s in values(values(%s.stock)) where $s.i le %u "
                        "return $s return (count($s[$$.quantity lt 10]), sum($s.cost)))",
                        root, items);
    default:
        return snprintf(to, size,
                        "(let $s := values(values(%s.stock)) let $c := $s.cost return "
                        "(count($s[$$.quantity lt 10]), avg($c), min($c)))",
                        root);
    }
}

static int write_for(char *to, size_t size, const char *root, enum branches_question question,
                     unsigned column)
{
    unsigned orders = sizes.customers > BRANCHES_ORDERS_LOOKED_AT
                          ? sizes.customers - BRANCHES_ORDERS_LOOKED_AT
                          : 0;
    int len = write_question(to, size, root, question, column, sizes.items * 3 / 4, orders);

    bench_check(len > 0 && (size_t)len < size, "writing a question");
    return len;
}

static double ask(void *connection, const char *branch, enum branches_question question,
                  unsigned column)
{
    char text[TEXT_BYTES];
    int len = write_for(text, sizeof(text), "$$", question, column);

    return sum_of(connection, branch, (struct sirix_bytes){.data = text, .len = (size_t)len});
}

static double ask_all(void *connection, const char *const *branches, const unsigned *columns,
                      size_t count, enum branches_question question)
{
    struct sirix_buf text;
    struct sirix_error err = {0};
    char root[TEXT_BYTES];
    char one[TEXT_BYTES];

    sirix_buf_init(&text, QUERY_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(root, sizeof(root), "sdb:branch(\"%s\", \"%s\", \"%s\")", database, resource,
                       branches[i]);
        (void)write_for(one, sizeof(one), root, question, columns[i]);
        bench_must(sirix_buf_printf(&text, &err, "%s%s", i == 0 ? "" : ",\n", one), &err);
    }
    double sum = sum_of(connection, NULL, sirix_buf_view(&text));
    sirix_buf_deinit(&text);
    return sum;
}

static const struct branches_store store = {
    .open = open_client,
    .close = close_client,
    .create = create,
    .connect = connect_to,
    .drop = drop,
    .run = run,
    .ask = ask,
    .ask_all = ask_all,
};

int main(int argc, char **argv)
{
    return branches_main(argc, argv, &store);
}
