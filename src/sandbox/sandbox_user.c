#include "sandbox/sandbox_user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/account.h"
#include "sandbox/process.h"

#define MAP_MAX 16384

#define SAID_MAX 160 /* bytes of a helper's error message that are passed on */
#define ID_TEXT_MAX 12
#define LIMIT_PLENTY 10000 /* number that the hint suggests if the limit of namespaces is 0 */

/* ---------------------------------------------------- reasons for a refusal */

/* Settings that forbid user namespaces, and the commands that allow them. */
static const struct {
	const char *file, *bad, *why, *remedy;
} switches[] = {
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0\n",
		"user namespaces are switched off for ordinary users",
		"sysctl kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n",
		"AppArmor takes the rights away from user namespaces of ordinary users",
		"sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
};

/*
 * The kinds of namespaces with a limit on their number.  The most likely cause of a refusal comes
 * first.
 */
static const char *const limited[] = { "user", "pid", "net", "mnt", "ipc", "uts", "cgroup" };

static bool has_content(const char *file, const char *text)
{
	owned(buf_release) struct buf content = BUF_INIT;
	struct err ignored = { 0 };

	return procfile_read(file, 64, &content, &ignored) == 0 && content.len &&
	       !strcmp(content.data, text);
}

/* Set err for ENOSPC: the limit of a kind of namespaces is 0 or has been reached. */
static int limit_reached(const char *what, struct err *err)
{
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++) {
		char file[64];

		snprintf(file, sizeof(file), "/proc/sys/user/max_%s_namespaces", limited[i]);
		if (!has_content(file, "0\n"))
			continue;
		err_set(err, ERR_UNSUPPORTED, "%s: %s namespaces are switched off: %s is 0", what,
			limited[i], file);
		return err_hint(
			err, "as root: sysctl user.max_%s_namespaces=%d", limited[i], LIMIT_PLENTY);
	}
	err_set(err, ERR_UNSUPPORTED, "%s: the limit of namespaces is reached", what);
	return err_hint(err, "end some sandboxes or containers, or as root raise "
			     "user.max_user_namespaces and the like (/proc/sys/user), also outside "
			     "a container");
}

int sandbox_user_refused(int error, const char *what, struct err *err)
{
	if (error == ENOSPC)
		return limit_reached(what, err);
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		if (!has_content(switches[i].file, switches[i].bad))
			continue;
		err_set(err, ERR_UNSUPPORTED, "%s: %s", what, switches[i].why);
		return err_hint(err, "as root: %s", switches[i].remedy);
	}
	err_set(err, ERR_UNSUPPORTED, "%s: %s", what, strerror(error));
	return err_hint(
		err, "a chroot, a container's seccomp filter or a security module may forbid it");
}

/* ----------------------------------------------------------- subordinate ids */

enum id_kind { UIDS, GIDS, ID_KINDS };

static const struct {
	const char *helper, *table;
} kinds[ID_KINDS] = {
	[UIDS] = { "newuidmap", "/etc/subuid" },
	[GIDS] = { "newgidmap", "/etc/subgid" },
};

/*
 * The helper and the user's range of ids, for each kind of ids.  The range is the user's first one
 * in /etc/subuid or /etc/subgid, so that a line that is added later does not change the ids that
 * files already have.
 */
struct subids {
	char helper[ID_KINDS][64];
	uint32_t first[ID_KINDS], count[ID_KINDS];
};

/* Whether a helper runs with the rights to write a map. */
static bool has_rights(int dir, const char *name, const struct stat *st)
{
	char caps[64];

	return (st->st_mode & S_ISUID && st->st_uid == 0) ||
	       at_xattr_get(dir, name, "security.capability", caps, sizeof(caps)) > 0;
}

/* Find a helper in fixed directories.  PATH must not decide which program writes the map. */
static bool find_helper(const char *name, char path[64], char *why)
{
	static const char *const places[] = { "/usr/bin", "/usr/local/bin" };
	struct err ignored = { 0 };
	struct stat st;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		owned_fd int dir = at_open_given(places[i], O_PATH | O_DIRECTORY, 0, &ignored);

		if (dir < 0 || fstatat(dir, name, &st, 0) < 0)
			continue;
		snprintf(path, 64, "%s/%s", places[i], name);
		if (S_ISREG(st.st_mode) && has_rights(dir, name, &st))
			return true;
		snprintf(why, SANDBOX_USER_WHY_MAX, "%s is not setuid root", path);
		return false;
	}
	snprintf(why, SANDBOX_USER_WHY_MAX, "%s is not installed (package uidmap)", name);
	return false;
}

