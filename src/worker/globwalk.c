#include "worker/globwalk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "worker/filewalk.h"

struct found {
	struct fileops *ops;
	struct str pattern; /* the pattern for paths below the start */
	size_t start;       /* length of the start's path, including the slash */
	struct str *paths;
	size_t n, cap, room;
	bool truncated;
};

static int visit(void *arg, const struct filewalk_entry *entry, struct err *err)
{
	struct found *found = arg;
	struct str path = entry->path;
	struct str below = { path.ptr + found->start, path.len - found->start };

	if (!text_glob(found->pattern, below))
		return 0;
	size_t size = wire_text_size(path) + 1;
	if (size > found->room) {
		found->truncated = true;
		return 1;
	}
	found->room -= size;
	mem_grow(&found->paths, &found->cap, found->n);
	found->paths[found->n++] = arena_str(found->ops->arena, path);
	return 0;
}

/*
 * Returns the length of the names without wildcards at the start of a pattern, including the last
 * slash.
 */
static size_t plain_length(struct str pattern)
{
	size_t end = 0;

	for (size_t i = 0; i < pattern.len && !strchr("*?[{\\", pattern.ptr[i]); i++)
		if (pattern.ptr[i] == '/')
			end = i + 1;
	return end;
}

/* Returns the number of levels of directories that a pattern can reach. */
static unsigned depth_of(struct str pattern)
{
	unsigned slashes = 0;
	bool deep =
		memmem(pattern.ptr, pattern.len, "**", 2) || memchr(pattern.ptr, '{', pattern.len);

	for (size_t i = 0; i < pattern.len; i++)
		slashes += pattern.ptr[i] == '/';
	return deep ? UINT_MAX : slashes;
}

static bool is_missing(const struct err *err)
{
	return err->code == ERR_SYSTEM &&
	       (err->errno_value == ENOENT || err->errno_value == ENOTDIR);
}

/*
 * Open the directory that contains all matches.  Returns 1, or 0 if the root has no such directory.
 */
static int open_start(struct fileops *ops, struct str root, struct str plain,
	struct gate_file *start, struct err *err)
{
	owned(buf_release) struct buf path = { .max = 2 * PATH_MAX };
	struct err missing = { 0 };

	buf_add(&path, root.ptr, root.len);
	buf_addc(&path, '/');
	buf_add(&path, plain.ptr, plain.len);
	if (path.overflowed)
		return err_number(err, ENAMETOOLONG, "glob");
	int r = gate_open(
		ops->gate, (struct str){ path.data, path.len }, GATE_DIRECTORY, start, &missing);
	if (r >= 0)
		return 1;
	if (!plain.len || !is_missing(&missing)) {
		*err = missing;
		return r;
	}
	owned(gate_file_release) struct gate_file top = GATE_FILE_INIT;
	return gate_open(ops->gate, root, GATE_DIRECTORY, &top, err);
}

int globwalk_run(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err)
{
	owned(gate_file_release) struct gate_file start = GATE_FILE_INIT;
	struct str pattern = request->pattern, root = request->root;

	if (pattern.len && *pattern.ptr == '/')
		root = STR("/");
	while (pattern.len && *pattern.ptr == '/')
		pattern = (struct str){ pattern.ptr + 1, pattern.len - 1 };
	struct str plain = { pattern.ptr, plain_length(pattern) };
	int r = open_start(ops, root, plain, &start, err);

	*reply = (struct wire_reply){ .kind = WIRE_GLOB };
	if (r <= 0)
		return r;
	struct str path = str_of(start.path);
	struct found found = {
		.ops = ops,
		.pattern = { pattern.ptr + plain.len, pattern.len - plain.len },
		.start = path.len + (path.len > 1),
		.room = ops->room,
	};
	struct filewalk walk = {
		.gate = ops->gate,
		.ticket = ops->ticket,
		.no_ignore = request->no_ignore,
		.depth = depth_of(found.pattern),
		.visit = visit,
		.arg = &found,
	};
	r = filewalk_run(&walk, start.fd, path, err);
	if (found.n) {
		reply->paths = arena_alloc(ops->arena, found.n * sizeof(*found.paths));
		memcpy(reply->paths, found.paths, found.n * sizeof(*found.paths));
	}
	free(found.paths);
	reply->n_paths = found.n;
	reply->truncated = found.truncated;
	reply->skipped = walk.skipped;
	return r < 0 ? r : 0;
}
