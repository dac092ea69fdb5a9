// The kernel cdf of cells, and its density, at knots whose distance is a multiple of the cells' width.
//
//     cells   ┬───┬───┬───┬───┬───┬───┬───┬───┬       a centre is 1, 2, … or n_cells_per_step widths, less a fraction that is
//     knots  │           │           │           │    the same for all, away from the next knot
//
// What a cell adds to the state at that knot is therefore one of few small matrices times its moments. A cell costs a few
// multiplications without waiting for the cell before, and the state moves once per knot, by the same step.
#pragma once

#include <vector>

#include "filter.hpp"

namespace kdi {

// Cells of one width, counted from the one that holds the minimum. Positions are relative to the minimum.
struct RegularCells {
    const std::int64_t* keys;  // ascending
    const double* moments;     // n x n_moments
    std::size_t n;
    std::int64_t first_key;
    double width;
    double shift;  // position of the centre of the first cell, in (-width/2, width/2]

    std::int64_t index(std::size_t k) const { return keys[k] - first_key; }
    double centre(std::size_t k) const { return static_cast<double>(index(k)) * width + shift; }
};

struct RegularKnots {
    std::int64_t n_cells_per_step;
    double step;
    std::size_t n;  // at least 2 knots, at 0, step, …, (n - 1) step
    double end;     // one more position, between the last two knots
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

// value and density have room for n + 1 numbers; the last is for `end`.
template <class Filter>
void integrate_regular(const RegularCells& cells, const RegularKnots& knots, int order, double bandwidth, double* value,
                       double* density) {
    const std::int64_t per_step = knots.n_cells_per_step;
    const double step = knots.step / bandwidth;
    // A cell in front of knot i, and its distance j in cells from the cell at the knot.
    const bool after = cells.shift > 0;  // the centre of cell i * per_step lies after knot i
    const auto next_knot = [&](std::int64_t index) { return after ? index / per_step + 1 : (index + per_step - 1) / per_step; };
    std::vector<typename Filter::Contributions> contributions(static_cast<std::size_t>(per_step) + 1);

    Filter left(order, -cells.width / bandwidth);
    for (std::int64_t j = after; j < per_step + after; ++j)
        contributions[static_cast<std::size_t>(j)] =
            left.contributions((static_cast<double>(j) * cells.width - cells.shift) / bandwidth);
    double mass = 0;
    std::size_t next = 0;
    const auto move_left = left.step(step);
    for (std::size_t i = 0; i < knots.n; ++i) {
        if (i > 0) left.move(move_left);
        for (; next < cells.n; ++next) {
            const std::int64_t index = cells.index(next), knot = next_knot(index);
            if (knot != static_cast<std::int64_t>(i)) break;
            const double* m = cells.moments + n_moments * next;
            left.add(m, contributions[static_cast<std::size_t>(knot * per_step - index)]);
            mass += m[0];
        }
        const TailSums tails = left.read();
        value[i] = mass - tails.value;
        density[i] = tails.slope;
        if (i + 2 == knots.n) {
            const double gap = (knots.end - static_cast<double>(i) * knots.step) / bandwidth;
            read_at_end(cells, next, left, gap, mass, knots.end, order, bandwidth, value[knots.n], density[knots.n]);
        }
    }
    Filter right(order, cells.width / bandwidth);
    for (std::int64_t j = after; j < per_step + after; ++j)
        contributions[static_cast<std::size_t>(j)] =
            right.contributions((knots.step - (static_cast<double>(j) * cells.width - cells.shift)) / bandwidth);
    const auto move_right = right.step(step);
    next = cells.n;
    for (std::size_t i = knots.n + 1; i-- > 0;) {  // the last centre may lie up to half a cell beyond knot n
        if (i < knots.n) right.move(move_right);
        for (; next > 0; --next) {
            const std::int64_t index = cells.index(next - 1), knot = next_knot(index);
            if (knot <= static_cast<std::int64_t>(i)) break;
            right.add(cells.moments + n_moments * (next - 1), contributions[static_cast<std::size_t>(knot * per_step - index)]);
        }
        if (i == knots.n) continue;
        const TailSums tails = right.read();
        value[i] += tails.value;
        density[i] = (density[i] + tails.slope) / bandwidth;
    }
}

using IntegrateRegular = void (*)(const RegularCells&, const RegularKnots&, int, double, double*, double*);

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
