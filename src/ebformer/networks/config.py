"""What determines a network of any family: plain settings that describe themselves and say which arrays it has."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from ebformer.errors import InputError


@dataclass(frozen=True)
class Config(ABC):
    """The settings of a network; `describe` and `from_description` are inverse."""

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every array by name, with its shape; the order is that of the weights file."""

    @property
    def parameters(self) -> int:
        """Number of trainable numbers."""
        return sum(math.prod(shape) for shape in self.shapes().values())

    def describe(self) -> dict[str, Any]:
        """A plain dictionary that `from_description` reads back."""
        return asdict(self)

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Self:
        """The inverse of `describe`; unknown fields are refused."""
        refuse_unknown(cls, description)
        return cls(**description)


def refuse_unknown(kind: type[Any], description: dict[str, Any]) -> None:
    """Complain of entries that a dataclass of this kind has no field for."""
    if unknown := set(description) - {field.name for field in fields(kind)}:
        raise InputError(f"unknown fields of {kind.__name__}: {', '.join(sorted(unknown))}; leave them out")
