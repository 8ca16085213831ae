/*
 * requests - request, row and result of every operation.
 *
 * All these structs are in one file because every face (op.h) needs them all.  Also, the file shows
 * all operations of strata in one place.
 */
#pragma once
#include "confine/grantwire.h"
#include "history/retention.h"
#include "ops/movement.h"
#include "ops/noderow.h"
#include "ops/nodetrace.h"
#include "ops/recording.h"
#include "ops/running.h"
#include "ops/usage.h"
#include "policy/policy.h"
#include "query/families.h"
#include "query/lineage.h"
#include "query/search.h"
#include "rpc/hosts.h"
#include "sandbox/sandbox_run.h"

/* Request and result of 'init'. */
struct init_request {
	const char *from;    /* begin with the content of this directory */
	const char *tarball; /* or with the content of this tar archive; "-": standard input */
	bool empty;          /* or with an empty tree */
	bool in_place;       /* the directory itself becomes the live tree */
	struct param_texts exclude;
	const char *backend;
	const char *name;
	bool skip_unreadable;
};
struct init_result {
	const char *root;
	const char *backend;
	const char *reason;
	const char *work_path;
	struct node node;
	uint64_t entries;
	uint64_t bytes;
	struct store_stats store;
	const struct report *report;
	bool incomplete; /* a file could not be read */
};

/*
 * Result of 'choices': the sources that a user can choose from after running 'init' without a
 * source.
 */
#define CHOICES_MAX 5
struct choices_one {
	const char *arguments;
	const char *gives;
};
struct choices_result {
	const char *root; /* path where 'init' would make the environment */
	bool exists;      /* there is an environment already */
	bool git, shell;  /* whether the working directory has a .git, and whether it has a shell */
	struct choices_one list[CHOICES_MAX];
	size_t n;
};

/* Request of 'kill' and 'relay.signal'. */
struct kill_request {
	int64_t process;               /* only for 'kill' */
	const struct jsonread *signal; /* number or name; NULL: TERM */
};

/* Request of 'cancel'. */
struct cancel_request {
	const struct jsonread *id; /* id of another request of the same connection */
};

/* Request of 'relay'. */
struct relay_request {
	const char *operation;
};

/* Request of 'ctl'. */
struct ctl_request {
	const char *method;
	struct param_texts pairs; /* KEY=VALUE */
	bool lines;
};

/* Request of 'mcp'. */
struct mcp_request {
	const char *environment; /* directory of the environment; NULL: the usual one */
	const char *hosts;       /* the hosts file; NULL: the usual file */
	const char *policy;      /* file of the policy that commands run under */
	bool read_only, allow_write;
	struct families_options families;
};

/* Request and result of 'commit'. */
struct commit_request {
	const char *message;
	bool allow_empty;
};
struct commit_result {
	bool made;
	struct noderow node;
	const struct report *report;
};
void commit_result_json(struct json *out, const void *result);

/* Request of 'auto'.  The result is a struct commit_result. */
struct auto_request {
	struct param_texts command; /* the command that made the changes, if it is known */
	bool end;                   /* end all programs first */
};

/* Result of the operation 'stores', which the owner runs now and then. */
#define STORES_STATE 17
struct stores_result {
	char state[STORES_STATE]; /* mapped_state in hexadecimal digits; "": no file is mapped */
};

/* Request of 'checkout', 'undo' and 'redo'.  The result is a struct movement. */
struct checkout_request {
	const char *ref; /* NULL if 'abort' is set */
	bool no_safety;
	bool live;
	bool abort; /* undo a checkout that was interrupted */
};
struct step_request {
	int64_t steps;
};

/* A policy that was read once, for all commands that run under it. */
struct exec_policy {
	struct policy policy;
	int denials; /* descriptor that gets each denial; -1: none */
};

/* For exec, shell and supervise: where a program runs, as which user, and what it may reach. */
struct exec_place {
	const char *cwd;
	struct param_texts env; /* NAME=VALUE, or NAME for the caller's value */
	const char *user;
	const char *net;         /* "host" or "none" */
	bool host_sockets;       /* if 'net' is "host": programs reach abstract sockets, too */
	struct param_texts bind; /* HOST:INSIDE[:ro] */
	const char *policy;      /* file; NULL: none */
	/* the policy, already read by another operation; NULL: the member 'policy' names it */
	struct exec_policy *ready;
	const char *denials; /* with policy: a file or the number of a descriptor */
};

