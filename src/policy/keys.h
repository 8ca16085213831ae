/*
 * keys - the members of a policy document, as data: what each holds, where it is kept in struct
 * policy, and how two policies agree on it.  Reading, writing, resolving and composing go through
 * this table.
 */
#pragma once
#include <stddef.h>

#include "policy/policy.h"

enum keys_kind {
	KEYS_PATHS,   /* struct policy_list of rules (policy/rule.h) */
	KEYS_DOMAINS, /* struct policy_list of rules (policy/domains.h) */
	KEYS_NAMES,   /* struct policy_list of names of variables, with globs */
	KEYS_SET,     /* struct policy_list of NAME=VALUE; an object in the document */
	KEYS_FLAG,    /* bool */
	KEYS_LIMIT,   /* int64_t; null in the document for 0 */
	KEYS_DEPTH,   /* int64_t from 0 to POLICY_DEPTH_MAX */
	KEYS_CHOICE,  /* an enum, named by the words of choices */
};

/*
 * KEYS_DENIES: the list of a document is added to that of its preset, and the lists of two composed
 * policies unite.
 */
enum keys_role { KEYS_ALLOWS, KEYS_DENIES };

struct keys_key {
	const char *section, *name; /* section: NULL for a member of the document itself */
	enum keys_kind kind;
	enum keys_role role;
	size_t offset;              /* in struct policy */
	const char *const *choices; /* in the order of the enum; ends with NULL */
};

extern const struct keys_key keys_all[]; /* ends with a NULL name; sections stand together */

#define KEYS_TEXT_MAX 64
/* "fs.allow_read" */
const char *keys_text(const struct keys_key *key, char out[KEYS_TEXT_MAX]);
/* Returns the member of a policy for a key.  It has the type that the kind says. */
static inline void *keys_slot(const struct keys_key *key, const struct policy *policy)
{
	return (char *)policy + key->offset;
}
/* Find a key by its section and name.  Returns NULL if there is none. */
const struct keys_key *keys_find(const char *section, struct str name);
bool keys_is_section(struct str name);
/*
 * Write the text of the known key that is most similar to an unknown one, name in section.  Returns
 * out.
 */
const char *keys_nearest(const char *section, struct str name, char out[KEYS_TEXT_MAX]);
