/* passing_code - writes the eBPF programs that passing.h describes. */
#pragma once
#include "trace/engine/ebpf.h"

/* Descriptors of the maps that the programs use. */
struct passing_maps {
	/* array of struct passing_rule; the index is the number of the call */
	int rules;
	/* hash table of struct passing_task; the key is the address of the thread's task */
	int tasks;
	int ring;
	int counts; /* array with a single struct passing_counts */
};

/*
 * Write the program for the raw tracepoint sys_enter.  The program wakes the reader when at least
 * 'wake' bytes in the ring are unread.
 */
void passing_code_enter(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake);
/* Write the program for the raw tracepoint sys_exit. */
void passing_code_leave(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake);
/* Write the program for the raw tracepoint sched_process_fork. */
void passing_code_fork(struct ebpf *ebpf, const struct passing_maps *maps);
/* Write the program for the raw tracepoint sched_process_exit. */
void passing_code_end(struct ebpf *ebpf, const struct passing_maps *maps);
/*
 * Write a program that has no tracepoint.  A thread runs it to add itself to the threads of the
 * command.
 */
void passing_code_join(struct ebpf *ebpf, const struct passing_maps *maps);
