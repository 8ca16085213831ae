#include "trace/observe/ignore.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/jsonread.h"
#include "core/mem.h"
#include "core/own.h"

static const char *const defaults[] = {
	"$HOME/.cache",
	"$HOME/.claude",
	"$HOME/.codex",
	"$HOME/.cursor",
	"$XDG_CONFIG_HOME/strata/ignore.json",
	"/proc",
	"/dev",
	"/sys",
	"/usr",
	"/bin",
};

#define N_DEFAULTS (sizeof(defaults) / sizeof(defaults[0]))

static const char *absolute_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value == '/' ? value : NULL;
}

/*
 * Returns the directory of the user's configuration, or NULL if neither XDG_CONFIG_HOME nor HOME is
 * set.
 */
static char *config_home(void)
{
	const char *config = absolute_variable("XDG_CONFIG_HOME");
	const char *home = absolute_variable("HOME");

	return config ? mem_strdup(config) : home ? mem_printf("%s/.config", home) : NULL;
}

static bool strip_prefix(struct str *text, struct str prefix)
{
	if (!str_starts(*text, prefix) || (text->len > prefix.len && text->ptr[prefix.len] != '/'))
		return false;
	text->ptr += prefix.len;
	text->len -= prefix.len;
	return true;
}

/*
 * Returns a copy of the text.  If the text begins with a variable, the copy has the value of the
 * variable instead.  Returns NULL if the variable is not set.
 */
static char *expand_variable(struct str text)
{
	owned_mem char *config = config_home();
	const char *home = absolute_variable("HOME");
	const char *front = "";

	if (strip_prefix(&text, STR("$HOME")))
		front = home;
	else if (strip_prefix(&text, STR("$XDG_CONFIG_HOME")))
		front = config;
	return front ? mem_printf("%s%.*s", front, (int)text.len, text.ptr) : NULL;
}

/*
 * Mark a given path.  If it contains symbolic links, also mark the path that it leads to, since the
 * command may use either path.
 */
static void mark_path(struct pathmap *map, const char *path)
{
	struct pathmap_entry *root = pathmap_root(map);
	struct pathmap_walk walk = { .root = root, .base = root };

	for (int follow = 0; follow <= 1; follow++) {
		walk.follow = follow;
		struct pathmap_entry *entry = pathmap_resolve(map, &walk, str_of(path));
		/* The path "/" is allowed, and makes the trace ignore every file. */
		if (entry)
			entry->ignored = true;
	}
}

static int mark_text(struct pathmap *map, struct str text, const char *where, struct err *err)
{
	owned_mem char *path = expand_variable(text);

	if (!path)
		return 0;
	if (*path != '/' || memchr(text.ptr, '\0', text.len))
		return err_set(
			err, ERR_INVALID, "'%s' in '%s' is not an absolute path", path, where);
	mark_path(map, path);
	return 0;
}

static int mark_list(struct pathmap *map, struct str text, const char *where, struct err *err)
{
	owned(jsonread_freep) struct jsonread *list = jsonread_new(text, err);

	if (!list)
		return err_context(err, "ignore file '%s'", where);
	if (jsonread_type(list) != JSONREAD_ARRAY)
		return err_set(err, ERR_INVALID, "ignore file '%s' is not a JSON array", where);
	for (size_t i = 0; i < jsonread_count(list); i++) {
		const struct jsonread *item = jsonread_item(list, i);

		if (jsonread_type(item) != JSONREAD_STRING)
			return err_set(err, ERR_INVALID,
				"ignore file '%s': item %zu is not a string", where, i + 1);
		int r = mark_text(map, jsonread_str(item), where, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_file(int fd, const char *where, struct buf *text, struct err *err)
{
	char *room = buf_reserve(text, IGNORE_SIZE_MAX + 1);
	ssize_t len = at_pread_full(fd, room, IGNORE_SIZE_MAX + 1, 0);

	if (len < 0)
		return err_number(err, (int)-len, "read ignore file '%s'", where);
	if ((size_t)len > IGNORE_SIZE_MAX)
		return err_set(err, ERR_LIMIT, "ignore file '%s' is larger than 1 MiB", where);
	text->len = (size_t)len;
	text->data[len] = '\0';
	return 0;
}

/*
 * Write the default ignore file.  Errors are ignored, since the defaults also apply if the file
 * cannot be written.
 */
static void write_default_file(const char *directory, const char *path)
{
	owned(json_release) struct json list = JSON_INIT;
	struct err ignored = { 0 };

	list.pretty = true;
	json_texts(&list, NULL, defaults, N_DEFAULTS);
	(void)json_end(&list);
	if (at_mkdirs_given(directory, 0777, &ignored) < 0)
		return;
	owned_fd int fd = at_open_given(path, O_WRONLY | O_CREAT | O_EXCL, 0666, &ignored);
	if (fd >= 0)
		(void)at_write_all(fd, json_written(&list).ptr, json_written(&list).len);
}

static int mark_defaults(struct pathmap *map, struct err *err)
{
	for (size_t i = 0; i < N_DEFAULTS; i++) {
		int r = mark_text(map, str_of(defaults[i]), "the defaults", err);

		if (r < 0)
			return r;
	}
	return 0;
}

void ignore_kernel(struct pathmap *map)
{
	mark_path(map, "/proc");
	mark_path(map, "/dev");
	mark_path(map, "/sys");
}

int ignore_load(const char *given, struct pathmap *map, struct err *err)
{
	owned_mem char *config = config_home();
	owned_mem char *directory = config ? mem_printf("%s/strata", config) : NULL;
	owned_mem char *own = config ? mem_printf("%s/ignore.json", directory) : NULL;
	owned(buf_release) struct buf text = BUF_INIT;
	struct err failure = { 0 };
	const char *path = given ?: own;

	if (!path)
		return mark_defaults(map, err);
	owned_fd int fd = at_open_given(path, O_RDONLY | O_NONBLOCK, 0, &failure);
	if (fd < 0 && !given && failure.code == ERR_NOT_FOUND) {
		write_default_file(directory, path);
		return mark_defaults(map, err);
	}
	if (fd < 0) {
		*err = failure;
		return err_context(err, "ignore file");
	}
	int r = read_file(fd, path, &text, err);
	if (r >= 0)
		r = mark_list(map, (struct str){ text.data, text.len }, path, err);
	if (r < 0)
		return err_hint(err, "make it a JSON array of paths, or remove it");
	owned_mem char *self = at_path_of(fd, err);
	if (self)
		mark_path(map, self);
	return self ? 0 : -(int)err->code;
}
