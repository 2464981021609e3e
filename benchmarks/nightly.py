"""Five million item-days of clicks by category, a fit that is saved, and a night's new items and categories scored.

    OMP_NUM_THREADS=1 python benchmarks/nightly.py [--rows 5000000]

Prints the time of each step, the error of the scores beside that of raw shares, and how many intervals hold the truth.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars

import ebformer as eb

CATEGORIES, NEW_CATEGORIES, DAYS = 200, 10, 30
COLUMNS = {"count": "clicks", "trials": "views", "group": "category", "unit": "item"}


def item_days(rng: np.random.Generator, items: int, days: int, first: int, categories: int) -> polars.DataFrame:
    """So many days of so many items, with the hidden rate of each."""
    category = rng.integers(categories, size=items)
    rate = rng.beta(4.0, 4.0 / (0.002 + 0.0005 * category))
    views = rng.poisson(rng.gamma(1.0, 60.0, items)[:, None], (items, days))
    rows = {
        "item": np.repeat(np.arange(first, first + items), days),
        "category": np.repeat(category, days),
        "views": views.ravel(),
        "clicks": rng.binomial(views, rate[:, None]).ravel(),
        "rate": np.repeat(rate, days),
    }
    return polars.DataFrame(rows)


def main() -> None:
    """Print the times and the errors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    items = max(parser.parse_args().rows // DAYS, 1000)
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    days = item_days(rng, items, DAYS, 0, CATEGORIES)
    night = item_days(rng, items, 1, items, CATEGORIES + NEW_CATEGORIES)
    with tempfile.TemporaryDirectory() as folder:
        path, clock = Path(folder) / "fit.json", time.process_time()
        eb.fit(days, **COLUMNS).save(path)
        print(f"fitted {len(days):,} rows, {items:,} items: {time.process_time() - clock:.1f} s of one core")
        clock = time.process_time()
        scored = eb.load_fit(path).apply(night).join(night.select("item", "rate"), on="item")
        print(f"scored {len(night):,} new items: {time.process_time() - clock:.1f} s")
    new = scored["note"].is_not_null()
    print(f"in new categories: {new.sum():,}, rows without an answer: {scored['estimate'].null_count()}")
    old = scored.filter(~new)
    raw = old["clicks"] / old["views"].clip(1)
    error, worse = (float(((each - old["rate"]) ** 2).mean() or 0.0) for each in (old["estimate"], raw))
    inside = ((old["lower"] <= old["rate"]) & (old["rate"] <= old["upper"])).mean()
    print(f"squared error {error / worse:.3f} of that of raw shares, 90 % intervals hold {inside:.3f}")


if __name__ == "__main__":
    main()
