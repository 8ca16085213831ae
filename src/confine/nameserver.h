/* nameserver - answers queries for names according to the policy.  No query is forwarded. */
#pragma once
#include "confine/proxy_priv.h"
#include "core/buf.h"

/* Append the answer to a query.  Nothing is appended if the packet gets no answer. */
void nameserver_answer(struct proxy *proxy, struct str packet, struct buf *out);
/* Answer the packets that have arrived at the socket proxy->queries. */
void nameserver_serve(struct proxy *proxy);
