/* Radix sort in memory, sorted runs in a file, and their merge. */
#include "store/child/name_sort.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTE_VALUES = 256, HASH_BYTES = 4, KEY_BYTES = 8, FILE_MODE = 0600, PATH_BYTES_MAX = 4096 };

/* A sorted piece of the spill file, and the part of it that is in memory. */
struct run {
    uint64_t offset; /* Of the first pair not yet in the buffer, in the file. */
    uint64_t left;   /* Pairs from there on. */
    struct sirix_name_pair *buffer;
    size_t have;
    size_t taken;
};

struct sirix_name_sort {
    struct sirix_name_pair *pairs; /* memory_pairs of them; the second half is scratch. */
    size_t memory_pairs;
    size_t count;
    size_t taken;
    bool keys_rise; /* So far, within the half in memory. */
    const char *spill_dir;
    int fd;
    uint64_t file_bytes;
    struct run *runs;
    size_t run_count;
    size_t run_max;
    size_t *heap; /* Indexes of runs that have a pair, the least on top. */
    size_t heap_count;
};

static bool pair_less(const struct sirix_name_pair *a, const struct sirix_name_pair *b)
{
    uint32_t hash_a = sirix_name_hash_stored(a->hash);
    uint32_t hash_b = sirix_name_hash_stored(b->hash);

    return hash_a != hash_b ? hash_a < hash_b : a->key < b->key;
}

static size_t half_of(const struct sirix_name_sort *sort)
{
    return sort->memory_pairs / 2;
}

/* --- In memory ---------------------------------------------------------------------------------- */

/* Byte number `byte` of what the pairs are sorted by: the key's bytes, then the stored hash's. */
static uint8_t digit(const struct sirix_name_pair *pair, unsigned byte)
{
    if (byte < KEY_BYTES) {
        return (uint8_t)(pair->key >> (8 * byte));
    }
    return (uint8_t)(sirix_name_hash_stored(pair->hash) >> (8 * (byte - KEY_BYTES)));
}

/* One stable pass over one byte; false when all pairs have the same one and nothing was moved. */
static bool sort_pass(const struct sirix_name_pair *from, struct sirix_name_pair *to, size_t count,
                      unsigned byte)
{
    size_t places[BYTE_VALUES] = {0};
    size_t place = 0;

    for (size_t i = 0; i < count; i++) {
        places[digit(&from[i], byte)] += 1;
    }
    if (places[digit(&from[0], byte)] == count) {
        return false;
    }
    for (size_t i = 0; i < BYTE_VALUES; i++) {
        size_t here = places[i];

        places[i] = place;
        place += here;
    }
    for (size_t i = 0; i < count; i++) {
        size_t *at = &places[digit(&from[i], byte)];

        to[*at] = from[i];
        *at += 1;
    }
    return true;
}

/* Sorts what is in memory; the result is in pairs[0..count). */
static void sort_memory(struct sirix_name_sort *sort)
{
    struct sirix_name_pair *from = sort->pairs;
    struct sirix_name_pair *to = sort->pairs + half_of(sort);
    /* Pairs mostly come with rising keys: then the passes over the key have nothing to do. */
    unsigned byte = sort->keys_rise ? KEY_BYTES : 0;

    for (; sort->count > 1 && byte < KEY_BYTES + HASH_BYTES; byte++) {
        if (sort_pass(from, to, sort->count, byte)) {
            struct sirix_name_pair *sorted = to;

            to = from;
            from = sorted;
        }
    }
    if (from != sort->pairs) {
        memcpy(sort->pairs, from, sort->count * sizeof(*from));
    }
}

/* --- Spilling ----------------------------------------------------------------------------------- */

static enum sirix_status fail_spill(const struct sirix_name_sort *sort, const char *what,
                                    struct sirix_error *err)
{
    bool full = errno == ENOSPC || errno == EDQUOT;

    return sirix_fail_reason(
        err, full ? SIRIX_NO_SPACE : SIRIX_IO, full ? SIRIX_REASON_DISK_FULL : SIRIX_REASON_NONE,
        "%s of sorted names in %s: %s", what, sort->spill_dir, strerror(errno));
}

/* A file without a name; where the file system cannot make one, one whose name goes at once. */
static enum sirix_status open_spill(struct sirix_name_sort *sort, struct sirix_error *err)
{
    static const char template[] = "/names-XXXXXX";
    char path[PATH_BYTES_MAX];
    size_t dir_len = strlen(sort->spill_dir);

