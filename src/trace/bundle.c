/*
 * Memory.  A manifest of a large build has a million records.  It is never one tree:
 * jsonread_parts takes it apart, and only one record at a time is parsed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/jsonread.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"
#include "trace/bundle_priv.h"

#define REPOSITORIES_MAX 4096
#define XATTRS_MAX 4096
#define LINKS_MAX 65536
#define COMMAND_MAX ((size_t)1 << 20)
#define PATH_BYTES_MAX 65536

static const char *const operation_names[BUNDLE_OPERATIONS] = {
	"read",
	"write",
	"existence",
	"directory",
	"delete",
	"create",
	"rename",
	"execute",
	"metadata",
};

static const char *const type_names[] = {
	[BUNDLE_NONE] = "none",
	[BUNDLE_FILE] = "file",
	[BUNDLE_DIR] = "dir",
	[BUNDLE_LINK] = "symlink",
	[BUNDLE_FIFO] = "fifo",
	[BUNDLE_SOCKET] = "socket",
	[BUNDLE_CHAR] = "char",
	[BUNDLE_BLOCK] = "block",
};
#define TYPES (sizeof(type_names) / sizeof(*type_names))

const char *bundle_operation_name(unsigned bit)
{
	for (unsigned i = 0; i < BUNDLE_OPERATIONS; i++)
		if (bit == 1u << i)
			return operation_names[i];
	return "other";
}

enum bundle_type bundle_type_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return BUNDLE_FILE;
	case S_IFDIR:
		return BUNDLE_DIR;
	case S_IFLNK:
		return BUNDLE_LINK;
	case S_IFIFO:
		return BUNDLE_FIFO;
	case S_IFSOCK:
		return BUNDLE_SOCKET;
	case S_IFCHR:
		return BUNDLE_CHAR;
	case S_IFBLK:
		return BUNDLE_BLOCK;
	}
	return BUNDLE_NONE;
}

const char *bundle_type_name(enum bundle_type type)
{
	return type_names[type];
}

const char *bundle_side_name(enum bundle_side side)
{
	return side == BUNDLE_BEFORE ? "before" : "after";
}

/* ------------------------------------------------------------------ members */

/* All of these: 1 found, 0 absent or null, negative when it is something else. */

static int wrong_type(const char *name, const char *wanted, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "'%s' is not %s", name, wanted);
}

static int get_str(
	const struct jsonread *object, const char *name, struct str *value, struct err *err)
{
	enum jsonread_found found = jsonread_get_str(object, name, value);

	if (found == JSONREAD_WRONG_TYPE)
		return wrong_type(name, "a string", err);
	return found == JSONREAD_FOUND;
}

static int get_bool(const struct jsonread *object, const char *name, bool *value, struct err *err)
{
	enum jsonread_found found = jsonread_get_bool(object, name, value);

	if (found == JSONREAD_WRONG_TYPE)
		return wrong_type(name, "true or false", err);
	return found == JSONREAD_FOUND;
}

static int get_int(const struct jsonread *object, const char *name, int64_t min, int64_t max,
	int64_t *value, struct err *err)
{
	int64_t number;
	enum jsonread_found found = jsonread_get_int(object, name, &number);

	if (found == JSONREAD_WRONG_TYPE)
		return wrong_type(name, "a whole number", err);
	if (found != JSONREAD_FOUND)
		return 0;
	if (number < min || number > max)
		return err_set(err, ERR_CORRUPT, "'%s' is out of range", name);
	*value = number;
	return 1;
}

static int get_array(const struct jsonread *object, const char *name, size_t max,
	const struct jsonread **value, struct err *err)
{
	const struct jsonread *member = jsonread_member(object, name);

	if (!member || jsonread_type(member) == JSONREAD_NULL)
		return 0;
	if (jsonread_type(member) != JSONREAD_ARRAY)
		return wrong_type(name, "an array", err);
	if (jsonread_count(member) > max)
		return err_set(err, ERR_LIMIT, "'%s' has more than %zu items", name, max);
	*value = member;
	return 1;
}

