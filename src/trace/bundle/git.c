/*
 * Finds the state of files in a git repository with libgit2.
 *
 * Cost.  Most questions are about a tracked file that did not change.  To answer such a question
 * takes one look-up in the index (a hash table in libgit2), a comparison of times and size, and one
 * look-up in a tree of HEAD.  The tree of the last directory is kept, since consecutive questions
 * are mostly about files of one directory.
 *
 * Times.  If the mtime of an index entry is not older than the index file, the file may have
 * changed after it was hashed (git calls such an entry racy).  In that case the content is
 * compared.  The content is also compared in three other cases: only the times differ and the size
 * is equal; the size in the entry is 0, which git writes for "not known"; a filter may have changed
 * the size.
 *
 * Filters.  libgit2 has the filters that are part of git (line ends, $Id$).  A file with an
 * external filter such as LFS is compared unfiltered.  So the file differs from the index and
 * counts as dirty.  This is right for the callers, since the repository does not have the file's
 * bytes.
 *
 * Names.  core/at opens a file below root, and libgit2 gets the path /proc/self/fd/N of the
 * descriptor.  Another process may replace the file by a link or a FIFO in the meantime.  Then the
 * link is not followed, and the FIFO does not block strata.
 */
#include "trace/bundle/git.h"

#include <fcntl.h>
#include <git2.h>
#include <limits.h>
#include <stdio.h>

#include "core/at.h"
#include "core/library.h"
#include "core/mem.h"
#include "core/own.h"

/* maximum number of bytes of an object, since libgit2 holds an object in memory as a whole */
#define CONTENT_LIMIT ((size_t)4 << 30)
/* maximum number of bytes of a file that is filtered in memory */
#define FILTERED_LIMIT ((uint64_t)256 << 20)
#define CONFLICT_STAGES 3

/* --- the library --- */

#define FUNCTIONS(X)                                                                               \
	X(git_libgit2_init)                                                                        \
	X(git_libgit2_opts)                                                                        \
	X(git_error_last)                                                                          \
	X(git_repository_open_ext)                                                                 \
	X(git_repository_free)                                                                     \
	X(git_repository_path)                                                                     \
	X(git_repository_workdir)                                                                  \
	X(git_repository_commondir)                                                                \
	X(git_repository_index)                                                                    \
	X(git_repository_odb)                                                                      \
	X(git_repository_config_snapshot)                                                          \
	X(git_repository_hashfile)                                                                 \
	X(git_config_get_bool)                                                                     \
	X(git_config_free)                                                                         \
	X(git_reference_name_to_id)                                                                \
	X(git_commit_lookup)                                                                       \
	X(git_commit_tree)                                                                         \
	X(git_commit_free)                                                                         \
	X(git_tree_lookup)                                                                         \
	X(git_tree_free)                                                                           \
	X(git_tree_entry_byname)                                                                   \
	X(git_tree_entry_bypath)                                                                   \
	X(git_tree_entry_free)                                                                     \
	X(git_tree_entry_id)                                                                       \
	X(git_tree_entry_type)                                                                     \
	X(git_tree_entry_filemode)                                                                 \
	X(git_index_get_bypath)                                                                    \
	X(git_index_find_prefix)                                                                   \
	X(git_index_free)                                                                          \
	X(git_ignore_path_is_ignored)                                                              \
	X(git_filter_list_load)                                                                    \
	X(git_filter_list_free)                                                                    \
	X(git_odb_hash)                                                                            \
	X(git_odb_hashfile)                                                                        \
	X(git_odb_exists)                                                                          \
	X(git_odb_read_header)                                                                     \
	X(git_odb_read)                                                                            \
	X(git_odb_object_data)                                                                     \
	X(git_odb_object_size)                                                                     \
	X(git_odb_object_free)                                                                     \
	X(git_odb_free)                                                                            \
	X(git_oid_fromstrn)                                                                        \
	X(git_oid_tostr)                                                                           \
	X(git_oid_equal)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static const struct library_function functions[] = { FUNCTIONS(LIBRARY_FUNCTION) };

/*
 * Make libgit2 less strict.  It then also opens repositories of other users, and repositories with
 * some extensions.  These extensions concern only fetching, deleting, or the files that settings
 * are in.  This is safe because repositories are only read and no program is run.
 */
