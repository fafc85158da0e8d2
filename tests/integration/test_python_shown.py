"""What the Python package shows: releases and plans on a terminal and in a notebook, bars, names, types."""

import html
import importlib
import inspect
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import types

import pytest

from conftest import SEED, TIMEOUT, texts
from the_package import PACKAGE, fre_e2t

np = pytest.importorskip("numpy")
_call, _errors = importlib.import_module("fre_e2t._call"), importlib.import_module("fre_e2t._errors")
_spark = importlib.import_module("fre_e2t.spark")
_shown, _synthesize = importlib.import_module("fre_e2t._shown"), importlib.import_module("fre_e2t._synthesize")

PLAIN = {"epsilon": 8, "threshold": 40, "population": 100000, "inverter": "none", "user": False}


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A ledger of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def line(text, users, **more):
    return {"text": text, "users": users, "confidence": .9, "level": "grid", "group": None, **more}


# ---- names and types ------------------------------------------------------------------------------------

def test_only_what_is_meant_for_users_is_offered():
    assert {n for n in dir(fre_e2t) if not n.startswith("__")} == set(fre_e2t.__all__)
    public = {n for n, v in vars(fre_e2t).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)}
    assert public == set(fre_e2t.__all__)
    assert all(getattr(fre_e2t, n).__module__ == "fre_e2t" and getattr(fre_e2t, n).__doc__ for n in fre_e2t.__all__)


@pytest.mark.parametrize("function, options, inherited", [
    (fre_e2t.synthesize, _synthesize.Options, {}),
    (_spark.synthesize, _spark.Options, _synthesize.Common.__annotations__),
])
def test_types_of_synthesize(function, options, inherited):
    parameters = inspect.signature(function).parameters
    typed = {n: p.annotation for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY and n != "dry_run"}
    told = {n: t.__forward_arg__ for n, t in options.__annotations__.items() if n not in inherited}
    assert told == typed


PROGRAM = """
import numpy as np
import numpy.typing as npt
import fre_e2t
import fre_e2t.spark

def work(rows: list[dict[str, str]]) -> None:
    release = fre_e2t.synthesize(rows, epsilon=4, text="message", user=False, levels="auto")
    release.report("r.html")
    line, some, table = release.texts[0]["text"], release.texts[:3].to_list(), release.texts.to_pandas()
    dry = fre_e2t.synthesize(rows, dry_run=True)
    x: npt.NDArray[np.float32] = fre_e2t.embed(["a"])
    print(line, some, table, dry["tau"], fre_e2t.invert(x), fre_e2t.plan(4).statement, fre_e2t.__version__)
    again: fre_e2t.Release = fre_e2t.load("x")
    try:
        print(fre_e2t.evaluate(again, rows)["text"], fre_e2t.ledger()["entries"])
    except fre_e2t.UsageError as error:
        print(error.parameter)

def where_the_data_is(frame: object) -> fre_e2t.Release:
    print(fre_e2t.spark.synthesize(frame, dry_run=True, threshold=100).statement)
    return fre_e2t.spark.synthesize(frame, 4, text="message", user="customer", levels="auto", partitions=9)
"""


def test_a_typed_program(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": PACKAGE if PACKAGE != "installed" else ""}
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "program.py"], cwd=tmp_path, env=env,
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout


# ---- a release and a plan ---------------------------------------------------------------------------------

NEAR = [line("Say it to me", 30, group=1), line("Tell me a joke", 60, group=0), line("Tell a joke", 50, group=0),
        line("Joke please", 70, group=1, confidence=.2)]


def test_near_wordings_stand_together():
    assert _shown.as_text(NEAR).splitlines() == [
        "4 cells released; near wordings stand together, the largest first", "",
        "  group    users  confidence  text",
        "    110       60  0.90        Tell me a joke",
        "              50  0.90        Tell a joke",
        "    100       70  0.20?       Joke please",
        "              30  0.90        Say it to me",
        "? more likely wrong than right (confidence below .5)"]
    shown = _shown.as_html(NEAR)
    words = [html.unescape(w) for w in re.findall(r">([^<>]+)<", shown)]
    assert [w for w in words if "oke" in w or "Say" in w] == ["Tell me a joke", "Tell a joke", "Joke please", "Say it to me"]
    assert "0.20?" in words and "110" in words


