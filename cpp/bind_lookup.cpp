#include <atomic>
#include <variant>

#include "arrays.hpp"
#include "lookup.hpp"
#include "parallel.hpp"

namespace kdi {

using AnyTable = std::variant<CubicTable, LinearTable>;
using Guide = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The arrays stay owned by Python, which holds the list meanwhile; none is converted, so none is a copy that would vanish.
std::vector<AnyTable> read_tables(nb::list tables) {
    std::vector<AnyTable> result;
    for (nb::handle item : tables) {
        const auto number = [&](const char* name) { return nb::cast<double>(item.attr(name)); };
        const double low = number("low"), high = number("high"), scale = number("scale");
        const double low_slope = number("low_slope"), high_slope = number("high_slope");
        if (nb::hasattr(item, "coefficients")) {
            const auto coefficients = nb::cast<Matrix>(item.attr("coefficients"), false);
            result.push_back(CubicTable{coefficients.data(), static_cast<std::int64_t>(coefficients.shape(0)) - 1, low, high, scale,
                                        low_slope, high_slope});
        } else {
            const auto knots = nb::cast<Vector>(item.attr("knots"), false), levels = nb::cast<Vector>(item.attr("levels"), false);
            const auto guide = nb::cast<Guide>(item.attr("guide"), false);
            result.push_back(LinearTable{knots.data(), levels.data(), guide.data(), static_cast<std::int64_t>(knots.shape(0)) - 1,
                                         static_cast<std::int64_t>(guide.shape(0)), low, high, scale, low_slope, high_slope});
        }
    }
    return result;
}

// Maps every column through its table; returns the first column in which an infinite value was met, or -1.
template <bool Forward, class Number>
std::int64_t map_table(nb::list list, Table2D<const Number> table, Table2D<Number> out, int policy, int n_threads) {
    const auto tables = read_tables(list);
    const auto from = view(table);
    const auto to = view(out);
    const auto outside = static_cast<OutOfRange>(policy);
    std::atomic<std::int64_t> first_infinite{-1};
    nb::gil_scoped_release release;
    share_out(from.n_rows, n_threads, [&](int, std::size_t begin, std::size_t end) {
        walk_tiles(from, 0, from.n_columns, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
            const bool infinite = std::visit(
                [&](const auto& one) {
                    return map_column(from.column(j, row), from.row_stride, to.column(j, row), to.row_stride, n,
                                      [&](double value, bool& met) {
                                          return Forward ? forward(one, value, outside, met) : inverse(one, value, outside, met);
                                      });
                },
                tables[j]);
            if (infinite) {
                std::int64_t unset = -1;
                first_infinite.compare_exchange_strong(unset, static_cast<std::int64_t>(j));
            }
        });
    });
    return first_infinite;
}

template <bool Forward, class Number>
void bind_map(nb::module_& m, const char* name) {
    m.def(name, &map_table<Forward, Number>, nb::arg("tables"), nb::arg("table").noconvert(), nb::arg("out").noconvert(),
          nb::arg("out_of_range"), nb::arg("n_threads"));
}

void bind_lookup(nb::module_& m) {
    bind_map<true, double>(m, "forward");
    bind_map<true, float>(m, "forward");
    bind_map<false, double>(m, "inverse");
    bind_map<false, float>(m, "inverse");
}

}  // namespace kdi
