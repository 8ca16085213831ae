/*
 * tournament - run candidates in forks of one node, and keep the best one that passes the test.
 *
 * The workspaces of all candidates are forked first.  Then each candidate runs in a child
 * (candidate.c), and meanwhile no lock is held.  At the end the losers are killed, and the winner
 * is tagged and checked out.  The workspaces are removed after the checkout, so that the checkout
 * need not wait for the removal.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "core/child.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/candidate.h"
#include "ops/exec.h"
#include "ops/fork.h"
#include "ops/shape.h"
#include "ops/table.h"
#include "ops/tournamentdir.h"

#define COMMAND_MAX 131071 /* maximum length of one argument in bytes, a limit of the kernel */
#define TICK_MS 200        /* time between two calls of op_context.watch */
#define WINNER_TAG "winner"

static const struct param params[] = {
	PARAM(tournament_request, base, TEXT, 0, "the node to begin with; HEAD unless given"),
	PARAM(tournament_request, test, TEXT, PARAM_REQUIRED,
		"command line that tells whether a candidate passes"),
	PARAM(tournament_request, score, TEXT, 0,
		"command line that prints how good a candidate is that has passed"),
	PARAM(tournament_request, jobs, COUNT, 0,
		"how many candidates run at a time; one per processor unless given"),
	PARAM(tournament_request, timeout, COUNT, 0,
		"seconds for a candidate and its test together"),
	PARAM(tournament_request, all, FLAG, 0,
		"run all candidates to their end and choose the best"),
	PARAM(tournament_request, no_adopt, FLAG, 0, "tag the winner, but do not check it out"),
	PARAM(tournament_request, test_from_base, FLAG, 0,
		"take the files of the test from the base: the default"),
	PARAM(tournament_request, test_in_candidate, FLAG, 0,
		"run the test as the candidate left it"),
	PARAM(tournament_request, test_path, TEXTS, 0,
		"a file or directory that belongs to the test, too"),
	PARAM(tournament_request, log_limit, BYTES, 0, "bytes of one log; 16M unless given"),
	PARAM(tournament_request, candidates, TEXTS, PARAM_REQUIRED | PARAM_AFTER_DASHES,
		"command lines, one for each candidate"),
	{ 0 },
};

struct tournament {
	struct op_context *ctx;
	const struct tournament_request *req;
	struct tournament_result *result;
	struct tournamentdir dir;
	struct candidate_plan plan;
	struct candidate *candidates;
	const struct tournament_row **rows;
	size_t n, started, running, jobs;
	struct candidate *winner;
	int signals;
	int signal; /* the signal that ended the tournament; 0: none */
	sigset_t mask_before;
};

/* ------------------------------------------------------------------- request */

static int check_line(const char *what, size_t number, const char *line, struct err *err)
{
	char which[32] = "";

	if (number)
		snprintf(which, sizeof(which), " %zu", number);
	if (!line[strspn(line, " \t\n")])
		return err_set(err, ERR_USAGE, "tournament: %s%s is empty", what, which);
	if (strlen(line) > COMMAND_MAX)
		return err_set(err, ERR_USAGE, "tournament: %s%s is longer than %d bytes", what,
			which, COMMAND_MAX);
	return 0;
}

static int check_request(const struct tournament_request *req, struct err *err)
{
	int r = check_line("--test", 0, req->test, err);

	if (req->candidates.count > TOURNAMENT_CANDIDATES_MAX)
		return err_set(err, ERR_USAGE, "tournament: at most %d candidates, not %zu",
			TOURNAMENT_CANDIDATES_MAX, req->candidates.count);
	if (req->timeout > EXEC_TIMEOUT_MAX)
		return err_set(err, ERR_USAGE, "tournament: --timeout is at most %lld seconds",
			(long long)EXEC_TIMEOUT_MAX);
	if (req->test_from_base && req->test_in_candidate)
		return err_set(err, ERR_USAGE,
			"tournament: --test-from-base and --test-in-candidate exclude each other");
	if (req->log_limit &&
		(req->log_limit < TOURNAMENT_LOG_MIN || req->log_limit > TOURNAMENT_LOG_MAX))
		return err_set(err, ERR_USAGE, "tournament: --log-limit is from 4K to 1G");
	if (r >= 0 && req->score)
		r = check_line("--score", 0, req->score, err);
	for (size_t i = 0; r >= 0 && i < req->candidates.count; i++)
		r = check_line("candidate", i + 1, req->candidates.list[i], err);
	return r;
}

