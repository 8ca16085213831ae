#include "sandbox/interpreter.h"

#include <elf.h>
#include <limits.h>
#include <string.h>

#include "core/at.h"
#include "core/str.h"

#define FIRST_LINE 256 /* the kernel reads so many bytes of a script to find its interpreter */

static bool script_interpreter(const char *head, size_t len, char *out)
{
	const char *end = memchr(head, '\n', len) ?: head + len;
	const char *start = head + 2;

	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	const char *stop = start;
	while (stop < end && *stop != ' ' && *stop != '\t' && *stop)
		stop++;
	memcpy(out, start, (size_t)(stop - start));
	out[stop - start] = '\0';
	return stop > start;
}

static bool elf_interpreter(int fd, const Elf64_Ehdr *header, char *out)
{
	Elf64_Phdr part;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(part))
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (at_pread_full(fd, &part, sizeof(part), header->e_phoff + i * sizeof(part)) !=
			(ssize_t)sizeof(part))
			return false;
		if (part.p_type != PT_INTERP)
			continue;
		if (!part.p_filesz || part.p_filesz >= PATH_MAX ||
			at_pread_full(fd, out, part.p_filesz, part.p_offset) !=
				(ssize_t)part.p_filesz)
			return false;
		out[part.p_filesz] = '\0';
		return *out;
	}
	return false;
}

bool interpreter_of(int fd, char *out)
{
	_Alignas(Elf64_Ehdr) char head[FIRST_LINE];
	ssize_t len = at_pread_full(fd, head, sizeof(head), 0);

	if (len > 2 && head[0] == '#' && head[1] == '!')
		return script_interpreter(head, (size_t)len, out);
	if (len >= (ssize_t)sizeof(Elf64_Ehdr) && !memcmp(head, ELFMAG, SELFMAG))
		return elf_interpreter(fd, (const Elf64_Ehdr *)head, out);
	return false;
}
