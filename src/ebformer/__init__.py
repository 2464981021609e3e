"""Empirical Bayes: pre-trained transformers and certified classical estimators.

>>> import ebformer as eb
>>> rule = eb.estimator("gamma")(eb.Tally.of([0, 0, 3, 1, 12, 0, 2]))
>>> rule([0, 3, 20]).round(2)
array([ 0.37,  2.94, 17.49])
>>> low, high = rule.posterior(3).interval(0.9)

Names load when they are first used, so that `import ebformer` costs nothing.
"""

import sys

import lazy_loader

if sys.maxsize < 2**32 or sys.byteorder != "little":  # as counts and weights are written
    raise ImportError("ebformer needs a 64-bit Python on a little-endian machine")

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.remove("EmpiricalBayes")  # which needs scikit-learn
