"""What came of a call: an answer, a refusal in a sentence, or a fault with its name."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ebformer.distributions import Posterior
from ebformer.errors import LONGEST, EbformerError

PATIENCE = 20.0
"""Seconds of processor time after which a call hangs; on a busy machine it may wait for fifteen times as long."""
LEVEL = 0.999
"""Of the interval that has to hold the estimate."""
FAULTS = ("traceback", "hang", "nan", "outside", "law", "wordy")


class Hang(BaseException):
    """The call has taken more than our patience."""


class Fault(AssertionError):
    """An answer that nobody should get; its kind is one of `FAULTS`."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind


@dataclass(frozen=True)
class Outcome:
    """`kind` is answered, refused or one of `FAULTS`; `what` tells more; `seconds` are of processor time."""

    kind: str
    what: str = ""
    seconds: float = 0.0

    @property
    def faulty(self) -> bool:
        return self.kind in FAULTS


def judged(run: Callable[[Any], None], case: Any) -> Outcome:
    """Run a case to its end, or for as long as our patience lasts."""
    start = time.process_time()
    kind, what = _run(run, case)
    return Outcome(kind, what, time.process_time() - start)


def _run(run: Callable[[Any], None], case: Any) -> tuple[str, str]:
    try:
        with warnings.catch_warnings(), patience():
            warnings.simplefilter("ignore")
            run(case)
    except Fault as fault:
        return fault.kind, str(fault)
    except EbformerError as error:
        return refusal(str(error))
    except Hang:
        return "hang", f"more than {PATIENCE:.0f} s"
    except Exception as error:  # whatever it is, it is what we look for
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        where = "" if last is None else f"{last.tb_frame.f_code.co_filename[-40:]}:{last.tb_lineno}"
        return "traceback", f"{type(error).__name__}: {str(error)[:200]} ({where})"
    return "answered", ""


def refusal(sentence: str) -> tuple[str, str]:
    """A refusal is one line of bounded length."""
    long = len(sentence) > LONGEST or "\n" in sentence.strip()
    return ("wordy" if long else "refused"), sentence[:200]


@contextmanager
def patience() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Hang

    clocks = ((signal.SIGPROF, signal.ITIMER_PROF, PATIENCE), (signal.SIGALRM, signal.ITIMER_REAL, 15 * PATIENCE))
    before = [signal.signal(number, give_up) for number, _, _ in clocks]
    for _, clock, seconds in clocks:
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for (number, clock, _), answer in zip(clocks, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(number, answer)


def check_numbers(numbers: Any, name: str, low: float = -np.inf, high: float = np.inf) -> None:
    """A `Fault` where a number is none, or where it cannot be."""
    array = np.asarray(numbers, dtype=np.float64)
    if not np.isfinite(array).all():
        raise Fault("nan", f"{name} is {array[~np.isfinite(array)].flat[0]}")
    if (array < low - 1e-9 * abs(low)).any() or (array > high * (1 + 1e-9)).any():
        raise Fault("outside", f"{name} runs from {array.min():g} to {array.max():g}, beyond {low:g} to {high:g}")


def check_posterior(after: Posterior, estimates: Any, domain: tuple[float, float]) -> None:
    """Means, intervals and probabilities agree with each other."""
    mean, (low, high) = after.mean, after.interval(LEVEL)
    for name, numbers in (("the mean", mean), ("the lower end", low), ("the upper end", high)):
        check_numbers(numbers, name, *domain)
    check_numbers(after.variance, "the variance", 0.0)
    # A mean is a sum over thetas as far apart as the posterior is wide, which may cancel to nothing but rounding.
    size = np.abs(mean) + np.sqrt(after.variance)
    if not np.allclose(mean, estimates, rtol=1e-6, atol=1e-9 * (1 + size.max(initial=0.0))):
        raise Fault("outside", "the posterior mean is not the estimate")
    # Cantelli: a rare large theta may take the mean beyond a quantile by so many deviations (docs/reliability.md).
    tail = (1 - LEVEL) / 2
    slack = np.sqrt(tail / (1 - tail) * after.variance) + 1e-9 * (np.abs(low) + np.abs(high)) + 1e-300
    if ((mean < low - slack) | (mean > high + slack)).any():
        raise Fault("outside", f"the mean is outside the interval of {LEVEL:g}")
    check_numbers(after.exceeds(float(np.median(mean))), "P(theta > c)", 0.0, 1.0)
