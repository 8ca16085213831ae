/*
 * doctor - find out which features this machine offers, by trying them.
 *
 * A check leaves nothing behind.  Attempts that change the process (namespaces, filters) are made
 * in a child.  File systems are mounted with fsmount and never attached to a path.  So no mount
 * appears in any namespace, and no mount has to be undone.  Files made in a directory have random
 * names.  Signals that would end this process are blocked until the files are removed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "ops/doctor_priv.h"
#include "ops/requests.h"
#include "trace/bundle/git.h"
#include "tree/tar.h"

/* --- programs and libraries --- */

static void try_git(struct doctor *doctor, struct probe *probe)
{
	probe_program((const char *[]){ "git", "--version", NULL }, probe);
}

static void try_ssh(struct doctor *doctor, struct probe *probe)
{
	probe_program((const char *[]){ "ssh", "-V", NULL }, probe);
}

static void library_version(const char *(*version)(struct err *err), struct probe *probe)
{
	struct err err = { 0 };
	const char *text = version(&err);

	if (text)
		probe_ok(probe, "%s", text);
	else
		probe_lacks(probe, "%s", err.text);
}

static void try_libgit2(struct doctor *doctor, struct probe *probe)
{
	library_version(git_library, probe);
}

static void try_libarchive(struct doctor *doctor, struct probe *probe)
{
	library_version(tar_reader_library, probe);
}

/* --- the list of checks --- */

static const struct check {
	const char *name;
	enum { HERE, IN_CHILD } where;
	probe_attempt *attempt;
	const char *remedy;
} checks[] = {
	{ "userns", IN_CHILD, doctor_kernel_userns,
		"only root can isolate programs; set the sysctls "
		"kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000 "
		"and kernel.apparmor_restrict_unprivileged_userns=0, and leave any chroot" },
	{ "overlay", HERE, doctor_kernel_overlay,
		"workspaces are whole copies; put the environment on a local ext4, xfs or btrfs, "
		"and see userns" },
	{ "id_mapped_mounts", HERE, doctor_kernel_mapped,
		"programs that root runs in an environment can mount nothing and make no sandboxes "
		"of their own (bubblewrap, unshare); put the environment on a local ext4, xfs or "
		"btrfs, with Linux >= 5.19" },
	{ "landlock", HERE, doctor_kernel_landlock,
		"sandboxes have one layer of protection less; boot a kernel >= 5.13 with landlock "
		"in its lsm= list" },
	{ "socket_scopes", IN_CHILD, doctor_kernel_scopes,
		"with the machine's network programs reach its abstract sockets; boot a kernel >= "
		"6.12 with landlock in its lsm= list, or use --net none" },
	{ "seccomp_notify", IN_CHILD, doctor_kernel_seccomp,
		"system calls cannot be watched cheaply; needs Linux >= 5.5 and no outer "
		"listener" },
	{ "trace_bpf", HERE, doctor_kernel_bpf,
		"a traced program stops at each call that names a file, also at those that change "
		"nothing; run strata as root or with CAP_BPF and CAP_PERFMON, outside of pid "
		"namespaces, on Linux >= 5.10" },
	{ "cgroup_freezer", HERE, doctor_cgroup_freezer,
		"running programs cannot be frozen, only killed; run as root, or in a delegated "
		"cgroup (systemd-run --user --scope -p Delegate=yes)" },
	{ "subordinate_ids", HERE, doctor_ids_subordinate,
		"only one user id exists in an environment; install uidmap and run "
		"'usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER'" },
	{ "btrfs", HERE, doctor_files_btrfs,
		"no btrfs snapshots as workspaces; put the environment on a btrfs file system" },
	{ "reflink", HERE, doctor_files_reflink,
		"files are copied, not cloned; put the environment on btrfs, xfs or zfs" },
	{ "zfs", HERE, doctor_files_zfs,
		"zfs snapshots cannot be queried; install zfsutils-linux, load the module" },
	{ "git", HERE, try_git, "nothing of strata's own, which reads repositories with libgit2" },
	{ "ssh", HERE, try_ssh, "other machines cannot be queried; install openssh-client" },
	{ "libgit2", HERE, try_libgit2,
		"traces do not say which files git tracks; install libgit2" },
	{ "libarchive", HERE, try_libarchive,
		"no import and no init from tar archives; install libarchive13" },
	{ "inotify", HERE, doctor_kernel_inotify,
		"changes are found by scanning; raise the sysctl fs.inotify.max_user_watches" },
	{ "openat2", HERE, doctor_kernel_openat2,
		"paths are opened step by step, slower; needs Linux >= 5.6 that no filter hides" },
};

/*
 * Open the directory of the environment.  If it does not exist, open the nearest directory above
 * it.
 */
static void find_place(struct doctor *doctor, const char *root)
{
	owned_mem char *path = mem_strdup(root && *root ? root : ".");
	owned(buf_release) struct buf shown = BUF_INIT;
	struct err err = { 0 };

	for (;;) {
		doctor->placefd = at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &err);
		char *slash = strrchr(path, '/');
		if (doctor->placefd >= 0 || !strcmp(path, ".") || !strcmp(path, "/"))
			break;
		if (slash)
			slash[slash == path] = '\0';
		else
			memcpy(path, ".", 2);
	}
	text_quote(&shown, str_of(path));
	doctor->place = mem_strdup(shown.data);
}

static int do_doctor(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct doctor doctor = { .placefd = -1 };
	int r = 0;

	find_place(&doctor, ctx->root);
	for (size_t i = 0; r >= 0 && i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct probe probe = { 0 };

		if (checks[i].where == IN_CHILD)
			probe_in_child(&doctor, checks[i].attempt, &probe);
		else
			checks[i].attempt(&doctor, &probe);
		struct doctor_row row = {
			.name = checks[i].name,
			.ok = probe.ok,
			.detail = probe.text,
			.remedy = probe.ok ? NULL : checks[i].remedy,
		};
		r = op_emit(ctx, &row, err);
	}
	close_fd(&doctor.placefd);
	free(doctor.place);
	return r;
}

static void row_json(struct json *out, const void *row)
{
	const struct doctor_row *check = row;

	json_text(out, "name", check->name);
	json_bool(out, "ok", check->ok);
	json_text(out, "detail", check->detail);
	json_text(out, "remedy", check->remedy);
}

const struct op op_doctor = {
	.name = "doctor",
	.summary = "what this machine offers, proved by trying",
	.flags = OP_LOCAL | OP_NO_ENV | OP_ANYWHERE,
	.access = ENV_READ,
	.rows = "checks",
	.row = "{name:text ok:bool detail:text? remedy:text?}",
	.run = do_doctor,
	.row_json = row_json,
};
