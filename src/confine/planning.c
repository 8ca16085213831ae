#include "confine/planning.h"

#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/stub.h"
#include "policy/rule.h"
#include "policy/verdict.h"

/* The directories that every program loads libraries from, and the loaders themselves. */
static const char *const library_dirs[] = { "/lib", "/lib32", "/lib64", "/libx32", "/usr/lib",
	"/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib" };
static const char *const loaders[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux.so.2",
	"/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-armhf.so.3", "/lib/ld-musl-x86_64.so.1",
	"/lib/ld-musl-aarch64.so.1" };
/* Directories that every program uses.  The kernel itself protects the files in them. */
static const char *const common_dirs[] = { "/dev", "/proc", "/sys" };

#define SHARED_MEMORY "/dev/shm"
#define SECS_MAX (INT64_C(1) << 32) /* more than a century; higher values are reduced to this */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------- looking at the tree */

static bool is_within(const struct policy_list *paths, const char *path)
{
	for (size_t i = 0; i < paths->n; i++)
		if (!strcmp(paths->list[i], "/") ||
			str_within(str_of(path), str_of(paths->list[i])))
			return true;
	return false;
}

/*
 * Whether a file exists.  A stub does not count: strata has made it, to keep a name from being used
 * (core/stub.h).
 */
static bool exists(const char *path)
{
	return !stub_or_nothing(path);
}

static struct policy_list join_lists(
	const struct policy_list *a, const struct policy_list *b, struct arena *arena)
{
	struct policy_list both = { arena_alloc(arena, (a->n + b->n + 1) * sizeof(*both.list)), 0 };

	for (size_t i = 0; i < a->n; i++)
		both.list[both.n++] = a->list[i];
	for (size_t i = 0; i < b->n; i++)
		both.list[both.n++] = b->list[i];
	return both;
}

static void leave_out_missing(struct policy_list *paths)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths->n; i++)
		if (exists(paths->list[i]))
			paths->list[kept++] = paths->list[i];
	paths->n = kept;
}

static const char *directory_of(const char *path, struct arena *arena)
{
	size_t len = (size_t)(strrchr(path, '/') - path);

	return len ? arena_printf(arena, "%.*s", (int)len, path) : "/";
}

/* Whether the program can see a place.  Masks within directories that it sees are ignored. */
static bool is_shown(const struct planning *planning, const char *path)
{
	const struct policy_list common = { (const char **)common_dirs, COUNT(common_dirs) };

	return is_within(&planning->read, path) || is_within(&planning->write, path) ||
	       is_within(&planning->programs, path) || is_within(&common, path);
}

/*
 * Returns the directory that Landlock needs a rule for, so that a hidden path can be granted later.
 * Landlock looks for rules on the way from a file up to the root.  If a mount is added on that way
 * later, Landlock checks the mount, and not the directory that the mount covers.  So for a place
 * that is hidden at first, the rule is about the directory in which the hiding mount lies.
 */
static const char *find_visible(
	const struct planning *planning, const char *path, struct arena *arena)
{
	if (!is_shown(planning, path) && strcmp(path, "/") != 0)
		path = directory_of(path, arena);
	while (is_within(&planning->read_denied, path) && strcmp(path, "/") != 0)
		path = directory_of(path, arena);
	return path;
}

static void leave_to_mounts(struct planning *planning, struct arena *arena)
{
	const struct policy_list *grantable = &planning->grantable;
	struct policy_list *left = &planning->left_to_mounts;

	left->list = arena_alloc(arena, (grantable->n + 1) * sizeof(*left->list));
	for (size_t i = 0; i < grantable->n; i++)
		left->list[left->n++] = find_visible(planning, grantable->list[i], arena);
}

/*
 * Find the names to protect.  Names are also protected in places where writing may be granted
 * later, except names that fs.grantable itself names.
 */
static int look_for_names(
	const struct policy *policy, struct arena *arena, struct planning *out, struct err *err)
{
	struct policy later = *policy;
	struct policy_list writable = join_lists(&out->write, &out->grantable, arena);

	later.fs.allow_write = join_lists(&policy->fs.allow_write, &policy->fs.grantable, arena);
	return treerules_protected(&later, &writable, arena, &out->names, err);
}

