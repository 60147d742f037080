// SPDX-License-Identifier: MIT
/*
 * An agent for tests: interrupts threads, walks their stacks by codectl_lookup(), and
 * compares the Java methods with what AsyncGetCallTrace() says at that instant.
 */
#define _GNU_SOURCE
#include <codectl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "../vm.h"
#include "walk.h"

#define MAX_FRAMES	2048
#define MAX_THREADS	256
#define MAX_WRONG	20

/* Offsets in a frame of the interpreter: frame_x86.hpp. */
#define INTERPRETER_METHOD	24

struct call_frame {
	jint bci;
	jmethodID method;
};

struct call_trace {
	JNIEnv *env;
	jint nr;
	struct call_frame *frames;
};

/**
 * struct walk - a stack, walked by the tables
 * @ip: addresses, the innermost first; all others are return addresses
 * @fp: FP in each frame
 * @info: bits of the rule of each
 * @size: CFA - SP in the first one
 * @nr: how many
 * @next: the address after the last one
 * @error: why there was no rule for @next, or 0: it is not in the code cache
 */
struct walk {
	uint64_t ip[MAX_FRAMES];
	uint64_t fp[MAX_FRAMES];
	uint8_t info[MAX_FRAMES];
	int32_t size;
	int nr;
	uint64_t next;
	int error;
};

static void (*async_get_call_trace)(struct call_trace *, jint, void *);
static uint64_t low, high;
static unsigned long wanted = 10000;

static struct {
	unsigned long samples, elsewhere, silent[16], compared, agree, whole, wrong;
	unsigned long guessed, no_rule[3];
	unsigned long frames, compiled, interpreted;
} count;

static pthread_t threads[MAX_THREADS];
static unsigned int nr_threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread JNIEnv *this_env __attribute__((tls_model("initial-exec")));
static __thread uint64_t stack_low __attribute__((tls_model("initial-exec")));
static __thread uint64_t stack_high __attribute__((tls_model("initial-exec")));

/* One sample at a time. */
static struct walk walk;
static struct call_frame frames[MAX_FRAMES];
static int busy;

static bool in_cache(uint64_t ip)
{
	return ip >= low && ip < high;
}

static bool load(uint64_t address, uint64_t *value)
{
	if (address < stack_low || address + sizeof(*value) > stack_high || address % 8)
		return false;
	*value = *(const uint64_t *)address;

	return true;
}

/* As the kernel does: unwind_user_next_common(). */
static int step(const struct codectl_rule *rule, uint64_t *ip, uint64_t *sp, uint64_t *fp)
{
	uint64_t base = rule->info & CODE_FRE_BASE_SP ? *sp : *fp, cfa, from;

	if (rule->info & (CODE_FRE_UNKNOWN | CODE_FRE_OUTERMOST))
		return -ENODATA;
	cfa = base + rule->cfa_off;
	from = cfa;
	if (rule->info & CODE_FRE_SP_SAVED) {
		from = base;
		if (!load(cfa, &cfa))
			return -EFAULT;
	}
	if (cfa <= *sp || !load(from + rule->ra_off, ip))
		return -EFAULT;
	if (rule->info & CODE_FRE_FP_SAVED && !load(from + rule->fp_off, fp))
		return -EFAULT;
	if (rule->info & CODE_FRE_FP_UNDEF)
		*fp = 0;
	*sp = cfa;

	return 0;
}

static void walk_stack(const ucontext_t *context)
{
	uint64_t ip = context->uc_mcontext.gregs[REG_RIP];
	uint64_t sp = context->uc_mcontext.gregs[REG_RSP];
	uint64_t fp = context->uc_mcontext.gregs[REG_RBP];
	struct codectl_rule rule;

	walk.error = 0;
	for (walk.nr = 0; walk.nr < MAX_FRAMES && in_cache(ip); walk.nr++) {
		int ret = codectl_lookup(ip - (walk.nr > 0), &rule);

		walk.ip[walk.nr] = ip;
		walk.fp[walk.nr] = fp;
		walk.info[walk.nr] = ret ? 0 : rule.info;
		if (!ret)
			ret = step(&rule, &ip, &sp, &fp);
		if (!walk.nr)
			walk.size = sp - context->uc_mcontext.gregs[REG_RSP];
		if (ret) {
			walk.error = ret;
			walk.nr++;
			break;
		}
	}
	walk.next = ip;
}

