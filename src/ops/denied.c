#include "ops/denied.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "confine/denials.h"
#include "core/at.h"
#include "core/hash.h"
#include "core/jsonread.h"
#include "core/own.h"

#define DENIALS_FILE ".denials"
#define COLLECTED_MAX ((off_t)1 << 20) /* bytes of the file that are read; the rest is dropped */

#define PATH_SIZE (sizeof("run/") + WORKSPACE_NAME_MAX + sizeof(DENIALS_FILE))

static const char *path_of(const struct env *env, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "run/%s" DENIALS_FILE, env->row.name);
	return path;
}

int denied_open(struct env *env, struct err *err)
{
	char path[PATH_SIZE];

	return at_create(env->rootfd, path_of(env, path), O_WRONLY | O_APPEND, 0600, err);
}

/*
 * Returns the subject of a denial: its "path", its "name", or its "host".  The "port" is added to
 * the host if the line has a port.
 */
static struct str subject_of(const struct jsonread *line, struct arena *arena)
{
	struct str subject = { 0 };
	int64_t port = 0;

	if (jsonread_get_str(line, "path", &subject) == JSONREAD_FOUND ||
		jsonread_get_str(line, "name", &subject) == JSONREAD_FOUND)
		return arena_str(arena, subject);
	(void)jsonread_get_str(line, "host", &subject);
	if (jsonread_get_int(line, "port", &port) != JSONREAD_FOUND)
		return arena_str(arena, subject);
	return str_of(arena_printf(
		arena, "%.*s:%lld", (int)subject.len, subject.ptr ?: "", (long long)port));
}

#define REST_SLOTS 8192 /* a power of two */
#define REST_TRIES 64

/*
 * The denials that were read from a text.  The list has room for NODE_DENIALS_MAX - 1 denials, and
 * for one more entry, which counts the denials that do not fit.
 */
struct list {
	struct node_denial *denials;
	size_t n;
	/* for each denial that does not fit: its hash, and how often it has happened */
	struct rest {
		uint64_t key, times;
	} * rest;
	uint64_t forgotten; /* occurrences of the denials without a slot in 'rest' */
};

static uint64_t key_of(const struct node_denial *denial)
{
	const struct str parts[] = { denial->what, denial->subject, denial->rule };
	struct hash_stream *stream = hash_stream_new();
	struct hash hash;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		hash_stream_add(stream, parts[i].ptr, parts[i].len);
		hash_stream_add(stream, "", 1);
	}
	hash_stream_finish(stream, &hash);
	return hash_prefix(&hash) | 1; /* 0 is an empty slot */
}

/*
 * Count a denial that does not fit into the list.  Several lines of the log may report the same
 * denial.  In that case, only the largest "times" of these lines is used.
 */
static void count_rest(struct list *list, const struct node_denial *denial, struct arena *arena)
{
	const uint64_t key = key_of(denial);

	if (!list->rest)
		list->rest = arena_alloc(arena, REST_SLOTS * sizeof(*list->rest));
	for (size_t i = 0; i < REST_TRIES; i++) {
		struct rest *slot = &list->rest[(key + i) & (REST_SLOTS - 1)];

		if (slot->key && slot->key != key)
			continue;
		slot->key = key;
		if (slot->times < denial->times)
			slot->times = denial->times;
		return;
	}
	list->forgotten += denial->times;
}

/* Add the entry that counts all denials that do not fit into the list. */
static void add_rest(struct list *list)
{
	uint64_t times = list->forgotten;

	for (size_t i = 0; list->rest && i < REST_SLOTS; i++)
		times += list->rest[i].times;
	if (times)
		list->denials[list->n++] = (struct node_denial){
			.what = STR(DENIALS_MORE),
			.subject = STR("denials that have no room in the node"),
			.rule = STR("a node has the first denials alone"),
			.times = times,
		};
}

static struct node_denial *find_denial(struct list *list, const struct node_denial *denial)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_eq(list->denials[i].what, denial->what) &&
			str_eq(list->denials[i].subject, denial->subject) &&
			str_eq(list->denials[i].rule, denial->rule))
			return &list->denials[i];
	return NULL;
}

/* Add the denial of a line.  Of several lines about the same denial, use the largest "times". */
static void add_denial(struct list *list, const struct jsonread *line, struct arena *arena)
{
	struct node_denial denial = { .subject = subject_of(line, arena), .times = 1 };
	struct str text;
	int64_t times;

	if (jsonread_get_str(line, "what", &text) == JSONREAD_FOUND)
		denial.what = arena_str(arena, text);
	if (jsonread_get_str(line, "rule", &text) == JSONREAD_FOUND)
		denial.rule = arena_str(arena, text);
	if (jsonread_get_str(line, "remedy", &text) == JSONREAD_FOUND)
		denial.remedy = arena_str(arena, text);
	if (jsonread_get_int(line, "times", &times) == JSONREAD_FOUND && times > 0)
		denial.times = (uint64_t)times;
	struct node_denial *same = find_denial(list, &denial);
	if (same && same->times < denial.times)
		same->times = denial.times;
	if (!same && list->n < NODE_DENIALS_MAX - 1)
		list->denials[list->n++] = denial;
	else if (!same)
		count_rest(list, &denial, arena);
}

void denied_read(struct str text, struct arena *arena, struct node_denial **out, size_t *n)
{
	struct list list = { arena_alloc(arena, NODE_DENIALS_MAX * sizeof(**out)), 0, NULL, 0 };

	while (text.len) {
		struct str line = str_take_until(&text, '\n');
		struct err ignored = { 0 };
		owned(jsonread_freep) struct jsonread *value = jsonread_new(line, &ignored);

		/*
		 * Skip a malformed line.  The first line may be the rest of a line that was cut
		 * off.
		 */
		if (value)
			add_denial(&list, value, arena);
	}
	add_rest(&list);
	*out = list.denials;
	*n = list.n;
}

/* Open and lock the file of denials.  Returns -1 if the file does not exist or is empty. */
static int open_collected(struct env *env, off_t *size)
{
	char path[PATH_SIZE];
	struct err ignored = { 0 };
	struct statx stx;
	owned_fd int fd = at_open(env->rootfd, path_of(env, path), O_RDWR, &ignored);

	if (fd < 0 || at_fd_stat(fd, &stx) < 0 || !stx.stx_size || flock(fd, LOCK_EX) < 0)
		return -1;
	/* The file may have grown while this process waited for the lock. */
	if (at_fd_stat(fd, &stx) < 0)
		return -1;
	*size = (off_t)stx.stx_size;
	return take_fd(&fd);
}

void denied_take(struct env *env, struct arena *arena, struct node *node)
{
	off_t size;
	owned_fd int fd = open_collected(env, &size);
	char *text;
	ssize_t n;

	if (fd < 0)
		return;
	size = size < COLLECTED_MAX ? size : COLLECTED_MAX;
	text = arena_alloc(arena, (size_t)size);
	n = at_pread_full(fd, text, (size_t)size, 0);
	if (n > 0)
		denied_read(
			(struct str){ text, (size_t)n }, arena, &node->denials, &node->n_denials);
	(void)!ftruncate(fd, 0);
}

void denied_drop(struct env *env)
{
	off_t size;
	owned_fd int fd = open_collected(env, &size);

	if (fd >= 0)
		(void)!ftruncate(fd, 0);
}
