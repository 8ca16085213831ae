/*
 * property - random work in a live tree, random movements through its history, and a model of the
 * correct results.
 *
 *	property WORK           makes WORK/env; STRATA and TOOLS from the environment
 *	PROPERTY_SEED=N         determines everything; by default from the clock
 *	PROPERTY_STEPS=N        changes of files, 3000
 *
 * The model of a node is the output of treewalk when the node was made, which is kept in
 * WORK/walks/ID.  These results are compared with it:
 *
 *	commit      makes a node exactly when the live tree differs from HEAD
 *	status      reports changes exactly in that case
 *	checkout    the live tree is as it was at that node; uncaptured work is in
 *	            a safety node with the same content
 *	undo, redo  the same, and HEAD moves along the journal of the model
 *	restore     the path is as it was at that node, and nothing else changes
 *	gc, delete, tag   change nothing that can be seen
 *
 * At the end every remaining node is checked out and compared, and fsck runs.  A failure prints the
 * seed and the last operations.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES_MAX 250 /* a larger tree is thinned out */
#define NODES_MAX 4096
#define STATES_MAX 8192
#define LOG_LINES 40
#define PATH_SIZE 4096

static char work[PATH_SIZE - 256], live[PATH_SIZE], walks[PATH_SIZE];
static const char *strata_program, *treewalk_program;
static uint64_t first_seed;
static bool is_root;

/* --- random numbers and text --- */

static uint64_t random_state;

static uint64_t random_next(void) /* splitmix64 */
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t bound)
{
	return random_next() % bound;
}

static bool chance(unsigned percent)
{
	return below(100) < percent;
}

__attribute__((format(printf, 1, 2))) static char *format(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		err(2, "memory");
	va_end(ap);
	return text;
}

static char *slurp_fd(int fd)
{
	size_t len = 0, cap = 1 << 16;
	char *text = malloc(cap);
	ssize_t n;

	if (!text)
		err(2, "memory");
	while ((n = read(fd, text + len, cap - len - 1)) > 0) {
		len += (size_t)n;
		if (cap - len < 2) {
			cap *= 2;
			text = realloc(text, cap);
			if (!text)
				err(2, "memory");
		}
	}
	text[len] = '\0';
	return text;
}

/* --- the last operations, for a failure --- */

static char *recent[LOG_LINES];
static size_t n_recent;

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		err(2, "memory");
	va_end(ap);
	free(recent[n_recent % LOG_LINES]);
	recent[n_recent++ % LOG_LINES] = text;
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *fmt, ...)
{
	va_list ap;

	printf("FAILED: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\nPROPERTY_SEED=%" PRIu64 "; the last operations:\n", first_seed);
	for (size_t i = n_recent > LOG_LINES ? n_recent - LOG_LINES : 0; i < n_recent; i++)
		printf("  %s\n", recent[i % LOG_LINES]);
	exit(1);
}

/* --- programs --- */

/*
 * Run a program.  Returns its standard output, which the caller frees.  If 'status' is NULL, the
 * exit status must be 0.
 */
static char *run(int *status, const char *program, ...)
{
	char *argv[16] = { (char *)program }, *text;
	int pipes[2], n = 1, ended;
	va_list ap;
	pid_t pid;

	va_start(ap, program);
	while (n < 15 && (argv[n] = va_arg(ap, char *)))
		n++;
	va_end(ap);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		err(2, "pipe");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		execv(program, argv);
		_exit(121);
	}
	close(pipes[1]);
	text = slurp_fd(pipes[0]);
	close(pipes[0]);
	if (waitpid(pid, &ended, 0) < 0)
		err(2, "wait");
	int result = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
	if (status)
		*status = result;
	else if (result)
		fail("%s %s: status %d: %s", argv[0], argv[1], result, text);
	return text;
}

#define strata(...) run(NULL, strata_program, __VA_ARGS__, NULL)

