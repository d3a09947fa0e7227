/* One family after the other. */
#include "ops/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "service/backup.h"
#include "store/store.h"

enum { LABELS_BYTES = 160, STAT_BYTES = 1024, NS_PER_US = 1000 };

/* The words of gRPC for its codes. */
static const char *const code_names[SIRIX_METRICS_CODES] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

/* --- Calls -------------------------------------------------------------------------------------- */

static bool was_called(const struct sirix_metrics_method *method)
{
    uint64_t all = method->running;

    for (unsigned i = 0; i < SIRIX_METRICS_CODES; i++) {
        all += method->codes[i];
    }
    return all != 0;
}

/* The codes that a method's calls ended with, and OK also where none did. */
static void write_codes(struct sirix_exposition *exposition,
                        const struct sirix_metrics_method *method)
{
    char labels[LABELS_BYTES];

    for (unsigned code = 0; code < SIRIX_METRICS_CODES; code++) {
        if (method->codes[code] != 0 || code == 0) {
            (void)snprintf(labels, sizeof(labels), "{method=\"%s\",code=\"%s\"}", method->name,
                           code_names[code]);
            sirix_exposition_number(exposition, "sirix_calls_total", labels, method->codes[code]);
        }
    }
}

static void write_calls(struct sirix_exposition *exposition,
                        const struct sirix_metrics_calls *calls)
{
    char label[LABELS_BYTES];

    sirix_exposition_family(exposition, "sirix_calls_total", "counter",
                            "Calls ended, by method and code.");
    for (size_t i = 0; i < calls->method_count; i++) {
        if (was_called(&calls->methods[i])) {
            write_codes(exposition, &calls->methods[i]);
        }
    }
    sirix_exposition_family(exposition, "sirix_call_seconds", "histogram",
                            "From a call's arrival to its status, by method.");
    for (size_t i = 0; i < calls->method_count; i++) {
        const struct sirix_metrics_method *method = &calls->methods[i];
        if (!method->lasts && was_called(method)) {
            (void)snprintf(label, sizeof(label), "method=\"%s\"", method->name);
            sirix_exposition_histogram(exposition, "sirix_call_seconds", label,
                                       sirix_histogram_times_us, &method->times);
        }
    }
    sirix_exposition_one(exposition, "sirix_calls_running", "gauge", "Calls at present.",
                         calls->running);
    sirix_exposition_one(exposition, "sirix_calls_queued", "gauge",
                         "Turns of calls that wait for a worker.", calls->waiting);
    sirix_exposition_one(exposition, "sirix_slow_calls_total", "counter",
                         "Calls that took longer than the threshold of the log.", calls->slow);
}

/* --- The store ---------------------------------------------------------------------------------- */

struct sums {
    uint64_t read_only;
    uint64_t unknown; /* Databases whose numbers could not be had. */
    struct sirix_backend_stats all;
};

static void add_database(void *context, struct sirix_database *database)
{
    struct sums *sums = context;
    struct sirix_backend_stats stats = {0};
    struct sirix_error err = {0};

    if (sirix_backend_stats(sirix_database_backend(database), &stats, &err) != SIRIX_OK) {
        sums->unknown++;
        return;
    }
    sums->read_only += stats.read_only ? 1 : 0;
    sums->all.file_bytes += stats.file_bytes;
    sums->all.segment_bytes += stats.segment_bytes;
    sums->all.segment_count += stats.segment_count;
    sums->all.pack_count += stats.pack_count;
    sums->all.readers += stats.readers;
    if (stats.oldest_reader_ns > sums->all.oldest_reader_ns) {
        sums->all.oldest_reader_ns = stats.oldest_reader_ns;
    }
}

static void write_disk(struct sirix_exposition *exposition, const struct sirix_service *service)
{
    struct statvfs disk = {0};

    if (statvfs(service->dir, &disk) == 0) {
        sirix_exposition_one(exposition, "sirix_disk_free_bytes", "gauge",
                             "Free on the file system of the data folder.",
                             (uint64_t)disk.f_bavail * disk.f_frsize);
        sirix_exposition_one(exposition, "sirix_disk_bytes", "gauge",
                             "Size of the file system of the data folder.",
                             (uint64_t)disk.f_blocks * disk.f_frsize);
    }
}

static void write_databases(struct sirix_exposition *exposition, struct sirix_service *service)
{
    struct sums sums = {0};

    sirix_registry_each_open(service->registry, add_database, &sums);
    sirix_exposition_one(exposition, "sirix_databases", "gauge", "Databases in the data folder.",
                         sirix_registry_count(service->registry));
    sirix_exposition_one(exposition, "sirix_databases_open", "gauge", "Databases that are open.",
                         sirix_registry_open_count(service->registry));
    sirix_exposition_one(exposition, "sirix_databases_read_only", "gauge",
                         "Open databases that refuse writes.", sums.read_only);
    sirix_exposition_one(exposition, "sirix_databases_unmeasured", "gauge",
                         "Open databases that the sums below lack.", sums.unknown);
    sirix_exposition_one(exposition, "sirix_file_bytes", "gauge",
                         "Bytes on disk of the files of open databases.", sums.all.file_bytes);
    sirix_exposition_one(exposition, "sirix_segment_bytes", "gauge",
                         "Bytes of segments in open databases.", sums.all.segment_bytes);
    sirix_exposition_one(exposition, "sirix_segments", "gauge", "Segments in open databases.",
                         sums.all.segment_count);
    sirix_exposition_one(exposition, "sirix_packs", "gauge", "Packs in open databases.",
                         sums.all.pack_count);
    sirix_exposition_one(exposition, "sirix_readers", "gauge", "Readers of open databases.",
                         sums.all.readers);
    sirix_exposition_family(exposition, "sirix_oldest_reader_seconds", "gauge",
                            "How long the oldest reader has held on to old pages.");
    sirix_exposition_seconds(exposition, "sirix_oldest_reader_seconds", "",
                             sums.all.oldest_reader_ns / NS_PER_US);
}

