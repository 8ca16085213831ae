/*
 * bundle_member - members of the objects in a manifest, with their types checked.
 *
 * All functions return 1 if the member was found, 0 if it is absent or null, ERR_CORRUPT with the
 * member's name if it has another type, and ERR_LIMIT if it is too large.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/jsonread.h"
#include "core/str.h"

/* These values live as long as the object. */
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
/* The member must have 64 hex digits. */
int bundle_member_hash(
	const struct jsonread *object, const char *name, struct hash *value, struct err *err);
/*
 * These values are copies.  Bytes that are not UTF-8 are in the manifest twice: as text, and under
 * coded_name as base64.  Then the value is taken from the base64.  For a list the base64 form is a
 * list of the same length.  coded_name is NULL for strings that are always text.
 */
int bundle_member_strings(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, size_t max, struct str **list, size_t *count, struct err *err);
int bundle_member_bytes(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err);
/* As bundle_member_bytes, but an empty value is an error. */
int bundle_member_name(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err);
/* Returns the error that says what type the member should have. */
int bundle_member_wrong(const char *name, const char *wanted, struct err *err);
