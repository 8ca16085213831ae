#include "confine/explainer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "confine/treerules.h"
#include "confine/truepath.h"
#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/stub.h"
#include "sandbox/interpreter.h"
#include "sandbox/threadview.h"

static const char *const accesses[] = {
	[VERDICT_WRITE] = "write",
	[VERDICT_READ] = "read",
	[VERDICT_EXECUTE] = "execute",
};

/*
 * Whether a program sees a file at the path, other than a stub.  Masked paths are not looked up,
 * since this process would wait for its own answer.
 */
static bool is_there(const struct explainer *explainer, const char *path)
{
	owned(buf_release) struct buf found = BUF_INIT;

	return truepath_find(explainer->mounts, path, &found) &&
	       !mountplan_forbids(explainer->mounts, found.data, false) &&
	       !stub_or_nothing(found.data);
}

/*
 * If the access could be granted, set the remedy to the command that grants it.  To make a file
 * that does not exist yet, a program needs a grant for the directory.
 */
static void propose_grant(const struct explainer *explainer, enum verdict_access access,
	const char *name, const char *path, struct verdict *out)
{
	const char *slash = strrchr(path, '/');
	struct str what = str_of(path);

	if (access == VERDICT_WRITE && slash && !is_there(explainer, path))
		what.len = (size_t)(slash - path);
	if (what.len && what.len < VERDICT_TEXT_MAX / 2 &&
		grants_may_allow(explainer->grants, access, what))
		snprintf(out->remedy, sizeof(out->remedy),
			"run 'strata ctl grant path=%.*s mode=%s'", (int)what.len, what.ptr, name);
}

/*
 * Add a denial, unless the policy or a grant allows the access.  Returns whether a denial was
 * added.
 */
static bool deny_path(
	const struct explainer *explainer, enum verdict_access access, const char *path, pid_t pid)
{
	struct verdict verdict;

	verdict_path(explainer->policy, access, str_of(path), &verdict);
	if (verdict.allowed || grants_allow(explainer->grants, access, str_of(path)))
		return false;
	if (access != VERDICT_EXECUTE)
		propose_grant(explainer, access, accesses[access], path, &verdict);
	denials_add(explainer->denials, accesses[access], path, &verdict, (int)pid);
	return true;
}

void explainer_masked(void *arg, size_t entry, const char *below, pid_t pid)
{
	const struct explainer *explainer = arg;
	const char *mask = explainer->entries[entry].path;
	owned_mem char *path = *below ? mem_printf("%s/%s", mask, below) : mem_strdup(mask);
	pid_t inside;

	threadview_process(explainer->proc, pid, &pid, &inside);
	deny_path(explainer, VERDICT_READ, path, inside);
}

bool explainer_has_mounts(const struct explainer *explainer, int proc, pid_t tid)
{
	char link[PATH_MAX];
	unsigned long long mnt;
	ssize_t len = threadview_link_in(proc, tid, "ns/mnt", link);

	if (len < 0 || len == PATH_MAX)
		return false;
	link[len] = '\0';
	return sscanf(link, "mnt:[%llu]", &mnt) == 1 && mnt == explainer->mnt;
}

static bool is_one_of(const char *call, const char *const *calls)
{
	while (*calls && strncmp(call, *calls, strlen(*calls)) != 0)
		calls++;
	return *calls;
}

/*
 * Handle an attempt to rename or remove a path that the program may write.  Mounts prevent this if
 * a place, at the path or below it, is hidden or must not be changed.  If so, add a denial with the
 * rule about that place.
 */
static void on_moved(
	const struct explainer *explainer, const struct callfilter_event *event, const char *path)
{
	const char *keeper = mountplan_keeper(explainer->mounts, path);
	owned_mem char *kept = keeper ? mem_printf("/%s", keeper) : NULL;
	struct verdict verdict = { .allowed = true };

	if (!keeper || deny_path(explainer, VERDICT_WRITE, path, event->inside))
		return;
	for (int access = 0; verdict.allowed && access <= VERDICT_EXECUTE; access++)
		verdict_path(explainer->policy, access, str_of(kept), &verdict);
	if (!verdict.allowed)
		denials_add(explainer->denials, accesses[VERDICT_WRITE], path, &verdict,
			(int)event->inside);
}

