#include "policy/rule.h"

#include <assert.h>

#include "core/buf.h"
#include "core/own.h"
#include "core/text.h"
#include "policy/policy.h"

/*
 * Maximum number of steps of an intersection.  Rules with many "**" have an intersection with many
 * parts.  After this number of steps, further parts are left out.
 */
#define INTERSECT_STEPS 2000

static const char glob_bytes[] = "*?[{\\";

static bool is_deep(struct str name)
{
	return str_eq(name, STR("**"));
}

bool rule_is_literal(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (memchr(glob_bytes, name.ptr[i], sizeof(glob_bytes) - 1))
			return false;
	return true;
}

/* ------------------------------------------------------------------ reading */

/*
 * Returns the variable at the start of a rule, as a part of 'text'.  The result is empty if the
 * rule does not start with a variable.
 */
static struct str root_of(struct str text)
{
	static const struct str roots[] = { STR("~"), STR("$WORKSPACE") };

	for (size_t i = 0; i < 2; i++)
		if (str_within(text, roots[i]))
			return (struct str){ text.ptr, roots[i].len };
	return (struct str){ text.ptr, 0 };
}

static const char *root_fault(struct str text)
{
	if (!text.len)
		return "is empty";
	if (text.len > RULE_BYTES_MAX)
		return "is too long";
	if (memchr(text.ptr, '\0', text.len))
		return "has a NUL";
	if (text.ptr[0] == '/' || root_of(text).len)
		return NULL;
	if (text.ptr[0] == '~')
		return "names another user's home; only '~/' is known";
	if (text.ptr[0] == '$')
		return "has an unknown variable; only '$WORKSPACE/' is known";
	return "is not absolute, and does not begin with '~/' or '$WORKSPACE/'";
}

/*
 * Returns the length of the group at the start of the text, or 0 if the group is not closed.  The
 * text must begin with '[' or '{'.
 */
static size_t group_length(struct str text)
{
	bool class = text.ptr[0] == '[';
	size_t i = 1, nested = 0;

	if (class && i < text.len && (text.ptr[i] == '!' || text.ptr[i] == '^'))
		i++;
	if (class && i < text.len && text.ptr[i] == ']')
		i++;
	for (; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == '\\')
			i++;
		else if (!class && c == '{')
			nested++;
		else if (c == (class ? ']' : '}') && !nested--)
			return i + 1;
	}
	return 0;
}

/* Each '/' in the text must end a name.  Returns NULL, or what is wrong with the text. */
static const char *slash_fault(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		struct str rest = { text.ptr + i, text.len - i };
		size_t len = memchr("[{", *rest.ptr, 2) ? group_length(rest) : 0;

		if (len && memchr(rest.ptr, '/', len))
			return "has a '/' in brackets or braces";
		if (*rest.ptr == '\\' && (rest.len == 1 || rest.ptr[1] == '/'))
			return "has a '\\' that quotes nothing";
		if (*rest.ptr == '\\')
			i++;
	}
	return NULL;
}

static const char *name_fault(struct str name)
{
	if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
		return "has '.' or '..' as a name";
	if (!is_deep(name) && memmem(name.ptr, name.len, "**", 2))
		return "has '**' as a part of a name";
	return NULL;
}

/* Remove "**" at the end, since a rule covers everything below it anyway. */
static void drop_deep_end(struct buf *text)
{
	while (text->len >= 3 && !memcmp(text->data + text->len - 3, "/**", 3))
		buf_truncate(text, text->len - 3);
}

const char *rule_read(struct str text, struct arena *arena, const char **why)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct str name, rest = text;
	size_t n = 0;

	*why = root_fault(text) ?: slash_fault(text);
	if (*why)
		return NULL;
	struct str root = root_of(text);
	rest.ptr += root.len;
	rest.len -= root.len;
	buf_add(&out, root.ptr, root.len);
	while ((name = str_take_name(&rest)).len && !*why) {
		*why = ++n > RULE_NAMES_MAX ? "has too many names" : name_fault(name);
		buf_addc(&out, '/');
		buf_add(&out, name.ptr, name.len);
	}
	if (*why)
		return NULL;
	drop_deep_end(&out);
	return out.len ? arena_str(arena, (struct str){ out.data, out.len }).ptr : "/";
}

static size_t count_names(struct str path)
{
	size_t n = 0;

	while (str_take_name(&path).len)
		n++;
	return n;
}

