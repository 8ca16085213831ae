/*
 * Writes the eBPF programs that passing.h describes, one instruction at a time.
 *
 * Each program keeps the context of its tracepoint in R6, and the address of the thread's struct
 * passing_task in R7.
 *
 * A thread is identified by the address of its task in the kernel.  The address stays the same from
 * fork to exit, whereas execve(2) may change the id of a thread.  A program can also get this
 * address without knowing the members of a kernel struct.
 *
 * A path is read when its call begins, since the call may overwrite the path (readlink(2)).  If a
 * page of the path is not in memory at that time, the path is read when the call ends, since the
 * call itself loads the page.
 */
#include "trace/engine/passing_code.h"

#include <errno.h>
#include <fcntl.h>

#include "trace/engine/passing_event.h"

/* Offsets of a call's arguments in the kernel's struct pt_regs. */
#if defined(__x86_64__)
#define ARGS_AT 56 /* the registers r10, r9, r8, ax, cx, dx, si, di */
#define ARGS_BYTES 64
static const int arg_at[6] = { 56, 48, 40, 0, 16, 8 };
#elif defined(__aarch64__)
#define ARGS_AT 0 /* the registers x0 to x5 */
#define ARGS_BYTES 48
static const int arg_at[6] = { 0, 8, 16, 24, 32, 40 };
#endif

/*
 * Offset of an argument in the context of a raw tracepoint.  The context is an array of arguments.
 */
#define ARG(n) ((n) * (int)sizeof(uint64_t))

#define TASK(member) (int)offsetof(struct passing_task, member)
#define RULE(member) (int)offsetof(struct passing_rule, member)
#define COUNTS(member) (int)offsetof(struct passing_counts, member)
#define EVENT(member) (int)offsetof(struct passing_event, member)

/* Offsets of variables below the end of the stack. */
enum { AT_KEY = 8, AT_NUMBER = 16, AT_ARGS = 16 + 64, AT_TASK = 16 + sizeof(struct passing_task) };

enum label { OUT, LOST, UNREADABLE, FILLED, SUBMIT, SEEN, ONE, AGAIN };

/*
 * Number of bytes for a path in an event.  The sizes are tried in turn until the path fits.  Most
 * paths are short, and room that was reserved in the ring cannot be reduced later.
 */
static const int tiers[] = { 128, 512, PATH_MAX };

#define N_TIERS (sizeof(tiers) / sizeof(tiers[0]))

static void emit_look_up(struct ebpf *ebpf, int map, int key_at)
{
	ebpf_copy(ebpf, R2, FP);
	ebpf_with(ebpf, BPF_ADD, R2, -key_at);
	ebpf_map(ebpf, R1, map);
	ebpf_call(ebpf, BPF_FUNC_map_lookup_elem);
	ebpf_jump_if(ebpf, BPF_JEQ, R0, 0, OUT);
}

/*
 * Load the address of the current thread's struct passing_task into R7.  If the thread does not
 * belong to the command, jump to OUT.
 */
static void emit_find_task(struct ebpf *ebpf, const struct passing_maps *maps)
{
	ebpf_call(ebpf, BPF_FUNC_get_current_task);
	ebpf_store(ebpf, BPF_DW, FP, -AT_KEY, R0);
	emit_look_up(ebpf, maps->tasks, AT_KEY);
	ebpf_copy(ebpf, R7, R0);
}

static void emit_count(
	struct ebpf *ebpf, const struct passing_maps *maps, size_t member, int32_t more)
{
	ebpf_member(ebpf, R1, maps->counts, member);
	ebpf_count(ebpf, R1, more);
}

/* Record the work that the eBPF program for the end of the call has to do. */
static void emit_set_pending(
	struct ebpf *ebpf, const struct passing_maps *maps, enum passing_pending pending)
{
	ebpf_store_value(ebpf, BPF_DW, R7, TASK(pending), pending);
	emit_count(ebpf, maps, COUNTS(pending), 1);
}