static size_t count_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : (size_t)n;
}

/* ------------------------------------------------------------------- signals */

/*
 * Block the signals that would end this process, and receive them through a descriptor.  Ignored
 * signals stay ignored.
 */
static int block_signals(struct tournament *t, struct err *err)
{
	sigset_t set;

	child_end_signals(&set);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signals < 0)
		return err_errno(err, "signalfd");
	/*
	 * Block SIGPIPE, because the workspaces must be removed even if no process reads the output
	 * any more.
	 */
	sigaddset(&set, SIGPIPE);
	(void)sigprocmask(SIG_BLOCK, &set, &t->mask_before);
	return 0;
}

/* Whether a signal that ends the tournament has come. */
static bool is_stopped(void *arg)
{
	struct tournament *t = arg;
	struct signalfd_siginfo info;

	while (read(t->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		t->signal = t->signal ? t->signal : (int)info.ssi_signo;
	return t->signal;
}

static void restore_signals(struct tournament *t)
{
	if (t->signals < 0)
		return;
	/* Drop a signal that came too late, so that the caller gets the result. */
	(void)is_stopped(t);
	(void)sigprocmask(SIG_SETMASK, &t->mask_before, NULL);
	close_fd(&t->signals);
}

/* --------------------------------------------------------------- preparation */

static void name_candidates(struct tournament *t, struct fork_row *rows)
{
	struct arena *arena = t->ctx->arena;

	for (size_t i = 0; i < t->n; i++) {
		struct candidate *candidate = &t->candidates[i];

		candidate->states = candidate->output = -1;
		candidate->log = BOUNDLOG_INIT;
		candidate->workspace = tournamentdir_workspace(&t->dir, i + 1, arena);
		candidate->row = (struct tournament_row){
			.name = arena_printf(arena, "candidate-%zu", i + 1),
			.command = t->req->candidates.list[i],
			.judge = &t->plan.judge,
		};
		candidate->row.log =
			tournamentdir_log(&t->dir, t->ctx->env, candidate->row.name, arena);
		rows[i].name = candidate->workspace;
		t->rows[i] = &candidate->row;
	}
}

static int find_judge(struct tournament *t, struct err *err)
{
	const struct judge_search search = {
		.base = t->result->base,
		.lines = { t->req->test, t->req->score },
		.given = &t->req->test_path,
	};

	t->plan.base = t->result->base;
	return judge_find(t->ctx, &search, &t->plan.judge, err);
}

/* Take a number for the tournament, and fork a workspace for each candidate. */
static int fork_workspaces(struct tournament *t, struct err *err)
{
	struct op_context *ctx = t->ctx;
	struct fork_row *rows = arena_alloc(ctx->arena, t->n * sizeof(*rows));
	struct fork_plan forks = {
		.rows = rows,
		.n = t->n,
		.passing = true,
		.stop = is_stopped,
		.arg = t,
	};
	struct err ignored = { 0 };
	int r = fork_base(ctx, t->req->base, &forks.base, err);

	if (r < 0)
		return r;
	memcpy(t->result->base, forks.base.id, sizeof(t->result->base));
	r = find_judge(t, err);
	if (r < 0)
		return r;
	/* The tournament starts even if the sweep fails. */
	(void)tournamentdir_sweep(ctx, &ignored);
	r = tournamentdir_open(ctx, &t->dir, err);
	if (r < 0)
		return r;
	t->plan.logs = t->dir.logs;
	forks.reason = t->dir.reason;
	name_candidates(t, rows);
	return fork_make(ctx, &forks, err);
}

/*
 * Open the environment, call the function 'work', and close the environment.  The environment is
 * not open while candidates run.
 */
static int with_env(
	struct tournament *t, int (*work)(struct tournament *t, struct err *err), struct err *err)
{
	struct op_context *ctx = t->ctx;
	struct env env;
	int r = env_open(&env, ctx->root, ctx->workspace, ENV_FORK, "tournament", ctx->report, err);

	if (r < 0)
		return r;
	ctx->env = &env;
	r = work(t, err);
	ctx->env = NULL;
	env_close(&env);
	return r;
}

/* --------------------------------------------------------------- competition */

static void show_progress(struct tournament *t)
{
	struct tournament_watch state = { t->rows, t->n, when_monotonic() };

	if (t->ctx->watch)
		t->ctx->watch(t->ctx->arg, &state);
}

static int emit_row(struct tournament *t, struct candidate *candidate, struct err *err)
{
	if (candidate->emitted)
		return 0;
	candidate->emitted = true;
	return op_emit(t->ctx, &candidate->row, err);
}

/*
 * Cancel all candidates but the winner.  Kill all the others before waiting for the first of them.
 */
static void cancel_others(struct tournament *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (&t->candidates[i] != t->winner)
			candidate_kill(&t->candidates[i]);
	for (size_t i = 0; i < t->n; i++) {
		struct candidate *candidate = &t->candidates[i];

		if (candidate == t->winner || candidate->row.state.stage == TOURNAMENT_ENDED)
			continue;
		if (candidate->pid)
			t->running--;
		candidate_reap(candidate);
	}
	t->started = t->n;
}

static int handle_state(struct tournament *t, struct candidate *candidate, struct err *err)
{
	const struct tournament_state *state = &candidate->row.state;
	bool ended = candidate_read_state(candidate) == 0;

	if (ended)
		t->running--;
	if (state->unrunnable) {
		*err = state->failure;
		err_context(err, "run the candidates");
		return err_hint(err, "commands are run by the environment's own /bin/sh");
	}
	if (state->passed && !t->winner && !t->req->all) {
		t->winner = candidate;
		cancel_others(t);
	}
	return ended && !t->ctx->in_order ? emit_row(t, candidate, err) : 0;
}

static int wait_for_candidates(struct tournament *t, struct err *err)
{
	struct pollfd ready[2 * TOURNAMENT_CANDIDATES_MAX + 1];
	int r = 0;

	ready[2 * t->n] = (struct pollfd){ .fd = t->signals, .events = POLLIN };
	for (size_t i = 0; i < t->n; i++) {
		ready[i] = (struct pollfd){ .fd = t->candidates[i].states, .events = POLLIN };
		ready[t->n + i] =
			(struct pollfd){ .fd = t->candidates[i].output, .events = POLLIN };
	}
	if (poll(ready, 2 * t->n + 1, t->ctx->watch ? TICK_MS : -1) < 0)
		return errno == EINTR ? 0 : err_errno(err, "wait for the candidates");
	for (size_t i = 0; i < t->n; i++)
		if (ready[t->n + i].revents)
			candidate_read_output(&t->candidates[i]);
	/*
	 * Handle the candidates in their given order: if two of them have passed meanwhile, the
	 * first one is the winner.
	 */
	for (size_t i = 0; r >= 0 && i < t->n; i++)
		if (ready[i].revents && t->candidates[i].pid)
			r = handle_state(t, &t->candidates[i], err);
	return r;
}

static int run_candidates(struct tournament *t, struct err *err)
{
	int r = 0;

	while (r >= 0 && !is_stopped(t)) {
		while (r >= 0 && t->started < t->n && t->running < t->jobs) {
			r = candidate_start(&t->candidates[t->started], &t->plan, err);
			t->running += r >= 0;
			t->started += r >= 0;
		}
		show_progress(t);
		if (r < 0 || !t->running)
			break;
		r = wait_for_candidates(t, err);
	}
	if (r < 0 || t->signal) {
		t->winner = NULL;
		cancel_others(t);
	}
	if (t->ctx->watch)
		t->ctx->watch(t->ctx->arg, NULL);
	return r;
}

/* ---------------------------------------------------------------- the result */

static bool is_better(const struct tournament_state *a, const struct tournament_state *b)
{
	return a->scored && (!b->scored || a->score > b->score);
}

/*
 * Returns the best candidate that has passed.  If several candidates have the best score, the first
 * of them is returned.
 */
static struct candidate *find_best(struct tournament *t)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < t->n; i++) {
		struct candidate *candidate = &t->candidates[i];
		const struct tournament_state *state = &candidate->row.state;

		if (state->passed && (!best || is_better(state, &best->row.state)))
			best = candidate;
	}
	return best;
}

