/*
 * The layers that enforce a policy: each of them forbids its part, even if any of the others is
 * switched off.
 *
 * A layer is switched off by leaving its part out of the result of planning.h.  Then a program
 * tries by system calls what the policy forbids (tests/tools/forbid.c).  The tables list the layers
 * that refuse an attempt.  The attempt must be refused if one of these layers is on, and must
 * succeed if none is.
 */
#include "sandbox_fixture.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "confine/planning.h"
#include "core/child.h"
#include "sandbox/commandspace.h"
#include "sandbox/netspace.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define ATTEMPTS_MAX 32
#define INSIDE_MAX 8192 /* more processes than a test starts in a sandbox */

enum layer {
	MOUNTS = 1 << 0,
	LANDLOCK = 1 << 1,
	CALLS = 1 << 2,
	RIGHTS = 1 << 3,  /* capabilities */
	NET = 1 << 4,     /* the network namespace */
	SANDBOX = 1 << 5, /* restrictions of every command, with or without a policy; always on */
	YAMA = 1 << 6     /* capabilities, if Yama requires one for tracing (ptrace_scope) */
};
#define LAYERS 5

static const char *const layer_names[LAYERS] = { "mounts", "Landlock", "calls", "capabilities",
	"network" };

/* The version of the Landlock interface that supports each kind of rule. */
enum { ABI_FILES = 1, ABI_PORTS = 4, ABI_SCOPES = 6 };

static const struct attempt {
	const char *thing; /* the attempt; the shell in the sandbox replaces variables in it */
	unsigned refused_by;
	int abi;       /* version of Landlock that can refuse the attempt */
	bool uncommon; /* some kernels refuse it even to programs without a policy */
} confined[] = {
	/* A readable directory, and one that no rule mentions. */
	{ "creat=/bin/new", MOUNTS | LANDLOCK, ABI_FILES, false },
	{ "creat=/etc/new", MOUNTS | LANDLOCK, ABI_FILES, false },
	{ "write=/bin/denied", MOUNTS | LANDLOCK, ABI_FILES, false },
	/*
	 * Landlock supports no exceptions within a directory that may be written, read or executed.
	 */
	{ "write=/w/.git/config", MOUNTS, 0, false },
	{ "creat=/w/.git/hooks/new", MOUNTS, 0, false },
	{ "rename=/w/.git/hooks,/w/.git/old", MOUNTS, 0, false },
	{ "creat=/w/.mcp.json", MOUNTS, 0, false },
	{ "read=/etc/passwd", MOUNTS | LANDLOCK, ABI_FILES, false },
	{ "read=/w/secret/key", MOUNTS, 0, false },
	{ "exec=/w/tool", MOUNTS | LANDLOCK, ABI_FILES, false },
	{ "exec=/bin/denied", MOUNTS, 0, false },
	/* Files in memory are in no directory. */
	{ "memfd=/bin/busybox", CALLS, 0, true },
	{ "mount=/tmp", LANDLOCK | CALLS | RIGHTS, ABI_FILES, true },
	/* The mounts need no other layer, since they are locked. */
	{ "umount=/w/secret", SANDBOX, 0, false },
	{ "unshare=user", CALLS, 0, true },
	{ "unshare=mnt", CALLS | RIGHTS, 0, true },
	/* A process of the sandbox that is not under the policy. */
	{ "ptrace=$OTHER", LANDLOCK | CALLS | RIGHTS, ABI_FILES, true },
	{ "memory=$OTHER", LANDLOCK | CALLS | RIGHTS, ABI_FILES, true },
	{ "signal=$OTHER", LANDLOCK, ABI_SCOPES, false },
	/* The host's processes have no numbers in the sandbox. */
	{ "signal=$HOST", SANDBOX, 0, false },
	{ "abstract=$SOCKET", LANDLOCK | NET, ABI_SCOPES, false },
	{ "connect=127.0.0.1:$PORT", NET, 0, false },
	{ "bind_port=127.0.0.1:0", LANDLOCK, ABI_PORTS, false },
	{ "keyctl", CALLS, 0, true },
	/* A process of the same command that is no child of the process that tries. */
	{ "ptrace=$!", CALLS | YAMA, 0, true },
};