    sort->fd = open(sort->spill_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);
    if (sort->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR) &&
        dir_len + sizeof(template) <= sizeof(path)) {
        memcpy(path, sort->spill_dir, dir_len);
        memcpy(path + dir_len, template, sizeof(template));
        sort->fd = mkostemp(path, O_CLOEXEC);
        if (sort->fd >= 0) {
            (void)unlink(path); /* At worst an empty name is left behind. */
        }
    }
    return sort->fd < 0 ? fail_spill(sort, "open the file", err) : SIRIX_OK;
}

static enum sirix_status write_spill(struct sirix_name_sort *sort, const void *data, size_t len,
                                     struct sirix_error *err)
{
    const uint8_t *at = data;

    while (len != 0) {
        ssize_t written = pwrite(sort->fd, at, len, (off_t)sort->file_bytes);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return fail_spill(sort, "write the file", err);
        }
        at += written;
        len -= (size_t)written;
        sort->file_bytes += (uint64_t)written;
    }
    return SIRIX_OK;
}

static enum sirix_status read_spill(struct sirix_name_sort *sort, void *data, size_t len,
                                    uint64_t offset, struct sirix_error *err)
{
    uint8_t *at = data;

    while (len != 0) {
        ssize_t got = pread(sort->fd, at, len, (off_t)offset);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            errno = got == 0 ? EIO : errno;
            return fail_spill(sort, "read the file", err);
        }
        at += got;
        len -= (size_t)got;
        offset += (uint64_t)got;
    }
    return SIRIX_OK;
}

/* Sorts what is in memory and makes it a run of the file. */
static enum sirix_status spill(struct sirix_name_sort *sort, struct sirix_error *err)
{
    size_t buffers =
        sort->memory_pairs * sizeof(struct sirix_name_pair) / SIRIX_NAME_SORT_BUFFER_BYTES;
    uint64_t offset = sort->file_bytes;
    enum sirix_status status = SIRIX_OK;

    if (sort->spill_dir == NULL || sort->run_count == buffers) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "an object has more members than %zu bytes of memory can sort",
                                 sort->memory_pairs * sizeof(struct sirix_name_pair));
    }
    if (sort->run_count == sort->run_max) {
        size_t run_max = sort->run_max == 0 ? 16 : sort->run_max * 2;
        struct run *runs = realloc(sort->runs, run_max * sizeof(*runs));

        if (runs == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate runs of sorted names");
        }
        sort->runs = runs;
        sort->run_max = run_max;
    }
    if (sort->fd < 0) {
        status = open_spill(sort, err);
    }
    if (status == SIRIX_OK) {
        sort_memory(sort);
        status = write_spill(sort, sort->pairs, sort->count * sizeof(*sort->pairs), err);
    }
    if (status == SIRIX_OK) {
        sort->runs[sort->run_count] = (struct run){.offset = offset, .left = sort->count};
        sort->run_count += 1;
        sort->count = 0;
        sort->keys_rise = true;
    }
    return status;
}

/* --- Merging ------------------------------------------------------------------------------------ */

/* Fills the (used up) buffer of a run. */
static enum sirix_status refill(struct sirix_name_sort *sort, struct run *run, size_t buffer_pairs,
                                struct sirix_error *err)
{
    size_t want = run->left < buffer_pairs ? (size_t)run->left : buffer_pairs;
    size_t len = want * sizeof(*run->buffer);
    enum sirix_status status = read_spill(sort, run->buffer, len, run->offset, err);

    if (status == SIRIX_OK) {
        run->offset += len;
        run->left -= want;
        run->have = want;
        run->taken = 0;
    }
    return status;
}

static bool run_less(const struct sirix_name_sort *sort, size_t a, size_t b)
{
    const struct run *run_a = &sort->runs[a];
    const struct run *run_b = &sort->runs[b];

    return pair_less(&run_a->buffer[run_a->taken], &run_b->buffer[run_b->taken]);
}

