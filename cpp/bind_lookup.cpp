#include <vector>

#include "arrays.hpp"
#include "lookup.hpp"
#include "parallel.hpp"

namespace kdi {

template <class Number>
using Flat = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class Number>
using Values = nb::ndarray<Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The arrays of packed maps, whose memory it keeps alive. Every access of `forward` and `inverse` stays within them: lengths,
// ranges and the guide are checked here, and positions are limited there. Integers are copied, so that they stay what was
// checked; numbers may change.
class PackedArrays {
  public:
    PackedArrays(Flat<std::uint8_t> kind, Flat<double> low, Flat<double> high, Flat<double> unit, Flat<double> scale,
                 Flat<double> low_slope, Flat<double> high_slope, Flat<double> low_level, Flat<double> high_level, Flat<double> floor,
                 Flat<double> ceiling, Flat<std::int64_t> start, Flat<std::int64_t> n_knots, Matrix coefficients, Flat<double> knots, Flat<double> levels, Flat<std::int32_t> guide)
        : kind_(copy(kind)), start_(copy(start)), n_knots_(copy(n_knots)), guide_(copy(guide)),
          numbers_{aligned(low), aligned(high), aligned(unit), aligned(scale), aligned(low_slope), aligned(high_slope),
                   aligned(low_level), aligned(high_level), aligned(floor), aligned(ceiling), aligned(knots), aligned(levels)},
          coefficients_(aligned(coefficients)),
          view{kind_.size(),         kind_.data(),         numbers_[0].data(),   numbers_[1].data(),   numbers_[2].data(),
               numbers_[3].data(),   numbers_[4].data(),   numbers_[5].data(),   numbers_[6].data(),   numbers_[7].data(),
               numbers_[8].data(),   numbers_[9].data(),   start_.data(),        n_knots_.data(),      coefficients_.data(),
               numbers_[10].data(),  numbers_[11].data(),  guide_.data()} {
        const std::size_t n = view.n_features;
        for (std::size_t k = 0; k < 10; ++k) require(numbers_[k].shape(0) == n, "numbers per feature must have one length");
        require(start_.size() == n && n_knots_.size() == n, "numbers per feature must have one length");
        require(coefficients.shape(1) == 4, "coefficients must have four columns");
        require(levels.shape(0) == knots.shape(0) && guide.shape(0) == knots.shape(0), "knots, levels and guide must have one length");
        for (std::size_t j = 0; j < n; ++j) check_feature(j);
    }

  private:
    template <class Integer>
    static std::vector<Integer> copy(Flat<Integer> integers) {
        align(integers);
        return {integers.data(), integers.data() + integers.shape(0)};
    }

    void check_feature(std::size_t j) const {
        require(view.kind[j] <= static_cast<std::uint8_t>(MapKind::empty), "kind must be 0 to 3");
        const auto kind = static_cast<MapKind>(view.kind[j]);
        if (kind == MapKind::constant || kind == MapKind::empty) return;
        const std::int64_t start = view.start[j], n_knots = view.n_knots[j];
        const auto n_points = static_cast<std::int64_t>(kind == MapKind::cubic ? coefficients_.shape(0) : guide_.size());
        require(n_knots >= 2 && n_knots <= (std::int64_t{1} << (kind == MapKind::cubic ? 20 : 31)),
                "a feature must have 2 to 2**20 (cubic) or 2**31 (linear) knots");
        require(start >= 0 && start <= n_points - n_knots, "knots of a feature must lie within the arrays");
        for (std::int64_t k = start; kind == MapKind::linear && k < start + n_knots - 1; ++k)
            require(view.guide[k] >= 0 && view.guide[k] < n_knots - 1, "guide must name intervals of the feature");
    }

    const std::vector<std::uint8_t> kind_;
    const std::vector<std::int64_t> start_, n_knots_;
    const std::vector<std::int32_t> guide_;
    const Flat<double> numbers_[12];
    const Matrix coefficients_;

