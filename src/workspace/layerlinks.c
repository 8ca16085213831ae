#include "workspace/layerlinks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/own.h"
#include "workspace/stack.h"

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
/* number of characters that are taken from the boot id; they hold 48 bits */
#define BOOT_SIZE 13
#define RESERVE_TRIES 4096

const char *layerlinks_name(char out[LAYERLINKS_NAME], unsigned number, const char *suffix)
{
	snprintf(out, LAYERLINKS_NAME, "%u%s", number, suffix);
	return out;
}

bool layerlinks_is_layer(const char *name, unsigned *number)
{
	char again[LAYERLINKS_NAME];
	char *end;

	*number = (unsigned)strtoul(name, &end, 10);
	return *number && !*end && !strcmp(name, layerlinks_name(again, *number, ""));
}

const char *layerlinks_boot(void)
{
	static char boot[BOOT_SIZE + 1];
	struct err ignored = { 0 };

	if (boot[0])
		return boot;
	owned_fd int fd = at_open_given(BOOT_ID_FILE, O_RDONLY, 0, &ignored);
	char id[BOOT_SIZE + 1] = "";
	if (fd < 0 || read(fd, id, BOOT_SIZE) != BOOT_SIZE)
		return NULL;
	memcpy(boot, id, sizeof(boot));
	return boot;
}

/* ------------------------------------------------------------- single links */

int layerlinks_read_on(int dirfd, unsigned number, struct layerlinks_on *on, struct err *err)
{
	char name[LAYERLINKS_NAME], text[STACK_TEXT];
	int end = 0;
	int r = stack_read_text(dirfd, layerlinks_name(name, number, ".on"), text, err);

	if (r <= 0)
		return r;
	on->below = on->base = 0;
	if (sscanf(text, "@%u.%n", &on->base, &end) != 1)
		(void)sscanf(text, "%u.%n", &on->below, &end);
	/* A malformed link counts as missing, since a layer can always be made again. */
	return end && stack_tree_parse(text + end, &on->tree);
}

int layerlinks_read_ok(int dirfd, unsigned number, struct layerlinks_ok *ok, struct err *err)
{
	char name[LAYERLINKS_NAME], text[STACK_TEXT];
	unsigned long long entries = 0, bytes = 0;
	const char *boot = layerlinks_boot();
	int r = stack_read_text(dirfd, layerlinks_name(name, number, ".ok"), text, err);

	if (r <= 0)
		return r;
	size_t len = strcspn(text, ".~");
	bool inexact = text[len] == '~';
	*ok = (struct layerlinks_ok){
		.whole = boot && len == strlen(boot) && !memcmp(text, boot, len),
		.inexact = inexact,
		.measured = sscanf(text + len + inexact, ".%llu.%llu", &entries, &bytes) == 2,
		.entries = entries,
		.bytes = bytes,
	};
	return 1;
}

int layerlinks_mark(int dirfd, unsigned number, const struct layerlinks_ok *ok, struct err *err)
{
	char name[LAYERLINKS_NAME], text[STACK_TEXT];
	const char *boot = layerlinks_boot();

	if (!boot)
		return err_set(err, ERR_UNSUPPORTED, "no " BOOT_ID_FILE);
	const char *sign = ok->inexact ? "~" : "";
	if (ok->measured)
		snprintf(text, sizeof(text), "%s%s.%llu.%llu", boot, sign,
			(unsigned long long)ok->entries, (unsigned long long)ok->bytes);
	else
		snprintf(text, sizeof(text), "%s%s", boot, sign);
	return stack_write_text(dirfd, layerlinks_name(name, number, ".ok"), text, false, err);
}

int layerlinks_unmark(int dirfd, unsigned number, struct err *err)
{
	char name[LAYERLINKS_NAME];

	if (unlinkat(dirfd, layerlinks_name(name, number, ".ok"), 0) < 0 && errno != ENOENT)
		return err_errno(err, "unmark layer %u", number);
	return 0;
}

