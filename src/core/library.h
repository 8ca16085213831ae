/*
 * library - a shared library that is loaded at first use, so that only commands that
 * need it pay for it.  A program linked statically cannot load one: leave it out there.
 *
 * The library is described by a static object, and stays loaded:
 *
 *	static struct {
 *		__typeof__(&some_function) some_function;
 *	} lib;
 *	static const struct library_function functions[] = {
 *		{ "some_function", &lib.some_function } };
 *	static struct library some = { .file = "libsome.so.1", .package = "libsome1",
 *		.functions = functions, .n_functions = 1 };
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct library_function {
	const char *name;
	void *place; /* the pointer to set */
};

struct library {
	const char *file;    /* its soname */
	const char *package; /* the package that contains it */
	const struct library_function *functions;
	size_t n_functions;
	bool (*start)(void); /* called once all functions are set; may be NULL */
	/* Private. */
	bool tried, loaded;
	char why_not[256];
};

/*
 * Load the library, in any thread.  Tried once.  ERR_UNSUPPORTED, with a hint that names the
 * package, when the file or a function is missing or start returned false.
 */
int library_need(struct library *library, struct err *err);