/* Moves the run at a place of the heap down to where it belongs. */
static void sift_down(struct sirix_name_sort *sort, size_t at)
{
    size_t *heap = sort->heap;

    for (;;) {
        size_t child = 2 * at + 1;
        size_t least = at;
        size_t moved = heap[at];

        if (child < sort->heap_count && run_less(sort, heap[child], heap[least])) {
            least = child;
        }
        child += 1;
        if (child < sort->heap_count && run_less(sort, heap[child], heap[least])) {
            least = child;
        }
        if (least == at) {
            return;
        }
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

static size_t buffer_pairs_of(const struct sirix_name_sort *sort)
{
    return sort->memory_pairs / sort->run_count;
}

static enum sirix_status next_merged(struct sirix_name_sort *sort, struct sirix_name_pair *out_pair,
                                     struct sirix_error *err)
{
    struct run *run = NULL;
    enum sirix_status status = SIRIX_OK;

    if (sort->heap_count == 0) {
        return SIRIX_NOT_FOUND;
    }
    run = &sort->runs[sort->heap[0]];
    *out_pair = run->buffer[run->taken];
    run->taken += 1;
    if (run->taken == run->have && run->left != 0) {
        status = refill(sort, run, buffer_pairs_of(sort), err);
    } else if (run->taken == run->have) {
        sort->heap_count -= 1;
        sort->heap[0] = sort->heap[sort->heap_count];
    }
    if (status == SIRIX_OK && sort->heap_count != 0) {
        sift_down(sort, 0);
    }
    return status;
}

/* --- The whole ---------------------------------------------------------------------------------- */

enum sirix_status sirix_name_sort_new(size_t memory_bytes, const char *spill_dir,
                                      struct sirix_name_sort **out_sort, struct sirix_error *err)
{
    struct sirix_name_sort *sort = calloc(1, sizeof(*sort));

    if (sort == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a sort of names");
    }
    if (memory_bytes == 0) {
        memory_bytes = SIRIX_NAME_SORT_MEMORY_DEFAULT;
    } else if (memory_bytes < SIRIX_NAME_SORT_MEMORY_MIN) {
        memory_bytes = SIRIX_NAME_SORT_MEMORY_MIN;
    }
    sort->fd = -1;
    sort->spill_dir = spill_dir;
    sort->keys_rise = true;
    sort->memory_pairs = memory_bytes / sizeof(*sort->pairs);
    sort->pairs = malloc(sort->memory_pairs * sizeof(*sort->pairs));
    if (sort->pairs == NULL) {
        free(sort);
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate %zu bytes to sort names", memory_bytes);
    }
    *out_sort = sort;
    return SIRIX_OK;
}

void sirix_name_sort_free(struct sirix_name_sort *sort)
{
    if (sort == NULL) {
        return;
    }
    if (sort->fd >= 0) {
        (void)close(sort->fd); /* Nobody will read it again. */
    }
    free(sort->pairs);
    free(sort->runs);
    free(sort->heap);
    free(sort);
}

enum sirix_status sirix_name_sort_add(struct sirix_name_sort *sort,
                                      const struct sirix_name_pair *pair, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (sort->count == half_of(sort)) {
        status = spill(sort, err);
    }
    if (status == SIRIX_OK) {
        sort->keys_rise =
            sort->keys_rise && (sort->count == 0 || sort->pairs[sort->count - 1].key < pair->key);
        sort->pairs[sort->count] = *pair;
        sort->count += 1;
    }
    return status;
}

enum sirix_status sirix_name_sort_start(struct sirix_name_sort *sort, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (sort->run_count == 0) {
        sort_memory(sort);
        return SIRIX_OK;
    }
    if (sort->count != 0) {
        status = spill(sort, err);
    }
    if (status == SIRIX_OK) {
        sort->heap = malloc(sort->run_count * sizeof(*sort->heap));
        if (sort->heap == NULL) {
            status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the merge of sorted names");
        }
    }
    for (size_t i = 0; i < sort->run_count && status == SIRIX_OK; i++) {
        sort->runs[i].buffer = sort->pairs + i * buffer_pairs_of(sort);
        status = refill(sort, &sort->runs[i], buffer_pairs_of(sort), err);
        sort->heap[i] = i;
    }
    if (status == SIRIX_OK) {
        sort->heap_count = sort->run_count;
        for (size_t i = sort->heap_count / 2; i-- > 0;) {
            sift_down(sort, i);
        }
    }
    return status;
}

enum sirix_status sirix_name_sort_next(struct sirix_name_sort *sort,
                                       struct sirix_name_pair *out_pair, struct sirix_error *err)
{
    if (sort->run_count != 0) {
        return next_merged(sort, out_pair, err);
    }
    if (sort->taken == sort->count) {
        return SIRIX_NOT_FOUND;
    }
    *out_pair = sort->pairs[sort->taken];
    sort->taken += 1;
    return SIRIX_OK;
}
