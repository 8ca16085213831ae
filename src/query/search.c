#include "query/search.h"

#include <limits.h>
#include <string.h>

#include "core/text.h"
#include "query/searchmany.h"
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
	uint64_t left; /* bytes of the file that are not read yet; more if its size is not known */
	uint64_t line; /* number of lines before the text that is searched next */
	/* the start of the file, until it is long enough to show whether the file is binary */
	struct buf head;
	struct buf rest; /* an unfinished line */
	bool started;    /* the head is complete, and the file is not binary */
	bool stopped;    /* 'visit' has returned 1 */
	bool failed;     /* 'visit' or the search of a line has returned an error */
};

static void report_missed(const struct scanner *scanner, uint64_t line, const char *why)
{
	const struct search *search = scanner->search;

	if (search->missed)
		search->missed(search->arg, scanner->path, line, why);
}

static int report_match(struct scanner *scanner, const struct linesearch_hit *hit, struct err *err)
{
	struct search_match match = {
		.path = scanner->path,
		.line = scanner->line + 1,
		.text = hit->line,
		.start = hit->start,
		.end = hit->end,
	};
	int r = scanner->search->visit(scanner->search->arg, &match, err);

	scanner->stopped = r > 0;
	scanner->failed = r < 0;
	return r > 0 ? ENOUGH : r;
}

/*
 * The text that is searched now.  The lines before the offset 'behind' have been counted and, if
 * search.text_only is set, have been checked to be UTF-8.  The lines after this offset are counted
 * and checked only as far as the search gets.
 */
struct stretch {
	struct str text;
	size_t behind;
};

/*
 * Count the lines up to the offset 'to'.  If search.text_only is set, check them too, and return
 * ENOUGH if they are not UTF-8.
 */
static int pass_lines(struct scanner *scanner, struct stretch *stretch, size_t to)
{
	const char *text = stretch->text.ptr;
	struct str lines = { text + stretch->behind, to - stretch->behind };

	if (scanner->search->text_only && !text_is_utf8(lines))
		return ENOUGH;
	scanner->line += linesearch_count(lines.ptr, lines.ptr + lines.len);
	stretch->behind = to;
	return 0;
}

/*
 * Search lines that are shorter than SEARCH_LINE_MAX.  If 'last' is set, no more text of the file
 * is searched after these lines.
 */
static int match_lines(struct scanner *scanner, struct str text, bool last, struct err *err)
{
	struct stretch stretch = { .text = text };
	struct linesearch_hit hit;
	struct err why = { 0 };
	size_t at = 0;
	int r, found;

	while ((found = linesearch_next(scanner->search->lines, text, &at, &hit, &why)) != 0) {
		if (found < 0 && found != -ERR_LIMIT) {
			scanner->failed = true;
			*err = why;
			return found;
		}
		r = pass_lines(scanner, &stretch, (size_t)(hit.line.ptr - text.ptr));
		if (r == 0 && scanner->search->text_only && !text_is_utf8(hit.line))
			r = ENOUGH;
		if (r == 0 && found > 0)
			r = report_match(scanner, &hit, err);
		if (r != 0)
			return r;
		if (found < 0)
			report_missed(scanner, scanner->line + 1,
				"the pattern takes too many steps there");
	}
	return last ? 0 : pass_lines(scanner, &stretch, text.len);
}

/* Returns the length of the lines that come before the first line that is too long. */
static size_t before_long_line(struct str text)
{
	size_t at = 0;

	while (text.len - at >= SEARCH_LINE_MAX) {
		const char *newline = memrchr(text.ptr + at, '\n', SEARCH_LINE_MAX);

		if (!newline)
			return at;
		at = (size_t)(newline + 1 - text.ptr);
	}
	return text.len;
}

/* Search whole lines. */
static int search_lines(struct scanner *scanner, struct str text, bool last, struct err *err)
{
	size_t len = before_long_line(text);
	bool whole = len == text.len;
	int r = match_lines(scanner, (struct str){ text.ptr, len }, last && whole, err);

	if (r < 0 || whole)
		return r;
	report_missed(scanner, scanner->line + 1, "the line is too long, and what follows");
	return ENOUGH;
}

/*
 * Check that the unfinished line may become longer by this many bytes.  Returns ENOUGH if it would
 * be too long.
 */
static int check_unfinished(const struct scanner *scanner, uint64_t more)
{
	if (more < SEARCH_LINE_MAX - scanner->rest.len)
		return 0;
	report_missed(scanner, scanner->line + 1, "the line is too long, and what follows");
	return ENOUGH;
}

/* Add text without a newline to the unfinished line. */
static int keep_unfinished(struct scanner *scanner, struct str text)
{
	int r = check_unfinished(scanner, text.len);

	if (r == 0)
		buf_add(&scanner->rest, text.ptr, text.len);
	return r;
}

/*
 * Add a hole to the unfinished line.  A hole is read as zeros, so it contains no newline.  In the
 * head of a file, the zeros make the file binary.
 */
