"""The methods by name: classical ones, and the pre-trained networks whose weights are shipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from typing import Any

from ebformer.errors import InputError
from ebformer.estimators.base import Estimator

DEFAULT = "priorformer"
"""The method of those who name none."""

CLASSICAL = {
    "mle": "mle.Mle",
    "robbins": "robbins.Robbins",
    "erm": "erm_monotone.ErmMonotone",
    "npmle": "npmle.estimator.Npmle",
    "npmle-em": "npmle_em.NpmleEm",
    "minimax": "minimax.Minimax",
    "gamma": "gamma.Gamma",
}
"""Where each lives, relative to this package; nothing is imported before it is asked for."""

PRETRAINED = {"transformer": "pretrained.Pretrained", "priorformer": "priorformer.Priorformer"}
"""What reads each family of shipped weights."""


class Catalogue(Mapping[str, Estimator]):
    """Name -> method with its default options. Methods load when they are asked for.

    >>> CATALOGUE["mle"]
    Mle()
    >>> [name for name in CATALOGUE if name.startswith("npmle")]
    ['npmle', 'npmle-em']
    """

    def __getitem__(self, name: str) -> Estimator:
        try:
            return estimator(name)
        except InputError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter([*CLASSICAL, *_shipped()])

    def __len__(self) -> int:
        return len(CLASSICAL) + len(_shipped())

    def __repr__(self) -> str:
        return f"Catalogue({', '.join(self)})"


def estimator(name: str, **options: Any) -> Estimator:
    """The method of that name in the catalogue, with options where they differ from its defaults.

    >>> estimator("minimax", theta_max=50.0)
    Minimax(theta_max=50.0)
    >>> estimator("npml")
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: there is no method 'npml': did you mean 'npmle'?
    """
    if not isinstance(name, str):
        raise InputError(f"{name!r} is no name of a method: give one as text, such as 'gamma'")
    home = CLASSICAL.get(name)
    family = None if home else _shipped().get(name)
    if home is None and family is None:
        near = get_close_matches(name, CATALOGUE, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"choose among {', '.join(CATALOGUE)}"
        raise InputError(f"there is no method {name!r}: {advice}")
    module, _, method = (home or PRETRAINED[str(family)]).rpartition(".")
    make = getattr(import_module(f"ebformer.estimators.{module}"), method)
    try:
        made: Estimator = make(**options) if home else make(name, **options)
    except TypeError as error:
        raise InputError(f"{name} does not take these options: {', '.join(options)} ({error})") from error
    return made


def find(method: str | Estimator) -> Estimator:
    """A method given by name or as it is.

    >>> find("mle") == find(find("mle"))
    True
    """
    if isinstance(method, str):
        return estimator(method)
    if not isinstance(method, Estimator):
        raise InputError(f"{method!r} is no method: give a name or an estimator, such as 'gamma' or Gamma()")
    return method


@lru_cache(maxsize=1)
def _shipped() -> dict[str, str]:
    """The names of the shipped networks and the family of each."""
    from ebformer.networks import zoo

    return {name: family for family in PRETRAINED for name in zoo.names(family)}


CATALOGUE = Catalogue()
"""Every method by name."""
