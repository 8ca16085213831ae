#include "query/walk.h"

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

#define DEPTH_MAX 16384

struct walk {
	struct view *view;
	struct buf path;
	walk_visit visit;
	void *arg;
	unsigned depth;
	bool deep;
	bool stopped;
	bool failed; /* 'visit' returned an error */
};

int walk_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err)
{
	int r = view->ops->stat(view, path, arena, entry, err);

	if (r == 0) {
		owned(buf_release) struct buf shown = BUF_INIT;

		text_quote(&shown, path);
		return err_set(err, ERR_NOT_FOUND, "no path '%s' there", shown.data);
	}
	return r;
}

static int visit_entry(void *arg, const struct entry *entry, struct err *err);

/*
 * Visit the entries of a directory.  The view uses the path during the whole listing.  So the path
 * is copied, since a listing of a deeper directory may move the buffer walk->path.
 */
static int list_below(struct walk *walk, const struct entry *dir, struct err *err)
{
	owned_mem char *path = mem_dup(walk->path.data, walk->path.len);
	int r = walk->view->ops->list(
		walk->view, dir, (struct str){ path, walk->path.len }, visit_entry, walk, err);

	if (r != -ERR_DENIED || walk->failed)
		return r;
	walk->view->unread++;
	*err = (struct err){ 0 };
	return 0;
}

static int visit_entry(void *arg, const struct entry *entry, struct err *err)
{
	struct walk *walk = arg;
	size_t len = walk->path.len;
	struct entry dir = { .type = entry->type, .content = entry->content, .hash = entry->hash };
	int r;

	if (len)
		buf_addc(&walk->path, '/');
	buf_add(&walk->path, entry->name.ptr, entry->name.len);
	r = walk->visit(walk->arg, (struct str){ walk->path.data, walk->path.len }, entry, err);
	if (r > 0 && r != WALK_PRUNE)
		walk->stopped = true;
	if (r == 0 && walk->deep && dir.type == ENTRY_DIR) {
		if (++walk->depth > DEPTH_MAX)
			r = err_set(err, ERR_LIMIT, "directories nested too deeply");
		else
			r = list_below(walk, &dir, err);
		walk->depth--;
	}
	walk->failed |= r < 0;
	buf_truncate(&walk->path, len);
	return r < 0 ? r : walk->stopped;
}

static int list_from(
	struct view *view, struct str base, bool deep, walk_visit visit, void *arg, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct walk walk = {
		.view = view, .path = BUF_INIT, .visit = visit, .arg = arg, .deep = deep
	};
	struct entry entry;
	int r = walk_stat(view, base, &arena, &entry, err);

	if (r < 0)
		return r;
	while (base.len && base.ptr[base.len - 1] == '/')
		base.len--;
	if (entry.type != ENTRY_DIR) {
		r = visit(arg, base, &entry, err);
		return r < 0 ? r : 0;
	}
	buf_reserve(&walk.path, 256);
	buf_add(&walk.path, base.ptr, base.len);
	r = view->ops->list(view, &entry, base, visit_entry, &walk, err);
	buf_release(&walk.path);
	return r < 0 ? r : 0;
}

int walk_tree(struct view *view, struct str base, walk_visit visit, void *arg, struct err *err)
{
	return list_from(view, base, true, visit, arg, err);
}

int walk_dir(struct view *view, struct str path, walk_visit visit, void *arg, struct err *err)
{
	return list_from(view, path, false, visit, arg, err);
}
