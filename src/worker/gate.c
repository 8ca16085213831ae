#include "worker/gate.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/resolve.h"

/* A directory from which paths are resolved. */
struct root {
	struct str name; /* path of the directory, as the rules of the policy write it */
	struct str real; /* path of the directory without links */
	int fd;          /* O_PATH */
	char *texts;     /* memory of name and real */
};

struct gate {
	const struct policy *policy;
	struct root *roots; /* sorted: the shortest name, which has most files below it, first */
	size_t n, cap;
	char *given, *workspace;
	pthread_mutex_t telling;
	void (*denied)(
		void *arg, const char *what, const char *path, const struct verdict *verdict);
	void *arg;
};

void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	for (size_t i = 0; i < gate->n; i++) {
		close_fd(&gate->roots[i].fd);
		free(gate->roots[i].texts);
	}
	free(gate->roots);
	free(gate->given);
	free(gate->workspace);
	free(gate);
}

void gate_freep(struct gate **gate)
{
	gate_free(*gate);
}

void gate_on_denial(struct gate *gate,
	void (*denied)(
		void *arg, const char *what, const char *path, const struct verdict *verdict),
	void *arg)
{
	gate->denied = denied;
	gate->arg = arg;
}

/* ------------------------------------------------------------------- roots */

/* Cut the last name off a path.  Returns false if the path is "/". */
static bool cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

/*
 * Open the directory that a rule is about: the longest beginning of the rule that exists and has no
 * globs.  'path' must be the rule, and becomes the path of the directory.
 */
static int open_root(char *path)
{
	struct err ignored = { 0 };

	if (path[strcspn(path, "*?[{\\")]) {
		path[strcspn(path, "*?[{\\")] = '\0';
		cut_name(path);
	}
	for (;;) {
		int fd = at_open_given(path, O_PATH | O_DIRECTORY, 0, &ignored);

		if (fd >= 0 || !cut_name(path))
			return fd;
	}
}

static bool has_root(const struct gate *gate, struct str name)
{
	for (size_t i = 0; i < gate->n; i++)
		if (str_eq(gate->roots[i].name, name))
			return true;
	return false;
}

static int add_root(struct gate *gate, const char *rule, struct err *err)
{
	owned_mem char *path = mem_strdup(rule);
	owned_fd int fd = *path == '/' ? open_root(path) : -1;

	if (fd < 0 || has_root(gate, str_of(path)))
		return 0;
	owned_mem char *real = at_path_of(fd, err);
	if (!real)
		return -(int)err->code;
	size_t len = strlen(path), real_len = strlen(real);
	char *texts = mem_alloc(len + real_len + 2);
	memcpy(texts, path, len + 1);
	memcpy(texts + len + 1, real, real_len + 1);
	mem_grow(&gate->roots, &gate->cap, gate->n);
	gate->roots[gate->n++] = (struct root){
		.name = { texts, len },
		.real = { texts + len + 1, real_len },
		.fd = take_fd(&fd),
		.texts = texts,
	};
	return 0;
}

