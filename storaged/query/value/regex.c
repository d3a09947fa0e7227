/* Compiling, caching and matching of regular expressions on PCRE2; the syntax is regex_translate.c's. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/value/regex.h"

#include <pcre2.h>
#include <string.h>
#include <time.h>

#include "query/value/regex_translate.h"

enum {
    CACHED = 16,
    FIRST_PIECE = 1024,
    PIECE_MAX = 1 << 24,
    PIECE_NS = 500000,
    STEPS_UNWATCHED =
        10000,           /* Half a millisecond at most. More: with looks at the clock in between. */
    CALLS_BETWEEN = 256, /* Of the watch; two looks are these apart. */
    UNITS_BETWEEN = 256, /* Of work that they are. */
};

/* Where PCRE2's memory comes from, and the wish that was refused last. */
struct regex_memory {
    struct sirix_arena *arena;
    size_t refused_bytes;
};

struct sirix_regex {
    struct regex_memory memory;
    struct sirix_bytes pattern; /* As given, for the cache. */
    struct sirix_bytes flags;
    bool is_literal;
    size_t groups;
    const uint8_t *parents;
    struct sirix_bytes text; /* As PCRE2 has it. */
    uint32_t options;
    pcre2_code *code;
    pcre2_code
        *watched; /* The same, which calls out at every item; NULL until one match takes long. */
    pcre2_match_data *match;
    pcre2_match_context *context;
    const struct regex_memory *match_memory; /* Where these two come from. */
};

/* One piece of match memory, which grows to what the hungriest expression needs, serves all of them. */
struct sirix_regex_cache {
    struct sirix_arena *arena;
    struct regex_memory memory;
    pcre2_match_data *match; /* NULL before the first expression. */
    pcre2_match_context *context;
    struct sirix_regex *entries[CACHED];
    size_t next;
};

/* PCRE2's memory: from the arena, never given back alone. */
static void *give(size_t size, void *context)
{
    struct regex_memory *from = context;
    void *memory = NULL;

    if (sirix_arena_alloc(from->arena, size, &memory, NULL) != SIRIX_OK) {
        from->refused_bytes = size;
        return NULL;
    }
    return memory;
}

static void take_back(void *memory, void *context)
{
    (void)memory;
    (void)context;
}

enum sirix_status sirix_regex_cache_new(struct sirix_arena *arena, struct sirix_regex_cache **out,
                                        struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(arena, 1, sizeof(struct sirix_regex_cache), &memory, &err->base);

    if (status == SIRIX_OK) {
        *out = memory;
        (*out)->arena = arena;
    }
    return status;
}

/* Asks the arena once more, to hear why it refused. */
static enum sirix_status no_memory(const struct regex_memory *memory, struct sirix_query_error *err)
{
    void *unused = NULL;
    enum sirix_status status =
        sirix_arena_alloc(memory->arena, memory->refused_bytes, &unused, &err->base);

    return status != SIRIX_OK
               ? status
               : sirix_fail(&err->base, SIRIX_NO_MEMORY, "no memory for a regular expression");
}

/* Compiles the translated text. */
static enum sirix_status compile_code(struct sirix_regex *regex, uint32_t more_options,
                                      pcre2_code **out, struct sirix_query_error *err)
{
    pcre2_general_context *general = pcre2_general_context_create(give, take_back, &regex->memory);
    pcre2_compile_context *context = general == NULL ? NULL : pcre2_compile_context_create(general);
    int code = 0;
    PCRE2_SIZE at = 0;

    if (context == NULL) {
        return no_memory(&regex->memory, err);
    }
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF); /* Fails for a bad argument only. */
    *out = pcre2_compile((PCRE2_SPTR)regex->text.data, regex->text.len,
                         regex->options | more_options, &code, &at, context);
    if (*out == NULL && code == PCRE2_ERROR_HEAP_FAILED) {
        return no_memory(&regex->memory, err);
    }
    if (*out == NULL) {
        PCRE2_UCHAR why[128] = "";

        (void)pcre2_get_error_message(code, why, sizeof(why)); /* Cut is fine. */
        return sirix_query_fail(err, "FORX0002", "the regular expression is not valid: %s",
                                (const char *)why);
    }
    return SIRIX_OK;
}