/* Reserve room for an event in the ring, and load its address into R9. */
static void emit_reserve(struct ebpf *ebpf, const struct passing_maps *maps, size_t len)
{
	ebpf_map(ebpf, R1, maps->ring);
	ebpf_set(ebpf, R2, (int32_t)len);
	ebpf_set(ebpf, R3, 0);
	ebpf_call(ebpf, BPF_FUNC_ringbuf_reserve);
	ebpf_jump_if(ebpf, BPF_JEQ, R0, 0, LOST);
	ebpf_copy(ebpf, R9, R0);
}

static void emit_discard(struct ebpf *ebpf)
{
	ebpf_copy(ebpf, R1, R9);
	ebpf_set(ebpf, R2, BPF_RB_NO_WAKEUP);
	ebpf_call(ebpf, BPF_FUNC_ringbuf_discard);
}

/*
 * Submit the event at R9.  The reader is woken only when the ring has 'wake' unread bytes, since a
 * wake-up costs as much as many events.
 */
static void emit_submit(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake)
{
	ebpf_map(ebpf, R1, maps->ring);
	ebpf_set(ebpf, R2, BPF_RB_AVAIL_DATA);
	ebpf_call(ebpf, BPF_FUNC_ringbuf_query);
	ebpf_set(ebpf, R2, BPF_RB_NO_WAKEUP);
	ebpf_jump_if(ebpf, BPF_JLT, R0, (int32_t)wake, SUBMIT);
	ebpf_set(ebpf, R2, BPF_RB_FORCE_WAKEUP);
	ebpf_label(ebpf, SUBMIT);
	ebpf_copy(ebpf, R1, R9);
	ebpf_call(ebpf, BPF_FUNC_ringbuf_submit);
}

/*
 * Read the path whose address is in R8.  Afterwards R9 has the address of an event with the path,
 * and R0 has the length of the path.
 */
static void emit_read_path(struct ebpf *ebpf, const struct passing_maps *maps)
{
	for (unsigned i = 0; i < N_TIERS; i++) {
		emit_reserve(ebpf, maps, sizeof(struct passing_event) + (size_t)tiers[i]);
		ebpf_copy(ebpf, R1, R9);
		ebpf_with(ebpf, BPF_ADD, R1, EVENT(text));
		ebpf_set(ebpf, R2, tiers[i]);
		ebpf_copy(ebpf, R3, R8);
		ebpf_call(ebpf, BPF_FUNC_probe_read_user_str);
		ebpf_jump_if(ebpf, BPF_JSLT, R0, 0, UNREADABLE);
		if (i + 1 == N_TIERS)
			break;
		ebpf_jump_if(ebpf, BPF_JSLT, R0, tiers[i], FILLED);
		emit_discard(ebpf);
	}
	ebpf_label(ebpf, FILLED);
}

static void emit_copy_member(struct ebpf *ebpf, int to, int from)
{
	ebpf_load(ebpf, BPF_DW, R1, R7, from);
	ebpf_store(ebpf, BPF_DW, R9, to, R1);
}

/*
 * Put the call of the thread into the ring.  R7 has the address of the thread's struct
 * passing_task.  An event of the type PASSING_OVER also gets the result of the call, which is in
 * R6.
 */
static void emit_call_event(
	struct ebpf *ebpf, const struct passing_maps *maps, size_t wake, enum passing_type type)
{
	ebpf_load(ebpf, BPF_DW, R8, R7, TASK(path));
	emit_read_path(ebpf, maps);
	ebpf_store(ebpf, BPF_W, R9, EVENT(text_len), R0);
	ebpf_store_value(ebpf, BPF_W, R9, EVENT(type), type);
	if (type == PASSING_OVER)
		ebpf_store(ebpf, BPF_DW, R9, EVENT(result), R6);
	else
		ebpf_store_value(ebpf, BPF_DW, R9, EVENT(result), 0);
	emit_copy_member(ebpf, EVENT(parent), TASK(parent));
	emit_copy_member(ebpf, EVENT(closes), TASK(closes));
	emit_copy_member(ebpf, EVENT(nr), TASK(nr));
	for (size_t i = 0; i < 6; i++)
		emit_copy_member(ebpf, EVENT(args[i]), TASK(args[i]));
	ebpf_load(ebpf, BPF_DW, R1, FP, -AT_KEY);
	ebpf_store(ebpf, BPF_DW, R9, EVENT(task), R1);
	ebpf_call(ebpf, BPF_FUNC_get_current_pid_tgid);
	ebpf_store(ebpf, BPF_DW, R9, EVENT(ids), R0);
	emit_submit(ebpf, maps, wake);
}

