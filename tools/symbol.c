// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer.h"
#include "holder.h"
#include "owner.h"
#include "symbol.h"
#include "tool.h"

/* Limit for the bytes of all answers, and of those for an owner. */
#define ANSWERS_MAX	(256UL << 20)
#define OWNER_ANSWERS_MAX	(64UL << 20)

unsigned int holder_seconds = 60, holder_seconds_in_all = 300;
volatile sig_atomic_t symbols_stop;

/*
 * In a container that root has made there may be many users: those beyond share a
 * process.
 */
#define MAX_HOLDERS	128
/* How long a recording may wait for a file to be taken, once for each process. */
#define OPEN_MS		1000
/* Time between two checks of symbols_stop. */
#define STEP_MS		500

/* The process for an owner. */
struct holder {
	struct holder *next;
	bool of_ended;		/* for processes that had ended, and users beyond MAX_HOLDERS */
	uid_t owner;
	pid_t pid;
	int channel;		/* -1: it is gone, or does not answer */
	bool late;		/* it has not taken a file in time */
	int64_t waited_ms;	/* for answers */
	struct symbols *symbols;
	size_t answered;	/* bytes */
	uint32_t nr_files;
};

struct found {
	uint64_t offset;	/* first, for by_offset() */
	bool known;
	struct symbol symbol;
};

struct symbol_file {
	struct symbol_file *next;
	struct holder *holder;
	uint32_t number;
	bool lost;		/* not all requests have been answered */
	uint64_t ended;		/* before that; 0: it has not */
	uint32_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX];
	void *found;		/* tree by offset */
	struct found **wanted;	/* those that are not known yet */
	size_t nr_wanted, room;
};

struct symbols {
	struct holder *holders;
	size_t nr_holders;
	struct symbol_file *files;
	size_t answered;	/* by all holders */
	unsigned long nr_lost;
};

struct symbols *symbols_new(void)
{
	return need(calloc(1, sizeof(struct symbols)));
}

/* -------------------------------------------------------------------- holders */

/* Holders that were given up, and may not have ended. */
static pid_t *given_up;
static size_t nr_given_up;

static void reap_given_up(void)
{
	size_t left = 0;

	for (size_t i = 0; i < nr_given_up; i++)
		if (!waitpid(given_up[i], NULL, WNOHANG))
			given_up[left++] = given_up[i];
	nr_given_up = left;
}

/* It may not even end: nobody waits for that. */
static void give_up(struct holder *holder)
{
	if (holder->channel < 0)
		return;
	close(holder->channel);
	holder->channel = -1;
	kill(holder->pid, SIGKILL);
	given_up = need(reallocarray(given_up, nr_given_up + 1, sizeof(*given_up)));
	given_up[nr_given_up++] = holder->pid;
	reap_given_up();
}

static void __attribute__((noreturn)) run(int channel, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	holder_run(channel);
}

/* Without one, its files have no names. */
static void start(struct holder *holder)
{
	pid_t parent = getpid();
	int ends[2];

	reap_given_up();
	holder->channel = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	fflush(stdout);
	holder->pid = fork();
	if (!holder->pid)
		run(ends[1], parent);
	close(ends[1]);
	if (holder->pid < 0)
		close(ends[0]);
	else
		holder->channel = ends[0];
}

static struct holder *find_holder(struct symbols *symbols, bool of_ended, uid_t owner)
{
	struct holder *holder = symbols->holders;

	while (holder && (holder->of_ended != of_ended || (!of_ended && holder->owner != owner)))
		holder = holder->next;
	return holder;
}

static struct holder *holder_of(struct symbols *symbols, pid_t pid)
{
	uid_t owner = 0;
	/* A process that cannot be looked at must not keep others from their names. */
	bool of_ended = !owner_of(pid, &owner) && errno != ETIMEDOUT;
	struct holder *holder = find_holder(symbols, of_ended, owner);

