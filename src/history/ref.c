#include "history/ref.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/own.h"
#include "core/when.h"

#define PREFIX_MIN 4
#define WORD_MAX HISTORY_TAG_MAX
#define TIME_MAX 120
#define SHOWN 80 /* maximum number of bytes of a reference that a message quotes */

/* -------------------------------------------------------------- plain words */

static int workspace_head(
	struct history *history, const char *workspace, char id[NODE_ID], struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct history_workspace row;
	int r = history_workspace(history, workspace, &arena, &row, err);

	if (r > 0)
		memcpy(id, row.head, NODE_ID);
	return r ? r : err_set(err, ERR_NOT_FOUND, "no workspace '%s'", workspace);
}

static int refuse_unknown(
	struct history *history, const char *word, const char *prefix, struct err *err)
{
	struct history_gone gone;
	int r = prefix ? history_deleted(history, prefix, &gone, err) : 0;

	if (r < 0)
		return r;
	if (r > 0)
		return history_refuse_gone(&gone, err);
	err_set(err, ERR_NOT_FOUND, "no node or tag '%.*s'", SHOWN, word);
	return err_hint(err, "'strata log' lists the nodes, 'strata tag' the tags");
}

static int refuse_ambiguous(const char *prefix, char (*ids)[NODE_ID], int found, struct err *err)
{
	char list[REF_CANDIDATES * (NODE_ID_LEN + 2) + 1] = "";
	size_t len = 0;
	int shown = found < REF_CANDIDATES ? found : REF_CANDIDATES;

	for (int i = 0; i < shown; i++)
		len += (size_t)snprintf(
			list + len, sizeof(list) - len, "%s%s", i ? ", " : "", ids[i]);
	return err_set(err, ERR_INVALID, "'%s' is ambiguous: %s%s", prefix, list,
		found > shown ? ", and more" : "");
}

static int resolve_id(struct history *history, const char *word, char id[NODE_ID], struct err *err)
{
	char ids[REF_CANDIDATES][NODE_ID], prefix[NODE_ID];
	size_t len = strlen(word);

	if (!len || len > NODE_ID_LEN || strspn(word, "0123456789abcdefABCDEF") != len)
		return refuse_unknown(history, word, NULL, err);
	if (len < PREFIX_MIN)
		return err_set(err, ERR_NOT_FOUND,
			"no tag '%s', and for a node id it is too short: at least %d digits", word,
			PREFIX_MIN);
	for (size_t i = 0; i <= len; i++)
		prefix[i] = (char)tolower((unsigned char)word[i]);
	int r = history_prefix(history, prefix, ids, REF_CANDIDATES, err);
	if (r < 0)
		return r;
	if (r == 0)
		return refuse_unknown(history, word, prefix, err);
	if (r > 1)
		return refuse_ambiguous(prefix, ids, r, err);
	memcpy(id, ids[0], NODE_ID);
	return 0;
}

/* ------------------------------------------------------------ HEAD in time */

/*
 * Whether a text is the "-N" of "@{-N}".  *count is set to N.  If N is huge, *count is set to a
 * number that is greater than the length of any journal.
 */
static bool parse_movements(const char *text, int64_t *count)
{
	size_t digits = text[0] == '-' ? strspn(text + 1, "0123456789") : 0;

	if (!digits || text[1 + digits])
		return false;
	*count = digits > 12 ? INT64_C(1) << 40 : strtoll(text + 1, NULL, 10);
	return true;
}

static int head_before(struct history *history, const char *workspace, int64_t count,
	char id[NODE_ID], struct err *err)
{
	struct history_journal journal = { 0 };

	if (!count)
		return workspace_head(history, workspace, id, err);
	int r = history_head_before(history, workspace, count, id, err);
	if (r == 0)
		r = history_journal(history, workspace, &journal, err) < 0
			    ? -(int)err->code
			    : err_set(err, ERR_NOT_FOUND,
				      "'@{-%lld}': HEAD has moved only %llu time%s",
				      (long long)count, (unsigned long long)journal.movements,
				      journal.movements == 1 ? "" : "s");
	return r;
}

static int head_at(struct history *history, const char *workspace, const char *text,
	char id[NODE_ID], struct err *err)
{
	struct history_journal journal;
	char start[40];
	int64_t instant;
	int r = when_parse(text, when_now(), &instant, err);

	if (r >= 0)
		r = history_head_at(history, workspace, instant, id, err);
	if (r != 0)
		return r;
	r = history_journal(history, workspace, &journal, err);
	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "no workspace '%s'", workspace);
	if (journal.start <= instant)
		return err_set(err, ERR_NOT_FOUND,
			"'@{%s}': every node that was HEAD until then is deleted", text);
	return err_set(err, ERR_NOT_FOUND, "'@{%s}': the history starts %s", text,
		when_iso(journal.start, start));
}

/* Resolve @{…}.  'text' is the part between the braces. */
static int resolve_braces(struct history *history, const char *workspace, struct str text,
	char id[NODE_ID], struct err *err)
{
	char inside[TIME_MAX + 1];
	int64_t count;

	if (text.len > TIME_MAX)
		return err_set(err, ERR_INVALID, "'@{%.*s…' is not a time", SHOWN, text.ptr);
	memcpy(inside, text.ptr, text.len);
	inside[text.len] = '\0';
	return parse_movements(inside, &count) ? head_before(history, workspace, count, id, err)
					       : head_at(history, workspace, inside, id, err);
}

