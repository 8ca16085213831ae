#include "sandbox/guarded.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/resource.h"

int guarded_has_room(const struct guarded *guarded, struct err *err)
{
	if (guarded->n < GUARDED_MAX)
		return 0;
	err_set(err, ERR_LIMIT, "%d commands run under policies in this sandbox already",
		GUARDED_MAX);
	return err_hint(err, "wait until others and what they have started have ended");
}

void guarded_add_take(struct guarded *guarded, pid_t command, int warden, int mnt)
{
	struct stat st = { 0 };

	(void)fstat(mnt, &st);
	guarded->list[guarded->n++] = (struct guarded_command){ warden, command, st.st_ino };
}

void guarded_note_reaped(struct guarded *guarded, pid_t pid)
{
	for (size_t i = 0; i < guarded->n; i++)
		if (guarded->list[i].command == pid)
			guarded->list[i].command = 0;
}

size_t guarded_poll(const struct guarded *guarded, struct pollfd *out)
{
	for (size_t i = 0; i < guarded->n; i++)
		out[i] = (struct pollfd){ guarded->list[i].warden, POLLIN, 0 };
	return guarded->n;
}

bool guarded_any_ended(const struct pollfd *ready, size_t n)
{
	while (n && !ready[n - 1].revents)
		n--;
	return n > 0;
}

/* Kill the processes that are in the namespaces of a command, and their descendants. */
static void kill_found(const struct guarded_command *one, int proc)
{
	static const struct resource_limits none;
	struct err ignored = { 0 };
	struct resource_watch *watch = resource_watch_new(&none, proc, NULL, one->mnt);

	(void)resource_kill(watch, &ignored);
	resource_watch_free(watch);
}

/*
 * Kill the remaining processes of a command.  Without a /proc these processes cannot be found, so
 * all processes of the sandbox are killed.
 */
static void kill_rest(const struct guarded_command *one, int proc)
{
	owned_fd int list = proc < 0 ? -1 : at_name_open(proc, ".", O_RDONLY | O_DIRECTORY);

	if (list < 0) {
		(void)kill(-1, SIGKILL);
		return;
	}
	kill_found(one, list);
	if (!one->command)
		return;
	/*
	 * The first search misses a command that had not yet entered its namespaces, and a process
	 * that the command has started meanwhile.
	 */
	(void)kill(one->command, SIGKILL);
	kill_found(one, list);
}

void guarded_handle(struct guarded *guarded, const struct pollfd *ready, size_t n, int proc)
{
	/* Go backwards, since the last element moves to the place of a removed one. */
	for (size_t i = n; i--;) {
		struct guarded_command *one = &guarded->list[i];

		if (!ready[i].revents)
			continue;
		kill_rest(one, proc);
		close_fd(&one->warden);
		*one = guarded->list[--guarded->n];
	}
}
