/*
 * httphead - reads the heads of HTTP/1 requests, and finds where their bodies end (RFC 9112).
 *
 * A head is refused if two programs might read it differently.  This is so if a line is folded or
 * does not end with CR LF, a space precedes a colon, there is a second Host, or the body has two
 * lengths.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "confine/hostname.h"
#include "core/str.h"

#define HTTPHEAD_MAX 32768 /* bytes of a head */

enum httphead {
	HTTPHEAD_PARTIAL, /* more bytes have to arrive */
	HTTPHEAD_WHOLE,
	HTTPHEAD_BAD,
};

/* The head of a request.  Its texts lie in the bytes that it was read from. */
struct httphead_request {
	size_t size; /* bytes of the head, including the empty line at its end */
	struct str method, target;
	struct str version; /* "HTTP/1.0" or "HTTP/1.1" */
	struct str headers; /* all header lines, including their line ends */
	struct str host;    /* the value of Host; ptr is NULL if there is none */
	bool chunked;
	bool upgrade;      /* the bytes after the head may be of another protocol than HTTP */
	uint64_t length;   /* bytes of the body, if it is not chunked */
	const char *wrong; /* if the head is bad: the reason, for people */
};

/* Read the head at the start of the bytes that a program has sent so far. */
enum httphead httphead_read(struct str bytes, struct httphead_request *out);
/* Take the next line off *headers.  Returns false if there are no more lines. */
bool httphead_next(struct str *headers, struct str *line, struct str *name, struct str *value);
/* Whether two names of headers are equal, regardless of case. */
bool httphead_is(struct str name, const char *expected);

/* The state of a request's body while its bytes are passed on. */
struct httphead_body {
	bool endless; /* the bytes do not show where the body ends */
	bool chunked;
	uint64_t left;    /* bytes of the body, or of the current chunk, that are still to come */
	uint8_t state;    /* an enum chunk_state of httphead.c */
	uint8_t digits;   /* digits of the chunk's length that have been read */
	uint32_t framing; /* bytes that were read of the lines around chunks */
	bool done;
	bool bad;
};

void httphead_body_start(const struct httphead_request *request, struct httphead_body *out);
/* Returns the number of bytes at the start of the text that belong to the body. */
size_t httphead_body_take(struct httphead_body *body, struct str bytes);
