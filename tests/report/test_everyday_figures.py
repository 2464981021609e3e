"""What the everyday pictures draw, read back from the picture."""

import re

import numpy as np
import pytest

from ebformer.bayes.marginal import log_marginal
from ebformer.estimators.catalogue import CATALOGUE
from ebformer.lab.arena.timing import Timing
from ebformer.lab.figures.arena_figures import time_against_n
from ebformer.prior import GridPrior
from ebformer.report.everyday_figures import caterpillar, mixing, rootogram, shrinkage
from ebformer.report.style import inline_svg
from ebformer.tally import Tally


@pytest.mark.parametrize("method", ["gamma", "npmle"])
def test_the_rootogram_draws_the_root_of_the_expected_units(method: str) -> None:
    """For each bar, sqrt(sum over exposures and its counts of f(x)), computed count by count."""
    rng = np.random.default_rng(0)
    t = rng.choice([0.5, 1.0, 40.0], size=200)
    tally = Tally.of(rng.poisson(t * rng.gamma(2.0, size=200)), t)
    rule = CATALOGUE[method](tally)
    assert rule.prior is not None
    step = 1 + int(tally.values.max()) // 60
    assert step > 1
    line = rootogram(tally, rule).axes[0].lines[0]
    for middle, drawn in zip(line.get_xdata(), line.get_ydata(), strict=True):
        x = np.arange(step) + round(middle - (step - 1) / 2)
        expected = sum(np.exp(log_marginal(rule.prior, x, u)).sum() * np.sum(t == u) for u in np.unique(t))
        assert drawn == pytest.approx(np.sqrt(expected), rel=1e-6, abs=1e-6)


def test_a_part_of_a_year_does_not_press_all_estimates_to_the_ground() -> None:
    """One claim in a hundredth of a year is a hundred a year; the estimates end below 2 and fill the picture."""
    tally = Tally([0, 1, 2, 1], [300, 50, 8, 1], [1.0, 1.0, 1.0, 0.01])
    axes = shrinkage(tally, CATALOGUE["gamma"](tally)).axes[0]
    right, top = axes.collections[-1].get_offsets().data.max(axis=0)
    assert right == 100.0
    assert top < 2.0
    assert axes.get_xlim()[1] == pytest.approx(1.05 * right)
    assert axes.get_ylim()[1] == pytest.approx(1.05 * top)


@pytest.mark.parametrize("counts", [[0, 1, 2, 3], [0, 0, 0, 0]])
def test_ticks_of_a_count_are_whole_numbers(counts: list[int]) -> None:
    tally = Tally(counts, [30, 20, 6, 1])
    ticks = rootogram(tally, CATALOGUE["gamma"](tally)).axes[0].get_xticks()
    assert ticks.tolist() == np.round(ticks).tolist()


def test_a_count_of_a_billion_is_drawn_in_bars_not_count_by_count() -> None:
    tally = Tally.of([0, 5, 10**9])
    assert len(rootogram(tally, CATALOGUE["gamma"](tally)).axes[0].patches) <= 62


def test_the_prior_is_drawn_where_the_units_are() -> None:
    """A fine grid reaches far beyond the rates of nearly all units, and the picture does not."""
    tally = Tally([0, 1, 2, 3, 9], [500, 300, 100, 30, 1])
    prior = CATALOGUE["npmle-em"](tally).prior
    assert prior is not None
    axes = mixing(prior).axes[0]
    beyond = prior.atoms > axes.get_xlim()[1]
    assert prior.weights[beyond].sum() <= 1e-3
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(prior.weights[~beyond].sum(), abs=1e-3)


def test_a_grid_is_drawn_by_its_cells() -> None:
    """Rates that are uniform over cells of unequal width give bars of equal height, however bars and cells meet."""
    atoms = np.linspace(0.0, 3.0, 64) ** 2
    width = np.diff(GridPrior(atoms, np.full(64, 1 / 64)).edges)
    heights = [bar.get_height() for bar in mixing(GridPrior(atoms, width / width.sum())).axes[0].patches]
    assert heights == pytest.approx([heights[0]] * 50)


def test_names_in_any_script_reach_the_page_without_a_warning() -> None:
    one = np.array([1.0])
    assert "東京" in inline_svg(caterpillar(["東京"], one, one, one, one), "units")


def test_a_dollar_in_a_name_is_a_dollar() -> None:
    """Between two of them matplotlib would read a formula, and stop at one it cannot read."""
    one = np.array([1.0])
    svg = inline_svg(caterpillar([r"$\frac{$"], one, one, one, one, "claims ($) / income ($)"), "units")
    assert r"$\frac{$" in svg
    assert "claims ($) / income ($)" in svg


def test_powers_on_a_logarithmic_axis_are_drawn_as_powers() -> None:
    timings = [Timing("mle", n, n / 1e6, 1) for n in (10, 1000)]
    drawn = re.sub("<!--.*?-->", "", inline_svg(time_against_n(timings), "time"))
    assert "mathdefault" not in drawn


def test_the_legend_of_the_extreme_units_stays_clear_of_the_title_however_long_the_names() -> None:
    numbers = np.arange(3.0)
    names = ["a name that leaves the axes little room"] * 3
    figure = caterpillar(names, numbers, numbers, numbers, numbers, mean=1.0)
    figure.draw_without_rendering()
    legend, title = figure.axes[0].get_legend(), figure.texts[0]
    assert title.get_text() == "Highest and lowest"
    assert not legend.get_window_extent().overlaps(title.get_window_extent())


def test_rare_events_are_labelled_without_a_row_of_zeros() -> None:
    """Rates near 1e-4, as claims per mile: 0.00005, 0.00010, ... would run into each other."""
    numbers = np.array([5e-5, 2.5e-4])
    figure = caterpillar(["one", "two"], numbers, numbers, numbers, numbers)
    figure.draw_without_rendering()
    assert max(len(label.get_text()) for label in figure.axes[0].get_xticklabels()) <= 4


def test_figures_are_kept_by_nobody_but_their_owner() -> None:
    """A notebook that draws a hundred of them would otherwise hold a hundred, and matplotlib would complain."""
    import matplotlib.pyplot as plt

    from ebformer.report.style import house_style, subplots

    before = plt.get_fignums()
    with house_style():
        figure, axes = subplots(2, 1, sharex=True)
    assert len(axes) == 2
    assert figure.get_dpi() == 150
    assert plt.get_fignums() == before
