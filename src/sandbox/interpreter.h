/*
 * interpreter - the second file that the kernel opens to execute a program: the interpreter that a
 * script's first line names, or the loader that an ELF program asks for.
 */
#pragma once
#include <stdbool.h>

/*
 * Copy the path of the interpreter of fd, as the program names it, to out (PATH_MAX bytes).
 * Returns false if it names none.  The content of the program is not trusted.
 */
bool interpreter_of(int fd, char *out);
