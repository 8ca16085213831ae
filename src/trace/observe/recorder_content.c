/*
 * Gives contents to the saver.  The content of a file that is read is saved soon.  The content of a
 * file that will be changed is saved before the call that changes it may go on.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/own.h"
#include "core/text.h"
#include "trace/bundle/manifest.h"
#include "trace/observe/recorder_priv.h"

#define ALIASES_MAX 64 /* maximum length of a chain of aliases */

const char *recorder_content_key(
	struct recorder *recorder, const char *when, const struct pathmap_entry *entry)
{
	const char *path = entry->path.ptr;
	struct recorder_path *own = recorder_path(recorder, entry);

	if (!text_is_utf8(entry->path)) {
		owned(buf_release) struct buf latin1 = BUF_INIT;

		manifest_latin1(&latin1, entry->path);
		path = arena_str(&recorder->arena, (struct str){ latin1.data, latin1.len }).ptr;
		struct recorder_path *other =
			recorder_path(recorder, pathmap_known(recorder->map, str_of(path)));
		/* recorder_path may have moved the array */
		own = recorder_path(recorder, entry);
		/*
		 * If two paths have the same text in the manifest, the second path gets another
		 * key.  That key is used for the contents before and after the command.
		 */
		if (own->key == RECORDER_KEY_OPEN)
			own->key = other->key == RECORDER_KEY_PLAIN ? RECORDER_KEY_SECOND
								    : RECORDER_KEY_PLAIN;
		if (own->key == RECORDER_KEY_PLAIN)
			other->key = RECORDER_KEY_SECOND;
	} else if (own->key == RECORDER_KEY_OPEN) {
		own->key = RECORDER_KEY_PLAIN;
	}
	return arena_printf(&recorder->arena, "%s:%s%s", when, path,
		own->key == RECORDER_KEY_SECOND ? "//bytes" : "");
}

int recorder_content_queue(struct recorder *recorder, struct record *record,
	struct filestate *state, const char *key, bool digest, uint64_t *number)
{
	int fd = at_abs_read(record->path.ptr);

	/*
	 * Wait until the saver has done its jobs, since they hold most descriptors of this process.
	 */
	if (fd < 0 && at_scarce(-fd)) {
		saver_wait_all(recorder->saver);
		fd = at_abs_read(record->path.ptr);
	}
	if (fd < 0)
		return fd;
	/*
	 * Read the state from the open file again, since another process may have written to the
	 * file since the last look.  The manifest lists this new state.
	 */
	if (state == &record->after)
		filestate_again(fd, state);
	bool in_git = state == &record->before && recorder_look_is_clean(record);
	*number = saver_add(recorder->saver, &(struct saver_job){
						     .fd_take = fd,
						     .path = record->path.ptr,
						     .key = key,
						     .state = state,
						     .digest = digest,
						     .git = in_git ? record->repository->git : NULL,
						     .oid = in_git ? record->git.oid : NULL,
					     });
	return 0;
}

static bool has_content(const struct recorder *recorder, const struct record *record)
{
	return recorder->saver && !record->ignored && !record->foreign && !record->late &&
	       !record->entry->untouchable && record->before.exists && S_ISREG(record->before.mode);
}

static void add_unsaved_reason(struct recorder *recorder, const struct record *record, int r)
{
	reasons_add(recorder->reasons, "the content of '%s' before the command was not saved: %s",
		record->path.ptr, strerror(-r));
}

void recorder_content_save(struct recorder *recorder, struct record *record)
{
	if (!has_content(recorder, record) || record->saving || recorder_look_is_clean(record))
		return;
	bool digest = record->before.size > recorder->read_limit;
	int r = recorder_content_queue(
		recorder, record, &record->before, record->key, digest, &record->saving);
	record->digested = r == 0 && digest;
	/*
	 * A file that strata may not read is no reason for an incomplete bundle, since the command
	 * may not read it either.
	 */
	if (r < 0 && r != -EACCES && r != -EPERM && r != -ENOENT)
		add_unsaved_reason(recorder, record, r);
}