static json_t *strata_json(const char *command, const char *a, const char *b, const char *c)
{
	char *text = a && b && c ? strata(command, "--json", a, b, c)
		     : a && b    ? strata(command, "--json", a, b)
		     : a         ? strata(command, "--json", a)
				 : strata(command, "--json");

	/*
	 * Bytes that are not UTF-8 are written as lone surrogates, which jansson refuses.  They are
	 * replaced, since no path is compared.
	 */
	for (char *at = text; (at = strstr(at, "\\udc")); at += 4)
		memcpy(at, "\\u00", 4);
	json_t *document = json_loads(text, 0, NULL);
	if (!document)
		fail("%s --json printed: %s", command, text);
	free(text);
	return document;
}

static char *walk(void)
{
	return run(NULL, treewalk_program, live, "--content", NULL);
}

/* --- the model --- */

struct node {
	char id[32];
	bool deleted, tagged;
};

struct state {
	size_t node;
	ssize_t prev; /* state that undo leads to; -1: none */
};

static struct node nodes[NODES_MAX];
static size_t n_nodes;
static struct state states[STATES_MAX];
static size_t n_states, cursor;
static size_t head;

static void keep_walk(const char *id, const char *text)
{
	char *path = format("%s/%s", walks, id);
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		err(2, "%s", path);
	free(path);
}

