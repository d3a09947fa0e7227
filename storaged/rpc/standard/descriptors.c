/*
 * A walker over protobuf's wire format, and the few field numbers of descriptor.proto that matter:
 *
 *     FileDescriptorSet    1 file
 *     FileDescriptorProto  1 name  2 package  4 message_type  5 enum_type  6 service
 *     DescriptorProto      1 name  2 field  3 nested_type  4 enum_type  8 oneof_decl
 *     EnumDescriptorProto  1 name  2 value
 *     ServiceDescriptor    1 name  2 method
 *
 * In all of the inner ones field 1 is the name.
 */
#include "rpc/standard/descriptors.h"

#include <stdint.h>
#include <string.h>

#include "base/varint.h"

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
    WIRE_BITS = 3,
    WIRE_MASK = 7,
};

enum {
    SET_FILE = 1,
    NAME = 1,
    FILE_PACKAGE = 2,
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_SERVICE = 6,
    MESSAGE_FIELD = 2,
    MESSAGE_NESTED = 3,
    MESSAGE_ENUM = 4,
    MESSAGE_ONEOF = 8,
    ENUM_VALUE = 2,
    SERVICE_METHOD = 2,
};

/* What a level of names is looked up in. */
enum scope { SCOPE_FILE, SCOPE_MESSAGE, SCOPE_ENUM, SCOPE_SERVICE, SCOPE_LEAF };

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool malformed;
};

static struct cursor cursor_over(struct sirix_bytes bytes)
{
    const uint8_t *at = bytes.data;

    return (struct cursor){.at = at, .end = bytes.len == 0 ? at : at + bytes.len};
}

static bool read_varint(struct cursor *cursor, uint64_t *out)
{
    size_t size = sirix_varint_decode(cursor->at, (size_t)(cursor->end - cursor->at), out);

    cursor->at += size;
    cursor->malformed = size == 0;
    return size != 0;
}

static bool skip(struct cursor *cursor, uint64_t size)
{
    if (size > (uint64_t)(cursor->end - cursor->at)) {
        cursor->malformed = true;
        return false;
    }
    cursor->at += size;
    return true;
}

/* Steps over a value that is not length-delimited. */
static bool skip_value(struct cursor *cursor, uint64_t wire)
{
    uint64_t ignored = 0;

    switch (wire) {
    case WIRE_VARINT:
        return read_varint(cursor, &ignored);
    case WIRE_FIXED64:
        return skip(cursor, sizeof(uint64_t));
    case WIRE_FIXED32:
        return skip(cursor, sizeof(uint32_t));
    default:
        cursor->malformed = true;
        return false;
    }
}

static bool read_bytes(struct cursor *cursor, struct sirix_bytes *out_value)
{
    uint64_t len = 0;

    if (!read_varint(cursor, &len) || !skip(cursor, len)) {
        return false;
    }
    *out_value = (struct sirix_bytes){.data = cursor->at - len, .len = (size_t)len};
    return true;
}

/* The next length-delimited field; others are stepped over. False: the end, or malformed. */
static bool next_field(struct cursor *cursor, uint64_t *out_number, struct sirix_bytes *out_value)
{
    uint64_t key = 0;
    bool more = true;

    while (more && cursor->at < cursor->end && read_varint(cursor, &key)) {
        if ((key & WIRE_MASK) == WIRE_BYTES) {
            *out_number = key >> WIRE_BITS;
            return read_bytes(cursor, out_value);
        }
        more = skip_value(cursor, key & WIRE_MASK);
    }
    return false;
}

/* The first field of a number; empty if there is none. */
static struct sirix_bytes field_of(struct sirix_bytes message, uint64_t wanted)
{
    struct cursor cursor = cursor_over(message);
    struct sirix_bytes value = {.data = NULL, .len = 0};
    uint64_t number = 0;

    while (next_field(&cursor, &number, &value)) {
        if (number == wanted) {
            return value;
        }
    }
    return (struct sirix_bytes){.data = NULL, .len = 0};
}

/* Where each named thing leads that a scope may hold; any other field leads nowhere. */
static const struct {
    uint64_t number;
    enum scope scope;
    enum scope inside;
} leads[] = {
    {FILE_MESSAGE, SCOPE_FILE, SCOPE_MESSAGE},   {FILE_ENUM, SCOPE_FILE, SCOPE_ENUM},
    {FILE_SERVICE, SCOPE_FILE, SCOPE_SERVICE},   {MESSAGE_NESTED, SCOPE_MESSAGE, SCOPE_MESSAGE},
    {MESSAGE_ENUM, SCOPE_MESSAGE, SCOPE_ENUM},   {MESSAGE_FIELD, SCOPE_MESSAGE, SCOPE_LEAF},
    {MESSAGE_ONEOF, SCOPE_MESSAGE, SCOPE_LEAF},  {ENUM_VALUE, SCOPE_ENUM, SCOPE_LEAF},
    {SERVICE_METHOD, SCOPE_SERVICE, SCOPE_LEAF},
};

