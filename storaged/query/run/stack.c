/* Stacks on ucontext; sanitizers are told about every switch. */
#include "query/run/stack.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define STACK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define STACK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STACK_TSAN 1
#endif
#endif
#ifdef STACK_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef STACK_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct sirix_stack {
    ucontext_t caller;
    ucontext_t own;
    sirix_stack_work_fn work;
    void *context;
    char *map; /* Guard page, stack, guard page. */
    size_t map_bytes;
    size_t page_bytes;
    bool running;
    bool ended;
#ifdef STACK_ASAN
    void *fake_caller;
    void *fake_own;
    const void *caller_bottom;
    size_t caller_bytes;
#endif
#ifdef STACK_TSAN
    void *fiber_caller;
    void *fiber_own;
#endif
};

/*
 * Inline, always: the thread sanitizer counts calls a stack, and none of these may begin on one and end on
 * another.
 */
#define STACK_INLINE static inline __attribute__((always_inline))

STACK_INLINE void before_entering(struct sirix_stack *stack)
{
    (void)stack;
#ifdef STACK_ASAN
    __sanitizer_start_switch_fiber(&stack->fake_caller, stack->map + stack->page_bytes,
                                   stack->map_bytes - 2 * stack->page_bytes);
#endif
#ifdef STACK_TSAN
    stack->fiber_caller = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(stack->fiber_own, 0);
#endif
}

STACK_INLINE void after_entering(struct sirix_stack *stack)
{
    (void)stack;
#ifdef STACK_ASAN
    __sanitizer_finish_switch_fiber(stack->fake_own, &stack->caller_bottom, &stack->caller_bytes);
#endif
}

STACK_INLINE void before_leaving(struct sirix_stack *stack)
{
    (void)stack;
#ifdef STACK_ASAN
    /* The last time, its fake frames are given up. */
    __sanitizer_start_switch_fiber(stack->ended ? NULL : &stack->fake_own, stack->caller_bottom,
                                   stack->caller_bytes);
#endif
#ifdef STACK_TSAN
    __tsan_switch_to_fiber(stack->fiber_caller, 0);
#endif
}

STACK_INLINE void after_leaving(struct sirix_stack *stack)
{
    (void)stack;
#ifdef STACK_ASAN
    __sanitizer_finish_switch_fiber(stack->fake_caller, NULL, NULL);
#endif
}

/* makecontext() hands over ints alone: a pointer goes in two of them. */
static void start(unsigned high, unsigned low)
{
    struct sirix_stack *stack =
        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        (struct sirix_stack *)(uintptr_t)((uint64_t)high << 32 | (uint64_t)low);

    after_entering(stack);
    stack->work(stack->context);
    stack->ended = true;
    before_leaving(stack);
    (void)swapcontext(&stack->own, &stack->caller);
    abort(); /* Nobody resumes what has ended. */
}

enum sirix_status sirix_stack_new(size_t size_bytes, sirix_stack_work_fn work, void *context,
                                  struct sirix_stack **out_stack, struct sirix_error *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct sirix_stack *stack = calloc(1, sizeof(*stack));

    if (stack == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a query's stack");
    }
    stack->page_bytes = page;
    stack->map_bytes = (size_bytes + page - 1) / page * page + 2 * page;
    stack->work = work;
    stack->context = context;
    stack->map = mmap(NULL, stack->map_bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack->map == MAP_FAILED) {
        stack->map = NULL;
    }
    if (stack->map == NULL ||
        mprotect(stack->map + page, stack->map_bytes - 2 * page, PROT_READ | PROT_WRITE) != 0 ||
        getcontext(&stack->own) != 0) {
        sirix_stack_free(stack);
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a query's stack of %zu bytes",
                          size_bytes);
    }
    stack->own.uc_stack.ss_sp = stack->map + page;
    stack->own.uc_stack.ss_size = stack->map_bytes - 2 * page;
    stack->own.uc_link = NULL;
    const uint64_t address = (uint64_t)(uintptr_t)stack;
    makecontext(&stack->own, (void (*)(void))start, 2, (unsigned)(address >> 32),
                (unsigned)address);
#ifdef STACK_TSAN
    stack->fiber_own = __tsan_create_fiber(0);
#endif
    *out_stack = stack;
    return SIRIX_OK;
}

void sirix_stack_free(struct sirix_stack *stack)
{
    if (stack == NULL) {
        return;
    }
    assert(!stack->running);
#ifdef STACK_TSAN
    if (stack->fiber_own != NULL) {
        __tsan_destroy_fiber(stack->fiber_own);
    }
#endif
    if (stack->map != NULL) {
        (void)munmap(stack->map, stack->map_bytes); /* It is a mapping of ours. */
    }
    free(stack);
}

void sirix_stack_resume(struct sirix_stack *stack)
{
    assert(!stack->running && !stack->ended);
    stack->running = true;
    before_entering(stack);
    (void)swapcontext(&stack->caller, &stack->own);
    after_leaving(stack);
    stack->running = false;
}

bool sirix_stack_ended(const struct sirix_stack *stack)
{
    return stack->ended;
}

void sirix_stack_suspend(struct sirix_stack *stack)
{
    assert(stack->running && !stack->ended);
    before_leaving(stack);
    (void)swapcontext(&stack->own, &stack->caller);
    after_entering(stack);
}

const char *sirix_stack_floor(const struct sirix_stack *stack)
{
    return stack->map + stack->page_bytes;
}
