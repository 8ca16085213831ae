/* treemerge: the trees of overlays, compared with real overlays. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>

#include <cmocka.h>

#include "random_tree.h"

#define TREES 6

static struct hash merged_of(const struct hash *lower, struct live *upper)
{
	upper->lower = lower;
	struct hash merged = live_capture(upper);
	struct hash again = live_capture(upper);
	assert_same_tree(&merged, &again);
	struct hash anew = live_read(upper);
	assert_same_tree(&merged, &anew);
	return merged;
}

static void apply_as(
	struct live *live, enum treeapply_kind kind, const struct hash *from, const struct hash *to)
{
	struct treeapply_options options = {
		.fd = live->fd,
		.kind = kind,
		.store = live->fixture->store,
		.from = from,
		.to = to,
		.donor = -1,
		.report = &live->report,
	};

	assert_ok(live->fixture, treeapply_run(&options, &live->fixture->err));
	assert_int_equal(live_reported(live), 0);
}

static void a_layer_and_what_is_below_make_the_tree(void **state)
{
	struct fixture *fixture = *state;
	struct hash trees[TREES];

	for (unsigned i = 0; i < TREES; i++)
		trees[i] = random_tree(fixture, i);
	for (size_t i = 0; i < TREES; i++)
		for (size_t k = 0; k < TREES; k++) {
			owned(live_close) struct live layer;
			char name[32];

			snprintf(name, sizeof(name), "layer%zu-%zu", i, k);
			live_open(&layer, fixture, name);
			apply_as(&layer, TREEAPPLY_LAYER, &trees[i], &trees[k]);
			struct hash merged = merged_of(&trees[i], &layer);
			assert_same_tree(&trees[k], &merged);
		}
}

/* --- with the kernel --- */

static void change_at_random(struct live *shown, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		char from[8], to[8];

		snprintf(
			from, sizeof(from), roll(2) ? "%c" : "%c/%c", 'a' + roll(7), 'a' + roll(7));
		snprintf(to, sizeof(to), roll(2) ? "%c" : "%c/%c", 'a' + roll(7), 'a' + roll(7));
		switch (roll(7)) {
		case 0:
			(void)at_remove_tree(shown->fd, from, &shown->fixture->err);
			break;
		case 1:
			(void)renameat(shown->fd, from, shown->fd, to);
			break;
		case 2:
			(void)!linkat(shown->fd, from, shown->fd, to, 0);
			break;
		case 3:
			(void)mkdirat(shown->fd, to, 0750);
			break;
		case 4:
			(void)!fchmodat(shown->fd, from, 0700, 0);
			break;
		case 5:
			(void)at_remove_tree(shown->fd, from, &shown->fixture->err);
			(void)mkdirat(shown->fd, from, 0700);
			break;
		default: {
			owned_fd int fd = openat(shown->fd, from,
				O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
				0640);
			if (fd >= 0)
				(void)!write(fd, "more", 4);
		}
		}
	}
}

static void mount_overlay(struct fixture *fixture, const char *layers, const char *at)
{
	owned_mem char *root = at_path_of(fixture->rootfd, &fixture->err);
	owned_mem char *here = mem_printf("%s/%s", root, at);

	/* Use the path: a descriptor from before unshare belongs to another mount namespace. */
	assert_int_equal(chdir(root), 0);
	if (mount("overlay", here, "overlay", 0, layers)) {
		print_error("mount -o %s: %m\n", layers);
		fail();
	}
}

/* Open the directory by its path.  The fixture's own descriptor does not show later mounts. */
static void live_open_in(struct live *live, struct fixture *fixture, const char *name)
{
	live_open(live, fixture, name);
	close_fd(&live->fd);
	live->fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(live->fd >= 0);
}

static void one_overlay(
	struct fixture *fixture, const struct hash *base, const struct hash *tree, unsigned number)
{
	owned(live_close) struct live lower, layer, upper, shown;

	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("", "/", "", MS_REC | MS_PRIVATE, NULL), 0);
	live_open(&lower, fixture, "lower");
	live_open(&layer, fixture, "layer");
	apply_as(&lower, TREEAPPLY_BASE, NULL, base);
	apply_as(&layer, TREEAPPLY_LAYER, base, tree);
	live_open(&upper, fixture, "upper");
	apply_as(&upper, TREEAPPLY_LAYER, tree, tree);
	assert_int_equal(mkdirat(fixture->rootfd, "ovl", 0700), 0);
	assert_int_equal(mkdirat(fixture->rootfd, "shown", 0700), 0);
	mount_overlay(fixture,
		"userxattr,index=off,metacopy=off,lowerdir=layer:lower,upperdir=upper,workdir=ovl",
		"shown");
	live_open_in(&shown, fixture, "shown");

	struct hash seen = live_read(&shown);
	assert_same_tree(tree, &seen);
	for (unsigned round = 0; round < 4; round++) {
		seed = number * 31 + round + 88172645463325252u;
		change_at_random(&shown, 12);
		seen = live_read(&shown);
		struct hash merged = merged_of(tree, &upper);
		assert_same_tree(&seen, &merged);
	}
	close_fd(&shown.fd);
	assert_int_equal(umount2("shown", MNT_DETACH), 0);
	for (size_t i = 0; i < 5; i++) {
		static const char *const made[] = { "lower", "layer", "upper", "ovl",
			"index-upper" };

		assert_ok(fixture, at_remove_tree(fixture->rootfd, made[i], &fixture->err));
	}
	assert_int_equal(unlinkat(fixture->rootfd, "shown", AT_REMOVEDIR), 0);
}

static void is_what_the_kernel_shows(void **state)
{
	struct fixture *fixture = *state;

	need_root();
	for (unsigned i = 0; i < 8; i++) {
		struct hash base = random_tree(fixture, 200 + 2 * i);
		struct hash tree = random_tree(fixture, 201 + 2 * i);

		one_overlay(fixture, &base, &tree, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(a_layer_and_what_is_below_make_the_tree),
		tree_test(is_what_the_kernel_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