static bool init_library(void)
{
	const char *extensions[] = { "partialclone", "worktreeconfig", "preciousobjects" };

	return lib.git_libgit2_init() >= 0 &&
	       lib.git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) >= 0 &&
	       lib.git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions,
		       sizeof(extensions) / sizeof(*extensions)) >= 0;
}

static struct library library = {
	.purpose = "git",
	.file = "libgit2.so." LIBGIT2_SOVERSION,
	.package = "libgit2-" LIBGIT2_SOVERSION,
	.functions = functions,
	.n_functions = sizeof(functions) / sizeof(*functions),
	.start = init_library,
};

const char *git_library(struct err *err)
{
	return library_need(&library, err) ? NULL : "libgit2 " LIBGIT2_SOVERSION;
}

static const char *last_error(void)
{
	const git_error *last = lib.git_error_last();

	return last && last->message ? last->message : "unknown error";
}

/* --- opening --- */

struct git {
	int root; /* descriptor of the work tree, opened with O_PATH */
	git_repository *repo;
	git_index *index;
	git_odb *odb;
	git_tree *tree; /* the tree of HEAD; NULL: the branch has no commit yet */
	char head[GIT_OID_HEX];
	/* mtime of the index file, taken before the index was read */
	struct statx_timestamp index_time;
	bool file_mode; /* the executable bits of files are meaningful (core.fileMode) */
	bool bad_index; /* the index cannot be read */
	/*
	 * The directory that was looked up last, and its tree in HEAD.  The tree is NULL if HEAD
	 * has no such directory.
	 */
	char *dir;
	git_tree *dir_tree;
};

/*
 * Set the error for a repository that libgit2 cannot open.  The cause may be damage, or a feature
 * that libgit2 does not support.
 */
static int open_failed(const char *root, int rc, struct err *err)
{
	const char *why = last_error();

	if (rc == GIT_ENOTFOUND)
		return err_set(err, ERR_NOT_FOUND, "no git repository at '%s'", root);
	if (strstr(why, "objectformat"))
		return err_set(err, ERR_UNSUPPORTED,
			"git repository '%s' names objects by SHA-256, which libgit2 %s cannot "
			"read",
			root, LIBGIT2_SOVERSION);
	return err_set(err, strstr(why, "unsupported") ? ERR_UNSUPPORTED : ERR_CORRUPT,
		"read git repository '%s': %s", root, why);
}

/* Find the commit and the tree of HEAD.  A branch without a commit is not an error. */
static int open_head(struct git *git)
{
	git_commit *commit = NULL;
	git_oid oid;
	int rc = lib.git_reference_name_to_id(&oid, git->repo, "HEAD");

	if (rc)
		return rc == GIT_ENOTFOUND ? 0 : rc;
	if ((rc = lib.git_commit_lookup(&commit, git->repo, &oid)))
		return rc;
	rc = lib.git_commit_tree(&git->tree, commit);
	lib.git_commit_free(commit);
	if (!rc)
		(void)lib.git_oid_tostr(git->head, sizeof(git->head), &oid);
	return rc;
}

/*
 * Record the mtime of the index file before the index is read.  If the index is replaced in
 * between, the new entries count as racy, which is safe.
 */
static void note_index_time(struct git *git)
{
	owned_mem char *path = mem_printf("%sindex", lib.git_repository_path(git->repo));
	struct statx stx;

	if (statx(AT_FDCWD, path, 0, STATX_MTIME, &stx) == 0)
		git->index_time = stx.stx_mtime;
}

