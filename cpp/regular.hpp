// The kernel cdf of cells, and its density, at knots whose distance is a multiple of the cells' width.
//
//     cells   ┬───┬───┬───┬───┬───┬───┬───┬───┬       a centre is 1, 2, … or n_cells_per_step widths, less a fraction that is
//     knots  │           │           │           │    the same for all, away from the next knot
//
// What a cell adds to the state at that knot is therefore one of few small matrices times its moments. A cell costs a few
// multiplications without waiting for the cell before, and the state moves once per knot, by the same step.
#pragma once

#include <algorithm>
#include <vector>

#include "blocks.hpp"
#include "filter.hpp"

namespace kdi {

// Cells of one width. Positions are relative to the first knot.
struct RegularCells {
    const std::int64_t* keys;  // ascending
    const double* moments;     // n x n_moments
    std::size_t n;
    std::int64_t first_key;  // of the cell nearest to the first knot, whether or not it is occupied
    double width;
    double shift;  // position of the centre of that cell, in (-width/2, width/2]

    std::int64_t index(std::size_t k) const { return keys[k] - first_key; }
    double centre(std::size_t k) const { return static_cast<double>(index(k)) * width + shift; }
};

struct RegularKnots {
    std::int64_t n_cells_per_step;
    double step;
    std::size_t n;  // at least 2 knots, at 0, step, …, (n - 1) step
    double end;     // one more position, between the last two knots; NaN for none
};

// The results at the knots: the kernel cdf, its upper tail, which may be null, and the density.
struct RegularCurves {
    double *value, *upper, *density;
};

// The sums at `end`, from the state at the knot before it, at a distance `gap`, and the cells from `next` on.
template <class Filter>
void read_at_end(const RegularCells& cells, std::size_t next, Filter left, double gap, double mass, double end, int order,
                 double bandwidth, double& value, double& density) {
    left.move(left.step(gap));
    Filter right(order, cells.width / bandwidth);
    for (; next < cells.n; ++next) {
        const double* m = cells.moments + n_moments * next;
        const double distance = (end - cells.centre(next)) / bandwidth;
        if (distance >= 0) {
            left.add(m, left.contributions(distance));
            mass += m[0];
        } else {
            right.add(m, right.contributions(-distance));
        }
    }
    value = mass - left.read().value + right.read().value;
    density = (left.read().slope + right.read().slope) / bandwidth;
}

// The filter from one side at the current knot, with the cells that it has passed.
template <class Filter>
struct Pass {
    Filter filter;
    typename Filter::Step step;
    std::vector<typename Filter::Contributions> contributions;  // by the distance in cells between a cell and its knot

    // `distance(j)`: from a cell, j cells in front of a knot, to the knot at which its contribution is added.
    template <class Distance>
    Pass(int order, double cell_step, double step_length, std::int64_t first, std::int64_t n, Distance distance)
        : filter(order, cell_step), step(filter.step(step_length)), contributions(static_cast<std::size_t>(first + n)) {
        for (std::int64_t j = first; j < first + n; ++j) contributions[static_cast<std::size_t>(j)] = filter.contributions(distance(j));
    }

    void add(const double* moments, std::int64_t n_cells) { filter.add(moments, contributions[static_cast<std::size_t>(n_cells)]); }
};

// value and density have room for one number more where there is an `end`. The two passes run side by side, since each waits for
// its own state most of the time. Neither tail loses digits: each is a sum of the masses on one side, and of small tails.
template <class Filter>
KDI_LEVELS KDI_FLATTEN void integrate_regular(const RegularCells& cells, const RegularKnots& knots, int order, double bandwidth,
                                              const RegularCurves& curves) {
    double* const value = curves.value;
    double* const upper = curves.upper;
    double* const density = curves.density;
    const std::int64_t per_step = knots.n_cells_per_step, n = static_cast<std::int64_t>(knots.n);
    const double step = knots.step / bandwidth;
    // Cells with an index below i * per_step + on_knot lie in front of knot i, or on it. Where the shift is positive, the centre of
    // cell i * per_step lies behind the knot.
    const std::int64_t after = cells.shift > 0, on_knot = 1 - after;
    const auto gap = [&](std::int64_t j) { return (static_cast<double>(j) * cells.width - cells.shift) / bandwidth; };
    Pass<Filter> left(order, -cells.width / bandwidth, step, after, per_step, gap);
    Pass<Filter> right(order, cells.width / bandwidth, step, after, per_step, [&](std::int64_t j) { return step - gap(j); });
    std::fill(value, value + n, 0.0);
    std::fill(density, density + n, 0.0);
    if (upper) std::fill(upper, upper + n, 0.0);
    double mass = 0, upper_mass = 0;
    std::size_t from = 0, to = cells.n;  // the cells that the passes have not reached
    for (std::int64_t at = 0; at <= n; ++at) {
        if (at < n) {
            if (at > 0) left.filter.move(left.step);
            for (; from < cells.n && cells.index(from) < at * per_step + on_knot; ++from) {
                const double* m = cells.moments + n_moments * from;
                left.add(m, at * per_step - cells.index(from));
                mass += m[0];
            }
            const TailSums tails = left.filter.read();
            value[at] += mass - tails.value;
            density[at] += tails.slope;
            if (upper) upper[at] += tails.value;
            if (at + 2 == n && knots.end == knots.end) {
                const double rest = (knots.end - static_cast<double>(at) * knots.step) / bandwidth;
                read_at_end(cells, from, left.filter, rest, mass, knots.end, order, bandwidth, value[n], density[n]);
            }
        }
        const std::int64_t i = n - at;  // the last centre may lie up to half a cell beyond knot n
        if (i < n) right.filter.move(right.step);
        for (; to > 0 && cells.index(to - 1) >= i * per_step + on_knot; --to) {
            const double* m = cells.moments + n_moments * (to - 1);
            right.add(m, (i + 1) * per_step - cells.index(to - 1));
            upper_mass += m[0];
        }
        if (i == n) continue;
        const TailSums tails = right.filter.read();
        value[i] += tails.value;
        density[i] += tails.slope;
        if (upper) upper[i] += upper_mass - tails.value;
    }
    for (std::int64_t i = 0; i < n; ++i) density[i] /= bandwidth;
}

using IntegrateRegular = void (*)(const RegularCells&, const RegularKnots&, int, double, const RegularCurves&);

// Choose the instance for a kernel order; order 0 is the Gaussian kernel.
inline IntegrateRegular choose_integrate_regular(int order) {
    switch (order) {
        case 0: return &integrate_regular<GaussianFilter>;
        case 1: return &integrate_regular<PolyexpFilter<1>>;
        case 2: return &integrate_regular<PolyexpFilter<2>>;
        case 3: return &integrate_regular<PolyexpFilter<3>>;
        case 4: return &integrate_regular<PolyexpFilter<4>>;
        default: return &integrate_regular<PolyexpFilter<0>>;
    }
}

}  // namespace kdi
