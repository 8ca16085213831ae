/*
 * launcher - the program that executes a command in a sandbox.  It is the last code of strata that
 * runs before the command.
 *
 * The launcher is a program of its own because of files whose interpreter line is
 * "#!/proc/self/exe".  A process that executes such a file executes its own program again.  If that
 * program were the host's strata, programs inside could write to it, or make it setuid, through
 * /proc/PID/exe.  So strata executes the launcher from a sealed memory file (sandbox/launcher.c),
 * and the launcher executes the command.  /proc/self/exe then leads to the memory file, to which
 * nobody can write.
 *
 * The launcher uses no C library.  So it costs only a few pages of memory and needs no set-up.
 *
 *	argv   "launcher", SIZE, PATH..., "", the argv of the command
 *	env    the environment of the command
 *	fd 3   a socket, which is closed when the command is executed
 *
 * Each PATH is tried in turn.  If all fail, the launcher sends one message of SIZE bytes through
 * the socket: an int with -errno of the first failure, then zeros.  The exit status is then 127 or
 * 126, as in a shell.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "sandbox/launcher.h"

void launcher_main(long *stack); /* called by the assembly code below */

#define SHELL "/bin/sh"
#define NO_SIGNAL 0x4000 /* the value of MSG_NOSIGNAL */

static int message[LAUNCHER_MESSAGE_MAX / sizeof(int)];

#if defined(__x86_64__)
__asm__(".globl launcher_main_start\n"
	"launcher_main_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call launcher_main\n");

static long system_call(long nr, long a, long b, long c, long d)
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

static long system_call(long nr, long a, long b, long c, long d)
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

/*
 * Execute the file 'path'.  If the kernel does not know the format of the file, /bin/sh executes it
 * as a script, as every shell does.  Returns -errno on failure.
 */
static int execute(char *path, char **argv, char **env)
{
	int error = (int)system_call(__NR_execve, (long)path, (long)argv, (long)env, 0);
	char *name = argv[0];

	if (error != -ENOEXEC)
		return error;
	/*
	 * The new argv is the shell, the script and the script's arguments.  The shell takes the
	 * place of the "" before argv[0].
	 */
	argv[-1] = SHELL;
	argv[0] = path;
	(void)system_call(__NR_execve, (long)SHELL, (long)(argv - 1), (long)env, 0);
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

static __attribute__((noreturn)) void exit_with(int status)
{
	for (;;)
		(void)system_call(__NR_exit_group, status, 0, 0, 0);
}

__attribute__((noreturn, used)) void launcher_main(long *stack)
{
	char **argv = (char **)(stack + 1);
	char **env = argv + stack[0] + 1;
	char **path = argv + 2;
	char **command = path;

	/* Check the arguments, because programs inside can execute the launcher, too. */
	while (stack[0] > 2 && *command && **command)
		command++;
	if (stack[0] <= 2 || !*command || !command[1])
		exit_with(126);
	command++;
	(void)system_call(__NR_fcntl, LAUNCHER_FD, F_SETFD, FD_CLOEXEC, 0);
	for (; **path; path++) {
		int error = execute(*path, command, env);

		if (!message[0])
			message[0] = error;
	}
	(void)system_call(__NR_sendto, LAUNCHER_FD, (long)message, number_of(argv[1]), NO_SIGNAL);
	exit_with(message[0] == -ENOENT ? 127 : 126);
}
