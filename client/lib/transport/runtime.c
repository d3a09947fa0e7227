/* Process-wide settings, once, before gRPC's threads exist. */
#include "lib/transport/runtime.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <malloc.h>
#include <pthread.h>

enum {
    MIB = 1024 * 1024,
    MMAP_THRESHOLD_BYTES = 32 * MIB,
    TRIM_THRESHOLD_BYTES = 512 * MIB,
    TOP_PAD_BYTES = 16 * MIB,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void drop_log_line(gpr_log_func_args *args)
{
    (void)args;
}

static void set_up_process(void)
{
    /* A refusal costs speed only, and there is nobody to tell. */
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
    (void)mallopt(M_TOP_PAD, TOP_PAD_BYTES);
    gpr_set_log_function(drop_log_line);
}

void sirix_runtime_acquire(void)
{
    (void)pthread_once(&once, set_up_process);
    grpc_init();
}

void sirix_runtime_release(void)
{
    grpc_shutdown();
}
