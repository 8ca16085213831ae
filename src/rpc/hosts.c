#include "rpc/hosts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/toml.h"
#include "rpc/sshargv.h"

const char *hosts_transport_name(enum hosts_transport transport)
{
	return transport == HOSTS_SSH ? "ssh" : "local";
}

const char *hosts_mode_name(enum hosts_mode mode)
{
	return mode == HOSTS_BOOTSTRAP ? "bootstrap" : "preinstalled";
}

/* --- the form of texts --- */

static bool is_name(struct str text)
{
	if (!text.len || text.len > HOSTS_NAME_MAX || strchr("-.", *text.ptr))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    strchr("_.-", c)))
			return false;
	}
	return true;
}

/* Returns NULL if a text may be an argument of a program, or else the reason why not. */
static const char *refuse_argument(struct str text)
{
	if (!text.len)
		return "it is empty";
	if (text.len > HOSTS_TEXT_MAX)
		return "it is too long";
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
			return "it has a control character";
	return NULL;
}

static const char *refuse_target(struct str text)
{
	const char *why = refuse_argument(text);
	const char *at = memrchr(text.ptr, '@', text.len);

	if (why)
		return why;
	if (*text.ptr == '-' || (at && at[1] == '-'))
		return "ssh would take what begins with '-' for an option";
	if (strchr(text.ptr, ' '))
		return "it has a space; options belong into 'ssh_options'";
	return NULL;
}

static const char *refuse_agent_path(struct str text)
{
	const char *why = refuse_argument(text);

	if (why)
		return why;
	if (*text.ptr != '/')
		return "it must begin with '/'";
	return NULL;
}

/* --- keys --- */

enum key_type { KEY_BOOL, KEY_TEXT, KEY_LIST, KEY_CHOICE };

static const char *const transports[] = { "ssh", "local", NULL };
static const char *const modes[] = { "bootstrap", "preinstalled", NULL };

