#include "ops/copyin.h"
#include "ops/dirsource.h"
#include "ops/progress.h"
#include "ops/refview.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "tree/cutter.h"
#include "tree/treegraft.h"

/* The file or directory to copy.  The strings of 'entry' belong to 'iter'. */
struct source {
	struct treeiter *iter;
	struct entry entry;
	/*
	 * Name of the copy, if the target is a directory.  NULL: copy the entries of the source
	 * directory, and not the directory itself.
	 */
	const char *name;
	bool stream;
};

static int refuse_own(struct op_context *ctx, int fd, struct err *err)
{
	owned_mem char *path = at_path_of(fd, err);
	const char *root = ctx->env->root;
	size_t len = strlen(root);

	if (!path)
		return -(int)err->code;
	if (strncmp(path, root, len) || (path[len] && path[len] != '/'))
		return 0;
	return err_set(err, ERR_DENIED, "'%s' is part of the environment's own files", path);
}

/* Refuse to copy if a file could not be read, since a partial copy would look complete. */
static int check_read(struct op_context *ctx, struct err *err)
{
	const struct report *report = ctx->report;

	for (size_t i = 0; i < report->n_items; i++) {
		const struct report_item *item = &report->items[i];

		if (item->kind == REPORT_UNREADABLE || item->kind == REPORT_VANISHED)
			return err_set(err, ERR_DENIED, "'%.*s': %s; nothing was copied",
				(int)item->path.len, item->path.ptr, item->what);
	}
	return 0;
}

/*
 * Read the directory fd into the store.  If 'only' is not NULL, read just the file with this name.
 * The result is in source->entry.
 */
static int read_tree(
	struct op_context *ctx, int fd, const char *only, struct source *source, struct err *err)
{
	struct progress shown;
	struct dirsource how = { .fd = fd, .only = only, .counters = &shown.counters };
	struct hash tree;
	int r = refuse_own(ctx, fd, err);

	progress_begin(&shown, ctx, "scanning");
	if (r >= 0)
		r = dirsource_read(ctx, &how, &tree, err);
	progress_end(&shown);
	if (r >= 0)
		r = check_read(ctx, err);
	if (r >= 0)
		r = treeiter_path(
			source->iter, &tree, only ? str_of(only) : STR(""), &source->entry, err);
	return r == 0 ? err_set(err, ERR_NOT_FOUND, "'%s' is gone", only ? only : ".") : r;
}

/*
 * Returns the last name of a path.  Slashes at the end of the path are left out.  *dir becomes the
 * directory before that name.
 */
static const char *last_name(struct op_context *ctx, const char *path, const char **dir)
{
	size_t len = strlen(path);

	while (len && path[len - 1] == '/')
		len--;
	size_t start = len;
	while (start && path[start - 1] != '/')
		start--;
	*dir = start ? arena_str(ctx->arena, (struct str){ path, start }).ptr : ".";
	return arena_str(ctx->arena, (struct str){ path + start, len - start }).ptr;
}

static int read_path(
	struct op_context *ctx, const char *host, struct source *source, struct err *err)
{
	const char *dir, *name = last_name(ctx, host, &dir);
	owned_fd int there = at_open_given(host, O_PATH | O_NOFOLLOW, 0, err);
	struct statx stx;
	int r = there < 0 ? there : at_fd_stat(there, &stx);

	if (there < 0)
		return r;
	if (r < 0)
		return err_number(err, -r, "look at '%s'", host);
	bool contents = !*name || !strcmp(name, ".") || !strcmp(name, "..");
	source->name = contents ? NULL : name;
	bool is_dir = S_ISDIR(stx.stx_mode);
	owned_fd int fd = at_open_given(is_dir ? host : dir, O_RDONLY | O_DIRECTORY, 0, err);
	return fd < 0 ? fd : read_tree(ctx, fd, is_dir ? NULL : name, source, err);
}

static int cut_stream(struct cutter *cutter, struct entry *entry, struct err *err)
{
	for (;;) {
		size_t room;
		char *to = cutter_room(cutter, &room);
		ssize_t n = read(STDIN_FILENO, to, room);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, "read standard input");
		if (n == 0)
			return cutter_finish(cutter, entry, err);
		int r = cutter_filled(cutter, (size_t)n, err);
		if (r < 0)
			return r;
	}
}

