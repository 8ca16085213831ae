#include "trace/bundle/outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

#define NAMES_MAX 1000

/* Split a path into its parent and its last name.  Neither result ends with a slash. */
static int split_path(struct outdir *out, const char *path, struct err *err)
{
	owned_mem char *copy = mem_strdup(path);
	size_t len = strlen(copy);

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	char *slash = strrchr(copy, '/');
	const char *name = slash ? slash + 1 : copy;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_set(err, ERR_USAGE, "'%s' cannot be the name of a new directory", path);
	out->name = mem_strdup(name);
	if (slash)
		slash[slash == copy] = '\0';
	out->parent = at_open_given(slash ? copy : ".", O_RDONLY | O_DIRECTORY, 0, err);
	return out->parent < 0 ? out->parent : 0;
}

static int check_free(const struct outdir *out, const char *path, struct err *err)
{
	owned_fd int there = at_name_open(out->parent, out->name, O_RDONLY | O_DIRECTORY);

	if (there == -ENOENT)
		return 0;
	if (there < 0)
		return err_set(err, ERR_INVALID, "'%s' exists and is no directory", path);
	int empty = at_holds_only(there, "", err);
	if (empty < 0)
		return empty;
	if (!empty) {
		err_set(err, ERR_INVALID, "directory '%s' is not empty", path);
		return err_hint(err, "name a directory that does not exist yet");
	}
	return 0;
}

int outdir_init(struct outdir *out, const char *path, struct err *err)
{
	int r = split_path(out, path, err);

	if (r >= 0)
		r = check_free(out, path, err);
	if (r < 0)
		return err_context(err, "output");
	out->path = at_path_of(out->parent, err);
	/* Make the directory as a trial, so that an error is found before the command runs. */
	r = out->path ? outdir_begin(out, err) : -(int)err->code;
	if (r < 0)
		return err_context(err, "output");
	close_fd(&out->fd);
	(void)at_unlink(out->parent, out->temporary, AT_REMOVEDIR, err);
	free(out->temporary);
	out->temporary = NULL;
	return 0;
}

static int make_temporary(struct outdir *out, struct err *err)
{
	/*
	 * Other users may not enter the directory, because it holds copies of files.  Some of these
	 * files may come from directories that other users cannot enter.
	 */
	owned_mem char *prefix = mem_printf(".%s.strata", out->name);

	out->temporary = at_mkdir_new(out->parent, prefix, err);
	if (!out->temporary)
		return -(int)err->code;
	out->fd = at_open(out->parent, out->temporary, O_RDONLY | O_DIRECTORY, err);
	return out->fd < 0 ? out->fd : 0;
}

/* Open the parent directory.  If the command has removed that directory, it is made again. */
static int make_parent(struct outdir *out, struct err *err)
{
	int r = at_mkdirs_given(out->path, 0777, err);
	int parent = r < 0 ? r : at_open_given(out->path, O_RDONLY | O_DIRECTORY, 0, err);

	if (parent < 0)
		return parent;
	close_fd(&out->parent);
	out->parent = parent;
	return 0;
}

int outdir_begin(struct outdir *out, struct err *err)
{
	struct err why = { 0 };

	if (make_temporary(out, &why) == 0)
		return 0;
	if (why.errno_value != ENOENT || make_parent(out, err) < 0) {
		*err = why;
		return -(int)err->code;
	}
	return make_temporary(out, err);
}

/* Rename the directory to its final name.  If the name is taken, a number is added to it. */
static int give_name(struct outdir *out, struct err *err)
{
	int r = at_rename(out->parent, out->temporary, out->name, err);

	for (unsigned i = 1; r < 0 && i <= NAMES_MAX; i++) {
		owned_mem char *name = mem_printf("%s.%u", out->name, i);

		if (err->errno_value != ENOTEMPTY && err->errno_value != EEXIST &&
			err->errno_value != ENOTDIR)
			break;
		r = renameat2(out->parent, out->temporary, out->parent, name, RENAME_NOREPLACE) < 0
			    ? err_errno(err, "rename the bundle to '%s'", name)
			    : 0;
		if (r >= 0)
			out->instead = take_ptr(&name);
	}
	return r;
}

int outdir_commit(struct outdir *out, struct err *err)
{
	int r = at_fsync(out->fd, out->temporary, err);

	if (r >= 0)
		r = give_name(out, err);
	if (r < 0)
		return r;
	free(out->temporary);
	out->temporary = NULL;
	return at_fsync(out->parent, "the directory of the bundle", err);
}

void outdir_release(struct outdir *out)
{
	struct err ignored = { 0 };

	if (out->temporary && out->parent >= 0)
		(void)at_remove_tree(out->parent, out->temporary, &ignored);
	close_fd(&out->fd);
	close_fd(&out->parent);
	free(out->name);
	free(out->temporary);
	free(out->path);
	free(out->instead);
}
