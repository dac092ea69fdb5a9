#include <atomic>
#include <variant>

#include "arrays.hpp"
#include "lookup.hpp"
#include "parallel.hpp"

namespace kdi {

using ColumnMap = std::variant<CubicMap, LinearMap>;
using Guide = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Read the Python map objects. The result points into their arrays, which must be stored attributes: the objects in the list
// keep them alive. Arrays are not converted, since a converted copy would be freed before it is read.
std::vector<ColumnMap> read_maps(nb::list list) {
    std::vector<ColumnMap> maps;
    for (nb::handle item : list) {
        const auto number = [&](const char* name) { return nb::cast<double>(item.attr(name)); };
        const double low = number("low"), high = number("high"), scale = number("scale");
        const double low_slope = number("low_slope"), high_slope = number("high_slope");
        if (nb::hasattr(item, "coefficients")) {
            const auto coefficients = nb::cast<Matrix>(item.attr("coefficients"), false);
            maps.push_back(CubicMap{coefficients.data(), static_cast<std::int64_t>(coefficients.shape(0)) - 1, low, high, scale,
                                    low_slope, high_slope});
        } else {
            const auto knots = nb::cast<Vector>(item.attr("knots"), false), levels = nb::cast<Vector>(item.attr("levels"), false);
            const auto guide = nb::cast<Guide>(item.attr("guide"), false);
            maps.push_back(LinearMap{knots.data(), levels.data(), guide.data(), static_cast<std::int64_t>(knots.shape(0)) - 1,
                                     static_cast<std::int64_t>(guide.shape(0)), low, high, scale, low_slope, high_slope});
        }
    }
    return maps;
}

// Apply each column's map. Return a column that holds an infinite value, or -1; of several such columns, the one that some
// thread finds first, which is not always the leftmost.
template <bool Forward, class Number>
std::int64_t map_array(nb::list list, Array2D<const Number> array, Array2D<Number> out, int out_of_range, int n_threads) {
    const auto maps = read_maps(list);
    const auto from = view(array);
    const auto to = view(out);
    const auto policy = static_cast<OutOfRange>(out_of_range);
    std::atomic<std::int64_t> infinite_column{-1};
    nb::gil_scoped_release release;
    parallel_for(from.n_rows, n_threads, [&](int, std::size_t begin, std::size_t end) {
        for_each_tile(from, 0, from.n_columns, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
            const bool infinite = std::visit(
                [&](const auto& map) {
                    return apply_to_column(from.column(j, row), from.row_stride, to.column(j, row), to.row_stride, n,
                                           [&](double value, bool& is_infinite) {
                                               return Forward ? forward(map, value, policy, is_infinite)
                                                              : inverse(map, value, policy, is_infinite);
                                           });
                },
                maps[j]);
            if (infinite) {
                std::int64_t unset = -1;
                infinite_column.compare_exchange_strong(unset, static_cast<std::int64_t>(j));
            }
        });
    });
    return infinite_column;
}

template <bool Forward, class Number>
void bind_map(nb::module_& m, const char* name) {
    m.def(name, &map_array<Forward, Number>, nb::arg("maps"), nb::arg("array").noconvert(), nb::arg("out").noconvert(),
          nb::arg("out_of_range"), nb::arg("n_threads"));
}

void bind_lookup(nb::module_& m) {
    bind_map<true, double>(m, "forward");
    bind_map<true, float>(m, "forward");
    bind_map<false, double>(m, "inverse");
    bind_map<false, float>(m, "inverse");
}

}  // namespace kdi
