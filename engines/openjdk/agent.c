// SPDX-License-Identifier: MIT
/*
 * A JVMTI agent that tells the kernel how to walk through HotSpot's code.
 *
 * Events come from several threads; one lock protects everything that is published.  After an
 * error for one piece of code, that piece has no rules; after an error for all of them, the
 * agent prints one message and stops working.
 */
#include <errno.h>
#include <jvmti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <codectl.h>

#include "heaps.h"
#include "methods.h"
#include "stubs.h"
#include "vm.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started, disabled, statistics;
static struct {
	unsigned long methods, unloaded, stubs, failed, odd;
	uint64_t time;
} count;

static void disable(const char *what, const char *why)
{
	if (!__atomic_exchange_n(&disabled, true, __ATOMIC_RELAXED))
		fprintf(stderr, "libcodectl-jvm: %s: %s\n", what, why);
}

static uint64_t cpu_time(clockid_t clock)
{
	struct timespec now = { 0 };

	if (statistics)
		clock_gettime(clock, &now);

	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void leave(uint64_t since)
{
	count.time += cpu_time(CLOCK_THREAD_CPUTIME_ID) - since;
	pthread_mutex_unlock(&lock);
}

/* Call with the lock held. */
static bool ready(void)
{
	int ret;

	if (disabled)
		return false;
	if (heaps_opened())
		return true;
	ret = heaps_open();
	if (ret && ret != -EAGAIN)
		disable("the code cache", strerror(-ret));

	return !ret;
}

static void settle(int ret, unsigned long *counter)
{
	if (!ret)
		++*counter;
	else if (ret == -EBADMSG)
		count.odd++;
	else
		count.failed++;
	if (ret == -ESTALE)
		disable("the code cache", "another has taken its addresses");
}

/* "Ljava/lang/String;" to "java.lang.String". */
static void write_class(char *to, size_t size, const char *signature)
{
	char *end;

	snprintf(to, size, "%s", signature + (*signature == 'L'));
	end = strchr(to, ';');
	if (end)
		*end = '\0';
	for (; *to; to++) {
		if (*to == '/')
			*to = '.';
	}
}

static void write_name(jvmtiEnv *jvmti, jmethodID method, char *to, size_t size)
{
	char *name = NULL, *signature = NULL;
	jclass class;

	snprintf(to, size, "a compiled method");
	if (!(*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL) &&
	    !(*jvmti)->GetMethodDeclaringClass(jvmti, method, &class) &&
	    !(*jvmti)->GetClassSignature(jvmti, class, &signature, NULL)) {
		write_class(to, size, signature);
		snprintf(to + strlen(to), size - strlen(to), ".%s", name);
	}
	(*jvmti)->Deallocate(jvmti, (unsigned char *)name);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static void JNICALL on_method_load(jvmtiEnv *jvmti, jmethodID method, jint size,
				   const void *address, jint map_length,
				   const jvmtiAddrLocationMap *map, const void *info)
{
	char name[1024];
	uint64_t since;

	(void)size;
	(void)map_length;
	(void)map;
	(void)info;
	if (__atomic_load_n(&disabled, __ATOMIC_RELAXED))
		return;
	since = cpu_time(CLOCK_THREAD_CPUTIME_ID);
	write_name(jvmti, method, name, sizeof(name));
	pthread_mutex_lock(&lock);
	if (ready())
		settle(methods_add((uintptr_t)address, name), &count.methods);
	leave(since);
}

static void JNICALL on_method_unload(jvmtiEnv *jvmti, jmethodID method,
				     const void *address)
{
	uint64_t since = cpu_time(CLOCK_THREAD_CPUTIME_ID);

	(void)jvmti;
	(void)method;
	pthread_mutex_lock(&lock);
	if (ready()) {
		heaps_retire((uintptr_t)address, 1);
		count.unloaded++;
	}
	leave(since);
}

static void JNICALL on_code(jvmtiEnv *jvmti, const char *name, const void *address,
			    jint length)
{
	uint64_t since = cpu_time(CLOCK_THREAD_CPUTIME_ID);

	(void)jvmti;
	pthread_mutex_lock(&lock);
	if (ready() && length > 0)
		settle(stubs_add((uintptr_t)address, length, name), &count.stubs);
	leave(since);
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
	(void)jni;
	(void)thread;
	/* The VM has reported methods, but not stubs that it made early. */
	(*jvmti)->GenerateEvents(jvmti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *jni)
{
	(void)jvmti;
	(void)jni;
	pthread_mutex_lock(&lock);
	if (statistics)
		fprintf(stderr,
			"libcodectl-jvm: %lu methods, %lu unloaded, %lu stubs, %lu failed, %lu odd, %.0f of %.0f ms\n",
			count.methods, count.unloaded, count.stubs, count.failed,
			count.odd, count.time / 1e6,
			cpu_time(CLOCK_PROCESS_CPUTIME_ID) / 1e6);
	pthread_mutex_unlock(&lock);
}

/* perf-map: names for perf; statistics: on stderr, at the end. */
static bool parse(const char *options)
{
	char *copy = strdup(options ? options : ""), *rest = copy, *option;
	bool ok = copy;
	int ret;

	while (ok && (option = strsep(&rest, ","))) {
		if (!strcmp(option, "perf-map")) {
			ret = codectl_perf_map(1);
			if (ret)
				fprintf(stderr, "libcodectl-jvm: perf-map: %s\n",
					strerror(-ret));
		} else if (!strcmp(option, "statistics")) {
			statistics = true;
		} else if (*option) {
			fprintf(stderr, "libcodectl-jvm: no option: %s\n", option);
			ok = false;
		}
	}
	free(copy);

	return ok;
}

static jvmtiError enable(jvmtiEnv *jvmti)
{
	static const jvmtiEvent events[] = {
		JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
		JVMTI_EVENT_DYNAMIC_CODE_GENERATED, JVMTI_EVENT_VM_INIT,
		JVMTI_EVENT_VM_DEATH,
	};
	jvmtiCapabilities capabilities = { .can_generate_compiled_method_load_events = 1 };
	jvmtiEventCallbacks callbacks = {
		.CompiledMethodLoad = on_method_load,
		.CompiledMethodUnload = on_method_unload,
		.DynamicCodeGenerated = on_code,
		.VMInit = on_init,
		.VMDeath = on_death,
	};
	jvmtiError error;
	unsigned int i;

	error = (*jvmti)->AddCapabilities(jvmti, &capabilities);
	if (!error)
		error = (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks));
	for (i = 0; !error && i < ARRAY_SIZE(events); i++)
		error = (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i],
							   NULL);

	return error;
}

/* Return: NULL if the agent does nothing; it has printed why. */
static jvmtiEnv *start(JavaVM *vm, const char *options)
{
	const char *missing;
	jvmtiEnv *jvmti;

	if (!parse(options) || started)
		return NULL;
	missing = vm_find((const void *)(*vm)->GetEnv);
	if (missing) {
		disable("this VM does not tell of", missing);
		return NULL;
	}
	if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK ||
	    enable(jvmti)) {
		disable("JVMTI", "not to be had");
		return NULL;
	}
	started = true;
	/* May fail: without access to tracefs there are no names. */
	codectl_names_event(1);

	return jvmti;
}

/* The VM starts even if the agent cannot work. */
JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	start(vm, options);

	return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEnv *jvmti = start(vm, options);

	(void)reserved;
	if (!jvmti)
		return JNI_ERR;
	(*jvmti)->GenerateEvents(jvmti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
	(*jvmti)->GenerateEvents(jvmti, JVMTI_EVENT_COMPILED_METHOD_LOAD);

	return JNI_OK;
}
