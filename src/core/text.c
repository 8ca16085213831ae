/*
 * Globs are matched by backtracking over the pattern itself; nothing is compiled or allocated.  A
 * failed attempt returns how much it rules out: a match at this place only, or also a match at any
 * later place.  In the second case, the wildcard that started the attempt gives up at once, and
 * does not try every longer match.  Without this knowledge, the time could grow exponentially.
 */
#include "core/text.h"

#include <stdio.h>
#include <string.h>

static unsigned char byte_at(struct str text, size_t i)
{
	return (unsigned char)text.ptr[i];
}

static struct str skip_bytes(struct str text, size_t n)
{
	return (struct str){ text.ptr + n, text.len - n };
}

static bool is_tail(struct str text, size_t from, size_t to)
{
	if (text.len < to)
		return false;
	for (size_t i = from; i < to; i++) {
		if ((byte_at(text, i) & 0xc0) != 0x80)
			return false;
	}
	return true;
}

size_t text_utf8_length(struct str text)
{
	if (!text.len)
		return 0;

	unsigned char lead = byte_at(text, 0);
	unsigned char next = text.len > 1 ? byte_at(text, 1) : 0;

	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return is_tail(text, 1, 2) ? 2 : 0;
	if (lead >= 0xe0 && lead <= 0xef) {
		/* The second byte shows overlong forms and surrogates, which are refused. */
		if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f))
			return 0;
		return is_tail(text, 1, 3) ? 3 : 0;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		if ((lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f))
			return 0;
		return is_tail(text, 1, 4) ? 4 : 0;
	}
	return 0;
}

/* Returns how many of the bytes from i on are ASCII, up to a multiple of eight. */
static size_t count_ascii(struct str text, size_t i)
{
	const uint64_t high = 0x8080808080808080;
	size_t n = 0;
	uint64_t word;

	for (; i + n + sizeof(word) <= text.len; n += sizeof(word)) {
		memcpy(&word, text.ptr + i + n, sizeof(word));
		if (word & high)
			break;
	}
	return n;
}

size_t text_utf8_prefix(struct str text)
{
	size_t i = 0;

	while (i < text.len) {
		size_t len = count_ascii(text, i);

		if (!len)
			len = text_utf8_length(skip_bytes(text, i));
		if (!len)
			break;
		i += len;
	}
	return i;
}

bool text_is_utf8(struct str text)
{
	return text_utf8_prefix(text) == text.len;
}

size_t text_utf8_encode(char out[4], uint32_t code)
{
	static const unsigned char lead[] = { 0, 0xc0, 0xe0, 0xf0 };
	size_t tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

	out[0] = (char)(lead[tails] | code >> 6 * tails);
	for (size_t i = 1; i <= tails; i++)
		out[i] = (char)(0x80 | (code >> 6 * (tails - i) & 0x3f));
	return tails + 1;
}

void text_utf8_add(struct buf *out, uint32_t code)
{
	char bytes[4];

	buf_add(out, bytes, text_utf8_encode(bytes, code));
}

/*
 * Returns the character at the start of a text, and sets *len to its length.  The text must not be
 * empty.  A byte that is not part of valid UTF-8 gives one of the codes U+DC80..U+DCFF, which no
 * valid sequence has.
 */
static uint32_t decode_character(struct str text, size_t *len)
{
	static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };

	*len = text_utf8_length(text);
	if (!*len) {
		*len = 1;
		return 0xdc00u | byte_at(text, 0);
	}
	uint32_t code = byte_at(text, 0) & lead_bits[*len];
	for (size_t i = 1; i < *len; i++)
		code = code << 6 | (byte_at(text, i) & 0x3f);
	return code;
}

/*
 * Control characters, line and paragraph separators, and marks that reorder the text are not
 * printable.
 */
