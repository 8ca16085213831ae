#include "ops/resultview.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "ops/valuetext.h"
#include "query/method.h"

#define GAP 2     /* spaces between two columns */
#define NESTING 4 /* spaces of indent for the lines below a heading */
#define COLUMNS_MAX 32

/*
 * Layouts for methods whose result consists mainly of one text, and for methods whose table would
 * have more columns than people need.  A column "a.b" is the member b of the object a.
 */
static const struct layout {
	const char *method;
	const char *text;    /* the member to print as it is */
	const char *columns; /* names of the columns, in order, with spaces between them */
} layouts[] = {
	{ "cat", "content", NULL },
	{ "file_diff", "diff", NULL },
	{ "find_files", NULL, "type path" },
	{ "grep_history", NULL, "path line first.snapshot last.snapshot text" },
	{ "list_datasets", NULL, "name type used avail mountpoint" },
	{ "list_dir", NULL, "type mode size mtime name target" },
	{ "list_snapshots", NULL, "name creation used refer kind exit_status cleanup message" },
	{ "read_file", "content", NULL },
	{ "stale_snapshots", NULL, "name creation used refer kind exit_status cleanup message" },
	{ "versions_of", NULL,
		"snapshots size first_seen.creation first_seen.snapshot last_seen.snapshot "
		"sha256" },
};

/* Members that say that something is missing in the result. */
static const struct {
	const char *name;
	const char *what; /* text before the number */
} lacks[] = {
	{ "left_out", "datasets or snapshots left out because of their names or of access rights" },
	{ "unreadable", "files or directories that could not be read" },
};

static const struct layout *find_layout(const char *method)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (!strcmp(layouts[i].method, method))
			return &layouts[i];
	return NULL;
}

/* ------------------------------------------------------------------- tables */

struct column {
	struct str name; /* "a" or "a.b" */
	size_t width;
	bool number; /* the column is aligned to the right */
	bool used;   /* a row has text in this column */
};

struct table {
	const struct jsonread *rows;
	struct column columns[COLUMNS_MAX];
	size_t n;
	struct arena arena; /* memory of the names of columns */
	size_t indent;
};

static const struct jsonread *cell_of(const struct jsonread *row, struct str name)
{
	char text[80];
	size_t len = name.len < sizeof(text) - 1 ? name.len : sizeof(text) - 1;

	memcpy(text, name.ptr, len);
	text[len] = '\0';
	char *dot = strchr(text, '.');
	if (!dot)
		return jsonread_member(row, text);
	*dot = '\0';
	const struct jsonread *inner = jsonread_member(row, text);
	return inner ? jsonread_member(inner, dot + 1) : NULL;
}

static void add_column(struct table *table, struct str name)
{
	for (size_t i = 0; i < table->n; i++)
		if (str_eq(table->columns[i].name, name))
			return;
	if (table->n < COLUMNS_MAX)
		table->columns[table->n++] =
			(struct column){ .name = arena_str(&table->arena, name) };
}

/* Add a column for each member of a row, and for each member of the objects in the row. */
static void add_columns_of(struct table *table, const struct jsonread *row)
{
	for (size_t i = 0; i < jsonread_count(row); i++) {
		const struct jsonread *value = jsonread_item(row, i);
		struct str name = jsonread_key(row, i);

		if (jsonread_type(value) != JSONREAD_OBJECT) {
			add_column(table, name);
			continue;
		}
		for (size_t k = 0; k < jsonread_count(value); k++)
			add_column(table, str_of(arena_printf(&table->arena, "%s.%s", name.ptr,
						  jsonread_key(value, k).ptr)));
	}
}

static void choose_columns(struct table *table, const struct layout *layout)
{
	const char *names = layout ? layout->columns : NULL;

	while (names && *names) {
		size_t len = strcspn(names, " ");

		add_column(table, (struct str){ names, len });
		names += len + (names[len] == ' ');
	}
	for (size_t i = 0; !names && i < jsonread_count(table->rows); i++)
		add_columns_of(table, jsonread_item(table->rows, i));
}

/* Whether a column can be left out if all its values are like this value. */
static bool is_silent(struct str name, const struct jsonread *cell)
{
	return valuetext_is_empty(cell) ||
	       (str_eq(name, STR("is_truncated")) && !jsonread_bool(cell));
}

static void measure(struct table *table)
{
	owned(buf_release) struct buf text = BUF_INIT;

	for (size_t i = 0; i < table->n; i++) {
		struct column *column = &table->columns[i];

		column->width = column->name.len;
		for (size_t k = 0; k < jsonread_count(table->rows); k++) {
			const struct jsonread *cell =
				cell_of(jsonread_item(table->rows, k), column->name);

			if (!cell || is_silent(column->name, cell))
				continue;
			column->used = true;
			column->number |= valuetext_is_number(column->name, cell);
			buf_clear(&text);
			valuetext_add(&text, column->name, cell);
			size_t width = valuetext_width((struct str){ text.data, text.len });
			if (width > column->width)
				column->width = width;
		}
	}
}