/*
 * Find the node of a candidate.  A child that was killed may have made a node that it has not
 * reported.
 */
static int find_node(struct tournament *t, struct candidate *candidate, struct err *err)
{
	struct history_workspace row;
	char *node = candidate->row.state.node;
	int r;

	if (node[0] || !candidate->row.began)
		return 0;
	r = history_workspace(
		&t->ctx->env->history, candidate->workspace, t->ctx->arena, &row, err);
	if (r > 0 && strcmp(row.head, t->result->base))
		memcpy(node, row.head, NODE_ID);
	return r < 0 ? r : 0;
}

static int emit_all_rows(struct tournament *t, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < t->n; i++)
		r = emit_row(t, &t->candidates[i], err);
	return r;
}

static int tag_winner(struct tournament *t, struct err *err)
{
	struct tournament_result *result = t->result;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < t->n; i++)
		r = find_node(t, &t->candidates[i], err);
	if (r >= 0 && t->winner) {
		const struct tournament_row *row = &t->winner->row;

		r = history_tag_set(&t->ctx->env->history, WINNER_TAG, row->state.node, err);
		result->winner = row->name;
		memcpy(result->winner_node, row->state.node, sizeof(result->winner_node));
	}
	return r < 0 ? r : emit_all_rows(t, err);
}

