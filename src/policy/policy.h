/*
 * policy - what a program may do: the files that it may read and write, the hosts that it may
 * reach, the programs that it may execute, its variables and its resources.
 *
 * A policy is read from JSON (docs/POLICY.md) and checked here.  This folder turns text into rules,
 * and judges paths, hosts and programs by them.  The folder does not use the kernel: confine/
 * enforces a policy.
 *
 * A rule about files is an absolute path, or begins with "~/" or "$WORKSPACE/", which
 * policy_resolve replaces.  Such a rule may contain globs.  It covers the path and everything below
 * it.  policy/rule.h has the details, and policy/domains.h describes rules about hosts.  All texts
 * lie in the arena of the reader.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/json.h"
#include "core/str.h"

#define POLICY_SIZE_MAX ((size_t)1 << 20)
#define POLICY_RULES_MAX 1024 /* rules in one list */
#define POLICY_DEPTH_MAX 16   /* maximum of mandatory_deny_search_depth */

enum policy_net {
	POLICY_NET_NONE,      /* a loopback device of its own and nothing else */
	POLICY_NET_HOST,      /* the network of the machine */
	POLICY_NET_ALLOWLIST, /* the allowed domains, through a proxy of strata */
};

/* The behaviour of strata if the kernel cannot enforce a part of the policy. */
enum policy_trust {
	/* the program runs, and strata reports the parts that are not enforced */
	POLICY_TRUST_AUTO,
	POLICY_TRUST_REQUIRE, /* the program does not run */
	POLICY_TRUST_FORBID,  /* no part of the policy is enforced */
};

struct policy_list {
	const char **list;
	size_t n;
};

struct policy_fs {
	struct policy_list allow_read, deny_read, allow_read_within_deny;
	struct policy_list allow_write, deny_write_within_allow;
	struct policy_list grantable; /* places that may be granted while the program runs */
	bool allow_git_config;        /* .git/config is not protected */
	int64_t search_depth;         /* depth of the search for repositories at the start */
};

struct policy_domains {
	enum policy_net mode;
	struct policy_list allowed, denied; /* "HOST", "*.HOST", an address; with ":PORT" or ":*" */
	/* hosts that may be granted while the program runs, in the form of 'allowed' */
	struct policy_list grantable;
	struct policy_list unix_sockets; /* paths of sockets to which the program may connect */
	bool allow_local_binding;        /* the program may listen on TCP ports */
};

struct policy_programs {
	struct policy_list allow, deny; /* if 'allow' is empty, every program is allowed */
	bool nested;                    /* programs may make sandboxes of their own */
};

struct policy_env {
	/* names, with globs, of variables that are taken from strata's environment */
	struct policy_list allow;
	struct policy_list set; /* NAME=VALUE */
};

/* Each member is a limit; 0: there is no limit. */
struct policy_limits {
	int64_t cpu_time_secs, wall_time_secs;
	int64_t max_rss_bytes, max_open_fds, max_processes, max_output_bytes;
};

/* The absolute paths that the variables of a rule stand for. */
struct policy_place {
	const char *home;
	const char *workspace;
};

struct policy {
	const char *preset; /* NULL: none */
	struct policy_fs fs;
	struct policy_domains net;
	struct policy_programs exec;
	struct policy_env env;
	struct policy_limits limits;
	enum policy_trust trust;
	struct policy_place place; /* for a resolved policy; otherwise its members are NULL */
	/* Texts for people about probable mistakes in the policy (policy/oddities.h). */
	struct policy_list warnings;
};

/*
 * Read a policy.  The message of ERR_INVALID names the file, line and column of the mistake.  If
 * well-formed JSON has an unknown member, a wrong type, a malformed rule or a contradiction, the
 * message also names the key, such as fs.allow_read[2].  'name' is the name of the file, for
 * messages.
 */
int policy_read(struct str text, const char *name, struct arena *arena, struct policy *out,
	struct err *err);
/*
 * Write a policy with all its members, as an object that policy_read accepts.  The object does not
 * name the preset, since all the preset's rules are written.
 */
void policy_write(struct json *out, const char *key, const struct policy *policy);
/* As policy_write, but writes the members into the object that is open in 'out'. */
void policy_write_members(struct json *out, const struct policy *policy);
/*
 * Replace the variables in all rules by the absolute paths of 'place'.  Glob characters in these
 * paths are quoted by '\\'.  rule_path returns the path of such a rule.
 */
int policy_resolve(const struct policy *policy, const struct policy_place *place,
	struct arena *arena, struct policy *out, struct err *err);
