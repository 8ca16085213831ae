/* method_time - methods that follow one path: the snapshots that have it, and its versions. */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/keytable.h"
#include "query/lineage.h"
#include "query/method_priv.h"

/* The request of all methods in this file: a path of a dataset, and a window of time. */
struct course {
	struct method_dataset dataset;
	struct param_path path;
	int64_t after, before;
	int64_t max_bytes;
	int64_t cursor;
};

#define COURSE_PARAMS METHOD_DATASET(course, PARAM_REQUIRED), METHOD_PATH(course, PARAM_REQUIRED)

static void echo_path(const struct course *req, struct json *out)
{
	json_str(out, "dataset", req->dataset.name);
	json_str(out, "path", req->path.given);
}

/* ----------------------------------------------------------------- histories */

/* A snapshot and the state of the path in it. */
struct sighting {
	const char *snapshot; /* NULL: none */
	int64_t creation;
	bool present;
	bool symlink;
	uint64_t size;
	int64_t mtime;
};

static struct sighting sighting_of(const struct lineage_version *version)
{
	struct sighting seen = {
		.snapshot = version->snapshot->name,
		.creation = version->snapshot->creation,
		.present = version->present,
	};

	if (version->present) {
		seen.symlink = version->entry->type == ENTRY_LINK;
		seen.size = seen.symlink ? version->entry->target.len : version->entry->size;
		seen.mtime = version->entry->mtime_sec;
	}
	return seen;
}

#define METHOD_SIGHTING_SHAPE                                                                      \
	"{snapshot:text creation:int present:bool size?:int mtime?:int is_symlink?:bool}"

static void sighting_members(
	struct json *out, const struct provider *provider, const struct sighting *seen)
{
	method_moment(out, provider, seen->snapshot, seen->creation);
	json_bool(out, "present", seen->present);
	if (seen->present) {
		json_uint(out, "size", seen->size);
		json_int(out, "mtime", seen->mtime);
		json_bool(out, "is_symlink", seen->symlink);
	}
}

struct sightings {
	struct method_list list;
	const struct course *req;
	bool absent; /* the list also has snapshots without the path */
};

static bool is_in_window(void *arg, const struct provider_snapshot *snapshot)
{
	const struct sightings *sightings = arg;

	return method_in_window(snapshot->creation, sightings->req->after, sightings->req->before);
}

static int sighting_row(void *arg, const struct lineage_version *version, struct err *err)
{
	struct sightings *sightings = arg;
	struct method_list *list = &sightings->list;
	struct sighting seen = sighting_of(version);

	if (!(seen.present || sightings->absent))
		return 0;
	if (!method_list_row(list))
		return list->truncated;
	sighting_members(list->out, sightings->req->dataset.provider, &seen);
	return method_list_row_end(list);
}

static int list_sightings(struct method_context *ctx, const struct course *req, const char *key,
	bool absent, struct json *out, struct err *err)
{
	struct sightings sightings = { .req = req, .absent = absent };

	echo_path(req, out);
	method_list_open(&sightings.list, ctx, out, key, req->cursor, 0);
	int r = lineage_each(
		req->dataset.provider, req->path.path, is_in_window, sighting_row, &sightings, err);
	return method_list_finish(&sightings.list, r, false);
}

static const struct param file_history_params[] = {
	COURSE_PARAMS,
	METHOD_CURSOR(course),
	{ 0 },
};

static int run_file_history(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	struct course all = *(const struct course *)request;

	all.after = INT64_MIN;
	all.before = INT64_MAX;
	return list_sightings(ctx, &all, "versions", true, out, err);
}

METHOD(file_history, course, "what a path was in each snapshot",
	"dataset:text path:text versions:[" METHOD_SIGHTING_SHAPE "] " METHOD_MORE_SHAPE);

static const struct param snapshots_containing_params[] = {
	COURSE_PARAMS,
	METHOD_WINDOW(course),
	METHOD_CURSOR(course),
	{ 0 },
};

static int run_snapshots_containing(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	return list_sightings(ctx, request, "snapshots", false, out, err);
}

METHOD(snapshots_containing, course, "the snapshots that have a path",
	"dataset:text path:text snapshots:[" METHOD_SIGHTING_SHAPE "] " METHOD_MORE_SHAPE);

/* --------------------------------------------------------------- appearances */

