/*
 * bundle - writes and reads bundles.  This header describes the folder trace/bundle.
 *
 * A bundle is the directory in which a traced command is recorded (strata-trace(1)):
 *
 *	manifest.json  the command, and a record for each path that the command used
 *	blobs.parquet  the saved contents, by key; absent if there are none
 *
 * Writing:
 *
 *	record.h         the record of a path and of a process while the command runs
 *	filestate.c      the state of a file at one moment
 *	saver.c          saves contents, on a thread of its own
 *	reasons.c        the reasons why a bundle is not complete
 *	manifest.c       writes the manifest
 *	outdir.c         makes the directory under a temporary name, and renames it
 *	digest.c         the digests by which a bundle is verified
 *
 * Reading:
 *
 *	bundle.c         opens a bundle, and compares the two states of a file
 *	bundle_read.c    parses the manifest
 *	bundle_state.c   parses the states of a file
 *	bundle_member.c  gets members of JSON objects, and checks their types
 *	bundle_content.c finds and reads contents, in the table or in git
 *	bundle_verify.c  checks whether a bundle is whole
 *	attrs.c          lists of extended attributes
 *
 * Invariants:
 *
 * 1. A bundle gets its final name only when all of it is on the disk.
 * 2. A bundle may come from anyone.  Opening a bundle changes nothing.  A fault in a bundle is
 *    reported as ERR_CORRUPT, and the message names the record.  Faults are a member of the wrong
 *    type, a path that is not absolute and plain, and a path with two records.
 * 3. Bundles of other tools with the same layout are read, too.  Such a bundle may lack members
 *    that strata writes (nanoseconds, hashes, owners and so on).  The member 'has' of a state has a
 *    bit for each member that is present.
 *
 * All strings live as long as the bundle, and end with a NUL that is not counted.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/str.h"
#include "parquet/pqread.h"
#include "trace/bundle/attrs.h"

#define BUNDLE_VERSION 1 /* version of the manifests that this strata writes */
#define BUNDLE_MANIFEST "manifest.json"
#define BUNDLE_BLOBS "blobs.parquet"
#define BUNDLE_MANIFEST_MAX ((size_t)1 << 30)
/*
 * Maximum number of bytes of one record.  The same limit holds for all members of a manifest
 * together, without the files and the processes.
 */
#define BUNDLE_PART_MAX ((size_t)64 << 20)
#define BUNDLE_FILES_MAX ((size_t)4 << 20)
#define BUNDLE_PARTS_MAX 65536 /* maximum number of rows of one content */
/*
 * key of the second and further rows of a content; it cannot be a path, since no path has two
 * slashes in a row
 */
#define BUNDLE_PART_KEY "%s//%u"

enum bundle_side { BUNDLE_BEFORE, BUNDLE_AFTER };
#define BUNDLE_SIDES 2

enum bundle_operation {
	BUNDLE_READ = 1 << 0,
	BUNDLE_WRITE = 1 << 1,
	BUNDLE_EXISTENCE = 1 << 2,
	BUNDLE_DIRECTORY = 1 << 3,
	BUNDLE_DELETE = 1 << 4,
	BUNDLE_CREATE = 1 << 5,
	BUNDLE_RENAME = 1 << 6,
	BUNDLE_EXECUTE = 1 << 7,
	BUNDLE_METADATA = 1 << 8,
	BUNDLE_OTHER = 1 << 9, /* any operation that this version of strata does not know */
};
#define BUNDLE_OPERATIONS 9 /* number of operations above; BUNDLE_OTHER has no name */
#define BUNDLE_CHANGING                                                                            \
	(BUNDLE_WRITE | BUNDLE_DELETE | BUNDLE_CREATE | BUNDLE_RENAME | BUNDLE_METADATA)

enum bundle_type {
	BUNDLE_NONE, /* the file does not exist, or its type is unknown */
	BUNDLE_FILE,
	BUNDLE_DIR,
	BUNDLE_LINK,
	BUNDLE_FIFO,
	BUNDLE_SOCKET,
	BUNDLE_CHAR,
	BUNDLE_BLOCK,
};
#define BUNDLE_TYPES (BUNDLE_BLOCK + 1)

/* Bits for the members of a state that are recorded.  A member whose bit is not set is zero. */
enum bundle_has {
	BUNDLE_HAS_MODE = 1 << 0,
	BUNDLE_HAS_MTIME = 1 << 1, /* the time may be in whole seconds */
	BUNDLE_HAS_MTIME_NS = 1 << 2,
	BUNDLE_HAS_SIZE = 1 << 3,
	BUNDLE_HAS_UID = 1 << 4,
	BUNDLE_HAS_GID = 1 << 5,
	BUNDLE_HAS_RDEV = 1 << 6,
	BUNDLE_HAS_TARGET = 1 << 7,
	BUNDLE_HAS_HASH = 1 << 8,
	BUNDLE_HAS_BLOB = 1 << 9,
	BUNDLE_HAS_XATTRS = 1 << 10,
	BUNDLE_HAS_BLOCKS = 1 << 11,
};