/* ---------------------------------------------------------------- ancestors */

struct climb {
	uint64_t left;
	uint64_t done;
	char id[NODE_ID];
};

static int climb_step(void *arg, const struct node *node, struct err *err)
{
	struct climb *climb = arg;

	memcpy(climb->id, node->id, NODE_ID);
	if (!climb->left)
		return 1;
	if (node->parent[0]) {
		climb->left--;
		climb->done++;
	}
	return 0;
}

/*
 * Replace the id of a node by the id of its ancestor that is the given number of steps above the
 * node.  The string 'before' is the part of the reference to the left of the "~N" or "^", for
 * messages.
 */
static int ancestor(struct history *history, struct str before, uint64_t steps, char id[NODE_ID],
	struct err *err)
{
	struct climb climb = { .left = steps };
	int r = history_ancestors(history, id, climb_step, &climb, err);

	if (r < 0)
		return r;
	if (climb.left)
		return err_set(err, ERR_NOT_FOUND, "'%.*s' has only %llu ancestor%s",
			(int)(before.len < SHOWN ? before.len : SHOWN), before.ptr,
			(unsigned long long)climb.done, climb.done == 1 ? "" : "s");
	memcpy(id, climb.id, NODE_ID);
	return 0;
}

static int resolve_suffixes(struct history *history, const char *text, const char *suffix,
	char id[NODE_ID], struct err *err)
{
	while (*suffix) {
		struct str before = { text, (size_t)(suffix - text) };
		uint64_t steps = 1;
		bool tilde = *suffix == '~';

		if (!tilde && *suffix != '^')
			return err_set(err, ERR_INVALID,
				"'%.*s': '%.20s' is no part of a reference", SHOWN, text, suffix);
		suffix++;
		if (tilde && isdigit((unsigned char)*suffix))
			for (steps = 0; isdigit((unsigned char)*suffix); suffix++)
				/* further digits are ignored, since no history has so many nodes */
				steps = steps > UINT32_MAX ? steps
							   : steps * 10 + (uint64_t)(*suffix - '0');
		int r = ancestor(history, before, steps, id, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* -------------------------------------------------------- the whole reference */

/* Check that a node exists, since tags and the journal may refer to deleted nodes. */
static int check_exists(struct history *history, const char *id, struct err *err)
{
	char found[1][NODE_ID];
	int r = history_prefix(history, id, found, 1, err);

	return r ? r : refuse_unknown(history, id, id, err);
}

static int resolve_word(struct history *history, const char *workspace, const char *word,
	struct ref *ref, struct err *err)
{
	ref->work = !strcmp(word, "work");
	if (ref->work || !strcmp(word, "HEAD") || !strcmp(word, "@"))
		return workspace_head(history, workspace, ref->id, err);
	int r = history_tag_get(history, word, ref->id, err);
	return r ? r : resolve_id(history, word, ref->id, err);
}

static int resolve_base(struct history *history, const char *workspace, const char *text,
	const char **rest, struct ref *ref, struct err *err)
{
	const char *brace = text[0] == '@' ? text + 1 : text + strlen("HEAD@");
	char word[WORD_MAX + 1];

	if (!strncmp(text, "@{", 2) || !strncmp(text, "HEAD@{", 6)) {
		const char *end = strchr(brace, '}');

		if (!end)
			return err_set(err, ERR_INVALID, "'%.*s' has no closing '}'", SHOWN, text);
		*rest = end + 1;
		return resolve_braces(history, workspace,
			(struct str){ brace + 1, (size_t)(end - brace - 1) }, ref->id, err);
	}
	size_t len = strcspn(text, "~^");
	if (!len)
		return err_set(err, ERR_INVALID, "'%.*s' does not name a node", SHOWN, text);
	if (len > WORD_MAX)
		return refuse_unknown(history, text, NULL, err);
	memcpy(word, text, len);
	word[len] = '\0';
	*rest = text + len;
	return resolve_word(history, workspace, word, ref, err);
}

int ref_resolve(struct history *history, const char *workspace, const char *text, struct ref *ref,
	struct err *err)
{
	struct ref out = { 0 };
	const char *rest = "";
	int r = resolve_base(history, workspace, text, &rest, &out, err);

	if (r >= 0 && out.work && *rest)
		return err_set(
			err, ERR_INVALID, "'%.*s': the live tree has no ancestors", SHOWN, text);
	if (r >= 0)
		r = check_exists(history, out.id, err);
	if (r >= 0)
		r = resolve_suffixes(history, text, rest, out.id, err);
	if (r < 0)
		return r;
	*ref = out;
	return 0;
}

void ref_split(struct str text, struct str *ref, struct str *path)
{
	bool braces = false;
	size_t i;

	for (i = 0; i < text.len && (braces || text.ptr[i] != ':'); i++) {
		if (text.ptr[i] == '{' && i && text.ptr[i - 1] == '@')
			braces = true;
		else if (text.ptr[i] == '}')
			braces = false;
	}
	*ref = (struct str){ text.ptr, i };
	if (i < text.len)
		i++;
	*path = (struct str){ text.ptr + i, text.len - i };
}