static bool is_printable(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	if ((code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
		return false;
	return !(code >= 0xdc80 && code <= 0xdcff);
}

static bool needs_quotes(struct str name)
{
	for (size_t i = 0, len; i < name.len; i += len) {
		uint32_t code = decode_character(skip_bytes(name, i), &len);

		if (!is_printable(code) || code == '"' || code == '\\')
			return true;
	}
	return false;
}

void text_quote(struct buf *out, struct str name)
{
	if (!needs_quotes(name)) {
		buf_add(out, name.ptr, name.len);
		return;
	}
	buf_addc(out, '"');
	for (size_t i = 0, len; i < name.len; i += len) {
		uint32_t code = decode_character(skip_bytes(name, i), &len);

		if (code == '\n')
			buf_adds(out, "\\n");
		else if (code == '\t')
			buf_adds(out, "\\t");
		else if (code == '"' || code == '\\')
			buf_addf(out, "\\%c", (int)code);
		else if (is_printable(code))
			buf_add(out, name.ptr + i, len);
		else
			for (size_t j = i; j < i + len; j++)
				buf_addf(out, "\\%03o", byte_at(name, j));
	}
	buf_addc(out, '"');
}

const char *text_size(uint64_t bytes, char out[16])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(out, 16, "%u B", (unsigned)bytes);
		return out;
	}
	/* The bound is 1023.95 and not 1024, since 1023.95 would be printed as 1024.0. */
	for (; value >= 1023.95 && units[unit + 1]; unit++)
		value /= 1024;
	snprintf(out, 16, "%.1f %ciB", value, units[unit]);
	return out;
}

bool text_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmgtpe";
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
	}
	if (p == text)
		return false;
	if (*p) {
		const char *unit = strchr(units, *p | 0x20);

		if (unit) {
			int shift = 10 * (int)(unit - units + 1);

			if (value > UINT64_MAX >> shift)
				return false;
			value <<= shift;
			p++;
			if (p[0] == 'i' && p[1] == 'B')
				p++;
		}
		if (*p == 'B')
			p++;
	}
	if (*p)
		return false;
	*bytes = value;
	return true;
}

/*
 * The state while one pattern is matched with one text.  In a path (text_glob) the unit is the
 * byte, '/' is special, and braces and '\' work.  In a name (text_fnmatch) the unit is the
 * character.
 */
struct glob {
	struct str text;
	bool is_path;
	long steps; /* steps that are left before the match is given up */
	int depth;
};

/*
 * Maximum number of wildcards and braces that are being matched at the same time.  Each of them
 * takes part of the stack, which may be small.  A pattern that needs more does not match.
 */
#define GLOB_DEPTH_MAX 500

/*
 * The patterns that follow an alternative in braces: first the text behind the closing brace, then
 * the text behind the closing brace of the next outer braces, and so on.
 */
struct rest {
	struct str pattern;
	const struct rest *next;
};

/*
 * The results of an attempt to match.  Failures are sorted by how much they rule out: the smallest
 * of several failures rules out the least.
 */
enum verdict {
	NO_MATCH,
	NO_MATCH_IN_NAME, /* no match from here to the next '/', both places included */
	NO_MATCH_AT_ALL,  /* no match at this or any later place */
	MATCH,
};

static enum verdict match_pattern(
	struct glob *glob, struct str pattern, const struct rest *rest, size_t at);

static enum verdict match_deeper(
	struct glob *glob, struct str pattern, const struct rest *rest, size_t at)
{
	enum verdict verdict = NO_MATCH_AT_ALL;

	if (glob->depth == GLOB_DEPTH_MAX) {
		glob->steps = 0;
		return verdict;
	}
	glob->depth++;
	verdict = match_pattern(glob, pattern, rest, at);
	glob->depth--;
	return verdict;
}

static uint32_t next_unit(const struct glob *glob, struct str text, size_t *len)
{
	if (!glob->is_path)
		return decode_character(text, len);
	*len = 1;
	return byte_at(text, 0);
}

static enum verdict match_star(
	struct glob *glob, struct str pattern, const struct rest *rest, size_t at)
{
	struct str text = glob->text;
	enum verdict verdict;
	size_t stars = 1;

	while (stars < pattern.len && pattern.ptr[stars] == '*')
		stars++;
	bool crosses = !glob->is_path || stars > 1;
	pattern = skip_bytes(pattern, stars);

	/* A component of stars alone matches any number of components, including none. */
	if (glob->is_path && crosses && pattern.len && pattern.ptr[0] == '/' &&
		(!at || text.ptr[at - 1] == '/')) {
		verdict = match_deeper(glob, skip_bytes(pattern, 1), rest, at);
		if (verdict == MATCH || verdict == NO_MATCH_AT_ALL)
			return verdict;
	}
	for (;;) {
		size_t len;

		verdict = match_deeper(glob, pattern, rest, at);
		if (verdict == MATCH || verdict == NO_MATCH_AT_ALL)
			return verdict;
		if (verdict == NO_MATCH_IN_NAME) {
			if (!crosses)
				return verdict;
			while (at < text.len && text.ptr[at] != '/')
				at++;
		}
		if (at == text.len)
			return NO_MATCH_AT_ALL;
		if (text.ptr[at] == '/' && !crosses)
			return NO_MATCH_IN_NAME;
		(void)next_unit(glob, skip_bytes(text, at), &len);
		at += len;
	}
}

