/*
 * The revision store as the layers above see it: service, query, sql and ops include this alone.
 *
 *     backend -> database -> resource -> view -> document -> edit -> publication
 *
 * Order     A backend is opened on a folder and given to a database. A resource is opened by its name,
 *           a view of it by revision, snapshot, branch or time; a document reads a view; an edit
 *           builds on the view of a branch's head and is published. Ends come in the reverse order.
 * Readers   each working thread has one per database; its outermost loop yields it every few
 *           milliseconds, and slices die there. No function of the store yields, except those that
 *           say so by taking a visitor that may.
 */
#ifndef SIRIX_STORE_STORE_H
#define SIRIX_STORE_STORE_H

#include "store/document/document.h"
#include "store/document/edit.h"
#include "store/revision/committer.h"
#include "store/revision/database.h"
#include "store/revision/record.h"
#include "store/revision/view.h"
#include "store/segment/segment.h"

#endif
