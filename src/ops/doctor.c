/*
 * doctor - what this machine offers, proved by trying.
 *
 * Nothing a check does outlives it.  What changes the process (namespaces,
 * filters) happens in a child.  File systems are mounted with fsmount and never
 * attached to a path, so there is nothing to unmount, not even in a parent
 * namespace that shares its mounts.  Names made in a directory are random, and
 * the signals that would end us between making and removing them wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#include "core/at.h"
#include "core/git.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/tar.h"
#include "core/text.h"
#include "core/when.h"
#include "ops/requests.h"
#include "sandbox/sandbox_user.h"

#define WAIT_MS 5000        /* for a child or a program */
#define FILE_MAX (1 << 20)  /* of a file in /proc or /etc */
#define WATCHES_WANTED 8192 /* one inotify watch per directory of a middling project */
#define IDS_WANTED 65536    /* what a distribution's users and groups need */
#define CLONE_TRIES 20      /* ZFS answers EAGAIN until its data is on disk */
#define FINDING_TEXT 400

struct doctor {
	char *place; /* where the environment is or would be, as far as it exists; quoted */
	int placefd; /* -1: nowhere */
};

struct finding {
	bool ok;
	char text[FINDING_TEXT];
};

/* ----------------------------------------------------------------- findings */

static void say(struct finding *finding, bool ok, const char *fmt, va_list ap)
{
	finding->ok = ok;
	vsnprintf(finding->text, sizeof(finding->text), fmt, ap);
}

__attribute__((format(printf, 2, 3))) static void found(
	struct finding *finding, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(finding, true, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void lacks(
	struct finding *finding, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(finding, false, fmt, ap);
	va_end(ap);
}

/* A system call failed: what, and errno. */
static void failed(struct finding *finding, const char *what)
{
	lacks(finding, "%s: %s", what, strerror(errno));
}

/* ------------------------------------------------------------------ helpers */

static void random_name(char out[32])
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		number = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	snprintf(out, 32, ".strata-%016llx", (unsigned long long)number);
}

/* A small text file, or NULL; owned. */
static char *read_text(const char *path)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err err = { 0 };
	owned_fd int fd = at_open_given(path, O_RDONLY | O_NONBLOCK, 0, &err);
	ssize_t n = -1;

	while (fd >= 0 && text.len < FILE_MAX) {
		char part[4096];

		n = read(fd, part, sizeof(part));
		if (n <= 0)
			break;
		buf_add(&text, part, (size_t)n);
	}
	return n == 0 ? mem_strdup(text.data ? text.data : "") : NULL;
}

static bool write_text(const char *path, const char *text, struct finding *finding)
{
	struct err err = { 0 };
	owned_fd int fd = at_open_given(path, O_WRONLY, 0, &err);
	int r = fd >= 0 ? at_write_all(fd, text, strlen(text)) : 0;

	if (fd < 0)
		lacks(finding, "%s", err.text);
	else if (r < 0)
		lacks(finding, "write '%s': %s", path, strerror(-r));
	return fd >= 0 && r >= 0;
}

/* Where a program is, as execvp would find it: owned, or NULL. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	struct err err = { 0 };

	for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':')) {
		path += *path == ':';
		int len = (int)strcspn(path, ":");
		owned_mem char *full = mem_printf("%.*s/%s", len ? len : 1, len ? path : ".", name);
		owned_fd int fd = at_open_given(full, O_PATH, 0, &err);
		struct statx stx;

		if (fd >= 0 && at_fd_stat(fd, &stx) == 0 && S_ISREG(stx.stx_mode) &&
			stx.stx_mode & 0111)
			return take_ptr(&full);
	}
	return NULL;
}

/* Up to size - 1 bytes until the end or the time limit: their number, -1 when time ran out. */
static ssize_t read_until(int fd, char *out, size_t size)
{
	int64_t deadline = when_monotonic() + WAIT_MS * WHEN_MS;
	size_t len = 0;

	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		int left = when_ms_left(deadline);
		char surplus[512];
		size_t room = size - 1 - len;

		if (!left)
			return -1;
		if (poll(&poll_fd, 1, left) <= 0)
			continue;
		ssize_t n = read(fd, room ? out + len : surplus, room ? room : sizeof(surplus));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += room ? (size_t)n : 0;
	}
	out[len] = '\0';
	return (ssize_t)len;
}

