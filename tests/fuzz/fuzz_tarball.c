/*
 * Any input is a damaged archive or gives a tree.  An archive of this tree must give the same tree.
 * The store is made anew now and then, so that it stays small.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/tarball.h"

#define RUNS_PER_STORE 2000

static char dir[64];
static int rootfd = -1;
static struct db *db;
static struct store *store;

static void close_store(void)
{
	struct err err;

	store_close(store);
	db_close(db);
	close_fd(&rootfd);
	store = NULL;
	db = NULL;
	int tmp = open(strncmp(dir, "/dev/shm", 8) ? "/tmp" : "/dev/shm", O_RDONLY | O_DIRECTORY);
	if (tmp < 0 || at_remove_tree(tmp, strrchr(dir, '/') + 1, &err) < 0)
		abort();
	close(tmp);
}

static void open_store(void)
{
	struct err err = { 0 };
	char path[100];

	strcpy(dir, "/dev/shm/strata-fuzz-XXXXXX");
	if (!mkdtemp(dir)) {
		strcpy(dir, "/tmp/strata-fuzz-XXXXXX");
		if (!mkdtemp(dir))
			abort();
	}
	rootfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/strata.db", dir);
	db = db_open(path, DB_CREATE, &err);
	if (rootfd < 0 || mkdirat(rootfd, "packs", 0700) < 0 || !db ||
		db_exec(db, store_schema, &err) < 0)
		abort();
	store = store_open(rootfd, db, 0, &err);
	if (!store)
		abort();
}

static void next_run(void)
{
	static unsigned runs;

	if (runs++ % RUNS_PER_STORE)
		return;
	if (store)
		close_store();
	else
		atexit(close_store);
	open_store();
}

/*
 * Correct the checksums of header blocks, since hardly any changed input would otherwise be
 * accepted.
 */
static void mend_headers(uint8_t *bytes, size_t size)
{
	for (; size >= 512; bytes += 512, size -= 512) {
		unsigned sum = 0;
		char text[8];

		if (memcmp(bytes + 257, "ustar", 5))
			continue;
		memset(bytes + 148, ' ', 8);
		for (size_t i = 0; i < 512; i++)
			sum += bytes[i];
		snprintf(text, sizeof(text), "%06o", sum);
		memcpy(bytes + 148, text, 7);
	}
}

static int file_of(const uint8_t *data, size_t size)
{
	owned_mem uint8_t *copy = mem_alloc(size + 1);
	int fd = memfd_create("in", MFD_CLOEXEC);

	if (size)
		memcpy(copy, data, size);
	mend_headers(copy, size);
	if (fd < 0 || at_pwrite_all(fd, copy, size, 0) < 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(report_release) struct report report = REPORT_INIT;
	owned_fd int in = file_of(data, size);
	owned_fd int out = memfd_create("out", MFD_CLOEXEC);
	struct hash tree, again;
	struct err err = { 0 };

	next_run();
	if (out < 0)
		abort();
	if (tarball_read(store, in, &tree, &report, &err) < 0)
		return 0;
	report_release(&report);
	if (tarball_write(store, &tree, out, &report, NULL, &err) < 0 ||
		lseek(out, 0, SEEK_SET) < 0 ||
		tarball_read(store, out, &again, &report, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	if (!report.n_items && !hash_eq(&tree, &again))
		abort();
	return 0;
}
