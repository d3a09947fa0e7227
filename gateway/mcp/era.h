/*
 * The revisions of the protocol that are spoken, and what differs between them.
 *
 * Two eras: in the legacy one a connection agrees on a revision by `initialize`; in the modern one
 * (from 2026-07-28 on) each request says in its `_meta` what it is served by, and nothing is
 * remembered between two of them.
 */
#ifndef SIRIX_MCP_ERA_H
#define SIRIX_MCP_ERA_H

#include <stdbool.h>

#include "base/bytes.h"

/* In the order of time: a feature is there from one of them on. */
enum sirix_mcp_version {
    SIRIX_MCP_NONE, /* Before `initialize`. */
    SIRIX_MCP_2024_11_05,
    SIRIX_MCP_2025_03_26,
    SIRIX_MCP_2025_06_18,
    SIRIX_MCP_2025_11_25,
    SIRIX_MCP_2026_07_28,
    SIRIX_MCP_NEWEST_LEGACY = SIRIX_MCP_2025_11_25,
    SIRIX_MCP_NEWEST = SIRIX_MCP_2026_07_28,
};

/* "2025-06-18" and so on; "" for NONE. */
const char *sirix_mcp_version_name(enum sirix_mcp_version version);

/* The version of that name, else NONE. */
enum sirix_mcp_version sirix_mcp_version_find(struct sirix_bytes name);

static inline bool sirix_mcp_is_modern(enum sirix_mcp_version version)
{
    return version > SIRIX_MCP_NEWEST_LEGACY;
}

static inline bool sirix_mcp_has_annotations(enum sirix_mcp_version version)
{
    return version >= SIRIX_MCP_2025_03_26;
}

/* title, outputSchema, structuredContent. */
static inline bool sirix_mcp_has_structure(enum sirix_mcp_version version)
{
    return version >= SIRIX_MCP_2025_06_18;
}

static inline bool sirix_mcp_has_batches(enum sirix_mcp_version version)
{
    return version == SIRIX_MCP_2025_03_26;
}

#endif
