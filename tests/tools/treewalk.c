/*
 * treewalk - print the whole content of a directory tree, one line for each entry.
 *
 *	treewalk DIR [--no-owner] [--no-mtime] [--no-holes] [--content]
 *		[--one-file-system] [--exclude NAME]...
 *
 * Tests use this program to compare trees: two trees are the same if their lines are the same.  On
 * purpose it shares no code with src/.  Lines are sorted bytewise by path (the root is ".").  Bytes
 * that are not printable, space and backslash are written as \ooo.  Every line has the same fields
 * in the same order.  A field that does not apply is absent:
 *
 *	PATH TYPE mode= uid= gid= size= mtime= link= rdev= xattr= group= data= digest=
 *	size    0 for directories
 *	xattr   NAME:HEX,... sorted by name
 *	group   first path of the hard-link group, where the tree has two or more
 *	        of its members
 *	data    OFFSET+LENGTH,... the extents that SEEK_DATA and SEEK_HOLE find
 *	digest  with --content: SHA-256 of the blocks of 64 KiB, without those that
 *	        are all zeros.  Zeros at the end of a block are left out.  The number
 *	        and the length of each block come before it, and the size of the file
 *	        comes last.  So the digest does not depend on the places of holes, and
 *	        a huge sparse file takes no time.
 *
 * A value that may not be read is "unreadable".  --exclude drops entries with that base name at any
 * depth.  If NAME contains a slash, only the entry with that path is dropped.
 *
 * Depth: directories are walked by descriptors, and only the FD_WINDOW deepest ones stay open.  A
 * closed directory is opened again as ".." of its child, and must have the same device and inode.
 * The walk has come through the child, so it may search the child.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FD_WINDOW 128
#define BLOCK ((size_t)64 << 10)
#define UNREADABLE "unreadable"

struct entry {
	char *path; /* the path as raw bytes */
	char *head; /* the fields before group= */
	char *tail; /* the fields after group= */
	dev_t dev;
	ino_t ino;
	bool linked; /* not a directory, and nlink > 1: may be part of a group */
	const char *group;
};

/* A directory that is being walked. */
struct frame {
	int fd; /* -1: outside of the window */
	dev_t dev;
	ino_t ino;
	char **names;
	size_t count;
	size_t next;
	size_t path_len; /* length of the path up to and including this directory */
};

static struct {
	bool no_owner;
	bool no_mtime;
	bool no_holes;
	bool content;
	bool one_file_system;
	char **excludes;
	size_t n_excludes;
} options;

static struct {
	struct entry *list;
	size_t count;
	size_t cap;
} entries;

static struct {
	char *text;
	size_t len;
	size_t cap;
} path;

static void *grow(void *old, size_t size)
{
	void *fresh = realloc(old, size ? size : 1);

	if (!fresh)
		err(1, "out of memory");
	return fresh;
}

static FILE *memory_open(char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);

	if (!out)
		err(1, "open_memstream");
	return out;
}

static void memory_close(FILE *out)
{
	if (fclose(out))
		err(1, "out of memory");
}

static void print_escaped(FILE *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c > ' ' && c < 0x7f && c != '\\')
			putc(c, out);
		else
			fprintf(out, "\\%03o", c);
	}
}

/* --- one entry --- */

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "char";
	case S_IFBLK:
		return "block";
	}
	return "unknown";
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_xattr_value(FILE *out, const char *where, const char *name)
{
	ssize_t len = lgetxattr(where, name, NULL, 0);
	unsigned char *value = len >= 0 ? grow(NULL, (size_t)len) : NULL;

	if (len > 0)
		len = lgetxattr(where, name, value, (size_t)len);
	if (len < 0)
		fputs(UNREADABLE, out);
	for (ssize_t i = 0; i < len; i++)
		fprintf(out, "%02x", value[i]);
	free(value);
}

/*
 * Print the extended attributes of the entry 'name'; "." stands for dirfd itself.  The l-calls on a
 * path through /proc never open the entry.
 */
static void print_xattrs(FILE *out, int dirfd, const char *name)
{
	char where[sizeof("/proc/self/fd//") + 3 * sizeof(int) + NAME_MAX + 1];
	char **names = NULL;
	size_t count = 0;

	snprintf(where, sizeof(where), "/proc/self/fd/%d/%s", dirfd, name);
	ssize_t len = llistxattr(where, NULL, 0);
	char *list = len > 0 ? grow(NULL, (size_t)len) : NULL;
	if (len > 0)
		len = llistxattr(where, list, (size_t)len);
	if (len < 0 && errno != EOPNOTSUPP)
		fputs(" xattr=" UNREADABLE, out);
	for (ssize_t i = 0; i < len; i += (ssize_t)strlen(list + i) + 1) {
		names = grow(names, (count + 1) * sizeof(*names));
		names[count++] = list + i;
	}
	if (count)
		qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++) {
		fputs(i ? "," : " xattr=", out);
		print_escaped(out, names[i], strlen(names[i]));
		putc(':', out);
		print_xattr_value(out, where, names[i]);
	}
	free(names);
	free(list);
}

