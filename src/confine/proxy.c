#include "confine/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "confine/admission.h"
#include "confine/attempts.h"
#include "confine/connection.h"
#include "confine/nameserver.h"
#include "confine/proxy_priv.h"
#include "core/mem.h"
#include "core/own.h"

#define NAMES_PORT 53
#define ACCEPTED_MAX 32 /* connections accepted before other events get their turn */
#define RESUME_MS 100   /* pause after accept failed for lack of a descriptor */

/* -------------------------------------------------------------------- helpers */

bool proxy_listens(const struct proxy *proxy, uint16_t port)
{
	for (const struct proxy_listener *l = proxy->listeners; l; l = l->next)
		if (l->port == port && (l->service == PROXY_DIRECT || l->service == PROXY_NAMES))
			return true;
	return false;
}

void proxy_name_address(
	const struct proxy *proxy, const union netspace_address *address, struct hostname *out)
{
	const char *name = namepool_find(proxy->pool, address);

	hostname_of_address(address, out);
	if (!name)
		return;
	out->literal = false;
	snprintf(out->text, sizeof(out->text), "%s", name);
}

void proxy_deny(struct proxy *proxy, const char *what, const struct hostname *host,
	const struct verdict *verdict)
{
	struct verdict with_grant = *verdict;
	char text[HOSTNAME_PORT_MAX];

	admission_propose(&proxy->policy, host, &with_grant);
	denials_add(proxy->denials, what, host->port ? hostname_print(host, text) : host->text,
		&with_grant, 0);
}

/* ------------------------------------------------------------------ listeners */

static void watch_listeners(struct proxy *proxy, bool accepts)
{
	proxy->accepts = accepts;
	for (struct proxy_listener *l = proxy->listeners; l; l = l->next)
		poller_change(proxy->poller, &l->event, accepts ? POLLER_READ : 0u);
}

static void resume(void *arg)
{
	watch_listeners(arg, true);
}

static void accept_some(void *arg, unsigned what, bool failed)
{
	struct proxy_listener *listener = arg;
	struct proxy *proxy = listener->proxy;

	for (int i = 0; i < ACCEPTED_MAX; i++) {
		if (proxy->n_connections >= PROXY_CONNECTIONS_MAX) {
			watch_listeners(proxy, false);
			return;
		}
		/* cppcheck-suppress nullPointer */
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			connection_take(proxy, listener->service, fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != ECONNABORTED && errno != EINTR) {
			watch_listeners(proxy, false);
			poller_set(proxy->poller, &proxy->resume, RESUME_MS);
			return;
		}
	}
}

static void free_listener(struct proxy_listener *listener)
{
	poller_remove(listener->proxy->poller, &listener->event);
	close_fd(&listener->fd);
	free(listener);
}

/* Wait for connections at a socket.  The descriptor fd is taken over. */
static int add_listener(
	struct proxy *proxy, enum proxy_service service, uint16_t port, int fd, struct err *err)
{
	struct proxy_listener *listener = mem_alloc(sizeof(*listener));

	*listener = (struct proxy_listener){
		.proxy = proxy,
		.service = service,
		.port = port,
		.fd = fd,
		.event = { .fd = -1, .ready = accept_some, .arg = listener },
		.next = proxy->listeners,
	};
	if (poller_add(proxy->poller, &listener->event, fd, proxy->accepts ? POLLER_READ : 0u,
		    err) < 0) {
		free_listener(listener);
		return -(int)err->code;
	}
	proxy->listeners = listener;
	return 0;
}

static int listen_direct(struct proxy *proxy, uint16_t port, struct err *err)
{
	int fd = netspace_listen(proxy->space, port, err);

	return fd < 0 ? fd : add_listener(proxy, PROXY_DIRECT, port, fd, err);
}

/* Listen on the ports that rules name and that have no listener yet. */
static int listen_for_rules(struct proxy *proxy, struct err *err)
{
	uint16_t ports[PROXY_PORTS_MAX];
	size_t n = verdict_ports(&proxy->policy, ports, PROXY_PORTS_MAX);

	if (n > PROXY_PORTS_MAX)
		return err_set(err, ERR_LIMIT, "rules of net.allowed_domains name %zu ports", n);
	for (size_t i = 0; i < n; i++)
		if (!proxy_listens(proxy, ports[i]) && listen_direct(proxy, ports[i], err) < 0)
			return -(int)err->code;
	return 0;
}

