/* mountproof: notices a plan that is not enforced, whichever part is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/mountplan.h"
#include "sandbox/mountproof.h"
#include "tempdir_fixture.h"
#include "userns_fixture.h"

static char top[] = "/tmp/strata-mountproof.XXXXXX";

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s%s", top, name);
	return path;
}

/* The mount on /a of the tree, and its attributes. */
struct made {
	bool mounted;
	uint64_t attributes;
};

static const struct made nothing = { 0 };
static const struct made plain = { .mounted = true };
static const struct made read_only = { true, MOUNT_ATTR_RDONLY };
static const struct made no_exec = { true, MOUNT_ATTR_NOEXEC };

struct trial {
	enum mountplan_kind kind;
	const char *path;
	const struct made *made;
	const char *wrong; /* NULL: the plan is enforced */
};

static int make_mount(const struct made *made)
{
	struct mount_attr attr = { .attr_set = made->attributes };

	if (!made->mounted)
		return 0;
	return mount(below("/a"), below("/a"), NULL, MS_BIND, NULL) < 0
		       ? -1
		       : (int)syscall(
				 SYS_mount_setattr, AT_FDCWD, below("/a"), 0, &attr, sizeof(attr));
}

static int prove(void *arg, struct err *err)
{
	const struct trial *trial = arg;
	owned(arena_release) struct arena arena = { 0 };
	struct mountplace *place, *places = mountplaces_new(&arena);

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || make_mount(trial->made) < 0)
		return err_errno(err, "prepare");
	owned_fd int root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (mountplaces_add(places, &arena, root, trial->path, MOUNTPLACES_BIT(trial->kind), &place,
		    err) < 0)
		return -(int)err->code;
	place->planned |= MOUNTPLACES_BIT(trial->kind);
	mountplaces_decide(places);
	return mountproof_run(places, root, err);
}

static void finds_what_is_missing(void **state)
{
	static const struct trial trials[] = {
		{ MOUNTPLAN_READ_ONLY, "/a", &read_only, NULL },
		{ MOUNTPLAN_READ_ONLY, "/a", &nothing, "'/a' can be renamed" },
		{ MOUNTPLAN_READ_ONLY, "/a", &plain, "'/a' can be written" },
		{ MOUNTPLAN_READ_ONLY, "/", &nothing, "'/' can be written" },
		{ MOUNTPLAN_PROTECT, "/a/b", &plain, "'/a/b' can be renamed" },
		{ MOUNTPLAN_PIN, "/a", &plain, NULL },
		{ MOUNTPLAN_PIN, "/a", &nothing, "'/a' can be renamed" },
		{ MOUNTPLAN_NO_EXEC, "/a", &no_exec, NULL },
		{ MOUNTPLAN_NO_EXEC, "/a", &read_only, "'/a' can be executed" },
		{ MOUNTPLAN_MASK, "/a", &nothing, "'/a' is not hidden" },
		{ MOUNTPLAN_MASK, "/none", &nothing, NULL },
	};

	char why[SANDBOX_USER_WHY_MAX];

	if (!is_userns_possible(why)) {
		printf("# skip: %s\n", why);
		skip();
	}
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		struct trial trial = trials[i];
		struct err err = { 0 };

		print_message("%s, %d\n", trial.path, trial.kind);
		int r = child_do(prove, &trial, &err);
		if (!trial.wrong) {
			assert_string_equal(err.text, "");
			assert_true(r >= 0);
			continue;
		}
		assert_true(r < 0);
		assert_non_null(strstr(err.text, trial.wrong));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_what_is_missing) };

	if (!mkdtemp(top) || mkdir(below("/a"), 0755) < 0 || mkdir(below("/a/b"), 0755) < 0)
		return 1;
	int failed = cmocka_run_group_tests_name("mountproof", tests, NULL, NULL);
	return tempdir_remove(top) < 0 ? 1 : failed;
}
