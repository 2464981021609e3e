"""What every method has in common: it is immutable and maps a tally to a rule, whatever is known of the units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ebformer.channels import CHANNELS
from ebformer.channels.base import Channel
from ebformer.errors import ChannelError, InputError, KnownError
from ebformer.rule import Rule
from ebformer.tally import Tally

EVERY_CHANNEL = tuple(CHANNELS)
"""What a method promises to serve that asks nothing of a channel but what all have."""
WIDEST = 1e30
"""The largest exposure, number of trials or standard error over the smallest in one table."""


@dataclass(frozen=True)
class Estimator(ABC):
    """A method `Tally -> Rule`: its options are fields, its promises class attributes that `check_estimator` tests.

    Units about which the same is known are fitted in natural units, exposure 1 or standard error 1, and the answer is
    scaled back: so a method that cannot use unequal exposures still accepts a common one.

    >>> from ebformer.estimators.catalogue import estimator
    >>> method = estimator("erm")
    >>> method.monotone, method.unequal_known, method.channels
    (True, False, ('poisson',))
    >>> method(Tally([0, 1, 2], [5, 3, 1], exposure=[2.0, 2.0, 2.0]))([0, 2]).round(3)  # (3 + 2) / (5 + 3 + 1) / 2
    array([0.278, 0.278])
    """

    name: ClassVar[str]
    """Its key in the catalogue; the name of the class in lower case where it gives none."""
    channels: ClassVar[tuple[str, ...]] = ("poisson",)
    """The channels it serves."""
    monotone: ClassVar[bool] = False
    """The estimate never falls as x grows."""
    answers_unseen: ClassVar[bool] = False
    """The rule is meaningful at values that no unit showed."""
    unequal_known: ClassVar[bool] = False
    """Units may differ in exposure, trials or standard error."""
    parameters: ClassVar[int | None] = None
    """How many numbers of a prior it finds by maximum likelihood, where they can be counted; for Akaike's criterion."""
    learns: ClassVar[bool] = True
    """It learns from the other units and takes what it learnt for granted, so that few of them are little to go by."""
    remark: ClassVar[str | None] = None
    """What a reader of its answers should know, in a sentence that begins in lower case."""
    colour: ClassVar[str | None] = None
    """Its colour in figures, such as "#3b7dd8"; one that is free where it names none."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "name") and "name" not in cls.__annotations__:  # there it may be an option
            cls.name = cls.__name__.lower()

    @abstractmethod
    def fit(self, tally: Tally) -> Rule:
        """The method itself. The tally is in natural units, unless units differ and `unequal_known` is promised."""

    def fit_without_zeros(self, tally: Tally) -> Rule:
        """The rule of units of unequal exposure that enter the table only with an event."""
        from ebformer.estimators.unseen_zeros import fit_with_zeros

        return fit_with_zeros(self, tally)

    def remark_on(self, channel: Channel) -> str | None:
        """What a reader of its answers in this channel should know."""
        return self.remark

    def in_units(self, scale: float) -> Self:
        """This method for theta / scale: an option that bounds theta is divided by it. Most have none."""
        return self

    def __call__(self, tally: Tally) -> Rule:
        """Fit the tally, whatever is known of its units, or refuse in one sentence."""
        if not isinstance(tally, Tally):
            raise InputError(
                f"{self.name} is fitted to a Tally, not to a {type(tally).__name__}: give Tally.of(counts)"
            )
        channel, common = tally.channel, tally.common
        _check_decades(tally)
        if common is None and not channel.complete and channel.next_look.name in self.channels:
            return self.fit_without_zeros(tally)
        if channel.name not in self.channels:
            raise ChannelError(
                f"{self.name} cannot fit {channel.words.xs} with {channel.words.knowns}; {_methods_that_can(channel)}"
            )
        if common is None and not self.unequal_known:
            raise KnownError(
                f"{self.name} treats all units alike and cannot use unequal {channel.words.knowns}; "
                + _methods_that_can(channel)
            )
        rule = self.fit(tally) if common is None else self._fit_in_natural_units(tally, common)
        return replace(rule, channel=channel, known=common, tally=tally, parameters=self.parameters)

    def _fit_in_natural_units(self, tally: Tally, common: float) -> Rule:
        """The rule of units of one exposure, number of trials or standard error, scaled back to theirs."""
        x, known, scale = tally.channel.standard(tally.x, common)
        if known == common:
            return self.fit(tally)
        rule = self.in_units(scale).fit(Tally(x, tally.multiplicity, known, channel=tally.channel))
        return replace(rule, channel=tally.channel).rescaled(scale, common)


def _check_decades(tally: Tally) -> None:
    """Squares of what is further apart, and products with observations, are no numbers of a machine any more."""
    least, most = float(tally.known.min()), float(tally.known.max())
    if most > WIDEST * least:
        raise InputError(
            f"{tally.channel.words.knowns} from {least:g} to {most:g} lie too many decades apart for one fit: "
            "leave out units that are not meant, or fit them by themselves"
        )


def _methods_that_can(channel: Channel) -> str:
    from ebformer.estimators.catalogue import default_method

    *others, last = dict.fromkeys([default_method(channel), "npmle", channel.conjugate or "npmle-em"])
    return f"use a method that can, such as {', '.join(others)} or {last}"