/*
 * Load an argument of the call into R1.  The index of the argument is in the member at offset
 * 'index' of the rule whose address is in R9.
 */
static void emit_load_argument(struct ebpf *ebpf, int size, int index)
{
	ebpf_load(ebpf, BPF_W, R2, R9, index);
	ebpf_with(ebpf, BPF_AND, R2, PASSING_ARG_MASK);
	ebpf_with(ebpf, BPF_LSH, R2, 3);
	ebpf_copy(ebpf, R1, R7);
	ebpf_with_register(ebpf, BPF_ADD, R1, R2);
	ebpf_load(ebpf, size, R1, R1, TASK(args));
}

/*
 * Copy the number and the arguments of the call to the struct passing_task whose address is in R7.
 * The number is in R8.  The arguments are in the thread's registers.
 */
static void emit_keep_arguments(struct ebpf *ebpf)
{
	ebpf_copy(ebpf, R1, FP);
	ebpf_with(ebpf, BPF_ADD, R1, -AT_ARGS);
	ebpf_set(ebpf, R2, ARGS_BYTES);
	ebpf_load(ebpf, BPF_DW, R3, R6, ARG(0));
	ebpf_with(ebpf, BPF_ADD, R3, ARGS_AT);
	ebpf_call(ebpf, BPF_FUNC_probe_read_kernel);
	for (size_t i = 0; i < 6; i++) {
		ebpf_load(ebpf, BPF_DW, R1, FP, arg_at[i] - AT_ARGS);
		ebpf_store(ebpf, BPF_DW, R7, TASK(args[i]), R1);
	}
	ebpf_store_value(ebpf, BPF_DW, R7, TASK(args[PASSING_ARG_CWD]), AT_FDCWD);
	ebpf_store_value(ebpf, BPF_DW, R7, TASK(args[PASSING_ARG_ZERO]), 0);
	ebpf_store(ebpf, BPF_DW, R7, TASK(nr), R8);
}

/*
 * Record that the call closes descriptors.  R9 has the address of the call's rule, and R1 has the
 * kind of the rule.
 */
static void emit_note_close(struct ebpf *ebpf)
{
	ebpf_load(ebpf, BPF_DW, R8, R7, TASK(closes));
	ebpf_with(ebpf, BPF_ADD, R8, 1);
	ebpf_store(ebpf, BPF_DW, R7, TASK(closes), R8);
	ebpf_jump_if(ebpf, BPF_JEQ, R1, PASSING_CLOSES, ONE);
	ebpf_store(ebpf, BPF_DW, R7, TASK(closed_any), R8);
	ebpf_jump(ebpf, OUT);

	ebpf_label(ebpf, ONE);
	emit_load_argument(ebpf, BPF_W, RULE(dirfd));
	ebpf_with(ebpf, BPF_AND, R1, PASSING_CLOSED - 1);
	ebpf_with(ebpf, BPF_LSH, R1, 3);
	ebpf_with_register(ebpf, BPF_ADD, R1, R7);
	ebpf_store(ebpf, BPF_DW, R1, TASK(closed), R8);
	ebpf_jump(ebpf, OUT);
}

/*
 * This program runs for the calls of all processes of the machine.  So the cheapest test, whether
 * there is a rule for the call, comes first.
 */
