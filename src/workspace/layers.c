#include "workspace/layers.h"

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
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 36

struct layer_name {
	char text[STACK_TREE + 16];
};

static struct layer_name name_of(const struct stack *stack)
{
	char tree[STACK_TREE];
	struct layer_name name;

	snprintf(name.text, sizeof(name.text), "%u-%s", stack->base,
		stack_tree_text(&stack->tree, tree));
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

/* The number of the base in use, 0 when there is none yet. */
static int current_base(int base, unsigned *number, struct err *err)
{
	char text[STACK_TEXT];
	int r = stack_read_text(base, CURRENT, text, err);

	*number = r > 0 ? (unsigned)strtoul(text, NULL, 10) : 0;
	return r;
}

/* A link beside it would lead from there, not from the environment. */
static int link_place(int base, const char *name, const char *place, struct err *err)
{
	owned_mem char *from_here = *place == '/' ? mem_strdup(place) : mem_printf("../%s", place);

	return stack_write_text(base, name, from_here, true, err);
}

int layers_make_base(const struct layers *layers, const struct hash *tree, const char *place,
	int donor, struct err *err)
{
	owned_fd int base = open_dir(layers, BASE_DIR, err);
	char name[32], tree_name[48], text[STACK_TREE];
	unsigned number;
	int r = base < 0 ? base : current_base(base, &number, err);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%u", number + 1);
	snprintf(tree_name, sizeof(tree_name), "%s.tree", name);
	r = place ? link_place(base, name, place, err)
		  : fill(layers, base, name, TREEAPPLY_BASE, NULL, tree, donor, err);
	if (r >= 0)
		r = make_skeleton(base, err);
	if (r >= 0)
		r = stack_write_text(base, tree_name, stack_tree_text(tree, text), true, err);
	return r < 0 ? r : stack_write_text(base, CURRENT, name, true, err);
}

int layers_base_tree(
	const struct layers *layers, unsigned number, struct hash *tree, struct err *err)
{
	owned_fd int base = at_open(layers->rootfd, BASE_DIR, O_RDONLY | O_DIRECTORY, err);
	char name[48], text[STACK_TEXT];

	if (base < 0)
		return base;
	snprintf(name, sizeof(name), "%u.tree", number);
	int r = stack_read_text(base, name, text, err);
	if (r == 0 || (r > 0 && !stack_tree_parse(text, tree)))
		r = err_set(err, ERR_CORRUPT, "base %u is not known", number);
	return r;
}

/* --------------------------------------------------------------- the layers */

static bool boot_id(char id[BOOT_ID_SIZE + 1])
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open_given(BOOT_ID_FILE, O_RDONLY, 0, &ignored);

	id[BOOT_ID_SIZE] = '\0';
	return fd >= 0 && read(fd, id, BOOT_ID_SIZE) == BOOT_ID_SIZE;
}

static void marker_name(char out[STACK_TEXT], const char *layer)
{
	snprintf(out, STACK_TEXT, "%s.ok", layer);
}

static bool is_whole(int dirfd, const char *layer)
{
	char marker[STACK_TEXT], made[STACK_TEXT], now[BOOT_ID_SIZE + 1];
	struct err ignored = { 0 };

	marker_name(marker, layer);
	return stack_read_text(dirfd, marker, made, &ignored) > 0 && boot_id(now) &&
	       !strcmp(made, now) && at_exists(dirfd, layer);
}

static int mark_whole(int dirfd, const char *layer, struct err *err)
{
	char marker[STACK_TEXT], now[BOOT_ID_SIZE + 1];

	if (!boot_id(now))
		return err_set(err, ERR_UNSUPPORTED, "no " BOOT_ID_FILE);
	marker_name(marker, layer);
	return stack_write_text(dirfd, marker, now, false, err);
}

/* Built beside, under a name of our own: another strata may be making the same one. */
static int make_layer(const struct layers *layers, const struct stack *stack,
	const struct hash *base, struct err *err)
{
	struct layer_name name = name_of(stack);
	char beside[STACK_TEXT];
	owned_fd int dirfd = open_dir(layers, LAYERS_DIR, err);
	int r = dirfd;

	if (r < 0)
		return r;
	if (is_whole(dirfd, name.text))
		return 0;
	snprintf(beside, sizeof(beside), ".%d-%s", (int)getpid(), name.text);
	r = fill(layers, dirfd, beside, TREEAPPLY_LAYER, base, &stack->tree, -1, err);
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

int layers_check(const struct layers *layers, const struct stack *stack, struct err *err)
{
	struct hash base;
	int r = layers_base_tree(layers, stack->base, &base, err);

	if (r < 0 || hash_eq(&base, &stack->tree))
		return r;
	return make_layer(layers, stack, &base, err);
}

int layers_for(
	const struct layers *layers, const struct hash *tree, struct stack *stack, struct err *err)
{
	owned_fd int base = at_open(layers->rootfd, BASE_DIR, O_RDONLY | O_DIRECTORY, err);
	int r = base < 0 ? base : current_base(base, &stack->base, err);

	if (r == 0)
		r = err_set(err, ERR_CORRUPT, "the workspaces have no base");
	stack->tree = *tree;
	return r < 0 ? r : layers_check(layers, stack, err);
}

int layers_lower(const struct layers *layers, const struct stack *stack,
	char lower[LAYERS_LOWER_MAX][LAYERS_PATH_MAX], struct err *err)
{
	struct hash base;
	int n = 0;
	int r = layers_base_tree(layers, stack->base, &base, err);

	if (r < 0)
		return r;
	if (!hash_eq(&base, &stack->tree))
		snprintf(lower[n++], LAYERS_PATH_MAX, LAYERS_DIR "/%s", name_of(stack).text);
	snprintf(lower[n++], LAYERS_PATH_MAX, BASE_DIR "/%u", stack->base);
	snprintf(lower[n++], LAYERS_PATH_MAX, BASE_DIR "/" SKELETON);
	return n;
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

static int keep_layers(void *arg, int dirfd, const char *name, struct err *err)
{
	struct kept *kept = arg;
	struct err ignored = { 0 };
	struct stack stack;
	owned_fd int fd = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, &ignored);
	int r = fd < 0 ? 0 : stack_read(fd, LAYERS_STACK, &stack, err);

	if (r <= 0)
		return r;
	mem_grow(&kept->names, &kept->cap, kept->n);
	kept->names[kept->n++] = mem_strdup(name_of(&stack).text);
	return 0;
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

int layers_sweep(int rootfd, const char *work, struct err *err)
{
	struct kept kept = { 0 };
	int r = 0;

	if (at_exists(rootfd, LAYERS_DIR)) {
		r = at_each_name(rootfd, work, keep_layers, &kept, err);
		if (r >= 0)
			r = at_each_name(rootfd, LAYERS_DIR, drop_layer, &kept, err);
	}
	kept_release(&kept);
	return r;
}
