/*
 * Failures of the system, injected at the linker into everything that is linked in, liblmdb.a
 * included: the nth call of a kind fails, dies before or after it is made, or all writes are kept to
 * a quota. One plan at a time, one thread.
 *
 * Link with -Wl,--wrap for each name in SIRIX_FAULT_WRAPS of CMakeLists.txt.
 */
#ifndef SIRIX_TESTS_CRASH_SEGMENT_FAULTS_H
#define SIRIX_TESTS_CRASH_SEGMENT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fault_call {
    FAULT_WRITE = 1 << 0, /* pwrite, writev */
    FAULT_SYNC = 1 << 1,  /* fdatasync, fsync */
    FAULT_ALLOC = 1 << 2, /* malloc, calloc, realloc, posix_memalign */
    FAULT_MMAP = 1 << 3,
};

enum fault_effect {
    FAULT_FAILS,    /* With error. */
    FAULT_IS_SHORT, /* A write of half its bytes; like FAULT_FAILS for other calls. */
    FAULT_KILLS_BEFORE,
    FAULT_KILLS_AFTER,
};

struct fault_plan {
    unsigned calls;     /* Which, of enum fault_call. */
    int64_t nth;        /* From 0; -1: none, only count. */
    bool and_all_after; /* The nth and all later ones. */
    enum fault_effect effect;
    int error;
};

/* Sync calls and O_DSYNC are left out from now on: killing a process loses nothing of the page cache. */
void faults_skip_syncs(void);

/* Begins a plan, and ends it: how many calls of its kinds there were. */
void faults_arm(const struct fault_plan *plan);
int64_t faults_disarm(void);

/* Writes may not reach beyond this offset: what does is cut, or fails with ENOSPC. 0: no limit. */
void faults_set_quota(off_t bytes);

/*
 * Records writes and syncs of files under watch while armed or not: see power_cut. write_synced tells
 * whether the descriptor writes through (O_DSYNC).
 */
struct fault_watcher {
    void (*written)(void *context, int fd, const void *data, size_t len, off_t offset, bool synced);
    void (*synced)(void *context, int fd);
    void *context;
};
void faults_watch(const struct fault_watcher *watcher);

#endif