int planning_look(const struct policy *policy, struct arena *arena, struct planning *out,
	struct buf *warnings, struct err *err)
{
	const struct {
		const struct policy_list *rules;
		struct policy_list *paths;
		bool denies;
	} lists[] = {
		{ &policy->fs.allow_read, &out->read, false },
		{ &policy->fs.deny_read, &out->read_denied, true },
		{ &policy->fs.allow_read_within_deny, &out->read_holes, false },
		{ &policy->fs.allow_write, &out->write, false },
		{ &policy->fs.deny_write_within_allow, &out->write_denied, true },
		{ &policy->exec.allow, &out->programs, false },
		{ &policy->exec.deny, &out->programs_denied, false },
		{ &policy->fs.grantable, &out->grantable, false },
	};

	*out = (struct planning){ .policy = policy };
	for (size_t i = 0; i < COUNT(lists); i++)
		if (treerules_expand(lists[i].rules, lists[i].denies, arena, lists[i].paths,
			    warnings, err) < 0)
			return -(int)err->code;
	leave_out_missing(&out->grantable);
	leave_to_mounts(out, arena);
	return look_for_names(policy, arena, out, err);
}

/* -------------------------------------------------------- mounts of the plan */

struct mount_list {
	struct arena *arena;
	struct mountplan_entry *list;
	size_t n, capacity;
};

static void add_entry(struct mount_list *mounts, enum mountplan_kind kind, const char *path)
{
	mem_grow(&mounts->list, &mounts->capacity, mounts->n);
	mounts->list[mounts->n++] = (struct mountplan_entry){ kind, path };
}

static void add_all(
	struct mount_list *mounts, enum mountplan_kind kind, const struct policy_list *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		add_entry(mounts, kind, paths->list[i]);
}

static void add_fixed(
	struct mount_list *mounts, enum mountplan_kind kind, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_entry(mounts, kind, paths[i]);
}

static bool has_root(const struct policy_list *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		if (!strcmp(paths->list[i], "/"))
			return true;
	return false;
}

/*
 * Add the mounts for reading.  If "/" can be read, only denied places are hidden; otherwise only
 * allowed places are shown.
 */
static void add_reading(const struct planning *planning, struct mount_list *mounts)
{
	if (!has_root(&planning->read)) {
		add_entry(mounts, MOUNTPLAN_ROOT, "/");
		add_fixed(mounts, MOUNTPLAN_SHOW, common_dirs, COUNT(common_dirs));
		add_all(mounts, MOUNTPLAN_SHOW, &planning->read);
		add_all(mounts, MOUNTPLAN_SHOW, &planning->write);
		add_all(mounts, MOUNTPLAN_SHOW, &planning->programs);
	}
	/*
	 * Reserve the name of a denied file that does not exist.  Otherwise a program could make
	 * the file, and pass secrets to another program in it.
	 */
	for (size_t i = 0; i < planning->read_denied.n; i++)
		add_entry(mounts,
			exists(planning->read_denied.list[i]) ? MOUNTPLAN_MASK : MOUNTPLAN_STUB,
			planning->read_denied.list[i]);
	add_all(mounts, MOUNTPLAN_SHOW, &planning->read_holes);
}

static void add_names(const struct treerules_names *names, struct mount_list *mounts)
{
	static const enum mountplan_kind kinds[] = {
		[TREERULES_PRESENT] = MOUNTPLAN_PROTECT,
		[TREERULES_ABSENT_DIR] = MOUNTPLAN_STUB,
		[TREERULES_ABSENT_FILE] = MOUNTPLAN_STUB_FILE,
		[TREERULES_ABSENT_LINK] = MOUNTPLAN_STUB_DOT,
		[TREERULES_HOLDER] = MOUNTPLAN_PIN,
	};

	for (size_t i = 0; i < names->n; i++)
		add_entry(mounts, kinds[names->list[i].state], names->list[i].path);
}

/*
 * Whether the command gets shared memory of its own: a /dev/shm, and an IPC namespace.  Programs
 * need both, but must not share them with commands under other policies.
 */
static bool has_own_memory(const struct planning *planning)
{
	for (size_t i = 0; i < planning->write.n; i++)
		if (str_within(str_of(planning->write.list[i]), str_of(SHARED_MEMORY)))
			return false;
	return !is_within(&planning->write, SHARED_MEMORY);
}

static void add_writing(const struct planning *planning, struct mount_list *mounts)
{
	if (!has_root(&planning->write)) {
		add_entry(mounts, MOUNTPLAN_READ_ONLY, "/");
		add_all(mounts, MOUNTPLAN_WRITABLE, &planning->write);
	}
	if (has_own_memory(planning) && exists(SHARED_MEMORY))
		add_entry(mounts, MOUNTPLAN_PRIVATE, SHARED_MEMORY);
	for (size_t i = 0; i < planning->write_denied.n; i++)
		add_entry(mounts,
			exists(planning->write_denied.list[i]) ? MOUNTPLAN_PROTECT : MOUNTPLAN_STUB,
			planning->write_denied.list[i]);
	add_names(&planning->names, mounts);
}

