"""KDITransform: the transformation as a layer of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import prod
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from kdi._integral.bandwidth import resolve_factors
from kdi._integral.build import build_features
from kdi._numerics.kernels import get_kernel
from kdi._sketch.packed import PackedSketches
from kdi._sketch.sketch import Sketch
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import KernelName, OutOfRange, Spread
from kdi.torch import _alpha_path, _functional, _lookup
from kdi.torch._functional import Infinite
from kdi.torch._maps import TENSORS, FittedSketches, HostSketches, Maps, Parameters, sketches_on_host
from kdi.torch._parameters import check_maps, check_policies, check_table, checked_parameters, factors_of

SKETCH_ARRAYS = tuple(one.name for one in fields(PackedSketches))


def trainable(tensor: Tensor) -> Tensor:
    """Return a tensor that training can use, unlike those of inference mode."""
    if not tensor.is_inference():
        return tensor
    with torch.inference_mode(False):
        return tensor.clone()


class FixedBuffers(nn.Module):  # type: ignore[misc]
    """Tensors that move between devices with their module, and keep their dtype."""

    def __init__(self, *, persistent: bool) -> None:
        super().__init__()
        self.persistent = persistent
        self._device_if_empty = torch.get_default_device()

    @property
    def device(self) -> torch.device:
        """The device of the tensors; replicas of the module on other devices have tensors of their own."""
        return next((buffer.device for buffer in self._buffers.values()), self._device_if_empty)

    def hold(self, tensors: Mapping[str, Tensor], device: torch.device) -> None:
        """Replace all tensors."""
        self._device_if_empty = device
        self._buffers.clear()
        for name, tensor in tensors.items():
            self.register_buffer(name, trainable(tensor.to(device)), persistent=self.persistent)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """Apply a conversion, such as `half()` or `to(device)`, but for its dtype."""
        self._device_if_empty = fn(torch.empty(0, device=self.device)).device
        for name, buffer in self._buffers.items():
            converted = fn(buffer)
            self._buffers[name] = converted if converted.dtype == buffer.dtype else buffer.to(converted.device)
        return self

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Compare the names only: the layer has restored the tensors, or has left them alone after an error."""
        names = [prefix + name for name in self._buffers] if self.persistent else []
        missing_keys += [name for name in names if name not in state_dict]
        if strict:
            unexpected_keys += [name for name in state_dict if name.startswith(prefix) and name not in names]