/* Request and result of 'exec' and 'shell'. */
struct exec_request {
	struct param_texts argv;
	struct exec_place place;
	int64_t timeout;    /* seconds, 0: none */
	int64_t timeout_ms; /* timeout in milliseconds */
	const char *shell;  /* instead of argv: a line for the sandbox's shell */
	bool no_commit;
	bool trace; /* keep a trace of the command with the node */
	bool quiet; /* print no node; used only by the command line */
	/* These members are set only by other operations. */
	const char *message;    /* message of the node; NULL: made from the changed paths */
	bool allow_empty;       /* make a node even if nothing changed */
	struct bindspecs binds; /* place.bind after it was parsed */
};
struct exec_result {
	struct sandbox_result sandbox;
	struct err why; /* reason why the command could not be executed */
	bool never;     /* the command was ended before it began */
	bool made;
	struct noderow node;
	const char *uncommitted; /* reason why no node has the changes */
	const char *untraced;    /* reason why there is no trace */
	const char *unenforced;  /* unenforced parts of the policy, each on a line; NULL: none */
	struct node_denial *denials; /* the denials of the policy */
	size_t n_denials;
	const char *degraded; /* features that the sandbox lacks, each on a line; NULL: none */
	const struct report *report;
};

/* Request, row and result of 'fork'.  The rows are struct fork_row. */
struct fork_request {
	const char *name; /* name of the workspace; with 'count', prefix of all names */
	const char *ref;  /* NULL: HEAD */
	int64_t count;
};
struct fork_row {
	const char *name;
};
struct fork_result {
	char head[NODE_ID];
	const struct report *report;
};

/* Request, row and result of 'tournament'.  The rows are struct tournament_row. */
#define TOURNAMENT_CANDIDATES_MAX 64
struct tournament_request {
	const char *base; /* NULL: HEAD */
	const char *test;
	const char *score; /* NULL: none */
	int64_t jobs;      /* 0: one for each processor */
	int64_t timeout;   /* seconds for a candidate and its test together, 0: none */
	bool all;
	bool no_adopt;
	bool test_from_base, test_in_candidate; /* if neither is set: test_from_base */
	struct param_texts test_path;           /* more files of the test (judge.h) */
	uint64_t log_limit;                     /* 0: TOURNAMENT_LOG_LIMIT */
	struct param_texts candidates;
};
#define TOURNAMENT_LOG_LIMIT ((uint64_t)16 << 20)
#define TOURNAMENT_LOG_MIN ((uint64_t)4 << 10)
#define TOURNAMENT_LOG_MAX ((uint64_t)1 << 30)
enum tournament_stage {
	TOURNAMENT_WAITING,
	TOURNAMENT_RUNNING, /* the candidate runs */
	TOURNAMENT_TESTING,
	TOURNAMENT_SCORING,
	TOURNAMENT_ENDED,
};
/* The state of a candidate, as reported by the process that runs it. */
struct tournament_state {
	enum tournament_stage stage;
	bool ran, tested, scored; /* the command, the test or the score command has a result */
	bool passed;
	bool timed_out;
	bool unrunnable; /* the candidate could not be run, for example because there is no shell */
	int exit_status, test_exit;
	double score;
	char node[NODE_ID];     /* "": none */
	uint32_t judge_changed; /* bit i is set if the candidate changed path i of the judge */
	struct err failure;     /* an error of strata itself; code 0: none */
};
struct judge;
struct tournament_row {
	const char *name;
	const char *command;
	const char *log; /* path of the log */
	struct tournament_state state;
	const struct judge *judge;
	bool cancelled;
	int64_t began;    /* value of when_monotonic at the start */
	int64_t duration; /* ns; set when the candidate has ended */
};
/* The state that op_context.watch gets. */
struct tournament_watch {
	const struct tournament_row *const *rows;
	size_t n;
	int64_t now; /* value of when_monotonic */
};
struct tournament_result {
	char base[NODE_ID];
	const char *winner; /* NULL: none */
	char winner_node[NODE_ID];
	bool adopted;
	struct movement moved; /* if adopted is set: the movement that checked the winner out */
	struct err why;        /* reason why the winner could not be adopted; code 0: no failure */
	struct err left;       /* reason why a workspace could not be removed; code 0: no failure */
	int signal;            /* the signal that ended the tournament, or 0 */
	const struct report *report;
};

/* Request and row of 'workspaces'. */
struct workspaces_request {
	const char *action; /* "delete", or NULL: list the workspaces */
	const char *name;
};
struct workspaces_row {
	const struct history_workspace *workspace;
	bool running;
};
struct workspaces_result {
	const char *deleted;
};

