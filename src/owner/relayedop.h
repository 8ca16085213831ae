/*
 * relayedop - an operation that a strata process hands over to the owner of the workspace.  It has
 * the request, and the properties of the calling process that the operation depends on.
 *
 * The operation travels as a JSON document in a memory file, because the environment variables
 * alone may be larger than any request on the socket.
 */
#pragma once
#include "core/param.h"

#define RELAYEDOP_MAX ((size_t)64 << 20) /* bytes; more than the kernel passes to a program */

struct relayedop {
	/* relative to the caller's working directory, which is passed as a descriptor */
	const char *root;
	const char *workspace;
	const struct jsonread *request; /* set by relayedop_read: the parameters of the operation */
	bool json, jsonl;               /* the format in which the result is printed */
	int64_t umask;
	struct param_texts env; /* environment variables, each as NAME=VALUE */
};

/*
 * Write an operation to a new memory file, and return its descriptor, which the caller closes.
 * request is the operation's own struct, which params describes.
 */
int relayedop_write(const struct relayedop *relayed, const struct param *params,
	const void *request, struct err *err);
/*
 * Read an operation from the memory file fd.  The texts in *relayed belong to arena and to
 * *document, which the caller frees.
 */
int relayedop_read(int fd, struct arena *arena, struct jsonread **document,
	struct relayedop *relayed, struct err *err);
