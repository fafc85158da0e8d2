"""The Python package that is tested: the build tree's, whose folder FRE_PYTHON_PACKAGE names, or, where that is
"installed", the one that this interpreter has.  What imports this is skipped where there is none."""

import importlib
import os
import sys

import pytest

pytest.importorskip("numpy")
PACKAGE = os.environ.get("FRE_PYTHON_PACKAGE", "")
if PACKAGE != "installed":
    if not PACKAGE:
        pytest.skip("the Python package is not built here: it needs python3-dev and python3-cffi", allow_module_level=True)
    pytest.importorskip("_cffi_backend")
    sys.path.insert(0, PACKAGE)
fre_e2t = importlib.import_module("fre_e2t")
