// SPDX-License-Identifier: MIT
/*
 * Finds the function that was at an address, from records as programs report them.
 */
#include "check.h"
#include "code_names.h"

enum { PID = 7, CHILD = 8, COPY = 0x10, OTHER_COPY = 0x20 };

static struct code_names *names;

static struct process_id life_of(pid_t pid, uint64_t life)
{
	return (struct process_id){ pid, life };
}

static void tell(pid_t pid, uint64_t time, uint32_t action, uint64_t id, uint64_t start,
		 uint64_t len, const char *name)
{
	struct name_record record = {
		.copy = COPY, .id = id, .start = start, .len = len, .action = action,
	};

	snprintf(record.name, sizeof(record.name), "%s", name);
	code_names_add(names, life_of(pid, 1), time, &record);
}

/* Reports that all names have been reported, and that there are none. */
static void tell_none(uint64_t time)
{
	tell(PID, time, NAME_BEGIN, 1, 0, 0, "");
	tell(PID, time, NAME_END, 1, 0, 0, "");
}

static uint64_t id_at(uint64_t address, uint64_t time)
{
	return code_names_id(names, life_of(PID, 1), address, time);
}

/* @name: NULL if none must be found. */
static bool finds(pid_t pid, uint64_t id, uint64_t address, const char *name, uint64_t offset)
{
	struct symbol symbol = code_names_find(names, life_of(pid, 1), id, address);
	bool good = name ? symbol.name && !strcmp(symbol.name, name) && symbol.offset == offset :
			   !symbol.name;

	free(symbol.name);
	return good;
}

static void a_function_while_it_is_there(void)
{
	names = code_names_new();
	tell_none(10);
	tell(PID, 20, NAME_ADD, 1, 0x1000, 0x20, "first");
	tell(PID, 30, NAME_RETIRE, 0, 0x1000, 0x20, "");
	CHECK(id_at(0x1000, 20) == 1 && id_at(0x101f, 29) == 1);
	CHECK(!id_at(0xfff, 20) && !id_at(0x1020, 20));
	CHECK(!id_at(0x1000, 30) && !id_at(0x1000, 100));
	CHECK(!code_names_id(names, life_of(CHILD, 1), 0x1000, 20));
	CHECK(finds(PID, 1, 0x1004, "first", 4));
	CHECK(finds(PID, 2, 0x1004, NULL, 0));
	code_names_free(names);
}

/* The same name at another address and with another length. */
static void an_address_that_is_used_again(void)
{
	names = code_names_new();
	tell_none(10);
	tell(PID, 20, NAME_ADD, 1, 0x1ff0, 0x20, "first");
	tell(PID, 30, NAME_RETIRE, 0, 0x1ff0, 0x20, "");
	tell(PID, 40, NAME_ADD, 2, 0x2000, 0x100, "second");
	tell(PID, 50, NAME_RETIRE, 0, 0x2000, 0x100, "");
	tell(PID, 50, NAME_ADD, 3, 0x1f00, 0x200, "third");
	tell_none(60);
	CHECK(id_at(0x2008, 25) == 1 && id_at(0x2008, 45) == 2 && id_at(0x2008, 50) == 3);
	CHECK(id_at(0x1ff8, 45) == 3 && id_at(0x2088, 45) == 2);
	/* Code may run before its thread reports it. */
	CHECK(id_at(0x2008, 35) == 2);
	CHECK(!id_at(0x2100, 35));
	/* A function that is removed before it is reported has no name. */
	tell(PID, 70, NAME_RETIRE, 9, 0x3000, 16, "");
	tell(PID, 80, NAME_ADD, 4, 0x3000, 16, "fourth");
	CHECK(!id_at(0x3000, 65) && id_at(0x3000, 75) == 4);
	code_names_free(names);
}

static void records_of_several_processors(void)
{
	names = code_names_new();
	tell_none(10);
	tell(PID, 40, NAME_ADD, 2, 0x1000, 0x20, "second");
	tell(PID, 30, NAME_RETIRE, 0, 0x1000, 0x20, "");
	tell(PID, 20, NAME_ADD, 1, 0x1000, 0x20, "first");
	CHECK(id_at(0x1000, 25) == 1 && id_at(0x1000, 35) == 2 && id_at(0x1000, 45) == 2);
	code_names_free(names);
}

