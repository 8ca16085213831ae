#include "tree/treediff.h"

const char *treediff_what_name(unsigned bit)
{
	static const char *const names[TREEDIFF_WHATS] = { "content", "mode", "owner", "mtime",
		"xattr", "target", "type", "link" };

	for (size_t i = 0; i < TREEDIFF_WHATS; i++)
		if (bit == 1u << i)
			return names[i];
	return "unknown";
}

unsigned treediff_compare(const struct entry *a, const struct entry *b)
{
	unsigned what = 0;

	if (a->type != b->type)
		what |= TREEDIFF_TYPE;
	else if (a->type == ENTRY_LINK && !entry_same_content(a, b))
		what |= TREEDIFF_TARGET;
	else if (a->type != ENTRY_DIR && !entry_same_content(a, b))
		what |= TREEDIFF_CONTENT;
	if (a->type == ENTRY_DIR && b->type == ENTRY_DIR &&
		(a->content == ENTRY_UNREAD) != (b->content == ENTRY_UNREAD))
		what |= TREEDIFF_CONTENT;
	if (a->mode != b->mode)
		what |= TREEDIFF_MODE;
	if (a->uid != b->uid || a->gid != b->gid)
		what |= TREEDIFF_OWNER;
	if (a->mtime_sec != b->mtime_sec || a->mtime_nsec != b->mtime_nsec)
		what |= TREEDIFF_MTIME;
	if (!hash_eq(&a->xattrs, &b->xattrs))
		what |= TREEDIFF_XATTR;
	if (a->link != b->link)
		what |= TREEDIFF_LINK;
	return what;
}

/* ----------------------------------------------------------------- filters */

static bool is_prefix(struct str path, struct str of)
{
	return !path.len ||
	       (str_starts(of, path) && (of.len == path.len || of.ptr[path.len] == '/'));
}

bool treediff_selects(const struct treediff_options *options, struct str path, bool *wanted)
{
	bool on_way = false;

	*wanted = !options->n_paths;
	for (size_t i = 0; i < options->n_paths; i++) {
		*wanted |= is_prefix(options->paths[i], path);
		on_way |= is_prefix(path, options->paths[i]);
	}
	return *wanted || on_way;
}
