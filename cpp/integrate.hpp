// The kernel cdf of sorted cells, its density and the slope of the density, at sorted knots: one pass from the left, one from
// the right.
#pragma once

#include <cstddef>

#include "filter.hpp"

namespace kdi {

struct Cells {
    const double* position;  // sorted
    const double* moments;   // n x moments_per_cell
    std::size_t n;
    int moments_per_cell;    // n_moments, or 1 where every cell is a point
    double width;
};

// The outputs, one number per knot: the sum of G((x - X) / b), its density, the slope of the density, and the upper tail, the sum
// of 1 - G((x - X) / b). Any may be null.
struct Curves {
    double *value, *density, *slope;
    double* upper = nullptr;

    // Add the tails of the cells on one side of knot i. A cell to the left contributes its mass minus its tail (side -1; the
    // caller adds the mass), a cell to the right its tail (side 1).
    void add(std::size_t i, const TailSums& tails, double side, double bandwidth) const {
        if (value) value[i] += side * tails.value;
        if (density) density[i] += tails.slope / bandwidth;
        if (slope) slope[i] += side * tails.curvature / (bandwidth * bandwidth);
        if (upper) upper[i] -= side * tails.value;
    }
};

// Integrate the kernel over the cells. The caller must fill the curves with zeros.
template <class Filter>
void integrate(const Cells& cells, int order, double bandwidth, const double* knots, std::size_t n_knots, const Curves& curves) {
    const auto per_cell = static_cast<std::size_t>(cells.moments_per_cell);
    double mass = 0;
    {
        Filter filter(order, -cells.width / bandwidth);
        std::size_t next = 0;
        for (std::size_t i = 0; i < n_knots; ++i) {
            for (; next < cells.n && cells.position[next] <= knots[i]; ++next) {
                if (next > 0) filter.move((cells.position[next] - cells.position[next - 1]) / bandwidth);
                filter.add(cells.moments + next * per_cell, cells.moments_per_cell);
                mass += cells.moments[next * per_cell];
            }
            if (next == 0) continue;
            if (curves.value) curves.value[i] = mass;
            curves.add(i, filter.read((knots[i] - cells.position[next - 1]) / bandwidth), -1, bandwidth);
        }
    }
    Filter filter(order, cells.width / bandwidth);
    std::size_t next = cells.n;
    mass = 0;
    for (std::size_t i = n_knots; i-- > 0;) {
        for (; next > 0 && cells.position[next - 1] > knots[i]; --next) {
            if (next < cells.n) filter.move((cells.position[next] - cells.position[next - 1]) / bandwidth);
            filter.add(cells.moments + (next - 1) * per_cell, cells.moments_per_cell);
            mass += cells.moments[(next - 1) * per_cell];
        }
        if (next == cells.n) continue;
        if (curves.upper) curves.upper[i] += mass;
        curves.add(i, filter.read((cells.position[next] - knots[i]) / bandwidth), 1, bandwidth);
    }
}

using Integrate = void (*)(const Cells&, int, double, const double*, std::size_t, const Curves&);

// Choose the instance for a kernel order; order 0 is the Gaussian kernel.
inline Integrate choose_integrate(int order) {
    switch (order) {
        case 0: return &integrate<GaussianFilter>;
        case 1: return &integrate<PolyexpFilter<1>>;
        case 2: return &integrate<PolyexpFilter<2>>;
        case 3: return &integrate<PolyexpFilter<3>>;
        case 4: return &integrate<PolyexpFilter<4>>;
        default: return &integrate<PolyexpFilter<0>>;
    }
}

}  // namespace kdi
