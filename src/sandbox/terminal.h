/*
 * terminal - gives a command a terminal of the sandbox instead of the caller's.
 *
 * The command's process makes the terminal from the sandbox's devpts and sends its master to the
 * caller.  The caller makes its own terminal raw, so that every key goes to the terminal in the
 * sandbox.  This includes Ctrl-C and Ctrl-Z.  Bytes are copied both ways.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#include "core/err.h"
#include "sandbox/outlet.h"

#define TERMINAL_BUFFER 4096
#define TERMINAL_FDS 2

/* --- in the sandbox, by the process that becomes the command --- */

/*
 * Make a terminal with the settings and size of standard input.  It belongs to the user with this
 * uid.
 */
int terminal_make(uid_t user, int *master, int *slave, struct err *err);
/*
 * Make the terminal 'slave' the controlling terminal.  It also replaces each standard descriptor
 * that is a terminal.
 */
int terminal_adopt(int slave, struct err *err);

/* --- outside of the sandbox --- */

struct terminal {
	int master; /* master of the terminal in the sandbox; -1: there is none */
	int out;    /* descriptor of this process that shows the output */
	bool raw, input_ended, output_ended;
	struct termios before;
	struct outlet *outlet;       /* counts the output; borrowed; NULL: no limit */
	char input[TERMINAL_BUFFER]; /* bytes that were typed and not yet written to master */
	size_t n_input;
};

#define TERMINAL_INIT ((struct terminal){ .master = -1 })

/* Take over *master, which becomes -1, and make the terminal of this process raw. */
int terminal_begin(struct terminal *terminal, int *master, struct outlet *outlet, struct err *err);
/* Show the rest of the output, and restore the terminal of this process.  May be called again. */
void terminal_end(struct terminal *terminal);

/* Fill the array fds for poll(2). */
void terminal_poll(const struct terminal *terminal, struct pollfd fds[TERMINAL_FDS]);
/* Copy the bytes that are ready according to the result of poll. */
void terminal_carry(struct terminal *terminal, const struct pollfd fds[TERMINAL_FDS]);

/* Copy the new size of this process's terminal to the terminal in the sandbox. */
void terminal_resize(const struct terminal *terminal);
/*
 * Restore the terminal of this process, and stop the process.  When it continues, make the terminal
 * raw again.
 */
void terminal_suspend(struct terminal *terminal);
