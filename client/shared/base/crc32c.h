/* CRC-32C (Castagnoli, reflected, as in iSCSI): the check of stored bytes against accidents. */
#ifndef SIRIX_BASE_CRC32C_H
#define SIRIX_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * The checksum of len more bytes behind those that gave crc; start with 0. Checking in pieces gives
 * the same as checking at once. Uses the processor's instruction where there is one.
 */
uint32_t sirix_crc32c(uint32_t crc, const void *data, size_t len);

/* The same by tables alone, for tests and other processors. */
uint32_t sirix_crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
