/*
 * methods - what a client can ask: the operations, and what only an owner can do.
 */
#pragma once
#include "core/str.h"

struct client;
struct owner;

/*
 * A request, which is answered in any case unless it is a notification.  False: it has to wait, for
 * as many of its client are at work as may be.
 */
bool methods_take_line(struct owner *owner, struct client *client, struct str line);
