"""Run every CUDA kernel on small tables; for compute-sanitizer, which makes each of them some hundred times slower.

    compute-sanitizer --report-api-errors no --error-exitcode 1 python tests/torch/run_all_kernels.py

The same with `--tool racecheck` takes an argument `few` behind the path. cuda-bindings asks the driver for functions
that it may not have, which would be reported as errors of the API.
"""

import sys

import numpy as np
import torch

import kdi.torch
from kdi.torch import _functional

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
FITS = [
    {},
    {"alpha": 0.1, "kernel": "gaussian"},
    {"alpha": np.inf},
    {"alpha": 0},
    {"bounded": False},
    {"bounded": False, "output_distribution": "normal"},
    {"spread": "robust"},
    {"output_distribution": "normal"},
]


def make_table(n_rows: int, n_columns: int) -> torch.Tensor:
    rng = np.random.default_rng(n_columns)
    table = rng.normal(size=(n_rows, n_columns))
    table[:, ::3] = rng.standard_cauchy(size=table[:, ::3].shape)
    table[:, ::5] = rng.poisson(3, size=table[:, ::5].shape)
    table[::7] = np.nan
    table[:, -1] = 2.5
    return torch.from_numpy(table).cuda()


def main(few: bool) -> None:
    assert _functional.backend_for(torch.device("cuda")) is not _functional._plain
    for n_rows, n_columns in [(70, 6)] if few else [(300, 1), (501, 6), (64, 100), (9, 700)]:
        for dtype in DTYPES if n_columns == 6 and not few else DTYPES[2:]:
            x = make_table(n_rows, n_columns).to(dtype)
            weights = torch.rand(n_rows, device="cuda", dtype=torch.float64)
            for options in FITS if n_columns in (1, 6) and not few else FITS[:2]:
                for own in (None, weights):
                    maps = kdi.torch.fit(x, **options, weights=own)
                for out_of_range in ("clip", "linear"):
                    y = kdi.torch.transform(x, maps, out_of_range=out_of_range)
                    kdi.torch.inverse_transform(y, maps, out_of_range=out_of_range)
                part = x[1:, : max(n_columns // 2, 1)]
                kdi.torch.transform(part, kdi.torch.fit(part, **options))
    torch.cuda.synchronize()
    print("all kernels ran")


if __name__ == "__main__":
    main("few" in sys.argv)
