/*
 * bundle_member - gets a member of an object in a manifest, and checks its type.
 *
 * The functions return 1 if the member was found, and 0 if it is absent or null.  They return
 * ERR_CORRUPT if the member has another type, and ERR_LIMIT if it is too large.  The message then
 * has the name of the member.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/jsonread.h"
#include "core/str.h"

/* The values that the following functions return are valid as long as the object exists. */
int bundle_member_str(
	const struct jsonread *object, const char *name, struct str *value, struct err *err);
int bundle_member_bool(
	const struct jsonread *object, const char *name, bool *value, struct err *err);
int bundle_member_int(const struct jsonread *object, const char *name, int64_t min, int64_t max,
	int64_t *value, struct err *err);
int bundle_member_array(const struct jsonread *object, const char *name, size_t max,
	const struct jsonread **value, struct err *err);
int bundle_member_object(const struct jsonread *object, const char *name,
	const struct jsonread **value, struct err *err);
/* Get a hash.  The member must have 64 hex digits. */
int bundle_member_hash(
	const struct jsonread *object, const char *name, struct hash *value, struct err *err);
/*
 * The values that the following functions return are copies in the arena.  If bytes are not UTF-8,
 * the manifest has them twice: as text in the member called name, and as base64 in the member
 * called coded_name.  Then the base64 is decoded.  For a list of strings, the member called
 * coded_name is a second list of the same length, with the base64 of each string.  coded_name is
 * NULL for strings that are always UTF-8.
 */
int bundle_member_strings(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, size_t max, struct str **list, size_t *count, struct err *err);
int bundle_member_bytes(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err);
/* Like bundle_member_bytes, but an empty value is an error. */
int bundle_member_name(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err);
/* Returns the error for a member that does not have the wanted type. */
int bundle_member_wrong(const char *name, const char *wanted, struct err *err);
