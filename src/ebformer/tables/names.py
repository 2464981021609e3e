"""The names of groups and units: texts that repeat, kept once and numbered."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Names:
    """Texts [u], None where one is missing: the distinct ones in order, and which of them each is.

    To look up a text costs more than all that is done with its number, and it does so but once.

    >>> names = Names.of(np.array(["b", None, "a", "b"], dtype=object))
    >>> names.distinct, names.which.tolist()
    ([None, 'a', 'b'], [2, 0, 1, 2])
    """

    distinct: list[str | None]
    which: NDArray[np.intp]

    @classmethod
    def of(cls, texts: NDArray[np.object_]) -> Names:
        """These texts, numbered."""
        number = defaultdict[str | None, int](count().__next__)
        which = np.fromiter(map(number.__getitem__, texts), dtype=np.intp, count=texts.size)
        found = list(number)
        order = sorted(range(len(found)), key=[text or "" for text in found].__getitem__)
        rank = np.empty(len(found), dtype=np.intp)
        rank[order] = np.arange(len(found))
        return cls([found[i] for i in order], rank[which])

    @classmethod
    def called(cls, entries: NDArray[Any]) -> Names:
        """What these entries are called as text; a long one among them takes no memory but its own."""
        return cls.of(np.array([str(each) for each in entries], dtype=object))

    def __getitem__(self, at: NDArray[Any]) -> Names:
        """Some of them, by mask or by position."""
        return Names(self.distinct, self.which[at])

    def and_then(self, others: Names) -> Names:
        """These, followed by others."""
        if self.distinct is others.distinct:
            return Names(self.distinct, np.concatenate([self.which, others.which]))
        return Names.of(np.concatenate([self.texts, others.texts]))

    @property
    def texts(self) -> NDArray[np.object_]:
        """The texts themselves."""
        found = np.empty(len(self.distinct), dtype=object)
        found[:] = self.distinct
        return found[self.which]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where there is none."""
        return np.array([text is None for text in self.distinct], dtype=np.bool_)[self.which]

    @property
    def shown(self) -> tuple[list[str | None], NDArray[np.intp]]:
        """Those distinct ones that stand among these, and which of them each is."""
        there, which = np.unique(self.which, return_inverse=True)
        return [self.distinct[i] for i in there.tolist()], which
