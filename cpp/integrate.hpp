// The kernel cdf of sorted cells, and its density, at sorted knots: one walk from the left and one from the right.
#pragma once

#include <cstddef>

#include "filter.hpp"

namespace kdi {

struct Cells {
    const double* position;  // sorted
    const double* moments;   // n x n_moments
    std::size_t n;
    int n_moments;           // 4, or 1 where every cell is a point
    double width;
};

// What is written at each knot: the sum of G((x - X) / b), its density, and the slope of the density. Any may be null.
struct Curves {
    double *value, *density, *slope;

    // `side` is -1 for cells to the left, which count whole less their tail, and 1 for cells to the right, which count their tail.
    void add(std::size_t i, const Tail& tail, double side, double bandwidth) const {
        if (value) value[i] += side * tail.value;
        if (density) density[i] += tail.slope / bandwidth;
        if (slope) slope[i] += side * tail.curve / (bandwidth * bandwidth);
    }
};

// The curves must hold zeros.
template <class Filter>
void integrate(const Cells& cells, int order, double bandwidth, const double* knots, std::size_t n_knots, const Curves& curves) {
    double mass = 0;
    {
        Filter filter(order, -cells.width / bandwidth);
        std::size_t next = 0;
        for (std::size_t i = 0; i < n_knots; ++i) {
            for (; next < cells.n && cells.position[next] <= knots[i]; ++next) {
                if (next > 0) filter.move((cells.position[next] - cells.position[next - 1]) / bandwidth);
                filter.add(cells.moments + next * cells.n_moments, cells.n_moments);
                mass += cells.moments[next * cells.n_moments];
            }
            if (next == 0) continue;
            if (curves.value) curves.value[i] = mass;
            curves.add(i, filter.read((knots[i] - cells.position[next - 1]) / bandwidth), -1, bandwidth);
        }
    }
    Filter filter(order, cells.width / bandwidth);
    std::size_t next = cells.n;
    for (std::size_t i = n_knots; i-- > 0;) {
        for (; next > 0 && cells.position[next - 1] > knots[i]; --next) {
            if (next < cells.n) filter.move((cells.position[next] - cells.position[next - 1]) / bandwidth);
            filter.add(cells.moments + (next - 1) * cells.n_moments, cells.n_moments);
        }
        if (next == cells.n) continue;
        curves.add(i, filter.read((cells.position[next] - knots[i]) / bandwidth), 1, bandwidth);
    }
}

using Integrate = void (*)(const Cells&, int, double, const double*, std::size_t, const Curves&);

// order 0 is the Gaussian kernel
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
