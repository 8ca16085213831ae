#include "rpc/bootstrap.h"

#include "core/own.h"
#include "core/text.h"

#define GREETING "strata-bootstrap 1 "
#define SHOWN 160 /* bytes of a line in a message */

/*
 * The script works in any login shell of the host: it stands in single quotes, and contains no
 * single quote, line break or '!'.  Its arguments are the hash, the size, the number of arguments
 * of the agent, and "sudo" or "-".  Its variables: d is the cache directory or "", f the file in
 * it, t a directory that is removed at the end, b the program that will run.
 */
static const char script[] =
	"set -f; umask 077; h=$1 n=$2 c=$3 u=$4; set --; "
	"say() { echo strata-bootstrap 1 $*; }; "
	"fail() { say fail $*; exit 1; }; "
	"sum() { { sha256sum <\"$1\" || shasum -a 256 <\"$1\" || openssl dgst -sha256 -r <\"$1\"; "
	"} "
	"2>/dev/null | { read -r x y; echo $x; }; }; "
	"t=; gone() { [ -z \"$t\" ] || rm -rf \"$t\"; }; trap gone 0; trap \"exit 1\" 1 2 13 15; "
	"while [ $c -gt 0 ]; do IFS= read -r a || exit 1; set -- \"$@\" \"$a\"; c=$((c-1)); done; "
	/* find the cache and the file in it */
	"case ${XDG_CACHE_HOME:-} in /*) k=$XDG_CACHE_HOME ;; *) k=${HOME:+$HOME/.cache} ;; esac; "
	"d=; [ -z \"$k\" ] || { mkdir -p \"$k/strata\" && chmod 700 \"$k/strata\" && "
	"[ -w \"$k/strata\" ] && d=$k/strata; } 2>/dev/null; f=$d/agent-$h; w=need; "
	"if [ -n \"$d\" ] && [ -e \"$f\" ]; then w=changed; "
	"if [ -f \"$f\" ] && [ -x \"$f\" ] && [ \"$(sum \"$f\")\" = $h ]; then "
	"[ -h \"$f\" ] || w=have; fi; fi; "
	/* find a directory where files can be made and executed */
	"if [ $w = have ]; then touch \"$f\"; b=$f; else "
	"for p in \"$d\" \"${XDG_RUNTIME_DIR:-}\" \"${TMPDIR:-}\" /tmp /var/tmp /dev/shm "
	"\"/run/user/$(id -u)\"; do [ -n \"$p\" ] || continue; q=$p/strata-agent-$$; "
	"if e=$(mkdir \"$q\" 2>&1); then t=$q; "
	"e=$({ echo : >\"$t/try\" && chmod 700 \"$t/try\" && \"$t/try\"; } 2>&1) && break; "
	"rm -rf \"$t\"; t=; fi; o=\"$o $e;\"; done; "
	"[ -n \"$t\" ] || fail place \"$o\"; fi; "
	"say hello $(uname -s) $(uname -m) $w; w=cached; "
	"if [ -n \"$t\" ]; then b=$t/agent; w=temporary; "
	"if [ \"$(echo ab | head -c 1)\" = a ]; then e=$({ head -c $n >\"$b\"; } 2>&1); "
	"else e=$({ dd bs=1 count=$n of=\"$b\"; } 2>&1); fi || fail write \"$e\"; "
	"[ $(wc -c <\"$b\") -eq $n ] || fail damaged; chmod 700 \"$b\"; z=$(sum \"$b\"); [ -z "
	"\"$z\" ] || [ $z = $h ] || fail damaged; "
	"e=$(\"$b\" version 2>&1 </dev/null) || fail run \"$e\"; "
	/* a program is only kept if it can be verified later */
	"if [ -n \"$z\" ] && [ \"$t\" = \"$d/strata-agent-$$\" ] && mv -f \"$b\" \"$f\"; then "
	"rm -rf \"$t\"; t=; b=$f; w=cached; "
	"find \"$d\" -name \"agent-*\" -mtime +30 -exec rm -f {} +; "
	"find \"$d\" -name \"strata-agent-*\" -mtime +1 -prune -exec rm -rf {} +; fi; fi; "
	"say ready $w; if [ $u = sudo ]; then u=\"sudo -n --\"; else u=; fi; "
	"[ -n \"$t\" ] || exec $u \"$b\" \"$@\"; $u \"$b\" \"$@\"";

