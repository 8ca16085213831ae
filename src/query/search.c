#include "query/search.h"

#include <limits.h>

#include "core/text.h"
#include "query/walk.h"

static bool already_seen(struct search *search, struct str path, const struct entry *entry)
{
	if (!search->seen || hash_is_none(&entry->hash))
		return false;
	bool made;
	(void)keytable_at(search->seen, entry_path_hash(hash_prefix(&entry->hash), path), 0, &made);
	return !made;
}

/* search_piece returns this when the rest of a file need not be read.  It is no error code. */
#define ENOUGH INT_MIN

struct scanner {
	struct search *search;
	struct str path;
	uint64_t line;
	struct buf rest; /* an unfinished line */
	bool started;
	bool stopped; /* visit wanted to stop */
	bool failed;  /* a line gave an error */
};

static void report_missed(const struct scanner *scanner, uint64_t line, const char *why)
{
	const struct search *search = scanner->search;

	if (search->missed)
		search->missed(search->arg, scanner->path, line, why);
}

static int try_line(struct scanner *scanner, struct str text, struct err *err)
{
	struct search_match match = {
		.path = scanner->path, .line = ++scanner->line, .text = text
	};

	if (scanner->search->text_only && !text_is_utf8(text))
		return ENOUGH;
	int r = regex_find(scanner->search->regex, text, &match.start, &match.end, err);

	if (r == -ERR_LIMIT) {
		report_missed(scanner, scanner->line, "the pattern takes too many steps there");
		return 0;
	}
	if (r > 0)
		r = scanner->search->visit(scanner->search->arg, &match, err);
	if (r > 0)
		scanner->stopped = true;
	return r > 0 ? ENOUGH : r;
}

static int search_piece(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct scanner *scanner = arg;
	const char *p = bytes;
	int r = 0;

	/*
	 * A hole is read as zeros, and ends the search of its file: at the start of a file, zeros
	 * make the file binary; elsewhere, they make a line that is too long.
	 */
	if (!p)
		return ENOUGH;
	if (!scanner->started &&
		memchr(p, '\0', len < SEARCH_BINARY_PREFIX ? len : SEARCH_BINARY_PREFIX))
		return ENOUGH;
	scanner->started = true;
	while (len && r == 0) {
		const char *newline = memchr(p, '\n', len);
		size_t n = newline ? (size_t)(newline - p) : (size_t)len;

		if (scanner->rest.len + n >= SEARCH_LINE_MAX) {
			report_missed(scanner, scanner->line + 1,
				"the line is too long, and what follows");
			return ENOUGH;
		}
		if (scanner->rest.len || !newline)
			buf_add(&scanner->rest, p, n);
		if (newline) {
			struct str text = scanner->rest.len ? (struct str){ scanner->rest.data,
				scanner->rest.len }
							    : (struct str){ p, n };

			r = try_line(scanner, text, err);
			scanner->failed = r < 0 && r != ENOUGH;
			buf_clear(&scanner->rest);
			n++;
		}
		p += n;
		len -= n;
	}
	return r;
}

int search_file(struct search *search, struct str path, const struct entry *entry, struct err *err)
{
	struct scanner scanner = { .search = search, .path = path, .rest = BUF_INIT };

	if (entry->type != ENTRY_FILE || entry->content == ENTRY_UNREAD || !entry->size ||
		already_seen(search, path, entry))
		return 0;
	int r = search->view->ops->read(
		search->view, entry, path, 0, UINT64_MAX, search_piece, &scanner, err);
	if (r == -ERR_DENIED && !scanner.failed) {
		search->view->unread++;
		*err = (struct err){ 0 };
		r = ENOUGH;
	}
	if (r >= 0 && scanner.rest.len)
		r = try_line(&scanner, (struct str){ scanner.rest.data, scanner.rest.len }, err);
	buf_release(&scanner.rest);
	return r == ENOUGH ? scanner.stopped : r;
}

static int search_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	return search_file(arg, path, entry, err);
}

int search_run(struct search *search, struct str base, struct err *err)
{
	return walk_tree(search->view, base, search_entry, search, err);
}