static int pass_hole(struct scanner *scanner, uint64_t len)
{
	static const char zeros[4096];
	int r = scanner->started ? check_unfinished(scanner, len) : ENOUGH;

	for (uint64_t n; r == 0 && len; len -= n) {
		n = len < sizeof(zeros) ? len : sizeof(zeros);
		buf_add(&scanner->rest, zeros, (size_t)n);
	}
	return r;
}

/* Complete the unfinished line with a text, and search the line. */
static int finish_line(struct scanner *scanner, struct str text, struct err *err)
{
	size_t newline = text.len && text.ptr[text.len - 1] == '\n';
	int r = keep_unfinished(scanner, (struct str){ text.ptr, text.len - newline });

	if (r < 0)
		return r;
	if (newline)
		buf_addc(&scanner->rest, '\n');
	r = match_lines(scanner, (struct str){ scanner->rest.data, scanner->rest.len }, false, err);
	buf_clear(&scanner->rest);
	return r;
}

/* Search the next text of a file. */
static int search_text(struct scanner *scanner, struct str text, struct err *err)
{
	int r = 0;

	if (scanner->rest.len) {
		const char *newline = memchr(text.ptr, '\n', text.len);
		size_t n = newline ? (size_t)(newline + 1 - text.ptr) : 0;

		if (!newline)
			return keep_unfinished(scanner, text);
		r = finish_line(scanner, (struct str){ text.ptr, n }, err);
		text.ptr += n;
		text.len -= n;
	}
	const char *end = scanner->left && text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
	size_t whole = end ? (size_t)(end + 1 - text.ptr) : scanner->left ? 0 : text.len;
	if (r == 0 && whole)
		r = search_lines(scanner, (struct str){ text.ptr, whole }, !scanner->left, err);
	if (r == 0 && whole < text.len)
		r = keep_unfinished(scanner, (struct str){ text.ptr + whole, text.len - whole });
	return r;
}

/* Search the first text of a file, unless the file is binary. */
static int search_head(struct scanner *scanner, struct str text, struct err *err)
{
	size_t len = text.len < SEARCH_BINARY_PREFIX ? text.len : SEARCH_BINARY_PREFIX;

	if (memchr(text.ptr, '\0', len))
		return ENOUGH;
	scanner->started = true;
	return search_text(scanner, text, err);
}

static int search_piece(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct scanner *scanner = arg;
	struct str text = { bytes, (size_t)len };

	scanner->search->read += len;
	scanner->left -= len < scanner->left ? len : scanner->left;
	if (!bytes)
		return pass_hole(scanner, len);
	if (scanner->started)
		return search_text(scanner, text, err);
	/* Most often the first piece is long enough, and need not be copied. */
	if (scanner->head.len || (scanner->left && text.len < SEARCH_BINARY_PREFIX)) {
		buf_add(&scanner->head, text.ptr, text.len);
		text = (struct str){ scanner->head.data, scanner->head.len };
	}
	return scanner->left && text.len < SEARCH_BINARY_PREFIX ? 0
								: search_head(scanner, text, err);
}

/*
 * Search the text that is left at the end of a file.  If the file has become shorter since its size
 * was read, the head may be the whole file.
 */
static int search_end(struct scanner *scanner, struct err *err)
{
	struct str head = { scanner->head.data, scanner->head.len };
	int r;

	scanner->left = 0;
	r = scanner->started || !head.len ? 0 : search_head(scanner, head, err);
	return r == 0 && scanner->rest.len ? finish_line(scanner, STR(""), err) : r;
}

bool search_wants(const struct entry *entry)
{
	return entry->type == ENTRY_FILE &&
	       (entry->brief || (entry->size && entry->content != ENTRY_UNREAD));
}

int search_file(struct search *search, struct str path, const struct entry *entry, struct err *err)
{
	struct scanner scanner = {
		.search = search,
		.path = path,
		.left = entry->brief ? UINT64_MAX : entry->size,
		.head = BUF_INIT,
		.rest = BUF_INIT,
	};

	if (!search_wants(entry) || already_seen(search, path, entry))
		return 0;
	int r = search->view->ops->read(
		search->view, entry, path, 0, scanner.left, search_piece, &scanner, err);
	if (r == -ERR_DENIED && !scanner.failed) {
		search->view->unread++;
		*err = (struct err){ 0 };
		r = ENOUGH;
	}
	if (r >= 0)
		r = search_end(&scanner, err);
	buf_release(&scanner.head);
	buf_release(&scanner.rest);
	return r == ENOUGH ? scanner.stopped : r;
}

static int search_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	return search_file(arg, path, entry, err);
}

int search_run(struct search *search, struct str base, struct err *err)
{
	/* Entries need no size, since the size of a file is read when the file is opened. */
	if (!search->seen)
		search->view->need = VIEW_NAMES;
	return searchmany_possible(search)
		       ? searchmany_run(search, base, err)
		       : walk_tree(search->view, base, search_entry, search, err);
}
