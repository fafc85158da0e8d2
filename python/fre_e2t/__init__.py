"""Learn what many people write without reading what anyone wrote.

`synthesize` turns private texts into synthetic ones under differential privacy; `plan` and `account` say what a budget
leads to; `load` reads a release; `evaluate`, `audit` and `ledger` tell how good it is, attack the claim, and show what
was spent; `embed`, `invert` and `score` are the steps by themselves.  `python -m fre_e2t` is the whole program.

Nothing is printed but a bar on a terminal or in a notebook; logging.getLogger("fre_e2t") tells the rest.  Two things
concern the whole process: an interruption (Ctrl-C) ends all calls that run, and `harden()`.
"""

from ._account import account
from ._audit import audit
from ._errors import (AgainError, DataError, Error, ExistsError, InfeasibleError, InputOutputError, InternalError,
                      LimitError, MissingError, ModelError, OutOfMemoryError, RefusedError, UsageError)
from ._errors import name_parameters_of as _name_parameters_of
from ._language import embed, invert, score
from ._ledger import ledger
from ._plan import Plan, plan
from ._process import __version__ as __version__, bundled_data, harden
from ._release import Release, Texts, load
from ._study import evaluate
from ._synthesize import synthesize

__all__ = [
    "AgainError", "DataError", "Error", "ExistsError", "InfeasibleError", "InputOutputError", "InternalError",
    "LimitError", "MissingError", "ModelError", "OutOfMemoryError", "Plan", "RefusedError", "Release", "Texts",
    "UsageError", "account", "audit", "bundled_data", "embed", "evaluate", "harden", "invert", "ledger", "load", "plan",
    "score", "synthesize",
]

for _name in __all__:  # what tracebacks and pickles call it
    globals()[_name].__module__ = "fre_e2t"
del _name
_name_parameters_of(account, audit, bundled_data, embed, evaluate, invert, ledger, load, plan, score, synthesize,
                    Release.report, Release.save)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"]
