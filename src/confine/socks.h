/*
 * socks - the requests of SOCKS5 (RFC 1928) without a password, and refusals for SOCKS4.
 *
 * First a program sends a greeting with the methods of authentication that it supports.  The proxy
 * answers with the method that it chooses.  Then the program sends one request, and gets a reply.
 */
#pragma once
#include "confine/hostname.h"
#include "core/buf.h"
#include "core/str.h"

#define SOCKS_BYTES_MAX 512 /* more bytes than any greeting or request has */

enum socks_reply {
	SOCKS_DONE = 0,
	SOCKS_FAILED = 1,
	SOCKS_DENIED = 2,
	SOCKS_UNREACHABLE = 4,
	SOCKS_REFUSED = 5,
	SOCKS_NO_COMMAND = 7,
	SOCKS_NO_ADDRESS = 8,
};

enum socks_result {
	SOCKS_PARTIAL, /* more bytes have to arrive */
	SOCKS_WHOLE,
	SOCKS_BAD, /* 'out' has the answer to send before the connection is closed */
};

/*
 * Read a greeting, and append the answer to 'out'.  *used becomes the number of bytes of the
 * greeting.
 */
enum socks_result socks_greet(struct str bytes, size_t *used, struct buf *out);
/*
 * Read a request to connect to a host, and set *target to the host.  An answer is appended only if
 * the request is bad.
 */
enum socks_result socks_request(
	struct str bytes, size_t *used, struct hostname *target, struct buf *out);
void socks_answer(struct buf *out, enum socks_reply reply);