/* What matching needs besides the program: enough for any number of groups. */
static enum sirix_status make_match(struct regex_memory *memory, pcre2_match_data **out_match,
                                    pcre2_match_context **out_context,
                                    struct sirix_query_error *err)
{
    pcre2_general_context *general = pcre2_general_context_create(give, take_back, memory);

    if (general == NULL) {
        return no_memory(memory, err);
    }
    pcre2_match_data *match = pcre2_match_data_create(SIRIX_REGEX_GROUPS_MAX + 1, general);
    pcre2_match_context *context = pcre2_match_context_create(general);

    if (match == NULL || context == NULL) {
        return no_memory(memory, err);
    }
    (void)pcre2_set_depth_limit(context, SIRIX_REGEX_DEPTH_MAX);
    (void)pcre2_set_heap_limit(context, SIRIX_REGEX_HEAP_KIB_MAX);
    *out_match = match;
    *out_context = context;
    return SIRIX_OK;
}

static enum sirix_status compile(struct sirix_work *work, struct sirix_regex_cache *cache,
                                 struct sirix_bytes pattern, struct sirix_bytes flags,
                                 struct sirix_regex **out, struct sirix_query_error *err)
{
    struct sirix_arena *arena = cache == NULL ? work->arena : cache->arena;
    struct sirix_regex_source source = {0};
    void *memory = NULL;
    enum sirix_status status = sirix_regex_translate(work, pattern, flags, &source, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, 1, sizeof(struct sirix_regex), &memory, &err->base);
    }
    struct sirix_regex *regex = memory;

    if (status == SIRIX_OK) {
        status = sirix_arena_copy(arena, pattern, &regex->pattern, &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(arena, flags, &regex->flags, &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(arena, source.text, &regex->text, &err->base);
    }
    struct sirix_bytes parents = {.data = source.parents, .len = source.groups + 1};
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(arena, parents, &parents, &err->base);
    }
    if (status == SIRIX_OK) {
        regex->parents = parents.data;
        regex->groups = source.groups;
        regex->is_literal = source.is_literal;
        regex->memory.arena = arena;
        regex->options = source.options;
        status = compile_code(regex, 0, &regex->code, err);
    }
    if (status == SIRIX_OK && cache == NULL) {
        status = make_match(&regex->memory, &regex->match, &regex->context, err);
    } else if (status == SIRIX_OK && cache->match == NULL) {
        cache->memory.arena = cache->arena;
        status = make_match(&cache->memory, &cache->match, &cache->context, err);
    }
    if (status == SIRIX_OK && cache != NULL) {
        regex->match = cache->match;
        regex->context = cache->context;
    }
    if (status == SIRIX_OK) {
        regex->match_memory = cache == NULL ? &regex->memory : &cache->memory;
    }
    if (status == SIRIX_OK) {
        *out = regex;
    }
    return status;
}

enum sirix_status sirix_regex_get(struct sirix_work *work, struct sirix_bytes pattern,
                                  struct sirix_bytes flags, struct sirix_regex **out,
                                  struct sirix_query_error *err)
{
    struct sirix_regex_cache *cache = work->regexes;
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);

    for (size_t i = 0; cache != NULL && i < CACHED; i++) {
        struct sirix_regex *entry = cache->entries[i];

        if (entry != NULL && sirix_bytes_equal(entry->pattern, pattern) &&
            sirix_bytes_equal(entry->flags, flags)) {
            *out = entry;
            return SIRIX_OK;
        }
    }
    struct sirix_regex *made = NULL;
    enum sirix_status status = compile(work, cache, pattern, flags, &made, err);
    sirix_arena_rewind(work->scratch, mark);
    if (status != SIRIX_OK) {
        return status;
    }
    if (cache != NULL) {
        cache->entries[cache->next] = made;
        cache->next = (cache->next + 1) % CACHED;
    }
    *out = made;
    return SIRIX_OK;
}

size_t sirix_regex_groups(const struct sirix_regex *regex)
{
    return regex->groups;
}

bool sirix_regex_is_literal(const struct sirix_regex *regex)
{
    return regex->is_literal;
}

size_t sirix_regex_parent(const struct sirix_regex *regex, size_t group)
{
    return regex->parents[group];
}

static uint64_t now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* Cannot fail for this clock. */
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* A match that takes long looks whether to go on. */
struct watch {
    struct sirix_work *work;
    struct sirix_query_error *err;
    enum sirix_status status;
    uint32_t calls;
};

