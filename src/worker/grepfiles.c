#include "worker/grepfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/linesearch.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "worker/filewalk.h"

#define BLOCK ((size_t)64 << 10)
#define MATCH_SIZE 64 /* maximum bytes of JSON of a match, without path and text */

struct grep {
	struct fileops *ops;
	struct linesearch *search;
	struct str include; /* ptr NULL: every file */
	size_t start;       /* length of the root's path, including the slash */
	struct buf block;
	struct wire_match *matches;
	size_t n, cap, max, room;
	bool truncated;
	uint64_t skipped;
};

/* A file that is being searched. */
struct subject {
	struct str path; /* in the arena if 'kept' is set */
	bool kept;
	uint64_t line;
};

/* Returns the beginning of a long line.  The line is cut between two characters. */
static struct str beginning(struct str line)
{
	size_t len = GREPFILES_TEXT_MAX;

	while (len > GREPFILES_TEXT_MAX - 3 && ((unsigned char)line.ptr[len] & 0xc0) == 0x80)
		len--;
	return (struct str){ line.ptr, len };
}

/* Add a match to the reply.  Returns 1 if the reply has no room for it. */
static int add_match(struct grep *grep, struct subject *subject, struct str line)
{
	bool cut = line.len > GREPFILES_TEXT_MAX;
	struct str text = cut ? beginning(line) : line;
	size_t size = wire_text_size(subject->path) + wire_text_size(text) + MATCH_SIZE;

	if (grep->n == grep->max || size > grep->room) {
		grep->truncated = true;
		return 1;
	}
	if (!subject->kept)
		subject->path = arena_str(grep->ops->arena, subject->path);
	subject->kept = true;
	grep->room -= size;
	mem_grow(&grep->matches, &grep->cap, grep->n);
	grep->matches[grep->n++] = (struct wire_match){
		.path = subject->path,
		.line = subject->line + 1,
		.text = arena_str(grep->ops->arena, text),
		.cut = cut,
	};
	return 0;
}

/*
 * Search whole lines.  If 'last' is set, these are the last lines of the file, so the lines after
 * the last match need not be counted.  Returns 1 if the reply is full.
 */
static int search_lines(
	struct grep *grep, struct subject *subject, struct str text, bool last, struct err *err)
{
	const char *counted = text.ptr;
	size_t at = 0;
	struct linesearch_hit hit;
	int r;

	while ((r = linesearch_next(grep->search, text, &at, &hit, err)) != 0) {
		if (r == -ERR_LIMIT) {
			grep->skipped++;
			continue;
		}
		if (r < 0)
			return r;
		subject->line += linesearch_count(counted, hit.line.ptr);
		counted = hit.line.ptr;
		if (add_match(grep, subject, hit.line))
			return 1;
		r = ticket_check(grep->ops->ticket, err);
		if (r < 0)
			return r;
	}
	if (!last)
		subject->line += linesearch_count(counted, text.ptr + text.len);
	return 0;
}

/*
 * Search the whole lines in the block.  An incomplete line at the end stays in the block.  Returns
 * 1 if the search of the file is over.
 */
static int search_block(struct grep *grep, struct subject *subject, bool end, struct err *err)
{
	struct buf *block = &grep->block;
	const char *nul = block->len ? memchr(block->data, '\0', block->len) : NULL;
	size_t whole = nul ? (size_t)(nul - block->data) : block->len;
	const char *newline = whole ? memrchr(block->data, '\n', whole) : NULL;

	if (!end || nul)
		whole = newline ? (size_t)(newline + 1 - block->data) : 0;
	struct str lines = { block->data, whole };
	int r = whole ? search_lines(grep, subject, lines, end || nul, err) : 0;
	if (r || nul || end)
		return r < 0 ? r : 1;
	memmove(block->data, block->data + whole, block->len - whole);
	buf_truncate(block, block->len - whole);
	if (block->len <= GREPFILES_LINE_MAX)
		return 0;
	grep->skipped++;
	return 1;
}

static bool is_binary(const struct buf *block)
{
	return block->len && memchr(block->data, '\0', block->len);
}

