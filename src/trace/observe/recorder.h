/*
 * recorder - keeps a record of every path that the command has used: its state at the first look,
 * its state at the end, and the contents that a restore needs.
 *
 * A record is made when a call names its path for the first time.  Ignored paths have records too,
 * which are never listed.  A file that belongs to another user and cannot be written is listed only
 * if it is changed, by a rename for example.
 *
 *	recorder.c          makes records and notes what calls do to them
 *	recorder_look.c     looks at files for the first time, on the thread of the look queue
 *	recorder_content.c  gives contents to the saver before they change
 *	recorder_move.c     follows what is renamed or removed
 *	recorder_name.c     tells whether the file at a name is the command's
 *	recorder_finish.c   looks at everything again when the command has ended
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/par.h"
#include "core/workqueue.h"
#include "trace/bundle/bundle.h"
#include "trace/bundle/reasons.h"
#include "trace/bundle/record.h"
#include "trace/bundle/saver.h"
#include "trace/observe/pathmap.h"
#include "trace/observe/unrecorded.h"

/* The recorder's data about a path, by the number of its entry. */
struct recorder_path {
	struct record *record;
	/* If a path is not UTF-8, the manifest may have the same text for another path. */
	enum { RECORDER_KEY_OPEN, RECORDER_KEY_PLAIN, RECORDER_KEY_SECOND } key;
};

/* The look queue's data about a directory, by the number of its entry. */
struct recorder_directory {
	struct repository *repository; /* the one that it lies in, or NULL */
	bool searched;
};

struct recorder_inode {
	uint64_t dev, ino;
};

#define RECORDER_BUCKETS 256

struct recorder {
	struct pathmap *map;
	struct saver *saver;
	struct reasons *reasons;
	struct workqueue look_queue; /* records whose files are to be looked at */
	bool at_once;                /* files are looked at without the queue */
	struct arena arena;
	struct arena looked;        /* belongs to the look queue's thread */
	struct arena last[PAR_MAX]; /* for the threads that look at the end */
	struct record *records;     /* newest first */
	size_t n_records;
	struct recorder_path *paths;
	size_t n_paths;
	struct recorder_directory *directories; /* belongs to the look queue's thread */
	size_t n_directories;
	struct record **sorted; /* by path, made by recorder_finish */
	size_t n_sorted;
	struct repository *repositories;
	/* Files with several names, by inode.  linked has those that are being changed. */
	struct record *linked[RECORDER_BUCKETS];
	struct record *named[RECORDER_BUCKETS]; /* belongs to the look queue's thread */
	/* Files that the command may have changed under names without a record. */
	struct recorder_inode *touched;
	size_t n_touched, cap_touched;
	unsigned renames; /* number of renames so far, plus 1 */
	struct unrecorded unrecorded;
	uint32_t process; /* index of the process whose call is being recorded */
	uint32_t uid;
	uint64_t read_limit; /* a larger file that is only read is not saved */
};

#define RECORDER_READ_LIMIT ((uint64_t)64 << 20) /* unless the user sets another one */

/* All is borrowed.  saver NULL: no contents are kept, and git is not asked. */
void recorder_init(struct recorder *recorder, struct pathmap *map, struct saver *saver,
	struct reasons *reasons);
void recorder_release(struct recorder *recorder);

/* The record of an entry; NULL: it has none yet. */
static inline struct record *recorder_find(
	const struct recorder *recorder, const struct pathmap_entry *entry)
{
	return entry->number < recorder->n_paths ? recorder->paths[entry->number].record : NULL;
}
/* Note that the current process does this to the path (bits of enum bundle_operation). */
struct record *recorder_note(struct recorder *recorder, struct pathmap_entry *entry, unsigned ops);
/* Look at all files in the look queue now, since one of them may change next. */
void recorder_catch_up(struct recorder *recorder);
/* From now on files may change without a call that we see, so none may wait in the look queue. */
void recorder_look_at_once(struct recorder *recorder);
/* Names in this directory are about to be made or removed. */
void recorder_names_change(struct recorder *recorder, struct pathmap_entry *directory);
/* Whether the path exists now. */
bool recorder_exists(struct recorder *recorder, struct pathmap_entry *entry, struct statx *stx);
/* The path of to is about to become another name of the file of from. */
void recorder_link(struct recorder *recorder, struct record *from, struct record *to);

/* The file is being read: its content is saved soon, unless a git repository has it. */
void recorder_content_keep(struct recorder *recorder, struct record *record);
/*
 * The file's content or name is about to change, so the content has to be saved.  Returns the
 * number of the saver's job that must be done before the call may go on; 0: none.
 */
uint64_t recorder_content_secure(struct recorder *recorder, struct record *record);
/*
 * The file may be changed next, under a name without a record or without a name.  Then it changes
 * under all its other names.  content: its content may change, and not only its attributes. Returns
 * as recorder_content_secure does.
 */
uint64_t recorder_content_touch(struct recorder *recorder, const struct statx *stx, bool content);
/* The same for a file that is changed through a descriptor after its name was removed. */
uint64_t recorder_content_touch_nameless(
	struct recorder *recorder, const struct statx *stx, unsigned ops);
/*
 * Whether a file with several names, which is being opened for reading, may be written under names
 * without a record.  Then the saved content may be of any moment.
 */
bool recorder_content_is_written_unseen(
	struct recorder *recorder, const struct record *record, const struct statx *stx);

/*
 * A call is about to rename from, which has the state stx; exchange: and to as well.  Next the
 * caller calls recorder_move for each path that gets another name.
 */
void recorder_move_begin(struct recorder *recorder, struct pathmap_entry *from,
	const struct statx *stx, struct pathmap_entry *to, bool exchange);
/* The path and all paths below it get another name.  Returns as recorder_content_secure does. */
uint64_t recorder_move(
	struct recorder *recorder, struct pathmap_entry *from, struct pathmap_entry *to);
/* The path is about to be removed or replaced.  Returns as recorder_content_secure does. */
uint64_t recorder_move_remove(
	struct recorder *recorder, struct pathmap_entry *entry, const struct statx *stx);

/* The current call makes this name, moves a file with the state stx there, or removes the name. */
void recorder_name_change(struct recorder *recorder, struct record *record, enum record_name name,
	const struct statx *stx);
/* The call that changed this name is over, so the file that it made can be looked at. */
void recorder_name_settle(struct recorder *recorder, const struct pathmap_entry *entry);
/*
 * The current call is about to change the content of a file, or to remove it.  If another process
 * has changed the content after the command had renamed the file, that content is lost, and that
 * becomes a reason.  record may be NULL.
 */
void recorder_name_check_overtaken(
	struct recorder *recorder, struct record *record, const struct statx *stx);

/* The command has ended: look at everything again, and sort the records by path. */
void recorder_finish(struct recorder *recorder);
