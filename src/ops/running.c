#include "ops/running.h"

#include <fcntl.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/nodetrace.h"
#include "ops/wardens.h"
#include "sandbox/ids.h"
#include "sandbox/processes.h"
#include "sandbox/scope.h"

#define COMMAND_MAX 255

bool running_needs_child(const struct env *env)
{
	char why[SANDBOX_USER_WHY_MAX];

	return !env->kind->mounted && sandbox_user_choose(why) != SANDBOX_USER_ROOT;
}

int running_leave(struct env *env, struct err *err)
{
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	for (size_t i = 0; i < 2; i++)
		close_fd(&env->locks[i]);
	/*
	 * The attachment in env belongs to the parent process, so this child makes an attachment of
	 * its own.
	 */
	int r = sandbox_attach(run, env->row.name, &env->sandbox, err);
	env->attached = r > 0;
	if (r < 0)
		return r;
	return r > 0 ? sandbox_join(&env->sandbox, err)
		     : sandbox_user_enter(SANDBOX_USER_SINGLE, err);
}

/*
 * Whether the machine's abstract sockets must be blocked.  Without the machine's network, programs
 * cannot reach them anyway.
 */
static bool is_scoped(const struct running_net *net)
{
	return !net->none && !net->host_sockets && scope_probe();
}

static int start_sandbox(
	struct env *env, const struct running_net *net, struct sandbox *out, struct err *err)
{
	struct workspace_mount mount;
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	int r = run;

	if (r >= 0)
		r = workspace_mount(env->workspace, &mount, err);
	if (r < 0)
		return r;
	struct sandbox_plan plan = {
		.run = run,
		.name = env->row.name,
		.no_net = net->none,
		.scoped = is_scoped(net),
		.wrapper = nodetrace_run_wrapped,
		.root = { .dir = workspace_live(env->workspace) },
	};
	if (mount.n_lower)
		plan.root = (struct sandbox_root){
			.dir = env->rootfd,
			.lower = mount.lower,
			.n_lower = mount.n_lower,
			.upper = mount.upper,
			.work = mount.work,
		};
	return sandbox_start(&plan, out, err);
}

static bool has_net(const struct sandbox *sandbox, const struct running_net *net)
{
	return (sandbox->fds[SANDBOX_NET] >= 0) == net->none && sandbox->scoped == is_scoped(net);
}

int running_prepare(struct env *env, const struct running_net *net, struct err *err)
{
	if (!env->attached || has_net(&env->sandbox, net))
		return 0;
	/*
	 * A command that could not be started leaves an empty sandbox for a moment.  Try to end it.
	 */
	bool other_net = (env->sandbox.fds[SANDBOX_NET] >= 0) != net->none;
	if (running_dismiss(env))
		return 0;
	if (other_net) {
		err_set(err, ERR_BUSY, "programs in workspace '%s' have %s network", env->row.name,
			net->none ? "the machine's" : "no");
		return err_hint(err, "end them first, or use the same --net");
	}
	err_set(err, ERR_BUSY, "programs in workspace '%s' %s the machine's sockets", env->row.name,
		net->host_sockets ? "do not have" : "have");
	return err_hint(err, "end them first, or give %s --host-sockets",
		net->host_sockets ? "no" : "this command, too,");
}

int running_take(
	struct env *env, const struct running_net *net, struct sandbox *out, struct err *err)
{
	if (!env->attached)
		return start_sandbox(env, net, out, err);
	*out = env->sandbox;
	env->attached = false;
	return 0;
}

int running_freeze(struct env *env, struct report *report, struct err *err)
{
	struct err why = { 0 };
	int r = env->attached ? sandbox_freeze(&env->sandbox, &why) : 0;

	/*
	 * If programs cannot be frozen, the capture goes on all the same, and the report says so.
	 */
	if (r == -ERR_UNSUPPORTED || r == -ERR_NOT_FOUND) {
		if (r == -ERR_UNSUPPORTED)
			report_add(report, REPORT_CHANGING, STR(""),
				"programs could not be stopped: %s", why.text);
		return 0;
	}
	if (r < 0)
		*err = why;
	return r;
}

