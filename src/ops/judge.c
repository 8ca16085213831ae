#include "ops/judge.h"

#include <ctype.h>
#include <string.h>

#include "core/own.h"
#include "ops/refview.h"
#include "tree/content.h"

#define NESTED_MAX 3 /* maximum nesting of command lines (sh -c) */
#define SHEBANG "#!"

struct reader {
	struct op_context *ctx;
	struct view *view;
	struct judge *judge;
	const char *cwd; /* directory of the current command, relative to the root; "": the root */
	int nested;
};

/* ------------------------------------------------------------------- one path */

/*
 * Returns the path that 'word' stands for, relative to the root, and without "." and doubled
 * slashes.  Returns NULL if the path is the root, or if 'word' has "..".
 */
static const char *from_root(struct reader *reader, const char *word)
{
	char *whole =
		arena_printf(reader->ctx->arena, "%s/%s", word[0] == '/' ? "" : reader->cwd, word);
	char *out = whole, *next = NULL;

	for (char *part = strtok_r(whole, "/", &next); part; part = strtok_r(NULL, "/", &next)) {
		size_t len = strlen(part);

		if (!strcmp(part, "."))
			continue;
		if (!strcmp(part, ".."))
			return NULL;
		if (out != whole)
			*out++ = '/';
		memmove(out, part, len);
		out += len;
	}
	*out = '\0';
	return out == whole ? NULL : whole;
}

static int stat_base(struct reader *reader, const char *path, struct entry *entry, struct err *err)
{
	return reader->view->ops->stat(reader->view, str_of(path), reader->ctx->arena, entry, err);
}

static int add_path(struct reader *reader, const char *path, struct err *err)
{
	struct judge *judge = reader->judge;

	for (size_t i = 0; i < judge->n; i++)
		if (!strcmp(judge->paths[i], path))
			return 0;
	if (judge->n == JUDGE_PATHS_MAX)
		return err_set(
			err, ERR_LIMIT, "the test is made of more than %d paths", JUDGE_PATHS_MAX);
	judge->paths[judge->n++] = path;
	return 0;
}

static bool is_script(struct reader *reader, const char *path, const struct entry *entry)
{
	owned(buf_release) struct buf start = BUF_INIT;
	struct err ignored = { 0 };

	return entry->type == ENTRY_FILE &&
	       reader->view->ops->read(reader->view, entry, str_of(path), 0, strlen(SHEBANG),
		       content_append, &start, &ignored) >= 0 &&
	       start.len == strlen(SHEBANG) && !memcmp(start.data, SHEBANG, start.len);
}

/* Whether the list 'words' contains 'word'.  The list ends with NULL. */
static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(word, *words))
		words++;
	return *words;
}

/*
 * Whether a path has the name of a test.  This is so if one of its words is in the list below or
 * begins with "test".  ("latest" does not begin with "test".)
 */
static bool name_says_test(const char *path)
{
	static const char *const words[] = { "check", "checks", "spec", "specs" };

	for (const char *at = path; *at;) {
		size_t len = 0;

		while (isalpha((unsigned char)at[len]))
			len++;
		if (len >= 4 && !strncasecmp(at, "test", 4))
			return true;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (len == strlen(words[i]) && !strncasecmp(at, words[i], len))
				return true;
		at += len ? len : 1;
	}
	return false;
}

enum role { ROLE_PROGRAM, ROLE_SCRIPT, ROLE_OTHER };

static int add_if_test(struct reader *reader, const char *word, enum role role, struct err *err)
{
	const char *path = strpbrk(word, "$*?`[") ? NULL : from_root(reader, word);
	struct err ignored = { 0 };
	struct entry entry;

	/* A program name without a slash is looked up in PATH, and not in the working directory. */
	if (!path || (role == ROLE_PROGRAM && !strchr(word, '/')) ||
		stat_base(reader, path, &entry, &ignored) <= 0)
		return 0;
	if (role == ROLE_SCRIPT || name_says_test(path) ||
		(role == ROLE_PROGRAM && is_script(reader, path, &entry)))
		return add_path(reader, path, err);
	return 0;
}

/* --------------------------------------------------------------- command lines */

enum token { TOKEN_END, TOKEN_WORD, TOKEN_OPERATOR, TOKEN_REDIRECTION };

/* Read the next word of a shell command line, without its quotes, or the next operator. */
static enum token next_token(const char **line, struct buf *word)
{
	const char *at = *line + strspn(*line, " \t\r");
	char quote = 0;
	bool any = false;

	buf_clear(word);
	if (*at && strchr(";|&()\n", *at)) {
		*line = at + 1;
		return TOKEN_OPERATOR;
	}
	if (*at == '<' || *at == '>') {
		*line = at + strspn(at, "<>&|");
		return TOKEN_REDIRECTION;
	}
	for (; *at && (quote || !strchr(" \t\r\n;|&()<>", *at)); at++) {
		any = true;
		if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? 0 : *at;
		else if (*at == '\\' && quote != '\'' && at[1])
			buf_addc(word, *++at);
		else
			buf_addc(word, *at);
	}
	*line = at;
	return any ? TOKEN_WORD : TOKEN_END;
}

