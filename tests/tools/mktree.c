/*
 * mktree - make or change a tree with every kind of attribute and name.
 *
 *	mktree DIR [--seed N] [--deep LEVELS]   fill DIR, which is made if missing
 *	mktree DIR --mutate [--seed N]          change the tree in every way
 *
 * The seed determines everything: names, contents, owners, and the mtime of each file and directory
 * that was made or changed.  Whether the file system and the privileges allow something is found
 * out by trying.  Anything that is not allowed is skipped, and reported on standard error once for
 * each kind.
 *
 * --mutate prints one line for each change.  It works on any tree, also on one that was already
 * mutated: it lists the tree again before each change.  It considers only paths shorter than
 * SCAN_PATH_MAX.  The end of the deep chain is changed separately.
 *
 * Attributes are set in the only order in which all of them are kept: owner, mode, xattrs, ACLs,
 * and mtime last.  Directories get mode and mtime when all files are made, in reverse order.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MIB ((off_t)1 << 20)
#define SCAN_PATH_MAX 3000
#define DEEP_DEFAULT 60
#define DEEP_MAX 100000
#define MANY_ENTRIES 3000
#define SMALL_SUBTREE 40 /* entries that one change may delete or replace */

static int root = -1;

/* --- random numbers --- */

static uint64_t random_state;

static uint64_t random_next(void) /* splitmix64 */
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t random_below(uint64_t bound)
{
	return bound ? random_next() % bound : 0;
}

static void random_bytes(void *bytes, size_t len)
{
	unsigned char *out = bytes;

	for (size_t i = 0; i < len;) {
		uint64_t word = random_next();

		for (size_t j = 0; j < sizeof(word) && i < len; j++, i++)
			out[i] = (unsigned char)(word >> (8 * j));
	}
}

/* --- reporting --- */

/* Report once that a kind of thing could not be made.  errno has the reason. */
static void skip(const char *what)
{
	static const char *said[64];
	int saved = errno;
	size_t i = 0;

	for (; i < sizeof(said) / sizeof(said[0]) && said[i]; i++)
		if (!strcmp(said[i], what))
			return;
	if (i < sizeof(said) / sizeof(said[0]))
		said[i] = what;
	fprintf(stderr, "mktree: skipped: %s (%s)\n", what, strerror(saved));
}

static void print_name(const char *name)
{
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if (c > ' ' && c < 0x7f && c != '\\')
			putchar(c);
		else
			printf("\\%03o", c);
	}
}

/* --- paths below root --- */

/* Paths that were made.  strings_release frees them after each change or section. */
static struct string {
	struct string *before;
	char text[];
} * strings;

static void strings_release(void)
{
	while (strings) {
		struct string *string = strings;

		strings = string->before;
		free(string);
	}
}

static const char *join(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *join(const char *fmt, ...)
{
	struct string *string;
	va_list ap;

	va_start(ap, fmt);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0 || !(string = malloc(sizeof(*string) + (size_t)len + 1)))
		err(1, "out of memory");
	va_start(ap, fmt);
	vsnprintf(string->text, (size_t)len + 1, fmt, ap);
	va_end(ap);
	string->before = strings;
	strings = string;
	return string->text;
}

/* Returns a path for calls without an *at form.  Use it with the l-variants of these calls. */
static const char *proc_path(const char *path)
{
	return join("/proc/self/fd/%d/%s", root, path);
}

static const char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? join("%.*s", (int)(slash - path), path) : ".";
}

static struct timespec random_time(void)
{
	return (struct timespec){
		.tv_sec = (time_t)(1000000000 + random_below(1000000000)),
		.tv_nsec = (long)random_below(1000000000),
	};
}

static int set_mtime(const char *path, struct timespec mtime)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, mtime };

	return utimensat(root, path, times, AT_SYMLINK_NOFOLLOW);
}

static void stamp(const char *path)
{
	if (set_mtime(path, random_time()))
		skip("setting an mtime");
}

/* --- making files --- */

static void write_at(int fd, off_t offset, size_t len)
{
	char block[65536];

	while (len) {
		size_t part = len < sizeof(block) ? len : sizeof(block);
		random_bytes(block, part);
		ssize_t n = pwrite(fd, block, part, offset);
		if (n <= 0)
			err(1, "write");
		offset += n;
		len -= (size_t)n;
	}
}

static int create(const char *path)
{
	int fd = openat(root, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		err(1, "create '%s'", path);
	return fd;
}

static void set_mode(const char *path, mode_t mode)
{
	if (fchmodat(root, path, mode, 0))
		err(1, "chmod '%s'", path);
	struct stat st;
	if (!fstatat(root, path, &st, 0) && (st.st_mode & 07777) != mode)
		skip("a set-id or sticky bit");
}

static void make_file(const char *path, size_t size, mode_t mode)
{
	int fd = create(path);

	write_at(fd, 0, size);
	close(fd);
	set_mode(path, mode);
	stamp(path);
}

static void make_symlink(const char *target, const char *path)
{
	if (symlinkat(target, root, path)) {
		skip(strlen(target) > 1000 ? "a symlink with a target of 4095 bytes" : "a symlink");
		return;
	}
	stamp(path);
}

static void make_link(const char *from, const char *to)
{
	if (linkat(root, from, root, to, 0))
		skip("a hard link");
}

static void make_node(const char *path, mode_t mode, dev_t dev, const char *what)
{
	if (mknodat(root, path, mode, dev)) {
		skip(what);
		return;
	}
	stamp(path);
}

/* Directories that get their mode and mtime when everything in them is made. */
static struct pending {
	struct pending *before;
	mode_t mode;
	char path[];
} * pending_dirs;

static void make_dir(const char *path, mode_t mode)
{
	struct pending *dir = malloc(sizeof(*dir) + strlen(path) + 1);

	if (!dir)
		err(1, "out of memory");
	if (mkdirat(root, path, 0700))
		err(1, "mkdir '%s'", path);
	*dir = (struct pending){ .before = pending_dirs, .mode = mode };
	strcpy(dir->path, path);
	pending_dirs = dir;
}

static void set_owner(const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	/*
	 * chown removes set-id bits and capabilities.  So it is called first, and the mode is set
	 * again.
	 */
	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW))
		err(1, "stat '%s'", path);
	if (fchownat(root, path, uid, gid, AT_SYMLINK_NOFOLLOW))
		skip("changing owners");
	else if (!S_ISLNK(st.st_mode))
		set_mode(path, st.st_mode & 07777);
}

