#include "tree/treenode.h"

#define VERSION 1

void treenode_header(struct buf *out, unsigned level, uint64_t count)
{
	buf_addc(out, VERSION);
	buf_addc(out, (char)level);
	bytes_varint(out, count);
}

void treenode_add_child(struct buf *out, const struct treenode_child *child)
{
	bytes_str(out, child->last);
	bytes_hash(out, &child->hash);
	bytes_varint(out, child->count);
	bytes_varint(out, child->size);
}

int treenode_open(struct treenode *node, const void *bytes, size_t len, struct err *err)
{
	struct cursor in = cursor_of(bytes, len);
	uint8_t version = cursor_byte(&in);
	unsigned level = cursor_byte(&in);
	uint64_t count = cursor_varint(&in);

	if (in.bad || version != VERSION || level >= TREENODE_LEVELS || !count ||
		count > TREENODE_ITEMS_MAX)
		return err_set(err, ERR_CORRUPT, "malformed tree node");
	*node = (struct treenode){ .in = in, .level = level, .left = count, .first = true };
	return 0;
}

static int next_item(struct treenode *node, struct err *err)
{
	if (node->left) {
		node->left--;
		return 1;
	}
	if (cursor_left(&node->in))
		return err_set(err, ERR_CORRUPT, "tree node with trailing bytes");
	return 0;
}

static int check_name(struct treenode *node, struct str name, struct err *err)
{
	/* Only the root of a tree has no name.  The root is the only entry of its node. */
	bool root = !name.len && node->first && !node->left && !node->level;

	if (!root && !entry_name_ok(name))
		return err_set(err, ERR_CORRUPT, "tree entry with an impossible name");
	if (!node->first && str_cmp(node->before, name) >= 0)
		return err_set(err, ERR_CORRUPT, "tree entries out of order");
	node->first = false;
	node->before = name;
	return 1;
}

int treenode_entry(struct treenode *node, struct entry *entry, struct err *err)
{
	int r = next_item(node, err);

	if (r <= 0)
		return r;
	r = entry_decode(&node->in, entry, err);
	return r < 0 ? r : check_name(node, entry->name, err);
}

int treenode_child(struct treenode *node, struct treenode_child *child, struct err *err)
{
	struct treenode_child out = { 0 };
	int r = next_item(node, err);

	if (r <= 0)
		return r;
	out.last = cursor_str(&node->in);
	cursor_hash(&node->in, &out.hash);
	out.count = cursor_varint(&node->in);
	out.size = cursor_varint(&node->in);
	if (node->in.bad)
		return err_set(err, ERR_CORRUPT, "malformed tree node");
	*child = out;
	return check_name(node, out.last, err);
}
