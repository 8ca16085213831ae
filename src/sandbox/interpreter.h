/*
 * interpreter - the second file that the kernel opens to execute a program: the interpreter that a
 * script's first line names, or the loader that an ELF program asks for.
 */
#pragma once
#include <stdbool.h>

/*
 * Copy its path, as the program has it, to out (PATH_MAX bytes).  False: there is none.  The
 * content of the program is not trusted.
 */
bool interpreter_of(int fd, char *out);
