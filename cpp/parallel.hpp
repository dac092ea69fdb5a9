// Loops over ranges, split among threads that live for one call. Without a thread pool, a fork between calls is safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace kdi {

// Split [0, n) into n_threads consecutive ranges and call work(range, begin, end) for each on its own thread. The calling
// thread takes the last range, and every range for which the system cannot start a thread.
template <class Work>
void parallel_for(std::size_t n, int n_threads, Work work) {
    const std::size_t n_ranges = static_cast<std::size_t>(std::max(n_threads, 1));
    std::vector<std::thread> threads;
    threads.reserve(n_ranges);
    std::size_t range = 0;
    try {
        for (; range + 1 < n_ranges; ++range)
            threads.emplace_back(work, static_cast<int>(range), n * range / n_ranges, n * (range + 1) / n_ranges);
    } catch (const std::system_error&) {
    }
    for (; range < n_ranges; ++range) work(static_cast<int>(range), n * range / n_ranges, n * (range + 1) / n_ranges);
    for (auto& thread : threads) thread.join();
}

// Call work(block) for every block; a thread takes the next one when it has finished one.
template <class Work>
void for_each_block(std::size_t n_blocks, int n_threads, Work work) {
    std::atomic<std::size_t> next{0};
    parallel_for(static_cast<std::size_t>(std::max(n_threads, 1)), n_threads, [&](int, std::size_t, std::size_t) {
        for (std::size_t block = next++; block < n_blocks; block = next++) work(block);
    });
}

}  // namespace kdi
