/*
 * The workflows: who starts where, what a step does, and what of it is timed.
 *
 * The parent of a branch is drawn among the committed ones that have room for a child and are not too
 * deep, as BranchBench's harness does; where none has room, it is the root. A pruned branch gives its
 * place back. Comparisons over all leaves are made by the worker that finishes the step they are due
 * at, while the others go on.
 */
#include "bench/branches/workload.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "bench/common/measure.h"

enum {
    STEPS_MAX = 1000,
    THREAD_STACK_BYTES = 256 * 1024,
    LINES_INSERTED = 42,
    DAYS = 16,
    SAMPLED_LEAVES = 10,
    DEPTH_MAX = 32,
    QUESTIONS_MAX = 2,
};

struct workflow {
    const char *name;
    unsigned workers;
    unsigned steps; /* A worker. */
    unsigned root_children;
    unsigned inner_children;
    unsigned depth;
    unsigned compares;
    double pruned; /* A branch's probability. */
    enum branches_question questions[QUESTIONS_MAX];
    unsigned question_count;
    enum branches_question compared;
};

static const struct workflow full_sizes[] = {
    {"software_dev",
     5,
     20,
     5,
     3,
     4,
     1,
     0.1,
     {BRANCHES_NULL_TIERS, BRANCHES_TIERS},
     2,
     BRANCHES_TIERS},
    {"failure_repro", 1, 10, 10, 0, 1, 0, 1.0, {BRANCHES_WRONG_COUNTS}, 1, BRANCHES_WRONG_COUNTS},
    {"data_cleaning",
     10,
     20,
     10,
     3,
     3,
     2,
     0.0,
     {BRANCHES_NEGATIVE_BALANCES},
     1,
     BRANCHES_MISSING_BALANCES},
    {"mcts", 10, 100, 10, 10, 25, 0, 0.1, {BRANCHES_REVENUE}, 1, BRANCHES_REVENUE},
    {"simulation", 1000, 1, 1000, 0, 1, 1, 1.0, {BRANCHES_STOCK_OUTS}, 1, BRANCHES_STOCK_COSTS},
};

static const struct workflow mini_sizes[] = {
    {"software_dev",
     2,
     5,
     3,
     2,
     3,
     1,
     0.1,
     {BRANCHES_NULL_TIERS, BRANCHES_TIERS},
     2,
     BRANCHES_TIERS},
    {"failure_repro", 1, 10, 10, 0, 1, 0, 1.0, {BRANCHES_WRONG_COUNTS}, 1, BRANCHES_WRONG_COUNTS},
    {"data_cleaning",
     3,
     6,
     3,
     2,
     3,
     1,
     0.0,
     {BRANCHES_NEGATIVE_BALANCES},
     1,
     BRANCHES_MISSING_BALANCES},
    {"mcts", 3, 8, 5, 3, 5, 0, 0.1, {BRANCHES_REVENUE}, 1, BRANCHES_REVENUE},
    {"simulation", 60, 1, 60, 0, 1, 1, 1.0, {BRANCHES_STOCK_OUTS}, 1, BRANCHES_STOCK_COSTS},
};

enum { WORKFLOWS = sizeof(full_sizes) / sizeof(full_sizes[0]) };

/* --- The tree of branches ------------------------------------------------------------------------ */

struct node {
    char name[BRANCHES_NAME_BYTES];
    unsigned parent;
    unsigned depth;
    unsigned children;
    unsigned column;
    bool committed;
    bool dropped;
    double answer; /* Of the last question of its step. */
};

enum timed { CREATE, CONNECT, DROP, WRITE, ASK, COMPARE, TIMED };

static const char *const timed_names[TIMED] = {"create", "connect", "drop",
                                               "write",  "ask",     "compare"};

struct run {
    const struct branches_store *store;
    const struct workflow *flow;
    const char *where;
    double until; /* No step begins after that. */
    struct branches_scale scale;
    pthread_mutex_t mutex;
    struct node nodes[STEPS_MAX + 1];
    unsigned node_count;
    unsigned started;
    unsigned done;
    unsigned live;
    unsigned live_peak;
    unsigned deepest;
    double managed_s; /* Making, opening and dropping branches, of */
    double timed_s;   /* all that was timed. */
    struct bench_times times[TIMED];
    struct bench_times ask_at[DEPTH_MAX]; /* By the depth of the branch. */
    double compare_all_s;                 /* The same in one query. */
    double compare_loop_s;
};

