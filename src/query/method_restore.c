/*
 * method_restore - methods that copy a file or a directory of a snapshot back to the file system.
 *
 * A request may arrive twice, because the first reply was lost.  So a method succeeds if the target
 * already is a copy of the file or directory in the snapshot.  A backup is the file that was at the
 * target before.  Its name ends with the inode number of the copy that has replaced it.  So the
 * second call can find the backup that the first call has made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "query/method_priv.h"
#include "query/restorecopy.h"
#include "query/restoresame.h"
#include "query/restorestage.h"

#define BACKUP_MARK ".bak-"

struct restore {
	struct method_snapshot snapshot;
	struct param_path snapshot_path;
	struct param_path target_path;
	bool overwrite, backup;
};

#define RESTORE_PARAMS                                                                             \
	METHOD_SNAPSHOT(restore),                                                                  \
		PARAM(restore, snapshot_path, PATH, PARAM_REQUIRED,                                \
			"a path from the root of the snapshot"),                                   \
		PARAM(restore, target_path, PATH, PARAM_REQUIRED,                                  \
			"the absolute path to restore to, below a directory that is allowed"),     \
		PARAM(restore, overwrite, FLAG, 0, "replace what is at the target"),               \
		PARAM(restore, backup, FLAG, 0, "keep what is replaced, beside the target")

/* The result of a restore. */
struct outcome {
	char backup[ENTRY_NAME_MAX + 1]; /* name of the backup that was made; "": none */
	/* name of a replaced directory that could not be removed */
	char leftover[RESTORESTAGE_NAME];
	unsigned lacks; /* bits of enum restorecopy_lack */
	bool unchanged; /* the target needed no change */
};

/* A call that is running. */
struct restoring {
	const struct restore *req;
	struct view *view;
	struct entry entry;
	struct restoreroots_target target;
	struct outcome outcome;
};

static int refuse(const struct restoring *restoring, const char *why, struct err *err)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	text_quote(&shown, restoring->req->target_path.given);
	return err_set(err, ERR_DENIED, "'%.200s' %s", shown.data ?: "", why);
}

/* ----------------------------------------------------------------------- backups */

/*
 * Set the name of a new backup.  The name contains the present time, and the inode number 'ino' of
 * the file that replaces the old file.
 */
static int name_backup(struct restoring *restoring, uint64_t ino, struct err *err)
{
	char stamp[32];
	time_t now = time(NULL);
	struct tm utc;

	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
	int n = snprintf(restoring->outcome.backup, sizeof(restoring->outcome.backup),
		"%s" BACKUP_MARK "%s-%llx", restoring->target.name, stamp, (unsigned long long)ino);
	if ((size_t)n < sizeof(restoring->outcome.backup))
		return 0;
	restoring->outcome.backup[0] = '\0';
	return refuse(restoring, "has a name that is too long for a backup", err);
}

struct finding {
	struct restoring *restoring;
	char suffix[32];
};

static int find_backup_name(void *arg, int dirfd, const char *name, struct err *err)
{
	const struct finding *finding = arg;
	struct outcome *outcome = &finding->restoring->outcome;
	size_t len = strlen(finding->restoring->target.name), n = strlen(name);
	size_t tail = strlen(finding->suffix);

	if (!strncmp(name, finding->restoring->target.name, len) &&
		!strncmp(name + len, BACKUP_MARK, strlen(BACKUP_MARK)) &&
		n > len + strlen(BACKUP_MARK) + tail && !strcmp(name + n - tail, finding->suffix) &&
		strcmp(name, outcome->backup) > 0)
		snprintf(outcome->backup, sizeof(outcome->backup), "%s", name);
	return 0;
}

/* Find the backup that an earlier call has made.  Its name ends with the target's inode number. */
static int find_backup(struct restoring *restoring, const struct statx *target, struct err *err)
{
	struct finding finding = { .restoring = restoring };

	snprintf(finding.suffix, sizeof(finding.suffix), "-%llx",
		(unsigned long long)target->stx_ino);
	return at_each_name(restoring->target.dir, ".", find_backup_name, &finding, err);
}

/* ------------------------------------------------------------------------ target */

/*
 * Look at the target.  Returns 1 if there is a file to replace.  Returns 0 if the name is free.
 * Also returns 0 if the target needs no change, and then sets outcome.unchanged.
 */
static int look_at_target(struct restoring *restoring, struct statx *old, struct err *err)
{
	const struct restore *req = restoring->req;
	enum entry_type type = restoring->entry.type;
	int r = at_name_stat(restoring->target.dir, restoring->target.name, old);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return restorestage_failed(err, -r, "look at", req->target_path.given);
	if (S_ISLNK(old->stx_mode))
		return refuse(restoring, "is a symlink", err);
	if (entry_type_of(old->stx_mode) != type)
		return refuse(restoring,
			type == ENTRY_DIR ? "is not a directory" : "is not a regular file", err);
	r = restoresame_check(restoring->view, req->snapshot_path.path, &restoring->entry,
		restoring->target.dir, restoring->target.name, req->overwrite, err);
	if (r > 0) {
		restoring->outcome.unchanged = true;
		return req->backup ? find_backup(restoring, old, err) : 0;
	}
	if (r == 0 && !req->overwrite) {
		refuse(restoring, "exists, and differs from the snapshot", err);
		return err_hint(err, "set overwrite to replace it, and backup to keep it");
	}
	return r < 0 ? r : 1;
}

