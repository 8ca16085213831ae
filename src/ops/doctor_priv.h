/*
 * doctor_priv - the checks of doctor.
 */
#pragma once
#include "ops/probe.h"

struct doctor {
	/* the environment's directory, or the nearest existing directory above it; quoted */
	char *place;
	int placefd; /* descriptor of place; -1: it could not be opened */
};

/*
 * The first three functions change the process that calls them, so they must be called in a child.
 */
probe_attempt doctor_kernel_userns;
probe_attempt doctor_kernel_scopes;
probe_attempt doctor_kernel_seccomp;
probe_attempt doctor_kernel_overlay;
probe_attempt doctor_kernel_mapped;
probe_attempt doctor_kernel_landlock;
probe_attempt doctor_kernel_bpf;
probe_attempt doctor_kernel_inotify;
probe_attempt doctor_kernel_openat2;
probe_attempt doctor_cgroup_freezer;
probe_attempt doctor_ids_subordinate;
probe_attempt doctor_files_btrfs;
probe_attempt doctor_files_reflink;
probe_attempt doctor_files_zfs;