/* Wait status; 0 where the caller ignores SIGCHLD and none is kept. */
static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

/* ----------------------------------------------------------------- children */

typedef void try_fn(struct doctor *doctor, struct finding *finding);

static void child_main(struct doctor *doctor, try_fn *attempt, int out)
{
	struct finding finding = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	attempt(doctor, &finding);
	(void)at_write_all(out, finding.ok ? "+" : "-", 1);
	(void)at_write_all(out, finding.text, strlen(finding.text));
	_exit(0);
}

/* What cannot be undone in a process is tried in one of its own. */
static void in_child(struct doctor *doctor, try_fn *attempt, struct finding *finding)
{
	char answer[FINDING_TEXT + 1];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return failed(finding, "pipe");
	owned_fd int in = ends[0];
	owned_fd int out = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return failed(finding, "fork");
	if (pid == 0)
		child_main(doctor, attempt, out);
	close_fd(&out);
	ssize_t n = read_until(in, answer, sizeof(answer));
	(void)kill(pid, SIGKILL);
	int status = reap(pid);
	if (n > 0) {
		finding->ok = answer[0] == '+';
		memcpy(finding->text, answer + 1, (size_t)n);
	} else if (n < 0) {
		lacks(finding, "no answer within %d seconds", WAIT_MS / 1000);
	} else {
		lacks(finding, "the attempt was ended by signal %d", WTERMSIG(status));
	}
}

static int spawn(char *const argv[], int in, int out, pid_t *pid)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, out, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attr, 0);
	r = posix_spawn(pid, argv[0], &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* Run a program; ok and the first line it prints, or why not. */
static void run_program(char *const argv[], struct finding *finding)
{
	char line[FINDING_TEXT - 100];
	struct err err = { 0 };
	owned_fd int null = at_open_given("/dev/null", O_RDONLY, 0, &err);
	int ends[2];
	pid_t pid;

	if (null < 0)
		null = at_tmpfile(-1, &err); /* just as empty */
	if (null < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return failed(finding, "pipe");
	owned_fd int in = ends[0];
	owned_fd int out = ends[1];
	errno = spawn(argv, null, out, &pid);
	if (errno)
		return failed(finding, argv[0]);
	close_fd(&out);
	ssize_t n = read_until(in, line, sizeof(line));
	(void)kill(-pid, SIGKILL);
	int status = reap(pid);
	if (n < 0)
		return lacks(finding, "%s does not answer", argv[0]);
	line[strcspn(line, "\r\n")] = '\0';
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		return lacks(finding, "%s fails: %s", argv[0], line);
	found(finding, "%s", line);
}

/* --------------------------------------------------------------- namespaces */

/* Become root of a new user namespace; setgroups must be given up for it. */
static bool enter_userns(struct finding *finding)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		struct err err = { 0 };

		(void)sandbox_user_refused(errno, "make a user namespace", &err);
		lacks(finding, "%s; %s", err.text, err.hint);
		return false;
	}
	if (!write_text("/proc/self/setgroups", "deny", finding))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!write_text("/proc/self/uid_map", map, finding))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_text("/proc/self/gid_map", map, finding);
}

/* Why a mount failed, as the kernel tells the one who asks. */
static void mount_failed(int fs, const char *type, struct finding *finding)
{
	int saved = errno;
	char log[256] = "";
	ssize_t n = fs >= 0 ? read(fs, log, sizeof(log) - 1) : -1;

	log[n > 0 ? n : 0] = '\0';
	log[strcspn(log, "\n")] = '\0';
	/* The first two characters are the kind of message. */
	lacks(finding, "mount %s: %s%s%s", type, strerror(saved), n > 2 ? "; " : "",
		n > 2 ? log + 2 : "");
}

struct mount_option {
	const char *key;
	const char *value; /* NULL: a flag */
};

