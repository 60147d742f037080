// SPDX-License-Identifier: MIT
/* The command: options, and the files of a tree. */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tool.h"
#include "store.h"
#include "work.h"

struct options {
	struct work work;
	const char *store, *all;
	bool verbose, prune;
	unsigned long max_mib, max_days;
};

/* A file of a tree. */
struct found {
	dev_t dev;
	ino_t ino;
	char *path;
};

static struct found *found;
static size_t nr_found;

/* nftw() has no argument to pass to it. */
static int add_found(const char *path, const struct stat *stat, int type,
		     struct FTW *where)
{
	(void)where;
	if (type != FTW_F || !S_ISREG(stat->st_mode) || !stat->st_size)
		return 0;
	if (!(nr_found & (nr_found - 1)))
		found = need(reallocarray(found, nr_found ? 2 * nr_found : 1,
					  sizeof(*found)));
	found[nr_found++] = (struct found){ stat->st_dev, stat->st_ino, format("%s", path) };
	return 0;
}

static int compare_inodes(const void *a, const void *b)
{
	const struct found *one = a, *other = b;

	if (one->dev != other->dev)
		return one->dev > other->dev ? 1 : -1;
	return (one->ino > other->ino) - (one->ino < other->ino);
}

/* The regular files below @dir, each inode once; no symbolic link is followed. */
static void find_files(const char *dir, struct work *work)
{
	char *path = realpath(dir, NULL);

	if (!path || nftw(path, add_found, 64, FTW_PHYS))
		die("cannot read %s: %s", dir, strerror(errno));
	free(path);
	if (nr_found)
		qsort(found, nr_found, sizeof(*found), compare_inodes);
	work->paths = need(calloc(nr_found + 1, sizeof(*work->paths)));
	for (size_t i = 0; i < nr_found; i++)
		if (!i || compare_inodes(&found[i - 1], &found[i]))
			work->paths[work->nr++] = found[i].path;
	free(found);
}

static void set_defaults(struct options *options)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*options = (struct options){
		.work.jobs = cpus > 0 ? cpus : 1,
		.max_mib = STORE_MAX_MIB, .max_days = STORE_MAX_DAYS,
	};
}

/* A device, or a pipe, would be replaced by a file. */
static void check_output(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		die("cannot write %s: it is not a regular file", path);
}

static void check_options(struct options *options, int files)
{
	struct work *work = &options->work;

	if (options->prune ? files || options->all || work->output :
	    !files == !options->all)
		die_usage("sframe needs files, --all or --prune");
	if (work->output && (files != 1 || options->store))
		die_usage("-o is for one file, and without --store");
	if (work->output)
		check_output(work->output);
	if (!options->store) {
		options->store = STORE_CACHE;
		store_look_into(STORE_PACKAGED);
	}
}

static void parse_options(struct options *options, int argc, char **argv)
{
	enum { STORE = 256, ALL, JOBS, FORCE, BY_CONTENT, PRUNE, MAX_SIZE, MAX_AGE };
	static const struct option names[] = {
		{ "store", required_argument, NULL, STORE },
		{ "all", required_argument, NULL, ALL },
		{ "jobs", required_argument, NULL, JOBS },
		{ "force", no_argument, NULL, FORCE },
		{ "by-content", no_argument, NULL, BY_CONTENT },
		{ "prune", no_argument, NULL, PRUNE },
		{ "max-size", required_argument, NULL, MAX_SIZE },
		{ "max-age", required_argument, NULL, MAX_AGE },
		{ "verbose", no_argument, NULL, 'v' },
		{ }
	};
	int option;

	set_defaults(options);
	opterr = 0;
	while ((option = getopt_long(argc, argv, "o:v", names, NULL)) != -1) {
		switch (option) {
		case 'o':
			options->work.output = optarg;
			break;
		case 'v':
			options->verbose = true;
			break;
		case STORE:
			options->store = optarg;
			break;
		case ALL:
			options->all = optarg;
			break;
		case JOBS:
			options->work.jobs = need_number("a number of processes", optarg);
			break;
		case FORCE:
			options->work.force = true;
			break;
		case BY_CONTENT:
			options->work.by_content = true;
			break;
		case PRUNE:
			options->prune = true;
			break;
		case MAX_SIZE:
			options->max_mib = need_number("a number of MiB", optarg);
			if (options->max_mib > UINT64_MAX >> 20)
				die_usage("not a number of MiB: %s", optarg);
			break;
		case MAX_AGE:
			options->max_days = need_number("a number of days", optarg);
			break;
		default:
			die_usage("no such option, or without its argument: %s",
				  argv[optind - 1]);
		}
	}
	check_options(options, argc - optind);
	options->work.paths = argv + optind;
	options->work.nr = argc - optind;
}

static int prune(const struct options *options)
{
	int store = store_open(options->store);
	struct store_pruned pruned;
	bool good;

	good = store_prune(store, (uint64_t)options->max_mib << 20, options->max_days,
			   &pruned);
	close(store);
	if (options->verbose)
		printf("%llu tables removed, of %llu bytes; %llu kept, of %llu\n",
		       (unsigned long long)pruned.removed,
		       (unsigned long long)pruned.removed_bytes,
		       (unsigned long long)pruned.kept,
		       (unsigned long long)pruned.kept_bytes);
	finish_output();
	if (!good)
		die("cannot remove all that has to go from %s", options->store);
	return 0;
}

int cmd_sframe(int argc, char **argv)
{
	struct options options;
	struct totals totals;

	parse_options(&options, argc, argv);
	if (options.prune)
		return prune(&options);
	if (!options.work.output)
		options.work.store = store_open(options.store);
	if (options.all) {
		options.work.tree = true;
		find_files(options.all, &options.work);
	}
	totals = work_run(&options.work);
	if (options.verbose)
		totals_print(&totals);
	finish_output();
	return totals.failed ? EXIT_FAILED : 0;
}
