/*
 * Memory.  A manifest of a large build has a million records.  It is never one tree:
 * jsonread_parts takes it apart, and only one record at a time is parsed.
 */
#include <stdlib.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/jsonread.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"
#include "trace/bundle_member.h"
#include "trace/bundle_priv.h"
#include "trace/digest.h"

#define REPOSITORIES_MAX 4096
#define XATTRS_MAX 4096
#define LINKS_MAX 65536
#define COMMAND_MAX ((size_t)1 << 20)
#define WORD_SHOWN 32
#define TIME_MAX (INT64_MAX / 2) /* the difference of two is a number, too */

/* ------------------------------------------------------------------- states */

/* BUNDLE_NONE: it is none. */
static enum bundle_type type_named(struct str name)
{
	for (enum bundle_type type = BUNDLE_FILE; type < BUNDLE_TYPES; type++)
		if (str_eq(name, str_of(bundle_type_name(type))))
			return type;
	return str_eq(name, STR("directory")) ? BUNDLE_DIR : BUNDLE_NONE;
}

static int read_type(const struct jsonread *object, struct bundle_state *state, struct err *err)
{
	struct str name;
	int64_t mode;
	int rc = bundle_member_int(object, "mode", 0, UINT32_MAX, &mode, err);

	if (rc < 0)
		return rc;
	if (rc) {
		state->has |= BUNDLE_HAS_MODE;
		state->mode = (uint32_t)mode & 07777;
		state->type = bundle_type_of((uint32_t)mode);
	}
	rc = bundle_member_str(object, "type", &name, err);
	if (rc <= 0)
		return rc;
	enum bundle_type by_mode = state->type;
	state->type = type_named(name);
	if (state->type == BUNDLE_NONE)
		return err_set(
			err, ERR_CORRUPT, "'type' is none there is: '%.*s'", WORD_SHOWN, name.ptr);
	if (by_mode != BUNDLE_NONE && by_mode != state->type)
		return err_set(err, ERR_CORRUPT, "'mode' and 'type' do not agree");
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
		rc = bundle_member_int(object, "mtime", -limit, limit, &seconds, err);
	}
	if (rc < 0)
		return rc;
	if (rc) {
		state->has |= BUNDLE_HAS_MTIME;
		state->mtime = seconds * WHEN_SECOND;
	}
	rc = bundle_member_int(object, "mtime_ns", INT64_MIN, INT64_MAX, &ns, err);
	if (rc <= 0)
		return rc;
	state->has |= BUNDLE_HAS_MTIME | BUNDLE_HAS_MTIME_NS;
	state->mtime = ns >= 0 && ns < WHEN_SECOND ? state->mtime + ns : ns;
	return 0;
}

static int read_hash(const struct jsonread *object, struct bundle_state *state, struct err *err)
{
	struct str hex;
	int rc = bundle_member_str(object, "sha256", &hex, err);

	if (rc < 0)
		return rc;
	if (rc && (hex.len != HASH_HEX - 1 || !hash_parse(hex.ptr, &state->sha256)))
		return err_set(err, ERR_CORRUPT, "'sha256' is not 64 hex digits");
	state->has |= rc ? BUNDLE_HAS_HASH : 0;
	rc = bundle_member_str(object, "sha256_blocks", &hex, err);
	if (rc <= 0)
		return rc;
	if (hex.len != HASH_HEX - 1 || !hash_parse(hex.ptr, &state->blocks))
		return err_set(err, ERR_CORRUPT, "'sha256_blocks' is not 64 hex digits");
	state->has |= BUNDLE_HAS_BLOCKS;
	return 0;
}

