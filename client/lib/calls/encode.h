/*
 * Pieces of requests and answers that many calls share, between the public structs and those of
 * protobuf-c. Encoding makes views only: the public request must outlive the message.
 */
#ifndef SIRIX_CALLS_ENCODE_H
#define SIRIX_CALLS_ENCODE_H

#include "lib/answer.h"
#include "lib/client.h"
#include "lib/transport/message.h"
#include "sirix/sirix.h"
#include "sirix/storage/v1/storage.pb-c.h"

/* The contract's types, short enough to read. */
#define PB(name)      Sirix__Storage__V1__##name
#define PB_INIT(NAME) SIRIX__STORAGE__V1__##NAME##__INIT
#define PB_TYPE(name) (&sirix__storage__v1__##name##__descriptor)

/* --- Requests ----------------------------------------------------------------------------------- */

/* NULL where the view is the default one, so that it is not sent at all. */
PB(View) * sirix_encode_view(const struct sirix_view *view, PB(View) * message);

/* NULL where nothing is set; write may be NULL. */
PB(WriteOptions) *
    sirix_encode_write(const struct sirix_write_options *write, PB(WriteOptions) * message);

/* Whether the write may be sent again. write may be NULL. */
enum sirix_repeat sirix_write_repeat(const struct sirix_write_options *write);

/* *out NULL where scope is: it is not sent. */
enum sirix_status sirix_encode_scope(struct sirix_arena *arena, const struct sirix_scope *scope,
                                     PB(Scope) * *out, struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_encode_place(const struct sirix_place *place, PB(Place) * message);

/* --- Answers ------------------------------------------------------------------------------------ */

/* A missing message gives zeros. */
struct sirix_write_result sirix_decode_write(const PB(WriteResult) * message);

enum sirix_node_type sirix_decode_node_type(PB(NodeKind) kind);
enum sirix_change_kind sirix_decode_change_kind(PB(ChangeKind) kind);

/* Lists of n messages, in arena. */
enum sirix_status sirix_decode_branches(struct sirix_arena *arena, PB(Branch) * *messages, size_t n,
                                        const struct sirix_branch_info **out_items,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_decode_snapshots(struct sirix_arena *arena, PB(Snapshot) * *messages,
                                         size_t n, const struct sirix_snapshot_info **out_items,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* A missing message gives zeros and empty texts. */
enum sirix_status sirix_decode_revision(struct sirix_arena *arena, const PB(RevisionInfo) * message,
                                        struct sirix_revision_info *out_info,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Calls -------------------------------------------------------------------------------------- */

/* One unary call whose answer nobody keeps but for what `take` copies out of it. */
typedef void (*sirix_take_fn)(const ProtobufCMessage *answer, void *context);

/* take may be NULL. */
enum sirix_status sirix_client_unary_plain(struct sirix_client *client,
                                           const struct sirix_unary *unary,
                                           const struct sirix_call_options *call,
                                           sirix_take_fn take, void *context,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * One unary call with an answer for the caller: makes a cleared struct of size bytes, calls, and
 * lets `fill` make the struct out of the message, with the answer's arena.
 */
typedef enum sirix_status (*sirix_fill_fn)(struct sirix_arena *arena,
                                           const ProtobufCMessage *message, void *answer,
                                           struct sirix_error *err);

enum sirix_status sirix_client_unary_answer(struct sirix_client *client,
                                            const struct sirix_unary *unary,
                                            const struct sirix_call_options *call, size_t size,
                                            sirix_fill_fn fill, void **out_answer,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * A unary call about a name. The fields that such requests have in common are put into the message by
 * their names: database, resource, name, view, options, page_size and cursor. What is NULL is left as it
 * is; the rest of the message is the caller's.
 */
struct sirix_named_call {
    enum sirix_method method;
    ProtobufCMessage *message;
    const ProtobufCMessageDescriptor *answer_type;
    const char *database;
    const char *resource;
    const char *name;
    const struct sirix_view *view;
    const struct sirix_write_options *write;
    const struct sirix_page *page;
};
enum sirix_status sirix_client_named_plain(struct sirix_client *client,
                                           const struct sirix_named_call *named,
                                           const struct sirix_call_options *call,
                                           sirix_take_fn take, void *context,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_client_named_answer(struct sirix_client *client,
                                            const struct sirix_named_call *named,
                                            const struct sirix_call_options *call, size_t size,
                                            sirix_fill_fn fill, void **out_answer,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
