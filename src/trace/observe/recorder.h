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

/* What the recorder knows about a path.  The number of the path's entry is the index. */
struct recorder_path {
	struct record *record;
	/*
	 * Which key the contents of the path have.  If a path is not UTF-8, it may have the same
	 * text in the manifest as another path, so one of the two gets the second key.
	 */
	enum { RECORDER_KEY_OPEN, RECORDER_KEY_PLAIN, RECORDER_KEY_SECOND } key;
};

/* What the look queue knows about a directory.  The number of its entry is the index. */
struct recorder_directory {
	struct repository *repository; /* the repository that the directory lies in, or NULL */
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
	struct workqueue look_queue; /* records whose files have yet to be looked at */
	bool at_once;                /* files are looked at without the queue */
	struct arena arena;
	struct arena looked; /* belongs to the look queue's thread */
	/* memory for the threads that look at files when the command has ended */
	struct arena last[PAR_MAX];
	struct record *records; /* newest first */
	size_t n_records;
	struct recorder_path *paths;
	size_t n_paths;
	struct recorder_directory *directories; /* belongs to the look queue's thread */
	size_t n_directories;
	struct record **sorted; /* the records sorted by path, made by recorder_finish */
	size_t n_sorted;
	struct repository *repositories;
	/*
	 * Records of files with several names, in buckets by inode: linked has the records of files
	 * that are being changed, and named has all of them.
	 */
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

#define RECORDER_READ_LIMIT ((uint64_t)64 << 20) /* bytes, unless the user sets another limit */

/*
 * Prepare a recorder, which borrows the other arguments.  If saver is NULL, no contents are kept,
 * and git is not asked.
 */
void recorder_init(struct recorder *recorder, struct pathmap *map, struct saver *saver,
	struct reasons *reasons);
void recorder_release(struct recorder *recorder);

/* Returns the record of an entry, or NULL if it has none yet. */
static inline struct record *recorder_find(
	const struct recorder *recorder, const struct pathmap_entry *entry)
{
	return entry->number < recorder->n_paths ? recorder->paths[entry->number].record : NULL;
}
/*
 * Note that the current process does ops (bits of enum bundle_operation) to a path.  Returns the
 * record of the path.
 */
struct record *recorder_note(struct recorder *recorder, struct pathmap_entry *entry, unsigned ops);
/* Look at all files in the look queue now, since one of them may change next. */
void recorder_catch_up(struct recorder *recorder);
/*
 * Look at each file without the queue from now on, since files may change without a call that we
 * see.
 */
void recorder_look_at_once(struct recorder *recorder);
/* Note that names in a directory are about to be made or removed. */
void recorder_names_change(struct recorder *recorder, struct pathmap_entry *directory);
/* Whether the path exists now.  If it does, stx is filled. */
bool recorder_exists(struct recorder *recorder, struct pathmap_entry *entry, struct statx *stx);
/* Note that the path of 'to' is about to become another name of the file of 'from'. */
void recorder_link(struct recorder *recorder, struct record *from, struct record *to);

/*
 * Have the content of a file saved soon, since the file is being read.  A content that a git
 * repository has is not saved.
 */
void recorder_content_keep(struct recorder *recorder, struct record *record);
/*
 * Have the content of a file saved, since its content or its name is about to change.  Returns the
 * number of the job that the saver must do before the call may go on, or 0.
 */
uint64_t recorder_content_secure(struct recorder *recorder, struct record *record);
/*
 * Prepare for a change of a file under a name without a record, or through a descriptor of a file
 * without a name.  The file then changes under all its names.  'content' is set if its content may
 * change, and not only its attributes.  Returns the same as recorder_content_secure.
 */
uint64_t recorder_content_touch(struct recorder *recorder, const struct statx *stx, bool content);
/*
 * Prepare for ops on a file through a descriptor after the name that it was opened by was removed.
 * Returns the same as recorder_content_secure.
 */
uint64_t recorder_content_touch_nameless(
	struct recorder *recorder, const struct statx *stx, unsigned ops);
/*
 * Whether a file with several names, which is being opened for reading, may be written under names
 * without a record.  If so, the saved content may be from any moment.
 */
bool recorder_content_is_written_unseen(
	struct recorder *recorder, const struct record *record, const struct statx *stx);

/*
 * Begin to record a rename of 'from', which has the state stx, to 'to'.  With exchange, 'to' is
 * renamed to 'from' as well.  After this the caller calls recorder_move for each path that gets
 * another name.
 */
void recorder_move_begin(struct recorder *recorder, struct pathmap_entry *from,
	const struct statx *stx, struct pathmap_entry *to, bool exchange);
/*
 * Record that a path and all paths below it get another name.  Returns the same as
 * recorder_content_secure.
 */
uint64_t recorder_move(
	struct recorder *recorder, struct pathmap_entry *from, struct pathmap_entry *to);
/*
 * Record that a path is about to be removed or replaced.  stx is the state of its file.  Returns
 * the same as recorder_content_secure.
 */
uint64_t recorder_move_remove(
	struct recorder *recorder, struct pathmap_entry *entry, const struct statx *stx);

/*
 * Note that the current call makes the name of a record, moves a file with the state stx there, or
 * removes the name.  The argument name says which of these it does.
 */
void recorder_name_change(struct recorder *recorder, struct record *record, enum record_name name,
	const struct statx *stx);
/* Look at the file that a call may have made at the name of entry, since the call is over. */
void recorder_name_settle(struct recorder *recorder, const struct pathmap_entry *entry);
/*
 * Check a file whose content the current call is about to change or to remove.  If another process
 * has changed the content since the command renamed the file or changed its attributes, that
 * content is lost, and the bundle becomes incomplete.  record may be NULL.
 */
void recorder_name_check_overtaken(
	struct recorder *recorder, struct record *record, const struct statx *stx);

/* Look at everything again, since the command has ended, and sort the records by path. */
void recorder_finish(struct recorder *recorder);
