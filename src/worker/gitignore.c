#include "worker/gitignore.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/mem.h"

enum rule_flags {
	NEGATED = 1 << 0,
	DIRECTORIES = 1 << 1, /* the pattern ends in a slash: it matches only directories */
	NAME = 1 << 2,   /* the pattern has no other slash: it is compared with the last name */
	SUFFIX = 1 << 3, /* the pattern is a '*' and a text without wildcards */
};

struct gitignore_rule {
	struct str pattern;
	size_t plain; /* bytes at the start of the pattern that stand for themselves */
	unsigned flags;
};

/* ---------------------------------------------------------------- patterns */

struct matcher {
	const char *pattern_end, *text_end;
	long steps;
};

/*
 * The result of an attempt to match.  NEVER means that there is no match here, and that an attempt
 * at a later position of the text cannot match either.
 */
enum outcome { NO, YES, NEVER };

static enum outcome match_here(struct matcher *matcher, const char *p, const char *t);

static bool in_named_class(struct str name, unsigned char c, bool *known)
{
	static const struct {
		struct str name;
		int (*has)(int c);
	} classes[] = {
		{ STR("alnum"), isalnum },
		{ STR("alpha"), isalpha },
		{ STR("blank"), isblank },
		{ STR("cntrl"), iscntrl },
		{ STR("digit"), isdigit },
		{ STR("graph"), isgraph },
		{ STR("lower"), islower },
		{ STR("print"), isprint },
		{ STR("punct"), ispunct },
		{ STR("space"), isspace },
		{ STR("upper"), isupper },
		{ STR("xdigit"), isxdigit },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (str_eq(name, classes[i].name))
			return c < 0x80 && classes[i].has(c);
	*known = false;
	return false;
}

/*
 * Match a byte with a class in brackets.  *at is the first byte after "[", and is moved to the
 * closing bracket.  Returns NEVER if the class is malformed.
 */
static enum outcome match_class(const char **at, const char *end, unsigned char c)
{
	const char *p = *at;
	bool negated = p < end && (*p == '!' || *p == '^'), found = false, first = true;
	int before = -1; /* byte that begins a range if a '-' follows; -1: none */

	p += negated;
	for (; p < end && (first || *p != ']'); p++, first = false) {
		unsigned char low = (unsigned char)*p;

		if (low == '[' && p + 1 < end && p[1] == ':') {
			const char *close = memchr(p + 2, ']', (size_t)(end - p - 2));
			bool known = true;

			if (!close)
				return NEVER;
			if (close > p + 2 && close[-1] == ':') {
				struct str name = { p + 2, (size_t)(close - p - 3) };

				found |= in_named_class(name, c, &known);
				if (!known)
					return NEVER;
				p = close;
				before = -1;
				continue;
			}
		}
		if (low == '-' && before >= 0 && p + 1 < end && p[1] != ']') {
			p++;
			p += *p == '\\';
			if (p == end)
				return NEVER;
			found |= c >= before && c <= (unsigned char)*p;
			before = -1;
			continue;
		}
		if (low == '\\') {
			if (++p == end)
				return NEVER;
			low = (unsigned char)*p;
		}
		found |= c == low;
		before = low;
	}
	*at = p;
	if (p == end)
		return NEVER;
	return found != negated && c != '/' ? YES : NO;
}

static enum outcome match_stars(
	struct matcher *matcher, const char *start, const char *p, const char *t)
{
	const char *stars = p, *end = matcher->pattern_end;

	while (p < end && *p == '*')
		p++;
	bool closed = p == end || *p == '/' || (*p == '\\' && p + 1 < end && p[1] == '/');
	bool any = p - stars > 1 && (stars == start || stars[-1] == '/') && closed;
	if (any && p < end && *p == '/' && match_here(matcher, p + 1, t) == YES)
		return YES;
	if (p == end)
		return any || !memchr(t, '/', (size_t)(matcher->text_end - t)) ? YES : NO;
	for (;; t++) {
		enum outcome outcome = match_here(matcher, p, t);

		if (outcome != NO)
			return outcome;
		if (t == matcher->text_end)
			return NEVER;
		if (!any && *t == '/')
			return NO;
	}
}

static enum outcome match_here(struct matcher *matcher, const char *p, const char *t)
{
	const char *start = p;

	for (; p < matcher->pattern_end; p++, t++) {
		if (--matcher->steps < 0)
			return NEVER;
		if (*p == '*')
			return match_stars(matcher, start, p, t);
		if (t == matcher->text_end)
			return NEVER;
		if (*p == '?') {
			if (*t == '/')
				return NO;
			continue;
		}
		if (*p == '[') {
			p++;
			enum outcome outcome =
				match_class(&p, matcher->pattern_end, (unsigned char)*t);

			if (outcome != YES)
				return outcome;
			continue;
		}
		if (*p == '\\' && ++p == matcher->pattern_end)
			return NO;
		if (*p != *t)
			return NO;
	}
	return t == matcher->text_end ? YES : NO;
}

bool gitignore_matches(struct str pattern, struct str path)
{
	struct matcher matcher = {
		.pattern_end = pattern.ptr + pattern.len,
		.text_end = path.ptr + path.len,
		.steps = GITIGNORE_STEPS,
	};

	return match_here(&matcher, pattern.ptr, path.ptr) == YES;
}

/* -------------------------------------------------------------------- rules */

static size_t plain_length(struct str pattern)
{
	size_t n = 0;

	while (n < pattern.len && !strchr("*?[\\", pattern.ptr[n]))
		n++;
	return n;
}

/* Returns a line without the spaces at its end.  A space after a backslash is kept. */
static struct str trim_spaces(struct str line)
{
	size_t end = 0;

	for (size_t i = 0; i < line.len; i++) {
		bool quoted = line.ptr[i] == '\\';

		if (quoted && ++i == line.len)
			return line;
		if (quoted || line.ptr[i] != ' ')
			end = i + 1;
	}
	return (struct str){ line.ptr, end };
}

static void add_rule(struct gitignore *ignore, struct str line)
{
	struct gitignore_rule rule = { 0 };

	if (line.len && *line.ptr == '!') {
		rule.flags |= NEGATED;
		line = (struct str){ line.ptr + 1, line.len - 1 };
	}
	if (line.len && line.ptr[line.len - 1] == '/') {
		rule.flags |= DIRECTORIES;
		line.len--;
	}
	if (!line.len)
		return;
	if (!memchr(line.ptr, '/', line.len))
		rule.flags |= NAME;
	else if (*line.ptr == '/')
		line = (struct str){ line.ptr + 1, line.len - 1 };
	rule.pattern = line;
	rule.plain = plain_length(line);
	struct str behind = { line.ptr + 1, line.len ? line.len - 1 : 0 };
	if (line.len && *line.ptr == '*' && plain_length(behind) == behind.len)
		rule.flags |= SUFFIX;
	mem_grow(&ignore->rules, &ignore->cap, ignore->n);
	ignore->rules[ignore->n++] = rule;
}

void gitignore_init(
	struct gitignore *ignore, const struct gitignore *above, struct str path, struct str text)
{
	*ignore = (struct gitignore){ .above = above, .base = path.len + (path.len > 1) };
	if (text.len > GITIGNORE_SIZE_MAX)
		text.len = GITIGNORE_SIZE_MAX;
	ignore->text = mem_dup(text.len ? text.ptr : "", text.len + (text.len == 0));
	text.ptr = ignore->text;
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = (struct str){ text.ptr + 3, text.len - 3 };
	while (text.len) {
		const char *newline = memchr(text.ptr, '\n', text.len);
		struct str line = { text.ptr, newline ? (size_t)(newline - text.ptr) : text.len };

		text.ptr += line.len + (newline != NULL);
		text.len -= line.len + (newline != NULL);
		if (newline && line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (line.len && *line.ptr != '#')
			add_rule(ignore, trim_spaces(line));
	}
}

void gitignore_release(struct gitignore *ignore)
{
	free(ignore->rules);
	free(ignore->text);
	*ignore = (struct gitignore){ 0 };
}

static bool ends_with(struct str text, struct str end)
{
	return text.len >= end.len && !memcmp(text.ptr + text.len - end.len, end.ptr, end.len);
}

/*
 * Whether a rule matches.  'path' is relative to the directory of the rule, and 'name' is the last
 * name of 'path'.
 */
static bool rule_matches(const struct gitignore_rule *rule, struct str path, struct str name)
{
	struct str text = rule->flags & NAME ? name : path, pattern = rule->pattern;

	if (rule->plain == pattern.len)
		return str_eq(pattern, text);
	if (rule->flags & SUFFIX && rule->flags & NAME)
		return ends_with(text, (struct str){ pattern.ptr + 1, pattern.len - 1 });
	/* As in git, remove the plain part before looking for '**' at the start. */
	if (text.len < rule->plain || memcmp(text.ptr, pattern.ptr, rule->plain) != 0)
		return false;
	return gitignore_matches(
		(struct str){ pattern.ptr + rule->plain, pattern.len - rule->plain },
		(struct str){ text.ptr + rule->plain, text.len - rule->plain });
}

bool gitignore_has(const struct gitignore *ignore, struct str path, bool is_dir)
{
	const char *slash = memrchr(path.ptr, '/', path.len);
	size_t start = slash ? (size_t)(slash + 1 - path.ptr) : 0;
	struct str name = { path.ptr + start, path.len - start };

	for (; ignore; ignore = ignore->above) {
		struct str below = { path.ptr + ignore->base, path.len - ignore->base };

		for (size_t i = ignore->n; i--;) {
			const struct gitignore_rule *rule = &ignore->rules[i];

			if ((is_dir || !(rule->flags & DIRECTORIES)) &&
				rule_matches(rule, below, name))
				return !(rule->flags & NEGATED);
		}
	}
	return false;
}
