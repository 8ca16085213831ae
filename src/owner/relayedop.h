/*
 * relayedop - an operation that a strata process hands to the owner of the workspace: the request,
 * and those properties of the calling process that the operation depends on.
 *
 * The operation travels as a JSON document in a memory file, because the environment variables
 * alone may be larger than any request on the socket.
 */
#pragma once
#include "core/param.h"

#define RELAYEDOP_MAX ((size_t)64 << 20) /* bytes; the kernel passes fewer to a program */

struct relayedop {
	const char *root; /* relative to the working directory, which is passed as a descriptor */
	const char *workspace;
	const struct jsonread *request; /* set by relayedop_read: the operation's parameters */
	bool json, jsonl;               /* how to print the result */
	int64_t umask;
	struct param_texts env; /* NAME=VALUE */
};

/* Returns the memory file.  request is the operation's own struct, described by params. */
int relayedop_write(const struct relayedop *relayed, const struct param *params,
	const void *request, struct err *err);
/* Read the memory file fd.  The texts lie in arena and in document, which the caller frees. */
int relayedop_read(int fd, struct arena *arena, struct jsonread **document,
	struct relayedop *relayed, struct err *err);