/*
 * Add the places that may be granted.  A place that is not shown gets a mask, so that its path
 * exists and a grant can mount the place there.  A protected name that may be granted stays
 * protected until it is granted.
 */
static void add_grantable(const struct planning *planning, struct mount_list *mounts)
{
	const struct policy_list *grantable = &planning->grantable;

	add_all(mounts, MOUNTPLAN_LATER, grantable);
	for (size_t i = 0; i < grantable->n; i++)
		if (!is_shown(planning, grantable->list[i]))
			add_entry(mounts, MOUNTPLAN_MASK, grantable->list[i]);
	for (size_t i = 0; i < grantable->n; i++)
		if (verdict_protected(planning->policy, str_of(grantable->list[i])))
			add_entry(mounts, MOUNTPLAN_PROTECT, grantable->list[i]);
}

static void add_executing(const struct planning *planning, struct mount_list *mounts)
{
	if (planning->programs.n) {
		add_entry(mounts, MOUNTPLAN_NO_EXEC, "/");
		add_fixed(mounts, MOUNTPLAN_EXEC, library_dirs, COUNT(library_dirs));
		add_all(mounts, MOUNTPLAN_EXEC, &planning->programs);
	}
	add_all(mounts, MOUNTPLAN_NO_EXEC, &planning->programs_denied);
}

void planning_mounts(const struct planning *planning, struct arena *arena, struct mountplan *out)
{
	struct mount_list mounts = { .arena = arena };

	add_reading(planning, &mounts);
	add_writing(planning, &mounts);
	add_grantable(planning, &mounts);
	add_executing(planning, &mounts);
	struct mountplan_entry *list = arena_alloc(arena, (mounts.n + 1) * sizeof(*list));
	if (mounts.n)
		memcpy(list, mounts.list, mounts.n * sizeof(*list));
	free(mounts.list);
	out->list = list;
	out->n = mounts.n;
}

/* --------------------------------------------------------- rules of Landlock */

struct rule_list {
	struct landlock_rule *list;
	size_t n;
};

static void allow(struct rule_list *rules, const char *path, unsigned access)
{
	rules->list[rules->n++] = (struct landlock_rule){ path, -1, access };
}

static void allow_all(struct rule_list *rules, const struct policy_list *paths, unsigned access)
{
	for (size_t i = 0; i < paths->n; i++)
		allow(rules, paths->list[i], access);
}

static void allow_fixed(
	struct rule_list *rules, const char *const *paths, size_t n, unsigned access)
{
	for (size_t i = 0; i < n; i++)
		allow(rules, paths[i], access);
}

/*
 * Make the rules of Landlock about files.  Landlock has no exceptions within a directory, so
 * exceptions are left to the mounts.  Do not call this function if programs may make sandboxes of
 * their own, because a process with rules about files cannot mount anything.
 */
static void restrict_files(
	const struct planning *planning, struct arena *arena, struct landlock_rules *out)
{
	size_t most = planning->read.n + planning->read_holes.n + 2 * planning->write.n +
		      2 * planning->programs.n + planning->left_to_mounts.n + COUNT(loaders) +
		      2 * COUNT(common_dirs) + 2;
	struct rule_list rules = { arena_alloc(arena, most * sizeof(*rules.list)), 0 };

	allow_all(&rules, &planning->read, LANDLOCK_READ);
	allow_all(&rules, &planning->read_holes, LANDLOCK_READ);
	allow_all(&rules, &planning->write, LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_REFER);
	allow_all(
		&rules, &planning->left_to_mounts, LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_REFER);
	allow_fixed(&rules, common_dirs, COUNT(common_dirs), LANDLOCK_READ | LANDLOCK_WRITE);
	allow(&rules, "/dev", LANDLOCK_DEVICES);
	if (planning->programs.n) {
		allow_all(&rules, &planning->programs, LANDLOCK_READ | LANDLOCK_EXECUTE);
		allow_fixed(&rules, loaders, COUNT(loaders), LANDLOCK_READ | LANDLOCK_EXECUTE);
	} else {
		allow(&rules, "/", LANDLOCK_EXECUTE);
	}
	out->files = true;
	out->rules = rules.list;
	out->n = rules.n;
}

