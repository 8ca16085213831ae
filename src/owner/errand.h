/*
 * errand - an operation that a strata leaves to the owner of the workspace: the request, and what
 * of the process itself the operation depends on.
 *
 * It travels as a JSON document in a file in memory: the variables alone may be larger than any
 * request on the socket.
 */
#pragma once
#include "core/param.h"

#define ERRAND_MAX ((size_t)64 << 20) /* bytes; the kernel gives no program as much */

struct errand {
	const char *root; /* relative to the working directory, which is passed as a descriptor */
	const char *workspace;
	const struct jsonread *request; /* reading: an object, by the operation's parameters */
	bool json, jsonl;               /* how the result is to be printed */
	int64_t umask;
	struct param_texts env; /* NAME=VALUE */
};

/* The file, or negative; the request comes from the operation's own struct. */
int errand_write(const struct errand *errand, const struct param *params, const void *request,
	struct err *err);
/* What errand_write wrote; document, which the caller frees, and arena hold the texts. */
int errand_read(int fd, struct arena *arena, struct jsonread **document, struct errand *errand,
	struct err *err);
