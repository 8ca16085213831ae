/* methods - the methods that a client can call: the operations, and those of the owner itself. */
#pragma once
#include "core/operation.h"
#include "core/str.h"

struct client;
struct owner;

/*
 * Handle a request.  It is answered in any case, unless it is a notification.  False: the request
 * has to wait, since CLIENT_REQUESTS_MAX of its client are running.
 */
bool methods_handle_line(struct owner *owner, struct client *client, struct str line);

const struct op *methods_find(const char *name); /* NULL: there is no such method */
/* Method i among those that people use; NULL: there are no more. */
const struct op *methods_listed(size_t i);
