/*
 * library - loads a shared library at its first use, so that only commands that use it pay for it.
 *
 * A statically linked program cannot load a library, so it is built with LIBRARY_NONE: library_need
 * then always fails.  A loaded library stays loaded.  The caller describes the library in a static
 * variable:
 *
 *	#define FUNCTIONS(X) X(some_function) X(other_function)
 *	static struct {
 *		FUNCTIONS(LIBRARY_POINTER)
 *	} lib;
 *	static const struct library_function functions[] = { FUNCTIONS(LIBRARY_FUNCTION) };
 *	static struct library some = { .purpose = "some", .file = "libsome.so.1",
 *		.package = "libsome1", .functions = functions, .n_functions = 2 };
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct library_function {
	const char *name;
	void *place; /* address of the pointer that gets the function */
};

#define LIBRARY_POINTER(name) __typeof__(&name) name;
#define LIBRARY_FUNCTION(name) { #name, &lib.name },

struct library {
	const char *purpose; /* for messages, as in "no git support" */
	const char *file;    /* soname of the library */
	const char *package; /* package that contains the library */
	const struct library_function *functions;
	size_t n_functions;
	/* called when all functions are set; returns false on failure; may be NULL */
	bool (*start)(void);
	/* Private. */
	bool tried, loaded;
	char why_not[256];
};

/*
 * The first call loads the library.  Later calls return the result of the first one.  May be called
 * by any thread.  Returns ERR_UNSUPPORTED, with a hint that names the package, when the file or a
 * function is missing or when start returned false.
 */
int library_need(struct library *library, struct err *err);
