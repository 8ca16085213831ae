/*
 * record - all that a trace knows about one path, and about one process.  The observer fills in
 * records, and the manifest lists them.
 *
 * Two threads work on records: one turns calls into records, the other looks at the files.  Each
 * member belongs to one of these threads at a time.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"
#include "core/str.h"
#include "core/workqueue.h"
#include "trace/bundle/filestate.h"
#include "trace/bundle/git.h"

struct pathmap_entry; /* defined in trace/observe */

/* A git repository that has a recorded path in its work tree. */
struct repository {
	struct repository *next;
	struct str root; /* path of the work tree */
	struct git *git;
	bool named; /* the manifest lists a path of this repository */
};

/* A process of the traced command. */
struct process {
	pid_t pid, ppid;
	struct buf argv; /* arguments, each with a NUL at its end */
	bool argv_cut;
	bool ended;
	int status; /* as wait(2) returns it; -1: not known */
	int pidfd;
	uint32_t older; /* the next older process in the bucket; see tracees_by_pid */
};

#define RECORD_FEW_PROCESSES 4

struct record {
	/* must be the first member, so that its address is that of the record */
	struct workqueue_once look;

	/* These members belong to the thread that turns calls into records. */
	struct record *next;
	struct pathmap_entry *entry;
	struct str path; /* path of 'entry' */
	unsigned ops;
	bool ignored;
	/*
	 * For an ignored path: the value of recorder.renames when the command made the path.  0:
	 * the path existed before.
	 */
	unsigned made;
	/* first named in a rename, so one of its directories may be a symbolic link */
	bool brought;
	/* open before the command started, and not used by its name since then */
	bool inherited;
	/* a call that may change the file was seen; 'before' has the extended attributes */
	bool changing;
	bool names_change;     /* a directory in which calls may have made or removed names */
	bool found;            /* the first call that named the path has succeeded */
	struct record *origin; /* the name that the file had before its last rename, or NULL */
	/* The last change of the name by the command. */
	enum record_name {
		RECORD_NAME_KEPT, /* no call of the command has changed the name */
		RECORD_NAME_MADE,
		RECORD_NAME_MOVED, /* a rename gave the name to another file */
		RECORD_NAME_REMOVED,
	} name;
	bool raced; /* calls of two processes may have changed the name at the same time */
	/*
	 * placed_dev and placed_ino identify the file that a call made at the name or moved to it
	 */
	bool placed;
	uint64_t placed_dev, placed_ino;
	bool retimed; /* a call has set the file's times */
	/* another process had changed the file first, and that content is not saved */
	bool overtaken;
	/* another name of the file, whose record has the content before the command */
	struct record *alias;
	struct record *next_linked; /* next record in a bucket of recorder.linked */
	/* next in a bucket of recorder.named; belongs to the thread that looks */
	struct record *next_named;
	/* indices in ascending order; points to 'few' while they fit there */
	uint32_t *processes;
	size_t n_processes, cap_processes;
	uint32_t few[RECORD_FEW_PROCESSES];
	const char *key;     /* key of the content before the command; set before 'wanted' is set */
	_Atomic bool wanted; /* the content before the command is to be saved */

	/*
	 * These members belong to the thread that looks at files.  The other thread may use them
	 * while 'look' is not pending, and after recorder_catch_up.
	 */
	bool looked;
	int64_t looked_at; /* when_coarse just before the file was looked at */
	/*
	 * The path was first named while the file was being changed under another name, so 'before'
	 * is a copy of the state in the record of that name.
	 */
	bool late;
	bool foreign; /* owned by another user and not writable: listed only if it is changed */
	/* stat failed: by lack of permission before the command, or in any way after it */
	bool unknown;
	/* the saver owns the members about the content until job 'saving' is done */
	struct filestate before;
	/* number of the saver's job for the content before the command; 0: none */
	uint64_t saving;
	bool digested; /* that job makes only a digest, since the file is large */
	struct repository *repository;
	struct git_file git;

	/* These members are filled in when the command has ended. */
	struct filestate after;
	bool listed; /* the manifest lists the record */
	enum record_changed {
		RECORD_UNCHANGED,
		RECORD_BY_COMMAND,
		RECORD_BY_OTHER,
	} changed;      /* whether 'after' differs from 'before', and who has changed the file */
	bool contested; /* both the command and another process changed the file */
};

static inline struct filestate *record_state(struct record *record, bool after)
{
	return after ? &record->after : &record->before;
}

/* Returns the path of a record relative to its repository. */
static inline struct str record_git_path(const struct record *record)
{
	struct str root = record->repository->root, path = record->path;
	size_t start = root.len == 1 ? 1 : root.len + 1;

	return (struct str){ path.ptr + start, path.len - start };
}