/*
 * Do the work of recorder_content_secure for one name of the file.  If the saver has made only a
 * digest of the content so far, the whole content is saved.
 */
static uint64_t secure_one_name(struct recorder *recorder, struct record *record)
{
	if (!has_content(recorder, record))
		return 0;
	if (!record->saving || record->digested) {
		const char *key =
			record->key ?: recorder_content_key(recorder, "before", record->entry);
		/* until the digest is made, the state belongs to the saver */
		if (record->digested)
			saver_wait(recorder->saver, record->saving);
		record->digested = false;
		int r = recorder_content_queue(
			recorder, record, &record->before, key, false, &record->saving);

		if (r < 0 && r != -ENOENT)
			add_unsaved_reason(recorder, record, r);
	}
	return record->saving;
}

uint64_t recorder_content_secure(struct recorder *recorder, struct record *record)
{
	uint64_t last = secure_one_name(recorder, record);

	/* All names in the chain of aliases lead to the same file. */
	for (int i = 0; record->alias && i < ALIASES_MAX; i++) {
		record = record->alias;
		uint64_t number = secure_one_name(recorder, record);
		last = number > last ? number : last;
	}
	return last;
}

/*
 * If the file may have been changed under another name, save its old content through the record of
 * that name.  Returns true in this case.
 */
static bool keep_by_other_name(struct recorder *recorder, struct record *record)
{
	struct record *other = recorder->at_once && !record->changing
				       ? recorder_changing_name(recorder, record)
				       : NULL;

	if (!other || (!other->saving && recorder_look_is_clean(other)))
		return false;
	(void)secure_one_name(recorder, other);
	return true;
}

void recorder_content_keep(struct recorder *recorder, struct record *record)
{
	if (!recorder->saver || record->ignored || record->key)
		return;
	record->key = recorder_content_key(recorder, "before", record->entry);
	if (keep_by_other_name(recorder, record))
		return;
	atomic_store_explicit(&record->wanted, true, memory_order_release);
	recorder_look_soon(recorder, record);
}

/* --- changes under other names --- */

/*
 * Record the operations ops for all names of the file that have a record, and add the number of
 * these names to *count.  Returns the number of a job as recorder_content_secure does.
 */
static uint64_t touch_all_names(struct recorder *recorder, const struct statx *stx, bool content,
	unsigned ops, size_t *count)
{
	uint64_t dev = makedev(stx->stx_dev_major, stx->stx_dev_minor), ino = stx->stx_ino;
	uint64_t last = 0;

	recorder_look_at_once(recorder);
	recorder_add_touched(recorder, dev, ino);
	for (struct record *record = recorder->named[ino % RECORDER_BUCKETS]; record;
		record = record->next_named) {
		if (record->before.ino != ino || record->before.dev != dev)
			continue;
		recorder_expect_change(recorder, record);
		record->ops |= ops;
		++*count;
		uint64_t number = content ? secure_one_name(recorder, record) : 0;
		last = number > last ? number : last;
	}
	return last;
}

uint64_t recorder_content_touch(struct recorder *recorder, const struct statx *stx, bool content)
{
	size_t count = 0;

	return touch_all_names(recorder, stx, content, 0, &count);
}

uint64_t recorder_content_touch_nameless(
	struct recorder *recorder, const struct statx *stx, unsigned ops)
{
	size_t count = 0;
	uint64_t number = touch_all_names(recorder, stx, ops & BUNDLE_WRITE, ops, &count);

	if (!count)
		reasons_add(recorder->reasons,
			"a file was changed through a descriptor after the name it was opened by "
			"was removed: its other names are not recorded");
	return number;
}

bool recorder_content_is_written_unseen(
	struct recorder *recorder, const struct record *record, const struct statx *stx)
{
	uint64_t dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);

	if (record->ignored || record->changing || recorder_changing_name(recorder, record))
		return false;
	for (size_t i = 0; i < recorder->n_touched; i++)
		if (recorder->touched[i].ino == stx->stx_ino && recorder->touched[i].dev == dev)
			return true;
	return false;
}
