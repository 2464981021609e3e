"""What every method has in common: it is immutable and maps a tally to a rule, whatever the exposures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ebformer.errors import ExposureError, InputError
from ebformer.rule import Rule
from ebformer.tally import Tally


@dataclass(frozen=True)
class Estimator(ABC):
    """A method `Tally -> Rule`: its options are fields, its promises class attributes that `check_estimator` tests.

    A method that cannot use unequal exposures still accepts a common exposure t: it is fitted to the bare counts and
    its rates are divided by t.

    >>> from ebformer.estimators.catalogue import estimator
    >>> method = estimator("erm")
    >>> method.monotone, method.unequal_exposure
    (True, False)
    >>> method(Tally([0, 1, 2], [5, 3, 1], exposure=[2.0, 2.0, 2.0]))([0, 2]).round(3)  # (3 + 2) / (5 + 3 + 1) / 2
    array([0.278, 0.278])
    """

    name: ClassVar[str]
    """Its key in the catalogue; the name of the class in lower case where it gives none."""
    monotone: ClassVar[bool] = False
    """The estimate never falls as x grows."""
    answers_unseen: ClassVar[bool] = False
    """The rule is meaningful at values that no unit showed."""
    unequal_exposure: ClassVar[bool] = False
    """Units may have exposures that differ."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "name") and "name" not in cls.__annotations__:  # there it may be an option
            cls.name = cls.__name__.lower()

    @abstractmethod
    def fit(self, tally: Tally) -> Rule:
        """The method itself. The tally has no exposure, unless units differ and `unequal_exposure` is promised."""

    def at_exposure(self, exposure: float) -> Self:
        """This method for bare counts: an option that bounds theta then bounds exposure * theta. Most have none."""
        return self

    def __call__(self, tally: Tally) -> Rule:
        """Fit the tally, whatever its exposures, or refuse in one sentence."""
        if not isinstance(tally, Tally):
            raise InputError(
                f"{self.name} is fitted to a Tally, not to a {type(tally).__name__}: give Tally.of(counts)"
            )
        common = tally.common_exposure
        if common is None and not self.unequal_exposure:
            raise ExposureError(
                f"{self.name} treats all units alike and cannot use unequal exposures; "
                "use a method that can, such as priorformer, npmle or gamma"
            )
        if common is None:
            return replace(self.fit(tally), exposure=None)
        if tally.exposure is None:
            return self.fit(tally)
        return self.at_exposure(common).fit(tally.unexposed()).at_exposure(common)
