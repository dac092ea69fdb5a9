// Values sorted by their bits, eight at a time: for many values this is several times faster than comparing them, and takes
// the same time whatever the values are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace kdi {

// An integer that ascends with the value.
inline std::uint64_t ordered_bits(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}

// Sort by the lowest eight bits first; each pass keeps the order of the one before. Bits that all values share are skipped.
// `spare` is as long as `values`, and `spare_masses` as `masses`, which are empty for an unweighted column.
inline void radix_sort(std::vector<double>& values, std::vector<double>& masses, std::vector<double>& spare,
                       std::vector<double>& spare_masses) {
    constexpr int n_digits = 8;
    const std::size_t n = values.size();
    const bool weighted = !masses.empty();
    std::vector<std::array<std::size_t, 256>> counts(n_digits);
    for (std::size_t k = 0; k < n; ++k) {
        const std::uint64_t bits = ordered_bits(values[k]);
        for (int d = 0; d < n_digits; ++d) ++counts[static_cast<std::size_t>(d)][(bits >> 8 * d) & 255];
    }
    double *from = values.data(), *to = spare.data(), *from_mass = masses.data(), *to_mass = spare_masses.data();
    for (int d = 0; d < n_digits; ++d) {
        std::array<std::size_t, 256>& next = counts[static_cast<std::size_t>(d)];
        if (next[(ordered_bits(from[0]) >> 8 * d) & 255] == n) continue;
        std::size_t before = 0;
        for (std::size_t& count : next) count = std::exchange(before, before + count);
        for (std::size_t k = 0; k < n; ++k) {
            const std::size_t place = next[(ordered_bits(from[k]) >> 8 * d) & 255]++;
            to[place] = from[k];
            if (weighted) to_mass[place] = from_mass[k];
        }
        std::swap(from, to);
        std::swap(from_mass, to_mass);
    }
    if (from == values.data()) return;
    std::swap(values, spare);
    std::swap(masses, spare_masses);
}

// Sort finite values with their weights, each 1 where `masses` is empty; then add up the weights of equal ones.
inline void make_distinct(std::vector<double>& values, std::vector<double>& masses) {
    constexpr std::size_t few = 512;  // for fewer values, comparing them is faster
    const std::size_t n = values.size();
    if (n > few) {
        std::vector<double> spare(n), spare_masses(masses.size());
        radix_sort(values, masses, spare, spare_masses);
        if (masses.empty()) masses = std::move(spare);  // fresh memory costs more than it takes to fill it
        if (spare_masses.empty()) std::fill(masses.begin(), masses.end(), 1.0);
    } else if (masses.empty()) {
        std::sort(values.begin(), values.end());
    } else {
        std::vector<std::pair<double, double>> entries(n);
        for (std::size_t k = 0; k < n; ++k) entries[k] = {values[k], masses[k]};
        std::stable_sort(entries.begin(), entries.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
        for (std::size_t k = 0; k < n; ++k) std::tie(values[k], masses[k]) = entries[k];
    }
    if (masses.empty()) masses.assign(n, 1.0);
    std::size_t n_distinct = n ? 1 : 0;
    for (std::size_t k = 1; k < n; ++k) {
        if (values[k] == values[n_distinct - 1]) {
            masses[n_distinct - 1] += masses[k];
            continue;
        }
        values[n_distinct] = values[k];
        masses[n_distinct] = masses[k];
        ++n_distinct;
    }
    values.resize(n_distinct);
    masses.resize(n_distinct);
}

}  // namespace kdi
