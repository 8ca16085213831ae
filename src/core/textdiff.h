/*
 * textdiff - line diffs: Myers' O(ND) algorithm with a cost cap, unified output.
 *
 * Works on whole contents in memory (callers bound them first).  Common prefix and suffix lines are
 * trimmed, lines only one side has are set aside; beyond TEXTDIFF_COST_MAX edit steps the rest is
 * given as one replaced block, which is correct if not minimal: linear time on any input.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/str.h"

#define TEXTDIFF_COST_MAX 4000

/* One run of lines: [a, a+a_len) of the old replaced by [b, b+b_len) of the new; 0-based. */
struct textdiff_hunk {
	size_t a, a_len, b, b_len;
};

/* The hunks, in order, in *hunks (caller frees); returns how many. */
size_t textdiff_hunks(struct str a, struct str b, struct textdiff_hunk **hunks);

/*
 * Append a unified diff with context lines, "--- NAME"/"+++ NAME" headers included, names already
 * quoted by the caller; nothing when equal.  "\ No newline at end of file" as diff prints it.
 */
void textdiff_unified(struct buf *out, struct str a, struct str b, const char *name_a,
	const char *name_b, size_t context);

/* Append the name of a side for textdiff_unified: prefix and path, quoted, or /dev/null. */
void textdiff_name(struct buf *out, const char *prefix, bool exists, struct str path);

/* True if the first 8 KiB hold a NUL: contents not to be shown as text. */
bool textdiff_is_binary(struct str content);