/*
 * Put the copy in place.  A target that has changed since look_at_target is not replaced.  This is
 * an error, unless another process has meanwhile answered the same request.
 */
static int place_copy(struct restoring *restoring, struct restorestage *stage,
	const struct statx *old, struct err *err)
{
	struct outcome *outcome = &restoring->outcome;
	struct statx now;
	int r = restorestage_place(
		stage, restoring->target.name, old, *outcome->backup ? outcome->backup : NULL, err);

	if (r != 0)
		return r;
	outcome->backup[0] = '\0';
	r = look_at_target(restoring, &now, err);
	if (r >= 0 && !outcome->unchanged) {
		refuse(restoring, "changed during the restore, and was left as it is", err);
		return err_hint(err, "send the request again");
	}
	return r;
}

static int restore_to_target(struct restoring *restoring, struct err *err)
{
	const struct restore *req = restoring->req;
	struct outcome *outcome = &restoring->outcome;
	owned(restorestage_release) struct restorestage stage = { .note = -1 };
	struct statx old, made;

	if (restorestage_clean(restoring->target.dir, err) < 0)
		return -(int)err->code;
	int replaces = look_at_target(restoring, &old, err);
	if (replaces < 0 || outcome->unchanged)
		return replaces;
	int r = restorestage_open(&stage, restoring->target.dir, err);
	if (r >= 0)
		r = restorecopy_run(restoring->view, req->snapshot_path.path, &restoring->entry,
			stage.dir, stage.copy, &outcome->lacks, err);
	if (r < 0)
		return r;
	r = at_name_stat(stage.dir, stage.copy, &made);
	if (r < 0)
		return restorestage_failed(err, -r, "find the copy of", req->snapshot_path.given);
	if (replaces && req->backup && name_backup(restoring, made.stx_ino, err) < 0)
		return -(int)err->code;
	r = place_copy(restoring, &stage, replaces ? &old : NULL, err);
	if (r >= 0 && !restorestage_close(&stage))
		snprintf(outcome->leftover, sizeof(outcome->leftover), "%s", stage.copy);
	return r;
}

/* ------------------------------------------------------------------------- reply */

/*
 * Write a member with the path of 'name' beside the target.  The member is null if 'name' is empty.
 */
static void write_beside(
	struct json *out, const char *key, const struct restore *req, const char *name)
{
	owned(buf_release) struct buf path = BUF_INIT;
	struct str target = req->target_path.path;
	const char *slash = memrchr(target.ptr, '/', target.len);

	if (!*name) {
		json_none(out, key);
		return;
	}
	buf_addc(&path, '/');
	if (slash)
		buf_add(&path, target.ptr, (size_t)(slash + 1 - target.ptr));
	buf_adds(&path, name);
	json_str(out, key, (struct str){ path.data, path.len });
}

static void write_outcome(struct json *out, const struct restoring *restoring)
{
	const struct restore *req = restoring->req;
	const struct outcome *outcome = &restoring->outcome;

	json_text(out, "snapshot", req->snapshot.full);
	json_str(out, "snapshot_path", req->snapshot_path.given);
	json_str(out, "target_path", req->target_path.given);
	if (restoring->entry.type == ENTRY_FILE)
		json_uint(out, "size_bytes", restoring->entry.size);
	write_beside(out, "backup_path", req, outcome->backup);
	if (outcome->unchanged)
		json_bool(out, "unchanged", true);
	if (outcome->lacks)
		json_bits(
			out, "not_kept", outcome->lacks, RESTORECOPY_LACKS, restorecopy_lack_name);
	if (*outcome->leftover)
		write_beside(out, "leftover", req, outcome->leftover);
}

static void release_restoring(struct restoring *restoring)
{
	restoreroots_target_release(&restoring->target);
	view_closep(&restoring->view);
}

static int run_restore(struct method_context *ctx, const struct restore *req, enum entry_type type,
	struct json *out, struct err *err)
{
	static const struct restoreroots nowhere = { 0 };
	owned(release_restoring) struct restoring restoring = { .req = req };
	int r = restoreroots_open(
		ctx->restore ?: &nowhere, req->target_path.given, &restoring.target, err);

	if (r < 0)
		return r;
	restoring.view = method_open_path(
		ctx, &req->snapshot, req->snapshot_path.path, type, &restoring.entry, err);
	if (!restoring.view)
		return -(int)err->code;
	const int *root = restoring.view->root;
	if (root && restoreroots_target_within(&restoring.target, *root))
		return refuse(&restoring, "lies in the snapshot itself", err);
	r = restore_to_target(&restoring, err);
	if (r >= 0)
		write_outcome(out, &restoring);
	return r < 0 ? r : 0;
}

static int run_restore_file(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	return run_restore(ctx, request, ENTRY_FILE, out, err);
}

static int run_restore_dir(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	return run_restore(ctx, request, ENTRY_DIR, out, err);
}

static const struct param restore_file_params[] = { RESTORE_PARAMS, { 0 } };
static const struct param restore_dir_params[] = { RESTORE_PARAMS, { 0 } };

#define RESTORE_SHAPE "backup_path:text? unchanged?:bool not_kept?:[text] leftover?:text"

METHOD_WRITES(restore_file, restore, "copy a file of a snapshot to an allowed directory",
	"snapshot:text snapshot_path:text target_path:text size_bytes:int " RESTORE_SHAPE);

METHOD_WRITES(restore_dir, restore, "copy a directory of a snapshot to an allowed directory",
	"snapshot:text snapshot_path:text target_path:text " RESTORE_SHAPE);
