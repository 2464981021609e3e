"""F-localization intervals of the posterior means of Lord and Cressie's test scores, as Empirikos publishes them.

The notebook lord_cressie.jl.html of nignatiadis/Empirikos.jl prints the bounds of level 0.95 by the band of Dvoretzky,
Kiefer and Wolfowitz, over priors on 300 even points of [0, 1], with scores 0 and 1 taken together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ebformer.localization import posterior_mean_bounds
from ebformer.tally import Tally

pytestmark = pytest.mark.data
LOWER = {0: 0.000191288, 3: 0.221245, 6: 0.375797, 10: 0.472815, 14: 0.579355, 17: 0.66368, 20: 0.749534}
UPPER = {0: 0.418168, 3: 0.440867, 6: 0.449232, 10: 0.520609, 14: 0.66589, 17: 0.823596, 20: 0.996527}


def test_bounds_are_those_of_empirikos(published: Callable) -> None:
    table = published("classic/lord_cressie_tests.csv")
    scores = np.array(list(LOWER))
    bounds = posterior_mean_bounds(Tally(table["score"], table["persons"].astype(int), trials=20), scores)
    # Grids and the lowest class differ: that is worth a thousandth at the low end and 1e-4 elsewhere.
    allowed = np.where(scores < 5, 1.2e-3, 1e-4)
    assert np.all(np.abs(bounds.lower - list(LOWER.values())) < allowed)
    assert np.all(np.abs(bounds.upper - list(UPPER.values())) < allowed)
