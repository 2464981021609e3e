"""The public names and where they are defined: type checkers and the lazy import read the same list."""

from .bayes import bayes_rule as bayes_rule
from .bayes import mmse as mmse
from .channels.beta_prior import BetaPrior as BetaPrior
from .channels.gamma_prior import GammaPrior as GammaPrior
from .channels.normal_prior import NormalPrior as NormalPrior
from .channels.poisson import Poisson as Poisson
from .check import ModelWarning as ModelWarning
from .drift import Drift as Drift
from .errors import ChannelError as ChannelError
from .errors import EbformerError as EbformerError
from .errors import InputError as InputError
from .errors import KnownError as KnownError
from .estimators.base import Estimator as Estimator
from .estimators.beta import Beta as Beta
from .estimators.catalogue import CATALOGUE as CATALOGUE
from .estimators.catalogue import estimator as estimator
from .estimators.contract import check_estimator as check_estimator
from .estimators.erm_monotone import ErmMonotone as ErmMonotone
from .estimators.full_bayes import FullBayes as FullBayes
from .estimators.gamma import Gamma as Gamma
from .estimators.gamma_mixture import GammaMixture as GammaMixture
from .estimators.minimax import Minimax as Minimax
from .estimators.mle import Mle as Mle
from .estimators.normal import NormalMeans as NormalMeans
from .estimators.npmle.estimator import Npmle as Npmle
from .estimators.npmle_em import NpmleEm as NpmleEm
from .estimators.oracle import Oracle as Oracle
from .estimators.pretrained import Pretrained as Pretrained
from .estimators.priorformer import Priorformer as Priorformer
from .estimators.robbins import Robbins as Robbins
from .looks import Looks as Looks
from .prior import Prior as Prior
from .rule import Convergence as Convergence
from .rule import Rule as Rule
from .scikit_learn import EmpiricalBayes as EmpiricalBayes
from .tables.frames import estimate as estimate
from .tables.frames import estimate_many as estimate_many
from .tables.frames import fit as fit
from .tables.frames import load_fit as load_fit
from .tables.frames import shrink as shrink
from .tables.signals import signals as signals
from .tally import Tally as Tally
from .unseen_units import unseen as unseen

__version__: str
