#include "rpc/hostlink.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "rpc/agentproc.h"
#include "rpc/bootstrap.h"
#include "rpc/linereader.h"
#include "rpc/sshargv.h"

#define START_MS 60000
#define PIECE ((size_t)256 << 10)
#define READ_MAX ((size_t)1 << 20) /* bytes that one call of hostlink_handle reads at most */
#define TAIL 280                   /* bytes of stderr in a message */
#define GRACE_MS 3000              /* time for an agent to end after the end of its input */
#define ENDING_MS 2000             /* time for ssh to end after the end of its output */

struct hostlink {
	const struct hosts_host *host;
	int64_t patience_ms; /* longest time without a read or write before the first reply */
	struct arena arena;
	struct agentproc proc;
	struct linereader lines;
	struct agentfile file;
	struct bootstrap bootstrap;
	struct hostlink_start start;
	bool bootstrapping; /* the agent does not run yet */
	bool sending;       /* the file is being sent */
	bool spoke;         /* the agent has sent a reply */
	bool ended;
	uint64_t file_at;
	struct buf now, later; /* to write now; to write when the agent runs */
	size_t now_at;
	/* time of the start; time of the last read or write before the agent's first reply */
	int64_t begun, heard;
};

/* --- opening a link --- */

static int check_agent_options(const struct param_texts *options, struct err *err)
{
	for (size_t i = 0; i < options->count; i++)
		for (const char *c = options->list[i]; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 127)
				return err_set(err, ERR_INVALID,
					"an option for the agent of another host cannot have "
					"control characters");
	return 0;
}

static int make_argv(struct hostlink *link, const struct hostlink_options *options,
	const char *const **argv, struct err *err)
{
	static const struct param_texts none;
	const struct param_texts *further = options->agent ?: &none;
	const struct hosts_host *host = link->host;
	struct param_texts agent = { 0 };
	int r = check_agent_options(further, err);

	if (r < 0)
		return r;
	if (host->transport == HOSTS_LOCAL) {
		owned_mem char *path = agentfile_find(host->agent_path ?: options->agent_file, err);

		if (!path)
			return -(int)err->code;
		sshargv_agent(
			host, arena_strdup(&link->arena, path), further, &link->arena, &agent);
		param_texts_add(&agent, &link->arena, NULL);
		*argv = agent.list;
		return 0;
	}
	if (host->agent_mode == HOSTS_PREINSTALLED) {
		sshargv_agent(
			host, host->agent_path ?: "strata-agent", further, &link->arena, &agent);
		*argv = sshargv_make(host, sshargv_quote(&agent, &link->arena), &link->arena);
		return 0;
	}
	r = agentfile_open(host->agent_path ?: options->agent_file, &link->file, err);
	if (r < 0)
		return r;
	sshargv_options(host, further, &link->arena, &agent);
	bootstrap_arguments(&agent, &link->now);
	link->bootstrap.file = &link->file;
	link->bootstrapping = link->start.bootstrapped = true;
	*argv = sshargv_make(host,
		bootstrap_command(&link->file, agent.count, host->sudo, &link->arena),
		&link->arena);
	return 0;
}

struct hostlink *hostlink_open(
	const struct hosts_host *host, const struct hostlink_options *options, struct err *err)
{
	struct hostlink *link = mem_zalloc(sizeof(*link));
	const char *const *argv = NULL;

	*link = (struct hostlink){
		.host = host,
		.patience_ms = options->start_ms ?: START_MS,
		.file = { .fd = -1 },
		.now = BUF_INIT,
		.later = BUF_INIT,
		.begun = when_monotonic(),
	};
	link->heard = link->begun;
	linereader_init(&link->lines, HOSTLINK_LINE_MAX);
	if (make_argv(link, options, &argv, err) >= 0 &&
		agentproc_start(&link->proc, argv, err) >= 0)
		return link;
	err_context(err, "host '%s'", host->name);
	hostlink_close(link);
	return NULL;
}

void hostlink_abandon(struct hostlink *link)
{
	if (link)
		link->ended = true;
}

