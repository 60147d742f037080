// SPDX-License-Identifier: MIT
// Threads that throw exceptions through several frames, with callbacks from the library.
#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int descend(int n)
{
	std::string where = std::to_string(n);

	if (!n)
		throw std::runtime_error(where);
	return descend(n - 1) + static_cast<int>(where.size());
}

static void work()
{
	std::map<std::string, int> seen;
	std::vector<std::function<int(int)>> calls = { descend };

	for (unsigned int i = 0;; i++) {
		try {
			calls[0](i % 16);
		} catch (const std::exception &e) {
			seen[e.what()]++;
		}
		std::vector<int> values(512);
		std::generate(values.begin(), values.end(), [i]() mutable { return i = i * 69069 + 1; });
		std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
	}
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back(work);
	work();
}
