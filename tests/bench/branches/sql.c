/* Texts of SQL. Names of branches are ours: letters, digits and dashes. */
#include "bench/branches/sql.h"

#include <stdarg.h>
#include <stdio.h>

#include "bench/common/measure.h"

static void SIRIX_PRINTF(2, 3) put(struct sql_text *to, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(to->data + to->len, sizeof(to->data) - to->len, fmt, args);
    va_end(args);
    bench_check(len >= 0 && (size_t)len < sizeof(to->data) - to->len, "writing SQL");
    to->len += (size_t)len;
}

/* --- Words --------------------------------------------------------------------------------------- */

/* A member of doc as a number, or as the text of one. */
static void number(struct sql_text *to, enum sql_dialect dialect, const char *name)
{
    if (dialect == SQL_SQLITE) {
        put(to, "json_extract(doc, '$.%s')", name);
    } else {
        put(to, "(doc->>'%s')::numeric", name);
    }
}

static void is_null(struct sql_text *to, enum sql_dialect dialect, const char *name)
{
    if (dialect == SQL_SQLITE) {
        put(to, "json_type(doc, '$.%s') = 'null'", name);
    } else {
        put(to, "jsonb_typeof(doc->'%s') = 'null'", name);
    }
}

/* Between these two stands the JSON text of a member that doc gets. */
static void set_begin(struct sql_text *to, enum sql_dialect dialect, const char *doc,
                      const char *name)
{
    if (dialect == SQL_SQLITE) {
        put(to, "json_set(%s, '$.%s', json(", doc, name);
    } else {
        put(to, "jsonb_set(%s, '{%s}', (", doc, name);
    }
}

static void set_end(struct sql_text *to, enum sql_dialect dialect)
{
    put(to, dialect == SQL_SQLITE ? "))" : ")::text::jsonb)");
}

/* The rows of a table that a branch sees; filter: "" or " AND ..." on the keys of r. */
static void seen(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                 const char *table, const char *filter)
{
    if (dialect == SQL_SQLITE) {
        put(to,
            "(SELECT k1, k2, k3, k4, doc FROM (SELECT r.k1, r.k2, r.k3, r.k4, r.doc, r.gone, "
            "min(l.depth) FROM rows r JOIN lineage l ON l.branch = '%s' AND l.ancestor = r.branch "
            "WHERE r.tab = '%s'%s GROUP BY r.k1, r.k2, r.k3, r.k4) WHERE gone = 0)",
            branch, table, filter);
    } else {
        put(to,
            "(SELECT k1, k2, k3, k4, doc FROM (SELECT DISTINCT ON (r.k1, r.k2, r.k3, r.k4) r.k1, "
            "r.k2, r.k3, r.k4, r.doc, r.gone FROM rows r JOIN lineage l ON l.branch = '%s' AND "
            "l.ancestor = r.branch WHERE r.tab = '%s'%s "
            "ORDER BY r.k1, r.k2, r.k3, r.k4, l.depth) AS nearest WHERE gone = 0)",
            branch, table, filter);
    }
}

/* Writes rows of a table; what follows is " FROM ..." with doc and keys. */
static void write_begin(struct sql_text *to, const char *branch, const char *table, bool gone)
{
    put(to,
        "INSERT INTO rows (tab, k1, k2, k3, k4, branch, gone, doc) "
        "SELECT '%s', k1, k2, k3, k4, '%s', %d, ",
        table, branch, gone ? 1 : 0);
}

static const char write_end[] =
    " ON CONFLICT (tab, k1, k2, k3, k4, branch) DO UPDATE SET doc = excluded.doc, "
    "gone = excluded.gone";

/* One member of the rows that a filter and a condition choose gets a JSON text. */
static void set_member(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                       const char *table, const char *filter, const char *name, const char *json)
{
    write_begin(to, branch, table, false);
    set_begin(to, dialect, "doc", name);
    put(to, "%s", json);
    set_end(to, dialect);
    put(to, " FROM ");
    seen(to, dialect, branch, table, filter);
    put(to, " AS t WHERE true");
}

static void insert_row(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                       const char *table, const unsigned key[4], const char *json)
{
    put(to,
        "INSERT INTO rows (tab, k1, k2, k3, k4, branch, gone, doc) VALUES ('%s', %u, %u, %u, %u, "
        "'%s', 0, '%s'%s)",
        table, key[0], key[1], key[2], key[3], branch, json,
        dialect == SQL_SQLITE ? "" : "::jsonb");
}

