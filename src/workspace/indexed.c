#include "workspace/indexed.h"

#include <fcntl.h>
#include <stdio.h>

#include "core/at.h"
#include "core/own.h"
#include "tree/discard.h"

void indexed_drop(struct workspace *ws)
{
	if (ws->temp[0])
		(void)unlinkat(ws->index, ws->temp, 0);
	ws->temp[0] = '\0';
	scan_release(&ws->scan);
}

void indexed_close(struct workspace *ws)
{
	indexed_drop(ws);
	close_fd(&ws->live);
	close_fd(&ws->index);
}

/*
 * Make the file for the new index.  The file is beside the old index, or in memory for a scratch
 * workspace.
 */
static int open_spool(struct workspace *ws, struct err *err)
{
	if (ws->setup.scratch)
		return at_tmpfile(-1, err);
	/*
	 * This process holds the lock, so an existing file of this name was left by a killed
	 * process.
	 */
	snprintf(ws->temp, sizeof(ws->temp), ".%s", ws->setup.name);
	(void)unlinkat(ws->index, ws->temp, 0);
	return at_create(ws->index, ws->temp, O_RDWR | O_EXCL, 0600, err);
}

/*
 * Open the saved index.  The index is not used if it names a tree that the store lacks, because a
 * capture with this index would never store that tree again.
 */
static struct windex *trusted_index(struct workspace *ws)
{
	struct windex *old = windex_open(ws->index, ws->setup.name);
	struct windex_dir top;
	struct err ignored = { 0 };

	if (old && windex_get_dir(old, 0, &top) &&
		store_has(ws->setup.store, OBJECT_TREE, &top.tree, &ignored) == 1)
		return old;
	windex_close(old);
	return NULL;
}

bool indexed_own_place(const struct workspace *ws, struct scan_skip *skip)
{
	struct statx stx;

	if (at_fd_stat(ws->setup.rootfd, &stx) < 0)
		return false;
	*skip = (struct scan_skip){ stx.stx_dev_major, stx.stx_dev_minor, stx.stx_ino };
	return true;
}

/*
 * Whether programs may have mapped files of this workspace for writing.  The struct workspace of a
 * base or a layer has no backend, and programs never map files of bases or layers for writing.
 */
static bool may_be_mapped(const struct workspace *ws)
{
	return ws->backend && ws->live >= 0 && (ws->inside || !ws->backend->kind.mounted);
}

bool indexed_mapped(const struct workspace *ws, struct mapped *mapped)
{
	if (!may_be_mapped(ws))
		return false;
	mapped_look(mapped, &(struct mapped_tree){
				    .live = ws->live,
				    .inside = ws->inside ? *ws->inside : -1,
				    .open = !ws->backend->kind.mounted,
				    .own = ws->setup.rootfd,
				    .exclude = ws->setup.exclude,
				    .n_exclude = ws->setup.n_exclude,
			    });
	return true;
}

int indexed_capture(struct workspace *ws, const struct indexed_options *with, struct hash *tree,
	struct err *err)
{
	struct scan_skip skip;
	uint64_t before = ws->counters->scanned;
	owned(windex_closep) struct windex *old = trusted_index(ws);
	struct scan_options options = {
		.fd = ws->live,
		.upper = with->lower != NULL,
		.other_ids = with->other_ids,
		.drop_stubs = ws->setup.drop_stubs,
		.old = old,
		.changed = with->changed,
		.store = ws->setup.store,
		.adopt = with->adopt,
		.applied = with->applied,
		.skip = &skip,
		.exclude = ws->setup.exclude,
		.n_exclude = ws->setup.n_exclude,
		.report = ws->setup.report,
		.progress = &ws->counters->scanned,
	};
	struct ingest_options ingest = {
		.fd = ws->live,
		.store = ws->setup.store,
		.report = ws->setup.report,
		.progress = &ws->counters->ingested,
		.lower = with->lower,
		.squashed = ws->setup.squashed,
	};
	owned(mapped_release) struct mapped mapped = { 0 };

	indexed_drop(ws);
	if (may_be_mapped(ws) && mapped_is_untraced(ws->live) && indexed_mapped(ws, &mapped))
		options.mapped = ingest.mapped = &mapped;
	options.n_skip = indexed_own_place(ws, &skip);
	int spool = open_spool(ws, err);
	if (spool < 0)
		return spool;
	int r = scan_run(&options, spool, &ws->scan, err);
	ws->entries = ws->counters->scanned - before;
	ws->same = r >= 0 && old && !with->adopt &&
		   !(windex_dir(ws->scan.index, 0)->flags & WINDEX_DIR_DIRTY);
	if (r >= 0 && !ws->same && !ingest.mapped && indexed_mapped(ws, &mapped))
		ingest.mapped = &mapped;
	if (r >= 0)
		r = ingest_run(&ws->scan, &ingest, tree, err);
	if (r < 0)
		indexed_drop(ws);
	return r;
}

int indexed_discard(struct workspace *ws, struct err *err)
{
	struct scan_skip skip;
	owned(windex_closep) struct windex *old = trusted_index(ws);
	struct scan_options options = {
		.fd = ws->live,
		.upper = ws->backend->kind.mounted,
		.old = old,
		.store = ws->setup.store,
		.skip = &skip,
		.n_skip = indexed_own_place(ws, &skip),
		.exclude = ws->setup.exclude,
		.n_exclude = ws->setup.n_exclude,
		.report = ws->setup.report,
	};
	struct scan scan;

	/* A fork without an upper directory has no changes. */
	if (ws->live < 0)
		return 0;
	/* Keep the new index in memory, since the disk may be full. */
	int spool = at_tmpfile(-1, err);
	int r = spool < 0 ? spool : scan_run(&options, spool, &scan, err);

	if (r < 0)
		return r;
	r = discard_changed(&scan, ws->live, ws->setup.report, err);
	scan_release(&scan);
	return r;
}

int indexed_save(struct workspace *ws, struct err *err)
{
	if (!ws->scan.index || !ws->temp[0])
		return 0;
	if (ws->same) {
		indexed_drop(ws);
		return 0;
	}
	int r = windex_save(ws->scan.index, ws->index, ws->temp, ws->setup.name, err);
	if (r >= 0)
		ws->temp[0] = '\0';
	indexed_drop(ws);
	return r;
}
