#include "tree/treeiter.h"

#include "core/mem.h"
#include "core/own.h"

void treeiter_init(struct treeiter *iter, struct store *store)
{
	memset(iter, 0, sizeof(*iter));
	iter->store = store;
	for (size_t i = 0; i < TREENODE_LEVELS; i++)
		iter->level[i].bytes.max = OBJECT_MAX + 1;
}

void treeiter_release(struct treeiter *iter)
{
	for (size_t i = 0; i < TREENODE_LEVELS; i++)
		buf_release(&iter->level[i].bytes);
	iter->depth = 0;
}

struct treeiter *treeiter_new(struct store *store)
{
	struct treeiter *iter = mem_alloc(sizeof(*iter));

	treeiter_init(iter, store);
	return iter;
}

void treeiter_freep(struct treeiter **iter)
{
	treeiter_release(*iter);
	free(*iter);
}

void treeiter_close(struct treeiter *iter)
{
	iter->depth = 0;
}

/* Load a node one level deeper.  Its level must be one less than that of its parent. */
static int push_node(struct treeiter *iter, const struct hash *hash, struct err *err)
{
	if (iter->depth >= TREENODE_LEVELS)
		return err_set(err, ERR_CORRUPT, "tree nodes nested too deeply");
	struct treeiter_level *here = &iter->level[iter->depth];
	buf_clear(&here->bytes);
	int r = store_get(iter->store, OBJECT_TREE, hash, &here->bytes, err);
	if (r >= 0)
		r = treenode_open(&here->node, here->bytes.data, here->bytes.len, err);
	if (r < 0)
		return r;
	if (iter->depth && here->node.level + 1 != iter->level[iter->depth - 1].node.level)
		return err_set(err, ERR_CORRUPT, "tree node at the wrong level");
	iter->depth++;
	return 0;
}

int treeiter_open(struct treeiter *iter, const struct entry *dir, struct err *err)
{
	iter->depth = 0;
	if (dir->type != ENTRY_DIR)
		return err_set(err, ERR_INVALID, "not a directory");
	return dir->content == ENTRY_TREE ? push_node(iter, &dir->hash, err) : 0;
}

int treeiter_next(struct treeiter *iter, struct entry *entry, struct err *err)
{
	while (iter->depth) {
		struct treenode *node = &iter->level[iter->depth - 1].node;
		struct treenode_child child;
		int r;

		if (!node->level) {
			r = treenode_entry(node, entry, err);
			if (r != 0)
				return r;
		} else {
			r = treenode_child(node, &child, err);
			if (r > 0)
				r = push_node(iter, &child.hash, err) < 0 ? -(int)err->code : 1;
			if (r < 0)
				return r;
			if (r > 0)
				continue;
		}
		iter->depth--;
	}
	return 0;
}

/*
 * Leave finished nodes.  Returns the level of the node whose child comes next, or 0 in a leaf or at
 * the end.
 */
static unsigned leave_finished_nodes(struct treeiter *iter)
{
	while (iter->depth && !iter->level[iter->depth - 1].node.left)
		iter->depth--;
	return iter->depth ? iter->level[iter->depth - 1].node.level : 0;
}

static int push_next_child(struct treeiter *iter, struct err *err)
{
	struct treenode_child child;
	int r = treenode_child(&iter->level[iter->depth - 1].node, &child, err);

	return r <= 0 ? r : push_node(iter, &child.hash, err);
}

int treeiter_skip_equal(struct treeiter *a, struct treeiter *b, struct err *err)
{
	for (;;) {
		unsigned la = leave_finished_nodes(a), lb = leave_finished_nodes(b);
		struct treenode_child next_a, next_b;
		int r;

		if (!la || !lb)
			return 0;
		if (la != lb) {
			r = push_next_child(la > lb ? a : b, err);
			if (r < 0)
				return r;
			continue;
		}
		struct treenode *na = &a->level[a->depth - 1].node;
		struct treenode *nb = &b->level[b->depth - 1].node;
		struct treenode peek_a = *na, peek_b = *nb;
		r = treenode_child(&peek_a, &next_a, err);
		if (r >= 0)
			r = treenode_child(&peek_b, &next_b, err);
		if (r < 0)
			return r;
		if (hash_eq(&next_a.hash, &next_b.hash)) {
			*na = peek_a;
			*nb = peek_b;
			continue;
		}
		r = push_next_child(a, err);
		if (r >= 0)
			r = push_next_child(b, err);
		if (r < 0)
			return r;
	}
}

int treeiter_find(struct treeiter *iter, const struct entry *dir, struct str name,
	struct entry *entry, struct err *err)
{
	struct treenode_child child;
	int r = treeiter_open(iter, dir, err);

	if (r < 0 || !iter->depth)
		return r;
	while (iter->level[iter->depth - 1].node.level) {
		struct treenode *node = &iter->level[iter->depth - 1].node;

		do {
			r = treenode_child(node, &child, err);
			if (r <= 0)
				return r;
		} while (str_cmp(child.last, name) < 0);
		r = push_node(iter, &child.hash, err);
		if (r < 0)
			return r;
	}
	for (;;) {
		r = treenode_entry(&iter->level[iter->depth - 1].node, entry, err);
		if (r <= 0)
			return r;
		int order = str_cmp(entry->name, name);
		if (order >= 0)
			return order == 0;
	}
}

int treeiter_root(
	struct treeiter *iter, const struct hash *tree, struct entry *root, struct err *err)
{
	iter->depth = 0;
	int r = push_node(iter, tree, err);
	if (r >= 0)
		r = treeiter_next(iter, root, err);
	if (r < 0)
		return r;
	if (r == 0 || root->name.len || root->type != ENTRY_DIR)
		return err_set(err, ERR_CORRUPT, "not the root of a tree");
	return 1;
}

int treeiter_top(struct store *store, const struct hash *tree, struct entry *root, struct err *err)
{
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(store);
	int r = treeiter_root(iter, tree, root, err);

	root->name = root->target = STR("");
	return r;
}

int treeiter_path(struct treeiter *iter, const struct hash *tree, struct str path,
	struct entry *entry, struct err *err)
{
	struct entry dir;
	int r = treeiter_root(iter, tree, &dir, err);

	for (struct str name; r > 0 && (name = str_take_name(&path)).len;) {
		if (str_eq(name, STR(".")))
			continue;
		if (str_eq(name, STR("..")))
			return err_set(err, ERR_INVALID, "'..' in a path");
		if (dir.type != ENTRY_DIR)
			return 0;
		/*
		 * The strings of dir become invalid with the next call, so only its hash is copied.
		 */
		struct entry parent = {
			.type = ENTRY_DIR, .content = dir.content, .hash = dir.hash
		};
		r = treeiter_find(iter, &parent, name, &dir, err);
	}
	if (r > 0)
		*entry = dir;
	return r;
}
