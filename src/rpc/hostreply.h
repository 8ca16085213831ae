/*
 * hostreply - the replies of the agent of a host, and the errors in them.
 *
 * A reply is only taken apart, since its result is passed on as it is.  So its strings and brackets
 * are checked, but not that each value in it is valid JSON.
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

/* Returns false if the line is no reply with an id that is a whole number. */
bool hostreply_read(struct str line, struct hostreply *reply);

/*
 * Fill in the error that an error object of JSON-RPC describes.  The members of its "data" are
 * appended to data, which may be NULL.  The name of the host is put before the message, unless it
 * is there.
 */
int hostreply_error(const char *host, struct str value, struct buf *data, struct err *err);
