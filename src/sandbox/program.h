/* program - finds a program along PATH, and gives the reason why it cannot be executed. */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/*
 * Find the first file called 'name' in the directories of this process's PATH.  Directories of that
 * name are skipped.  A name with a slash is used as it is.  The buffer 'out' has PATH_MAX bytes.
 */
bool program_find(const char *name, char *out);

#define PROGRAM_PATHS_MAX 16
#define PROGRAM_INTERPRETER_MAX 128

/* The files that the name of a command may stand for. */
struct program {
	char *paths[PROGRAM_PATHS_MAX + 1]; /* owned; the first one that can be executed is used */
	char interpreter[PROGRAM_INTERPRETER_MAX]; /* interpreter of the first path, or "" */
};

/*
 * Find the program that argv[0] names.  A name without a slash is looked up along the PATH in
 * 'env'.  Returns 0, or one of enum sandbox_failure, which is also the exit status; the reason is
 * in err.
 */
int program_look(
	const char *const *argv, const char *const *env, struct program *out, struct err *err);
void program_release(struct program *program);

/*
 * Set err to the reason why the first path of a program could not be executed.  'error' is the
 * errno of that attempt.  Returns the exit status.
 */
int program_refused(int error, const char *path, const char *interpreter, struct err *err);
