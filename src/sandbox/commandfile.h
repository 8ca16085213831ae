/*
 * commandfile - a command on its way from a strata process to the holder of a sandbox.
 *
 * A memory file contains the command's texts and the properties that the command inherits
 * (inherited.h).  The command's descriptors are sent beside the file.  The two processes have the
 * same user and the same version of strata: see HOLDER_VERSION.
 */
#pragma once
#include "core/err.h"
#include "sandbox/inherited.h"
#include "sandbox/sandbox_run.h"

#define COMMANDFILE_MAX ((size_t)64 << 20) /* bytes; more than execve(2) passes to a program */

/* Make the file.  Returns its descriptor. */
int commandfile_write(const struct sandbox_command *command, struct err *err);
/*
 * Read those members of *command that are needed in the sandbox, into memory that is never freed.
 * The file cannot contain a descriptor, so 'warden' is passed here.  It becomes the member of that
 * name in the command's restriction.
 */
int commandfile_read(int fd, int warden, struct sandbox_command *command,
	struct inherited *inherited, struct err *err);
