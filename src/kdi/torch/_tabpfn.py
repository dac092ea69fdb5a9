"""TabPFNStep: the transformation as a step of TabPFN's torch preprocessing, on the device of its input.

TabPFN 9.2 calls a step so (`tabpfn.preprocessing.torch.TorchPreprocessingStep`):

    step.fit_transform(x, column_indices, num_train_rows, fitted_cache)     x: (rows, batch, columns)

The step itself has no state. What it learns is a dict of tensors, which the pipeline keeps on the CPU, moves to the
device of x, and passes again with later rows. Nothing here imports TabPFN: its pipeline asks only for these methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from kdi._integral.build import build_features
from kdi._numerics.kernels import get_kernel
from kdi._transformer.paths import check_alphas
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, KernelName, OutOfRange, Spread
from kdi.torch._functional import fit, sketch, transform
from kdi.torch._maps import DTYPES, JOINED, TENSORS, Maps, Parameters
from kdi.torch._parameters import checked_parameters

__all__ = ["TABPFN_ALPHAS", "TabPFNStep"]

# The bandwidth factors of TabPFN's presets: tabpfn.preprocessing.steps.kdi_transformer.ALPHAS.
TABPFN_ALPHAS = (0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 5.0)
PRESETS = {"kdi": (1.0, "normal"), "kdi_uni": (1.0, "uniform")}
PRESETS |= {f"kdi_alpha_{alpha}": (alpha, "normal") for alpha in TABPFN_ALPHAS}
PRESETS |= {f"kdi_alpha_{alpha}_uni": (alpha, "uniform") for alpha in TABPFN_ALPHAS}

COLUMNS = tuple(name for name in TENSORS if name not in JOINED)


@dataclass
class StepResult:
    """What a step returns: the fields of TabPFN's `TorchPreprocessingStepResult`, of which two are used."""

    x: Tensor
    added_columns: Tensor | None = None
    added_modality: Any = None
    fitted_cache: dict[str, Tensor] | None = None
    schema_permutation: list[int] | None = None


