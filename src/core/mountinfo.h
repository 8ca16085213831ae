/* mountinfo - the lines of /proc/PID/mountinfo. */
#pragma once
#include <stdbool.h>

/* One mount, with names unescaped. */
struct mountinfo {
	char *device; /* device number of the file system, "MAJOR:MINOR" */
	char *root;   /* path of the mounted directory in its file system */
	char *point;  /* the mount point */
	char *type;
	char *source; /* the device, or for ZFS and the like a name of its own; may be "" */
};

/*
 * Take the next line off *text.  The text is changed, and has to live as long as *mount is used.
 * Malformed lines are skipped.  Returns false if there are no more lines.
 */
bool mountinfo_next(char **text, struct mountinfo *mount);
