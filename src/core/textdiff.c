/*
 * How it works, in the order of the calls:
 *
 *   split     both contents into lines; a line includes its newline, so a last
 *             line without a newline differs from the same line with a newline
 *   trim      the common lines at both ends
 *   intern    give equal lines equal numbers, and set aside lines that only one
 *             side has, since these are changed in any case
 *   compare   what is left, as sequences of numbers (E. Myers, "An O(ND)
 *             Difference Algorithm and its Variations", 1986, section 4b):
 *             search from both corners at once until the searches meet, split
 *             there, and do the same for both halves
 *   gather    the marks of changed lines into hunks
 *   settle    hunks that would be right some lines higher or lower, too: join
 *             such a hunk to a hunk that it can touch, or else move it down as
 *             far as possible, as diff(1) does
 *
 * In the edit graph, x counts lines of a, and y counts lines of b.  An edge to the right deletes a
 * line of a, an edge down inserts a line of b, and a diagonal edge keeps a line.  Diagonals are
 * numbered x - y, counted from the corner where a search began.
 */
#include "core/textdiff.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

/* Each of the two searches does half of the allowed edit steps. */
#define REACH (TEXTDIFF_COST_MAX / 2)
#define BINARY_PROBE ((size_t)8 << 10)

/* ------------------------------------------------------------------- lines */

struct lines {
	struct str text;
	size_t *start; /* count + 1 offsets: line i is [start[i], start[i + 1]) */
	size_t count;
};

static void lines_release(struct lines *lines)
{
	free(lines->start);
}

static struct lines split(struct str text)
{
	struct lines lines = { .text = text };
	size_t cap = 0, at = 0;

	for (;;) {
		mem_grow(&lines.start, &cap, lines.count);
		lines.start[lines.count] = at;
		if (at == text.len)
			return lines;
		const char *newline = memchr(text.ptr + at, '\n', text.len - at);
		at = newline ? (size_t)(newline - text.ptr) + 1 : text.len;
		lines.count++;
	}
}

static struct str line_at(const struct lines *lines, size_t i)
{
	return (struct str){ lines->text.ptr + lines->start[i],
		lines->start[i + 1] - lines->start[i] };
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
	return str_eq(line_at(a, i), line_at(b, j));
}

/* --------------------------------------------------------------- interning */

enum side { SIDE_A = 1 << 0, SIDE_B = 1 << 1 };

struct interned {
	uint64_t hash;
	struct str line;
	unsigned sides; /* enum side of the contents that have the line */
};

struct interns {
	struct interned *entries;
	size_t count;
	uint32_t *slots; /* open addressing; index of an entry + 1, or 0 */
	size_t mask;
	uint64_t seed;
};

static void interns_release(struct interns *interns)
{
	free(interns->entries);
	free(interns->slots);
}

static void interns_init(struct interns *interns, size_t lines)
{
	size_t size = 64;

	assert(lines < UINT32_MAX);
	while (size < 2 * lines)
		size *= 2;
	*interns = (struct interns){
		.entries = mem_alloc(lines * sizeof(*interns->entries)),
		.slots = mem_zalloc(size * sizeof(*interns->slots)),
		.mask = size - 1,
	};
	/*
	 * With a secret seed, nobody can make a content whose lines have equal hashes.  Without a
	 * secret seed, such a content would only cost time.
	 */
	if (getrandom(&interns->seed, sizeof(interns->seed), GRND_NONBLOCK) < 0)
		interns->seed = (uintptr_t)interns->entries;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_line(struct str line, uint64_t seed)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = seed ^ line.len;
	uint64_t word;

	for (; line.len >= sizeof(word); line.ptr += sizeof(word), line.len -= sizeof(word)) {
		memcpy(&word, line.ptr, sizeof(word));
		hash = mix(hash ^ word, odd ^ seed);
	}
	word = 0;
	memcpy(&word, line.ptr, line.len);
	return mix(hash ^ word, odd ^ seed);
}

