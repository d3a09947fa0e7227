/*
 * v1 and v1alpha differ in the package name alone, so one handler speaks both through v1's types.
 * One request, one answer, then the next request is read: a client cannot pile answers up.
 */
#include "rpc/standard/reflection.h"

#include <stdlib.h>
#include <string.h>

#include "grpc/reflection/v1/reflection.pb-c.h"
#include "rpc/standard/descriptors.h"
#include "sirix/descriptors.h"

enum { SERVICES_MAX = 16, SERVICE_NAME_BYTES = 128 };

typedef Grpc__Reflection__V1__ServerReflectionRequest reflection_request;
typedef Grpc__Reflection__V1__ServerReflectionResponse reflection_response;

static struct sirix_bytes descriptor_set(void)
{
    return (struct sirix_bytes){
        .data = sirix_proto_descriptors,
        .len = (size_t)(sirix_proto_descriptors_end - sirix_proto_descriptors),
    };
}

/* protobuf-c wants char * and uint8_t * for what it only reads; the casts live in these two. */
static char *constant_text(const char *text)
{
    union {
        const char *in;
        char *out;
    } pointer = {.in = text};

    return pointer.out;
}

static ProtobufCBinaryData constant_bytes(struct sirix_bytes bytes)
{
    union {
        const void *in;
        uint8_t *out;
    } pointer = {.in = bytes.data};

    return (ProtobufCBinaryData){.len = bytes.len, .data = pointer.out};
}

/* What the parts of an answer live in until it is packed. */
struct answer {
    reflection_response response;
    Grpc__Reflection__V1__FileDescriptorResponse files;
    ProtobufCBinaryData file;
    Grpc__Reflection__V1__ExtensionNumberResponse extensions;
    Grpc__Reflection__V1__ErrorResponse error;
    Grpc__Reflection__V1__ListServiceResponse services;
    Grpc__Reflection__V1__ServiceResponse service[SERVICES_MAX];
    Grpc__Reflection__V1__ServiceResponse *service_list[SERVICES_MAX];
    char service_names[SERVICES_MAX][SERVICE_NAME_BYTES];
};

static void answer_error(struct answer *answer, enum sirix_status status, const char *text)
{
    grpc__reflection__v1__error_response__init(&answer->error);
    answer->error.error_code = sirix_status_grpc_code(status);
    answer->error.error_message = constant_text(text);
    answer->response.error_response = &answer->error;
    answer->response.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
}

static void answer_file(struct answer *answer, bool found, struct sirix_bytes file)
{
    if (!found) {
        answer_error(answer, SIRIX_NOT_FOUND, "no such file or symbol");
        return;
    }
    grpc__reflection__v1__file_descriptor_response__init(&answer->files);
    answer->file = constant_bytes(file);
    answer->files.n_file_descriptor_proto = 1;
    answer->files.file_descriptor_proto = &answer->file;
    answer->response.file_descriptor_response = &answer->files;
    answer->response.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
}

static bool add_service(void *context, struct sirix_bytes package, struct sirix_bytes name)
{
    struct answer *answer = context;
    size_t i = answer->services.n_service;

    if (i == SERVICES_MAX || package.len + 1 + name.len >= SERVICE_NAME_BYTES) {
        return false;
    }
    char *to = answer->service_names[i];
    memcpy(to, package.data, package.len);
    to[package.len] = '.';
    memcpy(to + package.len + 1, name.data, name.len);
    to[package.len + 1 + name.len] = '\0';
    grpc__reflection__v1__service_response__init(&answer->service[i]);
    answer->service[i].name = to;
    answer->service_list[i] = &answer->service[i];
    answer->services.n_service++;
    return true;
}

static void answer_services(struct answer *answer)
{
    grpc__reflection__v1__list_service_response__init(&answer->services);
    (void)sirix_descriptors_services(descriptor_set(), add_service, answer);
    answer->services.service = answer->service_list;
    answer->response.list_services_response = &answer->services;
    answer->response.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
}

/* We declare no extensions: a type of ours has none, any other is unknown. */
static void answer_extensions(struct answer *answer, const char *type)
{
    struct sirix_bytes file = {.data = NULL, .len = 0};

    if (!sirix_descriptors_find_symbol(descriptor_set(), type, &file)) {
        answer_error(answer, SIRIX_NOT_FOUND, "no such type");
        return;
    }
    grpc__reflection__v1__extension_number_response__init(&answer->extensions);
    answer->extensions.base_type_name = constant_text(type);
    answer->response.all_extension_numbers_response = &answer->extensions;
    answer->response.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE;
}

static void fill(struct answer *answer, reflection_request *request)
{
    struct sirix_bytes file = {.data = NULL, .len = 0};
    bool found = false;

    grpc__reflection__v1__server_reflection_response__init(&answer->response);
    answer->response.valid_host = request->host;
    answer->response.original_request = request;
    switch (request->message_request_case) {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        found = sirix_descriptors_find_file(descriptor_set(), request->file_by_filename, &file);
        answer_file(answer, found, file);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        found =
            sirix_descriptors_find_symbol(descriptor_set(), request->file_containing_symbol, &file);
        answer_file(answer, found, file);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
        answer_extensions(answer, request->all_extension_numbers_of_type);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        answer_services(answer);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
        answer_error(answer, SIRIX_NOT_FOUND, "there are no extensions");
        break;
    default:
        answer_error(answer, SIRIX_INVALID, "the request asks for nothing");
        break;
    }
}

static enum sirix_status info_start(struct sirix_rpc_call *call, void *state,
                                    const ProtobufCMessage *message, struct sirix_error *err)
{
    (void)state;
    (void)message;
    (void)err;
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

static enum sirix_status info_message(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    union {
        const ProtobufCMessage *in;
        reflection_request *out;
    } request = {.in = message};
    struct answer *answer = state;

    fill(answer, request.out);
    return sirix_rpc_call_write(call, &answer->response.base, err);
}

static enum sirix_status info_written(struct sirix_rpc_call *call, void *state,
                                      struct sirix_error *err)
{
    (void)state;
    (void)err;
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

static enum sirix_status info_end(struct sirix_rpc_call *call, void *state, struct sirix_error *err)
{
    (void)state;
    (void)err;
    sirix_rpc_call_end(call);
    return SIRIX_OK;
}

#define REFLECTION_METHOD(version)                                                                 \
    {                                                                                              \
        .path = "/grpc.reflection." version ".ServerReflection/ServerReflectionInfo",              \
        .request = &grpc__reflection__v1__server_reflection_request__descriptor,                   \
        .client_streams = true, .server_streams = true, .inline_turns = true, .lasts = true,       \
        .state_bytes = sizeof(struct answer), .start = info_start, .message = info_message,        \
        .half_closed = info_end, .written = info_written, .draining = info_end,                    \
    }

static const struct sirix_rpc_method methods[] = {
    REFLECTION_METHOD("v1"),
    REFLECTION_METHOD("v1alpha"),
};

enum sirix_status sirix_rpc_reflection_add(struct sirix_rpc_server *server, struct sirix_error *err)
{
    return sirix_rpc_server_add_methods(server, methods, sizeof(methods) / sizeof(methods[0]), NULL,
                                        err);
}
