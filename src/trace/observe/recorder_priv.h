/*
 * recorder_priv - what the files of the recorder share.
 */
#pragma once
#include "trace/observe/recorder.h"

/* --- recorder.c --- */

/* The slot of an entry, made if need be; valid until the next call. */
struct recorder_path *recorder_path(struct recorder *recorder, const struct pathmap_entry *entry);
/* Whether no record of this path is listed: it is ignored, or below something ignored. */
bool recorder_is_ignored(const struct pathmap_entry *entry);
/* Whether the file may have other names. */
bool recorder_has_names(const struct filestate *state);
/* Another record of the same file, by whose name the file is being changed; NULL: none. */
struct record *recorder_changing_name(struct recorder *recorder, const struct record *record);
/*
 * The record's file may change with the next call: look at it now.  The other names of the file
 * change with it, by writes that no call announces, so from then on nothing is left to the looker.
 */
void recorder_expect_change(struct recorder *recorder, struct record *record);
void recorder_add_touched(struct recorder *recorder, uint64_t dev, uint64_t ino);

/* --- recorder_look.c --- */

/* Prepare the looker's queue. */
void recorder_look_init(struct recorder *recorder);
/* Have the file looked at soon; at once if nothing is left to the looker. */
void recorder_look_soon(struct recorder *recorder, struct record *record);
/*
 * Look at a file that the command has not changed yet.  If it differs from the first look, somebody
 * else has changed it, and a restore must not undo that.
 */
void recorder_look_again(struct recorder *recorder, struct record *record);
/* Whether an error of stat means that nothing is, or can be, at the path. */
bool recorder_look_is_missing(int r);
/* Whether the repository has the file's content as it was before. */
bool recorder_look_is_clean(const struct record *record);

/* --- recorder_content.c --- */

/* The file is being read, and has been looked at: give its content to the saver. */
void recorder_content_save(struct recorder *recorder, struct record *record);
/*
 * Give the content of a state to the saver.  0, or -errno: the caller knows whether it matters that
 * the file cannot be opened.
 */
int recorder_content_queue(struct recorder *recorder, struct record *record,
	struct filestate *state, const char *key, bool digest, uint64_t *number);
/* The key of a content in the table: "before:PATH" or "after:PATH". */
const char *recorder_content_key(
	struct recorder *recorder, const char *when, const struct pathmap_entry *entry);
