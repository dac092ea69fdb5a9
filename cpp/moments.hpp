// Moments of weighted values about a cell's centre, in units of the cell's width.
#pragma once

#include <cstddef>

namespace kdi {

constexpr int n_moments = 4;  // orders 0 to 3

// Add a value of the given weight, at offset z from the centre.
inline void add_moments(double* m, double mass, double z) {
    const double square = z * z;
    m[0] += mass;
    m[1] += mass * z;
    m[2] += mass * square;
    m[3] += mass * (square * z);
}

}  // namespace kdi
