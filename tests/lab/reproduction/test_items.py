"""The paper's numbers are where they belong, and ours are compared with them as the words say."""

import numpy as np
import pytest
from scipy import optimize

from ebformer.errors import InputError
from ebformer.estimators.catalogue import CATALOGUE, CLASSICAL
from ebformer.lab.arena.plackett_luce import plackett_luce
from ebformer.lab.arena.summary import Paired
from ebformer.lab.reproduction.bench import NETWORKS, SCALES, Bench, Scale
from ebformer.lab.reproduction.compare import beside, paper, ratio, show, typical_ratio
from ebformer.lab.reproduction.insight import Curve
from ebformer.lab.reproduction.items import ITEMS, costs
from ebformer.lab.reproduction.listing import listed
from ebformer.lab.reproduction.pages import make
from ebformer.lab.reproduction.rankings import half_widths, p_value, significance
from ebformer.lab.reproduction.store import Store
from ebformer.lab.reproduction.synthetic import mixture_training
from ebformer.networks.architecture import Architecture
from ebformer.networks.weights import Weights, save


def test_every_paper_table_has_an_item_and_every_item_its_own_key():
    keys = [item.key for item in ITEMS]
    assert len(keys) == len(set(keys))
    for key in keys:
        if key.startswith("tab-"):
            assert paper(key)


def test_the_list_names_every_item_with_its_cost_at_every_scale():
    rows = {row[0]: row for row in listed(ITEMS).rows}
    for item in ITEMS:
        assert rows[item.key][1:3] == (item.title, item.where)
        assert len(rows[item.key]) == 3 + len(SCALES)
    assert "measured" in listed(ITEMS).notes[0]


@pytest.mark.parametrize("scale", SCALES)
def test_every_experiment_has_a_cost_and_no_other_has(scale):
    experiments = {experiment for item in ITEMS for experiment in item.needs}
    assert costs()[scale].keys() == experiments
    assert all(hasattr(Bench, experiment) for experiment in experiments)
    assert min(costs()[scale].values()) > 0


def test_every_shipped_network_takes_part_and_those_of_the_paper_come_first():
    assert set(NETWORKS) == set(CATALOGUE) - set(CLASSICAL)
    assert NETWORKS[:3] == ("T24r", "L24r", "T24f")


def test_an_unknown_scale_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="smoke, laptop, full"):
        Scale.of("huge")


def test_numbers_stand_beside_those_of_the_paper():
    table = beside("t", {"neural 128": {"erm": 0.979, "minimax": None}}, lambda row, column: "1.00")
    assert table.rows == (("neural 128", "1.00 (0.979)", "1.00 (-)"),)


def test_ratios_cover_their_truth_as_often_as_they_say():
    rng, inside = np.random.default_rng(0), {ratio: 0, typical_ratio: 0}
    for _ in range(400):
        below = rng.gamma(4.0, size=60)
        above = 1.5 * below * np.exp(0.3 * rng.normal(size=60))
        for of, truth in ((ratio, 1.5 * np.exp(0.045)), (typical_ratio, 1.5)):
            found = of(above, below)
            inside[of] += found.low <= truth <= found.high
    assert all(0.91 < count / 400 < 0.99 for count in inside.values())


def test_intervals_of_plackett_luce_follow_the_curvature_of_its_likelihood():
    rng = np.random.default_rng(1)
    values = rng.gumbel(size=(80, 4)) + np.array([0.0, -0.5, 0.5, 1.0])
    paired = Paired(("mle", "a", "b", "c"), tuple(range(80)), values)
    fit = plackett_luce(paired)

    def minus_log_likelihood(free):
        strength, total = np.concatenate([[0.0], free]), 0.0
        for order in np.argsort(values, axis=1):
            for stage in range(4):
                total -= strength[order[stage]] - np.log(np.exp(strength[order[stage:]]).sum())
        return total

    at = np.array(fit.coefficients[1:])
    assert np.abs(optimize.approx_fprime(at, minus_log_likelihood)).max() < 1e-2
    step, curvature = 1e-3, np.empty((3, 3))
    for i, j in np.ndindex(3, 3):
        e, f = step * np.eye(3)[i], step * np.eye(3)[j]
        corners = [minus_log_likelihood(at + a * e + b * f) * a * b for a in (1, -1) for b in (1, -1)]
        curvature[i, j] = sum(corners) / (4 * step**2)
    expected = 1.96 * np.sqrt(np.diag(np.linalg.inv(curvature)))
    found = half_widths(fit, paired)
    assert np.allclose([found[name] for name in ("a", "b", "c")], expected, rtol=1e-3)