/*
 * Find the length of the alternative at the start of a pattern, up to the ',' or '}' behind it.
 * Returns false if the pattern has neither.
 */
static bool alternative_length(struct glob *glob, struct str pattern, size_t *len)
{
	int nested = 0;

	for (size_t i = 0; i < pattern.len; i++) {
		char c = pattern.ptr[i];

		glob->steps--;
		if (c == '\\') {
			i++;
		} else if (c == '{') {
			nested++;
		} else if ((c == ',' || c == '}') && !nested) {
			*len = i;
			return true;
		} else if (c == '}') {
			nested--;
		}
	}
	return false;
}

/*
 * Match a pattern that starts with '{', and set *verdict.  Returns false if the brace is not
 * closed.  The brace is then an ordinary character.
 */
static bool match_braces(struct glob *glob, struct str pattern, const struct rest *rest, size_t at,
	enum verdict *verdict)
{
	struct str body = skip_bytes(pattern, 1);
	struct rest after = { .next = rest };
	size_t len;

	for (struct str s = body;; s = skip_bytes(s, len + 1)) {
		if (!alternative_length(glob, s, &len))
			return false;
		if (s.ptr[len] == '}') {
			after.pattern = skip_bytes(s, len + 1);
			break;
		}
	}
	*verdict = MATCH;
	for (struct str s = body; alternative_length(glob, s, &len); s = skip_bytes(s, len + 1)) {
		enum verdict one = match_deeper(glob, (struct str){ s.ptr, len }, &after, at);

		if (one == MATCH) {
			*verdict = MATCH;
			break;
		}
		if (one < *verdict)
			*verdict = one;
		if (s.ptr[len] == '}')
			break;
	}
	return true;
}

/* The length of the [class] at the start of a pattern, or 0 if its bracket is not closed. */
static size_t class_length(struct glob *glob, struct str pattern)
{
	size_t i = 1;

	if (i < pattern.len && (pattern.ptr[i] == '!' || (pattern.ptr[i] == '^' && glob->is_path)))
		i++;
	if (i < pattern.len && pattern.ptr[i] == ']')
		i++;
	for (; i < pattern.len && pattern.ptr[i] != ']'; i++) {
		glob->steps--;
		if (pattern.ptr[i] == '\\' && glob->is_path)
			i++;
	}
	return i < pattern.len ? i + 1 : 0;
}

static uint32_t class_unit(const struct glob *glob, struct str *body)
{
	size_t len;

	if (glob->is_path && body->ptr[0] == '\\' && body->len > 1)
		*body = skip_bytes(*body, 1);
	uint32_t unit = next_unit(glob, *body, &len);
	*body = skip_bytes(*body, len);
	return unit;
}

/* Whether a class contains a unit; 'body' is the text between the brackets. */
static bool class_has(const struct glob *glob, struct str body, uint32_t unit)
{
	bool negated = body.ptr[0] == '!' || (body.ptr[0] == '^' && glob->is_path);
	bool found = false;

	if (negated)
		body = skip_bytes(body, 1);
	while (body.len) {
		uint32_t low = class_unit(glob, &body);
		uint32_t high = low;

		if (body.len > 1 && body.ptr[0] == '-') {
			body = skip_bytes(body, 1);
			high = class_unit(glob, &body);
		}
		found |= low <= unit && unit <= high;
	}
	return found != negated;
}

/*
 * Whether the first element of a pattern matches one unit of the text. *len becomes the length of
 * the element.
 */
static bool match_unit(struct glob *glob, struct str pattern, uint32_t unit, size_t *len)
{
	bool crosses = !glob->is_path || unit != '/';
	char c = pattern.ptr[0];

	*len = 1;
	if (c == '?')
		return crosses;
	if (c == '[') {
		size_t class = class_length(glob, pattern);

		if (class) {
			*len = class;
			return crosses &&
			       class_has(glob, (struct str){ pattern.ptr + 1, class - 2 }, unit);
		}
	}
	if (c == '\\' && glob->is_path && pattern.len > 1) {
		*len = 2;
		return byte_at(pattern, 1) == unit;
	}
	return next_unit(glob, pattern, len) == unit;
}

