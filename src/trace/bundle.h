/*
 * bundle - reading what a traced command left: a directory of
 *
 *	manifest.json  what was run, and a record for each path it touched
 *	blobs.parquet  contents, by key; only when there is one
 *
 * (spec: strata-trace(1)).  Bundles of other tools with the same layout are read, too:
 * what only ours say (nanoseconds, hashes, owners...) may be missing from any state, and
 * then "has" lacks its bit.  What is there must be right: a member of the wrong type, a
 * path that is not absolute and plain, a path that comes twice are ERR_CORRUPT with the
 * record named.  A bundle may come from anyone: opening one touches nothing else.
 *
 * All strings live as long as the bundle and end with a NUL that is not counted.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/str.h"
#include "parquet/pqread.h"
#include "trace/attrs.h"

#define BUNDLE_VERSION 1 /* of manifest.json, as it is written */
#define BUNDLE_MANIFEST "manifest.json"
#define BUNDLE_BLOBS "blobs.parquet"
#define BUNDLE_MANIFEST_MAX ((size_t)1 << 30)
#define BUNDLE_PART_MAX ((size_t)64 << 20) /* of a record, or all but files and processes */
#define BUNDLE_FILES_MAX ((size_t)4 << 20)
#define BUNDLE_PARTS_MAX 65536   /* rows of one content */
#define BUNDLE_PART_KEY "%s//%u" /* of a further row: no path has two slashes */

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
	BUNDLE_OTHER = 1 << 9, /* one that we do not know */
};
#define BUNDLE_OPERATIONS 9 /* that have a name */
#define BUNDLE_CHANGING                                                                            \
	(BUNDLE_WRITE | BUNDLE_DELETE | BUNDLE_CREATE | BUNDLE_RENAME | BUNDLE_METADATA)

enum bundle_type {
	BUNDLE_NONE, /* does not exist, or of no type we know */
	BUNDLE_FILE,
	BUNDLE_DIR,
	BUNDLE_LINK,
	BUNDLE_FIFO,
	BUNDLE_SOCKET,
	BUNDLE_CHAR,
	BUNDLE_BLOCK,
};
#define BUNDLE_TYPES (BUNDLE_BLOCK + 1)

/* What a state says; the rest of it is zero. */
enum bundle_has {
	BUNDLE_HAS_MODE = 1 << 0,
	BUNDLE_HAS_MTIME = 1 << 1, /* whole seconds at least */
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
	uint32_t mode; /* permissions, without the type */
	uint32_t uid, gid;
	uint64_t nlink; /* 0: not told */
	int64_t mtime;  /* ns */
	uint64_t size;
	uint64_t rdev;
	struct str target;
	struct hash sha256;
	struct hash blocks; /* of the content, as digest_blocks makes it */
	struct str blob;
	unsigned blob_parts; /* rows the blob takes: KEY, KEY//2, ... (or KEY#2) */
	struct str *links;   /* paths that were the same file, this one perhaps among them */
	size_t n_links;
	struct attr *xattrs; /* sorted */
	size_t n_xattrs;
};

struct bundle_git {
	struct str root, head, path, oid; /* empty when not given */
	bool in_repo, tracked, dirty, ignored;
};

struct bundle_file {
	struct str path; /* absolute, plain; as bytes */
	unsigned operations;
	struct bundle_state state[BUNDLE_SIDES];
	struct bundle_git git;
	bool inherited; /* open before the command started: others may write to it, too */
	bool by_other;  /* it changed while the command ran, and not by its doing */
};

struct bundle_repository {
	struct str root, head;
	struct str common; /* the directory with its objects; empty when not given */
};

/* What has no record, and was renamed: from before the command, to after it. */
struct bundle_moved {
	struct str from, to;
	uint64_t ino; /* of it, where it was recorded; 0: not known */
};

struct bundle {
	struct str *command;
	size_t n_command;
	bool has_status;
	int64_t exit_status;
	struct str start_cwd, engine;
	bool has_complete, complete;
	struct str *reasons; /* why it is not complete */
	size_t n_reasons;
	int64_t started, ended; /* ns; 0 when not given */
	size_t n_processes;
	struct bundle_repository *repositories;
	size_t n_repositories;
	bool has_moved; /* that is told: */
	struct bundle_moved *moved;
	size_t n_moved;
	struct str *lost; /* what has no record, and was removed */
	size_t n_lost;
	struct bundle_file *files; /* sorted by path */
	size_t n_files;
	bool was_sorted;     /* the records already were */
	bool damaged;        /* the manifest is not the one that its digest is of */
	bool has_blobs_hash; /* of the table as it was written: */
	struct hash blobs_hash;
	struct bundle_kept {
		struct str blob;
		unsigned parts;
	} * kept; /* contents that no record names */
	size_t n_kept;
	struct pqread *blobs; /* NULL when there are none */
	struct bundle_priv *priv;
};

/* dir is borrowed, for this call only. */
struct bundle *bundle_open(int dir, struct err *err);
/* A manifest alone, without contents. */
struct bundle *bundle_parse(struct str manifest, struct err *err);
void bundle_close(struct bundle *bundle);
void bundle_closep(struct bundle **bundle);

/* NULL when there is no record of it. */
const struct bundle_file *bundle_find(const struct bundle *bundle, struct str path);
/* The name of an operation's bit, and of a type; "none" for BUNDLE_NONE. */
const char *bundle_operation_name(unsigned bit);
const char *bundle_type_name(enum bundle_type type);
/* The type a mode has, as stat gives it. */
enum bundle_type bundle_type_of(uint32_t mode);
const char *bundle_side_name(enum bundle_side side);

/* How the two states of a file differ. */
enum bundle_change {
	BUNDLE_CHANGED_TYPE = 1 << 0, /* or it came, or went */
	BUNDLE_CHANGED_CONTENT = 1 << 1,
	BUNDLE_CHANGED_TARGET = 1 << 2,
	BUNDLE_CHANGED_DEVICE = 1 << 3,
	BUNDLE_CHANGED_MODE = 1 << 4,
	BUNDLE_CHANGED_OWNER = 1 << 5,
	BUNDLE_CHANGED_XATTRS = 1 << 6,
	BUNDLE_CHANGED_MTIME = 1 << 7, /* not of directories: it moves with every name */
};
#define BUNDLE_CHANGES 8
/* Where there is no hash, a write is taken for a change of content. */
unsigned bundle_compare(const struct bundle_file *file);
/* Two states of the same type, whatever bundles they are from; contents apart. */
unsigned bundle_compare_attributes(const struct bundle_state *a, const struct bundle_state *b);
const char *bundle_change_name(unsigned bit);
/* Whether it was written or differs at all, by whomever, be it in what is the same file. */
bool bundle_is_changed(const struct bundle_file *file);
/* Whether a state says that the path is another name of it. */
bool bundle_is_linked(const struct bundle_state *state, struct str path);