struct worker {
    struct run *run;
    pthread_t thread;
    unsigned number;
    uint64_t random;
    void *connection;
};

static void note(struct run *run, enum timed what, double since)
{
    double taken = bench_wall_s() - since;

    (void)pthread_mutex_lock(&run->mutex);
    bench_times_add(&run->times[what], taken * 1e6);
    run->timed_s += taken;
    run->managed_s += what == CREATE || what == CONNECT || what == DROP ? taken : 0;
    (void)pthread_mutex_unlock(&run->mutex);
}

static bool has_room(const struct run *run, unsigned at)
{
    const struct node *node = &run->nodes[at];
    unsigned room = at == 0 ? run->flow->root_children : run->flow->inner_children;

    return node->committed && !node->dropped && node->children < room &&
           node->depth < run->flow->depth;
}

/* A new node under a parent that is drawn; false: there shall be no more. */
static bool next_node(struct worker *worker, unsigned *out_at)
{
    struct run *run = worker->run;
    unsigned candidates = 0;
    unsigned parent = 0;

    (void)pthread_mutex_lock(&run->mutex);
    bool more = run->started < run->flow->workers * run->flow->steps && bench_wall_s() < run->until;
    if (more) {
        for (unsigned i = 0; i < run->node_count; i++) {
            if (has_room(run, i)) {
                candidates++;
                parent = bench_random(&worker->random, candidates) == 0 ? i : parent;
            }
        }
        run->started++;
        unsigned at = run->node_count++;
        struct node *node = &run->nodes[at];
        *node =
            (struct node){.parent = parent, .depth = run->nodes[parent].depth + 1, .column = at};
        (void)snprintf(node->name, sizeof(node->name), "%s-%u", run->flow->name, at);
        for (char *c = node->name; *c != '\0'; c++) {
            if (*c == '_') {
                *c = '-';
            }
        }
        run->nodes[parent].children++;
        run->live++;
        run->live_peak = run->live > run->live_peak ? run->live : run->live_peak;
        run->deepest = node->depth > run->deepest ? node->depth : run->deepest;
        *out_at = at;
    }
    (void)pthread_mutex_unlock(&run->mutex);
    return more;
}

/* --- Steps --------------------------------------------------------------------------------------- */

static void write_one(struct worker *worker, const char *branch,
                      const struct branches_statement *statement)
{
    double since = bench_wall_s();

    worker->run->store->run(worker->connection, branch, statement);
    note(worker->run, WRITE, since);
}

/* A random thing of each kind; an order that is not there yet. */
static struct branches_statement draw(struct worker *worker, const struct node *node,
                                      enum branches_kind kind)
{
    const struct branches_scale *scale = &worker->run->scale;

    return (struct branches_statement){
        .kind = kind,
        .warehouse = 1 + (unsigned)bench_random(&worker->random, BRANCHES_WAREHOUSES),
        .district = 1 + (unsigned)bench_random(&worker->random, BRANCHES_DISTRICTS),
        .customer = 1 + (unsigned)bench_random(&worker->random, scale->customers),
        .item = 1 + (unsigned)bench_random(&worker->random, scale->items),
        .order = scale->customers + node->column,
        .line = 1,
        .value = 1 + (unsigned)bench_random(&worker->random, 10),
        .column = node->column,
    };
}