/*
 * Check out the winner as the operation 'checkout' does: running programs are killed, and
 * uncaptured work is saved in a safety node.
 */
static void check_out_winner(struct tournament *t)
{
	struct tournament_result *result = t->result;
	struct checkout_request req = { .ref = result->winner_node };

	if (op_run(&op_checkout, t->ctx, &req, &result->moved, &result->why) >= 0)
		result->adopted = true;
	else
		err_hint(&result->why, "'strata checkout " WINNER_TAG "' does it");
}

static int remove_workspaces(struct tournament *t, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct err why = { 0 };

		if (t->candidates[i].workspace &&
			tournamentdir_remove(
				t->ctx, t->candidates[i].workspace, ENV_WAIT_MS, &why) < 0) {
			*err = why;
			r = -(int)why.code;
		}
	}
	return r;
}

static int run_all_phases(struct tournament *t, struct err *err)
{
	int r = with_env(t, fork_workspaces, err);

	if (r >= 0)
		r = run_candidates(t, err);
	if (r >= 0 && !t->signal && t->req->all)
		t->winner = find_best(t);
	if (r >= 0)
		r = with_env(t, tag_winner, err);
	if (r >= 0 && t->winner && !t->req->no_adopt)
		check_out_winner(t);
	/*
	 * If a signal came before the first candidate could start, all candidates are cancelled
	 * here.
	 */
	if (r < 0 && t->signal && t->candidates[0].workspace) {
		cancel_others(t);
		(void)emit_all_rows(t, err);
	}
	/* If the tournament has a number, its workspaces are removed even after a failure. */
	if (t->dir.lock >= 0)
		(void)with_env(t, remove_workspaces, &t->result->left);
	tournamentdir_close(&t->dir);
	if (!t->signal)
		return r;
	t->result->signal = t->signal;
	return 0;
}

