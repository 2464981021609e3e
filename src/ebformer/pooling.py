"""Pooled groups: every group's prior is drawn around a common one, and how closely is learnt from all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ebformer.binning import coarsened, distinct_rows, merged
from ebformer.distributions import Floats
from ebformer.errors import InputError, NoPriorError
from ebformer.prior import AnyPrior, UncertainPrior
from ebformer.rule import BayesRule, Rule
from ebformer.tally import Tally
from ebformer.windows import SHARES, learnt_shares, windows, with_atoms

CONCENTRATIONS = (np.inf, 3000.0, 1000.0, 300.0, 100.0, 30.0)
"""How many units of its own a group must have to move half-way from the window to its own shape."""
LARGE, JUDGES = 30, 1000
"""Groups of fewer units have no shape of their own; so many of the largest decide how far the others may have one."""
CERTAIN = 10_000
"""Units, beyond which doubts about the common prior change nothing, and would be carried by every group."""
STEPS, SETTLED, TINY = 30, 1e-9, 1e-300


@dataclass(frozen=True, eq=False)
class Pool:
    """One rule per group, that of all units together (`common`), and what was learnt about the groups.

    `between` is the share of the spread of theta that lies between groups; 0 where all have the common prior.
    A group of `concentration` units is half-way from what its place makes of the common prior to a shape of its own.
    """

    rules: Sequence[Rule]
    common: Rule
    between: float
    concentration: float


def pool(
    tallies: Sequence[Tally],
    method: Callable[[Tally], Rule],
    times: ArrayLike | None = None,
    neighbours: sparse.csr_array | None = None,
) -> Pool:
    """Fit all units together, then let every group's prior depart from the common one as far as groups do depart.

    A group's prior is a window on the common one (`Windows`): where it lies, and how wide it is, has a posterior given
    the units of the group, under chances of shares that are likeliest for all groups. Around its mean a Dirichlet prior
    lets large groups have a shape of their own; its concentration is the one under which half of each group's units
    predicts the others best. The prior of a unit comes from the others of its group: so what n units say counts
    (n - 1) / n. Where the common prior is uncertain, so is that of a group, in the same versions. `times` tells
    how many groups look like each tally. One group alone has the common rule.

    `neighbours` [g, g] has a 1 where two groups lie side by side: then what the neighbours show tells about the place
    of a group, too, as if their units were further ones of its own. Each of these overlapping neighbourhoods weighs
    the shares by what its neighbours let expect of the group itself.

    >>> from ebformer.estimators.catalogue import estimator
    >>> low, high = Tally.of([0, 1, 0, 2] * 5), Tally.of([9, 7, 12, 10] * 5)
    >>> found = pool([low, high, Tally.of([5])], estimator("gamma"))
    >>> [rule(5).round(1).item() for rule in (*found.rules, found.common)]
    [2.0, 8.8, 5.0, 5.0]
    """
    groups = np.ones(len(tallies)) if times is None else np.asarray(times, dtype=np.float64)
    channel = tallies[0].channel
    x, known, units = (
        np.concatenate([getattr(each, name) for each in tallies]) for name in ("x", "known", "multiplicity")
    )
    group = np.repeat(np.arange(len(tallies)), [len(each) for each in tallies])
    of_all = (units * groups[group]).astype(np.int64)
    x, known = merged(channel, x, known, of_all)
    common = method(Tally(x, of_all, known, channel=channel))
    if common.prior is None:
        raise NoPriorError(
            f"the priors of pooled groups lie around a common one, and {common.method} has none; "
            f"use a method that has one, such as npmle or {channel.conjugate or 'npmle-em'}"
        )
    assert isinstance(common, BayesRule)
    prior = with_atoms(common.prior, channel, x, known)
    if isinstance(prior, UncertainPrior) and of_all.sum() > CERTAIN:
        prior = prior.certain
    if groups.sum() == 1 or len(prior) == 1:
        return Pool([_rule(common, common.mixing, tally) for tally in tallies], common, 0.0, np.inf)
    first, which = distinct_rows(x, known)
    likelihood = channel.likelihood_matrix(x[first], prior.atoms, known[first])
    counts = sparse.csr_array((units.astype(np.float64), (group, which)), shape=(len(tallies), first.size))
    possible = windows(prior, channel)
    log_f = possible.log_marginals(likelihood)
    evidence = possible.evidence(counts if neighbours is None else counts + neighbours @ counts, log_f)
    if neighbours is not None:
        evidence /= np.maximum(possible.evidence(neighbours @ counts, log_f), TINY)
    shares = learnt_shares(evidence, groups)

    def through_windows(seen: sparse.csr_array) -> Floats:
        return possible.mixed(seen, log_f, shares)

    size: Floats = counts.sum(axis=1)
    others = sparse.diags_array(1 - 1 / size).tocsr() @ counts
    if neighbours is not None:
        others = others + neighbours @ counts
    weights, concentration = through_windows(others), np.inf
    by_size = np.argsort(-size, kind="stable")
    large = by_size[size[by_size] >= LARGE]
    if large.size and neighbours is None:
        judges = large[:JUDGES]
        concentration = _concentration(counts[judges], likelihood, groups[judges], through_windows)
        weights[large] = own_shapes(others[large], likelihood, weights[large], concentration)
    rules = [
        _rule(common, prior.reweighted(each / each.sum()), tally) for each, tally in zip(weights, tallies, strict=True)
    ]
    return Pool(rules, common, float(shares @ SHARES), concentration)


def side_by_side(groups: Sequence[str | None], pairs: Sequence[tuple[str, str]]) -> sparse.csr_array:
    """Which groups [g, g] are neighbours, from pairs of their names in either order; other names are left out.

    >>> side_by_side(["a", "b", "c"], [("a", "b"), ("b", "a"), ("c", "elsewhere")]).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    number = {name: i for i, name in enumerate(groups)}
    try:
        named = [(str(a), str(b)) for a, b in pairs]
    except (TypeError, ValueError) as error:
        raise InputError('neighbours are pairs of groups: give a list such as [("north", "south")]') from error
    near = {(number[a], number[b]) for a, b in named if a in number and b in number and a != b}
    if not near:
        raise InputError("no pair of neighbours is one of groups in the table: give pairs of the names in its column")
    rows, columns = np.array(sorted(near | {(b, a) for a, b in near})).T
    return sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(len(groups), len(groups)))


