/*
 * recorder - what a traced program had to do with each file: the state at the
 * first look, the state at the end, and the contents that reconstruction needs.
 *
 * A record is made when its path is first seen.  Records of ignored paths exist too, and are never
 * told of.  Those of files that belong to somebody else and cannot be written are told of only if
 * they are changed (by a rename, say).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/git.h"
#include "core/par.h"
#include "trace/bundle.h"
#include "trace/filestate.h"
#include "trace/looker.h"
#include "trace/pathmap.h"
#include "trace/reasons.h"
#include "trace/saver.h"
#include "trace/unrecorded.h"

struct repository {
	struct repository *next;
	const struct pathmap_entry *root;
	struct git *git; /* NULL: could not be read */
	bool named;      /* a record told of is in it */
};

#define RECORDER_FEW 4

/*
 * One thread sees calls, another may look for it: each member belongs to one of them at a time.
 */
struct record {
	struct looker_item item; /* the first: an item is its record */

	/* Whoever sees calls. */
	struct record *next;
	struct pathmap_entry *entry;
	unsigned ops;
	bool ignored;
	unsigned made;        /* if ignored: since that many renames; 0: was there before */
	bool brought;         /* by a rename: a directory of its path may be a link yet */
	bool inherited;       /* open before the command started, and no name of it used since */
	bool changing;        /* a call that may change it was seen: xattrs of before are there */
	bool names_change;    /* a directory: a call that may change which names are in it */
	bool found;           /* the call that was first to name it has found it */
	struct record *alias; /* another name of the same file, whose content before it has */
	struct record *next_linked;
	struct record *next_named; /* whoever looks */
	uint32_t *processes;       /* indices, ascending; few until there are more */
	size_t n_processes, cap_processes;
	uint32_t few[RECORDER_FEW];
	const char *key;     /* of its content before, written before */
	_Atomic bool wanted; /* that content is to be kept */

	/* Whoever looks; the other only when it is not pending, or after recorder_catch_up. */
	bool looked;
	int64_t looked_at; /* when_coarse, just before */
	bool late;    /* seen when another name of it was being changed: before is that one's */
	bool foreign; /* somebody else's, and cannot be written: not told of until it is changed */
	bool unknown; /* we were not allowed to see what it was before */
	struct filestate before; /* contents are the saver's until its number is done */
	uint64_t saving;         /* the saver's number of the content before; 0: was not wanted */
	bool digested;           /* that is for its digest only: it is large, and only read */
	struct repository *repository;
	struct git_file git;

	/* After the end. */
	struct filestate after;
	bool told; /* is in sorted */
	/* Whether it is another than before, and by whose doing. */
	enum record_changed {
		RECORD_UNCHANGED,
		RECORD_BY_COMMAND,
		RECORD_BY_OTHER,
	} changed;
};

/* A file, by whatever name. */
struct inode {
	uint64_t dev, ino;
};

static inline struct filestate *recorder_state(struct record *record, bool after)
{
	return after ? &record->after : &record->before;
}

/* The path of a record in its repository. */
struct str recorder_git_path(const struct record *record);

#define RECORDER_LINKED 256

struct recorder {
	struct pathmap *map;
	struct saver *saver;
	struct reasons *reasons;
	struct looker looker;
	bool at_once; /* nothing is left to the looker */
	struct arena arena;
	struct arena looked;        /* of whoever looks */
	struct arena last[PAR_MAX]; /* of who looks in the end */
	struct record *records;     /* newest first until recorder_finish sorts them into sorted */
	size_t n_records;
	struct record **sorted;
	size_t n_sorted;
	struct repository *repositories;
	struct record *linked[RECORDER_LINKED]; /* changed ones with several names, by inode */
	struct record *named[RECORDER_LINKED];  /* all with several names; of whoever looks */
	/* Files that the command may have changed by names that are not told of. */
	struct inode *touched;
	size_t n_touched, cap_touched;
	unsigned renames; /* so far, from 1 */
	struct unrecorded unrecorded;
	uint32_t process; /* whose calls are looked at now */
	uint32_t uid;
	uint64_t read_limit; /* what is larger and only read is not saved */
};

#define RECORDER_READ_LIMIT ((uint64_t)64 << 20) /* usually */

/* map, saver and reasons are borrowed.  Without a saver no contents are kept, nor is git asked. */
void recorder_init(struct recorder *recorder, struct pathmap *map, struct saver *saver,
	struct reasons *reasons);
void recorder_release(struct recorder *recorder);

/* The current process had to do with it in this way. */
struct record *recorder_see(struct recorder *recorder, struct pathmap_entry *entry, unsigned ops);
/* Something may change next: look at all that was only asked about so far. */
void recorder_catch_up(struct recorder *recorder);
/*
 * This file may be changed next, by a name that is not told of or by none, and with it all its
 * other names; content: not only its attributes.  As recorder_secure.
 */
uint64_t recorder_touch(struct recorder *recorder, const struct statx *stx, bool content);
/* The same by no name at all: ops are what is done to it. */
uint64_t recorder_touch_nameless(struct recorder *recorder, const struct statx *stx, unsigned ops);
/* Names will come or go in this directory. */
void recorder_names_change(struct recorder *recorder, struct pathmap_entry *directory);
/* From now on to ask about a file may tell of a change no call announced. */
void recorder_look_at_once(struct recorder *recorder);
/* Whether something is there now. */
bool recorder_exists(struct recorder *recorder, struct pathmap_entry *entry, struct statx *stx);
/* Its content is read: have it kept soon, unless the repository has it. */
void recorder_keep(struct recorder *recorder, struct record *record);
/*
 * Its content, or its name, is about to change: keep what it was.  The number of the job that
 * must be done first, 0 for none.
 */
uint64_t recorder_secure(struct recorder *recorder, struct record *record);
/*
 * Whether a file with several names, of which one was opened now to be read, may be written by
 * names that are not told of: what is kept of it may be of any moment.
 */
bool recorder_is_written_unseen(
	struct recorder *recorder, const struct record *record, const struct statx *stx);
/* A path is about to become another name of what is at from. */
void recorder_link(struct recorder *recorder, struct record *from, struct record *to);
/*
 * One call renames from, which is stx; exchange: and to likewise.  Then recorder_move is called for
 * each that gets another name.
 */
void recorder_rename(struct recorder *recorder, struct pathmap_entry *from, const struct statx *stx,
	struct pathmap_entry *to, bool exchange);
/* It is about to be removed, or something else to take its place.  As recorder_secure. */
uint64_t recorder_remove(
	struct recorder *recorder, struct pathmap_entry *entry, const struct statx *stx);
/* It gets another name, and so does all that is in it.  As recorder_secure. */
uint64_t recorder_move(
	struct recorder *recorder, struct pathmap_entry *from, struct pathmap_entry *to);

/* The program has ended: how everything is now.  Then records are sorted by path. */
void recorder_finish(struct recorder *recorder);
