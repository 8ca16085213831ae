/*
 * A Landlock domain that handles any right on files also refuses every change of
 * mounts.  The right it handles here is one that a user namespace never has: making
 * block devices.  Moving files between directories is refused by every domain that does not
 * allow it, hence the rule for the whole tree.
 */
#include "sandbox/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

#define ABI_REFER 2 /* Linux 5.19 */

static int allow_moves(int rules, struct err *err)
{
	owned_fd int root = at_open_given("/", O_PATH | O_DIRECTORY, 0, err);
	const struct landlock_path_beneath_attr all = {
		.allowed_access = LANDLOCK_ACCESS_FS_REFER,
		.parent_fd = root,
	};

	if (root < 0)
		return root;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &all, 0) < 0)
		return err_errno(err, "landlock_add_rule");
	return 0;
}

int fence_mounts(struct err *err)
{
	const struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_REFER,
	};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	/* Before, files could not be moved between directories at all. */
	if (abi < ABI_REFER)
		return err_set(err, ERR_UNSUPPORTED, "no Landlock, or an old one");
	owned_fd int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0)
		return err_errno(err, "landlock_create_ruleset");
	int r = allow_moves(rules, err);
	if (r < 0)
		return r;
	/* With our capabilities it does not take PR_SET_NO_NEW_PRIVS, which would break sudo. */
	if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return err_errno(err, "landlock_restrict_self");
	return 0;
}