@public_in("kdi.torch")
class KDITransform(nn.Module):  # type: ignore[misc]
    """The kernel density integral transformation as a layer: `fit` learns the maps, the call applies them.

    The call is differentiable in x: the derivative is that of the fitted map. With ``learn_alpha=True`` it is also
    differentiable in `log_alpha`, a parameter like others.

    Parameters
    ----------
    alpha : float, "scott", "silverman", sequence of these, or tensor, default=1.0
        As in `fit`. With `learn_alpha`, where training begins: from 0.05 to 50.
    kernel, order, output_distribution, bounded, spread, feature_range, max_knots
        As in `kdi.KDITransformer`.
    out_of_range : {"clip", "linear", "nan"}, default="clip"
        The result for values outside the range of the fit.
    infinite : {"error", "nan"}, default="error"
        Whether infinite values are an error in `fit` and `partial_fit`, or ignored like NaN. The call turns them into
        NaN.
    learn_alpha : bool, default=False
        Whether the bandwidth factor of each feature is learned with the weights of the network.

    Attributes
    ----------
    maps : Maps
        The fitted maps; with `learn_alpha`, exact maps for the current alphas.
    log_alpha : Parameter, in the shape of a row, or None
        Natural logarithm of the bandwidth factor of each feature, with `learn_alpha`. `fit` creates it: give the
        parameters to an optimizer after that. Beyond the logarithms of 0.05 and 50 it acts like these, with gradient 0.
    alphas : Tensor in the shape of a row
        The current bandwidth factors.
    path_error : Tensor in the shape of a row
        Only with `learn_alpha`; for fixed alphas see `maps.error_bound`. An estimate of the largest distance between
        the result of the call and the exact integral, at any alpha from 0.05 to 50: twice what was measured between the
        nodes of the path, and the error bound of the maps. In normal scores up to 6 where ``bounded=False`` and
        ``output_distribution="normal"``.

    Notes
    -----
    Maps are float64 whatever the dtype of x; `half()`, `float()` and autocast do not change them. They are evaluated in
    float64, but by CUDA kernels in float32 for narrower x. Results have the dtype of x.

    A `state_dict` holds the maps, or with `learn_alpha` the sketches of the columns and `log_alpha`. It can be loaded
    into a module that was constructed with the same parameters, whether that was fitted or not.

    With `learn_alpha`, T is interpolated in log alpha between the maps of 75 alphas, 0.1 apart. A column whose range is
    10 standard deviations needs 1 MB for them and some 10 ms to build them, one of 100 deviations ten times that. The
    result may decrease somewhere in x, by no more than the error. To keep what was learned, without the path:
    ``KDITransform.from_maps(module.maps)``.

    Examples
    --------
    >>> import torch
    >>> from kdi.torch import KDITransform
    >>> x = torch.tensor([[0.0], [1.0], [2.0], [100.0]])
    >>> KDITransform().fit(x)(x).ravel().round(decimals=3)
    tensor([0.0000, 0.0130, 0.0270, 1.0000])
    >>> layer = KDITransform(learn_alpha=True).fit(x)
    >>> model = torch.nn.Sequential(layer, torch.nn.Linear(1, 1))
    >>> model(x).sum().backward()
    >>> layer.log_alpha.grad.shape
    torch.Size([1])
    """

    log_alpha: nn.Parameter | None

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: KernelName = "polyexp",
        order: int = 4,
        output_distribution: str = "uniform",
        bounded: bool = True,
        spread: Spread = "std",
        feature_range: tuple[float, float] = (0, 1),
        max_knots: int | None = None,
        out_of_range: OutOfRange = "clip",
        infinite: Infinite = "error",
        learn_alpha: bool = False,
    ) -> None:
        super().__init__()
        given = Parameters(kernel, order, output_distribution, bounded, spread, feature_range, max_knots)
        self.parameters_of_maps = checked_parameters(given, alpha)
        check_policies(out_of_range, infinite)
        self.alpha = alpha
        self.out_of_range: OutOfRange = out_of_range
        self.infinite: Infinite = infinite
        self.learn_alpha = learn_alpha
        self.register_parameter("log_alpha", None)
        self.tensors = FixedBuffers(persistent=not learn_alpha)  # of the maps, or of those of the path
        self._maps: Maps | None = None  # made of these tensors, or for the current alphas
        self._sketches: FittedSketches | None = None  # what `fit` learned
        self._n_rows = 0
        self._shape: tuple[int, ...] | None = None

    def fit(self, x: Tensor, weights: Any = None) -> Self:
        """Learn the maps from a tensor of shape (rows, …, features), on its device; forget what was learned before.

        Parameters
        ----------
        x, weights
            As in `kdi.torch.fit`.
        """
        options = self.parameters_of_maps._asdict() | {"weights": weights, "infinite": self.infinite}
        if not self.learn_alpha:
            maps = _functional.fit(x, alpha=self.alpha, **options)
            self._set_maps(maps)
            self._sketches = maps.sketches
            return self
        check_table(x)
        fitted: Any = None
        if _functional.backend_for(x.device) is None:  # the CPU's core, which sketches fastest as part of a fit
            fitted = _functional.fit(x, alpha=_alpha_path.LEAST, **options).sketches
        sketches = (fitted or self._sketch(x, weights)).to_host()
        log_alpha = self._first_log_alpha(sketches, tuple(x.shape[1:]))
        self._set_sketches(sketches, len(x), tuple(x.shape[1:]), x.device)
        self._set_log_alpha(log_alpha)
        return self

    def partial_fit(self, x: Tensor, weights: Any = None) -> Self:
        """Learn from more rows, in addition to those before; `log_alpha` remains as it is.

        Use it from the first rows on: `fit` keeps cells as wide as its own rows allow.
        """
        sketches: Sequence[Sketch] = self._sketch(x, weights).to_host()
        shape, n_rows, is_first = tuple(x.shape[1:]), len(x), self._shape is None
        if not is_first:
            if shape != self._shape:
                raise ValueError(f"x must have rows of shape {self._shape}, as in fit, got {shape}.")
            sketches = [one + other for one, other in zip(self._host_sketches(), sketches, strict=True)]
            n_rows += self._n_rows
        log_alpha = self._first_log_alpha(sketches, shape) if self.learn_alpha and is_first else None
        self._set_sketches(PackedSketches.pack(sketches), n_rows, shape, x.device)
        if log_alpha is not None:
            self._set_log_alpha(log_alpha)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Map each feature to [0, 1], to `feature_range`, or to normal scores.

        Parameters
        ----------
        x : Tensor of shape (rows, …, features)
            NaN stays NaN, infinite values become NaN.

        Returns
        -------
        Tensor of the shape and dtype of x
        """
        table = self._check(x)
        if not self.learn_alpha and not _functional.is_plain(x):
            return _functional.transform(x, self.maps, out_of_range=self.out_of_range)
        maps = self._held_maps()
        steps = _lookup.most_steps(maps)  # of the buffers of this call: torch.func.functional_call replaces them
        if self.log_alpha is None:
            result = _lookup.forward(table, maps, self.out_of_range, steps)
        else:
            log_alpha = self.log_alpha.reshape(-1)
            result = _alpha_path.forward(table, maps, log_alpha, self.out_of_range, steps)
        return _lookup.limited(result, x.dtype).reshape(x.shape)

    def inverse(self, y: Tensor) -> Tensor:
        """Map transformed values back to the features, by exact maps; differentiable in y, but not in `log_alpha`."""
        self._check(y)
        return _functional.inverse_transform(y, self.maps, out_of_range=self.out_of_range)

    @classmethod
    def from_maps(cls, maps: Maps, *, out_of_range: OutOfRange = "clip") -> Self:
        """Return a layer with fitted maps, whose alphas are fixed."""
        check_maps(maps)
        alpha = maps.alpha.detach().cpu().nan_to_num(1.0).reshape(maps.shape)
        module = cls(alpha, **maps.parameters._asdict(), out_of_range=out_of_range)
        module._set_maps(maps)
        module._sketches = maps.sketches
        return module

    @property
    def maps(self) -> Maps:
        """The fitted maps; with `learn_alpha`, exact maps for the current alphas."""
        self._check_fitted()
        if not self.learn_alpha:
            if self._maps is None or self._maps.low is not self.tensors.low:
                self._maps = replace(self._held_maps(), sketches=self._sketches)
            return self._maps
        alphas = self.alphas.reshape(-1).cpu()
        if self._maps is None or not torch.equal(self._maps.alpha.cpu(), alphas):
            self._maps = self._build_maps(alphas.numpy())
        self._maps = self._maps.to(self.tensors.device)
        return self._maps

    @property
    def alphas(self) -> Tensor:
        """The current bandwidth factors, in the shape of a row."""
        self._check_fitted()
        if self.log_alpha is None:
            return self.tensors.alpha.reshape(self._shape)
        return torch.exp(_alpha_path.clamped(self.log_alpha.detach()))

    @property
    def path_error(self) -> Tensor:
        """An estimate of the largest error of the call at any alpha, in the shape of a row; with `learn_alpha`."""
        self._check_fitted()
        if not self.learn_alpha:
            raise AttributeError("path_error needs learn_alpha=True")  # no other error is expected by torch.jit.trace
        return self.tensors.path_error.reshape(self._shape)

    def __repr__(self) -> str:
        names = ("alpha", "out_of_range", "learn_alpha")
        own = {name: getattr(self, name) for name in names} | self.parameters_of_maps._asdict()
        defaults = {"out_of_range": "clip", "learn_alpha": False, **Parameters()._asdict()}
        shown = [f"{name}={value!r}" for name, value in own.items() if name == "alpha" or value != defaults[name]]
        return f"KDITransform({', '.join([*shown, 'unfitted' if self._shape is None else f'shape={self._shape}'])})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with sketches that can be read anywhere, and without maps that follow from the rest."""
        return self.__dict__ | {"_sketches": sketches_on_host(self._sketches), "_maps": None}

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """Move the layer; hold no memory of the device before."""
        super()._apply(fn, recurse)
        if self._maps is not None and self._maps.device != self.tensors.device:
            self._maps = None
        if self.tensors.device.type == "cpu":
            self._sketches = sketches_on_host(self._sketches)
        return self

    def _check_fitted(self) -> None:
        if self._shape is None:
            raise RuntimeError("this KDITransform is not fitted: call fit, partial_fit or load_state_dict first.")

    def _check(self, x: Tensor) -> Tensor:
        """Return x as a table of two dimensions, on the device of the layer."""
        self._check_fitted()
        table = check_table(x, self._shape)
        if x.device != self.tensors.device:
            raise ValueError(f"x must be on the device of the layer, {self.tensors.device}, got {x.device}.")
        return table

    def _held_maps(self) -> Maps:
        """Return maps of the tensors: the fitted ones, or with `learn_alpha` those of the path."""
        held = {name: getattr(self.tensors, name) for name in TENSORS}
        return Maps(**held, shape=self._shape or (), n_rows=self._n_rows, parameters=self.parameters_of_maps)

    def _set_maps(self, maps: Maps) -> None:
        self.tensors.hold(maps.state_dict(), maps.device)
        self._shape, self._n_rows = maps.shape, maps.n_rows
        self._maps = maps

    def _set_sketches(
        self, sketches: Sequence[Sketch], n_rows: int, shape: tuple[int, ...], device: torch.device
    ) -> None:
        """Build the maps, or the path of maps, of sketches."""
        self._sketches, self._n_rows, self._shape, self._maps = HostSketches(sketches), n_rows, shape, None
        if not self.learn_alpha:
            weights = np.array([sketch.weight for sketch in sketches])
            maps = self._build_maps(resolve_factors(factors_of(self.alpha, shape), weights))
            return self._set_maps(maps.to(device))
        path = _alpha_path.build_path(sketches, self.parameters_of_maps)
        return self.tensors.hold(path.maps.tensors() | {"path_error": path.error}, device)

    def _build_maps(self, alphas: Any) -> Maps:
        own = self.parameters_of_maps
        sketches = self._host_sketches()
        kernel, n_threads = get_kernel(own.kernel, own.order), count_threads(None, _alpha_path.WORK * len(sketches))
        features, _ = build_features(sketches, alphas, kernel, own.options, n_threads)
        return Maps.from_features(features, self._shape or (), self._n_rows, own, self._sketches)

    def _sketch(self, x: Tensor, weights: Any) -> Any:
        own = self.parameters_of_maps
        alpha = _alpha_path.LEAST if self.learn_alpha else self.alpha
        return _functional.sketch(
            x,
            alpha=alpha,
            kernel=own.kernel,
            order=own.order,
            spread=own.spread,
            weights=weights,
            infinite=self.infinite,
        )

    def _host_sketches(self) -> Sequence[Sketch]:
        if self._sketches is None:
            raise RuntimeError(
                "the sketches of earlier rows are not known: a state_dict without learn_alpha does not hold them. "
                "Call fit, or pickle the whole layer instead of its state_dict."
            )
        return self._sketches.to_host()

    def _first_log_alpha(self, sketches: Sequence[Sketch], shape: tuple[int, ...]) -> Tensor:
        weights = np.array([sketch.weight for sketch in sketches])
        alphas = np.nan_to_num(resolve_factors(factors_of(self.alpha, shape), weights), nan=1.0)
        if not ((alphas >= _alpha_path.LEAST) & (alphas <= _alpha_path.MOST)).all():
            least, most = _alpha_path.LEAST, _alpha_path.MOST
            raise ValueError(f"alpha must be from {least:g} to {most:g} with learn_alpha=True, got {self.alpha!r}.")
        return torch.from_numpy(np.log(alphas)).reshape(shape)

    def _set_log_alpha(self, values: Tensor) -> None:
        """Set the parameter, in place where possible, so that optimizers keep it."""
        if self.log_alpha is None or self.log_alpha.shape != values.shape:
            values = values.to(self.tensors.device, torch.get_default_dtype())
            self.log_alpha = nn.Parameter(trainable(values))
        else:
            with torch.no_grad():
                self.log_alpha.copy_(values)
                self.log_alpha.data = self.log_alpha.data.to(self.tensors.device)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.learn_alpha and self._shape is not None:
            packed = PackedSketches.pack(self._host_sketches())
            for name in SKETCH_ARRAYS:
                destination[f"{prefix}sketches.{name}"] = torch.from_numpy(np.array(getattr(packed, name)))
            numbers = [self._n_rows, *self.parameters_of_maps.to_numbers()]
            destination[f"{prefix}sketches.settings"] = torch.tensor(numbers, dtype=torch.float64)
            destination[f"{prefix}sketches.shape"] = torch.tensor(self._shape, dtype=torch.int64)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take over maps or sketches of any size; after an error, leave everything as it was."""
        part = f"{prefix}sketches." if self.learn_alpha else f"{prefix}tensors."
        log_alpha = state_dict.get(f"{prefix}log_alpha")
        assign = local_metadata.get("assign_to_params_buffers", False)  # torch's name for assign=True
        state = {name.removeprefix(part): value for name, value in state_dict.items() if name.startswith(part)}
        source = state.get("low", log_alpha)
        device = source.device if assign and isinstance(source, Tensor) else self.tensors.device
        try:
            if state:
                self._restore(state, device, log_alpha)
            else:
                self._check_log_alpha(log_alpha, self._shape)
        except ValueError as error:
            error_msgs.append(str(error))
            return
        if self.learn_alpha and isinstance(log_alpha, Tensor):
            if assign:
                self.log_alpha = nn.Parameter(log_alpha.detach())
            else:
                self._set_log_alpha(log_alpha)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
        if self.learn_alpha:
            unexpected_keys[:] = [name for name in unexpected_keys if not name.startswith(part)]
            if not state and self._shape is not None:
                missing_keys.append(f"{part}*")

    def _check_log_alpha(self, log_alpha: Any, shape: tuple[int, ...] | None) -> None:
        """Raise if the parameter of a state does not have the shape of a row, as far as that is known."""
        if self.learn_alpha and isinstance(log_alpha, Tensor) and shape is not None and log_alpha.shape != shape:
            raise ValueError(
                f"size mismatch for log_alpha: copying a param with shape {log_alpha.shape} from checkpoint, "
                f"the shape in current model is {torch.Size(shape)}."
            )

    def _restore(self, state: Mapping[str, Tensor], device: torch.device, log_alpha: Any) -> None:
        missing = [name for name in ("shape", "settings") if name not in state]
        if missing:
            raise ValueError(f"the state of a KDITransform must have {missing[0]!r}.")
        parameters = Parameters.from_numbers(state["settings"].tolist()[1:])
        if parameters != self.parameters_of_maps:
            raise ValueError(f"parameters must be those of the state, {parameters}, got {self.parameters_of_maps}.")
        if not self.learn_alpha:
            maps = Maps.from_state_dict({name: value.detach().clone() for name, value in state.items()})
            self._set_maps(maps.to(device))
            self._sketches = None
            return
        missing = [name for name in SKETCH_ARRAYS if name not in state]
        if missing:
            raise ValueError(f"the state of a KDITransform with learn_alpha must have {missing[0]!r}.")
        arrays = {name: np.array(state[name].cpu().numpy()) for name in SKETCH_ARRAYS}
        shape = tuple(state["shape"].tolist())
        if prod(shape) != len(arrays["minimum"]):
            raise ValueError(f"the state must have one sketch per column, got {len(arrays['minimum'])} for {shape}.")
        self._check_log_alpha(log_alpha, shape)
        self._set_sketches(PackedSketches(**arrays), int(state["settings"][0]), shape, device)
