/*
 * record - the data that a trace collects about one path, and about one process.  The observer
 * fills in records, and the manifest lists them.
 *
 * Two threads work on records.  One thread turns calls into records, and the other thread looks at
 * the files.  Each member belongs to one of these threads at a time.
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
	int status; /* status as wait(2) returns it; -1: not known */
	int pidfd;
	/* index of the next older process in the bucket of a hash table; see tracees_by_pid */
	uint32_t older;
};

#define RECORD_FEW_PROCESSES 4

struct record {
	/* must be the first member, so that it has the address of the record */
	struct workqueue_once look;

	/* These members belong to the thread that turns calls into records. */
	struct record *next;
	struct pathmap_entry *entry;
	struct str path; /* path of 'entry' */
	unsigned ops;
	bool ignored;
	/*
	 * Only for an ignored path: the value of recorder.renames when the command made the path,
	 * or 0 if the path existed before the command.
	 */
	unsigned made;
	/* the path was first used by a rename, so a directory in the path may be a symbolic link */
	bool brought;
	/*
	 * the file was open before the command started, and its path has not been used since then
	 */
	bool inherited;
	/* a call that may change the file was seen, so 'before' has the extended attributes */
	bool changing;
	bool names_change; /* calls may have made or removed names in this directory */
	bool found;        /* the first call that named the path has succeeded */
	/* record of the path that the file had before its last rename, or NULL */
	struct record *origin;
	/* The last change of the name at this path by a call of the command. */
	enum record_name {
		RECORD_NAME_KEPT, /* no call has made, moved or removed the name */
		RECORD_NAME_MADE,
		RECORD_NAME_MOVED, /* a rename gave the name to another file */
		RECORD_NAME_REMOVED,
	} name;
	/* two processes may have made, moved or removed the name at the same time */
	bool raced;
	/*
	 * A call made a file at the path, or moved a file to it.  placed_dev and placed_ino
	 * identify this file.
	 */
	bool placed;
	uint64_t placed_dev, placed_ino;
	bool retimed; /* a call has set the file's times */
	/*
	 * another process changed the file before the command did, and the content from that
	 * process was not saved
	 */
	bool overtaken;
	/* record under another path of the file; that record has the content before the command */
	struct record *alias;
	struct record *next_linked; /* next record in a bucket of recorder.linked */
	/* next record in a bucket of recorder.named; belongs to the thread that looks at files */
	struct record *next_named;
	/*
	 * indexes of the processes that used the path, ascending; an array of up to four is in
	 * 'few'
	 */
	uint32_t *processes;
	size_t n_processes, cap_processes;
	uint32_t few[RECORD_FEW_PROCESSES];
	const char *key;     /* key of the content before the command; set before 'wanted' is set */
	_Atomic bool wanted; /* the content before the command should be saved */

	/*
	 * These members belong to the thread that looks at files.  The other thread may use them
	 * while 'look' is not pending, and after recorder_catch_up.
	 */
	bool looked;
	int64_t looked_at; /* time just before the file was looked at, as when_coarse returns it */
	/*
	 * The path was first used while the file was being changed under another path.  So 'before'
	 * is a copy of 'before' in the record of the other path.
	 */
	bool late;
	/*
	 * another user owns the file, and this user may not write to it; it is listed only if it is
	 * changed
	 */
	bool foreign;
	/*
	 * the state is not known, since stat failed: before the command for lack of permission, or
	 * after the command for any reason
	 */
	bool unknown;
	/* until job 'saving' is done, the saver owns the members about the content */
	struct filestate before;
	/* number of the saver's job for the content before the command; 0: none */
	uint64_t saving;
	bool digested; /* job 'saving' makes only a digest, since the file is large */
	struct repository *repository;
	struct git_file git;

	/* These members are filled in when the command has ended. */
	struct filestate after;
	bool listed; /* the manifest lists the record */
	/* whether 'after' differs from 'before', and which process has changed the file */
	enum record_changed {
		RECORD_UNCHANGED,
		RECORD_BY_COMMAND,
		RECORD_BY_OTHER,
	} changed;
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
