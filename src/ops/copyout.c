/*
 * copyout - copies files to the host.  The files are written into a new directory beside the
 * target, by the code that writes live trees.  Then each file is renamed to its place.
 */
#include "ops/copyout.h"
#include "ops/progress.h"
#include "ops/refview.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/treebuild.h"

#define BESIDE ".strata-cp"
#define MERGE_DEPTH_MAX 1024 /* maximum nesting of directories; each needs two descriptors */

/* The place of the copy. */
struct target {
	int dir;    /* descriptor of the directory that gets the copy, owned */
	char *name; /* the copy's name in dir, owned; NULL: the copy is merged into dir itself */
};

static void target_release(struct target *target)
{
	close_fd(&target->dir);
	free(target->name);
}

static const char *base_name(struct str path)
{
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

	return slash ? slash + 1 : path.ptr;
}

/*
 * Find the place of the copy, by the rule of cp(1): if the path 'host' leads to a directory, the
 * copy goes into that directory.  Otherwise 'host' is the path of the copy.
 */
static int find_target(const char *host, struct str path, struct target *target, struct err *err)
{
	struct err none = { 0 };
	const char *name;

	target->dir = at_open_given(host, O_RDONLY | O_DIRECTORY, 0, &none);
	if (target->dir >= 0) {
		target->name = path.len ? mem_strdup(base_name(path)) : NULL;
		return 0;
	}
	target->dir = at_open_given_parent(host, &name, err);
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		*err = none;
		return -(int)err->code;
	}
	target->name = mem_strdup(name);
	return target->dir < 0 ? target->dir : 0;
}

static int move_entry(
	int from, const char *name, int to, const char *new_name, unsigned depth, struct err *err);

struct merging {
	int to;
	unsigned depth;
};

static int move_into(void *arg, int dirfd, const char *name, struct err *err)
{
	const struct merging *merging = arg;

	return move_entry(dirfd, name, merging->to, name, merging->depth + 1, err);
}

/*
 * Move the content of a directory into the directory 'to'.  The attributes of 'to' do not change.
 */
static int merge_dir(int from, const char *name, int to, unsigned depth, struct err *err)
{
	struct merging merging = { .to = to, .depth = depth };

	if (depth > MERGE_DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "directories nest deeper than %d", MERGE_DEPTH_MAX);
	/* The mode of the directory may forbid even its owner to move files out of it. */
	int r = at_name_chmod(from, name, 0700);
	if (r < 0)
		return err_number(err, -r, "open '%s'", name);
	return at_each_name(from, name, move_into, &merging, err);
}

/*
 * Rename a directory.  The rename changes the entry ".." in the directory, so the kernel allows it
 * only while the directory is writable.
 */
static int rename_dir(
	int from, const char *name, mode_t mode, int to, const char *new_name, struct err *err)
{
	int r = at_name_chmod(from, name, mode | S_IRWXU);

	if (r == 0 && renameat(from, name, to, new_name) < 0)
		r = -errno;
	if (r == 0)
		r = at_name_chmod(to, new_name, mode);
	return r < 0 ? err_number(err, -r, "put '%s' in place", new_name) : 0;
}

static int move_entry(
	int from, const char *name, int to, const char *new_name, unsigned depth, struct err *err)
{
	struct statx is, was;
	int r = at_name_stat(from, name, &is);

	if (r < 0)
		return err_number(err, -r, "look at '%s'", name);
	bool dir = S_ISDIR(is.stx_mode);
	bool there = at_name_stat(to, new_name, &was) == 0;
	if (there && S_ISDIR(was.stx_mode) != dir)
		return err_set(err, ERR_INVALID, "'%s' is %s directory, and would become %s",
			new_name, dir ? "no" : "a", dir ? "one" : "something else");
	if (there && dir) {
		owned_fd int onto = at_name_open(to, new_name, O_RDONLY | O_DIRECTORY);

		return onto < 0 ? err_number(err, -onto, "open '%s'", new_name)
				: merge_dir(from, name, onto, depth, err);
	}
	if (dir)
		return rename_dir(from, name, is.stx_mode & 07777, to, new_name, err);
	return renameat(from, name, to, new_name) < 0
		       ? err_errno(err, "put '%s' in place", new_name)
		       : 0;
}