static int open_parts(struct git *git, const char *root)
{
	git_config *config = NULL;
	int on = true;
	int rc = lib.git_repository_open_ext(&git->repo, root, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

	if (rc)
		return rc;
	if (!lib.git_repository_workdir(git->repo))
		return GIT_ENOTFOUND;
	if ((rc = lib.git_repository_config_snapshot(&config, git->repo)))
		return rc;
	(void)lib.git_config_get_bool(&on, config, "core.filemode");
	git->file_mode = on;
	lib.git_config_free(config);
	note_index_time(git);
	if ((rc = lib.git_repository_index(&git->index, git->repo))) {
		git->bad_index = true;
		return rc;
	}
	if ((rc = lib.git_repository_odb(&git->odb, git->repo)))
		return rc;
	return open_head(git);
}

static void close_parts(struct git *git)
{
	lib.git_tree_free(git->dir_tree);
	lib.git_tree_free(git->tree);
	lib.git_odb_free(git->odb);
	lib.git_index_free(git->index);
	lib.git_repository_free(git->repo);
	git->dir_tree = git->tree = NULL;
	git->odb = NULL;
	git->index = NULL;
	git->repo = NULL;
}

/*
 * Make libgit2 ignore the settings of the user and of the machine, because this process may not be
 * allowed to read them.
 */
static void forget_settings(void)
{
	static const int levels[] = { GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
		GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		(void)lib.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
}

/*
 * Check that the work tree is the directory 'root'.  The setting core.worktree may name another
 * directory as the work tree.
 */
static bool is_work_tree_at_root(const struct git *git)
{
	struct statx root, tree;

	return at_fd_stat(git->root, &root) == 0 &&
	       statx(AT_FDCWD, lib.git_repository_workdir(git->repo), 0, AT_STATX_MASK, &tree) ==
		       0 &&
	       root.stx_ino == tree.stx_ino && root.stx_dev_major == tree.stx_dev_major &&
	       root.stx_dev_minor == tree.stx_dev_minor;
}

static int open_at(struct git *git, const char *root, struct err *err)
{
	git->root = at_open_given(root, O_PATH | O_DIRECTORY, 0, err);
	if (git->root < 0)
		return git->root;
	int rc = open_parts(git, root);
	/* libgit2 reports an index that is too short as missing. */
	if (rc && git->bad_index)
		return err_set(err, ERR_CORRUPT,
			"the index of git repository '%s' is damaged, or may not be read", root);
	if (rc && rc != GIT_ENOTFOUND && !strstr(last_error(), "unsupported")) {
		close_parts(git);
		forget_settings();
		rc = open_parts(git, root);
	}
	if (rc)
		return open_failed(root, rc, err);
	if (!is_work_tree_at_root(git))
		return err_set(err, ERR_NOT_FOUND,
			"the git repository at '%s' has its work tree elsewhere", root);
	return 0;
}

struct git *git_open(const char *root, struct err *err)
{
	if (library_need(&library, err))
		return NULL;
	struct git *git = mem_zalloc(sizeof(*git));

	if (open_at(git, root, err) < 0) {
		git_close(git);
		return NULL;
	}
	return git;
}

struct git *git_open_objects(const char *common, struct err *err)
{
	const unsigned flags = GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_BARE;

	if (library_need(&library, err))
		return NULL;
	struct git *git = mem_zalloc(sizeof(*git));

	git->root = -1;
	int rc = lib.git_repository_open_ext(&git->repo, common, flags, NULL);
	if (!rc)
		rc = lib.git_repository_odb(&git->odb, git->repo);
	if (!rc)
		return git;
	(void)open_failed(common, rc, err);
	git_close(git);
	return NULL;
}

const char *git_common(const struct git *git)
{
	return lib.git_repository_commondir(git->repo);
}

const char *git_head(const struct git *git)
{
	return git->head;
}

void git_close(struct git *git)
{
	if (!git)
		return;
	close_parts(git);
	close_fd(&git->root);
	free(git->dir);
	free(git);
}

/* --- comparing HEAD with the index --- */

/* Look up the tree of a directory in HEAD.  The tree is kept for other files in the directory. */
static int enter_dir(struct git *git, struct str dir, struct err *err)
{
	git_tree_entry *entry = NULL;
	git_tree *tree = NULL;

	if (git->dir && str_eq(str_of(git->dir), dir))
		return 0;
	owned_mem char *path = mem_printf("%.*s", (int)dir.len, dir.ptr);
	int rc = lib.git_tree_entry_bypath(&entry, git->tree, path);
	if (!rc && lib.git_tree_entry_type(entry) == GIT_OBJECT_TREE)
		rc = lib.git_tree_lookup(&tree, git->repo, lib.git_tree_entry_id(entry));
	lib.git_tree_entry_free(entry);
	if (rc && rc != GIT_ENOTFOUND)
		return err_set(err, ERR_CORRUPT, "read '%s' of HEAD: %s", path, last_error());
	lib.git_tree_free(git->dir_tree);
	git->dir_tree = tree;
	free(git->dir);
	git->dir = take_ptr(&path);
	return 0;
}

/* Whether HEAD and the index have the same entry for a file.  Returns 1, 0 or a negative error. */
static int is_in_head(struct git *git, const git_index_entry *entry, struct err *err)
{
	const char *slash = strrchr(entry->path, '/');
	const git_tree *tree = git->tree;
	const git_tree_entry *found;

	if (!git->tree)
		return 0;
	if (slash) {
		struct str dir = { entry->path, (size_t)(slash - entry->path) };
		int rc = enter_dir(git, dir, err);

		if (rc)
			return rc;
		tree = git->dir_tree;
	}
	found = tree ? lib.git_tree_entry_byname(tree, slash ? slash + 1 : entry->path) : NULL;
	return found && lib.git_tree_entry_filemode(found) == (git_filemode_t)entry->mode &&
	       lib.git_oid_equal(lib.git_tree_entry_id(found), &entry->id);
}

/* --- comparing the file with the index --- */

static int time_cmp(int64_t s1, uint32_t ns1, int64_t s2, uint32_t ns2)
{
	if (s1 != s2)
		return s1 < s2 ? -1 : 1;
	return (ns1 > ns2) - (ns1 < ns2);
}

/*
 * Whether the times prove that the file has not changed.  Entries of the index without nanoseconds
 * are accepted, since some programs write them.
 */
static bool have_times_stayed(
	const struct git *git, const git_index_entry *entry, const struct statx *stx)
{
	const git_index_time *m = &entry->mtime, *c = &entry->ctime;

	if ((uint32_t)m->seconds != (uint32_t)stx->stx_mtime.tv_sec ||
		(m->nanoseconds && m->nanoseconds != stx->stx_mtime.tv_nsec))
		return false;
	if (c->seconds && ((uint32_t)c->seconds != (uint32_t)stx->stx_ctime.tv_sec ||
				  (c->nanoseconds && c->nanoseconds != stx->stx_ctime.tv_nsec)))
		return false;
	return time_cmp(stx->stx_mtime.tv_sec, m->nanoseconds, git->index_time.tv_sec,
		       m->nanoseconds ? git->index_time.tv_nsec : 0) < 0;
}

/* Open the directory that contains a path.  *name is set to the last name in the path. */
static int open_parent(const struct git *git, const char *path, const char **name, struct err *err)
{
	const char *slash = strrchr(path, '/');
	owned_mem char *dir =
		slash ? mem_printf("%.*s", (int)(slash - path), path) : mem_strdup(".");

	*name = slash ? slash + 1 : path;
	return at_open(git->root, dir, O_PATH | O_DIRECTORY, err);
}

static bool is_link_as_indexed(const struct git *git, const git_index_entry *entry)
{
	struct err ignored;
	const char *name;
	char target[PATH_MAX];
	git_oid oid;
	owned_fd int parent = open_parent(git, entry->path, &name, &ignored);
	ssize_t len = parent < 0 ? -1 : at_name_readlink(parent, name, target, sizeof(target));

	return len >= 0 && !lib.git_odb_hash(&oid, target, (size_t)len, GIT_OBJECT_BLOB) &&
	       lib.git_oid_equal(&oid, &entry->id);
}

static void path_of_fd(int fd, char out[32])
{
	snprintf(out, 32, "/proc/self/fd/%d", fd);
}

/*
 * Open a regular file of the work tree.  Returns -1 if the file does not exist, has another type or
 * cannot be read.
 */
static int open_content(const struct git *git, const char *path)
{
	struct err ignored;
	const char *name;
	struct statx stx;
	owned_fd int parent = open_parent(git, path, &name, &ignored);
	owned_fd int fd = parent < 0 ? -1 : at_name_read(parent, name);

	if (fd < 0 || at_fd_stat(fd, &stx) || !S_ISREG(stx.stx_mode))
		return -1;
	return take_fd(&fd);
}

static bool has_filter(const struct git *git, const char *path)
{
	git_filter_list *filters = NULL;
	int rc = lib.git_filter_list_load(&filters, git->repo, NULL, path, GIT_FILTER_TO_ODB, 0);
	bool found = !rc && filters;

	lib.git_filter_list_free(filters);
	return found;
}

/*
 * Whether a file has the content that the index refers to.  The unfiltered content is compared
 * first.  If that content is equal, the filters need not be looked up.
 */
static bool is_content_as_indexed(
	const struct git *git, const git_index_entry *entry, uint64_t size)
{
	owned_fd int fd = open_content(git, entry->path);
	char path[32];
	git_oid oid;

	if (fd < 0)
		return false;
	path_of_fd(fd, path);
	if (!lib.git_odb_hashfile(&oid, path, GIT_OBJECT_BLOB) &&
		lib.git_oid_equal(&oid, &entry->id))
		return true;
	if (size > FILTERED_LIMIT || !has_filter(git, entry->path))
		return false;
	return !lib.git_repository_hashfile(&oid, git->repo, path, GIT_OBJECT_BLOB, entry->path) &&
	       lib.git_oid_equal(&oid, &entry->id);
}

static bool is_file_as_indexed(
	const struct git *git, const git_index_entry *entry, const struct statx *stx)
{
	bool executable = stx->stx_mode & S_IXUSR;

	if (!S_ISREG(stx->stx_mode) ||
		(git->file_mode && executable != (entry->mode == GIT_FILEMODE_BLOB_EXECUTABLE)))
		return false;
	if (entry->file_size != (uint32_t)stx->stx_size)
		return (!entry->file_size || has_filter(git, entry->path)) &&
		       is_content_as_indexed(git, entry, stx->stx_size);
	return (stx->stx_size && have_times_stayed(git, entry, stx)) ||
	       is_content_as_indexed(git, entry, stx->stx_size);
}

/*
 * Whether a submodule is at the commit that the index refers to.  A submodule that is not checked
 * out counts as unchanged.
 */
static bool is_submodule_as_indexed(const struct git *git, const git_index_entry *entry)
{
	owned_mem char *path =
		mem_printf("%s%s", lib.git_repository_workdir(git->repo), entry->path);
	git_repository *repo = NULL;
	git_oid oid;
	int rc = lib.git_repository_open_ext(&repo, path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

	if (rc)
		return rc == GIT_ENOTFOUND;
	bool same = !lib.git_reference_name_to_id(&oid, repo, "HEAD") &&
		    lib.git_oid_equal(&oid, &entry->id);
	lib.git_repository_free(repo);
	return same;
}

static bool is_as_indexed(
	const struct git *git, const git_index_entry *entry, const struct statx *stx)
{
	if (entry->flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD)
		return false;
	if (!stx) /* a file that a sparse checkout leaves out is as indexed */
		return entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE;
	if (entry->mode == GIT_FILEMODE_COMMIT)
		return S_ISDIR(stx->stx_mode) && is_submodule_as_indexed(git, entry);
	if (entry->mode == GIT_FILEMODE_LINK)
		return S_ISLNK(stx->stx_mode) && is_link_as_indexed(git, entry);
	return is_file_as_indexed(git, entry, stx);
}

/* --- classification --- */

static int classify_entry(struct git *git, const git_index_entry *entry, const struct statx *stx,
	struct git_file *file, struct err *err)
{
	int in_head = is_in_head(git, entry, err);

	if (in_head < 0)
		return in_head;
	file->dirty = !in_head || !is_as_indexed(git, entry, stx);
	if (entry->mode != GIT_FILEMODE_COMMIT &&
		!(entry->flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD))
		(void)lib.git_oid_tostr(file->oid, sizeof(file->oid), &entry->id);
	return 0;
}

static bool is_in_conflict(const struct git *git, const char *path)
{
	for (int stage = 1; stage <= CONFLICT_STAGES; stage++)
		if (lib.git_index_get_bypath(git->index, path, stage))
			return true;
	return false;
}

/* A directory that contains a tracked file is never ignored, even if an ignore rule matches it. */
static int classify_untracked(
	struct git *git, const char *path, bool dir, struct git_file *file, struct err *err)
{
	owned_mem char *slashed = dir ? mem_printf("%s/", path) : mem_strdup(path);
	int ignored = false;

	if (dir && !lib.git_index_find_prefix(NULL, git->index, slashed))
		return 0;
	if (lib.git_ignore_path_is_ignored(&ignored, git->repo, slashed))
		return err_set(err, ERR_CORRUPT, "ignore rules for '%s': %s", path, last_error());
	file->ignored = ignored;
	return 0;
}

int git_classify(struct git *git, const char *path, const struct statx *stx, struct git_file *file,
	struct err *err)
{
	const git_index_entry *entry = lib.git_index_get_bypath(git->index, path, 0);

	*file = (struct git_file){ .tracked = entry };
	if (entry)
		return classify_entry(git, entry, stx, file, err);
	if (is_in_conflict(git, path)) {
		file->tracked = file->dirty = true;
		return 0;
	}
	if (!*path) /* the path is the work tree itself */
		return 0;
	return classify_untracked(git, path, stx && S_ISDIR(stx->stx_mode), file, err);
}

/* --- objects --- */

static int parse_oid(const char *hex, git_oid *oid, struct err *err)
{
	if (strlen(hex) != GIT_OID_HEXSZ || lib.git_oid_fromstrn(oid, hex, GIT_OID_HEXSZ))
		return err_set(err, ERR_INVALID, "'%.80s' names no git object", hex);
	return 0;
}

static int find_in(git_tree *tree, const char *path, char oid[GIT_OID_HEX], struct err *err)
{
	git_tree_entry *entry = NULL;
	int rc = lib.git_tree_entry_bypath(&entry, tree, path);

	if (rc && rc != GIT_ENOTFOUND)
		return err_set(err, ERR_CORRUPT, "read git tree: %s", last_error());
	bool blob = !rc && lib.git_tree_entry_type(entry) == GIT_OBJECT_BLOB;
	if (blob)
		(void)lib.git_oid_tostr(oid, GIT_OID_HEX, lib.git_tree_entry_id(entry));
	lib.git_tree_entry_free(entry);
	return blob ? 0 : err_set(err, ERR_NOT_FOUND, "the commit has no file '%s'", path);
}

int git_find(struct git *git, const char *commit, const char *path, char oid[GIT_OID_HEX],
	struct err *err)
{
	git_commit *found = NULL;
	git_tree *tree = NULL;
	git_oid id;
	int rc = parse_oid(commit, &id, err);

	if (rc)
		return rc;
	if ((rc = lib.git_commit_lookup(&found, git->repo, &id)))
		return err_set(err, rc == GIT_ENOTFOUND ? ERR_NOT_FOUND : ERR_CORRUPT,
			"git commit %s: %s", commit, last_error());
	if (lib.git_commit_tree(&tree, found))
		rc = err_set(err, ERR_CORRUPT, "git commit %s: %s", commit, last_error());
	else
		rc = find_in(tree, path, oid, err);
	lib.git_tree_free(tree);
	lib.git_commit_free(found);
	return rc;
}

int git_is_content(const struct git *git, const char *oid, int fd, struct err *err)
{
	char path[32];
	git_oid want, have;
	int rc = parse_oid(oid, &want, err);

	if (rc)
		return rc;
	path_of_fd(fd, path);
	if (lib.git_odb_hashfile(&have, path, GIT_OBJECT_BLOB))
		return err_errno(err, "hash a file as git does: %s", last_error());
	return lib.git_oid_equal(&have, &want);
}

int git_content(struct git *git, const char *oid,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err)
{
	git_odb_object *object = NULL;
	git_object_t type;
	git_oid id;
	size_t len;
	int rc = parse_oid(oid, &id, err);

	if (rc)
		return rc;
	rc = lib.git_odb_read_header(&len, &type, git->odb, &id);
	if (rc == GIT_ENOTFOUND || (!rc && type != GIT_OBJECT_BLOB))
		return err_set(err, ERR_NOT_FOUND, "no git blob %s", oid);
	if (!rc && len > CONTENT_LIMIT)
		return err_set(
			err, ERR_LIMIT, "git blob %s has more than %zu bytes", oid, CONTENT_LIMIT);
	if (rc || lib.git_odb_read(&object, git->odb, &id))
		return err_set(err, ERR_CORRUPT, "read git blob %s: %s", oid, last_error());
	rc = sink(arg, lib.git_odb_object_data(object), lib.git_odb_object_size(object), err);
	lib.git_odb_object_free(object);
	return rc;
}

bool git_has(struct git *git, const char *oid)
{
	struct err ignored;
	git_oid id;

	return !parse_oid(oid, &id, &ignored) && lib.git_odb_exists(git->odb, &id);
}
