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

#include "core/at.h"
#include "core/limits.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/account.h"
#include "sandbox/bindlist.h"
#include "sandbox/bindmounts.h"
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
		.number = failure,
		.err = *err,
	};

	tell(report, &message, -1);
	_exit(failure);
}

/* ------------------------------------------------------------------- joining */

/* Mounts for this command alone, noted where others can see which files of the host it has. */
static int join_bound(
	const struct sandbox *sandbox, const struct bindspecs *binds, int self, struct err *err)
{
	if (unshare(CLONE_NEWNS) < 0)
		return err_errno(err, "copy the sandbox's mounts");
	return bindlist_add(sandbox->fds[SANDBOX_BINDS], self, binds, err);
}

/* Returns how many mount points were made. */
static int join(
	const struct sandbox *sandbox, const struct bindspecs *binds, int self, struct err *err)
{
	/*
	 * The PID and the network namespace belong to the user namespace above, so
	 * before the one below; the rest belongs to that.
	 */
	static const struct {
		enum sandbox_fd fd;
		int type;
	} steps[] = {
		{ SANDBOX_OUTER, CLONE_NEWUSER },
		{ SANDBOX_PID, CLONE_NEWPID },
		{ SANDBOX_NET, CLONE_NEWNET },
		{ SANDBOX_USER, CLONE_NEWUSER },
		{ SANDBOX_MNT, CLONE_NEWNS },
		{ SANDBOX_IPC, CLONE_NEWIPC },
		{ SANDBOX_UTS, CLONE_NEWUTS },
	};

	int made = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int fd = sandbox->fds[steps[i].fd];

		/* Above the user namespace of the inside, so that the kernel locks them below. */
		if (binds->n && steps[i].fd == SANDBOX_USER)
			made = bindmounts_enter(binds, sandbox->fds[SANDBOX_MNT],
				sandbox->shifted ? sandbox->fds[SANDBOX_USER] : -1, err);
		if (made < 0)
			return made;
		if (binds->n && steps[i].fd == SANDBOX_MNT) {
			if (join_bound(sandbox, binds, self, err) < 0)
				return -(int)err->code;
			continue;
		}
		if (fd < 0 || setns(fd, steps[i].type) == 0)
			continue;
		/* EINVAL: we are in that one already. */
		if (steps[i].fd != SANDBOX_OUTER || errno != EINVAL)
			return err_errno(err, "join the sandbox");
	}
	return made;
}

