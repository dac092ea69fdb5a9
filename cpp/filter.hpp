// Sums of kernel tails over sorted cells, computed by recursive filters with a short state.
//
//     tails(x) = sum over cells c <= x of  sum_k  m_k (-w/b)^k / k!  S^(k)((x - c) / b)
//
// S(u) = 1 - G(u) is the tail of the kernel and S^(k) its k-th derivative; m_k are a cell's moments, w its width and b the
// bandwidth. The tails of both kernels are sums of (polynomials times) exponentials, so the sum at one position follows from
// the sum at the previous position. The state is stored relative to the current position: nothing cancels or overflows.
//
// A filter is constructed with cell_step = -w/b (+w/b for cells in descending order) and has
//     move(gap)                        move the state to the next cell,
//     add(moments, moments_per_cell)   add the cell at the current position,
//     read(gap)                        return the sum of tails, and its derivatives, at a distance; the state does not change.
// Gaps are in units of the bandwidth. Where cells and knots lie on parallel grids (regular.hpp), few different gaps occur, and
// what depends on them is prepared:
//     contributions(gap)               what a unit of each moment adds to the state at a distance,
//     add(moments, contributions)      add a cell from there,
//     step(gap), move(step)            move the state by a prepared gap,
//     read()                           return the sums at the current position.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "gaussian_exponentials.hpp"
#include "moments.hpp"

namespace kdi {

constexpr double negligible_gap = 700;  // exp(-700) is close to the smallest normal number

// Sums of S(u), of -S'(u) and of S''(u).
struct TailSums {
    double value = 0, slope = 0, curvature = 0;
};

// A sum of tails that are exp(-u) times a polynomial of degree `order`, in the basis u^l / l!. Common orders are compile-time
// constants; CompiledOrder 0 stands for any other order.
template <int CompiledOrder>
class PolyexpFilter {
public:
    PolyexpFilter(int order, double cell_step) : order_(order) {
        if constexpr (CompiledOrder == 0) {
            for (auto* coefficients : {&state_, &power_, &moment_state_[0], &moment_state_[1], &moment_state_[2], &moment_state_[3]})
                coefficients->assign(last() + 1, 0.0);
        }
        // The k-th derivative of the tail S(u) = exp(-u) sum_l (order + 1 - l) / (2 (order + 1)) u^l / l!
        State derivative = state_;
        for (std::size_t l = 0; l <= last(); ++l) derivative[l] = (order_ + 1.0 - static_cast<double>(l)) / (2.0 * (order_ + 1));
        double factor = 1;
        for (std::size_t k = 0; k < n_moments; ++k) {
            for (std::size_t l = 0; l <= last(); ++l) moment_state_[k][l] = factor * derivative[l];
            for (std::size_t l = 0; l <= last(); ++l) derivative[l] = (l < last() ? derivative[l + 1] : 0.0) - derivative[l];
            factor *= cell_step / static_cast<double>(k + 1);
        }
    }

    void move(double gap) {
        if (gap > negligible_gap) {
            for (double& q : state_) q = 0;
            return;
        }
        if (gap != gap_) {  // most cells are adjacent, so most gaps equal the previous one
            gap_ = gap;
            power_[0] = decay(gap);
            for (std::size_t l = 1; l <= last(); ++l) power_[l] = power_[l - 1] * gap / static_cast<double>(l);
        }
        for (std::size_t l = 0; l <= last(); ++l) {  // in place, since only later coefficients enter
            double shifted = 0;
            for (std::size_t i = 0; l + i <= last(); ++i) shifted += state_[l + i] * power_[i];
            state_[l] = shifted;
        }
    }