static enum scope scope_inside(enum scope scope, uint64_t number)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if (leads[i].scope == scope && leads[i].number == number) {
            return leads[i].inside;
        }
    }
    return SCOPE_FILE;
}

/* The thing of that name directly in a level. SCOPE_FILE: there is none. */
static enum scope find_in(struct sirix_bytes level, enum scope scope, struct sirix_bytes name,
                          struct sirix_bytes *out_value)
{
    struct cursor cursor = cursor_over(level);
    uint64_t number = 0;

    while (next_field(&cursor, &number, out_value)) {
        enum scope inside = scope_inside(scope, number);
        if (inside != SCOPE_FILE && sirix_bytes_equal(field_of(*out_value, NAME), name)) {
            return inside;
        }
    }
    return SCOPE_FILE;
}

/* Goes down one name at a time; each step needs no more memory than this frame. */
static bool declares(struct sirix_bytes file, struct sirix_bytes symbol)
{
    struct sirix_bytes package = field_of(file, FILE_PACKAGE);
    struct sirix_bytes level = file;
    enum scope scope = SCOPE_FILE;
    const char *at = symbol.data;
    size_t left = symbol.len;

    if (package.len != 0) {
        if (left <= package.len || memcmp(at, package.data, package.len) != 0 ||
            at[package.len] != '.') {
            return false;
        }
        at += package.len + 1;
        left -= package.len + 1;
    }
    while (left != 0) {
        const char *dot = memchr(at, '.', left);
        struct sirix_bytes name = {.data = at, .len = dot == NULL ? left : (size_t)(dot - at)};
        struct sirix_bytes value = {.data = NULL, .len = 0};
        enum scope inside = find_in(level, scope, name, &value);
        if (inside == SCOPE_FILE) {
            return false;
        }
        if (dot == NULL) {
            return true;
        }
        left -= name.len + 1;
        at = dot + 1;
        level = value;
        scope = inside;
    }
    return false;
}

bool sirix_descriptors_files(struct sirix_bytes set, sirix_descriptors_visit_fn visit,
                             void *context)
{
    struct cursor cursor = cursor_over(set);
    struct sirix_bytes file = {.data = NULL, .len = 0};
    uint64_t number = 0;

    while (next_field(&cursor, &number, &file)) {
        if (number == SET_FILE && !visit(context, file)) {
            return true;
        }
    }
    return !cursor.malformed;
}

struct finding {
    struct sirix_bytes wanted;
    struct sirix_bytes file;
    bool found;
};

static bool match_name(void *context, struct sirix_bytes file)
{
    struct finding *finding = context;

    if (sirix_bytes_equal(field_of(file, NAME), finding->wanted)) {
        finding->file = file;
        finding->found = true;
    }
    return !finding->found;
}

static bool match_symbol(void *context, struct sirix_bytes file)
{
    struct finding *finding = context;

    if (declares(file, finding->wanted)) {
        finding->file = file;
        finding->found = true;
    }
    return !finding->found;
}

static bool find(struct sirix_bytes set, const char *wanted, sirix_descriptors_visit_fn match,
                 struct sirix_bytes *out_file)
{
    struct finding finding = {.wanted = {.data = wanted, .len = strlen(wanted)}};

    if (sirix_descriptors_files(set, match, &finding) && finding.found) {
        *out_file = finding.file;
    }
    return finding.found;
}

bool sirix_descriptors_find_file(struct sirix_bytes set, const char *name,
                                 struct sirix_bytes *out_file)
{
    return find(set, name, match_name, out_file);
}

bool sirix_descriptors_find_symbol(struct sirix_bytes set, const char *symbol,
                                   struct sirix_bytes *out_file)
{
    return find(set, symbol, match_symbol, out_file);
}

struct services {
    sirix_descriptors_service_fn visit;
    void *context;
};

static bool visit_services(void *context, struct sirix_bytes file)
{
    const struct services *services = context;
    struct cursor cursor = cursor_over(file);
    struct sirix_bytes value = {.data = NULL, .len = 0};
    uint64_t number = 0;

    while (next_field(&cursor, &number, &value)) {
        if (number == FILE_SERVICE &&
            !services->visit(services->context, field_of(file, FILE_PACKAGE),
                             field_of(value, NAME))) {
            return false;
        }
    }
    return true;
}

bool sirix_descriptors_services(struct sirix_bytes set, sirix_descriptors_service_fn visit,
                                void *context)
{
    struct services services = {.visit = visit, .context = context};

    return sirix_descriptors_files(set, visit_services, &services);
}
