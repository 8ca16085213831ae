/* exec - run a command in the environment, for 'exec', 'shell' and 'tournament'. */
#pragma once
#include "ops/requests.h"

#define EXEC_TIMEOUT_MAX (INT64_C(30) * 24 * 3600) /* seconds */

/* An entry of a parameter list, for a member of the request's struct exec_place. */
#define EXEC_PLACE_PARAM(REQUEST, NAME, TYPE, HELP)                                                \
	EXEC_PLACE_PARAM_AS(REQUEST, NAME, TYPE, 0, HELP)
#define EXEC_PLACE_PARAM_AS(REQUEST, NAME, TYPE, FLAGS, HELP)                                      \
	PARAM_AS(#NAME, REQUEST, place.NAME, TYPE, FLAGS, HELP)
#define EXEC_PLACE_PARAMS(REQUEST)                                                                 \
	EXEC_PLACE_PARAM(REQUEST, cwd, TEXT,                                                       \
		"the directory of the environment to start in; / unless given"),                   \
		EXEC_PLACE_PARAM(REQUEST, env, TEXTS, "NAME=VALUE, or NAME: as it is here"),       \
		EXEC_PLACE_PARAM(REQUEST, user, TEXT,                                              \
			"USER[:GROUP] of the environment; root unless given"),                     \
		EXEC_PLACE_PARAM(REQUEST, net, TEXT, "host (the default) or none"),                \
		EXEC_PLACE_PARAM_AS(REQUEST, host_sockets, FLAG, PARAM_PERSON,                     \
			"with the machine's network, its abstract sockets as well"),               \
		EXEC_PLACE_PARAM_AS(REQUEST, bind, TEXTS, PARAM_PERSON,                            \
			"HOST:INSIDE[:ro]: show a file or directory of this machine"),             \
		EXEC_PLACE_PARAM_AS(REQUEST, policy, TEXT, PARAM_STDIN | PARAM_PERSON,             \
			"the file of a policy to run under"),                                      \
		EXEC_PLACE_PARAM_AS(REQUEST, denials, TEXT, PARAM_DESCRIPTOR | PARAM_PERSON,       \
			"with a policy: a file or descriptor that gets each denial as JSON")

int exec_run(struct op_context *ctx, const struct exec_request *req, struct exec_result *result,
	struct err *err);
/* If req->shell is set, set req->argv to a command that makes a shell run the line req->shell. */
int exec_take_shell(struct exec_request *req, struct arena *arena, struct err *err);
#define EXEC_SHAPE                                                                                 \
	"exit_status:int signal:int? timed_out:bool error:text? " SHAPE_COUNTS                     \
	"node:{" NODEROW_SHAPE "}? uncommitted:text? untraced:text? "                              \
	"unenforced:[text] " SHAPE_DENIALS SHAPE_REPORT
void exec_result_json(struct json *out, const void *result);
