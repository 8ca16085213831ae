/*
 * mkbundle - make a bundle as a traced command leaves it, without running a command.
 *
 *	mkbundle trees BUNDLE BEFORE AFTER PREFIX [plain]
 *		a command that turned the tree BEFORE at PREFIX into the tree AFTER;
 *		plain: the states have no members that only strata writes
 *	mkbundle blobs BUNDLE [KEY CONTENT]...
 *		only the table; the caller writes the manifest
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/buf.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "parquet/pqwrite.h"

static const char *bundle, *prefix;
static bool plain;
static struct json out = JSON_INIT;
static struct pqwrite *table;
static int table_fd = -1;

static void must(int rc, const struct err *why)
{
	if (rc < 0)
		errx(1, "%s", why->text);
}

static void open_table(void)
{
	owned_mem char *path = mem_printf("%s/blobs.parquet", bundle);
	struct err why = { 0 };

	if (table)
		return;
	table_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (table_fd < 0)
		err(1, "%s", path);
	table = pqwrite_open(table_fd, PQWRITE_SNAPPY, &why);
	must(table ? 0 : -1, &why);
}

static void close_table(void)
{
	struct err why = { 0 };

	if (!table)
		return;
	must(pqwrite_finish(table, &why), &why);
	pqwrite_close(table);
	close(table_fd);
}

static void add_blob(const char *key, const void *bytes, size_t len)
{
	struct err why = { 0 };

	open_table();
	must(pqwrite_row(table, str_of(key), bytes, len, &why), &why);
}

/* --- a tree as states --- */

/*
 * Write bytes as a text.  If they are not UTF-8, write each byte as the character with its number,
 * and add the bytes as base64.
 */
static void add_bytes(const char *key, const char *coded_key, const char *bytes)
{
	owned(buf_release) struct buf text = BUF_INIT, coded = BUF_INIT;

	if (text_is_utf8(str_of(bytes))) {
		json_str(&out, key, str_of(bytes));
		return;
	}
	for (const unsigned char *c = (const unsigned char *)bytes; *c; c++) {
		if (*c >= 0x80)
			buf_addc(&text, (char)(0xc0 | *c >> 6));
		buf_addc(&text, *c < 0x80 ? (char)*c : (char)(0x80 | (*c & 0x3f)));
	}
	text_base64(&coded, str_of(bytes));
	json_str(&out, key, (struct str){ text.data, text.len });
	json_str(&out, coded_key, (struct str){ coded.data, coded.len });
}

static struct hash last[2]; /* hashes of the two states of the current record */

static void add_content(const char *side, const char *path, const char *name, off_t size)
{
	owned_mem char *bytes = mem_alloc((size_t)size + 1);
	owned_mem char *key = mem_printf("%s:%s%s", side, prefix, name);
	char hex[HASH_HEX];
	struct hash hash;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, bytes, (size_t)size) != size)
		err(1, "%s", path);
	close(fd);
	hash_of(bytes, (size_t)size, &hash);
	last[!strcmp(side, "after")] = hash;
	if (!plain)
		json_text(&out, "sha256", hash_hex(&hash, hex));
	if (!text_is_utf8(str_of(key))) { /* keys of the table are UTF-8 */
		for (char *c = key; *c; c++)
			*c = *c & 0x80 ? '?' : *c;
	}
	json_text(&out, "blob", key);
	add_blob(key, bytes, (size_t)size);
}

static const char *type_of(mode_t mode)
{
	return S_ISREG(mode)    ? "file"
	       : S_ISDIR(mode)  ? "dir"
	       : S_ISLNK(mode)  ? "symlink"
	       : S_ISFIFO(mode) ? "fifo"
				: "socket";
}

/* Write the names in the tree that are hard links of the same file. */
static void add_links(const char *tree, const char *below, const struct stat *st)
{
	owned_mem char *path = mem_printf("%s%s", tree, below);
	DIR *dir = opendir(path);
	struct stat other;

	for (struct dirent *d; dir && (d = readdir(dir));) {
		owned_mem char *name = mem_printf("%s/%s", below, d->d_name);
		owned_mem char *full = mem_printf("%s%s", tree, name);

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") || lstat(full, &other))
			continue;
		if (S_ISDIR(other.st_mode))
			add_links(tree, name, st);
		owned_mem char *link = mem_printf("%s%s", prefix, name);
		if (other.st_ino == st->st_ino)
			json_text(&out, NULL, link);
	}
	if (dir)
		closedir(dir);
}

