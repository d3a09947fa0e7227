/*
 * Quotas: what a database may take, and how many calls a principal may have at a time.
 *
 * Kept      in DIR/quotas, a line each, replaced as a whole when one is set; read at start.
 * Asked     before a change begins: changes that are made at the same time may pass a limit together.
 *           Whatever gives space back is never refused.
 * Threads   all functions from any thread, but _open and _close.
 */
#ifndef SIRIX_SERVICE_QUOTA_H
#define SIRIX_SERVICE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

struct sirix_quotas;
struct sirix_service;
struct sirix_handle;

enum { SIRIX_QUOTAS_MAX = 10000, SIRIX_QUOTA_NAME_BYTES_MAX = 128 };

enum sirix_quota_of { SIRIX_QUOTA_DATABASE, SIRIX_QUOTA_PRINCIPAL };

/* 0: no limit. Of a principal only calls. */
struct sirix_quota {
    uint64_t bytes;     /* Of the files of a database. */
    uint64_t snapshots; /* Of one resource. */
    uint64_t branches;  /* Of one resource, main included. */
    uint64_t calls;     /* At a time. */
};

/* dir: the data folder. SIRIX_IO; SIRIX_CORRUPT: the file is none of ours. */
enum sirix_status sirix_quotas_open(const char *dir, struct sirix_quotas **out_quotas,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
/* NULL is allowed. */
void sirix_quotas_close(struct sirix_quotas *quotas);

/* What is in force; zeros where nothing was set. */
struct sirix_quota sirix_quotas_get(struct sirix_quotas *quotas, enum sirix_quota_of of,
                                    struct sirix_bytes name);

/* Sets all four limits; all 0 takes the quota away. SIRIX_IO: nothing was changed. */
enum sirix_status sirix_quotas_set(struct sirix_quotas *quotas, enum sirix_quota_of of,
                                   struct sirix_bytes name, const struct sirix_quota *quota,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* A call of a principal begins, and ends. SIRIX_EXHAUSTED (reason quota): it has too many. */
enum sirix_status sirix_quotas_enter(struct sirix_quotas *quotas, const char *principal,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_quotas_leave(struct sirix_quotas *quotas, const char *principal);

/* SIRIX_EXHAUSTED (reason quota): the database has as many bytes as it may, or calls. */
enum sirix_status sirix_quota_check_bytes(struct sirix_service *service,
                                          const struct sirix_handle *handle,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_quota_check_calls(struct sirix_service *service,
                                          struct sirix_handle *handle,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same of the snapshots and branches that a resource has. */
enum sirix_status sirix_quota_check_snapshots(struct sirix_service *service,
                                              const struct sirix_handle *handle, uint64_t count,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_quota_check_branches(struct sirix_service *service,
                                             const struct sirix_handle *handle, uint64_t count,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
