#include "sandbox/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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
#include "sandbox/terminal.h"

#define COMMAND_UMASK 022 /* what the inside writes does not depend on who called */

static void tell(int report, const struct inside_report *message, int fd)
{
	(void)message_send(report, message, sizeof(*message), &fd, fd >= 0);
}

static _Noreturn void give_up(int report, int failure, const struct err *err)
{
	const struct inside_report message = {
		.step = INSIDE_FAILED,
		.failure = failure,
		.err = *err,
	};

	tell(report, &message, -1);
	_exit(failure);
}

/* ------------------------------------------------------------------- joining */

/* After each change of credentials: fs.suid_dumpable decides whether that made us dumpable again.
 */
static int protect(struct err *err)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? err_errno(err, "protect our memory") : 0;
}

static int join(int ns, int type, struct err *err)
{
	return ns < 0 || setns(ns, type) == 0 ? 0 : err_errno(err, "join the sandbox");
}

/* All but the user namespace. */
static int join_others(const struct inside_place *place, int mnt, struct err *err)
{
	const int *ns = place->namespaces;

	if (join(ns[SANDBOX_NET], CLONE_NEWNET, err) < 0 || join(mnt, CLONE_NEWNS, err) < 0 ||
		join(ns[SANDBOX_IPC], CLONE_NEWIPC, err) < 0 ||
		join(ns[SANDBOX_UTS], CLONE_NEWUTS, err) < 0 ||
		join(ns[SANDBOX_CGROUP], CLONE_NEWCGROUP, err) < 0)
		return -(int)err->code;
	return 0;
}

static int take_standard(const int given[INSIDE_FDS], struct err *err)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(given[INSIDE_STDIN + fd], fd) < 0)
			return err_errno(err, "take the standard descriptors");
	return 0;
}

/* ------------------------------------------------------------------ becoming */

static int take_ids(const struct account *account, const char *user, struct err *err)
{
	/* EPERM: a single id is mapped, and the groups of the caller cannot be left. */
	if ((setgroups(account->n_groups, account->groups) < 0 && errno != EPERM) ||
		setresgid(account->gid, account->gid, account->gid) < 0 ||
		setresuid(account->uid, account->uid, account->uid) < 0) {
		if (errno != EINVAL)
			return err_errno(err, "become user '%s'", user);
		err_set(err, ERR_UNSUPPORTED,
			"become user '%s': the sandbox has no id %u, or none for its groups", user,
			account->uid);
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

/* The command's environment, with what is known of its user only here: unless it is set. */
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
 * Programs open their standard descriptors again, by /dev/stdout.  A pipe belongs to who made it,
 * and that is nobody inside; files and terminals of the host are not ours to give away.
 */
static void give_pipes(uid_t uid, gid_t gid)
{
	struct statfs fs;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC)
			(void)!fchown(fd, uid, gid);
}

/* In a namespace whose ids are not ours we are nobody at first. */
static int take_root(struct err *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return err_errno(err, "become root of the sandbox");
	return 0;
}

/* Say that we are here and what we try to become, and take a terminal where one is wanted. */
static int report_ready(
	const struct program *program, int master, int slave, int report, struct err *err)
{
	struct inside_report ready = { .step = INSIDE_READY };

	if (program->paths[0])
		snprintf(ready.err.text, sizeof(ready.err.text), "%s", program->paths[0]);
	snprintf(ready.err.hint, sizeof(ready.err.hint), "%s", program->interpreter);
	tell(report, &ready, master);
	return slave < 0 ? 0 : terminal_adopt(slave, err);
}

/* From here on we are what the command is to be, but for the program. */
static int settle(const struct inside_place *place, const struct sandbox_command *command,
	const struct account *account, struct err *err)
{
	const char *cwd = command->cwd ? command->cwd : "/";

	/* Not the keys of our session. */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if (place->host_root && fence_mounts(err) < 0)
		return -(int)err->code;
	if (confine_calls(place->no_net, err) < 0)
		return -(int)err->code;
	if (take_ids(account, command->user ? command->user : "root", err) < 0)
		return -(int)err->code;
	if (protect(err) < 0)
		return -(int)err->code;
	if (chdir(cwd) < 0) /* by-name: inside, where the command's own paths begin */
		return err_errno(err, "go to '%s' in this environment", cwd);
	return 0;
}

static int execute(const struct inside_place *place, const struct sandbox_command *command,
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

/* Returns when the command cannot be: the status that says so. */
static int become(const struct inside_place *place, struct sandbox_command *command, int report,
	struct err *err)
{
	owned(program_release) struct program program = { 0 };
	owned_fd int master = -1, slave = -1;
	owned(account_release) struct account account = { 0 };

	if (place->shifted && take_root(err) < 0)
		return SANDBOX_FAILED;
	(void)umask(COMMAND_UMASK);
	if (command->user && account_find(command->user, &account, err) < 0)
		return SANDBOX_FAILED;
	if (command->user)
		command->env = add_account(command->env, &account);
	if (place->shifted)
		give_pipes(account.uid, account.gid);
	if (command->tty && terminal_make(account.uid, &master, &slave, err) < 0)
		return SANDBOX_FAILED;
	if (settle(place, command, &account, err) < 0)
		return SANDBOX_FAILED;
	int failure =
		command->wrapped ? 0 : program_look(command->argv, command->env, &program, err);
	if (failure)
		return failure;
	if (report_ready(&program, master, slave, report, err) < 0)
		return SANDBOX_FAILED;
	process_die_with(report); /* a change of ids takes it back, so not before */
	return execute(place, command, &program, report, err);
}

/*
 * Whoever is inside can end the command's process, and of a process that ends the kernel shows the
 * descriptors: before it joins the user namespace of the inside, none may be left that leads out.
 */
static int keep_needed(
	const struct inside_place *place, const int given[INSIDE_FDS], struct err *err)
{
	int kept[] = { place->launcher, given[INSIDE_REPORT], given[INSIDE_KEPT],
		place->namespaces[SANDBOX_USER] };

	return process_close_others(kept, (int)(sizeof(kept) / sizeof(kept[0])), err);
}

static int enter(const struct inside_place *place, const int given[INSIDE_FDS],
	struct sandbox_command *command, struct err *err)
{
	struct inherited inherited;
	int user = place->namespaces[SANDBOX_USER];
	int mnt = given[INSIDE_MNT] >= 0 ? given[INSIDE_MNT] : place->namespaces[SANDBOX_MNT];

	if (take_standard(given, err) < 0 ||
		commandfile_read(given[INSIDE_TEXT], command, &inherited, err) < 0)
		return -(int)err->code;
	if (command->wrapped && (!place->wrapper || given[INSIDE_KEPT] < 0))
		return err_set(err, ERR_INVALID, "this sandbox wraps no commands");
	command->kept = given[INSIDE_KEPT];
	process_hide_arguments(&place->arguments, command->argv[0] ? command->argv[0] : "");
	if (place->shifted)
		give_pipes(IDS_FIRST, IDS_FIRST);
	/* Higher limits take rights that we have here, and not below. */
	inherited_apply(&inherited);
	if (join_others(place, mnt, err) < 0 || keep_needed(place, given, err) < 0 ||
		join(user, CLONE_NEWUSER, err) < 0)
		return -(int)err->code;
	close_fd(&user);
	return protect(err);
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
	if (enter(place, given, &command, &err) == 0)
		failure = become(place, &command, report, &err);
	give_up(report, failure, &err);
}