void hostlink_close(struct hostlink *link)
{
	if (!link)
		return;
	if (link->proc.argv) {
		agentproc_close_input(&link->proc);
		/*
		 * A running agent ends at the end of its input, and gets some time to do so.
		 * Before the agent runs, the process needs no time to end.
		 */
		agentproc_finish(&link->proc, link->bootstrapping || link->ended ? 0 : GRACE_MS);
	}
	agentproc_release(&link->proc);
	agentfile_close(&link->file);
	linereader_release(&link->lines);
	buf_release(&link->now);
	buf_release(&link->later);
	arena_release(&link->arena);
	free(link);
}

/* --- why a link has ended --- */

static int describe(struct hostlink *link, struct err *err, const char *what, const char *hint)
{
	const char *tail = agentproc_tail(&link->proc, TAIL, &link->arena);

	err_set(err, ERR_SYSTEM, "host '%s': %s%s%s", link->host->name, what, *tail ? ": " : "",
		tail);
	return hint ? err_hint(err, "%s", hint) : -(int)err->code;
}

/*
 * Errors that are recognised by a text on the stderr of ssh or sudo.  If stderr has several of
 * these texts, the error that comes first in this table is reported.
 */
static const struct reason {
	const char *said, *what, *hint;
} reasons[] = {
	{ "Host key verification failed", "its host key is not known, or has changed",
		"connect once with ssh by hand, and check the key" },
	{ "Permission denied (", "it refuses this user without a password",
		"strata answers no questions: use a key (ssh-copy-id) and ssh-agent for its "
		"passphrase" },
	{ "Too many authentication failures", "it refuses this user", NULL },
	{ "Connection refused", "it refuses the connection", NULL },
	{ "Could not resolve hostname", "its name cannot be resolved", NULL },
	{ "Connection timed out", "it cannot be reached", NULL },
	{ "No route to host", "it cannot be reached", NULL },
	{ "Network is unreachable", "it cannot be reached", NULL },
	{ "a password is required", "sudo there asks for a password",
		"allow the agent in sudoers with NOPASSWD, or set sudo = false" },
	{ "sudo: not found", "there is no sudo", "install sudo there, or set sudo = false" },
	{ "not in the sudoers file", "sudo there refuses this user", NULL },
	{ "is not allowed to execute", "sudo there refuses the agent", NULL },
};

static const struct reason *find_reason(const struct buf *said)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (said->len &&
			memmem(said->data, said->len, reasons[i].said, strlen(reasons[i].said)))
			return &reasons[i];
	return NULL;
}

static const char *name_program(const struct hostlink *link)
{
	return link->host->transport == HOSTS_LOCAL ? "the agent" : "ssh";
}

static int describe_end(struct hostlink *link, struct err *err)
{
	const struct reason *reason = find_reason(&link->proc.said);
	int status = link->proc.status;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	char what[120];

	if (!link->spoke && reason)
		return describe(link, err, reason->what, reason->hint);
	if (!link->spoke && (code == 127 || code == 126) && !link->bootstrapping) {
		snprintf(what, sizeof(what), "strata-agent %s there",
			code == 127 ? "does not exist" : "cannot be executed");
		return describe(link, err, what,
			"set 'agent_path' to its path there, or agent_mode = \"bootstrap\"");
	}
	if (WIFSIGNALED(status))
		snprintf(what, sizeof(what), "%s was killed by signal %d", name_program(link),
			WTERMSIG(status));
	else
		snprintf(what, sizeof(what), "%s; %s ended with status %d",
			link->bootstrapping ? "the connection ended before the agent ran"
			: link->spoke       ? "the connection ended"
					    : "the connection ended before the agent answered",
			name_program(link), code);
	return describe(link, err, what, NULL);
}

/*
 * End the link because of the error in err.  The process may end by itself within grace_ms.  The
 * name of the host and the end of stderr are added to the message.
 */
