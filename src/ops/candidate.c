#include "ops/candidate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/exec.h"
#include "ops/table.h"

#define SCORE_TEXT_MAX 4096      /* bytes of the score command's output that are parsed */
#define SCORE_FILE_MAX (1 << 20) /* maximum number of bytes that the score command can print */
#define READ_SIZE 65536
#define READS_MAX 16    /* number of reads from one pipe before the other pipes are read */
#define MESSAGE_MAX 500 /* bytes of the command in a message; the node has the whole command */

/* The data of the child that runs the candidate. */
struct runner {
	const struct candidate_plan *plan;
	const struct tournament_row *row;
	struct tournament_state state;
	struct op_context ctx;
	int socket;
	int64_t began;
};

static void report_stage(struct runner *runner, enum tournament_stage stage)
{
	runner->state.stage = stage;
	/* The write fails only if the tournament has ended.  The kernel then kills this child. */
	(void)!write(runner->socket, &runner->state, sizeof(runner->state));
}

/* ---------------------------------------------------------------- one command */

/* Log how a command ended.  Standard error leads to the log. */
static void log_end(const char *what, const struct exec_result *result)
{
	const struct sandbox_result *sandbox = &result->sandbox;

	if (sandbox->failure)
		dprintf(STDERR_FILENO, "== %s could not be run: %s\n", what, result->why.text);
	else
		dprintf(STDERR_FILENO, "== %s ended with status %d after %.2f s%s\n", what,
			sandbox->status, (double)sandbox->duration_ns / WHEN_SECOND,
			sandbox->timed_out ? ": timed out" : "");
}

static void log_report(const struct report *report)
{
	for (size_t i = 0; i < report->n_items; i++)
		dprintf(STDERR_FILENO, "== %s '%.*s': %s\n",
			report_kind_name(report->items[i].kind), (int)report->items[i].path.len,
			report->items[i].path.ptr, report->items[i].what);
}

/*
 * Run a command line in the same way as the operation 'exec'.  Returns 0 even if the command could
 * not be started, for example because there is no shell.  In that case, result->sandbox.failure is
 * set.
 */
static int run_line(struct runner *runner, const char *what, const char *line, int64_t timeout_ms,
	const char *message, struct exec_result *result)
{
	struct exec_request req = {
		.shell = line,
		.timeout_ms = timeout_ms,
		.no_commit = !message,
		.message = message,
		.allow_empty = true,
	};

	dprintf(STDERR_FILENO, "== %s: %s\n", what, line);
	*result = (struct exec_result){ 0 };
	int r = exec_run(&runner->ctx, &req, result, &runner->state.failure);
	if (r < 0)
		dprintf(STDERR_FILENO, "== %s: %s\n", what, runner->state.failure.text);
	else
		log_end(what, result);
	return r;
}

static int status_of(const struct exec_result *result)
{
	return result->sandbox.failure ? result->sandbox.failure : result->sandbox.status;
}

/*
 * Returns how many ms are left for the candidate and its test, at least 1.  Returns 0 if there is
 * no limit.
 */
static int64_t time_left(const struct runner *runner)
{
	int64_t limit = runner->plan->timeout_ms;
	int64_t left = limit - (when_monotonic() - runner->began) / 1000000;

	return !limit ? 0 : left > 1 ? left : 1;
}

/* ----------------------------------------------------------------- the stages */

/* Make the message of a node: the name of the candidate, and as much of the command as fits. */
static const char *make_message(struct runner *runner)
{
	const char *command = runner->row->command;
	size_t len = strlen(command), cut = len < MESSAGE_MAX ? len : MESSAGE_MAX;

	/* Do not cut a UTF-8 character in two. */
	while (cut && cut < len && ((unsigned char)command[cut] & 0xc0) == 0x80)
		cut--;
	return arena_printf(runner->ctx.arena, "%s: %.*s%s", runner->row->name, (int)cut, command,
		cut < len ? "..." : "");
}

/* Run the candidate and make a node of its work.  Returns true if the candidate is to be tested. */
static bool run_candidate(struct runner *runner)
{
	struct tournament_state *state = &runner->state;
	struct exec_result result;

	report_stage(runner, TOURNAMENT_RUNNING);
	if (run_line(runner, "candidate", runner->row->command, time_left(runner),
		    make_message(runner), &result) < 0)
		return false;
	if (result.sandbox.failure) {
		state->unrunnable = true;
		state->failure = result.why;
		return false;
	}
	state->ran = true;
	state->exit_status = result.sandbox.status;
	state->timed_out = result.sandbox.timed_out;
	log_report(runner->ctx.report);
	if (result.uncommitted) {
		err_set(&state->failure, ERR_SYSTEM, "what it did is in no node: %s",
			result.uncommitted);
		dprintf(STDERR_FILENO, "== candidate: %s\n", state->failure.text);
		return false;
	}
	memcpy(state->node, result.node.node->id, sizeof(state->node));
	return !state->exit_status && !state->timed_out;
}

