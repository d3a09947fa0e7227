/*
 * Who a call is of, and whether it may be made at all: before anything of it is read.
 *
 * The role is asked here, once for all methods; what a principal may see and change inside of them is
 * the service's to ask.
 */
#include <grpc/grpc_security.h>
#include <string.h>
#include <strings.h>

#include "rpc/runtime/internal.h"

enum { IDENTITIES_MAX = 32 };

static const char bearer[] = "Bearer ";

/* --- What it comes with ------------------------------------------------------------------------- */

static struct sirix_bytes slice_bytes(const grpc_slice *slice)
{
    return (struct sirix_bytes){.data = GRPC_SLICE_START_PTR(*slice),
                                .len = GRPC_SLICE_LENGTH(*slice)};
}

/* The bytes stay those of the call's metadata. */
static enum sirix_status take_token(struct sirix_rpc_call *call,
                                    struct sirix_credentials *credentials, struct sirix_error *err)
{
    for (size_t i = 0; i < call->metadata.count; i++) {
        const grpc_metadata *row = &call->metadata.metadata[i];

        if (grpc_slice_str_cmp(row->key, "authorization") != 0) {
            continue;
        }
        struct sirix_bytes value = slice_bytes(&row->value);
        size_t prefix = sizeof(bearer) - 1;
        if (credentials->has_token) {
            return sirix_fail_reason(err, SIRIX_UNAUTHENTICATED, SIRIX_REASON_CREDENTIALS,
                                     "the call has two authorizations");
        }
        if (value.len < prefix || strncasecmp(value.data, bearer, prefix) != 0) {
            return sirix_fail_reason(err, SIRIX_UNAUTHENTICATED, SIRIX_REASON_CREDENTIALS,
                                     "the authorization is not `Bearer TOKEN`");
        }
        credentials->has_token = true;
        credentials->token = (struct sirix_bytes){.data = (const char *)value.data + prefix,
                                                  .len = value.len - prefix};
    }
    return SIRIX_OK;
}

static size_t take_names(grpc_auth_context *context, const char *property,
                         enum sirix_identity_kind kind, struct sirix_identity *list, size_t count)
{
    grpc_auth_property_iterator at = grpc_auth_context_find_properties_by_name(context, property);
    const grpc_auth_property *found = NULL;

    while (count < IDENTITIES_MAX && (found = grpc_auth_property_iterator_next(&at)) != NULL) {
        list[count++] = (struct sirix_identity){
            .kind = kind, .name = {.data = found->value, .len = found->value_length}};
    }
    return count;
}

/* A certificate that has other names is not asked for its common one. */
static size_t take_identities(grpc_auth_context *context, struct sirix_identity *list)
{
    size_t count = 0;

    if (context == NULL || grpc_auth_context_peer_is_authenticated(context) == 0) {
        return 0;
    }
    count = take_names(context, GRPC_PEER_DNS_PROPERTY_NAME, SIRIX_IDENTITY_DNS, list, count);
    count = take_names(context, GRPC_PEER_URI_PROPERTY_NAME, SIRIX_IDENTITY_URI, list, count);
    grpc_auth_property_iterator names =
        grpc_auth_context_find_properties_by_name(context, GRPC_X509_SAN_PROPERTY_NAME);
    if (grpc_auth_property_iterator_next(&names) == NULL) {
        count = take_names(context, GRPC_X509_CN_PROPERTY_NAME, SIRIX_IDENTITY_CN, list, count);
    }
    return count;
}

static enum sirix_status authenticate(struct sirix_rpc_call *call, struct sirix_error *err)
{
    const struct sirix_rpc_door *door = call->slot->door;
    struct sirix_identity identities[IDENTITIES_MAX];
    struct sirix_credentials credentials = {.identities = identities};
    const struct sirix_principal *principal = NULL;

    enum sirix_status status = take_token(call, &credentials, err);
    if (status != SIRIX_OK) {
        return status;
    }
    grpc_auth_context *context = grpc_call_auth_context(call->core);
    if (!credentials.has_token) {
        credentials.identity_count = take_identities(context, identities);
    }
    status = sirix_principal_store_authenticate(door->principals, &credentials, &principal, err);
    grpc_auth_context_release(context); /* The names were its. */
    if (status == SIRIX_OK) {
        call->principal = principal;
    }
    return status;
}

/* Who it is, and whether the role is enough. */
static enum sirix_status identify(struct sirix_rpc_call *call, struct sirix_error *err)
{
    const struct sirix_rpc_method *method = call->method;
    enum sirix_role role = sirix_rpc_method_role(method);

    if (call->slot->door->principals == NULL) {
        return SIRIX_OK; /* Doors of fixed principals have the methods that theirs may call. */
    }
    enum sirix_status status = authenticate(call, err);
    if (status == SIRIX_OK && call->principal->role < role) {
        status = sirix_fail_reason(
            err, SIRIX_PERMISSION,
            role == SIRIX_ROLE_WRITER ? SIRIX_REASON_READ_ONLY : SIRIX_REASON_ROLE,
            "%s is for a %s, and %s is a %s", method->path, sirix_role_name(role),
            call->principal->name, sirix_role_name(call->principal->role));
    }
    return status;
}

enum sirix_status sirix_rpc_call_admit(struct sirix_rpc_call *call, struct sirix_error *err)
{
    const struct sirix_rpc_options *options = &call->server->options;
    const struct sirix_rpc_method *method = call->method;

    if (method->for_everybody) {
        return SIRIX_OK;
    }
    enum sirix_status status = identify(call, err);
    if (status == SIRIX_OK && options->enter != NULL && !method->inline_turns &&
        !method->operates) {
        status = options->enter(options->quotas, call->principal->name, err);
        call->counted = status == SIRIX_OK;
    }
    return status;
}
