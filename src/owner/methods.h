/* methods - the methods that a client can call: the operations, and those of the owner itself. */
#pragma once
#include "core/operation.h"
#include "core/str.h"

struct client;
struct owner;

/*
 * Handle a request, and answer it unless it is a notification.  Returns false if the request has to
 * wait, because CLIENT_REQUESTS_MAX requests of its client are running.
 */
bool methods_handle_line(struct owner *owner, struct client *client, struct str line);

const struct op *methods_find(const char *name); /* NULL: there is no such method */
/* Returns method i of the list that is shown to people, or NULL after its end. */
const struct op *methods_listed(size_t i);
