/*
 * methods - what a client can ask: the operations, and what only an owner can do.
 */
#pragma once
#include "core/str.h"
#include "ops/op.h"

struct client;
struct owner;

/*
 * A request, which is answered in any case unless it is a notification.  False: it has to wait, for
 * as many of its client are at work as may be.
 */
bool methods_take_line(struct owner *owner, struct client *client, struct str line);

/* What a method can be told, as a list that ends with a NULL name; NULL: no such method. */
const struct param *methods_params(const char *name);
/* All methods for people, one after the other; NULL when there are no more. */
const char *methods_name(size_t i);
