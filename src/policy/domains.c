#include "policy/domains.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "core/own.h"

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* ---------------------------------------------------------------- addresses */

struct range {
	const char *base;
	unsigned bits;
	enum domains_class class;
};

/* If several ranges contain an address, the first one is used. */
static const struct range ranges4[] = {
	{ "169.254.169.254", 32, DOMAINS_METADATA },
	{ "169.254.170.2", 32, DOMAINS_METADATA },   /* Amazon, containers */
	{ "169.254.170.23", 32, DOMAINS_METADATA },  /* Amazon, pods */
	{ "100.100.100.200", 32, DOMAINS_METADATA }, /* Alibaba */
	{ "168.63.129.16", 32, DOMAINS_METADATA },   /* Azure */
	{ "192.0.0.192", 32, DOMAINS_METADATA },     /* Oracle */
	{ "0.0.0.0", 8, DOMAINS_UNSPECIFIED },
	{ "127.0.0.0", 8, DOMAINS_LOOPBACK },
	{ "169.254.0.0", 16, DOMAINS_LINK_LOCAL },
	{ "10.0.0.0", 8, DOMAINS_PRIVATE },
	{ "172.16.0.0", 12, DOMAINS_PRIVATE },
	{ "192.168.0.0", 16, DOMAINS_PRIVATE },
	{ "100.64.0.0", 10, DOMAINS_CGNAT },
	{ "224.0.0.0", 4, DOMAINS_MULTICAST },
	{ "255.255.255.255", 32, DOMAINS_MULTICAST },
	{ "192.0.0.0", 24, DOMAINS_RESERVED },
	{ "192.0.2.0", 24, DOMAINS_RESERVED },
	{ "192.88.99.0", 24, DOMAINS_RESERVED },
	{ "198.18.0.0", 15, DOMAINS_RESERVED },
	{ "198.51.100.0", 24, DOMAINS_RESERVED },
	{ "203.0.113.0", 24, DOMAINS_RESERVED },
	{ "240.0.0.0", 4, DOMAINS_RESERVED },
};

static const struct range ranges6[] = {
	{ "::", 128, DOMAINS_UNSPECIFIED },
	{ "::1", 128, DOMAINS_LOOPBACK },
	{ "fd00:ec2::", 32, DOMAINS_METADATA },       /* Amazon */
	{ "fd20:ce::254", 128, DOMAINS_METADATA },    /* Google */
	{ "fd00:42::42", 128, DOMAINS_METADATA },     /* Scaleway */
	{ "fd00:a9fe:a9fe::", 48, DOMAINS_METADATA }, /* 169.254.169.254 in hexadecimal digits */
	{ "fe80::", 10, DOMAINS_LINK_LOCAL },
	{ "fec0::", 10, DOMAINS_PRIVATE },
	{ "fc00::", 7, DOMAINS_PRIVATE },
	{ "ff00::", 8, DOMAINS_MULTICAST },
	{ "::", 96, DOMAINS_RESERVED },          /* an IPv4 address in an old form */
	{ "64:ff9b:1::", 48, DOMAINS_RESERVED }, /* translation to IPv4 for local use */
	{ "100::", 64, DOMAINS_RESERVED },
	{ "2001::", 23, DOMAINS_RESERVED },
	{ "2001:db8::", 32, DOMAINS_RESERVED },
	{ "3fff::", 20, DOMAINS_RESERVED },
	{ "5f00::", 16, DOMAINS_RESERVED },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool has_prefix(const uint8_t *address, const uint8_t *base, unsigned bits)
{
	unsigned bytes = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);

	return !memcmp(address, base, bytes) &&
	       (!rest || (address[bytes] & mask) == (base[bytes] & mask));
}

static enum domains_class find_class(
	const struct range *ranges, size_t n, int family, const uint8_t *address)
{
	uint8_t base[16];

	for (size_t i = 0; i < n; i++)
		if (inet_pton(family, ranges[i].base, base) == 1 &&
			has_prefix(address, base, ranges[i].bits))
			return ranges[i].class;
	return DOMAINS_PUBLIC;
}

static enum domains_class classify4(const uint8_t address[4])
{
	return find_class(ranges4, COUNT(ranges4), AF_INET, address);
}

/*
 * Returns the IPv4 address that an IPv6 address is translated to, or NULL if it is not translated.
 */
static const uint8_t *translated(const uint8_t address[16])
{
	static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b }, by_router[2] = { 0x20, 0x02 };

	if (!memcmp(address, nat64, sizeof(nat64)))
		return address + 12;
	return !memcmp(address, by_router, sizeof(by_router)) ? address + 2 : NULL;
}

enum domains_class domains_classify(const uint8_t address[16])
{
	if (!memcmp(address, mapped, sizeof(mapped)))
		return classify4(address + 12);
	const uint8_t *behind = translated(address);
	if (behind)
		return classify4(behind) == DOMAINS_PUBLIC ? DOMAINS_PUBLIC : DOMAINS_RESERVED;
	return find_class(ranges6, COUNT(ranges6), AF_INET6, address);
}

