/*
 * What the catalogue knows: resources with their heads, branches and snapshots. All of a database is read in
 * one turn of its reader, before the first row of a statement that asks for it, so that every list of the
 * statement tells of the same state as the tables that it names. Nothing stays open for it.
 */
#ifndef SIRIX_SQL_FACTS_H
#define SIRIX_SQL_FACTS_H

#include "sql/session.h"

struct sirix_sql_branch {
    struct sirix_bytes name;
    uint64_t revision;
    int64_t time_us;
    uint64_t base_revision;
    int64_t created_us;
    int64_t expires_us; /* 0: never. */
};

struct sirix_sql_snapshot {
    struct sirix_bytes name;
    uint64_t revision;
    int64_t time_us;
    int64_t created_us;
};

struct sirix_sql_resource {
    struct sirix_bytes name;
    uint64_t revision; /* The newest of main; 0: it is damaged, and the rest is not known. */
    int64_t time_us;
    uint64_t node_count;
    uint64_t text_bytes;
    struct sirix_sql_branch *branches;
    size_t branch_count;
    struct sirix_sql_snapshot *snapshots;
    size_t snapshot_count;
    struct sirix_sql_resource *next;
};

/* Of one database; in the session's arena. */
struct sirix_sql_facts {
    struct sirix_bytes database;
    struct sirix_sql_resource *resources; /* That can be seen, in order. */
    struct sirix_sql_facts *next;
};

/* Those of all databases that can be seen, in order, read once. */
enum sirix_status sirix_sql_facts_all(struct sirix_sql_session *session,
                                      const struct sirix_sql_facts **out_facts,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