static void *method_of(jmethodID method)
{
	return method ? *(void **)method : NULL;
}

/* AsyncGetCallTrace() may not know methods of hidden classes: these match any method. */
static bool is_theirs(int at, const void *method)
{
	const void *theirs = method_of(frames[at].method);

	return !theirs || theirs == method;
}

/* The Method that the code at @ip was compiled from, or 0; @id: the number of its compilation. */
static uint64_t compiled_from(uint64_t ip, uint32_t *id)
{
	struct vm_blob blob;

	if (!vm_blob_at(ip, &blob))
		return 0;
	*id = blob.id;

	return blob.method;
}

/* The first frame of AsyncGetCallTrace() from @at on that is of @method, or -1. */
static int find_method(uint64_t method, int at, int nr)
{
	for (; at < nr; at++) {
		if (is_theirs(at, (void *)(uintptr_t)method))
			return at;
	}

	return -1;
}

/* The methods inlined where frame @i returns to, if they are known. */
static const struct place *place_of(int i, uint32_t id)
{
	const struct compiled *compiled = methods_find(walk.ip[i] - 1);

	/*
	 * A frame that will be deoptimised returns to its own stubs.  There may already be
	 * other code there, whose event has not come yet.
	 */
	if (!i || !compiled || walk.ip[i] >= compiled->end || compiled->id != id)
		return NULL;

	return methods_place(compiled, walk.ip[i], true);
}

/* The frame of AsyncGetCallTrace() after those of @place; -1 if they differ. */
static int match_place(const struct place *place, int at, int nr)
{
	uint32_t j;

	for (j = 0; j < place->nr; j++, at++) {
		if (at >= nr || !is_theirs(at, method_of(place->methods[j])))
			return -1;
	}

	return at;
}

static int match_interpreted(int i, int at, int nr)
{
	uint64_t method;

	if (at >= nr || !load(walk.fp[i] - INTERPRETER_METHOD, &method) ||
	    !is_theirs(at, (void *)(uintptr_t)method))
		return -1;

	return at + 1;
}

static bool match(int i, int *at, int nr, int *where);

/* Any number of frames may be inlined, if the last one is of the compiled method. */
static bool match_some(uint64_t method, int i, int *at, int nr, int *where)
{
	int next = *at;

	*where = i;
	while ((next = find_method(method, next, nr)) >= 0) {
		*at = ++next;
		if (match(i + 1, at, nr, where))
			return true;
	}

	return false;
}

/*
 * Do the frames from @i on match those of AsyncGetCallTrace() from @*at on?  If not, @*where is
 * the first one that differs.
 */
static bool match(int i, int *at, int nr, int *where)
{
	int end = walk.nr - (walk.error != 0), next;

	for (; i < end; i++) {
		const struct place *place;
		uint64_t method;
		uint32_t id = 0;

		method = compiled_from(walk.ip[i] - (i > 0), &id);
		/* In the first Java frame, AsyncGetCallTrace() uses a place nearby. */
		place = *at ? place_of(i, id) : NULL;
		if (walk.info[i] & CODE_FRE_SP_SAVED)
			next = match_interpreted(i, *at, nr);
		else if (!method)
			continue;
		else if (place)
			next = match_place(place, *at, nr);
		else
			return match_some(method, i, at, nr, where);
		if (next < 0) {
			*where = i;
			return false;
		}
		*at = next;
	}

	return true;
}

/* Return: the first frame of the walk that differs, or -1. */
static int compare(int nr, int *at)
{
	int where = 0;

	*at = 0;

	return match(0, at, nr, &where) ? -1 : where;
}

static void report_frame(int i)
{
	uint64_t ip = walk.ip[i] - (i > 0);
	struct vm_blob blob = { 0 };

	vm_blob_at(ip, &blob);
	fprintf(stderr, "  ours %d: %#lx fp %#lx info %#x %s+%#lx of %#lx method %#lx\n", i,
		walk.ip[i], walk.fp[i], walk.info[i], blob.name ? blob.name : "?",
		walk.ip[i] - blob.start, blob.end - blob.start, blob.method);
}