static int read_stream(struct op_context *ctx, struct source *source, struct err *err)
{
	owned_mem char *window = mem_alloc(CUTTER_WINDOW);
	int64_t now = when_now();
	struct cutter cutter;

	source->stream = true;
	source->entry = (struct entry){
		.type = ENTRY_FILE,
		.mode = 0644,
		.uid = geteuid(),
		.gid = getegid(),
		.mtime_sec = now / WHEN_SECOND,
		.mtime_nsec = (uint32_t)(now % WHEN_SECOND),
	};
	cutter_init(&cutter, ctx->env->store, window);
	int r = cut_stream(&cutter, &source->entry, err);
	cutter_release(&cutter);
	return r;
}

static int check_path(struct str path, struct err *err)
{
	struct str rest = path;

	for (struct str name; (name = str_take_name(&rest)).len;)
		if (!entry_name_ok(name))
			return err_set(err, ERR_INVALID,
				"'%.*s' in 'work:%.*s' is no name of a file", (int)name.len,
				name.ptr, (int)path.len, path.ptr);
	return 0;
}

/*
 * A file that is replaced by a stream keeps its mode, owner and attributes, because a stream has
 * only content.
 */
static void keep_attributes(struct source *source, const struct entry *there)
{
	struct entry *entry = &source->entry;

	if (!source->stream || there->type != ENTRY_FILE)
		return;
	entry->mode = there->mode;
	entry->uid = there->uid;
	entry->gid = there->gid;
	entry->xattrs = there->xattrs;
}

/*
 * Set *place to the path of the copy, by the rule of cp(1): if the given path leads to a directory,
 * the copy goes into that directory.  Otherwise the given path is the path of the copy.
 */
static int find_place(struct op_context *ctx, const struct hash *live, struct str given,
	struct source *source, struct str *place, struct err *err)
{
	struct str path = refview_path(ctx, given);
	bool slash = given.len && given.ptr[given.len - 1] == '/';
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(ctx->env->store);
	struct entry there = { 0 };
	int r = check_path(path, err);

	if (r >= 0)
		r = treeiter_path(iter, live, path, &there, err);
	bool is_dir = r > 0 && there.type == ENTRY_DIR;
	*place = path;
	if (r > 0)
		keep_attributes(source, &there);
	if (r >= 0 && !is_dir && slash)
		r = err_set(
			err, ERR_NOT_FOUND, "no directory 'work:%.*s'", (int)path.len, path.ptr);
	else if (is_dir && source->stream)
		r = err_set(err, ERR_INVALID, "'work:%.*s' is a directory: name the file",
			(int)path.len, path.ptr);
	else if (is_dir && source->name)
		*place = str_of(arena_printf(ctx->arena, "%.*s%s%s", (int)path.len, path.ptr,
			path.len ? "/" : "", source->name));
	return r < 0 ? r : 0;
}

static int copy_to_live(struct op_context *ctx, struct source *source, struct str path,
	struct cp_result *result, struct err *err)
{
	struct movement saved = { 0 };
	struct env *env = ctx->env;
	struct hash live, wanted;
	int r = running_show(env, err);

	/* First save the work that the copy would overwrite, as 'restore' does. */
	if (r >= 0)
		r = movement_save_work(ctx, &saved, &live, err);
	if (r >= 0)
		r = find_place(ctx, &live, path, source, &result->path, err);
	if (r >= 0)
		r = treegraft_put(env->store, &live, &source->entry, result->path, &wanted, err);
	if (r < 0)
		return r;
	result->entries = source->entry.count + 1;
	result->bytes = source->entry.size;
	return movement_patch(ctx, &live, &wanted, &result->changes, err);
}

int copyin_run(struct op_context *ctx, const char *host, struct str path, struct cp_result *result,
	struct err *err)
{
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(ctx->env->store);
	struct source source = { .iter = iter };
	int r = strcmp(host, "-") ? read_path(ctx, host, &source, err)
				  : read_stream(ctx, &source, err);

	return r < 0 ? r : copy_to_live(ctx, &source, path, result, err);
}
