/* recorder_priv - functions that the source files of the recorder share. */
#pragma once
#include "trace/observe/recorder.h"

/* --- recorder.c --- */

/*
 * Returns the recorder's data about the path of an entry.  The pointer is valid until the next call
 * of this function, which may move the array.
 */
struct recorder_path *recorder_path(struct recorder *recorder, const struct pathmap_entry *entry);
/* Whether the path or a directory above it is ignored.  The record of such a path is not listed. */
bool recorder_is_ignored(const struct pathmap_entry *entry);
/* Whether the file may have more than one name. */
bool recorder_has_names(const struct filestate *state);
/*
 * Returns the record of another name under which the file of a record is being changed, or NULL if
 * there is none.
 */
struct record *recorder_changing_name(struct recorder *recorder, const struct record *record);
/*
 * Look at a file now, since the current call may change it.  If the file has other names, writes
 * that strata does not see may change the file under those names.  So from then on all files are
 * looked at without the queue.
 */
void recorder_expect_change(struct recorder *recorder, struct record *record);
/* Record that the command may have changed an inode under names that have no record. */
void recorder_add_touched(struct recorder *recorder, uint64_t dev, uint64_t ino);

/* --- recorder_look.c --- */

/* Prepare the look queue of the recorder. */
void recorder_look_init(struct recorder *recorder);
/* Put a record into the look queue, or look at its file now if the queue is no longer used. */
void recorder_look_soon(struct recorder *recorder, struct record *record);
/*
 * Look again at a file that the command has not changed yet.  If the file has changed since the
 * first look, another process has changed it, and a restore must not undo that change.
 */
void recorder_look_again(struct recorder *recorder, struct record *record);
/* Whether an error of stat(2) means that the path does not exist. */
bool recorder_look_is_missing(int r);
/* Whether a git repository has the content that the file had before the command. */
bool recorder_look_is_clean(const struct record *record);

/* --- recorder_name.c --- */

/* Whether the file that is at the path after the command is the result of a call of the command. */
bool recorder_name_is_own(const struct record *record);
/*
 * Whether the content of the file at this path has changed, and no call of the command has changed
 * it.
 */
bool recorder_name_is_edited(const struct recorder *recorder, struct record *record);
/*
 * Make the bundle incomplete, since another process changed a file before the command did.  The
 * content between the two changes is not saved.
 */
void recorder_name_add_overtaken(struct recorder *recorder, struct record *record);

/* --- recorder_content.c --- */

/*
 * Give the saver the content of a file that is being read.  strata must have looked at the file
 * already.
 */
void recorder_content_save(struct recorder *recorder, struct record *record);
/*
 * Give the saver the content of a state, under this key.  If 'digest' is set, the saver only makes
 * a digest.  *number is set to the number of the job.  Returns 0, or -errno if the file cannot be
 * opened.  The caller decides whether such an error makes the bundle incomplete.
 */
int recorder_content_queue(struct recorder *recorder, struct record *record,
	struct filestate *state, const char *key, bool digest, uint64_t *number);
/*
 * Returns the key of a content in the table: "before:PATH" or "after:PATH".  The key belongs to the
 * recorder.
 */
const char *recorder_content_key(
	struct recorder *recorder, const char *when, const struct pathmap_entry *entry);
