// Prints the bits of fits and lookups. `make test-cpp` compares a build for several levels of x86 with a plain one: the same digits.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "fit.hpp"

using namespace kdi;

static std::uint64_t hash_of(const std::vector<double>& numbers) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a, over the bits of the numbers
    for (const double number : numbers) {
        std::uint64_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((bits >> shift) & 255)) * 1099511628211u;
    }
    return hash;
}

int main() {
    const std::size_t n_rows = 20011, n_columns = 6;
    std::mt19937_64 random(20231119);
    std::vector<double> table(n_rows * n_columns);
    for (std::size_t k = 0; k < table.size(); ++k) {
        const double uniform = static_cast<double>(random() >> 11) / 9007199254740992.0;
        const std::size_t column = k % n_columns;
        table[k] = column == 0 ? uniform : column == 1 ? 1 / (uniform + 1e-4) : column == 2 ? 1e9 + uniform * uniform
                   : column == 3 ? std::floor(5 * uniform) : column == 4 ? (uniform < 0.1 ? not_a_number : -uniform) : uniform * 1e-300;
    }
    const ArrayView<const double> view{table.data(), n_rows, n_columns, static_cast<std::int64_t>(n_columns), 1};
    for (const int order : {0, 1, 4, 7})
        for (const double alpha : {0.05, 1.0, 20.0}) {
            const std::vector<double> alphas(n_columns, alpha);
            TableFit<const double> fit(view, nullptr, {alphas.data(), {{order, order ? 0.3 : 1.0, 0.4, 1.5}, infinity, 5e-7}});
            fit.run(1);
            std::vector<double> numbers;
            for (const auto& column : fit.columns) {
                numbers.push_back(column.map.error);
                numbers.push_back(column.map.bandwidth);
                numbers.insert(numbers.end(), column.map.coefficients.begin(), column.map.coefficients.end());
                numbers.insert(numbers.end(), column.map.levels.begin(), column.map.levels.end());
                if (column.map.kind != MapKind::cubic) continue;
                // One feature is enough of a packed map to look values up.
                const std::uint8_t kind = 0;
                const std::int64_t start = 0, n_knots = static_cast<std::int64_t>(column.map.coefficients.size() / 4);
                const ColumnMap& map = column.map;
                const PackedMaps maps{1, &kind, &map.low, &map.high, &map.unit, &map.scale, &map.low_slope, &map.high_slope,
                                      &map.low_level, &map.high_level, &map.floor, &map.ceiling, &start, &n_knots, map.coefficients.data(), nullptr, nullptr, nullptr};
                std::vector<double> out(n_rows);
                const std::size_t j = static_cast<std::size_t>(&column - fit.columns.data());
                map_columns<true, double>(maps, {view.column(j, 0), n_rows, 1, view.row_stride, 1}, {out.data(), n_rows, 1, 1, 1}, OutOfRange::clip, 1);
                numbers.insert(numbers.end(), out.begin(), out.end());
            }
            std::printf("%d %g %016" PRIx64 " of %zu numbers\n", order, alpha, hash_of(numbers), numbers.size());
        }
}
