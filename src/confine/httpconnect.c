#include "confine/httpconnect.h"

#include <strings.h>

#include "core/own.h"

#define HTTP_PORT 80
#define SCHEME "http://"

/* --------------------------------------------- reading and rewriting requests */

bool httpconnect_is_tunnel(const struct httphead_request *request)
{
	return str_eq(request->method, STR("CONNECT"));
}

/* Split "http://HOST/PATH?QUERY" into HOST and the rest, which may be empty. */
static bool split_target(struct str target, struct str *host, struct str *path)
{
	const size_t scheme = sizeof(SCHEME) - 1;
	size_t end = scheme;

	if (target.len < scheme || strncasecmp(target.ptr, SCHEME, scheme) != 0)
		return false;
	while (end < target.len && !strchr("/?#", target.ptr[end]))
		end++;
	*host = (struct str){ target.ptr + scheme, end - scheme };
	*path = (struct str){ target.ptr + end, target.len - end };
	return true;
}

bool httpconnect_target(
	const struct httphead_request *request, struct hostname *out, const char **wrong)
{
	struct str host = request->target, path;
	const bool tunnel = httpconnect_is_tunnel(request);

	if (!tunnel && !split_target(request->target, &host, &path)) {
		*wrong = "this is a proxy: it takes CONNECT, and http:// addresses";
		return false;
	}
	if (hostname_read_port(host, tunnel ? 0 : HTTP_PORT, out))
		return true;
	*wrong = "the host or its port is malformed";
	return false;
}

/* Whether a header is meant for the proxy, or is one that httpconnect_rewrite writes itself. */
static bool is_for_proxy(struct str name)
{
	static const char *const names[] = { "host", "connection", "proxy-connection", "keep-alive",
		"proxy-authorization", "upgrade", "te" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (httphead_is(name, names[i]))
			return true;
	return false;
}

static void add_host(struct buf *out, const struct hostname *target)
{
	char text[HOSTNAME_PORT_MAX];

	hostname_print(target, text);
	if (target->port == HTTP_PORT)
		*strrchr(text, ':') = '\0';
	buf_addf(out, "Host: %s\r\n", text);
}

void httpconnect_rewrite(
	struct buf *out, const struct httphead_request *request, const struct hostname *target)
{
	struct str host, path = { "", 0 }, rest = request->headers, line, name, value;

	(void)split_target(request->target, &host, &path);
	buf_add(out, request->method.ptr, request->method.len);
	buf_addc(out, ' ');
	if (!path.len || path.ptr[0] != '/')
		buf_addc(out, '/');
	buf_add(out, path.ptr, path.len);
	buf_addc(out, ' ');
	buf_add(out, request->version.ptr, request->version.len);
	buf_adds(out, "\r\n");
	add_host(out, target);
	while (httphead_next(&rest, &line, &name, &value))
		if (!is_for_proxy(name))
			buf_add(out, line.ptr, line.len);
	buf_adds(out, "Connection: close\r\n\r\n");
}

/* The host of a target in absolute form must equal that of the Host header. */
bool httpconnect_named(
	const struct httphead_request *request, uint16_t default_port, struct hostname *out)
{
	struct str host, path;
	struct hostname absolute;

	if (!request->host.ptr || !hostname_read_port(request->host, default_port, out))
		return false;
	if (!split_target(request->target, &host, &path))
		return request->target.ptr[0] == '/' || str_eq(request->target, STR("*"));
	return hostname_read_port(host, default_port, &absolute) && absolute.port == out->port &&
	       !strcmp(absolute.text, out->text);
}

/* ------------------------------------------------------------ writing answers */

void httpconnect_accept(struct buf *out)
{
	buf_adds(out, "HTTP/1.1 200 Connection established\r\n\r\n");
}

static const char *name_of_status(int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 502:
		return "Bad Gateway";
	case 504:
		return "Gateway Timeout";
	default:
		return "Service Unavailable";
	}
}

void httpconnect_refuse(struct buf *out, int status, const char *why, const struct verdict *verdict)
{
	owned(buf_release) struct buf body = BUF_INIT;

	buf_addf(&body, "strata: %s\n", why);
	if (verdict && verdict->rule[0])
		buf_addf(&body, "rule: %s\n", verdict->rule);
	if (verdict && verdict->remedy[0])
		buf_addf(&body, "remedy: %s\n", verdict->remedy);
	buf_addf(out,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n",
		status, name_of_status(status), body.len);
	buf_add(out, body.data, body.len);
}