const char *bootstrap_command(
	const struct agentfile *file, size_t arguments, bool sudo, struct arena *arena)
{
	return arena_printf(arena, "exec sh -c '%s' strata %s %llu %zu %s", script, file->hash,
		(unsigned long long)file->size, arguments, sudo ? "sudo" : "-");
}

void bootstrap_arguments(const struct param_texts *arguments, struct buf *out)
{
	for (size_t i = 0; i < arguments->count; i++) {
		buf_adds(out, arguments->list[i]);
		buf_addc(out, '\n');
	}
}

int bootstrap_refuse_banner(struct str line, struct err *err)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	if (line.len > SHOWN)
		line.len = SHOWN;
	text_quote(&shown, line);
	err_set(err, ERR_INVALID, "it prints text before the agent answers: %s", shown.data ?: "");
	return err_hint(err, "a login file there, such as ~/.bashrc, must not print to stdout when "
			     "no terminal is connected");
}

static int take_hello(struct bootstrap *bootstrap, struct str rest, struct err *err)
{
	struct str kernel = str_take_word(&rest), machine = str_take_word(&rest),
		   has = str_take_word(&rest);
	int r = agentfile_fits(bootstrap->file, kernel, machine, err);

	if (r < 0)
		return r;
	bootstrap->greeted = true;
	bootstrap->changed = str_eq(has, STR("changed"));
	bootstrap->sent = !str_eq(has, STR("have"));
	return bootstrap->sent ? BOOTSTRAP_SEND : BOOTSTRAP_WAIT;
}

static int take_failure(struct str rest, struct err *err)
{
	static const struct {
		const char *word, *what, *hint;
	} failures[] = {
		{ "place", "no directory there takes a program",
			"make one of them writable, or install strata-agent there and set "
			"agent_mode = \"preinstalled\"" },
		{ "write", "the agent could not be written there", "make room on its disk" },
		{ "damaged", "the agent arrived damaged there", "" },
		{ "run", "the agent cannot be executed there",
			"set 'agent_path' to a strata-agent that this host can execute" },
	};
	struct str word = str_take_word(&rest);

	rest = str_trim(rest, STR(" "));
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (!str_eq(word, str_of(failures[i].word)))
			continue;
		err_set(err, ERR_UNSUPPORTED, "%s%s%.*s", failures[i].what, rest.len ? ": " : "",
			(int)(rest.len < 300 ? rest.len : 300), rest.ptr);
		return err_hint(err, "%s", failures[i].hint);
	}
	return err_set(err, ERR_CORRUPT, "it fails for an unknown reason: %.*s",
		(int)(rest.len < 300 ? rest.len : 300), rest.ptr);
}

int bootstrap_line(struct bootstrap *bootstrap, struct str line, struct err *err)
{
	struct str rest = line, word;

	if (!str_starts(line, STR(GREETING)))
		return bootstrap_refuse_banner(line, err);
	rest = str_skip(rest, strlen(GREETING));
	word = str_take_word(&rest);
	if (str_eq(word, STR("fail")))
		return take_failure(rest, err);
	if (!bootstrap->greeted && str_eq(word, STR("hello")))
		return take_hello(bootstrap, rest, err);
	if (bootstrap->greeted && str_eq(word, STR("ready"))) {
		bootstrap->cached = str_eq(str_take_word(&rest), STR("cached"));
		return BOOTSTRAP_READY;
	}
	return bootstrap_refuse_banner(line, err);
}