static int compare_roots(const void *a, const void *b)
{
	const struct root *x = a, *y = b;

	return (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

int gate_new(const struct policy *policy, const char *given, const char *workspace,
	struct gate **out, struct err *err)
{
	const struct policy_list *lists[] = { &policy->fs.allow_read, &policy->fs.allow_write };
	owned(gate_freep) struct gate *gate = mem_zalloc(sizeof(*gate));

	gate->policy = policy;
	gate->telling = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	if (given && workspace && *given == '/' && strcmp(given, workspace) != 0) {
		gate->given = mem_strdup(given);
		gate->workspace = mem_strdup(workspace);
	}
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			int r = add_root(gate, lists[k]->list[i], err);

			if (r < 0)
				return r;
		}
	if (gate->n)
		qsort(gate->roots, gate->n, sizeof(*gate->roots), compare_roots);
	*out = take_ptr(&gate);
	return 0;
}

/*
 * Whether a path is the directory dir or lies below it. *rest becomes the part of the path below
 * dir.
 */
static bool is_below(struct str path, struct str dir, struct str *rest)
{
	if (dir.len == 1)
		dir.len = 0;
	if (!str_within(path, dir))
		return false;
	size_t skip = dir.len + (path.len > dir.len);

	*rest = (struct str){ path.ptr + skip, path.len - skip };
	return true;
}

static const struct root *root_of(const struct gate *gate, struct str path, struct str *rest)
{
	for (size_t i = 0; i < gate->n; i++)
		if (is_below(path, gate->roots[i].name, rest))
			return &gate->roots[i];
	return NULL;
}

/* ---------------------------------------------------------------- verdicts */

static const char *const access_names[] = {
	[VERDICT_READ] = "read",
	[VERDICT_WRITE] = "write",
	[VERDICT_EXECUTE] = "execute",
};

static int deny(struct gate *gate, enum verdict_access access, const char *path,
	const struct verdict *verdict, struct err *err)
{
	(void)pthread_mutex_lock(&gate->telling);
	if (gate->denied)
		gate->denied(gate->arg, access_names[access], path, verdict);
	(void)pthread_mutex_unlock(&gate->telling);
	(void)err_set(err, ERR_DENIED, "the policy denies to %s '%.300s' by %.150s",
		access_names[access], path, verdict->rule);
	return verdict->remedy[0] ? err_hint(err, "%.250s", verdict->remedy) : -ERR_DENIED;
}

static int judge(struct gate *gate, enum verdict_access access, const char *path, struct err *err)
{
	struct verdict verdict;

	verdict_path(gate->policy, access, str_of(path), &verdict);
	return verdict.allowed ? 0 : deny(gate, access, path, &verdict, err);
}

bool gate_readable(const struct gate *gate, struct str path)
{
	struct verdict verdict;

	verdict_path(gate->policy, VERDICT_READ, path, &verdict);
	return verdict.allowed;
}

/* Deny a path because a link in it leads out of all allowed directories. */
static int deny_link(
	struct gate *gate, enum verdict_access access, const char *path, struct err *err)
{
	struct verdict verdict = { .rule = "a link that leaves the allowed directories",
		.remedy = "name the target of the link, in a directory that is allowed" };

	return deny(gate, access, path, &verdict, err);
}

/* ------------------------------------------------------------------- paths */

/*
 * Set *out to the path in the form that the policy judges: see gate_file.  *slash becomes true if
 * the path ends in a slash.  Such a path must lead to a directory.
 */
static int normalise(
	const struct gate *gate, struct str path, char **out, bool *slash, struct err *err)
{
	owned(buf_release) struct buf text = { .max = PATH_MAX };
	struct str rest, name;

	if (memchr(path.ptr, '\0', path.len))
		return err_set_number(err, EINVAL, "a path with a NUL");
	if (!path.len || *path.ptr != '/')
		return err_set_number(err, EINVAL, "the path '%.300s' is not absolute", path.ptr);
	if (resolve_goes_up(path.ptr))
		return err_set(err, ERR_DENIED,
			"the path '%.300s' has '..', which is never resolved", path.ptr);
	*slash = path.ptr[path.len - 1] == '/';
	rest = path;
	while ((name = str_take_name(&rest)).len)
		if (!str_eq(name, STR("."))) {
			buf_addc(&text, '/');
			buf_add(&text, name.ptr, name.len);
		}
	if (!text.len)
		buf_addc(&text, '/');
	if (text.overflowed)
		return err_number(err, ENAMETOOLONG, "path '%.100s...'", path.ptr);
	struct str whole = { text.data, text.len };
	if (gate->given && is_below(whole, str_of(gate->given), &rest))
		*out = mem_printf(
			"%s%s%.*s", gate->workspace, rest.len ? "/" : "", (int)rest.len, rest.ptr);
	else
		*out = mem_dup(text.data, text.len + 1);
	return 0;
}

/*
 * Returns the path of an open file, in the form that rules have.  The caller frees the path.
 * Returns NULL if the file is in no allowed directory, or if the file was removed. *gone tells
 * whether the file was removed.
 */
static char *rule_path(const struct gate *gate, int fd, bool *gone)
{
	struct err ignored = { 0 };
	struct stat st;
	owned_mem char *real = at_path_of(fd, &ignored);
	struct str rest;

	*gone = fstat(fd, &st) == 0 && !st.st_nlink;
	if (!real || *gone || *real != '/')
		return NULL;
	for (size_t i = 0; i < gate->n; i++)
		if (is_below(str_of(real), gate->roots[i].real, &rest)) {
			struct str name = gate->roots[i].name;

			return mem_printf("%.*s%s%s", (int)name.len, name.ptr,
				name.len > 1 && rest.len ? "/" : "", rest.ptr);
		}
	return NULL;
}

/*
 * Check that the policy also allows the true path of a file that was reached through a link.  If
 * true_path is not NULL, *true_path becomes that path.
 */
static int judge_opened(struct gate *gate, enum verdict_access access, int fd, const char *path,
	char **true_path, struct err *err)
{
	bool gone;
	owned_mem char *found = rule_path(gate, fd, &gone);

	if (gone)
		return err_number(err, ENOENT, "open '%s'", path);
	if (!found)
		return deny_link(gate, access, path, err);
	int r = judge(gate, access, found, err);
	if (r >= 0 && true_path)
		*true_path = take_ptr(&found);
	return r;
}

static int open_failed(
	struct gate *gate, enum verdict_access access, const char *path, int error, struct err *err)
{
	return error == EXDEV ? deny_link(gate, access, path, err)
			      : err_number(err, error, "open '%s'", path);
}

/*
 * Open a path whose name the policy allows.  *linked becomes true if a link was followed.  In that
 * case the policy has not judged the file that was found.
 */
static int open_allowed(struct gate *gate, enum verdict_access access, const char *path, int flags,
	bool *linked, struct err *err)
{
	struct str rest;
	const struct root *root = root_of(gate, str_of(path), &rest);

	if (!root) {
		struct verdict verdict = { .rule = "no allowed directory that holds it" };

		return deny(gate, access, path, &verdict, err);
	}
	const char *name = rest.len ? rest.ptr : ".";
	int fd = resolve_open(root->fd, name, flags, RESOLVE_LINKS_NONE);

	*linked = fd == -ELOOP;
	if (*linked)
		fd = resolve_open(root->fd, name, flags,
			root->real.len == 1 ? RESOLVE_LINKS_WITHIN : RESOLVE_LINKS_BENEATH);
	return fd < 0 ? open_failed(gate, access, path, -fd, err) : fd;
}

/* -------------------------------------------------------- opening for reading */

void gate_file_release(struct gate_file *file)
{
	close_fd(&file->fd);
	free(file->path);
	file->path = NULL;
}

static const char *kind_of(mode_t mode)
{
	return S_ISFIFO(mode)   ? "a FIFO"
	       : S_ISSOCK(mode) ? "a socket"
	       : S_ISLNK(mode)  ? "a symbolic link"
				: "a device";
}

/* Replace an O_PATH descriptor by a descriptor for reading. */
static int reopen(int *fd, int flags)
{
	owned_fd int before = *fd;

	*fd = resolve_reopen(before, flags | O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return *fd;
}

static int open_content(struct gate_file *file, struct err *err)
{
	if (S_ISDIR(file->st.st_mode))
		return err_number(err, EISDIR, "read '%s'", file->path);
	if (!S_ISREG(file->st.st_mode))
		return err_set_number(err, ENXIO, "'%s' is %s and is never opened", file->path,
			kind_of(file->st.st_mode));
	int fd = reopen(&file->fd, 0);
	return fd < 0 ? err_number(err, -fd, "open '%s'", file->path) : 0;
}

int gate_open(struct gate *gate, struct str path, enum gate_want want, struct gate_file *out,
	struct err *err)
{
	owned(gate_file_release) struct gate_file file = GATE_FILE_INIT;
	bool slash, linked;
	int r = normalise(gate, path, &file.path, &slash, err);

	if (r >= 0)
		r = judge(gate, VERDICT_READ, file.path, err);
	if (r < 0)
		return r;
	int flags = O_PATH | (slash || want == GATE_DIRECTORY ? O_DIRECTORY : 0) |
		    (want == GATE_ITSELF && !slash ? O_NOFOLLOW : 0);
	file.fd = open_allowed(gate, VERDICT_READ, file.path, flags, &linked, err);
	if (file.fd < 0)
		return file.fd;
	if (fstat(file.fd, &file.st) < 0)
		return err_errno(err, "look at '%s'", file.path);
	r = linked ? judge_opened(gate, VERDICT_READ, file.fd, file.path, NULL, err) : 0;
	if (r >= 0 && want == GATE_CONTENT)
		r = open_content(&file, err);
	if (r >= 0 && want == GATE_DIRECTORY && reopen(&file.fd, O_DIRECTORY) < 0)
		r = err_number(err, -file.fd, "open '%s'", file.path);
	if (r < 0)
		return r;
	*out = file;
	file = (struct gate_file)GATE_FILE_INIT;
	return 0;
}

int gate_content(int dir, const char *name, struct stat *st)
{
	int fd = resolve_open(dir, name, O_PATH | O_NOFOLLOW, RESOLVE_LINKS_NONE);

	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
		close_fd(&fd);
		return S_ISDIR(st->st_mode) ? -EISDIR : -ENXIO;
	}
	return reopen(&fd, 0);
}

/* -------------------------------------------------------- opening for writing */

void gate_place_release(struct gate_place *place)
{
	close_fd(&place->dir);
	free(place->path);
	place->path = NULL;
}

/* Make one directory, and sync the directory that contains it. */
static int make_directory(int dir, const char *name)
{
	if (mkdirat(dir, name, 0777) < 0)
		return errno == EEXIST ? 0 : -errno;
	owned_fd int above = at_name_open(dir, ".", O_RDONLY | O_DIRECTORY);
	if (above >= 0)
		(void)fsync(above);
	return 0;
}

/*
 * Make the directories of the relative path 'rest' in the directory dir, whose descriptor is taken
 * over.  Returns a descriptor of the last directory.
 */
static int make_below(int dir, struct str rest, const char *path, struct err *err)
{
	owned_fd int here = dir;
	char name[NAME_MAX + 1];
	struct str next;

	while ((next = str_take_name(&rest)).len) {
		if (next.len > NAME_MAX)
			return err_number(err, ENAMETOOLONG, "make '%s'", path);
		memcpy(name, next.ptr, next.len);
		name[next.len] = '\0';
		int r = make_directory(here, name);
		int below = r < 0 ? r : at_name_open(here, name, O_PATH | O_DIRECTORY);
		if (below < 0)
			return err_number(
				err, -below, "make the directory '%s' of '%s'", name, path);
		close_fd(&here);
		here = below;
	}
	return take_fd(&here);
}

/*
 * Open the nearest existing directory above a path. *missing becomes the part of the path below
 * that directory.
 */
static int open_existing(
	struct gate *gate, const char *path, char **missing, bool *linked, struct err *err)
{
	owned_mem char *above = mem_strdup(path);
	int fd;

	do {
		if (!cut_name(above))
			return err_number(err, ENOENT, "open '%s'", path);
		*err = (struct err){ 0 };
		fd = open_allowed(gate, VERDICT_WRITE, above, O_PATH | O_DIRECTORY, linked, err);
	} while (fd < 0 && err->errno_value == ENOENT);
	if (fd >= 0)
		*missing = mem_strdup(path + strlen(above));
	return fd;
}

/*
 * Make the missing directories of the path 'parent', if the policy allows writing the first of
 * them.  Returns a descriptor of the last directory.
 */
static int make_parents(struct gate *gate, const char *parent, struct err *err)
{
	owned_mem char *missing = NULL, *there = NULL;
	bool linked, gone;
	owned_fd int fd = open_existing(gate, parent, &missing, &linked, err);

	if (fd < 0)
		return fd;
	there = rule_path(gate, fd, &gone);
	if (!there)
		return deny_link(gate, VERDICT_WRITE, parent, err);
	struct str rest = str_of(missing);
	struct str first = str_take_name(&rest);
	owned_mem char *made =
		mem_printf("%s/%.*s", there[1] ? there : "", (int)first.len, first.ptr);
	int r = judge(gate, VERDICT_WRITE, made, err);
	return r < 0 ? r : make_below(take_fd(&fd), str_of(missing), parent, err);
}

static int open_parent(
	struct gate *gate, const char *parent, bool create, bool *linked, struct err *err)
{
	struct err first = { 0 };
	int fd = open_allowed(gate, VERDICT_WRITE, parent, O_PATH | O_DIRECTORY, linked, &first);

	if (fd >= 0)
		return fd;
	if (create && first.errno_value == ENOENT) {
		*linked = true;
		return make_parents(gate, parent, err);
	}
	*err = first;
	return fd;
}

/*
 * Find the place of *path.  The last name of *path may be a link.  On success *path is taken over.
 */
static int find_place(
	struct gate *gate, char **path, bool create, struct gate_place *out, struct err *err)
{
	owned_mem char *parent = mem_strdup(*path);
	bool linked, gone;
	int r = judge(gate, VERDICT_WRITE, *path, err);

	if (r < 0)
		return r;
	if (!cut_name(parent))
		return err_number(err, EISDIR, "write '%s'", *path);
	owned_fd int dir = open_parent(gate, parent, create, &linked, err);
	if (dir < 0)
		return dir;
	if (linked) {
		owned_mem char *there = rule_path(gate, dir, &gone);

		if (gone)
			return err_number(err, ENOENT, "open '%s'", parent);
		if (!there)
			return deny_link(gate, VERDICT_WRITE, *path, err);
		char *moved = mem_printf("%s/%s", there[1] ? there : "", strrchr(*path, '/') + 1);
		free(*path);
		*path = moved;
		r = judge(gate, VERDICT_WRITE, *path, err);
	}
	if (r < 0)
		return r;
	*out = (struct gate_place){ .dir = take_fd(&dir) };
	out->path = take_ptr(path);
	out->name = strrchr(out->path, '/') + 1;
	return 0;
}

/*
 * Set *target to the true path of the file that a link leads to, if the policy allows writing it.
 */
static int follow(struct gate *gate, const char *path, char **target, struct err *err)
{
	bool linked;
	owned_fd int fd = open_allowed(gate, VERDICT_WRITE, path, O_PATH, &linked, err);

	return fd < 0 ? fd : judge_opened(gate, VERDICT_WRITE, fd, path, target, err);
}

static bool is_link(const struct gate_place *place)
{
	struct statx stx;

	return at_name_stat(place->dir, place->name, &stx) == 0 && S_ISLNK(stx.stx_mode);
}

int gate_place_of(
	struct gate *gate, struct str path, bool create, struct gate_place *out, struct err *err)
{
	owned(gate_place_release) struct gate_place place = GATE_PLACE_INIT;
	owned_mem char *text = NULL, *target = NULL;
	bool slash;
	int r = normalise(gate, path, &text, &slash, err);

	if (r >= 0 && slash)
		r = err_number(err, EISDIR, "write '%s/'", text);
	if (r >= 0)
		r = find_place(gate, &text, create, &place, err);
	if (r >= 0 && is_link(&place)) {
		r = follow(gate, place.path, &target, err);
		if (r >= 0) {
			gate_place_release(&place);
			r = find_place(gate, &target, false, &place, err);
		}
	}
	if (r < 0)
		return r;
	*out = place;
	place = (struct gate_place)GATE_PLACE_INIT;
	return 0;
}