static int set_xattr(const char *path, const char *name, const void *value, size_t len)
{
	return lsetxattr(proc_path(path), name, value, len, 0);
}

static void finish_dirs(void)
{
	while (pending_dirs) {
		struct pending *dir = pending_dirs;

		pending_dirs = dir->before;
		set_mode(dir->path, dir->mode);
		stamp(dir->path);
		free(dir);
	}
}

/* --- POSIX ACLs in the kernel's form --- */

enum {
	ACL_USER_OBJ = 1,
	ACL_USER = 2,
	ACL_GROUP_OBJ = 4,
	ACL_GROUP = 8,
	ACL_MASK = 16,
	ACL_OTHER = 32
};

struct acl_entry {
	uint16_t tag;
	uint16_t perm;
	uint32_t id;
};

/* Little-endian on disk, like the machines that strata is built for. */
struct acl {
	uint32_t version;
	struct acl_entry entries[6];
};

static struct acl make_acl(uint32_t uid, uint32_t gid, uint16_t perm)
{
	const uint32_t none = UINT32_MAX;

	return (struct acl){
		.version = 2,
		.entries = {
			{ ACL_USER_OBJ, 7, none },
			{ ACL_USER, perm, uid },
			{ ACL_GROUP_OBJ, 5, none },
			{ ACL_GROUP, 4, gid },
			{ ACL_MASK, 7, none },
			{ ACL_OTHER, 0, none },
		},
	};
}

#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"

static void set_acl(const char *path, const char *kind, uint32_t uid, uint32_t gid, uint16_t perm)
{
	struct acl acl = make_acl(uid, gid, perm);

	if (set_xattr(path, kind, &acl, sizeof(acl)))
		skip("POSIX ACLs");
}

/* --- the sections of the tree --- */

static void build_modes(void)
{
	static const mode_t modes[] = { 0644, 0600, 0755, 0444, 0111, 0000, 0777, 04755, 02755,
		06755, 01644, 04000, 07777 };

	make_dir("modes", 0755);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		make_file(join("modes/file-%04o", modes[i]), 100 + random_below(400), modes[i]);
	make_dir("modes/dir-1777", 01777);
	make_dir("modes/dir-2775", 02775);
	make_dir("modes/dir-0700", 0700);
	make_dir("modes/dir-0555", 0555);
	make_file("modes/dir-0555/locked in", 77, 0644);
	make_dir("modes/dir-0555/below", 0755);
	make_file("modes/dir-0555/below/deeper", 78, 0600);
}

static void build_owners(void)
{
	static const struct {
		uid_t uid;
		gid_t gid;
	} owners[] = { { 1000, 1000 }, { 65534, 65534 }, { 0, 12345 }, { 54321, 0 },
		{ 3000000, 4000000 }, { 0x7ffffffe, 0x7ffffffd } };

	make_dir("owners", 0755);
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		const char *file = join("owners/file-%zu", i);
		const char *dir = join("owners/dir-%zu", i);
		const char *link = join("owners/link-%zu", i);

		make_file(file, random_below(1000), i % 2 ? 0640 : 06750);
		set_owner(file, owners[i].uid, owners[i].gid);
		make_dir(dir, 0750);
		make_file(join("%s/inner", dir), 10, 0600);
		set_owner(dir, owners[i].uid, owners[i].gid);
		make_symlink("file-0", link);
		set_owner(link, owners[i].uid, owners[i].gid);
	}
}

static void build_times(void)
{
	static const struct {
		const char *name;
		struct timespec mtime;
	} times[] = {
		{ "epoch", { 0, 0 } },
		{ "epoch+1ns", { 0, 1 } },
		{ "epoch-1ns", { -1, 999999999 } },
		{ "1902", { -2145916800, 500000000 } },
		{ "1969", { -86400, 123456789 } },
		{ "2038", { 2147483648, 1 } },
		{ "2200", { 7258118400, 987654321 } },
		{ "2025-999999999", { 1750000000, 999999999 } },
	};

	make_dir("times", 0755);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const char *paths[] = { join("times/file %s", times[i].name),
			join("times/link %s", times[i].name), join("times/dir %s", times[i].name) };
		struct stat st;

		make_file(paths[0], 3, 0644);
		make_symlink("nowhere", paths[1]);
		/* make_dir would set a time of its own, so it is not used. */
		if (mkdirat(root, paths[2], 0755))
			err(1, "mkdir '%s'", paths[2]);
		for (size_t j = 0; j < 3; j++) {
			if (set_mtime(paths[j], times[i].mtime))
				skip(times[i].name);
			else if (!fstatat(root, paths[j], &st, AT_SYMLINK_NOFOLLOW) &&
				 (st.st_mtim.tv_sec != times[i].mtime.tv_sec ||
					 st.st_mtim.tv_nsec != times[i].mtime.tv_nsec))
				fprintf(stderr, "mktree: skipped: mtime %s is not kept here\n",
					times[i].name);
		}
	}
}