void passing_code_enter(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake)
{
	ebpf_copy(ebpf, R6, R1);
	ebpf_load(ebpf, BPF_DW, R8, R6, ARG(1));
	ebpf_jump_if(ebpf, BPF_JGE, R8, PASSING_CALLS, OUT);
	ebpf_store(ebpf, BPF_W, FP, -AT_NUMBER, R8);
	emit_look_up(ebpf, maps->rules, AT_NUMBER);
	ebpf_copy(ebpf, R9, R0);
	ebpf_load(ebpf, BPF_W, R1, R9, RULE(kind));
	ebpf_jump_if(ebpf, BPF_JEQ, R1, PASSING_UNSEEN, OUT);
	emit_find_task(ebpf, maps);
	emit_keep_arguments(ebpf);
	ebpf_load(ebpf, BPF_W, R1, R9, RULE(kind));
	ebpf_jump_if(ebpf, BPF_JEQ, R1, PASSING_SEEN, SEEN);
	emit_note_close(ebpf);

	ebpf_label(ebpf, SEEN);
	emit_load_argument(ebpf, BPF_W, RULE(dirfd));
	ebpf_jump_if32(ebpf, BPF_JNE, R1, AT_FDCWD, OUT);
	emit_load_argument(ebpf, BPF_W, RULE(flags));
	ebpf_load(ebpf, BPF_W, R2, R9, RULE(unless));
	ebpf_with_register(ebpf, BPF_AND, R1, R2);
	ebpf_jump_if(ebpf, BPF_JNE, R1, 0, OUT);
	emit_load_argument(ebpf, BPF_DW, RULE(path));
	/* A call whose path is NULL names no file.  acct(2) allows NULL. */
	ebpf_jump_if(ebpf, BPF_JEQ, R1, 0, OUT);
	ebpf_store(ebpf, BPF_DW, R7, TASK(path), R1);
	emit_call_event(ebpf, maps, wake, PASSING_CALL);
	emit_set_pending(ebpf, maps, PASSING_TELL_SUCCESS);
	ebpf_jump(ebpf, OUT);

	ebpf_label(ebpf, UNREADABLE);
	emit_discard(ebpf);
	emit_set_pending(ebpf, maps, PASSING_READ_AGAIN);
	ebpf_jump(ebpf, OUT);

	ebpf_label(ebpf, LOST);
	emit_count(ebpf, maps, COUNTS(lost.events), 1);
	ebpf_label(ebpf, OUT);
	ebpf_exit(ebpf);
}

/* If the call has succeeded, put its result, which is in R6, into the ring. */
static void emit_success_event(struct ebpf *ebpf, const struct passing_maps *maps)
{
	ebpf_jump_if(ebpf, BPF_JSLT, R6, 0, OUT);
	emit_reserve(ebpf, maps, PASSING_HEAD);
	ebpf_store_value(ebpf, BPF_W, R9, EVENT(type), PASSING_RESULT);
	ebpf_store_value(ebpf, BPF_W, R9, EVENT(text_len), 0);
	ebpf_store(ebpf, BPF_DW, R9, EVENT(result), R6);
	emit_copy_member(ebpf, EVENT(closes), TASK(closes));
	ebpf_call(ebpf, BPF_FUNC_get_current_pid_tgid);
	ebpf_store(ebpf, BPF_DW, R9, EVENT(ids), R0);
	ebpf_copy(ebpf, R1, R9);
	ebpf_set(ebpf, R2, BPF_RB_NO_WAKEUP);
	ebpf_call(ebpf, BPF_FUNC_ringbuf_submit);
}

/*
 * This program runs for the calls of all processes of the machine.  So the first test is whether
 * any thread of the command has work pending, which is rarely true.
 */