static int look(pcre2_callout_block *block, void *context)
{
    struct watch *watch = context;

    (void)block;
    if (++watch->calls % CALLS_BETWEEN != 0) {
        return 0;
    }
    watch->status = sirix_work_tick(watch->work, UNITS_BETWEEN, watch->err);
    return watch->status == SIRIX_OK ? 0 : PCRE2_ERROR_CALLOUT;
}

static int call_pcre(const struct sirix_regex *regex, const pcre2_code *code,
                     struct sirix_bytes text, size_t from, uint32_t steps_max)
{
    (void)pcre2_set_match_limit(regex->context, steps_max);
    return pcre2_match(code, text.len == 0 ? (PCRE2_SPTR) "" : text.data, text.len, from,
                       PCRE2_NO_UTF_CHECK, regex->match, regex->context);
}

static enum sirix_status match_watched(struct sirix_work *work, struct sirix_regex *regex,
                                       struct sirix_bytes text, size_t from, int *out_count,
                                       struct sirix_query_error *err)
{
    struct watch watch = {.work = work, .err = err, .status = SIRIX_OK};
    enum sirix_status status = SIRIX_OK;

    if (regex->watched == NULL) {
        status = compile_code(regex, PCRE2_AUTO_CALLOUT, &regex->watched, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    (void)pcre2_set_callout(regex->context, look, &watch);
    *out_count = call_pcre(regex, regex->watched, text, from, SIRIX_REGEX_STEPS_MAX);
    (void)pcre2_set_callout(regex->context, NULL, NULL);
    return watch.status;
}

/* Matches that begin in [from, last]. PCRE2's step limit is for each beginning. */
static enum sirix_status match_some(struct sirix_work *work, struct sirix_regex *regex,
                                    struct sirix_bytes text, size_t from, size_t last,
                                    bool *out_found, struct sirix_query_error *err)
{
    (void)pcre2_set_offset_limit(regex->context, last);
    int count = call_pcre(regex, regex->code, text, from, STEPS_UNWATCHED);

    if (count == PCRE2_ERROR_MATCHLIMIT) {
        enum sirix_status status = match_watched(work, regex, text, from, &count, err);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (count == PCRE2_ERROR_MATCHLIMIT || count == PCRE2_ERROR_DEPTHLIMIT ||
        count == PCRE2_ERROR_HEAPLIMIT) {
        return sirix_query_fail_limit(err, "regex_steps",
                                      "a regular expression takes too many steps on this text");
    }
    if (count == PCRE2_ERROR_NOMEMORY) {
        return no_memory(regex->match_memory, err);
    }
    if (count < 0 && count != PCRE2_ERROR_NOMATCH) {
        return sirix_fail(&err->base, SIRIX_INTERNAL, "matching a regular expression failed: %d",
                          count);
    }
    *out_found = count >= 0;
    return SIRIX_OK;
}

enum sirix_status sirix_regex_match(struct sirix_work *work, struct sirix_regex *regex,
                                    struct sirix_bytes text, size_t from, bool *out_found,
                                    const size_t **out_spans, struct sirix_query_error *err)
{
    const uint8_t *bytes = text.data;
    size_t piece = FIRST_PIECE;
    bool found = false;
    enum sirix_status status = sirix_work_tick(work, 4, err);

    /* In pieces that take about half a millisecond each, so that time is looked at between them. */
    while (status == SIRIX_OK && !found) {
        size_t last = text.len - from < piece ? text.len : from + piece;
        uint64_t start = text.len - from > FIRST_PIECE ? now_ns() : 0;

        status = match_some(work, regex, text, from, last, &found, err);
        if (status != SIRIX_OK || found || last == text.len) {
            break;
        }
        uint64_t spent = now_ns() - start;

        if (spent < PIECE_NS / 4 && piece < PIECE_MAX) {
            piece *= 2;
        } else if (spent > PIECE_NS && piece > 1) {
            piece /= 2;
        }
        status = sirix_work_tick(work, spent / 100, err);
        for (from = last + 1; from < text.len && (bytes[from] & 0xc0) == 0x80; from++) {
        }
    }
    if (status == SIRIX_OK) {
        *out_found = found;
        *out_spans = pcre2_get_ovector_pointer(regex->match);
    }
    return status;
}
