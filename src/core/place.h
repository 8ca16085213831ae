/*
 * place - renames a new file from its temporary name to its final name.  If another program has
 * given the final name to a file meanwhile, that file is not lost.
 *
 * The new file and the old file exchange their names.  Then the old file, which now has the
 * temporary name, is checked once more.  By now no program can open the old file by its former
 * name.
 */
#pragma once
#include <stdbool.h>

struct place {
	int dirfd;
	const char *temporary, *name;
	/*
	 * Whether the file at this name is the old file, which may be replaced.  NULL: there is no
	 * old file, and the name must be free.
	 */
	bool (*is_old)(void *arg, int dirfd, const char *name);
	void *arg;
	const char *failed; /* the step that failed, for messages */
};

/*
 * Returns 1 when the new file has its name, 0 when a file of another program has the name and keeps
 * it, or a negative errno.  The temporary name is free afterwards.
 */
int place_rename(struct place *place);
