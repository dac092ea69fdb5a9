// Sums of kernel tails over sorted cells, as filters with a short state.
//
//     tails(x) = sum over cells c <= x of  sum_k  m_k (-w/b)^k / k!  S^(k)((x - c) / b)
//
// S(u) = 1 - G(u) is the tail of the kernel and S^(k) its k-th derivative; m_k are a cell's moments, w its width and b the
// bandwidth. Both kernels have tails that are sums of (polynomials times) exponentials, so the sum at one position follows
// from the sum at the position before it. The state is kept relative to the current position: nothing cancels or overflows.
//
// A filter is made with cell_step = -w/b (+w/b when the line is walked from the right) and has
//     move(gap)                 go on to the next cell,
//     add(moments)              take that cell in,
//     read(gap, tail)           tails and their derivatives a little further on; the state stays where it is.
// Gaps are in units of the bandwidth.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "gaussian_exponentials.hpp"

namespace kdi {

constexpr int n_taylor = 4;              // moments 0 to 3
constexpr double negligible_gap = 700;   // exp(-700) is about the last normal number

// A sum of tails S(u), of -S'(u) and of S''(u).
struct Tail {
    double value = 0, slope = 0, curve = 0;
};

// exp(-u) times a polynomial of degree `order`, in the basis u^l / l!. Common orders are known to the compiler.
template <int CompiledOrder>
class PolyexpFilter {
public:
    PolyexpFilter(int order, double cell_step) : order_(order) {
        if constexpr (CompiledOrder == 0) {
            for (auto* numbers : {&state_, &power_, &inject_[0], &inject_[1], &inject_[2], &inject_[3]}) numbers->assign(last() + 1, 0.0);
        }
        Numbers derivative = state_;  // of the tail, which is sum (order + 1 - l) / (2 (order + 1)) u^l / l! times exp(-u)
        for (int l = 0; l <= last(); ++l) derivative[l] = (order_ + 1.0 - l) / (2.0 * (order_ + 1));
        double factor = 1;
        for (int k = 0; k < n_taylor; ++k) {
            for (int l = 0; l <= last(); ++l) inject_[k][l] = factor * derivative[l];
            for (int l = 0; l <= last(); ++l) derivative[l] = (l < last() ? derivative[l + 1] : 0.0) - derivative[l];
            factor *= cell_step / (k + 1);
        }
    }

    void move(double gap) {
        if (gap > negligible_gap) {
            for (double& q : state_) q = 0;
            return;
        }
        if (gap != gap_) {  // cells are mostly neighbours, so the gap is mostly the last one
            gap_ = gap;
            power_[0] = decay(gap);
            for (int l = 1; l <= last(); ++l) power_[l] = power_[l - 1] * gap / l;
        }
        for (int l = 0; l <= last(); ++l) {
            double shifted = 0;
            for (int i = 0; l + i <= last(); ++i) shifted += state_[l + i] * power_[i];
            state_[l] = shifted;
        }
    }

    void add(const double* moments, int n_moments) {
        for (int k = 0; k < n_moments; ++k)
            for (int l = 0; l <= last(); ++l) state_[l] += moments[k] * inject_[k][l];
    }

    Tail read(double gap) {
        if (gap > negligible_gap) return {};
        // The shifted q_0, q_1 and q_2; derivatives of exp(-u) sum q_l u^l / l! at u = 0 are q_1 - q_0 and q_2 - 2 q_1 + q_0.
        double first = state_[0], second = state_[1], third = last() > 1 ? state_[2] : 0.0;
        if (gap != 0) {
            double power = decay(gap);
            first = second = third = 0;
            for (int l = 0; l <= last(); ++l) {
                first += state_[l] * power;
                if (l + 1 <= last()) second += state_[l + 1] * power;
                if (l + 2 <= last()) third += state_[l + 2] * power;
                power *= gap / (l + 1);
            }
        }
        return {first, first - second, third - 2 * second + first};
    }

private:
    using Numbers = std::conditional_t<CompiledOrder == 0, std::vector<double>, std::array<double, CompiledOrder + 1>>;
    constexpr int last() const { return CompiledOrder == 0 ? order_ : CompiledOrder; }

    // Where knots are the cells themselves, a move follows a read of the same gap.
    double decay(double gap) {
        if (gap != decay_gap_) {
            decay_gap_ = gap;
            decay_ = std::exp(-gap);
        }
        return decay_;
    }

