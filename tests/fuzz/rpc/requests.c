#include "fuzz/rpc/requests.h"

#include <assert.h>
#include <string.h>

#include "base/crc32c.h"
#include "grpc/health/v1/health.pb-c.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "grpc/reflection/v1alpha/reflection.pb-c.h"
#include "sirix/storage/v1/storage.pb-c.h"

static const ProtobufCServiceDescriptor *const services[] = {
    &sirix__storage__v1__storage__descriptor,
    &grpc__health__v1__health__descriptor,
    &grpc__reflection__v1__server_reflection__descriptor,
    &grpc__reflection__v1alpha__server_reflection__descriptor,
};

/* Puts it where its tag belongs, unless it is there. Returns the count. */
static size_t add(struct request *all, size_t count, const ProtobufCMessageDescriptor *type)
{
    const struct request added = {.type = type,
                                  .tag = (uint16_t)sirix_crc32c(0, type->name, strlen(type->name))};
    size_t at = 0;

    while (at < count && all[at].tag < added.tag) {
        at++;
    }
    if (at < count && all[at].type == type) {
        return count;
    }
    assert(at == count || all[at].tag != added.tag);
    assert(count < REQUESTS_MAX);
    memmove(all + at + 1, all + at, (count - at) * sizeof(*all));
    all[at] = added;
    return count + 1;
}

size_t requests_all(struct request out[REQUESTS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        for (unsigned m = 0; m < services[i]->n_methods; m++) {
            count = add(out, count, services[i]->methods[m].input);
        }
    }
    return count;
}

const struct request *requests_find(const struct request *all, size_t count, uint16_t tag)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].tag >= tag) {
            return &all[i];
        }
    }
    return &all[0];
}