static const struct key {
	const char *name;
	enum key_type type;
	size_t offset;
	bool ssh_only;
	const char *const *choices; /* the choices of KEY_CHOICE, in the order of the enum */
	const char *(*refuse)(struct str text); /* checks KEY_TEXT and the items of KEY_LIST */
} keys[] = {
#define KEY(MEMBER, ...)                                                                           \
	{                                                                                          \
#MEMBER, .offset = offsetof(struct hosts_host, MEMBER), __VA_ARGS__                \
	}
	KEY(transport, .type = KEY_CHOICE, .choices = transports),
	KEY(ssh_target, .type = KEY_TEXT, .ssh_only = true, .refuse = refuse_target),
	KEY(agent_mode, .type = KEY_CHOICE, .ssh_only = true, .choices = modes),
	KEY(agent_path, .type = KEY_TEXT, .refuse = refuse_agent_path),
	KEY(sudo, .type = KEY_BOOL),
	KEY(ssh_options, .type = KEY_LIST, .ssh_only = true, .refuse = refuse_argument),
	KEY(allow_restore, .type = KEY_BOOL),
	KEY(restore_paths, .type = KEY_LIST, .refuse = refuse_agent_path),
#undef KEY
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

struct reader {
	struct toml toml;
	struct arena *arena;
	struct hosts_host *list; /* grows on the heap, and is copied into the arena at the end */
	size_t count, cap;
	struct hosts_host *host;         /* the host whose table is being read; NULL: none */
	struct toml_place header;        /* place of the header of this table */
	struct toml_place given[N_KEYS]; /* places of the keys of this table; line 0: not given */
	struct err *err;
};

static int refuse(struct reader *reader, struct toml_place place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse(struct reader *reader, struct toml_place place, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(reader->err, ERR_INVALID, "%s", text);
	return toml_at(place, reader->err);
}

static int set_choice(
	struct reader *reader, const struct key *key, const struct toml_value *value, void *slot)
{
	for (size_t i = 0; key->choices[i]; i++)
		if (str_eq(value->text, str_of(key->choices[i]))) {
			memcpy(slot, &(unsigned){ (unsigned)i }, sizeof(unsigned));
			return 0;
		}
	return refuse(reader, value->place, "'%s' is '%s' or '%s', not '%.60s'", key->name,
		key->choices[0], key->choices[1], value->text.ptr);
}

static int set_list(struct reader *reader, const struct key *key, const struct toml_value *value,
	struct param_texts *slot)
{
	if (value->count > HOSTS_LIST_MAX)
		return refuse(reader, value->place, "'%s' has more than %d items", key->name,
			HOSTS_LIST_MAX);
	for (size_t i = 0; i < value->count; i++) {
		const struct toml_value *item = &value->items[i];
		const char *why;

		if (item->type != TOML_TEXT)
			return refuse(reader, item->place, "'%s' is a list of strings, not of %s",
				key->name, toml_type_name(item->type));
		why = key->refuse(item->text);
		if (why)
			return refuse(reader, item->place, "'%.100s' in '%s' cannot be used: %s",
				item->text.ptr, key->name, why);
		param_texts_add(slot, reader->arena, item->text.ptr);
	}
	return 0;
}

static int set_key(struct reader *reader, const struct key *key, const struct toml_value *value)
{
	static const enum toml_type types[] = { [KEY_BOOL] = TOML_BOOL,
		[KEY_TEXT] = TOML_TEXT,
		[KEY_LIST] = TOML_LIST,
		[KEY_CHOICE] = TOML_TEXT };
	void *slot = (char *)reader->host + key->offset;
	const char *why;

	if (value->type != types[key->type])
		return refuse(reader, value->place, "'%s' must be %s, not %s", key->name,
			toml_type_name(types[key->type]), toml_type_name(value->type));
	if (key->type == KEY_CHOICE)
		return set_choice(reader, key, value, slot);
	if (key->type == KEY_LIST)
		return set_list(reader, key, value, slot);
	if (key->type == KEY_BOOL) {
		*(bool *)slot = value->truth;
		return 0;
	}
	why = key->refuse(value->text);
	if (why)
		return refuse(reader, value->place, "'%s' cannot be '%.100s': %s", key->name,
			value->text.ptr, why);
	*(const char **)slot = value->text.ptr;
	return 0;
}

static int take_key(struct reader *reader, const struct toml_item *item)
{
	const char *name = item->names[0].ptr;

	if (!reader->host)
		return refuse(reader, item->place,
			"'%.100s' stands outside of a [hosts.NAME] table", name);
	for (size_t i = 0; i < N_KEYS && item->n_names == 1; i++) {
		if (!str_eq(item->names[0], str_of(keys[i].name)))
			continue;
		if (reader->given[i].line)
			return refuse(reader, item->place, "'%s' is given twice", name);
		reader->given[i] = item->place;
		return set_key(reader, &keys[i], &item->value);
	}
	return refuse(
		reader, item->place, "unknown key '%.100s%s'", name, item->n_names == 1 ? "" : "…");
}

/* --- tables --- */

static int check_options(struct reader *reader, const struct hosts_host *host)
{
	size_t bad;
	const char *why = sshargv_refuse(&host->ssh_options, &bad);

	for (size_t i = 0; why && i < N_KEYS; i++)
		if (!strcmp(keys[i].name, "ssh_options"))
			return refuse(reader, reader->given[i],
				"'%.100s' in 'ssh_options' cannot be used: %s",
				host->ssh_options.list[bad], why);
	return 0;
}

/* Check that the keys of the table fit together, and fill in the default target. */
static int end_table(struct reader *reader)
{
	struct hosts_host *host = reader->host;

	if (!host)
		return 0;
	for (size_t i = 0; i < N_KEYS && host->transport == HOSTS_LOCAL; i++)
		if (keys[i].ssh_only && reader->given[i].line)
			return refuse(reader, reader->given[i],
				"'%s' means nothing for a host with transport = \"local\"",
				keys[i].name);
	if (host->allow_restore && !host->restore_paths.count)
		return refuse(reader, reader->header,
			"host '%s' has 'allow_restore' but no 'restore_paths'", host->name);
	if (host->transport == HOSTS_SSH && !host->ssh_target)
		host->ssh_target = host->name;
	return check_options(reader, host);
}

static int begin_table(struct reader *reader, const struct toml_item *item)
{
	struct str name = item->names[1];
	int r = end_table(reader);

	if (r < 0)
		return r;
	if (!str_eq(item->names[0], STR("hosts")) || item->n_names != 2)
		return refuse(reader, item->place, "a table is called [hosts.NAME], not [%.60s%s]",
			item->names[0].ptr, item->n_names == 1 ? "" : "…");
	if (!is_name(name))
		return refuse(reader, item->place,
			"'%.100s' cannot be the name of a host: it has up to %d letters, digits, "
			"'_', '.' and '-', and begins with none of the last two",
			name.ptr, HOSTS_NAME_MAX);
	for (size_t i = 0; i < reader->count; i++)
		if (!strcmp(reader->list[i].name, name.ptr))
			return refuse(reader, item->place, "host '%s' is given twice", name.ptr);
	if (reader->count == HOSTS_MAX)
		return refuse(reader, item->place, "more than %d hosts", HOSTS_MAX);
	mem_grow(&reader->list, &reader->cap, reader->count);
	reader->host = &reader->list[reader->count++];
	*reader->host = (struct hosts_host){ .name = name.ptr };
	reader->header = item->place;
	memset(reader->given, 0, sizeof(reader->given));
	return 0;
}

static int read_items(struct reader *reader)
{
	struct toml_item item;
	int r;

	while ((r = toml_next(&reader->toml, &item, reader->err)) > 0) {
		r = item.is_header ? begin_table(reader, &item) : take_key(reader, &item);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : end_table(reader);
}

int hosts_parse(struct str text, const char *name, struct arena *arena, struct hosts *hosts,
	struct err *err)
{
	struct reader reader = { .arena = arena, .err = err };
	int r = toml_init(&reader.toml, text, arena, err);

	if (r >= 0)
		r = read_items(&reader);
	if (r >= 0) {
		struct hosts_host *list = arena_alloc(arena, (reader.count + 1) * sizeof(*list));

		if (reader.count)
			memcpy(list, reader.list, reader.count * sizeof(*list));
		*hosts = (struct hosts){ .path = arena_strdup(arena, name),
			.has_file = true,
			.list = list,
			.count = reader.count };
	}
	free(reader.list);
	return r < 0 ? err_context(err, "%s", name) : r;
}

/* --- the file --- */

/* Returns the usual path of the file, or NULL if there is no home directory. */
static const char *usual_path(struct arena *arena)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (config && *config == '/')
		return arena_printf(arena, "%s/strata/hosts.toml", config);
	if (home && *home == '/')
		return arena_printf(arena, "%s/.config/strata/hosts.toml", home);
	return NULL;
}

/* The file can name programs that ssh runs, so it must not be writable for all users. */
static int check_mode(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, "look at '%s'", path);
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IWOTH))
		return 0;
	err_set(err, ERR_DENIED, "'%s' can be changed by every user", path);
	return err_hint(err, "chmod o-w '%.200s'", path);
}

