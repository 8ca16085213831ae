/*
 * cmdline - the command line and environment of a strata, on their way to an owner: a file in
 * memory, for they may be larger than any request.
 *
 * Each text ends with a zero byte; first the arguments, then the variables.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "ops/op.h"

#define CMDLINE_MAX ((size_t)64 << 20) /* bytes; the kernel gives no program as much */

/* Lists that end with NULL; the file, or negative. */
int cmdline_write(const char *const *argv, char *const *env, struct err *err);
/* The same in arena, each list with a NULL behind it; argc texts of the file are arguments. */
int cmdline_read(int fd, int64_t argc, struct arena *arena, struct op_texts *argv,
	struct op_texts *env, struct err *err);
