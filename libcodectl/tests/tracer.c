// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tracer.h"

#define TRACEFS		"/sys/kernel/tracing"
#define DATA		"user_events_data"

struct tracer tracers[NR_TRACERS];
int tracer_open_error, tracer_register_error, tracer_random_error;
int tracer_write_error;
unsigned int tracer_write_errors, tracer_deletes;

bool tracer_is_real(void)
{
	static int real = -1;

	if (real < 0)
		real = getenv("EXPECT_ALL_FEATURES") ||
		       !access(TRACEFS "/" DATA, R_OK | W_OK);

	return real;
}

static void keep(struct tracer *tracer, const struct record *record)
{
	if (tracer->nr == tracer->size) {
		tracer->size = tracer->size * 2 + 64;
		tracer->records = realloc(tracer->records, tracer->size *
					  sizeof(*tracer->records));
		CHECK(tracer->records);
	}
	tracer->records[tracer->nr++] = *record;
}

/* --- the stand-in: one word and one file, as the library has */

#define INDEX	3

static struct {
	pthread_mutex_t lock;
	uint32_t *word;
	ino_t file;
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* As the kernel's struct user_reg, or the first part of user_unreg. */
struct registration {
	uint32_t size;
	uint8_t bit;
	uint8_t enable_size;
	uint16_t flags;
	uint64_t addr;
	uint64_t name_args;
	uint32_t index;
} __attribute__((__packed__));

struct payload {
	uint64_t copy;
	uint64_t id;
	uint64_t start;
	uint64_t len;
	uint32_t pid;
	uint32_t action;
	uint32_t name_loc;
} __attribute__((__packed__));

static bool fake_is_enabled(void)
{
	unsigned int i;

	for (i = 0; i < NR_TRACERS; i++) {
		if (tracers[i].on)
			return true;
	}

	return false;
}

/* The kernel writes its bit whatever happens to a tracer. */
static void fake_write_bit(void)
{
	if (!fake.word)
		return;
	if (fake_is_enabled())
		__atomic_fetch_or(fake.word, ASKED,
				  __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(fake.word, ~ASKED,
				   __ATOMIC_SEQ_CST);
}

static int fake_open(void)
{
	struct stat st;
	int fd;

	if (tracer_open_error) {
		errno = tracer_open_error;
		return -1;
	}
	fd = memfd_create("user_events", MFD_CLOEXEC);
	CHECK_EQ(fstat(fd, &st), 0);
	fake.file = st.st_ino;

	return fd;
}

static bool is_fake(int fd)
{
	struct stat st;

	return fake.file && !fstat(fd, &st) && st.st_ino == fake.file;
}

static int fake_register(struct registration *reg)
{
	CHECK_EQ(reg->size, sizeof(*reg));
	CHECK_EQ(reg->bit, 31);
	CHECK_EQ(reg->enable_size, sizeof(uint32_t));
	CHECK(!strncmp((char *)reg->name_args, "codectl_name u64 copy;", 22));
	if (fake.word)
		return -EADDRINUSE;
	if (tracer_register_error)
		return -tracer_register_error;
	fake.word = (uint32_t *)reg->addr;
	reg->index = INDEX;
	fake_write_bit();

	return 0;
}

static int fake_unregister(const struct registration *unreg)
{
	if (!fake.word)
		return -ENOENT;
	CHECK(fake.word == (uint32_t *)unreg->addr);
	__atomic_fetch_and(fake.word, ~ASKED, __ATOMIC_SEQ_CST);
	fake.word = NULL;

	return 0;
}

static int fake_ioctl(unsigned long request, void *arg)
{
	int err;

	pthread_mutex_lock(&fake.lock);
	switch (_IOC_NR(request)) {
	case 0:
		err = fake_register(arg);
		break;
	case 1:
		CHECK_EQ(*(char *)arg, '\0');
		tracer_deletes++;
		err = -ENOENT;
		break;
	default:
		err = fake_unregister(arg);
	}
	pthread_mutex_unlock(&fake.lock);
	if (err)
		errno = -err;

	return err ? -1 : 0;
}

static ssize_t fake_writev(const struct iovec *parts)
{
	const struct payload *payload = parts[1].iov_base;
	struct record record = {
		.copy = payload->copy, .id = payload->id,
		.start = payload->start,
		.len = payload->len, .pid = payload->pid,
		.action = payload->action,
	};
	bool enabled;
	unsigned int i;

	if (tracer_write_errors) {
		tracer_write_errors--;
		errno = tracer_write_error;
		return -1;
	}
	CHECK_EQ(*(uint32_t *)parts[0].iov_base, INDEX);
	CHECK_EQ(parts[1].iov_len, sizeof(*payload));
	CHECK_EQ(payload->name_loc, parts[2].iov_len << 16);
	CHECK_EQ(strlen(parts[2].iov_base) + 1, parts[2].iov_len);
	snprintf(record.name, sizeof(record.name), "%s",
		 (char *)parts[2].iov_base);

	pthread_mutex_lock(&fake.lock);
	enabled = fake_is_enabled();
	for (i = 0; i < NR_TRACERS; i++) {
		if (tracers[i].on)
			keep(&tracers[i], &record);
	}
	pthread_mutex_unlock(&fake.lock);
	if (!enabled)
		errno = EBADF;

	return enabled ? (ssize_t)(parts[1].iov_len + parts[2].iov_len) : -1;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (!tracer_is_real() && strstr(path, DATA))
		return fake_open();

	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (is_fake(fd))
		return fake_ioctl(request, arg);

	return syscall(SYS_ioctl, fd, request, arg);
}

ssize_t getrandom(void *to, size_t len, unsigned int flags)
{
	if (tracer_random_error) {
		errno = tracer_random_error;
		return -1;
	}

	return syscall(SYS_getrandom, to, len, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int nr)
{
	return is_fake(fd) ? fake_writev(parts) :
	       syscall(SYS_writev, fd, parts, nr);
}

/* --- ftrace */

static void put(const char *dir, const char *where, const char *what)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, where);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, what, strlen(what)), strlen(what));
	close(fd);
}

