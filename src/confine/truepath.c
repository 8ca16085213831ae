#include "confine/truepath.h"

#include <limits.h>
#include <string.h>

#include "core/arena.h"
#include "core/at.h"
#include "core/own.h"
#include "core/str.h"

#define LINKS_MAX 40 /* the same maximum as in the kernel */

/* Remove the last name of a path. */
static void go_up(struct buf *path)
{
	const char *slash = path->len ? memrchr(path->data, '/', path->len) : NULL;

	buf_truncate(path, slash ? (size_t)(slash - path->data) : 0);
}

/*
 * If the path is a link that may be read, read its target.  Returns the length of the target, or 0.
 */
static size_t read_link(const struct mountplan_made *mounts, const char *path, char *target)
{
	ssize_t len = mountplan_forbids(mounts, path, false)
			      ? -1
			      : at_abs_readlink(path, target, PATH_MAX - 1);

	return len > 0 ? (size_t)len : 0;
}

bool truepath_find(const struct mountplan_made *mounts, const char *path, struct buf *out)
{
	owned(arena_release) struct arena arena = { 0 };
	struct str rest = str_of(path);
	char target[PATH_MAX];

	buf_clear(out);
	for (int links = 0; rest.len;) {
		struct str name = str_take_name(&rest);

		if (!name.len || str_eq(name, STR(".")))
			continue;
		if (str_eq(name, STR(".."))) {
			go_up(out);
			continue;
		}
		buf_addf(out, "/%.*s", (int)name.len, name.ptr);
		size_t len = read_link(mounts, out->data, target);
		if (!len)
			continue;
		if (++links > LINKS_MAX)
			return false;
		go_up(out);
		if (*target == '/')
			buf_clear(out);
		rest = str_of(arena_printf(&arena, "%.*s/%.*s", (int)len, target, (int)rest.len,
			rest.len ? rest.ptr : ""));
	}
	if (!out->len)
		buf_addc(out, '/');
	return true;
}