/* Until all names are reported, another function may have been at the address. */
static void code_before_all_names_were_told(void)
{
	names = code_names_new();
	tell(PID, 20, NAME_BEGIN, 1, 0, 0, "");
	tell(PID, 22, NAME_ADD, 1, 0x1000, 0x20, "first");
	CHECK(!id_at(0x1000, 21));
	tell(PID, 24, NAME_END, 1, 0, 1, "");
	CHECK(!id_at(0x1000, 15) && !id_at(0x1000, 21));
	CHECK(id_at(0x1000, 22) == 1);
	/* Reported by another copy, which has not reported all of its names. */
	code_names_add(names, life_of(PID, 1), 40, &(struct name_record){
		.copy = OTHER_COPY, .id = 9, .start = 0x5000, .len = 16, .name = "other" });
	CHECK(!id_at(0x5000, 39) && id_at(0x5000, 40) == 9);
	code_names_free(names);
}

static void ranges_of_many_pages(void)
{
	names = code_names_new();
	tell_none(10);
	tell(PID, 20, NAME_ADD, 1, 0x100000, 0x100000, "large");
	tell(PID, 20, NAME_ADD, 2, 0x200000, 0x20, "small");
	tell(PID, 30, NAME_RETIRE, 0, 0x100000, 0x40000000, "");
	tell(PID, 40, NAME_ADD, 3, 0x180000, 0x20, "new");
	CHECK(id_at(0x180000, 25) == 1 && id_at(0x1fffff, 25) == 1 && id_at(0x200000, 25) == 2);
	CHECK(id_at(0x180000, 35) == 3 && id_at(0x180000, 45) == 3);
	CHECK(!id_at(0x1fffff, 35) && !id_at(0x200000, 35));
	code_names_free(names);
}

static void lost_records(void)
{
	names = code_names_new();
	tell_none(10);
	tell(PID, 20, NAME_ADD, 1, 0x1000, 0x20, "first");
	code_names_lost(names, 30);
	CHECK(id_at(0x1000, 25) == 1);
	CHECK(!id_at(0x1000, 30) && !id_at(0x1000, 50));
	tell(PID, 60, NAME_ADD, 2, 0x1000, 0x20, "second");
	CHECK(!id_at(0x1000, 50) && id_at(0x1000, 60) == 2);
	tell_none(70);
	tell(PID, 80, NAME_ADD, 3, 0x2000, 0x20, "third");
	CHECK(!id_at(0x2000, 65) && id_at(0x2000, 75) == 3);
	for (uint64_t time = 100; time < 10000; time += 2)
		code_names_lost(names, time);
	tell(PID, 20000, NAME_ADD, 4, 0x4000, 16, "late");
	code_names_lost(names, 20001);
	CHECK(id_at(0x4000, 20000) == 4 && !id_at(0x4000, 20002));
	CHECK(id_at(0x2000, 99) == 3 && !id_at(0x2000, 100) && !id_at(0x2000, 20000));
	/* Numbers stay the same. */
	CHECK(finds(PID, 1, 0x1000, "first", 0));
	code_names_free(names);
}

/* A child continues its parent's numbers. */
static void numbers_of_a_child(void)
{
	names = code_names_new();
	tell(PID, 20, NAME_ADD, 1, 0x1000, 0x20, "shared");
	CHECK(finds(CHILD, 1, 0x1000, "shared", 0));
	tell(CHILD, 30, NAME_ADD, 2, 0x2000, 0x20, "of the child");
	tell(PID, 40, NAME_ADD, 2, 0x3000, 0x20, "of the parent");
	CHECK(finds(CHILD, 2, 0x2001, "of the child", 1));
	CHECK(finds(PID, 2, 0x3002, "of the parent", 2));
	code_names_free(names);
}