/* Find the test's files that the candidate has changed. */
static int find_changed_tests(struct runner *runner, struct err *err)
{
	const struct judge *judge = &runner->plan->judge;
	struct op_context *ctx = &runner->ctx;
	struct node base, node;
	struct env env;
	int r = env_open(&env, ctx->root, ctx->workspace, ENV_READ, "tournament", ctx->report, err);

	if (r < 0)
		return r;
	r = history_get(&env.history, runner->plan->base, ctx->arena, &base, err);
	if (r > 0)
		r = history_get(&env.history, runner->state.node, ctx->arena, &node, err);
	if (r == 0)
		r = err_set(err, ERR_BUSY, "a node of the tournament was deleted meanwhile");
	for (size_t i = 0; r >= 0 && i < judge->n; i++) {
		struct str path = str_of(judge->paths[i]);
		struct treediff_options options = { .paths = &path, .n_paths = 1 };
		struct treediff_counts counts = { 0 };

		r = treediff_run(
			env.store, &base.tree, &node.tree, &options, NULL, NULL, &counts, err);
		if (counts.added || counts.modified || counts.deleted)
			runner->state.judge_changed |= UINT32_C(1) << i;
	}
	env_close(&env);
	return r < 0 ? r : 0;
}

/*
 * Restore the files of the test from the base, because a candidate must not change its own test.
 * The node of the candidate was made before this, so the node keeps the candidate's version of
 * these files.
 */
static int restore_tests(struct runner *runner, struct err *err)
{
	const struct candidate_plan *plan = runner->plan;
	struct restore_request req = {
		.ref = plan->base,
		.paths = { (const char **)plan->judge.paths, plan->judge.n },
	};
	struct restore_result result = { 0 };
	int r = plan->judge.n ? find_changed_tests(runner, err) : 0;

	if (r < 0 || !runner->state.judge_changed || plan->test_in_candidate)
		return r;
	for (size_t i = 0; i < plan->judge.n; i++)
		if (runner->state.judge_changed & UINT32_C(1) << i)
			dprintf(STDERR_FILENO,
				"== '%s' was changed; the test is run with that of the base\n",
				plan->judge.paths[i]);
	return op_run(&op_restore, &runner->ctx, &req, &result, err);
}

static bool run_test(struct runner *runner)
{
	struct tournament_state *state = &runner->state;
	struct exec_result result;

	report_stage(runner, TOURNAMENT_TESTING);
	if (restore_tests(runner, &state->failure) < 0) {
		err_context(&state->failure, "take the test from the base");
		dprintf(STDERR_FILENO, "== test: %s\n", state->failure.text);
		return false;
	}
	if (run_line(runner, "test", runner->plan->test, time_left(runner), NULL, &result) < 0)
		return false;
	state->tested = true;
	state->test_exit = status_of(&result);
	state->timed_out = result.sandbox.timed_out;
	state->passed = !state->test_exit && !state->timed_out;
	return state->passed;
}

/* Parse a score.  The first line must be one decimal number.  Only blanks may stand around it. */
static bool parse_score(const char *text, double *score)
{
	static const char blanks[] = " \t\r";
	char *end;

	text += strspn(text, blanks);
	end = (char *)text + strspn(text, "+-.0123456789eE");
	end += strspn(end, blanks);
	if (end == text || (*end && *end != '\n'))
		return false;
	double number = strtod(text, &end);
	end += strspn(end, blanks);
	if (end == text || !isfinite(number) || (*end && *end != '\n'))
		return false;
	*score = number;
	return true;
}

/*
 * Make a file in memory with a fixed size, so that it cannot grow, however much is printed to it.
 */
static int make_score_file(void)
{
	owned_fd int fd = memfd_create("score", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, SCORE_FILE_MAX) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return -1;
	return take_fd(&fd);
}

/* Returns the number of printed bytes, at most SCORE_TEXT_MAX. */
static size_t printed_length(int fd)
{
	off_t end = lseek(fd, 0, SEEK_CUR);

	return end < 0 ? 0 : end < SCORE_TEXT_MAX ? (size_t)end : SCORE_TEXT_MAX;
}

/*
 * Run the score command of a candidate that has passed.  If the score is not a number, the
 * candidate has no score.
 */
static void run_score(struct runner *runner)
{
	struct tournament_state *state = &runner->state;
	struct exec_result result;
	char text[SCORE_TEXT_MAX + 1];
	owned_fd int printed = make_score_file();
	int r = -1;

	report_stage(runner, TOURNAMENT_SCORING);
	if (printed >= 0 && dup2(printed, STDOUT_FILENO) >= 0)
		r = run_line(runner, "score", runner->plan->score, runner->plan->timeout_ms, NULL,
			&result);
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	ssize_t n = r < 0 ? -1 : at_pread_full(printed, text, printed_length(printed), 0);
	/* The candidate has passed its test even if the score command could not be run. */
	state->failure = (struct err){ 0 };
	if (n < 0)
		return;
	text[n] = '\0';
	dprintf(STDERR_FILENO, "== score printed: %s%s", text,
		n && text[n - 1] == '\n' ? "" : "\n");
	/* Output that contains a NUL is not a number. */
	if (!result.sandbox.failure && !result.sandbox.timed_out && strlen(text) == (size_t)n)
		state->scored = parse_score(text, &state->score);
}

