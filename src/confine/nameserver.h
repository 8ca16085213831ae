/* nameserver - answers queries for names by the policy, and forwards none. */
#pragma once
#include "confine/proxy_priv.h"
#include "core/buf.h"

/* Append the answer to a query; nothing if it gets none. */
void nameserver_answer(struct proxy *proxy, struct str packet, struct buf *out);
/* The packets that have arrived at proxy->queries. */
void nameserver_serve(struct proxy *proxy);
