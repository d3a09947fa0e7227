/*
 * Looks things up in a serialised FileDescriptorSet. The bytes of each file in it are exactly what
 * reflection hands out, so nothing is unpacked: a walk over the fields is enough. (Descriptors are
 * recursive messages; unpacking them is what must not happen to a request.)
 */
#ifndef SIRIX_RPC_DESCRIPTORS_H
#define SIRIX_RPC_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* Visits a file: its serialised FileDescriptorProto. False ends the walk. */
typedef bool (*sirix_descriptors_visit_fn)(void *context, struct sirix_bytes file);

/* False: the set is malformed. */
bool sirix_descriptors_files(struct sirix_bytes set, sirix_descriptors_visit_fn visit,
                             void *context);

/* The file of that name, such as "sirix/storage/v1/storage.proto". */
bool sirix_descriptors_find_file(struct sirix_bytes set, const char *name,
                                 struct sirix_bytes *out_file);

/*
 * The file that declares a fully qualified symbol: a message, enum, service, method or a field or
 * value in one of them.
 */
bool sirix_descriptors_find_symbol(struct sirix_bytes set, const char *symbol,
                                   struct sirix_bytes *out_file);

/* Visits the package and name of every service, in the order of the set. */
typedef bool (*sirix_descriptors_service_fn)(void *context, struct sirix_bytes package,
                                             struct sirix_bytes name);
bool sirix_descriptors_services(struct sirix_bytes set, sirix_descriptors_service_fn visit,
                                void *context);

#endif
