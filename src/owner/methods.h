/* methods - the methods that a client can call: the operations, and those of the owner itself. */
#pragma once
#include "core/param.h"
#include "core/str.h"

struct client;
struct owner;

/*
 * Handle a request.  It is answered in any case, unless it is a notification.  False: the request
 * has to wait, since CLIENT_REQUESTS_MAX of its client are running.
 */
bool methods_handle_line(struct owner *owner, struct client *client, struct str line);

/* The parameters of a method, a list that ends with a NULL name; NULL: there is no such method. */
const struct param *methods_params(const char *name);
/* The name of method i among those that people use; NULL: there are no more. */
const char *methods_name(size_t i);