/* Attempts in the machine's network. */
static const struct attempt listening[] = {
	{ "abstract=$SOCKET", LANDLOCK, ABI_SCOPES, false },
	{ "bind_port=127.0.0.1:0", LANDLOCK, ABI_PORTS, false },
	{ "listen", CALLS, 0, false },
};

struct trial {
	struct place *place;
	const struct attempt *attempts;
	size_t n;
	bool possible[ATTEMPTS_MAX]; /* the attempt succeeds without a policy */
	struct arena arena;
	struct policy policy; /* the resolved policy */
	unsigned layers;      /* layers that are switched on */
	int report;           /* file with the lists that the policy gives in the tree */
	struct planning planning;
	int faults;
	char line[2048]; /* command line of the attempts, for the shell */
	char other[32], host[32], socket[64], port[32];
};

/* ---------------------------------------------------------------------- set-up */

static void add_program(int root, const char *name)
{
	assert_int_equal(linkat(AT_FDCWD, world.busybox, root, name, 0), 0);
}

static void add_forbid(int root)
{
	const char *tools = getenv("TOOLS");
	char path[PATH_MAX], part[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/forbid-static", tools ? tools : "build/tests");
	owned_fd int from = open(path, O_RDONLY | O_CLOEXEC);
	owned_fd int to = openat(root, "bin/forbid", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, part, sizeof(part))) > 0)
		assert_int_equal(write(to, part, (size_t)n), n);
}

static void make_workspace(int root)
{
	static const char *const dirs[] = { "w", "w/secret", "w/.git", "w/.git/hooks" };

	for (size_t i = 0; i < COUNT(dirs); i++)
		assert_int_equal(mkdirat(root, dirs[i], 0755), 0);
	put(root, "w/secret/key", "key\n", 0644);
	put(root, "w/.git/HEAD", "ref: refs/heads/main\n", 0644);
	put(root, "w/.git/config", "[core]\n", 0644);
	add_program(root, "w/tool");
	add_forbid(root);
	put(root, "bin/denied", "#!/bin/true\n", 0755);
}

static void read_policy(struct trial *trial, const char *text)
{
	static const struct policy_place place = { .home = "/root", .workspace = "/w" };
	struct err *err = &trial->place->err;
	struct policy policy;

	ok(trial->place, policy_read(str_of(text), "policy", &trial->arena, &policy, err));
	ok(trial->place, policy_resolve(&policy, &place, &trial->arena, &trial->policy, err));
}

static int listen_at(const struct sockaddr *address, socklen_t len)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, address, len), 0);
	assert_int_equal(listen(fd, 100), 0);
	return fd;
}

/* Listen at an abstract name.  The kernel chooses a free one. */
static int listen_at_name(struct trial *trial)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(address.sun_family);
	int fd = listen_at((struct sockaddr *)&address, len);

	len = sizeof(address);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(trial->socket, sizeof(trial->socket), "SOCKET=%.*s",
		(int)(len - offsetof(struct sockaddr_un, sun_path) - 1), address.sun_path + 1);
	return fd;
}

static int listen_at_port(struct trial *trial)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = listen_at((struct sockaddr *)&address, len);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(trial->port, sizeof(trial->port), "PORT=%d", ntohs(address.sin_port));
	return fd;
}

/*
 * Start a process of the sandbox that is not under the policy, and get the number of a process of
 * the host.
 */
static void name_processes(struct trial *trial)
{
	assert_int_equal(shell(trial->place, "sleep 1000 >/dev/null 2>&1 & echo $!"), 0);
	snprintf(trial->other, sizeof(trial->other), "OTHER=%d", atoi(trial->place->out));
	snprintf(trial->host, sizeof(trial->host), "HOST=%d", (int)getpid());
}

/*
 * Write the line with all attempts.  It starts a second process of the command, which some of the
 * attempts name.
 */
static void write_line(struct trial *trial)
{
	size_t at = 0, size = sizeof(trial->line);

	at += (size_t)snprintf(trial->line, size, "sleep 1000 & forbid");
	for (size_t i = 0; i < trial->n; i++)
		at += (size_t)snprintf(
			trial->line + at, size - at, " %s", trial->attempts[i].thing);
	at += (size_t)snprintf(trial->line + at, size - at, "; kill -KILL $!");
	assert_true(at < size);
}

/* -------------------------------------------------------------------- one trial */

