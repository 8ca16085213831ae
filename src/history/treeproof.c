/*
 * Checks every object below a tree.
 *
 * The walk reads every object once.  An object states sums, a level and names of each object that
 * it refers to.  These statements are called a claim.  The set of sound objects contains each
 * object together with the claim that was checked.  So if another tree makes the same claim about
 * an object, the object is not checked again.
 *
 * Objects that are damaged, or that need a damaged object, become the vertices of a graph.  Such
 * objects are few.  Edges lead from a vertex to the damaged objects that its object needs.  After
 * the walk, treeproof_use follows the edges from the vertex of a tree that a user has
 * (treeproof.h), and so finds the users of each fault.
 *
 * A wrong claim is a fault of the object that makes the claim.  It is not a fault of the object
 * that the claim is about.
 */
#include "history/treeproof.h"

#include <stdarg.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "history/reach.h"
#include "tree/xattrs.h"

#define FAULTS_MAX 100000 /* maximum number of listed faults; further faults are only counted */

/* any level: used for the top node of a directory, and for the top of a chunk list */
#define LEVEL_ANY (-1)
#define LEVEL_ROOT (-2) /* used for the top node of the tree itself */

/* A claim: properties that one object states of another object, to which it refers. */
struct claim {
	struct object_key key;
	int level;
	uint64_t count;  /* number of entries in a tree */
	uint64_t size;   /* bytes of all files in a tree, or of a chunk list or a blob */
	struct str name; /* name of the entry that makes the claim, for messages */
	/* for a child of a tree node: a name that sorts before all names in the child; else NULL */
	struct str after;
	struct str last; /* for a child of a tree node: the greatest name in the child; else NULL */
};

/* An object on the path from the root to the current object of the walk. */
struct frame {
	struct claim claim;
	struct buf bytes;
	struct treenode node;
	struct content_list list;
	uint64_t items;
	uint64_t count, size; /* sums of the items that were read so far */
	struct str first, last;
	bool hole;    /* the previous piece of the chunk list was a hole */
	size_t edges; /* length of treeproof.open before this frame was added */
};

struct vertex {
	struct object_key key;
	uint32_t reached; /* number of the user that last reached the vertex, plus 1 */
	/* position of the first edge in treeproof.edges, and number of edges */
	uint32_t edges, n_edges;
	/* the object was read to its end, so 'count' and 'size' are known */
	bool summed;
	bool faulty; /* the object itself is damaged */
	uint64_t count, size;
	uint64_t total;  /* number of users that need the object */
	uint32_t *users; /* the first TREEPROOF_USERS of these users */
};

struct fault {
	uint32_t vertex;
	const char *what;
};

struct treeproof {
	struct store *store;
	struct arena texts;
	struct reach sound;

	struct vertex *vertices;
	size_t n_vertices, vertices_cap;
	uint32_t *table; /* hash table of the vertices by key; TREEPROOF_SOUND marks a free slot */
	size_t table_cap;
	uint32_t *edges;
	size_t n_edges, edges_cap;

	struct frame *frames;
	size_t depth, frames_cap;
	/*
	 * the vertices that the object of each frame needs, as far as known; the outermost frame
	 * comes first
	 */
	uint32_t *open;
	size_t n_open, open_cap;

	struct fault *faults;
	size_t n_faults, faults_cap;
	uint64_t unlisted; /* number of faults beyond FAULTS_MAX */
};

struct treeproof *treeproof_new(struct store *store)
{
	struct treeproof *proof = mem_zalloc(sizeof(*proof));

	proof->store = store;
	reach_init(&proof->sound, store);
	return proof;
}

void treeproof_freep(struct treeproof **slot)
{
	struct treeproof *proof = *slot;

	for (size_t i = 0; i < proof->n_vertices; i++)
		free(proof->vertices[i].users);
	for (size_t i = 0; i < proof->depth; i++)
		buf_release(&proof->frames[i].bytes);
	free(proof->vertices);
	free(proof->table);
	free(proof->edges);
	free(proof->frames);
	free(proof->open);
	free(proof->faults);
	reach_release(&proof->sound);
	arena_release(&proof->texts);
	free(proof);
}

/* ----------------------------------------------------------- damaged objects */

