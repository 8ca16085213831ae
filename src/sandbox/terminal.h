/*
 * terminal - a terminal of the sandbox's own in place of the caller's.
 *
 * The command's process makes it from the sandbox's devpts and sends the master
 * out.  Outside, the caller's terminal is made raw, so that every key, Ctrl-C and
 * Ctrl-Z included, goes to the one inside, and bytes are carried both ways.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#include "core/err.h"

#define TERMINAL_BUFFER 4096
#define TERMINAL_FDS 2

/* --- inside, by the process that becomes the command --- */

/* A new terminal with the settings and size of standard input, owned by user. */
int terminal_make(uid_t user, int *master, int *slave, struct err *err);
/* Make it the controlling one, and those of our standard descriptors that were a terminal. */
int terminal_adopt(int slave, struct err *err);

/* --- outside --- */

struct terminal {
	int master; /* -1: there is none */
	int out;    /* our descriptor that shows what comes */
	bool raw, input_ended, output_ended;
	struct termios before;
	char input[TERMINAL_BUFFER]; /* typed, not yet taken inside */
	size_t n_input;
};

#define TERMINAL_INIT ((struct terminal){ .master = -1 })

/* Take over the master, which is -1 then, and our terminal. */
int terminal_begin(struct terminal *terminal, int *master, struct err *err);
/* Restore ours, after what was still to be shown; any number of times. */
void terminal_end(struct terminal *terminal);

/* What to wait for, then what to do about it. */
void terminal_poll(const struct terminal *terminal, struct pollfd fds[TERMINAL_FDS]);
void terminal_carry(struct terminal *terminal, const struct pollfd fds[TERMINAL_FDS]);

/* Our terminal has changed its size. */
void terminal_resize(const struct terminal *terminal);
/* Give our terminal back while we are stopped. */
void terminal_suspend(struct terminal *terminal);
