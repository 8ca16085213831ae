#include "query/zfsstatus.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

struct reading {
	struct arena *arena;
	struct pool_status pool;
	struct pool_device *devices;
	size_t n, cap;
	struct buf *joined; /* text of the fact to which the next line may belong; NULL: none */
	struct buf fact;
	enum pool_fact which;
	bool in_table;
	/* column of STATE in the heading of the table, counted after the tab; 0: not read yet */
	size_t state_column;
};

static void free_reading(struct reading *reading)
{
	free(reading->devices);
	buf_release(&reading->fact);
}

static struct str trim(struct str text)
{
	return str_trim(text, STR(" \t\r"));
}

/* -------------------------------------------------------------------- facts */

static void end_fact(struct reading *reading)
{
	if (reading->joined)
		reading->pool.facts[reading->which] = arena_str(reading->arena,
			(struct str){ reading->fact.data ?: "", reading->fact.len });
	reading->joined = NULL;
}

static void begin_fact(struct reading *reading, enum pool_fact which, struct str value)
{
	reading->which = which;
	reading->joined = &reading->fact;
	buf_clear(&reading->fact);
	buf_add(&reading->fact, value.ptr, value.len);
}

/*
 * Split "  scan: none requested" at its colon.  Returns false if the line does not have this form.
 */
static bool split_fact(struct str line, struct str *key, struct str *value)
{
	const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;

	if (!colon || *line.ptr == '\t')
		return false;
	*key = trim((struct str){ line.ptr, (size_t)(colon - line.ptr) });
	*value = trim((struct str){ colon + 1, line.len - (size_t)(colon - line.ptr) - 1 });
	for (size_t i = 0; i < key->len; i++)
		if (key->ptr[i] < 'a' || key->ptr[i] > 'z')
			return false;
	return key->len;
}

/* --------------------------------------------------------------- the table */

/*
 * Read a number of errors.  The text consists of digits, or is shortened for people, such as
 * "1.25K".  A unit is a power of 1024.
 */
static bool read_count(struct str text, int64_t *count)
{
	static const char units[] = "KMGTPE";
	double value = 0, scale = 1;
	bool point = false;
	size_t i = 0;

	*count = -1;
	for (; i < text.len &&
		((text.ptr[i] >= '0' && text.ptr[i] <= '9') || (text.ptr[i] == '.' && i && !point));
		i++) {
		if (text.ptr[i] == '.') {
			point = true;
			continue;
		}
		value = value * 10 + (text.ptr[i] - '0');
		scale *= point ? 10 : 1;
	}
	if (!i || text.len - i > 1)
		return i == 0 && str_eq(text, STR("-"));
	if (i < text.len) {
		const char *unit = strchr(units, text.ptr[i]);

		if (!unit || !*unit)
			return false;
		for (const char *u = units; u <= unit; u++)
			value *= 1024;
	}
	value /= scale;
	*count = value >= 9e18 ? INT64_MAX : (int64_t)value;
	return true;
}

/*
 * Read a line of the table, without its tab.  A heading such as "spares" has only a name.  A spare
 * device has a name and a state, but no numbers.
 */
static bool read_device(const struct reading *reading, struct str line, struct pool_device *out)
{
	size_t column = reading->state_column, indent = 0;

	while (indent < line.len && line.ptr[indent] == ' ')
		indent++;
	struct str name = { line.ptr, line.len < column ? line.len : column };
	struct str rest = trim(str_skip(line, name.len));

	*out = (struct pool_device){
		.name = trim(name),
		.read = -1,
		.write = -1,
		.checksum = -1,
		.depth = (unsigned)(indent / 2),
	};
	out->state = str_take_word(&rest);
	struct str note = trim(rest), read = str_take_word(&rest), write = str_take_word(&rest),
		   checksum = str_take_word(&rest);
	if (read_count(read, &out->read) && read_count(write, &out->write) &&
		read_count(checksum, &out->checksum))
		note = trim(rest);
	else
		out->read = out->write = out->checksum = -1;
	out->note = note;
	return out->name.len;
}

static int add_device(struct reading *reading, struct str line, struct err *err)
{
	struct pool_device device;

	if (!reading->state_column) {
		const char *state = line.len ? memmem(line.ptr, line.len, " STATE", 6) : NULL;

		if (state && str_starts(line, STR("NAME")))
			reading->state_column = (size_t)(state + 1 - line.ptr);
		return 0;
	}
	if (!read_device(reading, line, &device))
		return 0;
	if (reading->n == ZFSSTATUS_DEVICES_MAX)
		return err_set(err, ERR_CORRUPT, "'zpool status' lists more than %d devices",
			ZFSSTATUS_DEVICES_MAX);
	mem_grow(&reading->devices, &reading->cap, reading->n);
	reading->devices[reading->n++] = device;
	return 0;
}

/* -------------------------------------------------------------------- pools */

static int end_pool(struct reading *reading, pool_status_visit visit, void *arg, struct err *err)
{
	int r = 0;

	end_fact(reading);
	if (reading->pool.name.ptr) {
		reading->pool.devices = reading->devices;
		reading->pool.n_devices = reading->n;
		r = visit(arg, &reading->pool, err);
	}
	reading->pool = (struct pool_status){ 0 };
	reading->n = reading->state_column = 0;
	reading->in_table = false;
	return r;
}

static void read_fact(struct reading *reading, struct str key, struct str value)
{
	end_fact(reading);
	reading->in_table = str_eq(key, STR("config"));
	for (enum pool_fact fact = 0; fact < POOL_FACTS; fact++)
		if (str_eq(key, str_of(pool_fact_name(fact))))
			begin_fact(reading, fact, value);
}

static void continue_fact(struct reading *reading, struct str line)
{
	line = trim(line);
	if (!reading->joined || !line.len)
		return;
	if (reading->fact.len)
		buf_addc(&reading->fact, ' ');
	buf_add(&reading->fact, line.ptr, line.len);
}

static int read_line(struct reading *reading, struct str line, pool_status_visit visit, void *arg,
	struct err *err)
{
	struct str key, value;

	if (split_fact(line, &key, &value)) {
		if (!str_eq(key, STR("pool"))) {
			read_fact(reading, key, value);
			return 0;
		}
		int r = end_pool(reading, visit, arg, err);
		reading->pool.name = value;
		return r;
	}
	if (reading->in_table && line.len && *line.ptr == '\t')
		return add_device(reading, (struct str){ line.ptr + 1, line.len - 1 }, err);
	continue_fact(reading, line);
	return 0;
}

int zfsstatus_read(
	struct str text, struct arena *arena, pool_status_visit visit, void *arg, struct err *err)
{
	owned(free_reading) struct reading reading = { .arena = arena, .fact = BUF_INIT };
	bool blank = true, named = false;
	int r = 0;

	while (r == 0 && text.len) {
		struct str line = str_take_until(&text, '\n');

		r = read_line(&reading, line, visit, arg, err);
		named |= reading.pool.name.ptr != NULL;
		blank &= !trim(line).len;
	}
	if (r == 0)
		r = end_pool(&reading, visit, arg, err);
	if (r >= 0 && !named && !blank)
		return err_set(err, ERR_CORRUPT, "'zpool status' printed no status of a pool");
	return r < 0 ? r : 0;
}
