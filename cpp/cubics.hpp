// Values and slopes at regular knots as one monotone cubic an interval.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kdi {

// In each interval the end slopes are brought between rise/4 and 2*rise. Any such cubic is monotone, with a slope that
// varies by less than a factor of 16: what CubicTable::forward needs to never fall. Where the knots resolve the kernel the
// slopes lie there already. Moving an end slope by s moves the cubic by at most 4/27 s.
//
// values: n + 1 levels, never falling; slopes: in units of an interval. Writes n + 1 rows of four coefficients, the last one
// level.
// Returns the largest over the intervals of min(rise, given + what moving the slopes costs): between the same two levels,
// two monotone curves are never further apart than the rise.
inline double cubics(const double* values, const double* slopes, std::size_t n, double given, double* coefficients) {
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
        const double moved = 4.0 / 27.0 * (std::fabs(left - slopes[i]) + std::fabs(right - slopes[i + 1]));
        worst = std::max(worst, std::min(rise, given + moved));
    }
    double* end = coefficients + 4 * n;
    end[0] = values[n];
    end[1] = end[2] = end[3] = 0;
    return worst;
}

}  // namespace kdi