static uint32_t *table_slot(struct treeproof *proof, const struct object_key *key)
{
	size_t mask = proof->table_cap - 1;
	size_t i = (hash_prefix(&key->hash) + key->type) & mask;

	while (proof->table[i] != TREEPROOF_SOUND) {
		const struct object_key *there = &proof->vertices[proof->table[i]].key;

		if (there->type == key->type && hash_eq(&there->hash, &key->hash))
			break;
		i = (i + 1) & mask;
	}
	return &proof->table[i];
}

static void table_grow(struct treeproof *proof)
{
	proof->table_cap = proof->table_cap ? 2 * proof->table_cap : 64;
	proof->table = mem_realloc(proof->table, proof->table_cap * sizeof(*proof->table));
	memset(proof->table, 0xff, proof->table_cap * sizeof(*proof->table));
	for (size_t i = 0; i < proof->n_vertices; i++)
		*table_slot(proof, &proof->vertices[i].key) = (uint32_t)i;
}

static uint32_t find_vertex(struct treeproof *proof, const struct object_key *key)
{
	return proof->n_vertices ? *table_slot(proof, key) : TREEPROOF_SOUND;
}

static uint32_t vertex_of(struct treeproof *proof, const struct object_key *key)
{
	if (proof->n_vertices + proof->n_vertices / 2 + 1 >= proof->table_cap)
		table_grow(proof);
	uint32_t *slot = table_slot(proof, key);
	if (*slot == TREEPROOF_SOUND) {
		mem_grow(&proof->vertices, &proof->vertices_cap, proof->n_vertices);
		proof->vertices[proof->n_vertices] = (struct vertex){ .key = *key };
		*slot = (uint32_t)proof->n_vertices++;
	}
	return *slot;
}

void treeproof_damaged(struct treeproof *proof, const struct object_key *key, const char *fmt, ...)
{
	owned(buf_release) struct buf what = BUF_INIT;
	uint32_t vertex = vertex_of(proof, key);
	char hex[HASH_HEX];
	va_list ap;

	proof->vertices[vertex].faulty = true;
	if (proof->n_faults >= FAULTS_MAX) {
		proof->unlisted++;
		return;
	}
	buf_addf(&what, "%s %.12s: ", object_type_name(key->type), hash_hex(&key->hash, hex));
	va_start(ap, fmt);
	buf_addv(&what, fmt, ap);
	va_end(ap);
	mem_grow(&proof->faults, &proof->faults_cap, proof->n_faults);
	proof->faults[proof->n_faults++] =
		(struct fault){ vertex, arena_strdup(&proof->texts, what.data) };
}

/* Record that the object of the innermost frame needs a damaged object. */
static void add_dependency(struct treeproof *proof, uint32_t vertex)
{
	mem_grow(&proof->open, &proof->open_cap, proof->n_open);
	proof->open[proof->n_open++] = vertex;
}

/* ------------------------------------------------------------------- claims */

/* Report a wrong claim as a fault of the innermost frame's object, which made the claim. */
__attribute__((format(printf, 3, 4))) static void report_claim(
	struct treeproof *proof, const struct claim *claim, const char *fmt, ...)
{
	owned(buf_release) struct buf text = BUF_INIT;
	char hex[HASH_HEX];
	va_list ap;

	if (claim->name.len)
		text_quote(&text, claim->name);
	else
		buf_addf(&text, "%s %.12s", object_type_name(claim->key.type),
			hash_hex(&claim->key.hash, hex));
	buf_addc(&text, ' ');
	va_start(ap, fmt);
	buf_addv(&text, fmt, ap);
	va_end(ap);
	treeproof_damaged(proof, &proof->frames[proof->depth - 1].claim.key, "%s", text.data);
}

static bool sums_right(
	struct treeproof *proof, const struct claim *claim, uint64_t count, uint64_t size)
{
	if (claim->level == LEVEL_ROOT || (claim->count == count && claim->size == size))
		return true;
	if (claim->key.type == OBJECT_TREE)
		report_claim(proof, claim,
			"is said to hold %llu entries and %llu bytes, but holds %llu and %llu",
			(unsigned long long)claim->count, (unsigned long long)claim->size,
			(unsigned long long)count, (unsigned long long)size);
	else
		report_claim(proof, claim, "is said to be %llu bytes long, but is %llu",
			(unsigned long long)claim->size, (unsigned long long)size);
	return false;
}