static int get_object(const struct jsonread *object, const char *name,
	const struct jsonread **value, struct err *err)
{
	enum jsonread_found found = jsonread_get_object(object, name, value);

	if (found == JSONREAD_WRONG_TYPE)
		return wrong_type(name, "an object", err);
	return found == JSONREAD_FOUND;
}

static int copy_strings(struct arena *arena, const struct jsonread *array, const char *name,
	struct str **list, size_t *count, struct err *err)
{
	size_t n = jsonread_count(array);
	struct str *copy = arena_alloc(arena, n * sizeof(*copy));

	for (size_t i = 0; i < n; i++) {
		const struct jsonread *item = jsonread_item(array, i);

		if (jsonread_type(item) != JSONREAD_STRING)
			return wrong_type(name, "a list of strings", err);
		copy[i] = arena_str(arena, jsonread_str(item));
	}
	*list = copy;
	*count = n;
	return 0;
}

/* Bytes that have a text and, where that is not all, a base64 form called NAME_bytes. */
static int get_bytes(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct str text, coded;
	int plain = get_str(object, name, &text, err);
	int rc = plain < 0 ? plain : get_str(object, coded_name, &coded, err);

	if (rc < 0)
		return rc;
	if (rc && coded.len > PATH_BYTES_MAX)
		return err_set(err, ERR_LIMIT, "'%s' is too long", coded_name);
	if (rc && !text_unbase64(&bytes, coded))
		return wrong_type(coded_name, "base64", err);
	if (rc)
		text = (struct str){ bytes.data ?: "", bytes.len };
	if (!rc && !plain)
		return 0;
	if (memchr(text.ptr, '\0', text.len) || !text.len || text.len > PATH_BYTES_MAX)
		return err_set(err, ERR_CORRUPT, "'%s' is empty, too long or holds a NUL", name);
	*value = arena_str(arena, text);
	return 1;
}

/* ------------------------------------------------------------------- states */

static int read_type(const struct jsonread *object, struct bundle_state *state, struct err *err)
{
	struct str name;
	int64_t mode;
	int rc = get_int(object, "mode", 0, UINT32_MAX, &mode, err);

	if (rc < 0)
		return rc;
	if (rc) {
		state->has |= BUNDLE_HAS_MODE;
		state->mode = (uint32_t)mode & 07777;
		state->type = bundle_type_of((uint32_t)mode);
	}
	rc = get_str(object, "type", &name, err);
	if (rc <= 0)
		return rc;
	for (size_t i = 1; i < TYPES; i++)
		if (str_eq(name, str_of(type_names[i])))
			state->type = (enum bundle_type)i;
	if (str_eq(name, STR("directory")))
		state->type = BUNDLE_DIR;
	return 0;
}

/* Seconds, and nanoseconds that are all of the time or what is left of a second. */
static int read_mtime(const struct jsonread *object, struct bundle_state *state, struct err *err)
{
	const struct jsonread *member = jsonread_member(object, "mtime");
	const int64_t limit = INT64_MAX / WHEN_SECOND - 1;
	int64_t seconds = 0, ns;
	int rc = 0;

	if (member && jsonread_type(member) == JSONREAD_REAL) {
		double real = jsonread_real(member);

		if (!(real > -(double)limit && real < (double)limit))
			return err_set(err, ERR_CORRUPT, "'mtime' is out of range");
		seconds = (int64_t)real - (real < (double)(int64_t)real);
		rc = 1;
	} else {
		rc = get_int(object, "mtime", -limit, limit, &seconds, err);
	}
	if (rc < 0)
		return rc;
	if (rc) {
		state->has |= BUNDLE_HAS_MTIME;
		state->mtime = seconds * WHEN_SECOND;
	}
	rc = get_int(object, "mtime_ns", INT64_MIN, INT64_MAX, &ns, err);
	if (rc <= 0)
		return rc;
	state->has |= BUNDLE_HAS_MTIME | BUNDLE_HAS_MTIME_NS;
	state->mtime = ns >= 0 && ns < WHEN_SECOND ? state->mtime + ns : ns;
	return 0;
}

