/* Who calls, and the server as they see it. */
#include "mcp/callers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

enum { BUCKETS = 1024 };

struct sirix_caller {
    struct sirix_caller *next; /* Of its bucket. */
    uint8_t key[SIRIX_SHA256_BYTES];
    size_t references; /* Of others than the table; under its mutex, as the next one. */
    uint64_t used;     /* Number of the last call that asked for it. */
    struct sirix_callers *callers;
    struct sirix_arena arena;
    struct sirix_settings settings;
    struct sirix_mcp_server server;
    struct sirix_rate rate;
};

struct sirix_callers {
    const struct sirix_mcp_server *server;
    struct sirix_gateway_backend *reader;
    pthread_mutex_t mutex;
    struct sirix_caller *buckets[BUCKETS];
    size_t count;
    uint64_t asked;
};

/* --- Keys ------------------------------------------------------------------------------------------- */

/* A text with its NUL, so that nothing runs together. */
static enum sirix_status add_text(struct sirix_buf *out, const char *text, struct sirix_error *err)
{
    return sirix_buf_append(out, text, strlen(text) + 1, err);
}

static enum sirix_status add_list(struct sirix_buf *out, const struct sirix_access_list *list,
                                  struct sirix_error *err)
{
    enum sirix_status status =
        sirix_buf_printf(out, err, "%d:%zu:", list->is_given ? 1 : 0, list->count);

    for (size_t i = 0; i < list->count && status == SIRIX_OK; i++) {
        status = add_text(out, list->names[i], err);
    }
    return status;
}

