#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "fit.hpp"

namespace kdi {

// Concatenate one vector per column; these are empty afterwards. A single one is not copied.
template <class Number, class Columns, class Choose>
std::vector<Number> concatenate(Columns& columns, Choose choose) {
    std::size_t size = 0;
    for (auto& column : columns) size += choose(column).size();
    std::vector<Number> all;
    for (auto& column : columns) {
        std::vector<Number>& own = choose(column);
        if (own.size() == size) return std::move(own);
        all.reserve(size);
        all.insert(all.end(), own.begin(), own.end());
        std::vector<Number>().swap(own);
    }
    return all;
}

template <class Number, class Columns, class Choose>
auto gather(const Columns& columns, Choose choose) {
    std::vector<Number> numbers;
    numbers.reserve(columns.size());
    for (const auto& column : columns) numbers.push_back(static_cast<Number>(choose(column)));
    return to_numpy(std::move(numbers), {columns.size()});
}

// The arrays of packed.hpp, then error and bandwidth, as a tuple. The maps are moved there.
template <class Columns, class GetMap>
nb::tuple pack_maps(Columns& columns, GetMap get) {
    std::vector<std::int64_t> start, n_knots;
    std::int64_t n_rows = 0, n_points = 0;
    for (const auto& column : columns) {
        const ColumnMap& map = get(column);
        const bool is_cubic = map.kind == MapKind::cubic;
        const auto n = static_cast<std::int64_t>(is_cubic ? map.coefficients.size() / 4 : map.knots.size());
        start.push_back(n == 0 ? 0 : is_cubic ? n_rows : n_points);
        n_knots.push_back(n);
        (is_cubic ? n_rows : n_points) += n;
    }
    const auto number = [&](auto choose) { return gather<double>(columns, [&](const auto& column) { return choose(get(column)); }); };
    auto coefficients = concatenate<double>(columns, [&](auto& c) -> auto& { return get(c).coefficients; });
    auto knots = concatenate<double>(columns, [&](auto& c) -> auto& { return get(c).knots; });
    auto levels = concatenate<double>(columns, [&](auto& c) -> auto& { return get(c).levels; });
    // A guide has one entry less than there are knots; one more keeps the starts equal.
    for (auto& column : columns)
        if (!get(column).guide.empty()) get(column).guide.push_back(0);
    auto guide = concatenate<std::int32_t>(columns, [&](auto& c) -> auto& { return get(c).guide; });
    const std::size_t n_columns = columns.size(), points = knots.size();
    return nb::make_tuple(
        gather<std::uint8_t>(columns, [&](const auto& c) { return static_cast<std::uint8_t>(get(c).kind); }),
        number([](const ColumnMap& m) { return m.low; }), number([](const ColumnMap& m) { return m.high; }),
        number([](const ColumnMap& m) { return m.unit; }), number([](const ColumnMap& m) { return m.scale; }),
        number([](const ColumnMap& m) { return m.low_slope; }), number([](const ColumnMap& m) { return m.high_slope; }),
        number([](const ColumnMap& m) { return m.low_level; }), number([](const ColumnMap& m) { return m.high_level; }),
        number([](const ColumnMap& m) { return m.floor; }), number([](const ColumnMap& m) { return m.ceiling; }),
        to_numpy(std::move(start), {n_columns}), to_numpy(std::move(n_knots), {n_columns}),
        to_numpy(std::move(coefficients), {static_cast<std::size_t>(n_rows), 4}), to_numpy(std::move(knots), {points}),
        to_numpy(std::move(levels), {points}), to_numpy(std::move(guide), {points}),
        number([](const ColumnMap& m) { return m.error; }), number([](const ColumnMap& m) { return m.bandwidth; }));
}

// Per column: whether it has cells (0), distinct values (1) or values as they came (2), the exponent of the cells, and their
// number; then all cells, their moments, all values and their weights.
template <class Columns, class GetKeys, class GetMoments>
nb::tuple pack_sketches(Columns& columns, GetKeys get_keys, GetMoments get_moments) {
    auto sizes = gather<std::int64_t>(columns, [&](const auto& c) { return get_keys(c) == 0 ? c.cells.size() : c.values.size(); });
    auto cells = concatenate<std::int64_t>(columns, [](auto& c) -> auto& { return c.cells; });
    auto moments = concatenate<double>(columns, get_moments);
    auto values = concatenate<double>(columns, [](auto& c) -> auto& { return c.values; });
    auto masses = concatenate<double>(columns, [](auto& c) -> auto& { return c.masses; });
    const std::size_t n_cells = cells.size(), n_values = values.size();
    return nb::make_tuple(
        gather<std::uint8_t>(columns, get_keys), gather<std::int64_t>(columns, [](const auto& c) { return c.exponent; }),
        std::move(sizes), to_numpy(std::move(cells), {n_cells}), to_numpy(std::move(moments), {n_cells, n_moments}),
        to_numpy(std::move(values), {n_values}), to_numpy(std::move(masses), {n_values}));
}

// What users choose: the kernel (order, scale, peak, max_fourth_derivative), max_knots, tolerance, target, is_robust, floor, ceiling.
using Options = std::tuple<int, double, double, double, double, double, int, bool, double, double>;

MapOptions map_options(const Options& given) {
    const auto& [order, scale, peak, max_fourth_derivative, max_knots, tolerance, target, is_robust, floor, ceiling] = given;
    require(target >= 0 && target <= 2, "target must be 0, 1 or 2");
    const MapOptions options{{order, scale, peak, max_fourth_derivative}, max_knots, tolerance, static_cast<Target>(target), is_robust,
                             floor, ceiling};
    require_order(options.kernel.order);
    require_positive(options.kernel.scale, "scale must be positive and finite");
    require_positive(options.kernel.peak, "peak must be positive and finite");
    require_positive(options.kernel.max_fourth_derivative, "max_fourth_derivative must be positive and finite");
    require(options.max_knots >= 2, "max_knots must be at least 2");
    require_positive(options.tolerance, "tolerance must be positive and finite");
    require(std::isfinite(floor) && std::isfinite(ceiling), "floor and ceiling must be finite");
    require_positive(ceiling - floor, "floor must be below the ceiling, and the difference must be finite");
    return options;
}

// The statistics of the first pass, one row each; the bandwidth factors; the sketches; and the maps.
template <class Number>
nb::tuple fit_table(Array2D<const Number> table, OptionalVector weights, Vector alphas, const Options& given, int n_threads) {
    const auto rows = view(table);
    align_weights(weights, rows.n_rows);
    require_threads(n_threads);
    align(alphas);
    require(alphas.shape(0) == rows.n_columns, "alphas must have one number per column");
    for (std::size_t j = 0; j < rows.n_columns; ++j) {
        const double alpha = alphas.data()[j];
        require(!(alpha < 0) || alpha == scott || alpha == silverman, "alphas must be >= 0, rules or NaN");
    }
    const FitOptions options{alphas.data(), map_options(given)};
    TableFit<const Number> fit(rows, data_or_null(weights), options);
    {
        nb::gil_scoped_release release;
        fit.run(n_threads);
    }
    auto& columns = fit.columns;
    std::vector<double> stats(6 * columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
        const ColumnStats& s = columns[j].stats;
        const double of_column[] = {s.minimum, s.maximum, s.count, s.weight, s.n_missing, s.n_infinite};
        for (std::size_t k = 0; k < 6; ++k) stats[k * columns.size() + j] = of_column[k];
    }
    const nb::tuple sketches = pack_sketches(columns, [](const FittedColumn& c) { return static_cast<std::uint8_t>(c.keys); },
                                             [](auto& c) -> auto& { return c.cell_moments; });
    return nb::make_tuple(to_numpy(std::move(stats), {6, columns.size()}), gather<double>(columns, [](const auto& c) { return c.alpha; }),
                          sketches, pack_maps(columns, [](auto& c) -> auto& { return c.map; }));
}

using Cells1D = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Kinds = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The arrays of sketches, as `fit` returns them; none may be unsorted.
struct PackedSketches {
    Kinds keys;
    Cells1D exponent, n, cells;
    Matrix moments;
    Vector values, masses;