static void add_spaces(struct buf *line, size_t n)
{
	while (n--)
		buf_addc(line, ' ');
}

/* Add a text in a column, and the gap to the next column. */
static void add_in(struct buf *line, const struct column *column, const struct buf *text)
{
	size_t width = valuetext_width((struct str){ text->data, text->len });
	size_t rest = column->width > width ? column->width - width : 0;

	if (column->number)
		add_spaces(line, rest);
	buf_add(line, text->data, text->len);
	add_spaces(line, (column->number ? 0 : rest) + GAP);
}

/* Add a line without the spaces at its end, and begin the next one. */
static void add_line(struct buf *out, struct buf *line)
{
	while (line->len && line->data[line->len - 1] == ' ')
		buf_truncate(line, line->len - 1);
	buf_addc(line, '\n');
	buf_add(out, line->data, line->len);
	buf_clear(line);
}

/*
 * Add the name of a member in words.  The unit at the end of the name is left out, since the value
 * shows it.
 */
static void add_words(struct buf *out, struct str name, bool upper)
{
	static const struct str units[] = { { "_seconds", 8 }, { "_unix", 5 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (name.len > units[i].len &&
			!memcmp(name.ptr + name.len - units[i].len, units[i].ptr, units[i].len))
			name.len -= units[i].len;
	for (size_t i = 0; i < name.len; i++) {
		char c = strchr("._", name.ptr[i]) ? ' ' : name.ptr[i];

		buf_addc(out, upper ? (char)toupper((unsigned char)c) : c);
	}
}

static void add_head(struct buf *out, const struct table *table, struct buf *line, struct buf *text)
{
	add_spaces(line, table->indent);
	for (size_t i = 0; i < table->n; i++) {
		buf_clear(text);
		add_words(text, table->columns[i].name, true);
		add_in(line, &table->columns[i], text);
	}
	add_line(out, line);
}

static void add_row(struct buf *out, const struct table *table, const struct jsonread *row,
	struct buf *line, struct buf *text)
{
	add_spaces(line, table->indent);
	for (size_t i = 0; i < table->n; i++) {
		const struct jsonread *cell = cell_of(row, table->columns[i].name);

		buf_clear(text);
		if (cell)
			valuetext_add(text, table->columns[i].name, cell);
		add_in(line, &table->columns[i], text);
	}
	add_line(out, line);
}

static void add_table(
	struct buf *out, const struct jsonread *rows, const struct layout *layout, size_t indent)
{
	struct table table = { .rows = rows, .indent = indent };
	owned(buf_release) struct buf line = BUF_INIT, text = BUF_INIT;
	size_t used = 0;

	choose_columns(&table, layout);
	measure(&table);
	for (size_t i = 0; i < table.n; i++)
		if (table.columns[i].used)
			table.columns[used++] = table.columns[i];
	table.n = used;
	add_head(out, &table, &line, &text);
	for (size_t i = 0; i < jsonread_count(rows); i++)
		add_row(out, &table, jsonread_item(rows, i), &line, &text);
	arena_release(&table.arena);
}

/* ------------------------------------------------------------------- objects */

static bool is_table(const struct jsonread *value)
{
	return jsonread_type(value) == JSONREAD_ARRAY && jsonread_count(value) &&
	       jsonread_type(jsonread_item(value, 0)) == JSONREAD_OBJECT;
}

/*
 * Whether an object of a list itself contains a list of objects.  A table cannot show such an
 * object.
 */
static bool has_tables(const struct jsonread *list)
{
	for (size_t i = 0; i < jsonread_count(list); i++) {
		const struct jsonread *row = jsonread_item(list, i);

		for (size_t k = 0; k < jsonread_count(row); k++)
			if (is_table(jsonread_item(row, k)))
				return true;
	}
	return false;
}

/*
 * Whether a member of the result is not shown here: it only repeats a parameter, another function
 * shows it, or it is an empty list.
 */
static bool is_told(const struct op *method, const char *name, const struct jsonread *value)
{
	static const char *const others[] = { "base", "cursor", "truncated", "left_out",
		"unreadable" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(name, others[i]))
			return true;
	if (jsonread_type(value) == JSONREAD_ARRAY)
		return !jsonread_count(value);
	for (const struct param *param = method->params; param && param->name; param++)
		if (!strcmp(name, param->name))
			return true;
	return false;
}

struct viewing {
	struct buf *out;
	const struct op *method;
	const struct layout *layout;
	size_t indent;
	bool any; /* a line was added */
};

static void add_object(struct viewing *viewing, const struct jsonread *object);

static void add_nested(struct viewing *viewing, const struct jsonread *object)
{
	viewing->indent += NESTING;
	add_object(viewing, object);
	viewing->indent -= NESTING;
}

static bool is_shown(const struct viewing *viewing, const struct jsonread *object, size_t i)
{
	return viewing->indent ||
	       !is_told(viewing->method, jsonread_key(object, i).ptr, jsonread_item(object, i));
}

/* Add each member of an object on a line, except for members that are tables. */
static void add_lines(struct viewing *viewing, const struct jsonread *object)
{
	owned(buf_release) struct buf line = BUF_INIT, text = BUF_INIT;
	struct column names = { 0 };

	for (int measured = 0; measured <= 1; measured++)
		for (size_t i = 0; i < jsonread_count(object); i++) {
			const struct jsonread *value = jsonread_item(object, i);
			struct str name = jsonread_key(object, i);

			if (!is_shown(viewing, object, i) || is_table(value))
				continue;
			buf_clear(&text);
			add_words(&text, name, false);
			if (!measured) {
				names.width = text.len > names.width ? text.len : names.width;
				continue;
			}
			add_spaces(&line, viewing->indent);
			add_in(&line, &names, &text);
			valuetext_add(&line, name, value);
			add_line(viewing->out, &line);
			viewing->any = true;
			if (jsonread_type(value) == JSONREAD_OBJECT)
				add_nested(viewing, value);
		}
}

/* Add a list of objects: as a table, or one after the other. */
static void add_list(struct viewing *viewing, const struct jsonread *list)
{
	if ((viewing->layout && viewing->layout->columns) || !has_tables(list)) {
		add_table(viewing->out, list, viewing->layout, viewing->indent);
		return;
	}
	for (size_t i = 0; i < jsonread_count(list); i++) {
		if (i)
			buf_addc(viewing->out, '\n');
		add_nested(viewing, jsonread_item(list, i));
	}
}

static void add_object(struct viewing *viewing, const struct jsonread *object)
{
	add_lines(viewing, object);
	for (size_t i = 0; i < jsonread_count(object); i++) {
		const struct jsonread *value = jsonread_item(object, i);

		if (!is_table(value) || !is_shown(viewing, object, i))
			continue;
		if (viewing->any)
			buf_addc(viewing->out, '\n');
		add_list(viewing, value);
		viewing->any = true;
	}
}

/* ------------------------------------------------------------------- the whole result */

/* Add the text that is the answer, such as the content of a file. */
static void add_answer(
	struct buf *out, struct buf *notes, const struct jsonread *result, const char *name)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct str text = { "", 0 }, encoding = { "", 0 };

	(void)jsonread_get_str(result, name, &text);
	(void)jsonread_get_str(result, "encoding", &encoding);
	if (str_eq(encoding, STR("base64")) && text_unbase64(&bytes, text))
		text = (struct str){ bytes.data, bytes.len };
	buf_add(out, text.ptr, text.len);
	if (str_eq(encoding, STR("binary")))
		buf_addf(out, "the files are binary and %s\n",
			jsonread_bool(jsonread_member(result, "identical")) ? "the same"
									    : "differ");
	if (str_eq(encoding, STR("missing")))
		buf_adds(notes, "neither snapshot has the path\n");
}

/* Add a note for each part of the result that is missing. */
static void add_lacks(struct buf *notes, const struct jsonread *result)
{
	struct str cursor = { "", 0 };
	bool truncated = false;
	int64_t count;

	(void)jsonread_get_bool(result, "truncated", &truncated);
	if (jsonread_get_str(result, "cursor", &cursor) == JSONREAD_FOUND)
		buf_addf(notes, "there is more: go on with cursor=%.*s\n", (int)cursor.len,
			cursor.ptr);
	else if (truncated)
		buf_adds(notes, "there is more than is shown\n");
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++)
		if (jsonread_get_int(result, lacks[i].name, &count) == JSONREAD_FOUND)
			buf_addf(notes, "%s: %lld\n", lacks[i].what, (long long)count);
}

void resultview_add(
	struct buf *out, struct buf *notes, const struct op *op, const struct jsonread *result)
{
	struct viewing viewing = { .out = out, .method = op, .layout = find_layout(op->name) };

	if (viewing.layout && viewing.layout->text)
		add_answer(out, notes, result, viewing.layout->text);
	else
		add_object(&viewing, result);
	add_lacks(notes, result);
}