int layerlinks_find(int dirfd, const struct hash *tree, unsigned *number, struct err *err)
{
	char name[STACK_TREE], text[STACK_TEXT];
	struct layerlinks_on on;
	int r = stack_read_text(dirfd, stack_tree_text(tree, name), text, err);

	if (r <= 0)
		return r;
	*number = (unsigned)strtoul(text, NULL, 10);
	/*
	 * Check that the layer has this tree.  The layer that the link was written for may be gone,
	 * and its number may belong to another layer now.
	 */
	r = layerlinks_read_on(dirfd, *number, &on, err);
	return r > 0 ? hash_eq(&on.tree, tree) : r;
}

int layerlinks_prefer(int dirfd, const struct hash *tree, unsigned number, struct err *err)
{
	char name[STACK_TREE], text[LAYERLINKS_NAME];

	return stack_write_text(
		dirfd, stack_tree_text(tree, name), layerlinks_name(text, number, ""), false, err);
}

/* ------------------------------------------------------------------ numbers */

int layerlinks_reserve(int dirfd, const struct layerlinks_on *on, unsigned *number, struct err *err)
{
	char text[STACK_TEXT], name[LAYERLINKS_NAME], tree[STACK_TREE];
	int r = stack_read_text(dirfd, LAYERLINKS_NEXT, text, err);

	if (r < 0)
		return r;
	unsigned next = r ? (unsigned)strtoul(text, NULL, 10) : 1;
	snprintf(text, sizeof(text), "%s%u.%s", on->below ? "" : "@",
		on->below ? on->below : on->base, stack_tree_text(&on->tree, tree));
	for (unsigned i = 0; i < RESERVE_TRIES; i++) {
		*number = next + i;
		/*
		 * A directory without its link N.on is about to be removed, so its number is not
		 * free.
		 */
		errno = EEXIST;
		if (!at_exists(dirfd, layerlinks_name(name, *number, "")) &&
			symlinkat(text, dirfd, layerlinks_name(name, *number, ".on")) == 0) {
			snprintf(text, sizeof(text), "%u", *number + 1);
			return stack_write_text(dirfd, LAYERLINKS_NEXT, text, false, err);
		}
		if (errno != EEXIST)
			return err_errno(err, "make layer %u", *number);
	}
	return err_set(err, ERR_CORRUPT, "the %u numbers from %u on are all taken by other layers",
		RESERVE_TRIES, next);
}

void layerlinks_give_up(int dirfd, unsigned number)
{
	char name[LAYERLINKS_NAME];
	struct err ignored = { 0 };

	(void)at_remove_tree(dirfd, layerlinks_name(name, number, ""), &ignored);
	(void)unlinkat(dirfd, layerlinks_name(name, number, ".on"), 0);
}

/* ------------------------------------------------------------------- chains */

int layerlinks_chain(
	int dirfd, unsigned top, unsigned base, struct layerlinks_chain *chain, struct err *err)
{
	struct layerlinks_on on = { .below = top, .base = base };

	chain->n = 0;
	while (on.below) {
		unsigned number = on.below;

		if (chain->n == LAYERLINKS_DEPTH_MAX)
			return 0;
		int r = layerlinks_read_on(dirfd, number, &on, err);
		if (r <= 0)
			return r;
		chain->layer[chain->n].number = number;
		chain->layer[chain->n++].tree = on.tree;
	}
	chain->base = on.base;
	return 1;
}

bool layerlinks_chain_whole(int dirfd, const struct layerlinks_chain *chain)
{
	char name[LAYERLINKS_NAME];
	struct err ignored = { 0 };
	struct layerlinks_ok ok;

	for (size_t i = 0; i < chain->n; i++) {
		unsigned number = chain->layer[i].number;

		if (layerlinks_read_ok(dirfd, number, &ok, &ignored) <= 0 || !ok.whole ||
			!at_exists(dirfd, layerlinks_name(name, number, "")))
			return false;
	}
	return true;
}
