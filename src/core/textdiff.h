/*
 * textdiff - line diffs by Myers' O(ND) algorithm with a limit on its cost, and unified output.
 *
 * Both contents are in memory as a whole, so the caller must limit their sizes.  Lines that both
 * contents have at the beginning or at the end are not compared, and neither are lines that only
 * one content has.  If the other lines need more than TEXTDIFF_COST_MAX edit steps, those that have
 * not been compared by then become one replaced block.  Such a diff is correct, although not
 * minimal, and the time stays linear on any input.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/str.h"

#define TEXTDIFF_COST_MAX 4000

/*
 * The lines [a, a + a_len) of the old content are replaced by the lines [b, b + b_len) of the new
 * content.  Lines are counted from 0.
 */
struct textdiff_hunk {
	size_t a, a_len, b, b_len;
};

/* Put the hunks, in order, into *hunks, which the caller frees.  Returns their number. */
size_t textdiff_hunks(struct str a, struct str b, struct textdiff_hunk **hunks);

/*
 * Append a unified diff, or nothing if the contents are equal.  The parameter context is the number
 * of unchanged lines around each change.  The headers are "--- NAME" and "+++ NAME" with the names
 * as given, so the caller must quote them.  A last line without a newline is followed by "\ No
 * newline at end of file", as diff(1) prints it.
 */
void textdiff_unified(struct buf *out, struct str a, struct str b, const char *name_a,
	const char *name_b, size_t context);

/*
 * Append the name of one side for textdiff_unified: prefix and path, quoted.  The name of a side
 * that does not exist is /dev/null.
 */
void textdiff_name(struct buf *out, const char *prefix, bool exists, struct str path);

/* Whether the first 8 KiB contain a NUL.  Such a content should not be shown as text. */
bool textdiff_is_binary(struct str content);
