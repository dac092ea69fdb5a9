import pytest
from engines import missing

try:
    import torch  # noqa: F401
except ImportError:
    missing("PyTorch is not installed")
else:
    from torch_backends import BACKENDS, ON_KERNELS, choose

    @pytest.fixture(params=BACKENDS)
    def backend(request, monkeypatch):
        return choose(request.param, monkeypatch)

    @pytest.fixture(params=ON_KERNELS)
    def kernels(request, monkeypatch):
        return choose(request.param, monkeypatch)