static uint32_t intern(struct interns *interns, struct str line, enum side side)
{
	uint64_t hash = hash_line(line, interns->seed);

	for (size_t slot = hash & interns->mask;; slot = (slot + 1) & interns->mask) {
		if (!interns->slots[slot]) {
			interns->entries[interns->count] = (struct interned){ hash, line, side };
			interns->slots[slot] = (uint32_t)++interns->count;
			return interns->slots[slot] - 1;
		}
		struct interned *entry = &interns->entries[interns->slots[slot] - 1];
		if (entry->hash == hash && str_eq(entry->line, line)) {
			entry->sides |= side;
			return interns->slots[slot] - 1;
		}
	}
}

/* -------------------------------------------------------------- comparison */

/* The lines of one content that are neither trimmed nor set aside. */
struct sequence {
	uint32_t *ids;
	size_t *at; /* the line number of each id */
	ptrdiff_t count;
	bool *changed; /* for each line number of the whole content: whether the line is changed */
};

static void sequence_release(struct sequence *sequence)
{
	free(sequence->ids);
	free(sequence->at);
	free(sequence->changed);
}

/* Make the sequence of the lines [first, last), with equal numbers for equal lines. */
static void sequence_init(struct sequence *sequence, const struct lines *lines, size_t first,
	size_t last, struct interns *interns, enum side side)
{
	*sequence = (struct sequence){
		.ids = mem_alloc((last - first) * sizeof(*sequence->ids)),
		.at = mem_alloc((last - first) * sizeof(*sequence->at)),
		.changed = mem_zalloc(lines->count * sizeof(*sequence->changed)),
	};
	for (size_t i = first; i < last; i++) {
		sequence->ids[sequence->count] = intern(interns, line_at(lines, i), side);
		sequence->at[sequence->count++] = i;
	}
}

static void set_aside_unmatched(struct sequence *sequence, const struct interns *interns)
{
	ptrdiff_t kept = 0;

	for (ptrdiff_t i = 0; i < sequence->count; i++) {
		if (interns->entries[sequence->ids[i]].sides == (SIDE_A | SIDE_B)) {
			sequence->ids[kept] = sequence->ids[i];
			sequence->at[kept++] = sequence->at[i];
		} else {
			sequence->changed[sequence->at[i]] = true;
		}
	}
	sequence->count = kept;
}

/* A rectangle of the edit graph: lines [x0, x1) of a against lines [y0, y1) of b. */
struct box {
	ptrdiff_t x0, x1;
	ptrdiff_t y0, y1;
};

struct search {
	struct sequence a, b;
	/*
	 * How far each search has come on each diagonal.  'forward' has the largest x that the
	 * search from the first corner has reached.  'backward' has the smallest x that the search
	 * from the last corner has reached.  Diagonal 0 is in the middle of each array.
	 */
	ptrdiff_t forward[2 * REACH + 3];
	ptrdiff_t backward[2 * REACH + 3];
};

static void search_release(struct search *search)
{
	sequence_release(&search->a);
	sequence_release(&search->b);
}

static void replace(struct search *search, struct box box)
{
	for (ptrdiff_t x = box.x0; x < box.x1; x++)
		search->a.changed[search->a.at[x]] = true;
	for (ptrdiff_t y = box.y0; y < box.y1; y++)
		search->b.changed[search->b.at[y]] = true;
}

static struct box met_at(ptrdiff_t x, ptrdiff_t y)
{
	return (struct box){ x, x, y, y };
}

/*
 * Returns the number of the outermost diagonal that round d visits on the negative side of the
 * middle diagonal.  'edge' is how many diagonals the box has on that side.  While d <= edge, the
 * outermost diagonal is -d.  Each later round stays one diagonal further inside, since one more of
 * the outer diagonals has come to the edge of the box.
 */
static ptrdiff_t outermost(ptrdiff_t d, ptrdiff_t edge)
{
	return d <= edge ? -d : d - 2 * edge;
}

/*
 * To be called when each search has done REACH steps and the searches have not met.  Returns the
 * gap between the furthest points of the two searches.  The furthest point of a search is the point
 * up to which the search has passed the most lines.
 */