static int read_numbers(const struct jsonread *object, struct bundle_state *state, struct err *err)
{
	int64_t number;
	int rc;

	if ((rc = bundle_member_int(object, "size", 0, INT64_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_SIZE;
		state->size = (uint64_t)number;
	}
	if (rc >= 0 && (rc = bundle_member_int(object, "uid", 0, UINT32_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_UID;
		state->uid = (uint32_t)number;
	}
	if (rc >= 0 && (rc = bundle_member_int(object, "gid", 0, UINT32_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_GID;
		state->gid = (uint32_t)number;
	}
	if (rc >= 0 && (rc = bundle_member_int(object, "nlink", 0, INT64_MAX, &number, err)) > 0)
		state->nlink = (uint64_t)number;
	if (rc >= 0 && (rc = bundle_member_int(object, "rdev", 0, INT64_MAX, &number, err)) > 0) {
		state->has |= BUNDLE_HAS_RDEV;
		state->rdev = (uint64_t)number;
	}
	return rc < 0 ? rc : 0;
}

static int read_xattr(struct arena *arena, const struct jsonread *object, size_t i,
	bool named_by_bytes, struct attr *xattr, struct err *err)
{
	owned(buf_release) struct buf name = { .max = AT_XATTR_MAX };
	owned(buf_release) struct buf value = { .max = AT_XATTR_MAX };
	const struct jsonread *coded = jsonread_item(object, i);

	if (named_by_bytes && !text_unbase64(&name, jsonread_key(object, i)))
		return bundle_member_wrong("xattrs_bytes", "an object with names in base64", err);
	xattr->name = named_by_bytes
			      ? arena_str(arena, (struct str){ name.data ?: "", name.len }).ptr
			      : arena_str(arena, jsonread_key(object, i)).ptr;
	if (jsonread_type(coded) != JSONREAD_STRING || !text_unbase64(&value, jsonread_str(coded)))
		return bundle_member_wrong("xattrs", "an object of base64", err);
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
		int rc = bundle_member_object(object, keys[k], &lists[k], err);

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
	attrs_sort(state->xattrs, state->n_xattrs);
	state->has |= BUNDLE_HAS_XATTRS;
	return 0;
}

static int read_state(struct arena *arena, const struct jsonread *record, const char *name,
	struct bundle_state *state, struct err *err)
{
	const struct jsonread *object;
	int rc = bundle_member_object(record, name, &object, err);

	if (rc <= 0)
		return rc;
	if ((rc = bundle_member_bool(object, "exists", &state->exists, err)) < 0 ||
		(rc = bundle_member_bool(object, "tombstone", &state->tombstone, err)) < 0)
		return rc;
	if (!state->exists)
		return 0;
	if ((rc = read_type(object, state, err)) < 0 || (rc = read_mtime(object, state, err)) < 0 ||
		(rc = read_numbers(object, state, err)) < 0 ||
		(rc = read_hash(object, state, err)) < 0 ||
		(rc = read_xattrs(arena, object, state, err)) < 0)
		return rc;
	if ((rc = bundle_member_name(
		     arena, object, "target", "target_bytes", &state->target, err)) < 0)
		return rc;
	state->has |= rc ? BUNDLE_HAS_TARGET : 0;
	if ((rc = bundle_member_str(object, "blob", &state->blob, err)) < 0)
		return rc;
	if (rc) {
		int64_t parts = 1;

		state->blob = arena_str(arena, state->blob);
		state->has |= BUNDLE_HAS_BLOB;
		if ((rc = bundle_member_int(
			     object, "blob_parts", 1, BUNDLE_PARTS_MAX, &parts, err)) < 0)
			return rc;
		state->blob_parts = (unsigned)parts;
	}
	rc = bundle_member_strings(arena, object, "links", "links_bytes", LINKS_MAX, &state->links,
		&state->n_links, err);
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
	git->path = path_in(file, git->path);
	return 0;
}

/* Who does not say says that it was the command. */
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
		(rc = read_changed_by(record, file, err)) >= 0 &&
		(rc = read_operations(record, &file->operations, err)) >= 0 &&
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

		if (!record) {
			(void)not_json(err);
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
	return rc < 0 ? not_json(err) : 0;
}

/* ----------------------------------------------------------------- manifest */

/*
 * Seconds, or nanoseconds where these would be too many, or text as ISO 8601; what is neither says
 * nothing.
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

static int read_repositories(struct bundle *bundle, const struct jsonread *object, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	const struct jsonread *list;
	int rc = bundle_member_array(object, "git_repositories", REPOSITORIES_MAX, &list, err);

	if (rc <= 0)
		return rc;
	size_t n = jsonread_count(list);
	bundle->repositories = arena_alloc(arena, n * sizeof(*bundle->repositories));
	for (size_t i = 0; i < n; i++) {
		struct bundle_repository *repository = &bundle->repositories[i];
		const struct jsonread *item = jsonread_item(list, i);

		if (jsonread_type(item) != JSONREAD_OBJECT)
			return bundle_member_wrong("git_repositories", "a list of objects", err);
		repository->root = repository->common = STR("");
		if ((rc = bundle_member_bytes(
			     arena, item, "root", "root_bytes", &repository->root, err)) < 0 ||
			(rc = bundle_member_bytes(arena, item, "common", "common_bytes",
				 &repository->common, err)) < 0 ||
			(rc = bundle_member_str(item, "head", &repository->head, err)) < 0)
			return rc;
		repository->head = arena_str(arena, repository->head);
	}
	bundle->n_repositories = n;
	return 0;
}

static int read_plain(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *path, struct err *err)
{
	int rc = bundle_member_name(arena, object, name, coded_name, path, err);

	if (rc < 0 || (rc && is_plain(*path) && path->len > 1))
		return rc;
	return err_set(err, ERR_CORRUPT, "'%s' is not an absolute, plain path", name);
}

static int read_moved(struct bundle *bundle, const struct jsonread *object, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	const struct jsonread *list;
	int rc = bundle_member_array(object, "moved", BUNDLE_FILES_MAX, &list, err);

	if (rc <= 0)
		return rc;
	size_t n = jsonread_count(list);
	bundle->has_moved = true;
	bundle->moved = arena_alloc(arena, n * sizeof(*bundle->moved));
	for (size_t i = 0; i < n; i++) {
		struct bundle_moved *moved = &bundle->moved[i];
		const struct jsonread *item = jsonread_item(list, i);
		int64_t ino = 0;

		if (jsonread_type(item) != JSONREAD_OBJECT)
			return bundle_member_wrong("moved", "a list of objects", err);
		if ((rc = read_plain(arena, item, "from", "from_bytes", &moved->from, err)) < 0 ||
			(rc = read_plain(arena, item, "to", "to_bytes", &moved->to, err)) < 0 ||
			(rc = bundle_member_int(item, "ino", 0, INT64_MAX, &ino, err)) < 0)
			return err_context(err, "'moved'");
		moved->ino = (uint64_t)ino;
	}
	bundle->n_moved = n;
	return 0;
}

static int read_lost(struct bundle *bundle, const struct jsonread *object, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	const struct jsonread *list;
	int rc = bundle_member_array(object, "lost", BUNDLE_FILES_MAX, &list, err);

	if (rc <= 0)
		return rc;
	size_t n = jsonread_count(list);
	bundle->lost = arena_alloc(arena, n * sizeof(*bundle->lost));
	for (size_t i = 0; i < n; i++) {
		const struct jsonread *item = jsonread_item(list, i);

		if (jsonread_type(item) != JSONREAD_OBJECT)
			return bundle_member_wrong("lost", "a list of objects", err);
		rc = read_plain(arena, item, "path", "path_bytes", &bundle->lost[i], err);
		if (rc < 0)
			return err_context(err, "'lost'");
	}
	bundle->n_lost = n;
	return 0;
}

/* Also contents of files that have no record, since what became of them is not known. */
static int read_kept(struct bundle *bundle, const struct jsonread *object, struct err *err)
{
	struct arena *arena = &bundle->priv->arena;
	const struct jsonread *list;
	int rc = bundle_member_array(object, "kept_blobs", BUNDLE_FILES_MAX, &list, err);

	if (rc <= 0)
		return rc;
	size_t n = jsonread_count(list);
	bundle->kept = arena_alloc(arena, n * sizeof(*bundle->kept));
	for (size_t i = 0; i < n; i++) {
		struct bundle_kept *kept = &bundle->kept[i];
		const struct jsonread *item = jsonread_item(list, i);
		int64_t parts = 1;

		if (jsonread_type(item) != JSONREAD_OBJECT)
			return bundle_member_wrong("kept_blobs", "a list of objects", err);
		if ((rc = bundle_member_str(item, "blob", &kept->blob, err)) < 0 ||
			(rc = bundle_member_int(
				 item, "blob_parts", 1, BUNDLE_PARTS_MAX, &parts, err)) < 0)
			return rc;
		kept->blob = arena_str(arena, kept->blob);
		kept->parts = (unsigned)parts;
	}
	bundle->n_kept = n;
	return 0;
}

/* Who says that there is a digest must have it. */
static int read_digest(
	struct bundle *bundle, struct str text, const struct jsonread *object, struct err *err)
{
	struct str of = STR(""), digits = STR(""), blobs;
	int rc;

	if ((rc = bundle_member_str(object, "digest_of", &of, err)) < 0 ||
		(rc = bundle_member_str(object, "digest", &digits, err)) < 0)
		return rc;
	if (of.len || digits.len)
		bundle->damaged = !digest_is_of(text, digits);
	rc = bundle_member_str(object, "blobs_sha256", &blobs, err);
	if (rc <= 0)
		return rc;
	bundle->has_blobs_hash = true;
	if (blobs.len != HASH_HEX - 1 || !hash_parse(blobs.ptr, &bundle->blobs_hash))
		return err_set(err, ERR_CORRUPT, "'blobs_sha256' is not 64 hex digits");
	return 0;
}

static int check_version(const struct jsonread *rest, struct err *err)
{
	int64_t version;
	int rc = bundle_member_int(rest, "format_version", 0, INT32_MAX, &version, err);

	if (rc <= 0 || version <= BUNDLE_VERSION)
		return rc;
	err_set(err, ERR_UNSUPPORTED, "it has format version %d; this strata reads up to %d",
		(int)version, BUNDLE_VERSION);
	return err_hint(err, "a newer strata wrote it");
}

/* All but the files and the processes. */
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
	if (rc >= 0)
		rc = read_repositories(bundle, rest, err);
	if (rc >= 0 && (rc = read_moved(bundle, rest, err)) >= 0)
		rc = read_lost(bundle, rest, err);
	if (rc >= 0 && (rc = read_kept(bundle, rest, err)) >= 0)
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
	return rc < 0 ? not_json(err) : 0;
}

static void add_member(struct buf *object, struct str key, struct str value)
{
	buf_adds(object, object->len ? ",\"" : "{\"");
	buf_add(object, key.ptr, key.len);
	buf_adds(object, "\":");
	buf_add(object, value.ptr, value.len);
}

/* What belongs together may be in any order, so these few are read when all are there. */
static int read_gathered(
	struct bundle *bundle, struct str text, struct buf *object, struct err *err)
{
	buf_adds(object, object->len ? "}" : "{}");
	if (object->overflowed)
		return err_set(
			err, ERR_LIMIT, "more than %zu bytes beside its files", BUNDLE_PART_MAX);
	owned(jsonread_freep) struct jsonread *rest =
		jsonread_new_max((struct str){ object->data, object->len }, BUNDLE_PART_MAX, err);
	return rest ? read_rest(bundle, text, rest, err) : not_json(err);
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
	return rc < 0 ? not_json(err) : 0;
}
