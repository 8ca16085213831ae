#include "confine/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "confine/lookup.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"

enum stage { NEEDED, BEGUN, KNOWN };

struct resolver_name {
	struct resolver *resolver;
	struct resolver_name *next;
	char *text;
	enum stage stage;
	struct resolver_wait *waiting;
	struct poller_event answer; /* while the name is looked up: the answer of the lookup */
	struct poller_timer deadline;
	int64_t until; /* time when the found addresses expire, in the time of when_monotonic */
	struct lookup_found found;
};

struct resolver {
	struct poller *poller;
	struct lookup lookup;
	int deadline_ms;
	struct resolver_name *names; /* the newest name comes first */
	size_t n;
	unsigned processes;
};

struct resolver *resolver_new(
	struct poller *poller, lookup_fn *find, void *arg, int deadline_ms, struct err *err)
{
	struct resolver *resolver = mem_zalloc(sizeof(*resolver));

	resolver->poller = poller;
	resolver->deadline_ms = deadline_ms;
	if (lookup_start(&resolver->lookup, find, arg, deadline_ms, err) == 0)
		return resolver;
	free(resolver);
	return NULL;
}

/* -------------------------------------------------------------------- lookups */

/* Stop waiting for the process that looks up a name.  That process ends by itself. */
static void end_process(struct resolver_name *name)
{
	int fd = name->answer.fd;

	poller_unset(name->resolver->poller, &name->deadline);
	poller_remove(name->resolver->poller, &name->answer);
	if (fd >= 0)
		name->resolver->processes--;
	close_fd(&fd);
}

static void begin_needed(struct resolver *resolver);

/*
 * Call the callbacks of the callers that wait for a name.  A callback may ask for further names,
 * and may cancel callers that wait.  It may also lead to the removal of any name in the stage
 * KNOWN.  So this name gets that stage only after the callbacks.
 */
static void finish(struct resolver_name *name)
{
	const int64_t kept = (name->found.n ? RESOLVER_KEPT_MS : RESOLVER_FAILED_MS) * WHEN_MS;
	struct resolver *resolver = name->resolver;
	struct resolver_wait *wait;

	end_process(name);
	name->until = when_monotonic() + kept;
	while ((wait = name->waiting)) {
		name->waiting = wait->next;
		wait->name = NULL;
		wait->found(wait->arg, name->found.list, name->found.n);
	}
	name->stage = KNOWN;
	begin_needed(resolver);
}

static void take_answer(void *arg, unsigned what, bool failed)
{
	struct resolver_name *name = arg;

	if (lookup_take(name->answer.fd, &name->found) < 0) {
		if (errno == EINTR || errno == EAGAIN)
			return;
		name->found.n = 0;
	}
	finish(name);
}

static void give_up(void *arg)
{
	finish(arg);
}

static int start_process(struct resolver_name *name)
{
	struct resolver *resolver = name->resolver;
	struct err err = { 0 };
	owned_fd int answer = lookup_ask(&resolver->lookup, name->text);

	if (answer < 0 ||
		poller_add(resolver->poller, &name->answer, answer, POLLER_READ, &err) < 0)
		return -1;
	(void)take_fd(&answer);
	resolver->processes++;
	poller_set(resolver->poller, &name->deadline, resolver->deadline_ms);
	return 0;
}

static void begin(struct resolver_name *name)
{
	name->stage = BEGUN;
	name->found.n = 0;
	if (start_process(name) < 0)
		finish(name);
}

/* Look up the name that has waited longest, which is the last such name in the list. */
static void begin_needed(struct resolver *resolver)
{
	struct resolver_name *oldest = NULL;

	if (resolver->processes >= RESOLVER_PROCESSES_MAX)
		return;
	for (struct resolver_name *name = resolver->names; name; name = name->next)
		if (name->stage == NEEDED)
			oldest = name;
	if (oldest)
		begin(oldest);
}

/* -------------------------------------------------------------- list of names */

static void free_name(struct resolver_name *name)
{
	for (struct resolver_wait *wait = name->waiting; wait; wait = wait->next)
		wait->name = NULL;
	end_process(name);
	free(name->text);
	free(name);
}

void resolver_free(struct resolver *resolver)
{
	while (resolver && resolver->names) {
		struct resolver_name *name = resolver->names;

		resolver->names = name->next;
		free_name(name);
	}
	if (resolver)
		lookup_end(&resolver->lookup);
	free(resolver);
}

/* Remove the oldest name that no caller waits for.  Returns false if there is no such name. */
static bool forget_one(struct resolver *resolver)
{
	struct resolver_name **oldest = NULL;

	for (struct resolver_name **link = &resolver->names; *link; link = &(*link)->next)
		if ((*link)->stage == KNOWN && !(*link)->waiting)
			oldest = link;
	if (!oldest)
		return false;
	struct resolver_name *name = *oldest;
	*oldest = name->next;
	free_name(name);
	resolver->n--;
	return true;
}

static struct resolver_name *find_name(const struct resolver *resolver, const char *text)
{
	for (struct resolver_name *name = resolver->names; name; name = name->next)
		if (!strcmp(name->text, text))
			return name;
	return NULL;
}

static struct resolver_name *add_name(struct resolver *resolver, const char *text)
{
	if (resolver->n >= RESOLVER_NAMES_MAX && !forget_one(resolver))
		return NULL;
	struct resolver_name *name = mem_zalloc(sizeof(*name));
	name->resolver = resolver;
	name->text = mem_strdup(text);
	name->answer = (struct poller_event){ .fd = -1, .ready = take_answer, .arg = name };
	name->deadline.expired = give_up;
	name->deadline.arg = name;
	name->next = resolver->names;
	resolver->names = name;
	resolver->n++;
	return name;
}

void resolver_ask(struct resolver *resolver, const char *text, struct resolver_wait *wait)
{
	struct resolver_name *name = find_name(resolver, text);

	wait->name = NULL;
	if (name && name->stage == KNOWN && when_monotonic() < name->until) {
		wait->found(wait->arg, name->found.list, name->found.n);
		return;
	}
	if (!name)
		name = add_name(resolver, text);
	if (!name) {
		wait->found(wait->arg, NULL, 0);
		return;
	}
	if (name->stage == KNOWN)
		name->stage = NEEDED;
	wait->name = name;
	wait->next = name->waiting;
	name->waiting = wait;
	begin_needed(resolver);
}

void resolver_hold(const struct resolver *resolver, int fd)
{
	lookup_hold(&resolver->lookup, fd);
}

void resolver_cancel(struct resolver_wait *wait)
{
	if (!wait->name)
		return;
	struct resolver_wait **link = &wait->name->waiting;
	while (*link != wait)
		link = &(*link)->next;
	*link = wait->next;
	wait->name = NULL;
}
