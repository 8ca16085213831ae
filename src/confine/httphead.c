#include "confine/httphead.h"

#include <ctype.h>
#include <strings.h>

#define METHOD_MAX 32
/* Maximum number of digits of a Content-Length, so that the length fits into 64 bits. */
#define LENGTH_DIGITS 18
#define CHUNK_DIGITS 15               /* maximum number of hexadecimal digits of a chunk's length */
#define FRAMING_MAX ((uint32_t)65536) /* bytes of extensions and trailers of one chunk */

/* ---------------------------------------------------------------------- texts */

static bool is_token_byte(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!is_token_byte(text.ptr[i]))
			return false;
	return text.len > 0;
}

/*
 * Whether the text may be the value of a header.  A value must not have control characters other
 * than tabs.
 */
static bool is_value(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		const unsigned char c = (unsigned char)text.ptr[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* Whether the text consists of visible ASCII, as the target of a request must. */
static bool is_visible(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
			return false;
	return text.len > 0;
}

bool httphead_is(struct str name, const char *expected)
{
	return name.len == strlen(expected) && !strncasecmp(name.ptr, expected, name.len);
}

/* ------------------------------------------------------------ lines of a head */

bool httphead_next(struct str *headers, struct str *line, struct str *name, struct str *value)
{
	const char *start = headers->ptr;

	if (!headers->len)
		return false;
	*value = str_take_until(headers, '\n');
	*line = (struct str){ start, (size_t)(headers->ptr - start) };
	value->len -= value->len != 0; /* removes the CR */
	*name = str_take_until(value, ':');
	*value = str_trim(*value, STR(" \t"));
	return true;
}

/* Returns the size of the head, or 0 if the end of the head has not arrived. */
static size_t find_end(struct str bytes)
{
	const char *end = bytes.len >= 4 ? memmem(bytes.ptr, bytes.len, "\r\n\r\n", 4) : NULL;

	return end ? (size_t)(end - bytes.ptr) + 4 : 0;
}

/*
 * Whether CR and LF occur only as pairs, and there is no NUL.  A CR at the end may still get its
 * LF.
 */
static bool has_clean_lines(struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		const char c = bytes.ptr[i];

		if (!c || (c == '\n' && (!i || bytes.ptr[i - 1] != '\r')) ||
			(c == '\r' && i + 1 < bytes.len && bytes.ptr[i + 1] != '\n'))
			return false;
	}
	return true;
}

static const char *read_request_line(struct str line, struct httphead_request *out)
{
	out->method = str_take_until(&line, ' ');
	out->target = str_take_until(&line, ' ');
	out->version = line;
	if (!is_token(out->method) || out->method.len > METHOD_MAX || !is_visible(out->target))
		return "the request line is malformed";
	if (!str_eq(line, STR("HTTP/1.1")) && !str_eq(line, STR("HTTP/1.0")))
		return "the version is neither HTTP/1.0 nor HTTP/1.1";
	return NULL;
}

static bool read_length(struct str value, uint64_t *out)
{
	uint64_t length = 0;

	if (!value.len || value.len > LENGTH_DIGITS)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return false;
		length = 10 * length + (uint64_t)(value.ptr[i] - '0');
	}
	*out = length;
	return true;
}

static const char *read_header(
	struct str name, struct str value, struct httphead_request *out, bool *has_length)
{
	if (!is_token(name) || !is_value(value))
		return "a header is malformed";
	if (httphead_is(name, "host")) {
		if (out->host.ptr)
			return "there are two Host headers";
		out->host = value;
	} else if (httphead_is(name, "content-length")) {
		if (*has_length || !read_length(value, &out->length))
			return "the length of the body is malformed";
		*has_length = true;
	} else if (httphead_is(name, "transfer-encoding")) {
		if (out->chunked || !httphead_is(value, "chunked"))
			return "the body has an unknown encoding";
		out->chunked = true;
	} else if (httphead_is(name, "upgrade")) {
		out->upgrade = true;
	}
	return NULL;
}

static const char *read_headers(struct httphead_request *out)
{
	struct str rest = out->headers, line, name, value;
	bool has_length = false;

	while (httphead_next(&rest, &line, &name, &value)) {
		/* A name that reaches to the end of the line has no colon after it. */
		const char *wrong = name.len + 2 >= line.len
					    ? "a header is malformed"
					    : read_header(name, value, out, &has_length);
		if (wrong)
			return wrong;
	}
	if (has_length && out->chunked)
		return "the body has two lengths";
	if (!out->host.ptr && str_eq(out->version, STR("HTTP/1.1")))
		return "there is no Host header";
	return NULL;
}

