#include "trace/bundle/filestate.h"

#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/when.h"

static int64_t nanoseconds(struct statx_timestamp time)
{
	return when_of(time.tv_sec, time.tv_nsec);
}

int filestate_of(
	const char *path, const struct statx *stx, struct arena *arena, struct filestate *state)
{
	*state = (struct filestate){
		.exists = true,
		.mode = stx->stx_mode,
		.uid = stx->stx_uid,
		.gid = stx->stx_gid,
		.nlink = stx->stx_nlink,
		.rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor),
		.dev = makedev(stx->stx_dev_major, stx->stx_dev_minor),
		.ino = stx->stx_ino,
		.size = stx->stx_size,
		.mtime = nanoseconds(stx->stx_mtime),
		.ctime = nanoseconds(stx->stx_ctime),
		.born = stx->stx_mask & STATX_BTIME ? nanoseconds(stx->stx_btime) : 0,
	};
	if (S_ISLNK(stx->stx_mode)) {
		char target[PATH_MAX];
		ssize_t len = at_abs_readlink(path, target, sizeof(target));

		if (len < 0)
			return (int)len;
		state->target = arena_str(arena, (struct str){ target, (size_t)len }).ptr;
	}
	return 0;
}

void filestate_again(int fd, struct filestate *state)
{
	struct statx stx;

	if (at_fd_stat(fd, &stx) < 0 || stx.stx_ino != state->ino)
		return;
	state->size = stx.stx_size;
	state->mtime = nanoseconds(stx.stx_mtime);
	state->ctime = nanoseconds(stx.stx_ctime);
}

bool filestate_is(int fd, const struct filestate *state)
{
	struct statx stx;

	return at_fd_stat(fd, &stx) == 0 && stx.stx_ino == state->ino &&
	       stx.stx_size == state->size;
}

void filestate_share_content(struct filestate *to, const struct filestate *from)
{
	to->hashed = from->hashed;
	to->sha256 = from->sha256;
	to->blocks_hashed = from->blocks_hashed;
	to->blocks = from->blocks;
	to->content = from->content;
	to->blob = from->blob;
	to->parts = from->parts;
}

void filestate_xattrs(const char *path, struct arena *arena, struct filestate *state)
{
	char names[AT_XATTR_MAX], value[AT_XATTR_MAX];
	ssize_t len = at_abs_xattr_list(path, names, sizeof(names));
	struct attr *list;
	size_t count = 0;

	if (len <= 0)
		return;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		count++;
	list = arena_alloc(arena, count * sizeof(*list));
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t size = at_abs_xattr_get(path, names + at, value, sizeof(value));

		if (size < 0)
			continue;
		list[state->n_xattrs++] = (struct attr){
			.name = arena_strdup(arena, names + at),
			.value = arena_str(arena, (struct str){ value, (size_t)size }),
		};
	}
	attrs_sort(list, state->n_xattrs);
	state->xattrs = list;
}

static bool same_target(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool filestate_same(const struct filestate *a, const struct filestate *b)
{
	if (!a->exists || !b->exists)
		return a->exists == b->exists;
	return attrs_same(a->xattrs, a->n_xattrs, b->xattrs, b->n_xattrs) && a->mode == b->mode &&
	       a->uid == b->uid && a->gid == b->gid && a->rdev == b->rdev && a->mtime == b->mtime &&
	       (S_ISDIR(a->mode) || a->size == b->size) && same_target(a->target, b->target);
}