static void add_xattr(const char *path, const char *name, const void *value, size_t len)
{
	if (set_xattr(path, name, value, len))
		skip(!strncmp(name, "trusted.", 8)       ? "trusted.* xattrs"
			: !strncmp(name, "security.", 9) ? "security.capability"
			: len > 1000                     ? "a large xattr"
							 : "user.* xattrs");
}

static void build_xattrs(void)
{
	/* A struct vfs_cap_data of revision 2, effective, with CAP_NET_RAW. */
	static const uint32_t capability[] = { 0x02000001, 1u << 13, 0, 0, 0 };
	static char large[3000];

	random_bytes(large, sizeof(large));
	make_dir("xattrs", 0755);
	make_dir("xattrs/dir", 0755);
	static const char *const paths[] = { "xattrs/file", "xattrs/empty", "xattrs/dir" };
	make_file(paths[0], 5000, 0644);
	make_file(paths[1], 0, 0644);
	for (size_t i = 0; i < 3; i++) {
		add_xattr(paths[i], "user.text", "plain", 5);
		add_xattr(paths[i], "user.binary", "\0\xff\n\x80=\0", 6);
		add_xattr(paths[i], "user.none", "", 0);
		add_xattr(paths[i], "user.a name=\xc3\xa9\xff", "odd name", 8);
		add_xattr(paths[i], "trusted.strata-test", "\x01\x02", 2);
	}
	make_file("xattrs/large", 10, 0644);
	add_xattr("xattrs/large", "user.large", large, sizeof(large));
	make_file("xattrs/capable", 2000, 0755);
	add_xattr("xattrs/capable", "security.capability", capability, sizeof(capability));
	make_symlink("file", "xattrs/link");
	add_xattr("xattrs/link", "trusted.on-symlink", "link", 4);
	make_node("xattrs/fifo", S_IFIFO | 0600, 0, "a FIFO");
	add_xattr("xattrs/fifo", "trusted.on-fifo", "fifo", 4);
	for (size_t i = 0; i < 2; i++)
		stamp(paths[i]);
}

static void build_acls(void)
{
	make_dir("acls", 0755);
	make_file("acls/file", 123, 0640);
	set_acl("acls/file", ACL_ACCESS, 1000, 2000, 6);
	make_file("acls/large ids", 123, 0640);
	set_acl("acls/large ids", ACL_ACCESS, 3000000, 4000000, 4);
	make_dir("acls/both", 0770);
	make_file("acls/before-default", 5, 0644);
	/* The chmod of finish_dirs would set the mask to the same value. */
	set_acl("acls/both", ACL_ACCESS, 1001, 2001, 7);
	set_acl("acls/both", ACL_DEFAULT, 1002, 2002, 5);
	make_file("acls/both/inherits", 50, 0660);
	make_dir("acls/both/inherits-dir", 0770);
	make_dir("acls/default-only", 0755);
	set_acl("acls/default-only", ACL_DEFAULT, 1003, 2003, 6);
}

static void build_links(void)
{
	make_dir("links", 0755);
	make_dir("links/one", 0755);
	make_dir("links/two", 0755);
	make_file("links/one/pair", 300, 0644);
	make_link("links/one/pair", "links/two/pair again");
	make_file("links/two/triple", 70000, 0600);
	make_link("links/two/triple", "links/a-triple");
	make_link("links/two/triple", "links/one/triple");
	make_file("links/empty", 0, 0644);
	make_link("links/empty", "links/one/empty");
	make_node("links/fifo", S_IFIFO | 0644, 0, "a FIFO");
	make_link("links/fifo", "links/two/fifo");
	make_symlink("pair", "links/one/symlink");
	make_link("links/one/symlink", "links/two/symlink");
}

static void make_sparse(const char *path, off_t size, const off_t (*data)[2], size_t count)
{
	int fd = create(path);

	if (ftruncate(fd, size))
		err(1, "truncate '%s'", path);
	for (size_t i = 0; i < count; i++)
		write_at(fd, data[i][0], (size_t)data[i][1]);
	close(fd);
	set_mode(path, 0644);
	stamp(path);
}

#define SPARSE(path, size, ...)                                                                    \
	do {                                                                                       \
		static const off_t data_[][2] = { __VA_ARGS__ };                                   \
		make_sparse(path, size, data_, sizeof(data_) / sizeof(data_[0]));                  \
	} while (0)

static void build_sparse(void)
{
	make_dir("sparse", 0755);
	SPARSE("sparse/hole-first", 2 * MIB, { MIB, MIB });
	SPARSE("sparse/hole-middle", 3 * MIB, { 0, MIB }, { 2 * MIB, MIB });
	SPARSE("sparse/hole-last", 3 * MIB, { 0, MIB });
	SPARSE("sparse/hole-last-odd", 3 * MIB + 123, { 4096, 5000 });
	SPARSE("sparse/many", 8 * MIB, { 65536, 10 }, { MIB, 4096 }, { 3 * MIB + 17, 100000 },
		{ 5 * MIB, 1 }, { 8 * MIB - 1, 1 });
	SPARSE("sparse/small", 20000, { 12000, 3 });
	make_sparse("sparse/fully", 5 * MIB, NULL, 0);
	make_sparse("sparse/fully-odd", 1234567, NULL, 0);
	make_sparse("sparse/huge", (off_t)20 << 30, NULL, 0);
	/* These zeros are written, so they are data and not a hole. */
	int fd = create("sparse/zeros-written");
	static const char zeros[65536];
	for (int i = 0; i < 20; i++)
		if (write(fd, zeros, sizeof(zeros)) != (ssize_t)sizeof(zeros))
			err(1, "write");
	close(fd);
	set_mode("sparse/zeros-written", 0644);
	stamp("sparse/zeros-written");
}

