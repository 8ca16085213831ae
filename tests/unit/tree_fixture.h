/*
 * tree_fixture - live directories beside a store, which are captured as in a workspace.
 *
 * Include after <cmocka.h>.
 */
#pragma once
#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "core/when.h"
#include "store_fixture.h"
#include "tree/content.h"
#include "tree/ingest.h"
#include "tree/scan.h"
#include "tree/treeapply.h"
#include "tree/treebuild.h"
#include "tree/treeiter.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SECOND INT64_C(1000000000)
#define NOBODY 65534
#define OLD (1600000000 * SECOND) /* an mtime long ago */

/* --- users --- */

static inline void need_root(void)
{
	if (getuid()) {
		printf("# skip: not root\n");
		skip();
	}
}

/* If this is root, become an ordinary user, who owns the store, until the test ends. */
static inline void become_user(struct fixture *fixture)
{
	char command[400];

	if (getuid())
		return;
	fixture_close(fixture);
	snprintf(command, sizeof(command), "chown -R %d:%d '%s'", NOBODY, NOBODY, fixture->path);
	assert_int_equal(system(command), 0);
	assert_int_equal(setegid(NOBODY), 0);
	assert_int_equal(seteuid(NOBODY), 0);
	(void)prctl(PR_SET_DUMPABLE, 1); /* /proc/self must belong to this user */
	fixture_open(fixture, 0);
}

