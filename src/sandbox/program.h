/* program - find a program along PATH, and say why it cannot be executed. */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/* The first of that name along our PATH that is no directory, into out (PATH_MAX bytes). */
bool program_find(const char *name, char *out);

#define PROGRAM_PATHS_MAX 16
#define PROGRAM_INTERPRETER_MAX 128

/* What stands for a command. */
struct program {
	char *paths[PROGRAM_PATHS_MAX + 1];        /* the first that can be executed; owned */
	char interpreter[PROGRAM_INTERPRETER_MAX]; /* that of the first, or "" */
};

/*
 * Find what argv means, by env's PATH when argv[0] has no slash.  0, or the exit status that
 * stands for the failure (enum sandbox_failure), the reason in err.
 */
int program_look(
	const char *const *argv, const char *const *env, struct program *out, struct err *err);
void program_release(struct program *program);

/* Say why the first path of a program could not be executed: the exit status for that. */
int program_refused(int error, const char *path, const char *interpreter, struct err *err);
