/*
 * passage - decides which bytes of a program may pass to the server.
 *
 * The first bytes show the protocol.  If they begin TLS, the server name in the hello must fit the
 * connection (admission_name).  Other bytes to port 80 must be HTTP requests, and the Host header
 * of each must fit the connection.  All other bytes pass unchecked, since the policy allows the
 * host.
 */
#pragma once
#include "confine/hostname.h"
#include "confine/httphead.h"
#include "core/buf.h"
#include "policy/verdict.h"

#define PASSAGE_MAX 32767 /* bytes that are kept until they can be judged */

enum passage_result {
	PASSAGE_GOES_ON, /* the bytes that are left can be judged only with further bytes */
	PASSAGE_DENIED,
	PASSAGE_MALFORMED,
};

struct passage {
	enum {
		PASSAGE_FIRST,
		PASSAGE_HEAD,
		PASSAGE_BODY,
		PASSAGE_LAST_BODY, /* nothing passes after the end of this body */
		PASSAGE_NOTHING,
		PASSAGE_OPEN,
	} state;
	struct httphead_body body;
	struct hostname named;  /* the host that the program named, if the connection is denied */
	struct verdict verdict; /* the reason, if the connection is denied */
	const char *wrong;      /* the reason, if the bytes are malformed */
};

/*
 * Move the bytes that may pass from 'in' to 'out'.  'ended' is true if the program sends no more
 * bytes.
 */
enum passage_result passage_move(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, struct buf *in, bool ended, struct buf *out);
/* Whether all bytes may pass from now on. */
bool passage_is_open(const struct passage *passage);
/* From now on, let only the body of this request pass. */
void passage_expect_body(struct passage *passage, const struct httphead_request *request);
