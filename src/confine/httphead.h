/*
 * httphead - the heads of HTTP/1 requests, and where their bodies end (RFC 9112).
 *
 * A head is refused if two programs might read it differently: a line does not end with CR LF, a
 * line is folded, there is a space before a colon, there is a second Host, or the length of the
 * body is given in two ways.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "confine/hostname.h"
#include "core/str.h"

#define HTTPHEAD_MAX 32768 /* bytes of a head */

enum httphead {
	HTTPHEAD_PARTIAL, /* more bytes are needed */
	HTTPHEAD_WHOLE,
	HTTPHEAD_BAD,
};

/* A head.  Its texts lie in the bytes that it was read from. */
struct httphead_request {
	size_t size; /* bytes of the head, with the empty line */
	struct str method, target;
	struct str version; /* "HTTP/1.0" or "HTTP/1.1" */
	struct str headers; /* all header lines, with their ends */
	struct str host;    /* the value of Host; ptr is NULL if there is none */
	bool chunked;
	bool upgrade;      /* what follows may be something other than HTTP */
	uint64_t length;   /* of the body, if not chunked */
	const char *wrong; /* if it is bad: why, for people */
};

/* Read the head at the start of what a program has sent so far. */
enum httphead httphead_read(struct str bytes, struct httphead_request *out);
/* Take the next line off headers.  Returns false at their end. */
bool httphead_next(struct str *headers, struct str *line, struct str *name, struct str *value);
/* Whether two names of headers are the same. */
bool httphead_is(struct str name, const char *expected);

/* The state of a request's body while it passes by. */
struct httphead_body {
	bool endless; /* it has no end that we can see */
	bool chunked;
	uint64_t left;    /* bytes left of the body, or of the chunk */
	uint8_t state;    /* enum chunk_state in httphead.c */
	uint8_t digits;   /* of the length of a chunk */
	uint32_t framing; /* bytes of the lines around chunks */
	bool done;
	bool bad;
};

void httphead_body_start(const struct httphead_request *request, struct httphead_body *out);
/* Returns how many bytes at the start of bytes belong to the body. */
size_t httphead_body_take(struct httphead_body *body, struct str bytes);
