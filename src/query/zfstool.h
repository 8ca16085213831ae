/* zfstool - runs zfs and zpool for a family. */
#pragma once
#include "query/family.h"
#include "query/tool.h"

#define ZFSTOOL_SECONDS_MAX 30
#define ZFSTOOL_DIFF_SECONDS_MAX 300

/*
 * Do the same as tool_run, within the time limit of the running call.  If the program fails,
 * family->failure describes the call.
 */
int zfstool_run(struct family *family, struct tool_call *call, struct err *err);
/* Let family->failure describe this call, whose program has printed something unexpected. */
void zfstool_blame(struct family *family, const struct tool_call *call);
/*
 * Set the error for a line that a program has printed instead of a line of the right form.
 * 'expected' says what the line should have been, such as "a snapshot".
 */
int zfstool_garbage(
	const struct tool_call *call, struct str line, const char *expected, struct err *err);