const char *rule_of_path(struct str path, struct arena *arena)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct str name;

	if (count_names(path) > RULE_NAMES_MAX)
		return NULL;
	while ((name = str_take_name(&path)).len) {
		buf_addc(&out, '/');
		for (size_t i = 0; i < name.len; i++) {
			if (memchr(glob_bytes, name.ptr[i], sizeof(glob_bytes) - 1))
				buf_addc(&out, '\\');
			buf_addc(&out, name.ptr[i]);
		}
	}
	return out.len ? arena_str(arena, (struct str){ out.data, out.len }).ptr : "/";
}

const char *rule_path(const char *rule, struct arena *arena)
{
	char *path = arena_strdup(arena, rule), *out = path;

	if (!rule_is_resolved(rule))
		return NULL;
	for (const char *c = rule; *c; c++) {
		if (*c == '\\')
			c++;
		else if (memchr(glob_bytes, *c, sizeof(glob_bytes) - 1))
			return NULL;
		*out++ = *c;
	}
	*out = '\0';
	return path;
}

bool rule_is_resolved(const char *rule)
{
	return rule[0] == '/';
}

const char *rule_resolve(const char *rule, const struct policy_place *place, struct arena *arena)
{
	struct str root = root_of(str_of(rule));

	if (!root.len)
		return rule;
	const char *base =
		rule_of_path(str_of(rule[0] == '~' ? place->home : place->workspace), arena);
	const char *rest = rule + root.len;
	if (!base || !*rest)
		return base;
	const char *whole = arena_printf(arena, "%s%s", base[1] ? base : "", rest);
	return count_names(str_of(whole)) > RULE_NAMES_MAX ? NULL : whole;
}

/* ----------------------------------------------------------------- matching */

void rule_split(const char *rule, struct rule_names *out)
{
	struct str text = str_of(rule), name;

	out->root = root_of(text);
	out->n = 0;
	text.ptr += out->root.len;
	text.len -= out->root.len;
	while ((name = str_take_name(&text)).len) {
		assert(out->n < RULE_NAMES_MAX);
		out->list[out->n++] = name;
	}
}

/* Whether a name of a rule matches a name of a path. */
static bool fits_path(struct str name, struct str of_path)
{
	return text_glob(name, of_path);
}

/* Whether a name of a rule certainly matches everything that the name of another rule matches. */
static bool fits_rule(struct str name, struct str other)
{
	if (str_eq(name, other))
		return true;
	if (str_eq(name, STR("*")))
		return !is_deep(other);
	return rule_is_literal(other) && text_glob(name, other);
}

/*
 * Whether n names of a rule match the first names of 'text', or all its names if 'whole' is set.
 * If a name does not fit, the match is tried again with one more name for the last "**".  More
 * names for an earlier "**" would not help.
 */
static bool match(const struct str *names, size_t n, struct str text, bool whole,
	bool (*fits)(struct str name, struct str other))
{
	size_t at = 0, behind_deep = 0;
	struct str retry = STR("");

	for (;;) {
		struct str next = text, name = str_take_name(&next);

		if (at == n && (!whole || !name.len))
			return true;
		if (at < n && is_deep(names[at])) {
			behind_deep = ++at;
			retry = text;
		} else if (at < n && name.len && fits(names[at], name)) {
			at++;
			text = next;
		} else if (!behind_deep || !str_take_name(&retry).len) {
			return false;
		} else {
			at = behind_deep;
			text = retry;
		}
	}
}

bool rule_covers(const char *rule, struct str path)
{
	struct rule_names names;

	rule_split(rule, &names);
	return !names.root.len && match(names.list, names.n, path, false, fits_path);
}

/* Whether the names before index 'at' end with the names of 'tail'. */
static bool ends_in(const struct rule_names *names, size_t at, struct str tail)
{
	struct str name;
	size_t n = count_names(tail);

	for (size_t i = at - n; n <= at && (name = str_take_name(&tail)).len; i++)
		if (!str_eq(names->list[i], name))
			return false;
	return n <= at;
}

static bool stands_before(const struct rule_names *names, size_t at, const char *name)
{
	for (size_t i = 0; i < at; i++)
		if (str_eq(names->list[i], str_of(name)))
			return true;
	return false;
}

bool rule_names(
	const char *rule, struct str path, struct str part, struct str tail, const char *beside)
{
	struct str below = { path.ptr + part.len, path.len - part.len };
	struct rule_names names;

	rule_split(rule, &names);
	for (size_t at = 1; !names.root.len && at <= names.n; at++)
		if (ends_in(&names, at, tail) && (!beside || stands_before(&names, at, beside)) &&
			match(names.list, at, part, true, fits_path) &&
			match(names.list + at, names.n - at, below, false, fits_path))
			return true;
	return false;
}

/* ---------------------------------------------------------------- comparing */