static int write_appearance(
	const struct course *req, const char *key, const struct sighting *seen, struct json *out)
{
	echo_path(req, out);
	if (!seen->snapshot) {
		json_none(out, key);
		return 0;
	}
	json_open(out, key, '{');
	sighting_members(out, req->dataset.provider, seen);
	json_close(out);
	return 0;
}

struct appearance {
	struct method_context *ctx;
	struct sighting seen;
};

struct moments {
	struct method_context *ctx;
	struct method_moments list;
};

static int note_appearance(void *arg, const struct lineage_version *version, struct err *err)
{
	struct appearance *appearance = arg;

	if (!version->present)
		return 0;
	appearance->seen = sighting_of(version);
	appearance->seen.snapshot = arena_strdup(appearance->ctx->arena, version->snapshot->name);
	return 1;
}

static int add_moment(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct moments *moments = arg;

	method_moments_add(moments->ctx, &moments->list, snapshot);
	return 0;
}

/*
 * If a snapshot has the path, set *seen to the state of the path, and return 1.  Returns 0 if the
 * snapshot lacks the path or was deleted meanwhile, or a negative error.
 */
static int look_at(struct method_context *ctx, const struct course *req,
	const struct method_moment *moment, struct sighting *seen, struct err *err)
{
	struct provider *provider = req->dataset.provider;
	struct provider_snapshot snapshot = { .name = moment->snapshot,
		.creation = moment->creation };
	struct entry entry;
	bool gone;
	owned(view_closep) struct view *view =
		method_open_listed(provider, moment->snapshot, &gone, err);

	if (!view)
		return gone ? 0 : -(int)err->code;
	int r = view->ops->stat(view, req->path.path, ctx->arena, &entry, err);
	struct lineage_version version = {
		.snapshot = &snapshot, .present = r > 0, .entry = &entry
	};
	if (r > 0)
		*seen = sighting_of(&version);
	return r;
}

static const struct param course_params[] = {
	COURSE_PARAMS,
	{ 0 },
};

static int run_first_appearance(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct course *req = request;
	struct appearance appearance = { .ctx = ctx };
	int r = lineage_each(
		req->dataset.provider, req->path.path, NULL, note_appearance, &appearance, err);

	return r < 0 ? r : write_appearance(req, "first", &appearance.seen, out);
}

const struct op method_first_appearance = {
	.name = "first_appearance",
	.summary = "the first snapshot that has a path",
	.params = course_params,
	.request_size = sizeof(struct course),
	.result = "dataset:text path:text first:" METHOD_SIGHTING_SHAPE "?",
	.answer = run_first_appearance,
};

/* Open snapshots from the newest on, since in most cases the newest snapshot has the path. */
static int run_last_appearance(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct course *req = request;
	struct provider *provider = req->dataset.provider;
	struct moments moments = { .ctx = ctx };
	struct sighting seen = { 0 };
	int r = provider->ops->snapshots(provider, add_moment, &moments, err);

	for (size_t i = moments.list.n; r == 0 && i > 0; i--)
		r = look_at(ctx, req, &moments.list.list[i - 1], &seen, err);
	free(moments.list.list);
	return r < 0 ? r : write_appearance(req, "last", &seen, out);
}

const struct op method_last_appearance = {
	.name = "last_appearance",
	.summary = "the last snapshot that has a path",
	.params = course_params,
	.request_size = sizeof(struct course),
	.result = "dataset:text path:text last:" METHOD_SIGHTING_SHAPE "?",
	.answer = run_last_appearance,
};

/* --------------------------------------------------------------- versions_of */

static const struct param versions_of_params[] = {
	COURSE_PARAMS,
	METHOD_MAX_BYTES(course, max_bytes),
	{ 0 },
};

struct version {
	struct hash sha256; /* hash of the first max_bytes */
	uint64_t size;
	struct method_moments moments;
};

/* The hash of an entry of the path, and the index of the version that has this entry's content. */
struct known {
	struct hash hash;
	size_t version;
};

struct versions {
	struct method_context *ctx;
	const struct course *req;
	struct version *list;
	size_t n, cap;
	struct keytable by_sum; /* from a prefix of sha256 to an index in list */
	struct known *known;
	size_t n_known, cap_known;
	struct keytable by_hash; /* from a prefix of an entry's hash to an index in known */
	size_t current;          /* index of the version in the current snapshot */
};

