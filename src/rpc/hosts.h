/*
 * hosts - reads hosts.toml, the list of hosts to which questions can be sent.
 *
 * The file has a table [hosts.NAME] for each host; docs/QUERY.md lists its keys.  An unknown key, a
 * value of the wrong type, and a table or key that is given twice are errors with line and column.
 * If such mistakes were ignored, a misspelt key could give an agent more rights than its owner
 * wanted.
 *
 * No text of the file becomes an option of a program by accident: names, targets and paths that
 * begin with '-' are refused, and sshargv.h checks the list of options of ssh.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "core/param.h"
#include "core/str.h"

#define HOSTS_SIZE_MAX ((size_t)256 << 10)
#define HOSTS_MAX 1024
#define HOSTS_NAME_MAX 64
#define HOSTS_TEXT_MAX 4096 /* maximum length of a target, path or option */
#define HOSTS_LIST_MAX 64

enum hosts_transport { HOSTS_SSH, HOSTS_LOCAL };
enum hosts_mode { HOSTS_BOOTSTRAP, HOSTS_PREINSTALLED };

struct hosts_host {
	const char *name;
	enum hosts_transport transport;
	enum hosts_mode agent_mode;
	const char *ssh_target; /* the host's name if not given; NULL for a local host */
	const char *agent_path; /* NULL if not given */
	bool sudo;
	bool allow_restore;
	struct param_texts ssh_options;
	struct param_texts restore_paths;
};

struct hosts {
	const char *path; /* path of the file */
	bool has_file;    /* false: no file was named, and the usual file does not exist */
	const struct hosts_host *list;
	size_t count;
};

/*
 * Parse the text of a hosts file.  Messages call the file 'name'.  Everything in *hosts is in
 * arena.
 */
int hosts_parse(struct str text, const char *name, struct arena *arena, struct hosts *hosts,
	struct err *err);
/*
 * Read the file at the path 'given'.  If 'given' is NULL, read the file that $STRATA_HOSTS names,
 * or else the usual file $XDG_CONFIG_HOME/strata/hosts.toml.  Only the usual file may be missing.
 * In that case there are no hosts.
 */
int hosts_read(const char *given, struct arena *arena, struct hosts *hosts, struct err *err);
/*
 * Returns the host with this name.  Without such a host, returns NULL and an error that lists the
 * hosts.
 */
const struct hosts_host *hosts_find(const struct hosts *hosts, const char *name, struct err *err);
const char *hosts_transport_name(enum hosts_transport transport);
const char *hosts_mode_name(enum hosts_mode mode);