static bool claim_right(struct treeproof *proof, const struct frame *done)
{
	const struct claim *claim = &done->claim;
	unsigned level = claim->key.type == OBJECT_TREE ? done->node.level : done->list.level;
	bool right = sums_right(proof, claim, done->count, done->size);

	if (claim->level >= 0 && level != (unsigned)claim->level) {
		report_claim(proof, claim, "is at the wrong level");
		right = false;
	}
	if (claim->last.ptr &&
		(!str_eq(claim->last, done->last) ||
			(claim->after.ptr && str_cmp(done->first, claim->after) <= 0))) {
		report_claim(proof, claim, "holds other names than it is said to");
		right = false;
	}
	return right;
}

/* Make a key from an object and a claim about the object. */
static struct object_key claim_key(const struct claim *claim)
{
	struct object_key key = claim->key;
	uint64_t word[4];

	memcpy(word, key.hash.bytes, sizeof(word));
	word[0] ^= claim->count;
	word[1] ^= claim->size;
	word[2] ^= (uint64_t)(int64_t)claim->level;
	if (claim->after.ptr)
		word[2] ^= entry_path_hash(1, claim->after);
	if (claim->last.ptr)
		word[3] ^= entry_path_hash(2, claim->last);
	memcpy(key.hash.bytes, word, sizeof(word));
	return key;
}

/* ----------------------------------------------------------------- the walk */

static int check_xattrs(struct store *store, const struct object_key *key, struct err *err)
{
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX + 1 };
	struct xattrs_reader reader;
	struct xattr xattr;
	int r = store_get(store, key->type, &key->hash, &bytes, err);

	if (r >= 0)
		r = xattrs_open(&reader, bytes.data, bytes.len, err);
	while (r >= 0 && (r = xattrs_next(&reader, &xattr, err)) > 0)
		;
	return r;
}

/* Whether an error means that data is damaged, so that the check can go on with other objects. */
static bool is_damage(int r)
{
	return r == -ERR_CORRUPT || r == -ERR_NOT_FOUND || r == -ERR_LIMIT;
}

static int push_frame(struct treeproof *proof, const struct claim *claim, struct err *err)
{
	struct frame frame = {
		.claim = *claim,
		.bytes.max = OBJECT_MAX + 1,
		.edges = proof->n_open,
	};
	int r = store_get(proof->store, claim->key.type, &claim->key.hash, &frame.bytes, err);

	if (r >= 0)
		r = claim->key.type == OBJECT_TREE
			    ? treenode_open(&frame.node, frame.bytes.data, frame.bytes.len, err)
			    : content_list_open(
				      &frame.list, frame.bytes.data, frame.bytes.len, err);
	if (r < 0) {
		buf_release(&frame.bytes);
		return r;
	}
	mem_grow(&proof->frames, &proof->frames_cap, proof->depth);
	proof->frames[proof->depth++] = frame;
	return 0;
}

/*
 * Check an object that has a row in the store.  Trees and chunk lists get a frame, and are read
 * later.
 */
static int check_object(
	struct treeproof *proof, const struct claim *claim, uint64_t raw, struct err *err)
{
	struct object_key sound = claim_key(claim);
	int r = 0;

	switch (claim->key.type) {
	case OBJECT_BLOB:
		/* Check only the length, since store_verify has read the bytes of the blob. */
		if (sums_right(proof, claim, 0, raw))
			reach_add(&proof->sound, &sound);
		return 0;
	case OBJECT_XATTRS:
		r = check_xattrs(proof->store, &claim->key, err);
		if (r >= 0)
			reach_add(&proof->sound, &sound);
		return r;
	default:
		return push_frame(proof, claim, err);
	}
}

/*
 * Check an object that the object of the innermost frame refers to.  A sound object is not checked
 * again if the same claim about it was checked before.
 */
