// Tests of the headers without Python, so that the core can be run in a debugger and under every sanitizer. `make test-cpp`.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <stdexcept>
#include <utility>
#include <thread>
#include <vector>

#include "accumulate.hpp"
#include "assign.hpp"
#include "fit.hpp"
#include "levels.hpp"
#include "modes.hpp"
#include "tally.hpp"

namespace {

using namespace kdi;

int n_failed = 0;

void check_that(bool holds, const char* what, int line) {
    if (holds) return;
    std::printf("line %d: %s does not hold\n", line, what);
    ++n_failed;
}
#define CHECK(...) check_that((__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <class Error, class Function>
bool throws(Function function) {
    try {
        function();
    } catch (const Error&) {
        return true;
    }
    return false;
}

constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();
// The kernels, as kernels.py has them: order, bandwidth for h = 1, height, largest fourth derivative of the cdf.
const Kernel gaussian{0, 1.0, 0.3989422804014327, 0.5505878395008196};
const Kernel polyexp{4, 0.26725955495001275, 0.1, 1.5119701046643073};

std::vector<double> normal_values(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(n);
    for (double& value : values) value = normal(random);
    return values;
}

template <class Number>
ArrayView<Number> columns_of(std::vector<Number>& values, std::size_t n_columns) {
    const std::size_t n_rows = values.size() / n_columns;
    return {values.data(), n_rows, n_columns, static_cast<std::int64_t>(n_columns), 1};
}

void test_parallel() {
    for (const int n_threads : {-1, 0, 1, 2, 7}) {
        std::vector<int> seen(100);
        parallel_for(seen.size(), n_threads, [&](int, std::size_t begin, std::size_t end) {
            for (std::size_t k = begin; k < end; ++k) ++seen[k];
        });
        for_each_block(seen.size(), n_threads, [&](std::size_t block) { ++seen[block]; });
        CHECK(seen == std::vector<int>(100, 2));
    }
    parallel_for(0, 4, [](int, std::size_t begin, std::size_t end) { CHECK(begin == end); });
}

void test_exceptions_of_threads() {
    for (const int n_threads : {1, 2, 5}) {
        // On each thread in turn: the calling thread has the last range.
        for (int wrong = 0; wrong < n_threads; ++wrong) {
            std::atomic<int> n_ended{0};
            const auto work = [&](int range, std::size_t, std::size_t) {
                if (range == wrong) throw std::bad_alloc();
                std::this_thread::yield();
                ++n_ended;
            };
            CHECK(throws<std::bad_alloc>([&] { parallel_for(100, n_threads, work); }));
            CHECK(n_ended == n_threads - 1);  // all have been waited for
        }
        CHECK(throws<std::runtime_error>(
            [&] { parallel_for(9, n_threads, [](int, std::size_t, std::size_t) { throw std::runtime_error("each"); }); }));
        std::atomic<std::size_t> n_blocks{0};
        CHECK(throws<std::length_error>([&] {
            for_each_block(1000000, n_threads, [&](std::size_t block) {
                ++n_blocks;
                if (block == 3) throw std::length_error("one");
                while (n_threads > 1 && block > 3 && n_blocks < 4) std::this_thread::yield();
            });
        }));
        CHECK(n_blocks < 1000000);  // no thread goes on for long after an exception
    }
}

void test_scan() {
    std::vector<double> table = normal_values(3 * 1001, 1);
    table[3 * 7 + 1] = nan_;
    table[3 * 8 + 2] = infinity;
    std::vector<double> weights(1001, 2.0);
    weights[5] = 0;
    for (const int n_threads : {1, 3})
        for (const double* weight : {static_cast<const double*>(nullptr), static_cast<const double*>(weights.data())}) {
            std::vector<ColumnStats> stats(3);
            std::vector<double> shift(3);
            scan_array(columns_of(table, 3), weight, n_threads, stats.data(), shift.data());
            for (std::size_t j = 0; j < 3; ++j) {
                double low = infinity, high = -infinity, count = 0;
                for (std::size_t row = 0; row < 1001; ++row) {
                    const double value = table[3 * row + j];
                    if (value != value || (weight && weight[row] == 0)) continue;
                    low = std::min(low, value);
                    high = std::max(high, value);
                    ++count;
                }
                CHECK(stats[j].minimum == low && stats[j].maximum == high && stats[j].count == count);
                CHECK(stats[j].n_missing == (j == 1 ? 1 : 0));
                CHECK(stats[j].weight == (weight ? 2 * count : count));
            }
            CHECK(stats[2].maximum == infinity);
        }
}

void test_fill() {
    std::vector<double> table = normal_values(2 * 5000, 2);
    table[0] = nan_;
    for (const int n_threads : {1, 2}) {
        const Grid grid{16.0, -160, 320};
        const auto filled = fill_array(columns_of(table, 2), nullptr, {grid, Grid{1.0, 0, 0}}, n_threads);
        CHECK(filled[0].n_values == 4999 && filled[1].n_values == 0 && filled[1].cells.empty());
        double sum = 0, mean = 0, expected = 0;
        for (std::size_t k = 0; k < filled[0].cells.size(); ++k) {
            const double* m = filled[0].moments.data() + n_moments * k;
            sum += m[0];
            mean += (static_cast<double>(filled[0].cells[k]) + 0.5) * m[0] + m[1];
        }
        for (std::size_t row = 1; row < 5000; ++row) expected += 16 * table[2 * row];
        CHECK(sum == 4999);
        CHECK(std::fabs(mean - expected) < 1e-8);
    }
    // What lies outside of the grid, as after a change of the array, is not counted, and no number is cast that does not fit.
    for (const double other : {nan_, infinity, -infinity, 1e300, -1e300, 9.3e18, 1e5, -1e5}) {
        std::vector<double> column = normal_values(1000, 3);
        column[500] = other;
        CHECK(fill_array(columns_of(column, 1), nullptr, {Grid{16.0, -160, 320}}, 2)[0].n_values == 999);
    }
    // Negative values that underflow to 0 stay in cell -1.
    std::vector<double> tiny{-1e-300, 1e-300};
    const auto filled = fill_array(columns_of(tiny, 1), nullptr, {Grid{1e-100, -1, 2}}, 1);
    CHECK(filled[0].cells == std::vector<std::int64_t>{-1, 0});
}

void test_cells() {
    std::vector<double> values = normal_values(500, 4), weights(500, 0.5);
    std::sort(values.begin(), values.end());
    const auto fine = cut(values.data(), weights.data(), values.size(), -8);
    for (const int doublings_ : {0, 1, 5, 12, 62, 63, 64, 1000}) {
        const auto wide = widen(fine.keys.data(), fine.moments.data(), fine.keys.size(), doublings_);
        const auto direct = cut(values.data(), weights.data(), values.size(), -8 + std::min(doublings_, 64));
        double total = 0;
        for (std::size_t k = 0; k < wide.keys.size(); ++k) total += wide.moments[n_moments * k];
        CHECK(total == 250);
        if (doublings_ > 64) continue;
        CHECK(wide.keys == direct.keys);
        for (std::size_t k = 0; k < wide.moments.size() && wide.keys == direct.keys; ++k)
            CHECK(std::fabs(wide.moments[k] - direct.moments[k]) < 1e-10);
    }
    const int times = doublings(fine.keys.size(), 10, [&](std::size_t k) { return fine.keys[k]; });
    CHECK(widen(fine.keys.data(), fine.moments.data(), fine.keys.size(), times).keys.size() <= 10);
    CHECK(widen(fine.keys.data(), fine.moments.data(), fine.keys.size(), times - 1).keys.size() > 10);
    const SortedMomentsView<std::int64_t> view{fine.keys.data(), fine.moments.data(), fine.keys.size()};
    const auto twice = merge(view, view, n_moments);
    CHECK(twice.keys == fine.keys && twice.moments[0] == 2 * fine.moments[0]);
    CHECK(!CellLocator(-60).finds(1e300) && !CellLocator(0).finds(nan_) && CellLocator(0).finds(-1e15));
}

// The filters against the sum over all values, which `values` gives exactly and cells approximate.
void test_integrate() {
    std::vector<double> values = normal_values(300, 5), weights(300, 1.0);
    std::sort(values.begin(), values.end());
    const auto cells = cut(values.data(), weights.data(), values.size(), -9);
    std::vector<double> centres;
    for (const auto key : cells.keys) centres.push_back(std::ldexp(static_cast<double>(key) + 0.5, -9));
    std::vector<double> knots;
    for (int k = -40; k <= 40; ++k) knots.push_back(0.1 * k);
    for (const int order : {0, 1, 2, 4, 7})
        for (const double bandwidth : {0.3, 2.0}) {
            std::vector<double> exact(knots.size()), exact_density(knots.size());
            direct_sum(order, values, weights.data(), 1, 0.0, bandwidth, knots, exact.data(), exact_density.data());
            for (const bool in_cells : {false, true}) {
                std::vector<double> value(knots.size()), density(knots.size());
                const Cells of_values{values.data(), weights.data(), values.size(), 1, 0.0};
                const Cells of_cells{centres.data(), cells.moments.data(), centres.size(), n_moments, std::ldexp(1.0, -9)};
                choose_integrate(order)(in_cells ? of_cells : of_values, order, bandwidth, knots.data(), knots.size(),
                                        {value.data(), density.data(), nullptr});
                double off = 0, density_off = 0;
                for (std::size_t k = 0; k < knots.size(); ++k) {
                    off = std::max(off, std::fabs(value[k] - exact[k]));
                    density_off = std::max(density_off, std::fabs(density[k] - exact_density[k]));
                }
                CHECK(off < (in_cells ? 3e-6 : 1e-9) && density_off < (in_cells ? 3e-4 : 1e-8));
            }
        }
}

void test_cubics() {
    std::mt19937_64 random(6);
    std::uniform_real_distribution<double> uniform;
    std::vector<double> values(50), slopes(50), c(200);
    for (std::size_t k = 0; k < 50; ++k) {
        values[k] = (k ? values[k - 1] : 0.0) + (k % 5 ? uniform(random) : 0.0);
        slopes[k] = 10 * uniform(random) - 3;
    }
    cubics(values.data(), slopes.data(), 49, 0.0, c.data());
    for (std::size_t k = 0; k < 49; ++k) {
        double highest = values[k];
        for (int i = 0; i <= 64; ++i) {
            const double t = i / 64.0, level = c[4 * k] + t * (c[4 * k + 1] + t * (c[4 * k + 2] + t * c[4 * k + 3]));
            CHECK(level >= highest - 1e-12);
            highest = level;
        }
        CHECK(std::fabs(highest - values[k + 1]) < 1e-12);
    }
}

// Maps of a table, in arrays as the packed model has them.
struct Packed {
    std::vector<std::uint8_t> kind;
    std::vector<double> low, high, unit, scale, low_slope, high_slope, low_level, high_level, floor, ceiling, coefficients, knots, levels;
    std::vector<std::int64_t> start, n_knots;
    std::vector<std::int32_t> guide;