static void reproduce_failure(struct worker *worker, const struct node *node)
{
    static const enum branches_kind schema[] = {
        BRANCHES_ADD_TO_DISTRICTS, BRANCHES_ADD_TO_WAREHOUSES, BRANCHES_ADD_TO_ORDERS,
        BRANCHES_DROP_FROM_DISTRICTS, BRANCHES_DROP_FROM_WAREHOUSES};
    struct branches_statement statement = draw(worker, node, BRANCHES_INSERT_ORDER);

    for (size_t i = 0; i < sizeof(schema) / sizeof(schema[0]); i++) {
        statement.kind = schema[i];
        write_one(worker, node->name, &statement);
    }
    statement.kind = BRANCHES_INSERT_ORDER;
    statement.value = LINES_INSERTED + 1; /* The failure: one is missing. */
    write_one(worker, node->name, &statement);
    statement.kind = BRANCHES_SET_BALANCE;
    write_one(worker, node->name, &statement);
    statement.kind = BRANCHES_DELETE_LINES;
    write_one(worker, node->name, &statement);
    statement.kind = BRANCHES_INSERT_LINE;
    for (statement.line = 1; statement.line <= LINES_INSERTED; statement.line++) {
        write_one(worker, node->name, &statement);
    }
}

static void simulate(struct worker *worker, const struct node *node)
{
    struct branches_statement statement = {.kind = BRANCHES_INSERT_ORDER};

    for (unsigned day = 0; day < DAYS; day++) {
        statement = draw(worker, node, BRANCHES_INSERT_ORDER);
        statement.order += day;
        write_one(worker, node->name, &statement);
        statement.kind = BRANCHES_DECREMENT;
        write_one(worker, node->name, &statement);
        statement.kind = BRANCHES_RESTOCK;
        write_one(worker, node->name, &statement);
    }
    statement.kind = BRANCHES_INSERT_LINE;
    write_one(worker, node->name, &statement);
    statement.kind = BRANCHES_DECREMENT;
    write_one(worker, node->name, &statement);
}

static void change(struct worker *worker, const struct node *node)
{
    const struct branches_statement decrement = draw(worker, node, BRANCHES_DECREMENT);
    struct branches_statement statement = decrement;

    switch (worker->run->flow->compared) {
    case BRANCHES_TIERS:
        statement.kind = BRANCHES_ADD_TIER;
        write_one(worker, node->name, &statement);
        statement.kind = BRANCHES_FILL_TIER;
        write_one(worker, node->name, &statement);
        break;
    case BRANCHES_WRONG_COUNTS:
        reproduce_failure(worker, node);
        break;
    case BRANCHES_MISSING_BALANCES:
        statement.kind = BRANCHES_ADD_CHECKED;
        write_one(worker, node->name, &statement);
        statement.kind = worker->number % 2 == 0 ? BRANCHES_ZERO_MISSING : BRANCHES_DELETE_MISSING;
        write_one(worker, node->name, &statement);
        break;
    case BRANCHES_STOCK_COSTS:
        simulate(worker, node);
        break;
    default:
        write_one(worker, node->name, &decrement);
        break;
    }
}

/* The committed leaves as they are now; their answers may be asked while others go on. */
static size_t leaves(struct run *run, const char **names, unsigned *columns, double *answers)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&run->mutex);
    for (unsigned i = 1; i < run->node_count; i++) {
        const struct node *node = &run->nodes[i];

        if (node->committed && !node->dropped && node->children == 0) {
            names[count] = node->name;
            columns[count] = node->column;
            answers[count++] = node->answer;
        }
    }
    (void)pthread_mutex_unlock(&run->mutex);
    return count;
}

static bool nearly(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b) + 1);
}

/* Asks every leaf, one by one and, where the store can, at once. */
static void compare(struct worker *worker, const char *const *names, const unsigned *columns,
                    size_t count)
{
    struct run *run = worker->run;
    double sum = 0;
    double since = bench_wall_s();

    for (size_t i = 0; i < count; i++) {
        double began = bench_wall_s();

        sum += run->store->ask(worker->connection, names[i], run->flow->compared, columns[i]);
        note(run, COMPARE, began);
    }
    double loop_s = bench_wall_s() - since;
    double all_s = 0;
    if (run->store->ask_all != NULL && count != 0) {
        since = bench_wall_s();
        double all =
            run->store->ask_all(worker->connection, names, columns, count, run->flow->compared);
        all_s = bench_wall_s() - since;
        bench_check(nearly(all, sum), "one query over all branches: the answer of each, which");
    }
    (void)pthread_mutex_lock(&run->mutex);
    run->compare_loop_s += loop_s;
    run->compare_all_s += all_s;
    (void)pthread_mutex_unlock(&run->mutex);
}

