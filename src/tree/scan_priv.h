/* scan_priv - shared by the walk (scan.c) and the scan of one directory (scan_dir.c). */
#pragma once
#include <pthread.h>

#include "core/buf.h"
#include "tree/scan.h"
#include "tree/treeiter.h"

#define SCAN_SECOND INT64_C(1000000000)
#define SCAN_DENTS_SIZE ((size_t)64 << 10)

/* A directory that is on the stack or is being read.  Also a directory above such a directory. */
struct scan_place {
	struct scan_place *parent;
	struct scan_place *below; /* the next directory on the stack */
	struct str name;
	uint32_t id;
	uint32_t old_id; /* row in the old index; WINDEX_NO_DIR: the directory is new */
	uint64_t path;   /* hash of the path (entry_path_hash) */
	int fd;
	int unopened; /* number of children that must still be opened by means of fd */
	int refs;
	bool quiet;
	/*
	 * another file system is mounted over the directory, so the directory's records in the old
	 * index are kept
	 */
	bool covered;
	bool listed; /* the names of the directory are taken from the old index */
	bool adopting;
	/* if 'adopting': the directory's entry in the adopted tree, without strings */
	struct entry adopt;
	char bytes[];
};

/* The subdirectories of the directory that is being read, until they are pushed. */
struct scan_children {
	struct scan_place *first;
	int count;
};

/* The whole walk, shared by all threads. */
struct scan_state {
	const struct scan_options *options;
	struct windex *index;
	uint64_t mnt_id;
	int64_t trusted; /* a record is trusted if its ctime is earlier (windex.h) */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct scan_place *stack;
	unsigned pushed; /* number of directories that were pushed so far */
	unsigned busy;
	bool stop;
	struct err err;
	struct scan *scan;
};

struct scan_name {
	uint32_t offset;
	uint16_t len;
};

/* The data of one thread. */
struct scan_walker {
	struct scan_state *state;
	struct windex_writer out;
	struct windex_reader old;
	struct treeiter adopt;
	struct buf names;
	struct scan_name *list;
	size_t n_list, cap_list;
	char *dents;
	struct buf xattrs, path;
	struct scan_link *links;
	size_t n_links, cap_links;
};

/*
 * Returns the path of a name in dir, relative to the root.  For an empty name, this is the path of
 * dir itself.  The path is valid until the next call.
 */
struct str scan_path(struct scan_walker *w, const struct scan_place *dir, struct str name);
struct scan_place *scan_new_place(struct scan_place *parent, struct str name, uint32_t id);
/* Put the children of dir on the stack, from which any thread may take them. */
void scan_push(struct scan_state *state, struct scan_place *dir, struct scan_children *children);

/*
 * Take the names of a directory from the old index.  Returns false if that is not possible.
 * *disturbed becomes true if a file of the directory must be looked at.
 */
bool scan_dir_recall(struct scan_walker *w, const struct scan_place *dir, bool *disturbed);
/*
 * Record the names of a directory, and push its subdirectories.  The directory must be open, or
 * scan_dir_recall must have taken its names from the old index.
 */
int scan_dir_look(struct scan_walker *w, struct scan_place *dir, struct err *err);
/*
 * Record the root, which is the entry of pseudo-directory 0.  *root is set to the root directory,
 * which is not open yet.
 */
int scan_dir_root(
	struct scan_walker *w, const struct statx *stx, struct scan_place **root, struct err *err);