int hosts_read(const char *given, struct arena *arena, struct hosts *hosts, struct err *err)
{
	const char *set = getenv("STRATA_HOSTS");
	const char *named = given ?: set && *set ? set : NULL;
	const char *path = named ?: usual_path(arena);
	owned(buf_release) struct buf text = BUF_INIT;
	struct err reason = { 0 };

	*hosts = (struct hosts){ .path = path ?: "hosts.toml" };
	if (!path)
		return 0;
	owned_fd int fd = at_open_given(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &reason);
	if (fd < 0 && !named && (reason.code == ERR_NOT_FOUND || reason.errno_value == ENOTDIR))
		return 0;
	if (fd < 0) {
		*err = reason;
		return -(int)err->code;
	}
	int r = check_mode(fd, path, err);
	if (r >= 0)
		r = procfile_read_fd(fd, path, HOSTS_SIZE_MAX, &text, err);
	return r < 0 ? r
		     : hosts_parse(
			       (struct str){ text.data ?: "", text.len }, path, arena, hosts, err);
}

const struct hosts_host *hosts_find(const struct hosts *hosts, const char *name, struct err *err)
{
	char known[160] = "";

	for (size_t i = 0; i < hosts->count; i++) {
		size_t used = strlen(known);

		if (!strcmp(hosts->list[i].name, name))
			return &hosts->list[i];
		if (used + strlen(hosts->list[i].name) + 8 < sizeof(known))
			snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
				hosts->list[i].name);
	}
	if (!hosts->count) {
		err_set(err, ERR_NOT_FOUND, "no host '%.100s': %s '%.200s'", name,
			hosts->has_file ? "there are none in" : "there is no file", hosts->path);
		err_hint(err, "put [hosts.%.64s] and ssh_target = \"USER@HOST\" into it", name);
		return NULL;
	}
	err_set(err, ERR_NOT_FOUND, "no host '%.100s' in '%.200s'", name, hosts->path);
	err_hint(err, "the hosts are %s", known);
	return NULL;
}
