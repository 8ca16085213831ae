/*
 * recorder_priv - functions that the files of the recorder share.
 */
#pragma once
#include "trace/observe/recorder.h"

/* --- recorder.c --- */

/* The slot of an entry.  Valid until the next call, which may move all slots. */
struct recorder_path *recorder_path(struct recorder *recorder, const struct pathmap_entry *entry);
/* Whether the path, or a directory above it, is ignored, so that its record is not listed. */
bool recorder_is_ignored(const struct pathmap_entry *entry);
/* Whether the file may have other names. */
bool recorder_has_names(const struct filestate *state);
/* The record of another name, under which the same file is being changed; NULL: none. */
struct record *recorder_changing_name(struct recorder *recorder, const struct record *record);
/*
 * The record's file may be changed by the current call, so it is looked at now.  If the file has
 * other names, it changes under them too, by writes that we do not see.  So from then on files are
 * looked at without the queue.
 */
void recorder_expect_change(struct recorder *recorder, struct record *record);
void recorder_add_touched(struct recorder *recorder, uint64_t dev, uint64_t ino);

/* --- recorder_look.c --- */

/* Prepare the look queue. */
void recorder_look_init(struct recorder *recorder);
/* Add the file to the look queue, or look at it now if the queue is no longer used. */
void recorder_look_soon(struct recorder *recorder, struct record *record);
/*
 * Look again at a file that the command has not changed yet.  If it has changed since the first
 * look, another process has changed it, and a restore must not undo that.
 */
void recorder_look_again(struct recorder *recorder, struct record *record);
/* Whether an error of stat(2) means that the path does not exist. */
bool recorder_look_is_missing(int r);
/* Whether the git repository has the file's content before the command. */
bool recorder_look_is_clean(const struct record *record);

/* --- recorder_name.c --- */

/* Whether the file that is at this name at the end is one that the command left there. */
bool recorder_name_is_own(const struct record *record);
/* Whether the content of that file has changed, and no call of the command has changed it. */
bool recorder_name_is_edited(const struct recorder *recorder, struct record *record);
/* Another process has changed the file before the command did, and that content is not saved. */
void recorder_name_add_overtaken(struct recorder *recorder, struct record *record);

/* --- recorder_content.c --- */

/* The file is being read, and has been looked at: give its content to the saver. */
void recorder_content_save(struct recorder *recorder, struct record *record);
/*
 * Give the content of a state to the saver.  0, or -errno if the file cannot be opened: the caller
 * decides whether that is a reason.
 */
int recorder_content_queue(struct recorder *recorder, struct record *record,
	struct filestate *state, const char *key, bool digest, uint64_t *number);
/* The key of a content in the table: "before:PATH" or "after:PATH". */
const char *recorder_content_key(
	struct recorder *recorder, const char *when, const struct pathmap_entry *entry);
