#include "workspace/layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

#define BASE_DIR "base"
#define LAYERS_DIR "layers"
#define CURRENT "current"
#define SKELETON "skeleton"
#define TREE_DIGITS 32 /* of a tree's hash in the name of a directory */
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 36

struct layer_name {
	char text[2 * TREE_DIGITS + 2];
};

static struct layer_name name_of(const struct hash *base, const struct hash *tree)
{
	char a[HASH_HEX], b[HASH_HEX];
	struct layer_name name;

	snprintf(name.text, sizeof(name.text), "%.*s-%.*s", TREE_DIGITS, hash_hex(base, a),
		TREE_DIGITS, hash_hex(tree, b));
	return name;
}

static int open_dir(const struct layers *layers, const char *name, struct err *err)
{
	int r = at_mkdirs(layers->rootfd, name, 0700, err);

	return r < 0 ? r : at_open(layers->rootfd, name, O_RDONLY | O_DIRECTORY, err);
}

static int fill(const struct layers *layers, int dirfd, const char *name, enum treeapply_kind kind,
	const struct hash *from, const struct hash *to, int donor, struct err *err)
{
	owned_fd int fd = -1;
	int r = at_remove_tree(dirfd, name, err);

	if (r >= 0)
		r = at_mkdirs(dirfd, name, 0700, err);
	if (r >= 0)
		r = fd = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, err);
	if (r < 0)
		return r;
	struct treeapply_options options = {
		.fd = fd,
		.kind = kind,
		.squashed = layers->squashed,
		.store = layers->store,
		.from = from,
		.to = to,
		.donor = donor,
		.durable = kind == TREEAPPLY_BASE,
		.report = layers->report,
		.progress = layers->progress,
	};
	return treeapply_run(&options, err);
}

/* ---------------------------------------------------------------- the base */

/* Where the tree has no place to mount these on, or no file to put one over. */
static int make_skeleton(int base, struct err *err)
{
	static const char *const dirs[] = { SKELETON, SKELETON "/proc", SKELETON "/sys",
		SKELETON "/dev", SKELETON "/etc" };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		r = at_mkdirs(base, dirs[i], 0755, err);
	if (r < 0)
		return r;
	owned_fd int file = at_create(base, SKELETON "/etc/resolv.conf", O_WRONLY, 0644, err);
	return file < 0 ? file : 0;
}

int layers_make_base(const struct layers *layers, const struct hash *tree, const char *place,
	int donor, struct err *err)
{
	owned(stack_release) struct stack stack = { .tree = *tree };
	owned_fd int base = open_dir(layers, BASE_DIR, err);
	char hex[HASH_HEX], name[TREE_DIGITS + 1], path[TREE_DIGITS + 16];
	int r = base;

	snprintf(name, sizeof(name), "%.*s", TREE_DIGITS, hash_hex(tree, hex));
	snprintf(path, sizeof(path), BASE_DIR "/%s", name);
	if (r >= 0 && !place)
		r = fill(layers, base, name, TREEAPPLY_BASE, NULL, tree, donor, err);
	if (r >= 0)
		r = make_skeleton(base, err);
	if (r >= 0)
		r = stack_push(&stack, place ? place : path, err);
	if (r >= 0)
		r = stack_push(&stack, BASE_DIR "/" SKELETON, err);
	return r < 0 ? r : stack_write(base, CURRENT, &stack, err);
}

/* --------------------------------------------------------------- the layers */

static bool boot_id(char id[BOOT_ID_SIZE])
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given(BOOT_ID_FILE, O_RDONLY, 0, &ignored);

	return fd >= 0 && read(fd, id, BOOT_ID_SIZE) == BOOT_ID_SIZE;
}

static void marker_name(char out[128], const char *layer)
{
	snprintf(out, 128, "%s.ok", layer);
}

static bool is_whole(int dirfd, const char *layer)
{
	char marker[128], made[BOOT_ID_SIZE], now[BOOT_ID_SIZE];

	marker_name(marker, layer);
	owned_fd int fd = at_name_read(dirfd, marker);
	return fd >= 0 && at_pread_full(fd, made, sizeof(made), 0) == sizeof(made) &&
	       boot_id(now) && !memcmp(made, now, sizeof(made)) && at_exists(dirfd, layer);
}

static int mark_whole(int dirfd, const char *layer, struct err *err)
{
	char marker[128], now[BOOT_ID_SIZE];

	if (!boot_id(now))
		return err_set(err, ERR_UNSUPPORTED, "no " BOOT_ID_FILE);
	marker_name(marker, layer);
	owned_fd int fd = at_create(dirfd, marker, O_WRONLY | O_TRUNC, 0600, err);
	if (fd < 0)
		return fd;
	int r = at_write_all(fd, now, sizeof(now));
	if (r < 0) {
		errno = -r;
		return err_errno(err, "write '%s'", marker);
	}
	return 0;
}

/* Built beside, under a name of our own: another strata may be making the same one. */
static int make_layer(const struct layers *layers, const struct hash *base, const struct hash *tree,
	struct err *err)
{
	struct layer_name name = name_of(base, tree);
	char beside[128];
	owned_fd int dirfd = open_dir(layers, LAYERS_DIR, err);
	int r = dirfd;

