"""Maps: fitted maps as tensors, in the packed layout that every backend reads (docs/packed-model.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isnan, nan, prod
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from kdi._integral.build import FeatureMaps
from kdi._integral.maps import CUBIC, LINEAR, MapOptions, PackedMaps
from kdi._sketch.sketch import Sketch
from kdi._transformer.base import BaseKDITransformer
from kdi._transformer.transformer import KDITransformer
from kdi._utils.errors import NoSketchesError
from kdi._utils.public import public_in
from kdi._utils.typing import KernelName, OutOfRange, Spread

ROWS = tuple(one.name for one in fields(PackedMaps))  # the arrays of packed maps


class Parameters(NamedTuple):
    """The parameters of `KDITransformer` that maps follow from, besides alpha."""

    kernel: KernelName = "polyexp"
    order: int = 4
    output_distribution: str = "uniform"
    bounded: bool = True
    spread: Spread = "std"
    feature_range: tuple[float, float] = (0.0, 1.0)
    max_knots: int | None = None

    @property
    def turns_into_scores(self) -> bool:
        """Whether levels are turned into normal scores after the maps."""
        return self.bounded and self.output_distribution == "normal"

    @property
    def options(self) -> MapOptions:
        return KDITransformer(**self._asdict())._map_options()

    def to_numbers(self) -> list[float]:
        """Return the parameters as numbers, which a `state_dict` can hold."""
        own = [self.kernel == "gaussian", self.order, self.output_distribution == "normal", self.bounded]
        most = nan if self.max_knots is None else self.max_knots
        return [float(number) for number in [*own, self.spread == "robust", *self.feature_range, most]]

    @classmethod
    def from_numbers(cls, numbers: list[float]) -> Parameters:
        """Return the parameters that `to_numbers` turned into numbers."""
        gaussian, order, normal, bounded, robust, low, high, most = numbers
        return cls(
            "gaussian" if gaussian else "polyexp",
            int(order),
            "normal" if normal else "uniform",
            bool(bounded),
            "robust" if robust else "std",
            (low, high),
            None if isnan(most) else int(most),
        )


DEFAULT_PARAMETERS = Parameters()


class FittedSketches(Protocol):
    """What maps keep of their data: sketches that can be read by the CPU's core."""

    def to_host(self) -> Sequence[Sketch]: ...


