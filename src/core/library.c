#include "core/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef LIBRARY_NONE

int library_need(struct library *library, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, "this build has no %s support", library->purpose);
}

#else

/*
 * All libraries share one lock.  The lock is held for long only while a library is being loaded,
 * and each library is loaded only once.
 */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static bool note_failure(struct library *library, const char *why, const char *name)
{
	snprintf(library->why_not, sizeof(library->why_not), "%s%s", why, name);
	return false;
}

static bool load_library(struct library *library)
{
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return note_failure(library, dlerror(), "");
	for (size_t i = 0; i < library->n_functions; i++) {
		const struct library_function *function = &library->functions[i];
		void *symbol = dlsym(handle, function->name);

		if (!symbol)
			return note_failure(library, "it has no ", function->name);
		memcpy(function->place, &symbol, sizeof(symbol));
	}
	if (library->start && !library->start())
		return note_failure(library, "it does not start", "");
	return true;
}

int library_need(struct library *library, struct err *err)
{
	pthread_mutex_lock(&loading);
	if (!library->tried)
		library->loaded = load_library(library);
	library->tried = true;
	pthread_mutex_unlock(&loading);
	if (library->loaded)
		return 0;
	(void)err_set(err, ERR_UNSUPPORTED, "cannot load %s: %s", library->file, library->why_not);
	return err_hint(err, "install the package %s", library->package);
}

#endif /* !LIBRARY_NONE */
