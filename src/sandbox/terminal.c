#include "sandbox/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

#define DRAIN_MAX (1 << 20) /* bytes that are shown at most after the command has ended */

/* -------------------------------------------------------------------- inside */

static void copy_size(int from, int to)
{
	struct winsize size;

	if (ioctl(from, TIOCGWINSZ, &size) == 0)
		(void)ioctl(to, TIOCSWINSZ, &size);
}

int terminal_make(uid_t user, int *master, int *slave, struct err *err)
{
	/*
	 * A program of the sandbox may have put another file at this path.  So open it without
	 * blocking, and check that it is a terminal.
	 */
	owned_fd int ours = at_open_given("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK, 0, err);
	struct termios settings;
	int unlock = 0;

	if (ours < 0)
		return err_context(err, "make a terminal");
	if (ioctl(ours, TIOCSPTLCK, &unlock) < 0)
		return err_errno(err, "make a terminal");
	owned_fd int theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (theirs < 0 || fchown(theirs, user, (gid_t)-1) < 0)
		return err_errno(err, "make a terminal");
	if (tcgetattr(STDIN_FILENO, &settings) == 0)
		(void)tcsetattr(theirs, TCSANOW, &settings);
	copy_size(STDIN_FILENO, theirs);
	*master = take_fd(&ours);
	*slave = take_fd(&theirs);
	return 0;
}

int terminal_adopt(int slave, struct err *err)
{
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return err_errno(err, "take the terminal");
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd) && dup2(slave, fd) < 0)
			return err_errno(err, "take the terminal");
	return 0;
}

/* ------------------------------------------------------------------- outside */

static void make_raw(struct terminal *terminal)
{
	struct termios raw = terminal->before;

	cfmakeraw(&raw);
	terminal->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static void restore_settings(struct terminal *terminal)
{
	if (terminal->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
	terminal->raw = false;
}

int terminal_begin(struct terminal *terminal, int *master, struct outlet *outlet, struct err *err)
{
	unsigned number;

	*terminal = TERMINAL_INIT;
	terminal->outlet = outlet;
	/* The descriptor came from the sandbox, so it must not be able to block this process. */
	if (ioctl(*master, TIOCGPTN, &number) < 0 || fcntl(*master, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(err, "use the sandbox's terminal");
	if (tcgetattr(STDIN_FILENO, &terminal->before) < 0)
		return err_errno(err, "use our terminal");
	terminal->master = take_fd(master);
	terminal->out = isatty(STDOUT_FILENO)   ? STDOUT_FILENO
			: isatty(STDERR_FILENO) ? STDERR_FILENO
						: STDIN_FILENO;
	make_raw(terminal);
	return 0;
}

void terminal_poll(const struct terminal *terminal, struct pollfd fds[TERMINAL_FDS])
{
	bool listen = terminal->master >= 0;

	fds[0] = (struct pollfd){
		.fd = listen && !terminal->input_ended && !terminal->n_input ? STDIN_FILENO : -1,
		.events = POLLIN,
	};
	fds[1] = (struct pollfd){
		.fd = listen && !terminal->output_ended ? terminal->master : -1,
		.events = (short)(POLLIN | (terminal->n_input ? POLLOUT : 0)),
	};
}

static void read_input(struct terminal *terminal)
{
	ssize_t n = read(STDIN_FILENO, terminal->input, sizeof(terminal->input));

	if (n > 0)
		terminal->n_input = (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		terminal->input_ended = true;
}

static void write_input(struct terminal *terminal)
{
	ssize_t n = write(terminal->master, terminal->input, terminal->n_input);

	if (n > 0) {
		terminal->n_input -= (size_t)n;
		memmove(terminal->input, terminal->input + n, terminal->n_input);
	}
}

/* Show output.  Returns the number of bytes that were read, or 0 if there are none. */
static size_t show_output(struct terminal *terminal)
{
	char part[TERMINAL_BUFFER];
	ssize_t n = read(terminal->master, part, sizeof(part));

	/* EIO: no process has the terminal open any more. */
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		terminal->output_ended = true;
	if (n <= 0)
		return 0;
	(void)at_write_all(terminal->out, part, outlet_count(terminal->outlet, (size_t)n));
	return (size_t)n;
}

void terminal_carry(struct terminal *terminal, const struct pollfd fds[TERMINAL_FDS])
{
	if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
		(void)show_output(terminal);
	if (fds[0].revents)
		read_input(terminal);
	if (terminal->n_input && !terminal->output_ended)
		write_input(terminal);
}

void terminal_resize(const struct terminal *terminal)
{
	if (terminal->master >= 0)
		copy_size(STDIN_FILENO, terminal->master);
}

void terminal_suspend(struct terminal *terminal)
{
	restore_settings(terminal);
	(void)kill(getpid(), SIGSTOP);
	if (terminal->master >= 0) {
		make_raw(terminal);
		terminal_resize(terminal);
	}
}

void terminal_end(struct terminal *terminal)
{
	size_t shown = 0, n;

	while (terminal->master >= 0 && !terminal->output_ended && shown < DRAIN_MAX &&
		(n = show_output(terminal)))
		shown += n;
	restore_settings(terminal);
	close_fd(&terminal->master);
}