static bool add_state(const char *side, const char *tree, const char *name, struct stat *st)
{
	owned_mem char *path = mem_printf("%s%s", tree, name);
	char target[PATH_MAX] = "";

	json_open(&out, side, '{');
	bool there = lstat(path, st) == 0;
	json_bool(&out, "exists", there);
	if (!there && !strcmp(side, "after"))
		json_bool(&out, "tombstone", true);
	if (there) {
		json_text(&out, "type", type_of(st->st_mode));
		json_uint(&out, "mode", st->st_mode);
		json_int(&out, "mtime", st->st_mtim.tv_sec);
		if (S_ISREG(st->st_mode))
			add_content(side, path, name, st->st_size);
		if (S_ISLNK(st->st_mode) && readlink(path, target, sizeof(target) - 1) > 0)
			add_bytes("target", "target_bytes", target);
	}
	if (there && !plain) {
		json_int(&out, "mtime_ns",
			(int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec);
		json_int(&out, "size", st->st_size);
		json_uint(&out, "uid", st->st_uid);
		json_uint(&out, "gid", st->st_gid);
		if (S_ISREG(st->st_mode) && st->st_nlink > 1) {
			json_uint(&out, "nlink", st->st_nlink);
			json_open(&out, "links", '[');
			add_links(tree, "", st);
			json_close(&out);
		}
	}
	json_close(&out);
	return there;
}

/*
 * Write a record.  Its operation is "read" if nothing differs.  Otherwise it shows how the
 * difference was made.
 */
static void add_record(const char *before, const char *after, const char *name)
{
	owned_mem char *path = mem_printf("%s%s", prefix, name);
	struct stat a, b;

	memset(last, 0, sizeof(last));
	json_open(&out, NULL, '{');
	add_bytes("path", "path_bytes", path);
	bool was = add_state("before", before, name, &a), is = add_state("after", after, name, &b);
	bool file = (was && S_ISREG(a.st_mode)) || (is && S_ISREG(b.st_mode));
	json_open(&out, "operations", '[');
	json_text(&out, NULL, was && !is ? "delete" : !was ? "create" : "read");
	if (is && file && (!was || !hash_eq(&last[0], &last[1])))
		json_text(&out, NULL, "write");
	json_close(&out);
	json_close(&out);
}

/* --- the union of two trees --- */

static char **names;
static size_t n_names, cap_names;

static void list(const char *tree, const char *below)
{
	owned_mem char *path = mem_printf("%s%s", tree, below);
	DIR *dir = opendir(path);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		mem_grow(&names, &cap_names, n_names);
		names[n_names++] = mem_printf("%s/%s", below, d->d_name);
		if (d->d_type == DT_DIR)
			list(tree, names[n_names - 1]);
	}
	if (dir)
		closedir(dir);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_manifest(void)
{
	owned_mem char *path = mem_printf("%s/manifest.json", bundle);
	FILE *file = fopen(path, "w");

	(void)json_end(&out);
	if (!file || fwrite(out.out.data, 1, out.out.len, file) != out.out.len || fclose(file))
		err(1, "%s", path);
}

static void make_trees(const char *before, const char *after)
{
	list(before, "");
	list(after, "");
	qsort(names, n_names, sizeof(*names), by_name);
	out.pretty = true;
	json_open(&out, NULL, '{');
	if (!plain)
		json_int(&out, "format_version", 1);
	json_open(&out, "command", '[');
	json_text(&out, NULL, "make");
	json_text(&out, NULL, "a b");
	json_close(&out);
	json_int(&out, "exit_status", 3);
	json_text(&out, "start_cwd", prefix);
	if (!plain) {
		json_bool(&out, "complete", false);
		json_open(&out, "incomplete_reasons", '[');
		json_text(&out, NULL, "one process was missed");
		json_close(&out);
		json_text(&out, "engine", "notify");
		json_text(&out, "started_at", "2026-11-15T10:00:00Z");
		json_text(&out, "ended_at", "2026-11-15T10:00:01.5Z");
	}
	json_open(&out, "files", '[');
	add_record(before, after, "");
	for (size_t i = 0; i < n_names; i++)
		if (!i || strcmp(names[i - 1], names[i]) != 0)
			add_record(before, after, names[i]);
	json_close(&out);
	json_close(&out);
	write_manifest();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(2, "usage: mkbundle trees|blobs BUNDLE ...");
	bundle = argv[2];
	if (mkdir(bundle, 0755) < 0 && errno != EEXIST)
		err(1, "%s", bundle);
	if (!strcmp(argv[1], "trees") && argc >= 6) {
		prefix = argv[5];
		plain = argc > 6;
		make_trees(argv[3], argv[4]);
	} else if (!strcmp(argv[1], "blobs")) {
		open_table();
		for (int i = 3; i + 1 < argc; i += 2)
			add_blob(argv[i], argv[i + 1], strlen(argv[i + 1]));
	} else {
		errx(2, "no such use");
	}
	close_table();
	return 0;
}
