/*
 * resultview - the result of a query method or an operation as text for people and models.
 *
 * A list of objects is a table.  Every other member is a line "name value".  Members that only
 * repeat a parameter are left out.  A file or a diff is shown as it is.
 */
#pragma once
#include "core/buf.h"
#include "core/jsonread.h"
#include "core/operation.h"

/*
 * Add the result, which is an object, to 'out'.  Lines that name the missing parts of the result
 * are added to 'notes'.
 */
void resultview_add(
	struct buf *out, struct buf *notes, const struct op *op, const struct jsonread *result);
