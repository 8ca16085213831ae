#include "sandbox/commandfile.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/restriction.h"

/*
 * The header of the file.  n_argv + n_env texts follow, then cwd and user if there are any, then
 * the lists of the restriction.  A zero byte ends each text.
 */
struct header {
	struct inherited inherited;
	uint32_t n_argv, n_env;
	bool has_cwd, has_user, tty, wrapped, restricted;
	/* valid if 'restricted' is set; its pointers have no meaning */
	struct restriction restriction;
};

static void add_text(struct buf *out, const char *text)
{
	buf_add(out, text, strlen(text) + 1);
}

static uint32_t add_list(struct buf *out, const char *const *list)
{
	uint32_t n = 0;

	for (; list[n]; n++)
		add_text(out, list[n]);
	return n;
}

int commandfile_write(const struct sandbox_command *command, struct err *err)
{
	owned(buf_release) struct buf texts = BUF_INIT;
	struct header header = {
		.has_cwd = command->cwd,
		.has_user = command->user,
		.tty = command->tty,
		.wrapped = command->wrapped,
		.restricted = command->restriction,
	};

	inherited_take(&header.inherited);
	header.n_argv = add_list(&texts, command->argv);
	header.n_env = add_list(&texts, command->env);
	if (command->cwd)
		add_text(&texts, command->cwd);
	if (command->user)
		add_text(&texts, command->user);
	if (command->restriction) {
		header.restriction = *command->restriction;
		restriction_write(command->restriction, &texts);
	}
	if (sizeof(header) + texts.len > COMMANDFILE_MAX)
		return err_set(err, ERR_LIMIT, "the command and its environment are too long");
	owned_fd int fd = memfd_create("strata-command", MFD_CLOEXEC);
	if (fd < 0)
		return err_errno(err, "make a file in memory");
	errno = -at_write_all(fd, &header, sizeof(header));
	if (!errno)
		errno = -at_write_all(fd, texts.data, texts.len);
	return errno ? err_errno(err, "hand over the command") : take_fd(&fd);
}

struct texts {
	char *next, *end;
};

/* Take the next text.  Returns NULL if there is none. */
static const char *take_text(void *arg)
{
	struct texts *texts = arg;
	const char *text = texts->next;
	char *end = memchr(texts->next, '\0', (size_t)(texts->end - texts->next));

	if (!end)
		return NULL;
	texts->next = end + 1;
	return text;
}

static const char *const *take_list(struct texts *texts, uint32_t n)
{
	const char **list;

	if (n > (size_t)(texts->end - texts->next))
		return NULL;
	list = mem_alloc((n + 1) * sizeof(*list));
	for (uint32_t i = 0; i < n; i++) {
		list[i] = take_text(texts);
		if (!list[i])
			return NULL; /* leak-ok: this process ends */
	}
	list[n] = NULL;
	return list;
}

static bool take_command(
	const struct header *header, struct texts *texts, struct sandbox_command *command)
{
	command->argv = take_list(texts, header->n_argv);
	command->env = command->argv ? take_list(texts, header->n_env) : NULL;
	if (!command->env)
		return false;
	if (header->has_cwd)
		command->cwd = take_text(texts);
	if (header->has_user)
		command->user = take_text(texts);
	command->tty = header->tty;
	command->wrapped = header->wrapped;
	return (command->cwd || !header->has_cwd) && (command->user || !header->has_user);
}

static bool take_restriction(const struct header *header, int warden, struct texts *texts,
	struct sandbox_command *command)
{
	struct restriction *restriction;

	if (!header->restricted)
		return true;
	restriction = mem_dup(&header->restriction, sizeof(header->restriction));
	restriction->warden = warden;
	restriction->group = -1;
	command->restriction = restriction;
	return restriction_read(restriction, take_text, texts);
}

int commandfile_read(int fd, int warden, struct sandbox_command *command,
	struct inherited *inherited, struct err *err)
{
	struct header header;
	struct stat st;

	*command = (struct sandbox_command){ 0 };
	if (fstat(fd, &st) < 0)
		return err_errno(err, "read the command");
	if (st.st_size < (off_t)sizeof(header) || st.st_size > (off_t)COMMANDFILE_MAX)
		return err_set(err, ERR_INVALID, "read the command: the file has a wrong size");
	size_t size = (size_t)st.st_size - sizeof(header);
	struct texts texts = { .next = mem_alloc(size + 1) };
	ssize_t n = at_pread_full(fd, &header, sizeof(header), 0);
	if (n == (ssize_t)sizeof(header))
		n = at_pread_full(fd, texts.next, size, sizeof(header));
	texts.end = texts.next + size;
	if (n != (ssize_t)size || !take_command(&header, &texts, command) ||
		!take_restriction(&header, warden, &texts, command))
		return err_set(err, ERR_INVALID, "read the command: the file is cut off");
	*inherited = header.inherited;
	return 0;
}