/* A file system mounted nowhere, as a descriptor of its root; gone when that is closed. */
static int mount_loose(
	const char *type, const struct mount_option *options, struct finding *finding)
{
	owned_fd int fs = fsopen(type, FSOPEN_CLOEXEC);
	int r = fs < 0 ? -1 : 0;

	for (; r >= 0 && options->key; options++)
		r = fsconfig(fs, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			options->key, options->value, 0);
	if (r >= 0)
		r = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int root = r >= 0 ? fsmount(fs, FSMOUNT_CLOEXEC, 0) : -1;
	if (root < 0)
		mount_failed(fs, type, finding);
	return root;
}

static void try_userns(struct doctor *doctor, struct finding *finding)
{
	static const struct mount_option none[] = { { NULL, NULL } };
	unsigned uid = geteuid();

	if (!enter_userns(finding))
		return;
	/* Some systems let everyone have the namespace but no power in it. */
	owned_fd int mounted = mount_loose("tmpfs", none, finding);
	if (mounted >= 0)
		found(finding, "uid %u is root in a namespace of its own, and can mount", uid);
}

static void probe_userns(struct doctor *doctor, struct finding *finding)
{
	in_child(doctor, try_userns, finding);
}

/* ------------------------------------------------------------------ overlay */

/* In the directory prepared for it: a new file, and one that must be copied up. */
static void use_overlay(bool userxattr, struct finding *finding)
{
	struct mount_option options[] = { { "lowerdir", "lower" }, { "upperdir", "upper" },
		{ "workdir", "work" }, { userxattr ? "userxattr" : NULL, NULL }, { NULL, NULL } };
	struct err err = { 0 };
	owned_fd int root = mount_loose("overlay", options, finding);

	if (root < 0)
		return;
	owned_fd int made = at_create(root, "made", O_WRONLY | O_EXCL, 0600, &err);
	owned_fd int copied = made < 0 ? -1 : at_open(root, "seed", O_RDWR, &err);
	if (made < 0 || copied < 0)
		lacks(finding, "mounted, but %s", err.text);
	else
		finding->ok = true;
}

static void try_overlay_user(struct doctor *doctor, struct finding *finding)
{
	if (fchdir(doctor->placefd) < 0)
		failed(finding, "change directory");
	else if (enter_userns(finding))
		use_overlay(true, finding);
}

static void try_overlay_root(struct doctor *doctor, struct finding *finding)
{
	if (fchdir(doctor->placefd) < 0)
		failed(finding, "change directory");
	else
		use_overlay(false, finding);
}

/* A new directory under place with the layers of an overlay; its descriptor. */
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

/* Try it in a directory made for it, which goes away again. */
static void overlay_attempt(struct doctor *doctor, try_fn *attempt, struct finding *finding)
{
	struct err err = { 0 };
	sigset_t ours, before;
	char name[32];

	sigemptyset(&ours);
	for (size_t i = 0; i < 4; i++)
		sigaddset(&ours, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT }[i]);
	random_name(name);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	owned_fd int dir = make_layers(doctor->placefd, name, &err);
	struct doctor inside = { .place = doctor->place, .placefd = dir };
	if (dir < 0)
		lacks(finding, "%s", err.text);
	else
		in_child(&inside, attempt, finding);
	(void)at_remove_tree(doctor->placefd, name, &err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void probe_overlay(struct doctor *doctor, struct finding *finding)
{
	struct finding as_user = { 0 }, as_root = { 0 };

	if (doctor->placefd < 0)
		return lacks(finding, "no directory to try it in");
	overlay_attempt(doctor, try_overlay_user, &as_user);
	if (geteuid() == 0)
		overlay_attempt(doctor, try_overlay_root, &as_root);
	if (as_user.ok && as_root.ok)
		found(finding, "works in %s, as root and in a user namespace", doctor->place);
	else if (as_user.ok)
		found(finding, "works in %s in a user namespace%s%s", doctor->place,
			as_root.text[0] ? "; not as root: " : "", as_root.text);
	else if (as_root.ok)
		found(finding, "works in %s as root; not in a user namespace: %s", doctor->place,
			as_user.text);
	else
		lacks(finding, "in %s: %s", doctor->place, as_user.text);
}

/* ------------------------------------------------------- landlock and seccomp */

static void probe_landlock(struct doctor *doctor, struct finding *finding)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 0)
		found(finding, "ABI %ld", abi);
	else
		failed(finding, "landlock_create_ruleset");
}