static enum httphead refuse(struct httphead_request *out, const char *why)
{
	out->wrong = why;
	return HTTPHEAD_BAD;
}

enum httphead httphead_read(struct str bytes, struct httphead_request *out)
{
	*out = (struct httphead_request){ .size = find_end(bytes) };
	const struct str seen = { bytes.ptr, out->size ? out->size : bytes.len };

	if (!has_clean_lines(seen))
		return refuse(out, "a line does not end with CR and LF");
	if (seen.len > HTTPHEAD_MAX || (!out->size && seen.len == HTTPHEAD_MAX))
		return refuse(out, "the head is too long");
	if (seen.len && !is_token_byte(seen.ptr[0]))
		return refuse(out, "the request line is malformed");
	if (!out->size)
		return HTTPHEAD_PARTIAL;

	struct str rest = seen;
	struct str line = str_take_until(&rest, '\n');
	line.len--;
	/* The headers end before the empty line. */
	out->headers = (struct str){ rest.ptr, rest.len - 2 };
	const char *wrong = read_request_line(line, out);
	if (!wrong)
		wrong = read_headers(out);
	return wrong ? refuse(out, wrong) : HTTPHEAD_WHOLE;
}

/* ---------------------------------------------------------- the end of a body */

/* The part of a chunked body that the next byte belongs to. */
enum chunk_state {
	SIZE,
	EXTENSION,
	SIZE_END,
	DATA,
	DATA_CR,
	DATA_LF,
	LINE,
	TRAILER,
	LINE_END,
	END
};

void httphead_body_start(const struct httphead_request *request, struct httphead_body *out)
{
	*out = (struct httphead_body){
		.endless = request->upgrade,
		.chunked = request->chunked,
		.left = request->length,
		.state = SIZE,
		.done = !request->upgrade && !request->chunked && !request->length,
	};
}

static uint8_t step_size(struct httphead_body *body, char c)
{
	const char *digits = "0123456789abcdef";
	const char *digit = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	if (digit && body->digits < CHUNK_DIGITS) {
		body->left = 16 * body->left + (uint64_t)(digit - digits);
		body->digits++;
		return SIZE;
	}
	if (!body->digits || digit)
		body->bad = true;
	if (c == '\r')
		return SIZE_END;
	if (c != ';' && c != ' ' && c != '\t')
		body->bad = true;
	return EXTENSION;
}

/* Returns the state after the line with the size of a chunk. */
static uint8_t after_size(struct httphead_body *body)
{
	body->digits = 0;
	if (body->left == 0)
		return LINE;
	body->framing = 0;
	return DATA;
}

static uint8_t expect(struct httphead_body *body, char c, char expected, uint8_t next)
{
	if (c != expected)
		body->bad = true;
	return next;
}

/* Handle one byte that is not data of a chunk.  Returns the next state. */
static uint8_t step_frame(struct httphead_body *body, char c)
{
	if (++body->framing > FRAMING_MAX)
		body->bad = true;
	switch (body->state) {
	case SIZE:
		return step_size(body, c);
	case EXTENSION:
		body->bad |= c == '\n' || !c;
		return c == '\r' ? SIZE_END : EXTENSION;
	case SIZE_END:
		return expect(body, c, '\n', after_size(body));
	case DATA_CR:
		return expect(body, c, '\r', DATA_LF);
	case DATA_LF:
		return expect(body, c, '\n', SIZE);
	case LINE: /* at the start of a line after the last chunk */
		body->bad |= c == '\n' || !c;
		return c == '\r' ? END : TRAILER;
	case TRAILER:
		body->bad |= c == '\n' || !c;
		return c == '\r' ? LINE_END : TRAILER;
	case LINE_END:
		return expect(body, c, '\n', LINE);
	default:
		body->done = true;
		return expect(body, c, '\n', END);
	}
}

static size_t take_data(struct httphead_body *body, size_t available)
{
	const size_t n = body->left < available ? (size_t)body->left : available;

	body->left -= n;
	return n;
}

size_t httphead_body_take(struct httphead_body *body, struct str bytes)
{
	size_t used = 0;

	if (body->endless)
		return bytes.len;
	if (!body->chunked) {
		used = take_data(body, bytes.len);
		body->done = !body->left;
		return used;
	}
	while (used < bytes.len && !body->done && !body->bad) {
		if (body->state != DATA) {
			body->state = step_frame(body, bytes.ptr[used++]);
			continue;
		}
		used += take_data(body, bytes.len - used);
		if (!body->left)
			body->state = DATA_CR;
	}
	return used;
}
