/* A chain of blocks, newest first; only the newest is bumped. */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"

enum { BLOCK_BYTES_FIRST = 4096, BLOCK_BYTES_LAST = 256 * 1024, ALIGN_MAX = 4096 };

struct sirix_arena_block {
    struct sirix_arena_block *older;
    uint8_t *end;
    alignas(max_align_t) uint8_t bytes[];
};

static void free_blocks_until(struct sirix_arena *arena, const struct sirix_arena_block *stop)
{
    while (arena->blocks != stop) {
        struct sirix_arena_block *block = arena->blocks;

        arena->blocks = block->older;
        free(block);
    }
}

/* Adds a block with room for size bytes at any alignment up to align. */
static enum sirix_status add_block(struct sirix_arena *arena, size_t size, size_t align,
                                   struct sirix_error *err)
{
    struct sirix_arena_block *block = NULL;
    size_t room = arena->block_bytes - sizeof(*block);
    size_t need = 0;
    size_t total = 0;

    if (!sirix_add_size(size, align, &need)) {
        need = SIZE_MAX;
    }
    room = room < need ? need : room;
    if (sirix_add_size(room, sizeof(*block), &total)) {
        block = malloc(total);
    }
    if (block == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate %zu bytes", room);
    }
    block->older = arena->blocks;
    block->end = block->bytes + room;
    arena->blocks = block;
    arena->next = block->bytes;
    arena->end = block->end;
    if (arena->block_bytes < BLOCK_BYTES_LAST) {
        arena->block_bytes *= 2;
    }
    return SIRIX_OK;
}

void sirix_arena_init(struct sirix_arena *arena, size_t limit_bytes)
{
    *arena = (struct sirix_arena){.limit_bytes = limit_bytes, .block_bytes = BLOCK_BYTES_FIRST};
}

void sirix_arena_deinit(struct sirix_arena *arena)
{
    if (arena != NULL) {
        free_blocks_until(arena, NULL);
        sirix_arena_init(arena, arena->limit_bytes);
    }
}

void sirix_arena_reset(struct sirix_arena *arena)
{
    struct sirix_arena_block *kept = arena->blocks;

    if (kept == NULL || kept->end - kept->bytes > BLOCK_BYTES_LAST) {
        sirix_arena_deinit(arena);
        return;
    }
    arena->blocks = kept->older;
    free_blocks_until(arena, NULL);
    kept->older = NULL;
    arena->blocks = kept;
    arena->next = kept->bytes;
    arena->end = kept->end;
    arena->used_bytes = 0;
}

struct sirix_arena_mark sirix_arena_mark(const struct sirix_arena *arena)
{
    return (struct sirix_arena_mark){
        .block = arena->blocks, .next = arena->next, .used_bytes = arena->used_bytes};
}

void sirix_arena_rewind(struct sirix_arena *arena, struct sirix_arena_mark mark)
{
    free_blocks_until(arena, mark.block);
    arena->next = mark.next;
    arena->end = mark.block == NULL ? NULL : mark.block->end;
    arena->used_bytes = mark.used_bytes;
}

enum sirix_status sirix_arena_alloc_aligned(struct sirix_arena *arena, size_t size, size_t align,
                                            void **out, struct sirix_error *err)
{
    assert(align != 0 && (align & (align - 1)) == 0 && align <= ALIGN_MAX);

    size_t padding = (size_t)(-(uintptr_t)arena->next & (align - 1));
    size_t room = arena->next == NULL ? 0 : (size_t)(arena->end - arena->next);

    if (size > arena->limit_bytes - arena->used_bytes) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "the request's memory is limited to %zu bytes",
                                 arena->limit_bytes);
    }
    if (arena->next == NULL || padding > room || size > room - padding) {
        enum sirix_status status = add_block(arena, size, align, err);
        if (status != SIRIX_OK) {
            return status;
        }
        padding = (size_t)(-(uintptr_t)arena->next & (align - 1));
    }
    assert(arena->next != NULL);
    *out = arena->next + padding;
    arena->next += padding + size;
    /* Padding may not push the sum past the limit: the subtraction above would wrap. */
    size_t left = arena->limit_bytes - arena->used_bytes - size;
    arena->used_bytes += size + (padding < left ? padding : left);
    return SIRIX_OK;
}

enum sirix_status sirix_arena_alloc(struct sirix_arena *arena, size_t size, void **out,
                                    struct sirix_error *err)
{
    return sirix_arena_alloc_aligned(arena, size, alignof(max_align_t), out, err);
}

enum sirix_status sirix_arena_calloc(struct sirix_arena *arena, size_t count, size_t size,
                                     void **out, struct sirix_error *err)
{
    size_t bytes = 0;
    void *memory = NULL;

    if (!sirix_mul_size(count, size, &bytes)) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "%zu elements of %zu bytes pass the address space", count, size);
    }
    enum sirix_status status = sirix_arena_alloc(arena, bytes, &memory, err);
    if (status == SIRIX_OK) {
        assert(memory != NULL);
        memset(memory, 0, bytes);
        *out = memory;
    }
    return status;
}

enum sirix_status sirix_arena_copy(struct sirix_arena *arena, struct sirix_bytes bytes,
                                   struct sirix_bytes *out, struct sirix_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc_aligned(arena, bytes.len, 1, &memory, err);

    if (status == SIRIX_OK) {
        assert(memory != NULL);
        if (bytes.len != 0) {
            memcpy(memory, bytes.data, bytes.len);
        }
        *out = (struct sirix_bytes){.data = memory, .len = bytes.len};
    }
    return status;
}

enum sirix_status sirix_arena_c_str(struct sirix_arena *arena, struct sirix_bytes bytes, char **out,
                                    struct sirix_error *err)
{
    void *memory = NULL;
    size_t size = 0;

    if (!sirix_add_size(bytes.len, 1, &size)) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "a text fills the address space");
    }
    enum sirix_status status = sirix_arena_alloc_aligned(arena, size, 1, &memory, err);
    if (status == SIRIX_OK) {
        char *text = memory;

        assert(text != NULL);
        if (bytes.len != 0) {
            memcpy(text, bytes.data, bytes.len);
        }
        text[bytes.len] = '\0';
        *out = text;
    }
    return status;
}

enum sirix_status sirix_arena_strdup(struct sirix_arena *arena, const char *text, char **out,
                                     struct sirix_error *err)
{
    struct sirix_bytes bytes = {.data = text, .len = strlen(text)};

    return sirix_arena_c_str(arena, bytes, out, err);
}

enum sirix_status sirix_arena_printf(struct sirix_arena *arena, char **out, struct sirix_error *err,
                                     const char *fmt, ...)
{
    va_list args;
    va_list again;
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0) {
        status = sirix_fail(err, SIRIX_INTERNAL, "a format could not be printed");
        goto out;
    }
    status = sirix_arena_alloc_aligned(arena, (size_t)len + 1, 1, &memory, err);
    if (status == SIRIX_OK) {
        (void)vsnprintf(memory, (size_t)len + 1, fmt, again); /* The same length again. */
        *out = memory;
    }

out:
    va_end(again);
    return status;
}
