// Normal scores of levels in constant time: Phi^-1 as cubics of the smaller tail.
//
// A tail p = 2^e (1 + m), with 0 <= m < 1, lies in part 128 m of its octave; each part has a cubic through exact scores and slopes.
// The error is at most 2.4e-11, and the cubics of 23 octaves take 94 kB, of which most values need a quarter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "blocks.hpp"
#include "cubics.hpp"
#include "normal.hpp"

namespace kdi {

class ScoreTable {
  public:
    static const ScoreTable& get() {
        static const ScoreTable table;
        return table;
    }

    // Turn levels into scores in place. As in QuantileTransformer, scores beyond those of 1e-7 and 1 - 1e-7 are clipped. Levels
    // beyond 0 and 1 go on in a straight line from there; NaN stays NaN.
    KDI_LEVELS void apply(double* levels, std::size_t n) const {
        std::int32_t part[block_rows];
        double t[block_rows], sign[block_rows], beyond[block_rows];
        for (std::size_t k = 0; k < n; ++k) {
            const double level = levels[k], inner = std::min(std::max(level, 0.0), 1.0);
            const bool upper = inner > 0.5;
            const double own = upper ? 1 - inner : inner;
            const double tail = own > least_tail ? own : least_tail;  // NaN, too
            std::uint64_t bits;
            std::memcpy(&bits, &tail, sizeof bits);
            // The exponent and the first seven bits of the mantissa count parts; the other 45 bits are the place in the part, of
            // which 32 are kept: the score then rises by more than its rounding from each place to the next.
            part[k] = static_cast<std::int32_t>((bits >> 45) - first_part);
            t[k] = static_cast<double>(static_cast<std::int64_t>((bits >> 13) & 0xffffffff)) * 0x1p-32;
            sign[k] = upper ? -1 : 1;
            beyond[k] = level - inner;
        }
        for (std::size_t k = 0; k < n; ++k) {
            const double* c = cubics_.data() + 4 * static_cast<std::int64_t>(part[k]);
            const double score = c[0] + t[k] * (c[1] + t[k] * (c[2] + t[k] * c[3]));
            levels[k] = sign[k] * std::max(score, clipped_score) + beyond[k];
        }
    }

  private:
    static constexpr double least_tail = 0x1p-24, clipped_score = -5.199337582605575;  // CLIPPED_SCORE
    static constexpr std::uint64_t first_part = std::uint64_t{1023 - 24} << 7;
    static constexpr std::size_t n_parts = 23 * 128;

    ScoreTable() : cubics_(4 * (n_parts + 1)) {
        std::vector<double> scores(n_parts + 1), slopes(n_parts + 1);
        for (std::size_t octave = 0; octave <= n_parts / 128; ++octave)
            for (std::size_t i = 0; i < 128 && octave * 128 + i <= n_parts; ++i) {
                const double width = std::ldexp(1.0, static_cast<int>(octave) - 24 - 7), tail = (128 + static_cast<double>(i)) * width;
                scores[octave * 128 + i] = -upper_score(tail);
                slopes[octave * 128 + i] = 1 / normal_density(scores[octave * 128 + i]);
            }
        for (std::size_t k = 0; k < n_parts; ++k) {
            const double width = std::ldexp(1.0, static_cast<int>(k / 128) - 24 - 7);
            const double values[] = {scores[k], scores[k + 1]}, own_slopes[] = {slopes[k] * width, slopes[k + 1] * width};
            double c[8];
            cubics(values, own_slopes, 1, 0, c);
            std::copy(c, c + 4, cubics_.begin() + static_cast<std::ptrdiff_t>(4 * k));
        }
        cubics_[4 * n_parts] = scores[n_parts];  // of a tail of 1/2
    }

    std::vector<double> cubics_;
};

}  // namespace kdi
