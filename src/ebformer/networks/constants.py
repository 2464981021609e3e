"""The numbers that several versions of the networks share: numpy, kernels.c and, for training, torch.

Each is written here and nowhere else. `hatch_build.py` runs this file alone, before the package is installed, and tells
the compiler every number by a macro of its name; so nothing is imported here that Python does not bring.
"""

from __future__ import annotations

import hashlib

LOG2E = 1.4426950408889634
"""1 / log 2: exponentials are computed as powers of two,"""
EXP2 = (1.327643956e-03, 9.675536200e-03, 5.550713681e-02, 2.402211969e-01, 6.931469663e-01, 1.000000072e00)
"""whose fractional part is a polynomial on [-1/2, 1/2], highest power first: the best of degree 5, to 2e-7."""
LAYER_NORM_EPSILON = 1e-5
"""Added to the variance in every layer norm of a transformer,"""
RMS_NORM_EPSILON = 1e-6
"""and to the mean square where priorformer normalises."""
GELU_LOGIT = (-3.6112245e-09, 2.6689243e-07, -7.938212e-06, 1.1048027e-04, 6.626016e-05, -7.266857e-02, -1.59576843)
"""P, highest power first, in log(Phi(-y) / Phi(y)) = y P(y^2): minimises the largest error of y Phi(y), 7e-8."""

PER_CELL = 4
"""Atoms per cell of priorformer's grid: it reads one token per cell."""
TRACK_FEATURES = 7
"""Numbers per atom that a block of priorformer reads from the two tracks:"""
LEAST_LOG_COUNT, LARGEST_LOG_COUNT, LOG_COUNT_UNIT = -5.0, 12.0, 4.0
"""log n + log-weight of either, within two bounds and divided by the unit;"""
LARGEST_LOG_FACTOR = 3.0
"""log D of either, at most this far from 0;"""
SURPRISE_UNIT = 2.0
"""asinh((D - 1) / standard error of D) of either, divided by the unit;"""
LARGEST_GAP, GAP_UNIT = 8.0, 4.0
"""and how far EM's log-weight lies above its own, at most this, divided by the unit."""
MOMENTUM_DELAY = 3
"""In its k-th step since it began, accelerated EM keeps k / (k + MOMENTUM_DELAY) of its velocity."""

LARGEST_HEAD = 16
HEAD_SIZES, NEAR_HEAD_SIZES = (1, 2, 4, 8, LARGEST_HEAD), (4, 8, 12, LARGEST_HEAD)
"""Coordinates of a head, of the transformers and of priorformer: those that kernels.c is compiled for."""
ROWS = 256
"""Of the arrays that a token passes through: as many as kernels.c makes room for."""
LARGEST_REACH, BEYOND = 72, 8
"""How far the cells of priorformer may see in kernels.c, and numbers to be read beyond that: at least a vector's."""


def macros(*names: str) -> list[str]:
    """These numbers, or all, as the compiler is told them: -DPER_CELL=4.

    A tuple of fractions becomes a list for braces; one of whole numbers becomes NAME(X) = X(1) X(2) ..., which writes
    the cases of a switch.

    >>> macros("LARGEST_GAP", "NEAR_HEAD_SIZES")
    ['-DLARGEST_GAP=(8.0f)', '-DNEAR_HEAD_SIZES(X)=X(4) X(8) X(12) X(16)']
    """
    told = []
    for name in names or sorted(name for name in globals() if name.isupper()):
        value = globals()[name]
        if isinstance(value, tuple) and isinstance(value[0], int):
            told.append(f"-D{name}(X)={' '.join(f'X({each})' for each in value)}")
        elif isinstance(value, tuple):
            told.append(f"-D{name}={','.join(f'{each!r}f' for each in value)}")
        else:
            told.append(f"-D{name}={value}" if isinstance(value, int) else f"-D{name}=({value!r}f)")
    return told


def library_name(stem: str, source: bytes) -> str:
    """The file that a C file is compiled to: another source, or other numbers, make another."""
    return f"{stem}-{hashlib.sha256(source + ' '.join(macros()).encode()).hexdigest()[:12]}.so"
