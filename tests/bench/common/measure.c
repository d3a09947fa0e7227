#include "bench/common/measure.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

void bench_must(enum sirix_status status, const struct sirix_error *err)
{
    if (status != SIRIX_OK) {
        (void)fprintf(stderr, "%s: %s\n", sirix_status_name(status), err->text);
        exit(EXIT_FAILURE);
    }
}

void bench_check(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "%s failed\n", what);
        exit(EXIT_FAILURE);
    }
}

static double seconds(clockid_t clock)
{
    struct timespec at;

    (void)clock_gettime(clock, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

double bench_wall_s(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double bench_cpu_s(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t bench_random(uint64_t *state, uint64_t limit)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(*state) % limit;
}

void bench_print(const char *name, double value)
{
    (void)printf("%s %.6g\n", name, value);
    (void)fflush(stdout);
}

/* --- Memory ------------------------------------------------------------------------------------ */

enum { SAMPLE_EVERY_NS = 5 * 1000 * 1000 };

struct bench_memory {
    pthread_t thread;
    atomic_bool ending;
    char path[64];
    uint64_t anon_kib;
    uint64_t file_kib;
};

static void sample(struct bench_memory *memory)
{
    char line[256];
    FILE *file = fopen(memory->path, "r");

    bench_check(file != NULL, "opening /proc/PID/status");
    while (fgets(line, sizeof(line), file) != NULL) {
        bool anon = strncmp(line, "RssAnon:", 8) == 0;
        if (anon || strncmp(line, "RssFile:", 8) == 0) {
            uint64_t kib = strtoull(line + 8, NULL, 10);
            uint64_t *peak = anon ? &memory->anon_kib : &memory->file_kib;
            *peak = kib > *peak ? kib : *peak;
        }
    }
    (void)fclose(file);
}

static void *run_sampler(void *context)
{
    struct bench_memory *memory = context;
    const struct timespec pause = {.tv_nsec = SAMPLE_EVERY_NS};

    while (!atomic_load(&memory->ending)) {
        sample(memory);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

struct bench_memory *bench_memory_start(pid_t pid)
{
    struct bench_memory *memory = calloc(1, sizeof(*memory));

    bench_check(memory != NULL, "memory");
    (void)snprintf(memory->path, sizeof(memory->path), "/proc/%d/status",
                   pid == 0 ? (int)getpid() : (int)pid);
    bench_check(pthread_create(&memory->thread, NULL, run_sampler, memory) == 0, "a thread");
    return memory;
}

void bench_memory_stop(struct bench_memory *memory)
{
    atomic_store(&memory->ending, true);
    bench_check(pthread_join(memory->thread, NULL) == 0, "joining a thread");
    sample(memory);
    bench_print("anon_peak_mib", (double)memory->anon_kib / 1024);
    bench_print("file_peak_mib", (double)memory->file_kib / 1024);
    free(memory);
}

/* --- Times of many operations ------------------------------------------------------------------ */

void bench_times_add(struct bench_times *times, double us)
{
    if (times->count == times->cap) {
        times->cap = times->cap == 0 ? 1024 : 2 * times->cap;
        times->us = realloc(times->us, times->cap * sizeof(*times->us));
        bench_check(times->us != NULL, "memory");
    }
    times->us[times->count++] = us;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

double bench_times_at(struct bench_times *times, double fraction)
{
    bench_check(times->count != 0, "a measurement without times");
    qsort(times->us, times->count, sizeof(*times->us), compare);
    return times->us[(size_t)((double)(times->count - 1) * fraction)];
}

void bench_times_deinit(struct bench_times *times)
{
    free(times->us);
    *times = (struct bench_times){0};
}

/* --- Files ------------------------------------------------------------------------------------- */

struct sirix_bytes bench_map_file(const char *path)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *data = NULL;

    bench_check(fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size > 0, path);
    data = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    bench_check(data != MAP_FAILED, "mmap");
    (void)close(fd);
    return (struct sirix_bytes){.data = data, .len = (size_t)stat.st_size};
}

double bench_dir_bytes(const char *dir)
{
    DIR *open_dir = opendir(dir);
    double bytes = 0;

    bench_check(open_dir != NULL, dir);
    for (struct dirent *entry = readdir(open_dir); entry != NULL; entry = readdir(open_dir)) {
        struct stat stat;
        if (fstatat(dirfd(open_dir), entry->d_name, &stat, 0) == 0 && S_ISREG(stat.st_mode)) {
            bytes += (double)stat.st_blocks * 512;
        }
    }
    (void)closedir(open_dir);
    return bytes;
}
