"""Simulated leagues whose drift is known: is it found, do intervals hold, what do earlier looks and no drift cost?

python benchmarks/drift.py recovery --leagues 40     parameters within two standard errors, coverage of intervals
python benchmarks/drift.py still --leagues 20        what learning costs where no rate moves
python benchmarks/drift.py looks --leagues 10        squared error of present rates after one, two and three looks
python benchmarks/drift.py books                     log scores of books, whose words are known to come
python benchmarks/drift.py other-books --published FILE    the books of a table of scores, by what other books taught
python benchmarks/drift.py typical                   the typical drifts: what each domain teaches
python benchmarks/drift.py tables --scores FILE      the tables of docs/drift.md, from what `fielddata all ... -o` wrote
python benchmarks/drift.py speed                     a million pairs of effects, predictions for a million rows
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ebformer as eb
from ebformer.channels import POISSON
from ebformer.drift import PARAMETERS
from ebformer.lab.fielddata import Holdout

Floats = NDArray[np.float64]
LEAGUE = eb.GammaPrior(1.2, 0.12)
TRUTHS = (eb.Drift(0.2, 1.0, 0.3, 0.0), eb.Drift(0.1, 0.9, 0.5, -0.1), eb.Drift(0.3, 0.95, 0.15, 0.05))
METHOD = "gamma"
DATA = (
    ("NHL all", "nhl all", "game"),
    ("NHL defenders", "nhl defender", "game"),
    ("NHL centers", "nhl center", "game"),
    ("NHL wingers", "nhl winger", "game"),
    ("MLB batting", "mlb bat", "plate appearance"),
    ("MLB pitching", "mlb pitch", "plate appearance"),
    ("books", "books", ""),
)
"""What the docs call each data set, its name in the scores, and what its rates are per where that is known."""


def moved(theta: Floats, drift: eb.Drift, rng: np.random.Generator) -> Floats:
    """The next rates, drawn as the model says."""
    kept = drift.kept(theta, LEAGUE.mean, POISSON)
    spread = np.full(theta.size, max(drift.spread(LEAGUE, POISSON), 1e-9))
    jumped = POISSON.around(kept, spread).sample(1, rng)[:, 0]
    afresh = drift.shifted(LEAGUE.draw(theta.size, rng), POISSON)
    return np.where(rng.random(theta.size) < drift.renewal, afresh, jumped)


def season(n: int, drift: eb.Drift, rng: np.random.Generator) -> eb.Looks:
    """Two looks at n players."""
    theta = LEAGUE.draw(n, rng)
    return eb.Looks.of(rng.poisson(theta), rng.poisson(moved(theta, drift, rng)))


def shown(values: Sequence[float], digits: int = 1, percent: bool = True) -> str:
    """The mean with its 95 % interval."""
    times = 100 if percent else 1
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{times * np.mean(values):.{digits}f} ± {times * half:.{digits}f}" + " %" * percent


def recovery(leagues: int) -> None:
    """Five seasons of 1,000 players teach a drift; the sixth is predicted with it."""
    for truth in TRUTHS:
        within: dict[str, list[float]] = {name: [] for name in PARAMETERS}
        coverage = []
        for seed in range(leagues):
            rng = np.random.default_rng(seed)
            learnt = eb.Drift.learn([season(1000, truth, rng) for _ in range(5)], METHOD)
            assert learnt.errors is not None
            for name in PARAMETERS:
                within[name].append(abs(getattr(learnt, name) - getattr(truth, name)) < 2 * learnt.errors[name])
            last = season(1000, truth, rng)
            x, at = np.unique(last.x, return_inverse=True)
            low, high = eb.estimator(METHOD)(last.tally).predict(x, drift=learnt).interval(0.9)
            held = (last.y >= low[at]) & (last.y <= high[at])
            coverage.append(float(np.average(held, weights=last.multiplicity)))
        found = ", ".join(f"{name} {shown(hits, 0)}" for name, hits in within.items())
        print(f"{truth}: within two standard errors {found}; coverage {shown(coverage)}", flush=True)


def still(leagues: int) -> None:
    """Three seasons without drift teach one; the fourth is predicted with it and without."""
    costs = []
    for seed in range(leagues):
        rng = np.random.default_rng(seed)
        learnt = eb.Drift.learn([season(1000, eb.Drift.none(), rng) for _ in range(3)], METHOD)
        last = season(4000, eb.Drift.none(), rng)
        rule = eb.estimator(METHOD)(last.tally)
        with_drift, without = (
            np.average((rule.predict(last.x, drift=drift).mean - last.y) ** 2, weights=last.multiplicity) ** 0.5
            for drift in (learnt, eb.Drift.none())
        )
        costs.append(float(with_drift / without - 1))
    print(f"RMSE above that without drift: {shown(costs, 2)}, at most {100 * max(costs):.2f} %")


def looks(leagues: int) -> None:
    """2,000 players, their present rates estimated from the last look, the last two and all three."""
    errors: list[list[float]] = []
    drift = TRUTHS[0]
    for seed in range(leagues):
        rng = np.random.default_rng(seed)
        theta = [LEAGUE.draw(2000, rng)]
        for _ in range(2):
            theta.append(moved(theta[-1], drift, rng))
        seen = [rng.poisson(each).astype(float) for each in theta]
        rule = eb.estimator(METHOD)(eb.Tally.of(seen[2].astype(int)))
        after = [
            rule.posterior(seen[2], drift=drift, earlier=[(seen[k], 1.0) for k in range(first, 2)])
            for first in (2, 1, 0)
        ]
        errors.append([float(np.mean((each.mean - theta[2]) ** 2)) for each in after])
    one, two, three = np.array(errors).T
    print(f"squared error, of that after one look: after two {shown(two / one)}, after three {shown(three / one)}")
    print(f"three over two: {shown(three / two)}")


def books() -> None:
    """Log scores of every 40th book, without drift and with the typical one: plain, and given that every word comes."""
    from ebformer.lab.fielddata import books as library
    from ebformer.lab.fielddata import score

    for name, drift in (("none", None), ("typical", eb.Drift.typical())):
        plain = known = units = 0.0
        for book in library.load()[::40][:24]:
            rule = eb.estimator("priorformer")(book.tally)
            absent = float(rule.predict(0, 1.0, book.ratio, drift=drift).pmf(0))  # no word is in neither part
            plain += book.n * score(book, rule, drift=drift).log_score
            known -= float(book.multiplicity[book.before == 0].sum()) * np.log1p(-absent)
            units += book.n
        print(f"{name}: log score {plain / units:.3f}, given that every word comes {(plain + known) / units:.3f}")


def other_books(published: Path, choices: int) -> None:
    """What is saved on the books of a table of published scores, and on all: sixty others teach the drift, at random.

    Beside it stands the curve c m^(1 - b) estimate^b, where m is the mean estimate, fitted to the same sixty by least
    squares: two numbers that care for the RMSE alone.
    """
    from scipy.optimize import minimize

    from ebformer.lab.arena.published import read_published
    from ebformer.lab.arena.table import published_errors
    from ebformer.lab.fielddata import books as library
    from ebformer.lab.fielddata import score
    from ebformer.lab.fielddata.moving import looks_of
    from ebformer.lab.fielddata.summary import against

    shelf, estimator = library.load(), eb.estimator("priorformer")
    theirs = read_published(published, (book.key for book in shelf), published_errors(["rmse"]))
    judged = {loss.case for loss in theirs}
    rules = {book.case: estimator(book.tally) for book in shelf}
    estimates = {book.case: rules[book.case](np.unique(book.before)) for book in shelf}
    others = [book for book in shelf if book.case not in judged]

    def saved(book: Holdout, predicted: Floats) -> float:
        """Percent of the MLE's RMSE that predictions for every x save."""
        y = book.after / book.ratio
        errors = predicted[np.unique(book.before, return_inverse=True)[1]] - y, book.before - y
        ours, mle = (book.multiplicity @ error**2 for error in errors)
        return float(100 * (1 - np.sqrt(ours / mle)))

    def by_curve(book: Holdout, c: float, b: float) -> float:
        said, which = estimates[book.case], np.unique(book.before, return_inverse=True)[1]
        mean = np.average(said, weights=np.bincount(which, book.multiplicity))
        return saved(book, c * mean ** (1 - b) * said**b)

    def best_curve(teachers: Sequence[Holdout]) -> Floats:
        def lost(at: Floats) -> float:
            return -sum(by_curve(book, float(at[0]), float(at[1])) for book in teachers)

        return np.asarray(minimize(lost, np.array([1.0, 0.9]), method="Nelder-Mead").x)

    def by_drift(book: Holdout, drift: eb.Drift) -> float:
        return saved(book, rules[book.case].next(np.unique(book.before), drift=drift).mean)

    for choice in range(choices):
        chosen = np.random.default_rng(choice).choice(len(others), 60, replace=False)
        teachers = [others[at] for at in chosen]
        learnt = eb.Drift.learn([looks_of(book) for book in teachers], estimator)
        fit = best_curve(teachers)
        print(f"{learnt} from {learnt.pairs:,} words of {len(teachers)} books; c and b {fit.round(3).tolist()}")
        taught = {book.case for book in teachers}
        untaught = [book for book in shelf if book.case not in taught]
        for name, some in (("published", [book for book in shelf if book.case in judged]), ("all others", untaught)):
            ours, curve = [by_drift(book, learnt) for book in some], [by_curve(book, *fit) for book in some]
            over = shown(np.subtract(ours, curve).tolist(), 2, False)
            print(
                f"  {len(some)} books ({name}): learnt {shown(ours, 2, False)} % saved, "
                f"the curve {shown(curve, 2, False)}, learnt over the curve {over}",
                flush=True,
            )
        kinds = {"learnt": learnt} if choice else {"none": None, "typical": eb.Drift.typical(), "learnt": learnt}
        for name, drift in kinds.items():
            here = [score(book, rules[book.case], name, drift=drift) for book in shelf if book.case in judged]
            saves, log_score, coverage = (
                [getattr(loss, field) for loss in here] for field in ("rmse_improvement", "log_score", "coverage")
            )
            print(
                f"  {name}: {shown(saves, 2, False)} % saved, log score {np.mean(log_score):.3f}, "
                f"coverage {100 * np.mean(coverage):.1f} %"
            )
        for row in against(here, theirs):
            if row.theirs == "L24r-W24":  # the best of them
                print(
                    f"  learnt over published L24r: {row.difference.mean:.2f} ± {row.difference.half_width:.2f}",
                    flush=True,
                )


