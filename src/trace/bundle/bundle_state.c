/* Reads the two states of a file: the state before the command, and the state after it. */
#include "core/at.h"
#include "core/buf.h"
#include "core/jsonread.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"
#include "trace/bundle/bundle_member.h"
#include "trace/bundle/bundle_priv.h"

#define XATTRS_MAX 4096
#define LINKS_MAX 65536
#define WORD_SHOWN 32 /* maximum number of bytes of a wrong word in a message */

/* Returns the file type with this name, or BUNDLE_NONE if no type has this name. */
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
		return err_set(err, ERR_CORRUPT, "'type' is not a type of file: '%.*s'", WORD_SHOWN,
			name.ptr);
	if (by_mode != BUNDLE_NONE && by_mode != state->type)
		return err_set(err, ERR_CORRUPT, "'mode' and 'type' do not agree");
	return 0;
}

/*
 * Read the mtime of a file.  The member mtime has seconds.  The member mtime_ns has either the
 * whole time in nanoseconds, or only the nanoseconds within the second.
 */
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
	int rc = bundle_member_hash(object, "sha256", &state->sha256, err);

	if (rc > 0)
		state->has |= BUNDLE_HAS_HASH;
	if (rc >= 0 && (rc = bundle_member_hash(object, "sha256_blocks", &state->blocks, err)) > 0)
		state->has |= BUNDLE_HAS_BLOCKS;
	return rc;
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

int bundle_state_read(struct arena *arena, const struct jsonread *record, const char *name,
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
