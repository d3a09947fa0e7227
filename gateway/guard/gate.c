/* From a token to a caller. */
#include "guard/gate.h"

#include <string.h>

#include "guard/settings_read.h"
#include "json/text.h"

enum { SUBJECT_BYTES_MAX = SIRIX_IDENTITY_NAME_BYTES_MAX - 6 };

enum sirix_status sirix_gate_open(const struct sirix_settings *settings, struct sirix_gate *out,
                                  struct sirix_error *err)
{
    struct sirix_gate gate = {
        .rules =
            {
                .issuer = settings->oauth_issuer,
                .audience = settings->oauth_audience != NULL ? settings->oauth_audience
                                                             : settings->public_url,
            },
    };
    const struct sirix_jwks_options options = {.url = settings->oauth_jwks_url};
    enum sirix_status status = SIRIX_OK;

    if (settings->callers_file != NULL) {
        status = sirix_tokens_load(settings->callers_file, &gate.tokens, err);
    }
    if (status == SIRIX_OK && settings->oauth_issuer != NULL) {
        status = sirix_jwks_open(&options, &gate.jwks, err);
    }
    if (status != SIRIX_OK) {
        sirix_gate_close(&gate);
        return status;
    }
    *out = gate;
    return SIRIX_OK;
}

void sirix_gate_close(struct sirix_gate *gate)
{
    if (gate != NULL) {
        sirix_jwks_close(gate->jwks);
        sirix_tokens_deinit(&gate->tokens);
        gate->jwks = NULL;
    }
}

static enum sirix_status refuse(const char *text, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_UNAUTHENTICATED, "%s", text);
}

static unsigned rights_of(const struct sirix_json_node *claim)
{
    unsigned rights = 0;

    if (claim == NULL || claim->kind == SIRIX_JSON_KIND_STRING) {
        return claim == NULL ? 0 : sirix_rights_of_scope(claim->value.text);
    }
    for (const struct sirix_json_node *at =
             claim->kind == SIRIX_JSON_KIND_ARRAY ? sirix_json_first(claim) : NULL;
         at != NULL; at = at->next) {
        if (at->kind == SIRIX_JSON_KIND_STRING) {
            rights |= sirix_rights_of_scope(at->value.text);
        }
    }
    return rights;
}

static enum sirix_status read_limits(const struct sirix_json_node *claim, struct sirix_arena *arena,
                                     struct sirix_access *out, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool is_known = true;

    if (claim == NULL) {
        return SIRIX_OK;
    }
    if (claim->kind != SIRIX_JSON_KIND_OBJECT) {
        return refuse("the token's claim sirix is no object", err);
    }
    for (const struct sirix_json_node *at = sirix_json_first(claim);
         at != NULL && status == SIRIX_OK && is_known; at = at->next) {
        status = sirix_setting_read_access(arena, at, out, &is_known, NULL);
    }
    /* A limit that cannot be read is none that may be left out. */
    if (!is_known || status == SIRIX_INVALID) {
        return refuse("the token's claim sirix is not as it should be", err);
    }
    return status == SIRIX_OK ? SIRIX_OK : sirix_fail(err, status, "no memory for a token");
}

/* What the claims of a token that is good say of its caller. */
static enum sirix_status read_claims(const struct sirix_jwt *jwt, struct sirix_arena *arena,
                                     struct sirix_identity *out, struct sirix_error *err)
{
    const struct sirix_json_node *subject = sirix_jwt_claim(jwt, "sub");
    const struct sirix_json_node *scope = sirix_jwt_claim(jwt, "scope");
    struct sirix_identity identity = {.rights = 0};
    char *name = NULL;

    if (subject == NULL || subject->kind != SIRIX_JSON_KIND_STRING ||
        subject->value.text.len > SUBJECT_BYTES_MAX ||
        sirix_json_text_has_escapes(subject->value.text) ||
        !sirix_identity_name_is_good(subject->value.text)) {
        return refuse("the token's subject is not as it should be", err);
    }
    identity.rights = rights_of(scope != NULL ? scope : sirix_jwt_claim(jwt, "scp"));
    enum sirix_status status =
        sirix_arena_printf(arena, &name, err, "oauth:%.*s", (int)subject->value.text.len,
                           (const char *)subject->value.text.data);
    if (status == SIRIX_OK) {
        identity.name = name;
        status = read_limits(sirix_jwt_claim(jwt, "sirix"), arena, &identity.access, err);
    }
    if (status == SIRIX_OK) {
        *out = identity;
    }
    return status;
}

enum sirix_status sirix_gate_identify(const struct sirix_gate *gate, struct sirix_bytes token,
                                      int64_t now_s, struct sirix_arena *arena,
                                      struct sirix_identity *out, struct sirix_error *err)
{
    const struct sirix_token *known = NULL;
    struct sirix_jwt jwt;
    enum sirix_status status = sirix_tokens_find(&gate->tokens, token, &known, err);

    if (status == SIRIX_OK && known != NULL) {
        *out = known->identity;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK && gate->jwks == NULL) {
        status = refuse("the token is not known", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_jwt_read(token, arena, &jwt, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_jwks_check(gate->jwks, &jwt, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_jwt_check_claims(&jwt, &gate->rules, now_s, err);
    }
    return status == SIRIX_OK ? read_claims(&jwt, arena, out, err) : status;
}