/*
 * Listen on the port 'first'.  If a rule names that port, one of the next ports is used instead.
 * *port becomes the port that is used.
 */
static int listen_for_service(struct proxy *proxy, enum proxy_service service, uint16_t first,
	uint16_t *port, struct err *err)
{
	for (*port = first;; ++*port) {
		int fd = netspace_listen_loopback(proxy->space, *port, err);

		if (fd >= 0)
			return add_listener(proxy, service, *port, fd, err);
		if (fd != -ERR_BUSY || *port == first + PROXY_PORTS_MAX)
			return fd;
		*err = (struct err){ .code = 0 };
	}
}

static void serve_queries(void *arg, unsigned what, bool failed)
{
	nameserver_serve(arg);
}

static int listen_for_queries(struct proxy *proxy, struct err *err)
{
	int fd = netspace_listen(proxy->space, NAMES_PORT, err);

	if (fd < 0 || add_listener(proxy, PROXY_NAMES, NAMES_PORT, fd, err) < 0)
		return -(int)err->code;
	proxy->queries = netspace_datagrams(proxy->space, NAMES_PORT, err);
	if (proxy->queries < 0)
		return proxy->queries;
	proxy->queries_event =
		(struct poller_event){ .fd = -1, .ready = serve_queries, .arg = proxy };
	return poller_add(proxy->poller, &proxy->queries_event, proxy->queries, POLLER_READ, err);
}

static void note_attempts(void *arg, unsigned what, bool failed)
{
	attempts_note(arg);
}

static int listen_for_attempts(struct proxy *proxy, struct err *err)
{
	proxy->attempts = netspace_watch(proxy->space, err);
	if (proxy->attempts < 0)
		return proxy->attempts;
	/*
	 * The kernel takes some 10 ms to free this socket.  strata waits for the end of the warden,
	 * but not for the end of the process that looks up names.  So that process also holds the
	 * socket.
	 */
	resolver_hold(proxy->resolver, proxy->attempts);
	proxy->attempts_event =
		(struct poller_event){ .fd = -1, .ready = note_attempts, .arg = proxy };
	return poller_add(proxy->poller, &proxy->attempts_event, proxy->attempts, POLLER_READ, err);
}

static int listen_everywhere(struct proxy *proxy, struct err *err)
{
	if (listen_for_queries(proxy, err) < 0 || listen_for_rules(proxy, err) < 0 ||
		listen_for_service(proxy, PROXY_HTTP, PROXY_HTTP_PORT, &proxy->http_port, err) <
			0 ||
		listen_for_service(proxy, PROXY_SOCKS, PROXY_SOCKS_PORT, &proxy->socks_port, err) <
			0 ||
		listen_for_attempts(proxy, err) < 0)
		return err_context(err, "listen for connections of the sandbox");
	return 0;
}

/* ------------------------------------------------------------- making a proxy */

/*
 * Make the variables that name the proxy.  ALL_PROXY is not among them: a program without a module
 * for SOCKS refuses to work if that variable names a SOCKS proxy.  Such a program needs no
 * variable, since its direct connections reach the proxy as well.
 */
static void make_environment(struct proxy *proxy)
{
	static const char *const names[] = { "HTTP_PROXY", "HTTPS_PROXY", "http_proxy",
		"https_proxy" };
	size_t n = 0;

	for (; n < sizeof(names) / sizeof(names[0]); n++)
		proxy->environment[n] =
			mem_printf("%s=http://127.0.0.1:%u", names[n], (unsigned)proxy->http_port);
	proxy->environment[n++] = mem_strdup("NO_PROXY=localhost,127.0.0.1,::1");
	proxy->environment[n] = mem_strdup("no_proxy=localhost,127.0.0.1,::1");
}

static void set_options(struct proxy *proxy, const struct proxy_options *options)
{
	if (options)
		proxy->options = *options;
	if (!proxy->options.resolve)
		proxy->options.resolve = lookup_system;
	if (!proxy->options.resolve_ms)
		proxy->options.resolve_ms = RESOLVER_DEADLINE_MS;
	if (!proxy->options.connect_ms)
		proxy->options.connect_ms = PROXY_CONNECT_MS;
	if (!proxy->options.patience_ms)
		proxy->options.patience_ms = PROXY_PATIENCE_MS;
}

