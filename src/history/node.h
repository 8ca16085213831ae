/*
 * node - one recorded state of an environment, and its stored form.
 *
 *	version     1 byte    1
 *	nonce       8 bytes   random, so that two equal states have different ids
 *	parent      length, bytes: id of the node that this node was made from; empty for a
 *	            first node
 *	tree        32 bytes  hash of the tree
 *	time        svarint, ns since the epoch
 *	kind        1 byte
 *	flags       1 byte    1: has exit, 2: has binds, 4: has denials
 *	message     length, bytes
 *	command     varint count, each: length, bytes
 *	exit        svarint status, varint duration in ns (only with flag 1)
 *	counts      varint each: added, modified, deleted, renamed
 *	paths       varint count, each: op byte, path, and for op 'R' the new path
 *	binds       varint count, each: host path, inside path, 1 byte that is 1 for a
 *	            read-only bind (only with flag 2)
 *	denials     varint count, each: what, subject, rule, remedy, varint number of times
 *	            (only with flag 4)
 *
 * The id is the first 12 hex digits of the SHA-256 of this form.  When the parent of a node is
 * deleted, the node gets another parent.  Only the database records the new parent.
 */
#pragma once
#include "core/arena.h"
#include "core/bytes.h"
#include "core/err.h"
#include "tree/treediff.h"

#define NODE_ID_LEN 12
#define NODE_ID (NODE_ID_LEN + 1)
#define NODE_MESSAGE_MAX ((size_t)64 << 10)
/* maximum number of bytes of all arguments together */
#define NODE_COMMAND_MAX ((size_t)256 << 10)
#define NODE_PATHS_MAX 64
#define NODE_BINDS_MAX 64
#define NODE_DENIALS_MAX 64
#define NODE_BODY_MAX ((size_t)4 << 20)

enum node_kind {
	NODE_INIT,
	NODE_AUTO,
	NODE_EXEC,
	NODE_MANUAL,
	/* the safety node that is made before a checkout or another movement of HEAD */
	NODE_CHECKOUT,
	NODE_TOURNAMENT,
	NODE_TRACE,
	NODE_IMPORT,
	NODE_KINDS,
};

struct node_path {
	char op;
	struct str path;
	struct str new_path; /* the new path of a renamed file (op 'R') */
};

/*
 * A file or directory of the host that the node's command could use (exec --bind).  It is not in
 * the node's tree.
 */
struct node_bind {
	struct str host;
	struct str inside;
	bool read_only;
};

/* An access that the policy of a program denied while the node's changes were made. */
struct node_denial {
	/* kind of access: "read", "write", "connect", ...; see confine/denials.h */
	struct str what;
	struct str subject; /* a path, HOST:PORT, or the name of a system call */
	struct str rule;
	struct str remedy; /* a change that would allow the access; empty if none is known */
	uint64_t times;
};

struct node {
	char id[NODE_ID];
	char parent[NODE_ID];    /* id of the present parent; "" if there is none */
	char made_from[NODE_ID]; /* id of the parent when the node was made */
	struct hash tree;
	int64_t time;
	enum node_kind kind;
	struct str message;
	struct str *command;
	size_t n_command;
	bool has_status;
	int exit_status;
	int64_t duration;
	struct treediff_counts counts;
	struct node_path *paths; /* the first NODE_PATHS_MAX changed paths */
	size_t n_paths;
	struct node_bind *binds;
	size_t n_binds;
	struct node_denial *denials; /* the first NODE_DENIALS_MAX denials */
	size_t n_denials;
	uint64_t nonce;
};

void node_encode(const struct node *node, struct buf *out);
/*
 * Decode a node.  Its id and its parent are not changed.  Strings point into the encoded bytes, and
 * arrays are allocated in the arena.
 */
int node_decode(
	const void *bytes, size_t len, struct arena *arena, struct node *node, struct err *err);
/* Compute the id of an encoded node. */
void node_id(const void *bytes, size_t len, char id[NODE_ID]);

/*
 * Append a message that consists of the label and the first changed paths of the node.  Nodes get
 * such a message if the user gave none.
 */
#define NODE_COMMIT_LABEL "commit"
void node_label(const struct node *node, const char *label, struct buf *out);
/* Whether a node is of the kind NODE_MANUAL and has a message that the user gave. */
bool node_is_described(const struct node *node);

const char *node_kind_name(enum node_kind kind);
bool node_id_ok(const char *text); /* whether text is exactly 12 lower-case hex digits */
