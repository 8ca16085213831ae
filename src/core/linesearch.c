#include "core/linesearch.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"

struct linesearch {
	struct buf pattern;
	unsigned flags;
	struct regex *regex; /* matches one line */
	struct regex *many;  /* searches many lines at once; may be NULL */
	struct buf required;
	bool literal; /* the pattern is exactly the text in 'required' */
};

/* ------------------------------------------------------- the required text */

/* The state of reading a pattern, to find the longest text that every match must contain. */
struct reading {
	struct str rest;
	struct buf run; /* the plain text directly before 'rest' */
	struct buf *best;
	bool plain; /* the pattern has been nothing but plain text so far */
};

static void end_run(struct reading *reading)
{
	if (reading->run.len > reading->best->len) {
		buf_clear(reading->best);
		buf_add(reading->best, reading->run.data, reading->run.len);
	}
	buf_clear(&reading->run);
	reading->plain = false;
}

static void advance(struct reading *reading, size_t n)
{
	reading->rest.ptr += n;
	reading->rest.len -= n;
}

/*
 * Returns the length of the bracketed class at the start of a text.  Returns 0 if the class has no
 * end, or contains a named class such as [:alpha:].
 */
static size_t class_length(struct str text)
{
	size_t i = 1 + (text.len > 1 && text.ptr[1] == '^');

	i += i < text.len && text.ptr[i] == ']';
	for (; i < text.len && text.ptr[i] != ']'; i++) {
		if (text.ptr[i] == '\\')
			i++;
		else if (text.ptr[i] == '[' && i + 1 < text.len && strchr(":.=", text.ptr[i + 1]))
			return 0; /* named classes are too rare to be worth the code */
	}
	return i < text.len ? i + 1 : 0;
}

/*
 * Returns the length of the group at the start of a text.  Returns 0 if the group has no end, or
 * contains "(*", "\Q" or any "(?"  except "(?:".  Such an element changes how the rest of the
 * pattern is read.
 */
static size_t group_length(struct str text)
{
	size_t depth = 0;

	for (size_t i = 0; i < text.len; i++) {
		struct str here = { text.ptr + i, text.len - i };
		size_t class = *here.ptr == '[' ? class_length(here) : 1;

		if (!class || str_starts(here, STR("(*")) || str_starts(here, STR("\\Q")))
			return 0;
		if (str_starts(here, STR("(?")) && (here.len < 3 || here.ptr[2] != ':'))
			return 0;
		depth += *here.ptr == '(';
		if (*here.ptr == ')' && !--depth)
			return i + 1;
		i += class - 1 + (*here.ptr == '\\');
	}
	return 0;
}

/*
 * Remove the last character of a plain text, since the quantifier after this character allows a
 * match without it.
 */
static void drop_character(struct buf *run)
{
	size_t len = run->len;

	while (len && ((unsigned char)run->data[len - 1] & 0xc0) == 0x80)
		len--;
	buf_truncate(run, len ? len - 1 : 0);
}

/*
 * Read a backslash and the character after it.  Returns false if this function does not know the
 * escape.
 */
static bool read_escape(struct reading *reading)
{
	char c = reading->rest.len > 1 ? reading->rest.ptr[1] : '\0';

	if (!c || (isalnum((unsigned char)c) && !strchr("bBwWdDsStnrf", c)))
		return false;
	if (isalnum((unsigned char)c)) {
		end_run(reading);
	} else {
		buf_addc(&reading->run, c);
	}
	advance(reading, 2);
	return true;
}

/*
 * Read the next element of a pattern.  Returns false for '|', for ')', and for an element that this
 * function does not understand.  If the result is false, no text is known to be in every match.
 */
static bool read_element(struct reading *reading)
{
	char c = *reading->rest.ptr;
	size_t len = 1;

	if (c == '\\')
		return read_escape(reading);
	if (c == '|' || c == ')')
		return false;
	if (c == '[' || c == '(') {
		len = c == '[' ? class_length(reading->rest) : group_length(reading->rest);
		end_run(reading);
	} else if (c == '*' || c == '?' || c == '{') {
		const char *end = c == '{' ? memchr(reading->rest.ptr, '}', reading->rest.len)
					   : reading->rest.ptr;

		drop_character(&reading->run);
		end_run(reading);
		len = end ? (size_t)(end - reading->rest.ptr) + 1 : 0;
	} else if (c == '+' || c == '.' || c == '^' || c == '$') {
		end_run(reading);
	} else {
		buf_addc(&reading->run, c);
	}
	advance(reading, len);
	return len > 0;
}

void linesearch_required(struct str pattern, struct buf *out, bool *all)
{
	struct reading reading = {
		.rest = pattern,
		.run = { .max = REGEX_PATTERN_MAX + 1 },
		.best = out,
		.plain = true,
	};
	bool known = true;

	while (known && reading.rest.len)
		known = read_element(&reading);
	bool plain = reading.plain;
	end_run(&reading);
	if (!known)
		buf_clear(out);
	*all = known && plain && out->len > 0;
	buf_release(&reading.run);
}

/* --------------------------------------------- searching many lines at once */

/*
 * Whether a search in many lines at once finds the same lines as a search in each line alone.  This
 * is true for a pattern that does not look around, does not refer to the end of a line, and has no
 * quantifier or group that refuses to backtrack.
 */
static bool works_on_many(struct str pattern)
{
	for (size_t i = 0; i < pattern.len; i++) {
		char c = pattern.ptr[i], next = i + 1 < pattern.len ? pattern.ptr[i + 1] : '\0';
		bool counts = c == '*' || c == '+' || c == '?' || c == '}';

		if (c == '$' || (c == '(' && next == '*') || (counts && next == '+'))
			return false;
		if (c == '(' && next == '?' && (i + 2 == pattern.len || pattern.ptr[i + 2] != ':'))
			return false;
		if (c == '\\' && isalnum((unsigned char)next) && !strchr("bwWdDsS", next))
			return false;
		i += c == '\\';
	}
	return true;
}