/* --- Statements ---------------------------------------------------------------------------------- */

static void tiers(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                  const struct branches_statement *s)
{
    bool fill = s->kind == BRANCHES_FILL_TIER;
    char tier[32];
    char copy[32];
    struct sql_text inner = {.len = 0};

    (void)snprintf(tier, sizeof(tier), "tier%u", s->column);
    (void)snprintf(copy, sizeof(copy), "copy%u", s->column);
    set_begin(&inner, dialect, "doc", tier);
    if (fill) {
        put(&inner, "CASE WHEN ");
        number(&inner, dialect, "balance");
        put(&inner, " > 9000 THEN '\"gold\"' WHEN ");
        number(&inner, dialect, "balance");
        put(&inner, " > 5000 THEN '\"silver\"' ELSE '\"basic\"' END");
    } else {
        put(&inner, "'null'");
    }
    set_end(&inner, dialect);
    write_begin(to, branch, "customer", false);
    set_begin(to, dialect, inner.data, copy);
    if (fill) {
        put(to, dialect == SQL_SQLITE ? "coalesce(" : "coalesce((");
        number(to, dialect, "balance");
        put(to, dialect == SQL_SQLITE ? ", 'null')" : ")::text, 'null')");
    } else {
        put(to, "'null'");
    }
    set_end(to, dialect);
    put(to, " FROM ");
    seen(to, dialect, branch, "customer", "");
    put(to, " AS t WHERE true");
}

static void drop_member(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                        const char *table)
{
    write_begin(to, branch, table, false);
    put(to, dialect == SQL_SQLITE ? "json_remove(doc, '$.added')" : "doc - 'added'");
    put(to, " FROM ");
    seen(to, dialect, branch, table, "");
    put(to, " AS t WHERE true");
}

static void delete_rows(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                        const char *table, const char *filter)
{
    write_begin(to, branch, table, true);
    put(to, "doc FROM ");
    seen(to, dialect, branch, table, filter);
    put(to, " AS t WHERE true");
}

static void stock(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                  const struct branches_statement *s)
{
    struct sql_text json = {.len = 0};
    char filter[64];
    bool restock = s->kind == BRANCHES_RESTOCK;

    if (restock) {
        put(&json, "'91'");
        (void)snprintf(filter, sizeof(filter), " AND r.k1 = %u", s->warehouse);
    } else {
        number(&json, dialect, "quantity");
        put(&json, " - %u", s->value);
        (void)snprintf(filter, sizeof(filter), " AND r.k1 = %u AND r.k2 = %u", s->warehouse,
                       s->item);
    }
    set_member(to, dialect, branch, "stock", filter, "quantity", json.data);
    put(to, " AND ");
    number(to, dialect, "quantity");
    put(to, restock ? " < %u" : " >= %u", restock ? 10 : s->value);
}

static void rows(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                 const struct branches_statement *s)
{
    char json[256];
    char filter[96];

    switch (s->kind) {
    case BRANCHES_INSERT_ORDER:
        (void)snprintf(json, sizeof(json), "{\"w\":%u,\"d\":%u,\"o\":%u,\"c\":%u,\"lines\":%u}",
                       s->warehouse, s->district, s->order, s->customer, s->value);
        insert_row(to, dialect, branch, "orders",
                   (unsigned[4]){s->warehouse, s->district, s->order}, json);
        break;
    case BRANCHES_INSERT_LINE:
        (void)snprintf(json, sizeof(json),
                       "{\"w\":%u,\"d\":%u,\"o\":%u,\"n\":%u,\"i\":%u,\"quantity\":1,"
                       "\"amount\":1.50}",
                       s->warehouse, s->district, s->order, s->line, s->item);
        insert_row(to, dialect, branch, "order_line",
                   (unsigned[4]){s->warehouse, s->district, s->order, s->line}, json);
        break;
    case BRANCHES_DELETE_LINES:
        (void)snprintf(filter, sizeof(filter), " AND r.k1 = %u AND r.k2 = %u AND r.k3 = %u",
                       s->warehouse, s->district, s->order);
        delete_rows(to, dialect, branch, "order_line", filter);
        break;
    default:
        (void)snprintf(filter, sizeof(filter), " AND r.k1 = %u AND r.k2 = %u AND r.k3 = %u",
                       s->warehouse, s->district, s->customer);
        (void)snprintf(json, sizeof(json), "'%u.25'", s->value);
        set_member(to, dialect, branch, "customer", filter, "balance", json);
        break;
    }
}

