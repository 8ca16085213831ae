#include "history/node.h"

#include "core/own.h"

#define VERSION 1
#define HAS_STATUS 1
#define HAS_BINDS 2
#define HAS_DENIALS 4
#define LABEL_PATHS 3 /* maximum number of paths in a generated message */

static const char *const kind_names[NODE_KINDS] = {
	[NODE_INIT] = "init",
	[NODE_AUTO] = "auto",
	[NODE_EXEC] = "exec",
	[NODE_MANUAL] = "manual",
	[NODE_CHECKOUT] = "checkout",
	[NODE_TOURNAMENT] = "tournament",
	[NODE_TRACE] = "trace",
	[NODE_IMPORT] = "import",
};

const char *node_kind_name(enum node_kind kind)
{
	return kind < NODE_KINDS ? kind_names[kind] : "unknown";
}

bool node_id_ok(const char *text)
{
	return strlen(text) == NODE_ID_LEN && strspn(text, "0123456789abcdef") == NODE_ID_LEN;
}

void node_id(const void *bytes, size_t len, char id[NODE_ID])
{
	struct hash hash;
	char hex[HASH_HEX];

	hash_of(bytes, len, &hash);
	memcpy(id, hash_hex(&hash, hex), NODE_ID_LEN);
	id[NODE_ID_LEN] = '\0';
}

static void encode_binds(const struct node *node, struct buf *out)
{
	bytes_varint(out, node->n_binds);
	for (size_t i = 0; i < node->n_binds; i++) {
		bytes_str(out, node->binds[i].host);
		bytes_str(out, node->binds[i].inside);
		buf_addc(out, node->binds[i].read_only);
	}
}

static void encode_denials(const struct node *node, struct buf *out)
{
	bytes_varint(out, node->n_denials);
	for (size_t i = 0; i < node->n_denials; i++) {
		bytes_str(out, node->denials[i].what);
		bytes_str(out, node->denials[i].subject);
		bytes_str(out, node->denials[i].rule);
		bytes_str(out, node->denials[i].remedy);
		bytes_varint(out, node->denials[i].times);
	}
}

static char flags_of(const struct node *node)
{
	return (char)((node->has_status ? HAS_STATUS : 0) | (node->n_binds ? HAS_BINDS : 0) |
		      (node->n_denials ? HAS_DENIALS : 0));
}

void node_encode(const struct node *node, struct buf *out)
{
	uint8_t nonce[8];

	bytes_put64(nonce, node->nonce);
	buf_addc(out, VERSION);
	buf_add(out, nonce, sizeof(nonce));
	bytes_str(out, str_of(node->made_from));
	bytes_hash(out, &node->tree);
	bytes_svarint(out, node->time);
	buf_addc(out, (char)node->kind);
	buf_addc(out, flags_of(node));
	bytes_str(out, node->message);
	bytes_varint(out, node->n_command);
	for (size_t i = 0; i < node->n_command; i++)
		bytes_str(out, node->command[i]);
	if (node->has_status) {
		bytes_svarint(out, node->exit_status);
		bytes_varint(out, (uint64_t)node->duration);
	}
	bytes_varint(out, node->counts.added);
	bytes_varint(out, node->counts.modified);
	bytes_varint(out, node->counts.deleted);
	bytes_varint(out, node->counts.renamed);
	bytes_varint(out, node->n_paths);
	for (size_t i = 0; i < node->n_paths; i++) {
		buf_addc(out, node->paths[i].op);
		bytes_str(out, node->paths[i].path);
		if (node->paths[i].op == 'R')
			bytes_str(out, node->paths[i].new_path);
	}
	if (node->n_binds)
		encode_binds(node, out);
	if (node->n_denials)
		encode_denials(node, out);
}

static void decode_command(struct cursor *in, struct arena *arena, struct node *node)
{
	uint64_t n = cursor_varint(in);

	/* An argument takes at least one byte, because its length takes one. */
	if (n > cursor_left(in) || n > NODE_COMMAND_MAX) {
		in->bad = true;
		return;
	}
	node->n_command = (size_t)n;
	node->command = arena_alloc(arena, (size_t)n * sizeof(*node->command));
	for (size_t i = 0; i < n; i++)
		node->command[i] = cursor_str(in);
}

static void decode_paths(struct cursor *in, struct arena *arena, struct node *node)
{
	uint64_t n = cursor_varint(in);

	if (n > NODE_PATHS_MAX) {
		in->bad = true;
		return;
	}
	node->n_paths = (size_t)n;
	node->paths = arena_alloc(arena, (size_t)n * sizeof(*node->paths));
	for (size_t i = 0; i < n && !in->bad; i++) {
		struct node_path *path = &node->paths[i];

		path->op = (char)cursor_byte(in);
		if (!path->op || !strchr("+-MTR", path->op))
			in->bad = true;
		path->path = cursor_str(in);
		if (path->op == 'R')
			path->new_path = cursor_str(in);
	}
}