static char *kept_walk(size_t node)
{
	char *path = format("%s/%s", walks, nodes[node].id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		err(2, "%s", path);
	char *text = slurp_fd(fd);
	close(fd);
	free(path);
	return text;
}

static size_t add_node(const char *id, const char *text)
{
	if (n_nodes == NODES_MAX)
		errx(2, "more than %d nodes", NODES_MAX);
	for (size_t i = 0; i < n_nodes; i++)
		if (!strcmp(nodes[i].id, id))
			fail("node %s was made twice", id);
	snprintf(nodes[n_nodes].id, sizeof(nodes[0].id), "%s", id);
	keep_walk(id, text);
	return n_nodes++;
}

/* Add a state, since HEAD has moved to it. */
static void add_state(size_t node)
{
	if (n_states == STATES_MAX)
		errx(2, "more than %d movements", STATES_MAX);
	states[n_states] = (struct state){ node, n_states ? (ssize_t)cursor : -1 };
	cursor = n_states++;
	head = node;
}

/* Compare two texts.  If they differ, fail with the first different line. */
static void same_walk(const char *want, const char *have, const char *what)
{
	if (!strcmp(want, have))
		return;
	for (;;) {
		size_t x = strcspn(want, "\n"), y = strcspn(have, "\n");

		if (x != y || memcmp(want, have, x))
			fail("%s:\n  should be %.*s\n  but is    %.*s", what, (int)x, want, (int)y,
				have);
		want += x + 1;
		have += y + 1;
	}
}

static void live_is(size_t node, const char *what)
{
	char *want = kept_walk(node), *have = walk();

	same_walk(want, have, what);
	free(want);
	free(have);
}

/* --- the live tree --- */

struct found {
	char *path;
	mode_t mode;
	nlink_t links;
};

static struct found entries[4 * ENTRIES_MAX];
static size_t n_entries;

static int found_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	if (n_entries < sizeof(entries) / sizeof(entries[0]))
		entries[n_entries++] =
			(struct found){ format("%s", path), st->st_mode, st->st_nlink };
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

/*
 * List the tree, with the root first.  The list is sorted, so that the seed determines everything.
 */
static void look(void)
{
	while (n_entries)
		free(entries[--n_entries].path);
	if (nftw(live, found_one, 32, FTW_PHYS) < 0)
		err(2, "%s", live);
	qsort(entries, n_entries, sizeof(*entries), by_path);
}

/* Returns a random entry of a type, or NULL if there is none.  Type 0: any entry but the root. */
static const char *pick(mode_t type)
{
	size_t matches = 0, chosen;

	for (size_t i = 0; i < n_entries; i++)
		matches += type ? (entries[i].mode & S_IFMT) == type : i > 0;
	if (!matches)
		return NULL;
	chosen = below(matches);
	for (size_t i = 0; i < n_entries; i++)
		if ((type ? (entries[i].mode & S_IFMT) == type : i > 0) && !chosen--)
			return entries[i].path;
	return NULL;
}

static char *new_path(void)
{
	static const char *const odd[] = { "with space", "new\nline", "\xff\xfe", "-dash",
		"back\\slash", ".hidden", "\xc3\xa9", "a*b?[c]", "'quoted'\"", "CaSe", "case" };
	const char *dir = pick(S_IFDIR);

	if (chance(15))
		return format("%s/%s", dir, odd[below(sizeof(odd) / sizeof(odd[0]))]);
	return format("%s/%c%" PRIu64, dir, (char)('a' + below(26)), below(40));
}

static void remove_all(const char *path);

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_all(const char *path)
{
	(void)nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

static void fill(char *bytes, size_t len)
{
	bool text = chance(60);

	for (size_t i = 0; i < len; i++)
		bytes[i] = text ? (char)("strata history of trees\n"[(i + len) % 24])
				: (char)random_next();
}

static void write_at(const char *path, int flags, off_t offset, size_t len)
{
	static char bytes[3 << 20];
	struct stat st;

	/* Do not open a FIFO or a device. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return;
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0644);
	if (fd < 0)
		return; /* the user may not write this file, which is a case of its own */
	fill(bytes, len);
	if (pwrite(fd, bytes, len, offset) < 0)
		err(2, "%s", path);
	close(fd);
}

static size_t some_length(void)
{
	if (chance(3))
		return (1 << 20) + below(2 << 20); /* the content has more than one chunk */
	return chance(10) ? 0 : 1 + below(chance(20) ? 60000 : 300);
}

static void op_create(void)
{
	char *path = new_path();

	note("write %s", path);
	write_at(path, O_CREAT, 0, some_length());
	free(path);
}

static void op_change(void)
{
	const char *path = pick(S_IFREG);
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return;
	switch (below(4)) {
	case 0:
		note("append to %s", path);
		write_at(path, 0, st.st_size, 1 + below(500));
		break;
	case 1:
		note("overwrite in %s", path);
		write_at(path, 0, (off_t)below((uint64_t)st.st_size + 1), 1 + below(200));
		break;
	case 2:
		note("truncate %s", path);
		(void)!truncate(path, (off_t)below(2 * (uint64_t)st.st_size + 10));
		break;
	case 3: {
		/*
		 * Size and mtime do not change, so only the content and the ctime show the change.
		 */
		struct timespec times[2] = { st.st_atim, st.st_mtim };

		note("overwrite %s and set back its mtime", path);
		if (st.st_size)
			write_at(path, 0, 0, 1);
		(void)utimensat(AT_FDCWD, path, times, 0);
		break;
	}
	}
}

static void op_sparse(void)
{
	char *path = new_path();

	note("sparse %s", path);
	write_at(path, O_CREAT, (off_t)(below(64) << 16), 1 + below(100));
	write_at(path, 0, (off_t)(below(200) << 16), 1 + below(100));
	free(path);
}

static void op_mkdir(void)
{
	char *path = new_path();

	note("mkdir %s", path);
	(void)mkdir(path, 0755);
	free(path);
}

static void op_rename(void)
{
	const char *from = pick(chance(40) ? S_IFDIR : 0);
	char *to = new_path();

	if (from && from != entries[0].path) {
		note("rename %s to %s", from, to);
		(void)rename(from, to);
	}
	free(to);
}

static void op_link(void)
{
	const char *from = pick(S_IFREG);
	char *to = new_path();

	if (from) {
		note("link %s to %s", to, from);
		(void)!link(from, to);
	}
	free(to);
}

static void op_symlink(void)
{
	char *path = new_path(), *target = format("../%" PRIu64 "/x", below(20));

	note("symlink %s", path);
	(void)!symlink(target, path);
	free(path);
	free(target);
}

static void op_special(void)
{
	char *path = new_path();

	if (is_root && chance(40)) {
		note("device %s", path);
		(void)mknod(path, S_IFCHR | 0600, chance(50) ? makedev(1, 3) : makedev(1, 5));
	} else {
		note("fifo %s", path);
		(void)mkfifo(path, 0600);
	}
	free(path);
}

/* Set modes that still let an ordinary user read his own files. */
static void op_chmod(void)
{
	const char *path = pick(chance(30) ? S_IFDIR : S_IFREG);
	mode_t mode = (mode_t)below(010000);
	struct stat st;

	if (!path || lstat(path, &st) < 0)
		return;
	if (!is_root)
		mode |= S_ISDIR(st.st_mode) ? 0700 : 0400;
	note("chmod %s %04o", path, (unsigned)mode);
	(void)chmod(path, mode);
}

static void op_chown(void)
{
	const char *path = pick(0);

	if (!is_root || !path)
		return;
	note("chown %s", path);
	(void)!lchown(path, (uid_t)below(3) * 1000, (gid_t)below(3) * 1000);
}

static void op_times(void)
{
	const char *path = pick(0);
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)below(4000000000u) - (chance(5) ? 2000000000 : 0),
			.tv_nsec = chance(30) ? 0 : (long)below(1000000000) },
	};

	if (!path)
		return;
	note("mtime of %s", path);
	(void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

static void op_xattr(void)
{
	const char *path = pick(chance(20) ? S_IFDIR : S_IFREG);
	char *name = format("user.n%" PRIu64, below(4)), value[300];

	if (path && chance(30)) {
		note("remove %s of %s", name, path);
		(void)removexattr(path, name);
	} else if (path) {
		size_t len = below(chance(10) ? 300 : 30);

		note("set %s of %s", name, path);
		fill(value, len);
		(void)setxattr(path, name, value, len, 0);
	}
	free(name);
}

static void op_delete(void)
{
	const char *path = pick(0);

	if (!path)
		return;
	note("delete %s", path);
	remove_all(path);
}

/* Replace a file by a directory, a directory by a file, or any entry by a link. */
static void op_replace(void)
{
	const char *path = pick(0);
	struct stat st;

	if (!path || lstat(path, &st) < 0)
		return;
	note("replace %s", path);
	remove_all(path);
	if (chance(25)) {
		(void)!symlink("elsewhere", path);
	} else if (S_ISDIR(st.st_mode)) {
		write_at(path, O_CREAT, 0, some_length());
	} else if (mkdir(path, 0755) == 0) {
		char *inside = format("%s/inside", path);

		write_at(inside, O_CREAT, 0, 10);
		free(inside);
	}
}

/* Write a new file beside the old one and rename it, as editors do. */
static void op_save(void)
{
	const char *path = pick(S_IFREG);

	if (!path)
		return;
	char *beside = format("%s.new", path);
	note("save %s", path);
	write_at(beside, O_CREAT | O_TRUNC, 0, some_length());
	(void)rename(beside, path);
	free(beside);
}

static void (*const file_ops[])(void) = { op_create, op_create, op_create, op_create, op_change,
	op_change, op_change, op_sparse, op_mkdir, op_mkdir, op_rename, op_rename, op_link,
	op_symlink, op_special, op_chmod, op_chown, op_times, op_xattr, op_xattr, op_delete,
	op_replace, op_save };

static void change_files(size_t count)
{
	while (count--) {
		look();
		if (n_entries > ENTRIES_MAX)
			op_delete();
		else
			file_ops[below(sizeof(file_ops) / sizeof(file_ops[0]))]();
	}
}

/* --- movements --- */

static const char *text_of(json_t *document, const char *key)
{
	return json_string_value(json_object_get(document, key));
}

/* Uncaptured work became a node, which must have the content of the earlier live tree. */
static void take_safety(json_t *moved, const char *before)
{
	const char *id = text_of(moved, "safety");
	char *was = kept_walk(head);
	bool dirty = strcmp(was, before) != 0;

	if (dirty && !id)
		same_walk(was, before, "no safety node, though the live tree was not HEAD's");
	if (!dirty && id)
		fail("a safety node, though there was no work");
	if (id)
		add_state(add_node(id, before));
	free(was);
}

static void do_commit(void)
{
	char *before = walk(), *was = kept_walk(head);
	json_t *made = strata_json("commit", "-m", "step", NULL);
	bool dirty = strcmp(before, was) != 0;

	note("commit: %s", text_of(made, "id"));
	if (dirty != json_is_true(json_object_get(made, "made"))) {
		if (dirty)
			same_walk(was, before, "commit saw no change");
		fail("commit made a node of nothing");
	}
	if (dirty)
		add_state(add_node(text_of(made, "id"), before));
	char *now = walk();
	same_walk(before, now, "commit changed the live tree");
	free(before);
	free(was);
	free(now);
	json_decref(made);
}

static ssize_t random_node(void)
{
	for (int try = 0; try < 200; try++) {
		size_t i = below(n_nodes);

		if (!nodes[i].deleted)
			return (ssize_t)i;
	}
	return (ssize_t)head;
}

static void do_checkout(void)
{
	size_t target = (size_t)random_node();
	char *before = walk();

	note("checkout %s", nodes[target].id);
	json_t *moved = strata_json("checkout", nodes[target].id, NULL, NULL);
	take_safety(moved, before);
	add_state(target);
	live_is(target, "the live tree after checkout");
	free(before);
	json_decref(moved);
}

/*
 * Returns the state that undo or redo leads to, or -1 if there is none.  States with deleted nodes
 * are skipped.
 */
static ssize_t next_state(bool undo)
{
	ssize_t at = (ssize_t)cursor;

	for (;;) {
		ssize_t next = -1;

		if (undo)
			next = states[at].prev;
		for (ssize_t i = (ssize_t)n_states - 1; !undo && i >= 0 && next < 0; i--)
			if (states[i].prev == at)
				next = i;
		if (next < 0 || !nodes[states[next].node].deleted)
			return next;
		at = next;
	}
}

static void do_step(bool undo)
{
	char *before = walk(), *was = kept_walk(head);
	bool dirty = strcmp(before, was) != 0;

	/* Uncaptured work first becomes a state, and no redo is possible from that state. */
	if ((!undo && dirty) || (!dirty && next_state(undo) < 0)) {
		free(before);
		free(was);
		return;
	}
	note("%s", undo ? "undo" : "redo");
	json_t *moved = strata_json(undo ? "undo" : "redo", NULL, NULL, NULL);
	take_safety(moved, before);
	ssize_t next = next_state(undo);
	if (next < 0)
		fail("%s went somewhere, but there is nowhere to go", undo ? "undo" : "redo");
	cursor = (size_t)next;
	head = states[next].node;
	if (strcmp(nodes[head].id, text_of(moved, "head")))
		fail("HEAD is %s, not %s", text_of(moved, "head"), nodes[head].id);
	live_is(head, undo ? "the live tree after undo" : "the live tree after redo");
	free(before);
	free(was);
	json_decref(moved);
}

/* --- restore: lines of treewalk, by path --- */

struct lines {
	char **list;
	size_t n;
	char *text;
};

/*
 * Split a text into lines.  The field group= is removed, since it may change with names elsewhere.
 */
static struct lines split(char *text)
{
	struct lines lines = { .text = text };
	size_t cap = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *group = strstr(line, " group=");

		if (group) {
			char *end = strchr(group + 1, ' ');

			if (end)
				memmove(group, end, strlen(end) + 1);
			else
				*group = '\0';
		}
		if (lines.n == cap) {
			cap = cap ? 2 * cap : 64;
			lines.list = realloc(lines.list, cap * sizeof(*lines.list));
			if (!lines.list)
				err(2, "memory");
		}
		lines.list[lines.n++] = line;
	}
	return lines;
}