void sql_statement(enum sql_dialect dialect, const char *branch, const struct branches_statement *s,
                   struct sql_text *out_text)
{
    char name[32];

    out_text->len = 0;
    switch (s->kind) {
    case BRANCHES_ADD_TIER:
    case BRANCHES_FILL_TIER:
        tiers(out_text, dialect, branch, s);
        break;
    case BRANCHES_ADD_TO_DISTRICTS:
        set_member(out_text, dialect, branch, "district", "", "added", "'0'");
        break;
    case BRANCHES_ADD_TO_WAREHOUSES:
        set_member(out_text, dialect, branch, "warehouse", "", "added", "'0'");
        break;
    case BRANCHES_ADD_TO_ORDERS:
        set_member(out_text, dialect, branch, "orders", "", "added", "'0'");
        break;
    case BRANCHES_DROP_FROM_DISTRICTS:
        drop_member(out_text, dialect, branch, "district");
        break;
    case BRANCHES_DROP_FROM_WAREHOUSES:
        drop_member(out_text, dialect, branch, "warehouse");
        break;
    case BRANCHES_ADD_CHECKED:
        (void)snprintf(name, sizeof(name), "checked%u", s->column);
        set_member(out_text, dialect, branch, "customer", "", name, "'false'");
        break;
    case BRANCHES_ZERO_MISSING:
        set_member(out_text, dialect, branch, "customer", "", "balance", "'0'");
        put(out_text, " AND ");
        is_null(out_text, dialect, "balance");
        break;
    case BRANCHES_DELETE_MISSING:
        delete_rows(out_text, dialect, branch, "customer", "");
        put(out_text, " AND ");
        is_null(out_text, dialect, "balance");
        break;
    case BRANCHES_DECREMENT:
    case BRANCHES_RESTOCK:
        stock(out_text, dialect, branch, s);
        break;
    default:
        rows(out_text, dialect, branch, s);
        break;
    }
    put(out_text, "%s", write_end);
}

/* --- Questions ----------------------------------------------------------------------------------- */

static void ask_customers(struct sql_text *to, enum sql_dialect dialect, const char *branch,
                          enum branches_question question, const char *tier)
{
    switch (question) {
    case BRANCHES_NULL_TIERS:
        put(to, "SELECT count(*) FROM ");
        seen(to, dialect, branch, "customer", "");
        put(to, " AS t WHERE ");
        is_null(to, dialect, tier);
        break;
    case BRANCHES_TIERS:
        put(to, "SELECT sum(n + mean) FROM (SELECT count(*) AS n, avg(");
        number(to, dialect, "balance");
        put(to, ") AS mean FROM ");
        seen(to, dialect, branch, "customer", "");
        put(to, " AS t WHERE NOT ");
        is_null(to, dialect, "balance");
        put(to,
            dialect == SQL_SQLITE ? " GROUP BY json_extract(doc, '$.%s')) AS g"
                                  : " GROUP BY doc->>'%s') AS g",
            tier);
        break;
    case BRANCHES_NEGATIVE_BALANCES:
        put(to, "SELECT count(*) FROM ");
        seen(to, dialect, branch, "customer", "");
        put(to, " AS t WHERE ");
        number(to, dialect, "balance");
        put(to, " < 0");
        break;
    default:
        put(to, "SELECT sum(CASE WHEN ");
        is_null(to, dialect, "balance");
        put(to, " THEN 1 ELSE 0 END) + max(");
        number(to, dialect, "payment");
        put(to, ") - min(");
        number(to, dialect, "payment");
        put(to, ") FROM ");
        seen(to, dialect, branch, "customer", "");
        put(to, " AS t");
        break;
    }
}

static void ask_orders(struct sql_text *to, enum sql_dialect dialect,
                       const struct branches_scale *scale, const char *branch,
                       enum branches_question question)
{
    char filter[64] = "";

