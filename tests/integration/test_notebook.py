"""Every block of docs/notebook.md runs, one after the other as in a notebook, and prints what the page says."""

import contextlib
import io
import re

import pytest

from conftest import LONG, ROOT
from the_package import fre_e2t  # noqa: F401 (found, or skipped)



def blocks(page):
    """(line, code, what it prints or None) of each block."""
    for match in re.finditer(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", page, re.S | re.M):
        yield page[:match.start()].count("\n") + 2, match.group(1), match.group(2)


@pytest.mark.skipif(not LONG, reason="make check-python runs it")
def test_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names, found = {}, list(blocks((ROOT / "docs" / "notebook.md").read_text()))
    assert len(found) > 5
    for line, code, printed in found:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * line + code, "docs/notebook.md", "exec"), names)  # pylint: disable=exec-used
        assert printed is None or out.getvalue() == printed, f"docs/notebook.md:{line}"
    assert len(names["release"]) > 0
