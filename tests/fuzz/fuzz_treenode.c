/* A node that is accepted must be encoded to the same bytes again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "tree/treenode.h"

static int copy_items(struct treenode *node, struct buf *out, struct err *err)
{
	int r;

	if (node->level) {
		struct treenode_child child;

		while ((r = treenode_child(node, &child, err)) > 0)
			treenode_add_child(out, &child);
	} else {
		struct entry entry;

		while ((r = treenode_entry(node, &entry, err)) > 0) {
			if (entry.name.len ? !entry_name_ok(entry.name) : node->left > 0)
				abort();
			if (!entry_same(&entry, &entry) || !entry_type_name(entry.type) ||
				!entry_type_mode(entry.type))
				abort();
			entry_encode(&entry, out);
		}
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct treenode node;
	struct err err = { 0 };

	if (treenode_open(&node, data, size, &err) < 0)
		return 0;
	treenode_header(&out, node.level, node.left);
	if (copy_items(&node, &out, &err) < 0)
		return 0;
	if (out.len != size || memcmp(out.data, data, size))
		abort();
	return 0;
}
