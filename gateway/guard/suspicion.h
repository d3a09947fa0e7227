/*
 * Whether a stored text looks like instructions to a model. A help for whoever reads, never a wall:
 * nothing is dropped because of it, and docs/security.md has the rates and what it cannot see.
 *
 * How       The text is brought into a normal form (case, accents, look-alikes, invisible characters,
 *           letters that stand apart), and in it words of a few kinds are looked for that stand close
 *           together: what to do with rules, which rules, whose. Then the same of what is encoded in it
 *           (base64, hex, percent, entities, rot13, backwards), one level deep.
 * Cost      Linear, about 0.1 µs a byte; of one text the first SIRIX_SUSPICION_BYTES_MAX bytes are looked at,
 *           and the first 8 KiB in forms that people do not write.
 * Threads   Any number.
 */
#ifndef SIRIX_GUARD_SUSPICION_H
#define SIRIX_GUARD_SUSPICION_H

#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_SUSPICION_BYTES_MAX = 64 * 1024 };

enum sirix_suspicion {
    SIRIX_SUSPICION_NONE,
    SIRIX_SUSPICION_INSTRUCTION, /* Tells a model what to do, or to drop its rules. */
    SIRIX_SUSPICION_ROLE,        /* Imitates the marks of a conversation. */
    SIRIX_SUSPICION_TOOL,        /* Names a tool and what to do with it. */
};

/* "instruction", "role", "tool", "none". */
const char *sirix_suspicion_name(enum sirix_suspicion suspicion);

/* Of plain UTF-8 text. SIRIX_NO_MEMORY. */
enum sirix_status sirix_suspicion_of(struct sirix_bytes plain, enum sirix_suspicion *out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