void passing_code_leave(struct ebpf *ebpf, const struct passing_maps *maps, size_t wake)
{
	ebpf_copy(ebpf, R6, R1);
	ebpf_member(ebpf, R1, maps->counts, COUNTS(pending));
	ebpf_load(ebpf, BPF_DW, R1, R1, 0);
	ebpf_jump_if(ebpf, BPF_JEQ, R1, 0, OUT);
	emit_find_task(ebpf, maps);
	ebpf_load(ebpf, BPF_DW, R8, R7, TASK(pending));
	ebpf_jump_if(ebpf, BPF_JEQ, R8, PASSING_NOTHING, OUT);
	ebpf_store_value(ebpf, BPF_DW, R7, TASK(pending), PASSING_NOTHING);
	emit_count(ebpf, maps, COUNTS(pending), -1);
	ebpf_load(ebpf, BPF_DW, R6, R6, ARG(1));
	ebpf_jump_if(ebpf, BPF_JEQ, R8, PASSING_READ_AGAIN, AGAIN);
	emit_success_event(ebpf, maps);
	ebpf_jump(ebpf, OUT);

	ebpf_label(ebpf, AGAIN);
	/* EFAULT means that the kernel could not read the path itself. */
	ebpf_jump_if(ebpf, BPF_JEQ, R6, -EFAULT, OUT);
	emit_call_event(ebpf, maps, wake, PASSING_OVER);
	ebpf_jump(ebpf, OUT);

	ebpf_label(ebpf, UNREADABLE);
	emit_discard(ebpf);
	emit_count(ebpf, maps, COUNTS(lost.unread), 1);
	ebpf_jump(ebpf, OUT);

	ebpf_label(ebpf, LOST);
	emit_count(ebpf, maps, COUNTS(lost.events), 1);
	ebpf_label(ebpf, OUT);
	ebpf_exit(ebpf);
}

/*
 * Add a thread to the command's threads.  The key on the stack is the address of the new thread's
 * task.  R6 has the ids of the thread that forked the new thread.
 */
static void emit_add_task(struct ebpf *ebpf, const struct passing_maps *maps)
{
	ebpf_set(ebpf, R1, 0);
	for (int at = 0; at < (int)sizeof(struct passing_task); at += 8)
		ebpf_store(ebpf, BPF_DW, FP, at - AT_TASK, R1);
	ebpf_store(ebpf, BPF_DW, FP, TASK(parent) - AT_TASK, R6);
	ebpf_map(ebpf, R1, maps->tasks);
	ebpf_copy(ebpf, R2, FP);
	ebpf_with(ebpf, BPF_ADD, R2, -AT_KEY);
	ebpf_copy(ebpf, R3, FP);
	ebpf_with(ebpf, BPF_ADD, R3, -AT_TASK);
	ebpf_set(ebpf, R4, BPF_ANY);
	ebpf_call(ebpf, BPF_FUNC_map_update_elem);
	ebpf_jump_if(ebpf, BPF_JEQ, R0, 0, OUT);
	emit_count(ebpf, maps, COUNTS(lost.tasks), 1);
}

/*
 * The tracepoint has two arguments: the thread that forks, and the new thread.  The new thread has
 * not run yet.
 */
void passing_code_fork(struct ebpf *ebpf, const struct passing_maps *maps)
{
	ebpf_copy(ebpf, R6, R1);
	emit_find_task(ebpf, maps);
	ebpf_load(ebpf, BPF_DW, R1, R6, ARG(1));
	ebpf_store(ebpf, BPF_DW, FP, -AT_KEY, R1);
	ebpf_call(ebpf, BPF_FUNC_get_current_pid_tgid);
	ebpf_copy(ebpf, R6, R0);
	emit_add_task(ebpf, maps);
	ebpf_label(ebpf, OUT);
	ebpf_exit(ebpf);
}

void passing_code_end(struct ebpf *ebpf, const struct passing_maps *maps)
{
	ebpf_call(ebpf, BPF_FUNC_get_current_task);
	ebpf_store(ebpf, BPF_DW, FP, -AT_KEY, R0);
	ebpf_copy(ebpf, R2, FP);
	ebpf_with(ebpf, BPF_ADD, R2, -AT_KEY);
	ebpf_map(ebpf, R1, maps->tasks);
	ebpf_call(ebpf, BPF_FUNC_map_delete_elem);
	ebpf_exit(ebpf);
}

void passing_code_join(struct ebpf *ebpf, const struct passing_maps *maps)
{
	ebpf_call(ebpf, BPF_FUNC_get_current_task);
	ebpf_store(ebpf, BPF_DW, FP, -AT_KEY, R0);
	ebpf_set(ebpf, R6, 0);
	emit_add_task(ebpf, maps);
	ebpf_label(ebpf, OUT);
	ebpf_exit(ebpf);
}