/* ------------------------------------------------------------------ the child */

static int redirect_to_log(int output, struct err *err)
{
	owned_fd int null = at_open_given("/dev/null", O_RDONLY, 0, err);

	if (null < 0)
		return null;
	if (dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
		dup2(output, STDERR_FILENO) < 0)
		return err_errno(err, "write the log");
	return 0;
}

static _Noreturn void run_all_stages(const struct candidate_plan *plan,
	const struct candidate *candidate, int socket, int output)
{
	struct arena arena = { 0 };
	struct report report = REPORT_INIT;
	struct runner runner = {
		.plan = plan,
		.row = &candidate->row,
		.ctx = { .root = plan->root,
			.workspace = candidate->workspace,
			.arena = &arena,
			.report = &report },
		.socket = socket,
		.began = when_monotonic(),
	};

	/*
	 * Put this child into a process group of its own, so that it gets no signals from the
	 * terminal.  The tournament gets these signals, and ends its children itself.
	 */
	(void)setpgid(0, 0);
	(void)sigprocmask(SIG_SETMASK, &plan->mask, NULL);
	if (redirect_to_log(output, &runner.state.failure) >= 0 && run_candidate(&runner) &&
		run_test(&runner) && plan->score)
		run_score(&runner);
	report_stage(&runner, TOURNAMENT_ENDED);
	_exit(0);
}

/* ----------------------------------------------------------------- the parent */

/*
 * Open the log, and a pipe.  The tournament copies the content of the pipe into the log.
 * *write_end is the child's end of the pipe.
 */
static int open_log(struct candidate *candidate, const struct candidate_plan *plan, int *write_end,
	struct err *err)
{
	char name[64];
	int ends[2];

	snprintf(name, sizeof(name), "%.50s.log", candidate->row.name);
	owned_fd int log = at_create(plan->logs, name, O_RDWR, 0600, err);
	if (log < 0)
		return log;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	boundlog_init_take(&candidate->log, take_fd(&log), plan->log_limit);
	candidate->output = ends[0];
	*write_end = ends[1];
	return 0;
}

void candidate_read_output(struct candidate *candidate)
{
	char bytes[READ_SIZE];

	for (int i = 0; i < READS_MAX && candidate->output >= 0; i++) {
		ssize_t n = read(candidate->output, bytes, sizeof(bytes));
		if (n > 0)
			boundlog_add(&candidate->log, (struct str){ bytes, (size_t)n });
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			close_fd(&candidate->output);
		else
			return;
	}
}

int candidate_start(struct candidate *candidate, const struct candidate_plan *plan, struct err *err)
{
	owned_fd int output = -1;
	int ends[2];

	if (open_log(candidate, plan, &output, err) < 0)
		return -(int)err->code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	candidate->row.began = when_monotonic();
	candidate->row.state.stage = TOURNAMENT_RUNNING;
	pid_t pid = child_fork();
	if (pid == 0) {
		close_fd(&ends[0]);
		run_all_stages(plan, candidate, ends[1], output);
	}
	int r = pid < 0 ? err_errno(err, "start a child") : 0;
	close_fd(&ends[1]);
	if (r < 0) {
		close_fd(&ends[0]);
		return r;
	}
	candidate->pid = pid;
	candidate->states = ends[0];
	return 0;
}

/*
 * Release a candidate whose child has ended.  The caller must have read all states of the
 * candidate.
 */
static void finish_candidate(struct candidate *candidate)
{
	(void)child_wait(candidate->pid);
	candidate->pid = 0;
	close_fd(&candidate->states);
	/*
	 * Programs of the candidate may still be running and printing.  Do not wait for their
	 * further output.
	 */
	candidate_read_output(candidate);
	close_fd(&candidate->output);
	boundlog_finish(&candidate->log);
	candidate->row.duration = when_monotonic() - candidate->row.began;
}

/* Read one state that the child reports.  Returns false if the child reports no more states. */
static bool read_state(struct candidate *candidate)
{
	struct tournament_state state;
	ssize_t n;

	do {
		n = read(candidate->states, &state, sizeof(state));
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(state))
		candidate->row.state = state;
	return n == (ssize_t)sizeof(state);
}

int candidate_read_state(struct candidate *candidate)
{
	struct tournament_state *state = &candidate->row.state;

	if (read_state(candidate))
		return 1;
	finish_candidate(candidate);
	if (state->stage != TOURNAMENT_ENDED) {
		state->stage = TOURNAMENT_ENDED;
		err_set(&state->failure, ERR_SYSTEM, "a part of strata was killed");
	}
	return 0;
}

void candidate_kill(struct candidate *candidate)
{
	if (candidate->pid)
		(void)kill(candidate->pid, SIGKILL);
}

void candidate_reap(struct candidate *candidate)
{
	struct tournament_state *state = &candidate->row.state;

	if (candidate->pid) {
		while (read_state(candidate))
			;
		finish_candidate(candidate);
	}
	candidate->row.cancelled = state->stage != TOURNAMENT_ENDED;
	state->stage = TOURNAMENT_ENDED;
}
