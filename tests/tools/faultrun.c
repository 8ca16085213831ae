/*
 * faultrun - run one strata command with a fault at each of its file system calls, and check the
 * state that is left each time.
 *
 *	faultrun [OPTION]... TEMPLATE WORK -- COMMAND [ARGUMENT]...
 *
 * TEMPLATE contains an environment as env/.  If there is none, the command makes it.  Each run
 * works on a copy of TEMPLATE in WORK, with STRATA_ROOT set to the copy.  TOOLS/faultlib.so makes
 * one file system call fail.  STRATA and TOOLS come from the environment, as in tests/cli.
 *
 *	--name NAME     for messages
 *	--modes A,B     kill killafter short full EIO ENOSPC ...; full is a disk that is full
 *	                from that call on, the other modes are those of faultlib
 *	--sample N      calls for each mode, including the first and the last; 0: all
 *	--at N          only this call
 *	--seed N        chooses the sample
 *	--jobs N        runs at a time
 *	--drops         the command removes nodes: a run leaves the old nodes or the new ones
 *	--unfinished    a killed command has left TEMPLATE: the live tree is between two trees,
 *	                and any command that writes first completes the change
 *	--gives-up      the command gives up work that no node contains
 *	--keep          leave the copies of failed runs in WORK
 *
 * These conditions must hold after each run:
 *
 *	- the command was killed; or it ended with 0, with the same result as without a fault;
 *	  or it ended with 1 and named the cause; it never crashed or hung;
 *	- the environment opens; fsck finds nothing; every earlier node exists with its tree;
 *	  HEAD is the old one or the new one, or contains the earlier work;
 *	- after one more command that writes, the live tree is the earlier one or the one that
 *	  the command makes, entry for entry; if it is not the earlier one, a node contains the
 *	  earlier one.
 *
 * If there was no environment before, there may be none afterwards.  Then the same command without
 * a fault must succeed.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANG_SECONDS 20
#define RECENT 3 /* failures of each worker that are shown in full */
#define MODES_MAX 16
#define JOBS_MAX 64
#define PATH_SIZE 4096

static struct {
	const char *name;
	char *modes[MODES_MAX];
	size_t n_modes;
	uint64_t sample, at, seed;
	unsigned jobs;
	bool drops, keep, unfinished, gives_up;
	char template[PATH_SIZE], work[PATH_SIZE];
	char **command;
	const char *strata, *tools;
	char preload[PATH_SIZE];
} config = { .name = "command", .jobs = 2, .sample = 20 };

/* --- text --- */

__attribute__((format(printf, 1, 2))) static char *format(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		err(2, "memory");
	va_end(ap);
	return text;
}

static char *slurp(const char *path)
{
	size_t len = 0, cap = 4096;
	char *text = malloc(cap);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (!text)
		err(2, "memory");
	while (fd >= 0 && (n = read(fd, text + len, cap - len - 1)) > 0) {
		len += (size_t)n;
		if (cap - len < 2) {
			cap *= 2;
			text = realloc(text, cap);
			if (!text)
				err(2, "memory");
		}
	}
	if (fd >= 0)
		close(fd);
	text[len] = '\0';
	return text;
}

/* --- programs --- */

struct outcome {
	int status; /* exit status, or 128 + signal, or -1 if it did not end */
	char *out, *errors;
};

static void outcome_release(struct outcome *outcome)
{
	free(outcome->out);
	free(outcome->errors);
	*outcome = (struct outcome){ 0 };
}

