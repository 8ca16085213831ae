/*
 * Reads a manifest.  A manifest is never parsed as a whole, since the manifest of a large build has
 * a million records.  jsonread_parts splits the text, and the records are parsed one at a time.
 */
#include "core/buf.h"
#include "core/jsonread.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "trace/bundle/bundle_member.h"
#include "trace/bundle/bundle_priv.h"
#include "trace/bundle/digest.h"

#define REPOSITORIES_MAX 4096
#define COMMAND_MAX ((size_t)1 << 20)
/* half of the range of int64_t, so that the difference of two times cannot overflow */
#define TIME_MAX (INT64_MAX / 2)

/* ------------------------------------------------------------------ records */

/* Whether a path is absolute, and no name in it is empty, "." or "..". */
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
	int rc = bundle_member_array(record, "operations", 64, &list, err);

	for (size_t i = 0; rc > 0 && i < jsonread_count(list); i++) {
		const struct jsonread *item = jsonread_item(list, i);
		unsigned bit = BUNDLE_OTHER;

		if (jsonread_type(item) != JSONREAD_STRING)
			return bundle_member_wrong("operations", "a list of strings", err);
		for (unsigned k = 0; k < BUNDLE_OPERATIONS; k++)
			if (str_eq(jsonread_str(item), str_of(bundle_operation_name(1u << k))))
				bit = 1u << k;
		*operations |= bit;
	}
	return rc < 0 ? rc : 0;
}

/*
 * Returns the path of a file relative to its repository.  If possible, the result is a part of the
 * file's own path.  The path 'given' from the manifest may be Latin-1 text, which differs from the
 * exact bytes.
 */
static struct str path_in_repository(const struct bundle_file *file, struct str given)
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
	} texts[] = { { "head", &git->head }, { "relative_path", &git->path },
		{ "oid", &git->oid } };
	struct {
		const char *name;
		bool *value;
	} flags[] = { { "in_repo", &git->in_repo }, { "tracked", &git->tracked },
		{ "dirty", &git->dirty }, { "ignored", &git->ignored } };
	int rc = bundle_member_object(record, "git", &object, err);

	if (rc <= 0)
		return rc;
	git->root = STR("");
	if ((rc = bundle_member_bytes(arena, object, "root", "root_bytes", &git->root, err)) < 0)
		return rc;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if ((rc = bundle_member_str(object, texts[i].name, texts[i].value, err)) < 0)
			return rc;
		*texts[i].value = arena_str(arena, *texts[i].value);
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if ((rc = bundle_member_bool(object, flags[i].name, flags[i].value, err)) < 0)
			return rc;
	git->path = path_in_repository(file, git->path);
	return 0;
}

/*
 * Read the member changed_by, which is "command" or "other".  If the member is absent, the command
 * changed the file.
 */
static int read_changed_by(const struct jsonread *record, struct bundle_file *file, struct err *err)
{
	struct str who;
	int rc = bundle_member_str(record, "changed_by", &who, err);

	file->by_other = rc > 0 && str_eq(who, STR("other"));
	if (rc > 0 && !file->by_other && !str_eq(who, STR("command")))
		return bundle_member_wrong("changed_by", "'command' or 'other'", err);
	return rc;
}

static int read_record(struct arena *arena, const struct jsonread *record, struct bundle_file *file,
	struct err *err)
{
	int rc;

	if (jsonread_type(record) != JSONREAD_OBJECT)
		return err_set(err, ERR_CORRUPT, "it is not an object");
	rc = bundle_member_name(arena, record, "path", "path_bytes", &file->path, err);
	if (rc < 0)
		return rc;
	if (!rc)
		return err_set(err, ERR_CORRUPT, "it has no path");
	if (!is_plain(file->path))
		return err_set(err, ERR_CORRUPT, "its path '%.*s' is not an absolute, plain one",
			BUNDLE_WHERE_BYTES, file->path.ptr);
	if ((rc = bundle_member_bool(record, "inherited", &file->inherited, err)) >= 0 &&
		(rc = bundle_member_bool(record, "contested", &file->contested, err)) >= 0 &&
		(rc = read_changed_by(record, file, err)) >= 0 &&
		(rc = read_operations(record, &file->operations, err)) >= 0 &&
		(rc = bundle_state_read(
			 arena, record, "before", &file->state[BUNDLE_BEFORE], err)) >= 0 &&
		(rc = bundle_state_read(arena, record, "after", &file->state[BUNDLE_AFTER], err)) >=
			0)
		rc = read_git(arena, record, file, err);
	return rc < 0 ? err_context(err, "'%.*s'", BUNDLE_WHERE_BYTES, file->path.ptr) : 0;
}