static enum verdict match_pattern(
	struct glob *glob, struct str pattern, const struct rest *rest, size_t at)
{
	for (;;) {
		enum verdict verdict;
		size_t pattern_len, text_len;
		uint32_t unit;

		if (--glob->steps < 0)
			return NO_MATCH_AT_ALL;
		if (!pattern.len) {
			if (!rest)
				return at == glob->text.len ? MATCH : NO_MATCH;
			pattern = rest->pattern;
			rest = rest->next;
			continue;
		}
		if (pattern.ptr[0] == '*')
			return match_star(glob, pattern, rest, at);
		if (pattern.ptr[0] == '{' && glob->is_path &&
			match_braces(glob, pattern, rest, at, &verdict))
			return verdict;
		/*
		 * This element needs a unit, and the text has no unit left.  So an attempt that
		 * starts later cannot match either.
		 */
		if (at == glob->text.len)
			return NO_MATCH_AT_ALL;
		unit = next_unit(glob, skip_bytes(glob->text, at), &text_len);
		if (!match_unit(glob, pattern, unit, &pattern_len))
			return NO_MATCH;
		pattern = skip_bytes(pattern, pattern_len);
		at += text_len;
	}
}

bool text_glob(struct str pattern, struct str path)
{
	struct glob glob = { .text = path, .is_path = true, .steps = TEXT_GLOB_STEPS };

	return match_pattern(&glob, pattern, NULL, 0) == MATCH;
}

bool text_fnmatch(struct str pattern, struct str name)
{
	struct glob glob = { .text = name, .steps = TEXT_GLOB_STEPS };

	return match_pattern(&glob, pattern, NULL, 0) == MATCH;
}

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/*
 * Write the four base64 digits for a group of n bytes.  Only the last group has fewer than three
 * bytes.  Returns the end of the digits.
 */
static char *put_group(char *out, const char *bytes, size_t n)
{
	uint32_t bits = 0;

	for (size_t k = 0; k < 3; k++)
		bits = bits << 8 | (k < n ? (uint8_t)bytes[k] : 0);
	for (size_t k = 0; k < 4; k++)
		out[k] = k <= n ? base64_digits[bits >> (18 - 6 * k) & 63] : '=';
	return out + 4;
}

void text_base64(struct buf *out, struct str bytes)
{
	size_t len = (bytes.len + 2) / 3 * 4, i = 0;
	char *room = buf_reserve(out, len), *at = room;

	if (!room)
		return;
	for (; i + 3 <= bytes.len; i += 3)
		at = put_group(at, bytes.ptr + i, 3);
	if (i < bytes.len)
		at = put_group(at, bytes.ptr + i, bytes.len - i);
	out->len += len;
	*at = '\0';
}

/*
 * Decode four digits, of which the last may be padding, to the bits of three bytes.  Returns false
 * if the digits are malformed.
 */
static bool base64_group(const char *group, size_t padding, uint32_t *bits)
{
	*bits = 0;
	for (size_t k = 0; k < 4 - padding; k++) {
		const char *digit = memchr(base64_digits, group[k], sizeof(base64_digits) - 1);

		if (!digit)
			return false;
		*bits |= (uint32_t)(digit - base64_digits) << (18 - 6 * k);
	}
	/* Unused bits must be zero, so that each content has only one base64 text. */
	return !(*bits & ((1u << 8 * padding) - 1));
}

bool text_unbase64(struct buf *out, struct str text)
{
	size_t start = out->len;

	for (size_t i = 0; i < text.len; i += 4) {
		bool last = i + 4 == text.len;
		size_t padding = 0;
		uint32_t bits;

		while (last && padding < 2 && text.ptr[i + 3 - padding] == '=')
			padding++;
		if (text.len - i < 4 || !base64_group(text.ptr + i, padding, &bits)) {
			buf_truncate(out, start);
			return false;
		}
		for (size_t k = 0; k < 3 - padding; k++)
			buf_addc(out, (char)(bits >> (16 - 8 * k)));
	}
	return true;
}

int text_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
