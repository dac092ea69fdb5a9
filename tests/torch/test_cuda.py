"""What only a real GPU shows: streams, waiting, graphs, processes and autocast."""

import os
import pickle
import subprocess
import sys
import warnings

import pytest
import torch

import kdi.torch
from kdi.torch._maps import HostSketches

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU with CUDA")


@pytest.fixture
def x():
    return torch.randn(20_000, 12, device="cuda", generator=torch.Generator("cuda").manual_seed(0))


def test_the_kernels_are_used():
    from kdi.torch import _cuda, _functional

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _functional.backend_for(torch.device("cuda")) is _cuda


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("out_of_range", ["clip", "linear"])
def test_transform_does_not_wait(x, dtype, out_of_range):
    x = x.to(dtype)
    maps = [kdi.torch.fit(x), kdi.torch.fit(x.cpu()).to("cuda"), kdi.torch.fit(x, bounded=False)]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for one in maps:
            kdi.torch.transform(x, one, out_of_range=out_of_range)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_transform_runs_in_the_current_stream(x):
    maps = kdi.torch.fit(x)
    expected = kdi.torch.transform(x, maps)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    late = torch.zeros_like(x)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # if the kernel did not wait for this stream, it would read zeros
        late.copy_(x)
        got = kdi.torch.transform(late, maps)
    stream.synchronize()
    assert torch.equal(got, expected)


def test_fit_runs_in_the_current_stream(x):
    expected = kdi.torch.fit(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    late = torch.zeros_like(x)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late.copy_(x)
        maps = kdi.torch.fit(late)
    stream.synchronize()
    assert torch.equal(maps.coefficients, expected.coefficients)


def test_transform_in_a_cuda_graph(x):
    maps = kdi.torch.fit(x)
    given = x.clone()
    kdi.torch.transform(given, maps)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = kdi.torch.transform(given, maps)
    given.copy_(x * 0.5)
    graph.replay()
    assert torch.equal(result, kdi.torch.transform(x * 0.5, maps))


def test_results_repeat_to_the_bit_for_large_tables():
    x = torch.randn(2_000_000, 7, device="cuda").exp()
    weights = torch.rand(len(x), device="cuda", dtype=torch.float64)
    for options in ({}, {"weights": weights}, {"bounded": False}, {"alpha": 0.05}):
        first, second = (kdi.torch.fit(x, **options) for _ in range(2))
        assert torch.equal(first.coefficients, second.coefficients)
        assert torch.equal(kdi.torch.transform(x, first), kdi.torch.transform(x, second))


def test_more_values_than_32_bits_can_count():
    x = torch.empty(300_000_000, 10, device="cuda", dtype=torch.float16).uniform_(0, 1)
    maps = kdi.torch.fit(x)
    expected = kdi.torch.fit(x[:3_000_000].double())
    places = torch.linspace(0, 1, 101, device="cuda", dtype=torch.float64)[:, None].expand(101, 10).contiguous()
    got, want = (kdi.torch.transform(places, one) for one in (maps, expected))
    torch.testing.assert_close(got, want, rtol=0, atol=3e-3)  # other values of the same distribution
    result = kdi.torch.transform(x, maps)
    tail = kdi.torch.transform(x[-1000:].clone(), maps)
    assert torch.equal(result[-1000:], tail)


def test_module_under_autocast(x):
    module = kdi.torch.KDITransform().fit(x)
    expected = module(x)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.equal(module(x), expected)
    network = torch.nn.Sequential(module, torch.nn.Linear(12, 1, device="cuda"))
    with torch.autocast("cuda", dtype=torch.float16):
        network(x).sum().backward()
    assert network[1].weight.grad.isfinite().all()


def test_module_moves_between_devices(x):
    module = kdi.torch.KDITransform().fit(x)
    expected = module(x).cpu()
    moved = module.cpu()
    torch.testing.assert_close(moved(x.cpu()), expected, rtol=0, atol=4e-7)
    state = {name: tensor.clone() for name, tensor in moved.state_dict().items()}
    fresh = kdi.torch.KDITransform()
    fresh.load_state_dict(state)
    torch.testing.assert_close(fresh.cuda()(x).cpu(), expected, rtol=0, atol=0)


def test_nothing_stays_on_the_device(x):
    """Maps and layers on the CPU, and pickles, hold no memory of the GPU."""
    layer = kdi.torch.KDITransform().fit(x)
    maps = layer.maps.to("cpu")
    assert isinstance(maps.sketches, HostSketches)
    assert isinstance(pickle.loads(pickle.dumps(layer.maps)).sketches, HostSketches)
    layer.cpu()
    assert isinstance(layer._sketches, HostSketches)
    assert layer._maps is None
    del maps
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    del layer
    assert torch.cuda.memory_allocated() == before


def test_the_current_device_has_an_index(x):
    maps = kdi.torch.fit(x)
    assert maps.to("cuda") is maps


def test_learned_alpha_on_the_device(x):
    module = kdi.torch.KDITransform(learn_alpha=True).fit(x[:2000])
    given = x[:100].double().requires_grad_()
    module(given).sum().backward()
    assert given.grad.isfinite().all()
    assert module.log_alpha.grad.isfinite().all()
    for _ in range(2):  # the maps are built once, and stay on the device
        maps = module.maps
        assert maps is module.maps
        assert maps.device == x.device
        assert module.inverse(module(x).detach()).isfinite().all()


def test_compiled_module(x):
    module = kdi.torch.KDITransform().fit(x)
    compiled = torch.compile(module, fullgraph=True)
    torch.testing.assert_close(compiled(x), module(x), rtol=0, atol=4e-7)


def test_maps_must_be_on_the_device(x):
    maps = kdi.torch.fit(x)
    with pytest.raises(ValueError, match=r"maps must be on the device of x, cpu, got cuda:0"):
        kdi.torch.transform(x.cpu(), maps)


def test_several_processes_compile_at_once(tmp_path):
    code = (
        "import torch, kdi.torch; x = torch.arange(100.0, device='cuda')[:, None]; "
        "print(kdi.torch.transform(x, kdi.torch.fit(x)).sum().item())"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", code], env=environment, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    results = {process.communicate()[0] for process in processes}
    assert all(process.returncode == 0 for process in processes)
    assert len(results) == 1
    assert any(tmp_path.rglob("*"))