/*
 * Handle an attempt to change a path.  A denial is added only if the mounts forbid the change,
 * because a protected name that the plan did not cover can in fact be changed.  A mkdir of a
 * directory that exists is no denial: it fails anyway, and mkdir -p tries it all the time.
 */
static void on_written(
	const struct explainer *explainer, const struct callfilter_event *event, const char *path)
{
	static const char *const making[] = { "mkdir", NULL };
	static const char *const moving[] = { "rename", "unlink", "rmdir", NULL };

	if (!path || treerules_is_the_kernels(path))
		return;
	if (!mountplan_forbids(explainer->mounts, path, true)) {
		if (is_one_of(event->call, moving))
			on_moved(explainer, event, path);
	} else if (!is_one_of(event->call, making) || !is_there(explainer, path)) {
		(void)deny_path(explainer, VERDICT_WRITE, path, event->inside);
	}
}

/*
 * Find the interpreter of a script.  The interpreter of any other program is its loader, which can
 * always be executed and is left out.
 */
static bool find_interpreter(const struct explainer *explainer, const char *path, struct buf *out)
{
	char interpreter[PATH_MAX], mark[2] = "";
	struct statx stx;

	if (at_abs_stat(path, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return false;
	owned_fd int fd = at_abs_read(path);
	return fd >= 0 && at_pread_full(fd, mark, sizeof(mark), 0) == (ssize_t)sizeof(mark) &&
	       !memcmp(mark, "#!", sizeof(mark)) && interpreter_of(fd, interpreter) &&
	       *interpreter == '/' && truepath_find(explainer->mounts, interpreter, out);
}

/*
 * Handle an attempt to execute a file.  Shells try each directory of PATH, so only a file that
 * exists counts.
 */
static void on_executed(const struct explainer *explainer, const struct callfilter_event *event)
{
	owned(buf_release) struct buf program = BUF_INIT, interpreter = BUF_INIT;

	if (event->path && truepath_find(explainer->mounts, event->path, &program) &&
		is_there(explainer, program.data) &&
		!deny_path(explainer, VERDICT_EXECUTE, program.data, event->inside) &&
		find_interpreter(explainer, program.data, &interpreter) &&
		is_there(explainer, interpreter.data))
		(void)deny_path(explainer, VERDICT_EXECUTE, interpreter.data, event->inside);
}

/* Set the rule and the remedy for a call that the call filter does not allow. */
static void explain_call(const struct explainer *explainer, const char *call, struct verdict *out)
{
	static const char *const memory[] = { "memfd_create", NULL };

	snprintf(out->rule, sizeof(out->rule), "system calls: not on the list");
	if (is_one_of(call, memory)) {
		snprintf(out->rule, sizeof(out->rule),
			"exec: no rule can name a file in memory, which could be executed");
		snprintf(out->remedy, sizeof(out->remedy),
			"call it with MFD_NOEXEC_SEAL, or leave exec.allow and exec.deny empty");
	} else if (!explainer->policy->exec.nested) {
		snprintf(out->remedy, sizeof(out->remedy),
			"set exec.nested to true, if it is a call that sandboxes need");
	}
}

void explainer_call(void *arg, const struct callfilter_event *event)
{
	static const char *const executing[] = { "exec", NULL };
	const struct explainer *explainer = arg;
	struct verdict verdict = { .allowed = false };

	if (!event->denied && !explainer_has_mounts(explainer, explainer->proc, event->tid))
		return;
	if (!event->denied && is_one_of(event->call, executing)) {
		on_executed(explainer, event);
		return;
	}
	if (!event->denied) {
		on_written(explainer, event, event->path);
		on_written(explainer, event, event->path2);
		return;
	}
	explain_call(explainer, event->call, &verdict);
	denials_add(explainer->denials, "call", event->call, &verdict, (int)event->inside);
}