static inline int tree_setup(void **state)
{
	struct rlimit files;

	umask(022);
	/* Removing a deep tree needs a descriptor for each level. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return fixture_setup(state);
}

static inline int tree_teardown(void **state)
{
	if (!getuid()) {
		(void)!seteuid(0);
		(void)!setegid(0);
	}
	return fixture_teardown(state);
}

#define tree_test(name) cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)

/* --- files on disk --- */

/* Wait until the files written so far are old enough to be trusted by the racy rule. */
static inline void settle(void)
{
	usleep(60000);
}

static inline void put_bytes(int dirfd, const char *path, const void *bytes, size_t len)
{
	owned_fd int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(at_write_all(fd, bytes, len), 0);
}

static inline void put(int dirfd, const char *path, const char *text)
{
	put_bytes(dirfd, path, text, strlen(text));
}

static inline void make(int dirfd, const char *path)
{
	assert_int_equal(mkdirat(dirfd, path, 0755), 0);
}

static inline void stamp(int dirfd, const char *path, int64_t ns)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND },
	};

	assert_int_equal(utimensat(dirfd, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline int64_t mtime_of(int dirfd, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mtim.tv_sec * SECOND + st.st_mtim.tv_nsec;
}

static inline bool is_there(int dirfd, const char *path)
{
	struct stat st;

	return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline void assert_holds(int dirfd, const char *path, const char *text)
{
	owned_fd int fd = openat(dirfd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char bytes[256] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, bytes, sizeof(bytes) - 1) >= 0);
	assert_string_equal(bytes, text);
}

/* --- a live tree --- */

struct live {
	struct fixture *fixture;
	int fd;
	char name[32];
	char index[40]; /* name of the index of the last capture */
	struct report report;
	size_t unhashed;          /* number of files that the last capture had to read */
	size_t dirty;             /* number of directories that it had to build again */
	const struct hash *lower; /* the lower tree, if the directory is an upper layer; or NULL */
	const char *const *exclude;
	size_t n_exclude;
	struct scan_skip skip;
	size_t n_skip;
	const struct scan_inodes *changed;
	struct applied applied; /* notes of the last live_apply */
};

static inline void live_open(struct live *live, struct fixture *fixture, const char *name)
{
	*live = (struct live){ .fixture = fixture, .report = REPORT_INIT, .applied = APPLIED_INIT };
	snprintf(live->name, sizeof(live->name), "%s", name);
	snprintf(live->index, sizeof(live->index), "index-%s", name);
	(void)mkdirat(fixture->rootfd, name, 0755);
	live->fd = openat(fixture->rootfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(live->fd >= 0);
}

static inline void live_close(struct live *live)
{
	close_fd(&live->fd);
	report_release(&live->report);
	applied_release(&live->applied);
}

static inline void live_forget_reports(struct live *live)
{
	report_release(&live->report);
	live->report = (struct report)REPORT_INIT;
}

static inline void live_count(struct live *live, struct windex *index)
{
	struct windex_reader reader;
	struct windex_item item;

	live->unhashed = live->dirty = 0;
	windex_reader_init(&reader, index);
	for (uint32_t id = 0; id < windex_dirs(index); id++) {
		struct windex_dir *row = windex_dir(index, id);

		live->dirty += row->flags & WINDEX_DIR_DIRTY ? 1 : 0;
		windex_reader_begin(&reader, row->segment);
		while (row->segment && windex_reader_next(&reader, &item) > 0)
			live->unhashed += item.record.flags & WINDEX_UNHASHED ? 1 : 0;
	}
	windex_reader_release(&reader);
}

/*
 * Capture the directory.  If old is set, it is compared with the last index.  If save is set, the
 * new index is kept for the next capture.
 */
static inline struct hash live_look(
	struct live *live, bool old, bool save, const struct hash *adopt)
{
	struct fixture *fixture = live->fixture;
	owned(windex_closep) struct windex *last =
		old ? windex_open(fixture->rootfd, live->index) : NULL;
	struct scan_options options = {
		.fd = live->fd,
		.upper = live->lower != NULL,
		.old = last,
		.changed = live->changed,
		.store = fixture->store,
		.adopt = adopt,
		.applied = &live->applied,
		.skip = &live->skip,
		.n_skip = live->n_skip,
		.exclude = live->exclude,
		.n_exclude = live->n_exclude,
		.report = &live->report,
	};
	struct scan scan;
	struct hash tree;
	int spool = save ? openat(fixture->rootfd, "index.new",
				   O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
			 : at_tmpfile(-1, &fixture->err);

	assert_true(spool >= 0);
	assert_ok(fixture, scan_run(&options, spool, &scan, &fixture->err));
	live_count(live, scan.index);
	struct ingest_options ingest = {
		.fd = live->fd,
		.store = fixture->store,
		.report = &live->report,
		.lower = live->lower,
	};
	assert_ok(fixture, ingest_run(&scan, &ingest, &tree, &fixture->err));
	if (save)
		assert_ok(fixture, windex_save(scan.index, fixture->rootfd, "index.new",
					   live->index, &fixture->err));
	scan_release(&scan);
	return tree;
}

/*
 * Capture the directory as a workspace does: compare it with the last index, and save the new one.
 */
static inline struct hash live_capture(struct live *live)
{
	live_forget_reports(live);
	return live_look(live, true, true, NULL);
}

/* Capture the directory by reading everything.  No index is used or saved. */
static inline struct hash live_read(struct live *live)
{
	live_forget_reports(live);
	return live_look(live, false, false, NULL);
}

/*
 * Turn the directory from one tree (NULL: empty) into another.  The report lists entries that could
 * not be restored.
 */
static inline void live_apply(struct live *live, const struct hash *from, const struct hash *to)
{
	struct treeapply_options options = {
		.fd = live->fd,
		.store = live->fixture->store,
		.from = from,
		.to = to,
		.donor = -1,
		.applied = &live->applied,
		.report = &live->report,
	};

	live_forget_reports(live);
	applied_release(&live->applied);
	assert_ok(live->fixture, treeapply_run(&options, &live->fixture->err));
	applied_sort(&live->applied);
}

/* As live_apply, and then capture the directory as a workspace does. */
static inline struct hash live_become(
	struct live *live, const struct hash *from, const struct hash *to)
{
	live_apply(live, from, to);
	return live_look(live, true, true, to);
}

static inline size_t live_reported(const struct live *live)
{
	size_t n = 0;

	for (size_t kind = 0; kind < REPORT_KINDS; kind++)
		n += (size_t)live->report.count[kind];
	return n;
}

static inline bool live_has_report(const struct live *live, enum report_kind kind, const char *path)
{
	for (size_t i = 0; i < live->report.n_items; i++)
		if (live->report.items[i].kind == kind &&
			str_eq(live->report.items[i].path, str_of(path)))
			return true;
	return false;
}

/* --- stored trees --- */

static inline void assert_same_tree(const struct hash *a, const struct hash *b)
{
	char x[HASH_HEX], y[HASH_HEX];

	assert_string_equal(hash_hex(a, x), hash_hex(b, y));
}

static inline void assert_other_tree(const struct hash *a, const struct hash *b)
{
	assert_false(hash_eq(a, b));
}

/* The strings of the entry are not valid after the return. */
static inline bool tree_find(
	struct fixture *fixture, const struct hash *tree, const char *path, struct entry *entry)
{
	struct treeiter iter;

	treeiter_init(&iter, fixture->store);
	int r = treeiter_path(&iter, tree, str_of(path), entry, &fixture->err);
	treeiter_release(&iter);
	assert_ok(fixture, r);
	return r > 0;
}

static inline struct entry tree_entry(
	struct fixture *fixture, const struct hash *tree, const char *path)
{
	struct entry entry;

	assert_true(tree_find(fixture, tree, path, &entry));
	return entry;
}

static inline void assert_text(
	struct fixture *fixture, const struct hash *tree, const char *path, const char *text)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct entry entry = tree_entry(fixture, tree, path);

	assert_int_equal(entry.type, ENTRY_FILE);
	assert_int_not_equal(entry.content, ENTRY_UNREAD);
	assert_ok(fixture, content_load(fixture->store, &entry, 1 << 20, &bytes, &fixture->err));
	assert_string_equal(bytes.data ? bytes.data : "", text);
}

/* Returns an entry of a file, for a tree that is built by hand. */
static inline struct entry built_file(struct fixture *fixture, const char *name, const char *text)
{
	struct entry entry = {
		.name = str_of(name),
		.type = ENTRY_FILE,
		.mode = 0644,
		.uid = geteuid(),
		.gid = getegid(),
		.mtime_sec = OLD / SECOND,
		.size = strlen(text),
	};

	if (entry.size) {
		entry.content = ENTRY_BLOB;
		entry.hash = fixture_put(fixture, text, entry.size);
	}
	return entry;
}

/* Build a directory of these entries, which must be sorted. */
static inline struct entry built_dir(
	struct fixture *fixture, const char *name, const struct entry *entries, size_t n)
{
	struct treebuild *build = mem_alloc(sizeof(*build));
	struct entry dir = {
		.name = str_of(name),
		.type = ENTRY_DIR,
		.mode = 0755,
		.uid = geteuid(),
		.gid = getegid(),
		.mtime_sec = OLD / SECOND,
	};

	treebuild_init(build, fixture->store);
	for (size_t i = 0; i < n; i++)
		assert_ok(fixture, treebuild_add(build, &entries[i], &fixture->err));
	assert_ok(fixture, treebuild_finish(build, &dir, &fixture->err));
	treebuild_release(build);
	free(build);
	return dir;
}

static inline struct hash built_tree(struct fixture *fixture, const struct entry *entries, size_t n)
{
	struct entry root = built_dir(fixture, "", entries, n);
	struct hash tree;

	assert_ok(fixture, treebuild_root(fixture->store, &root, &tree, &fixture->err));
	return tree;
}

/* --- trees described by words --- */

/*
 * A word of a description such as "a=text d/ d/x=more l@target p| f!  e/!".  The words stand for
 * files, directories, symlinks, FIFOs, and files and directories that could not be read.  They are
 * in path order.  Options may follow, each after a comma: m0600 mode, t5 mtime, u7 owner, xV an
 * attribute, h9 link group.  A directory need not have a word of its own.
 */
struct spec {
	struct str path;
	char kind; /* '=' '/' '@' '|' '!', or 'D' for a directory that could not be read */
	struct str text;
	struct entry entry;
};

static inline void spec_options(struct fixture *fixture, struct spec *spec, const char *p)
{
	while (*p == ',') {
		char *end = (char *)p + 2;

		switch (p[1]) {
		case 'm':
			spec->entry.mode = (uint32_t)strtoul(p + 2, &end, 8);
			break;
		case 't':
			spec->entry.mtime_sec = strtol(p + 2, &end, 10);
			break;
		case 'u':
			spec->entry.uid = (uint32_t)strtoul(p + 2, &end, 10);
			break;
		case 'h':
			spec->entry.link = strtoull(p + 2, &end, 10);
			break;
		case 'x':
			end = (char *)p + 3;
			assert_ok(fixture, store_put(fixture->store, OBJECT_XATTRS, p + 2, 1,
						   &spec->entry.xattrs, &fixture->err));
			break;
		default:
			fail_msg("option '%c'", p[1]);
		}
		p = end;
	}
	assert_true(!*p || *p == ' ');
}

/* Parse the next word.  Returns its length, or 0 at the end. */
static inline size_t spec_next(struct fixture *fixture, const char *p, struct spec *spec)
{
	size_t len = strcspn(p, " "), head = strcspn(p, " ,"), path = strcspn(p, "=@|! ,");

	if (!len)
		return 0;
	*spec = (struct spec){ .path = { p, path }, .kind = path < head ? p[path] : '/' };
	if (path && p[path - 1] == '/') {
		spec->kind = spec->kind == '!' ? 'D' : '/';
		spec->path.len--;
	}
	spec->text = (struct str){ p + path + 1, head > path ? head - path - 1 : 0 };
	spec->entry.mode = spec->kind == '/' || spec->kind == 'D' ? 0755
			   : spec->kind == '@'                    ? 0777
								  : 0644;
	spec->entry.uid = geteuid();
	spec->entry.gid = getegid();
	spec->entry.mtime_sec = OLD / SECOND;
	spec_options(fixture, spec, p + head);
	return len;
}

static inline void spec_fill(struct fixture *fixture, struct spec *spec)
{
	struct entry *entry = &spec->entry;

	switch (spec->kind) {
	case '=':
		entry->type = ENTRY_FILE;
		entry->size = spec->text.len;
		if (entry->size) {
			entry->content = ENTRY_BLOB;
			entry->hash = fixture_put(fixture, spec->text.ptr, spec->text.len);
		}
		break;
	case '@':
		entry->type = ENTRY_LINK;
		entry->target = spec->text;
		entry->size = spec->text.len;
		break;
	case '|':
		entry->type = ENTRY_FIFO;
		break;
	case '!':
		entry->type = ENTRY_FILE;
		entry->content = ENTRY_UNREAD;
		entry->size = 1;
		break;
	default:
		entry->type = ENTRY_DIR;
		entry->content = spec->kind == 'D' ? ENTRY_UNREAD : ENTRY_EMPTY;
	}
}

/* Build the directory dir from the words below prefix, beginning at *at. */
static inline void spec_dir(
	struct fixture *fixture, const char **at, struct str prefix, struct entry *dir)
{
	struct treebuild *build = mem_alloc(sizeof(*build));
	size_t skip_len = prefix.len ? prefix.len + 1 : 0, len;
	struct spec spec;

	treebuild_init(build, fixture->store);
	while ((len = spec_next(fixture, *at, &spec)) && spec.path.len > skip_len &&
		!memcmp(spec.path.ptr, prefix.ptr, prefix.len) &&
		(!prefix.len || spec.path.ptr[prefix.len] == '/')) {
		struct str rest = { spec.path.ptr + skip_len, spec.path.len - skip_len };
		const char *slash = memchr(rest.ptr, '/', rest.len);

		if (slash) { /* a directory without a word of its own */
			rest.len = (size_t)(slash - rest.ptr);
			spec.kind = '/';
			spec.entry = (struct entry){ .mode = 0755,
				.uid = geteuid(),
				.gid = getegid(),
				.mtime_sec = OLD / SECOND };
		} else {
			*at += len + ((*at)[len] == ' ');
		}
		spec_fill(fixture, &spec);
		spec.entry.name = rest;
		if (spec.kind == '/')
			spec_dir(fixture, at, (struct str){ spec.path.ptr, skip_len + rest.len },
				&spec.entry);
		assert_ok(fixture, treebuild_add(build, &spec.entry, &fixture->err));
	}
	assert_ok(fixture, treebuild_finish(build, dir, &fixture->err));
	treebuild_release(build);
	free(build);
}

/* Build a tree from words.  A first word "/" with options is the root itself. */
static inline struct hash tree_of(struct fixture *fixture, const char *words)
{
	struct entry root = { .type = ENTRY_DIR,
		.mode = 0755,
		.uid = geteuid(),
		.gid = getegid(),
		.mtime_sec = OLD / SECOND };
	struct hash tree;

	if (*words == '/') {
		struct spec spec;
		size_t len = spec_next(fixture, words, &spec);

		words += len + (words[len] == ' ');
		root = spec.entry;
		root.type = ENTRY_DIR;
	}
	spec_dir(fixture, &words, STR(""), &root);
	assert_string_equal(words, "");
	root.name = STR("");
	assert_ok(fixture, treebuild_root(fixture->store, &root, &tree, &fixture->err));
	return tree;
}