/*
 * Set the error for bad JSON.  jsonread reports ERR_INVALID, but a bundle is stored data, so
 * ERR_CORRUPT is right.
 */
static int bad_json(struct err *err)
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

		if (!record) {
			(void)bad_json(err);
			return err_context(err, "record %zu", n + 1);
		}
		if (n == BUNDLE_FILES_MAX)
			return err_set(err, ERR_LIMIT, "more than %zu records", BUNDLE_FILES_MAX);
		mem_grow(&bundle->files, &bundle->priv->cap_files, n);
		bundle->files[n] = (struct bundle_file){ 0 };
		if (read_record(&bundle->priv->arena, record, &bundle->files[n], err) < 0)
			return err_context(err, "record %zu", n + 1);
		bundle->n_files++;
	}
	return rc < 0 ? bad_json(err) : 0;
}

/* ----------------------------------------------------------------- manifest */

/*
 * Read a time.  A string is a time in ISO 8601.  A number has seconds, or nanoseconds if the number
 * is too large for seconds.  Any other value is ignored.
 */
static int read_time(
	const struct jsonread *object, const char *name, int64_t *instant, struct err *err)
{
	const struct jsonread *value = jsonread_member(object, name);
	struct err ignored = { 0 };
	int64_t time;

	if (value && jsonread_type(value) == JSONREAD_INT)
		time = jsonread_int(value);
	else if (!value || jsonread_type(value) != JSONREAD_STRING ||
		 when_parse(jsonread_str(value).ptr, 0, &time, &ignored) < 0)
		return 0;
	if (jsonread_type(value) == JSONREAD_INT && time > -INT32_MAX && time < INT32_MAX)
		time *= WHEN_SECOND;
	if (time < -TIME_MAX || time > TIME_MAX)
		return err_set(err, ERR_CORRUPT, "'%s' is out of range", name);
	*instant = time;
	return 0;
}

static int read_repository(
	struct arena *arena, const struct jsonread *item, void *slot, struct err *err)
{
	struct bundle_repository *repository = slot;
	int rc;

	repository->root = repository->common = STR("");
	if ((rc = bundle_member_bytes(arena, item, "root", "root_bytes", &repository->root, err)) <
			0 ||
		(rc = bundle_member_bytes(
			 arena, item, "common", "common_bytes", &repository->common, err)) < 0 ||
		(rc = bundle_member_str(item, "head", &repository->head, err)) < 0)
		return rc;
	repository->head = arena_str(arena, repository->head);
	return 0;
}

static int read_plain_path(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *path, struct err *err)
{
	int rc = bundle_member_name(arena, object, name, coded_name, path, err);

	if (rc < 0 || (rc && is_plain(*path) && path->len > 1))
		return rc;
	return err_set(err, ERR_CORRUPT, "'%s' is not an absolute, plain path", name);
}

static int read_moved(struct arena *arena, const struct jsonread *item, void *slot, struct err *err)
{
	struct bundle_moved *moved = slot;
	int64_t ino = 0;

	if (read_plain_path(arena, item, "from", "from_bytes", &moved->from, err) < 0 ||
		read_plain_path(arena, item, "to", "to_bytes", &moved->to, err) < 0 ||
		bundle_member_int(item, "ino", 0, INT64_MAX, &ino, err) < 0)
		return err_context(err, "'moved'");
	moved->ino = (uint64_t)ino;
	return 0;
}

