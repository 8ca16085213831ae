/* bindspec - the files and directories of the host that a command is to see in a sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/err.h"

#define BINDSPEC_MAX 64

struct bindspec {
	const char *host;   /* absolute path on the host, without symbolic links */
	const char *inside; /* absolute path in the sandbox, without "." and ".." */
	bool read_only;
};

struct bindspecs {
	const struct bindspec *list; /* sorted by 'inside': a directory comes before its entries */
	size_t n;
	const char *hidden; /* absolute path of a directory of the host that no bind may contain */
};

/*
 * Read texts of the form "HOST:INSIDE[:ro]", in which "\\:" stands for a colon and "\\\\" for a
 * backslash.  Returns ERR_USAGE for a malformed text, and ERR_NOT_FOUND if HOST does not exist.
 * Does not set 'hidden'.
 */
int bindspec_read(const char *const *texts, size_t n, struct arena *arena, struct bindspecs *out,
	struct err *err);
/* Refuse a bind of the hidden directory or of a file in it. */
int bindspec_check(const struct bindspecs *binds, struct err *err);
/* Whether the list contains this bind. */
bool bindspec_has(const struct bindspecs *binds, const struct bindspec *bind);