def typical() -> None:
    """The drift that each data set teaches, and the mean over domains, each of which counts once."""
    from ebformer.lab.fielddata import baseball, hockey
    from ebformer.lab.fielddata import books as library
    from ebformer.lab.fielddata.moving import MEMORY, elsewhere, looks_of

    for exposure in (False, True):
        cases = [one for position in hockey.POSITIONS for one in hockey.load((), position, exposure=exposure)]
        cases += [one for role in baseball.ROLES for one in baseball.load((), role, exposure=exposure)]
        cases += [] if exposure else library.load()[-MEMORY:]
        taught = {}
        for data in dict.fromkeys(case.data for case in cases):
            taught[data] = eb.Drift.learn([looks_of(case) for case in cases if case.data == data], "priorformer")
            print(f"{data}: {taught[data]}", flush=True)
        print(f"mean over domains: {elsewhere(taught, ' per ' if exposure else 'none')}")


def tables(scores: Path) -> None:
    """The tables of docs/drift.md, from the scores of `ebformer fielddata all --drift --exposure -o`."""
    import polars

    from ebformer.lab.arena.summary import interval
    from ebformer.lab.figures.fielddata_tables import show_interval

    written = polars.read_csv(scores, schema_overrides={"case": polars.String})

    def cell(data: str, kind: str, field: str) -> str:
        found = written.filter(data=data, estimator=f"priorformer, {kind}")[field].to_numpy()
        if field == "rmse_improvement":
            return show_interval(interval(found))
        return f"{100 * np.mean(found):.0f} %" if field == "coverage" else f"{np.mean(found):.3f}"

    def row(name: str, *cells: tuple[str, str, str]) -> None:
        print("|", " | ".join([name, *(cell(*each) for each in cells)]), "|")

    kinds = ("none", "typical", "elsewhere", "learnt")
    for name, data, _ in DATA:
        gains = [(data, kind, "rmse_improvement") for kind in kinds]
        row(name, *gains, *((data, kind, field) for field in ("log_score", "coverage") for kind in ("none", "learnt")))
    print()
    for name, data, known in DATA[:-1]:
        with_known = f"{data} per {known}"
        gains = [(with_known, kind, "rmse_improvement") for kind in kinds]
        logs = [(data, "learnt", "log_score"), (with_known, "learnt", "log_score"), (with_known, "none", "log_score")]
        row(name, *gains, *logs, (with_known, "learnt", "coverage"))


