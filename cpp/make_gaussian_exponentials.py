"""Write gaussian_exponentials.hpp: the Gaussian as a short sum of complex exponentials.

    phi(u) = exp(-u^2/2) / sqrt(2 pi)  ~  2 Re sum_l  a_l exp(-s_l u),   u >= 0

The inverse Laplace transform gives exp(-x^2/4) = sqrt(pi)/(2 pi i) * contour integral of exp(z - x sqrt z) / sqrt z.
Replacing exp(z) by its best rational approximation on the negative axis, sum c_k / (z - z_k), turns the integral into a
sum over the poles. The approximation comes from the Caratheodory-Fejer method (Trefethen, Weideman & Schmelzer,
"Talbot quadratures and rational approximations", BIT 2006); its error falls by a factor of 9.3 for each pole.

Run: python cpp/make_gaussian_exponentials.py > cpp/gaussian_exponentials.hpp
"""

import numpy as np
from scipy.linalg import hankel
from scipy.special import ndtr

N_POLES = 14


def rational_exponential(n_poles: int) -> tuple[np.ndarray, np.ndarray]:
    """Poles z_k and residues c_k of the near-best approximation of exp(z) on (-inf, 0]."""
    n_terms, n_points, scale = 75, 1024, 9.0
    circle = np.exp(2j * np.pi * np.arange(n_points) / n_points)
    line = circle.real
    chebyshev = np.fft.fft(np.exp(scale * (line - 1) / (line + 1 + 1e-16))).real / n_points
    left, singular, right = np.linalg.svd(hankel(chebyshev[1 : n_terms + 1]))
    u, v = left[::-1, n_poles], right[n_poles]
    padding = np.zeros(n_points - n_terms)
    blaschke = np.fft.fft(np.r_[u, padding]) / np.fft.fft(np.r_[v, padding])
    rational = np.polyval(chebyshev[n_terms::-1], circle) - singular[n_poles] * circle**n_terms * blaschke
    roots = np.roots(v)
    outside = roots[abs(roots) > 1]
    numerator = np.fft.fft(rational * np.polyval(np.poly(outside), circle)).real / n_points
    residues = np.array(
        [
            np.polyval(numerator[n_poles::-1], root) / np.polyval(np.poly(np.delete(outside, k)), root)
            for k, root in enumerate(outside)
        ]
    )
    poles = scale * ((outside - 1) / (outside + 1)) ** 2
    return poles, 4 * residues * poles / (outside**2 - 1)


def main() -> None:
    poles, residues = rational_exponential(N_POLES)
    rates = np.sqrt(2 * poles)
    tail = -residues / np.sqrt(2 * poles) / rates  # coefficients of 1 - Phi, that is a_l / s_l
    keep = np.argsort(rates.imag)[N_POLES // 2 :]
    rates, tail = rates[keep], tail[keep]

    u = np.r_[np.linspace(0, 10, 20001), np.linspace(10, 200, 1001)]
    error = abs(2 * (np.exp(-np.outer(u, rates)) @ tail).real - ndtr(-u)).max()
    print("// Written by make_gaussian_exponentials.py; see there for the mathematics.")
    print(f"// 1 - Phi(u) = 2 Re sum_l tail_l exp(-rate_l u) for u >= 0; largest error {error:.1e}.")
    print("#pragma once\n\n#include <complex>\n\nnamespace kdi {\n")
    print(f"constexpr int n_exponentials = {len(rates)};\n")
    for name, values in (("exponential_rate", rates), ("exponential_tail", tail)):
        print(f"inline const std::complex<double> {name}[n_exponentials] = {{")
        for value in values:
            print(f"    {{{value.real:.17e}, {value.imag:.17e}}},")
        print("};\n")
    print("}  // namespace kdi")


if __name__ == "__main__":
    main()
