#include "confine/tlshello.h"

#include <string.h>

#include "core/bytes.h"

#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define RECORD_FIRST 20 /* the lowest known type of a record */
#define RECORD_HANDSHAKE 22
#define RECORD_LAST 24
#define MAJOR_VERSION 3
#define MESSAGE_HEADER 4
#define CLIENT_HELLO 1
#define RANDOM_SIZE 32
#define SESSION_MAX 32
#define EXTENSION_SERVER_NAME 0
#define NAME_OF_HOST 0

/* ---------------------------------------------------------- reading the hello */

static uint16_t take16(struct cursor *in)
{
	const unsigned high = cursor_byte(in);

	return (uint16_t)(high << 8 | cursor_byte(in));
}

static struct cursor take_part(struct cursor *in, size_t len)
{
	const struct str part = cursor_bytes(in, len);

	return cursor_of(part.ptr, part.len);
}

static bool is_at_end(const struct cursor *in)
{
	return !in->bad && cursor_left(in) == 0;
}

/*
 * Read the extension with the list of server names.  The standard allows only one host name in it.
 */
static bool read_server_name(struct cursor extension, char name[HOSTNAME_MAX + 1])
{
	struct cursor list = take_part(&extension, take16(&extension));
	struct hostname host;

	if (!is_at_end(&extension) || cursor_byte(&list) != NAME_OF_HOST)
		return false;
	const struct str text = cursor_bytes(&list, take16(&list));
	if (!is_at_end(&list) || !hostname_read(text, false, &host))
		return false;
	memcpy(name, host.text, sizeof(host.text));
	return true;
}

static bool read_extensions(struct cursor *in, char name[HOSTNAME_MAX + 1])
{
	bool named = false;

	while (!in->bad && cursor_left(in)) {
		const uint16_t type = take16(in);
		const struct cursor extension = take_part(in, take16(in));

		if (type != EXTENSION_SERVER_NAME || in->bad)
			continue;
		if (named || !read_server_name(extension, name))
			return false;
		named = true;
	}
	return !in->bad;
}

static bool read_hello(struct cursor *in, char name[HOSTNAME_MAX + 1])
{
	(void)take16(in); /* skips the old version; versions from 1.3 on are in an extension */
	(void)cursor_bytes(in, RANDOM_SIZE);
	const uint8_t session = cursor_byte(in);
	(void)cursor_bytes(in, session);
	const uint16_t ciphers = take16(in);
	(void)cursor_bytes(in, ciphers);
	const uint8_t compressions = cursor_byte(in);
	(void)cursor_bytes(in, compressions);
	if (in->bad || session > SESSION_MAX || !ciphers || ciphers % 2 || !compressions)
		return false;
	if (is_at_end(in))
		return true;
	struct cursor extensions = take_part(in, take16(in));
	return is_at_end(in) && read_extensions(&extensions, name);
}

/* ------------------------------------------------------------ reading records */

/* A message that is put together from records. */
struct message {
	uint8_t bytes[TLSHELLO_MAX];
	size_t len;
};

/*
 * Returns the length of the message according to its header, or 0 if it is not a hello or is longer
 * than the buffer.
 */
static size_t whole_length(const struct message *message)
{
	const uint8_t *b = message->bytes;
	const size_t len = (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];

	return b[0] == CLIENT_HELLO && len <= sizeof(message->bytes) - MESSAGE_HEADER
		       ? len + MESSAGE_HEADER
		       : 0;
}

/*
 * Read the message if all of it has arrived.  Bytes after it in the same record are refused,
 * because a program sends nothing between the hello and the server's answer.
 */
static enum tlshello judge_message(const struct message *message, char name[HOSTNAME_MAX + 1])
{
	if (message->len && message->bytes[0] != CLIENT_HELLO)
		return TLSHELLO_BAD;
	if (message->len < MESSAGE_HEADER)
		return TLSHELLO_PARTIAL;
	const size_t whole = whole_length(message);
	if (!whole || message->len > whole)
		return TLSHELLO_BAD;
	if (message->len < whole)
		return TLSHELLO_PARTIAL;
	struct cursor in = cursor_of(message->bytes + MESSAGE_HEADER, whole - MESSAGE_HEADER);
	return read_hello(&in, name) ? TLSHELLO_WHOLE : TLSHELLO_BAD;
}

/*
 * Add to the message the part of a record that has arrived.  Returns the length of the record, or 0
 * if the record is bad.
 */
static size_t add_record(struct message *message, const uint8_t *at, size_t left)
{
	const size_t len = (size_t)at[3] << 8 | at[4];
	const size_t here = len < left - RECORD_HEADER ? len : left - RECORD_HEADER;

	if (at[0] != RECORD_HANDSHAKE || at[1] != MAJOR_VERSION || !len || len > RECORD_MAX ||
		here > sizeof(message->bytes) - message->len)
		return 0;
	memcpy(message->bytes + message->len, at + RECORD_HEADER, here);
	message->len += here;
	return RECORD_HEADER + len;
}

/* Whether the bytes may be the beginning of a TLS record. */
static bool looks_like_tls(struct str bytes)
{
	const uint8_t *b = (const uint8_t *)bytes.ptr;

	return bytes.len && b[0] >= RECORD_FIRST && b[0] <= RECORD_LAST &&
	       (bytes.len < 2 || b[1] == MAJOR_VERSION);
}

enum tlshello tlshello_read(struct str bytes, char name[HOSTNAME_MAX + 1])
{
	const uint8_t *at = (const uint8_t *)bytes.ptr;
	struct message message = { .len = 0 };
	size_t left = bytes.len;

	name[0] = '\0';
	if (left && !looks_like_tls(bytes))
		return TLSHELLO_OTHER;
	if (left < 2)
		return TLSHELLO_PARTIAL;
	while (left >= RECORD_HEADER) {
		const size_t len = add_record(&message, at, left);
		if (!len)
			return TLSHELLO_BAD;
		const enum tlshello result = judge_message(&message, name);
		if (result != TLSHELLO_PARTIAL)
			return result;
		at += len < left ? len : left;
		left -= len < left ? len : left;
	}
	if (left && at[0] != RECORD_HANDSHAKE)
		return TLSHELLO_BAD;
	return bytes.len >= TLSHELLO_BYTES_MAX ? TLSHELLO_BAD : TLSHELLO_PARTIAL;
}