static void try_seccomp(struct doctor *doctor, struct finding *finding)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = 1, .filter = allow };
	struct seccomp_notif_sizes sizes;
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0 ||
		syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return failed(finding, "seccomp");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(finding, "no_new_privs");
	long listener = syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener >= 0)
		found(finding, "a listener was made");
	else if (errno == EBUSY)
		lacks(finding, "somebody outside listens already (EBUSY)");
	else
		failed(finding, "make a listener");
}

static void probe_seccomp(struct doctor *doctor, struct finding *finding)
{
	in_child(doctor, try_seccomp, finding);
}

/* ------------------------------------------------------------------ cgroups */

/* Make a group in this one, freeze it, remove it. */
static void freeze_in(int dir, struct finding *finding)
{
	struct err err = { 0 };
	char name[32];

	random_name(name);
	if (mkdirat(dir, name + 1, 0755) < 0)
		return failed(finding, "make a group");
	owned_fd int group = at_open(dir, name + 1, O_RDONLY | O_DIRECTORY, &err);
	owned_fd int freeze = group < 0 ? -1 : at_open(group, "cgroup.freeze", O_WRONLY, &err);
	int r = freeze < 0 ? 0 : at_write_all(freeze, "1", 1);

	if (freeze < 0)
		lacks(finding, "%s", err.text);
	else if (r < 0)
		lacks(finding, "cgroup.freeze: %s", strerror(-r));
	else
		finding->ok = true;
	(void)unlinkat(dir, name + 1, AT_REMOVEDIR);
}

/* \040 and the like in mountinfo, in place. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] && text[2] && text[3]) {
			*out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
					(text[3] - '0'));
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

/* The n-th word of a line, from 0; owned. */
static char *word(const char *line, int n)
{
	for (; n; n--) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	return mem_printf("%.*s", (int)strcspn(line, " \n"), line);
}

/* The group this process is in, under the mount whose root is the group base; owned, or NULL. */
static char *own_group(const char *mount, const char *base)
{
	owned_mem char *text = read_text("/proc/self/cgroup");
	char *at = text ? strstr(text, "0::/") : NULL;
	size_t skip = strcmp(base, "/") ? strlen(base) : 0;

	if (!at || (at != text && at[-1] != '\n'))
		return NULL;
	at += 3;
	at[strcspn(at, "\n")] = '\0';
	if (strncmp(at, base, skip) || !strcmp(at, "/"))
		return NULL;
	return mem_printf("%s%s", mount, at + skip);
}

static void freeze_by_name(const char *path, struct finding *finding)
{
	struct err err = { 0 };
	owned_fd int dir = path ? at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &err) : -1;

	if (!path)
		return;
	if (dir < 0)
		return lacks(finding, "%s", err.text);
	freeze_in(dir, finding);
	if (finding->ok)
		found(finding, "a group under %s was made and frozen", path);
}

/* One line of mountinfo: try our own group there, then the top. */
static bool freeze_at_mount(const char *line, struct finding *finding)
{
	const char *type = strstr(line, " - ");

	if (!type || strncmp(type, " - cgroup2 ", 11) || memchr(line, '\n', (size_t)(type - line)))
		return false;
	owned_mem char *base = word(line, 3);
	owned_mem char *mount = word(line, 4);
	unescape(base);
	unescape(mount);
	owned_mem char *own = own_group(mount, base);
	freeze_by_name(own, finding);
	if (!finding->ok)
		freeze_by_name(mount, finding);
	return true;
}

static void probe_freezer(struct doctor *doctor, struct finding *finding)
{
	static const struct mount_option none[] = { { NULL, NULL } };
	owned_mem char *mounts = read_text("/proc/self/mountinfo");
	bool any = false;

	for (const char *line = mounts; line && *line && !finding->ok;) {
		any |= freeze_at_mount(line, finding);
		line = strchr(line, '\n');
		line += line != NULL;
	}
	if (any)
		return;
	/* Not mounted, or not to be seen: root can mount it. */
	owned_fd int loose = mount_loose("cgroup2", none, finding);
	if (loose >= 0)
		freeze_in(loose, finding);
	if (finding->ok)
		found(finding, "cgroup2 is not mounted, but we can; a group was made and frozen");
}

/* ---------------------------------------------------------- subordinate ids */

