/*
 * httpconnect - requests to an HTTP proxy, and the answers of the proxy.
 *
 * "CONNECT HOST:PORT" asks for a connection, through which the program talks to the host itself.
 * "GET http://HOST/PATH" asks the proxy to send this one request to the host.  It is sent as "GET
 * /PATH" with the same host in its Host header, and the server is told to close the connection
 * after it, since the program's next request may be for another host.
 */
#pragma once
#include "confine/httphead.h"
#include "core/buf.h"
#include "policy/verdict.h"

/*
 * Find the host that a request asks for.  Returns false if it is malformed; *wrong then says why,
 * for people.
 */
bool httpconnect_target(
	const struct httphead_request *request, struct hostname *out, const char **wrong);
bool httpconnect_is_tunnel(const struct httphead_request *request);
/* Append the head of a request in the form in which the host gets it. */
void httpconnect_rewrite(
	struct buf *out, const struct httphead_request *request, const struct hostname *target);
/* Find the host that a request to a server names.  Returns false if it names no host, or two. */
bool httpconnect_named(
	const struct httphead_request *request, uint16_t default_port, struct hostname *out);

/* Append the answer to CONNECT. */
void httpconnect_accept(struct buf *out);
/* Append an answer that explains why a request fails; verdict is NULL if no policy denies it. */
void httpconnect_refuse(
	struct buf *out, int status, const char *why, const struct verdict *verdict);