/* Called in the tree that the command will see. */
static int look(void *arg, struct mountplan *mounts, struct err *err)
{
	struct trial *trial = arg;
	owned(buf_release) struct buf warnings = BUF_INIT, report = BUF_INIT;

	if (planning_look(&trial->policy, &trial->arena, &trial->planning, &warnings, err) < 0)
		return -(int)err->code;
	if (trial->layers & MOUNTS)
		planning_mounts(&trial->planning, &trial->arena, mounts);
	planning_write(&trial->planning, &report);
	if (at_write_all(trial->report, report.data, report.len) < 0)
		return err_set(err, ERR_SYSTEM, "the report cannot be written");
	return 0;
}

static int make_net(void *arg, struct err *err)
{
	static struct netspace *space;

	space = netspace_new(false, err);
	return space ? netspace_fd(space) : -(int)err->code;
}

/* The warden: answer accesses to masks until the test closes its end of the socket. */
static int keep(void *arg, const struct commandspace_warden *warden)
{
	struct maskfs *masks = warden->mounts->masks;
	struct pollfd ready[] = { { warden->socket, POLLIN, 0 },
		{ masks ? maskfs_fd(masks) : -1, POLLIN, 0 } };

	do {
		if (poll(ready, 2, -1) < 0 || (masks && maskfs_serve(masks) < 0))
			return 1;
	} while (!ready[0].revents);
	mountplan_remove_stubs(warden->mounts);
	return 0;
}

static void make_space(struct trial *trial, struct commandspace *space)
{
	struct place *place = trial->place;
	const struct mountplan mounts = { .device = -1, .nobody = -1, .stub_locks = -1 };
	struct commandspace_plan plan = {
		.mounts = &mounts,
		.look = look,
		.look_arg = trial,
		.keep = keep,
		.fds = { trial->report },
		.n_fds = 1,
	};

	if (trial->layers & NET)
		plan.make_net = make_net;
	ok(place, commandspace_make(&place->sandbox, &plan, space, &place->err));
}

static void restrict_command(struct trial *trial, struct restriction *out)
{
	struct err *err = &trial->place->err;
	struct planning planning;
	char text[4096];
	ssize_t n = pread(trial->report, text, sizeof(text), 0);

	assert_in_range(n, 1, sizeof(text) - 1);
	ok(trial->place, planning_read((struct str){ text, (size_t)n }, &trial->policy,
				 &trial->arena, &planning, err));
	planning_restrict(&planning, &trial->arena, false, out);
	if (!(trial->layers & LANDLOCK))
		out->landlock = RESTRICTION_INIT.landlock;
	if (!(trial->layers & CALLS))
		out->filtered = false;
	if (!(trial->layers & RIGHTS))
		out->bounded = false;
}

/* Undo changes of this trial, so that they do not influence the next one. */
static void tidy(int root)
{
	static const char *const made[] = { "bin/new", "etc/new", "w/.mcp.json",
		"w/.git/hooks/new" };

	(void)renameat(root, "w/.git/old", root, "w/.git/hooks");
	for (size_t i = 0; i < COUNT(made); i++)
		(void)unlinkat(root, made[i], 0);
}

/*
 * Make all attempts with some of the layers.  place->out gets the output of forbid, one line for
 * each attempt.
 */
static void try_all(struct trial *trial, unsigned layers)
{
	const char *const argv[] = { "sh", "-c", trial->line, NULL };
	const char *const env[] = { "PATH=/bin", trial->other, trial->host, trial->socket,
		trial->port, NULL };
	owned_fd int report = memfd_create("report", MFD_CLOEXEC);
	struct commandspace space;
	struct restriction restriction;

	trial->layers = layers;
	trial->report = report;
	make_space(trial, &space);
	restrict_command(trial, &restriction);
	const struct sandbox_command command = {
		.argv = argv, .env = env, .space = &space, .restriction = &restriction
	};
	ok(trial->place, run_command(trial->place, &command));
	commandspace_release(&space);
	assert_int_equal(child_wait(space.pid), 0);
	tidy(trial->place->root);
}

/* ---------------------------------------------------------------------- answers */

static const char *take_line(char **text)
{
	char *line = strsep(text, "\n");

	if (!line || !*line)
		fail_msg("forbid has said too little");
	return line;
}

