/*
 * relayedop - an operation that a strata process relays to the owner of the workspace.  The struct
 * has the request, and those properties of the relaying process that the operation depends on.
 *
 * The operation is sent as a JSON document in a memory file, because the environment variables
 * alone may be larger than any request on the socket.
 */
#pragma once
#include "core/param.h"

/* maximum size of the document in bytes; more than the kernel allows for a program's variables */
#define RELAYEDOP_MAX ((size_t)64 << 20)

struct relayedop {
	/* path relative to the caller's working directory, which is passed as a descriptor */
	const char *root;
	const char *workspace;
	const struct jsonread *request; /* the parameters of the operation; set by relayedop_read */
	bool json, jsonl;               /* the format in which the result is printed */
	int64_t umask;
	struct param_texts env; /* environment variables, each as NAME=VALUE */
};

/*
 * Write an operation to a new memory file.  Returns the descriptor of the file, which the caller
 * closes.  'request' is the struct of the operation's parameters, which 'params' describes.
 */
int relayedop_write(const struct relayedop *relayed, const struct param *params,
	const void *request, struct err *err);
/*
 * Read an operation from the memory file fd.  The texts in *relayed belong to arena and to
 * *document, which the caller frees.
 */
int relayedop_read(int fd, struct arena *arena, struct jsonread **document,
	struct relayedop *relayed, struct err *err);