static void lines_release(struct lines *lines)
{
	free(lines->list);
	free(lines->text);
}

/* Whether a line is about 'path' or a path below it. */
static bool at_or_below(const char *line, const char *path)
{
	size_t len = strlen(path);

	if (!strcmp(path, "."))
		return true;
	return !strncmp(line, path, len) && (line[len] == ' ' || line[len] == '/');
}

static bool above(const char *line, const char *path)
{
	size_t len = strcspn(line, " ");

	return !strncmp(line, path, len) && path[len] == '/';
}

static const char *line_of(const struct lines *lines, const char *like)
{
	size_t len = strcspn(like, " ") + 1;

	for (size_t i = 0; i < lines->n; i++)
		if (!strncmp(lines->list[i], like, len))
			return lines->list[i];
	return NULL;
}

/* Convert \ooo back to bytes. */
static char *raw_path(const char *shown, size_t len)
{
	char *out = malloc(len + 1), *p = out;

	if (!out)
		err(2, "memory");
	for (size_t i = 0; i < len; i++) {
		if (shown[i] == '\\' && len - i > 3) {
			*p++ = (char)((shown[i + 1] - '0') * 64 + (shown[i + 2] - '0') * 8 +
				      (shown[i + 3] - '0'));
			i += 3;
		} else {
			*p++ = shown[i];
		}
	}
	*p = '\0';
	return out;
}

