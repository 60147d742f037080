// SPDX-License-Identifier: MIT
/* Exceptions: in threads, nested, through scopes with destructors, and out of a thread. */
#include <cstdio>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct guard {
	int *count;
	~guard() { ++*count; }
};

__attribute__((noinline)) int throw_at(int depth, int *unwound)
{
	guard g{unwound};

	if (depth == 0)
		throw std::runtime_error("bottom");
	return throw_at(depth - 1, unwound) + 1;
}

int catch_many(int rounds)
{
	int unwound = 0, caught = 0;

	for (int i = 0; i < rounds; i++) {
		try {
			throw_at(i % 40, &unwound);
		} catch (const std::exception &e) {
			caught += std::string(e.what()) == "bottom";
		}
	}
	return caught * 1000000 + unwound;
}

std::string nested(int depth)
{
	try {
		if (depth == 0)
			throw std::logic_error("innermost");
		nested(depth - 1);
		throw std::runtime_error("level " + std::to_string(depth));
	} catch (const std::logic_error &e) {
		if (depth == 5)
			return e.what();
		std::throw_with_nested(std::logic_error("over " + std::string(e.what())));
	}
}

std::string attempt(int depth)
{
	try {
		return nested(depth);
	} catch (const std::exception &e) {
		return e.what();
	}
}

}

/* The argument is the number of exceptions of each thread. */
int main(int argc, char **argv)
{
	int rounds = argc > 1 ? std::stoi(argv[1]) : 2000;
	std::vector<std::future<int>> futures;

	for (int i = 0; i < 16; i++)
		futures.push_back(std::async(std::launch::async, catch_many, rounds + i));
	for (int i = 0; i < 16; i++)
		std::printf("RESULT thread-%d %d\n", i, futures[i].get());
	for (int depth = 0; depth < 8; depth++)
		std::printf("RESULT nested-%d %s\n", depth, attempt(depth).c_str());
	auto failing = std::async(std::launch::async, []() -> int {
		throw std::out_of_range("of a thread");
	});
	try {
		failing.get();
	} catch (const std::out_of_range &e) {
		std::printf("RESULT future %s\n", e.what());
	}
	return 0;
}
