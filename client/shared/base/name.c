/* One pass over the bytes, then the two looks that snapshots and branches may not have. */
#include "base/name.h"

#include <stdio.h>

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter_or_digit(uint8_t byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static const char *kind_text(enum sirix_name_kind kind)
{
    switch (kind) {
    case SIRIX_NAME_DATABASE:
        return "database";
    case SIRIX_NAME_RESOURCE:
        return "resource";
    case SIRIX_NAME_SNAPSHOT:
        return "snapshot";
    case SIRIX_NAME_BRANCH:
        return "branch";
    }
    return "thing";
}

static enum sirix_status refuse_byte(enum sirix_name_kind kind, uint8_t byte, size_t at,
                                     const char *field, struct sirix_error *err)
{
    char shown[16];

    if (byte > 0x20 && byte < 0x7f) {
        (void)snprintf(shown, sizeof(shown), "'%c'", byte);
    } else {
        (void)snprintf(shown, sizeof(shown), "byte 0x%02x", byte);
    }
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_INVALID, SIRIX_REASON_NAME_INVALID,
        "%s: %s at position %zu is not allowed in the name of a %s: 1 to %d of the letters a-z "
        "and A-Z, digits, '.', '_' and '-', the first a letter or digit",
        field, shown, at, kind_text(kind), SIRIX_NAME_BYTES_MAX);
    sirix_error_set_field(err, field);
    sirix_error_set_offset(err, at);
    return status;
}

static enum sirix_status refuse_whole(enum sirix_reason reason, const char *field, const char *kind,
                                      const char *why, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, reason, "%s: the name of a %s %s", field, kind, why);

    sirix_error_set_field(err, field);
    return status;
}

enum sirix_status sirix_name_check(enum sirix_name_kind kind, struct sirix_bytes name,
                                   const char *field, struct sirix_error *err)
{
    const uint8_t *bytes = name.data;
    size_t digits = 0;

    if (name.len == 0) {
        return refuse_whole(SIRIX_REASON_FIELD_MISSING, field, kind_text(kind), "is empty", err);
    }
    if (name.len > SIRIX_NAME_BYTES_MAX) {
        return refuse_whole(SIRIX_REASON_NAME_INVALID, field, kind_text(kind),
                            "is longer than 128 characters", err);
    }
    for (size_t i = 0; i < name.len; i++) {
        bool inner = bytes[i] == '.' || bytes[i] == '_' || bytes[i] == '-';

        if (!is_letter_or_digit(bytes[i]) && (!inner || i == 0)) {
            return refuse_byte(kind, bytes[i], i, field, err);
        }
        digits += is_digit(bytes[i]);
    }
    if (kind == SIRIX_NAME_SNAPSHOT || kind == SIRIX_NAME_BRANCH) {
        if (digits == name.len) {
            return refuse_whole(SIRIX_REASON_NAME_INVALID, field, kind_text(kind),
                                "may not look like a revision number", err);
        }
        if (sirix_name_is_timestamp(name)) {
            return refuse_whole(SIRIX_REASON_NAME_INVALID, field, kind_text(kind),
                                "may not look like a timestamp", err);
        }
    }
    return SIRIX_OK;
}

bool sirix_name_is_revision(struct sirix_bytes text, uint64_t *out_revision)
{
    const uint8_t *bytes = text.data;
    uint64_t value = 0;

    if (text.len == 0 || text.len > 20) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(bytes[i]) || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(bytes[i] - '0'), &value)) {
            return false;
        }
    }
    *out_revision = value;
    return true;
}

bool sirix_name_is_timestamp(struct sirix_bytes text)
{
    static const char shape[] = "dddd-dd-dd";
    const uint8_t *bytes = text.data;

    if (text.len < sizeof(shape) - 1) {
        return false;
    }
    for (size_t i = 0; i < sizeof(shape) - 1; i++) {
        if (shape[i] == 'd' ? !is_digit(bytes[i]) : bytes[i] != (uint8_t)shape[i]) {
            return false;
        }
    }
    return true;
}
