"""The kernel density integral transformation of torch tensors, on the CPU and on GPUs."""

try:
    import torch as _  # noqa: F401
except ImportError as error:
    raise ImportError("kdi.torch needs PyTorch: pip install 'kdi[torch]'") from error

from kdi.torch._functional import fit, inverse_transform, sketch, transform
from kdi.torch._maps import Maps
from kdi.torch._module import KDITransform
from kdi.torch._sketches import Sketches
from kdi.torch._tabpfn import TABPFN_ALPHAS, TabPFNStep

__all__ = [
    "TABPFN_ALPHAS",
    "KDITransform",
    "Maps",
    "Sketches",
    "TabPFNStep",
    "fit",
    "inverse_transform",
    "sketch",
    "transform",
]


def __dir__() -> list[str]:
    return __all__