    if (question == BRANCHES_REVENUE) {
        put(to, "SELECT sum(");
        number(to, dialect, "amount");
        put(to, ") FROM ");
        seen(to, dialect, branch, "order_line", "");
        put(to, " AS t JOIN (SELECT k1 AS w FROM ");
        seen(to, dialect, branch, "warehouse", "");
        put(to, " AS s) AS u ON u.w = t.k1");
        return;
    }
    (void)snprintf(filter, sizeof(filter), " AND r.k3 > %u",
                   scale->customers > BRANCHES_ORDERS_LOOKED_AT
                       ? scale->customers - BRANCHES_ORDERS_LOOKED_AT
                       : 0);
    put(to, "SELECT count(*) FROM ");
    seen(to, dialect, branch, "orders", filter);
    put(to, " AS t LEFT JOIN (SELECT k1 AS w, k2 AS d, k3 AS o, count(*) AS n FROM ");
    seen(to, dialect, branch, "order_line", filter);
    put(to, " AS s GROUP BY k1, k2, k3) AS u ON u.w = t.k1 AND u.d = t.k2 AND u.o = t.k3 "
            "WHERE coalesce(u.n, 0) <> ");
    number(to, dialect, "lines");
}

void sql_question(enum sql_dialect dialect, const struct branches_scale *scale, const char *branch,
                  enum branches_question question, unsigned column, struct sql_text *out_text)
{
    char word[64];

    out_text->len = 0;
    switch (question) {
    case BRANCHES_WRONG_COUNTS:
    case BRANCHES_REVENUE:
        ask_orders(out_text, dialect, scale, branch, question);
        break;
    case BRANCHES_STOCK_OUTS:
    case BRANCHES_STOCK_COSTS:
        put(out_text, "SELECT sum(CASE WHEN ");
        number(out_text, dialect, "quantity");
        put(out_text, " < 10 THEN 1 ELSE 0 END) + %s(",
            question == BRANCHES_STOCK_OUTS ? "sum" : "avg");
        number(out_text, dialect, "cost");
        put(out_text, ")");
        if (question == BRANCHES_STOCK_COSTS) {
            put(out_text, " + min(");
            number(out_text, dialect, "cost");
            put(out_text, ")");
        }
        put(out_text, " FROM ");
        (void)snprintf(word, sizeof(word), " AND r.k2 <= %u", scale->items * 3 / 4);
        seen(out_text, dialect, branch, "stock", question == BRANCHES_STOCK_OUTS ? word : "");
        put(out_text, " AS t");
        break;
    default:
        (void)snprintf(word, sizeof(word), "tier%u", column);
        ask_customers(out_text, dialect, branch, question, word);
        break;
    }
}

/* --- Branches ------------------------------------------------------------------------------------ */

void sql_create(const char *branch, const char *parent, struct sql_text *out_text)
{
    out_text->len = 0;
    put(out_text,
        "INSERT INTO lineage (branch, ancestor, depth) SELECT '%s', '%s', 0 UNION ALL "
        "SELECT '%s', ancestor, depth + 1 FROM lineage WHERE branch = '%s'",
        branch, branch, branch, parent);
}

void sql_connect(enum sql_dialect dialect, const char *branch, struct sql_text *out_text)
{
    out_text->len = 0;
    put(out_text, "SELECT count(*) FROM ");
    seen(out_text, dialect, branch, "warehouse", " AND r.k1 = 1");
    put(out_text, " AS t");
}

void sql_drop(const char *begin, const char *branch, struct sql_text *out_text)
{
    out_text->len = 0;
    put(out_text,
        "%s; DELETE FROM rows WHERE branch = '%s'; DELETE FROM lineage WHERE branch = '%s'; "
        "COMMIT",
        begin, branch, branch);
}

void sql_schema(enum sql_dialect dialect, struct sql_text *out_text)
{
    out_text->len = 0;
    put(out_text,
        "CREATE TABLE lineage (branch text NOT NULL, ancestor text NOT NULL, depth integer NOT "
        "NULL, "
        "PRIMARY KEY (branch, depth)); "
        "CREATE TABLE rows (tab text NOT NULL, k1 integer NOT NULL, k2 integer NOT NULL, "
        "k3 integer NOT NULL, k4 integer NOT NULL, branch text NOT NULL, gone integer NOT NULL, "
        "doc %s NOT NULL, PRIMARY KEY (tab, k1, k2, k3, k4, branch)); "
        "CREATE INDEX rows_branch ON rows (branch); "
        "INSERT INTO lineage VALUES ('main', 'main', 0)",
        dialect == SQL_SQLITE ? "text" : "jsonb");
}