static void report(const struct call_trace *trace, int where, int at)
{
	int i;

	fprintf(stderr, "wrong at frame %d of %d (error %d), their frame %d of %d\n", where,
		walk.nr, walk.error, at, trace->nr);
	report_frame(0);
	for (i = where > 3 ? where - 2 : 1; i < walk.nr && i < where + 3; i++)
		report_frame(i);
	if (where > 0) {
		uint32_t id = 0, j;
		const struct place *place;

		compiled_from(walk.ip[where] - 1, &id);
		place = place_of(where, id);
		for (j = 0; place && j < place->nr; j++)
			fprintf(stderr, "  inlined in %d: %p\n", where,
				method_of(place->methods[j]));
	}
	for (i = at > 3 ? at - 3 : 0; i < trace->nr && i < at + 3; i++)
		fprintf(stderr, "  theirs %d: %p bci %d\n", i,
			method_of(trace->frames[i].method), trace->frames[i].bci);
}

static void count_frames(void)
{
	uint32_t id = 0;
	int i;

	for (i = 0; i < walk.nr; i++) {
		count.frames++;
		count.interpreted += !!(walk.info[i] & CODE_FRE_SP_SAVED);
		count.compiled += !!compiled_from(walk.ip[i] - (i > 0), &id);
	}
}

/*
 * In the epilogue of a method or stub, the VM assumes the SP of the body, and finds a caller
 * only by chance.
 */
static bool is_guess(void)
{
	struct vm_blob blob;

	return walk.nr && vm_blob_at(walk.ip[0], &blob) && blob.frame_size &&
	       walk.ip[0] - blob.start > blob.frame_complete &&
	       walk.size != (int32_t)blob.frame_size;
}

static void judge(const struct call_trace *trace)
{
	int matched, where = compare(trace->nr, &matched);

	count.compared++;
	count_frames();
	if (where >= 0 && is_guess()) {
		count.guessed++;
		return;
	}
	if (where >= 0) {
		if (count.wrong++ < MAX_WRONG)
			report(trace, where, matched);
		return;
	}
	count.agree++;
	if (!walk.error)
		count.whole++;
	else if (walk.error == -EFAULT)
		count.no_rule[2]++;
	else
		count.no_rule[walk.nr > 1]++;
}

static void on_signal(int sig, siginfo_t *si, void *context)
{
	struct call_trace trace = { .env = this_env, .frames = frames };
	int error = errno;

	(void)sig;
	(void)si;
	if (!this_env || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	count.samples++;
	if (!in_cache(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP])) {
		count.elsewhere++;
	} else {
		walk_stack(context);
		async_get_call_trace(&trace, MAX_FRAMES, context);
		if (trace.nr <= 0)
			count.silent[trace.nr > -16 ? -trace.nr : 15]++;
		else
			judge(&trace);
	}
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	errno = error;
}

/* A thread that interrupts the others in turn, at random places. */
static void *sample(void *unused)
{
	struct timespec pause = { .tv_nsec = 100000 };
	unsigned int i = 0;

	(void)unused;
	while (__atomic_load_n(&count.compared, __ATOMIC_RELAXED) < wanted) {
		pthread_mutex_lock(&lock);
		if (nr_threads)
			pthread_kill(threads[i++ % nr_threads], SIGPROF);
		pthread_mutex_unlock(&lock);
		nanosleep(&pause, NULL);
	}

	return NULL;
}

static void know_thread(JNIEnv *env)
{
	pthread_attr_t attr;
	void *stack;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	pthread_attr_getstack(&attr, &stack, &size);
	pthread_attr_destroy(&attr);
	stack_low = (uintptr_t)stack;
	stack_high = stack_low + size;
	pthread_mutex_lock(&lock);
	if (nr_threads < MAX_THREADS)
		threads[nr_threads++] = pthread_self();
	pthread_mutex_unlock(&lock);
	__atomic_store_n(&this_env, env, __ATOMIC_RELEASE);
}

static void JNICALL on_thread(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	(void)jvmti;
	(void)thread;
	know_thread(env);
}

static void JNICALL on_thread_end(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	unsigned int i;

	(void)jvmti;
	(void)env;
	(void)thread;
	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_threads; i++) {
		if (pthread_equal(threads[i], pthread_self()))
			threads[i--] = threads[--nr_threads];
	}
	this_env = NULL;
	pthread_mutex_unlock(&lock);
}

/* Make the ids of methods here: AsyncGetCallTrace() does not make them. */
static void JNICALL on_class(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
	jmethodID *methods = NULL;
	jint nr;

	(void)env;
	(void)thread;
	(*jvmti)->GetClassMethods(jvmti, class, &nr, &methods);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
}

