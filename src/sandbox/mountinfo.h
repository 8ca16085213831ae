/* mountinfo - the lines of /proc/PID/mountinfo. */
#pragma once
#include <stdbool.h>

/* One mount; names as they are, without the kernel's escapes. */
struct mountinfo {
	char *device; /* of its file system, "MAJOR:MINOR" */
	char *root;   /* what of its file system is mounted */
	char *point;  /* where */
	char *type;
};

/*
 * Takes the next line off *text, which is changed and has to live as long as the mount.  A line
 * that is not understood is passed over; false: there are no more.
 */
bool mountinfo_next(char **text, struct mountinfo *mount);