static void write_commits(struct sirix_exposition *exposition, struct sirix_service *service)
{
    struct sirix_committer_totals totals;

    sirix_committer_pool_totals(service->committers, &totals);
    sirix_exposition_one(exposition, "sirix_commits_total", "counter", "Revisions made.",
                         atomic_load(&service->commits));
    sirix_exposition_one(exposition, "sirix_writes_queued", "gauge",
                         "Writes that wait for the turn of their branch.",
                         sirix_turns_waiting(service->turns));
    sirix_exposition_family(exposition, "sirix_group_works", "histogram",
                            "Works that share one transaction and its sync.");
    sirix_exposition_histogram(exposition, "sirix_group_works", "", sirix_histogram_sizes,
                               &totals.sizes);
    sirix_exposition_family(exposition, "sirix_group_prepare_seconds", "histogram",
                            "Putting a group together.");
    sirix_exposition_histogram(exposition, "sirix_group_prepare_seconds", "",
                               sirix_histogram_times_us, &totals.prepare_us);
    sirix_exposition_family(exposition, "sirix_group_write_seconds", "histogram",
                            "Writing a group and waiting for the disk (fsync).");
    sirix_exposition_histogram(exposition, "sirix_group_write_seconds", "",
                               sirix_histogram_times_us, &totals.write_us);
    sirix_exposition_one(exposition, "sirix_group_failures_total", "counter",
                         "Groups that could not be written.", totals.failures);
    sirix_exposition_one(exposition, "sirix_segment_bytes_written_total", "counter",
                         "Bytes of segments written.", totals.bytes);
}

static void write_backups(struct sirix_exposition *exposition)
{
    const struct sirix_backup_counts counts = sirix_backup_count();

    sirix_exposition_one(exposition, "sirix_backups_running", "gauge", "Backups under way.",
                         counts.running);
    sirix_exposition_one(exposition, "sirix_backups_total", "counter",
                         "Backups that were sent to their end.", counts.whole);
    sirix_exposition_family(exposition, "sirix_last_backup_timestamp_seconds", "gauge",
                            "When the last of them began; 0: none since the start.");
    sirix_exposition_seconds(exposition, "sirix_last_backup_timestamp_seconds", "",
                             counts.last_us < 0 ? 0 : (uint64_t)counts.last_us);
}

/* --- The process -------------------------------------------------------------------------------- */

/* The whole of a small file of /proc; false where it cannot be read. */
static bool read_proc(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return false;
    }
    size_t len = fread(out, 1, size - 1, file);
    (void)fclose(file);
    out[len] = '\0';
    return len != 0;
}

/* Entries of a folder of /proc, "." and ".." left out. */
static uint64_t count_entries(const char *path)
{
    uint64_t count = 0;
    DIR *folder = opendir(path);

    if (folder == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] == '.' ? 0 : 1;
    }
    (void)closedir(folder);
    return count;
}

static void write_times(struct sirix_exposition *exposition)
{
    enum { US_PER_SECOND = 1000000 };
    struct rusage usage = {0};

    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return;
    }
    sirix_exposition_family(exposition, "process_cpu_seconds_total", "counter",
                            "Time of processors used.");
    sirix_exposition_seconds(exposition, "process_cpu_seconds_total", "",
                             (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
                                     US_PER_SECOND +
                                 (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
}

void sirix_metrics_write_process(struct sirix_exposition *exposition)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char text[STAT_BYTES];
    struct rlimit files = {0};

    if (read_proc("/proc/self/statm", text, sizeof(text))) { /* "TOTAL RESIDENT ..." */
        char *rest = NULL;
        sirix_exposition_one(exposition, "process_virtual_memory_bytes", "gauge",
                             "Address space, maps of databases included.",
                             strtoull(text, &rest, 10) * page);
        sirix_exposition_one(exposition, "process_resident_memory_bytes", "gauge",
                             "Memory in use, touched pages of databases included.",
                             strtoull(rest, NULL, 10) * page);
    }
    write_times(exposition);
    sirix_exposition_one(exposition, "process_open_fds", "gauge", "Descriptors in use.",
                         count_entries("/proc/self/fd"));
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        sirix_exposition_one(exposition, "process_max_fds", "gauge", "Descriptors allowed.",
                             (uint64_t)files.rlim_cur);
    }
    sirix_exposition_one(exposition, "process_threads", "gauge", "Threads.",
                         count_entries("/proc/self/task"));
}

/* --- All ---------------------------------------------------------------------------------------- */

void sirix_metrics_write(struct sirix_exposition *exposition, struct sirix_health *health,
                         struct sirix_service *service, const struct sirix_metrics_calls *calls)
{
    static const char build[] = "{version=\"" SIRIX_VERSION "\"}";

    sirix_exposition_family(exposition, "sirix_build_info", "gauge", "The program; always 1.");
    sirix_exposition_number(exposition, "sirix_build_info", build, 1);
    sirix_exposition_one(exposition, "sirix_serving", "gauge",
                         "1 when calls are taken: started, and not draining.",
                         sirix_health_get(health) == SIRIX_HEALTH_SERVING ? 1 : 0);
    write_calls(exposition, calls);
    if (service != NULL) {
        write_commits(exposition, service);
        write_databases(exposition, service);
        write_disk(exposition, service);
        write_backups(exposition);
    }
    sirix_metrics_write_process(exposition);
}