static bool find_range(
	const char *table, struct str name, uid_t uid, uint32_t *first, uint32_t *count, char *why)
{
	owned(buf_release) struct buf content = BUF_INIT;
	struct err err = { 0 };

	if (procfile_read(table, ACCOUNT_FILE_MAX, &content, &err) < 0) {
		snprintf(why, SANDBOX_USER_WHY_MAX, "%.*s", SANDBOX_USER_WHY_MAX - 1, err.text);
		return false;
	}
	if (account_range((struct str){ content.data, content.len }, name, uid, first, count))
		return true;
	snprintf(why, SANDBOX_USER_WHY_MAX, "%s lists no range for user %u", table, uid);
	return false;
}

static bool find_subids(struct subids *out, char *why)
{
	owned(buf_release) struct buf passwd = BUF_INIT;
	struct err ignored = { 0 };
	uid_t uid = geteuid();

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0) {
		snprintf(why, SANDBOX_USER_WHY_MAX, "no_new_privs is set: newuidmap has no rights");
		return false;
	}
	(void)procfile_read("/etc/passwd", ACCOUNT_FILE_MAX, &passwd, &ignored);
	/* A user who is not in /etc/passwd can still be listed by number. */
	struct str name = account_name((struct str){ passwd.data, passwd.len }, uid);
	for (int kind = 0; kind < ID_KINDS; kind++)
		if (!find_helper(kinds[kind].helper, out->helper[kind], why) ||
			!find_range(kinds[kind].table, name, uid, &out->first[kind],
				&out->count[kind], why))
			return false;
	return true;
}

/* ------------------------------------------------------------------- choosing */

static bool has_capabilities(void)
{
	static const unsigned needed[] = { CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETFCAP };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!(data[needed[i] / 32].effective & 1U << needed[i] % 32))
			return false;
	return true;
}

bool sandbox_user_alone(void)
{
	owned(buf_release) struct buf map = BUF_INIT;
	struct err unknown = { 0 };
	unsigned first, outside, count;
	int used = 0;

	if (procfile_read("/proc/self/uid_map", MAP_MAX, &map, &unknown) < 0)
		return false;
	return sscanf(map.data, "%u %u %u %n", &first, &outside, &count, &used) == 3 &&
	       count == 1 && !map.data[used];
}

enum sandbox_user sandbox_user_choose(char why[SANDBOX_USER_WHY_MAX])
{
	struct subids subids = { 0 };

	why[0] = '\0';
	if (geteuid() == 0 && has_capabilities())
		return SANDBOX_USER_ROOT;
	return find_subids(&subids, why) ? SANDBOX_USER_SUBIDS : SANDBOX_USER_SINGLE;
}

/* ------------------------------------------------------------------- entering */

static int new_namespace(struct err *err)
{
	if (unshare(CLONE_NEWUSER) < 0)
		return sandbox_user_refused(errno, "make a user namespace", err);
	return 0;
}