def test_themes_stand_together():
    lines = [line("a", 10, group=0, level="256", theme=4), line("b", 20, group=0, level="grid", theme=7),
             line("c", 15, group=1, level="256", theme=7), line("d", 5, group=2, level="grid", theme=None)]
    found = _shown.groups(lines)
    assert [[x["text"] for x in g.lines] for g in found] == [["b", "c", "a"], ["d"]]
    assert "theme    users" in _shown.as_text(lines) and "lines of one theme" in _shown.as_html(lines)


def test_lines_of_the_grid_have_themes_too():
    lines = [line("a", 10, group=0, theme=4), line("b", 20, group=1, theme=4), line("c", 30, group=2, theme=7)]
    assert "theme    users" in _shown.as_text(lines) and "lines of one theme" in _shown.as_html(lines)


# Lines (users, group, theme) and how they stand together, as in tests/unit/service/release/test_release_shown.c.
STAND = [
    ([(40, 1), (95, 0), (60, 1), (10, 1)], "110: 2 0 3, 95: 1"),
    ([(40, 4000000000), (50, 7), (30, 4000000000)], "70: 0 2, 50: 1"),
    ([(60, None, 1), (90, None, 1), (60, None, None)], "150: 1 0, 60: 2"),
    ([(60, None), (90, None), (60, None)], "90: 1, 60: 0, 60: 2"),
    ([(60, 2, 3), (90, 2, 7), (80, 0, 7), (70, 1, 3)], "230: 1 2 0, 70: 3"),
    ([(60, 2, 3), (90, 2, None), (50, 1, 3)], "90: 1, 60: 0, 50: 2"),
    ([(60, 2, 3), (60, 2, 7), (50, 1, 7)], "120: 0 1, 50: 2"),
    ([(50, 1), (50, 0), (50, 1), (50, 0)], "100: 0 2, 100: 1 3"),
    ([(50, 0, 1), (50, 0, 1), (70, 1, 2), (30, 1, 2), (100, None, None)], "100: 4, 100: 2 3, 100: 0 1"),
]


@pytest.mark.parametrize("given,found", STAND)
def test_lines_stand_together_as_in_the_program(given, found):
    lines = [line(i, users, group=group, theme=theme[0] if theme else None) for i, (users, group, *theme) in enumerate(given)]
    assert ", ".join(f"{g.users:.0f}: {' '.join(str(x['text']) for x in g.lines)}" for g in _shown.groups(lines)) == found


def test_large_releases_are_cut():
    lines = [line(f"text {i} {j}", 100 - i - j, group=i) for i in range(20) for j in range(5)]
    text, shown = _shown.as_text(lines), _shown.as_html(lines)
    for said in (text, shown):
        assert said.count("text ") >= 36 and "and 2 more" in said and "and 8 smaller groups" in said
    assert _shown.as_text([]) == "0 cells released" and "<table>" not in _shown.as_html([])


def test_nothing_leaves_the_columns():
    odd = [line("x" * 200, 1e6), line("\u754c" * 100, 1234567), line("a\nb\r\x1b[31m\u202e", 10), line(None, 5),
           line("far", 4, similarity=.2, around="A public one"), {"text": "old", "users": 3}]
    text = _shown.as_text(odd)
    for row in text.splitlines():
        assert sum(2 if c == "\u754c" else 1 for c in row) <= 80
    assert "\x1b" not in text and "\u202e" not in text and "\r" not in text
    assert "(no text was found)" in text and "around: A public one" in text and "x\u2026" in text


def test_what_stands_for_a_text():
    """As on the terminal: a public text where its own is far, not where nobody knows; a word where none was sought."""
    unknown = line("own", 5, around="A public one")
    for show in (_shown.as_text, _shown.as_html):
        assert "own" in show([unknown]) and "A public one" not in show([unknown])
        assert "A public one" in show([{**unknown, "similarity": .2}])
        assert "(centroid only)" in show([line(None, 5)]) and "(unsound)" in show([line(None, 5, unreadable="unsound")])
        assert "(no text was found)" in show([line(None, 5), line("a", 4)])


def test_shown_in_words(alone):
    release = fre_e2t.synthesize(texts(), **PLAIN, ledger=False, seed=SEED[1])
    cells = len(release)
    assert repr(release) == f"<Release: {cells} cells, NOT PRIVATE>"
    assert str(release).startswith(f"NOT PRIVATE\n{cells} cells released")
    assert repr(release.texts) == f"<Texts: {cells} lines>" and str(release.texts).startswith(f"{cells} cells released")
    assert "pre-wrap" in release._repr_html_() and "<table>" in release.texts._repr_html_()
    assert b"fre_e2t._" not in pickle.dumps(release)
    assert pickle.loads(pickle.dumps(release)) == release


