/*
 * httpconnect - requests of programs to an HTTP proxy, and the answers of the proxy.
 *
 * "CONNECT HOST:PORT" asks for a connection, through which the program itself exchanges bytes with
 * the host.  "GET http://HOST/PATH" asks the proxy to send this one request to the host.  The proxy
 * sends it as "GET /PATH" with the same host in the Host header.  It also tells the server to close
 * the connection afterwards, since the program's next request may be for another host.
 */
#pragma once
#include "confine/httphead.h"
#include "core/buf.h"
#include "policy/verdict.h"

/*
 * Find the host that a request to the proxy is for.  Returns false if the request is malformed.
 * *wrong then is the reason, for people.
 */
bool httpconnect_target(
	const struct httphead_request *request, struct hostname *out, const char **wrong);
bool httpconnect_is_tunnel(const struct httphead_request *request);
/* Append the head of a request, rewritten for the host. */
void httpconnect_rewrite(
	struct buf *out, const struct httphead_request *request, const struct hostname *target);
/*
 * Find the host that a request to a server names.  Returns false if the request names no host, or
 * two different ones.
 */
bool httpconnect_named(
	const struct httphead_request *request, uint16_t default_port, struct hostname *out);

/* Append the answer to a CONNECT request. */
void httpconnect_accept(struct buf *out);
/*
 * Append an answer that explains why a request fails.  'verdict' is NULL if the failure is no
 * denial of the policy.
 */
void httpconnect_refuse(
	struct buf *out, int status, const char *why, const struct verdict *verdict);
