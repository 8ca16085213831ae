/* policy_read - reads a policy from its text, and reports the place of a mistake. */
#include <stdarg.h>
#include <stdio.h>

#include "core/jsonread.h"
#include "core/own.h"
#include "policy/domains.h"
#include "policy/keys.h"
#include "policy/lists.h"
#include "policy/oddities.h"
#include "policy/preset.h"
#include "policy/rule.h"

#define KEYS_MAX 32 /* must be at least the number of keys in keys_all */

struct reader {
	struct str text;
	const char *name;
	struct arena *arena;
	struct err *err;
	struct policy *out;
	struct policy own; /* has only the lists of the document itself, in the document's order */
	/* values of the keys, at the same indexes as in keys_all */
	const struct jsonread *values[KEYS_MAX];
};

static int fail(const struct reader *reader, const struct jsonread *value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(const struct reader *reader, const struct jsonread *value, const char *fmt, ...)
{
	struct jsonread_place place = jsonread_place(value, reader->text);
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(reader->err, ERR_INVALID, "%s: %s (line %zu, column %zu)", reader->name,
		what, place.line, place.column);
}

static const char *type_name(const struct jsonread *value)
{
	static const char *const names[] = {
		[JSONREAD_NULL] = "null",
		[JSONREAD_BOOL] = "a truth value",
		[JSONREAD_INT] = "a number",
		[JSONREAD_REAL] = "a number with a fraction",
		[JSONREAD_STRING] = "a text",
		[JSONREAD_ARRAY] = "a list",
		[JSONREAD_OBJECT] = "an object",
	};

	return names[jsonread_type(value)];
}

static int fail_type(const struct reader *reader, const struct jsonread *value, const char *path,
	const char *wanted)
{
	return fail(reader, value, "%s: %s is needed, not %s", path, wanted, type_name(value));
}

/* -------------------------------------------------------------------- lists */

static const char *name_fault(struct str name)
{
	if (!name.len)
		return "is empty";
	if (memchr(name.ptr, '\0', name.len))
		return "has a NUL";
	return memchr(name.ptr, '=', name.len) ? "has a '='" : NULL;
}

/*
 * Read one text of a list.  Returns the text in the form that the policy stores, or NULL with the
 * reason in *why.
 */
static const char *read_text(
	const struct reader *reader, enum keys_kind kind, struct str text, const char **why)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct domains_rule rule;

	if (kind == KEYS_PATHS)
		return rule_read(text, reader->arena, why);
	*why = kind == KEYS_DOMAINS ? domains_read_rule(text, &rule) : name_fault(text);
	if (*why)
		return NULL;
	if (kind == KEYS_NAMES)
		return arena_str(reader->arena, text).ptr;
	domains_write_rule(&out, &rule);
	return arena_str(reader->arena, (struct str){ out.data, out.len }).ptr;
}

static int read_list(const struct reader *reader, const struct keys_key *key, const char *path,
	const struct jsonread *value, struct policy_list *out)
{
	struct lists_builder builder = { .arena = reader->arena };

	if (jsonread_type(value) != JSONREAD_ARRAY)
		return fail_type(reader, value, path, "a list of texts");
	if (jsonread_count(value) > POLICY_RULES_MAX)
		return fail(reader, value, "%s: more than %d rules", path, POLICY_RULES_MAX);
	for (size_t i = 0; i < jsonread_count(value); i++) {
		const struct jsonread *item = jsonread_item(value, i);
		char at[KEYS_TEXT_MAX + 24];
		const char *why;

		snprintf(at, sizeof(at), "%s[%zu]", path, i);
		if (jsonread_type(item) != JSONREAD_STRING)
			return fail_type(reader, item, at, "a text");
		struct str text = jsonread_str(item);
		const char *rule = read_text(reader, key->kind, text, &why);
		if (!rule)
			return fail(reader, item, "%s: '%.*s' %s", at,
				(int)(text.len < 200 ? text.len : 200), text.ptr, why);
		lists_add(&builder, rule);
	}
	*out = builder.list;
	return 0;
}

static int read_set(const struct reader *reader, const char *path, const struct jsonread *value,
	struct policy_list *out)
{
	struct lists_builder builder = { .arena = reader->arena };