static void build_sizes(void)
{
	static const off_t sizes[] = { 0, 1, 511, 4095, 4096, 4097, 65536, MIB - 1, MIB, MIB + 1,
		5 * MIB };

	make_dir("sizes", 0755);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		make_file(join("sizes/%jd", (intmax_t)sizes[i]), (size_t)sizes[i], 0644);
	make_file("sizes/same-a", 0, 0644);
	make_file("sizes/same-b", 0, 0644);
}

static void build_specials(void)
{
	static char target[4096];

	make_dir("specials", 0755);
	make_node("specials/fifo", S_IFIFO | 0640, 0, "a FIFO");
	make_node("specials/socket", S_IFSOCK | 0755, 0, "a socket");
	make_node("specials/char", S_IFCHR | 0600, makedev(1, 3), "a character device");
	make_node("specials/char-large", S_IFCHR | 0600, makedev(300, 70000), "a character device");
	make_node("specials/block", S_IFBLK | 0660, makedev(7, 200), "a block device");
	make_symlink("does/not/exist", "specials/dangling");
	make_symlink("/etc/passwd", "specials/absolute");
	make_symlink("../sizes", "specials/to-dir");
	make_symlink("../sizes/1", "specials/to-file");
	make_symlink("self", "specials/self");
	make_symlink("\xff\xfe\n target \\", "specials/odd-target");
	for (size_t i = 0; i < sizeof(target) - 1; i++)
		target[i] = i % 200 == 199 ? '/' : (char)('a' + random_below(26));
	target[sizeof(target) - 2] = 'z';
	make_symlink(target, "specials/long-target");
}

static void build_names(void)
{
	static const char *const names[] = { "with space", " leading", "trailing ", "new\nline",
		"tab\there", "quote\"d", "it's", "back\\slash", "-dash", "--version", "...", "..a",
		".hidden", "*", "?", "[a]", "$HOME", "`id`", "#", "~", "a;b", "\x01\x02\x7f",
		"\x1b[31mred", "caf\xc3\xa9", "cafe\xcc\x81", "\xe6\x97\xa5\xe6\x9c\xac",
		"invalid-\xff\xfe-utf8", "\xc3", "over\xc0\xaflong", "CON", "a", "A", "a-b", "a.b",
		"a0", "\xf0\x9f\x8c\xb3" };
	char longest[NAME_MAX + 1];

	make_dir("names", 0755);
	make_dir("names/dirs", 0755);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		make_file(join("names/%s", names[i]), 20 + random_below(50), 0644);
		make_dir(join("names/dirs/%s", names[i]), 0755);
		make_file(join("names/dirs/%s/in", names[i]), 7, 0644);
	}
	for (size_t i = 0; i < NAME_MAX; i++)
		longest[i] = (char)('a' + random_below(26));
	longest[NAME_MAX] = '\0';
	make_file(join("names/%s", longest), 9, 0644);
	make_dir(join("names/dirs/%s", longest), 0755);
	make_file(join("names/dirs/%s/%s", longest, longest), 9, 0644);
	/*
	 * "a" is sorted before "a-b", but "a/x" after "a-b/x", since paths are compared as bytes.
	 */
	make_dir("names/order", 0755);
	make_dir("names/order/a", 0755);
	make_dir("names/order/a-b", 0755);
	make_file("names/order/a/x", 1, 0644);
	make_file("names/order/a-b/x", 1, 0644);
	make_file("names/order/a.x", 1, 0644);
}

/* Make names that tools may treat specially, at several depths. */
static void build_tempting(void)
{
	static const char *const names[] = { "sys", "dev", "proc", "tmp", "run", ".local", ".cache",
		".git", "node_modules", "lost+found" };
	static const char *const places[] = { "", "nested/", "nested/deeper/" };

	make_dir("nested", 0755);
	make_dir("nested/deeper", 0755);
	for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			const char *dir = join("%s%s", places[p], names[i]);

			/* At the top of a file system, lost+found may exist already. */
			if (!faccessat(root, dir, F_OK, AT_SYMLINK_NOFOLLOW))
				continue;
			make_dir(dir, 0755);
			make_file(join("%s/file", dir), 30, 0644);
			make_dir(join("%s/%s", dir, names[i]), 0755);
		}
	make_file(".git/HEAD", 24, 0644);
	make_dir("nested/empty", 0755);
	make_dir("nested/empty/also empty", 0700);
	make_file("nested/.gitignore", 12, 0644);
}

static void build_many(void)
{
	make_dir("many", 0755);
	for (int i = 0; i < MANY_ENTRIES; i++)
		make_file(join("many/entry-%04d", i), random_below(64), 0644);
}

static void build_random(void)
{
	make_dir("random", 0755);
	for (unsigned d = 0; d < 10; d++) {
		const char *dir = join("random/d%u", d);

		make_dir(dir, (mode_t)(0700 | random_below(0100)));
		for (unsigned f = 0, n = (unsigned)random_below(20); f < n; f++)
			make_file(join("%s/f%u-%x", dir, f, (unsigned)random_below(65536)),
				random_below(random_below(8) ? 5000 : 300000),
				(mode_t)(0400 | random_below(0400)));
	}
}

/* Make a chain of directories by descriptors, since the chain is longer than any path may be. */
static void build_deep(unsigned levels)
{
	char name[32];

	make_dir("deep", 0755);
	int fd = openat(root, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 1; fd >= 0 && i <= levels; i++) {
		snprintf(name, sizeof(name), "level-%04u", i);
		if (mkdirat(fd, name, 0755))
			err(1, "mkdir at level %u", i);
		int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = below;
	}
	if (fd < 0)
		err(1, "open a directory of the deep chain");
	int bottom = openat(fd, "bottom", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (bottom < 0)
		err(1, "create the bottom file");
	write_at(bottom, 0, 100);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, random_time() };
	if (futimens(bottom, times))
		err(1, "utimes");
	close(bottom);
	for (unsigned i = levels; i; i--) {
		times[1] = random_time();
		if (futimens(fd, times))
			err(1, "utimes");
		int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (above < 0)
			err(1, "return to level %u", i - 1);
		close(fd);
		fd = above;
	}
	close(fd);
}

