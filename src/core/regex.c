/*
 * Patterns and contents come from other programs, so every resource is limited: pattern length,
 * match steps, backtracking depth, heap.  A pattern can lower these limits by (*LIMIT_...=) but
 * never raise them.
 *
 * Compiling a regex to machine code pays off only if much text is searched.  So a regex is
 * interpreted until it has seen JIT_AFTER bytes.  The interpreter, with the same limits, is also
 * used where executable memory is refused, and where the small stack of the compiled code is not
 * enough.
 */
#include "core/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

#define DEPTH_LIMIT 250000
#define HEAP_LIMIT_KIB (32u << 10)
#define JIT_AFTER ((size_t)256 << 10)
#define DFA_TEXT_MAX ((size_t)64 << 10) /* the time may grow with the square of the length */
#define DFA_WORKSPACE 4096

struct regex {
	pcre2_code *code;
	pcre2_code *dfa_code; /* the pattern for match_dfa; NULL: match_dfa cannot be used */
	pcre2_match_data *data;
	pcre2_match_context *match;
	size_t seen; /* bytes that the interpreter has searched */
};

/* mem_alloc ends the program when memory runs out, so pcre2 never sees a failure. */
static void *allocate_memory(size_t size, void *unused)
{
	return mem_alloc(size);
}

static void free_memory(void *ptr, void *unused)
{
	free(ptr);
}

void regex_free(struct regex *regex)
{
	if (!regex)
		return;
	pcre2_match_context_free(regex->match);
	pcre2_match_data_free(regex->data);
	pcre2_code_free(regex->code);
	pcre2_code_free(regex->dfa_code);
	free(regex);
}

void regex_freep(struct regex **regex)
{
	regex_free(*regex);
}

static void free_general(pcre2_general_context **general)
{
	pcre2_general_context_free(*general);
}

static void free_compile(pcre2_compile_context **compile)
{
	pcre2_compile_context_free(*compile);
}

static uint32_t compile_options(struct str pattern, unsigned flags)
{
	bool utf = text_is_utf8(pattern);
	uint32_t options = 0;

	if (utf)
		options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
	if (flags & REGEX_IGNORE_CASE)
		options |= PCRE2_CASELESS;
	if (flags & REGEX_LINES)
		options |= PCRE2_MULTILINE;
	/* PCRE2_LITERAL cannot be combined with options about escapes. */
	if (flags & REGEX_LITERAL)
		return options | PCRE2_LITERAL;
	options |= PCRE2_NEVER_BACKSLASH_C;
	return options | (utf ? PCRE2_UCP : PCRE2_NEVER_UTF | PCRE2_NEVER_UCP);
}

struct regex *regex_new(struct str pattern, unsigned flags, struct err *err)
{
	PCRE2_SPTR bytes = (PCRE2_SPTR)(pattern.ptr ?: "");
	char why[128];
	PCRE2_SIZE offset;
	int code;

	if (pattern.len > REGEX_PATTERN_MAX) {
		(void)err_set(err, ERR_LIMIT, "pattern is longer than %d bytes", REGEX_PATTERN_MAX);
		return NULL;
	}
	owned(free_general) pcre2_general_context *general =
		pcre2_general_context_create(allocate_memory, free_memory, NULL);
	owned(free_compile) pcre2_compile_context *compile = pcre2_compile_context_create(general);
	owned(regex_freep) struct regex *regex = mem_zalloc(sizeof(*regex));

	(void)pcre2_set_max_pattern_length(compile, REGEX_PATTERN_MAX);
	(void)pcre2_set_newline(compile, PCRE2_NEWLINE_LF);
	regex->code = pcre2_compile(
		bytes, pattern.len, compile_options(pattern, flags), &code, &offset, compile);
	if (!regex->code) {
		(void)pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
		(void)err_set(err, ERR_INVALID, "bad pattern at offset %zu: %s", offset, why);
		return NULL;
	}
	/*
	 * DFA matching does not support PCRE2_MATCH_INVALID_UTF, so it works only on valid UTF-8.
	 */
	regex->dfa_code = pcre2_compile(bytes, pattern.len,
		compile_options(pattern, flags) & ~PCRE2_MATCH_INVALID_UTF, &code, &offset,
		compile);
	regex->data = pcre2_match_data_create_from_pattern(regex->code, general);
	regex->match = pcre2_match_context_create(general);
	(void)pcre2_set_match_limit(regex->match, REGEX_MATCH_LIMIT);
	(void)pcre2_set_depth_limit(regex->match, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(regex->match, HEAP_LIMIT_KIB);
	return take_ptr(&regex);
}

static int match_text(struct regex *regex, struct str text, uint32_t options)
{
	return pcre2_match(regex->code, (PCRE2_SPTR)(text.ptr ?: ""), text.len, 0, options,
		regex->data, regex->match);
}

static void count_for_jit(struct regex *regex, size_t len)
{
	if (regex->seen >= JIT_AFTER)
		return;
	regex->seen += len < JIT_AFTER ? len : JIT_AFTER;
	if (regex->seen >= JIT_AFTER)
		(void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
}

/*
 * Match without backtracking.  This takes one step for each alternative at each byte, and does not
 * support back references.
 */
static int match_dfa(struct regex *regex, struct str text)
{
	int workspace[DFA_WORKSPACE];

	if (text.len > DFA_TEXT_MAX || !regex->dfa_code)
		return PCRE2_ERROR_MATCHLIMIT;
	int found = pcre2_dfa_match(regex->dfa_code, (PCRE2_SPTR)(text.ptr ?: ""), text.len, 0, 0,
		regex->data, regex->match, workspace, DFA_WORKSPACE);
	return found >= 0 || found == PCRE2_ERROR_NOMATCH ? found : PCRE2_ERROR_MATCHLIMIT;
}

int regex_find(struct regex *regex, struct str text, size_t *start, size_t *end, struct err *err)
{
	char why[128];

	count_for_jit(regex, text.len);
	int found = match_text(regex, text, 0);
	if (found == PCRE2_ERROR_JIT_STACKLIMIT)
		found = match_text(regex, text, PCRE2_NO_JIT);
	if (found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_DEPTHLIMIT)
		found = match_dfa(regex, text);
	if (found >= 0) {
		const PCRE2_SIZE *span = pcre2_get_ovector_pointer(regex->data);

		*start = span[0];
		*end = span[1];
		return 1;
	}
	switch (found) {
	case PCRE2_ERROR_NOMATCH:
		return 0;
	case PCRE2_ERROR_MATCHLIMIT:
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
		return err_set(err, ERR_LIMIT, "pattern takes too many steps to match");
	default:
		(void)pcre2_get_error_message(found, (PCRE2_UCHAR *)why, sizeof(why));
		return err_set(err, ERR_INVALID, "pattern cannot be matched: %s", why);
	}
}