const char *domains_class_name(enum domains_class class)
{
	static const char *const names[] = {
		[DOMAINS_PUBLIC] = "a public address",
		[DOMAINS_LOOPBACK] = "a loopback address",
		[DOMAINS_LINK_LOCAL] = "a link-local address",
		[DOMAINS_PRIVATE] = "a private address",
		[DOMAINS_CGNAT] = "an address of a provider's own network",
		[DOMAINS_METADATA] = "an address of a cloud's metadata service",
		[DOMAINS_MULTICAST] = "a multicast address",
		[DOMAINS_UNSPECIFIED] = "an unspecified address",
		[DOMAINS_RESERVED] = "a reserved address",
	};

	return names[class];
}

static void set_address4(const void *bytes, struct domains_host *out)
{
	out->is_address = true;
	memcpy(out->address, mapped, sizeof(mapped));
	memcpy(out->address + 12, bytes, 4);
}

bool domains_of_sockaddr(const struct sockaddr *address, struct domains_host *out)
{
	*out = (struct domains_host){ 0 };
	if (address->sa_family == AF_INET) {
		set_address4(&((const struct sockaddr_in *)address)->sin_addr, out);
		return true;
	}
	out->is_address = address->sa_family == AF_INET6;
	if (out->is_address)
		memcpy(out->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
	return out->is_address;
}

void domains_write_address(struct buf *out, const uint8_t address[16])
{
	bool is4 = !memcmp(address, mapped, sizeof(mapped));
	char text[INET6_ADDRSTRLEN];

	buf_adds(out,
		inet_ntop(is4 ? AF_INET : AF_INET6, address + (is4 ? 12 : 0), text, sizeof(text)));
}

/* -------------------------------------------------------------------- hosts */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
	       c == '_';
}

