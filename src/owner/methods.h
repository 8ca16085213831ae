/*
 * methods - the methods that a client can call: the operations of strata (ops/table.c), and the
 * methods of the owner itself.
 */
#pragma once
#include "core/operation.h"
#include "core/str.h"

struct client;
struct owner;

/*
 * Handle the request in a line.  The client gets an answer, unless the request is a notification.
 * Returns false if the request has to wait, because CLIENT_REQUESTS_MAX requests of its client are
 * running.
 */
bool methods_handle_line(struct owner *owner, struct client *client, struct str line);

const struct op *methods_find(const char *name); /* returns NULL if no method has this name */
/* Returns method number i of the list that users see, or NULL after the end of the list. */
const struct op *methods_listed(size_t i);
