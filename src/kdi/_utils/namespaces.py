"""Arrays of other libraries than NumPy, where scikit-learn dispatches on them: torch, CuPy, array-api-strict, ….

No library is imported here: an array exists only where its library has been imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

UNREADABLE = (BufferError, RuntimeError, TypeError, ValueError)  # errors of from_dlpack, different in each library


def namespace_of(X: Any) -> ModuleType | None:
    """Return the namespace of an array; None for NumPy's, for all that is not an array, and without dispatch."""
    if type(X) is np.ndarray or X is None or not get_config()["array_api_dispatch"]:
        return None
    for name, kind in (("torch", "Tensor"), ("cupy", "ndarray")):  # these have no __array_namespace__
        library = sys.modules.get(name)
        if library is not None and isinstance(X, getattr(library, kind)):
            return library
    find = getattr(X, "__array_namespace__", None)
    namespace: ModuleType | None = None if find is None or isinstance(X, np.ndarray | np.generic) else find()
    return namespace


def library_of(namespace: ModuleType | None) -> str:
    """Return the name of the library of a namespace, "numpy" for None."""
    return "numpy" if namespace is None else namespace.__name__.partition(".")[0]


def as_host_array(X: Any) -> Any:
    """Return an array of another namespace as one of NumPy, without a copy where possible, and all else as it is."""
    namespace = namespace_of(X)
    if namespace is None:
        return X
    library = library_of(namespace)
    if library == "torch":
        narrow = X.is_floating_point() and X.dtype not in (namespace.float16, namespace.float32, namespace.float64)
        return (X.double() if narrow else X).numpy(force=True)  # NumPy has no bfloat16
    if library == "cupy":
        return X.get()
    try:
        return np.from_dlpack(X)
    except UNREADABLE:
        return np.asarray(X)


def like_array(result: NDArray[Any], X: Any, namespace: ModuleType) -> Any:
    """Return an array of NumPy in the namespace and on the device of X; as float32 if the device lacks float64."""
    if result.dtype == np.float64 and _lacks_float64(namespace, X.device):
        result = result.astype(np.float32)
    if library_of(namespace) == "cupy":  # whose asarray has no device
        with X.device:
            return namespace.asarray(result)
    return namespace.asarray(result, device=X.device)


def _lacks_float64(namespace: ModuleType, device: Any) -> bool:
    describe = getattr(namespace, "__array_namespace_info__", None)  # torch has none, but all of its CPU's dtypes
    return describe is not None and "float64" not in describe().dtypes(device=device, kind="real floating")
