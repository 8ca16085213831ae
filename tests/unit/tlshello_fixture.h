/* tlshello_fixture - makes the first message of a program that begins TLS. */
#pragma once
#include <string.h>

#include "core/buf.h"

static void add_number(struct buf *out, unsigned value, int bytes)
{
	while (bytes--)
		buf_addc(out, (char)(value >> 8 * bytes));
}

static void add_extension(struct buf *out, unsigned type, const char *bytes, size_t len)
{
	add_number(out, type, 2);
	add_number(out, (unsigned)len, 2);
	buf_add(out, bytes, len);
}

/* Append the extension with the name.  The extension claims that the name has len bytes. */
static void add_server_name(struct buf *out, const char *name, size_t len)
{
	struct buf names = BUF_INIT;

	add_number(&names, (unsigned)len + 3, 2);
	add_number(&names, 0, 1);
	add_number(&names, (unsigned)len, 2);
	buf_add(&names, name, len);
	add_extension(out, 0, names.data, names.len);
	buf_release(&names);
}

/* Append the message with these extensions.  NULL: without any extension. */
static void add_message(struct buf *out, const struct buf *extensions)
{
	struct buf body = BUF_INIT;

	add_number(&body, 0x0303, 2);
	for (int i = 0; i < 32; i++)
		buf_addc(&body, (char)i);
	add_number(&body, 0, 1);
	add_number(&body, 2, 2);
	add_number(&body, 0x1301, 2);
	add_number(&body, 1, 1);
	add_number(&body, 0, 1);
	if (extensions) {
		add_number(&body, (unsigned)extensions->len, 2);
		buf_add(&body, extensions->data, extensions->len);
	}
	add_number(out, 1, 1);
	add_number(out, (unsigned)body.len, 3);
	buf_add(out, body.data, body.len);
	buf_release(&body);
}

/* Append the message in records of at most 'most' bytes. */
static void add_records(struct buf *out, const struct buf *message, size_t most)
{
	for (size_t at = 0; at < message->len; at += most) {
		size_t n = message->len - at < most ? message->len - at : most;

		add_number(out, 22, 1);
		add_number(out, 0x0301, 2);
		add_number(out, (unsigned)n, 2);
		buf_add(out, message->data + at, n);
	}
}

/* Make a whole hello.  name NULL: without a name. */
static void make_hello(struct buf *out, const char *name, size_t record)
{
	struct buf extensions = BUF_INIT, message = BUF_INIT;

	add_extension(&extensions, 43, "\2\3\4", 3);
	if (name)
		add_server_name(&extensions, name, strlen(name));
	add_extension(&extensions, 0xfe0d, "noise", 5);
	add_message(&message, &extensions);
	add_records(out, &message, record);
	buf_release(&extensions);
	buf_release(&message);
}