static struct box gap_between(const struct search *search, struct box box)
{
	const ptrdiff_t *forward = search->forward + REACH + 1;
	const ptrdiff_t *backward = search->backward + REACH + 1;
	const ptrdiff_t right = -outermost(REACH, box.x1 - box.x0);
	const ptrdiff_t left = -outermost(REACH, box.y1 - box.y0);
	struct box gap = box;

	for (ptrdiff_t k = -left; k <= right; k += 2) {
		ptrdiff_t x = forward[k], y = x - box.x0 + box.y0 - k;

		/* A path may run past the edge of the box.  Such a path does not count. */
		if (x <= box.x1 && y <= box.y1 && x + y > gap.x0 + gap.y0)
			gap.x0 = x, gap.y0 = y;
	}
	for (ptrdiff_t k = -right; k <= left; k += 2) {
		ptrdiff_t x = backward[k], y = x - box.x1 + box.y1 - k;

		if (x >= gap.x0 && y >= gap.y0 && x + y < gap.x1 + gap.y1)
			gap.x1 = x, gap.y1 = y;
	}
	return gap;
}

/*
 * Search the box from both corners.  A shortest path passes through the point where the searches
 * meet, so that point is returned, as an empty box.  Each round d finds everything that d edit
 * steps can reach.  If the searches do not meet within REACH rounds, the gap between them is
 * returned.
 */
static struct box find_meeting_point(struct search *search, struct box box)
{
	const uint32_t *a = search->a.ids, *b = search->b.ids;
	ptrdiff_t *forward = search->forward + REACH + 1;
	ptrdiff_t *backward = search->backward + REACH + 1;
	const ptrdiff_t width = box.x1 - box.x0, height = box.y1 - box.y0;
	const ptrdiff_t shift = width - height; /* forward diagonal that is backward diagonal 0 */
	const bool odd = shift & 1;             /* the length of a shortest path is odd */

	/*
	 * Both searches begin at their corners.  The caller has trimmed the box, so no diagonal
	 * edge leads out of a corner.
	 */
	forward[0] = box.x0;
	backward[0] = box.x1;
	for (ptrdiff_t d = 1; d <= REACH; d++) {
		const ptrdiff_t low = outermost(d, height), high = -outermost(d, width);

		for (ptrdiff_t k = high; k >= low; k -= 2) {
			bool down = k == -d || (k != d && forward[k + 1] > forward[k - 1]);
			ptrdiff_t x = down ? forward[k + 1] : forward[k - 1] + 1;
			ptrdiff_t y = x - box.x0 + box.y0 - k;

			while (x < box.x1 && y < box.y1 && a[x] == b[y])
				x++, y++;
			forward[k] = x;
			if (odd && k - shift > -d && k - shift < d && x >= backward[k - shift])
				return met_at(x, y);
		}
		for (ptrdiff_t k = -low; k >= -high; k -= 2) {
			bool up = k == d || (k != -d && backward[k - 1] < backward[k + 1]);
			ptrdiff_t x = up ? backward[k - 1] : backward[k + 1] - 1;
			ptrdiff_t y = x - box.x1 + box.y1 - k;

			while (x > box.x0 && y > box.y0 && a[x - 1] == b[y - 1])
				x--, y--;
			backward[k] = x;
			if (!odd && k + shift >= -d && k + shift <= d && x <= forward[k + shift])
				return met_at(x, y);
		}
	}
	return gap_between(search, box);
}

/*
 * Mark the changed lines of the box.  The depth of the recursion is logarithmic, since each half of
 * a box has half of its edits.
 */
static void compare_box(struct search *search, struct box box)
{
	const uint32_t *a = search->a.ids, *b = search->b.ids;

	while (box.x0 < box.x1 && box.y0 < box.y1 && a[box.x0] == b[box.y0])
		box.x0++, box.y0++;
	while (box.x0 < box.x1 && box.y0 < box.y1 && a[box.x1 - 1] == b[box.y1 - 1])
		box.x1--, box.y1--;
	if (box.x0 == box.x1 || box.y0 == box.y1) {
		replace(search, box);
		return;
	}
	struct box gap = find_meeting_point(search, box);
	compare_box(search, (struct box){ box.x0, gap.x0, box.y0, gap.y0 });
	replace(search, gap);
	compare_box(search, (struct box){ gap.x1, box.x1, gap.y1, box.y1 });
}