/* Leaves stay while they are compared: only those whose drop was decided go, and these are no more. */
static void compare_if_due(struct worker *worker, unsigned done)
{
    static const char *names[STEPS_MAX];
    static unsigned columns[STEPS_MAX];
    static double answers[STEPS_MAX];
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    const struct workflow *flow = worker->run->flow;
    unsigned total = flow->workers * flow->steps;

    for (unsigned i = 1; i <= flow->compares; i++) {
        if (done == total * i / (flow->compares + 1)) {
            (void)pthread_mutex_lock(&one_at_a_time);
            compare(worker, names, columns, leaves(worker->run, names, columns, answers));
            (void)pthread_mutex_unlock(&one_at_a_time);
        }
    }
}

static void ask(struct worker *worker, struct node *node)
{
    struct run *run = worker->run;

    for (unsigned i = 0; i < run->flow->question_count; i++) {
        double since = bench_wall_s();

        node->answer =
            run->store->ask(worker->connection, node->name, run->flow->questions[i], node->column);
        double taken = bench_wall_s() - since;
        note(run, ASK, since);
        (void)pthread_mutex_lock(&run->mutex);
        bench_times_add(&run->ask_at[node->depth], taken * 1e6);
        (void)pthread_mutex_unlock(&run->mutex);
    }
}

/* Commits the node, or has it dropped; the number of steps that are done then. */
static unsigned finish(struct worker *worker, struct node *node)
{
    struct run *run = worker->run;
    bool dropped = (double)bench_random(&worker->random, 1000) < run->flow->pruned * 1000;

    (void)pthread_mutex_lock(&run->mutex);
    node->committed = true;
    node->dropped = dropped;
    if (dropped) {
        run->nodes[node->parent].children--;
        run->live--;
    }
    unsigned done = ++run->done;
    (void)pthread_mutex_unlock(&run->mutex);
    if (dropped) {
        double since = bench_wall_s();

        run->store->drop(worker->connection, node->name);
        note(run, DROP, since);
    }
    return done;
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct run *run = worker->run;
    unsigned at = 0;

    worker->connection = run->store->open(run->where, &run->scale);
    while (next_node(worker, &at)) {
        struct node *node = &run->nodes[at];
        double since = bench_wall_s();

        run->store->create(worker->connection, node->name, run->nodes[node->parent].name);
        note(run, CREATE, since);
        since = bench_wall_s();
        run->store->connect(worker->connection, node->name);
        note(run, CONNECT, since);
        change(worker, node);
        ask(worker, node);
        compare_if_due(worker, finish(worker, node));
    }
    run->store->close(worker->connection);
    return NULL;
}

/* --- What must hold ------------------------------------------------------------------------------ */

/* main is what it was, and leaves still answer what they answered when they were made. */
static void check(struct run *run, double main_before)
{
    static const char *names[STEPS_MAX];
    static unsigned columns[STEPS_MAX];
    static double answers[STEPS_MAX];
    const struct workflow *flow = run->flow;
    enum branches_question last = flow->questions[flow->question_count - 1];
    void *connection = run->store->open(run->where, &run->scale);

    bench_check(nearly(run->store->ask(connection, "main", BRANCHES_STOCK_COSTS, 0), main_before),
                "main unchanged: comparing it");
    size_t count = leaves(run, names, columns, answers);
    size_t step = count > SAMPLED_LEAVES ? count / SAMPLED_LEAVES : 1;
    for (size_t i = 0; i < count; i += step) {
        bench_check(nearly(run->store->ask(connection, names[i], last, columns[i]), answers[i]),
                    "a leaf unchanged: comparing it");
    }
    for (size_t i = 0; i < count; i++) { /* The next workflow begins with main alone. */
        run->store->drop(connection, names[i]);
    }
    for (unsigned i = run->node_count - 1; i > 0; i--) {
        if (run->nodes[i].committed && !run->nodes[i].dropped && run->nodes[i].children != 0) {
            run->store->drop(connection, run->nodes[i].name);
        }
    }
    run->store->close(connection);
}

