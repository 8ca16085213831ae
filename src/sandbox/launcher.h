/*
 * launcher - execute a command through a small program that programs inside may see.
 *
 * The program is src/launcher/launcher_main.c, which says why.  It is embedded in strata.  It
 * includes this header, too, so the header includes nothing of a C library.
 */
#pragma once

#define LAUNCHER_FD 3
#define LAUNCHER_MESSAGE_MAX 4096

struct err;

/* The command to execute, and the socket for a failure. */
struct launcher_command {
	char *const *paths; /* programs to try, NULL-terminated, not empty */
	const char *const *argv, *const *env;
	int socket;         /* becomes LAUNCHER_FD; gets a message if no path can be executed */
	unsigned long size; /* of that message: an int with -errno of the first path, then zeros */
};

/* Make a sealed memory file with the program.  Needs no file, so it works inside as well. */
int launcher_open(struct err *err);

/* Execute the command, with descriptors 0 to 2 only.  Returns only on failure. */
int launcher_execute(int launcher, const struct launcher_command *command, struct err *err);