static int read_lost(struct arena *arena, const struct jsonread *item, void *slot, struct err *err)
{
	int rc = read_plain_path(arena, item, "path", "path_bytes", slot, err);

	return rc < 0 ? err_context(err, "'lost'") : 0;
}

/*
 * Read an entry of the list kept_blobs: contents of files that have no record, because their state
 * after the command is not known.
 */
static int read_kept(struct arena *arena, const struct jsonread *item, void *slot, struct err *err)
{
	struct bundle_kept *kept = slot;
	int64_t parts = 1;
	int rc;

	if ((rc = bundle_member_str(item, "blob", &kept->blob, err)) < 0 ||
		(rc = bundle_member_int(item, "blob_parts", 1, BUNDLE_PARTS_MAX, &parts, err)) < 0)
		return rc;
	kept->blob = arena_str(arena, kept->blob);
	kept->parts = (unsigned)parts;
	return 0;
}

/*
 * Read a list of objects.  For each object, the function 'read' fills in one slot of 'size' bytes.
 * Returns 1 on success, 0 if there is no list, or a negative error.
 */
static int read_objects(struct bundle *bundle, const struct jsonread *rest, const char *name,
	size_t max, size_t size,
	int (*read)(struct arena *arena, const struct jsonread *item, void *slot, struct err *err),
	void *list, size_t *count, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	const struct jsonread *array;
	int rc = bundle_member_array(rest, name, max, &array, err);

	if (rc <= 0)
		return rc;
	size_t n = jsonread_count(array);
	char *slots = *(void **)list = arena_alloc(arena, n * size);
	for (size_t i = 0; i < n; i++) {
		const struct jsonread *item = jsonread_item(array, i);

		if (jsonread_type(item) != JSONREAD_OBJECT)
			return bundle_member_wrong(name, "a list of objects", err);
		if ((rc = read(arena, item, slots + i * size, err)) < 0)
			return rc;
	}
	*count = n;
	return 1;
}

static int read_lists(struct bundle *bundle, const struct jsonread *rest, struct err *err)
{
	int rc = read_objects(bundle, rest, "git_repositories", REPOSITORIES_MAX,
		sizeof(*bundle->repositories), read_repository, &bundle->repositories,
		&bundle->n_repositories, err);

	if (rc >= 0 &&
		(rc = read_objects(bundle, rest, "moved", BUNDLE_FILES_MAX, sizeof(*bundle->moved),
			 read_moved, &bundle->moved, &bundle->n_moved, err)) > 0)
		bundle->has_moved = true;
	if (rc >= 0)
		rc = read_objects(bundle, rest, "lost", BUNDLE_FILES_MAX, sizeof(*bundle->lost),
			read_lost, &bundle->lost, &bundle->n_lost, err);
	if (rc >= 0)
		rc = read_objects(bundle, rest, "kept_blobs", BUNDLE_FILES_MAX,
			sizeof(*bundle->kept), read_kept, &bundle->kept, &bundle->n_kept, err);
	return rc;
}

/* Read the digests.  A manifest that has the member digest_of but no digest is damaged. */
static int read_digest(
	struct bundle *bundle, struct str text, const struct jsonread *object, struct err *err)
{
	struct str of = STR(""), digits = STR("");
	int rc;

	if ((rc = bundle_member_str(object, "digest_of", &of, err)) < 0 ||
		(rc = bundle_member_str(object, "digest", &digits, err)) < 0)
		return rc;
	if (of.len || digits.len)
		bundle->damaged = !digest_is_of(text, digits);
	rc = bundle_member_hash(object, "blobs_sha256", &bundle->blobs_hash, err);
	bundle->has_blobs_hash = rc > 0;
	return rc;
}

static int check_version(const struct jsonread *rest, struct err *err)
{
	int64_t version;
	int rc = bundle_member_int(rest, "format_version", 0, INT32_MAX, &version, err);

	if (rc <= 0 || version <= BUNDLE_VERSION)
		return rc;
	err_set(err, ERR_UNSUPPORTED, "it has format version %d; this strata reads up to %d",
		(int)version, BUNDLE_VERSION);
	return err_hint(err, "a newer strata wrote it: use that one");
}