/* Make a tree that contains only *entry, under the given name. */
static int make_tree_of(struct store *store, const struct entry *entry, const char *name,
	struct hash *tree, struct err *err)
{
	owned(treebuild_freep) struct treebuild *build = treebuild_new(store);
	struct entry root = {
		.type = ENTRY_DIR,
		.mode = 0700,
		.uid = geteuid(),
		.gid = getegid(),
		.name = STR(""),
	};
	struct entry named = *entry;

	named.name = str_of(name);
	int r = treebuild_add(build, &named, err);
	if (r >= 0)
		r = treebuild_finish(build, &root, err);
	return r < 0 ? r : treebuild_root(store, &root, tree, err);
}

/*
 * Write tree into the directory fd.  Only root can set the owner of a file.  Files that another
 * user copies belong to that user, as with cp(1).
 */
static int write_tree(struct op_context *ctx, struct store *store, const struct hash *tree, int fd,
	uint64_t entries, struct err *err)
{
	char why[SANDBOX_USER_WHY_MAX];
	struct treeapply_progress progress = { 0 };
	struct progress shown;
	struct treeapply_options options = {
		.fd = fd,
		.store = store,
		.to = tree,
		.donor = -1,
		.durable = true,
		.squashed = sandbox_user_choose(why) != SANDBOX_USER_ROOT,
		.report = ctx->report,
		.progress = &progress,
	};

	progress_begin_count(&shown, ctx, "copying", &progress.entries, entries);
	int r = treeapply_run(&options, err);
	progress_end(&shown);
	return r;
}

static int write_beside(struct op_context *ctx, struct store *store, const struct entry *entry,
	const struct target *target, const char *beside, struct err *err)
{
	const char *name = target->name ? target->name : "content";
	owned_fd int fd = at_open(target->dir, beside, O_RDONLY | O_DIRECTORY, err);
	struct hash tree;
	int r = fd < 0 ? fd : make_tree_of(store, entry, name, &tree, err);

	if (r >= 0)
		r = write_tree(ctx, store, &tree, fd, entry->count + 1, err);
	if (r < 0)
		return r;
	return target->name ? move_entry(fd, name, target->dir, name, 0, err)
			    : merge_dir(fd, name, target->dir, 0, err);
}

static int write_out(struct op_context *ctx, const struct entry *entry, struct str path,
	const char *host, struct err *err)
{
	struct env *env = ctx->env;
	owned(target_release) struct target target = { .dir = -1 };
	struct err ignored = { 0 };
	int r = find_target(host, path, &target, err);

	/* Open the store as scratch, because the tree that make_tree_of stores must not be kept. */
	struct store *store = r < 0 ? NULL : store_open(env->rootfd, env->db, STORE_SCRATCH, err);
	if (!store)
		return -(int)err->code;
	owned_mem char *beside = at_mkdir_new(target.dir, BESIDE, err);
	r = beside ? write_beside(ctx, store, entry, &target, beside, err) : -(int)err->code;
	if (beside)
		(void)at_remove_tree(target.dir, beside, &ignored);
	store_close(store);
	return r;
}

static int write_stream(
	struct op_context *ctx, const struct entry *entry, struct str path, struct err *err)
{
	if (entry->type != ENTRY_FILE)
		return err_set(err, ERR_INVALID,
			"'%.*s' is a %s: only a file goes to standard output", (int)path.len,
			path.ptr, entry_type_name(entry->type));
	return content_read(ctx->env->store, entry, 0, UINT64_MAX, op_send, ctx, err);
}

int copyout_run(struct op_context *ctx, const struct hash *tree, struct str given, const char *host,
	struct cp_result *result, struct err *err)
{
	struct store *store = ctx->env->store;
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(store);
	struct str path = refview_path(ctx, given);
	struct entry entry;

	int r = treeiter_path(iter, tree, path, &entry, err);
	if (r == 0)
		r = err_set(err, ERR_NOT_FOUND, "no '%.*s' in %s", (int)path.len, path.ptr,
			result->ref);
	/*
	 * Flush the store.  write_out opens the store once more, and would otherwise not find a new
	 * capture in it.
	 */
	if (r >= 0 && !strcmp(result->ref, "work"))
		r = store_flush(store, err);
	if (r >= 0)
		r = strcmp(host, "-") ? write_out(ctx, &entry, path, host, err)
				      : write_stream(ctx, &entry, path, err);
	if (r >= 0) {
		result->path = path;
		result->entries = entry.count + 1;
		result->bytes = entry.size;
	}
	return r < 0 ? r : 0;
}
