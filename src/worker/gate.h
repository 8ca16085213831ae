/*
 * gate - opens the files that requests name, if the policy allows it.
 *
 * First the policy judges the path as it was given.  Then the kernel resolves the path from the
 * descriptor of an allowed directory, without leaving that directory (core/resolve.h).  If a
 * symbolic link was followed, the policy also judges the true path of the open file.  After a file
 * was judged, it is not looked up by name again.
 *
 * Only regular files are opened for their content.  All other files are opened with O_PATH, which
 * has no effect on a FIFO or a device.  A file with several hard links is served under each allowed
 * name, since the kernel does not tell the other names of a file.
 *
 * The functions fail with ERR_DENIED if the policy denies access, and otherwise with ERR_SYSTEM.
 */
#pragma once
#include <sys/stat.h>

#include "core/err.h"
#include "core/str.h"
#include "policy/verdict.h"

struct gate;

/*
 * Make a gate.  The policy is borrowed, and must be a result of policy_resolve.  'workspace' is the
 * true path of the workspace.  'given' is another path of the same directory, or NULL.
 */
int gate_new(const struct policy *policy, const char *given, const char *workspace,
	struct gate **out, struct err *err);
void gate_free(struct gate *gate);
void gate_freep(struct gate **gate);
/*
 * Set the function 'denied', which is called for each denial.  The calls may come from any thread,
 * but never from two threads at a time.
 */
void gate_on_denial(struct gate *gate,
	void (*denied)(
		void *arg, const char *what, const char *path, const struct verdict *verdict),
	void *arg);

enum gate_want {
	GATE_ITSELF,    /* the name itself, even if it is a link; opened with O_PATH */
	GATE_CONTENT,   /* a regular file, for reading */
	GATE_DIRECTORY, /* a directory, for listing */
};

struct gate_file {
	int fd;
	struct stat st;
	char *path; /* without ".", "//", and a slash at the end */
};
#define GATE_FILE_INIT                                                                             \
	{                                                                                          \
		.fd = -1                                                                           \
	}
void gate_file_release(struct gate_file *file);

int gate_open(struct gate *gate, struct str path, enum gate_want want, struct gate_file *out,
	struct err *err);

/*
 * A place where the policy allows writing a file: a directory, and a name in it.  The name is no
 * link.
 */
struct gate_place {
	int dir;
	const char *name; /* last name in path */
	char *path;
};
#define GATE_PLACE_INIT                                                                            \
	{                                                                                          \
		.dir = -1                                                                          \
	}
void gate_place_release(struct gate_place *place);
/*
 * Find the place of a path whose file is to be written.  If 'create' is set, missing directories
 * above the path are made.
 */
int gate_place_of(
	struct gate *gate, struct str path, bool create, struct gate_place *out, struct err *err);

/*
 * Open a regular file in an open directory for reading, and fill in *st.  Returns a descriptor, or
 * -errno.
 */
int gate_content(int dir, const char *name, struct stat *st);
/*
 * Whether the policy allows reading a path.  Links in the path are not resolved, and a denial is
 * not reported.
 */
bool gate_readable(const struct gate *gate, struct str path);
