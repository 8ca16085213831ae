/*
 * doctor_kernel - check whether the kernel has the features that strata uses, and whether it allows
 * their use.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/fsids.h"
#include "core/own.h"
#include "ops/doctor_priv.h"
#include "sandbox/ids.h"
#include "sandbox/mounts.h"
#include "sandbox/namespaces.h"
#include "sandbox/sandbox_user.h"
#include "sandbox/scope.h"
#include "trace/engine/passing.h"

#define WATCHES_WANTED 8192 /* one inotify watch per directory of a medium-sized project */

/* --- namespaces --- */

/*
 * Become root of a new user namespace.  An ordinary user must deny setgroups before mapping a group
 * id.
 */
static bool enter_userns(struct probe *probe)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		struct err err = { 0 };

		(void)sandbox_user_refused(errno, "make a user namespace", &err);
		probe_lacks(probe, "%s; %s", err.text, err.hint);
		return false;
	}
	if (!probe_write("/proc/self/setgroups", "deny", probe))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!probe_write("/proc/self/uid_map", map, probe))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return probe_write("/proc/self/gid_map", map, probe);
}

void doctor_kernel_userns(struct doctor *doctor, struct probe *probe)
{
	unsigned uid = geteuid();

	if (!enter_userns(probe))
		return;
	/*
	 * Some systems let every user make the namespace, but give no capabilities in it.  So also
	 * try a mount.
	 */
	owned_fd int mounted = probe_mount("tmpfs", NULL, probe);
	if (mounted >= 0)
		probe_ok(probe, "uid %u is root in a namespace of its own, and can mount", uid);
}

/* --- overlay --- */

/*
 * Mount an overlay of the layers in the working directory, create a file in the overlay, and open a
 * file that must be copied up.  userxattr is set because sandboxes set it for every user.
 */
static void use_overlay(struct probe *probe)
{
	struct probe_option options[] = { { "lowerdir", "lower" }, { "upperdir", "upper" },
		{ "workdir", "work" }, { "userxattr", NULL }, { NULL, NULL } };
	struct err err = { 0 };
	owned_fd int root = probe_mount("overlay", options, probe);

	if (root < 0)
		return;
	owned_fd int made = at_create(root, "made", O_WRONLY | O_EXCL, 0600, &err);
	owned_fd int copied = made < 0 ? -1 : at_open(root, "seed", O_RDWR, &err);
	if (made < 0 || copied < 0)
		probe_lacks(probe, "mounted, but %s", err.text);
	else
		probe->ok = true;
}

static void try_overlay_user(struct doctor *doctor, struct probe *probe)
{
	if (fchdir(doctor->placefd) < 0)
		probe_errno(probe, "change directory");
	else if (enter_userns(probe))
		use_overlay(probe);
}

static void try_overlay_root(struct doctor *doctor, struct probe *probe)
{
	/*
	 * Root of a user namespace may mount only in a mount namespace that belongs to this user
	 * namespace.  unshare keeps the working directory, which contains the layers.
	 */
	if (fchdir(doctor->placefd) < 0)
		probe_errno(probe, "change directory");
	else if (unshare(CLONE_NEWNS) < 0)
		probe_errno(probe, "make a mount namespace");
	else
		use_overlay(probe);
}

/*
 * Make the directory 'name' in 'place', and in it the layers of an overlay.  Returns the descriptor
 * of the new directory.
 */
static int make_layers(int place, const char *name, struct err *err)
{
	int r = mkdirat(place, name, 0700) < 0 ? err_errno(err, "make a directory") : 0;
	owned_fd int dir = r < 0 ? -1 : at_open(place, name, O_RDONLY | O_DIRECTORY, err);

	if (dir < 0 || at_mkdirs(dir, "lower", 0700, err) < 0 ||
		at_mkdirs(dir, "upper", 0700, err) < 0 || at_mkdirs(dir, "work", 0700, err) < 0)
		return -1;
	owned_fd int seed = at_create(dir, "lower/seed", O_WRONLY | O_EXCL, 0600, err);
	return seed < 0 ? -1 : take_fd(&dir);
}

/*
 * Make an attempt in a new directory that has the layers of an overlay.  Then remove the directory.
 */
static void overlay_attempt(struct doctor *doctor, probe_attempt *attempt, struct probe *probe)
{
	struct err err = { 0 };
	sigset_t ours, before;
	char name[32];

	child_end_signals(&ours);
	probe_new_name(name);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	owned_fd int dir = make_layers(doctor->placefd, name, &err);
	struct doctor inside = { .place = doctor->place, .placefd = dir };
	if (dir < 0)
		probe_lacks(probe, "%s", err.text);
	else
		probe_in_child(&inside, attempt, probe);
	(void)at_remove_tree(doctor->placefd, name, &err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void doctor_kernel_overlay(struct doctor *doctor, struct probe *probe)
{
	struct probe as_user = { 0 }, as_root = { 0 };

	if (doctor->placefd < 0)
		return probe_lacks(probe, "no directory to try it in");
	overlay_attempt(doctor, try_overlay_user, &as_user);
	if (geteuid() == 0)
		overlay_attempt(doctor, try_overlay_root, &as_root);
	if (as_user.ok && as_root.ok)
		probe_ok(probe, "works in %s, as root and in a user namespace", doctor->place);
	else if (as_user.ok)
		probe_ok(probe, "works in %s in a user namespace%s%s", doctor->place,
			as_root.text[0] ? "; not as root: " : "", as_root.text);
	else if (as_root.ok)
		probe_ok(probe, "works in %s as root; not in a user namespace: %s", doctor->place,
			as_user.text);
	else
		probe_lacks(probe, "in %s: %s", doctor->place, as_user.text);
}

/* --- id-mapped mounts --- */

/*
 * Enter an id-mapped mount of the working directory, because sandboxes mount their layers that way.
 */
static int go_to_mapped(struct err *err)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };
	owned_fd int proc = at_open_given("/proc", O_PATH | O_DIRECTORY, 0, err);
	owned_fd int ids = proc < 0 ? -1 : namespaces_open_shifted(proc, err);

	if (ids < 0)
		return -(int)err->code;
	if (unshare(CLONE_NEWNS) < 0 ||
		mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof(private)) < 0)
		return err_errno(err, "make a mount namespace");
	owned_fd int here = mounts_cover_shifted(".", ids, err);
	if (here < 0)
		return here;
	return fchdir(here) < 0 ? err_errno(err, "change directory") : 0;
}