/* The name of a user, from /etc/passwd; owned, or NULL. */
static char *user_name(unsigned uid)
{
	owned_mem char *text = read_text("/etc/passwd");

	for (const char *line = text; line && *line;) {
		unsigned id;
		char name[256];

		if (sscanf(line, "%255[^:\n]:%*[^:\n]:%u:", name, &id) == 2 && id == uid)
			return mem_strdup(name);
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return NULL;
}

/* The first id a user may map besides his own, from /etc/subuid or /etc/subgid; 0 when none. */
static unsigned subordinate_start(const char *file, const char *name, unsigned uid)
{
	owned_mem char *text = read_text(file);
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	for (const char *line = text; line && *line;) {
		unsigned start, count;
		char who[256];

		if (sscanf(line, "%255[^:\n]:%u:%u", who, &start, &count) == 3 && count &&
			((name && !strcmp(who, name)) || !strcmp(who, number)))
			return start;
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return 0;
}

/* A process in a user namespace without a map, waiting to be killed. */
static pid_t unmapped_process(struct finding *finding)
{
	int ends[2];
	char ready = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready = unshare(CLONE_NEWUSER) == 0;
		(void)at_write_all(ends[1], &ready, 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &ready, 1) != 1 || !ready)
		lacks(finding, "no user namespace to try it with");
	close(ends[0]);
	return pid;
}

static void map_as_root(pid_t pid, struct finding *finding)
{
	char path[64], map[64];

	snprintf(map, sizeof(map), "0 0 %d", IDS_WANTED);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	if (!write_text(path, map, finding))
		return;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	if (write_text(path, map, finding))
		found(finding, "root maps ids itself");
}

static void map_with(
	char *program, pid_t pid, unsigned own, unsigned start, struct finding *finding)
{
	char text[4][16];

	snprintf(text[0], sizeof(text[0]), "%d", (int)pid);
	snprintf(text[1], sizeof(text[1]), "%u", own);
	snprintf(text[2], sizeof(text[2]), "%u", start);
	char *argv[] = { program, text[0], (char *)"0", text[1], (char *)"1", (char *)"1", text[2],
		(char *)"1", NULL };
	run_program(argv, finding);
}

static void map_as_user(pid_t pid, struct finding *finding)
{
	owned_mem char *uidmap = find_program("newuidmap");
	owned_mem char *gidmap = find_program("newgidmap");
	unsigned uid = geteuid(), gid = getegid();
	owned_mem char *name = user_name(uid);
	unsigned first_uid = subordinate_start("/etc/subuid", name, uid);
	unsigned first_gid = subordinate_start("/etc/subgid", name, uid);

	if (!uidmap || !gidmap)
		return lacks(finding, "no program %s", uidmap ? "newgidmap" : "newuidmap");
	if (!first_uid || !first_gid)
		return lacks(finding, "no entry for %s in /etc/%s", name ? name : "this user",
			first_uid ? "subgid" : "subuid");
	map_with(uidmap, pid, uid, first_uid, finding);
	if (finding->ok)
		map_with(gidmap, pid, gid, first_gid, finding);
	if (finding->ok)
		found(finding, "uids from %u and gids from %u were mapped", first_uid, first_gid);
}

static void probe_subordinate(struct doctor *doctor, struct finding *finding)
{
	pid_t pid = unmapped_process(finding);

	if (pid < 0)
		return failed(finding, "fork");
	if (!finding->text[0] && geteuid() == 0)
		map_as_root(pid, finding);
	else if (!finding->text[0])
		map_as_user(pid, finding);
	(void)kill(pid, SIGKILL);
	(void)reap(pid);
}

/* ------------------------------------------------------------- file systems */

static bool on_btrfs(int fd)
{
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type == BTRFS_SUPER_MAGIC;
}

static void probe_btrfs(struct doctor *doctor, struct finding *finding)
{
	struct err err = { 0 };
	owned_fd int here = at_open_given(".", O_RDONLY | O_DIRECTORY, 0, &err);
	owned_mem char *known = read_text("/proc/filesystems");
	const char *kernel = "";

	if (known)
		kernel = strstr(known, "\tbtrfs\n") ? ", which the kernel knows"
						    : ", which is not in /proc/filesystems";
	if (on_btrfs(doctor->placefd))
		found(finding, "%s is on btrfs", doctor->place);
	else if (on_btrfs(here))
		found(finding, "the working directory is on btrfs, %s is not", doctor->place);
	else
		lacks(finding, "%s is not on btrfs%s", doctor->place, kernel);
}

/* A file that has no name any more. */
static int nameless_file(int dir, struct err *err)
{
	char name[32];

	random_name(name);
	int fd = at_create(dir, name, O_RDWR | O_EXCL, 0600, err);
	if (fd >= 0)
		(void)unlinkat(dir, name, 0);
	return fd;
}

static void probe_reflink(struct doctor *doctor, struct finding *finding)
{
	static const char bytes[65536] = "strata";
	struct err err = { 0 };
	owned_fd int from = doctor->placefd < 0 ? -1 : nameless_file(doctor->placefd, &err);
	owned_fd int to = from < 0 ? -1 : nameless_file(doctor->placefd, &err);
	int r = -1;

	if (to < 0)
		return lacks(finding, "in %s: %s", doctor->place,
			doctor->placefd < 0 ? "no directory" : err.text);
	if (at_write_all(from, bytes, sizeof(bytes)) < 0 || fsync(from) < 0)
		return lacks(finding, "in %s: cannot write", doctor->place);
	for (int i = 0; r < 0 && i < CLONE_TRIES; i++) {
		r = ioctl(to, FICLONE, from);
		if (r == 0 || errno != EAGAIN)
			break;
		(void)poll(NULL, 0, 50);
	}
	if (r == 0)
		found(finding, "a file in %s was cloned", doctor->place);
	else
		lacks(finding, "in %s: clone: %s", doctor->place, strerror(errno));
}

static void probe_zfs(struct doctor *doctor, struct finding *finding)
{
	owned_mem char *zfs = find_program("zfs");
	owned_mem char *zpool = find_program("zpool");
	char *argv[] = { zfs, (char *)"version", NULL };
	struct err err = { 0 };

	if (!zfs || !zpool)
		return lacks(finding, "no program %s", zfs ? "zpool" : "zfs");
	owned_fd int device = at_open_given("/dev/zfs", O_RDWR, 0, &err);
	if (device < 0)
		return lacks(finding, "%s", err.text);
	run_program(argv, finding);
}

/* --------------------------------------------------------------- the others */

static void program_version(const char *name, const char *option, struct finding *finding)
{
	owned_mem char *path = find_program(name);
	char *argv[] = { path, (char *)option, NULL };

	if (path)
		run_program(argv, finding);
	else
		lacks(finding, "no program %s", name);
}

static void probe_git(struct doctor *doctor, struct finding *finding)
{
	program_version("git", "--version", finding);
}

static void probe_ssh(struct doctor *doctor, struct finding *finding)
{
	program_version("ssh", "-V", finding);
}

static void library_version(const char *(*version)(struct err *err), struct finding *finding)
{
	struct err err = { 0 };
	const char *text = version(&err);

	if (text)
		found(finding, "%s", text);
	else
		lacks(finding, "%s", err.text);
}

static void probe_libgit2(struct doctor *doctor, struct finding *finding)
{
	library_version(git_library, finding);
}

static void probe_libarchive(struct doctor *doctor, struct finding *finding)
{
	library_version(tar_reader_library, finding);
}

static void probe_inotify(struct doctor *doctor, struct finding *finding)
{
	owned_mem char *text = read_text("/proc/sys/fs/inotify/max_user_watches");
	owned_fd int fd = inotify_init1(IN_CLOEXEC);
	long long limit = text ? atoll(text) : 0;

	if (fd < 0)
		failed(finding, "inotify_init1");
	else if (inotify_add_watch(fd, "/", IN_CREATE) < 0)
		failed(finding, "add a watch");
	else if (!text)
		lacks(finding, "works, but its limit cannot be read from /proc");
	else if (limit < WATCHES_WANTED)
		lacks(finding, "only %lld watches a user", limit);
	else
		found(finding, "%lld watches a user", limit);
}

static void probe_openat2(struct doctor *doctor, struct finding *finding)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int at = doctor->placefd >= 0 ? doctor->placefd : AT_FDCWD;
	owned_fd int fd = (int)syscall(SYS_openat2, at, ".", &how, sizeof(how));

	if (fd >= 0)
		found(finding, "works");
	else
		failed(finding, "openat2");
}

