/*
 * ps - list the processes of the workspace.
 *
 * If the owner of the workspace runs this operation, the list also has each command that the owner
 * has started.  Such a command has a number, which 'kill' accepts.  The command is listed even
 * before it has a process.
 */
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "sandbox/processes.h"

struct listing {
	struct op_context *ctx;
	const struct ps_request *req;
	struct processes_outside *outside;
	size_t n_outside;
	int *first; /* for each command of the owner: pid of its first process, in the sandbox */
	bool *seen; /* for each command of the owner: whether it has a process */
};

static const struct processes_outside *find_inside(
	const struct listing *listing, int inside, unsigned long long tick)
{
	for (size_t i = 0; i < listing->n_outside; i++)
		if (listing->outside[i].inside == inside && listing->outside[i].tick == tick)
			return &listing->outside[i];
	return NULL;
}

static int compare_pid(const void *key, const void *item)
{
	int pid = *(const int *)key, other = ((const struct processes_outside *)item)->pid;

	return pid < other ? -1 : pid > other;
}

static const struct processes_outside *find_pid(const struct listing *listing, int pid)
{
	return listing->n_outside ? bsearch(&pid, listing->outside, listing->n_outside,
					    sizeof(*listing->outside), compare_pid)
				  : NULL;
}

static const struct ps_known *find_known(const struct listing *listing, int inside)
{
	for (size_t i = 0; i < listing->req->n_known; i++)
		if (listing->first[i] == inside)
			return &listing->req->known[i];
	return NULL;
}

/*
 * Find the command that a process belongs to.  *leads becomes true if the process is the command's
 * first process.
 */
static const struct ps_known *find_command(
	const struct listing *listing, const struct processes_outside *one, bool *leads)
{
	*leads = true;
	for (size_t steps = 0; one && steps <= listing->n_outside; steps++) {
		const struct processes_outside *parent = find_pid(listing, one->parent);

		/*
		 * The holder (process 1 of the sandbox) is also the parent of a process whose own
		 * parent has ended.  The command of such a process is not found.
		 */
		if (!parent || parent->inside == 1)
			return find_known(listing, one->inside);
		*leads = false;
		one = parent;
	}
	return NULL;
}

static struct param_texts split_args(struct str args, struct arena *arena)
{
	struct str copy = arena_str(arena, args);
	size_t n = 1;

	for (size_t i = 0; i < copy.len; i++)
		n += !copy.ptr[i];
	struct param_texts texts = { arena_alloc(arena, (n + 1) * sizeof(*texts.list)), n };
	for (size_t i = 0; i < n; i++) {
		texts.list[i] = copy.ptr;
		copy.ptr += strlen(copy.ptr) + 1;
	}
	return texts;
}

/*
 * Whether a process will execute the wanted command but has not done so yet.  Until then, the
 * arguments of the process consist only of the program's name.
 */
static bool is_starting(const struct param_texts *shown, const struct param_texts *wanted)
{
	return shown->count == 1 && wanted->count > 1 && !strcmp(shown->list[0], wanted->list[0]);
}

static int list_process(void *arg, const struct processes_one *one, struct err *err)
{
	struct listing *listing = arg;
	owned(arena_release) struct arena arena = { 0 };
	const struct processes_outside *outside = find_inside(listing, one->pid, one->tick);
	bool leads;
	const struct ps_known *known = find_command(listing, outside, &leads);
	struct ps_row row = {
		.pid = one->pid,
		.host_pid = outside ? outside->pid : 0,
		.uid = one->uid,
		.started = one->started,
		.argv = split_args(one->args, &arena),
		.known = known,
	};

	if (known)
		listing->seen[known - listing->req->known] = true;
	if (known && leads && is_starting(&row.argv, &known->argv))
		row.argv = known->argv;
	return op_emit(listing->ctx, &row, err);
}

static int list_waiting(struct listing *listing, struct err *err)
{
	for (size_t i = 0; i < listing->req->n_known; i++) {
		const struct ps_known *known = &listing->req->known[i];
		struct ps_row row = {
			.started = known->began,
			.argv = known->argv,
			.known = known,
		};
		int r = listing->seen[i] ? 0 : op_emit(listing->ctx, &row, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int do_ps(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct ps_request *req = request;
	struct env *env = ctx->env;
	struct listing listing = {
		.ctx = ctx,
		.req = req,
		.first = arena_alloc(ctx->arena, (req->n_known + 1) * sizeof(int)),
		.seen = arena_alloc(ctx->arena, req->n_known + 1),
	};
	int r = 0;

	if (env->attached) {
		for (size_t i = 0; i < req->n_known; i++)
			listing.first[i] =
				sandbox_command_of(&env->sandbox, (pid_t)req->known[i].task);
		listing.n_outside = processes_outside(&env->sandbox, ctx->arena, &listing.outside);
		r = processes_each(&env->sandbox, list_process, &listing, err);
	}
	return r < 0 ? r : list_waiting(&listing, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct ps_row *item = row;
	char time[40];

	json_number(out, "pid", item->pid > 0, item->pid);
	json_number(out, "host_pid", item->host_pid > 0, item->host_pid);
	json_number(out, "uid", item->pid > 0, item->uid);
	json_text(out, "started", when_iso(item->started, time));
	json_texts(out, "argv", item->argv.list, item->argv.count);
	json_number(out, "process", item->known, item->known ? item->known->number : 0);
	json_text(out, "kind", item->known ? item->known->kind : NULL);
}

const struct op op_ps = {
	.name = "ps",
	.summary = "what runs in the workspace",
	.access = ENV_LOOK,
	.request_size = sizeof(struct ps_request),
	.rows = "processes",
	.row = "{pid:int? host_pid:int? uid:int? started:text argv:[text] "
	       "process:int? kind:text?}",
	.run = do_ps,
	.row_json = row_json,
};
