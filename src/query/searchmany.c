#include "query/searchmany.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/par.h"
#include "query/walk.h"

/*
 * The calling thread searches this number of files by itself before it starts the threads, since
 * starting them takes as long as searching some dozens of files.
 */
#define ALONE_MAX 128
#define BATCH_FILES 32
#define BATCHES_MAX 16 /* maximum number of batches in the ring (struct many) */
/*
 * If the lines of a batch have more bytes than this, its thread stops searching.  The calling
 * thread then searches the remaining files of the batch.  It reports each match at once, so it does
 * not have to collect the lines.
 */
#define COLLECTED_MAX ((size_t)256 << 10)

struct many;

struct file {
	char *path;
	struct entry entry; /* the entry, without its texts */
};

/* A line that matches or that was skipped. */
struct finding {
	uint32_t file; /* index in the batch */
	uint64_t line;
	size_t text, len; /* position and length of the line in the texts of the batch */
	size_t start, end;
	const char *missed; /* reason why the line was skipped; NULL: the line matches */
};

struct batch {
	struct many *many;
	struct file files[BATCH_FILES];
	size_t n_files;
	size_t searched; /* number of files whose search is complete */
	struct finding *findings;
	size_t n_findings, cap_findings;
	struct buf texts;
	uint64_t unread;
	int result;
	struct err err; /* error of the first file that was not searched, if result is negative */
	bool done;      /* guarded by the lock of struct many */
};

/* The objects that one thread uses at a time. */
struct tools {
	struct view *view;
	struct linesearch *lines;
	bool busy; /* guarded by the lock of struct many */
};

struct many {
	struct search *search;
	struct par *par; /* NULL until a batch is full */
	struct tools tools[PAR_MAX];
	unsigned n_tools;
	pthread_mutex_t lock;
	/* a ring of submitted batches, in the order of the walk */
	struct batch *batches[BATCHES_MAX];
	size_t first, n_batches;
	struct batch *filling; /* the batch to which the walk adds files; NULL: none */
	size_t n_alone; /* number of files that the calling thread has searched in the walk */
	bool stopped;   /* the visit function of the search has returned 1 */
	bool over;      /* no more results are needed; guarded by lock */
};

static bool is_over(struct many *many)
{
	pthread_mutex_lock(&many->lock);
	bool over = many->over;
	pthread_mutex_unlock(&many->lock);
	return over;
}

/* ----------------------------------------------------------- in the threads */

static void add_finding(struct batch *batch, struct finding finding)
{
	finding.file = (uint32_t)batch->searched;
	mem_grow(&batch->findings, &batch->cap_findings, batch->n_findings);
	batch->findings[batch->n_findings++] = finding;
}

static bool is_full(const struct batch *batch)
{
	return batch->texts.len + batch->n_findings * sizeof(*batch->findings) > COLLECTED_MAX;
}

static int collect_match(void *arg, const struct search_match *match, struct err *err)
{
	struct batch *batch = arg;

	if (is_full(batch) || is_over(batch->many))
		return 1;
	add_finding(batch, (struct finding){
				   .line = match->line,
				   .text = batch->texts.len,
				   .len = match->text.len,
				   .start = match->start,
				   .end = match->end,
			   });
	buf_add(&batch->texts, match->text.ptr, match->text.len);
	return 0;
}

static void collect_missed(void *arg, struct str path, uint64_t line, const char *why)
{
	add_finding(arg, (struct finding){ .line = line, .missed = why });
}

/* Search the files of a batch, until a file has too many matching lines or cannot be searched. */
static void search_batch(struct batch *batch, const struct tools *tools)
{
	const struct search *wanted = batch->many->search;
	struct search search = {
		.view = tools->view,
		.lines = tools->lines,
		.text_only = wanted->text_only,
		.visit = collect_match,
		.missed = wanted->missed ? collect_missed : NULL,
		.arg = batch,
	};

	tools->view->unread = 0;
	while (batch->searched < batch->n_files) {
		const struct file *file = &batch->files[batch->searched];
		size_t before = batch->n_findings;
		int r = search_file(&search, str_of(file->path), &file->entry, &batch->err);

		if (r != 0) {
			batch->n_findings = before;
			batch->result = r < 0 ? r : 0;
			break;
		}
		batch->searched++;
	}
	batch->unread = tools->view->unread;
}

static void run_batch(void *arg)
{
	struct batch *batch = arg;
	struct many *many = batch->many;
	struct tools *tools = many->tools;

	/* There are as many tools as threads, so at least one is free. */
	pthread_mutex_lock(&many->lock);
	while (tools->busy)
		tools++;
	tools->busy = true;
	bool over = many->over;
	pthread_mutex_unlock(&many->lock);
	if (!over)
		search_batch(batch, tools);
	pthread_mutex_lock(&many->lock);
	tools->busy = false;
	batch->done = true;
	pthread_mutex_unlock(&many->lock);
}

/* --------------------------------------------------- in the calling thread */

static void free_batch(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_files; i++)
		free(batch->files[i].path);
	free(batch->findings);
	buf_release(&batch->texts);
	free(batch);
}

