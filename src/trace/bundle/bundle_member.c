#include "trace/bundle/bundle_member.h"

#include <string.h>

#include "core/own.h"
#include "core/text.h"

#define PATH_BYTES_MAX 65536

int bundle_member_wrong(const char *name, const char *wanted, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "'%s' is not %s", name, wanted);
}

int bundle_member_str(
	const struct jsonread *object, const char *name, struct str *value, struct err *err)
{
	enum jsonread_found found = jsonread_get_str(object, name, value);

	if (found == JSONREAD_WRONG_TYPE)
		return bundle_member_wrong(name, "a string", err);
	return found == JSONREAD_FOUND;
}

int bundle_member_bool(
	const struct jsonread *object, const char *name, bool *value, struct err *err)
{
	enum jsonread_found found = jsonread_get_bool(object, name, value);

	if (found == JSONREAD_WRONG_TYPE)
		return bundle_member_wrong(name, "true or false", err);
	return found == JSONREAD_FOUND;
}

int bundle_member_hash(
	const struct jsonread *object, const char *name, struct hash *value, struct err *err)
{
	struct str hex;
	int rc = bundle_member_str(object, name, &hex, err);

	if (rc > 0 && (hex.len != HASH_HEX - 1 || !hash_parse(hex.ptr, value)))
		return bundle_member_wrong(name, "64 hex digits", err);
	return rc;
}

int bundle_member_int(const struct jsonread *object, const char *name, int64_t min, int64_t max,
	int64_t *value, struct err *err)
{
	int64_t number;
	enum jsonread_found found = jsonread_get_int(object, name, &number);

	if (found == JSONREAD_WRONG_TYPE)
		return bundle_member_wrong(name, "a whole number", err);
	if (found != JSONREAD_FOUND)
		return 0;
	if (number < min || number > max)
		return err_set(err, ERR_CORRUPT, "'%s' is out of range", name);
	*value = number;
	return 1;
}

int bundle_member_array(const struct jsonread *object, const char *name, size_t max,
	const struct jsonread **value, struct err *err)
{
	const struct jsonread *member = jsonread_member(object, name);

	if (!member || jsonread_type(member) == JSONREAD_NULL)
		return 0;
	if (jsonread_type(member) != JSONREAD_ARRAY)
		return bundle_member_wrong(name, "an array", err);
	if (jsonread_count(member) > max)
		return err_set(err, ERR_LIMIT, "'%s' has more than %zu items", name, max);
	*value = member;
	return 1;
}

int bundle_member_object(const struct jsonread *object, const char *name,
	const struct jsonread **value, struct err *err)
{
	enum jsonread_found found = jsonread_get_object(object, name, value);

	if (found == JSONREAD_WRONG_TYPE)
		return bundle_member_wrong(name, "an object", err);
	return found == JSONREAD_FOUND;
}

/* Copy the strings of an array.  If 'coded' is set, the strings are base64 and are decoded. */
static int copy_strings(struct arena *arena, const struct jsonread *array, const char *name,
	bool coded, struct str *list, struct err *err)
{
	for (size_t i = 0; i < jsonread_count(array); i++) {
		owned(buf_release) struct buf bytes = BUF_INIT;
		const struct jsonread *item = jsonread_item(array, i);

		if (jsonread_type(item) != JSONREAD_STRING)
			return bundle_member_wrong(name, "a list of strings", err);
		struct str text = jsonread_str(item);
		if (coded && !text_unbase64(&bytes, text))
			return bundle_member_wrong(name, "a list of base64", err);
		if (coded)
			text = (struct str){ bytes.data ?: "", bytes.len };
		if (coded && memchr(text.ptr, '\0', text.len))
			return err_set(err, ERR_CORRUPT, "'%s' holds a NUL", name);
		list[i] = arena_str(arena, text);
	}
	return 1;
}

int bundle_member_strings(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, size_t max, struct str **list, size_t *count, struct err *err)
{
	const struct jsonread *texts = NULL, *coded = NULL;
	int rc = bundle_member_array(object, name, max, &texts, err);

	if (rc >= 0 && coded_name)
		rc = bundle_member_array(object, coded_name, max, &coded, err);
	if (rc < 0 || (!texts && !coded))
		return rc;
	size_t n = texts ? jsonread_count(texts) : 0;
	if (coded && jsonread_count(coded) != n)
		return err_set(err, ERR_CORRUPT, "'%s' is not as long as '%s'", coded_name, name);
	struct str *copy = arena_alloc(arena, n * sizeof(*copy));
	if (texts && (rc = copy_strings(arena, texts, name, false, copy, err)) < 0)
		return rc;
	if (coded && (rc = copy_strings(arena, coded, coded_name, true, copy, err)) < 0)
		return rc;
	*list = copy;
	*count = n;
	return 1;
}

int bundle_member_bytes(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct str text, coded;
	int plain = bundle_member_str(object, name, &text, err);
	int rc = plain < 0 ? plain : bundle_member_str(object, coded_name, &coded, err);

	if (rc < 0 || (!rc && !plain))
		return rc;
	if (rc && coded.len > PATH_BYTES_MAX)
		return err_set(err, ERR_LIMIT, "'%s' is too long", coded_name);
	if (rc && !text_unbase64(&bytes, coded))
		return bundle_member_wrong(coded_name, "base64", err);
	if (rc)
		text = (struct str){ bytes.data ?: "", bytes.len };
	if (memchr(text.ptr, '\0', text.len) || text.len > PATH_BYTES_MAX)
		return err_set(err, ERR_CORRUPT, "'%s' is too long or holds a NUL",
			rc ? coded_name : name);
	*value = arena_str(arena, text);
	return 1;
}

int bundle_member_name(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err)
{
	int rc = bundle_member_bytes(arena, object, name, coded_name, value, err);

	return rc > 0 && !value->len ? err_set(err, ERR_CORRUPT, "'%s' is empty", name) : rc;
}