	if (jsonread_type(value) != JSONREAD_OBJECT)
		return fail_type(reader, value, path, "an object");
	if (jsonread_count(value) > POLICY_RULES_MAX)
		return fail(reader, value, "%s: more than %d variables", path, POLICY_RULES_MAX);
	for (size_t i = 0; i < jsonread_count(value); i++) {
		const struct jsonread *item = jsonread_item(value, i);
		struct str name = jsonread_key(value, i);
		char at[KEYS_TEXT_MAX + 104];

		snprintf(at, sizeof(at), "%s.%.100s", path, name.ptr);
		if (jsonread_is_repeated(item))
			return fail(reader, item, "%s: given twice", at);
		if (name_fault(name))
			return fail(reader, item, "%s: the name of a variable %s", at,
				name_fault(name));
		if (jsonread_type(item) != JSONREAD_STRING)
			return fail_type(reader, item, at, "a text");
		struct str text = jsonread_str(item);
		if (text.len && memchr(text.ptr, '\0', text.len))
			return fail(reader, item, "%s: the value has a NUL", at);
		lists_add(&builder, arena_printf(reader->arena, "%s=%s", name.ptr,
					    arena_str(reader->arena, text).ptr));
	}
	*out = builder.list;
	return 0;
}

/*
 * Combine a list of the document with that of the preset.  Denials are united.  Any other list of
 * the document replaces that of the preset.
 */
static int settle_list(const struct reader *reader, const struct keys_key *key, const char *path,
	const struct jsonread *value, const struct policy_list *own)
{
	struct policy_list *out = keys_slot(key, reader->out);

	*(struct policy_list *)keys_slot(key, &reader->own) = *own;
	*out = key->role == KEYS_DENIES ? lists_unite(out, own, reader->arena) : *own;
	if (out->n > POLICY_RULES_MAX)
		return fail(reader, value, "%s: more than %d rules with those of the preset", path,
			POLICY_RULES_MAX);
	return 0;
}

/* ------------------------------------------------------------------ scalars */

static int read_flag(
	const struct reader *reader, const char *path, const struct jsonread *value, bool *out)
{
	if (jsonread_type(value) != JSONREAD_BOOL)
		return fail_type(reader, value, path, "true or false");
	*out = jsonread_bool(value);
	return 0;
}

static int read_limit(
	const struct reader *reader, const char *path, const struct jsonread *value, int64_t *out)
{
	if (jsonread_type(value) == JSONREAD_NULL) {
		*out = 0;
		return 0;
	}
	if (jsonread_type(value) != JSONREAD_INT)
		return fail_type(reader, value, path, "a whole number or null");
	if (jsonread_int(value) <= 0)
		return fail(reader, value, "%s: a limit is more than 0; without a limit it is null",
			path);
	*out = jsonread_int(value);
	return 0;
}

static int read_depth(
	const struct reader *reader, const char *path, const struct jsonread *value, int64_t *out)
{
	if (jsonread_type(value) != JSONREAD_INT)
		return fail_type(reader, value, path, "a whole number");
	if (jsonread_int(value) < 0 || jsonread_int(value) > POLICY_DEPTH_MAX)
		return fail(reader, value, "%s: the depth is from 0 to %d", path, POLICY_DEPTH_MAX);
	*out = jsonread_int(value);
	return 0;
}