@public_in("kdi.torch")
class TabPFNStep:
    """The kernel density integral transformation as a step of TabPFN's torch preprocessing pipeline.

    It does on the device of its input what TabPFN's `KDITransformerWithNaN` does on the CPU with kditransform, but NaN
    is ignored by the fit instead of being replaced by the mean. It satisfies the contract of TabPFN 9.2 for both kinds
    of objects: a `TorchPreprocessingStep` (`fit_transform`), and a stateless transformer like
    `TorchQuantileTransformer` (`fit`, `transform`).

    Parameters
    ----------
    alpha : float, "scott", "silverman", or a sequence of these, default=1.0
        Bandwidth factor, for all columns or for each.
    output_distribution : {"uniform", "normal"}, default="uniform"
    kernel, order, bounded, spread, feature_range
        As in `kdi.torch.fit`.
    out_of_range : {"clip", "linear", "nan"}, default="clip"
        The result for values outside the range of the training rows.
    target_column_indices : sequence of int, optional
        Columns to transform, for a step that is registered with ``modalities=None`` and therefore receives all of them,
        as TabPFN's selective steps do. By default, the columns that the pipeline chooses.

    Notes
    -----
    NaN stays NaN, and infinite values become NaN; TabPFN's pipeline restores them. A column without different values
    becomes 0, or with normal scores -5.2, as in kditransform (TabPFN's quantile transformer gives 0.5 for levels).

    The cache holds five tensors of integers: floats are kept as their bits, because the cache also travels to devices
    without float64. Caches of one step are for steps with the same parameters; only alpha may differ.

    Steps are pickled with a fitted TabPFN model; the model can then be loaded where kdi is installed.

    Examples
    --------
    >>> import torch
    >>> from kdi.torch import TabPFNStep
    >>> x = torch.tensor([[0.0], [1.0], [torch.nan], [100.0], [50.0]])[:, None]  # (rows, batch, columns)
    >>> step = TabPFNStep()
    >>> cache = step.fit(x[:4])
    >>> step.transform(x, fitted_cache=cache).ravel().round(decimals=3)
    tensor([0.0000, 0.0120,    nan, 1.0000, 0.5790])
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        output_distribution: str = "uniform",
        *,
        kernel: KernelName = "polyexp",
        order: int = 4,
        bounded: bool = True,
        spread: Spread = "std",
        feature_range: tuple[float, float] = (0.0, 1.0),
        out_of_range: OutOfRange = "clip",
        target_column_indices: Sequence[int] | None = None,
    ) -> None:
        self.alpha = alpha
        self.output_distribution = output_distribution
        self.kernel = kernel
        self.order = order
        self.bounded = bounded
        self.spread = spread
        self.feature_range = feature_range
        self.out_of_range = out_of_range
        self.target_column_indices = target_column_indices

    @classmethod
    def from_preset(cls, name: str, **options: Any) -> Self:
        """Return the step of one of TabPFN's presets, such as "kdi_uni" or "kdi_alpha_0.3".

        Parameters
        ----------
        name : str
            ``"kdi"``, or ``"kdi_alpha_"`` and one of the 17 factors, for normal scores; the same and ``"_uni"`` for
            [0, 1].
        **options
            Other parameters of the step.
        """
        if name not in PRESETS:
            raise ValueError(f"name must be one of TabPFN's presets with one KDI transformer, got {name!r}.")
        alpha, output_distribution = PRESETS[name]
        return cls(alpha, output_distribution, **options)

    def fit(self, x: Tensor) -> dict[str, Tensor]:
        """Learn the maps of all columns, and return them as a dict of tensors on the device of x.

        Parameters
        ----------
        x : Tensor of shape (rows, …, columns)
            The training rows.
        """
        return to_cache(self._learn(with_float64(x)))

    def fit_alphas(self, x: Tensor, alphas: Sequence[float] = TABPFN_ALPHAS) -> dict[float, dict[str, Tensor]]:
        """Learn the maps for several bandwidth factors from one pass over x; return the dict of tensors for each.

        An ensemble whose members differ in alpha reads the training rows once. `transform` of this step takes any of
        the dicts; in a TabPFN pipeline, they are entries of `fitted_cache`. With ``spread="robust"`` on a GPU, the rows
        are read for each factor, since the quartiles may need cells of different widths.

        Parameters
        ----------
        x : Tensor of shape (rows, …, columns)
            The training rows.
        alphas : sequence of float, default=TABPFN_ALPHAS
            Numbers above 0.
        """
        ascending = check_alphas(alphas)
        if not ascending[0] > 0:
            raise ValueError(f"alphas must be numbers above 0, got {alphas!r}.")
        return {alpha: to_cache(maps) for alpha, maps in self._learn_path(with_float64(x), ascending)}

    def transform(self, x: Tensor, fitted_cache: Mapping[str, Tensor]) -> Tensor:
        """Transform all columns with what `fit` returned; the result has the dtype and device of x.

        Parameters
        ----------
        x : Tensor of shape (rows, …, columns)
        fitted_cache : dict
            On any device.
        """
        return self._apply(x, self._recall(fitted_cache, x))

    def fit_transform(
        self,
        x: Tensor,
        column_indices: Sequence[int],
        num_train_rows: int,
        fitted_cache: dict[str, Tensor] | None = None,
    ) -> StepResult:
        """Fit to the first rows of some columns, unless there is a cache, and transform all rows of these columns.

        Parameters
        ----------
        x : Tensor of shape (rows, batch, columns)
            It is not changed.
        column_indices : sequence of int
            The columns to transform, if the step has no `target_column_indices`.
        num_train_rows : int
            Number of rows to fit to.
        fitted_cache : dict, optional
            What an earlier call returned, in order to transform further rows.
        """
        columns = list(column_indices if self.target_column_indices is None else self.target_column_indices)
        if not columns:
            return StepResult(x, fitted_cache={})
        all_columns = columns == list(range(x.shape[-1]))
        chosen = x if all_columns else x[..., columns]
        if fitted_cache is None:
            maps = self._learn(with_float64(chosen[:num_train_rows]))
            fitted_cache = to_cache(maps)
        else:
            maps = self._recall(fitted_cache, chosen)
        transformed = self._apply(chosen, maps)
        if not all_columns:
            whole = x.clone()
            whole[..., columns] = transformed
            transformed = whole
        return StepResult(transformed, fitted_cache=fitted_cache)

    def __call__(self, x: Tensor, num_train_rows: int | None = None) -> Tensor:
        """Fit to the first rows, or to all if `num_train_rows` is None or 0, and transform all rows."""
        return self.transform(x, self.fit(x[: num_train_rows or None]))

    def added_feature_prefix(self) -> str:
        """Return the prefix of the names of added columns; this step adds none."""
        return type(self).__name__

    def _fit(self, x: Tensor) -> dict[str, Tensor]:
        return self.fit(x)

    def _transform(self, x: Tensor, fitted_cache: Mapping[str, Tensor]) -> tuple[Tensor, None, None]:
        return self.transform(x, fitted_cache), None, None

    def __repr__(self) -> str:
        return f"TabPFNStep(alpha={self.alpha!r}, output_distribution={self.output_distribution!r})"

    @property
    def _options(self) -> dict[str, Any]:
        names = ("kernel", "order", "output_distribution", "bounded", "spread", "feature_range")
        return {name: getattr(self, name) for name in names}

    def _learn(self, x: Tensor) -> Maps:
        return fit(x, alpha=self.alpha, infinite="nan", **self._options)

    def _learn_path(self, x: Tensor, alphas: Float64Array) -> Iterator[tuple[float, Maps]]:
        """Yield the maps for ascending alphas, each from the cells of the one before, which are fine enough."""
        least = float(alphas[0])
        parameters = checked_parameters(Parameters(**self._options), least)
        if x.device.type != "cpu" and self.spread == "robust":  # quartiles may need narrower cells than sketches have
            for alpha in alphas.tolist():
                yield alpha, fit(x, alpha=alpha, infinite="nan", **self._options)
            return
        if x.device.type == "cpu":
            found = fit(x, alpha=least, infinite="nan", **self._options).sketches
        else:
            found = sketch(x, alpha=least, kernel=self.kernel, order=self.order, infinite="nan")
        sketches: Sequence[Any] = found.to_host()  # type: ignore[union-attr]
        kernel, n_threads = get_kernel(self.kernel, self.order), count_threads(None, x.numel())
        for alpha in alphas.tolist():
            factors = np.full(len(sketches), alpha)
            features, sketches = build_features(sketches, factors, kernel, parameters.options, n_threads, merge=True)
            yield alpha, Maps.from_features(features, tuple(x.shape[1:]), len(x), parameters).to(x.device)

    def _recall(self, cache: Mapping[str, Tensor], x: Tensor) -> Maps:
        """Return the maps of a cache, on the device where x is mapped."""
        parameters = checked_parameters(Parameters(**self._options), self.alpha)
        return from_cache(cache, with_float64(x[:0]).device, tuple(x.shape[1:]), parameters)

    def _apply(self, x: Tensor, maps: Maps) -> Tensor:
        return transform(with_float64(x), maps, out_of_range=self.out_of_range).to(x.device)


def with_float64(x: Tensor) -> Tensor:
    """Return x on a device that has float64: the CPU in place of MPS, as TabPFN's own steps do."""
    return x.cpu() if x.device.type == "mps" else x