/* What makes two identities the same. */
static enum sirix_status key_of(const struct sirix_identity *identity,
                                uint8_t out[SIRIX_SHA256_BYTES], struct sirix_error *err)
{
    const struct sirix_access *access = &identity->access;
    const struct sirix_access_list *lists[] = {&access->allow_databases, &access->deny_databases,
                                               &access->allow_branches};
    struct sirix_buf text;

    sirix_buf_init(&text, SIZE_MAX);
    enum sirix_status status = add_text(&text, identity->name, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_printf(&text, err, "%u:%zu:", identity->rights, access->rule_count);
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && status == SIRIX_OK; i++) {
        status = add_list(&text, lists[i], err);
    }
    for (size_t i = 0; i < access->rule_count && status == SIRIX_OK; i++) {
        status = add_text(&text, access->rules[i].database, err);
        if (status == SIRIX_OK) {
            status = add_list(&text, &access->rules[i].resources, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256(text.data, text.len, out, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* --- Callers ---------------------------------------------------------------------------------------- */

/* A list whose names are in the caller's arena. */
static enum sirix_status keep_list(struct sirix_arena *arena, const struct sirix_access_list *list,
                                   struct sirix_access_list *out, struct sirix_error *err)
{
    void *names = NULL;
    enum sirix_status status =
        sirix_arena_calloc(arena, list->count, sizeof(*out->names), &names, err);

    if (status != SIRIX_OK) {
        return status;
    }
    *out = (struct sirix_access_list){.is_given = list->is_given, .names = names};
    for (size_t i = 0; i < list->count && status == SIRIX_OK; i++) {
        char *name = NULL;

        status = sirix_arena_strdup(arena, list->names[i], &name, err);
        out->names[out->count++] = name;
    }
    return status;
}

static enum sirix_status keep_access(struct sirix_arena *arena, const struct sirix_access *access,
                                     struct sirix_access *out, struct sirix_error *err)
{
    void *rules = NULL;
    enum sirix_status status =
        sirix_arena_calloc(arena, access->rule_count, sizeof(*out->rules), &rules, err);

    *out = (struct sirix_access){.rules = rules};
    if (status == SIRIX_OK) {
        status = keep_list(arena, &access->allow_databases, &out->allow_databases, err);
    }
    if (status == SIRIX_OK) {
        status = keep_list(arena, &access->deny_databases, &out->deny_databases, err);
    }
    if (status == SIRIX_OK) {
        status = keep_list(arena, &access->allow_branches, &out->allow_branches, err);
    }
    for (size_t i = 0; i < access->rule_count && status == SIRIX_OK; i++) {
        struct sirix_access_rule *rule = &out->rules[out->rule_count++];
        char *name = NULL;

        status = sirix_arena_strdup(arena, access->rules[i].database, &name, err);
        rule->database = name;
        if (status == SIRIX_OK) {
            status = keep_list(arena, &access->rules[i].resources, &rule->resources, err);
        }
    }
    return status;
}

/* Makes the server as the caller sees it. */
static enum sirix_status fill_in(struct sirix_caller *caller, const struct sirix_callers *callers,
                                 const struct sirix_identity *identity, struct sirix_error *err)
{
    const struct sirix_mcp_server *all = callers->server;
    const bool may_write = (identity->rights & SIRIX_RIGHT_WRITE) != 0;
    struct sirix_access own;
    char *name = NULL;
    enum sirix_status status = keep_access(&caller->arena, &identity->access, &own, err);

    caller->settings = *all->settings;
    if (status == SIRIX_OK) {
        status = sirix_access_both(&all->settings->access, &own, &caller->arena,
                                   &caller->settings.access, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_strdup(&caller->arena, identity->name, &name, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    caller->settings.read_only = all->settings->read_only || !may_write;
    caller->server = *all;
    caller->server.settings = &caller->settings;
    caller->server.rate = &caller->rate;
    caller->server.everybody = all;
    caller->server.caller = caller;
    caller->server.principal = name;
    caller->server.may_create = (identity->rights & SIRIX_RIGHT_ADMIN) != 0;
    if (!may_write && callers->reader != NULL) {
        caller->server.backend = callers->reader;
    }
    return SIRIX_OK;
}

static void free_caller(struct sirix_caller *caller)
{
    sirix_arena_deinit(&caller->arena);
    free(caller);
}

static enum sirix_status new_caller(struct sirix_callers *callers,
                                    const struct sirix_identity *identity,
                                    struct sirix_caller **out, struct sirix_error *err)
{
    struct sirix_caller *caller = calloc(1, sizeof(*caller));

    if (caller == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a caller");
    }
    caller->callers = callers;
    sirix_arena_init(&caller->arena, SIZE_MAX);
    enum sirix_status status = fill_in(caller, callers, identity, err);
    if (status != SIRIX_OK) {
        free_caller(caller);
        return status;
    }
    *out = caller;
    return SIRIX_OK;
}

/* --- The table -------------------------------------------------------------------------------------- */

static struct sirix_caller **bucket_of(struct sirix_callers *callers,
                                       const uint8_t key[SIRIX_SHA256_BYTES])
{
    return &callers->buckets[((size_t)key[0] << 8 | key[1]) % BUCKETS];
}

static struct sirix_caller *find(struct sirix_callers *callers,
                                 const uint8_t key[SIRIX_SHA256_BYTES])
{
    struct sirix_caller *at = *bucket_of(callers, key);

    while (at != NULL && memcmp(at->key, key, SIRIX_SHA256_BYTES) != 0) {
        at = at->next;
    }
    return at;
}

/* Where the one of a bucket is that has been away longer than the oldest so far; else that one. */
static struct sirix_caller **older_of(struct sirix_caller **bucket, struct sirix_caller **oldest)
{
    for (struct sirix_caller **at = bucket; *at != NULL; at = &(*at)->next) {
        if ((*at)->references == 0 && (oldest == NULL || (*at)->used < (*oldest)->used)) {
            oldest = at;
        }
    }
    return oldest;
}

/* Takes out the one that has been away longest; false: all are at work. Called with the mutex. */
static bool make_room(struct sirix_callers *callers)
{
    struct sirix_caller **oldest = NULL;

    for (size_t i = 0; i < BUCKETS; i++) {
        oldest = older_of(&callers->buckets[i], oldest);
    }
    if (oldest == NULL) {
        return false;
    }
    struct sirix_caller *gone = *oldest;
    *oldest = gone->next;
    callers->count--;
    free_caller(gone);
    return true;
}

/* Called with the mutex. */
static enum sirix_status add(struct sirix_callers *callers, const struct sirix_identity *identity,
                             const uint8_t key[SIRIX_SHA256_BYTES], struct sirix_caller **out,
                             struct sirix_error *err)
{
    if (callers->count == SIRIX_CALLERS_MAX && !make_room(callers)) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "%d callers are at work already",
                          SIRIX_CALLERS_MAX);
    }
    enum sirix_status status = new_caller(callers, identity, out, err);
    if (status == SIRIX_OK) {
        struct sirix_caller **bucket = bucket_of(callers, key);

        memcpy((*out)->key, key, SIRIX_SHA256_BYTES);
        (*out)->next = *bucket;
        *bucket = *out;
        callers->count++;
    }
    return status;
}

enum sirix_status sirix_callers_get(struct sirix_callers *callers,
                                    const struct sirix_identity *identity,
                                    struct sirix_caller **out, struct sirix_error *err)
{
    uint8_t key[SIRIX_SHA256_BYTES];
    enum sirix_status status = key_of(identity, key, err);

    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&callers->mutex);
    struct sirix_caller *caller = find(callers, key);
    if (caller == NULL) {
        status = add(callers, identity, key, &caller, err);
    }
    if (status == SIRIX_OK) {
        caller->references++;
        caller->used = ++callers->asked;
        *out = caller;
    }
    (void)pthread_mutex_unlock(&callers->mutex);
    return status;
}

const struct sirix_mcp_server *sirix_caller_server(const struct sirix_caller *caller)
{
    return &caller->server;
}

struct sirix_caller *sirix_caller_ref(struct sirix_caller *caller)
{
    if (caller != NULL) {
        (void)pthread_mutex_lock(&caller->callers->mutex);
        caller->references++;
        (void)pthread_mutex_unlock(&caller->callers->mutex);
    }
    return caller;
}

void sirix_caller_unref(struct sirix_caller *caller)
{
    if (caller != NULL) {
        struct sirix_callers *callers = caller->callers;

        (void)pthread_mutex_lock(&callers->mutex);
        caller->references--;
        (void)pthread_mutex_unlock(&callers->mutex);
    }
}

enum sirix_status sirix_callers_new(const struct sirix_mcp_server *server,
                                    struct sirix_gateway_backend *reader,
                                    struct sirix_callers **out, struct sirix_error *err)
{
    struct sirix_callers *callers = calloc(1, sizeof(*callers));

    if (callers == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for callers");
    }
    callers->server = server;
    callers->reader = reader;
    (void)pthread_mutex_init(&callers->mutex, NULL);
    *out = callers;
    return SIRIX_OK;
}

void sirix_callers_free(struct sirix_callers *callers)
{
    if (callers == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        while (callers->buckets[i] != NULL) {
            struct sirix_caller *caller = callers->buckets[i];

            callers->buckets[i] = caller->next;
            free_caller(caller);
        }
    }
    (void)pthread_mutex_destroy(&callers->mutex);
    free(callers);
}
