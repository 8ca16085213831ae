/*
 * scan_priv - what the walk (scan.c) and the look into one directory (scan_dir.c) share.
 */
#pragma once
#include <pthread.h>

#include "core/buf.h"
#include "tree/scan.h"
#include "tree/treeiter.h"

#define SCAN_SECOND INT64_C(1000000000)
#define SCAN_DENTS_SIZE ((size_t)64 << 10)

/* A directory on its way: on the stack, being read, or parent of one that is. */
struct scan_place {
	struct scan_place *parent;
	struct scan_place *below; /* next on the stack */
	struct str name;
	uint32_t id;
	uint32_t old_id; /* WINDEX_NO_DIR: new */
	uint64_t path;   /* hash */
	int fd;
	int unopened; /* children that still need fd */
	int refs;
	bool quiet;
	bool covered; /* something is mounted over it: it is as the old index has it */
	bool listed;  /* its names are those of the old index */
	bool adopting;
	struct entry adopt; /* directory of the adopted tree; no strings */
	char bytes[];
};

/* The children of a directory being read, not yet on the stack. */
struct scan_children {
	struct scan_place *first;
	int count;
};

/* The whole walk. */
struct scan_state {
	const struct scan_options *options;
	struct windex *index;
	uint64_t mnt_id;
	int64_t trusted; /* ctimes before this are safe to compare */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct scan_place *stack;
	unsigned pushed; /* until there are helpers */
	unsigned busy;
	bool stop;
	struct err err;
	struct scan *scan;
};

struct scan_name {
	uint32_t offset;
	uint16_t len;
};

/* What one thread works with. */
struct scan_walker {
	struct scan_state *state;
	struct windex_writer out;
	struct windex_reader old;
	struct treeiter adopt;
	struct buf names;
	struct scan_name *list;
	size_t n_list, cap_list;
	char *dents;
	struct buf xattrs;
	struct buf path;
	struct scan_link *links;
	size_t n_links, cap_links;
};

/* Where it is, from the root; good until the walker asks again.  name "": dir itself. */
struct str scan_path(struct scan_walker *w, const struct scan_place *dir, struct str name);
struct scan_place *scan_new_place(struct scan_place *parent, struct str name, uint32_t id);
/* Others may take them now. */
void scan_push(struct scan_state *state, struct scan_place *dir, struct scan_children *children);

/*
 * List a directory as the old index does.  False when it cannot; else
 * *disturbed says whether there is something to look at.
 */
bool scan_dir_recall(struct scan_walker *w, const struct scan_place *dir, bool *disturbed);
/* Record what is in a directory that is open, or recalled and undisturbed; push what is below. */
int scan_dir_look(struct scan_walker *w, struct scan_place *dir, struct err *err);
/* The root goes into the pseudo-directory 0 like any other entry.  Not open yet. */
int scan_dir_root(
	struct scan_walker *w, const struct statx *stx, struct scan_place **root, struct err *err);
