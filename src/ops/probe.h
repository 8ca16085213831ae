/*
 * probe - the outcome of one check of doctor, and functions that the checks share.
 */
#pragma once
#include <stdbool.h>

#define PROBE_TEXT 400
#define PROBE_NAME 32

struct probe {
	bool ok;
	char text[PROBE_TEXT];
};

/*
 * Set the outcome.  The text of probe_ok says what the machine offers.  The text of probe_lacks
 * says why the machine lacks a feature.
 */
#define probe_ok(probe, ...) probe_set(probe, true, __VA_ARGS__)
#define probe_lacks(probe, ...) probe_set(probe, false, __VA_ARGS__)
__attribute__((format(printf, 3, 4))) void probe_set(
	struct probe *probe, bool ok, const char *fmt, ...);
/*
 * Set the outcome after a failed system call.  The text consists of 'what' and the meaning of
 * errno.
 */
void probe_errno(struct probe *probe, const char *what);

/* Make a random name that begins with a dot. */
void probe_new_name(char out[PROBE_NAME]);
/* Returns the content of a small text file, or NULL.  The caller frees it. */
char *probe_read(const char *path);
bool probe_write(const char *path, const char *text, struct probe *probe);

struct doctor;
typedef void probe_attempt(struct doctor *doctor, struct probe *probe);

/* Make an attempt in a child.  This is for an attempt that changes the process. */
void probe_in_child(struct doctor *doctor, probe_attempt *attempt, struct probe *probe);
/*
 * Find the program argv[0] along PATH and run it.  The text of the outcome is the first line that
 * the program prints.
 */
void probe_program(const char *const *argv, struct probe *probe);

struct probe_option {
	const char *key;   /* NULL: the end of the list */
	const char *value; /* NULL: the option is a flag */
};

/*
 * Mount a file system without attaching it to a path.  'options' may be NULL.  Returns a descriptor
 * of its root directory.  Closing this descriptor unmounts the file system.
 */
int probe_mount(const char *type, const struct probe_option *options, struct probe *probe);