    int order_;
    Numbers state_{}, power_{};
    std::array<Numbers, n_taylor> inject_{};
    double gap_ = -1, decay_gap_ = -1, decay_ = 0;
};

// The Gaussian as a sum of complex exponentials (gaussian_exponentials.hpp): one complex number of state for each.
class GaussianFilter {
public:
    GaussianFilter(int, double cell_step) : cell_(std::abs(cell_step)) {
        for (int l = 0; l < n_exponentials; ++l) {
            std::complex<double> derivative = 2.0 * exponential_tail[l];
            double factor = 1;
            for (int k = 0; k < n_taylor; ++k) {
                inject_[k].real[l] = factor * derivative.real();
                inject_[k].imag[l] = factor * derivative.imag();
                derivative *= -exponential_rate[l];
                factor *= cell_step / (k + 1);
            }
        }
    }

    void move(double gap) { state_ = decayed(gap); }

    void add(const double* moments, int n_moments) {
        for (int k = 0; k < n_moments; ++k)
            for (int l = 0; l < n_exponentials; ++l) {
                state_.real[l] += moments[k] * inject_[k].real[l];
                state_.imag[l] += moments[k] * inject_[k].imag[l];
            }
    }

    Tail read(double gap) {
        const Terms terms = decayed(gap);
        Tail tail;
        for (int l = 0; l < n_exponentials; ++l) {
            const double rate = exponential_rate[l].real(), turn = exponential_rate[l].imag();
            const double real = terms.real[l] * rate - terms.imag[l] * turn, imag = terms.real[l] * turn + terms.imag[l] * rate;
            tail.value += terms.real[l];
            tail.slope += real;
            tail.curve += real * rate - imag * turn;
        }
        return tail;
    }

private:
    struct Terms {
        std::array<double, n_exponentials> real{}, imag{};

        Terms operator*(const Terms& by) const {
            Terms product;
            for (int l = 0; l < n_exponentials; ++l) {
                product.real[l] = real[l] * by.real[l] - imag[l] * by.imag[l];
                product.imag[l] = real[l] * by.imag[l] + imag[l] * by.real[l];
            }
            return product;
        }
    };

    struct Kept {
        double gap = -1;
        Terms factor;

        const Terms& at(double wanted) {
            if (std::abs(gap - wanted) > same_gap) {
                gap = wanted;
                factor = exponentials(wanted);
            }
            return factor;
        }
    };

    static constexpr double same_gap = 1e-12;   // gaps that differ by rounding only
    static constexpr double no_tail = 16;       // every exponential is below 1e-21 there
    static constexpr std::size_t n_kept = 64;

    static Terms exponentials(double gap) {
        Terms terms;
        for (int l = 0; l < n_exponentials; ++l) {
            const double size = std::exp(-exponential_rate[l].real() * gap), angle = exponential_rate[l].imag() * gap;
            terms.real[l] = size * std::cos(angle);
            terms.imag[l] = -size * std::sin(angle);
        }
        return terms;
    }

    // Cells lie on a grid, and knots on one that is parallel to it: a gap is a whole number of cells, and a part of one that
    // is the same for all knots. Their exponentials are kept, so that hardly any is computed twice.
    Terms decayed(double gap) {
        if (gap == 0) return state_;
        if (gap > no_tail) return {};
        const double n_cells = cell_ > 0 ? gap / cell_ + 1e-9 : -1;
        if (!(n_cells >= 0 && n_cells < static_cast<double>(n_kept * n_kept))) return state_ * part_.at(gap);
        const auto whole = static_cast<std::size_t>(n_cells);
        const double part = gap - static_cast<double>(whole) * cell_;
        const std::size_t ones = whole % n_kept, more = whole / n_kept;
        Terms terms = state_ * ones_[ones].at(static_cast<double>(ones) * cell_);
        if (more > 0) terms = terms * more_[more].at(static_cast<double>(more * n_kept) * cell_);
        if (part > same_gap) terms = terms * part_.at(part);
        return terms;
    }

    double cell_;
    Terms state_;
    std::array<Terms, n_taylor> inject_{};
    std::array<Kept, n_kept> ones_{}, more_{};
    Kept part_;
};

}  // namespace kdi