	if (!holder && symbols->nr_holders >= MAX_HOLDERS) {
		of_ended = true;
		holder = find_holder(symbols, of_ended, owner);
	}
	if (holder)
		return holder;
	holder = need(calloc(1, sizeof(*holder)));
	holder->symbols = symbols;
	holder->of_ended = of_ended;
	holder->owner = owner;
	start(holder);
	holder->next = symbols->holders;
	symbols->holders = holder;
	symbols->nr_holders++;
	return holder;
}

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(2 * sizeof(int))];
};

static bool is_ready(const struct holder *holder, int ms)
{
	struct pollfd room = { .fd = holder->channel, .events = POLLOUT };

	return poll(&room, 1, ms) == 1;
}

/* False if it is gone, or takes nothing. */
static bool send_request(struct holder *holder, const struct holder_request *request,
			 const int *given)
{
	struct iovec data = {
		(void *)request,
		offsetof(struct holder_request, record.path) + strlen(request->record.path) + 1,
	};
	union control control = {
		.header = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS },
	};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = given ? &control : NULL,
		.msg_controllen = given ? sizeof(control) : 0,
	};

	if (given)
		memcpy(CMSG_DATA(&control.header), given, 2 * sizeof(int));
	return sendmsg(holder->channel, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void lose(struct symbol_file *file)
{
	file->holder->symbols->nr_lost += !file->lost;
	file->lost = true;
}

/* During a recording nobody waits: a file that is not taken has no names. */
static void send_file(struct symbol_file *file, const struct holder_request *request)
{
	struct holder *holder = file->holder;

	if (holder->channel < 0)
		return;
	if (is_ready(holder, holder->late ? 0 : OPEN_MS) && send_request(holder, request, NULL))
		return;
	holder->late = true;
	lose(file);
}

static struct symbol_file *add(struct symbols *symbols, struct holder_request *request)
{
	struct symbol_file *file = need(calloc(1, sizeof(*file)));

	file->holder = holder_of(symbols, request->pid);
	file->number = file->holder->nr_files++;
	file->next = symbols->files;
	symbols->files = file;
	request->file = file->number;
	send_file(file, request);
	return file;
}

struct symbol_file *symbols_add_file(struct symbols *symbols, pid_t pid,
				     const struct file_record *record)
{
	struct holder_request request = {
		.verb = HOLDER_FILE, .pid = pid, .record = *record,
	};

	return add(symbols, &request);
}

struct symbol_file *symbols_add_map(struct symbols *symbols, pid_t pid)
{
	struct holder_request request = { .verb = HOLDER_MAP, .pid = pid };

	return add(symbols, &request);
}

void symbols_end_map(struct symbol_file *map, uint64_t time)
{
	if (!map->ended)
		map->ended = time;
}

static void free_found(void *node)
{
	struct found *found = node;

	symbol_free(&found->symbol);
	free(found);
}

void symbols_free(struct symbols *symbols)
{
	struct symbol_file *file, *next_file;
	struct holder *holder, *next;

	for (file = symbols->files; file; file = next_file) {
		next_file = file->next;
		tdestroy(file->found, free_found);
		free(file->wanted);
		free(file);
	}
	for (holder = symbols->holders; holder; holder = next) {
		next = holder->next;
		give_up(holder);
		free(holder);
	}
	free(symbols);
}

/* -------------------------------------------------------------------- answers */

/* The wanted offsets, in a file that nobody can change; or -1. */
static int write_offsets(const struct symbol_file *file)
{
	int fd = memfd_create("offsets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
	int copy = -1;

	if (!to) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (size_t i = 0; i < file->nr_wanted; i++)
		fwrite(&file->wanted[i]->offset, sizeof(uint64_t), 1, to);
	if (!fflush(to) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	fclose(to);
	return copy;
}

/* Waits holder_seconds, unless @holder has already taken too long. */
static bool wait_for(struct holder *holder, int fd, short events)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };
	const int64_t left = holder_seconds_in_all * 1000LL - holder->waited_ms;
	const int64_t most = holder_seconds * 1000LL < left ? holder_seconds * 1000LL : left;
	const int64_t before = now_ms();
	int64_t waited = 0;
	int ready = 0;

	/* A signal right before poll() does not interrupt it. */
	for (; ready <= 0 && waited < most && !symbols_stop; waited = now_ms() - before)
		ready = poll(&poll_fd, 1, most - waited < STEP_MS ? most - waited : STEP_MS);
	holder->waited_ms += waited;
	return ready > 0;
}

static bool may_answer(struct holder *holder, size_t len)
{
	holder->answered += len;
	holder->symbols->answered += len;
	return holder->answered <= OWNER_ANSWERS_MAX &&
	       holder->symbols->answered <= ANSWERS_MAX;
}

/* Until the end, or until @holder is given up. */
static void read_answers(struct holder *holder, int from, FILE *to)
{
	static char buffer[1 << 16];
	ssize_t got;

	for (;;) {
		got = wait_for(holder, from, POLLIN) ? read(from, buffer, sizeof(buffer)) : -1;
		if (!got)
			return;
		if (got < 0 || !may_answer(holder, got)) {
			give_up(holder);
			return;
		}
		fwrite(buffer, 1, got, to);
	}
}

/*
 * What is not answered has no name.  For a missing file there are no answers, either,
 * but signs of life, until their end.
 */
static void take_answers(struct symbol_file *file, struct span answers)
{
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_len;
	bool good, any;

	if (!answers.len || file->holder->channel < 0)
		lose(file);
	while (answers.len && *answers.at == HOLDER_ALIVE)
		span_take(&answers, HOLDER_ALIVE);
	any = answers.len && *answers.at == HOLDER_ANSWERS;
	span_take(&answers, HOLDER_ANSWERS);
	good = any && answer_take_build_id(&answers, build_id, &build_id_len);
	if (good) {
		file->build_id_len = build_id_len;
		memcpy(file->build_id, build_id, build_id_len);
	}
	for (size_t i = 0; i < file->nr_wanted; i++) {
		file->wanted[i]->known = true;
		good = good && answer_take(&answers, &file->wanted[i]->symbol);
	}
	file->nr_wanted = 0;
	if (any && !good)
		lose(file);
}

static void ask(struct symbol_file *file, int offsets, FILE *to)
{
	const struct holder_request request = {
		.verb = HOLDER_FIND, .file = file->number, .nr = file->nr_wanted,
		.ended = file->ended,
	};
	int ends[2], given[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	given[0] = offsets;
	given[1] = ends[1];
	if (!wait_for(file->holder, file->holder->channel, POLLOUT) ||
	    !send_request(file->holder, &request, given))
		give_up(file->holder);
	close(ends[1]);
	read_answers(file->holder, ends[0], to);
	close(ends[0]);
}

static void find_wanted(struct symbol_file *file)
{
	int offsets = file->holder->channel >= 0 ? write_offsets(file) : -1;
	char *text;
	size_t size;
	FILE *to = need(open_memstream(&text, &size));

	if (offsets >= 0) {
		ask(file, offsets, to);
		close(offsets);
	}
	if (fclose(to))
		need(NULL);
	take_answers(file, (struct span){ text, size });
	free(text);
}

/* -------------------------------------------------------------------- looking up */

static int by_offset(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static struct found *get_found(struct symbol_file *file, uint64_t offset)
{
	struct found **node = tfind(&offset, &file->found, by_offset), *found;

	if (node)
		return *node;
	found = need(calloc(1, sizeof(*found)));
	found->offset = offset;
	need(tsearch(found, &file->found, by_offset));
	if (file->nr_wanted == file->room) {
		file->room = file->room ? 2 * file->room : 64;
		file->wanted = need(reallocarray(file->wanted, file->room,
						 sizeof(*file->wanted)));
	}
	file->wanted[file->nr_wanted++] = found;
	return found;
}

size_t symbol_build_id(const struct symbol_file *file, const uint8_t **build_id)
{
	*build_id = file->build_id;
	return file->build_id_len;
}

unsigned long symbols_lost(const struct symbols *symbols)
{
	return symbols->nr_lost;
}

void symbol_want(struct symbol_file *file, uint64_t offset)
{
	get_found(file, offset);
}

const struct symbol *symbol_find(struct symbol_file *file, uint64_t offset)
{
	struct found *found = get_found(file, offset);

	if (!found->known)
		find_wanted(file);
	return &found->symbol;
}