/*
 * Read the list of binds.  An empty list is refused, because it is never written.  So every node
 * has exactly one encoding.
 */
static void decode_binds(struct cursor *in, struct arena *arena, struct node *node)
{
	uint64_t n = cursor_varint(in);

	if (!n || n > NODE_BINDS_MAX) {
		in->bad = true;
		return;
	}
	node->n_binds = (size_t)n;
	node->binds = arena_alloc(arena, (size_t)n * sizeof(*node->binds));
	for (size_t i = 0; i < n && !in->bad; i++) {
		node->binds[i].host = cursor_str(in);
		node->binds[i].inside = cursor_str(in);
		uint8_t read_only = cursor_byte(in);
		node->binds[i].read_only = read_only;
		if (read_only > 1)
			in->bad = true;
	}
}

static void decode_denials(struct cursor *in, struct arena *arena, struct node *node)
{
	uint64_t n = cursor_varint(in);

	if (!n || n > NODE_DENIALS_MAX) {
		in->bad = true;
		return;
	}
	node->n_denials = (size_t)n;
	node->denials = arena_alloc(arena, (size_t)n * sizeof(*node->denials));
	for (size_t i = 0; i < n && !in->bad; i++) {
		node->denials[i].what = cursor_str(in);
		node->denials[i].subject = cursor_str(in);
		node->denials[i].rule = cursor_str(in);
		node->denials[i].remedy = cursor_str(in);
		node->denials[i].times = cursor_varint(in);
	}
}

int node_decode(
	const void *bytes, size_t len, struct arena *arena, struct node *node, struct err *err)
{
	struct cursor in = cursor_of(bytes, len);
	struct node out = { 0 };

	memcpy(out.id, node->id, sizeof(out.id));
	memcpy(out.parent, node->parent, sizeof(out.parent));
	uint8_t version = cursor_byte(&in);
	struct str nonce = cursor_bytes(&in, 8);
	struct str parent = cursor_str(&in);
	if (len > NODE_BODY_MAX || version != VERSION || in.bad ||
		(parent.len && parent.len != NODE_ID_LEN))
		return err_set(err, ERR_CORRUPT, "malformed node");
	out.nonce = bytes_get64(nonce.ptr);
	memcpy(out.made_from, parent.ptr, parent.len);
	if (parent.len && !node_id_ok(out.made_from))
		in.bad = true;
	cursor_hash(&in, &out.tree);
	out.time = cursor_svarint(&in);
	out.kind = cursor_byte(&in);
	uint8_t flags = cursor_byte(&in);
	if (out.kind >= NODE_KINDS || flags & ~(HAS_STATUS | HAS_BINDS | HAS_DENIALS))
		in.bad = true;
	out.message = cursor_str(&in);
	decode_command(&in, arena, &out);
	out.has_status = flags & HAS_STATUS;
	if (out.has_status) {
		int64_t status = cursor_svarint(&in);
		uint64_t duration = cursor_varint(&in);

		if (status < INT32_MIN || status > INT32_MAX || duration > INT64_MAX)
			in.bad = true;
		out.exit_status = (int)status;
		out.duration = (int64_t)duration;
	}
	out.counts.added = cursor_varint(&in);
	out.counts.modified = cursor_varint(&in);
	out.counts.deleted = cursor_varint(&in);
	out.counts.renamed = cursor_varint(&in);
	decode_paths(&in, arena, &out);
	if (flags & HAS_BINDS)
		decode_binds(&in, arena, &out);
	if (flags & HAS_DENIALS)
		decode_denials(&in, arena, &out);
	if (in.bad || cursor_left(&in))
		return err_set(err, ERR_CORRUPT, "malformed node");
	*node = out;
	return 0;
}

void node_label(const struct node *node, const char *label, struct buf *out)
{
	uint64_t total = node->counts.added + node->counts.modified + node->counts.deleted +
			 node->counts.renamed;
	size_t shown = node->n_paths < LABEL_PATHS ? node->n_paths : LABEL_PATHS;

	buf_addf(out, "%s: ", label);
	for (size_t i = 0; i < shown; i++) {
		struct str path =
			node->paths[i].op == 'R' ? node->paths[i].new_path : node->paths[i].path;

		if (i)
			buf_adds(out, ", ");
		buf_add(out, path.len ? path.ptr : ".", path.len ? path.len : 1);
	}
	if (total > shown)
		buf_addf(out, " (+%llu more)", (unsigned long long)(total - shown));
}

bool node_is_described(const struct node *node)
{
	owned(buf_release) struct buf label = { .max = NODE_MESSAGE_MAX };

	if (node->kind != NODE_MANUAL || !node->message.len)
		return false;
	node_label(node, NODE_COMMIT_LABEL, &label);
	return !str_eq(node->message, (struct str){ label.data, label.len });
}
