/* zfstool - runs zfs and zpool for a family. */
#pragma once
#include "query/family.h"
#include "query/tool.h"

#define ZFSTOOL_SECONDS_MAX 30
#define ZFSTOOL_DIFF_SECONDS_MAX 300

/*
 * As tool_run, within the time limit of the family's call.  If the program fails, the family's
 * failure says so.
 */
int zfstool_run(struct family *family, struct tool_call *call, struct err *err);
/* Make the family's failure that of this call, which ran, but printed something else than asked. */
void zfstool_blame(struct family *family, const struct tool_call *call);
/*
 * Set the error that a program has printed a line of another form than expected. expected is what
 * it should have printed, such as "a snapshot".
 */
int zfstool_garbage(
	const struct tool_call *call, struct str line, const char *expected, struct err *err);
