/*
 * passage - decides which bytes of a program may pass to the server.
 *
 * The first bytes decide.  If they begin TLS, the server name in the hello must fit the connection
 * (admission_name).  Other bytes to port 80 must be requests of HTTP, each with a fitting name in
 * its Host header.  Everything else passes as it is, since the policy allows the host.
 */
#pragma once
#include "confine/hostname.h"
#include "confine/httphead.h"
#include "core/buf.h"
#include "policy/verdict.h"

#define PASSAGE_MAX 32767 /* bytes that may wait until more of them arrive */

enum passage_result {
	PASSAGE_GOES_ON, /* the bytes that are left wait for more */
	PASSAGE_DENIED,
	PASSAGE_MALFORMED,
};

struct passage {
	enum {
		PASSAGE_FIRST,
		PASSAGE_HEAD,
		PASSAGE_BODY,
		PASSAGE_LAST_BODY, /* nothing after it passes */
		PASSAGE_NOTHING,
		PASSAGE_OPEN,
	} state;
	struct httphead_body body;
	struct hostname named;  /* if denied: the host that was named */
	struct verdict verdict; /* if denied: why */
	const char *wrong;      /* if malformed: why */
};

/* Let bytes pass from in to out.  ended says that no more bytes follow. */
enum passage_result passage_move(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, struct buf *in, bool ended, struct buf *out);
/* Whether all bytes may pass from now on. */
bool passage_is_open(const struct passage *passage);
/* From now on, let only the body of this request pass. */
void passage_expect_body(struct passage *passage, const struct httphead_request *request);