def test_a_plan_in_words():
    plan = fre_e2t.plan(4, population=100_000, levels="grid,1024")
    text, shown = str(plan), plan._repr_html_()
    assert text.splitlines()[0].split() == ["epsilon", "4"] and max(map(len, text.splitlines())) <= 80
    assert "None" not in text and "None" not in shown
    for said in (text, shown):
        assert "levels" in said and "1024" in said and "count_sigma" in said
        assert "noise_at_threshold" in said and "codebook" not in said.split("Privacy statement", maxsplit=1)[0]
    assert "Privacy statement" in shown and eval(repr(plan)) == dict(plan)  # pylint: disable=eval-used


def test_a_dry_run_says_what_was_read(alone):
    dry = fre_e2t.synthesize([*texts(), None], **PLAIN, levels="grid,256", dry_run=True)
    assert f"records {len(texts())}, " in str(dry) and "invalid 1" in str(dry) and "codebook" not in str(dry)
    assert f">{len(texts())}<" in dry._repr_html_() and pickle.loads(pickle.dumps(dry)).not_for_publication is None


def test_the_noise_is_the_program_s(fre):
    for levels in ("grid", "grid,1024", "1024,256"):
        told = fre("plan", "--epsilon", "4", "--levels", levels).out
        noise = float(re.search(r"noise at threshold +([0-9.]+)", told)[1])
        assert fre_e2t.plan(4, levels=levels).noise_at_threshold == pytest.approx(noise, abs=2e-4)
    assert fre_e2t.account(sampling_rate=.5, tau=20, sigma=1, population=1000).noise_at_threshold is None


def test_a_release_in_memory_has_a_name_in_the_ledger(alone, tmp_path):
    fre_e2t.synthesize(texts(), **PLAIN)
    fre_e2t.synthesize(texts(), **PLAIN, output=tmp_path / "out")
    first, second = (e["what"] for e in fre_e2t.ledger()["entries"])
    assert first == "a release in memory (Python)" and second == str(tmp_path / "out")


# ---- bars -------------------------------------------------------------------------------------------------

class Shown:
    """A bar's states."""

    def __init__(self):
        self.lines = []

    def update(self, data, raw):
        assert raw
        self.lines.append(data["text/plain"])


def test_a_bar_of_a_notebook_is_changed_in_place(monkeypatch):
    shown, display = Shown(), types.ModuleType("IPython.display")

    def first(data, raw, display_id):
        assert display_id
        shown.update(data, raw)
        return shown

    display.display = first
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(_call, "_REDRAWN", 0)
    bar = _call._Output()
    bar.clear()
    for state in ("a", "a", "b", "b"):
        bar.draw(state)
    bar.clear()
    assert shown.lines == ["a", "b", ""]


def test_a_bar_of_a_terminal_is_drawn_when_it_changes(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "11")
    bar = _call._Line()
    for state in ("embedding", "embedding", "b", "a line that is longer"):
        bar.draw(state)
    bar.clear()
    bar.clear()
    assert capsys.readouterr().err == "\rembedding\rb        \ra line tha\r          \r"


def test_notebooks_of_others_are_notebooks(monkeypatch):
    shell = type("Shell", (type("ZMQInteractiveShell", (), {}),), {})()
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert _call._in_notebook()
    module.get_ipython = lambda: None
    assert not _call._in_notebook()


def test_numbers_as_people_read_them(alone):
    """Evaluations, audits and ledgers: a cell that ends in one had a thousand lines of curves."""
    release = fre_e2t.synthesize(texts(), **PLAIN, ledger=False, seed=SEED[1])
    measured = fre_e2t.evaluate(release, texts(), threshold=40)
    fre_e2t.synthesize(texts(), **PLAIN, data_name="may & june")
    audit = fre_e2t.audit(4, population=100_000, threshold=60, runs=1000, dimension=16)
    for found, words in ((measured, ["centroid.frequent   precision 1", "missing: metric text"]),
                         (fre_e2t.ledger(), ["totals: name may & june, releases 1"]),
                         (audit, ["verdict             not refuted", "scenarios: name added"])):
        shown = str(found)
        assert all(word in shown for word in words) and len(shown.splitlines()) < 100
        assert max(map(len, shown.splitlines())) <= 80
        page = found._repr_html_()
        assert all(html.escape(word.split()[-1]) in page for word in words) and len(page) < 20000
        assert not re.search("[0-9a-f]{16}", shown + page) and "None" not in shown + page
        assert json.loads(json.dumps(found)) == found == pickle.loads(pickle.dumps(found))


