/*
 * passing_code - the eBPF programs of passing.h.
 */
#pragma once
#include "trace/engine/ebpf.h"

/* Descriptors of the maps that the programs use. */
struct passing_maps {
	int rules; /* array: has the struct passing_rule of each call number */
	int tasks; /* hash: has the struct passing_task for the address of a thread's task */
	int ring;
	int counts; /* array with a single struct passing_counts */
};

/*
 * Write the program for the raw tracepoint sys_enter.  It wakes the reader when 'wake' bytes in the
 * ring are unread.
 */
void passing_code_enter(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake);
/* Write the program for the raw tracepoint sys_exit. */
void passing_code_leave(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake);
/* Write the program for the raw tracepoint sched_process_fork. */
void passing_code_fork(struct ebpf *ebpf, const struct passing_maps *maps);
/* Write the program for the raw tracepoint sched_process_exit. */
void passing_code_end(struct ebpf *ebpf, const struct passing_maps *maps);
/*
 * Write a program that has no tracepoint.  A thread runs it to add itself to the command's threads.
 */
void passing_code_join(struct ebpf *ebpf, const struct passing_maps *maps);
