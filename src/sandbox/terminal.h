/*
 * terminal - gives a command a terminal of the sandbox instead of the caller's.
 *
 * The command's process makes the terminal from the sandbox's devpts and sends its master outside.
 * There the caller's terminal is made raw, so that every key, Ctrl-C and Ctrl-Z included, goes to
 * the terminal inside.  Bytes are copied both ways.
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

/* --- inside, by the process that becomes the command --- */

/* Make a terminal with the settings and size of standard input, owned by user. */
int terminal_make(uid_t user, int *master, int *slave, struct err *err);
/*
 * Make slave the controlling terminal, and the new target of those standard descriptors that are a
 * terminal.
 */
int terminal_adopt(int slave, struct err *err);

/* --- outside --- */

struct terminal {
	int master; /* of the terminal inside; -1: there is none */
	int out;    /* our descriptor that shows its output */
	bool raw, input_ended, output_ended;
	struct termios before;
	struct outlet *outlet;       /* counts the output; borrowed, NULL: no limit */
	char input[TERMINAL_BUFFER]; /* typed, not yet written to master */
	size_t n_input;
};

#define TERMINAL_INIT ((struct terminal){ .master = -1 })

/* Take over *master, which becomes -1, and make our terminal raw. */
int terminal_begin(struct terminal *terminal, int *master, struct outlet *outlet, struct err *err);
/* Show the rest of the output, and restore our terminal.  May be called again. */
void terminal_end(struct terminal *terminal);

/* Fill fds for poll. */
void terminal_poll(const struct terminal *terminal, struct pollfd fds[TERMINAL_FDS]);
/* Copy the bytes that are ready, by the result of poll. */
void terminal_carry(struct terminal *terminal, const struct pollfd fds[TERMINAL_FDS]);

/* Copy the size of our terminal, which has changed. */
void terminal_resize(const struct terminal *terminal);
/* Restore our terminal and stop this process.  When it continues, make the terminal raw again. */
void terminal_suspend(struct terminal *terminal);
