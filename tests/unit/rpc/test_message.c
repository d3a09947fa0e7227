/* Unpacking what a peer sends: bounded in memory, and never deeper than the types go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grpc/health/v1/health.pb-c.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "rpc/runtime/message.h"
#include "sirix/storage/v1/storage.pb-c.h"

static void a_message_is_unpacked_into_the_arena(void **state)
{
    const uint8_t packed[] = {0x0a, 3, 'm', '\0', 'y'}; /* database = "m\0y" */
    struct sirix_arena arena;
    ProtobufCMessage *message = NULL;

    (void)state;
    sirix_arena_init(&arena, 4096);
    assert_int_equal(
        sirix_rpc_message_decode_bytes((struct sirix_bytes){.data = packed, .len = sizeof(packed)},
                                       &sirix__storage__v1__list_resources_request__descriptor,
                                       &arena, &message, NULL),
        SIRIX_OK);

    const Sirix__Storage__V1__ListResourcesRequest *request =
        (const Sirix__Storage__V1__ListResourcesRequest *)message;
    assert_int_equal(request->database.len, 3); /* A NUL does not end bytes. */
    assert_memory_equal(request->database.data, "m\0y", 3);
    sirix_arena_deinit(&arena);
}

static void what_is_no_message_is_invalid_and_names_the_type(void **state)
{
    const struct {
        const char *why;
        uint8_t bytes[4];
        size_t len;
    } cases[] = {
        {"length past the end", {0x0a, 9, 'x', 'y'}, 4},
        {"key without a value", {0x0a}, 1},
        {"field number 0", {0x02, 0}, 2},
        {"unknown group", {0x0b, 0x0c}, 2},
        {"endless varint", {0xff, 0xff, 0xff, 0xff}, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_arena arena;
        struct sirix_error err = {0};
        ProtobufCMessage *message = NULL;

        sirix_arena_init(&arena, 4096);
        enum sirix_status status = sirix_rpc_message_decode_bytes(
            (struct sirix_bytes){.data = cases[i].bytes, .len = cases[i].len},
            &sirix__storage__v1__list_resources_request__descriptor, &arena, &message, &err);
        if (status != SIRIX_INVALID || strstr(err.text, "ListResourcesRequest") == NULL) {
            fail_msg("case '%s': %s, \"%s\"", cases[i].why, sirix_status_name(status), err.text);
        }
        sirix_arena_deinit(&arena);
    }
}

static void two_bytes_that_become_a_structure_each_meet_the_limit(void **state)
{
    enum { OPERATIONS = 1024 * 1024 };
    uint8_t *packed = malloc(2 * OPERATIONS);
    struct sirix_arena arena;
    struct sirix_error err = {0};
    ProtobufCMessage *message = NULL;

    (void)state;
    assert_non_null(packed);
    for (size_t i = 0; i < OPERATIONS; i++) {
        packed[2 * i] = 0x2a; /* operations[i], empty */
        packed[2 * i + 1] = 0;
    }
    sirix_arena_init(&arena, SIRIX_RPC_DECODED_BYTES_MAX);

    enum sirix_status status = sirix_rpc_message_decode_bytes(
        (struct sirix_bytes){.data = packed, .len = 2 * OPERATIONS},
        &sirix__storage__v1__apply_request__descriptor, &arena, &message, &err);

    assert_int_equal(status, SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    sirix_arena_deinit(&arena);
    free(packed);
}

/* protobuf-c recurses into sub-messages without a limit: a type that can hold itself is a crash. */
enum { TYPES_MAX = 64 };

static void walk(const ProtobufCMessageDescriptor *type, const ProtobufCMessageDescriptor **above,
                 size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        if (above[i] == type) {
            fail_msg("%s contains itself", type->name);
        }
    }
    assert_true(depth < TYPES_MAX);
    above[depth] = type;
    for (unsigned i = 0; i < type->n_fields; i++) {
        if (type->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
            walk(type->fields[i].descriptor, above, depth + 1);
        }
    }
}

static void no_request_type_can_contain_itself(void **state)
{
    const ProtobufCMessageDescriptor *const types[] = {
        &sirix__storage__v1__apply_request__descriptor,
        &sirix__storage__v1__apply_stream_request__descriptor,
        &sirix__storage__v1__attach_request__descriptor,
        &sirix__storage__v1__create_branch_request__descriptor,
        &sirix__storage__v1__create_database_request__descriptor,
        &sirix__storage__v1__create_resource_request__descriptor,
        &sirix__storage__v1__create_snapshot_request__descriptor,
        &sirix__storage__v1__delete_branch_request__descriptor,
        &sirix__storage__v1__delete_snapshot_request__descriptor,
        &sirix__storage__v1__diff_request__descriptor,
        &sirix__storage__v1__drop_database_request__descriptor,
        &sirix__storage__v1__drop_resource_request__descriptor,
        &sirix__storage__v1__get_resource_request__descriptor,
        &sirix__storage__v1__history_request__descriptor,
        &sirix__storage__v1__import_request__descriptor,
        &sirix__storage__v1__list_branches_request__descriptor,
        &sirix__storage__v1__list_databases_request__descriptor,
        &sirix__storage__v1__list_resources_request__descriptor,
        &sirix__storage__v1__list_snapshots_request__descriptor,
        &sirix__storage__v1__node_history_request__descriptor,
        &sirix__storage__v1__promote_request__descriptor,
        &sirix__storage__v1__read_document_request__descriptor,
        &sirix__storage__v1__read_node_request__descriptor,
        &sirix__storage__v1__revert_request__descriptor,
        &sirix__storage__v1__status_request__descriptor,
        &sirix__storage__v1__verify_request__descriptor,
        &grpc__health__v1__health_check_request__descriptor,
        &grpc__health__v1__health_list_request__descriptor,
        &grpc__reflection__v1__server_reflection_request__descriptor,
    };
    const ProtobufCMessageDescriptor *above[TYPES_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        walk(types[i], above, 0);
    }
}

static void an_answer_over_the_limit_says_what_to_do(void **state)
{
    uint8_t *data = calloc(1, SIRIX_RPC_MESSAGE_BYTES_MAX);
    Sirix__Storage__V1__ReadDocumentResponse answer =
        SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__INIT;
    grpc_byte_buffer *buffer = NULL;
    struct sirix_error err = {0};

    (void)state;
    assert_non_null(data);
    answer.part_case = SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__PART_DATA;
    answer.data.data = data;
    answer.data.len = SIRIX_RPC_MESSAGE_BYTES_MAX;

    assert_int_equal(sirix_rpc_message_encode(&answer.base, &buffer, &err), SIRIX_EXHAUSTED);
    assert_non_null(strstr(err.text, "ask for less"));
    assert_null(buffer);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_unpacked_into_the_arena),
        cmocka_unit_test(what_is_no_message_is_invalid_and_names_the_type),
        cmocka_unit_test(two_bytes_that_become_a_structure_each_meet_the_limit),
        cmocka_unit_test(no_request_type_can_contain_itself),
        cmocka_unit_test(an_answer_over_the_limit_says_what_to_do),
    };
    return cmocka_run_group_tests_name("rpc message", tests, NULL, NULL);
}
