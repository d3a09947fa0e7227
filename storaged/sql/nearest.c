/* Names that are close to one that was not found. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sql/schema.h"

/* Changes of one letter between two names, without regard to case. */
static size_t distance_of(struct sirix_bytes a, struct sirix_bytes b)
{
    size_t row[SIRIX_SQL_NEAREST_NAME_BYTES + 1];

    for (size_t j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            const bool same =
                strncasecmp((const char *)a.data + i - 1, (const char *)b.data + j - 1, 1) == 0;
            size_t best = diagonal + (same ? 0 : 1);

            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b.len];
}

/* The last part of a table's name: what someone calls it who does not know where it lies. */
static struct sirix_bytes last_part(struct sirix_bytes name)
{
    const char *slash = memrchr(name.data, '/', name.len);
    const char *from = slash == NULL ? name.data : slash + 1;

    return (struct sirix_bytes){.data = from,
                                .len = name.len - (size_t)(from - (const char *)name.data)};
}

/* 0 where the last part is what is wanted; one more than its distance where it only comes near. */
static size_t distance_to_offer(struct sirix_bytes wanted, struct sirix_bytes offered)
{
    const size_t whole = distance_of(wanted, offered);
    size_t last = distance_of(wanted, last_part(offered));

    last += last == 0 ? 0 : 1;
    return last < whole ? last : whole;
}

void sirix_sql_nearest_offer(struct sirix_sql_nearest *nearest, const char *name)
{
    const struct sirix_bytes offered = {.data = name, .len = strlen(name)};
    struct sirix_bytes wanted = nearest->wanted;
    size_t at = 0;

    wanted.len =
        wanted.len < SIRIX_SQL_NEAREST_NAME_BYTES ? wanted.len : SIRIX_SQL_NEAREST_NAME_BYTES;
    if (offered.len >= SIRIX_SQL_NEAREST_NAME_BYTES) {
        return;
    }
    const size_t distance = distance_to_offer(wanted, offered);
    for (at = 0; at < nearest->count && nearest->names[at].distance <= distance; at++) {
        if (strcmp(nearest->names[at].name, name) == 0) {
            return;
        }
    }
    if (at == SIRIX_SQL_NEAREST_MAX) {
        return;
    }
    nearest->count += nearest->count < SIRIX_SQL_NEAREST_MAX ? 1 : 0;
    memmove(&nearest->names[at + 1], &nearest->names[at],
            (nearest->count - at - 1) * sizeof(nearest->names[0]));
    nearest->names[at].distance = distance;
    (void)snprintf(nearest->names[at].name, sizeof(nearest->names[at].name), "%s", name);
}

struct offering {
    struct sirix_sql_session *session;
    struct sirix_sql_nearest *nearest;
    struct sirix_arena arena;
    size_t resources;
};

static enum sirix_status offer_resource(void *context, struct sirix_bytes database,
                                        struct sirix_bytes resource, bool *stop,
                                        struct sirix_error *err)
{
    struct offering *offering = context;
    struct sirix_sql_schema schema = {0};

    *stop = ++offering->resources == SIRIX_SQL_NEAREST_LOOKED_MAX;
    sirix_arena_reset(&offering->arena);
    enum sirix_status status = sirix_sql_schema_look(offering->session, database, resource,
                                                     &offering->arena, &schema, err);
    for (size_t i = 0; status == SIRIX_OK && i < schema.count; i++) {
        sirix_sql_nearest_offer(offering->nearest, schema.tables[i].name);
    }
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

enum sirix_status sirix_sql_nearest_tables(struct sirix_sql_session *session,
                                           struct sirix_sql_nearest *nearest,
                                           struct sirix_error *err)
{
    struct offering offering = {.session = session, .nearest = nearest};

    sirix_arena_init(&offering.arena, SIRIX_SQL_ARENA_BYTES_MAX);
    enum sirix_status status =
        sirix_sql_each_resource(session, session->wanted->database, offer_resource, &offering, err);
    sirix_arena_deinit(&offering.arena);
    return status;
}