/* Whether every name above 'path' is a directory, in both trees. */
static bool way_is_free(const struct lines *now, const struct lines *source, const char *path)
{
	for (size_t i = 0; i < now->n; i++)
		if (above(now->list[i], path) && !strstr(now->list[i], " dir "))
			return false;
	for (size_t i = 0; i < source->n; i++)
		if (above(source->list[i], path) && !strstr(source->list[i], " dir "))
			return false;
	return true;
}

static void check_restored(const struct lines *before, const struct lines *now,
	const struct lines *source, const char *path)
{
	for (size_t i = 0; i < source->n; i++) {
		const char *want = source->list[i], *have;

		if (!at_or_below(want, path))
			continue;
		have = line_of(now, want);
		if (!have || strcmp(want, have))
			fail("restore of %s:\n  should be %s\n  but is    %s", path, want,
				have ? have : "missing");
	}
	for (size_t i = 0; i < now->n; i++) {
		const char *have = now->list[i];
		const char *want = line_of(at_or_below(have, path) ? source : before, have);

		/* The directory had to be made, since it is above 'path'. */
		if (!want && above(have, path))
			want = line_of(source, have);
		if (!want || strcmp(want, have))
			fail("restore of %s:\n  there is  %s\n  should be %s", path, have,
				want ? want : "missing");
	}
	for (size_t i = 0; i < before->n; i++)
		if (!at_or_below(before->list[i], path) && !line_of(now, before->list[i]))
			fail("restore of %s took away %s", path, before->list[i]);
}