/* ------------------------------------------------------------------- hunks */

static size_t gather_hunks(
	const struct search *search, size_t a_count, size_t b_count, struct textdiff_hunk **hunks)
{
	const bool *a = search->a.changed, *b = search->b.changed;
	size_t count = 0, cap = 0, i = 0, j = 0;

	*hunks = NULL;
	for (; i < a_count || j < b_count; i++, j++) {
		struct textdiff_hunk hunk = { .a = i, .b = j };

		while (i < a_count && a[i])
			i++;
		while (j < b_count && b[j])
			j++;
		hunk.a_len = i - hunk.a;
		hunk.b_len = j - hunk.b;
		if (hunk.a_len || hunk.b_len) {
			mem_grow(hunks, &cap, count);
			(*hunks)[count++] = hunk;
		}
	}
	return count;
}

static bool touches(const struct textdiff_hunk *first, const struct textdiff_hunk *second)
{
	return first->a + first->a_len == second->a && first->b + first->b_len == second->b;
}

static struct textdiff_hunk joined(struct textdiff_hunk first, struct textdiff_hunk second)
{
	first.a_len += second.a_len;
	first.b_len += second.b_len;
	return first;
}

/*
 * Whether a hunk can move up by a line.  Only a pure deletion or insertion can move, and only if
 * the line above the hunk equals the last line of the hunk.
 */
static bool can_move_up(
	const struct textdiff_hunk *hunk, const struct lines *a, const struct lines *b)
{
	if (!hunk->a || !hunk->b)
		return false;
	if (!hunk->b_len)
		return same_line(a, hunk->a - 1, a, hunk->a + hunk->a_len - 1);
	if (!hunk->a_len)
		return same_line(b, hunk->b - 1, b, hunk->b + hunk->b_len - 1);
	return false;
}

static bool can_move_down(
	const struct textdiff_hunk *hunk, const struct lines *a, const struct lines *b)
{
	size_t a_end = hunk->a + hunk->a_len, b_end = hunk->b + hunk->b_len;

	if (a_end == a->count || b_end == b->count)
		return false;
	if (!hunk->b_len)
		return same_line(a, hunk->a, a, a_end);
	if (!hunk->a_len)
		return same_line(b, hunk->b, b, b_end);
	return false;
}

/*
 * Move and join the hunks of an array, as the head of this file says.  Returns the number of hunks
 * that are left.
 */
static size_t settle_hunks(
	struct textdiff_hunk *hunks, size_t count, const struct lines *a, const struct lines *b)
{
	size_t settled = 0;

	for (size_t i = 0; i < count; i++) {
		struct textdiff_hunk hunk = hunks[i];

		for (;;) {
			while (settled && touches(&hunks[settled - 1], &hunk))
				hunk = joined(hunks[--settled], hunk);
			if (!can_move_up(&hunk, a, b))
				break;
			hunk.a--, hunk.b--;
		}
		for (;;) {
			while (i + 1 < count && touches(&hunk, &hunks[i + 1]))
				hunk = joined(hunk, hunks[++i]);
			if (!can_move_down(&hunk, a, b))
				break;
			hunk.a++, hunk.b++;
		}
		hunks[settled++] = hunk;
	}
	return settled;
}

static size_t find_hunks(const struct lines *a, const struct lines *b, struct textdiff_hunk **hunks)
{
	size_t first = 0, a_last = a->count, b_last = b->count;

	while (first < a_last && first < b_last && same_line(a, first, b, first))
		first++;
	while (first < a_last && first < b_last && same_line(a, a_last - 1, b, b_last - 1))
		a_last--, b_last--;

	owned(interns_release) struct interns interns;
	owned(search_release) struct search search;

	interns_init(&interns, a_last - first + b_last - first);
	sequence_init(&search.a, a, first, a_last, &interns, SIDE_A);
	sequence_init(&search.b, b, first, b_last, &interns, SIDE_B);
	set_aside_unmatched(&search.a, &interns);
	set_aside_unmatched(&search.b, &interns);
	compare_box(&search, (struct box){ 0, search.a.count, 0, search.b.count });

	size_t count = gather_hunks(&search, a->count, b->count, hunks);

	return settle_hunks(*hunks, count, a, b);
}