/* AsyncGetCallTrace() only works if this event is enabled. */
static void JNICALL on_class_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass class)
{
	(void)jvmti;
	(void)env;
	(void)thread;
	(void)class;
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	struct vm_heap heaps[MAX_HEAPS];
	struct sigaction act = { .sa_sigaction = on_signal,
				 .sa_flags = SA_SIGINFO | SA_RESTART };
	unsigned int i, nr = vm_heaps(heaps);
	pthread_t sampler;
	jclass *classes;
	jint nr_classes;

	(void)thread;
	low = UINT64_MAX;
	for (i = 0; i < nr; i++) {
		low = heaps[i].start < low ? heaps[i].start : low;
		high = heaps[i].end > high ? heaps[i].end : high;
	}
	if (!methods_open(low, high))
		abort();
	(*jvmti)->GetLoadedClasses(jvmti, &nr_classes, &classes);
	while (nr_classes-- > 0)
		on_class(jvmti, env, NULL, classes[nr_classes]);
	(*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE,
					   JVMTI_EVENT_COMPILED_METHOD_LOAD, NULL);
	(*jvmti)->GenerateEvents(jvmti, JVMTI_EVENT_COMPILED_METHOD_LOAD);
	know_thread(env);
	sigaction(SIGPROF, &act, NULL);
	if (pthread_create(&sampler, NULL, sample, NULL))
		abort();
}

static void JNICALL on_method_load(jvmtiEnv *jvmti, jmethodID method, jint size,
				   const void *address, jint map_length,
				   const jvmtiAddrLocationMap *map, const void *info)
{
	(void)jvmti;
	(void)map_length;
	(void)map;
	methods_load(method, (uintptr_t)address, size, info);
}

static void JNICALL on_method_unload(jvmtiEnv *jvmti, jmethodID method,
				     const void *address)
{
	(void)jvmti;
	(void)method;
	methods_unload((uintptr_t)address);
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *env)
{
	unsigned long silent = 0;
	unsigned int i;

	(void)jvmti;
	(void)env;
	signal(SIGPROF, SIG_IGN);
	wanted = 0;
	for (i = 0; i < 16; i++) {
		silent += count.silent[i];
		if (count.silent[i])
			fprintf(stderr, "walk: AsyncGetCallTrace: -%u: %lu\n", i,
				count.silent[i]);
	}
	fprintf(stderr, "walk: %lu samples, %lu not in the code cache, %lu the VM cannot tell\n",
		count.samples, count.elsewhere, silent);
	fprintf(stderr, "walk: %lu compared, %lu agree, %lu of these as far as C\n",
		count.compared, count.agree, count.whole);
	fprintf(stderr, "walk: cut at the first frame %lu, later %lu, by what was read %lu\n",
		count.no_rule[0], count.no_rule[1], count.no_rule[2]);
	fprintf(stderr, "walk: %lu frames, %lu compiled, %lu interpreted\n", count.frames,
		count.compiled, count.interpreted);
	fprintf(stderr, "walk: %lu in epilogues, where the VM guesses, and other than it says\n",
		count.guessed);
	fprintf(stderr, "walk: %lu wrong\n", count.wrong);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static const jvmtiEvent events[] = {
		JVMTI_EVENT_COMPILED_METHOD_UNLOAD, JVMTI_EVENT_THREAD_START,
		JVMTI_EVENT_THREAD_END, JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_CLASS_LOAD,
		JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH,
	};
	jvmtiCapabilities capabilities = { .can_generate_compiled_method_load_events = 1 };
	jvmtiEventCallbacks callbacks = {
		.CompiledMethodLoad = on_method_load,
		.CompiledMethodUnload = on_method_unload,
		.ThreadStart = on_thread, .ThreadEnd = on_thread_end,
		.ClassPrepare = on_class, .ClassLoad = on_class_load,
		.VMInit = on_init, .VMDeath = on_death,
	};
	jvmtiEnv *jvmti;
	unsigned int i;

	(void)reserved;
	if (options && *options)
		wanted = strtoul(options, NULL, 0);
	async_get_call_trace = dlsym(RTLD_DEFAULT, "AsyncGetCallTrace");
	if (!async_get_call_trace || vm_find((const void *)(*vm)->GetEnv) ||
	    (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) ||
	    (*jvmti)->AddCapabilities(jvmti, &capabilities) ||
	    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)))
		return JNI_ERR;
	for (i = 0; i < ARRAY_SIZE(events); i++)
		(*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i], NULL);

	return JNI_OK;
}
