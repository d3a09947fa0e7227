/*
 * What all benches share: clocks, memory, random numbers, and lines of "name value" on stdout, which
 * tests/bench/run reads. Units are in the names. Anything that fails ends the program.
 */
#ifndef SIRIX_TESTS_BENCH_COMMON_MEASURE_H
#define SIRIX_TESTS_BENCH_COMMON_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/status.h"

void bench_must(enum sirix_status status, const struct sirix_error *err);
void bench_check(bool ok, const char *what);

double bench_wall_s(void);
double bench_cpu_s(void); /* Of this process, all threads. */

/* splitmix64 below a limit. */
uint64_t bench_random(uint64_t *state, uint64_t limit);

static inline struct sirix_bytes bench_bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

void bench_print(const char *name, double value);

/* --- Memory ------------------------------------------------------------------------------------ */

/* Samples the resident memory of a process (0: this one) from a thread of its own. */
struct bench_memory;
struct bench_memory *bench_memory_start(pid_t pid);
/* Prints anon_peak_mib and file_peak_mib. */
void bench_memory_stop(struct bench_memory *memory);

/* --- Times of many operations ------------------------------------------------------------------ */

struct bench_times {
    double *us;
    size_t count;
    size_t cap;
};
void bench_times_add(struct bench_times *times, double us);
/* The value at a fraction (0..1) of the sorted times. */
double bench_times_at(struct bench_times *times, double fraction);
void bench_times_deinit(struct bench_times *times);

/* --- Files ------------------------------------------------------------------------------------- */

/* A file's whole bytes, mapped; never unmapped. */
struct sirix_bytes bench_map_file(const char *path);
/* Allocated bytes of all files of a folder. */
double bench_dir_bytes(const char *dir);

#endif