static unsigned filter_variant(const struct policy *policy, bool explained)
{
	unsigned variant = explained ? CALLFILTER_EXPLAIN : 0;

	if (policy->exec.nested)
		variant |= CALLFILTER_NESTED;
	if (policy->exec.allow.n || policy->exec.deny.n)
		variant |= CALLFILTER_EXEC;
	/*
	 * If the command has a network of its own, a program that listens can be reached only from
	 * within the sandbox.
	 */
	if (!policy->net.allow_local_binding && policy->net.mode == POLICY_NET_HOST)
		variant |= CALLFILTER_NO_LISTEN;
	return variant;
}

static int64_t at_most(int64_t number, int64_t most)
{
	return number < most ? number : most;
}

/* Numbers are reduced to values that no command reaches, so that sums of them do not overflow. */
struct resource_limits planning_limits(const struct policy *policy)
{
	return (struct resource_limits){
		.cpu_secs = at_most(policy->limits.cpu_time_secs, SECS_MAX),
		.memory_bytes = policy->limits.max_rss_bytes,
		.open_fds = at_most(policy->limits.max_open_fds, INT32_MAX),
		.tasks = at_most(policy->limits.max_processes, INT32_MAX),
	};
}

int64_t planning_wall_secs(const struct policy *policy)
{
	return at_most(policy->limits.wall_time_secs, SECS_MAX);
}

void planning_lacks(
	const struct policy *policy, const struct resource_group *group, struct buf *out)
{
	const struct resource_limits limits = planning_limits(policy);

	if (policy->net.unix_sockets.n)
		buf_adds(out, "net.unix_sockets: a program can connect to every UNIX socket that "
			      "it sees, by its path\n");
	resource_lacks(&limits, group, policy->exec.nested, out);
}

void planning_restrict(const struct planning *planning, struct arena *arena, bool explained,
	struct restriction *out)
{
	const struct policy *policy = planning->policy;

	*out = RESTRICTION_INIT;
	out->landlock.scopes = LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNALS;
	out->landlock.bind.limited = !policy->net.allow_local_binding;
	if (!policy->exec.nested)
		restrict_files(planning, arena, &out->landlock);
	out->filtered = true;
	out->calls = filter_variant(policy, explained);
	out->bounded = true;
	out->capabilities = capability_set(policy->exec.nested);
	out->no_new_privs = true;
	out->limits = planning_limits(policy);
	out->own_ipc = has_own_memory(planning);
}

/* ------------------------------------------------- lists for another process */

/* Write a list of paths.  A zero byte ends each path, and an empty path ends the list. */
static void write_list(const struct policy_list *paths, struct buf *out)
{
	for (size_t i = 0; i < paths->n; i++)
		buf_add(out, paths->list[i], strlen(paths->list[i]) + 1);
	buf_addc(out, '\0');
}

void planning_write(const struct planning *planning, struct buf *out)
{
	write_list(&planning->read, out);
	write_list(&planning->read_holes, out);
	write_list(&planning->write, out);
	write_list(&planning->programs, out);
	write_list(&planning->left_to_mounts, out);
}

static bool read_list(struct str *text, struct arena *arena, struct policy_list *out)
{
	size_t n = 0;

	/* The texts are counted first, since a list in an arena cannot grow. */
	for (size_t i = 0; i < text->len && text->ptr[i];
		i += strnlen(text->ptr + i, text->len - i) + 1)
		n++;
	out->list = arena_alloc(arena, (n + 1) * sizeof(*out->list));
	for (out->n = 0; text->len && *text->ptr;) {
		size_t len = strnlen(text->ptr, text->len);

		if (len == text->len)
			return false;
		out->list[out->n++] = arena_strdup(arena, text->ptr);
		text->ptr += len + 1;
		text->len -= len + 1;
	}
	if (!text->len)
		return false;
	text->ptr++;
	text->len--;
	return true;
}

int planning_read(struct str text, const struct policy *policy, struct arena *arena,
	struct planning *out, struct err *err)
{
	*out = (struct planning){ .policy = policy };
	if (read_list(&text, arena, &out->read) && read_list(&text, arena, &out->read_holes) &&
		read_list(&text, arena, &out->write) && read_list(&text, arena, &out->programs) &&
		read_list(&text, arena, &out->left_to_mounts))
		return 0;
	return err_set(err, ERR_SYSTEM, "what the policy allows was cut off on its way");
}
