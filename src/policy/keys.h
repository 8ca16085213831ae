/*
 * keys - the members of a policy document, as data.  For each member, the table has the kind, the
 * place in struct policy, and the way to combine the values of two policies.  Reading, writing,
 * resolving and composing use this table.
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
	KEYS_LIMIT,   /* int64_t; 0 stands for null in the document */
	KEYS_DEPTH,   /* int64_t from 0 to POLICY_DEPTH_MAX */
	KEYS_CHOICE,  /* an enum; 'choices' has the words for its values */
};

/*
 * How lists are combined.  KEYS_DENIES: the list of a document is added to that of its preset, and
 * the lists of two composed policies are united.
 */
enum keys_role { KEYS_ALLOWS, KEYS_DENIES };

struct keys_key {
	const char *section, *name; /* section is NULL for a member of the document itself */
	enum keys_kind kind;
	enum keys_role role;
	size_t offset; /* offset of the member in struct policy */
	/* the words for the values of an enum, in the order of the enum; ends with NULL */
	const char *const *choices;
};

/* the table ends with a NULL name, and the keys of a section follow each other */
extern const struct keys_key keys_all[];

#define KEYS_TEXT_MAX 64
/* Returns the text of a key, such as "fs.allow_read". */
const char *keys_text(const struct keys_key *key, char out[KEYS_TEXT_MAX]);
/* Returns the member of a policy for a key.  Its type depends on the kind of the key. */
static inline void *keys_slot(const struct keys_key *key, const struct policy *policy)
{
	return (char *)policy + key->offset;
}
/* Find a key by its section and name.  Returns NULL if there is none. */
const struct keys_key *keys_find(const char *section, struct str name);
bool keys_is_section(struct str name);
/*
 * Write the text of the known key that is most similar to an unknown one.  'name' is the unknown
 * name in 'section'.  Returns 'out'.
 */
const char *keys_nearest(const char *section, struct str name, char out[KEYS_TEXT_MAX]);