struct bundle_state {
	unsigned has;
	bool exists;
	bool tombstone;
	enum bundle_type type;
	uint32_t mode; /* permission bits, without the file type */
	uint32_t uid, gid;
	uint64_t nlink; /* number of hard links; 0: not recorded */
	int64_t mtime;  /* in nanoseconds */
	uint64_t size;
	uint64_t rdev;
	struct str target;
	struct hash sha256;
	struct hash blocks; /* digest of the content, made by digest_blocks */
	struct str blob;
	/* number of rows, with the keys KEY, KEY//2, ... (in old bundles KEY, KEY#2, ...) */
	unsigned blob_parts;
	struct str *links; /* names of the same file, possibly including this path */
	size_t n_links;
	struct attr *xattrs; /* sorted by name */
	size_t n_xattrs;
};

struct bundle_git {
	struct str root, head, path, oid; /* each member is empty if it was not recorded */
	bool in_repo, tracked, dirty, ignored;
};

struct bundle_file {
	struct str path; /* absolute and plain; may contain any bytes */
	unsigned operations;
	struct bundle_state state[BUNDLE_SIDES];
	struct bundle_git git;
	/*
	 * the file was open before the command started, so other processes may also have written to
	 * it
	 */
	bool inherited;
	bool by_other; /* the file was last changed by another process, while the command ran */
	/*
	 * Both the command and another process changed the file.  by_other is set if the other
	 * process made the last change.  If the command made the last change, the bundle lacks the
	 * content that the other process wrote.
	 */
	bool contested;
};

struct bundle_repository {
	struct str root, head;
	struct str common; /* directory with the objects of the repository; empty: not recorded */
};

/*
 * A file or directory that has no record and was renamed: its path before the command, and its path
 * after the command.
 */
struct bundle_moved {
	struct str from, to;
	uint64_t ino; /* inode number on the recorded machine; 0: not known */
};

struct bundle {
	struct str *command;
	size_t n_command;
	bool has_status;
	int64_t exit_status;
	struct str start_cwd, engine;
	bool has_complete, complete;
	struct str *reasons; /* why the bundle is incomplete */
	size_t n_reasons;
	int64_t started, ended; /* in nanoseconds since 1970; 0: not recorded */
	size_t n_processes;
	struct bundle_repository *repositories;
	size_t n_repositories;
	bool has_moved; /* the manifest has the list 'moved' */
	struct bundle_moved *moved;
	size_t n_moved;
	struct str *lost; /* files and directories that have no record and were removed */
	size_t n_lost;
	struct bundle_file *files; /* sorted by path */
	size_t n_files;
	bool was_sorted;     /* the manifest lists the files in the same order */
	bool damaged;        /* the manifest does not match its digest */
	bool has_blobs_hash; /* the manifest has the digest of the table */
	struct hash blobs_hash;
	struct bundle_kept {
		struct str blob;
		unsigned parts;
	} * kept; /* contents of files that have no record */
	size_t n_kept;
	struct pqread *blobs; /* the table with the contents; NULL: the bundle has none */
	struct bundle_priv *priv;
};

/*
 * Open the bundle in the directory dir.  The caller may close dir after the call.  Returns NULL on
 * error.
 */
struct bundle *bundle_open(int dir, struct err *err);
/*
 * Parse the text of a manifest.  No contents can be read from the result.  Returns NULL on error.
 */
struct bundle *bundle_parse(struct str manifest, struct err *err);
void bundle_closep(struct bundle **bundle);

/* Returns the record of a path, or NULL if there is none. */
const struct bundle_file *bundle_find(const struct bundle *bundle, struct str path);
/*
 * Return the name that manifests use for an operation or a type.  The name of BUNDLE_NONE is
 * "none".
 */
const char *bundle_operation_name(unsigned bit);
const char *bundle_type_name(enum bundle_type type);
/* Returns the file type of a mode that stat(2) has returned. */
enum bundle_type bundle_type_of(uint32_t mode);
const char *bundle_side_name(enum bundle_side side);

/* Bits for the differences between the two states of a file. */
enum bundle_change {
	BUNDLE_CHANGED_TYPE = 1 << 0, /* the type differs, or the file was made or removed */
	BUNDLE_CHANGED_CONTENT = 1 << 1,
	BUNDLE_CHANGED_TARGET = 1 << 2,
	BUNDLE_CHANGED_DEVICE = 1 << 3,
	BUNDLE_CHANGED_MODE = 1 << 4,
	BUNDLE_CHANGED_OWNER = 1 << 5,
	BUNDLE_CHANGED_XATTRS = 1 << 6,
	/* never set for directories, whose time changes with every name in them */
	BUNDLE_CHANGED_MTIME = 1 << 7,
};
#define BUNDLE_CHANGES 8
/*
 * Returns the bits of enum bundle_change for the two states of a file.  If the states have no
 * hashes, a write counts as a change of content.
 */
unsigned bundle_compare(const struct bundle_file *file);
/*
 * Returns the bits of enum bundle_change for two states of the same type.  Contents are not
 * compared.  The states may come from different bundles.
 */
unsigned bundle_compare_attributes(const struct bundle_state *a, const struct bundle_state *b);
const char *bundle_change_name(unsigned bit);
/*
 * Whether the file was written, or its two states differ.  States with different names of the file
 * differ, too.
 */
bool bundle_is_changed(const struct bundle_file *file);
/* Whether the path is another name of the file in this state. */
bool bundle_is_linked(const struct bundle_state *state, struct str path);
