/*
 * restorestage - prepares a restored file or directory beside its target, and then puts it in place
 * in one step.
 *
 * A stage has two names in the directory of the target:
 *
 *	.strata-restore-ID      the note, a file that is locked as long as the stage is open
 *	.strata-restore-ID.new  the copy that is being made
 *
 * The copy gets the name of the target by a rename, or by an exchange of the two names.  So the
 * target is complete at every moment.  After an exchange, the old file has the name of the copy.
 * The old file is then removed, or gets the name of the backup.
 *
 * If a process is killed, both names remain.  restorestage_clean finds that the note is not locked,
 * and completes or undoes the step.  If a backup was wanted, the note has the inode number of the
 * copy and the name of the backup.  After an exchange, another inode has the name of the copy.
 * That inode is the old file, which then gets the name of the backup.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "core/err.h"
#include "core/str.h"

#define RESTORESTAGE_NAME 64

struct restorestage {
	int dir;  /* directory of the target; borrowed */
	int note; /* descriptor of the note, which holds the lock; -1: the stage is not open */
	char name[RESTORESTAGE_NAME];
	char copy[RESTORESTAGE_NAME]; /* the name under which the caller makes the copy */
};

/*
 * Clean up a directory in which killed processes had stages: complete the backups that they have
 * begun, and remove both names of their stages.  Call this function before examining a target in
 * the directory.
 */
int restorestage_clean(int dir, struct err *err);
int restorestage_open(struct restorestage *stage, int dir, struct err *err);
/*
 * Close a stage, and remove the file that has the name of the copy.  Returns false if the file
 * could not be removed.  restorestage_clean then tries again.
 */
bool restorestage_close(struct restorestage *stage);
void restorestage_release(struct restorestage *stage); /* as restorestage_close, for owned() */

/*
 * Give the copy the name of the target.  'old' describes the file that has this name, or is NULL if
 * the name must be free.  The old file gets the name 'backup'.  If 'backup' is NULL,
 * restorestage_close removes the old file.  Returns 1, or a negative error.  Returns 0 if the name
 * now belongs to another file, which then keeps the name.
 */
int restorestage_place(struct restorestage *stage, const char *name, const struct statx *old,
	const char *backup, struct err *err);

/* Fill in err for a system call that failed on the target.  Returns -ERR_DENIED. */
int restorestage_failed(struct err *err, int number, const char *what, struct str name);