static uint64_t field(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	if (!at)
		printf("# no %s in: %s\n", key, line);
	CHECK(at);

	return strtoull(at + strlen(key), NULL, 0);
}

static void parse(struct tracer *tracer, const char *line)
{
	struct record record;
	const char *at = strstr(line, ": codectl_name: ");
	const char *name, *time;

	CHECK(!strstr(line, "LOST"));
	if (!at)
		return;
	for (time = at; time[-1] != ' '; time--)
		;
	record = (struct record) {
		.time = strtoull(time, NULL, 10), .copy = field(at, " copy="),
		.id = field(at, " id="), .start = field(at, " start="),
		.len = field(at, " len="), .pid = field(at, " pid="),
		.action = field(at, " action="),
	};
	name = strstr(at, " name=");
	CHECK(name);
	snprintf(record.name, sizeof(record.name), "%.*s",
		 (int)strcspn(name + 6, "\n"), name + 6);
	keep(tracer, &record);
}

static int by_time(const void *a, const void *b)
{
	const struct record *one = a, *other = b;

	return one->time < other->time ? -1 : one->time > other->time;
}

static void parse_lines(struct tracer *tracer, char *text)
{
	char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		*end = '\0';
		parse(tracer, text);
	}
	tracer->rest_len = strlen(text);
	CHECK(tracer->rest_len < sizeof(tracer->rest));
	memcpy(tracer->rest, text, tracer->rest_len);
}

