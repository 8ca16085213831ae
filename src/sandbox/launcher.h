/*
 * launcher - become a command by way of a program that may be seen inside.
 *
 * The program is src/launcher/launcher_main.c, which says why; its bytes are part of ours.  This
 * header is also its own, so it includes nothing of a C library.
 */
#pragma once

#define LAUNCHER_FD 3
#define LAUNCHER_MESSAGE_MAX 4096

struct err;

/* What is to be executed, and who hears that it cannot be. */
struct launcher_command {
	char *const *paths; /* programs to try, NULL-terminated, not empty */
	const char *const *argv, *const *env;
	int socket;         /* gets one message when no path could be executed; becomes 3 */
	unsigned long size; /* of that message: an int with -errno of the first path, then zeros */
};

/*
 * The program as a file, in memory and sealed: a descriptor.  While the host's files are the
 * only ones to be seen, or later.
 */
int launcher_open(struct err *err);

/* Become the command.  Returns only on failure.  All descriptors but 0 to 2 are closed. */
int launcher_execute(int launcher, const struct launcher_command *command, struct err *err);
