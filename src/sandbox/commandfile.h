/*
 * commandfile - a command on its way from a strata to the holder of a sandbox.
 *
 * A file in memory with the command's texts and what it inherits (inherited.h).  Descriptors go
 * beside it.  Both processes are of the same user and version: see HOLDER_VERSION.
 */
#pragma once
#include "core/err.h"
#include "sandbox/inherited.h"
#include "sandbox/sandbox_run.h"

#define COMMANDFILE_MAX ((size_t)64 << 20) /* the kernel takes less than that for a program */

/* The file: a descriptor, at its beginning. */
int commandfile_write(const struct sandbox_command *command, struct err *err);

/* What of struct sandbox_command concerns the inside, in memory that is never freed. */
int commandfile_read(
	int fd, struct sandbox_command *command, struct inherited *inherited, struct err *err);