/*
 * Whether 'word' can come before a command: a keyword, an assignment, or a program that runs
 * another program.
 */
static bool is_prefix(const char *word)
{
	static const char *const words[] = { "!", "{", "if", "then", "else", "elif", "while",
		"until", "do", "time", "exec", "env", "nice", "command", NULL };
	size_t name =
		strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	return is_one_of(word, words) || (name && word[name] == '=');
}

static const char *base_name(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

static bool is_shell(const char *name)
{
	static const char *const names[] = { "sh", "bash", "dash", "ash", "ksh", "zsh", NULL };

	return is_one_of(name, names);
}

static bool is_interpreter(const char *name)
{
	static const char *const names[] = { "perl", "ruby", "node", "php", "lua", "bats", "tclsh",
		".", "source", NULL };

	return is_one_of(name, names) || is_shell(name) || !strncmp(name, "python", 6);
}

/* State of the current command after the words that have been read. */
struct command_state {
	bool named;      /* the program of the command has been read */
	bool interprets; /* the program is an interpreter; its next operand is a script */
	bool shell;      /* the program is a shell */
	bool line;       /* the program is a shell with -c; its next operand is a command line */
	bool moves;      /* the program is cd; its next operand is a directory */
	bool redirected; /* the next word is the file of a redirection */
};

static int read_line(struct reader *reader, const char *line, struct err *err);

static int read_program(
	struct reader *reader, struct command_state *now, const char *word, struct err *err)
{
	const char *name = base_name(word);

	if (is_prefix(word))
		return 0;
	*now = (struct command_state){
		.named = true,
		.interprets = is_interpreter(name),
		.shell = is_shell(name),
		.moves = !strcmp(name, "cd"),
	};
	return add_if_test(reader, word, ROLE_PROGRAM, err);
}

static int read_operand(
	struct reader *reader, struct command_state *now, const char *word, struct err *err)
{
	if (now->moves) {
		const char *path = from_root(reader, word);

		reader->cwd = path ? path : "";
		now->moves = false;
		return 0;
	}
	if (now->line) {
		now->line = now->interprets = false;
		return read_line(reader, word, err);
	}
	bool script = now->interprets;
	now->interprets = false;
	return add_if_test(reader, word, script ? ROLE_SCRIPT : ROLE_OTHER, err);
}

static int read_word(
	struct reader *reader, struct command_state *now, const char *word, struct err *err)
{
	const char *value = strchr(word, '=');

	if (now->redirected) {
		now->redirected = false;
		return add_if_test(reader, word, ROLE_OTHER, err);
	}
	if (!now->named)
		return read_program(reader, now, word, err);
	if (word[0] != '-')
		return read_operand(reader, now, word, err);
	/*
	 * With options such as "-ec", the next operand of a shell is a command line.  After
	 * "python3 -m" comes a module, and not a script.
	 */
	now->line |= now->shell && now->interprets && word[1] != '-' && strchr(word, 'c');
	if (!strcmp(word, "-m"))
		now->interprets = false;
	return value && word[1] == '-' ? add_if_test(reader, value + 1, ROLE_OTHER, err) : 0;
}

static int read_line(struct reader *reader, const char *line, struct err *err)
{
	owned(buf_release) struct buf word = BUF_INIT;
	struct command_state now = { 0 };
	enum token token;
	int r = 0;

	if (reader->nested == NESTED_MAX)
		return 0;
	reader->nested++;
	while (r >= 0 && (token = next_token(&line, &word)) != TOKEN_END) {
		if (token == TOKEN_OPERATOR)
			now = (struct command_state){ 0 };
		else if (token == TOKEN_REDIRECTION)
			now.redirected = true;
		else if (word.len)
			r = read_word(reader, &now, word.data, err);
	}
	reader->nested--;
	return r;
}

/* ---------------------------------------------------------------------- search */

static int add_given(struct reader *reader, const char *text, struct err *err)
{
	const char *path = from_root(reader, text);
	struct entry entry;
	int r = path ? stat_base(reader, path, &entry, err) : 0;

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, ERR_INVALID, "--test-path '%s' is not in the base", text);
	return add_path(reader, path, err);
}

int judge_find(struct op_context *ctx, const struct judge_search *search, struct judge *judge,
	struct err *err)
{
	struct str root;
	owned(view_closep) struct view *view = refview_open(ctx, search->base, &root, NULL, err);
	struct reader reader = { .ctx = ctx, .view = view, .judge = judge, .cwd = "" };
	int r = view ? 0 : -(int)err->code;

	for (size_t i = 0; r >= 0 && i < search->given->count; i++)
		r = add_given(&reader, search->given->list[i], err);
	for (size_t i = 0; r >= 0 && i < 2; i++) {
		reader.cwd = "";
		if (search->lines[i])
			r = read_line(&reader, search->lines[i], err);
	}
	return r;
}
