#include "ops/switchuser.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/env.h"
#include "sandbox/account.h"

static int explain_failure(const char *root, const struct statx *stx, struct err *err)
{
	err_errno(err, "'%s' belongs to user %u, and root cannot act as that user here", root,
		stx->stx_uid);
	return err_hint(err,
		"run it as that user: setpriv --reuid %u --regid %u --init-groups -- "
		"strata ...",
		stx->stx_uid, stx->stx_gid);
}

/*
 * Find the owner of the environment: the user who owns the database.  The owner of the directory
 * does not count, because another user may have made the directory.  If there is no database yet,
 * because init is still running, use the owner of the directory.
 */
static int find_owner(int rootfd, struct statx *stx, struct err *err)
{
	int r = at_name_stat(rootfd, ENV_DATABASE, stx);

	if (r == -ENOENT)
		r = at_fd_stat(rootfd, stx);
	return r < 0 ? err_number(err, -r, "find the owner of the environment") : 0;
}

int switchuser_to_owner(int rootfd, const char *root, struct err *err)
{
	owned(account_release) struct account account = { 0 };
	struct err unlisted = { 0 };
	struct statx stx;
	char number[16];

	if (geteuid() != 0)
		return 0;
	int r = find_owner(rootfd, &stx, err);
	if (r < 0 || stx.stx_uid == 0)
		return r;
	snprintf(number, sizeof(number), "%u", stx.stx_uid);
	/* A user who is not in the user database gets the group of the environment's files. */
	if (account_find(number, &account, &unlisted) < 0 || !strcmp(account.name, number)) {
		account.gid = stx.stx_gid;
		account.n_groups = 0;
	}
	if (setgroups(account.n_groups, account.groups) < 0 ||
		setresgid(account.gid, account.gid, account.gid) < 0 ||
		setresuid(stx.stx_uid, stx.stx_uid, stx.stx_uid) < 0)
		return explain_failure(root, &stx, err);
	/*
	 * Without this call, root would still own the files of this process in /proc.  The process
	 * could then not write its id map.
	 */
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		return err_errno(err, "act as user %u", stx.stx_uid);
	return 0;
}
