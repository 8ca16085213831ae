/*
 * passing_code - the eBPF programs of passing.h.
 */
#pragma once
#include "trace/engine/ebpf.h"

/* Descriptors of the maps that the programs use. */
struct passing_maps {
	int rules; /* array: from the number of a call to its struct passing_rule */
	int tasks; /* hash: from the address of a thread's task to its struct passing_task */
	int ring;
	int counts; /* array of one struct passing_counts */
};

/* For the raw tracepoint sys_enter.  The reader is woken when wake bytes in the ring are unread. */
void passing_code_enter(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake);
/* For the raw tracepoint sys_exit. */
void passing_code_leave(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake);
/* For the raw tracepoint sched_process_fork. */
void passing_code_fork(struct ebpf *ebpf, const struct passing_maps *maps);
/* For the raw tracepoint sched_process_exit. */
void passing_code_end(struct ebpf *ebpf, const struct passing_maps *maps);
/* Not for a tracepoint: a thread runs it to add itself to those of the command. */
void passing_code_join(struct ebpf *ebpf, const struct passing_maps *maps);