static void build(unsigned levels)
{
	build_modes();
	build_owners();
	build_times();
	build_xattrs();
	build_acls();
	build_links();
	build_sparse();
	build_sizes();
	build_specials();
	build_names();
	build_tempting();
	build_many();
	build_random();
	build_deep(levels);
	finish_dirs();
	stamp(".");
	strings_release();
}

/* --- listing the tree --- */

struct entry {
	char *path;
	struct stat st;
	size_t below; /* for a directory: number of entries below it */
};

static struct entry *entries;
static size_t n_entries;

static void scan_clear(void)
{
	for (size_t i = 0; i < n_entries; i++)
		free(entries[i].path);
	free(entries);
	entries = NULL;
	n_entries = 0;
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static void scan_dir(int fd, const char *prefix)
{
	DIR *dir = fdopendir(fd);

	if (!dir)
		err(1, "fdopendir");
	for (struct dirent *item; (item = readdir(dir));) {
		struct entry entry = { 0 };

		if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, ".."))
			continue;
		if (strlen(prefix) + strlen(item->d_name) > SCAN_PATH_MAX)
			continue;
		if (fstatat(dirfd(dir), item->d_name, &entry.st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (asprintf(&entry.path, "%s%s", prefix, item->d_name) < 0)
			err(1, "out of memory");
		if (!(n_entries & (n_entries - 1))) {
			size_t room = (n_entries ? n_entries * 2 : 1) * sizeof(*entries);
			struct entry *grown = realloc(entries, room);

			if (!grown)
				err(1, "out of memory");
			entries = grown;
		}
		size_t at = n_entries++;
		entries[at] = entry;
		int below = S_ISDIR(entry.st.st_mode)
				    ? openat(dirfd(dir), item->d_name,
					      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				    : -1;
		if (below < 0)
			continue;
		char *inner = NULL;
		if (asprintf(&inner, "%s/", entry.path) < 0)
			err(1, "out of memory");
		scan_dir(below, inner);
		free(inner);
		entries[at].below = n_entries - at - 1;
	}
	closedir(dir);
}

/*
 * List the tree.  The list is sorted, so that a choice by number does not depend on the order of
 * readdir.
 */
static void scan(void)
{
	scan_clear();
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err(1, "open the tree");
	scan_dir(fd, "");
	if (n_entries)
		qsort(entries, n_entries, sizeof(*entries), compare_entries);
}

/*
 * --- changes: each is tried on one entry, and returns false with errno if it is not possible ---
 */

static const char *fresh_name(const char *dir)
{
	return join("%s/new-%08x", dir, (unsigned)random_next());
}

/* Try to write a new file.  If this is not allowed, the program does not end. */
static bool add_file(const char *path, size_t size)
{
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	if (fd < 0)
		return false;
	write_at(fd, 0, size);
	close(fd);
	stamp(path);
	return true;
}

static int open_to_write(const char *path)
{
	return openat(root, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool change_edit(const struct entry *entry, bool keep_mtime)
{
	int fd = open_to_write(entry->path);

	if (fd < 0)
		return false;
	write_at(fd, (off_t)random_below((uint64_t)entry->st.st_size), 1);
	/* A random byte may equal the old one, so the first byte is changed for certain. */
	unsigned char first = 0;
	int in = openat(root, entry->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in >= 0 && pread(in, &first, 1, 0) == 1)
		first ^= 0x55;
	if (in >= 0)
		close(in);
	if (pwrite(fd, &first, 1, 0) != 1)
		err(1, "write");
	close(fd);
	if (keep_mtime)
		return !set_mtime(entry->path, entry->st.st_mtim);
	stamp(entry->path);
	return true;
}

static bool change_edit_keeping_mtime(const struct entry *entry)
{
	return change_edit(entry, true);
}

static bool change_edit_plainly(const struct entry *entry)
{
	return change_edit(entry, false);
}

static bool change_append(const struct entry *entry)
{
	int fd = open_to_write(entry->path);

	if (fd < 0)
		return false;
	write_at(fd, entry->st.st_size, 1 + random_below(5000));
	close(fd);
	stamp(entry->path);
	return true;
}

static bool change_truncate(const struct entry *entry)
{
	int fd = open_to_write(entry->path);

	if (fd < 0)
		return false;
	if (ftruncate(fd, (off_t)random_below((uint64_t)entry->st.st_size)))
		err(1, "truncate");
	close(fd);
	stamp(entry->path);
	return true;
}

static bool change_punch(const struct entry *entry)
{
	int fd = open_to_write(entry->path);
	off_t start = entry->st.st_size / 3 / 65536 * 65536;

	if (fd < 0)
		return false;
	int rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, 65536);
	int saved = errno;
	close(fd);
	errno = saved;
	if (rc)
		return false;
	stamp(entry->path);
	return true;
}

static bool change_grow_hole(const struct entry *entry)
{
	int fd = open_to_write(entry->path);

	if (fd < 0)
		return false;
	if (ftruncate(fd, entry->st.st_size + MIB + (off_t)random_below(100000)))
		err(1, "truncate");
	close(fd);
	stamp(entry->path);
	return true;
}

static bool change_chmod(const struct entry *entry)
{
	mode_t old = entry->st.st_mode & 07777;
	/* Keep the owner's bits of directories, since the next change needs access. */
	mode_t flips = S_ISDIR(entry->st.st_mode) ? 0077 : 0177;
	mode_t mode = old ^ (mode_t)(1 + random_below(flips));

	return !fchmodat(root, entry->path, mode, 0);
}

static bool change_setid(const struct entry *entry)
{
	return !fchmodat(root, entry->path, (entry->st.st_mode & 07777) ^ S_ISUID, 0);
}

static bool change_chown(const struct entry *entry)
{
	return !fchownat(root, entry->path, entry->st.st_uid + 1 + (uid_t)random_below(5000),
		entry->st.st_gid + 1 + (gid_t)random_below(5000), AT_SYMLINK_NOFOLLOW);
}

static bool change_xattr_add(const struct entry *entry)
{
	char value[20];

	random_bytes(value, sizeof(value));
	return !set_xattr(entry->path, join("user.new-%04x", (unsigned)random_below(65536)), value,
		sizeof(value));
}

/* Returns the first user.* name of an entry, or NULL. */
static const char *user_xattr(const char *path)
{
	char list[4096];
	ssize_t len = llistxattr(proc_path(path), list, sizeof(list));

	for (ssize_t i = 0; i < len; i += (ssize_t)strlen(list + i) + 1)
		if (!strncmp(list + i, "user.", 5))
			return join("%s", list + i);
	errno = ENODATA;
	return NULL;
}

static bool change_xattr_set(const struct entry *entry)
{
	const char *name = user_xattr(entry->path);
	uint64_t value = random_next();

	return name && !set_xattr(entry->path, name, &value, sizeof(value));
}

static bool change_xattr_remove(const struct entry *entry)
{
	const char *name = user_xattr(entry->path);

	return name && !lremovexattr(proc_path(entry->path), name);
}

static bool change_acl(const struct entry *entry)
{
	struct acl acl = make_acl((uint32_t)random_below(100000), (uint32_t)random_below(100000),
		(uint16_t)random_below(8));

	return !set_xattr(entry->path, ACL_ACCESS, &acl, sizeof(acl));
}

static bool change_default_acl(const struct entry *entry)
{
	struct acl acl = make_acl((uint32_t)random_below(100000), (uint32_t)random_below(100000),
		(uint16_t)random_below(8));

	return !set_xattr(entry->path, ACL_DEFAULT, &acl, sizeof(acl));
}

static bool change_acl_remove(const struct entry *entry)
{
	return !lremovexattr(proc_path(entry->path), ACL_ACCESS);
}

static bool change_mtime_ns(const struct entry *entry)
{
	struct timespec mtime = entry->st.st_mtim;

	mtime.tv_nsec = (mtime.tv_nsec + 1 + (long)random_below(999999998)) % 1000000000;
	return !set_mtime(entry->path, mtime);
}

static bool rename_into(const struct entry *entry, const char *dir)
{
	const char *to = fresh_name(dir);
	const char *from_dir = parent_of(entry->path);

	if (renameat(root, entry->path, root, to))
		return false;
	stamp(from_dir);
	stamp(dir);
	return true;
}

static bool change_rename(const struct entry *entry)
{
	return rename_into(entry, parent_of(entry->path));
}

/* Move an entry to another directory of the tree that is not below the entry itself. */
static bool change_move(const struct entry *entry)
{
	size_t len = strlen(entry->path);

	for (int tries = 0; tries < 100; tries++) {
		const struct entry *dir = &entries[random_below(n_entries)];

		if (S_ISDIR(dir->st.st_mode) &&
			(strncmp(dir->path, entry->path, len) ||
				(dir->path[len] && dir->path[len] != '/')) &&
			strlen(dir->path) < 500)
			return rename_into(entry, dir->path);
	}
	errno = ENOENT;
	return false;
}

static bool change_exchange(const struct entry *entry)
{
	for (int tries = 0; tries < 200; tries++) {
		const struct entry *other = &entries[random_below(n_entries)];

		if (other == entry || !S_ISREG(other->st.st_mode))
			continue;
		if (renameat2(root, entry->path, root, other->path, RENAME_EXCHANGE))
			return false;
		stamp(parent_of(entry->path));
		stamp(parent_of(other->path));
		return true;
	}
	errno = ENOENT;
	return false;
}

/*
 * Remove an entry and everything below it.  The sorted list is used backwards, so that the deepest
 * entries come first.
 */
static bool remove_all(const struct entry *entry)
{
	size_t at = (size_t)(entry - entries);
	size_t len = strlen(entry->path);

	if (!S_ISDIR(entry->st.st_mode))
		return !unlinkat(root, entry->path, 0);
	for (size_t i = n_entries; i-- > at;) {
		const struct entry *item = &entries[i];

		if (strncmp(item->path, entry->path, len) ||
			(item->path[len] && item->path[len] != '/'))
			continue;
		if (unlinkat(root, item->path, S_ISDIR(item->st.st_mode) ? AT_REMOVEDIR : 0))
			return false;
	}
	return true;
}

static bool change_delete(const struct entry *entry)
{
	if (!remove_all(entry))
		return false;
	stamp(parent_of(entry->path));
	return true;
}

static bool change_to_file(const struct entry *entry)
{
	if (!remove_all(entry) || !add_file(entry->path, 200))
		return false;
	stamp(parent_of(entry->path));
	return true;
}

static bool change_to_dir(const struct entry *entry)
{
	if (!remove_all(entry) || mkdirat(root, entry->path, 0755) ||
		!add_file(join("%s/inside", entry->path), 100))
		return false;
	stamp(entry->path);
	stamp(parent_of(entry->path));
	return true;
}

static bool change_to_symlink(const struct entry *entry)
{
	if (!remove_all(entry) ||
		symlinkat(join("target-%x", (unsigned)random_next()), root, entry->path))
		return false;
	stamp(entry->path);
	stamp(parent_of(entry->path));
	return true;
}

/* Replace a file by a copy with the same name, so that the name has another inode. */
static bool change_break_link(const struct entry *entry)
{
	const char *copy = fresh_name(parent_of(entry->path));
	char block[65536];
	ssize_t n;
	int in = openat(root, entry->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int out = in < 0 ? -1 : openat(root, copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (in < 0 || out < 0) {
		int saved = errno;
		if (in >= 0)
			close(in);
		errno = saved;
		return false;
	}
	while ((n = read(in, block, sizeof(block))) > 0)
		if (write(out, block, (size_t)n) != n)
			err(1, "write");
	close(in);
	close(out);
	if (fchmodat(root, copy, entry->st.st_mode & 07777, 0) ||
		set_mtime(copy, entry->st.st_mtim) || renameat(root, copy, root, entry->path))
		err(1, "replace '%s'", entry->path);
	stamp(parent_of(entry->path));
	return true;
}

static bool change_make_link(const struct entry *entry)
{
	const char *dir = parent_of(entry->path);

	if (linkat(root, entry->path, root, fresh_name(dir), 0))
		return false;
	stamp(dir);
	return true;
}

static bool change_add_file(const struct entry *entry)
{
	if (!add_file(fresh_name(entry->path), random_below(3000)))
		return false;
	stamp(entry->path);
	return true;
}

static bool change_add_tree(const struct entry *entry)
{
	const char *dir = fresh_name(entry->path);

	if (mkdirat(root, dir, 0750))
		return false;
	for (int i = 0; i < 5; i++)
		add_file(join("%s/f%d", dir, i), random_below(10000));
	stamp(dir);
	stamp(entry->path);
	return true;
}

static bool change_add_fifo(const struct entry *entry)
{
	const char *path = fresh_name(entry->path);

	if (mknodat(root, path, S_IFIFO | 0600, 0))
		return false;
	stamp(path);
	stamp(entry->path);
	return true;
}

static bool change_retarget(const struct entry *entry)
{
	if (unlinkat(root, entry->path, 0) ||
		symlinkat(join("elsewhere-%x", (unsigned)random_next()), root, entry->path))
		return false;
	stamp(entry->path);
	stamp(parent_of(entry->path));
	return true;
}

/* --- which entries a change fits --- */

static bool fits_file(const struct entry *entry)
{
	return S_ISREG(entry->st.st_mode);
}

static bool fits_filled(const struct entry *entry)
{
	return S_ISREG(entry->st.st_mode) && entry->st.st_size > 0 && entry->st.st_size < 64 * MIB;
}

static bool fits_large(const struct entry *entry)
{
	return S_ISREG(entry->st.st_mode) && entry->st.st_size >= MIB &&
	       entry->st.st_blocks * 512 >= entry->st.st_size / 2;
}

static bool fits_dir(const struct entry *entry)
{
	return S_ISDIR(entry->st.st_mode) && strlen(entry->path) < 500;
}

/*
 * A small directory, but not one at the top: every section of a new tree should survive a few
 * rounds of changes.
 */
static bool fits_small_dir(const struct entry *entry)
{
	return fits_dir(entry) && entry->below > 0 && entry->below < SMALL_SUBTREE &&
	       strchr(entry->path, '/') && strncmp(entry->path, "deep/", 5);
}

static bool fits_symlink(const struct entry *entry)
{
	return S_ISLNK(entry->st.st_mode);
}

static bool fits_linked(const struct entry *entry)
{
	return S_ISREG(entry->st.st_mode) && entry->st.st_nlink > 1;
}

static bool fits_file_or_dir(const struct entry *entry)
{
	return fits_file(entry) || fits_dir(entry);
}

static bool fits_user_xattr(const struct entry *entry)
{
	return fits_file_or_dir(entry) && user_xattr(entry->path);
}

static bool fits_acl(const struct entry *entry)
{
	return fits_file_or_dir(entry) &&
	       lgetxattr(proc_path(entry->path), ACL_ACCESS, NULL, 0) > 0;
}

static const struct change {
	const char *name;
	bool (*fits)(const struct entry *entry);
	bool (*apply)(const struct entry *entry);
	unsigned times;
} changes[] = {
	/*
	 * Changes that move or remove names come first, so that they do not undo the effect of the
	 * others.
	 */
	{ "delete-subtree", fits_small_dir, change_delete, 2 },
	{ "delete-file", fits_file, change_delete, 3 },
	{ "dir-to-file", fits_small_dir, change_to_file, 1 },
	{ "dir-to-symlink", fits_small_dir, change_to_symlink, 1 },
	{ "file-to-dir", fits_file, change_to_dir, 2 },
	{ "file-to-symlink", fits_file, change_to_symlink, 2 },
	{ "symlink-to-file", fits_symlink, change_to_file, 1 },
	{ "symlink-to-dir", fits_symlink, change_to_dir, 1 },
	{ "rename-file", fits_file, change_rename, 3 },
	{ "rename-dir", fits_dir, change_rename, 2 },
	{ "move-file", fits_file, change_move, 2 },
	{ "move-dir", fits_small_dir, change_move, 2 },
	{ "exchange", fits_file, change_exchange, 1 },
	{ "break-link", fits_linked, change_break_link, 2 },
	{ "make-link", fits_file, change_make_link, 3 },
	{ "retarget", fits_symlink, change_retarget, 2 },
	{ "add-file", fits_dir, change_add_file, 4 },
	{ "add-tree", fits_dir, change_add_tree, 2 },
	{ "add-fifo", fits_dir, change_add_fifo, 1 },
	{ "append", fits_file, change_append, 3 },
	{ "truncate", fits_filled, change_truncate, 2 },
	{ "edit", fits_filled, change_edit_plainly, 3 },
	{ "punch-hole", fits_large, change_punch, 2 },
	{ "grow-hole", fits_file, change_grow_hole, 1 },
	{ "chown", fits_file, change_chown, 2 },
	{ "chown-dir", fits_dir, change_chown, 1 },
	{ "chown-symlink", fits_symlink, change_chown, 1 },
	{ "chmod-file", fits_file, change_chmod, 3 },
	{ "chmod-dir", fits_dir, change_chmod, 2 },
	{ "setuid", fits_file, change_setid, 1 },
	{ "xattr-remove", fits_user_xattr, change_xattr_remove, 1 },
	{ "xattr-set", fits_user_xattr, change_xattr_set, 1 },
	{ "xattr-add", fits_file, change_xattr_add, 2 },
	{ "xattr-add-dir", fits_dir, change_xattr_add, 1 },
	{ "acl-remove", fits_acl, change_acl_remove, 1 },
	{ "acl", fits_file_or_dir, change_acl, 2 },
	{ "default-acl", fits_dir, change_default_acl, 1 },
	{ "edit-keeping-mtime", fits_filled, change_edit_keeping_mtime, 3 },
	{ "mtime-ns-file", fits_file, change_mtime_ns, 2 },
	{ "mtime-ns-dir", fits_dir, change_mtime_ns, 2 },
	{ "mtime-ns-symlink", fits_symlink, change_mtime_ns, 1 },
};

struct candidate {
	const struct entry *entry;
	const char *dir;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a;
	const struct candidate *y = b;
	int order = strcmp(x->dir, y->dir);

	return order ? order : strcmp(x->entry->path, y->entry->path);
}

/*
 * Returns the directory that a path counts for.  In the deep chain each directory has only one
 * entry, so the whole chain counts as one directory.
 */
static const char *weight_dir(const char *path)
{
	return strncmp(path, "deep/", 5) ? parent_of(path) : "deep";
}

/*
 * Choose a random candidate of a random directory.  Each directory has the same weight.  Otherwise
 * the directory with thousands of entries would get nearly all changes.
 */
static size_t choose(const struct candidate *list, size_t count)
{
	size_t dirs = 0;

	for (size_t i = 0; i < count; i++)
		dirs += !i || strcmp(list[i].dir, list[i - 1].dir);
	size_t wanted = random_below(dirs) + 1;
	size_t first = 0;
	for (dirs = 0; first < count; first++) {
		dirs += !first || strcmp(list[first].dir, list[first - 1].dir);
		if (dirs == wanted)
			break;
	}
	size_t end = first;
	while (end < count && !strcmp(list[end].dir, list[first].dir))
		end++;
	return first + random_below(end - first);
}

/* Try candidates until the change succeeds for one. */
static void change_once(const struct change *change)
{
	scan();
	struct candidate *list = calloc(n_entries + 1, sizeof(*list));
	size_t count = 0;
	bool done = false;
	if (!list)
		err(1, "out of memory");
	for (size_t i = 0; i < n_entries; i++)
		if (change->fits(&entries[i]))
			list[count++] =
				(struct candidate){ &entries[i], weight_dir(entries[i].path) };
	qsort(list, count, sizeof(*list), compare_candidates);
	errno = ENOENT;
	while (count && !done) {
		size_t at = choose(list, count);
		const struct entry *entry = list[at].entry;

		done = change->apply(entry);
		if (done) {
			printf("%s ", change->name);
			print_name(entry->path);
			putchar('\n');
		} else if (errno == EOPNOTSUPP) {
			break;
		}
		memmove(&list[at], &list[at + 1], (--count - at) * sizeof(*list));
	}
	if (!done)
		skip(change->name);
	free(list);
	strings_release();
}

/* Append to the file at the end of the deep chain, if it is still there. */
static void change_deep(void)
{
	char name[32];
	unsigned level = 0;
	int fd = openat(root, "deep", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	while (fd >= 0) {
		snprintf(name, sizeof(name), "level-%04u", level + 1);
		int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			break;
		close(fd);
		fd = below;
		level++;
	}
	int bottom = fd < 0 ? -1 : openat(fd, "bottom", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (bottom < 0) {
		skip("append-deep");
	} else {
		struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, random_time() };

		write_at(bottom, 0, 10);
		if (futimens(bottom, times))
			err(1, "utimes");
		printf("append-deep level %u\n", level);
		close(bottom);
	}
	if (fd >= 0)
		close(fd);
}

static void mutate(void)
{
	change_deep(); /* before a rename can break the chain */
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		for (unsigned n = 0; n < changes[i].times; n++)
			change_once(&changes[i]);
	scan_clear();
}

int main(int argc, char **argv)
{
	static const struct option table[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "deep", required_argument, NULL, 'd' },
		{ "mutate", no_argument, NULL, 'm' },
		{ 0 },
	};
	uint64_t seed = 1;
	unsigned long levels = DEEP_DEFAULT;
	bool mutating = false;
	bool usage = false;

	for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
		char *end = "";

		if (c == 's')
			seed = strtoull(optarg, &end, 10);
		else if (c == 'd')
			levels = strtoul(optarg, &end, 10);
		else if (c == 'm')
			mutating = true;
		else
			usage = true;
		usage = usage || *end;
	}
	if (usage || optind != argc - 1 || levels > DEEP_MAX) {
		fprintf(stderr, "usage: mktree DIR [--seed N] [--deep LEVELS] [--mutate]\n");
		return 2;
	}
	random_state = seed;
	umask(0);
	if (!mutating && mkdir(argv[optind], 0755) && errno != EEXIST)
		err(1, "mkdir '%s'", argv[optind]);
	root = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		err(1, "open '%s'", argv[optind]);
	if (mutating)
		mutate();
	else
		build((unsigned)levels);
	if (fflush(stdout))
		err(1, "write");
	close(root);
	return 0;
}
