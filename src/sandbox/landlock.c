#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/uapi.h"

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define MAKE                                                                                       \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |                              \
		LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                       \
		LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                     \
		LANDLOCK_ACCESS_FS_MAKE_SYM)
#define WRITE                                                                                      \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | MAKE)
/* The rights that a rule may give for a file that is not a directory. */
#define OF_FILES                                                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |                              \
		LANDLOCK_ACCESS_FS_READ_FILE | UAPI_LANDLOCK_TRUNCATE | UAPI_LANDLOCK_IOCTL_DEV)

/*
 * The rights of each class, and the first version of the interface that has all these rights.
 * 'lack' describes what an older kernel cannot restrict.
 */
static const struct class
{
	unsigned access;
	int abi;
	uint64_t rights;
	const char *lack;
} classes[] = {
	{ LANDLOCK_READ, 1, READ, NULL },
	{ LANDLOCK_WRITE, 1, WRITE, NULL },
	{ LANDLOCK_EXECUTE, 1, LANDLOCK_ACCESS_FS_EXECUTE, NULL },
	{ LANDLOCK_REFER, UAPI_LANDLOCK_ABI_REFER, LANDLOCK_ACCESS_FS_REFER,
		"files cannot be moved or linked between directories (that takes Linux 5.19)" },
	{ LANDLOCK_WRITE, UAPI_LANDLOCK_ABI_TRUNCATE, UAPI_LANDLOCK_TRUNCATE,
		"files that are only readable can be truncated (Landlock of Linux 6.2)" },
	{ LANDLOCK_DEVICES, UAPI_LANDLOCK_ABI_IOCTL, UAPI_LANDLOCK_IOCTL_DEV,
		"ioctl calls of devices are not restricted (Landlock of Linux 6.10)" },
};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, UAPI_LANDLOCK_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t rights_of(unsigned access, int abi)
{
	uint64_t rights = 0;

	for (size_t i = 0; i < CLASSES; i++)
		if (access & classes[i].access && abi >= classes[i].abi)
			rights |= classes[i].rights;
	return rights;
}

/* -------------------------------------------------------- missing features */

static bool limits_ports(const struct landlock_rules *rules)
{
	return rules->bind.limited || rules->connect.limited;
}

void landlock_lacks(const struct landlock_rules *rules, struct buf *out)
{
	const int abi = landlock_abi();

	if (!abi) {
		if (rules->files || limits_ports(rules) || rules->scopes)
			buf_adds(out, "the kernel has no Landlock\n");
		return;
	}
	for (size_t i = 0; rules->files && i < CLASSES; i++)
		if (abi < classes[i].abi)
			buf_addf(out, "%s\n", classes[i].lack);
	if (limits_ports(rules) && abi < UAPI_LANDLOCK_ABI_NET)
		buf_adds(out, "TCP ports are not restricted (Landlock of Linux 6.7)\n");
	if (rules->scopes & LANDLOCK_SCOPE_ABSTRACT && abi < UAPI_LANDLOCK_ABI_SCOPES)
		buf_adds(out, "abstract sockets are not restricted (Landlock of Linux 6.12)\n");
	if (rules->scopes & LANDLOCK_SCOPE_SIGNALS && abi < UAPI_LANDLOCK_ABI_SCOPES)
		buf_adds(out, "signals are not restricted (Landlock of Linux 6.12)\n");
}

/* ------------------------------------------------------------------ making */

static int add_file(int ruleset, const struct landlock_rule *rule, int abi, struct err *err)
{
	owned_fd int opened = -1;
	struct landlock_path_beneath_attr attr = {
		.allowed_access = rights_of(rule->access, abi),
		.parent_fd = rule->fd,
	};
	struct stat st;

	if (rule->path) {
		struct err why = { 0 };

		attr.parent_fd = opened = at_open_given(rule->path, O_PATH, 0, &why);
		/* A path that cannot be opened gets no rule. */
		if (opened < 0)
			return 0;
	}
	if (fstat(attr.parent_fd, &st) < 0)
		return err_errno(err, "look at a file of the rules");
	if (!S_ISDIR(st.st_mode))
		attr.allowed_access &= OF_FILES;
	if (attr.allowed_access &&
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
		return err_errno(
			err, "add a rule for '%s'", rule->path ? rule->path : "a descriptor");
	return 0;
}

static int add_ports(
	int ruleset, const struct landlock_ports *ports, uint64_t access, struct err *err)
{
	for (size_t i = 0; ports->limited && i < ports->n; i++) {
		const struct uapi_landlock_port attr = { access, ports->list[i] };

		if (syscall(SYS_landlock_add_rule, ruleset, UAPI_LANDLOCK_RULE_NET_PORT, &attr, 0) <
			0)
			return err_errno(err, "add a rule for port %u", ports->list[i]);
	}
	return 0;
}

static int add_rules(int ruleset, const struct landlock_rules *rules, int abi, struct err *err)
{
	for (size_t i = 0; rules->files && i < rules->n; i++)
		if (add_file(ruleset, &rules->rules[i], abi, err) < 0)
			return -(int)err->code;
	if (abi < UAPI_LANDLOCK_ABI_NET)
		return 0;
	int r = add_ports(ruleset, &rules->bind, UAPI_LANDLOCK_BIND_TCP, err);
	return r < 0 ? r : add_ports(ruleset, &rules->connect, UAPI_LANDLOCK_CONNECT_TCP, err);
}

static struct uapi_landlock_ruleset restricted(const struct landlock_rules *rules, int abi)
{
	struct uapi_landlock_ruleset all = { 0 };

	if (rules->files)
		all.files = rights_of(LANDLOCK_ALL, abi);
	if (rules->bind.limited && abi >= UAPI_LANDLOCK_ABI_NET)
		all.net |= UAPI_LANDLOCK_BIND_TCP;
	if (rules->connect.limited && abi >= UAPI_LANDLOCK_ABI_NET)
		all.net |= UAPI_LANDLOCK_CONNECT_TCP;
	if (rules->scopes & LANDLOCK_SCOPE_ABSTRACT && abi >= UAPI_LANDLOCK_ABI_SCOPES)
		all.scoped |= UAPI_LANDLOCK_ABSTRACT_UNIX_SOCKET;
	if (rules->scopes & LANDLOCK_SCOPE_SIGNALS && abi >= UAPI_LANDLOCK_ABI_SCOPES)
		all.scoped |= UAPI_LANDLOCK_SIGNAL;
	return all;
}

int landlock_make(const struct landlock_rules *rules, int *ruleset, struct err *err)
{
	const int abi = landlock_abi();
	const struct uapi_landlock_ruleset all = restricted(rules, abi);

	*ruleset = -1;
	if (!all.files && !all.net && !all.scoped)
		return 0;
	/*
	 * Older kernels accept the longer struct, too, if the members that they do not know are
	 * zero.
	 */
	owned_fd int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (fd < 0)
		return err_errno(err, "make a Landlock domain");
	if (add_rules(fd, rules, abi, err) < 0)
		return err_context(err, "make a Landlock domain");
	*ruleset = take_fd(&fd);
	return 0;
}

int landlock_enter(int ruleset, struct err *err)
{
	/*
	 * Keep refusals out of the kernel's log, since they do not concern the machine's
	 * administrator.
	 */
	const unsigned flags =
		landlock_abi() >= UAPI_LANDLOCK_ABI_LOG ? UAPI_LANDLOCK_LOG_SAME_EXEC_OFF : 0;

	if (ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, flags) < 0)
		return err_errno(err, "enter a Landlock domain");
	return 0;
}
