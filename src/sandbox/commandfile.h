/*
 * commandfile - a command on its way from a strata process to the holder of a sandbox.
 *
 * It is a memory file with the command's texts and the properties it inherits (inherited.h).  The
 * command's descriptors are sent beside it.  Both processes have the same user and version: see
 * HOLDER_VERSION.
 */
#pragma once
#include "core/err.h"
#include "sandbox/inherited.h"
#include "sandbox/sandbox_run.h"

#define COMMANDFILE_MAX ((size_t)64 << 20) /* bytes; more than execve(2) passes to a program */

/* Make the file.  Returns its descriptor. */
int commandfile_write(const struct sandbox_command *command, struct err *err);
/*
 * Read the members of command that concern the inside, into memory that is never freed.  warden
 * becomes the member of that name in the command's restriction: a descriptor cannot be in the file.
 */
int commandfile_read(int fd, int warden, struct sandbox_command *command,
	struct inherited *inherited, struct err *err);