static void print_link(FILE *out, int dirfd, const char *name)
{
	char target[1 << 16]; /* no Linux file system allows more */
	ssize_t len = readlinkat(dirfd, name, target, sizeof(target));

	fputs(" link=", out);
	if (len < 0)
		fputs(UNREADABLE, out);
	else
		print_escaped(out, target, (size_t)len);
}

static void print_extents(FILE *out, int fd)
{
	const char *separator = "";
	off_t hole = 0;

	fputs(" data=", out);
	for (;;) {
		off_t data = lseek(fd, hole, SEEK_DATA);
		if (data < 0)
			break;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data)
			break;
		fprintf(out, "%s%jd+%jd", separator, (intmax_t)data, (intmax_t)(hole - data));
		separator = ",";
	}
	if (errno != ENXIO)
		fputs("?", out);
}

static void hash_number(struct sha256_ctx *hash, uint64_t number)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	sha256_update(hash, sizeof(bytes), bytes);
}

/*
 * Fill 'block' with the bytes that begin at 'offset'.  Fewer bytes are read only at the end of the
 * file.
 */
static ssize_t read_block(int fd, uint8_t *block, off_t offset)
{
	size_t have = 0;

	while (have < BLOCK) {
		ssize_t n = pread(fd, block + have, BLOCK - have, offset + (off_t)have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static void print_digest(FILE *out, int fd)
{
	static uint8_t block[BLOCK];
	static const uint8_t zeros[BLOCK];
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;
	uint64_t size = 0;
	off_t offset = 0;

	sha256_init(&hash);
	fputs(" digest=", out);
	for (;;) {
		off_t data = lseek(fd, offset, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		if (data > offset) /* skip whole blocks of a hole */
			offset = data - data % (off_t)BLOCK;
		ssize_t n = read_block(fd, block, offset);
		if (n < 0) {
			fputs(UNREADABLE, out);
			return;
		}
		if (!n)
			break;
		if (memcmp(block, zeros, (size_t)n)) {
			/* Zeros at the end of a block count the same as data and as a hole. */
			while (!block[n - 1])
				n--;
			hash_number(&hash, (uint64_t)offset / BLOCK);
			hash_number(&hash, (uint64_t)n);
			sha256_update(&hash, (size_t)n, block);
		}
		offset += (off_t)BLOCK;
	}
	off_t end = lseek(fd, 0, SEEK_END);
	if (end > 0)
		size = (uint64_t)end;
	hash_number(&hash, size);
	sha256_digest(&hash, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		fprintf(out, "%02x", digest[i]);
}

static void print_content(FILE *out, int dirfd, const char *name)
{
	if (options.no_holes && !options.content)
		return;
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		fputs(" data=" UNREADABLE, out);
		return;
	}
	if (!options.no_holes)
		print_extents(out, fd);
	if (options.content)
		print_digest(out, fd);
	close(fd);
}

static void print_stat(FILE *out, const struct stat *st)
{
	bool dir = S_ISDIR(st->st_mode);

	fprintf(out, " %s mode=%04o", type_name(st->st_mode), (unsigned)st->st_mode & 07777);
	if (!options.no_owner)
		fprintf(out, " uid=%ju gid=%ju", (uintmax_t)st->st_uid, (uintmax_t)st->st_gid);
	fprintf(out, " size=%jd", dir ? (intmax_t)0 : (intmax_t)st->st_size);
	if (!options.no_mtime)
		fprintf(out, " mtime=%jd.%09ld", (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

/*
 * Add the line for the entry 'name' of dirfd, which is the entry of the current path.  'st' is NULL
 * if stat failed.
 */
static void add_entry(int dirfd, const char *name, const struct stat *st)
{
	struct entry entry = { 0 };
	size_t ignored;

	if (entries.count == entries.cap) {
		entries.cap = entries.cap ? entries.cap * 2 : 1024;
		entries.list = grow(entries.list, entries.cap * sizeof(*entries.list));
	}
	entry.path = grow(NULL, path.len + 1);
	memcpy(entry.path, path.text, path.len + 1);
	FILE *head = memory_open(&entry.head, &ignored);
	FILE *tail = memory_open(&entry.tail, &ignored);
	if (!st) {
		fputs(" " UNREADABLE, head);
	} else {
		print_stat(head, st);
		if (S_ISLNK(st->st_mode))
			print_link(head, dirfd, name);
		if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
			fprintf(head, " rdev=%u:%u", major(st->st_rdev), minor(st->st_rdev));
		print_xattrs(head, dirfd, name);
		if (S_ISREG(st->st_mode))
			print_content(tail, dirfd, name);
		entry.dev = st->st_dev;
		entry.ino = st->st_ino;
		entry.linked = !S_ISDIR(st->st_mode) && st->st_nlink > 1;
	}
	memory_close(head);
	memory_close(tail);
	entries.list[entries.count++] = entry;
}

/* --- the walk --- */

static void path_set(size_t base_len, const char *name)
{
	size_t len = strlen(name);
	bool slash = base_len > 0;

	if (base_len + slash + len + 1 > path.cap) {
		path.cap = (base_len + len + 2) * 2;
		path.text = grow(path.text, path.cap);
	}
	if (slash)
		path.text[base_len] = '/';
	memcpy(path.text + base_len + slash, name, len + 1);
	path.len = base_len + slash + len;
}

static bool excluded(const char *name)
{
	for (size_t i = 0; i < options.n_excludes; i++) {
		const char *pattern = options.excludes[i];

		if (!strcmp(pattern, strchr(pattern, '/') ? path.text : name))
			return true;
	}
	return false;
}

/* Read the names of frame->fd.  The directory is assumed not to change meanwhile. */
static void read_names(struct frame *frame)
{
	size_t cap = 0;
	int copy = openat(frame->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/*
	 * A directory with r and without x can be listed only through the descriptor that is open
	 * already.
	 */
	if (copy < 0)
		copy = fcntl(frame->fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

	if (!dir)
		err(1, "list '%s'", path.text);
	for (struct dirent *item; (item = readdir(dir));) {
		if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, ".."))
			continue;
		if (frame->count == cap) {
			cap = cap ? cap * 2 : 32;
			frame->names = grow(frame->names, cap * sizeof(*frame->names));
		}
		char *name = grow(NULL, strlen(item->d_name) + 1);
		frame->names[frame->count++] = strcpy(name, item->d_name);
	}
	closedir(dir);
	if (frame->count)
		qsort(frame->names, frame->count, sizeof(*frame->names), compare_names);
}

static struct frame frame_open(int fd, const struct stat *st, size_t path_len)
{
	struct frame frame = {
		.fd = fd, .dev = st->st_dev, .ino = st->st_ino, .path_len = path_len
	};

	read_names(&frame);
	return frame;
}

/*
 * The walk returns from a child to its parent.  Make sure that the parent is open, and close the
 * child.
 */
static void frame_leave(struct frame *child, struct frame *parent)
{
	struct stat st;

	if (parent && parent->fd < 0) {
		parent->fd = openat(child->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (parent->fd < 0)
			err(1, "return from '%.*s'", (int)child->path_len, path.text);
		if (fstat(parent->fd, &st) || st.st_dev != parent->dev || st.st_ino != parent->ino)
			errx(1, "the tree changed while it was walked");
	}
	close(child->fd);
	for (size_t i = 0; i < child->count; i++)
		free(child->names[i]);
	free(child->names);
}

/* Add the line for the entry 'name'.  Returns a descriptor if the walk should enter it, else -1. */
static int visit(const struct frame *frame, const char *name, struct stat *st)
{
	if (fstatat(frame->fd, name, st, AT_SYMLINK_NOFOLLOW)) {
		add_entry(frame->fd, name, NULL);
		return -1;
	}
	add_entry(frame->fd, name, st);
	if (!S_ISDIR(st->st_mode))
		return -1;
	if (options.one_file_system && st->st_dev != frame->dev)
		return -1;
	int fd = openat(frame->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		struct entry *last = &entries.list[entries.count - 1];
		char *tail = NULL;

		if (asprintf(&tail, "%s entries=" UNREADABLE, last->tail) < 0)
			err(1, "out of memory");
		free(last->tail);
		last->tail = tail;
	}
	return fd;
}

static void walk(int root_fd)
{
	struct frame *stack = NULL;
	size_t depth = 0;
	size_t cap = 0;
	struct stat st;

	if (fstat(root_fd, &st))
		err(1, "stat");
	path_set(0, ".");
	add_entry(root_fd, ".", &st);
	stack = grow(stack, (cap = 64) * sizeof(*stack));
	stack[depth++] = frame_open(root_fd, &st, 0);
	while (depth) {
		struct frame *frame = &stack[depth - 1];

		if (frame->next == frame->count) {
			frame_leave(frame, depth > 1 ? frame - 1 : NULL);
			depth--;
			continue;
		}
		const char *name = frame->names[frame->next++];
		path_set(frame->path_len, name);
		if (excluded(name))
			continue;
		int fd = visit(frame, name, &st);
		if (fd < 0)
			continue;
		if (depth >= FD_WINDOW && stack[depth - FD_WINDOW].fd >= 0) {
			close(stack[depth - FD_WINDOW].fd);
			stack[depth - FD_WINDOW].fd = -1;
		}
		if (depth == cap)
			stack = grow(stack, (cap *= 2) * sizeof(*stack));
		stack[depth++] = frame_open(fd, &st, path.len);
	}
	free(stack);
}

/* --- order, groups and output --- */

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* Sort by inode, and equal inodes by path, so that the first of them names the group. */
static int compare_inodes(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a;
	const struct entry *y = *(struct entry *const *)b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void name_groups(void)
{
	struct entry **linked = grow(NULL, entries.count * sizeof(struct entry *));
	size_t count = 0;

	for (size_t i = 0; i < entries.count; i++)
		if (entries.list[i].linked)
			linked[count++] = &entries.list[i];
	if (count)
		qsort(linked, count, sizeof(struct entry *), compare_inodes);
	for (size_t i = 1, first = 0; i < count; i++) {
		if (linked[i]->dev == linked[first]->dev && linked[i]->ino == linked[first]->ino)
			linked[first]->group = linked[i]->group = linked[first]->path;
		else
			first = i;
	}
	free(linked);
}

static void print_entries(void)
{
	for (size_t i = 0; i < entries.count; i++) {
		struct entry *entry = &entries.list[i];

		print_escaped(stdout, entry->path, strlen(entry->path));
		fputs(entry->head, stdout);
		if (entry->group) {
			fputs(" group=", stdout);
			print_escaped(stdout, entry->group, strlen(entry->group));
		}
		fputs(entry->tail, stdout);
		putchar('\n');
	}
	if (fflush(stdout) || ferror(stdout))
		err(1, "write");
}

static void release(void)
{
	for (size_t i = 0; i < entries.count; i++) {
		free(entries.list[i].path);
		free(entries.list[i].head);
		free(entries.list[i].tail);
	}
	free(entries.list);
	free(path.text);
	free(options.excludes);
}

static const char *parse_options(int argc, char **argv)
{
	enum { NO_OWNER = 256, NO_MTIME, NO_HOLES, CONTENT, ONE_FILE_SYSTEM, EXCLUDE };
	static const struct option table[] = {
		{ "no-owner", no_argument, NULL, NO_OWNER },
		{ "no-mtime", no_argument, NULL, NO_MTIME },
		{ "no-holes", no_argument, NULL, NO_HOLES },
		{ "content", no_argument, NULL, CONTENT },
		{ "one-file-system", no_argument, NULL, ONE_FILE_SYSTEM },
		{ "exclude", required_argument, NULL, EXCLUDE },
		{ 0 },
	};

	for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
		switch (c) {
		case NO_OWNER:
			options.no_owner = true;
			break;
		case NO_MTIME:
			options.no_mtime = true;
			break;
		case NO_HOLES:
			options.no_holes = true;
			break;
		case CONTENT:
			options.content = true;
			break;
		case ONE_FILE_SYSTEM:
			options.one_file_system = true;
			break;
		case EXCLUDE:
			options.excludes =
				grow(options.excludes, (options.n_excludes + 1) * sizeof(char *));
			options.excludes[options.n_excludes++] = optarg;
			break;
		default:
			return NULL;
		}
	}
	return optind == argc - 1 ? argv[optind] : NULL;
}

int main(int argc, char **argv)
{
	const char *dir = parse_options(argc, argv);

	if (!dir) {
		fprintf(stderr, "usage: treewalk DIR [--no-owner] [--no-mtime] [--no-holes] "
				"[--content] [--one-file-system] [--exclude NAME]...\n");
		return 2;
	}
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err(1, "open '%s'", dir);
	walk(fd);
	if (entries.count)
		qsort(entries.list, entries.count, sizeof(*entries.list), compare_paths);
	name_groups();
	print_entries();
	release();
	return 0;
}
