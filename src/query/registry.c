#include "query/registry.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "query/keytable.h"
#include "query/snapname.h"

#define SHOWN 80 /* bytes of a name that a message shows */

void registry_add(struct registry *registry, struct family *family)
{
	mem_grow(&registry->families, &registry->cap_families, registry->n_families);
	registry->families[registry->n_families++] = (struct registry_family){ .family = family };
}

void registry_release(struct registry *registry)
{
	for (size_t i = 0; i < registry->n_open; i++)
		if (registry->open[i]->ops->close)
			registry->open[i]->ops->close(registry->open[i]);
	for (size_t i = 0; i < registry->n_families; i++) {
		struct family *family = registry->families[i].family;

		buf_release(&family->failure);
		if (family->ops->close)
			family->ops->close(family);
	}
	free(registry->open);
	free(registry->families);
	*registry = (struct registry){ 0 };
}

const struct registry_family *registry_family_at(struct registry *registry, size_t index)
{
	if (index >= registry->n_families)
		return NULL;
	struct registry_family *at = &registry->families[index];
	if (!at->probed) {
		const struct family_ops *ops = at->family->ops;

		at->usable = !ops->probe || ops->probe(at->family, &at->why) >= 0;
		at->probed = true;
	}
	return at;
}

/* -------------------------------------------------------------------- calls */

void registry_begin(struct registry *registry, const struct timed_limit *limit)
{
	for (size_t i = 0; i < registry->n_families; i++) {
		struct family *family = registry->families[i].family;

		family->limit = limit;
		buf_clear(&family->failure);
	}
}

void registry_end(struct registry *registry)
{
	for (size_t i = 0; i < registry->n_families; i++) {
		struct family *family = registry->families[i].family;

		family->limit = NULL;
		if (family->ops->rest)
			family->ops->rest(family);
	}
}

struct str registry_failure(const struct registry *registry)
{
	for (size_t i = 0; i < registry->n_families; i++) {
		const struct buf *failure = &registry->families[i].family->failure;

		if (failure->len)
			return (struct str){ failure->data, failure->len };
	}
	return STR("");
}

struct family *registry_with_pools(struct registry *registry, struct err *err)
{
	for (size_t i = 0; i < registry->n_families; i++)
		if (registry->families[i].family->ops->pools)
			return registry->families[i].family;
	err_set(err, ERR_UNSUPPORTED, "no provider that is asked here has pools");
	return NULL;
}

/* ------------------------------------------------------------ finding datasets */

static struct provider *find_open(const struct registry *registry, struct str dataset)
{
	for (size_t i = 0; i < registry->n_open; i++)
		if (str_eq(str_of(registry->open[i]->dataset), dataset))
			return registry->open[i];
	return NULL;
}

static void refuse_name(struct str dataset, bool is_name, struct err *err)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	text_quote(&shown, dataset);
	if (is_name)
		err_set(err, ERR_NOT_FOUND, "no dataset '%.*s'", SHOWN, shown.data);
	else
		err_set(err, ERR_INVALID, "'%.*s' is not a dataset's name", SHOWN,
			shown.data ?: "");
}

static struct provider *open_first(struct registry *registry, const char *dataset, struct err *err)
{
	const struct registry_family *at;

	for (size_t i = 0; (at = registry_family_at(registry, i)); i++) {
		struct err why = { 0 };
		struct provider *provider =
			at->usable ? at->family->ops->open(at->family, dataset, &why) : NULL;

		if (provider)
			return provider;
		if (at->usable && why.code != ERR_NOT_FOUND) {
			*err = why;
			return NULL;
		}
	}
	refuse_name(str_of(dataset), true, err);
	return NULL;
}

int registry_check(const struct registry *registry, struct str dataset, struct err *err)
{
	bool is_main = registry->main && str_eq(dataset, str_of(registry->main));

	if (is_main || find_open(registry, dataset) || snapname_is_dataset(dataset))
		return 0;
	refuse_name(dataset, false, err);
	return -(int)err->code;
}

struct provider *registry_find(struct registry *registry, struct str dataset, struct err *err)
{
	struct provider *provider = find_open(registry, dataset);

	if (provider)
		return provider;
	if (registry_check(registry, dataset, err) < 0)
		return NULL;
	owned_mem char *name = mem_zalloc(dataset.len + 1);
	memcpy(name, dataset.ptr, dataset.len);
	provider = open_first(registry, name, err);
	if (provider) {
		mem_grow(&registry->open, &registry->cap_open, registry->n_open);
		registry->open[registry->n_open++] = provider;
	}
	return provider;
}

/* ----------------------------------------------------------- visiting datasets */

struct listing {
	const struct registry *registry;
	provider_dataset_visit visit;
	void *arg;
	struct keytable names; /* hashes of the names of the datasets visited so far */
	uint64_t left_out;
	bool stopped;
};

static int visit_dataset(void *arg, const struct provider_dataset *dataset, struct err *err)
{
	struct listing *listing = arg;
	const char *main = listing->registry->main;
	struct str name = str_of(dataset->name);
	bool is_new;

	(void)keytable_at(&listing->names, entry_path_hash(ENTRY_PATH_ROOT, name), 0, &is_new);
	if (!is_new || !(snapname_is_dataset(name) || (main && str_eq(name, str_of(main))))) {
		listing->left_out++;
		return 0;
	}
	int r = listing->visit(listing->arg, dataset, err);
	listing->stopped = r > 0;
	return r;
}

int registry_datasets(struct registry *registry, provider_dataset_visit visit, void *arg,
	uint64_t *left_out, struct err *err)
{
	struct listing listing = { .registry = registry, .visit = visit, .arg = arg };
	const struct registry_family *at;
	int r = 0;

	for (size_t i = 0; r >= 0 && !listing.stopped && (at = registry_family_at(registry, i));
		i++)
		if (at->usable)
			r = at->family->ops->datasets(at->family, visit_dataset, &listing, err);
	keytable_release(&listing.names);
	if (left_out)
		*left_out = listing.left_out;
	return r < 0 ? r : 0;
}

int registry_gather(struct registry *registry, struct err *err)
{
	const struct registry_family *at;
	int r = 0;

	for (size_t i = 0; r >= 0 && (at = registry_family_at(registry, i)); i++)
		if (at->usable && at->family->ops->gather)
			r = at->family->ops->gather(at->family, err);
	return r < 0 ? r : 0;
}

struct only {
	struct buf name;
	size_t count;
};

static int note_only(void *arg, const struct provider_dataset *dataset, struct err *err)
{
	struct only *only = arg;

	if (!snapname_is_dataset(str_of(dataset->name)))
		return 0;
	buf_clear(&only->name);
	buf_adds(&only->name, dataset->name);
	return ++only->count > 1;
}

struct provider *registry_default(struct registry *registry, struct err *err)
{
	struct only only = { .name = BUF_INIT };
	const struct registry_family *at;
	struct provider *provider = NULL;
	int r = 0;

	if (registry->main)
		return registry_find(registry, str_of(registry->main), err);
	for (size_t i = 0; r == 0 && !only.count && (at = registry_family_at(registry, i)); i++)
		if (at->usable)
			r = at->family->ops->datasets(at->family, note_only, &only, err);
	if (r >= 0 && only.count != 1)
		err_set(err, ERR_INVALID, "the snapshot needs its dataset: DATASET@NAME");
	else if (r >= 0)
		provider = registry_find(registry, str_of(only.name.data), err);
	buf_release(&only.name);
	return provider;
}