static const char *const *copy_list(const char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	const char **copy = mem_alloc((n + 1) * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(list[i]);
	copy[n] = NULL;
	return copy;
}

static const char *copy_text(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

/* The command's texts may lie where our arguments are, which are about to be wiped. */
static void copy_texts(struct sandbox_command *command)
{
	command->argv = copy_list(command->argv);
	command->env = copy_list(command->env);
	command->cwd = copy_text(command->cwd);
	command->user = copy_text(command->user);
	command->binds = bindspec_copy(&command->binds);
}

/* Nothing of ours may be seen by who is inside: neither memory nor arguments. */
static int hide(struct sandbox_command *command, int self, struct err *err)
{
	copy_texts(command);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(err, "protect our memory");
	return process_hide_arguments(self, command->argv[0] ? command->argv[0] : "", err);
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
	struct inside_report ready = { .step = INSIDE_READY, .number = (int32_t)getpid() };

	if (program->paths[0])
		snprintf(ready.err.text, sizeof(ready.err.text), "%s", program->paths[0]);
	snprintf(ready.err.hint, sizeof(ready.err.hint), "%s", program->interpreter);
	tell(report, &ready, master);
	return slave < 0 ? 0 : terminal_adopt(slave, err);
}

/* From here on we are what the command is to be, but for the program. */
static int settle(const struct sandbox *sandbox, const struct sandbox_command *command,
	const struct account *account, struct err *err)
{
	const char *cwd = command->cwd ? command->cwd : "/";

	/* Not the keys of our session. */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if (sandbox->host_root && fence_mounts(err) < 0)
		return -(int)err->code;
	if (confine_calls(sandbox->fds[SANDBOX_NET] >= 0, err) < 0)
		return -(int)err->code;
	if (take_ids(account, command->user ? command->user : "root", err) < 0)
		return -(int)err->code;
	/* A change of ids may have made us dumpable again: fs.suid_dumpable decides. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(err, "protect our memory");
	if (chdir(cwd) < 0) /* by-name: inside, where the command's own paths begin */
		return err_errno(err, "go to '%s' in this environment", cwd);
	return 0;
}

static int execute(const struct sandbox_command *command, const struct program *program,
	int launcher, int report, struct err *err)
{
	const struct launcher_command launched = {
		.paths = program->paths,
		.argv = command->argv,
		.env = command->env,
		.socket = report,
		.size = sizeof(struct inside_report),
	};

	if (command->become)
		return command->become(command, report, err);
	(void)launcher_execute(launcher, &launched, err);
	return SANDBOX_FAILED;
}

/* Returns when the command cannot be: the status that says so. */
static int become(const struct sandbox *sandbox, struct sandbox_command *command, int launcher,
	int report, struct err *err)
{
	owned(program_release) struct program program = { 0 };
	owned_fd int master = -1, slave = -1;
	owned(account_release) struct account account = { 0 };

	/* From within that namespace we could not have been put into the cgroup. */
	if (setns(sandbox->fds[SANDBOX_CGROUP], CLONE_NEWCGROUP) < 0) {
		err_errno(err, "join the sandbox");
		return SANDBOX_FAILED;
	}
	if (sandbox->shifted && take_root(err) < 0)
		return SANDBOX_FAILED;
	(void)setsid();
	process_reset_signals();
	limits_restore();
	(void)umask(COMMAND_UMASK);
	if (command->user && account_find(command->user, &account, err) < 0)
		return SANDBOX_FAILED;
	if (command->user)
		command->env = add_account(command->env, &account);
	if (sandbox->shifted)
		give_pipes(account.uid, account.gid);
	if (command->tty && terminal_make(account.uid, &master, &slave, err) < 0)
		return SANDBOX_FAILED;
	if (settle(sandbox, command, &account, err) < 0)
		return SANDBOX_FAILED;
	int failure =
		command->become ? 0 : program_look(command->argv, command->env, &program, err);
	if (failure)
		return failure;
	if (report_ready(&program, master, slave, report, err) < 0)
		return SANDBOX_FAILED;
	process_die_with(report); /* a change of ids takes it back, so not before */
	return execute(command, &program, launcher, report, err);
}

/* In the cgroup, where there is one that we may put it into from ours. */
static pid_t make_second(int cgroup, bool *strayed)
{
	struct clone_args args = { .flags = CLONE_PARENT };
	struct clone_args grouped = {
		.flags = CLONE_PARENT | CLONE_INTO_CGROUP,
		.cgroup = (uint64_t)cgroup,
	};
	pid_t pid = cgroup < 0 ? -1 : process_clone(&grouped);

	*strayed = cgroup >= 0 && pid < 0;
	return pid < 0 ? process_clone(&args) : pid;
}

/*
 * Whoever is inside can end the command's process, and of a process that ends the kernel shows the
 * descriptors: before it is made, none may be left that leads out.
 */
static int keep_needed(const struct sandbox *sandbox, const struct sandbox_command *command,
	int launcher, int report, struct err *err)
{
	int kept[] = { launcher, report, command->kept, sandbox->fds[SANDBOX_JOBS],
		sandbox->fds[SANDBOX_CGROUP] };

	return process_close_others(kept, (int)(sizeof(kept) / sizeof(kept[0])), err);
}

_Noreturn void inside_main(
	const struct sandbox *sandbox, const struct sandbox_command *wanted, int report)
{
	struct sandbox_command command = *wanted;
	struct inside_report made = { .step = INSIDE_MADE };
	struct err err = { 0 };
	int cgroup = sandbox->fds[SANDBOX_JOBS];

	process_die_with(report);
	if (sandbox->shifted)
		give_pipes(IDS_FIRST, IDS_FIRST);
	owned_fd int self = at_open_given("/proc/self", O_PATH | O_DIRECTORY, 0, &err);
	int launcher = self < 0 ? -1 : launcher_open(&err);
	if (launcher < 0 || hide(&command, self, &err) < 0)
		give_up(report, SANDBOX_FAILED, &err);
	made.points_made = join(sandbox, &command.binds, self, &err);
	if (made.points_made < 0 || keep_needed(sandbox, &command, launcher, report, &err) < 0)
		give_up(report, SANDBOX_FAILED, &err);

	pid_t pid = make_second(cgroup, &made.strayed);
	if (pid == 0) {
		close_fd(&cgroup);
		give_up(report, become(sandbox, &command, launcher, report, &err), &err);
	}
	if (pid < 0) {
		err_errno(&err, "make a process in the sandbox");
		give_up(report, SANDBOX_FAILED, &err);
	}
	made.number = pid;
	tell(report, &made, -1);
	_exit(0);
}