    void add(const double* moments, int moments_per_cell) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(moments_per_cell); ++k)
            for (std::size_t l = 0; l <= last(); ++l) state_[l] += moments[k] * moment_state_[k][l];
    }

    // A state is filled up with zeros to a length that vectorizes.
    using State = std::conditional_t<CompiledOrder == 0, std::vector<double>, std::array<double, CompiledOrder < 4 ? 4 : 8>>;
    // The matrix by which a state moves over a gap, column by column; and what a unit of each moment becomes over one.
    using Step = std::conditional_t<CompiledOrder == 0, std::vector<State>, std::array<State, CompiledOrder + 1>>;
    using Contributions = std::array<State, n_moments>;

    Contributions contributions(double gap) const {
        const Step matrix = step(gap);
        Contributions moved = moment_state_;
        for (State& state : moved) state = moved_by(state, matrix);
        return moved;
    }

    void add(const double* moments, const Contributions& contributions) {
        for (std::size_t k = 0; k < n_moments; ++k)
            for (std::size_t l = 0; l < state_.size(); ++l) state_[l] += moments[k] * contributions[k][l];
    }

    Step step(double gap) const {
        State powers = state_;
        powers[0] = gap > negligible_gap ? 0.0 : std::exp(-gap);
        for (std::size_t l = 1; l <= last(); ++l) powers[l] = powers[0] == 0 ? 0.0 : powers[l - 1] * gap / static_cast<double>(l);
        Step matrix{};
        if constexpr (CompiledOrder == 0) matrix.assign(powers.size(), State(powers.size(), 0.0));
        for (std::size_t m = 0; m <= last(); ++m)
            for (std::size_t l = 0; l <= m; ++l) matrix[m][l] = powers[m - l];
        return matrix;
    }

    void move(const Step& matrix) { state_ = moved_by(state_, matrix); }

    TailSums read() const {
        const double third = last() > 1 ? state_[2] : 0.0;
        return {state_[0], state_[0] - state_[1], third - 2 * state_[1] + state_[0]};
    }

    TailSums read(double gap) {
        if (gap > negligible_gap) return {};
        // The state q_0, q_1, q_2 moved by the gap. At u = 0, exp(-u) sum_l q_l u^l / l! has the derivatives q_1 - q_0 and
        // q_2 - 2 q_1 + q_0.
        double first = state_[0], second = state_[1], third = last() > 1 ? state_[2] : 0.0;
        if (gap != 0) {
            double power = decay(gap);
            first = second = third = 0;
            for (std::size_t l = 0; l <= last(); ++l) {
                first += state_[l] * power;
                if (l + 1 <= last()) second += state_[l + 1] * power;
                if (l + 2 <= last()) third += state_[l + 2] * power;
                power *= gap / static_cast<double>(l + 1);
            }
        }
        return {first, first - second, third - 2 * second + first};
    }

private:
    State moved_by(const State& state, const Step& matrix) const {
        State moved = state;
        for (std::size_t l = 0; l < moved.size(); ++l) moved[l] = state[0] * matrix[0][l];
        for (std::size_t m = 1; m <= last(); ++m)
            for (std::size_t l = 0; l < moved.size(); ++l) moved[l] += state[m] * matrix[m][l];
        return moved;
    }

    constexpr std::size_t last() const { return static_cast<std::size_t>(CompiledOrder == 0 ? order_ : CompiledOrder); }

    // exp(-gap), cached: where the knots are the cells themselves, a move by the same gap follows each read.
    double decay(double gap) {
        if (gap != decay_gap_) {
            decay_gap_ = gap;
            decay_ = std::exp(-gap);
        }
        return decay_;
    }

    int order_;
    State state_{}, power_{};
    std::array<State, n_moments> moment_state_{};  // the state of one unit of each moment
    double gap_ = -1, decay_gap_ = -1, decay_ = 0;
};

// A sum of Gaussian tails, each a sum of complex exponentials (gaussian_exponentials.hpp); the state is one complex number per
// exponential.
class GaussianFilter {
public:
    static constexpr std::size_t n_lanes = 8;  // filled up with zeros to a number that vectorizes

    struct Terms {
        std::array<double, n_lanes> real{}, imag{};

        Terms operator*(const Terms& by) const {
            Terms product;
            for (std::size_t l = 0; l < n_lanes; ++l) {
                product.real[l] = real[l] * by.real[l] - imag[l] * by.imag[l];
                product.imag[l] = real[l] * by.imag[l] + imag[l] * by.real[l];
            }
            return product;
        }
    };

    using State = Terms;
    using Step = Terms;

    GaussianFilter(int, double cell_step) : cell_width_(std::abs(cell_step)) {
        for (std::size_t l = 0; l < n_exponentials; ++l) {
            std::complex<double> derivative = 2.0 * exponential_tail[l];
            double factor = 1;
            for (std::size_t k = 0; k < n_moments; ++k) {
                moment_state_[k].real[l] = factor * derivative.real();
                moment_state_[k].imag[l] = factor * derivative.imag();
                derivative *= -exponential_rate[l];
                factor *= cell_step / static_cast<double>(k + 1);
            }
        }
    }

    void move(double gap) { state_ = decayed(gap); }
    void move(const Terms& factor) { state_ = state_ * factor; }

