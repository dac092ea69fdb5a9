#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "assign.hpp"
#include "modes.hpp"
#include "parallel.hpp"

namespace kdi {

// One pair per density: where it turns, and the density there.
std::vector<std::pair<NumPyFloat64, NumPyFloat64>> turning_points(std::vector<Vector> positions, std::vector<Matrix> moments,
                                                                  Vector widths, Vector bandwidths, Vector lengths, int n_threads) {
    const std::size_t n = positions.size();
    require(moments.size() == n && widths.shape(0) == n && bandwidths.shape(0) == n && lengths.shape(0) == n,
            "positions, moments, widths, bandwidths and lengths must have one entry per density");
    align(widths, bandwidths, lengths);
    require_threads(n_threads);
    std::vector<Cells> densities;
    for (std::size_t j = 0; j < n; ++j) {
        const std::size_t n_cells = positions[j].shape(0), per_cell = moments[j].shape(1);
        const double width = widths.data()[j];
        align(positions[j], moments[j]);
        require(n_cells > 0 && moments[j].shape(0) == n_cells, "moments must have one row per position");
        require(width >= 0 && width < infinity && per_cell == (width > 0 ? n_moments : 1), "moments must have four columns for cells and one for values");
        require(bandwidths.data()[j] > 0 && lengths.data()[j] > 0 && lengths.data()[j] < infinity && bandwidths.data()[j] < infinity,
                "bandwidths and lengths must be positive and finite");
        require(width == 0 || lengths.data()[j] / width <= 16777216, "there must be at most 2**24 cells");
        const double* position = positions[j].data();
        bool is_ascending = position[0] >= -width && position[n_cells - 1] <= lengths.data()[j] + width;
        for (std::size_t k = 1; k < n_cells; ++k) is_ascending &= position[k] >= position[k - 1];
        require(is_ascending, "positions must ascend from 0 to the length");
        densities.push_back({position, moments[j].data(), n_cells, static_cast<int>(per_cell), width});
    }
    std::vector<std::vector<TurningPoint>> found(n);
    {
        nb::gil_scoped_release release;
        for_each_block(n, static_cast<int>(std::min(n, static_cast<std::size_t>(std::max(n_threads, 1)))), [&](std::size_t j) {
            found[j] = ModeFinder(densities[j], bandwidths.data()[j], lengths.data()[j]).find();
        });
    }
    std::vector<std::pair<NumPyFloat64, NumPyFloat64>> result;
    for (const auto& points : found) {
        std::vector<double> at, density;
        for (const TurningPoint& point : points) {
            at.push_back(point.position);
            density.push_back(point.density);
        }
        result.emplace_back(to_numpy(std::move(at), {points.size()}), to_numpy(std::move(density), {points.size()}));
    }
    return result;
}

std::vector<Cuts> read_cuts(std::vector<Vector>& cuts, std::size_t n_columns) {
    require(cuts.size() == n_columns, "cuts must have one entry per column");
    std::vector<Cuts> result;
    for (Vector& one : cuts) {
        align(one);
        bool is_ascending = true;
        for (std::size_t k = 1; k < one.shape(0); ++k) is_ascending &= one.data()[k] >= one.data()[k - 1];
        require(is_ascending, "cuts must ascend");
        result.push_back({one.data(), one.shape(0)});
    }
    return result;
}

// Write the number of cuts at or below each value to `out`, -1 for NaN.
template <class Number>
void assign(Array2D<const Number> array, std::vector<Vector> cuts, Array2D<std::int64_t> out, int n_threads) {
    const auto from = view(array);
    const auto to = view(out);
    require(to.n_rows == from.n_rows && to.n_columns == from.n_columns, "array and out must have the same shape");
    require_threads(n_threads);
    const std::vector<Cuts> of_columns = read_cuts(cuts, from.n_columns);
    nb::gil_scoped_release release;
    assign_array(from, of_columns, to, n_threads);
}

// The weight between the cuts of each column.
template <class Number>
std::vector<NumPyFloat64> weights_between(Array2D<const Number> array, OptionalVector weights, std::vector<Vector> cuts,
                                          int n_threads) {
    const auto from = view(array);
    align_weights(weights, from.n_rows);
    require_threads(n_threads);
    const std::vector<Cuts> of_columns = read_cuts(cuts, from.n_columns);
    std::vector<std::vector<double>> sums;
    {
        nb::gil_scoped_release release;
        sums = weigh_array(from, data_or_null(weights), of_columns, n_threads);
    }
    std::vector<NumPyFloat64> result;
    for (auto& column : sums) {
        const std::size_t n = column.size();
        result.push_back(to_numpy(std::move(column), {n}));
    }
    return result;
}

template <class Number>
void bind_cuts(nb::module_& m) {
    m.def("assign", &assign<Number>, nb::arg("array").noconvert(), nb::arg("cuts"), nb::arg("out").noconvert(), nb::arg("n_threads"));
    m.def("weights_between", &weights_between<Number>, nb::arg("array").noconvert(), nb::arg("weights").none(), nb::arg("cuts"),
          nb::arg("n_threads"));
}

void bind_clusters(nb::module_& m) {
    m.def("turning_points", &turning_points, nb::arg("positions"), nb::arg("moments"), nb::arg("widths"), nb::arg("bandwidths"),
          nb::arg("lengths"), nb::arg("n_threads"));
    bind_cuts<double>(m);
    bind_cuts<float>(m);
}

}  // namespace kdi
