"""The methods by name: classical ones, pre-trained networks whose weights are shipped, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ebformer.channels.base import Channel
from ebformer.errors import InputError
from ebformer.estimators.base import Estimator

DEFAULT = "priorformer"
"""The method of those who name none, in the channels it serves."""

CLASSICAL = {
    "mle": "mle.Mle",
    "robbins": "robbins.Robbins",
    "erm": "erm_monotone.ErmMonotone",
    "npmle": "npmle.estimator.Npmle",
    "npmle-em": "npmle_em.NpmleEm",
    "npmle-smooth": "npmle_smooth.NpmleSmooth",
    "newton": "newton.Newton",
    "minimax": "minimax.Minimax",
    "gamma": "gamma.Gamma",
    "gamma-mixture": "gamma_mixture.GammaMixture",
    "beta": "beta.Beta",
    "normal": "normal.NormalMeans",
    "full-bayes": "full_bayes.FullBayes",
}
"""Where each lives, relative to this package; nothing is imported before it is asked for."""

PRETRAINED = {"transformer": "pretrained.Pretrained", "priorformer": "priorformer.Priorformer"}
"""What reads each family of shipped weights."""

WEIGHTS = ".safetensors"
"""How the names of files of weights end."""

ENTRY_POINTS = "ebformer.methods"
"""The group of entry points by which other packages add methods: a name, and the subclass of `Estimator` it means."""


class Catalogue(Mapping[str, Estimator]):
    """Name -> method with its default options. Methods load when they are asked for.

    >>> CATALOGUE["mle"]
    Mle()
    >>> [name for name in CATALOGUE if name.startswith("npmle")]
    ['npmle', 'npmle-em', 'npmle-smooth']
    """

    def __getitem__(self, name: str) -> Estimator:
        try:
            return estimator(name)
        except InputError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter([*CLASSICAL, *_shipped(), *_registered()])

    def __len__(self) -> int:
        return len(CLASSICAL) + len(_shipped()) + len(_registered())

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
    make = _maker(name)
    if make is None:
        near = get_close_matches(name, CATALOGUE, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"choose among {', '.join(CATALOGUE)}"
        if name.endswith(WEIGHTS):
            advice = (
                "read a file of weights with eb.Priorformer.load, or ebformer.estimators.pretrained.Pretrained.load"
            )
        raise InputError(f"there is no method {name!r}: {advice}")
    try:
        return make(**options)
    except TypeError as error:
        raise InputError(f"{name} does not take these options: {', '.join(options)} ({error})") from error


def _maker(name: str) -> Callable[..., Estimator] | None:
    """What makes the method of this name: ours come first, so that no other package can replace them."""
    home, family = CLASSICAL.get(name), _shipped().get(name)
    if home is not None:
        made: Callable[..., Estimator] = _loaded(home)
        return made
    if family is not None:
        return partial(_loaded(PRETRAINED[family]), name)
    if name not in _registered():
        return None
    found = _registered()[name].load()
    if not (isinstance(found, type) and issubclass(found, Estimator)):
        raise InputError(f"the package that registers {name!r} gives {found!r}, which is no subclass of Estimator")
    return found


def _loaded(home: str) -> Any:
    module, _, method = home.rpartition(".")
    return getattr(import_module(f"ebformer.estimators.{module}"), method)


def default_method(channel: Channel) -> str:
    """The method of those who name none.

    >>> from ebformer.channels import POISSON, channel_named
    >>> default_method(POISSON), default_method(channel_named("binomial"))
    ('priorformer', 'priorformer')
    """
    serves = channel.name in _loaded(PRETRAINED[DEFAULT]).channels
    return DEFAULT if serves else channel.conjugate or "npmle-em"


def serving(channel: Channel) -> dict[str, Estimator]:
    """The methods that serve a channel, by name.

    >>> from ebformer.channels import channel_named
    >>> list(serving(channel_named("binomial")))
    ['mle', 'npmle', 'npmle-em', 'npmle-smooth', 'newton', 'beta', 'full-bayes', 'priorformer']
    """
    return {name: method for name, method in CATALOGUE.items() if channel.name in method.channels}


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


def typed(method: str, **options: Any) -> Estimator:
    """A method as a command is told of it: by name, or by the file of weights of a network of one's own.

    Only what a person types may be a file: names that are read from saved fits go to `find`.

    >>> typed("mine.safetensors")
    Traceback (most recent call last):
    ...
    ebformer.errors.WeightsError: mine.safetensors cannot be read: No such file or directory
    """
    if not method.endswith(WEIGHTS):
        return estimator(method, **options)
    from ebformer.networks import weights

    readers = {family: _loaded(home) for family, home in PRETRAINED.items()}  # and weights know their families then
    weights.load(method)  # complains of all that is wrong with it
    found: Estimator = readers[weights.family_of(method)].load(method)
    return found


def method_for(channel: Channel, method: str | Estimator | None = None) -> Estimator:
    """The method that is given, by name or as it is, or else the default one of the channel.

    >>> from ebformer.channels import POISSON
    >>> method_for(POISSON).name, method_for(POISSON, "mle").name
    ('priorformer', 'mle')
    """
    return find(default_method(channel) if method is None else method)


@cache
def _registered() -> dict[str, EntryPoint]:
    """The methods that other packages add."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


@cache
def _shipped() -> dict[str, str]:
    """The names of the shipped networks and the family of each."""
    from ebformer.networks import zoo

    return {name: family for family in PRETRAINED for name in zoo.names(family)}


CATALOGUE = Catalogue()
"""Every method by name."""
