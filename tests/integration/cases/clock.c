/*
 * Preloaded into a daemon: a real-time clock that a test sets back or forward through a file.
 * SIRIX_CASES_CLOCK names the file; it holds seconds to add, as text; absent or empty is 0.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int clock_function(clockid_t, struct timespec *);

static long seconds_to_add(void)
{
    const char *path = getenv("SIRIX_CASES_CLOCK");
    if (path == NULL) {
        return 0;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    char text[32] = "";
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static clock_function *original;
    if (original == NULL) {
        *(void **)&original = dlsym(RTLD_NEXT, "clock_gettime");
    }
    int result = original(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) {
        now->tv_sec += seconds_to_add();
    }
    return result;
}
