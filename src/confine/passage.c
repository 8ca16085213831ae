#include "confine/passage.h"

#include "confine/admission.h"
#include "confine/httpconnect.h"
#include "confine/tlshello.h"

#define HTTP_PORT 80
_Static_assert(PASSAGE_MAX >= TLSHELLO_BYTES_MAX - 1 && PASSAGE_MAX >= HTTPHEAD_MAX - 1, "room");

bool passage_is_open(const struct passage *passage)
{
	return passage->state == PASSAGE_OPEN;
}

void passage_expect_body(struct passage *passage, const struct httphead_request *request)
{
	httphead_body_start(request, &passage->body);
	passage->state = passage->body.done ? PASSAGE_NOTHING : PASSAGE_LAST_BODY;
}

static void pass(struct buf *in, size_t n, struct buf *out)
{
	buf_add(out, in->data, n);
	memmove(in->data, in->data + n, in->len - n);
	buf_truncate(in, in->len - n);
}

static enum passage_result refuse_as_malformed(struct passage *passage, const char *wrong)
{
	passage->wrong = wrong;
	return PASSAGE_MALFORMED;
}

static enum passage_result check_hello(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, const char *name)
{
	passage->state = PASSAGE_OPEN;
	if (!name[0] || (hostname_read(str_of(name), false, &passage->named) &&
				admission_name(policy, dialled, &passage->named, "TLS server name",
					&passage->verdict)))
		return PASSAGE_GOES_ON;
	hostname_set_port(&passage->named, dialled->port);
	return PASSAGE_DENIED;
}

static enum passage_result judge_first(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, struct buf *in, bool ended)
{
	char name[HOSTNAME_MAX + 1];

	switch (tlshello_read((struct str){ in->data, in->len }, name)) {
	case TLSHELLO_OTHER:
		passage->state = dialled->port == HTTP_PORT ? PASSAGE_HEAD : PASSAGE_OPEN;
		return PASSAGE_GOES_ON;
	case TLSHELLO_WHOLE:
		return check_hello(passage, policy, dialled, name);
	case TLSHELLO_PARTIAL:
		if (!ended && in->len < PASSAGE_MAX)
			return PASSAGE_GOES_ON;
		return refuse_as_malformed(passage, "the hello of TLS is incomplete");
	default:
		return refuse_as_malformed(passage, "the hello of TLS is malformed");
	}
}

/*
 * Whether the host that a request names fits the connection.  An HTTP/1.0 request need not name a
 * host.
 */
static bool fits(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, const struct httphead_request *request)
{
	struct hostname *named = &passage->named;

	if (!request->host.ptr && request->target.ptr[0] == '/')
		return true;
	if (httpconnect_named(request, HTTP_PORT, named) && named->port == dialled->port)
		return admission_name(policy, dialled, named, "Host header", &passage->verdict);
	*named = *dialled;
	admission_deny(&passage->verdict, "name the host and its port in the Host header",
		"net: the request does not name the host that was dialled");
	return false;
}

static enum passage_result judge_head(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, struct buf *in, bool ended, struct buf *out)
{
	struct httphead_request request;

	switch (httphead_read((struct str){ in->data, in->len }, &request)) {
	case HTTPHEAD_BAD:
		return refuse_as_malformed(passage, request.wrong);
	case HTTPHEAD_PARTIAL:
		if (!ended && in->len < PASSAGE_MAX)
			return PASSAGE_GOES_ON;
		return refuse_as_malformed(passage, "the head of the request is incomplete");
	default:
		break;
	}
	if (!fits(passage, policy, dialled, &request))
		return PASSAGE_DENIED;
	httphead_body_start(&request, &passage->body);
	if (request.upgrade)
		passage->state = PASSAGE_OPEN;
	else if (!passage->body.done)
		passage->state = PASSAGE_BODY;
	pass(in, request.size, out);
	return PASSAGE_GOES_ON;
}

static enum passage_result pass_body(struct passage *passage, struct buf *in, struct buf *out)
{
	const size_t n = httphead_body_take(&passage->body, (struct str){ in->data, in->len });

	if (passage->body.bad)
		return refuse_as_malformed(passage, "the body of the request is malformed");
	pass(in, n, out);
	if (passage->body.done)
		passage->state =
			passage->state == PASSAGE_LAST_BODY ? PASSAGE_NOTHING : PASSAGE_HEAD;
	return PASSAGE_GOES_ON;
}

static enum passage_result move_once(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, struct buf *in, bool ended, struct buf *out)
{
	switch (passage->state) {
	case PASSAGE_FIRST:
		return judge_first(passage, policy, dialled, in, ended);
	case PASSAGE_HEAD:
		return judge_head(passage, policy, dialled, in, ended, out);
	case PASSAGE_BODY:
	case PASSAGE_LAST_BODY:
		return pass_body(passage, in, out);
	case PASSAGE_NOTHING:
		buf_clear(in);
		return PASSAGE_GOES_ON;
	default:
		pass(in, in->len, out);
		return PASSAGE_GOES_ON;
	}
}

/* Repeat the steps until the state stays the same and no further byte can pass. */
enum passage_result passage_move(struct passage *passage, const struct policy *policy,
	const struct hostname *dialled, struct buf *in, bool ended, struct buf *out)
{
	enum passage_result result = PASSAGE_GOES_ON;
	bool changed = true;

	while (changed && in->len && result == PASSAGE_GOES_ON) {
		const int state = (int)passage->state;
		const size_t len = in->len;

		result = move_once(passage, policy, dialled, in, ended, out);
		changed = (int)passage->state != state || in->len != len;
	}
	if (!in->len)
		buf_release(in);
	return result;
}
