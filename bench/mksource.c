/*
 * mksource - make a tree that looks like the source of a kernel.  It has C files of about 13 KiB in
 * directories three levels deep.  .gitignore ignores some of them, and a few are binary.
 *
 *	mksource DIR FILES
 *
 * The same arguments give the same tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_PER_DIR 14
#define LINES 420

static uint64_t state = 1;

static unsigned chance(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static void fail(const char *what)
{
	fprintf(stderr, "mksource: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *word(void)
{
	static const char *const words[] = { "dev", "irq", "buf", "page", "queue", "lock", "state",
		"flags", "driver", "init", "exit", "probe", "reg", "read", "write", "clk", "dma",
		"skb", "inode", "sock", "node", "list", "entry", "ctx", "priv", "ops", "err" };

	return words[chance(sizeof(words) / sizeof(words[0]))];
}

static void line(FILE *out)
{
	switch (chance(12)) {
	case 0:
		fprintf(out, "static int %s_%s_%s(struct %s *%s, unsigned long %s)\n", word(),
			word(), word(), word(), word(), word());
		break;
	case 1:
		fputs("{\n", out);
		break;
	case 2:
		fputs("}\n\n", out);
		break;
	case 3:
		fprintf(out, "#define %s_%s_%u\t0x%08x\n", word(), word(), chance(100),
			chance(1u << 30));
		break;
	case 4:
		fprintf(out, "\t/* The %s of the %s must be %s before %s. */\n", word(), word(),
			word(), word());
		break;
	case 5:
		fprintf(out, "EXPORT_SYMBOL_GPL(%s_%s);\n", word(), word());
		break;
	case 6:
		fprintf(out, "\tif (unlikely(!%s->%s))\n\t\treturn -E%s;\n", word(), word(),
			chance(3) ? "INVAL" : "NOMEM");
		break;
	default:
		fprintf(out, "\t%s->%s = %s_%s(%s, %u);\n", word(), word(), word(), word(), word(),
			chance(4096));
	}
}

static void make_directory(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		fail(path);
}

static void make_file(const char *path, unsigned number)
{
	FILE *out = fopen(path, "w");

	if (!out)
		fail(path);
	if (number % 50 == 49)
		fwrite("\177ELF\0\0\0", 1, 8, out);
	for (unsigned i = LINES / 2 + chance(LINES); i; i--)
		line(out);
	if (fclose(out))
		fail(path);
}

int main(int argc, char **argv)
{
	char path[512];
	unsigned files = argc == 3 ? (unsigned)atoi(argv[2]) : 0;

	if (!files) {
		fprintf(stderr, "usage: mksource DIR FILES\n");
		return 2;
	}
	make_directory(argv[1]);
	if (chdir(argv[1]) < 0)
		fail(argv[1]);
	make_directory(".git");
	FILE *rules = fopen(".gitignore", "w");
	if (!rules)
		fail(".gitignore");
	fputs("*.o\n*.ko\n*.mod\n.*\n!.gitignore\n/vmlinux\n*.cmd\nmodules.order\n/out/\n"
	      "*.tmp\n*.orig\n*~\nGTAGS\ntags\n/debian/\n*.patch\n",
		rules);
	if (fclose(rules))
		fail(".gitignore");
	for (unsigned i = 0; i < files; i++) {
		unsigned dir = i / FILES_PER_DIR;

		snprintf(path, sizeof(path), "part%u", dir % 20);
		make_directory(path);
		snprintf(path, sizeof(path), "part%u/group%u", dir % 20, dir / 20 % 20);
		make_directory(path);
		snprintf(path, sizeof(path), "part%u/group%u/dir%u", dir % 20, dir / 20 % 20, dir);
		make_directory(path);
		snprintf(path, sizeof(path), "part%u/group%u/dir%u/%s%u.%s", dir % 20,
			dir / 20 % 20, dir, word(), i,
			i % 10 == 9  ? "o"
			: i % 4 == 3 ? "h"
				     : "c");
		make_file(path, i);
	}
	return 0;
}
