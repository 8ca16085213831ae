/*
 * launcher - executes a command by means of a small program, which programs of the sandbox may see.
 *
 * The program is src/launcher/launcher_main.c.  The comment there gives the reason for it.  It is
 * embedded in strata.  It includes this header, too, so this header includes no header of a C
 * library.
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
	/* size of that message: an int with -errno of the first path, and then zeros */
	unsigned long size;
};

/*
 * Make a sealed memory file with the launcher program.  No file of the host is needed for this, so
 * it works in the sandbox as well.
 */
int launcher_open(struct err *err);

/* Execute the command.  It gets only the descriptors 0 to 2.  Returns only on failure. */
int launcher_execute(int launcher, const struct launcher_command *command, struct err *err);
