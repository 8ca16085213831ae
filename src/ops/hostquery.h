/*
 * hostquery - finds the host that a request names, and asks its agent.
 *
 * The members HOSTQUERY_PARAMS of a request say which host that is.
 */
#pragma once
#include "core/param.h"
#include "ops/op.h"
#include "rpc/hosts.h"

struct hostquery_options {
	const char *name; /* NULL: no host, so this machine answers */
	const char *config;
};

/* The parameters of the operation REQUEST, whose member MEMBER is a struct hostquery_options. */
#define HOSTQUERY_PARAMS(REQUEST, MEMBER)                                                          \
	PARAM_AS("host", REQUEST, MEMBER.name, TEXT, 0, "ask the agent of this host"),             \
		PARAM_AS("config", REQUEST, MEMBER.config, TEXT, 0, "with --host: the hosts file")

/* Find the host.  Everything in it lives as long as the arena. */
const struct hosts_host *hostquery_find(
	const struct hostquery_options *options, struct arena *arena, struct err *err);
/* Add an option of the agent, such as --folder, once for each of its values. */
void hostquery_add_option(struct param_texts *agent, const char *option,
	const struct param_texts *values, struct arena *arena);
/*
 * Ask a host.  agent has the options of its agent.  The members of the result are written into the
 * object that is open in out.
 */
int hostquery_call(struct op_context *ctx, const struct hostquery_options *options,
	const struct param_texts *agent, const char *method, const struct jsonread *params,
	struct json *out, struct err *err);