    void check(std::size_t n_columns, const double* minimum, const double* maximum) {
        align(keys, exponent, n, cells, moments, values, masses);
        std::size_t n_cells = 0, n_values = 0;
        require(keys.shape(0) == n_columns && exponent.shape(0) == n_columns && n.shape(0) == n_columns,
                "sketches must have one entry per column");
        for (std::size_t j = 0; j < n_columns; ++j) {
            require(keys.data()[j] <= 1 && n.data()[j] >= 0, "sketches must have cells or distinct values");
            require(n.data()[j] <= max_cell, "sketches must have as many cells or values as they say");
            require_exponent(exponent.data()[j]);
            (keys.data()[j] == 0 ? n_cells : n_values) += static_cast<std::size_t>(n.data()[j]);
        }
        require(cells.shape(0) == n_cells && moments.shape(0) == n_cells && moments.shape(1) == n_moments,
                "sketches must have as many cells as they say");
        require(values.shape(0) == n_values && masses.shape(0) == n_values, "sketches must have as many values as they say");
        const std::int64_t* cell = cells.data();
        const double* value = values.data();
        for (std::size_t j = 0; j < n_columns; ++j) {
            const auto size = static_cast<std::size_t>(n.data()[j]);
            if (size == 0) continue;
            require(minimum[j] <= maximum[j] && maximum[j] - minimum[j] < infinity, "extremes must be finite, and so must the range");
            if (keys.data()[j] == 0) {
                require(cell[0] >= -max_cell && cell[size - 1] <= max_cell, "cells must be at most 2**53 in size");
                for (std::size_t k = 1; k < size; ++k) require(cell[k] > cell[k - 1], "cells must ascend");
                const CellLocator locate(static_cast<int>(exponent.data()[j]));
                require(locate.finds(minimum[j]) && locate.finds(maximum[j]) && locate(minimum[j]).cell == cell[0] &&
                            locate(maximum[j]).cell == cell[size - 1],
                        "the first and the last cell must hold the extremes");
                cell += size;
            } else {
                require(value[0] == minimum[j] && value[size - 1] == maximum[j], "values must begin and end with the extremes");
                for (std::size_t k = 1; k < size; ++k) require(value[k] > value[k - 1], "values must ascend");
                value += size;
            }
        }
    }
};

template <class Array>
Array array_from(nb::handle object) {
    Array array;
    if (!nb::try_cast(object, array, false)) throw nb::type_error("sketches must be contiguous arrays of the right dtypes");
    return array;
}

// A map built from a sketch, and the cells into which the sketch was merged, if it was.
struct BuiltColumn {
    ColumnMap map;
    std::uint8_t keys = 0;
    int exponent = 0;
    std::vector<std::int64_t> cells;
    std::vector<double> moments, values, masses;

