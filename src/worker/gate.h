/*
 * gate - opens the files that requests name, as far as the policy allows.
 *
 * The policy's verdict on the path as it was given comes first.  The path is then resolved by the
 * kernel from the handle of an allowed directory, beneath which it stays (core/resolve.h).  Where
 * a symbolic link was followed, the policy judges the true path of the open file once more.
 * Nothing is looked up again by name after it was judged.
 *
 * Only regular files are opened for their content.  Everything else is opened with O_PATH, which
 * no FIFO or device notices.  A regular file is served under each of its names: the kernel does
 * not tell whether a hard link has another one outside.
 *
 * Errors: ERR_DENIED by the policy, else ERR_SYSTEM.
 */
#pragma once
#include <sys/stat.h>

#include "core/err.h"
#include "core/str.h"
#include "policy/verdict.h"

struct gate;

/* The policy is resolved and borrowed.  given is another path of the directory workspace. */
int gate_new(const struct policy *policy, const char *given, const char *workspace,
	struct gate **out, struct err *err);
void gate_free(struct gate *gate);
void gate_freep(struct gate **gate);
/* Is called for each denial, in any thread, but one at a time. */
void gate_on_denial(struct gate *gate,
	void (*denied)(
		void *arg, const char *what, const char *path, const struct verdict *verdict),
	void *arg);

enum gate_want {
	GATE_ITSELF,    /* the name, also if it is a link; O_PATH */
	GATE_CONTENT,   /* a regular file, for reading */
	GATE_DIRECTORY, /* for listing */
};

struct gate_file {
	int fd;
	struct stat st;
	char *path; /* without ".", "//" and a slash at the end */
};
#define GATE_FILE_INIT                                                                             \
	{                                                                                          \
		.fd = -1                                                                           \
	}
void gate_file_release(struct gate_file *file);

int gate_open(struct gate *gate, struct str path, enum gate_want want, struct gate_file *out,
	struct err *err);

/* A name that may be written: the directory, and the name in it, which is no link. */
struct gate_place {
	int dir;
	const char *name; /* in path */
	char *path;
};
#define GATE_PLACE_INIT                                                                            \
	{                                                                                          \
		.dir = -1                                                                          \
	}
void gate_place_release(struct gate_place *place);
/* create: make missing directories above it. */
int gate_place_of(
	struct gate *gate, struct str path, bool create, struct gate_place *out, struct err *err);

/* A regular file in an open directory, for reading, or -errno; *st is filled in. */
int gate_content(int dir, const char *name, struct stat *st);
/* Whether a path below an open directory may be read; silent. */
bool gate_readable(const struct gate *gate, struct str path);