def test_what_is_left_counts_down():
    bar = _call.Progress(False)
    bar._since, bar._at = 100.0, 110.0
    assert [bar._left(.5, now) for now in (110, 113, 119.8, 200)] == [", 10 s left", ", 7 s left", "", ""]
    assert bar._left(0, 110) == ""


# ---- interruption and sentences ---------------------------------------------------------------------------

def test_an_abandoned_plan_keeps_no_interruption():
    before, go = signal.signal(signal.SIGINT, signal.default_int_handler), threading.Event()
    plan = threading.Thread(target=lambda: _call.in_thread(go.wait, pure=True))
    try:
        plan.start()
        timer = threading.Timer(.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            _call.in_thread(lambda: time.sleep(2))
        timer.join()
        assert len(fre_e2t.embed(["and on it goes"])) == 1
    finally:
        go.set()
        plan.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("begins", [True, False])
def test_interrupted_as_the_thread_begins(monkeypatch, begins):
    """Either it has begun, and has ended when the interruption comes out, or it never does anything."""
    start, later, ended = threading.Thread.start, [], []

    def interrupted_start(thread):
        if begins:
            start(thread)
        later.append(thread)
        raise KeyboardInterrupt

    def work():
        while not _call._interrupted:
            time.sleep(.01)
        ended.append(_call._running)

    monkeypatch.setattr(threading.Thread, "start", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        _call.in_thread(work)
    monkeypatch.undo()
    assert ended == ([1] if begins else []) and (_call._running, _call._interrupted) == (0, False)
    if not begins:
        later[0].start()
        later[0].join()
        assert not ended


def test_files_are_named_as_arguments():
    assert _errors.named("choose another with {embedder} FILE") == "choose another with embedder=FILE"
    assert _errors.named("name it with {user_file} FILE, or {text_field}") == "name it with user=FILE, or text"


def test_rows_of_zeros():
    with pytest.raises(fre_e2t.DataError, match="embedding_model returned nothing but zeros"):
        fre_e2t.synthesize(texts(), **PLAIN, ledger=False, embedding_model=lambda some: np.zeros((len(some), 4)))
    with pytest.raises(fre_e2t.DataError, match="embeddings holds nothing but zeros"):
        fre_e2t.synthesize(embeddings=np.zeros((100, 4)), **PLAIN, ledger=False)


# ---- what notebooks hand over and get back ------------------------------------------------------------------

@pytest.mark.parametrize("wrap", [np.asarray, lambda names: importlib.import_module("pandas").Series(names)])
def test_users_in_a_column(wrap):
    try:
        names = wrap([f"u{i}" for i in range(len(texts()))])
    except ModuleNotFoundError:
        pytest.skip("pandas is not here")
    x = fre_e2t.embed(texts())
    given = {**PLAIN, "ledger": False, "embedding_model": "default", "seed": SEED[1]}
    assert fre_e2t.synthesize(embeddings=x, **{**given, "user": names}) == \
        fre_e2t.synthesize(embeddings=x, **{**given, "user": list(names)})
    with pytest.raises(fre_e2t.UsageError, match="user is the name of a column"):
        fre_e2t.synthesize(texts(), **{**PLAIN, "user": names})
    with pytest.raises(fre_e2t.UsageError, match="user is the name of a column"):
        fre_e2t.synthesize(texts(), **{**PLAIN, "user": names}, embedding_model=fre_e2t.embed)
    with pytest.raises(fre_e2t.DataError, match="user names 0 users"):
        fre_e2t.synthesize(embeddings=x, **{**given, "user": names[:0]})


def test_tables_have_the_same_columns(monkeypatch):
    """polars takes a sequence of dicts as one, and would have other columns than an Arrow table."""
    texts_of = fre_e2t.synthesize(texts(), **PLAIN, ledger=False, seed=SEED[1]).texts
    polars = types.ModuleType("polars")
    polars.DataFrame = lambda table: table
    monkeypatch.setitem(sys.modules, "polars", polars)
    given = texts_of.to_polars()
    assert hasattr(given, "__arrow_c_stream__") and not hasattr(given, "__iter__") and not hasattr(given, "__len__")
