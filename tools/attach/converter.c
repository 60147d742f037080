// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tool.h"
#include "converter.h"

/* Keeping a descriptor open keeps its table, and its file system busy. */
static void let_go(const struct files *files)
{
	for (const struct file *file = files->file; file < files->file + files->nr; file++) {
		if (file->attached >= 0)
			close(file->attached);
		if (!file->pending && file->fd >= 0)
			close(file->fd);
	}
}

/* Only when nobody else wants the CPUs. */
static void run(const struct work *work, const struct files *files, pid_t parent)
{
	const struct sched_param param = { 0 };
	struct store_pruned pruned;

	/* SIGHUP is for the parent. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	let_go(files);
	be_first_to_go();
	sched_setscheduler(0, SCHED_IDLE, &param);
	store_prune(work->store, (uint64_t)STORE_MAX_MIB << 20, STORE_MAX_DAYS, &pruned);
	work_run(work);
	store_prune(work->store, (uint64_t)STORE_MAX_MIB << 20, STORE_MAX_DAYS, &pruned);
	_exit(0);
}

/* Some of the pending files, as paths of this process. */
static void collect(struct work *work, struct files *files, bool anybodys)
{
	size_t most = anybodys ? CONVERTER_ANYBODYS : CONVERTER_FILES;

	for (size_t i = 0; i < files->nr && work->nr < most; i++) {
		struct file *file = &files->file[i];

		if (!file->pending || files_is_anybodys(file) != anybodys)
			continue;
		file->given = true;
		file->job = work->nr;
		work->paths[work->nr++] = format("/proc/self/fd/%d", file->fd);
	}
}

/* The files that it was to be given wait for another turn. */
static bool take_back(struct converter *converter, struct files *files)
{
	converter_free(converter);
	for (size_t i = 0; i < files->nr; i++)
		files->file[i].given = false;
	return false;
}

bool converter_start(struct converter *converter, struct files *files, int store)
{
	struct work work = {
		.store = store,
		.tree = true,
		.quiet = true,
		.jobs = sysconf(_SC_NPROCESSORS_ONLN),
	};
	pid_t parent = getpid();
	size_t size;

	work.paths = need(calloc(CONVERTER_FILES, sizeof(*work.paths)));
	/* There may be any number of those that anybody may have made. */
	collect(&work, files, false);
	if (!work.nr)
		collect(&work, files, true);
	converter->nr = work.nr;
	size = work.nr * sizeof(*converter->wrong);
	converter->wrong = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	work.wrong = converter->wrong;
	converter->pid = work.wrong == MAP_FAILED ? -1 : fork();
	if (!converter->pid)
		run(&work, files, parent);
	while (work.nr)
		free(work.paths[--work.nr]);
	free(work.paths);
	if (converter->pid < 0)
		return take_back(converter, files);
	/* Not for the readers of files that this process starts. */
	if (!madvise(converter->wrong, size, MADV_DONTFORK))
		return true;
	kill(converter->pid, SIGKILL);
	waitpid(converter->pid, NULL, 0);
	return take_back(converter, files);
}

bool converter_has_ended(struct converter *converter)
{
	return waitpid(converter->pid, NULL, WNOHANG) > 0;
}

char *converter_wrong(const struct converter *converter, const struct file *file,
		      bool *lasting)
{
	const struct wrong *wrong = &converter->wrong[file->job];

	*lasting = wrong->lasting;
	return *wrong->text ? escape(wrong->text, strnlen(wrong->text, WRONG_SIZE), "") : NULL;
}

void converter_free(struct converter *converter)
{
	if (converter->wrong != MAP_FAILED)
		munmap(converter->wrong, converter->nr * sizeof(*converter->wrong));
	*converter = (struct converter){ 0 };
}
