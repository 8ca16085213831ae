#include "rpc/agentfile.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

#define PIECE 65536

static char *find_beside_us(struct err *err)
{
	char path[PATH_MAX];
	ssize_t len = at_abs_readlink("/proc/self/exe", path, sizeof(path));
	char *slash = len > 0 ? strrchr(path, '/') : NULL;

	if (!slash) {
		err_set(err, ERR_NOT_FOUND, "the directory of this program cannot be found");
		return NULL;
	}
	*slash = '\0';
	return mem_printf("%s/strata-agent", path);
}

char *agentfile_find(const char *given, struct err *err)
{
	const char *set = getenv("STRATA_AGENT");

	if (given)
		return mem_strdup(given);
	return set && *set ? mem_strdup(set) : find_beside_us(err);
}

static int hash_content(struct agentfile *file, struct err *err)
{
	owned_mem char *piece = mem_alloc(PIECE);
	struct hash_stream *stream = hash_stream_new();
	struct hash hash;
	uint64_t at = 0;
	ssize_t n;

	while ((n = at_pread_full(file->fd, piece, PIECE, at)) > 0) {
		hash_stream_add(stream, piece, (size_t)n);
		at += (uint64_t)n;
	}
	hash_stream_finish(stream, &hash);
	if (n < 0)
		return err_number(err, (int)-n, "read '%s'", file->path);
	if (at != file->size)
		return err_set(err, ERR_CORRUPT, "'%s' changes while it is read", file->path);
	hash_hex(&hash, file->hash);
	return 0;
}

static unsigned read_machine(int fd)
{
	Elf64_Ehdr head; /* e_machine is at the same offset in files for 32 bits */

	if (at_pread_full(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG))
		return 0;
	return head.e_machine;
}

int agentfile_open(const char *given, struct agentfile *file, struct err *err)
{
	struct stat st;
	int r;

	*file = (struct agentfile){ .fd = -1, .path = agentfile_find(given, err) };
	if (!file->path)
		return -(int)err->code;
	file->fd = at_open_given(file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, err);
	if (file->fd < 0) {
		err_context(err, "the agent for other hosts");
		r = err_hint(err, "build or install strata-agent beside strata, or set "
				  "$STRATA_AGENT or 'agent_path'");
	} else if (fstat(file->fd, &st) < 0) {
		r = err_errno(err, "look at '%s'", file->path);
	} else if (!S_ISREG(st.st_mode) || !st.st_size) {
		r = err_set(err, ERR_INVALID, "'%s' is no program", file->path);
	} else if ((uint64_t)st.st_size > AGENTFILE_SIZE_MAX) {
		r = err_set(err, ERR_LIMIT, "'%s' is too large to be sent", file->path);
	} else {
		file->size = (uint64_t)st.st_size;
		file->machine = read_machine(file->fd);
		r = hash_content(file, err);
	}
	if (r < 0)
		agentfile_close(file);
	return r;
}

void agentfile_close(struct agentfile *file)
{
	if (file->path)
		close_fd(&file->fd);
	free(file->path);
	*file = (struct agentfile){ .fd = -1 };
}

/* --- whether a host can execute the program --- */

static const struct machine {
	unsigned elf;
	const char *names[3]; /* names that "uname -m" prints */
} machines[] = {
	{ EM_X86_64, { "x86_64", "amd64" } },
	{ EM_AARCH64, { "aarch64", "arm64" } },
	{ EM_RISCV, { "riscv64" } },
	{ EM_PPC64, { "ppc64le", "ppc64" } },
	{ EM_S390, { "s390x" } },
};

#define N_MACHINES (sizeof(machines) / sizeof(machines[0]))

static bool machine_has_name(const struct machine *machine, struct str name)
{
	for (size_t i = 0; i < 3 && machine->names[i]; i++)
		if (str_eq(name, str_of(machine->names[i])))
			return true;
	return false;
}

int agentfile_fits(
	const struct agentfile *file, struct str kernel, struct str machine, struct err *err)
{
	if (!str_eq(kernel, STR("Linux")))
		return err_set(err, ERR_UNSUPPORTED,
			"it runs %.*s, and strata-agent runs on Linux alone",
			(int)(kernel.len < 40 ? kernel.len : 40), kernel.ptr);
	for (size_t i = 0; i < N_MACHINES; i++) {
		if (machines[i].elf != file->machine || machine_has_name(&machines[i], machine))
			continue;
		err_set(err, ERR_UNSUPPORTED, "its architecture is %.*s, and '%.150s' is for %s",
			(int)(machine.len < 40 ? machine.len : 40), machine.ptr, file->path,
			machines[i].names[0]);
		return err_hint(err,
			"set 'agent_path' to a strata-agent built for %.*s, or install one there "
			"and set agent_mode = \"preinstalled\"",
			(int)(machine.len < 40 ? machine.len : 40), machine.ptr);
	}
	return 0;
}