def speed() -> None:
    """Processor time."""
    rng, n = np.random.default_rng(0), 1_000_000
    theta, before, after = rng.normal(size=n), rng.uniform(0.3, 1.0, n), rng.uniform(0.3, 1.0, n)
    later = rng.normal(0.8 * theta + 0.4 * rng.normal(size=n), after)
    start = time.process_time()
    eb.Drift.learn(eb.Looks.of(rng.normal(theta, before), later, se=before, future=after))
    print(f"a drift from a million pairs of effects: {time.process_time() - start:.1f} s", flush=True)
    import polars

    exposure = rng.uniform(5.0, 82.0, n)
    frame = polars.DataFrame({"x": rng.poisson(rng.gamma(1.2, 0.2, n) * exposure), "t": exposure})
    for words in ({}, {"future": 82.0}, {"future": 82.0, "drift": "typical"}):
        start = time.process_time()
        eb.shrink(frame, "x", "t", **words)
        print(f"a million rows, {words or 'estimates alone'}: {time.process_time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", choices=["recovery", "still", "looks", "books", "other-books", "typical", "tables", "speed"]
    )
    parser.add_argument("--leagues", type=int, default=20)
    parser.add_argument("--published", type=Path, help="a table of scores: data, case, estimator, rmse_improvement")
    parser.add_argument("--scores", type=Path, help="what `ebformer fielddata all --drift --exposure -o` wrote")
    parser.add_argument("--choices", type=int, default=4, help="how often sixty books are chosen")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "other-books":
        other_books(given.published, given.choices)
    elif given.what == "tables":
        tables(given.scores)
    elif given.what in ("books", "typical", "speed"):
        {"books": books, "typical": typical, "speed": speed}[given.what]()
    else:
        {"recovery": recovery, "still": still, "looks": looks}[given.what](given.leagues)