static int report_finding(struct many *many, const struct batch *batch,
	const struct finding *finding, struct err *err)
{
	struct search *search = many->search;
	struct search_match match = {
		.path = str_of(batch->files[finding->file].path),
		.line = finding->line,
		.start = finding->start,
		.end = finding->end,
	};

	if (finding->missed) {
		search->missed(search->arg, match.path, match.line, finding->missed);
		return 0;
	}
	match.text = (struct str){ batch->texts.data ? batch->texts.data + finding->text : "",
		finding->len };
	return search->visit(search->arg, &match, err);
}

/* Report the findings of a batch, and search the files that its thread has not searched. */
static int report_batch(struct many *many, struct batch *batch, struct err *err)
{
	struct search *search = many->search;
	int r = 0;

	search->view->unread += batch->unread;
	for (size_t i = 0; r == 0 && i < batch->n_findings; i++)
		r = report_finding(many, batch, &batch->findings[i], err);
	if (r == 0 && batch->result < 0) {
		*err = batch->err;
		r = batch->result;
	}
	for (size_t i = batch->searched; r == 0 && i < batch->n_files; i++)
		r = search_file(search, str_of(batch->files[i].path), &batch->files[i].entry, err);
	many->stopped = r > 0;
	return r;
}

static bool is_done(struct many *many, const struct batch *batch)
{
	pthread_mutex_lock(&many->lock);
	bool done = batch->done;
	pthread_mutex_unlock(&many->lock);
	return done;
}

/* Wait for the oldest batch, and report it. */
static int report_oldest(struct many *many, struct err *err)
{
	struct batch *batch = many->batches[many->first];

	while (!is_done(many, batch))
		par_wait_some(many->par);
	many->first = (many->first + 1) % BATCHES_MAX;
	many->n_batches--;
	int r = report_batch(many, batch, err);
	free_batch(batch);
	return r;
}

/*
 * Start the threads, and make a view and a linesearch for each thread.  After a failure there may
 * be fewer threads or none.
 */
static void start_threads(struct many *many)
{
	struct search *search = many->search;
	unsigned threads = par_cpus();
	struct err ignored = { 0 };

	for (unsigned i = 0; i < threads; i++) {
		struct tools *tools = &many->tools[many->n_tools];

		tools->view = search->view->ops->again(search->view, &ignored);
		tools->lines = tools->view ? linesearch_again(search->lines, &ignored) : NULL;
		if (!tools->lines)
			break;
		many->n_tools++;
	}
	if (many->n_tools)
		many->par = par_new(many->n_tools);
}

/* Pass the current batch to a thread. */
static int submit_batch(struct many *many, struct err *err)
{
	struct batch *batch = many->filling;
	int r = 0;

	if (!many->par)
		start_threads(many);
	if (many->n_batches == BATCHES_MAX)
		r = report_oldest(many, err);
	if (r != 0 || !many->par) {
		many->filling = NULL;
		if (r == 0)
			r = report_batch(many, batch, err);
		free_batch(batch);
		return r;
	}
	many->batches[(many->first + many->n_batches++) % BATCHES_MAX] = batch;
	many->filling = NULL;
	par_submit(many->par, run_batch, batch);
	return 0;
}

static int add_file(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct many *many = arg;

	if (!search_wants(entry))
		return 0;
	if (many->n_alone < ALONE_MAX) {
		many->n_alone++;
		int r = search_file(many->search, path, entry, err);

		many->stopped = r > 0;
		return r;
	}
	if (!many->filling) {
		many->filling = mem_zalloc(sizeof(*many->filling));
		many->filling->many = many;
		many->filling->texts = (struct buf)BUF_INIT;
	}
	struct file *file = &many->filling->files[many->filling->n_files++];
	file->path = mem_dup(path.ptr, path.len);
	file->entry = *entry;
	file->entry.name = file->entry.target = STR("");
	return many->filling->n_files < BATCH_FILES ? 0 : submit_batch(many, err);
}

/*
 * Report all batches.  The calling thread searches the last batch itself, since it would otherwise
 * only wait.
 */
static int report_rest(struct many *many, struct err *err)
{
	int r = 0;

	while (r == 0 && many->n_batches)
		r = report_oldest(many, err);
	if (r == 0 && many->filling)
		r = report_batch(many, many->filling, err);
	return r;
}

static void end_threads(struct many *many)
{
	pthread_mutex_lock(&many->lock);
	many->over = true;
	pthread_mutex_unlock(&many->lock);
	par_free(many->par);
	for (; many->n_batches; many->n_batches--) {
		free_batch(many->batches[many->first]);
		many->first = (many->first + 1) % BATCHES_MAX;
	}
	if (many->filling)
		free_batch(many->filling);
	for (unsigned i = 0; i < PAR_MAX; i++) {
		view_closep(&many->tools[i].view);
		linesearch_free(many->tools[i].lines);
	}
	pthread_mutex_destroy(&many->lock);
}

bool searchmany_possible(const struct search *search)
{
	return search->view->ops->again && !search->seen && par_cpus() > 1;
}

int searchmany_run(struct search *search, struct str base, struct err *err)
{
	struct many many = { .search = search, .lock = PTHREAD_MUTEX_INITIALIZER };
	int r = walk_tree(search->view, base, add_file, &many, err);

	if (r >= 0 && !many.stopped)
		r = report_rest(&many, err);
	end_threads(&many);
	return r < 0 ? r : 0;
}
