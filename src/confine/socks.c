#include "confine/socks.h"

#define VERSION 5
#define VERSION_4 4
#define REFUSED_4 91
#define NO_PASSWORD 0
#define NO_METHOD 0xff
#define CONNECT 1
#define REQUEST_HEADER 4

enum address_type { ADDRESS_IPV4 = 1, ADDRESS_NAME = 3, ADDRESS_IPV6 = 4 };

/* Refuse an unknown version.  A SOCKS4 program gets an answer in its own protocol. */
static enum socks_result refuse_version(uint8_t version, struct buf *out)
{
	static const uint8_t refused[8] = { 0, REFUSED_4 };

	if (version == VERSION_4)
		buf_add(out, refused, sizeof(refused));
	return SOCKS_BAD;
}

enum socks_result socks_greet(struct str bytes, size_t *used, struct buf *out)
{
	const uint8_t *b = (const uint8_t *)bytes.ptr;

	if (bytes.len && b[0] != VERSION)
		return refuse_version(b[0], out);
	if (bytes.len < 2 || bytes.len < 2 + (size_t)b[1])
		return SOCKS_PARTIAL;
	*used = 2 + (size_t)b[1];
	const bool known = b[1] && memchr(b + 2, NO_PASSWORD, b[1]);
	buf_addc(out, VERSION);
	buf_addc(out, (char)(known ? NO_PASSWORD : NO_METHOD));
	return known ? SOCKS_WHOLE : SOCKS_BAD;
}

void socks_answer(struct buf *out, enum socks_reply reply)
{
	/*
	 * The reply has a field for the address that the proxy connects from.  Programs do not need
	 * it, so it is all zeros.
	 */
	const uint8_t answer[10] = { VERSION, (uint8_t)reply, 0, ADDRESS_IPV4 };

	buf_add(out, answer, sizeof(answer));
}

static enum socks_result refuse(struct buf *out, enum socks_reply reply)
{
	socks_answer(out, reply);
	return SOCKS_BAD;
}

/*
 * Returns the length of the address after the header of a request, or 0 if the type of the address
 * is unknown.
 */
static size_t address_length(const uint8_t *b)
{
	switch (b[3]) {
	case ADDRESS_IPV4:
		return 4;
	case ADDRESS_IPV6:
		return 16;
	case ADDRESS_NAME:
		return 1 + (size_t)b[4];
	default:
		return 0;
	}
}

static bool read_target(const uint8_t *b, struct hostname *target)
{
	union netspace_address address;

	if (b[3] == ADDRESS_NAME)
		return hostname_read(
			(struct str){ (const char *)b + REQUEST_HEADER + 1, b[4] }, false, target);
	if (b[3] == ADDRESS_IPV4) {
		address = (union netspace_address){ .v4 = { .sin_family = AF_INET } };
		memcpy(&address.v4.sin_addr, b + REQUEST_HEADER, 4);
	} else {
		address = (union netspace_address){ .v6 = { .sin6_family = AF_INET6 } };
		memcpy(&address.v6.sin6_addr, b + REQUEST_HEADER, 16);
	}
	hostname_of_address(&address, target);
	return true;
}

enum socks_result socks_request(
	struct str bytes, size_t *used, struct hostname *target, struct buf *out)
{
	const uint8_t *b = (const uint8_t *)bytes.ptr;

	if (bytes.len && b[0] != VERSION)
		return refuse(out, SOCKS_FAILED);
	if (bytes.len <= REQUEST_HEADER)
		return SOCKS_PARTIAL;
	const size_t address = address_length(b), whole = REQUEST_HEADER + address + 2;
	if (b[2] != 0)
		return refuse(out, SOCKS_FAILED);
	if (!address)
		return refuse(out, SOCKS_NO_ADDRESS);
	if (bytes.len < whole)
		return SOCKS_PARTIAL;
	if (b[1] != CONNECT)
		return refuse(out, SOCKS_NO_COMMAND);
	const uint16_t port = (uint16_t)(b[whole - 2] << 8 | b[whole - 1]);
	if (!port || !read_target(b, target))
		return refuse(out, SOCKS_DENIED);
	hostname_set_port(target, port);
	*used = whole;
	return SOCKS_WHOLE;
}