static void do_restore(void)
{
	size_t from = (size_t)random_node();
	char *text = walk();
	struct lines source = split(kept_walk(from)), before = split(format("%s", text)), now;
	/*
	 * Choose a path of the node, or one that only the live tree has and that restore removes.
	 */
	const struct lines *of = chance(80) ? &source : &before;
	const char *line = of->n > 1 ? of->list[1 + below(of->n - 1)] : NULL;

	if (line) {
		char *path = format("%.*s", (int)strcspn(line, " "), line);
		char *raw = raw_path(path, strlen(path));

		if (way_is_free(&before, &source, path)) {
			note("restore %s from %s", path, nodes[from].id);
			json_t *done = strata_json("restore", nodes[from].id, "--", raw);
			char *was = kept_walk(head);

			/* Uncaptured work was saved in a new node. */
			if (strcmp(was, text)) {
				char *id = strata("head");
				id[strcspn(id, "\n")] = '\0';
				add_state(add_node(id, text));
				free(id);
			}
			free(was);
			now = split(walk());
			check_restored(&before, &now, &source, path);
			lines_release(&now);
			json_decref(done);
		}
		free(path);
		free(raw);
	}
	lines_release(&source);
	lines_release(&before);
	free(text);
}

/* --- operations that must change nothing --- */

static void do_gc(void)
{
	char *before = walk();

	note("gc");
	free(strata("gc"));
	char *now = walk();
	same_walk(before, now, "gc changed the live tree");
	free(before);
	free(now);
}