static void print(struct run *run, double wall_s, unsigned threads)
{
    char name[64];

    bench_print("steps", run->done);
    bench_print("steps_all", run->flow->workers * run->flow->steps);
    bench_print("wall_s", wall_s);
    bench_print("threads", threads);
    bench_print("live_peak", run->live_peak);
    bench_print("deepest", run->deepest);
    bench_print("managed_share", run->managed_s / run->timed_s);
    for (size_t i = 0; i < TIMED; i++) {
        if (run->times[i].count != 0) {
            (void)snprintf(name, sizeof(name), "%s_p50_us", timed_names[i]);
            bench_print(name, bench_times_at(&run->times[i], 0.5));
            (void)snprintf(name, sizeof(name), "%s_p99_us", timed_names[i]);
            bench_print(name, bench_times_at(&run->times[i], 0.99));
        }
        bench_times_deinit(&run->times[i]);
    }
    if (run->ask_at[1].count != 0) {
        bench_print("ask_first_us", bench_times_at(&run->ask_at[1], 0.5));
        bench_print("ask_deepest_us", bench_times_at(&run->ask_at[run->deepest], 0.5));
    }
    for (size_t i = 0; i < DEPTH_MAX; i++) {
        bench_times_deinit(&run->ask_at[i]);
    }
    if (run->compare_all_s != 0) {
        bench_print("compare_loop_s", run->compare_loop_s);
        bench_print("compare_all_s", run->compare_all_s);
    }
}

static void run_workflow(struct run *run, unsigned threads)
{
    static struct worker workers[STEPS_MAX];
    pthread_attr_t attributes;

    run->nodes[0] = (struct node){.name = "main", .committed = true};
    run->node_count = 1;
    void *connection = run->store->open(run->where, &run->scale);
    double main_before = run->store->ask(connection, "main", BRANCHES_STOCK_COSTS, 0);
    run->store->close(connection);

    bench_check(pthread_attr_init(&attributes) == 0 &&
                    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES) == 0,
                "setting the size of a stack");
    double since = bench_wall_s();
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){.run = run, .number = i, .random = i};
        bench_check(pthread_create(&workers[i].thread, &attributes, work, &workers[i]) == 0,
                    "starting a thread");
    }
    for (unsigned i = 0; i < threads; i++) {
        bench_check(pthread_join(workers[i].thread, NULL) == 0, "joining a thread");
    }
    double wall_s = bench_wall_s() - since;
    (void)pthread_attr_destroy(&attributes);
    check(run, main_before);
    print(run, wall_s, threads);
}

int branches_main(int argc, char **argv, const struct branches_store *store)
{
    static struct run run = {.mutex = PTHREAD_MUTEX_INITIALIZER};

    if (argc != 8) {
        (void)fprintf(
            stderr, "usage: %s WHERE WORKFLOW full|mini THREADS_MAX SECONDS_MAX ITEMS CUSTOMERS\n",
            argv[0]);
        return EXIT_FAILURE;
    }
    const struct workflow *flows = strcmp(argv[3], "mini") == 0 ? mini_sizes : full_sizes;
    for (size_t i = 0; i < WORKFLOWS; i++) {
        if (strcmp(flows[i].name, argv[2]) == 0) {
            run.flow = &flows[i];
        }
    }
    bench_check(run.flow != NULL, "finding the workflow");
    unsigned threads = (unsigned)strtoul(argv[4], NULL, 10);
    run.store = store;
    run.where = argv[1];
    run.until = bench_wall_s() + strtod(argv[5], NULL);
    run.scale.items = (unsigned)strtoul(argv[6], NULL, 10);
    run.scale.customers = (unsigned)strtoul(argv[7], NULL, 10);
    bench_check(run.scale.items > 0 && run.scale.customers > 0, "reading the sizes");
    run_workflow(&run, threads == 0 || threads > run.flow->workers ? run.flow->workers : threads);
    return EXIT_SUCCESS;
}
