"""The conversion in docs/weights.md carries a network made of torch's own modules over to our forward pass."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ebformer.networks.architecture import Architecture
from ebformer.networks.estimates import estimate
from ebformer.tally import Tally

torch = pytest.importorskip("torch")
nn = torch.nn

PAGE = Path(__file__).parents[2] / "docs" / "weights.md"


class Layer(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(d), nn.MultiheadAttention(d, heads, batch_first=True)
        self.ln2, self.fc1, self.fc2 = nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        y = self.ln1(h)
        h = h + 0.5 * self.attn(y, y, y, need_weights=False)[0]
        return h + 0.5 * self.fc2(nn.functional.gelu(self.fc1(self.ln2(h))))


class Published(nn.Module):
    """The paper's network (section 3.2): every unit a token [x, 1], weight sets shared in order."""

    def __init__(self, config: Architecture) -> None:
        super().__init__()
        self.config, d = config, config.width
        self.embed, self.ln_f, self.head = nn.Linear(2, d), nn.LayerNorm(d), nn.Linear(d, 1)
        self.layers = nn.ModuleList(Layer(d, config.heads) for _ in range(config.weight_sets))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.embed(torch.stack([x, torch.ones_like(x)], -1))[None]
        for i in range(self.config.layers):
            h = self.layers[i * self.config.weight_sets // self.config.layers](h)
        return nn.functional.gelu(self.head(self.ln_f(h)))[0, :, 0]


@pytest.mark.parametrize(("weight_sets", "parameters"), [(2, 25_601), (24, 305_089)])
def test_the_documented_conversion_reproduces_a_network_of_torch_modules(weight_sets: int, parameters: int) -> None:
    torch.manual_seed(0)
    config = Architecture(weight_sets=weight_sets, embedding="linear", sees_n=False)
    network = Published(config)
    assert sum(p.numel() for p in network.parameters()) == parameters == config.parameters
    for p in network.parameters():  # biases and norms off their starting values, so that a slip in any of them shows
        p.data += 0.1 * torch.randn_like(p)
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "def convert" in block)
    page: dict = {}
    exec(code.split("\n\n\nconfig = ")[0], page)
    weights = page["convert"](network.state_dict(), config, {})
    x = np.sort(np.random.default_rng(1).poisson(np.random.default_rng(2).uniform(0, 50, 512)))
    tally = Tally.of(x)
    with torch.no_grad():
        expected = network(torch.tensor(x, dtype=torch.float32)).numpy()[np.searchsorted(x, tally.values)]
        exact = network.double()(torch.tensor(x, dtype=torch.float64)).numpy()[np.searchsorted(x, tally.values)]
    np.testing.assert_allclose(estimate(weights, tally), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(estimate(weights, tally, precision="float64"), exact, rtol=1e-10, atol=1e-10)
