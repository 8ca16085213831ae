/*
 * Walks trees to find their objects.  The walk is not recursive: a list has the keys of the objects
 * that are still to be read.  So no tree is too deep for the walk.
 */
#include "history/reach.h"

#include <stdlib.h>
#include <sys/random.h>

#include "core/mem.h"

#define FIRST_CAP 1024

/* ----------------------------------------------------------------- the set */

void reach_init(struct reach *reach, struct store *store)
{
	*reach = (struct reach){ .store = store };
	/*
	 * Shortly after boot the kernel may have no random numbers yet.  In that case use fixed
	 * numbers.
	 */
	if (getrandom(reach->seed, sizeof(reach->seed), GRND_NONBLOCK) != sizeof(reach->seed))
		for (size_t i = 0; i < 4; i++)
			reach->seed[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
}

void reach_release(struct reach *reach)
{
	free(reach->slots);
	reach->slots = NULL;
	reach->cap = reach->count = 0;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Returns the number that represents a key.  The number is never 0, because 0 marks a free slot. */
static uint64_t slot_value(const struct reach *reach, const struct object_key *key)
{
	uint64_t word[4];

	memcpy(word, key->hash.bytes, sizeof(word));
	uint64_t value = fold(word[0] ^ reach->seed[0], word[1] ^ reach->seed[1]) ^
			 fold(word[2] ^ reach->seed[2], word[3] ^ reach->seed[3] ^ key->type);
	return value ? value : 1;
}

/* Returns the slot that has the value, or the free slot for a value that is in no slot yet. */
static uint64_t *find_slot(uint64_t *slots, size_t cap, uint64_t value)
{
	size_t i = value & (cap - 1);

	while (slots[i] && slots[i] != value)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static void grow(struct reach *reach)
{
	size_t cap = reach->cap ? 2 * reach->cap : FIRST_CAP;
	uint64_t *slots = mem_zalloc(cap * sizeof(*slots));

	for (size_t i = 0; i < reach->cap; i++)
		if (reach->slots[i])
			*find_slot(slots, cap, reach->slots[i]) = reach->slots[i];
	free(reach->slots);
	reach->slots = slots;
	reach->cap = cap;
}

bool reach_has(const struct reach *reach, const struct object_key *key)
{
	return reach->count && *find_slot(reach->slots, reach->cap, slot_value(reach, key));
}

bool reach_add(struct reach *reach, const struct object_key *key)
{
	uint64_t value = slot_value(reach, key);

	if (reach->count + reach->count / 3 + 1 >= reach->cap)
		grow(reach);
	uint64_t *slot = find_slot(reach->slots, reach->cap, value);
	if (*slot)
		return false;
	*slot = value;
	reach->count++;
	return true;
}

/* ------------------------------------------------- what an object refers to */

/*
 * Iterates over the keys in one object.  An upper node of a tree has the keys of its child nodes.
 * A leaf of a tree has the keys of the contents, directories and attributes of its entries.  A
 * chunk list has the keys of its pieces.  Other types have no keys.
 */
struct refs {
	struct store *store;
	struct buf bytes;
	enum object_type type;
	struct treenode node;
	struct content_list list;
	struct object_key more; /* key of the attributes of the entry whose content was returned
				 * last */
};

/* Load an object, replacing the previous one. */
static int open_refs(struct refs *refs, const struct object_key *key, struct err *err)
{
	buf_clear(&refs->bytes);
	refs->type = key->type;
	refs->more.type = 0;
	if (key->type != OBJECT_TREE && key->type != OBJECT_CHUNKS)
		return 0;
	int r = store_get(refs->store, key->type, &key->hash, &refs->bytes, err);
	if (r < 0)
		return r;
	r = key->type == OBJECT_TREE
		    ? treenode_open(&refs->node, refs->bytes.data, refs->bytes.len, err)
		    : content_list_open(&refs->list, refs->bytes.data, refs->bytes.len, err);
	if (r < 0) {
		char hex[HASH_HEX];

		return err_context(
			err, "%s %.12s", object_type_name(key->type), hash_hex(&key->hash, hex));
	}
	return 0;
}

enum object_type reach_content_type(const struct entry *entry)
{
	static const enum object_type types[] = {
		[ENTRY_BLOB] = OBJECT_BLOB,
		[ENTRY_CHUNKS] = OBJECT_CHUNKS,
		[ENTRY_TREE] = OBJECT_TREE,
		[ENTRY_UNREAD] = 0,
	};

	return types[entry->content];
}

static int next_in_tree(struct refs *refs, struct object_key *key, struct err *err)
{
	struct treenode_child child;
	struct entry entry;
	int r;

	if (refs->node.level) {
		r = treenode_child(&refs->node, &child, err);
		if (r > 0)
			*key = (struct object_key){ child.hash, OBJECT_TREE };
		return r;
	}
	while ((r = treenode_entry(&refs->node, &entry, err)) > 0) {
		struct object_key xattrs = { entry.xattrs, OBJECT_XATTRS };

		if (hash_is_none(&entry.xattrs))
			xattrs.type = 0;
		*key = (struct object_key){ entry.hash, reach_content_type(&entry) };
		if (key->type)
			refs->more = xattrs;
		else
			*key = xattrs;
		if (key->type)
			return 1;
	}
	return r;
}

static int next_in_list(struct refs *refs, struct object_key *key, struct err *err)
{
	struct content_piece piece;
	int r;

	do {
		r = content_list_next(&refs->list, &piece, err);
	} while (r > 0 && piece.hole);
	if (r > 0)
		*key = (struct object_key){ piece.hash,
			refs->list.level ? OBJECT_CHUNKS : OBJECT_BLOB };
	return r;
}

/*
 * Get the next key of the object.  A key may be returned twice.  Returns 1, 0 if there are no more
 * keys, or a negative error.
 */
static int next_ref(struct refs *refs, struct object_key *key, struct err *err)
{
	if (refs->more.type) {
		*key = refs->more;
		refs->more.type = 0;
		return 1;
	}
	if (refs->type == OBJECT_TREE)
		return next_in_tree(refs, key, err);
	return refs->type == OBJECT_CHUNKS ? next_in_list(refs, key, err) : 0;
}

/* ----------------------------------------------------------------- the walk */

struct todo {
	struct object_key *keys;
	size_t count;
	size_t cap;
};

static int add_object(
	struct reach *reach, struct todo *todo, const struct object_key *key, struct err *err)
{
	if (!reach_add(reach, key))
		return 0;
	if (key->type == OBJECT_TREE || key->type == OBJECT_CHUNKS) {
		mem_grow(&todo->keys, &todo->cap, todo->count);
		todo->keys[todo->count++] = *key;
	}
	return reach->visit ? reach->visit(reach->arg, key, err) : 0;
}

static int add_next_refs(struct reach *reach, struct todo *todo, struct refs *refs, struct err *err)
{
	struct object_key key = todo->keys[--todo->count];
	int r = open_refs(refs, &key, err);

	while (r >= 0 && (r = next_ref(refs, &key, err)) > 0)
		r = add_object(reach, todo, &key, err);
	return r;
}

int reach_tree(struct reach *reach, const struct hash *tree, struct err *err)
{
	struct object_key key = { *tree, OBJECT_TREE };
	struct todo todo = { 0 };
	struct refs refs = { .store = reach->store, .bytes.max = OBJECT_MAX + 1 };
	int r = add_object(reach, &todo, &key, err);

	while (r >= 0 && todo.count)
		r = add_next_refs(reach, &todo, &refs, err);
	buf_release(&refs.bytes);
	free(todo.keys);
	return r < 0 ? r : 0;
}
