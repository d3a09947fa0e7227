/*
 * Installing a value that was built: its top rows and its place, and what it replaces.
 *
 * Private to this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_EDIT_INSTALL_H
#define SIRIX_STORE_DOCUMENT_EDIT_INSTALL_H

#include "store/document/edit_state.h"

/* What the value that is being fed is for. */
struct sirix_edit_operation {
    bool is_update;
    bool is_members; /* An insert of all members of an object. */
    bool has_name;   /* An insert of one member. */
    struct sirix_buf name;
    struct sirix_spot spot; /* Inserts. Only container, index and what is no slice of parent. */
    uint64_t key;           /* Of the top node; MEMBERS: none. */
    /* Inserts, to find the spot again on another base. */
    uint64_t target;
    enum sirix_place place;
    uint64_t index;
    uint32_t depth; /* Of the parent. */
};

void sirix_edit_operation_free(struct sirix_edit_operation *op);

/* Forgets the value that is kept for a rebase. */
void sirix_edit_unkeep(struct sirix_edit *edit);

/*
 * Puts edit->build in its place. *out_touched: rows that were there before have changed, so that a
 * failure breaks the edit; else it is undone. An update that changes nothing says so in the result and
 * has touched nothing.
 */
enum sirix_status sirix_edit_install(struct sirix_edit *edit, const struct sirix_edit_operation *op,
                                     struct sirix_edit_result *out_result, bool *out_touched,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
