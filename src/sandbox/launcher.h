/*
 * launcher - executes a command with the help of a small program that the sandbox may see.
 *
 * The program is src/launcher/launcher_main.c.  The comment in that file says why the program is
 * needed.  The program is embedded in strata.  The program includes this header, so this header
 * must not include headers of a C library.
 */
#pragma once

#define LAUNCHER_FD 3
#define LAUNCHER_MESSAGE_MAX 4096

struct err;

/* The command to execute, and the socket for reporting a failure. */
struct launcher_command {
	char *const *paths; /* programs to try, NULL-terminated, not empty */
	const char *const *argv, *const *env;
	int socket; /* becomes LAUNCHER_FD; receives a message if no path can be executed */
	/* size of the message: an int with -errno of the first path, and then zeros */
	unsigned long size;
};

/*
 * Make a sealed memory file with the launcher program.  This needs no file of the host, so it also
 * works in the sandbox.
 */
int launcher_open(struct err *err);

/* Execute the command, which gets only the descriptors 0 to 2.  Returns only on failure. */
int launcher_execute(int launcher, const struct launcher_command *command, struct err *err);
