#include "rpc/crewwork.h"

#include <malloc.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

#define PIECE 65536       /* bytes of one read */
#define TRIM_AT (1 << 20) /* after a request or reply of this size, unused memory is freed */

struct work {
	struct answerer answerer;
	const _Atomic uint32_t *cancelled;
	uint32_t serial; /* serial number of the request that is being answered */
};

static bool is_cancelled(void *arg)
{
	const struct work *work = arg;

	return atomic_load_explicit(work->cancelled, memory_order_relaxed) == work->serial;
}

static const struct crewwork_ask *ask_of(const struct buf *in)
{
	return (const struct crewwork_ask *)(const void *)in->data;
}

static bool is_whole(const struct buf *in)
{
	const struct crewwork_ask *ask = ask_of(in);

	return in->len >= sizeof(*ask) &&
	       in->len >= sizeof(*ask) + ask->id + ask->method + ask->params;
}

/* Read one request into the buffer 'in'.  Returns false at the end of the stream. */
static bool read_ask(int fd, struct buf *in)
{
	buf_clear(in);
	while (!is_whole(in)) {
		char *room = buf_reserve(in, PIECE);
		ssize_t n = room ? read(fd, room, PIECE) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		in->len += (size_t)n;
	}
	return true;
}

static struct answerer_request request_of(const struct buf *in)
{
	const struct crewwork_ask *ask = ask_of(in);
	const char *at = in->data + sizeof(*ask);

	return (struct answerer_request){
		.id = { at, ask->id },
		.method = { at + ask->id, ask->method - 1 }, /* without the NUL after the name */
		.params = { at + ask->id + ask->method, ask->params },
	};
}

static bool send_reply(int fd, struct str line)
{
	struct crewwork_reply reply = { line.len };
	struct iovec parts[] = {
		{ &reply, sizeof(reply) },
		{ (char *)line.ptr, line.len },
	};
	ssize_t n;

	do
		n = writev(fd, parts, 2);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(reply))
		return false;
	size_t sent = (size_t)n - sizeof(reply);
	return at_write_all(fd, line.ptr + sent, line.len - sent) >= 0;
}

void crewwork_main(int fd, const _Atomic uint32_t *cancelled, const struct answerer_source *source)
{
	struct work work = {
		.answerer = { .source = source, .cancelled = is_cancelled, .arg = &work },
		.cancelled = cancelled,
	};
	struct buf in = BUF_INIT;
	bool ok = true;

	while (ok && read_ask(fd, &in)) {
		owned(json_release) struct json out = JSON_INIT;
		struct answerer_request request = request_of(&in);

		work.serial = ask_of(&in)->serial;
		answerer_reply(&work.answerer, &request, &out);
		struct str line = json_written(&out);
		ok = send_reply(fd, line);
		if (line.len < TRIM_AT && in.len < TRIM_AT)
			continue;
		json_release(&out);
		buf_release(&in);
		(void)malloc_trim(0);
	}
	registry_release(&work.answerer.registry);
	buf_release(&in);
	_exit(0);
}
