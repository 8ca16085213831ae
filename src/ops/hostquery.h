/*
 * hostquery - finds the host that a request names, and asks its agent instead of this machine.
 *
 * The parameters HOSTQUERY_PARAMS of a request name that host.
 */
#pragma once
#include "core/param.h"
#include "ops/op.h"
#include "query/families.h"
#include "rpc/hosts.h"

struct hostquery_options {
	const char *name; /* NULL: no host, so this machine answers */
	const char *config;
};

/*
 * Entries of a parameter list.  They set the members of MEMBER, a struct hostquery_options that is
 * a member of the struct REQUEST.
 */
#define HOSTQUERY_PARAMS(REQUEST, MEMBER)                                                          \
	PARAM_AS("host", REQUEST, MEMBER.name, TEXT, 0, "ask the agent of this host"),             \
		PARAM_AS("config", REQUEST, MEMBER.config, TEXT, 0, "with --host: the hosts file")

/* Find the host.  The host and its texts live as long as the arena. */
const struct hosts_host *hostquery_find(
	const struct hostquery_options *options, struct arena *arena, struct err *err);
/*
 * Check that the families exist, and that the options of the operation 'command' fit together.  If
 * a host is asked, --allow-restore is refused, because the hosts file says where that host may
 * restore files.
 */
int hostquery_check(const char *command, const struct hostquery_options *options,
	const struct families_options *families, struct err *err);
/*
 * Ask a host about the snapshots of these families.  The members of the result are written into the
 * object that is open in out.
 */
int hostquery_call(struct op_context *ctx, const struct hostquery_options *options,
	const struct families_options *families, const char *method, const struct jsonread *params,
	struct json *out, struct err *err);
/* Pass the requests on standard input on to a host. */
int hostquery_relay(struct op_context *ctx, const struct hostquery_options *options,
	const struct families_options *families, struct err *err);
