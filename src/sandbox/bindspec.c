#include "sandbox/bindspec.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"

#define PARTS_MAX 3

/*
 * Split the text at each colon that does not follow a backslash.  Returns the number of parts, or
 * -1 if there are too many.
 */
static int split_parts(char *text, char *parts[PARTS_MAX])
{
	char *to = text;
	int n = 1;

	parts[0] = text;
	for (const char *from = text; *from; from++) {
		if (*from == '\\' && (from[1] == ':' || from[1] == '\\')) {
			*to++ = *++from;
		} else if (*from != ':') {
			*to++ = *from;
		} else if (n == PARTS_MAX) {
			return -1;
		} else {
			*to++ = '\0';
			parts[n++] = to;
		}
	}
	*to = '\0';
	return n;
}

/* Whether 'path' is 'dir' or lies in it.  Both paths must be absolute. */
static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

/* Remove needless slashes, in place. */
static int normalise_inside(char *path, struct err *err)
{
	struct str rest = str_of(path);
	char *to = path;

	if (*path != '/')
		return err_set(err, ERR_USAGE,
			"--bind: '%s' must be an absolute path in the environment", path);
	while (rest.len) {
		struct str name = str_take_name(&rest);

		if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
			return err_set(err, ERR_USAGE,
				"--bind: the path in the environment contains '.' or '..'");
		if (!name.len)
			continue;
		*to++ = '/';
		memmove(to, name.ptr, name.len);
		to += name.len;
	}
	*to = '\0';
	return 0;
}

static int check_inside(const char *inside, struct err *err)
{
	static const char *const taken[] = { "/proc", "/dev", "/sys" };

	if (!*inside)
		return err_set(err, ERR_USAGE, "--bind: nothing can be bound over '/'");
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (is_below(inside, taken[i]))
			return err_set(err, ERR_USAGE,
				"--bind: nothing can be bound at '%s': %s belongs to the sandbox",
				inside, taken[i]);
	return 0;
}

/* Find the path of the given file, with symbolic links resolved. */
static int find_host(const char *given, struct arena *arena, const char **path, struct err *err)
{
	owned_fd int fd = at_open_given(given, O_PATH, 0, err);
	struct statx stx;

	if (fd < 0)
		return err_context(err, "--bind");
	owned_mem char *found = at_path_of(fd, err);
	if (!found)
		return -(int)err->code;
	int r = at_fd_stat(fd, &stx);
	if (r == 0 && (S_ISCHR(stx.stx_mode) || S_ISBLK(stx.stx_mode)))
		return err_set(
			err, ERR_UNSUPPORTED, "--bind: '%s' is a device: none works inside", given);
	*path = arena_strdup(arena, found);
	return 0;
}

static int read_bind(const char *text, struct arena *arena, struct bindspec *out, struct err *err)
{
	char *parts[PARTS_MAX];
	int n = strlen(text) > 2 * PATH_MAX ? -1 : split_parts(arena_strdup(arena, text), parts);
	bool read_only = n == PARTS_MAX && !strcmp(parts[2], "ro");

	if (n < 2 || !*parts[0] || (n == PARTS_MAX && !read_only))
		return err_set(err, ERR_USAGE,
			"--bind takes HOST:INSIDE or HOST:INSIDE:ro ('\\:' for a colon in a name), "
			"not '%.200s'",
			text);
	if (normalise_inside(parts[1], err) < 0 || check_inside(parts[1], err) < 0)
		return -(int)err->code;
	out->inside = parts[1];
	out->read_only = read_only;
	return find_host(parts[0], arena, &out->host, err);
}

static int compare_inside(const void *a, const void *b)
{
	return strcmp(((const struct bindspec *)a)->inside, ((const struct bindspec *)b)->inside);
}

int bindspec_read(const char *const *texts, size_t n, struct arena *arena, struct bindspecs *out,
	struct err *err)
{
	struct bindspec *list = arena_alloc(arena, (n + 1) * sizeof(*list));

	if (n > BINDSPEC_MAX)
		return err_set(err, ERR_USAGE, "--bind: more than %d", BINDSPEC_MAX);
	for (size_t i = 0; i < n; i++)
		if (read_bind(texts[i], arena, &list[i], err) < 0)
			return -(int)err->code;
	if (n)
		qsort(list, n, sizeof(*list), compare_inside);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(list[i - 1].inside, list[i].inside))
			return err_set(
				err, ERR_USAGE, "--bind: '%s' is bound twice", list[i].inside);
	out->list = list;
	out->n = n;
	return 0;
}

int bindspec_check(const struct bindspecs *binds, struct err *err)
{
	for (size_t i = 0; i < binds->n; i++) {
		const char *host = binds->list[i].host;

		if (!is_below(host, binds->hidden))
			continue;
		err_set(err, ERR_DENIED, "--bind: '%s' is part of the environment's own files",
			host);
		return err_hint(err, "a directory that contains them can be bound: they are "
				     "hidden inside");
	}
	return 0;
}

bool bindspec_has(const struct bindspecs *binds, const struct bindspec *bind)
{
	for (size_t i = 0; i < binds->n; i++)
		if (!strcmp(binds->list[i].host, bind->host) &&
			!strcmp(binds->list[i].inside, bind->inside) &&
			binds->list[i].read_only == bind->read_only)
			return true;
	return false;
}
