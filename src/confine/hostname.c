#include "confine/hostname.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

#define LABEL_MAX 63

static bool is_label_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Whether a label is a number.  Some programs accept "10", "0x0a" and "010" as parts of an address.
 */
static bool is_number(struct str label)
{
	bool digits = true;

	for (size_t i = 0; i < label.len; i++)
		digits = digits && is_digit(label.ptr[i]);
	return digits || (label.len >= 2 && label.ptr[0] == '0' && (label.ptr[1] | 0x20) == 'x');
}

bool hostname_is_name(struct str text)
{
	size_t begin = 0;

	if (text.len && text.ptr[text.len - 1] == '.')
		text.len--;
	if (!text.len || text.len > HOSTNAME_MAX)
		return false;
	for (size_t i = 0; i <= text.len; i++) {
		if (i < text.len && is_label_byte(text.ptr[i]))
			continue;
		if ((i < text.len && text.ptr[i] != '.') || i == begin || i - begin > LABEL_MAX)
			return false;
		if (i == text.len)
			return !is_number((struct str){ text.ptr + begin, i - begin });
		begin = i + 1;
	}
	return false;
}

/*
 * Read an address.  inet_pton refuses numbers with leading zeros, and addresses of fewer than four
 * parts.
 */
static bool read_address(struct str text, union netspace_address *out)
{
	char copy[INET6_ADDRSTRLEN];

	if (text.len >= sizeof(copy) || memchr(text.ptr, '\0', text.len))
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	*out = (union netspace_address){ .v6 = { .sin6_family = AF_INET6 } };
	if (inet_pton(AF_INET6, copy, &out->v6.sin6_addr) == 1) {
		netspace_unmap(out);
		return true;
	}
	*out = (union netspace_address){ .v4 = { .sin_family = AF_INET } };
	return inet_pton(AF_INET, copy, &out->v4.sin_addr) == 1;
}

void hostname_of_address(const union netspace_address *address, struct hostname *out)
{
	union netspace_address plain = *address;

	netspace_unmap(&plain);
	*out = (struct hostname){
		.literal = true, .address = plain, .port = ntohs(plain.v4.sin_port)
	};
	(void)inet_ntop(plain.any.sa_family,
		plain.any.sa_family == AF_INET6 ? (const void *)&plain.v6.sin6_addr
						: (const void *)&plain.v4.sin_addr,
		out->text, sizeof(out->text));
}

static void take_name(struct str text, struct hostname *out)
{
	*out = (struct hostname){ .literal = false };
	if (text.ptr[text.len - 1] == '.')
		text.len--;
	for (size_t i = 0; i < text.len; i++)
		out->text[i] = (char)tolower((unsigned char)text.ptr[i]);
}

bool hostname_read(struct str text, bool brackets, struct hostname *out)
{
	union netspace_address address;
	bool bracketed =
		brackets && text.len >= 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
	struct str bare = { text.ptr + bracketed, text.len - 2 * (size_t)bracketed };
	bool colon = bare.len && memchr(bare.ptr, ':', bare.len);

	if (brackets && bracketed != colon)
		return false;
	if (bare.len && read_address(bare, &address)) {
		hostname_of_address(&address, out);
		return true;
	}
	if (bracketed || !hostname_is_name(bare))
		return false;
	take_name(bare, out);
	return true;
}

static bool read_port(struct str text, uint16_t *out)
{
	uint32_t port = 0;

	if (!text.len || text.len > 5)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_digit(text.ptr[i]))
			return false;
		port = 10 * port + (uint32_t)(text.ptr[i] - '0');
	}
	*out = (uint16_t)port;
	return port > 0 && port <= UINT16_MAX;
}

bool hostname_read_port(struct str text, uint16_t default_port, struct hostname *out)
{
	const char *colon = text.len ? memrchr(text.ptr, ':', text.len) : NULL;
	uint16_t port = default_port;

	/* A colon before the closing bracket belongs to the address. */
	if (colon && !memchr(colon, ']', (size_t)(text.ptr + text.len - colon))) {
		struct str digits = { colon + 1, (size_t)(text.ptr + text.len - colon - 1) };

		if (!read_port(digits, &port))
			return false;
		text.len = (size_t)(colon - text.ptr);
	}
	if (!port || !hostname_read(text, true, out))
		return false;
	hostname_set_port(out, port);
	return true;
}

void hostname_set_port(struct hostname *host, uint16_t port)
{
	host->port = port;
	if (host->literal)
		/* this also sets sin6_port, which has the same offset */
		host->address.v4.sin_port = htons(port);
}

bool hostname_is_loopback(const union netspace_address *address)
{
	if (address->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
	return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool hostname_is_localhost(const char *name)
{
	const size_t len = strlen(name), last = sizeof("localhost") - 1;

	return len >= last && !strcmp(name + len - last, "localhost") &&
	       (len == last || name[len - last - 1] == '.');
}

const char *hostname_print(const struct hostname *host, char out[HOSTNAME_PORT_MAX])
{
	const bool brackets = strchr(host->text, ':');

	snprintf(out, HOSTNAME_PORT_MAX, brackets ? "[%s]:%u" : "%s:%u", host->text,
		(unsigned)host->port);
	return out;
}
