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
//     read(gap, value, slope)   tails and their falling slope a little further on; the state stays where it is.
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
            power_[0] = std::exp(-gap);
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

    void read(double gap, double& value, double& slope) const {
        value = slope = 0;
        if (gap > negligible_gap) return;
        // The shifted q_0 and q_1; the derivative of exp(-u) sum q_l u^l / l! at u = 0 is q_1 - q_0.
        double power = std::exp(-gap), second = 0;
        for (int l = 0; l < last(); ++l) {
            value += state_[l] * power;
            second += state_[l + 1] * power;
            power *= gap / (l + 1);
        }
        value += state_[last()] * power;
        slope = value - second;
    }

private:
    using Numbers = std::conditional_t<CompiledOrder == 0, std::vector<double>, std::array<double, CompiledOrder + 1>>;
    constexpr int last() const { return CompiledOrder == 0 ? order_ : CompiledOrder; }

    int order_;
    Numbers state_{}, power_{};
    std::array<Numbers, n_taylor> inject_{};
    double gap_ = -1;
};

// The Gaussian as a sum of complex exponentials (gaussian_exponentials.hpp): one complex number of state for each.
class GaussianFilter {
public:
    GaussianFilter(int, double cell_step) : cell_(std::abs(cell_step)) {
        for (int l = 0; l < n_exponentials; ++l) {
            std::complex<double> derivative = 2.0 * exponential_tail[l];
            double factor = 1;
            for (int k = 0; k < n_taylor; ++k) {
                inject_real_[k][l] = factor * derivative.real();
                inject_imag_[k][l] = factor * derivative.imag();
                derivative *= -exponential_rate[l];
                factor *= cell_step / (k + 1);
            }
        }
    }

    void move(double gap) {
        const Decay& by = decay(gap);
        for (int l = 0; l < n_exponentials; ++l) {
            const double real = real_[l] * by.real[l] - imag_[l] * by.imag[l];
            imag_[l] = real_[l] * by.imag[l] + imag_[l] * by.real[l];
            real_[l] = real;
        }
    }

    void add(const double* moments, int n_moments) {
        for (int k = 0; k < n_moments; ++k)
            for (int l = 0; l < n_exponentials; ++l) {
                real_[l] += moments[k] * inject_real_[k][l];
                imag_[l] += moments[k] * inject_imag_[k][l];
            }
    }

    void read(double gap, double& value, double& slope) const {
        Decay by;
        compute(gap, by);
        value = slope = 0;
        for (int l = 0; l < n_exponentials; ++l) {
            const double real = real_[l] * by.real[l] - imag_[l] * by.imag[l];
            const double imag = real_[l] * by.imag[l] + imag_[l] * by.real[l];
            value += real;
            slope += real * exponential_rate[l].real() - imag * exponential_rate[l].imag();
        }
    }

private:
    struct Decay {
        double gap = -1;
        std::array<double, n_exponentials> real{}, imag{};
    };

    static void compute(double gap, Decay& by) {
        by.gap = gap;
        for (int l = 0; l < n_exponentials; ++l) {
            const double size = gap > negligible_gap ? 0.0 : std::exp(-exponential_rate[l].real() * gap);
            const double angle = exponential_rate[l].imag() * gap;
            by.real[l] = size * std::cos(angle);
            by.imag[l] = -size * std::sin(angle);
        }
    }

    // Gaps between cells are whole numbers of cells and mostly small: their factors are kept.
    const Decay& decay(double gap) {
        const double n_cells = cell_ > 0 ? gap / cell_ + 0.5 : 0.0;
        Decay& by = kept_[n_cells < 16 ? static_cast<std::size_t>(n_cells) : 0];
        if (by.gap != gap) compute(gap, by);
        return by;
    }

    double cell_;
    std::array<double, n_exponentials> real_{}, imag_{};
    std::array<std::array<double, n_exponentials>, n_taylor> inject_real_{}, inject_imag_{};
    std::array<Decay, 16> kept_{};
};

}  // namespace kdi