static int do_tournament(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct tournament_request *req = request;
	struct tournament t = {
		.ctx = ctx,
		.req = req,
		.result = out,
		.dir = TOURNAMENTDIR_INIT,
		.n = req->candidates.count,
		.jobs = req->jobs ? (size_t)req->jobs : count_processors(),
		.signals = -1,
	};
	int r = check_request(req, err);

	if (r < 0)
		return r;
	t.result->report = ctx->report;
	t.candidates = arena_alloc(ctx->arena, t.n * sizeof(*t.candidates));
	t.rows = arena_alloc(ctx->arena, t.n * sizeof(*t.rows));
	r = block_signals(&t, err);
	if (r >= 0) {
		t.plan = (struct candidate_plan){
			.root = ctx->root,
			.test = req->test,
			.score = req->score,
			.timeout_ms = req->timeout * 1000,
			.test_in_candidate = req->test_in_candidate,
			.log_limit = req->log_limit ? req->log_limit : TOURNAMENT_LOG_LIMIT,
			.mask = t.mask_before,
		};
		r = run_all_phases(&t, err);
	}
	restore_signals(&t);
	return r;
}

/* ---------------------------------------------------------------------- JSON */

static void row_json(struct json *out, const void *item)
{
	const struct tournament_row *row = item;
	const struct tournament_state *state = &row->state;

	json_text(out, "name", row->name);
	json_text(out, "command", row->command);
	json_text(out, "node", state->node[0] ? state->node : NULL);
	json_number(out, "exit_status", state->ran, state->exit_status);
	json_number(out, "test_exit", state->tested, state->test_exit);
	if (state->scored)
		json_double(out, "score", state->score);
	else
		json_none(out, "score");
	json_double(out, "seconds", (double)row->duration / WHEN_SECOND);
	json_bool(out, "cancelled", row->cancelled);
	json_bool(out, "passed", state->passed);
	json_bool(out, "timed_out", state->timed_out);
	json_open(out, "judge_changed", '[');
	for (size_t i = 0; i < row->judge->n; i++)
		if (state->judge_changed & UINT32_C(1) << i)
			json_text(out, NULL, row->judge->paths[i]);
	json_close(out);
	json_text(out, "log", row->began ? row->log : NULL);
	json_text(out, "error", state->failure.code ? state->failure.text : NULL);
}

static void result_json(struct json *out, const void *result)
{
	const struct tournament_result *res = result;

	json_text(out, "base", res->base[0] ? res->base : NULL);
	json_text(out, "winner", res->winner);
	json_text(out, "winner_node", res->winner ? res->winner_node : NULL);
	json_bool(out, "adopted", res->adopted);
	json_text(out, "safety", res->moved.safety ? res->moved.saved : NULL);
	shape_report(out, res->report);
}

const struct op op_tournament = {
	.name = "tournament",
	.summary = "race candidates in forks and keep the winner",
	.advice = "Runs each candidate command on a fork of its own, tests the results, and "
		  "makes the winner HEAD. Without a winner nothing changes.",
	.flags = OP_NO_ENV | OP_WRITES | OP_STOPS,
	.params = params,
	.request_size = sizeof(struct tournament_request),
	.result_size = sizeof(struct tournament_result),
	.rows = "candidates",
	.row = "{name:text command:text node:text? exit_status:int? "
	       "test_exit:int? score:num? seconds:num cancelled:bool "
	       "passed:bool timed_out:bool judge_changed:[text] log:text? "
	       "error:text?}",
	.result = "base:text? winner:text? winner_node:text? adopted:bool "
		  "safety:text? " SHAPE_REPORT,
	.run = do_tournament,
	.row_json = row_json,
	.result_json = result_json,
};
