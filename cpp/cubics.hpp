// One monotone cubic per interval, from values and slopes at regular knots.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kdi {

// Write the coefficients of one monotone cubic per interval, and return the largest error bound of any interval.
//
// The end slopes of each interval are clamped to [rise/4, 2*rise]. Every such cubic is monotone, with a slope that varies by
// less than a factor of 16, so that CubicMap::forward never decreases. Where the knots resolve the kernel, the slopes lie in
// these bounds already. Changing an end slope by s changes the cubic by at most 4/27 s.
//
// values: n + 1 levels, never decreasing. slopes: in levels per interval. shape_error: the error of cubics whose slopes are not
// clamped. coefficients: n + 1 rows of four; the last row holds only the level of the last knot.
// The error bound of an interval is min(rise, shape_error + the cost of clamping the slopes): two monotone curves between the
// same two levels never differ by more than the rise.
inline double cubics(const double* values, const double* slopes, std::size_t n, double shape_error, double* coefficients) {
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double rise = values[i + 1] - values[i];
        const double left = std::clamp(slopes[i], 0.25 * rise, 2 * rise);
        const double right = std::clamp(slopes[i + 1], 0.25 * rise, 2 * rise);
        double* c = coefficients + 4 * i;
        c[0] = values[i];
        c[1] = left;
        c[2] = 3 * rise - 2 * left - right;
        c[3] = left + right - 2 * rise;
        const double clamping_error = 4.0 / 27.0 * (std::fabs(left - slopes[i]) + std::fabs(right - slopes[i + 1]));
        worst = std::max(worst, std::min(rise, shape_error + clamping_error));
    }
    double* end = coefficients + 4 * n;
    end[0] = values[n];
    end[1] = end[2] = end[3] = 0;
    return worst;
}

}  // namespace kdi