  public:
    const PackedMaps view;
};

// Apply each column's map. Return the leftmost column that holds an infinite value, or -1.
template <bool Forward, class Number>
std::int64_t map_array(const PackedArrays& maps, Array2D<const Number> array, Array2D<Number> out, int out_of_range, int n_threads,
                       bool to_scores) {
    const auto from = view(array);
    const auto to = view(out);
    require(from.n_columns == maps.view.n_features && to.n_columns == from.n_columns && to.n_rows == from.n_rows,
            "array, out and the maps must have the same shape");
    require(out_of_range >= 0 && out_of_range <= 2, "out_of_range must be 0, 1 or 2");
    require_threads(n_threads);
    const auto policy = static_cast<OutOfRange>(out_of_range);
    nb::gil_scoped_release release;
    const std::size_t infinite_column = map_columns<Forward>(maps.view, from, to, policy, n_threads, to_scores);
    return infinite_column < from.n_columns ? static_cast<std::int64_t>(infinite_column) : -1;
}

// Apply to each stored value of a sparse matrix the map of its column; return what `map_array` returns.
template <bool Forward, class Number, class Index>
std::int64_t map_stored_values(const PackedArrays& maps, Values<const Index> columns, Values<const Number> values, Values<Number> out,
                               int out_of_range, int n_threads, bool to_scores) {
    align(columns, values, out);
    const std::size_t n = values.shape(0);
    require(columns.shape(0) == n && out.shape(0) == n, "columns, values and out must have the same length");
    require(out_of_range >= 0 && out_of_range <= 2, "out_of_range must be 0, 1 or 2");
    require_threads(n_threads);
    const auto policy = static_cast<OutOfRange>(out_of_range);
    nb::gil_scoped_release release;
    const std::size_t infinite_column =
        map_stored<Forward>(maps.view, columns.data(), values.data(), out.data(), n, policy, n_threads, to_scores);
    return infinite_column < maps.view.n_features ? static_cast<std::int64_t>(infinite_column) : -1;
}

template <class Number, class Index>
void bind_stored(nb::module_& m) {
    m.def("forward_stored", &map_stored_values<true, Number, Index>, nb::arg("maps"), nb::arg("columns").noconvert(),
          nb::arg("values").noconvert(), nb::arg("out").noconvert(), nb::arg("out_of_range"), nb::arg("n_threads"),
          nb::arg("to_scores") = false);
    m.def(
        "inverse_stored",
        [](const PackedArrays& maps, Values<const Index> columns, Values<const Number> values, Values<Number> out, int out_of_range,
           int n_threads) { return map_stored_values<false, Number, Index>(maps, columns, values, out, out_of_range, n_threads, false); },
        nb::arg("maps"), nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("out").noconvert(), nb::arg("out_of_range"),
        nb::arg("n_threads"));
}

template <class Number>
void bind_maps(nb::module_& m) {
    m.def("forward", &map_array<true, Number>, nb::arg("maps"), nb::arg("array").noconvert(), nb::arg("out").noconvert(),
          nb::arg("out_of_range"), nb::arg("n_threads"), nb::arg("to_scores") = false);
    m.def(
        "inverse",
        [](const PackedArrays& maps, Array2D<const Number> array, Array2D<Number> out, int out_of_range, int n_threads) {
            return map_array<false, Number>(maps, array, out, out_of_range, n_threads, false);
        },
        nb::arg("maps"), nb::arg("array").noconvert(), nb::arg("out").noconvert(), nb::arg("out_of_range"), nb::arg("n_threads"));
}

void bind_lookup(nb::module_& m) {
    nb::class_<PackedArrays>(m, "PackedMaps")
        .def(nb::init<Flat<std::uint8_t>, Flat<double>, Flat<double>, Flat<double>, Flat<double>, Flat<double>, Flat<double>,
                      Flat<double>, Flat<double>, Flat<double>, Flat<double>, Flat<std::int64_t>, Flat<std::int64_t>, Matrix,
                      Flat<double>, Flat<double>, Flat<std::int32_t>>(),
             nb::arg("kind").noconvert(), nb::arg("low").noconvert(), nb::arg("high").noconvert(), nb::arg("unit").noconvert(),
             nb::arg("scale").noconvert(), nb::arg("low_slope").noconvert(), nb::arg("high_slope").noconvert(),
             nb::arg("low_level").noconvert(), nb::arg("high_level").noconvert(), nb::arg("floor").noconvert(),
             nb::arg("ceiling").noconvert(), nb::arg("start").noconvert(), nb::arg("n_knots").noconvert(),
             nb::arg("coefficients").noconvert(), nb::arg("knots").noconvert(), nb::arg("levels").noconvert(),
             nb::arg("guide").noconvert());
    bind_maps<double>(m);
    bind_maps<float>(m);
    bind_stored<double, std::int32_t>(m);
    bind_stored<double, std::int64_t>(m);
    bind_stored<float, std::int32_t>(m);
    bind_stored<float, std::int64_t>(m);
}

}  // namespace kdi