/* Request and result of 'restore'. */
struct restore_request {
	const char *ref;
	struct param_texts paths;
};
struct restore_result {
	struct treediff_counts changes;
	const struct report *report;
};

/* Request and result of 'cp'. */
struct cp_request {
	const char *from; /* REF:PATH, or a path of the host; "-": standard input */
	const char *to;   /* a path of the host, or REF:PATH; "-": standard output */
};
struct cp_result {
	const char *ref; /* id of the node, or "work" */
	struct str path; /* path in the tree of 'ref' */
	const char *host;
	bool into; /* the copy went into the live tree; 'changes' is set */
	struct treediff_counts changes;
	uint64_t entries, bytes; /* number of entries and bytes that were copied */
	const struct report *report;
};

/* Request and row of 'ps'.  The rows are struct ps_row. */
struct ps_known {
	int64_t number;
	const char *kind;
	int task; /* pid of the owner's task that runs the command */
	struct param_texts argv;
	int64_t began;
};
struct ps_request {
	const struct ps_known *known; /* the commands that the owner runs; set only by the owner */
	size_t n_known;
};
struct ps_row {
	int pid;      /* pid inside the sandbox; 0: no process yet */
	int host_pid; /* pid outside the sandbox; 0: not known */
	uint32_t uid; /* user id in the sandbox */
	int64_t started;
	struct param_texts argv;
	const struct ps_known *known; /* the owner's command that the process belongs to, or NULL */
};

/*
 * Result of 'grant' and 'revoke'.  Their requests are struct grantwire_request.  Their rows are
 * struct grantwire_answer.
 */
struct grant_result {
	const struct grantwire_request *request;
	int64_t changed; /* number of commands that were changed */
	int64_t refused;
};

/* Request, row and result of 'tag' and 'tags'. */
struct tag_request {
	const char *name;
	const char *ref; /* NULL: show the tag, or make a new tag at HEAD */
	bool remove;
};
struct tag_result {
	const char *name;
	char id[NODE_ID];
	bool removed;
};
struct tag_row {
	const char *name;
	const char *id;
};

/* Request of 'delete' and 'show'. */
struct ref_request {
	const char *ref;
};

/* Result of 'delete' and 'head'. */
struct id_result {
	char id[NODE_ID];
};

/* Request of 'retain'. */
struct retain_request {
	int64_t keep;
	uint64_t max_bytes;
	bool dry_run;
};

/* Request and result of 'gc'. */
struct gc_request {
	uint64_t max_layers; /* bytes; 0: the limit does not change */
};
struct gc_result {
	struct store_stats freed;
	struct store_stats store;
	struct usage less; /* number of bytes by which each part of the environment has shrunk */
	uint64_t database; /* bytes of the database on disk */
	uint64_t database_freed; /* bytes by which the database has shrunk */
};

/* Result of 'du'. */
struct du_result {
	struct usage usage;
};

/* Request and result of 'destroy'. */
struct destroy_request {
	bool yes;  /* do not ask; used only by the command line */
	bool kill; /* end owners and programs of the environment */
};
struct destroy_result {
	const char *root;
	bool destroyed;
	uint64_t removed;      /* number of names that were removed */
	bool stays;            /* the empty directory could not be removed */
	const char *why_alone; /* reason why only the user's own uid and gid were mapped, or NULL */
	const struct report *report;
};

/* Result of 'status'. */
struct status_result {
	const char *root;
	const char *name;
	const struct history_workspace *workspace;
	const char *work_path;
	uint64_t dirty;
	uint64_t drift; /* entries of the base that were changed outside of strata */
	struct treediff_counts changes;
	const struct node_path *paths;
	size_t n_paths;
	uint64_t nodes;
	uint64_t tags;
	struct store_stats store;
	struct usage disk;
	const char *const *ignore;
	size_t n_ignore;
	const struct running_process *processes;
	/* number of all processes; 'processes' lists at most RUNNING_LIST_MAX */
	size_t n_processes;
	bool processes_unknown;
	const struct node_bind *binds; /* binds that the processes have */
	size_t n_binds;
	struct recording recording;
	const char *degraded[8];
	size_t n_degraded;
	struct node head;
	const struct report *report;
};

/* Request of 'log', and result of 'show'.  The rows of 'log' and 'branches' are struct noderow. */
struct log_request {
	const char *ref; /* only this node and its ancestors */
	int64_t limit;
	const char *path;
	const char *since;
	bool graph; /* used only by the command line */
};
struct show_result {
	struct noderow node;
	struct nodetrace trace;
};