static int wait_for(pid_t pid)
{
	int status, pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	bool hung = pidfd >= 0 && poll(&ended, 1, HANG_SECONDS * 1000) == 0;

	if (hung)
		kill(pid, SIGKILL);
	if (pidfd >= 0)
		close(pidfd);
	if (waitpid(pid, &status, 0) < 0)
		err(2, "wait");
	if (hung)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int open_output(const char *dir, const char *name)
{
	char *path = format("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		err(2, "%s", path);
	free(path);
	return fd;
}

/* Run a program in the directory 'dir'.  'extra' has additional environment strings, or is NULL. */
static struct outcome run(const char *dir, char *const argv[], char *const extra[])
{
	int out = open_output(dir, "stdout"), errors = open_output(dir, "stderr");
	char *out_path = format("%s/stdout", dir), *errors_path = format("%s/stderr", dir);
	struct outcome outcome = { 0 };
	pid_t pid = fork();

	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		int null = open("/dev/null", O_RDONLY);
		char *root = format("%s/env", dir);

		if (chdir(dir) < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
			_exit(120);
		setenv("STRATA_ROOT", root, 1);
		for (; extra && *extra; extra++)
			putenv(*extra);
		execv(argv[0], argv);
		_exit(121);
	}
	close(out);
	close(errors);
	outcome.status = wait_for(pid);
	outcome.out = slurp(out_path);
	outcome.errors = slurp(errors_path);
	free(out_path);
	free(errors_path);
	return outcome;
}

static struct outcome strata(const char *dir, const char *a, const char *b, char *const extra[])
{
	char *argv[] = { (char *)config.strata, (char *)a, (char *)b, NULL };

	return run(dir, argv, extra);
}

static struct outcome the_command(const char *dir, char *const extra[])
{
	char *argv[64] = { (char *)config.strata };

	for (size_t i = 0; i < 62 && config.command[i]; i++)
		argv[i + 1] = config.command[i];
	return run(dir, argv, extra);
}

/* --- files --- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DNR)
		(void)chmod(path, 0700);
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static void remove_tree(const char *path)
{
	(void)nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

static void fresh_copy(const char *dir)
{
	char *from = format("%s/.", config.template);
	char *argv[] = { "/bin/cp", "-a", from, (char *)dir, NULL };

	remove_tree(dir);
	if (mkdir(dir, 0700) < 0)
		err(2, "%s", dir);
	struct outcome outcome = run(dir, argv, NULL);
	if (outcome.status)
		errx(2, "cp: %s", outcome.errors);
	outcome_release(&outcome);
	free(from);
}

static char *walk_live(const char *dir)
{
	char *tool = format("%s/treewalk", config.tools);
	char *live = format("%s/env/work/main", dir);
	char *argv[] = { tool, live, "--content", NULL };
	struct outcome outcome = run(dir, argv, NULL);
	char *text = outcome.status ? format("no live tree: %s", outcome.errors)
				    : format("%s", outcome.out);

	outcome_release(&outcome);
	free(tool);
	free(live);
	return text;
}

/* --- the content of an environment --- */

struct state {
	bool exists;
	json_t *nodes; /* an object that maps ids to trees */
	char head[32], head_tree[80];
	char *live;
};

static void state_release(struct state *state)
{
	json_decref(state->nodes);
	free(state->live);
	*state = (struct state){ 0 };
}

static bool load_nodes(struct state *state, const char *text)
{
	json_t *document = json_loads(text, 0, NULL), *node;
	size_t i;

	state->nodes = json_object();
	json_array_foreach(json_object_get(document, "nodes"), i, node)
	{
		const char *id = json_string_value(json_object_get(node, "id"));
		const char *tree = json_string_value(json_object_get(node, "tree"));

		if (!id || !tree)
			continue;
		json_object_set_new(state->nodes, id, json_string(tree));
		if (json_is_true(json_object_get(node, "head"))) {
			snprintf(state->head, sizeof(state->head), "%s", id);
			snprintf(state->head_tree, sizeof(state->head_tree), "%s", tree);
		}
	}
	bool good = document && json_object_size(state->nodes) && state->head[0];
	json_decref(document);
	return good;
}

static bool has_tree(const struct state *state, const char *tree)
{
	const char *id;
	json_t *value;

	json_object_foreach(
		state->nodes, id, value) if (!strcmp(json_string_value(value), tree)) return true;
	return false;
}

/* --- the states with which every run is compared --- */

static struct state before, after;
static char before_tree[80]; /* the tree that a commit of the earlier live tree would have */
static uint64_t points;

static void need_success(struct outcome *outcome, const char *what)
{
	if (outcome->status)
		errx(2, "%s: %s without a fault: status %d: %s", config.name, what, outcome->status,
			outcome->errors);
}

static void read_state(const char *dir, struct state *state)
{
	struct outcome log = strata(dir, "log", "--json", NULL);

	need_success(&log, "log");
	if (!load_nodes(state, log.out))
		errx(2, "%s: cannot understand: %s", config.name, log.out);
	outcome_release(&log);
	state->live = walk_live(dir);
	state->exists = true;
}

static void learn_before(const char *dir)
{
	struct state committed = { 0 };
	char *db = format("%s/env/strata.db", config.template);
	bool exists = access(db, F_OK) == 0;

	free(db);
	if (!exists)
		return;
	fresh_copy(dir);
	read_state(dir, &before);
	struct outcome commit = strata(dir, "commit", NULL, NULL);
	need_success(&commit, "commit");
	outcome_release(&commit);
	read_state(dir, &committed);
	snprintf(before_tree, sizeof(before_tree), "%s", committed.head_tree);
	if (!strcmp(before.live, committed.live) == config.unfinished)
		errx(2, "%s: the template was left %s", config.name,
			config.unfinished ? "finished" : "unfinished");
	state_release(&committed);
}

static void learn_after(const char *dir)
{
	char *file = format("%s/count", dir);
	char *count = format("FAULT_COUNT=%s", file);
	char *extra[] = { config.preload, count, NULL };

	fresh_copy(dir);
	struct outcome outcome = the_command(dir, extra);
	need_success(&outcome, "the command");
	outcome_release(&outcome);
	char *text = slurp(file);
	points = strtoull(text, NULL, 10);
	if (!points)
		errx(2, "%s: no points counted", config.name);
	free(text);
	free(file);
	free(count);
	read_state(dir, &after);
	if (config.drops && json_object_size(after.nodes) >= json_object_size(before.nodes))
		errx(2, "%s: no node went", config.name);
}

/* --- one run --- */

struct shared {
	uint64_t runs, failed, tolerated;
};

struct trial {
	char dir[PATH_SIZE];
	const char *mode;
	uint64_t point;
	int status;
	bool wrong;
	char *errors; /* standard error of the command */
	struct shared *shared;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct trial *trial, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		err(2, "memory");
	va_end(ap);
	if (!trial->wrong) {
		char *words = format("%s", "");

		for (size_t i = 0; config.command[i]; i++) {
			char *longer = format("%s '%s'", words, config.command[i]);

			free(words);
			words = longer;
		}
		printf("FAILED %s: %s at point %" PRIu64 " of %" PRIu64 ", status %d\n"
		       "  command: strata%s\n  it said: %s\n",
			config.name, trial->mode, trial->point, points, trial->status, words,
			*trial->errors ? trial->errors : "nothing");
		free(words);
	}
	printf("  %s\n", text);
	fflush(stdout);
	trial->wrong = true;
	free(text);
}

static const char *cause(const char *mode)
{
	return !strcmp(mode, "EIO")        ? strerror(EIO)
	       : !strcmp(mode, "EDQUOT")   ? strerror(EDQUOT)
	       : !strncmp(mode, "kill", 4) ? NULL
					   : strerror(ENOSPC);
}

static void check_ending(struct trial *trial)
{
	const char *why = cause(trial->mode);

	if (strstr(trial->errors, "Sanitizer") || strstr(trial->errors, "runtime error:"))
		wrong(trial, "a sanitizer complains");
	if (trial->status == -1)
		wrong(trial, "it hung for %d s", HANG_SECONDS);
	else if (trial->status >= 128 && (why || trial->status != 128 + SIGKILL))
		wrong(trial, "killed by signal %d", trial->status - 128);
	else if (trial->status != 0 && trial->status != 1 && trial->status < 128)
		wrong(trial, "status %d", trial->status);
	else if (trial->status == 1 && why && !strstr(trial->errors, why))
		wrong(trial, "the message does not say '%s'", why);
	else if (trial->status == 1 && !why)
		wrong(trial, "failed without an error to fail of");
}

/* Returns the first line in which the two texts differ. */
static char *difference(const char *a, const char *b)
{
	for (;;) {
		size_t x = strcspn(a, "\n"), y = strcspn(b, "\n");

		if (x != y || memcmp(a, b, x))
			return format("'%.*s' and '%.*s'", (int)x, a, (int)y, b);
		if (!a[x])
			return format("nothing");
		a += x + 1;
		b += y + (b[y] != '\0');
	}
}

static bool step(
	struct trial *trial, const char *command, const char *argument, struct outcome *outcome)
{
	*outcome = strata(trial->dir, command, argument, NULL);
	if (outcome->status)
		wrong(trial, "then 'strata %s' gave status %d: %s%s", command, outcome->status,
			outcome->out, outcome->errors);
	return outcome->status == 0;
}

static void check_fsck(struct trial *trial, const char *when)
{
	struct outcome fsck;

	if (step(trial, "fsck", NULL, &fsck) && !strstr(fsck.out, "clean"))
		wrong(trial, "fsck %s: %s", when, fsck.out);
	outcome_release(&fsck);
}

static bool same_nodes(const struct state *a, const struct state *b)
{
	const char *id;
	json_t *tree;

	json_object_foreach(a->nodes, id,
		tree) if (!json_equal(json_object_get(b->nodes, id), tree)) return false;
	return json_object_size(a->nodes) == json_object_size(b->nodes);
}

static void check_nodes(struct trial *trial, const struct state *now)
{
	const char *id;
	json_t *tree;

	if (config.drops) {
		if (!same_nodes(now, &before) && !same_nodes(now, &after))
			wrong(trial, "neither the old nodes nor the new ones: %zu of %zu",
				json_object_size(now->nodes), json_object_size(before.nodes));
		return;
	}
	json_object_foreach(before.nodes, id, tree)
	{
		json_t *there = json_object_get(now->nodes, id);

		if (!there)
			wrong(trial, "node %s is lost", id);
		else if (!json_equal(there, tree))
			wrong(trial, "node %s has another tree", id);
	}
}

static void check_head(struct trial *trial, const struct state *now)
{
	bool known = !strcmp(now->head_tree, after.head_tree);

	if (before.exists)
		known |= !strcmp(now->head, before.head) || !strcmp(now->head_tree, before_tree);
	if (!known)
		wrong(trial, "HEAD %s is neither old nor new", now->head);
}

/* The earlier live tree must still be the live tree, or be in a node. */
static void check_kept(struct trial *trial, const struct state *now)
{
	if (before.exists && !config.unfinished && !config.gives_up &&
		strcmp(now->live, before.live) && !has_tree(now, before_tree))
		wrong(trial, "the live tree was changed and no node holds what it was");
}

static void check_success(struct trial *trial, const struct state *now)
{
	if (trial->status)
		return;
	trial->shared->tolerated++;
	if (strcmp(now->head_tree, after.head_tree) || strcmp(now->live, after.live)) {
		char *what = difference(now->live, after.live);

		wrong(trial,
			"success was reported, but HEAD is %s the new one; live trees differ in %s",
			strcmp(now->head_tree, after.head_tree) ? "not" : "", what);
		free(what);
	}
	if (config.drops && !same_nodes(now, &after))
		wrong(trial, "success was reported, but the nodes are not the new ones");
}

static void check_live(struct trial *trial)
{
	char *live = walk_live(trial->dir);
	bool old = before.exists && !config.unfinished && !strcmp(live, before.live);

	if (!old && strcmp(live, after.live)) {
		char *a = before.exists ? difference(before.live, live) : format("nothing");
		char *b = difference(after.live, live);

		wrong(trial, "the live tree is a third one: old and now %s, new and now %s", a, b);
		free(a);
		free(b);
	}
	free(live);
}

/* After an init that was killed, there is an environment, or init can be repeated. */
static bool settle_init(struct trial *trial)
{
	struct outcome status = strata(trial->dir, "status", "--json", NULL);
	bool there = status.status == 0;

	if (!there && status.status != 1)
		wrong(trial, "then 'strata status' gave %d: %s", status.status, status.errors);
	if (!there && !strstr(status.errors, "init"))
		wrong(trial, "status does not say to init again: %s", status.errors);
	outcome_release(&status);
	if (there)
		return true;
	if (!trial->status)
		wrong(trial, "success was reported, but there is no environment");
	struct outcome again = the_command(trial->dir, NULL);
	if (again.status)
		wrong(trial, "the same command again: status %d: %s", again.status, again.errors);
	bool made = again.status == 0;
	outcome_release(&again);
	return made;
}

static void check_left(struct trial *trial)
{
	struct state now = { 0 };
	struct outcome outcome;
	bool opens = true;

	if (!before.exists && !settle_init(trial))
		return;
	if (before.exists) {
		opens = step(trial, "status", "--json", &outcome);
		outcome_release(&outcome);
	}
	if (opens) {
		opens = step(trial, "log", "--json", &outcome) && load_nodes(&now, outcome.out);
		outcome_release(&outcome);
	}
	if (!opens) {
		wrong(trial, "the environment does not open");
		state_release(&now);
		return;
	}
	now.live = walk_live(trial->dir);
	check_fsck(trial, "at once");
	check_nodes(trial, &now);
	check_head(trial, &now);
	check_kept(trial, &now);
	check_success(trial, &now);
	state_release(&now);

	step(trial, "commit", NULL, &outcome);
	outcome_release(&outcome);
	check_live(trial);
	check_fsck(trial, "after the next command");
}

static void keep_copy(const struct trial *trial)
{
	char *kept = format(
		"%s/failed-%s-%s-%" PRIu64, config.work, config.name, trial->mode, trial->point);

	remove_tree(kept);
	if (rename(trial->dir, kept) == 0)
		printf("  kept in %s\n", kept);
	free(kept);
}

static void try(struct trial *trial)
{
	bool full = !strcmp(trial->mode, "full");
	char *at = format("FAULT_AT=%" PRIu64, trial->point);
	char *mode = format("FAULT_MODE=%s", full ? "ENOSPC" : trial->mode);
	char *extra[] = { config.preload, at, mode, full ? "FAULT_STICKY=1" : NULL, NULL };

	fresh_copy(trial->dir);
	struct outcome outcome = the_command(trial->dir, extra);
	trial->status = outcome.status;
	trial->errors = format("%s", outcome.errors);
	trial->wrong = false;
	outcome_release(&outcome);
	trial->shared->runs++;
	check_ending(trial);
	check_left(trial);
	if (trial->wrong)
		trial->shared->failed++;
	if (trial->wrong && config.keep)
		keep_copy(trial);
	free(trial->errors);
	free(at);
	free(mode);
}

/* --- all runs --- */

struct plan {
	const char *mode;
	uint64_t point;
};

static uint64_t random_next(void) /* splitmix64 */
{
	uint64_t z = (config.seed += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/*
 * Choose the calls for one mode: all, or one call from each of several equal parts.  The first and
 * the last call are always included.
 */
static size_t choose(struct plan *plans, const char *mode)
{
	uint64_t n = config.sample && config.sample < points ? config.sample : points;
	size_t count = 0;

	if (config.at) {
		plans[0] = (struct plan){ mode, config.at };
		return 1;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t low = points * i / n, high = points * (i + 1) / n;
		uint64_t point = 1 + low + (n < points ? random_next() % (high - low) : 0);

		if (i == 0)
			point = 1;
		if (i == n - 1)
			point = points;
		plans[count++] = (struct plan){ mode, point };
	}
	return count;
}

static void work(unsigned job, const struct plan *plans, size_t count, struct shared *shared)
{
	struct trial trial = { .shared = shared };

	snprintf(trial.dir, sizeof(trial.dir), "%.4000s/job-%u", config.work, job);
	for (size_t i = job; i < count && shared->failed < RECENT; i += config.jobs) {
		trial.mode = plans[i].mode;
		trial.point = plans[i].point;
		try(&trial);
	}
	remove_tree(trial.dir);
}

static int run_all(void)
{
	struct plan *plans = calloc(config.n_modes * (points + 1), sizeof(*plans));
	struct shared *shared = mmap(NULL, JOBS_MAX * sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct shared sum = { 0 };
	uint64_t seed = config.seed;
	size_t count = 0;
	int status, bad = 0;

	if (!plans || shared == MAP_FAILED)
		err(2, "memory");
	for (size_t i = 0; i < config.n_modes; i++)
		count += choose(plans + count, config.modes[i]);
	fflush(stdout);
	for (unsigned job = 0; job < config.jobs; job++) {
		pid_t pid = fork();

		if (pid < 0)
			err(2, "fork");
		if (!pid) {
			work(job, plans, count, &shared[job]);
			exit(0);
		}
	}
	while (wait(&status) > 0)
		bad |= !WIFEXITED(status) || WEXITSTATUS(status);
	for (unsigned job = 0; job < config.jobs; job++) {
		sum.runs += shared[job].runs;
		sum.failed += shared[job].failed;
		sum.tolerated += shared[job].tolerated;
	}
	printf("%s: %" PRIu64 " points, %" PRIu64 " runs, %" PRIu64
	       " of them ended with success, %" PRIu64 " failed; seed %" PRIu64 "\n",
		config.name, points, sum.runs, sum.tolerated, sum.failed, seed);
	free(plans);
	return sum.failed || bad || !sum.runs;
}

/* --- options --- */

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (!*text || *end)
		errx(2, "not a number: '%s'", text);
	return value;
}

static void split_modes(char *text)
{
	for (char *mode = strtok(text, ","); mode && config.n_modes < MODES_MAX;
		mode = strtok(NULL, ","))
		config.modes[config.n_modes++] = mode;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "name", required_argument, NULL, 'n' },
		{ "modes", required_argument, NULL, 'm' },
		{ "sample", required_argument, NULL, 's' },
		{ "at", required_argument, NULL, 'a' },
		{ "seed", required_argument, NULL, 'r' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "drops", no_argument, NULL, 'd' },
		{ "keep", no_argument, NULL, 'k' },
		{ "unfinished", no_argument, NULL, 'u' },
		{ "gives-up", no_argument, NULL, 'g' },
		{ 0 },
	};
	static char every[] = "kill,killafter,short,ENOSPC,EIO,full";
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			config.name = optarg;
			break;
		case 'm':
			split_modes(optarg);
			break;
		case 's':
			config.sample = number(optarg);
			break;
		case 'a':
			config.at = number(optarg);
			break;
		case 'r':
			config.seed = number(optarg);
			break;
		case 'j':
			config.jobs = (unsigned)number(optarg);
			break;
		case 'd':
			config.drops = true;
			break;
		case 'k':
			config.keep = true;
			break;
		case 'u':
			config.unfinished = true;
			break;
		case 'g':
			config.gives_up = true;
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind < 3)
		errx(2, "usage: faultrun [OPTION]... TEMPLATE WORK -- COMMAND [ARGUMENT]...");
	if (!realpath(argv[optind], config.template))
		err(2, "%s", argv[optind]);
	if ((mkdir(argv[optind + 1], 0700) < 0 && errno != EEXIST) ||
		!realpath(argv[optind + 1], config.work))
		err(2, "%s", argv[optind + 1]);
	config.command = argv + optind + 2;
	if (!strcmp(config.command[0], "--"))
		config.command++;
	config.strata = getenv("STRATA");
	config.tools = getenv("TOOLS");
	if (!config.strata || !config.tools || !config.command[0])
		errx(2, "STRATA and TOOLS must be set, and a command given");
	snprintf(config.preload, sizeof(config.preload), "LD_PRELOAD=%s/faultlib.so", config.tools);
	if (!config.n_modes)
		split_modes(every);
	if (!config.jobs || config.jobs > JOBS_MAX)
		config.jobs = 2;
}

int main(int argc, char **argv)
{
	char dir[PATH_SIZE];

	parse(argc, argv);
	snprintf(dir, sizeof(dir), "%.4000s/clean", config.work);
	learn_before(dir);
	learn_after(dir);
	remove_tree(dir);
	int status = run_all();
	state_release(&before);
	state_release(&after);
	return status;
}