void linesearch_free(struct linesearch *search)
{
	if (!search)
		return;
	regex_free(search->regex);
	regex_free(search->many);
	buf_release(&search->required);
	buf_release(&search->pattern);
	free(search);
}

void linesearch_freep(struct linesearch **search)
{
	linesearch_free(*search);
}

/*
 * Find the text that every match contains.  A text with a newline is in no line, and a text with a
 * carriage return may be found partly in a line end.  So a literal pattern is found by its text
 * alone only if the text has neither character.
 */
static void find_required(struct linesearch *search, struct str pattern, unsigned flags)
{
	if (flags & LINESEARCH_IGNORE_CASE)
		return;
	if (flags & LINESEARCH_LITERAL) {
		buf_add(&search->required, pattern.ptr, pattern.len);
		search->literal = pattern.len > 0;
	} else {
		linesearch_required(pattern, &search->required, &search->literal);
	}
	for (size_t i = 0; i < search->required.len; i++)
		if (search->required.data[i] == '\n' || search->required.data[i] == '\r')
			search->literal = false;
}

struct linesearch *linesearch_new(struct str pattern, unsigned flags, struct err *err)
{
	owned(linesearch_freep) struct linesearch *search = mem_zalloc(sizeof(*search));
	unsigned regex_flags = (flags & LINESEARCH_IGNORE_CASE ? REGEX_IGNORE_CASE : 0) |
			       (flags & LINESEARCH_LITERAL ? REGEX_LITERAL : 0);
	struct err ignored = { 0 };

	search->pattern.max = REGEX_PATTERN_MAX + 1;
	buf_add(&search->pattern, pattern.ptr, pattern.len);
	search->flags = flags;
	search->required.max = REGEX_PATTERN_MAX + 1;
	search->regex = regex_new(pattern, regex_flags, err);
	if (!search->regex)
		return NULL;
	find_required(search, pattern, flags);
	if (!search->required.len && !(flags & LINESEARCH_LITERAL) && works_on_many(pattern))
		search->many = regex_new(pattern, regex_flags | REGEX_LINES, &ignored);
	return take_ptr(&search);
}

struct linesearch *linesearch_again(const struct linesearch *search, struct err *err)
{
	return linesearch_new(
		(struct str){ search->pattern.data, search->pattern.len }, search->flags, err);
}

/* ------------------------------------------------------------------- search */

/*
 * Returns the line that contains the position 'at', without its line end.  'from' is the beginning
 * of that line or of an earlier line.  *next becomes the position after the line.
 */
static struct str line_around(
	const struct linesearch *search, struct str text, size_t from, size_t at, size_t *next)
{
	const char *before = memrchr(text.ptr + from, '\n', at - from);
	size_t start = before ? (size_t)(before + 1 - text.ptr) : from;
	const char *end = memchr(text.ptr + at, '\n', text.len - at);
	size_t len = (end ? (size_t)(end - text.ptr) : text.len) - start;

	*next = start + len + (end != NULL);
	if (search->flags & LINESEARCH_DROP_CR && len && text.ptr[start + len - 1] == '\r')
		len--;
	return (struct str){ text.ptr + start, len };
}

/*
 * Find the first position, at or after 'at', that is in a line that may match.  Returns 1 and sets
 * *found; 0 if no such line is left; or a negative error.
 */
static int next_candidate(
	struct linesearch *search, struct str text, size_t at, size_t *found, struct err *err)
{
	struct str rest = { text.ptr + at, text.len - at };
	size_t end;

	*found = at;
	if (search->required.len) {
		const char *hit =
			memmem(rest.ptr, rest.len, search->required.data, search->required.len);

		*found = hit ? (size_t)(hit - text.ptr) : 0;
		return hit != NULL;
	}
	if (!search->many)
		return 1;
	int r = regex_find(search->many, rest, found, &end, err);
	if (r == -ERR_LIMIT) {
		/*
		 * A search in many lines at once takes too long here.  From now on, search lines
		 * one at a time.
		 */
		regex_free(take_ptr(&search->many));
		*found = at;
		return 1;
	}
	*found += at;
	return r;
}

int linesearch_next(struct linesearch *search, struct str text, size_t *at,
	struct linesearch_hit *hit, struct err *err)
{
	size_t found;

	while (*at < text.len) {
		int r = next_candidate(search, text, *at, &found, err);

		if (r <= 0)
			return r;
		/* An empty match after the last newline is in no line. */
		if (found == text.len && text.ptr[found - 1] == '\n')
			return 0;
		hit->line = line_around(search, text, *at, found, at);
		if (search->literal) {
			hit->start = (size_t)(text.ptr + found - hit->line.ptr);
			hit->end = hit->start + search->required.len;
			return 1;
		}
		r = regex_find(search->regex, hit->line, &hit->start, &hit->end, err);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Count newlines, eight bytes at once.  Newlines become zero bytes.  Then every zero byte becomes
 * 0x7f, and every other byte 0xff.
 */
uint64_t linesearch_count(const char *from, const char *to)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7f, newlines = 0x0a0a0a0a0a0a0a0a;
	uint64_t n = 0, word;

	for (; to - from >= 8; from += 8) {
		memcpy(&word, from, 8);
		word ^= newlines;
		word = ((word & low) + low) | word | low;
		n += (uint64_t)__builtin_popcountll(~word);
	}
	while (from < to)
		n += *from++ == '\n';
	return n;
}