/* -------------------------------------------------------------------- table */

static const struct check {
	const char *name;
	try_fn *probe;
	const char *remedy;
} checks[] = {
	{ "userns", probe_userns,
		"only root can isolate programs; set the sysctls "
		"kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000 "
		"and kernel.apparmor_restrict_unprivileged_userns=0, and leave any chroot" },
	{ "overlay", probe_overlay,
		"workspaces are whole copies; put the environment on a local ext4, xfs or btrfs, "
		"and "
		"see userns" },
	{ "landlock", probe_landlock,
		"sandboxes have one layer less; boot a kernel >= 5.13 with landlock in its lsm= "
		"list" },
	{ "seccomp_notify", probe_seccomp,
		"system calls cannot be watched cheaply; needs Linux >= 5.5 and no outer "
		"listener" },
	{ "cgroup_freezer", probe_freezer,
		"running programs cannot be frozen, only killed; run as root, or in a delegated "
		"cgroup (systemd-run --user --scope -p Delegate=yes)" },
	{ "subordinate_ids", probe_subordinate,
		"only one user id exists in an environment; install uidmap and run "
		"'usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER'" },
	{ "btrfs", probe_btrfs,
		"no btrfs snapshots as workspaces; put the environment on a btrfs file system" },
	{ "reflink", probe_reflink,
		"files are copied, not cloned; put the environment on btrfs, xfs or zfs" },
	{ "zfs", probe_zfs,
		"no questions to zfs snapshots; install zfsutils-linux, load the module" },
	{ "git", probe_git, "nothing of strata's own, which reads repositories with libgit2" },
	{ "ssh", probe_ssh, "other machines cannot be asked; install openssh-client" },
	{ "libgit2", probe_libgit2, "traces do not say which files git tracks; install libgit2" },
	{ "libarchive", probe_libarchive,
		"no import and no init from tar archives; install libarchive13" },
	{ "inotify", probe_inotify,
		"changes are found by scanning; raise the sysctl fs.inotify.max_user_watches" },
	{ "openat2", probe_openat2,
		"paths are opened step by step, slower; needs Linux >= 5.6 that no filter hides" },
};

