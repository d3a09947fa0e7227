/* malloc with a count; the size of a piece is what malloc says it is. */
#include "sql/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>

enum { LARGE_BYTES = 64 * 1024, ROUND_BYTES = 8 };

static _Thread_local struct sirix_sql_budget *charged;
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
static bool configured; /* Under it. */

/* Whether more bytes may be taken. */
static bool may_take(size_t more)
{
    if (charged == NULL) {
        return true;
    }
    if (more > charged->limit || charged->used > charged->limit - more) {
        charged->exceeded = true;
        return false;
    }
    return more < LARGE_BYTES || charged->go_on == NULL || charged->go_on(charged->context);
}

static void take(size_t bytes)
{
    if (charged != NULL) {
        charged->used += bytes;
        charged->used_max = charged->used > charged->used_max ? charged->used : charged->used_max;
    }
}

/* What was allocated before the budget began may be freed under it. */
static void give_back(size_t bytes)
{
    if (charged != NULL) {
        charged->used -= bytes < charged->used ? bytes : charged->used;
    }
}

static void note_lack(bool lacking)
{
    if (charged != NULL) {
        charged->lacking = charged->lacking || lacking;
    }
}

static void *take_piece(int size)
{
    void *piece = size <= 0 || !may_take((size_t)size) ? NULL : malloc((size_t)size);

    take(piece == NULL ? 0 : malloc_usable_size(piece));
    note_lack(size > 0 && piece == NULL);
    return piece;
}

static void free_piece(void *piece)
{
    give_back(malloc_usable_size(piece));
    free(piece);
}

static void *resize_piece(void *piece, int size)
{
    const size_t before = malloc_usable_size(piece);

    if (size > 0 && (size_t)size > before && !may_take((size_t)size - before)) {
        note_lack(true);
        return NULL;
    }
    void *grown = realloc(piece, (size_t)size);
    note_lack(size > 0 && grown == NULL);
    if (grown != NULL) {
        give_back(before);
        take(malloc_usable_size(grown));
    }
    return grown;
}

static int size_of_piece(void *piece)
{
    return (int)malloc_usable_size(piece);
}

static int round_up(int size)
{
    return (size + ROUND_BYTES - 1) & ~(ROUND_BYTES - 1);
}

static int begin(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void end(void *context)
{
    (void)context;
}

/* SQLite takes its configuration once, before it begins; to begin may be tried again. */
static int install(void)
{
    static const sqlite3_mem_methods methods = {
        .xMalloc = take_piece,
        .xFree = free_piece,
        .xRealloc = resize_piece,
        .xSize = size_of_piece,
        .xRoundup = round_up,
        .xInit = begin,
        .xShutdown = end,
    };

    if (!configured) {
        /* Its own statistics take a lock for every allocation, and would count all statements together. */
        int rc = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);

        if (rc == SQLITE_OK) {
            rc = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
        }
        if (rc != SQLITE_OK) {
            return rc;
        }
        configured = true;
    }
    return sqlite3_initialize();
}

enum sirix_status sirix_sql_memory_install(struct sirix_error *err)
{
    (void)pthread_mutex_lock(&installing);
    const int rc = install();
    (void)pthread_mutex_unlock(&installing);
    if (rc == SQLITE_OK) {
        return SIRIX_OK;
    }
    return sirix_fail(err, rc == SQLITE_NOMEM ? SIRIX_NO_MEMORY : SIRIX_INTERNAL,
                      "SQLite does not begin: %s", sqlite3_errstr(rc));
}

struct sirix_sql_budget *sirix_sql_budget_swap(struct sirix_sql_budget *budget)
{
    struct sirix_sql_budget *before = charged;

    charged = budget;
    return before;
}

enum sirix_status sirix_sql_no_memory(struct sirix_error *err)
{
    return charged != NULL && charged->exceeded
               ? sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_LIMIT,
                                   "the statement needs more memory than it may have")
               : sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a statement");
}
