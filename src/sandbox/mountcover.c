#include "sandbox/mountcover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/ids.h"
#include "sandbox/mountcall.h"

#define MODE_MAX 8
#define ID_MAX 12
#define SIZE_MAX_TEXT 24
#define ATTR_MASK (MOUNTCALL_DATA | MOUNT_ATTR_RDONLY)

static void add_name(struct mountcover *cover, const char *path, mode_t type, const char *target)
{
	mem_grow(&cover->list, &cover->capacity, cover->n);
	cover->list[cover->n++] = (struct maskfs_node){ path, type, target };
}

/*
 * Returns the type of the name that a cover has for a place.  The place is mounted on this name: a
 * directory on a directory, and anything else on a file.  A hidden link is not mounted: its name is
 * a link.
 */
static mode_t type_of(const struct mountplace *place)
{
	return S_ISDIR(place->type) || (S_ISLNK(place->type) && place->hidden) ? place->type
									       : S_IFREG;
}

/* Add the visible places below a hidden directory, and the directories that lead to them. */
static void add_ways(struct mountcover *cover, struct arena *arena, const struct mountplace *dir,
	const char *above)
{
	for (const struct mountplace *one = dir->first; one; one = one->next) {
		if (!one->leads)
			continue;
		const char *path =
			*above ? arena_printf(arena, "%s/%s", above, one->name) : one->name;
		add_name(cover, path, type_of(one), one->target);
		if (one->hidden)
			add_ways(cover, arena, one, path);
	}
}

void mountcover_add(struct mountcover *cover, struct arena *arena, const struct mountplace *place,
	const char *top)
{
	if (top)
		add_name(cover, top, S_ISDIR(place->type) ? S_IFDIR : S_IFREG, NULL);
	add_ways(cover, arena, place, top ? top : "");
}

void mountcover_release(struct mountcover *cover)
{
	free(cover->list);
}

/* --------------------------------------------------------------- in memory */

static bool leads_on(const struct mountcover *cover, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < cover->n; i++)
		if (!strncmp(cover->list[i].path, path, len) && cover->list[i].path[len] == '/')
			return true;
	return false;
}

static int make_name(int dir, const struct maskfs_node *node, mode_t mode)
{
	if (S_ISDIR(node->type))
		return mkdirat(dir, node->path, mode);
	if (S_ISLNK(node->type))
		return symlinkat(node->target, dir, node->path);
	return mknodat(dir, node->path, S_IFREG | mode, 0);
}

static int make_names(
	int tree, const struct mountcover *cover, bool masked, unsigned owner, struct err *err)
{
	for (size_t i = 0; i < cover->n; i++) {
		const struct maskfs_node *node = &cover->list[i];
		mode_t mode = !masked ? 0755 : leads_on(cover, node->path) ? 0111 : 0;

		if (make_name(tree, node, mode) < 0 ||
			(!masked &&
				fchownat(tree, node->path, owner, owner, AT_SYMLINK_NOFOLLOW) < 0))
			return err_errno(err, "make '%s' in a mask", node->path);
	}
	return 0;
}

int mountcover_new_masks(const struct mountcover *cover, int nobody, struct err *err)
{
	static const struct mountcall_option options[] = { { "mode", "0755" }, { NULL, NULL } };
	mode_t before = umask(0);
	owned_fd int tree = mountcall_new("tmpfs", options, ATTR_MASK & ~MOUNT_ATTR_RDONLY, err);
	int r = tree < 0 ? tree : make_names(tree, cover, true, 0, err);

	(void)umask(before);
	if (r < 0)
		return r;
	/*
	 * Without this mapping, root in the sandbox could list the mask, and would find it empty.
	 */
	if (nobody >= 0)
		(void)ids_map_mount(tree, "", nobody);
	if (mountcall_restrict(tree, 0, ATTR_MASK) < 0)
		return err_errno(err, "make a mask read-only");
	return take_fd(&tree);
}

int mountcover_new_directory(
	const struct mountcover *cover, mode_t mode, unsigned owner, int64_t most, struct err *err)
{
	char mode_text[MODE_MAX], owner_text[ID_MAX], most_text[SIZE_MAX_TEXT];
	const struct mountcall_option options[] = {
		{ "mode", mode_text },
		{ "uid", owner_text },
		{ "gid", owner_text },
		{ most ? "size" : NULL, most_text },
		{ NULL, NULL },
	};
	mode_t before = umask(0);

	snprintf(mode_text, sizeof(mode_text), "%o", (unsigned)mode);
	snprintf(owner_text, sizeof(owner_text), "%u", owner);
	snprintf(most_text, sizeof(most_text), "%" PRId64, most);
	owned_fd int tree =
		mountcall_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	int r = tree < 0 ? tree : make_names(tree, cover, false, owner, err);
	(void)umask(before);
	return r < 0 ? r : take_fd(&tree);
}

int mountcover_new_stage(struct err *err)
{
	static const struct mountcall_option options[] = { { "mode", "0700" }, { NULL, NULL } };
	owned_fd int tree = mountcall_new("tmpfs", options, MOUNTCALL_DATA, err);

	if (tree < 0)
		return tree;
	if (mkdirat(tree, MOUNTCOVER_DIR, 0) < 0 || mkdirat(tree, MOUNTCOVER_UNDER_DIR, 0) < 0 ||
		mknodat(tree, MOUNTCOVER_FILE, S_IFREG, 0) < 0 ||
		mknodat(tree, MOUNTCOVER_UNDER_FILE, S_IFREG, 0) < 0 ||
		mountcall_attach(tree, AT_FDCWD, "/") < 0)
		return err_errno(err, "make a place for mounts");
	return take_fd(&tree);
}