/* The process ends without reporting that its functions are removed. */
static void a_number_of_two_processes(void)
{
	const struct name_record other = {
		.copy = OTHER_COPY, .id = 1, .start = 0x2000, .len = 16, .name = "of the other",
	};
	struct symbol symbol;

	names = code_names_new();
	tell(PID, 20, NAME_ADD, 1, 0x1000, 0x20, "first");
	code_names_add(names, life_of(PID, 2), 40, &other);
	CHECK(id_at(0x1000, 30) == 1);
	CHECK(!code_names_id(names, life_of(PID, 2), 0x1000, 50));
	CHECK(code_names_id(names, life_of(PID, 2), 0x2000, 50) == 1 && !id_at(0x2000, 50));
	CHECK(finds(PID, 1, 0x1000, "first", 0));
	symbol = code_names_find(names, life_of(PID, 2), 1, 0x2000);
	CHECK(symbol.name && !strcmp(symbol.name, "of the other"));
	free(symbol.name);
	code_names_free(names);
}

static void records_that_say_nothing(void)
{
	names = code_names_new();
	tell_none(10);
	tell(PID, 20, NAME_ADD, 1, 0x1000, 0, "empty");
	tell(PID, 20, NAME_ADD, 2, UINT64_MAX - 1, 3, "wraps");
	tell(PID, 20, NAME_ADD, 0, 0x1000, 16, "without a number");
	tell(PID, 20, 9, 3, 0x1000, 16, "of a later library");
	CHECK(!id_at(0x1000, 30) && !id_at(UINT64_MAX - 1, 30) && !id_at(0, 30));
	for (uint64_t id = 0; id < 4; id++)
		CHECK(finds(PID, id, 0x1000, NULL, 0));
	tell(PID, 20, NAME_ADD, 4, UINT64_MAX - 16, 16, "last");
	CHECK(id_at(UINT64_MAX - 1, 30) == 4);
	tell(PID, 20, NAME_ADD, 5, 0x3000, 16, "a\033[0m\nb");
	CHECK(finds(PID, 5, 0x3000, "a\\033[0m\\012b", 0));
	code_names_free(names);
}

/* Endless names do not take endless memory. */
static void too_many_names(void)
{
	static char name[NAME_MAX_LEN + 1];
	uint64_t id = 1;

	memset(name, 'x', NAME_MAX_LEN);
	names = code_names_new();
	tell_none(10);
	for (; id < CODE_NAMES_MAX_BYTES / NAME_MAX_LEN; id++)
		tell(PID, 20 + id, NAME_ADD, id, id * 16, 16, name);
	CHECK(id_at(16, 21) == 1);
	CHECK(!id_at((id - 1) * 16, 20 + id) && !id_at(16, 20 + id));
	code_names_free(names);
}

/* A program can make up any number of copies, and names for which there is no room. */
static void losses_of_many_copies(void)
{
	struct name_record end = { .action = NAME_END };

	names = code_names_new();
	for (; end.copy < 100000; end.copy++)
		code_names_add(names, life_of(PID, 1), 10, &end);
	tell_none(10);
	alarm(60);
	for (uint64_t time = 20; time < 100020; time++)
		code_names_lost(names, time);
	alarm(0);
	tell(PID, 200000, NAME_ADD, 1, 0x1000, 0x20, "first");
	CHECK(!id_at(0x1000, 150000));
	tell_none(200010);
	tell(PID, 200030, NAME_ADD, 2, 0x2000, 0x20, "second");
	CHECK(!id_at(0x2000, 200005) && id_at(0x2000, 200020) == 2);
	code_names_free(names);
}

int main(void)
{
	RUN(a_function_while_it_is_there);
	RUN(an_address_that_is_used_again);
	RUN(records_of_several_processors);
	RUN(code_before_all_names_were_told);
	RUN(ranges_of_many_pages);
	RUN(lost_records);
	RUN(numbers_of_a_child);
	RUN(a_number_of_two_processes);
	RUN(records_that_say_nothing);
	RUN(too_many_names);
	RUN(losses_of_many_copies);
	return check_end();
}
