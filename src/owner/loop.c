#include "owner/loop.h"

#include <event2/event.h>

#include "core/mem.h"
#include "core/own.h"

struct loop {
	struct event_base *base;
};

struct loop_event {
	struct event *event;
	loop_fn *fn;
	void *arg;
};

struct loop *loop_new(struct err *err)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config) {
		/* Locks are not needed, because a loop belongs to one thread. */
		(void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
		base = event_base_new_with_config(config);
		event_config_free(config);
	}
	if (!base) {
		err_set(err, ERR_SYSTEM, "cannot set up the event loop");
		return NULL;
	}
	struct loop *loop = mem_zalloc(sizeof(*loop));
	loop->base = base;
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	event_base_free(loop->base);
	free(loop);
}

int loop_run(struct loop *loop, struct err *err)
{
	return event_base_dispatch(loop->base) < 0 ? err_errno(err, "wait for events") : 0;
}

void loop_stop(struct loop *loop)
{
	(void)event_base_loopbreak(loop->base);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct loop_event *event = arg;

	event->fn(event->arg);
}

static struct loop_event *new_event(struct loop *loop, int fd, short what, loop_fn *fn, void *arg)
{
	struct loop_event *event = mem_alloc(sizeof(*event));

	*event = (struct loop_event){ .fn = fn, .arg = arg };
	event->event = event_new(loop->base, fd, what, on_event, event);
	if (!event->event)
		abort(); /* memory has run out; mem_alloc aborts, too */
	return event;
}

struct loop_event *loop_fd(struct loop *loop, int fd, enum loop_what what, loop_fn *fn, void *arg)
{
	short kind = (short)((what & LOOP_READ ? EV_READ : 0) | (what & LOOP_WRITE ? EV_WRITE : 0));
	struct loop_event *event = new_event(loop, fd, kind | EV_PERSIST, fn, arg);

	loop_switch(event, true);
	return event;
}

struct loop_event *loop_signal(struct loop *loop, int sig, loop_fn *fn, void *arg)
{
	struct loop_event *event = new_event(loop, sig, EV_SIGNAL | EV_PERSIST, fn, arg);

	loop_switch(event, true);
	return event;
}

struct loop_event *loop_timer(struct loop *loop, loop_fn *fn, void *arg)
{
	return new_event(loop, -1, 0, fn, arg);
}

void loop_set(struct loop_event *timer, int ms)
{
	struct timeval after = { ms / 1000, ms % 1000 * 1000 };

	(void)event_add(timer->event, &after);
}

void loop_switch(struct loop_event *event, bool on)
{
	(void)(on ? event_add(event->event, NULL) : event_del(event->event));
}

bool loop_is_set(const struct loop_event *event)
{
	return event_pending(event->event, EV_READ | EV_WRITE | EV_SIGNAL | EV_TIMEOUT, NULL);
}

void loop_event_free(struct loop_event **event)
{
	if (!*event)
		return;
	event_free((*event)->event);
	free(*event);
	*event = NULL;
}
