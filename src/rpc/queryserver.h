/*
 * queryserver - answers the requests of one peer until it has no more.
 *
 * Each line of the input is a request (envelope.h), and each reply is a line of the output.  The
 * requests are answered by a crew (crew.h), so a reply may overtake another.  The request
 * "$/cancel" is answered here.
 */
#pragma once
#include "rpc/answerer.h"

/*
 * Serve from standard input to standard output.  Meanwhile descriptor 1 is standard error, so that
 * nothing but replies gets to the peer.  Returns 0 when the input has ended and all requests are
 * answered, or an error if a stream failed or the peer has hung up.
 */
int queryserver_run(const struct answerer_source *source, struct err *err);
