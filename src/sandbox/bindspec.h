/*
 * bindspec - what is to be bound into a sandbox for a command: files and directories of the host.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/err.h"

#define BINDSPEC_MAX 64

struct bindspec {
	const char *host;   /* absolute, without symbolic links */
	const char *inside; /* absolute, without "." and ".." */
	bool read_only;
};

struct bindspecs {
	const struct bindspec *list; /* by inside: a directory comes before what is in it */
	size_t n;
	const char *hidden; /* absolute path of a directory of the host that no bind may show */
};

/*
 * Read "HOST:INSIDE[:ro]" texts, where "\\:" is a colon and "\\\\" a backslash.  ERR_USAGE where a
 * text is malformed, ERR_NOT_FOUND where HOST does not exist.  hidden is left alone.
 */
int bindspec_read(const char *const *texts, size_t n, struct arena *arena, struct bindspecs *out,
	struct err *err);
/* Refuse a bind of the hidden directory or of something in it. */
int bindspec_check(const struct bindspecs *binds, struct err *err);
/* Whether the same bind is in a list. */
bool bindspec_has(const struct bindspecs *binds, const struct bindspec *bind);
/* A copy that refers to no memory of the original's; never freed. */
struct bindspecs bindspec_copy(const struct bindspecs *binds);
