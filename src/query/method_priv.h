/*
 * method_priv - shared by the methods: types of request members, lists that keep to the limits of a
 * reply, and functions that find paths and snapshots.
 *
 * ERR_DENIED means that the protocol refuses a path.  Such a path contains "..", or is a symlink,
 * or is no regular file although the method needs one.  ERR_NOT_FOUND means that a path does not
 * exist.
 */
#pragma once
#include "core/hash.h"
#include "core/linesearch.h"
#include "core/when.h"
#include "query/method.h"
#include "query/timed.h"

struct method_regex {
	struct str text;
	struct linesearch *lines; /* freed by method_call */
};

struct method_dataset {
	struct str name;
	struct provider *provider; /* NULL: the request has no dataset */
};

struct method_snapshot {
	const char *full;          /* DATASET@NAME */
	struct provider *provider; /* provider of the snapshot's dataset */
	struct provider_snapshot is;
};

extern const struct op method_agent_info, method_bisect_change, method_blame_path,
	method_checksum_file, method_content_grep, method_dataset_properties, method_diff_snapshots,
	method_file_diff, method_file_history, method_find_deleted, method_find_files,
	method_first_appearance, method_grep_history, method_last_appearance, method_list_datasets,
	method_list_dir, method_list_pools, method_list_snapshots, method_pool_status,
	method_read_file, method_restore_dir, method_restore_file, method_size_breakdown,
	method_size_delta, method_snapshot_cadence, method_stale_snapshots,
	method_snapshots_containing, method_top_consumers, method_versions_of;

/*
 * Define the method NAME.  NAME_params describes the members of its request, which is a struct
 * REQUEST.  run_NAME answers the request.  A method that changes something must be defined with
 * METHOD_WRITES instead of METHOD.
 */
#define METHOD(NAME, REQUEST, SUMMARY, RESULT) METHOD_AS(NAME, REQUEST, SUMMARY, RESULT, 0)
#define METHOD_WRITES(NAME, REQUEST, SUMMARY, RESULT)                                              \
	METHOD_AS(NAME, REQUEST, SUMMARY, RESULT, OP_WRITES)
#define METHOD_AS(NAME, REQUEST, SUMMARY, RESULT, FLAGS)                                           \
	const struct op method_##NAME = {                                                          \
		.name = #NAME,                                                                     \
		.summary = (SUMMARY),                                                              \
		.flags = (FLAGS),                                                                  \
		.params = NAME##_params,                                                           \
		.request_size = sizeof(struct REQUEST),                                            \
		.result = (RESULT),                                                                \
		.answer = run_##NAME,                                                              \
	}

/* Parameters that several methods have. */
#define METHOD_DATASET(REQUEST, FLAGS)                                                             \
	PARAM(REQUEST, dataset, DATASET, FLAGS, "the dataset, as list_datasets names it")
#define METHOD_SNAPSHOT(REQUEST)                                                                   \
	PARAM(REQUEST, snapshot, SNAPSHOT, PARAM_REQUIRED, "DATASET@NAME, or the name alone")
#define METHOD_PATH(REQUEST, FLAGS)                                                                \
	PARAM(REQUEST, path, PATH, FLAGS, "a path from the root of the snapshot")
#define METHOD_WINDOW(REQUEST)                                                                     \
	PARAM(REQUEST, after, TIME, 0, "only snapshots of this time or later",                     \
		.fallback = INT64_MIN),                                                            \
		PARAM(REQUEST, before, TIME, 0, "only snapshots of this time or earlier",          \
			.fallback = INT64_MAX)
#define METHOD_MAX_BYTES(REQUEST, MEMBER)                                                          \
	PARAM_AS("max_bytes", REQUEST, MEMBER, INT, 0, "bytes of content in the reply",            \
		.fallback = (int64_t)1 << 20, .cap = (int64_t)4 << 20)
#define METHOD_CURSOR(REQUEST)                                                                     \
	PARAM(REQUEST, cursor, CURSOR, 0, "what an earlier reply gave, to go on from there")

/* ----------------------------------------------------------------- snapshots */

/* The shapes (core/schema.h) of the members that functions of this header write. */
#define METHOD_MOMENT_SHAPE "{snapshot:text creation:int}"
#define METHOD_CAUSE_SHAPE "kind?:text message?:text cleanup?:text command?:[text] exit_status?:int"
#define METHOD_SNAPSHOT_SHAPE                                                                      \
	"{name:text dataset:text snap:text creation:int used:int? refer:int? " METHOD_CAUSE_SHAPE  \
	"}"
#define METHOD_MORE_SHAPE "truncated?:bool cursor?:text"

/* Returns "DATASET@NAME" of a snapshot, in the arena of the call. */
const char *method_full_name(
	struct method_context *ctx, const struct provider *provider, const char *snapshot);
/*
 * Call visit for the provider of the given dataset.  If the request gives no dataset, call visit
 * for the providers of all datasets.  'visit' may return 1 to stop without an error.
 */
