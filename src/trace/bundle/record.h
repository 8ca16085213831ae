/*
 * record - all that a trace knows about one path and about one process.  The observer fills records
 * in, and the manifest lists them.
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

struct pathmap_entry; /* of trace/observe */

/* A git repository that a recorded path lies in. */
struct repository {
	struct repository *next;
	struct str root; /* its work tree */
	struct git *git;
	bool named; /* the manifest lists a path in it */
};

/* A process of the command. */
struct process {
	pid_t pid, ppid;
	struct buf argv; /* NUL-separated */
	bool argv_cut;
	bool ended;
	int status; /* of wait(2); -1: not known */
	int pidfd;
	uint32_t older; /* see tracees_by_pid */
};

#define RECORD_FEW_PROCESSES 4

struct record {
	struct workqueue_once look; /* first, so that its address is the record's */

	/* These members belong to the thread that sees calls. */
	struct record *next;
	struct pathmap_entry *entry;
	struct str path; /* path of the entry */
	unsigned ops;
	bool ignored;
	/* For an ignored path: recorder.renames when the path was made; 0: it existed before. */
	unsigned made;
	bool brought;      /* first seen in a rename, so a directory of the path may be a link */
	bool inherited;    /* open before the command started, and not used by name since */
	bool changing;     /* a call that may change the file was seen, and before has the xattrs */
	bool names_change; /* a directory in which a call may have made or removed names */
	bool found;        /* the call that named the path first has succeeded */
	struct record *origin; /* the name that the file had before its last rename, or NULL */
	/* How the command last changed the name. */
	enum record_name {
		RECORD_NAME_KEPT, /* no call of the command changed it */
		RECORD_NAME_MADE,
		RECORD_NAME_MOVED, /* a rename gave the name to another file */
		RECORD_NAME_REMOVED,
	} name;
	bool raced;  /* calls of two processes may have changed the name at the same time */
	bool placed; /* the file that was made or moved there is known by the two numbers below */
	uint64_t placed_dev, placed_ino;
	bool retimed;         /* a call has set the file's times */
	bool overtaken;       /* another process changed it first; that change is not saved */
	struct record *alias; /* another name of the file; its record has the content before */
	struct record *next_linked; /* in recorder.linked */
	struct record *next_named;  /* in recorder.named; belongs to the thread that looks */
	uint32_t *processes;        /* ascending indices; points to few until there are more */
	size_t n_processes, cap_processes;
	uint32_t few[RECORD_FEW_PROCESSES];
	const char *key;     /* key of the content before; set earlier than wanted */
	_Atomic bool wanted; /* the content before is to be saved */

	/*
	 * These members belong to the thread that looks.  The other thread may use them when look
	 * is not pending, or after recorder_catch_up.
	 */
	bool looked;
	int64_t looked_at; /* when_coarse, just before the look */
	/*
	 * The path was first seen while the file was being changed under another name, so before is
	 * a copy of that name's state.
	 */
	bool late;
	bool foreign; /* file of another user, and not writable: listed only if it is changed */
	bool unknown; /* it could not be looked at: permission denied; at the end: any error */
	struct filestate before; /* the saver owns its content members until saving is done */
	uint64_t saving;         /* number of the saver's job for the content before; 0: none */
	bool digested;           /* that job makes only a digest of a large file */
	struct repository *repository;
	struct git_file git;

	/* Filled in when the command has ended. */
	struct filestate after;
	bool listed; /* in the manifest */
	enum record_changed {
		RECORD_UNCHANGED,
		RECORD_BY_COMMAND,
		RECORD_BY_OTHER,
	} changed;      /* whether after differs from before, and by whom */
	bool contested; /* the command and another process both changed it */
};

static inline struct filestate *record_state(struct record *record, bool after)
{
	return after ? &record->after : &record->before;
}

/* Returns the path of a record within its repository. */
static inline struct str record_git_path(const struct record *record)
{
	struct str root = record->repository->root, path = record->path;
	size_t start = root.len == 1 ? 1 : root.len + 1;

	return (struct str){ path.ptr + start, path.len - start };
}
