#include "sandbox/sandbox_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/child.h"
#include "core/own.h"
#include "core/when.h"
#include "sandbox/commandfile.h"
#include "sandbox/inside.h"
#include "sandbox/message.h"
#include "sandbox/outlet.h"
#include "sandbox/program.h"
#include "sandbox/restriction.h"
#include "sandbox/sandbox_priv.h"
#include "sandbox/terminal.h"

#define NEVER INT64_MAX
#define REPORTS_MAX 4 /* number of reports of one process, including the end of file */
/* more than a century; a longer timeout counts as none */
#define TIMEOUT_MAX_MS (INT64_C(1) << 42)

struct run {
	struct sandbox *sandbox;
	const struct sandbox_command *command;
	struct sandbox_result *result;
	int report;   /* socket for the process's reports; -1: the command runs or has failed */
	int signals;  /* signalfd of the signals to pass on */
	int status;   /* pipe for the command's status; -1: it has ended, or was not started */
	pid_t inside; /* the command's number in the sandbox; 0: it was not started */
	bool ready;   /* the command is about to run, or runs */
	bool killed;
	bool given_up; /* the session was killed, but no status came */
	bool cut_off;  /* the process was killed from outside before the command ran */
	int64_t began;
	int64_t deadline; /* time of the next step: SIGTERM, SIGKILL, giving up */
	struct terminal terminal;
	/* NULL: the command has the standard output and error of this process */
	struct outlet *outlet;
	struct err program; /* from INSIDE_READY: the program and its interpreter */
	sigset_t mask_before;
};

/* ------------------------------------------------------------------- signals */

/* Set the signals to pass on.  Signals that this process ignores stay ignored. */
static void fill_signal_set(bool tty, sigset_t *set)
{
	struct sigaction now;

	child_end_signals(set);
	if (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaddset(set, SIGUSR1);
	if (tty) {
		sigaddset(set, SIGWINCH);
		sigaddset(set, SIGTSTP);
	}
}

static int block_signals(struct run *run, struct err *err)
{
	sigset_t set;

	fill_signal_set(run->command->tty, &set);
	run->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->signals < 0)
		return err_errno(err, "signalfd");
	(void)sigprocmask(SIG_BLOCK, &set, &run->mask_before);
	return 0;
}

static void unblock_signals(struct run *run)
{
	if (run->signals < 0)
		return;
	(void)sigprocmask(SIG_SETMASK, &run->mask_before, NULL);
	close_fd(&run->signals);
}

static void send_signal(struct run *run, int sig)
{
	sandbox_tell(run->sandbox, HOLDER_SIGNAL, sig);
}

/*
 * Ask the holder to kill all processes of the command's session.  Also send SIGKILL to the command
 * itself, which has no session yet while it enters the sandbox.
 */
static void kill_session(struct run *run)
{
	struct err ignored = { 0 };

	run->killed = true;
	run->deadline = NEVER;
	send_signal(run, SIGKILL);
	if (sandbox_ask(run->sandbox, HOLDER_END_SESSION, run->inside, &ignored) >= 0)
		run->deadline = when_monotonic() + SANDBOX_KILL_MS * WHEN_MS;
}

/* Pass on the signal whose number came with SIGUSR1. */
static void pass_number_on(struct run *run, int sig)
{
	if (sig == SIGKILL)
		kill_session(run);
	else if (sig > 0 && sig < NSIG)
		send_signal(run, sig);
}

static void pass_signals_on(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			terminal_resize(&run->terminal);
		else if (info.ssi_signo == SIGTSTP)
			terminal_suspend(&run->terminal);
		else if (info.ssi_signo == SIGUSR1 && info.ssi_code == SI_QUEUE)
			pass_number_on(run, info.ssi_int);
		else
			send_signal(run, (int)info.ssi_signo);
	}
}

/* ------------------------------------------------------------------ starting */

/*
 * Send the command to the holder, with the command's ends of the report socket, the status pipe and
 * the pipes of the outlet.  Where an element of 'outputs' is -1, the command gets the descriptor of
 * this process.
 */
static int send_command(
	struct run *run, int report, int status, const int outputs[OUTLET_STREAMS], struct err *err)
{
	const struct sandbox_command *command = run->command;
	const struct restriction *restriction = command->restriction;
	const struct commandspace none = COMMANDSPACE_INIT;
	const struct commandspace *space = command->space ? command->space : &none;
	owned_fd int text = commandfile_write(command, err);

