/*
 * Lists packs for maintenance.  A pack is listed if the pack table, the directory packs/ or a row
 * of an object has its number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "store/store_priv.h"

static size_t packs_position(const struct store_packs *packs, uint32_t id)
{
	size_t low = 0, high = packs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (packs->list[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct store_pack *store_packs_find(struct store_packs *packs, uint32_t id)
{
	size_t i = packs_position(packs, id);

	return i < packs->count && packs->list[i].id == id ? &packs->list[i] : NULL;
}

static struct store_pack *packs_add(struct store_packs *packs, uint32_t id)
{
	size_t i = packs_position(packs, id);

	if (i < packs->count && packs->list[i].id == id)
		return &packs->list[i];
	mem_grow(&packs->list, &packs->cap, packs->count);
	memmove(&packs->list[i + 1], &packs->list[i], (packs->count - i) * sizeof(*packs->list));
	packs->count++;
	packs->list[i] = (struct store_pack){ .id = id };
	return &packs->list[i];
}

void store_packs_release(struct store_packs *packs)
{
	free(packs->list);
	*packs = (struct store_packs){ 0 };
}

static int load_listed(struct store *store, struct store_packs *packs, struct err *err)
{
	owned(db_donep) struct db_query *query =
		db_query(store->db, err, "SELECT id, size FROM pack ORDER BY id", "");
	int r;

	while ((r = db_step(query, err)) > 0) {
		struct store_pack *pack = packs_add(packs, (uint32_t)db_int(query, 0));

		pack->listed = true;
		pack->size = (uint64_t)db_int(query, 1);
	}
	return r;
}

static int load_files(struct store *store, struct store_packs *packs, struct err *err)
{
	int fd = at_open(store->packsfd, ".", O_RDONLY | O_DIRECTORY, err);
	const struct dirent *entry;

	if (fd < 0)
		return fd;
	owned(at_list_closep) DIR *list = at_list_take(fd);
	while (list && (entry = at_list_next(list))) {
		char name[PACK_NAME_MAX];
		uint32_t id = (uint32_t)strtoul(entry->d_name, NULL, 16);

		if (id && !strcmp(entry->d_name, pack_name(id, name)))
			packs_add(packs, id)->file = true;
	}
	return errno ? err_errno(err, "read the packs directory") : 0;
}

static int load_rows(struct store *store, struct store_packs *packs, struct err *err)
{
	owned(db_donep) struct db_query *query =
		db_query(store->db, err, "SELECT pack FROM every_object", "");
	struct store_pack *pack = NULL;
	int r;

	while ((r = db_step(query, err)) > 0) {
		int64_t value = db_int(query, 0);
		/*
		 * Count rows with an impossible pack number as rows of pack 0, which does not
		 * exist.
		 */
		uint32_t id = value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;

		if (!pack || pack->id != id)
			pack = packs_add(packs, id);
		pack->rows++;
	}
	return r;
}

int store_packs_load(struct store *store, struct store_packs *packs, struct err *err)
{
	bool own = !db_in_transaction(store->db);
	/*
	 * Read all tables in one transaction, so that sizes and rows match although other processes
	 * may write meanwhile.
	 */
	int r = own ? db_exec(store->db, "BEGIN", err) : 0;

	if (r >= 0)
		r = load_listed(store, packs, err);
	if (r >= 0)
		r = load_files(store, packs, err);
	if (r >= 0)
		r = load_rows(store, packs, err);
	if (own)
		db_rollback(store->db);
	return r;
}