	if (r < 0)
		return r;
	if (is_whole(dirfd, name.text))
		return 0;
	snprintf(beside, sizeof(beside), ".%d-%s", (int)getpid(), name.text);
	r = fill(layers, dirfd, beside, TREEAPPLY_LAYER, base, tree, -1, err);
	/* One that was not marked is of before a restart, or was cut off. */
	if (r >= 0 && !is_whole(dirfd, name.text)) {
		r = at_remove_tree(dirfd, name.text, err);
		if (r >= 0)
			r = at_rename(dirfd, beside, name.text, err);
		if (r >= 0)
			r = mark_whole(dirfd, name.text, err);
	}
	if (r < 0 || at_exists(dirfd, beside)) {
		struct err ignored = { 0 };

		(void)at_remove_tree(dirfd, beside, &ignored);
	}
	return r < 0 ? err_context(err, "make a layer") : 0;
}

static int read_base(const struct layers *layers, struct stack *base, struct err *err)
{
	owned_fd int dirfd = at_open(layers->rootfd, BASE_DIR, O_RDONLY | O_DIRECTORY, err);
	int r = dirfd < 0 ? dirfd : stack_read(dirfd, CURRENT, base, err);

	if (r == 0)
		r = err_set(err, ERR_CORRUPT, "no " BASE_DIR "/" CURRENT);
	return r < 0 ? err_context(err, "the base of the workspaces") : 0;
}

int layers_for(
	const struct layers *layers, const struct hash *tree, struct stack *stack, struct err *err)
{
	owned(stack_release) struct stack base = { 0 };
	char path[128];
	int r = read_base(layers, &base, err);

	stack->tree = *tree;
	if (r >= 0 && !hash_eq(&base.tree, tree)) {
		snprintf(path, sizeof(path), LAYERS_DIR "/%s", name_of(&base.tree, tree).text);
		r = make_layer(layers, &base.tree, tree, err);
		if (r >= 0)
			r = stack_push(stack, path, err);
	}
	for (size_t i = 0; r >= 0 && i < base.n_lower; i++)
		r = stack_push(stack, base.lower[i], err);
	return r;
}

int layers_check(const struct layers *layers, const struct stack *stack, struct err *err)
{
	owned(stack_release) struct stack base = { 0 };
	const char *layer = stack->lower[0] + strlen(LAYERS_DIR "/");
	int r;

	if (strncmp(stack->lower[0], LAYERS_DIR "/", strlen(LAYERS_DIR "/")))
		return 0;
	owned_fd int dirfd = open_dir(layers, LAYERS_DIR, err);
	if (dirfd < 0)
		return dirfd;
	if (is_whole(dirfd, layer))
		return 0;
	r = read_base(layers, &base, err);
	if (r >= 0 && strcmp(layer, name_of(&base.tree, &stack->tree).text))
		r = err_set(err, ERR_CORRUPT, "'%s' stands on a base that is gone", layer);
	return r < 0 ? r : make_layer(layers, &base.tree, &stack->tree, err);
}

/* ----------------------------------------------------------------- sweeping */

struct kept {
	char **names;
	size_t n, cap;
};

static void kept_release(struct kept *kept)
{
	for (size_t i = 0; i < kept->n; i++)
		free(kept->names[i]);
	free(kept->names);
}

static int each_name(int dirfd, const char *path,
	int (*visit)(void *arg, int dirfd, const char *name, struct err *err), void *arg,
	struct err *err)
{
	int fd = at_open(dirfd, path, O_RDONLY | O_DIRECTORY, err);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!dir) {
		close_fd(&fd);
		return fd < 0 ? fd : err_errno(err, "list '%s'", path);
	}
	for (struct dirent *d; r >= 0 && (d = readdir(dir));)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			r = visit(arg, fd, d->d_name, err);
	closedir(dir);
	return r;
}

struct keeping {
	struct kept kept;
	const char *stack_name;
};

static int keep_layers(void *arg, int dirfd, const char *name, struct err *err)
{
	struct keeping *keeping = arg;
	owned(stack_release) struct stack stack = { 0 };
	struct err ignored = { 0 };
	owned_fd int fd = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, &ignored);
	int r = fd < 0 ? 0 : stack_read(fd, keeping->stack_name, &stack, err);
	size_t len = strlen(LAYERS_DIR "/");

	for (size_t i = 0; r > 0 && i < stack.n_lower; i++) {
		if (strncmp(stack.lower[i], LAYERS_DIR "/", len))
			continue;
		mem_grow(&keeping->kept.names, &keeping->kept.cap, keeping->kept.n);
		keeping->kept.names[keeping->kept.n++] = mem_strdup(stack.lower[i] + len);
	}
	return r < 0 ? r : 0;
}

static int drop_layer(void *arg, int dirfd, const char *name, struct err *err)
{
	const struct kept *kept = arg;

	/* A marker goes with its layer. */
	for (size_t i = 0; i < kept->n; i++)
		if (!strncmp(name, kept->names[i], strlen(kept->names[i])))
			return 0;
	return at_remove_tree(dirfd, name, err);
}

int layers_sweep(int rootfd, const char *work, const char *stack_name, struct err *err)
{
	struct keeping keeping = { .stack_name = stack_name };
	int r = 0;

	if (at_exists(rootfd, LAYERS_DIR)) {
		r = each_name(rootfd, work, keep_layers, &keeping, err);
		if (r >= 0)
			r = each_name(rootfd, LAYERS_DIR, drop_layer, &keeping.kept, err);
	}
	kept_release(&keeping.kept);
	return r;
}