static int enter_single(struct err *err)
{
	char uids[64], gids[64];

	snprintf(uids, sizeof(uids), "0 %u 1\n", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1\n", getegid());
	/* A user other than root may map a group only after setgroups has been denied. */
	if (new_namespace(err) < 0 || procfile_write("/proc/self/setgroups", "deny", err) < 0 ||
		procfile_write("/proc/self/uid_map", uids, err) < 0 ||
		procfile_write("/proc/self/gid_map", gids, err) < 0)
		return err_context(err, "become root of a user namespace");
	return 0;
}

/*
 * The processes of the setuid helpers, which write the maps of subordinate ids.  They have rights
 * only outside the new namespace, so they are forked before this process enters it.  They wait at a
 * pipe until the namespace exists.  Then the two helpers run at the same time.  If this process
 * dies, they read the end of the pipe and exit.
 */
struct mappers {
	pid_t pid[ID_KINDS];
	int go[2];
	int said[2]; /* pipe for the standard error of the helpers */
};

#define MAPPERS_INIT ((struct mappers){ .pid = { -1, -1 }, .go = { -1, -1 }, .said = { -1, -1 } })

static _Noreturn void mapper_main(
	const struct mappers *mappers, const char *helper, char *const argv[])
{
	static char *const no_environment[] = { NULL };
	char c;

	(void)close(mappers->go[1]);
	if (read(mappers->go[0], &c, 1) != 1 || dup2(mappers->said[1], STDERR_FILENO) < 0)
		_exit(1);
	execve(helper, argv, no_environment);
	_exit(127);
}

static pid_t mapper_start(
	const struct mappers *mappers, const struct subids *subids, enum id_kind kind, char *target)
{
	char own[ID_TEXT_MAX], first[ID_TEXT_MAX], count[ID_TEXT_MAX];
	char *const argv[] = { (char *)kinds[kind].helper, target, "0", own, "1", "1", first, count,
		NULL };

	snprintf(own, sizeof(own), "%u", kind == UIDS ? geteuid() : getegid());
	snprintf(first, sizeof(first), "%u", subids->first[kind]);
	snprintf(count, sizeof(count), "%u", subids->count[kind]);
	pid_t pid = fork();
	if (pid == 0)
		mapper_main(mappers, subids->helper[kind], argv);
	return pid;
}

static int mappers_start(struct mappers *mappers, const struct subids *subids, struct err *err)
{
	owned_fd int proc = at_open_given("/proc", O_PATH | O_DIRECTORY, 0, err);
	char self[PROCESS_NUMBER_MAX];

	if (proc < 0)
		return proc;
	/*
	 * The helpers need the number of this process in /proc.  This may be the /proc of a PID
	 * namespace above.
	 */
	if (process_number(proc, self) < 0)
		return err_errno(err, "find ourselves in /proc");
	if (pipe2(mappers->go, O_CLOEXEC) < 0 || pipe2(mappers->said, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(err, "make a pipe");
	for (int kind = 0; kind < ID_KINDS; kind++) {
		mappers->pid[kind] = mapper_start(mappers, subids, kind, self);
		if (mappers->pid[kind] < 0)
			return err_errno(err, "start a process");
	}
	return 0;
}

/* Set err from the first line of the helpers' error messages. */
static int mapper_failed(const struct mappers *mappers, const char *helper, struct err *err)
{
	char said[SAID_MAX];
	ssize_t n = read(mappers->said[0], said, sizeof(said) - 1);

	said[n > 0 ? n : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	err_set(err, ERR_UNSUPPORTED, "map subordinate ids: %s", *said ? said : helper);
	return err_hint(err, "check /etc/subuid and /etc/subgid, and that newuidmap and newgidmap "
			     "are setuid root");
}

static int mappers_finish(struct mappers *mappers, const struct subids *subids, struct err *err)
{
	int r = 0;

	if (write(mappers->go[1], "go", ID_KINDS) != ID_KINDS)
		r = err_errno(err, "start newuidmap");
	for (int kind = 0; kind < ID_KINDS; kind++) {
		int status = child_wait(mappers->pid[kind]);

		mappers->pid[kind] = -1;
		if (r == 0 && status != 0)
			r = mapper_failed(mappers, subids->helper[kind], err);
	}
	return r;
}

static void mappers_release(struct mappers *mappers)
{
	close_fd(&mappers->go[1]);
	close_fd(&mappers->go[0]);
	close_fd(&mappers->said[0]);
	close_fd(&mappers->said[1]);
	for (int kind = 0; kind < ID_KINDS; kind++)
		if (mappers->pid[kind] > 0)
			(void)child_wait(mappers->pid[kind]);
}

static int enter_subids(struct err *err)
{
	owned(mappers_release) struct mappers mappers = MAPPERS_INIT;
	char why[SANDBOX_USER_WHY_MAX];
	struct subids subids = { 0 };

	if (!find_subids(&subids, why))
		return err_set(err, ERR_UNSUPPORTED, "subordinate ids: %s", why);
	if (mappers_start(&mappers, &subids, err) < 0 || new_namespace(err) < 0 ||
		mappers_finish(&mappers, &subids, err) < 0)
		return err_context(err, "become root of a user namespace");
	return 0;
}

int sandbox_user_enter(enum sandbox_user mode, struct err *err)
{
	if (mode == SANDBOX_USER_ROOT)
		return 0;
	return mode == SANDBOX_USER_SINGLE ? enter_single(err) : enter_subids(err);
}
