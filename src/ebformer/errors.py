"""Every complaint ebformer makes: one sentence that says what is wrong, where, and what to do."""

LONGEST = 600
"""Characters of a complaint: what it quotes may be a whole file."""


def one_line(text: object, longest: int = LONGEST) -> str:
    """A text on one line, without what a terminal would obey, its middle left out where it is too long.

    >>> one_line("two\\nlines\\x1b[2J"), len(one_line("x" * 10**6))
    ('two lines [2J', 600)
    """
    line = str(text)
    if len(line) > 4 * longest:  # the rest is not looked at
        line = line[: 2 * longest] + line[-2 * longest :]
    line = "".join(c if c.isprintable() else " " for c in line)
    if len(line) <= longest:
        return line
    end = longest // 4
    return f"{line[: longest - end - 5]} ... {line[-end:]}"


class EbformerError(Exception):
    """The base of all errors raised on purpose; catching it catches them all. Each says its sentence on one line.

    >>> from ebformer.tally import Tally
    >>> try:
    ...     Tally.of([3, -1])
    ... except EbformerError as error:
    ...     print(type(error).__name__)
    InputError
    """

    longest = LONGEST

    def __init__(self, sentence: object = "") -> None:
        super().__init__(one_line(sentence, self.longest))


class InputError(EbformerError, ValueError):
    """The observations, a prior or an option cannot be used as given.

    >>> from ebformer.prior import Prior
    >>> Prior([1.0], [0.5])
    Traceback (most recent call last):
    ...
    ebformer.errors.InputError: the weights of a prior add up to 1, not 0.5
    """


class NoPriorError(EbformerError, TypeError):
    """A posterior was asked of a method that estimates rates without estimating a prior."""


class KnownError(EbformerError, ValueError):
    """Units differ in what is known of them, such as their exposure, and a method or a question cannot do with it.

    >>> from ebformer.estimators.catalogue import estimator
    >>> from ebformer.tally import Tally
    >>> try:
    ...     estimator("robbins")(Tally.of([3, 1], exposure=[1.0, 2.0]))
    ... except KnownError as error:
    ...     print(str(error).partition(";")[0])
    robbins treats all units alike and cannot use unequal exposures
    """


class ChannelError(EbformerError, ValueError):
    """A method was given observations of a channel that it does not serve.

    >>> from ebformer.estimators.catalogue import estimator
    >>> from ebformer.tally import Tally
    >>> estimator("gamma")(Tally.of([3, 1], trials=5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ebformer.errors.ChannelError: gamma cannot fit successes with trials; use a method that can, such as priorformer...
    """


class WeightsError(EbformerError, ValueError):
    """A file of network weights is damaged, hostile or does not fit its architecture."""


class ConvergenceError(EbformerError, RuntimeError):
    """An iterative method could not certify its answer."""


class ContractError(EbformerError, AssertionError):
    """A method breaks a law that every estimator obeys."""

    longest = 10_000