static int give_up(struct hostlink *link, int grace_ms, struct err *err)
{
	struct err why = *err;

	link->ended = true;
	agentproc_finish(&link->proc, grace_ms);
	const char *tail = agentproc_tail(&link->proc, TAIL, &link->arena);
	err_set(err, why.code, "host '%s': %.330s%s%s", link->host->name, why.text,
		*tail ? "; it said: " : "", tail);
	return why.hint[0] ? err_hint(err, "%s", why.hint) : -(int)err->code;
}

static int end_by_itself(struct hostlink *link, struct err *err)
{
	link->ended = true;
	agentproc_finish(&link->proc, ENDING_MS);
	return describe_end(link, err);
}

int hostlink_refuse_line(struct hostlink *link, struct str line, struct err *err)
{
	if (link->spoke)
		err_set(err, ERR_CORRUPT, "the agent sends a line that is no reply");
	else
		(void)bootstrap_refuse_banner(line, err);
	return give_up(link, 0, err);
}

/* --- writing to the host --- */

/* The time limit for sending the program is long enough for a connection of this speed. */
#define SLOWEST_BYTES_PER_MS 8

static void start_agent(struct hostlink *link)
{
	link->bootstrapping = false;
	link->start.sent = link->bootstrap.sent;
	link->start.changed = link->bootstrap.changed;
	link->start.cached = link->bootstrap.cached;
	link->start.took = when_monotonic() - link->begun;
	buf_add(&link->now, link->later.data, link->later.len);
	buf_release(&link->later);
	link->later = (struct buf)BUF_INIT;
}

void hostlink_send(struct hostlink *link, struct str line)
{
	struct buf *out = link->bootstrapping ? &link->later : &link->now;

	buf_add(out, line.ptr, line.len);
	buf_addc(out, '\n');
}

size_t hostlink_unsent(const struct hostlink *link)
{
	return link->now.len - link->now_at + link->later.len;
}

/* Append the next piece of the program to the bytes that are to be written. */
static int load_piece(struct hostlink *link, struct err *err)
{
	uint64_t left = link->file.size - link->file_at;
	size_t len = left < PIECE ? (size_t)left : PIECE;
	owned_mem char *piece = mem_alloc(PIECE);
	ssize_t n = at_pread_full(link->file.fd, piece, len, link->file_at);

	if (n != (ssize_t)len) {
		err_set(err, ERR_CORRUPT, "'%s' changes while it is sent", link->file.path);
		return give_up(link, 0, err);
	}
	buf_add(&link->now, piece, len);
	link->file_at += len;
	link->sending = link->file_at < link->file.size;
	return 0;
}

static int write_some(struct hostlink *link, struct err *err)
{
	while (link->now_at < link->now.len || link->sending) {
		ssize_t n;

		if (link->now_at == link->now.len) {
			buf_clear(&link->now);
			link->now_at = 0;
			int r = load_piece(link, err);

			if (r < 0)
				return r;
		}
		n = agentproc_write(&link->proc, (struct str){ link->now.data + link->now_at,
							 link->now.len - link->now_at });
		/*
		 * The process takes no bytes now, or has ended, or has closed its stdin.  If it has
		 * ended, the end of its stdout is noticed later.
		 */
		if (n <= 0)
			break;
		link->now_at += (size_t)n;
		link->heard = when_monotonic();
	}
	if (link->now_at == link->now.len || link->now_at > PIECE) {
		size_t left = link->now.len - link->now_at;

		if (left)
			memmove(link->now.data, link->now.data + link->now_at, left);
		buf_truncate(&link->now, left);
		link->now_at = 0;
	}
	return 0;
}

/* --- reading from the host --- */

static int take_bootstrap_line(struct hostlink *link, struct str line, struct err *err)
{
	int r = bootstrap_line(&link->bootstrap, line, err);

	/* After an error, the script removes its files and ends. */
	if (r < 0)
		return give_up(link, ENDING_MS, err);
	if (r == BOOTSTRAP_SEND) {
		link->sending = true;
		link->patience_ms += (int64_t)(link->file.size / SLOWEST_BYTES_PER_MS);
	}
	if (r == BOOTSTRAP_READY)
		start_agent(link);
	return 0;
}

