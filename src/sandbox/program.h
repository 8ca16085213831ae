/* program - find a program along PATH, and say why it cannot be executed. */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/*
 * Find the first file called name along our PATH, skipping directories of that name.  A name with a
 * slash is used as it is.  out has PATH_MAX bytes.
 */
bool program_find(const char *name, char *out);

#define PROGRAM_PATHS_MAX 16
#define PROGRAM_INTERPRETER_MAX 128

/* The files that a command may mean. */
struct program {
	char *paths[PROGRAM_PATHS_MAX + 1]; /* owned; the first that can be executed counts */
	char interpreter[PROGRAM_INTERPRETER_MAX]; /* of the first path, or "" */
};

/*
 * Find the program that argv[0] names, along PATH of env if the name has no slash.  Returns 0, or
 * one of enum sandbox_failure, with the reason in err.  That number is also the exit status.
 */
int program_look(
	const char *const *argv, const char *const *env, struct program *out, struct err *err);
void program_release(struct program *program);

/*
 * Set err to the reason why the first path of a program could not be executed, which failed with
 * errno error.  Returns the exit status.
 */
int program_refused(int error, const char *path, const char *interpreter, struct err *err);
