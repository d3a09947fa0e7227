/* What methods use of a call and of its server. */
#include "unit/rpc/fake_call.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct sirix_rpc_storage sirix_fake_storage;
static const struct sirix_principal tester = {.name = "tester", .role = SIRIX_ROLE_OPERATOR};

static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_changed = PTHREAD_COND_INITIALIZER;

static void send(struct sirix_rpc_call *call, const ProtobufCMessage *message)
{
    assert_false(call->ended);
    assert_true(protobuf_c_message_check(message));
    call->messages++;
    call->bytes += protobuf_c_message_get_packed_size(message);
}

enum sirix_status sirix_rpc_call_reply(struct sirix_rpc_call *call, const ProtobufCMessage *message,
                                       struct sirix_error *err)
{
    (void)err;
    send(call, message);
    call->ended = true;
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_call_write(struct sirix_rpc_call *call, const ProtobufCMessage *message,
                                       struct sirix_error *err)
{
    (void)err;
    send(call, message);
    call->written = true;
    return SIRIX_OK;
}

void sirix_rpc_call_end(struct sirix_rpc_call *call)
{
    call->ended = true;
}

void sirix_rpc_call_read(struct sirix_rpc_call *call)
{
    call->reads = true;
}

struct sirix_arena *sirix_rpc_call_arena(struct sirix_rpc_call *call)
{
    return &call->arena;
}

void sirix_rpc_call_keep_message(struct sirix_rpc_call *call)
{
    (void)call; /* The test's messages live as long as the call. */
}

void *sirix_rpc_call_context(struct sirix_rpc_call *call)
{
    (void)call;
    return &sirix_fake_storage;
}

const struct sirix_principal *sirix_rpc_call_principal(const struct sirix_rpc_call *call)
{
    (void)call;
    return &tester;
}

const struct sirix_cancel *sirix_rpc_call_cancel(const struct sirix_rpc_call *call)
{
    return &call->cancel;
}

/* Every turn is free, so it is verify's thread that wakes and holds on to a call. */
void sirix_rpc_call_wake(struct sirix_rpc_call *call)
{
    (void)pthread_mutex_lock(&call_lock);
    call->woken = true;
    (void)pthread_cond_signal(&call_changed);
    (void)pthread_mutex_unlock(&call_lock);
}

void sirix_rpc_call_try_wake(struct sirix_rpc_call *call)
{
    (void)call;
}

void sirix_rpc_server_wake_path(struct sirix_rpc_server *server, const char *path)
{
    (void)server;
    (void)path;
}

void sirix_rpc_call_ref(struct sirix_rpc_call *call)
{
    (void)pthread_mutex_lock(&call_lock);
    call->refs++;
    (void)pthread_mutex_unlock(&call_lock);
}

void sirix_rpc_call_unref(struct sirix_rpc_call *call)
{
    (void)pthread_mutex_lock(&call_lock);
    assert_true(call->refs > 0);
    call->refs--;
    (void)pthread_cond_signal(&call_changed);
    (void)pthread_mutex_unlock(&call_lock);
}

void sirix_fake_call_wait_for_wake(struct sirix_rpc_call *call)
{
    (void)pthread_mutex_lock(&call_lock);
    while (!call->woken) {
        (void)pthread_cond_wait(&call_changed, &call_lock);
    }
    call->woken = false;
    (void)pthread_mutex_unlock(&call_lock);
}

void sirix_fake_call_wait_until_alone(const struct sirix_rpc_call *call)
{
    (void)pthread_mutex_lock(&call_lock);
    while (call->refs != 0) {
        (void)pthread_cond_wait(&call_changed, &call_lock);
    }
    (void)pthread_mutex_unlock(&call_lock);
}

uint64_t sirix_rpc_server_calls_running(const struct sirix_rpc_server *server)
{
    (void)server;
    return 1;
}

uint64_t sirix_rpc_server_calls_total(const struct sirix_rpc_server *server)
{
    (void)server;
    return 1;
}

bool sirix_rpc_server_draining(const struct sirix_rpc_server *server)
{
    (void)server;
    return false;
}