    std::size_t n() const { return keys == 0 ? cells.size() : values.size(); }
};

// Build the maps of sketches; with `merge`, return the sketches too, no finer than their bandwidths need.
nb::tuple build_maps(nb::tuple arrays, Vector minimum, Vector maximum, Vector counts, Vector factors, bool is_bandwidth,
                     const Options& given, bool merge, int n_threads) {
    if (arrays.size() != 7) throw std::invalid_argument("sketches must be seven arrays");
    PackedSketches sketches{array_from<Kinds>(arrays[0]),   array_from<Cells1D>(arrays[1]), array_from<Cells1D>(arrays[2]),
                                  array_from<Cells1D>(arrays[3]), array_from<Matrix>(arrays[4]),  array_from<Vector>(arrays[5]),
                                  array_from<Vector>(arrays[6])};
    const std::size_t n_columns = factors.shape(0);
    align(minimum, maximum, counts, factors);
    require(minimum.shape(0) == n_columns && maximum.shape(0) == n_columns && counts.shape(0) == n_columns,
            "extremes and counts must be one per column");
    for (std::size_t j = 0; j < n_columns; ++j) {
        require(counts.data()[j] >= 0 && counts.data()[j] <= static_cast<double>(max_cell), "counts must be 0 to 2**53");
        require(!(factors.data()[j] < 0), "factors must be >= 0 or NaN");
    }
    sketches.check(n_columns, minimum.data(), maximum.data());
    const MapOptions options = map_options(given);
    require_threads(n_threads);
    std::vector<ColumnSummary> summaries;
    std::size_t cell = 0, value = 0;
    for (std::size_t j = 0; j < n_columns; ++j) {
        ColumnSummary summary;
        summary.minimum = minimum.data()[j];
        summary.maximum = maximum.data()[j];
        summary.count = counts.data()[j];
        summary.n = static_cast<std::size_t>(sketches.n.data()[j]);
        summary.is_exact = sketches.keys.data()[j] == 1;
        summary.exponent = static_cast<int>(sketches.exponent.data()[j]);
        summary.cells = sketches.cells.data() + cell;
        summary.values = sketches.values.data() + value;
        summary.moments = summary.is_exact ? sketches.masses.data() + value : sketches.moments.data() + n_moments * cell;
        (summary.is_exact ? value : cell) += summary.n;
        summaries.push_back(summary);
    }
    std::vector<BuiltColumn> built(n_columns);
    {
        nb::gil_scoped_release release;
        for_each_block(n_columns, static_cast<int>(std::min(n_columns, static_cast<std::size_t>(std::max(n_threads, 1)))),
                       [&](std::size_t j) {
                           MapBuilder builder(options);
                           const ColumnSummary& from = summaries[j];
                           BuiltColumn& column = built[j];
                           column.map = builder.build(from, factors.data()[j], is_bandwidth);
                           if (!merge) return;
                           const auto* merged = builder.merged_cells();
                           const double range = from.maximum - from.minimum;
                           const bool is_short = merged && from.is_exact &&
                                                 keeps_values(builder.merged_exponent(), range, static_cast<std::size_t>(counts.data()[j]));
                           column.keys = from.is_exact && (!merged || is_short);
                           if (merged && !is_short) {
                               column.exponent = builder.merged_exponent();
                               column.cells = merged->keys;
                               column.moments = merged->moments;
                           } else if (from.is_exact) {
                               column.values.assign(from.values, from.values + from.n);
                               column.masses.assign(from.moments, from.moments + from.n);
                           } else {
                               column.exponent = from.exponent;
                               column.cells.assign(from.cells, from.cells + from.n);
                               column.moments.assign(from.moments, from.moments + n_moments * from.n);
                           }
                       });
    }
    const nb::tuple maps = pack_maps(built, [](auto& column) -> auto& { return column.map; });
    if (!merge) return nb::make_tuple(maps, arrays);
    return nb::make_tuple(maps, pack_sketches(built, [](const BuiltColumn& c) { return c.keys; },
                                              [](auto& c) -> auto& { return c.moments; }));
}

template <class Number>
void bind_table(nb::module_& m) {
    m.def("fit", &fit_table<Number>, nb::arg("table").noconvert(), nb::arg("weights").none(), nb::arg("alphas"), nb::arg("options"),
          nb::arg("n_threads"));
}

void bind_fit(nb::module_& m) {
    bind_table<double>(m);
    bind_table<float>(m);
    m.def("build_maps", &build_maps, nb::arg("sketches"), nb::arg("minimum"), nb::arg("maximum"), nb::arg("counts"),
          nb::arg("factors"), nb::arg("is_bandwidth"), nb::arg("options"), nb::arg("merge"), nb::arg("n_threads"));
}

}  // namespace kdi
