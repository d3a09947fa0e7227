/*
 * The store against a naive model: trials of random steps until the time is over. A trial that fails is
 * made as short as it gets, and shown.
 *
 *     SIRIX_MODEL_SECONDS  how long (20); eight trials at least
 *     SIRIX_MODEL_SEED     the first seed (from the clock); a failure names its own
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "model/trial.h"

enum {
    TRIALS_MIN = TRIAL_LONG_EVERY, /* Every backend, and a trial with packs, whatever the seed. */
    TRIAL_SECONDS_MAX = 240,       /* Of one trial: some hundred times what it takes. */
};

static struct trial_seen *seen; /* Shared with the children. */

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 10);
}

static size_t steps_of(uint64_t seed)
{
    return seed % TRIAL_LONG_EVERY == 0 ? TRIAL_STEPS_LONG : TRIAL_STEPS;
}

/* Whether the steps pass, in a child process; quiet unless verbose. *out_hangs (or NULL): it ran out of time. */
static bool passes_or_hangs(uint64_t seed, const uint64_t *steps, size_t count, bool verbose,
                            bool *out_hangs)
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
        (void)alarm(TRIAL_SECONDS_MAX);
        trial_run(seed, steps, count, verbose, seen);
        exit(EXIT_SUCCESS);
    }
    if (waitpid(child, &status, 0) != child) {
        perror("waitpid");
        exit(EXIT_FAILURE);
    }
    if (out_hangs != NULL) {
        *out_hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

static bool passes(uint64_t seed, const uint64_t *steps, size_t count, bool verbose)
{
    return passes_or_hangs(seed, steps, count, verbose, NULL);
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
        uint64_t without[TRIAL_STEPS_LONG];
        memcpy(without, steps, i * sizeof(*steps));
        memcpy(without + i, steps + i + 1, (count - i - 1) * sizeof(*steps));
        if (!passes(seed, without, count - 1, false)) {
            count--;
            memcpy(steps, without, count * sizeof(*steps));
        }
    }
    return count;
}

/* Says what fails, as short as it gets. One that hangs is not made shorter: each try would hang, too. */
static void tell_failure(uint64_t seed, uint64_t *steps, size_t count, bool hangs)
{
    if (hangs) {
        (void)fprintf(stderr, "seed %" PRIu64 " does not end in %d s\n", seed, TRIAL_SECONDS_MAX);
    } else {
        (void)fprintf(stderr, "seed %" PRIu64 " fails; shrinking\n", seed);
        count = shrink(seed, steps, count);
        (void)fprintf(stderr, "%zu steps are enough:\n", count);
        (void)passes(seed, steps, count, true);
    }
    (void)fprintf(stderr, "repeat with SIRIX_MODEL_SEED=%" PRIu64 "\n", seed);
}

int main(void)
{
    uint64_t seconds = from_environment("SIRIX_MODEL_SECONDS", 20);
    uint64_t seed = from_environment("SIRIX_MODEL_SEED", (uint64_t)time(NULL) * 1000);
    time_t end = time(NULL) + (time_t)seconds;
    uint64_t trials = 0;

    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    do {
        uint64_t steps[TRIAL_STEPS_LONG];
        size_t count = steps_of(seed);
        bool hangs = false;
        for (size_t i = 0; i < count; i++) {
            steps[i] = sirix_mix64(seed * UINT64_C(0x2545f4914f6cdd1d) + i);
        }
        if (!passes_or_hangs(seed, steps, count, false, &hangs)) {
            tell_failure(seed, steps, count, hangs);
            return EXIT_FAILURE;
        }
        trials++;
        seed++;
    } while (time(NULL) < end || trials < TRIALS_MIN);
    (void)printf("%" PRIu64 " trials of %d or %d steps, the last seed %" PRIu64 "; packs %" PRIu64
                 ", lost answers of memory %" PRIu64 ", of LMDB %" PRIu64 "\n",
                 trials, TRIAL_STEPS, TRIAL_STEPS_LONG, seed - 1, seen->packs, seen->lost[false],
                 seen->lost[true]);
    if (seen->packs == 0) {
        (void)fprintf(stderr, "no trial has met a pack: make TRIAL_STEPS_LONG more\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