/* The nearest existing directory of where the environment is or would be. */
static void find_place(struct doctor *doctor, const char *root)
{
	owned_mem char *path = mem_strdup(root && *root ? root : ".");
	owned(buf_release) struct buf shown = BUF_INIT;
	struct err err = { 0 };

	for (;;) {
		doctor->placefd = at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &err);
		char *slash = strrchr(path, '/');
		if (doctor->placefd >= 0 || !strcmp(path, ".") || !strcmp(path, "/"))
			break;
		if (slash)
			slash[slash == path] = '\0';
		else
			memcpy(path, ".", 2);
	}
	text_quote(&shown, str_of(path));
	doctor->place = mem_strdup(shown.data);
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct doctor doctor = { .placefd = -1 };
	int r = 0;

	find_place(&doctor, ctx->root);
	for (size_t i = 0; r >= 0 && i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct finding finding = { 0 };

		checks[i].probe(&doctor, &finding);
		struct doctor_row row = {
			.name = checks[i].name,
			.ok = finding.ok,
			.detail = finding.text,
			.remedy = finding.ok ? NULL : checks[i].remedy,
		};
		r = op_emit(ctx, &row, err);
	}
	close_fd(&doctor.placefd);
	free(doctor.place);
	return r;
}

static void row_json(struct json *out, const void *row)
{
	const struct doctor_row *check = row;

	json_open(out, NULL, '{');
	json_text(out, "name", check->name);
	json_bool(out, "ok", check->ok);
	json_text(out, "detail", check->detail);
	json_text(out, "remedy", check->remedy);
	json_close(out);
}

static const struct op_param params[] = {
	{ NULL, 0, 0, 0, 0 },
};

const struct op op_doctor = {
	.name = "doctor",
	.flags = OP_LOCAL | OP_NO_ENV | OP_ANYWHERE,
	.access = ENV_READ,
	.params = params,
	.rows = "checks",
	.run = run,
	.row_json = row_json,
};
