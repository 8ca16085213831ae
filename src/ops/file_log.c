/* file-log - list every version of one path, oldest first. */
#include "core/when.h"
#include "ops/refview.h"
#include "ops/requests.h"

static const struct param params[] = {
	PARAM(path_request, path, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "the path to ask about"),
	{ 0 },
};

struct listing {
	struct op_context *ctx;
	uint64_t versions;
};

static int emit_version(void *arg, const struct lineage_version *version, struct err *err)
{
	struct listing *listing = arg;

	listing->versions++;
	return op_emit(listing->ctx, version, err);
}

static int do_file_log(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct path_request *req = request;
	struct listing listing = { .ctx = ctx };
	struct strata_provider provider;

	strata_provider_init(&provider, &ctx->env->history, NULL);
	int r = lineage_run(&provider.provider, refview_path(ctx, str_of(req->path)), emit_version,
		&listing, err);
	if (r >= 0 && !listing.versions)
		return err_set(err, ERR_NOT_FOUND, "no node ever had '%s'", req->path);
	return r;
}

static unsigned changes_of(const struct lineage_version *version)
{
	if (!version->present || !version->previous)
		return 0;
	unsigned what = treediff_compare(version->previous, version->entry);
	if (version->entry->type == ENTRY_DIR &&
		!entry_same_content(version->previous, version->entry))
		what |= TREEDIFF_CONTENT;
	return what;
}

static void row_json(struct json *out, const void *row)
{
	const struct lineage_version *version = row;
	char hex[HASH_HEX], time[40];

	json_text(out, "node", version->snapshot->name);
	json_text(out, "time", when_iso(version->snapshot->creation, time));
	json_bool(out, "present", version->present);
	if (version->present) {
		json_text(out, "type", entry_type_name(version->entry->type));
		json_uint(out, "size", version->entry->size);
		json_uint(out, "mode", version->entry->mode);
		json_int(out, "mtime", version->entry->mtime_sec);
		if (version->entry->content == ENTRY_BLOB)
			json_text(out, "sha256", hash_hex(&version->entry->hash, hex));
	}
	json_bits(out, "what", changes_of(version), TREEDIFF_WHATS, treediff_what_name);
}

const struct op op_file_log = {
	.name = "file_log",
	.summary = "every version of one path",
	.advice = "Lists the nodes in which the path differs from the node before.",
	.access = ENV_READ,
	.params = params,
	.request_size = sizeof(struct path_request),
	.rows = "versions",
	.row = "{node:text time:text present:bool type?:text size?:int "
	       "mode?:int mtime?:int sha256?:text what:[text]}",
	.run = do_file_log,
	.row_json = row_json,
};