static int enter_object(struct treeproof *proof, const struct claim *claim, struct err *err)
{
	struct object_key sound = claim_key(claim);
	uint32_t vertex = find_vertex(proof, &claim->key);
	struct err why = { 0 };
	uint64_t stored, raw;

	if (vertex != TREEPROOF_SOUND) {
		const struct vertex *known = &proof->vertices[vertex];

		if (known->summed)
			(void)sums_right(proof, claim, known->count, known->size);
		add_dependency(proof, vertex);
		return 0;
	}
	if (reach_has(&proof->sound, &sound))
		return 0;
	int r = store_size(proof->store, &claim->key, &stored, &raw, &why);
	if (r == 0)
		r = err_set(&why, ERR_CORRUPT, "missing from the store");
	else if (r > 0)
		r = check_object(proof, claim, raw, &why);
	if (is_damage(r)) {
		treeproof_damaged(proof, &claim->key, "%s", why.text);
		add_dependency(proof, find_vertex(proof, &claim->key));
		return 0;
	}
	if (r < 0)
		*err = why;
	return r;
}

/*
 * Remove the innermost frame.  The parameter 'whole' says whether its object was read to the end.
 */
static void leave_object(struct treeproof *proof, bool whole)
{
	struct frame done = proof->frames[--proof->depth];
	uint32_t vertex = find_vertex(proof, &done.claim.key);
	size_t n = proof->n_open - done.edges;

	if (n && vertex == TREEPROOF_SOUND)
		vertex = vertex_of(proof, &done.claim.key);
	if (vertex != TREEPROOF_SOUND) {
		struct vertex *here = &proof->vertices[vertex];

		here->edges = (uint32_t)proof->n_edges;
		here->n_edges = (uint32_t)n;
		here->summed = whole;
		here->count = done.count;
		here->size = done.size;
		for (size_t i = 0; i < n; i++) {
			mem_grow(&proof->edges, &proof->edges_cap, proof->n_edges);
			proof->edges[proof->n_edges++] = proof->open[done.edges + i];
		}
		proof->n_open = done.edges;
		add_dependency(proof, vertex);
	}
	if (whole && claim_right(proof, &done) && vertex == TREEPROOF_SOUND) {
		struct object_key sound = claim_key(&done.claim);

		reach_add(&proof->sound, &sound);
	}
	buf_release(&done.bytes);
}

static int next_child(struct treeproof *proof, struct frame *frame, struct err *err)
{
	struct treenode_child child;
	int r = treenode_child(&frame->node, &child, err);

	if (r <= 0)
		return r;
	struct claim claim = {
		.key = { child.hash, OBJECT_TREE },
		.level = (int)frame->node.level - 1,
		.count = child.count,
		.size = child.size,
		.after = frame->items ? frame->last : frame->claim.after,
		.last = child.last,
	};
	/*
	 * The first name below this child is not checked here.  The first leaf below the child
	 * inherits the member 'after' of the claim, and its first name is compared with 'after'.
	 */
	if (!frame->items++)
		frame->first = child.last;
	frame->last = child.last;
	frame->count += child.count;
	frame->size += child.size;
	r = enter_object(proof, &claim, err);
	return r < 0 ? r : 1;
}

static int check_name(const struct frame *frame, const struct entry *entry, struct err *err)
{
	bool root = frame->claim.level == LEVEL_ROOT;

	if (root != !entry->name.len || (root && entry->type != ENTRY_DIR))
		return err_set(err, ERR_CORRUPT, "%s",
			root ? "not the root of a tree" : "a root, not a directory");
	return 0;
}

static int next_entry(struct treeproof *proof, struct frame *frame, struct err *err)
{
	struct entry entry;
	int r = treenode_entry(&frame->node, &entry, err);

	if (r > 0 && check_name(frame, &entry, err) < 0)
		r = -(int)err->code;
	if (r <= 0)
		return r;
	if (!frame->items++)
		frame->first = entry.name;
	frame->last = entry.name;
	frame->count += 1 + (entry.type == ENTRY_DIR ? entry.count : 0);
	if (entry.type == ENTRY_DIR || entry.type == ENTRY_FILE)
		frame->size += entry.size;

	struct claim claim = { .level = LEVEL_ANY, .name = entry.name };
	if (!hash_is_none(&entry.xattrs)) {
		claim.key = (struct object_key){ entry.xattrs, OBJECT_XATTRS };
		r = enter_object(proof, &claim, err);
	}
	/*
	 * After everything else, enter the content of the entry.  This may add a frame, and so move
	 * all frames in memory.
	 */
	enum object_type type = reach_content_type(&entry);
	if (r >= 0 && type) {
		claim.key = (struct object_key){ entry.hash, type };
		claim.count = entry.count;
		claim.size = entry.size;
		r = enter_object(proof, &claim, err);
	}
	return r < 0 ? r : 1;
}