class HostSketches:
    """The sketches of maps that were built on the CPU."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        self._sketches = sketches

    def to_host(self) -> Sequence[Sketch]:
        return self._sketches


def sketches_on_host(sketches: FittedSketches | None) -> FittedSketches | None:
    """Return sketches that hold no memory of a device."""
    return sketches if sketches is None or isinstance(sketches, HostSketches) else HostSketches(sketches.to_host())


def resolve_device(device: Any) -> torch.device:
    """Return a device as tensors name it: with the index of the current one for "cuda"."""
    return torch.empty(0, device=device).device


@public_in("kdi.torch")
@dataclass(frozen=True, eq=False, repr=False)
class Maps:
    """The maps of all features as tensors: what `fit` returns and `transform` takes.

    The tensors of the packed model lie on one device; those with one entry per column describe the columns of all
    batches, one batch after the other. They are float64 for every dtype of the input, so that offsets are exact.

    Attributes
    ----------
    kind, low, high, unit, scale, low_slope, high_slope, low_level, high_level, floor, ceiling, start, n_knots, error
        One entry per column, as `kdi.KDITransformer.packed_maps_` has them.
    coefficients, knots, levels, guide
        The rows of the cubics and of the lines, one column after the other.
    alpha, bandwidth : Tensor
        The bandwidth factor of each column, and the bandwidth.
    shape : tuple of int
        Shape of a row of the input: batch dimensions and features.
    n_rows : int
        Number of rows that were fitted.
    parameters : Parameters
        The other parameters of the fit.
    sketches : object or None
        What is kept of the data, for `to_sklearn`.

    Examples
    --------
    >>> import torch, kdi.torch
    >>> x = torch.tensor([[0.0, 5.0], [1.0, 6.0], [2.0, 9.0], [100.0, 9.0]])
    >>> maps = kdi.torch.fit(x, alpha=[1.0, 0.5])
    >>> maps.alpha
    tensor([1.0000, 0.5000], dtype=torch.float64)
    >>> bool((maps.error_bound < 1e-6).all())
    True
    >>> again = kdi.torch.Maps.from_state_dict(maps.state_dict())
    >>> torch.equal(kdi.torch.transform(x, again), kdi.torch.transform(x, maps))
    True
    >>> maps.to_sklearn().transform([[1.0, 5.0], [2.0, 9.0]]).round(3)
    array([[0.013, 0.   ],
           [0.027, 1.   ]])
    """

    kind: Tensor
    low: Tensor
    high: Tensor
    unit: Tensor
    scale: Tensor
    low_slope: Tensor
    high_slope: Tensor
    low_level: Tensor
    high_level: Tensor
    floor: Tensor
    ceiling: Tensor
    start: Tensor
    n_knots: Tensor
    coefficients: Tensor
    knots: Tensor
    levels: Tensor
    guide: Tensor
    error: Tensor
    alpha: Tensor
    bandwidth: Tensor
    shape: tuple[int, ...] = ()
    n_rows: int = 0
    parameters: Parameters = DEFAULT_PARAMETERS
    sketches: FittedSketches | None = None

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.low.device

    @property
    def error_bound(self) -> Tensor:
        """The bound on the error of each column's map, in the shape of a row, before rounding to a narrower dtype."""
        return self.error.reshape(self.shape)

    def __len__(self) -> int:
        return len(self.low)

    def __repr__(self) -> str:
        return f"Maps(shape={self.shape}, n_rows={self.n_rows}, device='{self.device}', {self.parameters})"

    def __getstate__(self) -> dict[str, Any]:
        state = {one.name: getattr(self, one.name) for one in fields(self)}  # without what backends keep here
        return state | {"sketches": sketches_on_host(self.sketches)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _ = self.sizes  # as in `from_state_dict`

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._converted(lambda tensor: tensor.clone(), self.sketches)

    def to(self, device: Any) -> Self:
        """Return the maps on another device; the maps themselves where they are there already."""
        device = resolve_device(device)
        if device == self.device:
            return self
        sketches = sketches_on_host(self.sketches) if device.type == "cpu" else self.sketches
        return self._converted(lambda tensor: tensor.to(device), sketches)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the maps as a dict of tensors, from which `from_state_dict` makes them again."""
        settings = torch.tensor([float(self.n_rows), *self.parameters.to_numbers()], dtype=torch.float64)
        shape = torch.tensor(self.shape, dtype=torch.int64)
        return self.tensors() | {"shape": shape, "settings": settings}

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Tensor]) -> Maps:
        """Make maps from the dict that `state_dict` returned."""
        missing = [name for name in [*TENSORS, "shape", "settings"] if name not in state]
        if missing:
            raise ValueError(f"state must have the tensors of Maps.state_dict(), {missing[0]!r} is missing.")
        n_rows, *numbers = state["settings"].tolist()
        shape = tuple(state["shape"].tolist())
        if prod(shape) != len(state["low"]):
            raise ValueError(f"state must have one map per column, got {len(state['low'])} for the shape {shape}.")
        own: dict[str, Any] = {"shape": shape, "n_rows": int(n_rows), "parameters": Parameters.from_numbers(numbers)}
        tensors = {name: state[name].to(DTYPES.get(name, torch.float64)).contiguous() for name in TENSORS}
        maps = cls(**own, **tensors)
        maps._check_rows()
        _ = maps.sizes  # later, a compiled transform could not ask for them, and others would wait
        return maps

    def _check_rows(self) -> None:
        """Raise unless the tensors fit together: backends read without looking."""
        wrong = [name for name, one in self.tensors().items() if name not in JOINED and one.shape != self.low.shape]
        points = self.knots.shape
        wrong += [name for name in ("levels", "guide") if getattr(self, name).shape != points or len(points) != 1]
        if self.coefficients.ndim != 2 or self.coefficients.shape[1] != 4:
            wrong.append("coefficients")
        if wrong:
            raise ValueError(f"state must have tensors that fit together, got {wrong[0]!r} of the wrong shape.")
        kind, start, n_knots = torch.stack([self.kind.to(torch.int64), self.start, self.n_knots]).cpu().numpy()
        for chosen, least, n_rows in ((CUBIC, 1, len(self.coefficients)), (LINEAR, 2, len(self.knots))):
            first, n = start[kind == chosen], n_knots[kind == chosen]
            if ((first < 0) | (n < least) | (n > n_rows) | (first > n_rows - n)).any():
                raise ValueError(f"state must have all rows of its maps, got {n_rows} where more are needed.")

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name."""
        return {name: getattr(self, name) for name in TENSORS}

    @classmethod
    def from_sklearn(cls, transformer: Any, device: Any = "cpu") -> Maps:
        """Return the maps of a fitted `kdi.KDITransformer` or `kdi.KDITransformerCV`.

        `out_of_range` is not part of the maps: pass it to `transform`, or to `KDITransform.from_maps`.
        """
        if not isinstance(transformer, BaseKDITransformer):
            raise TypeError(
                f"transformer must be a kdi.KDITransformer or a kdi.KDITransformerCV, got {type(transformer).__name__}."
            )
        features = transformer._get_maps()
        options = features.options
        names = [name for name in Parameters._fields if name != "spread"]
        own = {name: getattr(transformer, name) for name in names}
        own |= {"spread": "robust" if options.robust else "std", "feature_range": (options.floor, options.ceiling)}
        shape = (int(transformer.n_features_in_),)
        n_rows, sketches = int(transformer.n_samples_seen_), _sketches_of(transformer)
        return cls.from_features(features, shape, n_rows, Parameters(**own), sketches).to(device)

    @classmethod
    def from_features(
        cls,
        features: FeatureMaps,
        shape: tuple[int, ...],
        n_rows: int,
        parameters: Parameters,
        sketches: FittedSketches | None = None,
    ) -> Maps:
        """Return the maps that the CPU's core has built."""
        arrays = [getattr(features.maps, name) for name in ROWS] + [features.alpha, features.bandwidth]
        tensors: list[Any] = [torch.from_numpy(np.array(array)) for array in arrays]
        own: dict[str, Any] = {"shape": shape, "n_rows": n_rows, "parameters": parameters, "sketches": sketches}
        return cls(*tensors, **own).with_sizes(*_sizes_of(features.maps.kind, features.maps.n_knots))

    def to_features(self) -> FeatureMaps:
        """Return the maps as the CPU's core reads them."""
        arrays = {name: getattr(self, name).detach().cpu().numpy() for name in TENSORS}
        alpha, bandwidth = arrays.pop("alpha"), arrays.pop("bandwidth")
        return FeatureMaps(alpha, bandwidth, PackedMaps(**arrays), self.parameters.options)

    def to_sklearn(self, *, out_of_range: OutOfRange = "clip") -> KDITransformer:
        """Return a `kdi.KDITransformer` with these maps.

        Parameters
        ----------
        out_of_range : {"clip", "linear", "nan"}
            The parameter of the transformer, which is not part of the maps.

        Notes
        -----
        It can do all that a transformer can that was fitted to the same data. Maps that came from a `state_dict` do not
        know their data: the transformer then has no `sketches_` and cannot learn more by `partial_fit`.
        """
        if len(self.shape) != 1:
            raise ValueError(f"maps must have no batch dimensions for a KDITransformer, got the shape {self.shape}.")
        alphas = self.alpha.tolist()
        alpha = alphas[0] if len(set(alphas)) == 1 else alphas
        transformer = KDITransformer(alpha, out_of_range=out_of_range, **self.parameters._asdict())
        transformer.n_features_in_ = len(self)
        sketches = [] if self.sketches is None else self.sketches.to_host()
        return transformer._set_fit(sketches, self.n_rows, self.to_features())

    @property
    def on_host(self) -> PackedMaps:
        """The packed maps as NumPy arrays that share the memory of tensors on the CPU; they are checked once."""
        if "_on_host" not in self.__dict__:
            self.__dict__["_on_host"] = self.to_features().maps
        return self.__dict__["_on_host"]  # type: ignore[no-any-return]

    @property
    def sizes(self) -> tuple[list[int], int]:
        """The number of cubics of each column and the largest number of lines, known to the host after first use."""
        if "_sizes" not in self.__dict__:
            if torch.compiler.is_compiling():
                self._find_sizes()
            else:
                with torch._C._DisableFuncTorch():  # its tensors could not be read
                    self._find_sizes()
        return self.__dict__["_sizes"]  # type: ignore[no-any-return]

    def _find_sizes(self) -> None:
        self.with_sizes(*_sizes_of(*torch.stack([self.kind.to(torch.int64), self.n_knots]).cpu().numpy()))

    def with_sizes(self, cubics: list[int], lines: int) -> Self:
        """Tell the host the sizes of new maps, so that it need not ask the device."""
        self.__dict__["_sizes"] = cubics, lines
        return self

    def _converted(self, convert: Callable[[Tensor], Tensor], sketches: FittedSketches | None) -> Self:
        tensors: dict[str, Any] = {name: convert(one) for name, one in self.tensors().items()}
        return replace(self, **tensors, sketches=sketches).with_sizes(*self.sizes)


def _sizes_of(kind: Any, n_knots: Any) -> tuple[list[int], int]:
    """Return the number of cubics of each column and the largest number of lines."""
    return np.where(kind == CUBIC, n_knots, 0).tolist(), int(n_knots[kind == LINEAR].max(initial=0))


def _sketches_of(transformer: Any) -> FittedSketches | None:
    """Return the sketches of a transformer, where they are, or None where it has none."""
    kept: FittedSketches | None = getattr(transformer, "_sketches", None)
    if hasattr(kept, "to_host"):
        return kept
    try:
        return HostSketches(transformer._get_sketches("Maps.from_sklearn"))
    except NoSketchesError:
        return None


TENSORS = tuple(one.name for one in fields(Maps) if one.name not in ("shape", "n_rows", "parameters", "sketches"))
JOINED = ("coefficients", "knots", "levels", "guide")  # the other tensors have one entry per column
DTYPES = {"kind": torch.uint8, "start": torch.int64, "n_knots": torch.int64, "guide": torch.int32}  # others: float64