	if (text < 0)
		return text;
	run->result->points_made = space->points;
	const int given[INSIDE_FDS] = {
		[INSIDE_STDIN] = STDIN_FILENO,
		[INSIDE_STDOUT] = outputs[0] < 0 ? STDOUT_FILENO : outputs[0],
		[INSIDE_STDERR] = outputs[1] < 0 ? STDERR_FILENO : outputs[1],
		[INSIDE_REPORT] = report,
		[INSIDE_TEXT] = text,
		[INSIDE_STATUS] = status,
		[INSIDE_MNT] = space->mnt,
		[INSIDE_KEPT] = command->wrapped ? command->kept : -1,
		[INSIDE_NET] = space->net,
		[INSIDE_WARDEN] = space->warden,
		[INSIDE_KEEPER] = space->keeper,
		[INSIDE_GROUP] = restriction ? restriction->group : -1,
	};
	bool own_domain = restriction && restriction_has_domain(restriction);
	int r = sandbox_ask_to_run(run->sandbox, given, own_domain, err);
	if (r < 0) {
		run->result->ended = r == -ERR_NOT_FOUND;
		return err_context(err, "run a command");
	}
	run->inside = r;
	return 0;
}

static int open_outlet(struct run *run, int outputs[OUTLET_STREAMS], struct err *err)
{
	const struct sandbox_command *command = run->command;

	if (command->output_max <= 0)
		return 0;
	run->outlet = outlet_new(command->output_max, command->tty, outputs, err);
	if (!run->outlet)
		return -(int)err->code;
	return 0;
}

static int start_command(struct run *run, struct err *err)
{
	int reports[2], statuses[2], outputs[OUTLET_STREAMS] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports) < 0)
		return err_errno(err, "make a socket pair");
	run->report = reports[0];
	if (pipe2(statuses, O_CLOEXEC) < 0) {
		err_errno(err, "make a pipe");
		close_fd(&reports[1]);
		return -(int)err->code;
	}
	run->status = statuses[0];
	int r = open_outlet(run, outputs, err);
	if (r >= 0)
		r = send_command(run, reports[1], statuses[1], outputs, err);
	close_fd(&reports[1]);
	close_fd(&statuses[1]);
	for (int i = 0; i < OUTLET_STREAMS; i++)
		close_fd(&outputs[i]);
	return r;
}

static int handle_report(
	struct run *run, const struct inside_report *report, int *master, struct err *err)
{
	if (report->step == INSIDE_READY && !run->ready) {
		run->ready = true;
		run->program = report->err;
		return *master < 0 || !run->command->tty
			       ? 0
			       : terminal_begin(&run->terminal, master, run->outlet, err);
	}
	if (report->step < 0) {
		run->result->failure =
			program_refused(-report->step, run->program.text, run->program.hint, err);
		return -(int)err->code;
	}
	if (report->step != INSIDE_FAILED || !report->err.code)
		return 0;
	*err = report->err;
	run->result->failure = report->failure;
	return -(int)err->code;
}

static int receive_report(struct run *run, int wait_ms, struct err *err)
{
	struct inside_report report;
	owned_fd int master = -1;
	int r = message_receive(run->report, &report, sizeof(report), &master, 1, wait_ms);

	if (r == -ETIMEDOUT)
		return 0;
	/* The socket was closed, so the command runs or has ended.  Its status will show which. */
	if (r != 1) {
		close_fd(&run->report);
		return 0;
	}
	report.err.text[sizeof(report.err.text) - 1] = '\0';
	report.err.hint[sizeof(report.err.hint) - 1] = '\0';
	return handle_report(run, &report, &master, err);
}

/*
 * Receive the remaining reports after the command has ended.  Do not wait for the end of file,
 * since other programs of the sandbox may keep the command's end of the socket open.
 */
static int receive_last_reports(struct run *run, struct err *err)
{
	int r = 0;

	for (int i = 0; i < REPORTS_MAX && r == 0 && run->report >= 0; i++)
		r = receive_report(run, 0, err);
	return r < 0 ? r : 1;
}

/* ------------------------------------------------------------------- running */

static void on_deadline(struct run *run)
{
	/*
	 * Give up.  A debugger in the sandbox can keep the holder from reaping the killed command
	 * for any length of time.
	 */
	if (run->killed) {
		run->given_up = true;
		return;
	}
	if (run->result->timed_out) {
		kill_session(run);
		return;
	}
	run->result->timed_out = true;
	run->deadline = when_monotonic() + SANDBOX_RUN_GRACE_MS * WHEN_MS;
	send_signal(run, SIGTERM);
	send_signal(run, SIGCONT); /* a stopped process would not handle SIGTERM */
}

static int poll_timeout(const struct run *run)
{
	if (run->deadline == NEVER)
		return -1;
	int left = when_ms_left(run->deadline);
	return left > 60000 ? 60000 : left;
}

/*
 * Kill the command if it has printed more bytes than it may.  The command gets no grace period,
 * unlike after a timeout.
 */
static void end_output(struct run *run)
{
	if (!run->outlet || !run->outlet->over || run->killed)
		return;
	run->result->output_over = true;
	kill_session(run);
}