int method_each_dataset(struct method_context *ctx, const struct method_dataset *dataset,
	int (*visit)(void *arg, struct provider *provider, struct err *err), void *arg,
	struct err *err);
/* Open the view of a snapshot; NULL on error. */
struct view *method_open(const struct method_snapshot *snapshot, struct err *err);
/*
 * Open a snapshot that was listed.  Returns NULL on error.  If the snapshot was deleted meanwhile,
 * *gone becomes true, and the function returns NULL without an error.  Otherwise *gone becomes
 * false.
 */
struct view *method_open_listed(
	struct provider *provider, const char *snapshot, bool *gone, struct err *err);
/* Write the members of METHOD_SNAPSHOT_SHAPE. */
void method_snapshot_members(
	struct json *out, struct provider *provider, const struct provider_snapshot *snapshot);
/*
 * Whether 'creation' lies in the window from 'after' to 'before', including both ends.  Fractions
 * of a second do not count.
 */
bool method_in_window(int64_t creation, int64_t after, int64_t before);
/* Write the members "snapshot" and "creation" of a row. */
void method_moment(
	struct json *out, const struct provider *provider, const char *snapshot, int64_t creation);
/* A growing list of snapshots.  The owner of the struct must free the member 'list'. */
struct method_moments {
	struct method_moment {
		const char *snapshot; /* in the call's arena */
		int64_t creation;
	} * list;
	size_t n, cap;
};
void method_moments_add(struct method_context *ctx, struct method_moments *moments,
	const struct provider_snapshot *snapshot);
void method_moment_json(struct json *out, const char *key, const struct provider *provider,
	const struct method_moment *moment);
/* Write how and why a snapshot was made, if that is known. */
void method_cause(struct json *out, const struct provider_snapshot *snapshot);
/* Returns a provider that has only the current snapshot and its ancestors, or NULL on error. */
struct provider *method_mainline(
	struct method_context *ctx, struct provider *provider, struct err *err);

/* --------------------------------------------------------------------- paths */

/* Returns "file", "dir", "symlink", "other" or "unknown". */
const char *method_type_name(enum entry_type type);
/*
 * Get the entry at path.  'type' is ENTRY_DIR or ENTRY_FILE.  Fails with ERR_DENIED if the entry
 * has another type.
 */
int method_stat(struct view *view, struct str path, struct arena *arena, enum entry_type type,
	struct entry *entry, struct err *err);
/* Open a snapshot, and get the entry at path as method_stat does.  Returns NULL on error. */
struct view *method_open_path(struct method_context *ctx, const struct method_snapshot *snapshot,
	struct str path, enum entry_type type, struct entry *entry, struct err *err);
/* Append the first max bytes of a file to out. */
int method_load(struct view *view, const struct entry *file, struct str path, uint64_t max,
	struct buf *out, struct err *err);
/*
 * Get the SHA-256 of the first max bytes of a file.  Fails with ERR_LIMIT if both max and the size
 * of the file are larger than METHOD_HASH_MAX.
 */
#define METHOD_HASH_MAX ((uint64_t)256 << 20)
int method_sha256(struct view *view, const struct entry *file, struct str path, uint64_t max,
	struct hash *hash, struct err *err);

/* If files or directories could not be read, write the number of them. */
#define METHOD_UNREAD_SHAPE "unreadable?:int"
void method_unread(struct json *out, uint64_t unread);

/* --------------------------------------------------------------------- lists */

/*
 * An array of objects that ends after max rows, or when the reply is full.  A visit function writes
 * one row like this:
 *
 *	if (!method_list_row(list))
 *		return list->truncated;
 *	… write the members of one object …
 *	return method_list_row_end(list);
 *
 * Both return values are results that a visit function may have.  The value 1 means that no more
 * rows are wanted.
 */
struct method_list {
	struct method_context *ctx;
	struct json *out;
	int64_t skip; /* rows that earlier calls have returned */
	int64_t max;  /* 0: no limit */
	int64_t seen; /* rows so far, including the skipped ones */
	int64_t given;
	bool truncated; /* there are more rows */
	struct json_mark mark;
};

void method_list_open(struct method_list *list, struct method_context *ctx, struct json *out,
	const char *key, int64_t cursor, int64_t max);
bool method_list_row(struct method_list *list);
int method_list_row_end(struct method_list *list);
void method_list_close(struct method_list *list);
/*
 * End a list, and write the members that follow it.  r is the result of visiting the rows.  If r is
 * an error, it is returned and nothing is written.  After a truncated list the members are
 * "truncated" and "cursor".  After a complete list, "truncated" is written only if 'always' is set.
 */
int method_list_finish(struct method_list *list, int r, bool always);

/* Returns the number of bytes that can still be written into the reply. */
size_t method_room(const struct method_context *ctx, const struct json *out);
/* Whether the reply still has room for text as a JSON string. */
bool method_fits(const struct method_context *ctx, const struct json *out, struct str text);
