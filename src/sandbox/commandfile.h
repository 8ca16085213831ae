/*
 * commandfile - a command on its way from a strata to the holder of a sandbox.
 *
 * It is a memory file with the command's texts and the properties it inherits (inherited.h).  The
 * command's descriptors are sent beside it.  Both processes have the same user and version: see
 * HOLDER_VERSION.
 */
#pragma once
#include "core/err.h"
#include "sandbox/inherited.h"
#include "sandbox/sandbox_run.h"

#define COMMANDFILE_MAX ((size_t)64 << 20) /* bytes; more than the kernel passes to any program */

/* Make the file.  Returns its descriptor. */
int commandfile_write(const struct sandbox_command *command, struct err *err);
/*
 * Read those members of command that concern the inside, into memory that is never freed.  warden
 * is the descriptor of that name in the command's restriction, which cannot be in the file.
 */
int commandfile_read(int fd, int warden, struct sandbox_command *command,
	struct inherited *inherited, struct err *err);