def test_p_values_are_read_as_the_paper_prints_them():
    assert p_value("<1e-100") == 0.0
    assert p_value(">1-1e-100") == 1.0
    assert 1 - p_value("1-4.53e-4") == pytest.approx(4.53e-4)


def test_a_conclusion_that_differs_from_the_paper_is_named():
    rng, row = np.random.default_rng(2), "neural 128"
    values = np.column_stack([rng.normal(5, 1, 50), rng.normal(1, 1, 50)])
    tables = {row: Paired(("T24r", "npmle-em"), tuple(range(50)), values)}
    entry = significance(tables, "T24r", "tab-t-synthetic-T24r", "regret")
    assert "in none of 1 cells" in entry.word
    assert "neural 128, npmle-em (theirs lower, ours higher)" in entry.word
    values = values[:, ::-1]
    tables = {row: Paired(("T24r", "npmle-em"), tuple(range(50)), values)}
    assert "in all 1 cells." in significance(tables, "T24r", "tab-t-synthetic-T24r", "regret").word


@pytest.mark.parametrize(
    ("r2", "shape"),
    [
        ([0.9, 0.9, 0.9], "stays level"),
        ([0.9, 0.8, 0.5], "falls"),
        ([0.2, 0.8, 0.79], "rises and stays"),
        ([0.2, 0.8, 0.5], "rises, then falls"),
    ],
)
def test_curves_are_called_what_they_do(r2, shape):
    assert Curve(np.array(r2)[:, None]).shape == shape


def tiny(rng):
    config = Architecture(layers=2, width=8, heads=2)
    arrays = {name: 0.1 * rng.normal(size=shape).astype(np.float32) for name, shape in config.shapes().items()}
    return Weights(config, arrays, {"steps": 10, "seconds": 60.0})


def test_training_worlds_compare_the_networks_that_are_there(tmp_path):
    scale = Scale("tiny", 6, (512,), 1, 1, 2, 1, 1, 2, workers=1)
    bench = Bench(scale, Store(tmp_path / "results"), ablation_folder=tmp_path)
    with pytest.raises(InputError, match="ebformer train ablation-mixture"):
        mixture_training(bench)
    rng = np.random.default_rng(0)
    for name in ("mixture", "neural", "dirichlet"):
        save(tmp_path / f"{name}.safetensors", tiny(rng))
    entry = mixture_training(Bench(scale, Store(tmp_path / "results"), ablation_folder=tmp_path))
    differences, regrets = entry.tables
    assert [row[1] for row in differences.rows] == [f"{n:g}" for n in paper("tab-mixture-training")["12"].values()]
    mean = {row[0]: [float(cell.split()[0]) for cell in row[1:]] for row in regrets.rows}
    mixed, neural = mean["trained on mixture"], mean["trained on neural"]
    assert float(differences.rows[0][2]) == pytest.approx(mixed[0] - neural[0], abs=0.02)
    assert "10 steps, 1 minutes" in entry.word
    # Other weights under the same name must not be answered from what was kept.
    save(tmp_path / "mixture.safetensors", tiny(rng))
    again = mixture_training(Bench(scale, Store(tmp_path / "results"), ablation_folder=tmp_path))
    assert again.tables[0].rows[0] != differences.rows[0]
    assert again.tables[1].rows[1:] == regrets.rows[1:]


def test_without_real_data_the_page_says_what_is_missing_and_goes_on(tmp_path):
    told = []
    bench = Bench(Scale.of("smoke"), Store(tmp_path, told.append), data_dir=tmp_path / "none")
    wanted = [item for item in ITEMS if item.key in ("tab-rmse", "fig-minimax")]
    made = {item.key: entry for item, entry in make(bench, wanted, strict=False)}
    assert made["tab-rmse"].word.startswith("Not computed: there is no folder")
    assert made["fig-minimax"].tables
    assert any("tab-rmse" in sentence for sentence in told)
    with pytest.raises(InputError, match="there is no folder"):
        make(bench, wanted, strict=True)


def test_an_interval_of_one_unit_is_not_shown():
    for of in (ratio, typical_ratio):
        alone = of(np.array([1.0]), np.array([2.0]))
        assert alone.mean == pytest.approx(0.5)
        assert show(alone) == "-"
