/*
 * Power cuts. All writes and syncs of a run are recorded; then, for every moment of it, disks are made
 * as the cut may have left them: what was synced is there, of what was only written any part, page by
 * page, is there or not. Each must open and hold everything that had been acknowledged by then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "crash/segment/faults.h"
#include "crash/segment/script.h"

enum {
    PREPARED = 260,
    BATCHES = 12,
    EVENTS_MAX = 4096,
    DISK_BYTES = 16 << 20,
    PAGE_BYTES = 4096,
    IMAGES_A_CUT = 2,
    ABOUT_BYTES = 64,
    PATH_BYTES = 256,
};

enum event_kind { EVENT_WRITE, EVENT_SYNC, EVENT_ACKNOWLEDGED };

struct event {
    enum event_kind kind;
    bool synced; /* Written through. */
    off_t offset;
    size_t len;
    uint8_t *data;
};

static struct event events[EVENTS_MAX];
static size_t event_count;
static ino_t data_inode;

static struct event *add_event(enum event_kind kind)
{
    assert_true(event_count < EVENTS_MAX);
    events[event_count] = (struct event){.kind = kind};
    return &events[event_count++];
}

static bool is_data_file(int fd)
{
    struct stat found;

    return fstat(fd, &found) == 0 && found.st_ino == data_inode;
}

static void written(void *context, int fd, const void *data, size_t len, off_t offset, bool synced)
{
    (void)context;
    if (!is_data_file(fd)) {
        return;
    }
    /* Page by page: a cut may tear a larger write. */
    for (size_t at = 0; at < len;) {
        size_t part = PAGE_BYTES - (size_t)(offset + (off_t)at) % PAGE_BYTES;
        part = part < len - at ? part : len - at;
        struct event *event = add_event(EVENT_WRITE);
        event->synced = synced;
        event->offset = offset + (off_t)at;
        event->len = part;
        event->data = malloc(part);
        assert_non_null(event->data);
        memcpy(event->data, (const uint8_t *)data + at, part);
        at += part;
    }
}

static void synced(void *context, int fd)
{
    (void)context;
    if (is_data_file(fd)) {
        (void)add_event(EVENT_SYNC);
    }
}

struct disk {
    uint8_t *bytes;
    size_t len;
};

static void disk_write(struct disk *disk, const struct event *event)
{
    size_t end = (size_t)event->offset + event->len;

    assert_true(end <= DISK_BYTES);
    memcpy(disk->bytes + event->offset, event->data, event->len);
    disk->len = end > disk->len ? end : disk->len;
}

static void disk_load(struct disk *disk, const char *dir)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t len = read(fd, disk->bytes, DISK_BYTES);
    assert_true(len > 0);
    disk->len = (size_t)len;
    (void)close(fd);
}

static void disk_save(const struct disk *disk, const char *dir)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, disk->bytes, disk->len), (ssize_t)disk->len);
    (void)close(fd);
}

/* Runs the script over a copy of the template while everything is recorded. */
static void record(const char *template_dir)
{
    const struct fault_watcher watcher = {.written = written, .synced = synced};
    char dir[TEST_DIR_BYTES];
    char path[PATH_BYTES];
    struct stat found;
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    test_dir_make(dir);
    script_copy(template_dir, dir);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    assert_int_equal(stat(path, &found), 0);
    data_inode = found.st_ino;
    faults_watch(&watcher);
    const struct sirix_lmdb_options options = script_options(dir);
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
    for (uint64_t batch = PREPARED + 1; batch <= PREPARED + BATCHES; batch++) {
        assert_int_equal(script_run(backend, batch, NULL).status, SIRIX_OK);
        (void)add_event(EVENT_ACKNOWLEDGED);
        if (batch % 6 == 0) {
            assert_int_equal(script_pack(backend, &err), SIRIX_OK);
        }
    }
    sirix_backend_close(backend);
    faults_watch(NULL);
    test_dir_remove(dir);
}

/* What may be on the disk when the power goes just before event `cut`. */
static uint64_t cut_at(const struct disk *before, struct disk *after, size_t cut, uint64_t seed)
{
    size_t last_sync = 0;
    uint64_t acknowledged = PREPARED;

    for (size_t i = 0; i < cut; i++) {
        last_sync = events[i].kind == EVENT_SYNC ? i : last_sync;
        acknowledged += events[i].kind == EVENT_ACKNOWLEDGED ? 1 : 0;
    }
    memcpy(after->bytes, before->bytes, DISK_BYTES);
    after->len = before->len;
    for (size_t i = 0; i < cut; i++) {
        bool safe = i < last_sync || events[i].synced;

        if (events[i].kind == EVENT_WRITE &&
            (safe || sirix_mix64(seed * EVENTS_MAX + i + 1) % 2 == 0)) {
            disk_write(after, &events[i]);
        }
    }
    return acknowledged;
}

static void every_power_cut_leaves_what_was_acknowledged(void **state)
{
    (void)state;
    char template_dir[TEST_DIR_BYTES];
    char dir[TEST_DIR_BYTES];
    struct disk before = {.bytes = calloc(1, DISK_BYTES)};
    struct disk after = {.bytes = calloc(1, DISK_BYTES)};
    unsigned ahead = 0;

    assert_true(before.bytes != NULL && after.bytes != NULL);
    test_dir_make(template_dir);
    script_prepare(template_dir, PREPARED);
    disk_load(&before, template_dir);
    record(template_dir);
    assert_true(event_count > (size_t)4 * BATCHES);

    for (size_t cut = 0; cut <= event_count; cut++) {
        for (uint64_t image = 0; image < IMAGES_A_CUT; image++) {
            char about[ABOUT_BYTES];
            uint64_t acknowledged =
                cut_at(&before, &after, cut, (uint64_t)cut * IMAGES_A_CUT + image);
            uint64_t attempted =
                acknowledged < PREPARED + BATCHES ? acknowledged + 1 : acknowledged;

            (void)snprintf(about, sizeof(about), "cut at %zu of %zu, image %u", cut, event_count,
                           (unsigned)image);
            test_dir_make(dir);
            disk_save(&after, dir);
            ahead += script_verify(dir, acknowledged, attempted, about) > acknowledged ? 1 : 0;
            test_dir_remove(dir);
        }
    }
    assert_true(ahead > 0); /* Cuts between the meta page and the callback were among them. */
    for (size_t i = 0; i < event_count; i++) {
        free(events[i].data);
    }
    free(before.bytes);
    free(after.bytes);
    test_dir_remove(template_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_power_cut_leaves_what_was_acknowledged),
    };
    return cmocka_run_group_tests_name("segment power cuts", tests, NULL, NULL);
}
