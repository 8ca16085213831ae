#include "query/restoresame.h"

#include <fcntl.h>

#include "core/own.h"
#include "query/dirview.h"
#include "query/samecontent.h"
#include "query/walk.h"
#include "tree/xattrs.h"

struct comparing {
	struct view *view, *target;
	size_t base_len; /* length of the path of the directory in the view, with a slash */
	struct str name; /* path of the target, from the root of its view */
	bool exactly;
	bool differ;
	/* entries found in the view, minus the entries found in the target */
	uint64_t entries;
};

/* Whether the extended attributes are the same.  Returns 1, 0 or a negative error. */
static int same_xattrs(struct comparing *comparing, struct str path, const struct entry *entry,
	struct str target_path, const struct entry *target, struct err *err)
{
	owned(buf_release) struct buf a = { .max = XATTRS_BYTES_MAX },
				      b = { .max = XATTRS_BYTES_MAX };
	int r = comparing->view->ops->xattrs(comparing->view, entry, path, &a, err);

	if (r >= 0)
		r = comparing->target->ops->xattrs(comparing->target, target, target_path, &b, err);
	return r < 0 ? r : str_eq((struct str){ a.data, a.len }, (struct str){ b.data, b.len });
}

static bool same_attributes(const struct entry *a, const struct entry *b, bool exactly)
{
	uint32_t ignored = exactly ? 0 : S_ISUID | S_ISGID;

	if (a->type != b->type || a->size != b->size || a->mtime_sec != b->mtime_sec ||
		a->mtime_nsec != b->mtime_nsec || a->major != b->major || a->minor != b->minor ||
		!str_eq(a->target, b->target))
		return false;
	if (exactly && (a->uid != b->uid || a->gid != b->gid))
		return false;
	return a->type == ENTRY_LINK || (a->mode & ~ignored) == (b->mode & ~ignored);
}

static int same_content(struct comparing *comparing, struct str path, const struct entry *entry,
	struct str target_path, const struct entry *target, struct err *err)
{
	struct hash a, b;
	int r = 0;

	if (entry->type != ENTRY_FILE || !entry->size)
		return 1;
	if (comparing->view->identified && entry->content == ENTRY_BLOB)
		a = entry->hash;
	else
		r = samecontent_hash(comparing->view, entry, path, UINT64_MAX, &a, err);
	if (r >= 0)
		r = samecontent_hash(comparing->target, target, target_path, UINT64_MAX, &b, err);
	return r < 0 ? r : hash_eq(&a, &b);
}

/*
 * Whether an entry is the same as its counterpart in the target.  Entries below a directory are not
 * compared.  Returns 1, 0 or a negative error.
 */
static int same_entry(struct comparing *comparing, struct str path, const struct entry *entry,
	struct str target_path, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct view *view = comparing->target;
	struct entry target;
	int r = view->ops->stat(view, target_path, &arena, &target, err);

	if (r <= 0)
		return r;
	/* The sizes of directories are not compared, since only some views have them. */
	struct entry wanted = *entry;
	if (entry->type != ENTRY_FILE)
		wanted.size = target.size = 0;
	if (!same_attributes(&wanted, &target, comparing->exactly))
		return 0;
	r = comparing->exactly ? same_xattrs(comparing, path, entry, target_path, &target, err) : 1;
	return r > 0 ? same_content(comparing, path, entry, target_path, &target, err) : r;
}

static int compare_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct comparing *comparing = arg;
	owned(buf_release) struct buf target_path = BUF_INIT;

	comparing->entries++;
	buf_add(&target_path, comparing->name.ptr, comparing->name.len);
	buf_add_name(&target_path,
		(struct str){ path.ptr + comparing->base_len, path.len - comparing->base_len });
	int r = same_entry(
		comparing, path, entry, (struct str){ target_path.data, target_path.len }, err);
	comparing->differ = r == 0;
	return r < 0 ? r : comparing->differ;
}

static int count_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct comparing *comparing = arg;

	comparing->differ = !comparing->entries;
	if (comparing->entries)
		comparing->entries--;
	return comparing->differ;
}

/*
 * Compare the entries below two directories.  The same names are below both if each entry of the
 * view has a counterpart in the target, and both have the same number of entries.
 */
static int compare_below(struct comparing *comparing, struct str path, struct err *err)
{
	struct view *view = comparing->view, *target = comparing->target;
	int r = walk_tree(view, path, compare_entry, comparing, err);

	if (r >= 0 && !comparing->differ)
		r = walk_tree(target, comparing->name, count_entry, comparing, err);
	return r < 0 ? r : !comparing->differ && !comparing->entries && !target->unread;
}

int restoresame_check(struct view *view, struct str path, const struct entry *entry, int dir,
	const char *name, bool exactly, struct err *err)
{
	static const struct dirview_options options = { .shared_inodes = false };
	owned_fd int root = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	struct err ignored = { 0 };

	if (root < 0)
		return err_errno(err, "hold the directory of '%.200s'", name);
	owned(view_closep) struct view *target = dirview_new(take_fd(&root), &options);
	struct comparing comparing = {
		.view = view,
		.target = target,
		.base_len = path.len ? path.len + 1 : 0,
		.name = str_of(name),
		.exactly = exactly,
	};
	int r = same_entry(&comparing, path, entry, comparing.name, &ignored);
	if (r > 0 && entry->type == ENTRY_DIR)
		r = compare_below(&comparing, path, &ignored);
	/*
	 * A target that cannot be read counts as different.  But reaching the time limit is an
	 * error.
	 */
	if (r < 0 && ignored.code == ERR_DENIED)
		return 0;
	if (r < 0)
		*err = ignored;
	return r;
}