static void try_mapped(struct doctor *doctor, struct probe *probe)
{
	struct err err = { 0 };
	struct fsids before;

	if (fchdir(doctor->placefd) < 0)
		probe_errno(probe, "change directory");
	else if (go_to_mapped(&err) < 0 || fsids_take(IDS_FIRST, IDS_FIRST, &before, &err) < 0)
		probe_lacks(probe, "%s", err.text);
	else
		use_overlay(probe);
}

void doctor_kernel_mapped(struct doctor *doctor, struct probe *probe)
{
	struct probe tried = { 0 };

	if (geteuid() || !ids_are_the_machines())
		return probe_ok(probe, "not needed: only sandboxes of root use them");
	if (doctor->placefd < 0)
		return probe_lacks(probe, "no directory to try it in");
	overlay_attempt(doctor, try_mapped, &tried);
	if (tried.ok)
		probe_ok(probe, "an overlay of them works in %s", doctor->place);
	else
		probe_lacks(probe, "in %s: %s", doctor->place, tried.text);
}

/* --- landlock and seccomp --- */

void doctor_kernel_landlock(struct doctor *doctor, struct probe *probe)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 0)
		probe_ok(probe, "ABI %ld", abi);
	else
		probe_errno(probe, "landlock_create_ruleset");
}

/*
 * Try the scopes of Landlock.  A socket that was made before the scope was entered must be out of
 * reach afterwards.
 */
void doctor_kernel_scopes(struct doctor *doctor, struct probe *probe)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sa_family_t); /* the kernel chooses an abstract name */
	struct err err = { 0 };
	owned_fd int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	owned_fd int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!scope_probe())
		return probe_lacks(probe, "Landlock has no scopes before ABI 6");
	bool made = client >= 0 && bind(server, (struct sockaddr *)&address, len) == 0 &&
		    listen(server, 1) == 0;
	len = sizeof(address);
	if (!made || getsockname(server, (struct sockaddr *)&address, &len) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return probe_errno(probe, "abstract socket");
	if (scope_enter(&err) < 0)
		probe_lacks(probe, "%s", err.text);
	else if (connect(client, (struct sockaddr *)&address, len) == 0)
		probe_lacks(probe, "an abstract socket was reached");
	else
		probe_ok(probe, "abstract sockets can be kept out");
}

void doctor_kernel_seccomp(struct doctor *doctor, struct probe *probe)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = 1, .filter = allow };
	struct seccomp_notif_sizes sizes;
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0 ||
		syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return probe_errno(probe, "seccomp");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return probe_errno(probe, "no_new_privs");
	long listener = syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener >= 0)
		probe_ok(probe, "a listener was made");
	else if (errno == EBUSY)
		probe_lacks(probe, "a process outside has a listener already (EBUSY)");
	else
		probe_errno(probe, "make a listener");
}

/*
 * Load and attach the eBPF programs of passing.h.  The ring buffer has the smallest possible size.
 */
void doctor_kernel_bpf(struct doctor *doctor, struct probe *probe)
{
	struct err err = { 0 };
	struct passing *passing = passing_new(PASSING_RING_LEAST, &err);

	if (passing && passing_attach(passing, &err) >= 0)
		probe_ok(probe, "programs were attached to tracepoints");
	else
		probe_lacks(probe, "%s", err.text);
	passing_free(passing);
}

/* --- files --- */

void doctor_kernel_inotify(struct doctor *doctor, struct probe *probe)
{
	owned_mem char *text = probe_read("/proc/sys/fs/inotify/max_user_watches");
	owned_fd int fd = inotify_init1(IN_CLOEXEC);
	long long limit = text ? atoll(text) : 0;

	if (fd < 0)
		probe_errno(probe, "inotify_init1");
	else if (inotify_add_watch(fd, "/", IN_CREATE) < 0)
		probe_errno(probe, "add a watch");
	else if (!text)
		probe_lacks(probe, "works, but its limit cannot be read from /proc");
	else if (limit < WATCHES_WANTED)
		probe_lacks(probe, "only %lld watches a user", limit);
	else
		probe_ok(probe, "%lld watches a user", limit);
}

void doctor_kernel_openat2(struct doctor *doctor, struct probe *probe)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int at = doctor->placefd >= 0 ? doctor->placefd : AT_FDCWD;
	owned_fd int fd = (int)syscall(SYS_openat2, at, ".", &how, sizeof(how));

	if (fd >= 0)
		probe_ok(probe, "works");
	else
		probe_errno(probe, "openat2");
}