static int read_hash(const struct jsonread *object, struct bundle_state *state, struct err *err)
{
	struct str hex;
	int rc = get_str(object, "sha256", &hex, err);

	if (rc <= 0)
		return rc;
	if (hex.len != HASH_HEX - 1 || !hash_parse(hex.ptr, &state->sha256))
		return err_set(err, ERR_CORRUPT, "'sha256' is not 64 hex digits");
	state->has |= BUNDLE_HAS_HASH;
	return 0;
}

static int read_numbers(const struct jsonread *object, struct bundle_state *state, struct err *err)
{
	int64_t number;
	int rc;

	if ((rc = get_int(object, "size", 0, INT64_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_SIZE;
		state->size = (uint64_t)number;
	}
	if (rc >= 0 && (rc = get_int(object, "uid", 0, UINT32_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_UID;
		state->uid = (uint32_t)number;
	}
	if (rc >= 0 && (rc = get_int(object, "gid", 0, UINT32_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_GID;
		state->gid = (uint32_t)number;
	}
	if (rc >= 0 && (rc = get_int(object, "rdev", 0, INT64_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_RDEV;
		state->rdev = (uint64_t)number;
	}
	return rc < 0 ? rc : 0;
}

static int read_xattr(struct arena *arena, const struct jsonread *object, size_t i,
	bool named_by_bytes, struct bundle_xattr *xattr, struct err *err)
{
	owned(buf_release) struct buf name = { .max = AT_XATTR_MAX };
	owned(buf_release) struct buf value = { .max = AT_XATTR_MAX };
	const struct jsonread *coded = jsonread_item(object, i);

	if (named_by_bytes && !text_unbase64(&name, jsonread_key(object, i)))
		return wrong_type("xattrs_bytes", "an object with names in base64", err);
	xattr->name = named_by_bytes
			      ? arena_str(arena, (struct str){ name.data ?: "", name.len }).ptr
			      : arena_str(arena, jsonread_key(object, i)).ptr;
	if (jsonread_type(coded) != JSONREAD_STRING || !text_unbase64(&value, jsonread_str(coded)))
		return wrong_type("xattrs", "an object of base64", err);
	if (name.overflowed || value.overflowed)
		return err_set(err, ERR_LIMIT, "an extended attribute of more than %d bytes",
			AT_XATTR_MAX);
	xattr->value = arena_str(arena, (struct str){ value.data ?: "", value.len });
	return 0;
}

static int read_xattrs(struct arena *arena, const struct jsonread *object,
	struct bundle_state *state, struct err *err)
{
	static const char *const keys[] = { "xattrs", "xattrs_bytes" };
	const struct jsonread *lists[2];
	size_t n = 0;

	for (int k = 0; k < 2; k++) {
		int rc = get_object(object, keys[k], &lists[k], err);

		if (rc < 0)
			return rc;
		if (!rc)
			lists[k] = NULL;
		n += lists[k] ? jsonread_count(lists[k]) : 0;
	}
	if (!lists[0] && !lists[1])
		return 0;
	if (n > XATTRS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d extended attributes", XATTRS_MAX);
	state->xattrs = arena_alloc(arena, n * sizeof(*state->xattrs));
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; lists[k] && i < jsonread_count(lists[k]); i++) {
			int rc = read_xattr(
				arena, lists[k], i, k, &state->xattrs[state->n_xattrs], err);

			if (rc < 0)
				return rc;
			state->n_xattrs++;
		}
	state->has |= BUNDLE_HAS_XATTRS;
	return 0;
}

static int read_state(struct arena *arena, const struct jsonread *record, const char *name,
	struct bundle_state *state, struct err *err)
{
	const struct jsonread *object, *links;
	int rc = get_object(record, name, &object, err);

	if (rc <= 0)
		return rc;
	if ((rc = get_bool(object, "exists", &state->exists, err)) < 0 ||
		(rc = get_bool(object, "tombstone", &state->tombstone, err)) < 0)
		return rc;
	if (!state->exists)
		return 0;
	if ((rc = read_type(object, state, err)) < 0 || (rc = read_mtime(object, state, err)) < 0 ||
		(rc = read_numbers(object, state, err)) < 0 ||
		(rc = read_hash(object, state, err)) < 0 ||
		(rc = read_xattrs(arena, object, state, err)) < 0)
		return rc;
	if ((rc = get_bytes(arena, object, "target", "target_bytes", &state->target, err)) < 0)
		return rc;
	state->has |= rc ? BUNDLE_HAS_TARGET : 0;
	if ((rc = get_str(object, "blob", &state->blob, err)) < 0)
		return rc;
	if (rc) {
		int64_t parts = 1;

		state->blob = arena_str(arena, state->blob);
		state->has |= BUNDLE_HAS_BLOB;
		if ((rc = get_int(object, "blob_parts", 1, BUNDLE_PARTS_MAX, &parts, err)) < 0)
			return rc;
		state->blob_parts = (unsigned)parts;
	}
	rc = get_array(object, "links", LINKS_MAX, &links, err);
	if (rc > 0)
		rc = copy_strings(arena, links, "links", &state->links, &state->n_links, err);
	return rc < 0 ? rc : 0;
}

/* ------------------------------------------------------------------ records */

/* Absolute, and no component that is empty, "." or "..". */
static bool is_plain(struct str path)
{
	struct str rest = path;

	if (!path.len || path.ptr[0] != '/')
		return false;
	if (path.len == 1)
		return true;
	while (rest.len) {
		if (rest.len > 1 && rest.ptr[1] == '/')
			return false;
		struct str name = str_take_name(&rest);

		if (!name.len || str_eq(name, STR(".")) || str_eq(name, STR("..")))
			return false;
	}
	return path.ptr[path.len - 1] != '/';
}

static int read_operations(const struct jsonread *record, unsigned *operations, struct err *err)
{
	const struct jsonread *list;
	int rc = get_array(record, "operations", 64, &list, err);

	for (size_t i = 0; rc > 0 && i < jsonread_count(list); i++) {
		const struct jsonread *item = jsonread_item(list, i);
		unsigned bit = BUNDLE_OTHER;

		if (jsonread_type(item) != JSONREAD_STRING)
			return wrong_type("operations", "a list of strings", err);
		for (unsigned k = 0; k < BUNDLE_OPERATIONS; k++)
			if (str_eq(jsonread_str(item), str_of(operation_names[k])))
				bit = 1u << k;
		*operations |= bit;
	}
	return rc < 0 ? rc : 0;
}

/* What the repository calls the file, as bytes: its name in the manifest may be a reading. */
static struct str path_in(const struct bundle_file *file, struct str given)
{
	struct str root = file->git.root, path = file->path;

	if (root.len && str_starts(path, root) && path.len > root.len + 1 &&
		path.ptr[root.len] == '/')
		return (struct str){ path.ptr + root.len + 1, path.len - root.len - 1 };
	return given;
}

static int read_git(struct arena *arena, const struct jsonread *record, struct bundle_file *file,
	struct err *err)
{
	struct bundle_git *git = &file->git;
	const struct jsonread *object;
	struct {
		const char *name;
		struct str *value;
	} texts[] = { { "root", &git->root }, { "head", &git->head },
		{ "relative_path", &git->path }, { "oid", &git->oid } };
	struct {
		const char *name;
		bool *value;
	} flags[] = { { "in_repo", &git->in_repo }, { "tracked", &git->tracked },
		{ "dirty", &git->dirty }, { "ignored", &git->ignored } };
	int rc = get_object(record, "git", &object, err);

	if (rc <= 0)
		return rc;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if ((rc = get_str(object, texts[i].name, texts[i].value, err)) < 0)
			return rc;
		*texts[i].value = arena_str(arena, *texts[i].value);
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if ((rc = get_bool(object, flags[i].name, flags[i].value, err)) < 0)
			return rc;
	git->path = path_in(file, git->path);
	return 0;
}

static int read_record(struct arena *arena, const struct jsonread *record, struct bundle_file *file,
	struct err *err)
{
	int rc;

	if (jsonread_type(record) != JSONREAD_OBJECT)
		return err_set(err, ERR_CORRUPT, "it is not an object");
	rc = get_bytes(arena, record, "path", "path_bytes", &file->path, err);
	if (rc < 0)
		return rc;
	if (!rc)
		return err_set(err, ERR_CORRUPT, "it has no path");
	if (!is_plain(file->path))
		return err_set(err, ERR_CORRUPT, "its path '%.*s' is not an absolute, plain one",
			BUNDLE_WHERE_BYTES, file->path.ptr);
	(void)jsonread_get_bool(record, "inherited", &file->inherited);
	if ((rc = read_operations(record, &file->operations, err)) >= 0 &&
		(rc = read_state(arena, record, "before", &file->state[BUNDLE_BEFORE], err)) >= 0 &&
		(rc = read_state(arena, record, "after", &file->state[BUNDLE_AFTER], err)) >= 0)
		rc = read_git(arena, record, file, err);
	return rc < 0 ? err_context(err, "'%.*s'", BUNDLE_WHERE_BYTES, file->path.ptr) : 0;
}

/* jsonread's complaint is about what we stored, not about what somebody asked. */
static int not_json(struct err *err)
{
	if (err->code == ERR_INVALID)
		err->code = ERR_CORRUPT;
	return -(int)err->code;
}

static int read_files(struct bundle *bundle, struct str text, struct err *err)
{
	struct jsonread_parts parts;
	struct str key, part;
	int rc = jsonread_parts_init(&parts, text, err);

	if (rc < 0 || parts.object || bundle->files)
		return err_set(err, ERR_CORRUPT, "'files' is not one array");
	while ((rc = jsonread_parts_next(&parts, &key, &part, err)) > 0) {
		size_t n = bundle->n_files;
		owned(jsonread_freep) struct jsonread *record =
			jsonread_new_max(part, BUNDLE_PART_MAX, err);

		if (!record)
			return not_json(err), err_context(err, "record %zu", n + 1);
		if (n == BUNDLE_FILES_MAX)
			return err_set(err, ERR_LIMIT, "more than %zu records", BUNDLE_FILES_MAX);
		mem_grow(&bundle->files, &bundle->priv->cap_files, n);
		bundle->files[n] = (struct bundle_file){ 0 };
		if (read_record(&bundle->priv->arena, record, &bundle->files[n], err) < 0)
			return err_context(err, "record %zu", n + 1);
		bundle->n_files++;
	}
	return rc < 0 ? not_json(err) : 0;
}

/* ----------------------------------------------------------------- manifest */

/* Seconds, or text as ISO 8601; what is neither says nothing. */
static int64_t read_time(const struct jsonread *value)
{
	struct err ignored = { 0 };
	int64_t instant;

	if (jsonread_type(value) == JSONREAD_INT && llabs(jsonread_int(value)) < INT32_MAX)
		return jsonread_int(value) * WHEN_SECOND;
	if (jsonread_type(value) == JSONREAD_INT)
		return jsonread_int(value);
	if (jsonread_type(value) == JSONREAD_STRING &&
		when_parse(jsonread_str(value).ptr, 0, &instant, &ignored) >= 0)
		return instant;
	return 0;
}

static int read_repositories(struct bundle *bundle, const struct jsonread *object, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	const struct jsonread *list;
	int rc = get_array(object, "git_repositories", REPOSITORIES_MAX, &list, err);

	if (rc <= 0)
		return rc;
	size_t n = jsonread_count(list);
	bundle->repositories = arena_alloc(arena, n * sizeof(*bundle->repositories));
	for (size_t i = 0; i < n; i++) {
		struct bundle_repository *repository = &bundle->repositories[i];
		const struct jsonread *item = jsonread_item(list, i);

		if (jsonread_type(item) != JSONREAD_OBJECT)
			return wrong_type("git_repositories", "a list of objects", err);
		if ((rc = get_str(item, "root", &repository->root, err)) < 0 ||
			(rc = get_str(item, "head", &repository->head, err)) < 0)
			return rc;
		repository->root = arena_str(arena, repository->root);
		repository->head = arena_str(arena, repository->head);
	}
	bundle->n_repositories = n;
	return 0;
}

/* One member of the manifest, as an object of only that. */
static int read_member(struct bundle *bundle, const struct jsonread *one, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	const struct jsonread *value = jsonread_item(one, 0), *list;
	int rc;

	if ((rc = get_array(one, "command", COMMAND_MAX, &list, err)) > 0)
		rc = copy_strings(
			arena, list, "command", &bundle->command, &bundle->n_command, err);
	if (rc >= 0 && (rc = get_array(one, "incomplete_reasons", COMMAND_MAX, &list, err)) > 0)
		rc = copy_strings(arena, list, "incomplete_reasons", &bundle->reasons,
			&bundle->n_reasons, err);
	if (rc >= 0 && (rc = get_int(one, "exit_status", INT32_MIN, INT32_MAX, &bundle->exit_status,
				err)) > 0)
		bundle->has_status = true;
	if (rc >= 0 && (rc = get_bool(one, "complete", &bundle->complete, err)) > 0)
		bundle->has_complete = true;
	if (rc >= 0 && (rc = get_str(one, "start_cwd", &bundle->start_cwd, err)) > 0)
		bundle->start_cwd = arena_str(arena, bundle->start_cwd);
	if (rc >= 0 && (rc = get_str(one, "engine", &bundle->engine, err)) > 0)
		bundle->engine = arena_str(arena, bundle->engine);
	if (rc >= 0)
		rc = read_repositories(bundle, one, err);
	if (jsonread_member(one, "started_at"))
		bundle->started = read_time(value);
	if (jsonread_member(one, "ended_at"))
		bundle->ended = read_time(value);
	return rc < 0 ? rc : 0;
}

static int count_processes(struct bundle *bundle, struct str text, struct err *err)
{
	struct jsonread_parts parts;
	struct str key, value;
	int rc = jsonread_parts_init(&parts, text, err);

	while (rc >= 0 && (rc = jsonread_parts_next(&parts, &key, &value, err)) > 0)
		bundle->n_processes++;
	return rc < 0 ? not_json(err) : 0;
}

static int read_manifest(struct bundle *bundle, struct str text, struct err *err)
{
	struct jsonread_parts parts;
	struct str key, value;
	int rc = jsonread_parts_init(&parts, text, err);

	if (rc >= 0 && !parts.object)
		return err_set(err, ERR_CORRUPT, "it is not an object");
	while (rc >= 0 && (rc = jsonread_parts_next(&parts, &key, &value, err)) > 0) {
		if (str_eq(key, STR("files"))) {
			rc = read_files(bundle, value, err);
		} else if (str_eq(key, STR("processes"))) {
			rc = count_processes(bundle, value, err);
		} else {
			owned(buf_release) struct buf one = { .max = BUNDLE_PART_MAX };

			buf_adds(&one, "{\"");
			buf_add(&one, key.ptr, key.len);
			buf_adds(&one, "\":");
			buf_add(&one, value.ptr, value.len);
			buf_addc(&one, '}');
			owned(jsonread_freep) struct jsonread *member = jsonread_new_max(
				(struct str){ one.data, one.len }, BUNDLE_PART_MAX, err);
			rc = member ? read_member(bundle, member, err) : not_json(err);
		}
	}
	return rc < 0 ? not_json(err) : 0;
}

static int by_path(const void *a, const void *b)
{
	return str_cmp(
		((const struct bundle_file *)a)->path, ((const struct bundle_file *)b)->path);
}

static int sort_files(struct bundle *bundle, struct err *err)
{
	bundle->was_sorted = true;
	for (size_t i = 1; i < bundle->n_files; i++)
		if (by_path(&bundle->files[i - 1], &bundle->files[i]) > 0)
			bundle->was_sorted = false;
	if (!bundle->was_sorted)
		qsort(bundle->files, bundle->n_files, sizeof(*bundle->files), by_path);
	for (size_t i = 1; i < bundle->n_files; i++)
		if (!by_path(&bundle->files[i - 1], &bundle->files[i]))
			return err_set(err, ERR_CORRUPT, "two records of '%.*s'",
				BUNDLE_WHERE_BYTES, bundle->files[i].path.ptr);
	return 0;
}

struct bundle *bundle_parse(struct str manifest, struct err *err)
{
	struct bundle *bundle = mem_zalloc(sizeof(*bundle));
	int rc;

	bundle->priv = mem_zalloc(sizeof(*bundle->priv));
	bundle->priv->dir = bundle->priv->blobs_fd = -1;
	bundle->start_cwd = bundle->engine = STR("");
	if ((rc = read_manifest(bundle, manifest, err)) < 0 || (rc = sort_files(bundle, err)) < 0) {
		(void)err_context(err, BUNDLE_MANIFEST);
		bundle_close(bundle);
		return NULL;
	}
	return bundle;
}

void bundle_close(struct bundle *bundle)
{
	if (!bundle)
		return;
	bundle_content_release(bundle->priv);
	pqread_close(bundle->blobs);
	close_fd(&bundle->priv->blobs_fd);
	close_fd(&bundle->priv->dir);
	arena_release(&bundle->priv->arena);
	free(bundle->priv);
	free(bundle->files);
	free(bundle);
}

void bundle_closep(struct bundle **bundle)
{
	bundle_close(*bundle);
}

/* ------------------------------------------------------------------ opening */

static int open_regular(int dir, const char *name, uint64_t *size, struct err *err)
{
	owned_fd int fd = at_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
	struct statx stx;

	if (fd < 0)
		return fd;
	errno = -at_fd_stat(fd, &stx);
	if (errno)
		return err_errno(err, "stat '%s'", name);
	if (!S_ISREG(stx.stx_mode))
		return err_set(err, ERR_CORRUPT, "'%s' is not a regular file", name);
	*size = stx.stx_size;
	return take_fd(&fd);
}

static struct bundle *open_manifest(int dir, struct err *err)
{
	uint64_t size;
	owned_fd int fd = open_regular(dir, BUNDLE_MANIFEST, &size, err);

	if (fd < 0) {
		if (err->code == ERR_NOT_FOUND)
			(void)err_set(err, ERR_NOT_FOUND,
				"no bundle: it has no file '" BUNDLE_MANIFEST "'");
		return NULL;
	}
	if (size > BUNDLE_MANIFEST_MAX) {
		(void)err_set(err, ERR_LIMIT, BUNDLE_MANIFEST " has more than %zu bytes",
			BUNDLE_MANIFEST_MAX);
		return NULL;
	}
	owned_mem char *text = mem_alloc((size_t)size + 1);
	ssize_t n = at_pread_full(fd, text, (size_t)size, 0);
	if (n < 0) {
		errno = (int)-n;
		(void)err_errno(err, "read " BUNDLE_MANIFEST);
		return NULL;
	}
	return bundle_parse((struct str){ text, (size_t)n }, err);
}

static int open_blobs(struct bundle *bundle, int dir, struct err *err)
{
	struct err missing = { 0 };
	uint64_t size;
	int fd = open_regular(dir, BUNDLE_BLOBS, &size, &missing);

	if (fd < 0 && missing.code == ERR_NOT_FOUND)
		return 0;
	if (fd < 0) {
		*err = missing;
		return fd;
	}
	bundle->priv->blobs_fd = fd;
	bundle->blobs = pqread_open(fd, err);
	if (!bundle->blobs)
		return err_context(err, BUNDLE_BLOBS);
	bundle->priv->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (bundle->priv->dir >= 0)
		pqread_spool(bundle->blobs, bundle->priv->dir);
	return 0;
}

struct bundle *bundle_open(int dir, struct err *err)
{
	owned(bundle_closep) struct bundle *bundle = open_manifest(dir, err);

	if (!bundle || open_blobs(bundle, dir, err) < 0)
		return NULL;
	return take_ptr(&bundle);
}

/* ------------------------------------------------------------------- lookup */

const struct bundle_file *bundle_find(const struct bundle *bundle, struct str path)
{
	struct bundle_file key = { .path = path };

	if (!bundle->n_files)
		return NULL;
	return bsearch(&key, bundle->files, bundle->n_files, sizeof(*bundle->files), by_path);
}

static bool same_xattrs(const struct bundle_state *a, const struct bundle_state *b)
{
	if (a->n_xattrs != b->n_xattrs)
		return false;
	for (size_t i = 0; i < a->n_xattrs; i++)
		if (strcmp(a->xattrs[i].name, b->xattrs[i].name) != 0 ||
			!str_eq(a->xattrs[i].value, b->xattrs[i].value))
			return false;
	return true;
}

static unsigned compare_attributes(const struct bundle_state *a, const struct bundle_state *b)
{
	unsigned both = a->has & b->has, what = 0;

	if (both & BUNDLE_HAS_MODE && a->mode != b->mode)
		what |= BUNDLE_CHANGED_MODE;
	if ((both & BUNDLE_HAS_UID && a->uid != b->uid) ||
		(both & BUNDLE_HAS_GID && a->gid != b->gid))
		what |= BUNDLE_CHANGED_OWNER;
	if (!same_xattrs(a, b))
		what |= BUNDLE_CHANGED_XATTRS;
	if (a->type != BUNDLE_DIR && both & BUNDLE_HAS_MTIME && a->mtime != b->mtime)
		what |= BUNDLE_CHANGED_MTIME;
	if (both & BUNDLE_HAS_RDEV && a->rdev != b->rdev)
		what |= BUNDLE_CHANGED_DEVICE;
	if (both & BUNDLE_HAS_TARGET && !str_eq(a->target, b->target))
		what |= BUNDLE_CHANGED_TARGET;
	return what;
}

unsigned bundle_compare(const struct bundle_file *file)
{
	const struct bundle_state *a = &file->state[BUNDLE_BEFORE], *b = &file->state[BUNDLE_AFTER];

	if (a->exists != b->exists || a->type != b->type)
		return BUNDLE_CHANGED_TYPE;
	if (!a->exists)
		return 0;
	unsigned what = compare_attributes(a, b);
	if (a->type == BUNDLE_FILE && !bundle_content_is_same(file))
		what |= BUNDLE_CHANGED_CONTENT;
	return what;
}

const char *bundle_change_name(unsigned bit)
{
	static const char *const names[BUNDLE_CHANGES] = { "type", "content", "target", "device",
		"mode", "owner", "xattr", "mtime" };

	for (unsigned i = 0; i < BUNDLE_CHANGES; i++)
		if (bit == 1u << i)
			return names[i];
	return "unknown";
}

bool bundle_is_changed(const struct bundle_file *file)
{
	const struct bundle_state *after = &file->state[BUNDLE_AFTER];

	return bundle_compare(file) ||
	       (after->exists && after->type != BUNDLE_DIR && file->operations & BUNDLE_WRITE);
}
