#include "query/families.h"

#include <string.h>

#include "query/btrfsfamily.h"
#include "query/folders.h"
#include "query/zfsfamily.h"

#define DIR_NAME "dir"
#define ZFS_NAME "zfs"

/* Makes a family.  Returns NULL on error. */
typedef struct family *(*family_new)(const struct families_options *options, struct err *err);

static struct family *new_folders(const struct families_options *options, struct err *err)
{
	struct folders *folders = folders_new();
	struct family *family = folders_family(folders);

	for (size_t i = 0; i < options->folders.count; i++)
		if (folders_add(folders, options->folders.list[i], err) < 0) {
			family->ops->close(family);
			return NULL;
		}
	return family;
}

static struct family *new_btrfs(const struct families_options *options, struct err *err)
{
	return btrfsfamily_new();
}

static bool is_named(const struct families_options *options, const char *name)
{
	for (size_t i = 0; i < options->providers.count; i++)
		if (!strcmp(options->providers.list[i], name))
			return true;
	return false;
}

static struct family *new_zfs(const struct families_options *options, struct err *err)
{
	struct family *family = zfsfamily_new(options->trust_mountpoints);

	if (is_named(options, ZFS_NAME))
		zfsfamily_require(family);
	return family;
}

/* Datasets are looked up in this order of families.  ZFS is the last one (zfsfamily.h). */
static const struct {
	const char *name;
	family_new make; /* NULL: another file makes the family */
} kinds[] = {
	{ FAMILIES_STRATA, NULL },
	{ DIR_NAME, new_folders },
	{ "btrfs", new_btrfs },
	{ ZFS_NAME, new_zfs },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int families_check(const struct families_options *options, struct err *err)
{
	for (size_t i = 0; i < options->providers.count; i++) {
		const char *name = options->providers.list[i];
		size_t kind = 0;

		while (kind < KINDS && strcmp(kinds[kind].name, name))
			kind++;
		if (kind < KINDS)
			continue;
		err_set(err, ERR_USAGE, "no provider '%.80s'", name);
		return err_hint(err, "the providers are strata, dir, btrfs and zfs");
	}
	return 0;
}

bool families_wants(const struct families_options *options, const char *name)
{
	if (!strcmp(name, DIR_NAME))
		return options->folders.count;
	return !options->providers.count || is_named(options, name);
}

int families_restore(
	const struct families_options *options, struct restoreroots *roots, struct err *err)
{
	for (size_t i = 0; i < options->restore.count; i++)
		if (restoreroots_add(roots, options->restore.list[i], err) < 0)
			return err_context(err, "--allow-restore");
	return 0;
}

int families_add(const struct families_options *options, struct registry *registry, struct err *err)
{
	for (size_t i = 0; i < KINDS; i++) {
		if (!kinds[i].make || !families_wants(options, kinds[i].name))
			continue;
		struct family *family = kinds[i].make(options, err);
		if (!family)
			return -(int)err->code;
		registry_add(registry, family);
	}
	return 0;
}
