/*
 * hostreply - the replies of the agent of a host, and the errors in them.
 *
 * The result of a reply is passed on unchanged, so the reply is not parsed completely.  Its strings
 * and brackets are checked, but its single values may be invalid JSON.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/str.h"

struct hostreply {
	uint64_t id;
	bool failed;
	struct str value; /* the result, or the error object, as it stands in the line */
};

/* Returns true if the line is a reply whose id is a whole number. */
bool hostreply_read(struct str line, struct hostreply *reply);

/*
 * Fill in the error that an error object of JSON-RPC describes.  The members of its "data" are
 * appended to the buffer 'data', which may be NULL.  The name of the host is put before the
 * message, unless the message already names the host.
 */
int hostreply_error(const char *host, struct str value, struct buf *data, struct err *err);