static int next_piece(struct treeproof *proof, struct frame *frame, struct err *err)
{
	struct content_piece piece;
	int r = content_list_next(&frame->list, &piece, err);

	if (r <= 0)
		return r;
	if (piece.hole && frame->hole)
		return err_set(err, ERR_CORRUPT, "two holes follow each other");
	frame->hole = piece.hole;
	frame->size += piece.length;
	if (piece.hole)
		return 1;
	struct claim claim = {
		.key = { piece.hash, frame->list.level ? OBJECT_CHUNKS : OBJECT_BLOB },
		.level = frame->list.level ? (int)frame->list.level - 1 : LEVEL_ANY,
		.size = piece.length,
	};
	r = enter_object(proof, &claim, err);
	return r < 0 ? r : 1;
}

static int next_item(struct treeproof *proof, struct err *err)
{
	struct frame *frame = &proof->frames[proof->depth - 1];

	if (frame->claim.key.type == OBJECT_CHUNKS)
		return next_piece(proof, frame, err);
	if (!frame->node.level)
		return next_entry(proof, frame, err);
	if (frame->claim.level == LEVEL_ROOT)
		return err_set(err, ERR_CORRUPT, "not the root of a tree");
	return next_child(proof, frame, err);
}

int treeproof_tree(
	struct treeproof *proof, const struct hash *tree, uint32_t *damage, struct err *err)
{
	struct claim claim = { .key = { *tree, OBJECT_TREE }, .level = LEVEL_ROOT };
	int r = enter_object(proof, &claim, err);

	while (r >= 0 && proof->depth) {
		size_t depth = proof->depth;
		struct err why = { 0 };

		r = next_item(proof, &why);
		if (r == 0) {
			leave_object(proof, true);
		} else if (is_damage(r) && proof->depth == depth) {
			treeproof_damaged(
				proof, &proof->frames[depth - 1].claim.key, "%s", why.text);
			leave_object(proof, false);
			r = 0;
		} else if (r < 0) {
			*err = why;
		}
	}
	*damage = proof->n_open ? proof->open[0] : TREEPROOF_SOUND;
	proof->n_open = 0;
	return r < 0 ? r : 0;
}

/* ---------------------------------------------------------- users of a fault */

static void add_user(struct vertex *vertex, uint32_t user)
{
	if (vertex->faulty && vertex->total < TREEPROOF_USERS) {
		if (!vertex->users)
			vertex->users = mem_alloc(TREEPROOF_USERS * sizeof(*vertex->users));
		vertex->users[vertex->total] = user;
	}
	vertex->total++;
}

void treeproof_use(struct treeproof *proof, uint32_t damage, uint32_t user)
{
	/*
	 * The walk is over, so the array 'open' is free to hold the vertices that are still to be
	 * visited.
	 */
	proof->n_open = 0;
	add_dependency(proof, damage);
	while (proof->n_open) {
		struct vertex *vertex = &proof->vertices[proof->open[--proof->n_open]];

		if (vertex->reached == user + 1)
			continue;
		vertex->reached = user + 1;
		add_user(vertex, user);
		for (uint32_t i = 0; i < vertex->n_edges; i++)
			add_dependency(proof, proof->edges[vertex->edges + i]);
	}
}

bool treeproof_fault(const struct treeproof *proof, size_t i, struct treeproof_fault *fault)
{
	if (i >= proof->n_faults)
		return false;
	const struct vertex *vertex = &proof->vertices[proof->faults[i].vertex];
	*fault = (struct treeproof_fault){
		.what = proof->faults[i].what,
		.users = vertex->users,
		.total = vertex->total,
	};
	return true;
}

uint64_t treeproof_unlisted(const struct treeproof *proof)
{
	return proof->unlisted;
}