enum {
	WATCH_REPORT,
	WATCH_SIGNALS,
	WATCH_COMMAND,
	WATCH_TERMINAL,
	WATCH_OUTLET = WATCH_TERMINAL + TERMINAL_FDS,
	WATCHED = WATCH_OUTLET + OUTLET_FDS,
};

/* Wait for events and handle them.  Returns 1 when the command has ended. */
static int handle_events(struct run *run, struct err *err)
{
	struct pollfd fds[WATCHED] = {
		[WATCH_REPORT] = { .fd = run->report, .events = POLLIN },
		[WATCH_SIGNALS] = { .fd = run->signals, .events = POLLIN },
		[WATCH_COMMAND] = { .fd = run->status, .events = POLLIN },
	};
	int r = 0;

	terminal_poll(&run->terminal, fds + WATCH_TERMINAL);
	outlet_poll(run->outlet, fds + WATCH_OUTLET);
	if (poll(fds, WATCHED, poll_timeout(run)) < 0)
		return errno == EINTR ? 0 : err_errno(err, "poll");
	if (fds[WATCH_SIGNALS].revents)
		pass_signals_on(run);
	if (fds[WATCH_REPORT].revents)
		r = receive_report(run, -1, err);
	if (r < 0)
		return r;
	terminal_carry(&run->terminal, fds + WATCH_TERMINAL);
	outlet_carry(run->outlet, fds + WATCH_OUTLET);
	end_output(run);
	if (when_monotonic() >= run->deadline)
		on_deadline(run);
	return fds[WATCH_COMMAND].revents || run->given_up ? receive_last_reports(run, err) : 0;
}

/*
 * Whether the sandbox is ending.  Before a holder kills the processes of the sandbox, it sends the
 * reason or closes the connection.
 */
static bool is_sandbox_ending(const struct run *run)
{
	struct pollfd said = { .fd = run->sandbox->connection, .events = POLLIN };

	return poll(&said, 1, 0) > 0;
}

/*
 * Read the command's status.  If the pipe closes without a status, the sandbox has ended, and its
 * end has killed the command with SIGKILL.
 */
static int read_status(struct run *run, struct err *err)
{
	struct sandbox_result *result = run->result;
	int status = SIGKILL;
	ssize_t n = sizeof(status);

	while (!run->given_up && (n = read(run->status, &status, sizeof(status))) < 0 &&
		errno == EINTR)
		;
	close_fd(&run->status);
	/*
	 * If a signal ends the process before the command runs, this counts as the end of the
	 * command, unless the sandbox is ending.
	 */
	run->cut_off = !run->ready && (n != (ssize_t)sizeof(status) || !WIFSIGNALED(status) ||
					      is_sandbox_ending(run));
	if (run->cut_off)
		return err_set(err, ERR_SYSTEM, "the command was killed before it ran");
	result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	result->status = result->signal ? 128 + result->signal : WEXITSTATUS(status);
	return 0;
}

/* Clean up.  This also happens after a failure.  A command that has not ended is killed. */
static void finish_run(struct run *run)
{
	struct pollfd ended = { .fd = run->status, .events = POLLIN };

	close_fd(&run->report);
	if (run->inside && run->status >= 0) {
		send_signal(run, SIGKILL);
		(void)poll(&ended, 1, SANDBOX_KILL_MS);
	}
	close_fd(&run->status);
	terminal_end(&run->terminal);
	outlet_drain(run->outlet);
	if (run->outlet)
		run->result->output_over |= run->outlet->over;
	outlet_free(run->outlet);
	unblock_signals(run);
}

static int run_to_end(struct run *run, struct err *err)
{
	int r = block_signals(run, err);

	if (r == 0)
		r = start_command(run, err);
	while (r == 0)
		r = handle_events(run, err);
	run->result->duration_ns = when_monotonic() - run->began;
	if (r >= 0)
		r = read_status(run, err);
	if (r >= 0 && run->result->timed_out && !run->killed)
		kill_session(run);
	return r;
}

int sandbox_run(struct sandbox *sandbox, const struct sandbox_command *command,
	struct sandbox_result *result, struct err *err)
{
	struct run run = {
		.sandbox = sandbox,
		.command = command,
		.result = result,
		.report = -1,
		.signals = -1,
		.status = -1,
		.terminal = TERMINAL_INIT,
		.began = when_monotonic(),
		.deadline = NEVER,
	};
	*result = (struct sandbox_result){
		.failure = SANDBOX_FAILED,
		.timeout_ms = command->timeout_ms,
	};
	if (command->timeout_ms > 0 && command->timeout_ms < TIMEOUT_MAX_MS)
		run.deadline = run.began + command->timeout_ms * WHEN_MS;
	int r = run_to_end(&run, err);
	finish_run(&run);
	if (r < 0 && run.cut_off) {
		r = sandbox_explain(sandbox, err);
		result->ended = r == -ERR_NOT_FOUND;
	}
	if (r < 0)
		return r;
	result->failure = 0;
	return 0;
}