    void add(const double* moments, int moments_per_cell) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(moments_per_cell); ++k)
            for (std::size_t l = 0; l < n_exponentials; ++l) {
                state_.real[l] += moments[k] * moment_state_[k].real[l];
                state_.imag[l] += moments[k] * moment_state_[k].imag[l];
            }
    }

    using Contributions = std::array<State, n_moments>;

    Contributions contributions(double gap) const {
        const Terms factor = step(gap);
        Contributions moved = moment_state_;
        for (State& state : moved) state = state * factor;
        return moved;
    }

    void add(const double* moments, const Contributions& contributions) {
        for (std::size_t k = 0; k < n_moments; ++k)
            for (std::size_t l = 0; l < n_lanes; ++l) {
                state_.real[l] += moments[k] * contributions[k].real[l];
                state_.imag[l] += moments[k] * contributions[k].imag[l];
            }
    }

    Step step(double gap) const { return gap > no_tail ? Terms{} : exponentials(gap); }

    TailSums read() const { return sums_of(state_); }
    TailSums read(double gap) { return sums_of(decayed(gap)); }

private:
    static TailSums sums_of(const Terms& terms) {
        TailSums sums;
        for (std::size_t l = 0; l < n_exponentials; ++l) {
            const double decay = exponential_rate[l].real(), frequency = exponential_rate[l].imag();
            const double real = terms.real[l] * decay - terms.imag[l] * frequency;
            const double imag = terms.real[l] * frequency + terms.imag[l] * decay;
            sums.value += terms.real[l];
            sums.slope += real;
            sums.curvature += real * decay - imag * frequency;
        }
        return sums;
    }

    // The exponentials of a gap, from those of the most recent gap where the two differ by rounding errors only: exactly then,
    // since the first-order correction leaves a relative error of 1e-22.
    struct CachedExponentials {
        double gap = -1;
        Terms factor;

        Terms at(double wanted) {
            const double excess = wanted - gap;
            if (std::abs(excess) > tiny_gap) {
                gap = wanted;
                factor = exponentials(wanted);
            }
            return wanted == gap ? factor : factor * tiny_exponentials(excess);
        }
    };

    static constexpr double tiny_gap = 1e-12;
    static constexpr double no_tail = 16;      // every exponential is below 1e-21 beyond this gap
    static constexpr std::size_t base = 64;

    static Terms exponentials(double gap) {
        Terms terms;
        for (std::size_t l = 0; l < n_exponentials; ++l) {
            const double modulus = std::exp(-exponential_rate[l].real() * gap), angle = exponential_rate[l].imag() * gap;
            terms.real[l] = modulus * std::cos(angle);
            terms.imag[l] = -modulus * std::sin(angle);
        }
        return terms;
    }

    static Terms tiny_exponentials(double gap) {
        Terms terms;
        for (std::size_t l = 0; l < n_exponentials; ++l) {
            terms.real[l] = 1 - exponential_rate[l].real() * gap;
            terms.imag[l] = -exponential_rate[l].imag() * gap;
        }
        return terms;
    }

    // The state, moved by a gap. Cells lie on a grid, and knots on a grid parallel to it: a gap is an integer number of cells,
    // plus a fraction of a cell that is the same for all knots. The integer is written as two digits in base 64, and the
    // exponentials of each digit and of the fraction are cached, so that few are computed twice.
    Terms decayed(double gap) {
        if (gap == 0) return state_;
        if (gap > no_tail) return {};
        const double n_cells = cell_width_ > 0 ? gap / cell_width_ + 1e-9 : -1;
        if (!(n_cells >= 0 && n_cells < static_cast<double>(base * base))) return state_ * fraction_.at(gap);
        const auto integer = static_cast<std::size_t>(n_cells);
        const double fraction = gap - static_cast<double>(integer) * cell_width_;
        const std::size_t low = integer % base, high = integer / base;
        Terms terms = state_ * low_digit_[low].at(static_cast<double>(low) * cell_width_);
        if (high > 0) terms = terms * high_digit_[high].at(static_cast<double>(high * base) * cell_width_);
        if (fraction == 0) return terms;
        return terms * (std::abs(fraction) > tiny_gap ? fraction_.at(fraction) : tiny_exponentials(fraction));
    }

    double cell_width_;  // in bandwidths
    Terms state_;
    std::array<Terms, n_moments> moment_state_{};  // the state of one unit of each moment
    std::array<CachedExponentials, base> low_digit_{}, high_digit_{};
    CachedExponentials fraction_;  // of the fraction, or of a gap that is not counted in cells
};

}  // namespace kdi