static bool is_label(struct str label)
{
	if (!label.len || label.len > 63 || label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
		return false;
	for (size_t i = 0; i < label.len; i++)
		if (!is_name_byte(label.ptr[i]))
			return false;
	return true;
}

static struct str last_label(struct str name)
{
	const char *dot = memrchr(name.ptr, '.', name.len);
	size_t skip = dot ? (size_t)(dot + 1 - name.ptr) : 0;

	return (struct str){ name.ptr + skip, name.len - skip };
}

/*
 * Whether programs might read this label as a number.  The number may be decimal, or hexadecimal
 * with "0x".
 */
static bool is_number(struct str label)
{
	bool hex = label.len > 1 && label.ptr[0] == '0' && (label.ptr[1] | 0x20) == 'x';

	for (size_t i = hex ? 2 : 0; i < label.len; i++)
		if (!is_digit(label.ptr[i]) && !(hex && memchr("abcdefABCDEF", label.ptr[i], 12)))
			return false;
	return label.len;
}

static bool read_name(struct str text, struct domains_host *out)
{
	struct str rest = text;

	while (true) {
		const char *dot = memchr(rest.ptr, '.', rest.len);
		struct str label = { rest.ptr, dot ? (size_t)(dot - rest.ptr) : rest.len };

		if (!is_label(label))
			return false;
		if (!dot)
			break;
		rest.ptr += label.len + 1;
		rest.len -= label.len + 1;
	}
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		out->name[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	out->name[text.len] = '\0';
	return true;
}

static bool read_address(struct str text, struct domains_host *out)
{
	bool brackets = text.len > 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
	uint8_t bytes[16];
	char copy[INET6_ADDRSTRLEN];

	if (brackets)
		text = (struct str){ text.ptr + 1, text.len - 2 };
	if (text.len >= sizeof(copy) || memchr(text.ptr, '\0', text.len))
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	if (!brackets && inet_pton(AF_INET, copy, bytes) == 1) {
		set_address4(bytes, out);
		return true;
	}
	if (inet_pton(AF_INET6, copy, bytes) != 1)
		return false;
	out->is_address = true;
	memcpy(out->address, bytes, sizeof(bytes));
	return true;
}

bool domains_read_host(struct str text, struct domains_host *out)
{
	*out = (struct domains_host){ 0 };
	if (text.len && memchr(text.ptr, ':', text.len))
		return read_address(text, out);
	if (text.len > 1 && text.ptr[text.len - 1] == '.')
		text.len--;
	if (!text.len || text.len > DOMAINS_NAME_MAX)
		return false;
	return is_number(last_label(text)) ? read_address(text, out) : read_name(text, out);
}

/* -------------------------------------------------------------------- rules */

/*
 * Remove ":PORT" or ":*" from the end of *text.  Returns NULL, or the reason why the port is
 * malformed.
 */
static const char *take_port(struct str *text, int *port)
{
	const char *colon = memrchr(text->ptr, ':', text->len);
	size_t len = colon ? (size_t)(colon - text->ptr) : text->len;
	struct str digits = { text->ptr + len + 1, text->len - len - !!colon };
	long number = 0;

	*port = DOMAINS_PORT_NONE;
	/*
	 * After an address in brackets, a colon begins the port.  An IPv6 address without brackets
	 * has no port.
	 */
	if (!colon || memchr(colon, ']', digits.len + 1) ||
		(text->ptr[0] != '[' && memchr(text->ptr, ':', len)))
		return NULL;
	text->len = len;
	if (str_eq(digits, STR("*"))) {
		*port = DOMAINS_PORT_STAR;
		return NULL;
	}
	for (size_t i = 0; i < digits.len && number <= UINT16_MAX; i++) {
		if (!is_digit(digits.ptr[i]))
			return "has a port that is neither a number nor '*'";
		number = number * 10 + (digits.ptr[i] - '0');
	}
	if (number < 1 || number > UINT16_MAX)
		return "has a port that is not between 1 and 65535";
	*port = (int)number;
	return NULL;
}

static const char *host_fault(struct str text)
{
	if (!text.len)
		return "has no host";
	if (memmem(text.ptr, text.len, "://", 3))
		return "is a URL; a rule has only host and port";
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80)
			return "has letters beyond ASCII; write them as 'xn--...'";
	if (memchr(text.ptr, '*', text.len))
		return "has a '*' that is not the whole first label";
	if (memchr(text.ptr, '/', text.len))
		return "has a '/'; a rule has only host and port";
	return is_number(last_label(text)) ? "is not an address in dotted decimal"
					   : "is not the name of a host";
}

const char *domains_read_rule(struct str text, struct domains_rule *out)
{
	*out = (struct domains_rule){ 0 };
	if (memmem(text.ptr, text.len, "://", 3))
		return host_fault(text);
	const char *why = text.len ? take_port(&text, &out->port) : NULL;
	if (why)
		return why;
	if (str_eq(text, STR("*"))) {
		out->kind = DOMAINS_EVERY;
		return NULL;
	}
	if (str_starts(text, STR("*."))) {
		out->kind = DOMAINS_BELOW;
		text = (struct str){ text.ptr + 2, text.len - 2 };
	}
	if (!domains_read_host(text, &out->host) ||
		(out->host.is_address && out->kind == DOMAINS_BELOW))
		return host_fault(text);
	if (out->host.is_address && domains_classify(out->host.address) == DOMAINS_UNSPECIFIED)
		return "is an unspecified address";
	return NULL;
}

void domains_write_rule(struct buf *out, const struct domains_rule *rule)
{
	bool brackets = rule->host.is_address && rule->port &&
			memcmp(rule->host.address, mapped, sizeof(mapped)) != 0;

	buf_adds(out, rule->kind == DOMAINS_EVERY   ? "*"
		      : rule->kind == DOMAINS_BELOW ? "*."
		      : brackets                    ? "["
						    : "");
	if (rule->host.is_address)
		domains_write_address(out, rule->host.address);
	else
		buf_adds(out, rule->host.name);
	if (brackets)
		buf_addc(out, ']');
	if (rule->port == DOMAINS_PORT_STAR)
		buf_adds(out, ":*");
	else if (rule->port)
		buf_addf(out, ":%d", rule->port);
}

static bool is_below(const char *name, const char *top)
{
	size_t len = strlen(name), top_len = strlen(top);

	return len > top_len + 1 && name[len - top_len - 1] == '.' &&
	       !strcmp(name + len - top_len, top);
}

static bool is_local_name(const struct domains_rule *rule)
{
	return rule->kind == DOMAINS_EXACT && !rule->host.is_address &&
	       !strcmp(rule->host.name, "localhost");
}

bool domains_matches(const struct domains_rule *rule, const struct domains_host *host)
{
	if (host->is_address && rule->host.is_address)
		return !memcmp(rule->host.address, host->address, sizeof(host->address));
	if (host->is_address)
		return is_local_name(rule) && domains_classify(host->address) == DOMAINS_LOOPBACK;
	if (rule->kind == DOMAINS_EVERY)
		return true;
	if (rule->host.is_address)
		return false;
	return rule->kind == DOMAINS_BELOW ? is_below(host->name, rule->host.name)
					   : !strcmp(host->name, rule->host.name);
}

bool domains_within(const struct domains_rule *rule, const struct domains_rule *other)
{
	if (rule->kind == DOMAINS_EXACT)
		return domains_matches(other, &rule->host) &&
		       (!is_local_name(rule) || is_local_name(other));
	if (other->kind == DOMAINS_EVERY)
		return true;
	if (rule->kind == DOMAINS_EVERY || other->kind != DOMAINS_BELOW)
		return false;
	return !strcmp(rule->host.name, other->host.name) ||
	       is_below(rule->host.name, other->host.name);
}