static bool is_done(const struct attempt *attempt, const char *line)
{
	size_t name = strcspn(attempt->thing, "=");

	if (strncmp(line, attempt->thing, name) != 0 || !strstr(line, ": "))
		fail_msg("%s: %s", attempt->thing, line);
	return !strcmp(strstr(line, ": "), ": done");
}

static bool yama_wants_right(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file) {
		if (fscanf(file, "%d", &scope) != 1)
			scope = 0;
		fclose(file);
	}
	return scope > 0;
}

/* Returns the layers that are on and refuse the attempt. */
static unsigned refusing(const struct attempt *attempt, unsigned layers)
{
	if (landlock_abi() < attempt->abi)
		layers &= ~(unsigned)LANDLOCK;
	if (layers & RIGHTS && yama_wants_right())
		layers |= YAMA;
	return attempt->refused_by & (layers | SANDBOX);
}

/* Whether the number of this process may also be that of a process in the sandbox. */
static bool is_ambiguous(const struct attempt *attempt)
{
	return !strcmp(attempt->thing, "signal=$HOST") && getpid() < INSIDE_MAX;
}

static void complain(struct trial *trial, const char *line)
{
	printf("# %s, with", line);
	for (int i = 0; i < LAYERS; i++)
		if (trial->layers & 1U << i)
			printf(" %s", layer_names[i]);
	printf("\n");
	trial->faults++;
}

static void check_answers(struct trial *trial)
{
	char *text = trial->place->out;

	for (size_t i = 0; i < trial->n; i++) {
		const struct attempt *attempt = &trial->attempts[i];
		const char *line = take_line(&text);
		bool done = is_done(attempt, line);

		if (trial->layers == 0)
			trial->possible[i] = done || !attempt->uncommon;
		if (trial->possible[i] && done == (refusing(attempt, trial->layers) != 0) &&
			!is_ambiguous(attempt))
			complain(trial, line);
	}
}

static void describe_impossible(const struct trial *trial)
{
	for (size_t i = 0; i < trial->n; i++)
		if (!trial->possible[i])
			printf("# this kernel refuses it always: %s\n", trial->attempts[i].thing);
}

/* Try every subset of the layers, beginning with the empty one. */
static void try_subsets(struct trial *trial, unsigned layers)
{
	for (unsigned subset = 0; subset < 1U << LAYERS; subset++) {
		if (subset & ~layers)
			continue;
		try_all(trial, subset);
		check_answers(trial);
	}
	describe_impossible(trial);
	assert_int_equal(trial->faults, 0);
}

static void try_policy(
	void **state, const char *policy, const struct attempt *attempts, size_t n, unsigned layers)
{
	struct trial trial = { .place = started(state), .attempts = attempts, .n = n };

	assert_true(n <= ATTEMPTS_MAX);
	make_workspace(trial.place->root);
	read_policy(&trial, policy);
	name_processes(&trial);
	owned_fd int named = listen_at_name(&trial), numbered = listen_at_port(&trial);
	write_line(&trial);
	try_subsets(&trial, layers);
	arena_release(&trial.arena);
}

static void each_layer_holds_without_others(void **state)
{
	static const char policy[] =
		"{\"fs\":{\"allow_read\":[\"/w\",\"/bin\",\"/tmp\"],\"deny_read\":[\"/w/secret\"],"
		"\"allow_write\":[\"/w\",\"/tmp\"]},\"net\":{\"mode\":\"none\"},"
		"\"exec\":{\"allow\":[\"/bin\"],\"deny\":[\"/bin/denied\"]}}";

	try_policy(
		state, policy, confined, COUNT(confined), MOUNTS | LANDLOCK | CALLS | RIGHTS | NET);
}

static void no_port_opens_in_the_network_of_the_machine(void **state)
{
	static const char policy[] = "{\"fs\":{\"allow_read\":[\"/\"],\"allow_write\":[\"/tmp\"]},"
				     "\"net\":{\"mode\":\"host\"}}";

	try_policy(state, policy, listening, COUNT(listening), LANDLOCK | CALLS | RIGHTS);
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		place_test(each_layer_holds_without_others),
		place_test(no_port_opens_in_the_network_of_the_machine),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void)
{
	return run_in_both_worlds(tests);
}