/* Returns the index of the version with this content.  If the version is new, it is added. */
static size_t version_at(struct versions *versions, const struct hash *sha256, uint64_t size)
{
	bool made;
	size_t at = *keytable_at(
		&versions->by_sum, hash_prefix(sha256) ^ size, (uint32_t)versions->n, &made);

	for (; !made && at < versions->n; at++)
		if (versions->list[at].size == size && hash_eq(&versions->list[at].sha256, sha256))
			return at;
	mem_grow(&versions->list, &versions->cap, versions->n);
	versions->list[versions->n] = (struct version){ .sha256 = *sha256, .size = size };
	return versions->n++;
}

/* Read a content that no entry had before, and find its version. */
static int read_version(struct versions *versions, const struct provider_snapshot *snapshot,
	const struct entry *entry, struct err *err)
{
	struct provider *provider = versions->req->dataset.provider;
	owned(view_closep) struct view *view = provider->ops->open(provider, snapshot->name, err);
	struct hash sha256;

	if (!view)
		return -(int)err->code;
	int r = method_sha256(view, entry, versions->req->path.path,
		(uint64_t)versions->req->max_bytes, &sha256, err);
	if (r >= 0)
		versions->current = version_at(versions, &sha256, entry->size);
	return r;
}

/* Set versions->current for an entry.  Equal hashes mean equal contents (provider.h). */
static int find_version(
	struct versions *versions, const struct lineage_version *version, struct err *err)
{
	const struct entry *entry = version->entry;
	bool made;
	uint32_t at = *keytable_at(
		&versions->by_hash, hash_prefix(&entry->hash), (uint32_t)versions->n_known, &made);

	if (!made && hash_eq(&versions->known[at].hash, &entry->hash)) {
		versions->current = versions->known[at].version;
		return 0;
	}
	int r = read_version(versions, version->snapshot, entry, err);
	if (r < 0 || !made)
		return r;
	mem_grow(&versions->known, &versions->cap_known, versions->n_known);
	versions->known[versions->n_known++] = (struct known){ entry->hash, versions->current };
	return r;
}

static int note_version(void *arg, const struct lineage_version *version, struct err *err)
{
	struct versions *versions = arg;
	int r = 0;

	if (!version->present || version->entry->type != ENTRY_FILE ||
		version->entry->content == ENTRY_UNREAD)
		return 0;
	if (version->changed)
		r = find_version(versions, version, err);
	if (r >= 0)
		method_moments_add(versions->ctx, &versions->list[versions->current].moments,
			version->snapshot);
	return r;
}

static void version_members(
	struct versions *versions, const struct version *version, struct json *out)
{
	const struct provider *provider = versions->req->dataset.provider;
	const struct method_moments *moments = &version->moments;
	char hex[HASH_HEX];

	json_text(out, "sha256", hash_hex(&version->sha256, hex));
	json_uint(out, "size", version->size);
	json_bool(out, "truncated", version->size > (uint64_t)versions->req->max_bytes);
	method_moment_json(out, "first_seen", provider, &moments->list[0]);
	method_moment_json(out, "last_seen", provider, &moments->list[moments->n - 1]);
	json_open(out, "snapshots", '[');
	for (size_t i = 0; i < moments->n; i++)
		method_moment_json(out, NULL, provider, &moments->list[i]);
	json_close(out);
}

static void free_versions(struct versions *versions)
{
	for (size_t i = 0; i < versions->n; i++)
		free(versions->list[i].moments.list);
	free(versions->list);
	free(versions->known);
	keytable_release(&versions->by_sum);
	keytable_release(&versions->by_hash);
}

static int run_versions_of(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct course *req = request;
	owned(free_versions) struct versions versions = { .ctx = ctx, .req = req };
	struct method_list list;
	int r = lineage_each(
		req->dataset.provider, req->path.path, NULL, note_version, &versions, err);

	if (r < 0)
		return r;
	echo_path(req, out);
	method_list_open(&list, ctx, out, "versions", 0, 0);
	for (size_t i = 0; i < versions.n && method_list_row(&list); i++) {
		version_members(&versions, &versions.list[i], out);
		(void)method_list_row_end(&list);
	}
	method_list_close(&list);
	json_bool(out, "truncated", list.truncated);
	return 0;
}

METHOD(versions_of, course, "the distinct contents of a file through all snapshots",
	"dataset:text path:text versions:[{sha256:text size:int "
	"truncated:bool first_seen:" METHOD_MOMENT_SHAPE " last_seen:" METHOD_MOMENT_SHAPE
	" snapshots:[" METHOD_MOMENT_SHAPE "]}] truncated:bool");
