"""What the arena's pictures show is what the formulas say."""

import numpy as np
import pytest

from ebformer.bayes.marginal import mmse
from ebformer.estimators.minimax import Minimax
from ebformer.estimators.mle import Mle
from ebformer.lab.arena import Loss
from ebformer.lab.arena.timing import Timing
from ebformer.lab.figures import arena_figures as figures
from ebformer.lab.figures.arena_tables import difference_table, plackett_luce_table
from ebformer.tally import Tally


def test_the_risk_of_the_mle_at_a_point_mass_is_theta():
    theta = np.linspace(0, 50, 11)
    assert figures.risk(Mle()(Tally.of([1])), theta) == pytest.approx(theta, abs=1e-8)


def test_the_minimax_rule_nowhere_exceeds_the_mmse_of_its_prior():
    rule = Minimax(theta_max=50.0)(Tally.of([3]))
    heights = figures.risk(rule, np.linspace(0, 50, 301))
    assert heights.max() <= mmse(rule.prior) * (1 + 1e-5)
    figure = figures.minimax_at_point_masses(rule)
    assert figure.axes[0].lines[0].get_ydata().max() == pytest.approx(heights.max(), rel=1e-4)


def losses(names=("mle", "npmle"), winner=None):
    rng = np.random.default_rng(0)
    return [
        Loss(world, n, prior, 0, name, float(rng.gamma(2)) * (0.0 if name == winner else 1.0))
        for world in ("neural", "multinomial")
        for n in (128, 512, 2048)
        for prior in range(20)
        for name in names
    ]


def test_regret_has_a_panel_per_world_and_a_curve_per_estimator():
    figure = figures.regret_against_n(losses())
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["multinomial", "neural"]
    for axes in figure.axes:
        assert len(axes.containers) == 2
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


@pytest.mark.parametrize(("length", "marked"), [(None, False), (512, True), (100_000, False)])
def test_a_training_length_is_marked_only_where_one_is_named_and_lies_in_the_picture(length, marked):
    for axes in figures.regret_against_n(losses(), **({} if length is None else {"training_length": length})).axes:
        assert any(len(set(line.get_xdata())) == 1 for line in axes.lines) == marked
        assert [text.get_text().strip() for text in axes.texts] == marked * ["the paper's training length"]


def test_time_has_a_curve_per_estimator():
    timings = [Timing(name, n, 1e-3 * n, 3) for name in ("mle", "npmle") for n in (128, 512)]
    assert [line.get_label() for line in figures.time_against_n(timings).axes[0].lines] == ["mle", "npmle"]


def test_the_histogram_counts_every_prior():
    figure = figures.neural_priors(np.random.default_rng(0), shown=2, counted=40)
    assert sum(patch.get_height() for patch in figure.axes[-1].patches) == 40


def test_an_estimator_without_regret_has_no_place_on_a_logarithmic_axis_and_no_percentage():
    perfect = losses(winner="npmle")
    curve = figures.regret_against_n(perfect).axes[0].containers[1].lines[0]
    assert np.isnan(curve.get_ydata()).all()
    assert {row[1] for row in difference_table(perfect, "mle").rows} == {"-"}


def test_unidentified_coefficients_carry_an_asterisk_and_a_reason():
    clear = plackett_luce_table(losses())
    assert "*" not in "".join(cell for row in clear.rows for cell in row)
    unclear = plackett_luce_table(losses(winner="npmle"))
    assert all(row[1].endswith("*") for row in unclear.rows)
    assert len(unclear.notes) == 6
    assert "npmle over mle" in unclear.notes[0]
