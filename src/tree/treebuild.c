/*
 * The names decide where a node ends.  A node ends after an item if the hash of the item's name has
 * enough trailing zero bits.  A leaf needs NODE_BITS of them, and each level above needs NODE_BITS
 * more.  So the boundaries of a level are also boundaries of the level below.  An insertion or
 * deletion moves at most the boundaries around it, and a change of attributes moves none.  A node
 * of ITEMS_MAX items ends in any case.
 */
#include "tree/treebuild.h"

#include "core/mem.h"
#include "core/own.h"

#define NODE_BITS 6
#define ITEMS_MAX 512

void treebuild_init(struct treebuild *build, struct store *store)
{
	memset(build, 0, sizeof(*build));
	build->store = store;
	for (size_t i = 0; i < TREENODE_LEVELS; i++) {
		build->level[i].items.max = OBJECT_MAX;
		build->level[i].last.max = ENTRY_NAME_MAX + 2;
	}
}

void treebuild_release(struct treebuild *build)
{
	for (size_t i = 0; i < TREENODE_LEVELS; i++) {
		buf_release(&build->level[i].items);
		buf_release(&build->level[i].last);
	}
}

struct treebuild *treebuild_new(struct store *store)
{
	struct treebuild *build = mem_alloc(sizeof(*build));

	treebuild_init(build, store);
	return build;
}

void treebuild_freep(struct treebuild **build)
{
	treebuild_release(*build);
	free(*build);
}

static bool ends_node(struct str name, unsigned level)
{
	unsigned bits = NODE_BITS * (level + 1);
	uint64_t hash = entry_path_hash(0, name);

	return bits < 64 && !(hash & ((UINT64_C(1) << bits) - 1));
}

static int add_item(struct treebuild *build, unsigned level, const struct treenode_child *child,
	struct err *err);

/* Store the items of a level as one node.  *node describes that node for the level above. */
static int store_level(
	struct treebuild *build, unsigned level, struct treenode_child *node, struct err *err)
{
	struct treebuild_level *here = &build->level[level];
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX };

	treenode_header(&bytes, level, here->n);
	buf_add(&bytes, here->items.data, here->items.len);
	if (here->items.overflowed || bytes.overflowed)
		return err_set(err, ERR_LIMIT, "directory node too large");
	int r = store_put(build->store, OBJECT_TREE, bytes.data, bytes.len, &node->hash, err);
	node->last = (struct str){ here->last.data, here->last.len };
	node->count = here->count;
	node->size = here->size;
	return r;
}

static void empty_level(struct treebuild_level *level)
{
	buf_clear(&level->items);
	level->n = level->count = level->size = 0;
}

static int close_level(struct treebuild *build, unsigned level, struct err *err)
{
	struct treenode_child node;
	int r = store_level(build, level, &node, err);

	if (r < 0)
		return r;
	if (level + 1 >= TREENODE_LEVELS)
		return err_set(err, ERR_LIMIT, "directory too large");
	empty_level(&build->level[level]);
	/*
	 * node.last points into the buffer 'last' of this level.  empty_level does not change that
	 * buffer.
	 */
	return add_item(build, level + 1, &node, err);
}

static int item_added(struct treebuild *build, unsigned level, struct str name, uint64_t count,
	uint64_t size, struct err *err)
{
	struct treebuild_level *here = &build->level[level];

	here->n++;
	here->count += count;
	here->size += size;
	buf_clear(&here->last);
	buf_add(&here->last, name.ptr, name.len);
	if (level > build->top)
		build->top = level;
	if (ends_node(name, level) || here->n >= ITEMS_MAX)
		return close_level(build, level, err);
	return 0;
}

static int add_item(struct treebuild *build, unsigned level, const struct treenode_child *child,
	struct err *err)
{
	treenode_add_child(&build->level[level].items, child);
	return item_added(build, level, child->last, child->count, child->size, err);
}

int treebuild_add(struct treebuild *build, const struct entry *entry, struct err *err)
{
	bool dir = entry->type == ENTRY_DIR;
	uint64_t size = dir || entry->type == ENTRY_FILE ? entry->size : 0;

	entry_encode(entry, &build->level[0].items);
	return item_added(build, 0, entry->name, 1 + (dir ? entry->count : 0), size, err);
}

int treebuild_finish(struct treebuild *build, struct entry *dir, struct err *err)
{
	struct treenode_child node = { 0 };
	unsigned level;
	int r;

	dir->content = ENTRY_EMPTY;
	dir->count = dir->size = 0;
	memset(&dir->hash, 0, sizeof(dir->hash));
	if (!build->top && !build->level[0].n)
		return 0;
	for (level = 0; level < build->top; level++) {
		if (!build->level[level].n)
			continue;
		r = close_level(build, level, err);
		if (r < 0)
			return r;
	}
	/* A top level with only one child is replaced by that child. */
	struct treebuild_level *top = &build->level[level];
	if (level && top->n == 1) {
		struct cursor in = cursor_of(top->items.data, top->items.len);

		(void)cursor_str(&in);
		cursor_hash(&in, &node.hash);
		node.count = top->count;
		node.size = top->size;
	} else {
		r = store_level(build, level, &node, err);
		if (r < 0)
			return r;
	}
	empty_level(top);
	build->top = 0;
	dir->content = ENTRY_TREE;
	dir->hash = node.hash;
	dir->count = node.count;
	dir->size = node.size;
	return 0;
}

int treebuild_root(
	struct store *store, const struct entry *root, struct hash *tree, struct err *err)
{
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX };

	treenode_header(&bytes, 0, 1);
	entry_encode(root, &bytes);
	return store_put(store, OBJECT_TREE, bytes.data, bytes.len, tree, err);
}
