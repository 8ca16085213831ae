#include "sandbox/inside.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "core/mem.h"
#include "core/own.h"
#include "sandbox/account.h"
#include "sandbox/commandfile.h"
#include "sandbox/confine.h"
#include "sandbox/fence.h"
#include "sandbox/ids.h"
#include "sandbox/launcher.h"
#include "sandbox/message.h"
#include "sandbox/process.h"
#include "sandbox/program.h"
#include "sandbox/restriction.h"
#include "sandbox/terminal.h"

#define COMMAND_UMASK 022 /* fixed, so that the modes of new files do not depend on the caller */

static void send_report(int report, const struct inside_report *message, int fd)
{
	(void)message_send(report, message, sizeof(*message), &fd, fd >= 0);
}

static _Noreturn void report_failure_and_exit(int report, int failure, const struct err *err)
{
	const struct inside_report message = {
		.step = INSIDE_FAILED,
		.failure = failure,
		.err = *err,
	};

	send_report(report, &message, -1);
	_exit(failure);
}

/* ------------------------------------------------------------------- joining */

/*
 * Make this process undumpable.  Call this after each change of ids, because such a change can make
 * the process dumpable again (fs.suid_dumpable).
 */
static int become_undumpable(struct err *err)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? err_errno(err, "protect our memory") : 0;
}

static int join_namespace(int ns, int type, struct err *err)
{
	return ns < 0 || setns(ns, type) == 0 ? 0 : err_errno(err, "join the sandbox");
}

/* Join all namespaces but the user namespace. */
static int join_other_namespaces(
	const struct inside_place *place, const int given[INSIDE_FDS], struct err *err)
{
	const int *ns = place->namespaces;
	int net = given[INSIDE_NET] >= 0 ? given[INSIDE_NET] : ns[SANDBOX_NET];
	int mnt = given[INSIDE_MNT] >= 0 ? given[INSIDE_MNT] : ns[SANDBOX_MNT];

	if (join_namespace(net, CLONE_NEWNET, err) < 0 ||
		join_namespace(mnt, CLONE_NEWNS, err) < 0 ||
		join_namespace(ns[SANDBOX_IPC], CLONE_NEWIPC, err) < 0 ||
		join_namespace(ns[SANDBOX_UTS], CLONE_NEWUTS, err) < 0 ||
		join_namespace(ns[SANDBOX_CGROUP], CLONE_NEWCGROUP, err) < 0)
		return -(int)err->code;
	return 0;
}

static int set_standard_fds(const int given[INSIDE_FDS], struct err *err)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(given[INSIDE_STDIN + fd], fd) < 0)
			return err_errno(err, "take the standard descriptors");
	return 0;
}

/* ------------------------------------------------------------------ becoming */

/*
 * Change the ids of this process by direct system calls.  The C library's functions would wait for
 * the holder's other thread (forker.h), which does not exist in this process.
 */
static int set_groups(size_t n, const gid_t *groups)
{
	return (int)syscall(SYS_setgroups, n, groups);
}

static int set_ids(uid_t uid, gid_t gid)
{
	return syscall(SYS_setresgid, gid, gid, gid) < 0 ||
			       syscall(SYS_setresuid, uid, uid, uid) < 0
		       ? -1
		       : 0;
}

static int take_ids(const struct account *account, const char *user, struct err *err)
{
	/*
	 * setgroups fails with EPERM if only a single id is mapped.  The process then keeps the
	 * caller's groups.
	 */
	if ((set_groups(account->n_groups, account->groups) < 0 && errno != EPERM) ||
		set_ids(account->uid, account->gid) < 0) {
		if (errno != EINVAL)
			return err_errno(err, "become user '%s'", user);
		err_set(err, ERR_UNSUPPORTED,
			"become user '%s': the sandbox has no id %u, or lacks that of a group",
			user, account->uid);
		return err_hint(err, "give the caller subordinate ids in /etc/subuid and "
				     "/etc/subgid, and install newuidmap and newgidmap");
	}
	return 0;
}

static bool is_set(const char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return true;
	return false;
}

/* Add the variables that depend on the user's account, unless they are set. */
static const char *const *add_account(const char *const *env, const struct account *account)
{
	const struct {
		const char *name, *value;
	} added[] = {
		{ "HOME", account->home },
		{ "USER", account->name },
		{ "LOGNAME", account->name },
		{ "SHELL", account->shell },
	};
	const size_t n_added = sizeof(added) / sizeof(added[0]);
	size_t n = 0;

	while (env[n])
		n++;
	const char **all = mem_alloc((n + n_added + 1) * sizeof(*all));
	memcpy(all, env, n * sizeof(*all));
	for (size_t i = 0; i < n_added; i++)
		if (!is_set(env, added[i].name))
			all[n++] = mem_printf("%s=%s", added[i].name, added[i].value);
	all[n] = NULL;
	return all;
}

/*
 * Make the command's user the owner of standard descriptors that are pipes.  Otherwise programs
 * could not open the pipes again by /dev/stdout, since the id of a pipe's creator does not exist in
 * the sandbox.  Files and terminals of the host keep their owners.
 */
static void chown_pipes(uid_t uid, gid_t gid)
{
	struct statfs fs;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC)
			(void)!fchown(fd, uid, gid);
}

/*
 * Become root in the sandbox.  In a user namespace that does not map the ids of this process, the
 * process is nobody at first.
 */
static int become_root_inside(struct err *err)
{
	if (set_groups(0, NULL) < 0 || set_ids(0, 0) < 0)
		return err_errno(err, "become root of the sandbox");
	return 0;
}

/*
 * Report the program that this process is going to execute.  If there is a terminal, make it the
 * terminal of this process, and send its master with the report.
 */
