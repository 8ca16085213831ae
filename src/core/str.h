/*
 * str - a view of bytes that another object owns.
 *
 * A str is passed by value and never freed.  It does not have to end with a NUL.  File names are
 * raw bytes, so strs are compared by their unsigned bytes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
	const char *ptr;
	size_t len;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })

static inline struct str str_of(const char *text)
{
	return (struct str){ text, strlen(text) };
}

static inline int str_cmp(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

static inline bool str_starts(struct str text, struct str prefix)
{
	return text.len >= prefix.len && !memcmp(text.ptr, prefix.ptr, prefix.len);
}

/* Returns the text without its first n bytes.  The text must have at least n bytes. */
static inline struct str str_skip(struct str text, size_t n)
{
	return (struct str){ n ? text.ptr + n : text.ptr, text.len - n };
}

/* Whether a list of bytes has this byte. */
static inline bool str_has(struct str list, char byte)
{
	return list.len && memchr(list.ptr, byte, list.len);
}

/* Returns the text without the bytes of the list 'blanks' at both ends. */
static inline struct str str_trim(struct str text, struct str blanks)
{
	while (text.len && str_has(blanks, *text.ptr))
		text = str_skip(text, 1);
	while (text.len && str_has(blanks, text.ptr[text.len - 1]))
		text.len--;
	return text;
}

/*
 * Returns the part of *text before the first byte 'end', and removes this part and the byte from
 * *text.  If there is no such byte, all of *text is returned and removed.
 */
static inline struct str str_take_until(struct str *text, char end)
{
	const char *found = text->len ? memchr(text->ptr, end, text->len) : NULL;
	struct str taken = { text->ptr, found ? (size_t)(found - text->ptr) : text->len };

	*text = str_skip(*text, taken.len + (found != NULL));
	return taken;
}

/*
 * Take the next word off a line, in which words have spaces or tabs between them.  Returns an empty
 * word at the end.
 */
static inline struct str str_take_word(struct str *line)
{
	while (line->len && str_has(STR(" \t"), *line->ptr))
		*line = str_skip(*line, 1);
	struct str word = { line->ptr, 0 };

	while (word.len < line->len && !str_has(STR(" \t"), word.ptr[word.len]))
		word.len++;
	*line = str_skip(*line, word.len);
	return word;
}

/* Whether a path is the directory dir or lies below dir. */
static inline bool str_within(struct str path, struct str dir)
{
	return str_starts(path, dir) && (path.len == dir.len || path.ptr[dir.len] == '/');
}

/*
 * Take the next name off a path, in which names have '/' between them.  Returns an empty name at
 * the end.
 */
static inline struct str str_take_name(struct str *path)
{
	while (path->len && *path->ptr == '/')
		*path = str_skip(*path, 1);
	const char *slash = path->len ? memchr(path->ptr, '/', path->len) : NULL;
	struct str name = { path->ptr, slash ? (size_t)(slash - path->ptr) : path->len };

	*path = str_skip(*path, name.len);
	return name;
}
