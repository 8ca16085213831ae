/*
 * bundle_member - members of a manifest's objects, held to their types.
 *
 * All of these: 1 found, 0 absent or null, ERR_CORRUPT with the member's name when it is
 * something else, ERR_LIMIT when it is more than anybody needs.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/jsonread.h"
#include "core/str.h"

/* Values of the tree, as long as that lives. */
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
/*
 * Copies.  Bytes have a text and, where that is not all, a base64 form called NAME_bytes, which
 * then counts; of a list it is one as long.  coded_name of strings that are but text: NULL.
 */
int bundle_member_strings(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, size_t max, struct str **list, size_t *count, struct err *err);
int bundle_member_bytes(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err);
/* The same, and not empty. */
int bundle_member_name(struct arena *arena, const struct jsonread *object, const char *name,
	const char *coded_name, struct str *value, struct err *err);
/* The error that says what the member should have been. */
int bundle_member_wrong(const char *name, const char *wanted, struct err *err);