/* Continue the bootstrap with the lines that have arrived. */
static int continue_bootstrap(struct hostlink *link, struct err *err)
{
	while (link->bootstrapping) {
		struct str line = { 0 };
		enum linereader_found found = linereader_next(&link->lines, &line);
		int r;

		if (found == LINEREADER_MORE || found == LINEREADER_END)
			return 0;
		r = take_bootstrap_line(
			link, found == LINEREADER_LINE ? line : STR("a very long line"), err);
		if (r < 0)
			return r;
	}
	return 0;
}

bool hostlink_next(struct hostlink *link, struct str *line)
{
	if (link->bootstrapping)
		return false;
	enum linereader_found found = linereader_next(&link->lines, line);

	if (found == LINEREADER_LONG)
		*line = STR("(a line that is too long)");
	return found == LINEREADER_LINE || found == LINEREADER_LONG;
}

/* --- polling --- */

size_t hostlink_polls(const struct hostlink *link, struct pollfd polls[HOSTLINK_POLLS])
{
	const struct agentproc *proc = &link->proc;
	bool writes = hostlink_unsent(link) > link->later.len || link->sending;

	if (link->ended)
		return 0;
	polls[0] = (struct pollfd){ .fd = proc->out, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = proc->said_fd, .events = POLLIN };
	polls[2] = (struct pollfd){ .fd = proc->end, .events = POLLIN };
	polls[3] = (struct pollfd){ .fd = writes ? proc->in : -1, .events = POLLOUT };
	return HOSTLINK_POLLS;
}

int64_t hostlink_deadline(const struct hostlink *link)
{
	return link->spoke || link->ended ? INT64_MAX : link->heard + link->patience_ms * WHEN_MS;
}

static int check_time(struct hostlink *link, struct err *err)
{
	char what[80];

	if (when_monotonic() < hostlink_deadline(link))
		return 0;
	link->ended = true;
	agentproc_finish(&link->proc, 0);
	snprintf(what, sizeof(what), "no answer within %g seconds",
		(double)link->patience_ms / 1000);
	(void)describe(link, err, what, NULL);
	err->errno_value = ETIMEDOUT;
	return -(int)err->code;
}

/*
 * Read the bytes that have arrived.  Returns their number, or -1 if the process has closed its
 * stdout.
 */
static ssize_t read_some(struct hostlink *link)
{
	char piece[65536];
	size_t total = 0;
	ssize_t n;

	/*
	 * Lines use memory until the caller takes them.  So read no more than READ_MAX bytes before
	 * the caller can take the lines.
	 */
	while (total < READ_MAX) {
		n = read(link->proc.out, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			return total ? (ssize_t)total : -1;
		linereader_add(&link->lines, (struct str){ piece, (size_t)n });
		total += (size_t)n;
	}
	if (total)
		link->heard = when_monotonic();
	return (ssize_t)total;
}

int hostlink_handle(struct hostlink *link, struct err *err)
{
	struct pollfd end = { .fd = link->proc.end, .events = POLLIN };
	int r;

	if (link->ended)
		return err_set(
			err, ERR_SYSTEM, "host '%s': the connection has ended", link->host->name);
	agentproc_listen(&link->proc);
	/*
	 * Check for the end of the process before reading, so that everything it has written is
	 * read.
	 */
	bool ended = poll(&end, 1, 0) > 0;
	ssize_t n = read_some(link);
	r = continue_bootstrap(link, err);
	if (r >= 0)
		r = write_some(link, err);
	if (r < 0)
		return r;
	if (n < 0 || (ended && !n))
		return end_by_itself(link, err);
	return check_time(link, err);
}

void hostlink_answered(struct hostlink *link)
{
	link->spoke = true;
}

const struct hostlink_start *hostlink_started(const struct hostlink *link)
{
	return link->bootstrapping ? NULL : &link->start;
}

void hostlink_members(struct json *out, const struct hostlink *link)
{
	agentproc_members(out, &link->proc);
}
