"""correlation: Pearson's formula on KD-integrals, between Pearson's r and Spearman's rho."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import BootstrapMethod, ConstantInputWarning, MonteCarloMethod, PermutationMethod

from kdi._correlation.inference import (
    Alternative,
    bootstrap_interval,
    check_alternative,
    correlation_pvalue,
    fisher_interval,
    resampled_pvalue,
)
from kdi._correlation.samples import PairedSamples, correlate, read_samples
from kdi._integral.bandwidth import bandwidth_factor
from kdi._numerics.kernels import get_kernel
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array, KernelName
from kdi._utils.validation import n_dimensions

CONSTANT = "An input array is constant; the correlation coefficient is not defined."
INFINITE = (
    "infinite values have ranks but no KD-integral; the correlation coefficient is not defined unless alpha is 0."
)
TOO_SMALL = (
    "After omitting NaNs, one or more sample arguments is too small; all returned values will be NaN. "
    "At least two rows are needed."
)


@public_in("kdi")
class ConfidenceInterval(NamedTuple):
    """The ends of a confidence interval.

    Attributes
    ----------
    low, high : float or ndarray

    Examples
    --------
    >>> import kdi
    >>> interval = kdi.correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 6]).confidence_interval()
    >>> print(f"{interval.low:.2f} to {interval.high:.2f}")
    -0.22 to 0.99
    """

    low: Any
    high: Any


class _Significance(NamedTuple):
    statistic: Any
    pvalue: Any


@public_in("kdi")
class CorrelationResult(_Significance):
    """Result of `kdi.correlation`; unpacks to statistic and pvalue, as scipy's results do.

    Attributes
    ----------
    statistic : float or ndarray
        The correlation coefficient.
    pvalue : float or ndarray
        The p-value for the chosen alternative.
    error_bound : float or ndarray
        Bound on the numerical error of the statistic, beyond the rounding of sums.

    Examples
    --------
    >>> import kdi
    >>> result = kdi.correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 6])
    >>> low, high = result.confidence_interval()
    >>> print(f"{result.statistic:.2f} from {low:.2f} to {high:.2f}")
    0.82 from -0.22 to 0.99
    """

    error_bound: Any
    _samples: PairedSamples
    _alternative: Alternative

    def confidence_interval(
        self, confidence_level: float = 0.95, method: BootstrapMethod | None = None
    ) -> ConfidenceInterval:
        """Compute a confidence interval of the correlation coefficient.

        Parameters
        ----------
        confidence_level : float, default=0.95
        method : scipy.stats.BootstrapMethod, optional
            Resample the rows (percentile, basic or BCa); every resample has KD-integrals of its own. The default is
            Fisher's transformation, as in `scipy.stats.pearsonr`: arctanh of the coefficient is about normal with
            standard error 1/sqrt(n - 3), which holds for bivariate normal data; docs/correlation.md has the coverage
            of both on other data.

        Returns
        -------
        ConfidenceInterval
            A named tuple with fields `low` and `high`. With `alternative` "less" or "greater" one of them is -1 or 1.
        """
        if not (isinstance(confidence_level, Real) and 0 < confidence_level < 1):
            raise ValueError(f"`confidence_level` must be a number between 0 and 1, got {confidence_level!r}.")
        if method is None:
            ends = fisher_interval(self._statistic, self._samples.n, float(confidence_level), self._alternative)
        elif isinstance(method, BootstrapMethod):
            ends = bootstrap_interval(self._samples, confidence_level, method, self._alternative)
            ends = np.where(np.isnan(self._statistic), np.nan, ends)
        else:
            raise ValueError(f"`method` must be an instance of `BootstrapMethod` or None, got {method!r}.")
        return ConfidenceInterval(*(end.reshape(np.shape(self.statistic))[()] for end in ends))

    @property
    def _statistic(self) -> Float64Array:
        """The statistic without the axis that `keepdims` kept."""
        return np.reshape(self.statistic, self._samples.undefined.shape)


@public_in("kdi")
def correlation(
    x: ArrayLike,
    y: ArrayLike,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    weights: ArrayLike | None = None,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    alternative: Alternative = "two-sided",
    method: PermutationMethod | MonteCarloMethod | None = None,
    keepdims: bool = False,
) -> CorrelationResult:
    """Compute the KD-integral correlation of two samples, with a p-value and confidence intervals.

    This is Pearson's formula on the kernel density integrals of both. The bandwidth factor `alpha` moves it between
    Spearman's rho (0) and Pearson's r (inf): far outliers weigh little, as in rho, and distances count, as in r.

    Parameters
    ----------
    x, y : array-like
        The samples. N-dimensional arrays are broadcast, as in `scipy.stats.pearsonr`.
    alpha : float, "scott", "silverman" or a pair of these, default=1.0
        Bandwidth in units of the standard deviation; a pair has one for x and one for y. 0 is `scipy.stats.spearmanr`,
        inf is `scipy.stats.pearsonr`.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
    order : int, default=4
        Order of the polyexp kernel; 4 is close to the Gaussian.
    weights : array-like of shape (n,), optional
        One weight per row along `axis`. A weight of 2 is a repetition, a weight of 0 a removal: the sample size of
        p-values and intervals is the sum of the weights.
    axis : int or None, default=0
        The axis along which rows lie; None ravels both arrays.
    nan_policy : {"propagate", "omit", "raise"}, default="propagate"
        NaN in a slice makes its result NaN, its row is left out of both samples, or it is an error.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
    method : scipy.stats.PermutationMethod or scipy.stats.MonteCarloMethod, optional
        How the p-value is computed. Permutations assume only that rows are independent. Monte Carlo draws both samples
        anew, by default from normal distributions. Both need weights that are integers.
    keepdims : bool, default=False
        Keep `axis` with length 1.

    Returns
    -------
    CorrelationResult
        With `statistic`, `pvalue`, `error_bound` and the method `confidence_interval`.

    Warns
    -----
    scipy.stats.ConstantInputWarning
        Where a sample is constant; the result is NaN there.
    RuntimeWarning
        Where a sample holds infinite values and its alpha is not 0, or where fewer than two rows are left without NaN;
        the result is NaN there.

    Notes
    -----
    With T the kernel density integral of each sample (see `KDITransformer`), the statistic is

    .. math:: r = \\frac{\\sum_n w_n (T_x(x_n) - \\bar T_x)(T_y(y_n) - \\bar T_y)}
        {\\sqrt{\\sum_n w_n (T_x(x_n) - \\bar T_x)^2 \\sum_n w_n (T_y(y_n) - \\bar T_y)^2}}

    The default p-value assumes, as `scipy.stats.pearsonr` does, that r is distributed as Pearson's r of n independent
    normal pairs, which is beta(n/2 - 1, n/2 - 1) on [-1, 1]. For KD-integrals this is an approximation;
    docs/correlation.md shows how close it is for normal and heavy-tailed data. Two rows have the p-value 1, at any
    alpha (`spearmanr` has NaN), and weights that sum to less than 2 have the p-value NaN.

    Samples of up to 1024 rows are sorted and integrated at the values themselves, in time n log n. Longer samples are
    summarised in cells and mapped, in time linear in n, with an error of T of about 1e-8. `error_bound` is the
    resulting bound for r; it is larger for outliers, which leave little deviation in T, and for very large alphas.

    References
    ----------
    McCarter, C. (2023). The Kernel Density Integral Transformation. Transactions on Machine Learning Research.

    Examples
    --------
    >>> import kdi
    >>> x, y = [1, 2, 3, 4, 5, 6, 7, 60], [2, 1, 4, 3, 6, 5, 8, 7]
    >>> for alpha in (0, 1, float("inf")):
    ...     result = kdi.correlation(x, y, alpha=alpha)
    ...     print(alpha, result.statistic.round(3), result.pvalue.round(3))
    0 0.905 0.002
    1 0.577 0.134
    inf 0.492 0.215
    >>> interval = kdi.correlation(x, y).confidence_interval(0.9)
    >>> print(interval.low.round(2), interval.high.round(2))
    -0.08 0.88
    """
    check_alternative(alternative)
    if not isinstance(method, PermutationMethod | MonteCarloMethod | None):
        raise ValueError(
            f"`method` must be an instance of `PermutationMethod`, `MonteCarloMethod`, or None, got {method!r}."
        )
    samples = read_samples(x, y, axis, nan_policy, weights, _alpha_pair(alpha), get_kernel(kernel, order))
    first, second = samples.to_unit_vectors(samples.x, 0), samples.to_unit_vectors(samples.y, 1)
    statistic = correlate(first, second)
    n_rows = np.broadcast_to(samples.n_rows, statistic.shape)
    statistic = np.where(samples.undefined, np.nan, np.where(n_rows == 2, np.round(statistic), statistic))
    _warn(samples, n_rows, (first.norms == 0) | (second.norms == 0))
    if method is None:
        pvalue = correlation_pvalue(statistic, samples.n, alternative)
    else:
        pvalue = np.where(np.isnan(statistic), np.nan, resampled_pvalue(samples, method, alternative))
    error_bound = np.where(np.isnan(statistic), np.nan, np.minimum(first.errors + second.errors, 2.0))
    if keepdims:
        n_dimensions = max(np.ndim(x), np.ndim(y))
        kept = tuple(range(n_dimensions)) if axis is None else (axis,)
        statistic, pvalue, error_bound = (np.expand_dims(one, kept) for one in (statistic, pvalue, error_bound))
    result = CorrelationResult(statistic[()], pvalue[()])
    result.error_bound, result._samples, result._alternative = error_bound[()], samples, alternative
    return result


def _alpha_pair(alpha: Any) -> tuple[Any, Any]:
    """Check alpha and return one for each sample."""
    single = isinstance(alpha, str) or n_dimensions(alpha) == 0
    pair = [alpha, alpha] if single else list(alpha)
    if len(pair) != 2:
        raise ValueError(f"alpha must be a number, a rule or a pair of these for x and y, got {alpha!r}.")
    for one in pair:
        bandwidth_factor(one, 1.0)
    return pair[0], pair[1]


def _warn(samples: PairedSamples, n_rows: Float64Array, constant: Any) -> None:
    """Warn, as scipy.stats does, of slices that have no correlation for another reason than NaN in the input."""
    enough = (n_rows >= 2) | (samples.n >= 2)
    if not enough.all():
        warnings.warn(TOO_SMALL, RuntimeWarning, stacklevel=3)
    judged = enough & ~samples.undefined
    if (constant & judged).any():
        warnings.warn(ConstantInputWarning(CONSTANT), stacklevel=3)
    each = zip((samples.x, samples.y), samples.alphas, strict=True)
    if any((np.isinf(values).any(axis=-1) & judged).any() for values, alpha in each if alpha != 0):
        warnings.warn(INFINITE, RuntimeWarning, stacklevel=3)