def to_cache(maps: Maps) -> dict[str, Tensor]:
    """Return the tensors of maps as integers, those with one entry per column in one tensor."""
    columns = torch.stack([bits_of(getattr(maps, name)).to(torch.int64) for name in COLUMNS])
    return {"columns": columns} | {name: bits_of(getattr(maps, name)) for name in JOINED}


def from_cache(
    cache: Mapping[str, Tensor], device: torch.device, shape: tuple[int, ...], parameters: Parameters
) -> Maps:
    """Return the maps that `to_cache` turned into integers."""
    missing = [name for name in ("columns", *JOINED) if name not in cache]
    if missing:
        raise ValueError(f"fitted_cache must be what fit returned, {missing[0]!r} is missing.")
    columns = cache["columns"].to(device)
    if tuple(columns.shape) != (len(COLUMNS), prod(shape)):
        raise ValueError(
            f"x must have rows of the shape that was fitted, {columns.shape[-1]} columns in total, got {shape}."
        )
    tensors = dict(zip(COLUMNS, columns, strict=True)) | {name: cache[name].to(device) for name in JOINED}
    restored = {name: from_bits(tensors[name], DTYPES.get(name, torch.float64)) for name in TENSORS}
    return Maps(**restored, shape=shape, parameters=parameters)


def bits_of(tensor: Tensor) -> Tensor:
    return tensor.contiguous().view(torch.int64) if tensor.dtype == torch.float64 else tensor


def from_bits(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.view(dtype) if dtype == torch.float64 else tensor.to(dtype)
