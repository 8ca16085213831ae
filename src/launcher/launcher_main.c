/*
 * launcher - the last program of ours on a command's way into a sandbox.
 *
 * A process that executes a file whose interpreter line is "#!/proc/self/exe" executes itself
 * again, and what runs then is open to everybody inside: through its /proc/PID/exe the host's
 * strata could be written to, or made setuid.  So strata does not execute the command.  It
 * executes this program from a sealed file in memory (sandbox/program.c), and this program
 * executes the command: nobody can write to what its /proc/self/exe leads to.
 *
 * It has no C library, so that it costs little: a few pages, and no set-up.
 *
 *	argv   "launcher", SIZE, PATH..., "", the command's argv
 *	env    the command's
 *	fd 3   a socket, closed when the command runs
 *
 * Each PATH is tried in turn.  When all fail, one message of SIZE bytes goes to the socket: an
 * int with -errno of the first failure, then zeros; the exit status is a shell's, 127 or 126.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "sandbox/launcher.h"

void launcher_main(long *stack); /* called by the assembly below */

#define SHELL "/bin/sh"
#define NO_SIGNAL 0x4000 /* MSG_NOSIGNAL */

static int message[LAUNCHER_MESSAGE_MAX / sizeof(int)];

#if defined(__x86_64__)
__asm__(".globl launcher_main_start\n"
	"launcher_main_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call launcher_main\n");

static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__) || defined(__cppcheck__)
__asm__(".globl launcher_main_start\n"
	"launcher_main_start:\n"
	"	mov x29, #0\n"
	"	mov x0, sp\n"
	"	b launcher_main\n");

static long call(long nr, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = 0;
	register long x5 __asm__("x5") = 0;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "system calls of this machine are not known here"
#endif

/* A file without a format the kernel knows is a script, as every shell has it. */
static int execute(char *path, char **argv, char **env)
{
	int error = (int)call(__NR_execve, (long)path, (long)argv, (long)env, 0);
	char *name = argv[0];

	if (error != -ENOEXEC)
		return error;
	/* The shell, the script, its arguments: there is room for one more in front. */
	argv[-1] = SHELL;
	argv[0] = path;
	(void)call(__NR_execve, (long)SHELL, (long)(argv - 1), (long)env, 0);
	argv[0] = name;
	return -ENOEXEC;
}

static long number_of(const char *text)
{
	long number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (*text - '0');
	return number;
}

static __attribute__((noreturn)) void leave(int status)
{
	for (;;)
		(void)call(__NR_exit_group, status, 0, 0, 0);
}

__attribute__((noreturn, used)) void launcher_main(long *stack)
{
	char **argv = (char **)(stack + 1);
	char **env = argv + stack[0] + 1;
	char **path = argv + 2;
	char **command = path;

	/* Somebody inside may start us with anything, and be disappointed. */
	while (stack[0] > 2 && *command && **command)
		command++;
	if (stack[0] <= 2 || !*command || !command[1])
		leave(126);
	command++;
	(void)call(__NR_fcntl, LAUNCHER_FD, F_SETFD, FD_CLOEXEC, 0);
	for (; **path; path++) {
		int error = execute(*path, command, env);

		if (!message[0])
			message[0] = error;
	}
	(void)call(__NR_sendto, LAUNCHER_FD, (long)message, number_of(argv[1]), NO_SIGNAL);
	leave(message[0] == -ENOENT ? 127 : 126);
}
