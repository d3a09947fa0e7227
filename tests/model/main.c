/*
 * The store against a naive model: trials of random steps until the time is over. A trial that fails is
 * made as short as it gets, and shown.
 *
 *     SIRIX_MODEL_SECONDS  how long (20); four trials at least
 *     SIRIX_MODEL_SEED     the first seed (from the clock); a failure names its own
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "model/trial.h"

enum { BACKENDS = 4 }; /* trial_run() takes one by the seed; short runs meet each once, too. */

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

/* Whether the steps pass, in a child process; quiet unless verbose. */
static bool passes(uint64_t seed, const uint64_t *steps, size_t count, bool verbose)
{
    int status = 0;
    pid_t child = 0;

    (void)fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("fork");
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        if (!verbose && freopen("/dev/null", "w", stderr) == NULL) {
            _exit(EXIT_FAILURE);
        }
        trial_run(seed, steps, count, verbose);
        exit(EXIT_SUCCESS);
    }
    if (waitpid(child, &status, 0) != child) {
        perror("waitpid");
        exit(EXIT_FAILURE);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

/* The shortest failing prefix, then without each step that is not needed. */
static size_t shrink(uint64_t seed, uint64_t *steps, size_t count)
{
    size_t low = 0;
    size_t high = count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (passes(seed, steps, middle, false)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    count = high;
    for (size_t i = count; i-- > 0 && count > 1;) {
        uint64_t without[TRIAL_STEPS];
        memcpy(without, steps, i * sizeof(*steps));
        memcpy(without + i, steps + i + 1, (count - i - 1) * sizeof(*steps));
        if (!passes(seed, without, count - 1, false)) {
            count--;
            memcpy(steps, without, count * sizeof(*steps));
        }
    }
    return count;
}

int main(void)
{
    uint64_t seconds = from_environment("SIRIX_MODEL_SECONDS", 20);
    uint64_t seed = from_environment("SIRIX_MODEL_SEED", (uint64_t)time(NULL) * 1000);
    time_t end = time(NULL) + (time_t)seconds;
    uint64_t trials = 0;

    do {
        uint64_t steps[TRIAL_STEPS];
        size_t count = TRIAL_STEPS;
        for (size_t i = 0; i < count; i++) {
            steps[i] = sirix_mix64(seed * UINT64_C(0x2545f4914f6cdd1d) + i);
        }
        if (!passes(seed, steps, count, false)) {
            (void)fprintf(stderr, "seed %" PRIu64 " fails; shrinking\n", seed);
            count = shrink(seed, steps, count);
            (void)fprintf(stderr, "%zu steps are enough:\n", count);
            (void)passes(seed, steps, count, true);
            (void)fprintf(stderr, "repeat with SIRIX_MODEL_SEED=%" PRIu64 "\n", seed);
            return EXIT_FAILURE;
        }
        trials++;
        seed++;
    } while (time(NULL) < end || trials < BACKENDS);
    (void)printf("%" PRIu64 " trials of %d steps, the last seed %" PRIu64 "\n", trials, TRIAL_STEPS,
                 seed - 1);
    return EXIT_SUCCESS;
}
