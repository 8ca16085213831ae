/*
 * queryserver - answers the requests of one peer until the input ends.
 *
 * Each line of the input is a request (envelope.h), and each reply is a line of the output.  A crew
 * answers the requests (crew.h), so replies may come in another order.  The request "$/cancel" is
 * answered without the crew.
 */
#pragma once
#include "rpc/answerer.h"

/*
 * Read requests from standard input, and write replies to standard output.  Meanwhile, descriptor 1
 * is a copy of standard error, so that only replies get to the peer.  Returns 0 when the input has
 * ended and all requests are answered, or an error if a stream failed or the peer has hung up.
 */
int queryserver_run(const struct answerer_source *source, struct err *err);
