/* method_pool - methods about pools, and about the properties of a dataset. */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/method_priv.h"
#include "query/snapname.h"

/* ---------------------------------------------------------------- list_pools */

struct list_pools {
	int64_t cursor;
};

static const struct param list_pools_params[] = {
	METHOD_CURSOR(list_pools),
	{ 0 },
};

static int pool_row(void *arg, const struct pool *pool, struct err *err)
{
	struct method_list *list = arg;
	struct json *out = list->out;

	if (!method_list_row(list))
		return list->truncated;
	json_str(out, "name", pool->name);
	json_number(out, "size", pool->size >= 0, pool->size);
	json_number(out, "allocated", pool->allocated >= 0, pool->allocated);
	json_number(out, "free", pool->free >= 0, pool->free);
	json_str(out, "health", pool->health);
	return method_list_row_end(list);
}

static int run_list_pools(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct list_pools *req = request;
	struct family *family = registry_with_pools(ctx->registry, err);
	struct method_list list;

	if (!family)
		return -(int)err->code;
	method_list_open(&list, ctx, out, "pools", req->cursor, 0);
	int r = family->ops->pools(family, pool_row, &list, err);
	return method_list_finish(&list, r, false);
}

METHOD(list_pools, list_pools, "the storage pools, and how full they are",
	"pools:[{name:text size:int? allocated:int? free:int? health:text}] " METHOD_MORE_SHAPE);

/* --------------------------------------------------------------- pool_status */

struct pool_status_request {
	struct str pool;
	int64_t cursor;
};

static const struct param pool_status_params[] = {
	PARAM(pool_status_request, pool, STRING, 0, "only the pool of this name"),
	METHOD_CURSOR(pool_status_request),
	{ 0 },
};

static void devices_json(struct json *out, const struct pool_status *status)
{
	json_open(out, "vdevs", '[');
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct pool_device *device = &status->devices[i];

		json_open(out, NULL, '{');
		json_str(out, "name", device->name);
		if (device->state.len)
			json_str(out, "state", device->state);
		else
			json_none(out, "state");
		json_number(out, "read_errors", device->read >= 0, device->read);
		json_number(out, "write_errors", device->write >= 0, device->write);
		json_number(out, "cksum_errors", device->checksum >= 0, device->checksum);
		json_uint(out, "depth", device->depth);
		if (device->note.len)
			json_str(out, "note", device->note);
		json_close(out);
	}
	json_close(out);
}

static int status_row(void *arg, const struct pool_status *status, struct err *err)
{
	struct method_list *list = arg;

	if (!method_list_row(list))
		return list->truncated;
	json_str(list->out, "name", status->name);
	for (enum pool_fact fact = 0; fact < POOL_FACTS; fact++)
		if (status->facts[fact].ptr)
			json_str(list->out, pool_fact_name(fact), status->facts[fact]);
	if (status->n_devices)
		devices_json(list->out, status);
	return method_list_row_end(list);
}

static int run_pool_status(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct pool_status_request *req = request;
	struct method_list list;

	if (req->pool.ptr && !snapname_is_pool(req->pool))
		return err_set(err, ERR_INVALID, "'pool' must be the name of a pool");
	struct family *family = registry_with_pools(ctx->registry, err);
	if (!family)
		return -(int)err->code;
	const char *pool = req->pool.ptr ? arena_str(ctx->arena, req->pool).ptr : NULL;
	method_list_open(&list, ctx, out, "pools", req->cursor, 0);
	int r = family->ops->pool_status(family, pool, status_row, &list, err);
	return method_list_finish(&list, r, false);
}

METHOD(pool_status, pool_status_request, "the state of the pools and of their devices",
	"pools:[{name:text state?:text status?:text action?:text see?:text scan?:text "
	"errors?:text vdevs?:[{name:text state:text? read_errors:int? write_errors:int? "
	"cksum_errors:int? depth:int note?:text}]}] " METHOD_MORE_SHAPE);

/* -------------------------------------------------------- dataset_properties */

struct dataset_properties {
	struct method_dataset dataset;
	const struct jsonread *properties;
	int64_t cursor;
};

static const struct param dataset_properties_params[] = {
	METHOD_DATASET(dataset_properties, PARAM_REQUIRED),
	PARAM(dataset_properties, properties, VALUE, 0,
		"only the properties with these names: a list of texts"),
	METHOD_CURSOR(dataset_properties),
	{ 0 },
};

/* Read the list of names.  *n becomes 0 if there is no list. */
static int read_names(struct method_context *ctx, const struct jsonread *given, const char ***names,
	size_t *n, struct err *err)
{
	*n = given ? jsonread_count(given) : 0;
	if (!given)
		return 0;
	if (jsonread_type(given) != JSONREAD_ARRAY || !*n)
		return err_set(
			err, ERR_INVALID, "'properties' must be a list of names that is not empty");
	*names = arena_alloc(ctx->arena, *n * sizeof(**names));
	for (size_t i = 0; i < *n; i++) {
		const struct jsonread *item = jsonread_item(given, i);
		struct str name =
			jsonread_type(item) == JSONREAD_STRING ? jsonread_str(item) : STR("");

		if (!snapname_is_property(name))
			return err_set(err, ERR_INVALID,
				"item %zu of 'properties' is not the name of a property", i + 1);
		(*names)[i] = arena_str(ctx->arena, name).ptr;
	}
	return 0;
}

static int property_row(void *arg, const struct provider_property *property, struct err *err)
{
	struct method_list *list = arg;

	if (!method_list_row(list))
		return list->truncated;
	json_str(list->out, "name", property->name);
	json_str(list->out, "value", property->value);
	json_str(list->out, "source", property->source);
	return method_list_row_end(list);
}

static int run_dataset_properties(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct dataset_properties *req = request;
	struct provider *provider = req->dataset.provider;
	const char **names = NULL;
	struct method_list list;
	size_t n;
	int r = read_names(ctx, req->properties, &names, &n, err);

	if (r < 0)
		return r;
	if (!provider->ops->properties)
		return err_set(err, ERR_UNSUPPORTED,
			"'%.80s' is of the provider %s, which has no properties", provider->dataset,
			provider->ops->name);
	json_text(out, "dataset", provider->dataset);
	method_list_open(&list, ctx, out, "properties", req->cursor, 0);
	r = provider->ops->properties(provider, names, n, property_row, &list, err);
	return method_list_finish(&list, r, false);
}

METHOD(dataset_properties, dataset_properties, "the properties of a dataset",
	"dataset:text properties:[{name:text value:text source:text}] " METHOD_MORE_SHAPE);
