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

// value = sum of G((x - X) / b): cells to the left count whole less their tail, cells to the right count their tail.
template <class Filter>
void integrate(const Cells& cells, int order, double bandwidth, const double* knots, std::size_t n_knots, double* value,
               double* density) {
    double tail, slope, mass = 0;
    {
        Filter filter(order, -cells.width / bandwidth);
        std::size_t next = 0;
        for (std::size_t i = 0; i < n_knots; ++i) {
            for (; next < cells.n && cells.position[next] <= knots[i]; ++next) {
                if (next > 0) filter.move((cells.position[next] - cells.position[next - 1]) / bandwidth);
                filter.add(cells.moments + next * cells.n_moments, cells.n_moments);
                mass += cells.moments[next * cells.n_moments];
            }
            value[i] = mass;
            density[i] = 0;
            if (next == 0) continue;
            filter.read((knots[i] - cells.position[next - 1]) / bandwidth, tail, slope);
            value[i] -= tail;
            density[i] = slope / bandwidth;
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
        filter.read((cells.position[next] - knots[i]) / bandwidth, tail, slope);
        value[i] += tail;
        density[i] += slope / bandwidth;
    }
}

using Integrate = void (*)(const Cells&, int, double, const double*, std::size_t, double*, double*);

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
