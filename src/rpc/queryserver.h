/*
 * queryserver - answers the requests of one peer until the input ends.
 *
 * The requests come from a peer (peer.h).  A crew answers them (crew.h), so replies may come in
 * another order.
 */
#pragma once
#include "rpc/answerer.h"

/*
 * Read requests from standard input, and write replies to standard output.  Returns the same as
 * peer_serve.
 */
int queryserver_run(const struct answerer_source *source, struct err *err);