/* What one CPU writes may be read before what another has written. */
static void read_pipe(struct tracer *tracer)
{
	static __thread char buffer[65536];
	ssize_t got;

	do {
		memcpy(buffer, tracer->rest, tracer->rest_len);
		got = read(tracer->pipe, buffer + tracer->rest_len,
			   sizeof(buffer) - tracer->rest_len - 1);
		if (got > 0) {
			buffer[tracer->rest_len + got] = '\0';
			parse_lines(tracer, buffer);
		}
	} while (got > 0);
	CHECK(!got || errno == EAGAIN);
	qsort(tracer->records, tracer->nr, sizeof(*tracer->records), by_time);
}

/* --- both */

/* With everything that it has enabled. */
void tracer_remove_all(void)
{
	struct tracer *tracer;

	if (!tracer_is_real())
		return;
	for (tracer = tracers; tracer < tracers + NR_TRACERS; tracer++) {
		snprintf(tracer->dir, sizeof(tracer->dir),
			 TRACEFS "/instances/codectl-test-%zd",
			 tracer - tracers);
		rmdir(tracer->dir);
	}
}

/* A failed test may have left them. */
void tracer_open_all(void)
{
	struct tracer *tracer;
	char path[192];

	tracer_remove_all();
	if (!tracer_is_real())
		return;
	tracer_wait_gone();
	/*
	 * Instances take this from the top: with task names the kernel patches itself
	 * each time that one of them is enabled.
	 */
	put(TRACEFS, "options/record-cmd", "0");
	for (tracer = tracers; tracer < tracers + NR_TRACERS; tracer++) {
		CHECK_EQ(mkdir(tracer->dir, 0700), 0);
		put(tracer->dir, "trace_clock", "counter");
		snprintf(path, sizeof(path), "%s/trace_pipe", tracer->dir);
		tracer->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		CHECK(tracer->pipe >= 0);
	}
	put(TRACEFS, "options/record-cmd", "1");
}

/* Of a millisecond each. */
static unsigned int max_tries(void)
{
	const char *scale = getenv("TEST_TIME_SCALE");

	return 10000 * (scale ? atoi(scale) : 1);
}

/* The kernel removes the event some time after the last process that has it. */
void tracer_wait_gone(void)
{
	unsigned int tries = max_tries();

	for (; tracer_is_real() && tries; tries--) {
		if (access(TRACEFS "/events/user_events/codectl_name", F_OK))
			return;
		usleep(1000);
	}
	CHECK(tries);
}

static void switch_tracer(struct tracer *tracer, bool on)
{
	if (tracer_is_real()) {
		tracer->on = on;
		put(tracer->dir, "events/user_events/codectl_name/enable",
		    on ? "1" : "0");
		return;
	}
	pthread_mutex_lock(&fake.lock);
	tracer->on = on;
	fake_write_bit();
	pthread_mutex_unlock(&fake.lock);
}

void tracer_on(struct tracer *tracer)
{
	tracer_read(tracer);
	tracer->nr = 0;
	switch_tracer(tracer, true);
}

void tracer_off(struct tracer *tracer)
{
	switch_tracer(tracer, false);
	tracer_read(tracer);
}

void tracer_read(struct tracer *tracer)
{
	if (tracer_is_real())
		read_pipe(tracer);
}

/* Replays of which it has both the begin and the end. */
static size_t count_replays(const struct tracer *tracer)
{
	bool begun = false;
	size_t i, nr = 0;

	for (i = 0; i < tracer->nr; i++) {
		if (tracer->records[i].action == CODECTL_NAME_BEGIN)
			begun = true;
		if (tracer->records[i].action == CODECTL_NAME_END)
			nr += begun;
	}

	return nr;
}

void tracer_wait(struct tracer *tracer, size_t nr)
{
	unsigned int tries = max_tries();
	size_t have = 0;

	for (; tries; tries--) {
		tracer_read(tracer);
		pthread_mutex_lock(&fake.lock);
		have = count_replays(tracer);
		pthread_mutex_unlock(&fake.lock);
		if (have >= nr)
			return;
		usleep(1000);
	}
	printf("# %zu of %zu replays\n", have, nr);
	CHECK(tries);
}