size_t textdiff_hunks(struct str a, struct str b, struct textdiff_hunk **hunks)
{
	owned(lines_release) struct lines a_lines = split(a);
	owned(lines_release) struct lines b_lines = split(b);

	return find_hunks(&a_lines, &b_lines, hunks);
}

/* ----------------------------------------------------------------- unified */

static void print_lines(
	struct buf *out, char mark, const struct lines *lines, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		struct str line = line_at(lines, i);

		buf_addc(out, mark);
		buf_add(out, line.ptr, line.len);
		if (line.ptr[line.len - 1] != '\n')
			buf_adds(out, "\n\\ No newline at end of file\n");
	}
}

/*
 * Print a range such as "12,3".  A count of 1 is left out.  An empty range has the number of the
 * line before the range.
 */
static void print_range(struct buf *out, size_t first, size_t last)
{
	size_t count = last - first;

	buf_addf(out, "%zu", count ? first + 1 : first);
	if (count != 1)
		buf_addf(out, ",%zu", count);
}

/* Print one "@@" section.  Its hunks are so close to each other that their contexts meet. */
static void print_section(struct buf *out, const struct lines *a, const struct lines *b,
	const struct textdiff_hunk *hunks, size_t count, size_t context)
{
	const struct textdiff_hunk *last = &hunks[count - 1];
	size_t a_end = last->a + last->a_len, b_end = last->b + last->b_len;
	size_t before = hunks->a < context ? hunks->a : context;
	size_t after = a->count - a_end < context ? a->count - a_end : context;
	size_t at = hunks->a - before;

	buf_adds(out, "@@ -");
	print_range(out, at, a_end + after);
	buf_adds(out, " +");
	print_range(out, hunks->b - before, b_end + after);
	buf_adds(out, " @@\n");
	for (size_t i = 0; i < count; i++) {
		const struct textdiff_hunk *hunk = &hunks[i];

		print_lines(out, ' ', a, at, hunk->a);
		print_lines(out, '-', a, hunk->a, hunk->a + hunk->a_len);
		print_lines(out, '+', b, hunk->b, hunk->b + hunk->b_len);
		at = hunk->a + hunk->a_len;
	}
	print_lines(out, ' ', a, at, a_end + after);
}

void textdiff_unified(struct buf *out, struct str a, struct str b, const char *name_a,
	const char *name_b, size_t context)
{
	owned(lines_release) struct lines a_lines = split(a);
	owned(lines_release) struct lines b_lines = split(b);
	owned_mem struct textdiff_hunk *hunks = NULL;
	size_t count = find_hunks(&a_lines, &b_lines, &hunks);

	if (!count)
		return;
	buf_addf(out, "--- %s\n+++ %s\n", name_a, name_b);
	for (size_t first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count; next++) {
			size_t end = hunks[next - 1].a + hunks[next - 1].a_len;
			size_t gap = hunks[next].a - end;

			if (gap - gap / 2 > context) /* 2 * context might overflow */
				break;
		}
		print_section(out, &a_lines, &b_lines, hunks + first, next - first, context);
	}
}

bool textdiff_is_binary(struct str content)
{
	size_t probe = content.len < BINARY_PROBE ? content.len : BINARY_PROBE;

	return probe && memchr(content.ptr, '\0', probe);
}

void textdiff_name(struct buf *out, const char *prefix, bool exists, struct str path)
{
	owned(buf_release) struct buf whole = BUF_INIT;

	if (!exists)
		return buf_adds(out, "/dev/null");
	buf_adds(&whole, prefix);
	buf_add(&whole, path.ptr, path.len);
	text_quote(out, (struct str){ whole.data, whole.len });
}
