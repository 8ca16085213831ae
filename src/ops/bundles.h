/*
 * bundles - request, row and result of the operations on bundles (strata-trace(1)).
 */
#pragma once
#include "ops/op.h"
#include "trace/bundle/bundle_verify.h"
#include "trace/replay.h"
#include "trace/trace.h"
#include "trace/undo/restore.h"

/* Request of 'replay', 'show' and 'verify'. */
struct bundle_request {
	const char *dir;
};

/* Request and result of 'cat'. */
struct cat_bundle_request {
	const char *dir;
	const char *side;
	const char *path;
};

struct cat_bundle_result {
	struct str path;
	/* at most CAT_RESULT_MAX bytes of the content; empty if the context has a sink for data */
	struct buf content;
	uint64_t size;
};

/* Row and result of 'verify'. */
struct verify_bundle_row {
	struct str where;
	const char *problem;
};

/* Request, row and result of 'diff'. */
struct diff_bundle_request {
	const char *dir;
	const char *path;
};

struct diff_bundle_result {
	uint64_t added, modified, deleted;
};

struct diff_bundle_row {
	const struct bundle_file *file;
	char op;       /* '+' made, '-' removed, '~' changed */
	unsigned what; /* BUNDLE_CHANGED_... bits, if 'op' is '~' */
	struct str patch;
	bool binary;
	/* reason why the row has no patch although the content has changed; else NULL */
	const char *lacks;
};

/* Request and result of 'restore'. */
struct restore_bundle_request {
	const char *dir;
	const char *to;
	bool before;
	bool dry_run;
	bool force;
};

struct restore_bundle_result {
	uint64_t restored, deleted, unchanged, failed;
};

/* Result of 'replay'. */
struct replay_bundle_result {
	struct replay replay;
	bool has_status;
	int64_t recorded_status;
};

/*
 * Result and row of 'show'.  All texts are copies, because the bundle is closed before the result
 * is printed.
 */
struct show_bundle_result {
	struct str *command;
	size_t n_command;
	struct str cwd, engine;
	bool has_status, has_complete, complete;
	int64_t exit_status, started, ended;
	struct str *reasons;
	size_t n_reasons;
	struct bundle_repository *repositories;
	size_t n_repositories;
	uint64_t processes, files, blobs;
	uint64_t created, deleted, changed;
};

struct show_bundle_row {
	/* '+' made, '-' removed, '~' changed, '*' changed by another process, ' ' unchanged */
	char sign;
	const struct show_bundle_result *summary;
	const struct bundle_file *file;
	struct str previous; /* path of the previous row; empty in the first row */
};

/* Request and result of 'record'. */
struct record_bundle_request {
	const char *snapshot_dir; /* directory that the bundle is written to, if 'output' is NULL */
	const char *output;
	const char *engine;
	const char *ignore;
	const char *compression;
	uint64_t read_limit;
	struct param_texts argv;
};

struct record_bundle_result {
	int exit_status;    /* exit status of the command, as a shell gives it */
	struct err failure; /* if code is set, the command did not run */
	const char *output; /* the directory that the request names for the bundle */
	/* directory of the bundle, if another file has taken the path 'output'; else NULL */
	const char *instead;
	bool kept, complete;
	const char *reason; /* reason why the bundle was not kept or is incomplete, or NULL */
};
