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
	while (path->len && *path->ptr == '/') {
		path->ptr++;
		path->len--;
	}
	const char *slash = path->len ? memchr(path->ptr, '/', path->len) : NULL;
	struct str name = { path->ptr, slash ? (size_t)(slash - path->ptr) : path->len };

	path->ptr += name.len;
	path->len -= name.len;
	return name;
}
