#include "confine/dns.h"

#include <ctype.h>

#define HEADER sizeof(((struct dns_query *)0)->header)
#define LABEL_MAX 63
#define NAME_MAX_BYTES 255 /* bytes of a name in a packet, including the empty label at its end */
#define CLASS_IN 1
#define NAME_OF_QUESTION 0xc00c /* a compression pointer to the first byte after the header */

/* Bits of the second 16-bit word of the header. */
#define IS_ANSWER 0x8000
#define OPERATION 0x7800 /* 0 stands for a query */
#define WANTS_RECURSION 0x0100
#define CAN_RECURSION 0x0080

static uint16_t get16(const uint8_t *in)
{
	return (uint16_t)(in[0] << 8 | in[1]);
}

static void add16(struct buf *out, unsigned value)
{
	const uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

	buf_add(out, bytes, sizeof(bytes));
}

/* Read a name.  Returns the number of its bytes in the packet, or 0 if the name is malformed. */
static size_t read_name(const uint8_t *at, size_t left, struct dns_query *out)
{
	size_t used = 0, len = 0;

	for (;;) {
		if (used >= left || used >= NAME_MAX_BYTES)
			return 0;
		const size_t label = at[used++];
		if (label == 0)
			break;
		if (label > LABEL_MAX || label > left - used || used + label >= NAME_MAX_BYTES)
			return 0;
		if (len)
			out->name[len++] = '.';
		for (size_t i = 0; i < label; i++) {
			const unsigned char c = at[used + i];
			const bool plain = isascii(c) && (isalnum(c) || c == '-' || c == '_');

			out->name[len++] = plain ? (char)tolower(c) : '?';
		}
		used += label;
	}
	out->name[len] = '\0';
	out->odd = !hostname_is_name((struct str){ out->name, len });
	return used;
}

/*
 * Check that a query has one question, no answers and the operation 0.  Programs need no other
 * packets.
 */
static enum dns_code check_header(const struct dns_query *query)
{
	if ((get16(query->header + 2) & OPERATION) != 0)
		return DNS_NOT_IMPLEMENTED;
	return get16(query->header + 4) == 1 && get16(query->header + 6) == 0 ? DNS_OK
									      : DNS_MALFORMED;
}

enum dns_code dns_read(struct str packet, struct dns_query *out)
{
	const uint8_t *bytes = (const uint8_t *)packet.ptr;

	*out = (struct dns_query){ .question = { "", 0 } };
	if (packet.len < HEADER || (get16(bytes + 2) & IS_ANSWER))
		return DNS_NONE;
	memcpy(out->header, bytes, HEADER);
	const enum dns_code code = check_header(out);
	if (code != DNS_OK)
		return code;
	const size_t name = read_name(bytes + HEADER, packet.len - HEADER, out);
	if (!name || packet.len - HEADER - name < 4) {
		out->name[0] = '\0';
		return DNS_MALFORMED;
	}
	const uint8_t *type = bytes + HEADER + name;
	out->question = (struct str){ packet.ptr + HEADER, name + 4 };
	out->type = get16(type);
	return get16(type + 2) == CLASS_IN ? DNS_OK : DNS_NOT_IMPLEMENTED;
}

static void add_record(struct buf *out, const union netspace_address *address)
{
	const bool v6 = address->any.sa_family == AF_INET6;

	add16(out, NAME_OF_QUESTION);
	add16(out, v6 ? DNS_AAAA : DNS_A);
	add16(out, CLASS_IN);
	add16(out, 0);
	add16(out, DNS_TTL);
	if (v6) {
		add16(out, sizeof(address->v6.sin6_addr));
		buf_add(out, &address->v6.sin6_addr, sizeof(address->v6.sin6_addr));
	} else {
		add16(out, sizeof(address->v4.sin_addr));
		buf_add(out, &address->v4.sin_addr, sizeof(address->v4.sin_addr));
	}
}

void dns_answer(struct buf *out, const struct dns_query *query, enum dns_code code,
	const union netspace_address *address)
{
	const unsigned asked = get16(query->header + 2);

	buf_add(out, query->header, 2);
	add16(out, IS_ANSWER | CAN_RECURSION | (asked & (OPERATION | WANTS_RECURSION)) |
			   (unsigned)code);
	add16(out, query->question.len != 0);
	add16(out, address && query->question.len);
	add16(out, 0);
	add16(out, 0);
	buf_add(out, query->question.ptr, query->question.len);
	if (address && query->question.len)
		add_record(out, address);
}