static void copy_policy(struct proxy *proxy, const struct policy *policy)
{
	const struct policy_list *given = &policy->net.allowed;

	proxy->policy = *policy;
	proxy->n_given = given->n;
	proxy->rules = mem_alloc((given->n + 1) * sizeof(*proxy->rules));
	if (given->n)
		memcpy(proxy->rules, given->list, given->n * sizeof(*proxy->rules));
	proxy->policy.net.allowed.list = proxy->rules;
}

struct proxy *proxy_new(const struct policy *policy, struct netspace *space,
	struct denials *denials, const struct proxy_options *options, struct err *err)
{
	struct proxy *proxy = mem_alloc(sizeof(*proxy));

	*proxy = (struct proxy){
		.space = space,
		.denials = denials,
		.accepts = true,
		.resume = { .expired = resume, .arg = proxy },
		.queries = -1,
		.attempts = -1,
		.queries_event = { .fd = -1 },
		.attempts_event = { .fd = -1 },
	};
	set_options(proxy, options);
	copy_policy(proxy, policy);
	proxy->pool = namepool_new();
	proxy->poller = poller_new(err);
	if (proxy->poller)
		proxy->resolver = resolver_new(proxy->poller, proxy->options.resolve,
			proxy->options.resolve_arg, proxy->options.resolve_ms, err);
	if (!proxy->resolver || listen_everywhere(proxy, err) < 0) {
		proxy_free(proxy);
		return NULL;
	}
	make_environment(proxy);
	return proxy;
}

static void free_listeners(struct proxy *proxy)
{
	while (proxy->listeners) {
		struct proxy_listener *listener = proxy->listeners;

		proxy->listeners = listener->next;
		free_listener(listener);
	}
}

void proxy_free(struct proxy *proxy)
{
	if (!proxy)
		return;
	connection_end_all(proxy);
	connection_free_ended(proxy);
	free_listeners(proxy);
	resolver_free(proxy->resolver);
	close_fd(&proxy->queries);
	close_fd(&proxy->attempts);
	poller_free(proxy->poller);
	namepool_free(proxy->pool);
	for (size_t i = proxy->n_given; i < proxy->policy.net.allowed.n; i++)
		free((void *)proxy->rules[i]);
	free(proxy->rules);
	for (size_t i = 0; i < PROXY_VARIABLES; i++)
		free(proxy->environment[i]);
	free(proxy);
}

/* ---------------------------------------------------------- running the proxy */

int proxy_fd(const struct proxy *proxy)
{
	return poller_fd(proxy->poller);
}

void proxy_step(struct proxy *proxy)
{
	poller_step(proxy->poller);
	connection_free_ended(proxy);
	if (!proxy->accepts && !proxy->resume.at && proxy->n_connections < PROXY_CONNECTIONS_MAX)
		watch_listeners(proxy, true);
}

const char *const *proxy_environment(const struct proxy *proxy)
{
	return (const char *const *)proxy->environment;
}

/* -------------------------------------------------------------- granted hosts */

static void drop_rule(struct proxy *proxy, size_t i)
{
	const size_t n = --proxy->policy.net.allowed.n;

	free((void *)proxy->rules[i]);
	memmove(&proxy->rules[i], &proxy->rules[i + 1], (n - i) * sizeof(*proxy->rules));
}

int proxy_allow(struct proxy *proxy, const char *rule, struct err *err)
{
	const size_t n = proxy->policy.net.allowed.n;

	if (n >= POLICY_RULES_MAX)
		return err_set(err, ERR_LIMIT, "there are %d rules for hosts", POLICY_RULES_MAX);
	proxy->rules = mem_realloc(proxy->rules, (n + 1) * sizeof(*proxy->rules));
	proxy->policy.net.allowed.list = proxy->rules;
	proxy->rules[n] = mem_strdup(rule);
	proxy->policy.net.allowed.n = n + 1;
	if (listen_for_rules(proxy, err) == 0)
		return 0;
	drop_rule(proxy, n);
	return -(int)err->code;
}

/* The listeners stay, so that the proxy can tell a program the reason of the denial. */
int proxy_revoke(struct proxy *proxy, const char *rule, struct err *err)
{
	for (size_t i = proxy->n_given; i < proxy->policy.net.allowed.n; i++) {
		if (strcmp(proxy->rules[i], rule) != 0)
			continue;
		drop_rule(proxy, i);
		connection_check_all(proxy);
		connection_free_ended(proxy);
		return 0;
	}
	return err_set(err, ERR_NOT_FOUND, "'%s' was not granted", rule);
}
