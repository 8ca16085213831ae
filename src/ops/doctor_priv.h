/*
 * doctor_priv - the checks of doctor.
 */
#pragma once
#include "ops/finding.h"

struct doctor {
	char *place; /* where the environment is or would be, as far as it exists; quoted */
	int placefd; /* -1: nowhere */
};

finding_try doctor_kernel_userns;
finding_try doctor_kernel_overlay;
finding_try doctor_kernel_mapped;
finding_try doctor_kernel_landlock;
finding_try doctor_kernel_scopes;
finding_try doctor_kernel_seccomp;
finding_try doctor_kernel_bpf;
finding_try doctor_kernel_inotify;
finding_try doctor_kernel_openat2;
finding_try doctor_cgroup_freezer;
finding_try doctor_ids_subordinate;
finding_try doctor_files_btrfs;
finding_try doctor_files_reflink;
finding_try doctor_files_zfs;
