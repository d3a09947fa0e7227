/* Verify: what the checking thread has found, one message after the other. */
#include "service/verify.h"

#include "rpc/methods/codec.h"

struct verify_state {
    struct sirix_verify_run *run;
    bool writing;
    bool ending;
};

static void problem_message(const struct sirix_verify_problem *problem,
                            Sirix__Storage__V1__VerifyProblem *message)
{
    sirix__storage__v1__verify_problem__init(message);
    message->resource = sirix_rpc_binary_str(problem->resource);
    message->revision = problem->fault.current_revision;
    message->reason = sirix_rpc_binary_str(sirix_reason_name(problem->fault.reason));
    message->message = sirix_rpc_binary_str(problem->fault.text);
}

/* Sends what there is to tell; the end of that write looks again. */
static enum sirix_status verify_tell(struct sirix_rpc_call *call, struct verify_state *verify,
                                     struct sirix_error *err)
{
    Sirix__Storage__V1__VerifyResponse answer = SIRIX__STORAGE__V1__VERIFY_RESPONSE__INIT;
    Sirix__Storage__V1__VerifyProgress progress = SIRIX__STORAGE__V1__VERIFY_PROGRESS__INIT;
    Sirix__Storage__V1__VerifyProblem problem;
    Sirix__Storage__V1__VerifyEnd end = SIRIX__STORAGE__V1__VERIFY_END__INIT;
    struct sirix_verify_news news = {0};

    if (verify->writing) {
        return SIRIX_OK;
    }
    if (verify->ending) {
        sirix_rpc_call_end(call);
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_verify_next(verify->run, &news, err);
    if (status != SIRIX_OK || news.what == SIRIX_VERIFY_NOTHING) {
        return status;
    }
    switch (news.what) {
    case SIRIX_VERIFY_PROGRESS:
        progress.segments_checked = news.progress.segments;
        progress.bytes_checked = news.progress.bytes;
        answer.part_case = SIRIX__STORAGE__V1__VERIFY_RESPONSE__PART_PROGRESS;
        answer.progress = &progress;
        break;
    case SIRIX_VERIFY_PROBLEM:
        problem_message(&news.problem, &problem);
        answer.part_case = SIRIX__STORAGE__V1__VERIFY_RESPONSE__PART_PROBLEM;
        answer.problem = &problem;
        break;
    default:
        end.resources = news.resources;
        end.revisions = news.progress.revisions;
        end.segments = news.progress.segments;
        end.bytes = news.progress.bytes;
        end.problems = news.progress.faults;
        answer.part_case = SIRIX__STORAGE__V1__VERIFY_RESPONSE__PART_END;
        answer.end = &end;
        verify->ending = true;
        break;
    }
    verify->writing = true;
    return sirix_rpc_call_write(call, &answer.base, err);
}

/* On the checking thread, which holds a reference to the call as long as it may wake it. */
static void verify_wake(void *context, bool last)
{
    sirix_rpc_call_wake(context);
    if (last) {
        sirix_rpc_call_unref(context);
    }
}

static enum sirix_status verify_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__VerifyRequest *request =
        (const Sirix__Storage__V1__VerifyRequest *)message;
    struct verify_state *verify = state;
    const struct sirix_request who = sirix_rpc_request(call);

    sirix_rpc_call_ref(call);
    enum sirix_status status = sirix_verify_start(&who, sirix_rpc_bytes(request->database),
                                                  sirix_rpc_bytes(request->resource), verify_wake,
                                                  call, &verify->run, err);
    if (status != SIRIX_OK) {
        sirix_rpc_call_unref(call);
    }
    return status;
}

static enum sirix_status verify_written(struct sirix_rpc_call *call, void *state,
                                        struct sirix_error *err)
{
    struct verify_state *verify = state;

    verify->writing = false;
    return verify_tell(call, verify, err);
}

static enum sirix_status verify_woken(struct sirix_rpc_call *call, void *state,
                                      struct sirix_error *err)
{
    return verify_tell(call, state, err);
}

static void verify_ended(void *state)
{
    sirix_verify_stop(((struct verify_state *)state)->run);
}

const struct sirix_rpc_method sirix_rpc_verify_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Verify"),
        .request = &sirix__storage__v1__verify_request__descriptor,
        .server_streams = true,
        .state_bytes = sizeof(struct verify_state),
        .start = verify_start,
        .written = verify_written,
        .woken = verify_woken,
        .ended = verify_ended,
    },
    {.path = NULL},
};