/* Read all members of a manifest except the files and the processes. */
static int read_rest(
	struct bundle *bundle, struct str text, const struct jsonread *rest, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	int rc = check_version(rest, err);

	if (rc >= 0)
		rc = bundle_member_strings(arena, rest, "command", "command_bytes", COMMAND_MAX,
			&bundle->command, &bundle->n_command, err);
	if (rc >= 0)
		rc = bundle_member_strings(arena, rest, "incomplete_reasons", NULL, COMMAND_MAX,
			&bundle->reasons, &bundle->n_reasons, err);
	if (rc >= 0 && (rc = bundle_member_int(rest, "exit_status", INT32_MIN, INT32_MAX,
				&bundle->exit_status, err)) > 0)
		bundle->has_status = true;
	if (rc >= 0 && (rc = bundle_member_bool(rest, "complete", &bundle->complete, err)) > 0)
		bundle->has_complete = true;
	if (rc >= 0)
		rc = bundle_member_bytes(
			arena, rest, "start_cwd", "start_cwd_bytes", &bundle->start_cwd, err);
	if (rc >= 0 && (rc = bundle_member_str(rest, "engine", &bundle->engine, err)) > 0)
		bundle->engine = arena_str(arena, bundle->engine);
	if (rc >= 0 && (rc = read_lists(bundle, rest, err)) >= 0)
		rc = read_digest(bundle, text, rest, err);
	if (rc >= 0 && (rc = read_time(rest, "started_at", &bundle->started, err)) >= 0)
		rc = read_time(rest, "ended_at", &bundle->ended, err);
	return rc < 0 ? rc : 0;
}

static int count_processes(struct bundle *bundle, struct str text, struct err *err)
{
	struct jsonread_parts parts;
	struct str key, value;
	int rc = jsonread_parts_init(&parts, text, err);

	while (rc >= 0 && (rc = jsonread_parts_next(&parts, &key, &value, err)) > 0)
		bundle->n_processes++;
	return rc < 0 ? bad_json(err) : 0;
}

static void add_member(struct buf *object, struct str key, struct str value)
{
	buf_adds(object, object->len ? ",\"" : "{\"");
	buf_add(object, key.ptr, key.len);
	buf_adds(object, "\":");
	buf_add(object, value.ptr, value.len);
}

/*
 * Read all members except the files and the processes.  They are read last: the members of a
 * manifest may come in any order, so the caller has gathered these members in the buffer 'object'.
 */
static int read_gathered(
	struct bundle *bundle, struct str text, struct buf *object, struct err *err)
{
	buf_adds(object, object->len ? "}" : "{}");
	if (object->overflowed)
		return err_set(
			err, ERR_LIMIT, "more than %zu bytes beside its files", BUNDLE_PART_MAX);
	owned(jsonread_freep) struct jsonread *rest =
		jsonread_new_max((struct str){ object->data, object->len }, BUNDLE_PART_MAX, err);
	return rest ? read_rest(bundle, text, rest, err) : bad_json(err);
}

int bundle_read_manifest(struct bundle *bundle, struct str text, struct err *err)
{
	owned(buf_release) struct buf rest = { .max = BUNDLE_PART_MAX };
	struct jsonread_parts parts;
	struct str key, value;
	bool files = false;
	int rc = jsonread_parts_init(&parts, text, err);

	if (rc >= 0 && !parts.object)
		return err_set(err, ERR_CORRUPT, "it is not an object");
	while (rc >= 0 && (rc = jsonread_parts_next(&parts, &key, &value, err)) > 0) {
		files |= str_eq(key, STR("files"));
		if (str_eq(key, STR("files")))
			rc = read_files(bundle, value, err);
		else if (str_eq(key, STR("processes")))
			rc = count_processes(bundle, value, err);
		else
			add_member(&rest, key, value);
	}
	if (rc >= 0)
		rc = read_gathered(bundle, text, &rest, err);
	if (rc >= 0 && !files)
		return err_set(err, ERR_CORRUPT, "it has no 'files'");
	return rc < 0 ? bad_json(err) : 0;
}