bool rule_within(const char *rule, const char *other)
{
	struct rule_names names;
	struct str text = str_of(rule), root = root_of(text);

	rule_split(other, &names);
	if (!names.n && !names.root.len)
		return true;
	text.ptr += root.len;
	text.len -= root.len;
	return str_eq(names.root, root) && match(names.list, names.n, text, false, fits_rule);
}

static bool may_meet(struct str a, struct str b)
{
	if (rule_is_literal(a))
		return text_glob(b, a);
	return !rule_is_literal(b) || text_glob(a, b);
}

bool rule_overlaps(const char *rule, const char *other)
{
	struct rule_names a, b;

	rule_split(rule, &a);
	rule_split(other, &b);
	if (!str_eq(a.root, b.root))
		return true;
	for (size_t i = 0; i < a.n && i < b.n; i++) {
		if (is_deep(a.list[i]) || is_deep(b.list[i]))
			return true;
		if (!may_meet(a.list[i], b.list[i]))
			return false;
	}
	return true;
}

/* The state while an intersection is made. */
struct meeting {
	struct rule_names a, b;
	struct buf text;
	struct arena *arena;
	bool (*found)(void *arg, const char *rule);
	void *arg;
	int steps;
};

static void add_name(struct meeting *meeting, struct str name)
{
	size_t len = meeting->text.len;

	if (is_deep(name) && len >= 3 && !memcmp(meeting->text.data + len - 3, "/**", 3))
		return;
	buf_addc(&meeting->text, '/');
	buf_add(&meeting->text, name.ptr, name.len);
}

static void end_meeting(struct meeting *meeting, const struct rule_names *rest, size_t at)
{
	const char *why;

	for (; at < rest->n; at++)
		add_name(meeting, rest->list[at]);
	struct str text = { meeting->text.data, meeting->text.len };
	const char *rule = rule_read(text.len ? text : STR("/"), meeting->arena, &why);
	if (rule && !meeting->found(meeting->arg, rule))
		meeting->steps = 0;
}

/*
 * If one of two names certainly matches everything that the other name matches, returns the
 * narrower name of the two.  Otherwise returns an empty text.
 */
static struct str meet_names(struct str a, struct str b)
{
	if (fits_rule(b, a))
		return a;
	return fits_rule(a, b) ? b : STR("");
}

static void meet(struct meeting *meeting, size_t i, size_t j);

/* Add a name, and continue with the names at the indexes i and j. */
static void meet_behind(struct meeting *meeting, struct str name, size_t i, size_t j)
{
	size_t len = meeting->text.len;

	add_name(meeting, name);
	meet(meeting, i, j);
	buf_truncate(&meeting->text, len);
}

static void meet_deep(struct meeting *meeting, size_t i, size_t j)
{
	struct str a = meeting->a.list[i], b = meeting->b.list[j];

	if (is_deep(a) && is_deep(b)) {
		meet_behind(meeting, a, i + 1, j);
		meet_behind(meeting, a, i, j + 1);
	} else if (is_deep(a)) {
		meet(meeting, i + 1, j);
		meet_behind(meeting, b, i, j + 1);
	} else {
		meet(meeting, i, j + 1);
		meet_behind(meeting, a, i + 1, j);
	}
}

static void meet(struct meeting *meeting, size_t i, size_t j)
{
	size_t len = meeting->text.len;

	if (meeting->steps-- <= 0)
		return;
	if (i == meeting->a.n || j == meeting->b.n) {
		end_meeting(meeting, i == meeting->a.n ? &meeting->b : &meeting->a,
			i == meeting->a.n ? j : i);
		buf_truncate(&meeting->text, len);
	} else if (is_deep(meeting->a.list[i]) || is_deep(meeting->b.list[j])) {
		meet_deep(meeting, i, j);
	} else {
		struct str name = meet_names(meeting->a.list[i], meeting->b.list[j]);

		if (name.len)
			meet_behind(meeting, name, i + 1, j + 1);
	}
}

void rule_intersect(const char *a, const char *b, struct arena *arena,
	bool (*found)(void *arg, const char *rule), void *arg)
{
	struct meeting meeting = {
		.text = BUF_INIT,
		.arena = arena,
		.found = found,
		.arg = arg,
		.steps = INTERSECT_STEPS,
	};

	rule_split(a, &meeting.a);
	rule_split(b, &meeting.b);
	if (rule_within(a, b)) {
		found(arg, a);
	} else if (rule_within(b, a)) {
		found(arg, b);
	} else if (str_eq(meeting.a.root, meeting.b.root)) {
		buf_add(&meeting.text, meeting.a.root.ptr, meeting.a.root.len);
		meet(&meeting, 0, 0);
	}
	buf_release(&meeting.text);
}