/*
 * Search an open file.  The parameter size is 0 if the size is not known, as in /proc.  Returns 1
 * if the reply is full.
 */
static int search_open(
	struct grep *grep, struct subject *subject, int fd, off_t size, struct err *err)
{
	struct buf *block = &grep->block;
	bool first = true;
	off_t done = 0;
	int r = 0;

	buf_clear(block);
	while (r == 0) {
		char *room = buf_reserve(block, BLOCK);
		ssize_t n = room ? read(fd, room, BLOCK) : -1;

		if (n < 0) {
			grep->skipped++;
			return 0;
		}
		block->len += (size_t)n;
		done += n;
		if (first && is_binary(block))
			return 0;
		first = false;
		r = ticket_check(grep->ops->ticket, err);
		if (r >= 0)
			r = search_block(grep, subject, !n || done == size, err);
	}
	return r < 0 ? r : grep->truncated;
}

static bool is_included(const struct grep *grep, const struct filewalk_entry *entry)
{
	struct str path = { entry->path.ptr + grep->start, entry->path.len - grep->start };

	if (!grep->include.ptr)
		return true;
	return text_glob(grep->include,
		memchr(grep->include.ptr, '/', grep->include.len) ? path : str_of(entry->name));
}

static int visit(void *arg, const struct filewalk_entry *entry, struct err *err)
{
	struct grep *grep = arg;
	struct subject subject = { .path = entry->path };
	struct stat st;

	if (entry->type != DT_REG || !is_included(grep, entry) ||
		!gate_readable(grep->ops->gate, entry->path))
		return 0;
	/*
	 * The file may have been replaced by a file of another kind since it was listed.  Do not
	 * read such a file.
	 */
	owned_fd int fd = at_name_read(entry->dir, entry->name);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		grep->skipped += fd < 0 && fd != -ENOENT;
		return 0;
	}
	return search_open(grep, &subject, fd, st.st_size, err);
}

/* Search the root of a request.  The root may be a single file. */
static int search_root(struct grep *grep, struct str root, bool no_ignore, struct err *err)
{
	owned(gate_file_release) struct gate_file file = GATE_FILE_INIT;
	int r = gate_open(grep->ops->gate, root, GATE_DIRECTORY, &file, err);

	if (r < 0 && err->code == ERR_SYSTEM && err->errno_value == ENOTDIR) {
		r = gate_open(grep->ops->gate, root, GATE_CONTENT, &file, err);
		struct subject subject = { .path = str_of(file.path ?: "") };

		return r < 0 ? r : search_open(grep, &subject, file.fd, file.st.st_size, err);
	}
	if (r < 0)
		return r;
	struct str path = str_of(file.path);
	struct filewalk walk = {
		.gate = grep->ops->gate,
		.ticket = grep->ops->ticket,
		.no_ignore = no_ignore,
		.depth = FILEWALK_DEPTH_MAX,
		.visit = visit,
		.arg = grep,
	};
	grep->start = path.len + (path.len > 1);
	r = filewalk_run(&walk, file.fd, path, err);
	grep->skipped += walk.skipped;
	return r;
}

int grepfiles_run(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err)
{
	struct grep grep = {
		.ops = ops,
		.search = linesearch_new(request->pattern, LINESEARCH_DROP_CR, err),
		.include = request->include,
		.block = { .max = GREPFILES_LINE_MAX + 2 * BLOCK },
		.max = request->max_matches >= 0 ? (size_t)request->max_matches
						 : GREPFILES_MATCHES_MAX,
		.room = ops->room,
	};
	int r = grep.search ? search_root(&grep, request->root, request->no_ignore, err)
			    : -(int)err->code;

	*reply = (struct wire_reply){
		.kind = WIRE_GREP,
		.n_matches = grep.n,
		.truncated = grep.truncated,
		.skipped = grep.skipped,
	};
	if (grep.n) {
		reply->matches = arena_alloc(ops->arena, grep.n * sizeof(*grep.matches));
		memcpy(reply->matches, grep.matches, grep.n * sizeof(*grep.matches));
	}
	free(grep.matches);
	buf_release(&grep.block);
	linesearch_free(grep.search);
	return r < 0 ? r : 0;
}
