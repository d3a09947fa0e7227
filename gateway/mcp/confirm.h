/*
 * Confirmation: a write that destroys is done only after somebody has seen what it would do. Internal to
 * mcp/.
 *
 * A client that can be asked   is asked, with a preview; all but a full yes (accepted, and the box ticked)
 *                              refuses.
 * One that cannot              confirm = two-step: the first call changes nothing and answers the preview
 *                              and a confirmToken; the same call with that token does it. That shows that
 *                              the preview still holds, not that a person has seen it.
 *                              confirm = elicit-only: is refused.
 * What is confirmed            is done on the revision that was shown, or not at all, and once: it carries
 *                              that revision and the idempotency key that were made with the preview.
 * Nothing is kept here: the client keeps it, sealed (guard/seal.h), for these arguments, this principal
 * and SIRIX_MCP_STATE_LIFE_S.
 */
#ifndef SIRIX_MCP_CONFIRM_H
#define SIRIX_MCP_CONFIRM_H

#include "mcp/tools.h"

struct sirix_mcp_preview {
    uint64_t revision;     /* The head that the write would be done on. */
    struct sirix_buf text; /* What it would do, for a person; may have stored text in it. */
};

typedef enum sirix_status (*sirix_mcp_preview_fn)(struct sirix_mcp_call *call, const void *context,
                                                  struct sirix_mcp_preview *out,
                                                  struct sirix_error *err);

/*
 * To be called when all arguments were checked and nothing is done. SIRIX_OK: call->is_held says whether
 * the handler has to return at once, its answer being made; else write has what it must carry.
 */
enum sirix_status sirix_mcp_confirm(struct sirix_mcp_call *call, sirix_mcp_preview_fn preview,
                                    const void *context, struct sirix_write_options *write,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends text that is not ours to a preview, its beginning alone where it is long. */
enum sirix_status sirix_mcp_preview_stored(struct sirix_mcp_preview *out, struct sirix_bytes text,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Previews of a diff: all that is between two views; the head is that of from. */
enum sirix_status sirix_mcp_preview_diff(struct sirix_mcp_call *call, const struct sirix_view *from,
                                         const struct sirix_view *to, const char *what,
                                         struct sirix_mcp_preview *out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* And of a change at one node of a branch (NULL: main). */
enum sirix_status sirix_mcp_preview_node(struct sirix_mcp_call *call, const char *branch,
                                         uint64_t node_key, const char *what,
                                         struct sirix_mcp_preview *out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
