// Rows shared out among threads that live for one call: no pool, so nothing is left over to break after a fork.
#pragma once

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace kdi {

// Calls work(part, begin, end) for n_parts consecutive ranges of [0, n), each on its own thread.
// The calling thread takes the last part, and every part that the system gives no thread for.
template <class Work>
void share_out(std::size_t n, int n_parts, Work work) {
    const std::size_t parts = static_cast<std::size_t>(std::max(n_parts, 1));
    std::vector<std::thread> threads;
    threads.reserve(parts);
    std::size_t part = 0;
    try {
        for (; part + 1 < parts; ++part)
            threads.emplace_back(work, static_cast<int>(part), n * part / parts, n * (part + 1) / parts);
    } catch (const std::system_error&) {
    }
    for (; part < parts; ++part) work(static_cast<int>(part), n * part / parts, n * (part + 1) / parts);
    for (auto& thread : threads) thread.join();
}

}  // namespace kdi