/* Request, row and result of 'diff'.  The rows are struct diff_row. */
struct diff_request {
	const char *a;
	const char *b;                 /* NULL: the live tree */
	bool stat, name_status, patch; /* forms of the output; at most one is set */
	struct param_texts paths;
};
struct diff_result {
	const char *a; /* ids of the nodes; "work" for the live tree */
	const char *b;
	struct treediff_counts counts;
};
/* A row of diff: the change, and its patch if the request asks for patches. */
struct diff_row {
	const struct treediff_change *change;
	struct str patch; /* unified diff; empty if there is none */
	bool binary;
};

/* Requests, rows and results of 'ls', 'cat', 'find', 'grep', 'file-log' and 'blame'. */
struct ls_request {
	const char *where; /* REF[:PATH] */
	bool recursive;
};
struct ls_result {
	const char *ref;
	struct str path;
};
struct ls_row {
	struct str path; /* relative to the directory that was listed */
	const struct entry *entry;
};
struct cat_request {
	const char *where;
};
/* Without a data sink, the result contains the content, up to CAT_RESULT_MAX. */
#define CAT_RESULT_MAX ((uint64_t)4 << 20)
struct cat_result {
	const char *ref;
	struct str path;
	uint64_t size;
	struct str content;
	bool truncated;
};
struct find_request {
	const char *ref;
	const char *pattern;
};
struct grep_request {
	const char *pattern;
	struct param_texts refs;
	struct param_texts paths;
	bool all;
	bool ignore_case;
	bool fixed;
	int64_t limit;
};
struct find_result {
	const char *ref;
};
struct find_row {
	struct str path;
	const struct entry *entry;
};
struct grep_row {
	const char *ref; /* with --all: the first node that contains the line */
	const struct search_match *match;
};
struct grep_result {
	bool truncated;
	uint64_t matches;
	uint64_t missed; /* lines that were not searched; see report */
	const struct report *report;
};
struct path_request {
	const char *path;
};
/* Result of 'blame'.  (The rows of 'file-log' are struct lineage_version.) */
struct blame_result {
	struct str path;
	bool found;
	struct noderow last;    /* the node that last changed the path */
	struct nodetrace trace; /* trace of that node's command */
	bool present;
};

/* Requests and results of 'export' and 'import'. */
struct export_request {
	const char *ref;
	const char *format; /* "tar" or "dir" */
	const char *output; /* "-" for standard output */
};
struct export_result {
	char id[NODE_ID];
	uint64_t entries;
	uint64_t bytes;
	const struct report *report; /* the files that could not be written */
};
struct import_request {
	const char *file;
	const char *message;
};
struct import_result {
	struct noderow node;
	uint64_t entries;
	const struct report *report; /* the members that were refused */
};

/* Request and result of 'fsck'.  The rows are struct verify_error. */
struct fsck_request {
	bool repair;
};
struct fsck_result {
	bool ok;
	uint64_t objects, nodes, bytes, errors;
	uint64_t rescued, dropped;
	/*
	 * number of layers whose files differ from their tree; a repair makes strata rebuild them
	 */
	uint64_t layers;
	bool repaired;
};

/* Row and result of 'worker'. */
struct worker_row {
	const char *event; /* "ready", or "unenforced" */
	/* with "unenforced": the part of the policy that is not enforced; else NULL */
	const char *text;
};

struct worker_result {
	int status;
	/* if status is WORKERRUN_UNCONFINED: the layer of protection that is missing */
	struct err missing;
};

/* Row of 'doctor'. */
struct doctor_row {
	const char *name;
	bool ok;
	const char *detail;
	/* effect of the missing feature, and the remedy; NULL if the feature is there */
	const char *remedy;
};

/* Result of 'query'. */
struct query_result {
	const struct op *method;
	struct str members; /* JSON, formatted for an object that is indented by two columns */
};

/* Request, row and result of 'hosts'. */
struct hosts_request {
	struct param_texts name;
	const char *config;
	bool check;
	int64_t timeout; /* seconds */
};
struct hosts_check {
	bool ok;
	struct err err;            /* set if 'ok' is false */
	const char *agent_version; /* set, with all members below, if 'ok' is true */
	const char *agent;         /* source of the program, such as "cache" */
	const char *const *providers;
	size_t n_providers;
	int64_t connect_ms; /* time until the first answer */
	int64_t latency_ms; /* time from a question to its answer */
};
struct hosts_row {
	const struct hosts_host *host;
	const struct hosts_check *check; /* NULL: the request did not ask for checks */
};
struct hosts_result {
	const char *path; /* path of the hosts file */
	bool exists;
	size_t n_failed;
};
