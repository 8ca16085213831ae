/*
 * recorder - keeps a record of every path that the command has used: the state of the file at the
 * first look, its state at the end, and the contents that a restore needs.
 *
 * A record is made when a call names its path for the first time.  Ignored paths have records, too,
 * but these are never listed.  A file that belongs to another user and is not writable is listed
 * only if it has changed, for example by a rename.
 *
 *	recorder.c          makes records, and notes in them what calls do to files
 *	recorder_look.c     looks at files for the first time, on the thread of the look queue
 *	recorder_content.c  gives contents to the saver before they change
 *	recorder_move.c     follows files that are renamed or removed
 *	recorder_name.c     finds out whether the file at a path is the result of the command or
 *	                    of another process
 *	recorder_finish.c   looks at all files again when the command has ended
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

/*
 * The recorder's data about a path.  They are in an array that is indexed by the numbers of
 * entries.
 */
struct recorder_path {
	struct record *record;
	/*
	 * The kind of key under which contents of the path are saved.  If two paths that are not
	 * UTF-8 have the same text in the manifest, the second of them gets another key.
	 */
	enum { RECORDER_KEY_OPEN, RECORDER_KEY_PLAIN, RECORDER_KEY_SECOND } key;
};

/*
 * The look queue's data about a directory.  They are in an array that is indexed by the numbers of
 * entries.
 */
struct recorder_directory {
	struct repository *repository; /* the repository that contains the directory, or NULL */
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
	/* the files that strata has not looked at yet */
	struct workqueue look_queue;
	bool at_once; /* files are looked at immediately, without the queue */
	struct arena arena;
	struct arena looked; /* belongs to the look queue's thread */
	/* memory of the threads that look at files when the command has ended */
	struct arena last[PAR_MAX];
	struct record *records; /* list of all records, the newest first */
	size_t n_records;
	struct recorder_path *paths;
	size_t n_paths;
	struct recorder_directory *directories; /* belongs to the look queue's thread */
	size_t n_directories;
	struct record **sorted; /* all records sorted by path; made by recorder_finish */
	size_t n_sorted;
	struct repository *repositories;
	/*
	 * Records of files with several names, in buckets by inode number.  'named' has the records
	 * of all such files.  'linked' has the records of those that are being changed.
	 */
	struct record *linked[RECORDER_BUCKETS];
	struct record *named[RECORDER_BUCKETS]; /* belongs to the look queue's thread */
	/* Files that the command may have changed under names that have no record. */
	struct recorder_inode *touched;
	size_t n_touched, cap_touched;
	unsigned renames; /* number of renames so far, plus 1 */
	struct unrecorded unrecorded;
	uint32_t process; /* index of the process whose call is being recorded */
	uint32_t uid;
	/* the content of a larger file is not saved when the file is only read */
	uint64_t read_limit;
};

#define RECORDER_READ_LIMIT ((uint64_t)64 << 20) /* bytes; the default of read_limit */

/*
 * Prepare a recorder.  map, saver and reasons are borrowed.  If saver is NULL, no contents are
 * kept, and no git repository is opened.
 */
void recorder_init(struct recorder *recorder, struct pathmap *map, struct saver *saver,
	struct reasons *reasons);
void recorder_release(struct recorder *recorder);

/* Returns the record of an entry, or NULL if the entry has none yet. */
static inline struct record *recorder_find(
	const struct recorder *recorder, const struct pathmap_entry *entry)
{
	return entry->number < recorder->n_paths ? recorder->paths[entry->number].record : NULL;
}
/*
 * Record that the current process does the operations ops (bits of enum bundle_operation) to a
 * path.  Returns the record of the path.  A missing record is made.
 */
struct record *recorder_note(struct recorder *recorder, struct pathmap_entry *entry, unsigned ops);
/* Look at all files in the look queue now, since the next call may change one of them. */
void recorder_catch_up(struct recorder *recorder);
/*
 * From now on look at each file immediately, without the queue.  To be called when a file may
 * change without a call that strata sees.
 */
void recorder_look_at_once(struct recorder *recorder);
/* Record that a call is about to make or remove names in a directory. */
void recorder_names_change(struct recorder *recorder, struct pathmap_entry *directory);
/* Whether the path exists now.  If the path exists, *stx is set. */
bool recorder_exists(struct recorder *recorder, struct pathmap_entry *entry, struct statx *stx);
/* Record that the path of 'to' is about to become another name of the file of 'from'. */
void recorder_link(struct recorder *recorder, struct record *from, struct record *to);

/*
 * Have the content of a file saved soon, since the file is being read.  Nothing is saved if a git
 * repository has the content.
 */
void recorder_content_keep(struct recorder *recorder, struct record *record);
/*
 * Have the content of a file saved, since its content or its name is about to change.  Returns the
 * number of the saver's job that must be done before the call may go on, or 0.
 */
uint64_t recorder_content_secure(struct recorder *recorder, struct record *record);
/*
 * Prepare for a change to a file: a change under a name that has no record, or through a descriptor
 * when the file has no name.  The change concerns all names of the file.  'content' is set if the
 * call may change the content, and not only the attributes.  Returns the number of a job as
 * recorder_content_secure does.
 */
uint64_t recorder_content_touch(struct recorder *recorder, const struct statx *stx, bool content);
/*
 * Prepare for the operations ops on a file through a descriptor, when the name by which the file
 * was opened has been removed.  Returns the number of a job as recorder_content_secure does.
 */
uint64_t recorder_content_touch_nameless(
	struct recorder *recorder, const struct statx *stx, unsigned ops);
/*
 * Whether a file that is being opened for reading may at the same time be written under a name
 * without a record.  The saved content may then be from any moment.  Only a file with several names
 * can be written in this way.
 */
bool recorder_content_is_written_unseen(
	struct recorder *recorder, const struct record *record, const struct statx *stx);

/*
 * Begin to record that 'from', which has the state stx, is renamed to 'to'.  If 'exchange' is set,
 * 'to' is also renamed to 'from'.  The caller must then call recorder_move for each renamed path.
 */
void recorder_move_begin(struct recorder *recorder, struct pathmap_entry *from,
	const struct statx *stx, struct pathmap_entry *to, bool exchange);
/*
 * Record that a path, and all paths below it, are renamed.  Returns the number of a job as
 * recorder_content_secure does.
 */
uint64_t recorder_move(
	struct recorder *recorder, struct pathmap_entry *from, struct pathmap_entry *to);
/*
 * Record that the name of a file is about to be removed or replaced.  stx is the state of the file.
 * Returns the number of a job as recorder_content_secure does.
 */
uint64_t recorder_move_remove(
	struct recorder *recorder, struct pathmap_entry *entry, const struct statx *stx);

/*
 * Record that the current call makes a file at a path, moves a file with the state stx there, or
 * removes the file there.  'name' tells which of these three the call does.
 */
void recorder_name_change(struct recorder *recorder, struct record *record, enum record_name name,
	const struct statx *stx);
/* Look at the file of an entry now, since a call that may have made the file is over. */
void recorder_name_settle(struct recorder *recorder, const struct pathmap_entry *entry);
/*
 * Check a file whose content the current call is about to change or to remove.  Another process may
 * have changed the content after the command renamed the file or changed its attributes.  If so,
 * the content from that process is lost, and the bundle becomes incomplete.  record may be NULL.
 */
void recorder_name_check_overtaken(
	struct recorder *recorder, struct record *record, const struct statx *stx);

/* Look at all files again after the command has ended, and sort the records by path. */
void recorder_finish(struct recorder *recorder);