static int fail_choice(const struct reader *reader, const char *path, const struct jsonread *value,
	const char *const *choices)
{
	owned(buf_release) struct buf known = BUF_INIT;

	for (size_t i = 0; choices[i]; i++)
		buf_addf(&known, "%s'%s'", !i ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
	if (jsonread_type(value) != JSONREAD_STRING)
		return fail_type(reader, value, path, known.data);
	struct str text = jsonread_str(value);
	return fail(reader, value, "%s: '%.*s' is not %s", path,
		(int)(text.len < 100 ? text.len : 100), text.ptr, known.data);
}

static int read_choice(const struct reader *reader, const struct keys_key *key, const char *path,
	const struct jsonread *value, void *out)
{
	for (unsigned i = 0; key->choices[i]; i++)
		if (jsonread_type(value) == JSONREAD_STRING &&
			str_eq(jsonread_str(value), str_of(key->choices[i]))) {
			*(unsigned *)out = i;
			return 0;
		}
	return fail_choice(reader, path, value, key->choices);
}

/* ------------------------------------------------------------------ members */

static int read_key(struct reader *reader, const struct keys_key *key, const struct jsonread *value)
{
	void *slot = keys_slot(key, reader->out);
	struct policy_list own;
	char path[KEYS_TEXT_MAX];
	int r;

	keys_text(key, path);
	reader->values[key - keys_all] = value;
	switch (key->kind) {
	case KEYS_FLAG:
		return read_flag(reader, path, value, slot);
	case KEYS_LIMIT:
		return read_limit(reader, path, value, slot);
	case KEYS_DEPTH:
		return read_depth(reader, path, value, slot);
	case KEYS_CHOICE:
		return read_choice(reader, key, path, value, slot);
	case KEYS_SET:
		r = read_set(reader, path, value, &own);
		break;
	default:
		r = read_list(reader, key, path, value, &own);
		break;
	}
	return r < 0 ? r : settle_list(reader, key, path, value, &own);
}

static int fail_unknown(const struct reader *reader, const char *section, struct str name,
	const struct jsonread *value)
{
	char nearest[KEYS_TEXT_MAX];

	return fail(reader, value, "%s%s%.100s: no such key; the nearest is '%s'", section ?: "",
		section ? "." : "", name.ptr, keys_nearest(section, name, nearest));
}

static int read_section(struct reader *reader, const char *section, const struct jsonread *object)
{
	if (jsonread_type(object) != JSONREAD_OBJECT)
		return fail_type(reader, object, section, "an object");
	for (size_t i = 0; i < jsonread_count(object); i++) {
		const struct jsonread *value = jsonread_item(object, i);
		const struct keys_key *key = keys_find(section, jsonread_key(object, i));

		if (!key)
			return fail_unknown(reader, section, jsonread_key(object, i), value);
		if (jsonread_is_repeated(value))
			return fail(reader, value, "%s.%s: given twice", section, key->name);
		int r = read_key(reader, key, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_member(struct reader *reader, struct str name, const struct jsonread *value)
{
	const struct keys_key *key = keys_find(NULL, name);

	if (jsonread_is_repeated(value))
		return fail(reader, value, "%.100s: given twice", name.ptr);
	if (str_eq(name, STR("preset")))
		return 0;
	if (keys_is_section(name))
		return read_section(reader, name.ptr, value);
	return key ? read_key(reader, key, value) : fail_unknown(reader, NULL, name, value);
}

static int fail_preset(const struct reader *reader, const struct jsonread *value)
{
	const char *names[16];
	size_t n = 0;

	for (const struct policy *preset = preset_all; preset->preset; preset++)
		names[n++] = preset->preset;
	names[n] = NULL;
	return fail_choice(reader, "preset", value, names);
}

/* Start with the preset, wherever in the document it is named. */
static int read_preset(struct reader *reader, const struct jsonread *root)
{
	const struct jsonread *value = jsonread_member(root, "preset");
	const struct policy *preset = NULL;

	*reader->out = preset_none;
	if (!value || jsonread_type(value) == JSONREAD_NULL)
		return 0;
	if (jsonread_type(value) == JSONREAD_STRING)
		preset = preset_find(jsonread_str(value));
	if (!preset)
		return fail_preset(reader, value);
	*reader->out = *preset;
	return 0;
}

/* ----------------------------------------------------------- contradictions */

static const struct jsonread *value_of(
	const struct reader *reader, const char *section, const char *name)
{
	return reader->values[keys_find(section, str_of(name)) - keys_all];
}

static struct policy_list *list_of(
	const struct policy *policy, const char *section, const char *name)
{
	return keys_slot(keys_find(section, str_of(name)), policy);
}

/*
 * Refuse a document that allows a rule, if the document or its preset also denies this rule.  One
 * of the two must be a mistake.
 */
static int check_allowed(
	struct reader *reader, const char *section, const char *allows, const char *denies)
{
	const struct policy_list *own = list_of(&reader->own, section, allows);
	const struct policy_list *denied = list_of(reader->out, section, denies);

	for (size_t i = 0; i < own->n; i++)
		if (lists_has(denied, own->list[i]))
			return fail(reader, jsonread_item(value_of(reader, section, allows), i),
				"%s.%s[%zu]: %s.%s has '%.200s', too", section, allows, i, section,
				denies, own->list[i]);
	return 0;
}

/* Check a list of allowances, and drop rules of the preset that the document denies. */
static int settle_pair(
	struct reader *reader, const char *section, const char *allows, const char *denies)
{
	struct policy_list *allowed = list_of(reader->out, section, allows);
	int r = check_allowed(reader, section, allows, denies);

	if (r >= 0)
		*allowed = lists_without(
			allowed, list_of(reader->out, section, denies), reader->arena);
	return r;
}

static int check_holes(const struct reader *reader)
{
	const struct policy_list *holes = &reader->own.fs.allow_read_within_deny;
	const struct policy_list *denials = &reader->out->fs.deny_read;

	for (size_t i = 0; i < holes->n; i++)
		if (!lists_overlap(denials, holes->list[i]))
			return fail(reader,
				jsonread_item(value_of(reader, "fs", "allow_read_within_deny"), i),
				"fs.allow_read_within_deny[%zu]: fs.deny_read does not deny "
				"'%.200s'",
				i, holes->list[i]);
	return 0;
}

static int check_network(const struct reader *reader)
{
	static const char *const modes[] = { "none", "host" };
	enum policy_net mode = reader->out->net.mode;

	if (mode == POLICY_NET_ALLOWLIST)
		return 0;
	if (reader->own.net.allowed.n)
		return fail(reader, value_of(reader, "net", "allowed_domains"),
			"net.allowed_domains: only net.mode 'allowlist' uses it, and the mode is "
			"'%s'",
			modes[mode]);
	if (reader->own.net.grantable.n)
		return fail(reader, value_of(reader, "net", "grantable"),
			"net.grantable: only net.mode 'allowlist' uses it, and the mode is '%s'",
			modes[mode]);
	if (reader->own.net.denied.n && mode == POLICY_NET_HOST)
		return fail(reader, value_of(reader, "net", "denied_domains"),
			"net.denied_domains: net.mode 'host' denies nothing");
	return 0;
}

static int check_contradictions(struct reader *reader)
{
	int r = settle_pair(reader, "fs", "allow_read", "deny_read");

	if (r < 0)
		return err_hint(reader->err, "within a denial, fs.allow_read_within_deny allows");
	r = settle_pair(reader, "fs", "allow_write", "deny_write_within_allow");
	if (r >= 0)
		r = settle_pair(reader, "exec", "allow", "deny");
	if (r >= 0)
		r = settle_pair(reader, "net", "allowed_domains", "denied_domains");
	if (r >= 0)
		r = check_holes(reader);
	return r < 0 ? r : check_network(reader);
}

/* ---------------------------------------------------------------- documents */

static int read_document(struct reader *reader, const struct jsonread *root)
{
	if (jsonread_type(root) != JSONREAD_OBJECT)
		return fail_type(reader, root, "the policy", "an object");
	int r = read_preset(reader, root);
	for (size_t i = 0; i < jsonread_count(root) && r >= 0; i++)
		r = read_member(reader, jsonread_key(root, i), jsonread_item(root, i));
	return r < 0 ? r : check_contradictions(reader);
}

int policy_read(
	struct str text, const char *name, struct arena *arena, struct policy *out, struct err *err)
{
	struct policy policy;
	struct reader reader = {
		.text = text,
		.name = name,
		.arena = arena,
		.err = err,
		.out = &policy,
	};
	owned(jsonread_freep) struct jsonread *root = jsonread_new_max(text, POLICY_SIZE_MAX, err);

	if (!root)
		return err_context(err, "%s", name);
	int r = read_document(&reader, root);
	if (r < 0)
		return r;
	policy.warnings = oddities_list(&policy, arena);
	*out = policy;
	return 0;
}