static void do_tag(void)
{
	size_t node = (size_t)random_node();
	char *name = format("tag%zu", node);

	note("tag %s", name);
	if (nodes[node].tagged)
		free(strata("tag", "-d", name));
	else
		free(strata("tag", name, nodes[node].id));
	nodes[node].tagged = !nodes[node].tagged;
	free(name);
}

static void do_delete(void)
{
	size_t node = (size_t)random_node();
	int status;

	note("delete %s", nodes[node].id);
	char *text = run(&status, strata_program, "delete", nodes[node].id, NULL);
	bool refused = node == head || nodes[node].tagged;
	if (status != refused)
		fail("delete of %s: status %d: %s", nodes[node].id, status, text);
	nodes[node].deleted = !refused;
	free(text);
}

static void do_status(void)
{
	char *have = walk(), *want = kept_walk(head);
	json_t *status = strata_json("status", NULL, NULL, NULL);
	bool dirty = json_integer_value(json_object_get(status, "dirty")) > 0;

	note("status");
	if (dirty != (strcmp(have, want) != 0))
		fail("status says %s",
			dirty ? "dirty, but nothing differs" : "clean, but it is not");
	if (strcmp(text_of(status, "head"), nodes[head].id))
		fail("status says HEAD is %s, not %s", text_of(status, "head"), nodes[head].id);
	json_decref(status);
	free(have);
	free(want);
}

static void move(void)
{
	uint64_t roll = below(100);

	if (roll < 42)
		do_commit();
	else if (roll < 60)
		do_checkout();
	else if (roll < 68)
		do_step(true);
	else if (roll < 74)
		do_step(false);
	else if (roll < 84)
		do_restore();
	else if (roll < 87)
		do_gc();
	else if (roll < 91)
		do_tag();
	else if (roll < 95)
		do_delete();
	else
		do_status();
}

/* --- the whole test --- */

static void start(void)
{
	char *root = format("%s/env", work);

	setenv("STRATA_ROOT", root, 1);
	if (mkdir(walks, 0700) < 0)
		err(2, "%s", walks);
	free(strata("init", "--empty"));
	char *id = strata("head"), *text = walk();
	id[strcspn(id, "\n")] = '\0';
	add_state(add_node(id, text));
	free(id);
	free(text);
	free(root);
}

static void finish(void)
{
	do_commit();
	for (size_t i = 0; i < n_nodes; i++) {
		if (nodes[i].deleted)
			continue;
		note("at the end: checkout %s", nodes[i].id);
		free(strata("checkout", nodes[i].id));
		live_is(i, "the live tree at the end");
	}
	char *text = strata("fsck");
	if (!strstr(text, "clean"))
		fail("fsck: %s", text);
	free(text);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	struct timespec now;

	if (argc != 2 || !getenv("STRATA") || !getenv("TOOLS"))
		errx(2, "usage: STRATA=... TOOLS=... property WORK");
	strata_program = getenv("STRATA");
	treewalk_program = format("%s/treewalk", getenv("TOOLS"));
	if ((mkdir(argv[1], 0700) < 0 && errno != EEXIST) ||
		snprintf(work, sizeof(work), "%s", argv[1]) >= (int)sizeof(work))
		err(2, "%s", argv[1]);
	snprintf(live, sizeof(live), "%s/env/work/main", work);
	snprintf(walks, sizeof(walks), "%s/walks", work);
	clock_gettime(CLOCK_REALTIME, &now);
	first_seed =
		setting("PROPERTY_SEED", (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec);
	uint64_t steps = setting("PROPERTY_STEPS", 3000), done = 0, moves = 0;
	random_state = first_seed;
	is_root = geteuid() == 0;
	umask(022);
	printf("PROPERTY_SEED=%" PRIu64 "\n", first_seed);
	fflush(stdout);
	start();
	while (done < steps) {
		size_t burst = chance(20) ? 0 : 1 + below(60);

		change_files(burst);
		done += burst;
		move();
		moves++;
	}
	finish();
	printf("%" PRIu64 " changes of files, %" PRIu64
	       " movements, %zu nodes: as the model says\n",
		done, moves, n_nodes);
	return 0;
}