def own_shapes(counts: sparse.csr_array, likelihood: Floats, around: Floats, concentration: float) -> Floats:
    """The weights [g, k] that maximise sum_x counts log f_w(x) + concentration sum_k around_k log w_k, by EM.

    `counts` is [g, u], `likelihood` [u, k] and `around` [g, k].

    >>> own_shapes(sparse.csr_array([[3.0, 1.0]]), np.eye(2), np.array([[0.5, 0.5]]), 4.0).tolist()
    [[0.625, 0.375]]
    """
    if np.isinf(concentration):
        return around
    found = around.copy()
    for i, own in enumerate(found):  # one by one: what a group showed stays in the processor's cache meanwhile
        at = slice(counts.indptr[i], counts.indptr[i + 1])
        seen, units = likelihood[counts.indices[at]], counts.data[at]
        for _ in range(STEPS):
            before = own.copy()
            own *= (units / (seen @ own)) @ seen
            own += concentration * around[i]
            own /= concentration + units.sum()
            if np.abs(own - before).sum() < SETTLED:
                break
    return found


def _concentration(
    counts: sparse.csr_array,
    likelihood: Floats,
    groups: Floats,
    through_windows: Callable[[sparse.csr_array], Floats],
) -> float:
    """The concentration under which half of each group's units, drawn at random, predicts the others best."""
    half = counts.copy()
    half.data = np.random.default_rng(0).binomial(half.data.astype(np.int64), 0.5).astype(np.float64)
    rest = (counts - half).tocoo()
    around = through_windows(half)

    def score(concentration: float) -> float:
        weights = own_shapes(half, likelihood, around, concentration)
        log_f = np.log(np.einsum("uk,uk->u", likelihood[rest.col], weights[rest.row]))
        return float((rest.data * groups[rest.row]) @ log_f)

    return max(CONCENTRATIONS, key=score)


def _rule(common: BayesRule, mixing: AnyPrior, tally: Tally) -> BayesRule:
    return replace(common, mixing=mixing, known=tally.common, tally=coarsened(tally))
