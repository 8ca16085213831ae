/*
 * launcher - executes a command by way of a small program, which programs inside may see.
 *
 * The program is src/launcher/launcher_main.c, which says why it exists.  It is embedded in strata.
 * It includes this header, too, so this header includes no header of a C library.
 */
#pragma once

#define LAUNCHER_FD 3
#define LAUNCHER_MESSAGE_MAX 4096

struct err;

/* The command to execute, and the socket for a failure. */
struct launcher_command {
	char *const *paths; /* programs to try, NULL-terminated, not empty */
	const char *const *argv, *const *env;
	int socket;         /* becomes LAUNCHER_FD; receives a message if no path can be executed */
	unsigned long size; /* of that message: an int with -errno of the first path, then zeros */
};

/*
 * Make a sealed memory file with the launcher program.  That needs no file of the host, so it works
 * inside as well.
 */
int launcher_open(struct err *err);

/* Execute the command, with descriptors 0 to 2 only.  Returns only on failure. */
int launcher_execute(int launcher, const struct launcher_command *command, struct err *err);
