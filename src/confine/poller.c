#include "confine/poller.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"

struct poller {
	int epoll, clock;
	struct poller_timer *timers; /* in any order */
	int64_t armed;               /* the time at which the clock expires; 0: never */
	struct epoll_event batch[POLLER_BATCH];
	int n; /* events in the batch */
};

static int open_descriptors(struct poller *poller, struct err *err)
{
	struct epoll_event clock = { .events = EPOLLIN, .data.ptr = NULL };

	poller->epoll = epoll_create1(EPOLL_CLOEXEC);
	poller->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (poller->epoll < 0 || poller->clock < 0 ||
		epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->clock, &clock) < 0)
		return err_errno(err, "wait for descriptors");
	return 0;
}

struct poller *poller_new(struct err *err)
{
	struct poller *poller = mem_zalloc(sizeof(*poller));

	poller->epoll = poller->clock = -1;
	if (open_descriptors(poller, err) == 0)
		return poller;
	poller_free(poller);
	return NULL;
}

void poller_free(struct poller *poller)
{
	if (!poller)
		return;
	close_fd(&poller->epoll);
	close_fd(&poller->clock);
	free(poller);
}

int poller_fd(const struct poller *poller)
{
	return poller->epoll;
}

/* ------------------------------------------------------ events of descriptors */

/*
 * Returns the events to ask the kernel for.  The kernel reports errors and the end of a connection
 * even if no event is asked for, and repeats the report.  So an event that waits for nothing gets
 * only one report (EPOLLET).
 */
static struct epoll_event wanted(struct poller_event *event, unsigned what)
{
	return (struct epoll_event){
		.events = (what & POLLER_READ ? EPOLLIN : 0u) |
			  (what & POLLER_WRITE ? EPOLLOUT : 0u) | (what ? 0u : EPOLLET),
		.data.ptr = event,
	};
}

int poller_add(
	struct poller *poller, struct poller_event *event, int fd, unsigned what, struct err *err)
{
	struct epoll_event entry = wanted(event, what);

	if (epoll_ctl(poller->epoll, EPOLL_CTL_ADD, fd, &entry) < 0)
		return err_errno(err, "wait for a descriptor");
	event->fd = fd;
	event->what = what;
	return 0;
}

void poller_change(struct poller *poller, struct poller_event *event, unsigned what)
{
	struct epoll_event entry = wanted(event, what);

	if (event->fd < 0 || event->what == what)
		return;
	(void)epoll_ctl(poller->epoll, EPOLL_CTL_MOD, event->fd, &entry);
	event->what = what;
}

void poller_remove(struct poller *poller, struct poller_event *event)
{
	if (event->fd < 0)
		return;
	(void)epoll_ctl(poller->epoll, EPOLL_CTL_DEL, event->fd, NULL);
	event->fd = -1;
	for (int i = 0; i < poller->n; i++)
		if (poller->batch[i].data.ptr == event)
			poller->batch[i].events = 0;
}

/* ------------------------------------------------------------------ deadlines */

static void arm(struct poller *poller, int64_t at)
{
	struct itimerspec spec = {
		.it_value = { .tv_sec = at / WHEN_SECOND, .tv_nsec = at % WHEN_SECOND },
	};

	(void)timerfd_settime(poller->clock, TFD_TIMER_ABSTIME, &spec, NULL);
	poller->armed = at;
}

void poller_unset(struct poller *poller, struct poller_timer *timer)
{
	if (!timer->at)
		return;
	if (timer->prev)
		timer->prev->next = timer->next;
	else
		poller->timers = timer->next;
	if (timer->next)
		timer->next->prev = timer->prev;
	timer->at = 0;
	timer->prev = timer->next = NULL;
}

void poller_set(struct poller *poller, struct poller_timer *timer, int ms)
{
	poller_unset(poller, timer);
	timer->at = when_monotonic() + ms * WHEN_MS;
	timer->next = poller->timers;
	if (timer->next)
		timer->next->prev = timer;
	poller->timers = timer;
	if (!poller->armed || timer->at < poller->armed)
		arm(poller, timer->at);
}

/*
 * Find a timer that has expired.  The callback of a timer may change the list, so the caller starts
 * this search at the beginning again after each callback.
 */
static struct poller_timer *find_expired(const struct poller *poller, int64_t now, int64_t *first)
{
	*first = 0;
	for (struct poller_timer *timer = poller->timers; timer; timer = timer->next) {
		if (timer->at <= now)
			return timer;
		if (!*first || timer->at < *first)
			*first = timer->at;
	}
	return NULL;
}

static void ring(struct poller *poller)
{
	const int64_t now = when_monotonic();
	struct poller_timer *timer;
	int64_t first;
	uint64_t times;

	(void)!read(poller->clock, &times, sizeof(times));
	while ((timer = find_expired(poller, now, &first))) {
		poller_unset(poller, timer);
		timer->expired(timer->arg);
	}
	arm(poller, first);
}

/* ------------------------------------------------------------------- one step */

static void handle(const struct epoll_event *entry)
{
	const struct poller_event *event = entry->data.ptr;
	const bool failed = entry->events & EPOLLERR;
	unsigned what = 0;

	if (entry->events & (EPOLLIN | EPOLLHUP))
		what |= event->what & POLLER_READ;
	if (entry->events & (EPOLLOUT | EPOLLHUP))
		what |= event->what & POLLER_WRITE;
	if (what || failed)
		event->ready(event->arg, what, failed);
}

void poller_step(struct poller *poller)
{
	bool rang = false;

	poller->n = epoll_wait(poller->epoll, poller->batch, POLLER_BATCH, 0);
	for (int i = 0; i < poller->n; i++) {
		/* The bits of an event that was removed during this step were set to 0. */
		if (!poller->batch[i].events)
			continue;
		if (poller->batch[i].data.ptr)
			handle(&poller->batch[i]);
		else
			rang = true;
	}
	poller->n = 0;
	if (rang)
		ring(poller);
}