static int report_ready(
	const struct program *program, int master, int slave, int report, struct err *err)
{
	struct inside_report ready = { .step = INSIDE_READY };

	if (program->paths[0])
		snprintf(ready.err.text, sizeof(ready.err.text), "%s", program->paths[0]);
	snprintf(ready.err.hint, sizeof(ready.err.hint), "%s", program->interpreter);
	send_report(report, &ready, master);
	return slave < 0 ? 0 : terminal_adopt(slave, err);
}

/* Set the restrictions, the ids and the working directory of the command for this process. */
static int take_on_identity(const struct inside_place *place, const struct sandbox_command *command,
	const struct account *account, struct err *err)
{
	const char *cwd = command->cwd ? command->cwd : "/";
	const struct restriction *restriction = command->restriction;

	/* Join a new session keyring, so that the command has no keys of the caller. */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if ((place->host_root && fence_mounts(err) < 0) ||
		confine_calls(place->no_net || command->own_net, err) < 0 ||
		(restriction && restriction_enter(restriction, command->wrapped, err) < 0) ||
		take_ids(account, command->user ? command->user : "root", err) < 0 ||
		(restriction && restriction_settle(restriction, err) < 0) ||
		become_undumpable(err) < 0)
		return -(int)err->code;
	if (chdir(cwd) < 0) /* by-name: in the sandbox, where the paths of the command begin */
		return err_errno(err, "go to '%s' in this environment", cwd);
	return 0;
}

static int execute_command(const struct inside_place *place, const struct sandbox_command *command,
	const struct program *program, int report, struct err *err)
{
	const struct launcher_command launched = {
		.paths = program->paths,
		.argv = command->argv,
		.env = command->env,
		.socket = report,
		.size = sizeof(struct inside_report),
	};

	if (command->wrapped)
		return place->wrapper(command, command->kept, report, err);
	(void)launcher_execute(place->launcher, &launched, err);
	return SANDBOX_FAILED;
}

/* Become the command.  Returns only on failure.  The result is then one of enum sandbox_failure. */
static int become_command(const struct inside_place *place, struct sandbox_command *command,
	int report, struct err *err)
{
	owned(program_release) struct program program = { 0 };
	owned_fd int master = -1, slave = -1;
	owned(account_release) struct account account = { 0 };

	if (place->shifted && become_root_inside(err) < 0)
		return SANDBOX_FAILED;
	(void)umask(COMMAND_UMASK);
	if (command->user && account_find(command->user, &account, err) < 0)
		return SANDBOX_FAILED;
	if (command->user)
		command->env = add_account(command->env, &account);
	if (place->shifted)
		chown_pipes(account.uid, account.gid);
	if (command->tty && terminal_make(account.uid, &master, &slave, err) < 0)
		return SANDBOX_FAILED;
	if (take_on_identity(place, command, &account, err) < 0)
		return SANDBOX_FAILED;
	int failure =
		command->wrapped ? 0 : program_look(command->argv, command->env, &program, err);
	if (failure)
		return failure;
	if (report_ready(&program, master, slave, report, err) < 0)
		return SANDBOX_FAILED;
	process_die_with(report); /* call it again, since a change of ids clears the setting */
	return execute_command(place, command, &program, report, err);
}

/*
 * Close every descriptor that leads out of the sandbox.  Call this before this process joins the
 * inner user namespace: from then on, programs of the sandbox can kill this process, and the kernel
 * lets them see the descriptors of a process that is ending.
 */
static int close_others(
	const struct inside_place *place, const int given[INSIDE_FDS], struct err *err)
{
	int kept[] = { place->launcher, given[INSIDE_REPORT], given[INSIDE_KEPT],
		given[INSIDE_WARDEN], place->namespaces[SANDBOX_USER] };

	return process_close_others(kept, (int)(sizeof(kept) / sizeof(kept[0])), err);
}

static int enter_sandbox(const struct inside_place *place, const int given[INSIDE_FDS],
	struct sandbox_command *command, struct err *err)
{
	struct inherited inherited;
	int user = place->namespaces[SANDBOX_USER];

	if (set_standard_fds(given, err) < 0 ||
		commandfile_read(
			given[INSIDE_TEXT], given[INSIDE_WARDEN], command, &inherited, err) < 0)
		return -(int)err->code;
	if (command->wrapped && (!place->wrapper || given[INSIDE_KEPT] < 0))
		return err_set(err, ERR_INVALID, "this sandbox wraps no commands");
	command->kept = given[INSIDE_KEPT];
	command->own_net = given[INSIDE_NET] >= 0;
	process_hide_arguments(&place->arguments, command->argv[0] ? command->argv[0] : "");
	if (place->shifted)
		chown_pipes(IDS_FIRST, IDS_FIRST);
	/*
	 * Raise the limits now, since this process loses the necessary rights in the user namespace
	 * below.
	 */
	inherited_apply(&inherited);
	if (join_other_namespaces(place, given, err) < 0 || close_others(place, given, err) < 0 ||
		join_namespace(user, CLONE_NEWUSER, err) < 0)
		return -(int)err->code;
	close_fd(&user);
	return become_undumpable(err);
}

_Noreturn void inside_main(const struct inside_place *place, int given[INSIDE_FDS])
{
	struct sandbox_command command;
	struct err err = { 0 };
	int report = given[INSIDE_REPORT];
	int failure = SANDBOX_FAILED;

	process_die_with(report);
	(void)setsid();
	process_reset_signals();
	if (enter_sandbox(place, given, &command, &err) == 0)
		failure = become_command(place, &command, report, &err);
	report_failure_and_exit(report, failure, &err);
}