    void add(const ColumnMap& map) {
        const bool is_cubic = map.kind == MapKind::cubic;
        kind.push_back(static_cast<std::uint8_t>(map.kind));
        low.push_back(map.low);
        high.push_back(map.high);
        unit.push_back(map.unit);
        scale.push_back(map.scale);
        low_slope.push_back(map.low_slope);
        high_slope.push_back(map.high_slope);
        low_level.push_back(map.low_level);
        high_level.push_back(map.high_level);
        floor.push_back(map.floor);
        ceiling.push_back(map.ceiling);
        start.push_back(static_cast<std::int64_t>(is_cubic ? coefficients.size() / 4 : knots.size()));
        n_knots.push_back(static_cast<std::int64_t>(is_cubic ? map.coefficients.size() / 4 : map.knots.size()));
        coefficients.insert(coefficients.end(), map.coefficients.begin(), map.coefficients.end());
        knots.insert(knots.end(), map.knots.begin(), map.knots.end());
        levels.insert(levels.end(), map.levels.begin(), map.levels.end());
        guide.insert(guide.end(), map.guide.begin(), map.guide.end());
        if (!map.guide.empty()) guide.push_back(0);
    }

    PackedMaps view() const {
        return {kind.size(),      kind.data(),       low.data(),    high.data(),  unit.data(),    scale.data(),
                low_slope.data(), high_slope.data(), low_level.data(), high_level.data(), floor.data(), ceiling.data(),
                start.data(),     n_knots.data(),    coefficients.data(), knots.data(), levels.data(), guide.data()};
    }
};

// alpha by column: cubics, lines, min-max, and the last column is constant.
const std::vector<double> some_alphas{1.0, 0.0, infinity, 0.05, scott, 1.0};

std::vector<double> some_table(std::size_t n_rows) {
    std::vector<double> table = normal_values(6 * n_rows, 7);
    for (std::size_t row = 0; row < n_rows; ++row) table[6 * row + 5] = 3.0;
    return table;
}

void test_fit() {
    for (const std::size_t n_rows : {std::size_t{5}, std::size_t{300}, std::size_t{20000}})
        for (const Kernel& kernel : {gaussian, polyexp}) {
            std::vector<double> table = some_table(n_rows);
            std::vector<double> first;
            for (const int n_threads : {1, 3}) {
                TableFit<const double> fit({table.data(), n_rows, 6, 6, 1}, nullptr, {some_alphas.data(), {kernel, infinity, 5e-7}});
                fit.run(n_threads);
                Packed packed;
                for (const auto& column : fit.columns) packed.add(column.map);
                CHECK(packed.kind == std::vector<std::uint8_t>{0, 1, 1, 0, 0, 2});
                std::vector<double> out(6 * n_rows), back(6 * n_rows);
                const ArrayView<const double> from{table.data(), n_rows, 6, 6, 1}, levels{out.data(), n_rows, 6, 6, 1};
                CHECK(map_columns<true>(packed.view(), from, columns_of(out, 6), OutOfRange::clip, n_threads) == 6);
                CHECK(map_columns<false>(packed.view(), levels, columns_of(back, 6), OutOfRange::clip, n_threads) == 6);
                for (std::size_t k = 0; k < out.size(); ++k) CHECK(out[k] >= 0 && out[k] <= 1 && std::fabs(back[k] - table[k]) < 1e-5);
                // Against the direct sum, at some rows.
                const double bandwidth = fit.columns[0].map.bandwidth * kernel.scale, low = packed.low[0], high = packed.high[0];
                std::vector<double> column, weights(n_rows, 1.0);
                for (std::size_t row = 0; row < n_rows; ++row) column.push_back(table[6 * row]);
                const std::vector<double> knots{low, table[0], table[6], table[12], high};
                std::vector<double> cdf(5), density(5);
                direct_sum(kernel.order, column, weights.data(), 1, 0.0, bandwidth, knots, cdf.data(), density.data());
                for (std::size_t k = 1; k < 4; ++k)
                    CHECK(std::fabs((cdf[k] - cdf[0]) / (cdf[4] - cdf[0]) - out[6 * (k - 1)]) <= fit.columns[0].map.error + 1e-12);
                if (first.empty()) first = out;
                for (std::size_t k = 0; k < out.size(); ++k) CHECK(std::fabs(first[k] - out[k]) < 1e-10);
            }
        }
    std::vector<double> wrong = some_table(300), weights(300, 1.0);
    for (const double weight : {nan_, infinity}) {
        weights[3] = weight;
        TableFit<const double> fit({wrong.data(), 300, 6, 6, 1}, weights.data(), {some_alphas.data(), {gaussian, infinity, 5e-7}});
        CHECK(throws<std::invalid_argument>([&] { fit.run(2); }));
    }
}

// Maps of the kernel cdf and of its normal score: within their bounds of the direct sums, also beyond the extremes, and back.
void test_open_fit() {
    const std::vector<double> alphas{1.0, 0.0, 1e-9, 0.05, scott, 1.0};
    for (const std::size_t n_rows : {std::size_t{2}, std::size_t{300}, std::size_t{6000}})
        for (const Kernel& kernel : {gaussian, polyexp})
            for (const Target target : {Target::cdf, Target::score})
                for (const double most : {infinity, 9.0}) {
                    std::vector<double> table = some_table(n_rows);
                    const MapOptions options{kernel, most, 5e-7, target, true, -1, 3};
                    TableFit<const double> fit({table.data(), n_rows, 6, 6, 1}, nullptr, {alphas.data(), options});
                    fit.run(2);
                    Packed packed;
                    for (const auto& column : fit.columns) packed.add(column.map);
                    std::vector<double> at, out, back;
                    for (int k = -400; k <= 400; ++k) at.insert(at.end(), 6, 0.02 * k);
                    for (const double far : {1e3, 1e300, 1.7e308}) at.insert(at.end(), 6, far);
                    out.resize(at.size());
                    back.resize(at.size());
                    const std::size_t n = at.size() / 6;
                    const ArrayView<const double> from{at.data(), n, 6, 6, 1}, levels{out.data(), n, 6, 6, 1};
                    CHECK(map_columns<true>(packed.view(), from, columns_of(out, 6), OutOfRange::nan, 2) == 6);
                    CHECK(map_columns<false>(packed.view(), levels, columns_of(back, 6), OutOfRange::clip, 2) == 6);
                    const bool is_score = target == Target::score;
                    bool fine = true, ascending = true;
                    for (std::size_t k = 0; k < out.size(); ++k) {
                        fine &= std::isfinite(out[k]) && std::isfinite(back[k]) && (is_score || (out[k] > -1 && out[k] < 3));
                        ascending &= k < 6 || out[k] >= out[k - 6];
                    }
                    CHECK(fine);
                    CHECK(ascending);
                    CHECK(out[6 * 550 + 5] == (is_score ? 0 : 1));  // a constant, 3.0, is in the middle
                    for (const std::size_t j : {std::size_t{0}, std::size_t{3}}) {
                        if (most < infinity) CHECK(fit.columns[j].map.coefficients.size() <= 4 * 9 && fit.columns[j].map.knots.size() <= 9);
                        const double bandwidth = fit.columns[j].map.bandwidth * kernel.scale;
                        std::vector<double> column, weights(n_rows, 1.0), knots, lower(41), upper(41), density(41);
                        for (std::size_t row = 0; row < n_rows; ++row) column.push_back(table[6 * row + j]);
                        for (std::size_t k = 0; k < 41; ++k) knots.push_back(at[6 * 20 * k]);
                        direct_sum(kernel.order, column, weights.data(), 1, 0.0, bandwidth, knots, lower.data(), density.data());
                        for (double& value : column) value = -value;
                        for (double& knot : knots) knot = -knot;
                        direct_sum(kernel.order, column, weights.data(), 1, 0.0, bandwidth, knots, upper.data(), density.data());
                        double worst = 0;
                        for (std::size_t k = 0; k < 41; ++k) {
                            const double a = lower[k] / static_cast<double>(n_rows), b = upper[k] / static_cast<double>(n_rows);
                            const double exact = is_score ? normal_score(a, b) : -1 + 4 * a;
                            if (!is_score || std::fabs(exact) <= largest_score)
                                worst = std::max(worst, std::fabs(exact - out[6 * 20 * k + j]));
                        }
                        CHECK(worst <= fit.columns[j].map.error + 1e-10);
                        CHECK(n_rows == 2 || most < infinity || worst <= (is_score ? 1e-5 : 4e-6));
                    }
                }
    CHECK(std::fabs(normal_score(0.975, 0.025) - 1.959963984540054) < 1e-14 && normal_score(0.5, 0.5) == 0);
    CHECK(std::fabs(normal_score(1e-300, 1) + 37.0471) < 1e-4);
}

// Positions and contents that no fit makes lead to some result, and never outside of the arrays.
void check_hostile_lookups(Target target) {
    std::vector<double> table = some_table(300);
    TableFit<const double> fit({table.data(), 300, 6, 6, 1}, nullptr, {some_alphas.data(), {gaussian, infinity, 5e-7, target}});
    fit.run(1);
    Packed right;
    for (const auto& column : fit.columns) right.add(column.map);
    const std::vector<double> hostile{nan_, infinity, -infinity, 1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0, 1.0, 0.5, 1e19, -1e19, 2.2e9};
    std::vector<double> given;
    for (const double value : hostile)
        for (int j = 0; j < 6; ++j) given.push_back(value);
    std::mt19937_64 random(8);
    for (int trial = 0; trial < 200; ++trial) {
        Packed packed = right;
        for (auto* numbers : {&packed.low, &packed.high, &packed.unit, &packed.scale, &packed.low_slope, &packed.high_slope,
                              &packed.low_level, &packed.high_level, &packed.floor, &packed.ceiling, &packed.coefficients, &packed.knots, &packed.levels})
            for (double& number : *numbers)
                if (trial > 0 && random() % 4 == 0) number = hostile[random() % hostile.size()];
        std::vector<double> out(given.size());
        const ArrayView<const double> from{given.data(), hostile.size(), 6, 6, 1};
        for (const auto policy : {OutOfRange::clip, OutOfRange::linear, OutOfRange::nan}) {
            CHECK(map_columns<true>(packed.view(), from, columns_of(out, 6), policy, 2) == 0);  // column 0 holds infinity
            for (const double level : out)
                CHECK(trial > 0 || policy != OutOfRange::clip || target == Target::score || level != level || (level >= 0 && level <= 1));
            CHECK(map_columns<false>(packed.view(), from, columns_of(out, 6), policy, 2) == 0);
            // The same values as those of a sparse matrix, row by row.
            std::vector<double> expected(given.size()), stored(given.size());
            map_columns<true>(packed.view(), from, columns_of(expected, 6), policy, 1);
            std::vector<std::int32_t> features(given.size());
            for (std::size_t k = 0; k < given.size(); ++k) features[k] = static_cast<std::int32_t>(k % 6);
            CHECK(map_stored<true>(packed.view(), features.data(), given.data(), stored.data(), given.size(), policy, 2) == 0);
            // Any NaN is as good as another one, and infinite coefficients are not limited where all values are inside.
            constexpr double largest = std::numeric_limits<double>::max();
            for (auto* levels : {&stored, &expected})
                for (double& level : *levels) level = level != level ? nan_ : std::clamp(level, -largest, largest);
            CHECK(std::memcmp(stored.data(), expected.data(), stored.size() * sizeof(double)) == 0);
            features[static_cast<std::size_t>(trial) % given.size()] = trial % 2 ? -1 : 6;
            CHECK(throws<std::invalid_argument>(
                [&] { map_stored<false>(packed.view(), features.data(), given.data(), stored.data(), given.size(), policy, 2); }));
        }
    }
}

void test_hostile_lookups() {
    for (const Target target : {Target::bounded, Target::cdf, Target::score}) check_hostile_lookups(target);
}

void test_partitions() {
    std::vector<double> column = normal_values(1000, 9);
    column[1] = nan_, column[2] = infinity, column[3] = 1e30;
    std::vector<double> moments(static_cast<std::size_t>(n_moments) * 160);
    const PartitionSummary added = accumulate(column.data(), 1, nullptr, column.size(), Grid{16.0, -80, 160}, moments.data());
    CHECK(added.n_missing == 1 && added.n_infinite == 1 && added.count == 998 && added.outside == std::vector<double>{1e30});
    const std::vector<double> known{-0.0, 1.0, 2.0, nan_}, values{0.0, 1.0, 1.0, 7.0, nan_, -infinity};
    std::vector<double> masses(4);
    const PartitionSummary counted = tally(values.data(), 1, nullptr, values.size(), DistinctValues(known.data(), 4), masses.data());
    CHECK(masses == std::vector<double>{1, 2, 0, 0} && counted.outside == std::vector<double>{7.0} && counted.count == 4);
}

void test_levels() {
    const std::vector<double> x{2.0, 1.0, nan_, 2.0, 4.0};
    std::vector<double> out(5);
    LevelsOfColumn column;
    CHECK(column.write(x.data(), 1, nullptr, 5, {0.0, 0, 1.0, 1e-4, 1e-13}, out.data(), 1) == 0);
    CHECK(out[1] == 0 && out[0] == 0.5 && out[3] == 0.5 && out[4] == 1 && std::isnan(out[2]));
}

void test_modes_and_labels() {
    const std::vector<double> positions{0.0, 10.0}, masses{1.0, 1.0};
    const auto found = ModeFinder({positions.data(), masses.data(), 2, 1, 0.0}, 1.0, 10.0).find();
    CHECK(found.size() == 3 && std::fabs(found[1].position - 5) < 1e-9);
    std::vector<double> x{0.0, nan_, 1.0, 2.0, infinity, -infinity};
    std::vector<std::int64_t> labels(6);
    const std::vector<double> cuts{1.0, 2.0};
    assign_array(columns_of(x, 1), {Cuts{cuts.data(), 2}}, columns_of(labels, 1), 2);
    CHECK(labels == std::vector<std::int64_t>{0, -1, 1, 2, 2, 0});
    CHECK(weigh_array(columns_of(x, 1), nullptr, {Cuts{cuts.data(), 2}}, 2)[0] == std::vector<double>{2, 1, 2});
}

}  // namespace

int main() {
    const std::pair<const char*, void (*)()> tests[] = {
        {"parallel", test_parallel},   {"exceptions of threads", test_exceptions_of_threads},
        {"scan", test_scan},           {"fill", test_fill},
        {"cells", test_cells},         {"integrate", test_integrate},
        {"cubics", test_cubics},       {"fit", test_fit},
        {"open fit", test_open_fit},
        {"lookup", test_hostile_lookups}, {"partitions", test_partitions},
        {"levels", test_levels},       {"modes and labels", test_modes_and_labels},
    };
    for (const auto& [name, test] : tests) {
        const int before = n_failed;
        test();
        std::printf("%s: %s\n", name, n_failed == before ? "ok" : "FAILED");
    }
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
