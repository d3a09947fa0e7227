/*
 * Every message that a client may send: the inputs of all calls of the contract, and of the standard
 * services, from the descriptors that were generated with them. A new call is here by itself.
 */
#ifndef SIRIX_TESTS_FUZZ_RPC_REQUESTS_H
#define SIRIX_TESTS_FUZZ_RPC_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

enum { REQUESTS_MAX = 256, REQUEST_TAG_BYTES = 2 };

struct request {
    const ProtobufCMessageDescriptor *type;
    uint16_t tag; /* Of its name, so that an input keeps its type when calls are added. */
};

/* In the order of their tags; no two have the same. Returns how many. */
size_t requests_all(struct request out[REQUESTS_MAX]);

/* The one whose tag is the first >= tag, or the first of all. */
const struct request *requests_find(const struct request *all, size_t count, uint16_t tag);

#endif