/* Let the programs run again.  If this fails, they are thawed when the sandbox is detached. */
void running_thaw(struct env *env)
{
	struct err ignored = { 0 };

	if (env->attached && env->sandbox.frozen)
		(void)sandbox_thaw(&env->sandbox, &ignored);
}

/* Record that no program runs any more: in env, and for later commands in ROOT/run. */
static void note_over(struct env *env)
{
	struct err ignored = { 0 };
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, &ignored);

	if (run >= 0)
		sandbox_note_over(run, env->row.name);
	(void)wardens_wait(env);
	env->attached = false;
	env->running_left = false;
}

int running_kill(struct env *env, struct err *err)
{
	if (!env->attached)
		return 0;
	int r = sandbox_kill(&env->sandbox, env->what, err);
	if (r >= 0)
		note_over(env);
	return r;
}

int running_roll_back(struct env *env, struct err *err)
{
	int r = env->attached ? history_begin_rollback(&env->history, env->row.name, err) : 0;

	return r < 0 ? r : running_kill(env, err);
}

bool running_dismiss(struct env *env)
{
	int r = env->attached ? sandbox_dismiss(&env->sandbox) : 0;

	if (r) {
		env->attached = false;
		env->running_left = r < 0;
	}
	return !env->attached && !env->running_left;
}

int running_end(struct env *env, const char *workspace, struct err *err)
{
	struct sandbox sandbox;
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	int r = run < 0 ? run : sandbox_reach(run, workspace, SANDBOX_LOOK_MS, &sandbox, err);

	return r > 0 ? sandbox_kill(&sandbox, env->what, err) : r;
}

int running_show(struct env *env, struct err *err)
{
	if (!env->attached || !env->kind->mounted)
		return 0;
	int fd = sandbox_open_root(&env->sandbox, err);
	if (fd >= 0)
		workspace_apply_through(env->workspace, fd, env->sandbox.shifted ? IDS_FIRST : 0);
	return fd < 0 ? fd : 0;
}

int running_count(struct env *env, const char *workspace)
{
	struct err ignored = { 0 };
	struct sandbox sandbox;
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, &ignored);

	if (run < 0 || sandbox_reach(run, workspace, SANDBOX_LOOK_MS, &sandbox, &ignored) <= 0)
		return 0;
	int n = sandbox_count(&sandbox, &ignored);
	sandbox_detach(&sandbox);
	/*
	 * Processes cannot be counted without a /proc, or if the holder is stopped.  There is at
	 * least one process, because a holder ends with the last process.
	 */
	return n < 0 ? 1 : n;
}

/* Returns the arguments of a process with blanks between them, cut to COMMAND_MAX bytes. */
static const char *command_of(struct str args, struct arena *arena)
{
	struct str shown = { args.ptr, args.len > COMMAND_MAX ? COMMAND_MAX : args.len };
	char *text = (char *)arena_str(arena, shown).ptr;

	for (size_t i = 0; i < shown.len; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}

struct listing {
	struct arena *arena;
	struct running_process *list;
	size_t n;
};

static int add_process(void *arg, const struct processes_one *one, struct err *err)
{
	struct listing *listing = arg;

	if (listing->n < RUNNING_LIST_MAX)
		listing->list[listing->n] =
			(struct running_process){ one->pid, command_of(one->args, listing->arena) };
	listing->n++;
	return 0;
}

size_t running_list(struct env *env, struct arena *arena, struct running_process **list)
{
	struct listing listing = { .arena = arena };
	struct err ignored = { 0 };

	listing.list = *list = arena_alloc(arena, RUNNING_LIST_MAX * sizeof(**list));
	if (env->attached)
		(void)processes_each(&env->sandbox, add_process, &listing, &ignored);
	return listing.n;
}

struct bindspecs running_binds(struct env *env, struct arena *arena)
{
	struct bindspecs binds = { 0 };
	struct err ignored = { 0 };

	if (env->attached && !env->sandbox.mute.code)
		(void)processes_binds(&env->sandbox, arena, &binds, &ignored);
	return binds;
}
