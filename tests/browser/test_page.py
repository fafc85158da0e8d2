"""Reports in a browser: silent, without a request, what they show is what the files say, usable by keyboard
alone, and harmless whatever the texts are.  Skipped where there is no Chromium; FRE_BROWSER=required
(`make check-browser`) fails there.  FRE_SCREENSHOTS=FOLDER keeps what was looked at."""

import hashlib
import json
import os
import pathlib
import re
import subprocess

import pytest

import made
from browser import Browser, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("FRE_E2T", str(ROOT / "build" / "fre-e2t")))
SIZES = [(360, False), (360, True), (1600, False), (1600, True)]

pytestmark = pytest.mark.skipif(program() is None and os.environ.get("FRE_BROWSER") != "required",
                                reason="no Chromium here (on Debian: apt-get install chromium)")


@pytest.fixture(scope="module")
def browser():
    page = Browser()
    yield page
    page.close()


def report(folder, *more, name="page.html"):
    out = folder.parent / name
    done = subprocess.run([PROGRAM, "report", folder, "-o", out, "--quiet", *map(str, more)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return out


def hostile_lines():
    return [made.line(text, 1000 - 10 * i, paraphrases=[text, "plain"], confidence=0.95 - 0.03 * i, confidence_exact=0.1) for i, text in enumerate(made.HOSTILE)]


def themes():
    """Two themes: one with all levels and a near wording, one of a single line."""
    near = {"centre": None, "parent": 5, "theme": 1}
    return [made.line("book a table", 120.5, **near), made.line("book me a table", 110.25, **near),
            made.line("reserve dinner", 90, level="64", centre=5, parent=1, theme=1, texts=["dinner for two", "a table by the window"], around="a public sentence"),
            made.line("eating out", 80.75, level="8", centre=1, theme=1, similarity=0.7), made.line("tell a joke", 70, level="8", centre=2, theme=2),
            made.line(None, 60, level="64", centre=9, parent=2, theme=2, unreadable="no text near it was found", around=None)]


CASES = {"hostile": hostile_lines, "themes": themes, "none": lambda: [], "one": lambda: [made.line("alone", 500)],
         "untold": lambda: [made.line(None, 300 - i, confidence=None) for i in range(5)]}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    lines = CASES[request.param]()
    near = [0, 0, *range(2, len(lines))] if request.param == "themes" else None
    return lines, made.release(tmp_path / "release", lines, near=near)


def keep(browser, name):
    folder = os.environ.get("FRE_SCREENSHOTS")
    if folder:
        pathlib.Path(folder, name + ".png").write_bytes(browser.screenshot(whole=True))


def is_silent(browser, path):
    assert browser.complaints() == []
    assert browser.requests() == ["file://" + str(path)]
    assert browser.run("window.harmed === undefined && document.querySelectorAll('img, iframe, object, embed, link, base, form').length === 0")



def unfold(browser):
    """Every row is made and opened, as deep as it goes."""
    closed = "document.querySelectorAll('details:not([open])')"
    while browser.run(f"dispatchEvent(new Event('beforeprint')); {closed}.length"):
        browser.run(closed + ".forEach(d => { d.open = true; })")
        browser.settle()


# Of all text in sight: the ratio of its colour to what lies behind it, where it is too low.
CONTRAST = """(() => {
    const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
    const rgb = s => s.match(/[\\d.]+/g).map(Number);
    const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
    const bad = [];
    for (const e of document.querySelectorAll('body *:not(svg):not(svg *):not(script):not(option)')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility())
            continue;
        const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < 4.5)
            bad.push(e.className + ': ' + ratio.toFixed(2));
    }
    return bad;
})()"""


def test_silent_and_readable(browser, case, tmp_path, request):
    lines, folder = case
    (tmp_path / "e.json").write_text(json.dumps(made.evaluation(lines, against=[made.evaluation(lines, name="<b>other</b>")])))
    path = report(folder, "--evaluation", tmp_path / "e.json")
    for width, dark in SIZES:
        browser.size(width, dark=dark)
        browser.open(path)
        browser.settle()
        keep(browser, f"{request.node.callspec.id}-{width}-{'dark' if dark else 'light'}")
        unfold(browser)
        is_silent(browser, path)
        assert browser.run("document.documentElement.scrollWidth") == width
        assert browser.run(CONTRAST) == []
    assert len(browser.pdf()) > 10000
    assert browser.complaints() == []


# Tables of quality that are wider than what is seen of them.
CUT = "[...document.querySelectorAll('#quality .scroll')].filter(s => s.checkVisibility() && s.scrollWidth > s.clientWidth).map(s => s.textContent.slice(0, 60))"


@pytest.mark.parametrize("width", [1280, 1600])
def test_tables_are_seen_whole(browser, tmp_path, width):
    lines = themes()
    (tmp_path / "e.json").write_text(json.dumps(made.evaluation(lines, against=[made.evaluation(lines, name="other")])))
    browser.size(width)
    browser.open(report(made.release(tmp_path / "release", lines), "--evaluation", tmp_path / "e.json"))
    browser.settle()
    assert browser.run("document.querySelectorAll('#quality .scroll').length") > 5
    assert browser.run(CUT) == []


def test_tables_are_printed_whole(browser, tmp_path):
    lines = themes()
    (tmp_path / "e.json").write_text(json.dumps(made.evaluation(lines, against=[made.evaluation(lines, name="other")])))
    browser.size(718)  # A4 with margins of 1 cm
    browser.send("Emulation.setEmulatedMedia", media="print")
    try:
        browser.open(report(made.release(tmp_path / "release", lines), "--evaluation", tmp_path / "e.json"))
        browser.settle()
        assert browser.run("document.querySelectorAll('#quality .scroll').length") > 5
        assert browser.run(CUT) == []
    finally:
        browser.send("Emulation.setEmulatedMedia", media="")


def test_covered_is_of_the_evaluation(browser, tmp_path):
    """Not a share of the originals above a number of the release's own noisy counts."""
    lines = themes()
    evaluation = made.evaluation(lines)
    evaluation["all_levels"].update(covered=0.75, records=1500)
    evaluation["originals"] = 2000
    (tmp_path / "e.json").write_text(json.dumps(evaluation))
    browser.size(1280)
    browser.open(report(made.release(tmp_path / "release", lines), "--evaluation", tmp_path / "e.json"))
    assert "of all originals in them\n75 %\n1,500 of 2,000" in browser.run("document.querySelector('.figures').innerText").replace("\n\n", "\n")


@pytest.mark.parametrize("epsilon, words", [(1, "can hardly tell whether"), (4, "can tell only up to a point whether"), (10, "This promise is weak")])
def test_words_for_epsilon(browser, tmp_path, epsilon, words):
    """Whoever may become all but sure is not said to be hardly able to tell."""
    folder = made.release(tmp_path / "release", themes(), certified={"accountant": "joint", "epsilon": epsilon, "delta": 1e-7})
    browser.open(report(folder))
    assert browser.run("document.querySelector('.promise').innerText").count(words) == 1
    assert (epsilon == 1) == browser.run("document.querySelector('.promise').innerText.includes('hardly')")


def test_nothing_released_is_said_once(browser, tmp_path):
    evaluation = {**made.evaluation([]), "exact": dict.fromkeys(("frequent", "frequent_case_blind", "any", "any_case_blind"))}
    (tmp_path / "e.json").write_text(json.dumps(evaluation))
    browser.size(1280)
    browser.open(report(made.release(tmp_path / "release", []), "--evaluation", tmp_path / "e.json"))
    browser.settle()
    text = browser.run("document.body.innerText")
    assert "No group was released." in text and "released without texts" not in text and "of the texts are" not in text


def shown(text):
    """As the page shows a text: clean() of the template."""
    text = re.sub(r"[\t\n\v\f\r\u0085\u2028\u2029]+", " ", text)
    return re.sub("[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]", "\ufffd",
                  re.sub("[\U000e0000-\U000e007f]", "\ufffd", text))


def test_texts_are_the_release_s(browser, case):
    lines, folder = case
    browser.size(1600)
    browser.open(report(folder))
    unfold(browser)
    rows = browser.run("""[...document.querySelectorAll('details.leaf')].map(d => [d.querySelector('.text bdi').textContent,
        d.querySelector('.users').firstChild.data, d.querySelector('.trust').textContent, d.querySelector('.body').textContent])""")
    expected = [[shown(entry["text"]) if entry["text"] is not None else "around: " + entry["around"] if entry["around"] else "no text",
                 f"{int(entry['users'] + 0.5):,}"] for entry in lines]
    assert sorted(r[:2] for r in rows) == sorted(expected)
    for text, users, mark, body in rows:
        entry = next(e for e, x in zip(lines, expected) if x == [text, users])
        assert f"count{entry['count']:,}" in body
        assert all(shown(t) in body for t in entry["texts"] + entry["paraphrases"])
        if entry["text"] is not None:
            value = entry.get("confidence")
            assert (f"{value:.2f}" if value is not None else f"{entry['similarity']:.3f}") in mark
    assert browser.run("document.querySelectorAll('.point').length") == len(lines)


def test_tree(browser, tmp_path):
    lines = themes()
    browser.size(1600)
    browser.open(report(made.release(tmp_path / "release", lines, near=[0, 0, 2, 3, 4, 5])))
    assert browser.run("[...document.querySelectorAll('#tree > li > details > summary .text')].map(t => t.textContent)") == ["book a table4 lines", "tell a joke2 lines"]
    assert browser.run("document.querySelector('#tree .users').firstChild.data") == "402"  # 120.5 + 110.25 + 90 + 80.75
    unfold(browser)
    above = browser.run("""[...document.querySelectorAll('details.leaf')].map(d => [d.querySelector('.text bdi').textContent,
        d.parentElement.closest('details') ? d.parentElement.closest('details').querySelector('.text bdi').textContent : null])""")
    assert ["book me a table", "book a table"] in above and ["book a table", "book a table"] in above
    assert "level64" in browser.run("document.querySelector('#tree').textContent")


@pytest.mark.parametrize("stated", [False, True])
def test_themes_are_those_of_the_lines(browser, tmp_path, stated):
    """As many as the terminal counts: lines of a group stand in the theme of the one with the most users, and nothing else
    joins what `theme` parts."""
    lines = themes() + [made.line("book us a table", 50, centre=None, parent=5, theme=3), made.line("a table for us", 45, centre=None, parent=5, theme=3),
                        made.line("of no theme", 40), made.line("of none either", 30)]
    if stated:  # all of a group say nearly the same
        lines = [{**line, "group": group} for line, group in zip(lines, [0, 0, 1, 2, 3, 4, 0, 0, 5, 6])]
    near = [0, 0, 2, 3, 4, 5, 0, 0, 8, 9]
    browser.size(1600)
    browser.open(report(made.release(tmp_path / "release", lines, near=near)))
    assert f"groups in {4 if stated else 5} themes" in browser.run("document.querySelector('#overview').innerText")
    heads = browser.run("[...document.querySelectorAll('#tree > li > details > summary .text')].map(t => t.textContent)")
    apart = [] if stated else ["book us a table2 lines"]
    assert heads == [f"book a table{6 if stated else 4} lines", "tell a joke2 lines", *apart, "of no theme", "of none either"]


def test_whose_evaluation_it_is(browser, tmp_path):
    """One that names its release is just shown; of an older one it is said that nobody knows."""
    lines = themes()
    folder = made.release(tmp_path / "release", lines)
    browser.size(1600)
    names = [folder / name for name in ("release.json", "synthetic.jsonl", "centroids.npy")]
    own = hashlib.sha256(b"".join(path.read_bytes() for path in names)).hexdigest()
    for sha, said in ((own, False), (None, True)):
        (tmp_path / "e.json").write_text(json.dumps({**made.evaluation(lines), "release_sha256": sha}))
        browser.open(report(folder, "--evaluation", tmp_path / "e.json", name=f"{said}.html"))
        assert ("Perhaps of another release." in browser.run("document.body.innerText")) is said


def test_numbers_are_the_evaluation_s(browser, tmp_path):
    lines = themes()
    e = made.evaluation(lines, against=[made.evaluation(lines, name="other")])
    folder = made.release(tmp_path / "release", lines)
    (tmp_path / "e.json").write_text(json.dumps(e))
    browser.size(1600)
    browser.open(report(folder, "--evaluation", tmp_path / "e.json"))
    table = lambda caption: browser.run(f"""[...[...document.querySelectorAll('caption')].find(c => c.textContent.startsWith({json.dumps(caption)}))
        .parentElement.querySelectorAll('tbody tr')].map(r => [...r.children].map(c => c.textContent))""")
    for caption, kind in (("Against frequent", "frequent"), ("Against all", "all")):
        halves, unrelated = e["reference"]["halves"][kind], e["reference"]["unrelated"][kind]
        rows = table(caption)
        assert rows[0] == ["texts"] + [f"{e['text'][kind][m]:.3f} [{halves[m]:.3f} · {unrelated[m]:.3f}]" for m in ("precision", "recall", "f1", "l2")]
        halves, unrelated = e["reference"]["halves"]["cell"][kind], e["reference"]["unrelated"]["cell"][kind]
        assert rows[3] == ["cells"] + [f"{e['cell'][kind][m]:.3f} [{halves[m]:.3f} · {unrelated[m]:.3f}]" for m in ("precision", "recall", "f1", "l2")]
    for row, level in zip(table("Cells and distances"), e["levels"] + [e["all_levels"]]):
        beside = level["reference"]["halves"], level["reference"]["unrelated"]
        assert row[4] == f"{level['covered']:.3f} [{beside[0]['covered']:.3f} · –]"
        assert row[7] == f"{level['text_l2']:.3f} [{beside[0]['text_l2']:.3f} · {beside[1]['text_l2']:.3f}]"
        assert row[9] == f"{level['text']['frequent']['f1']:.3f} [{beside[0]['text']['frequent']['f1']:.3f} · {beside[1]['text']['frequent']['f1']:.3f}]"
    for row, level in zip(table("Labels by level"), e["levels"]):
        assert row[4] == f"{level['labels']['purity']:.3f} [{' · '.join(format(level['reference'][k]['labels']['purity'], '.3f') for k in ('halves', 'unrelated'))}]"
    assert table("F1, frequent")[4][1] == f"{e['curves']['text']['frequent']['f1'][4]:.4g}"
    assert table("t = 10 ")[2][-1] == f"{e['ssp']['at'][0]['bound_cell'][2]:.4g}"
    assert table("Mean distance")[3][1] == "–"
    assert table("Accuracy")[-1][1] == f"{e['classification']['linear']['real']['mean']:.3f} ± {e['classification']['linear']['real']['sd']:.3f}"
    assert table("Side by side")[1][2] == f"{e['against'][0]['text']['frequent']['precision']:.3f}"
    assert f"[{e['reference']['halves']['all']['f1']:.3f}]" in browser.run("document.querySelector('#overview').textContent")
    # Whatever else there is, known or not, stands in the table of everything.
    rows = dict(map(tuple, table("The evaluation as it was written")))
    assert rows["mauve.text.seeds"] == ", ".join(map(str, e["mauve"]["text"]["seeds"]))
    assert rows["against.0.text.all.l2" if "against.0.text.all.l2" in rows else "text.all.l2"]
    assert rows["seconds_scoring"] == str(e["seconds_scoring"])
    # The curves end where the numbers do: the last point of F1 on a scale from 0 to 1.
    path = browser.run("[...document.querySelectorAll('#quality figure')].find(f => f.textContent.startsWith('F1, frequent')).querySelector('path.main').getAttribute('d')")
    assert float(path.split()[-1]) == pytest.approx(210 - 34 - e["curves"]["text"]["frequent"]["f1"][-1] * (210 - 10 - 34), abs=0.06)


def test_an_evaluation_of_another_shape(browser, tmp_path):
    """Whatever stands under a key, the rest is drawn, and nothing is thrown."""
    lines = themes()
    folder = made.release(tmp_path / "release", lines)
    whole = made.evaluation(lines)
    keys = [k for k in whole if k not in ("originals", "synthetic", "levels", "centroids")]
    browser.size(1600)
    for i, junk in enumerate(({"frequent": 7, "all": "x", "halves": [], "at": [{}], "text": 5}, [None, "<b>"], "words", -1, None)):
        (tmp_path / "e.json").write_text(json.dumps({**whole, **{k: junk for k in keys}}))
        path = report(folder, "--evaluation", tmp_path / "e.json", name=f"{i}.html")
        browser.open(path)
        unfold(browser)
        is_silent(browser, path)
        assert browser.run("document.querySelectorAll('details.leaf').length") == len(lines)
        assert "δ, term by term" in browser.run("document.body.innerText") and browser.run("!document.getElementById('quality').hidden")


def test_a_release_of_another_shape(browser, tmp_path):
    """A folder that somebody made: nothing is thrown, and what can be drawn is."""
    keys = ("statement", "warnings", "models", "left_out", "certified", "version", "privacy_unit")
    browser.size(1600)
    for i, junk in enumerate(({"sha256": 7, "cells": "x"}, [None, 5, {"a": []}], "words", -1, 1e300, True)):
        folder = made.release(tmp_path / f"release{i}", themes(), **{k: junk for k in keys})
        page = report(folder, name=f"{i}.html")
        browser.open(page)
        unfold(browser)
        is_silent(browser, page)
        assert browser.run("document.querySelectorAll('details.leaf').length") == len(themes())
        assert "All parameters" in browser.run("document.getElementById('making').textContent")


def test_a_tree_without_end(browser, tmp_path):
    """Each line's public cell says the same as the next line, whose own says the same as the one behind it."""
    lines, n = [], 8000
    for i in range(n):
        lines += [made.line(f"wording {i}", 2 * n - i, level="64", centre=i, parent=i, group=i),
                  made.line(f"theme {i}", 1, level="8", centre=i, group=i + 1 if i + 1 < n else 0)]
    folder = made.release(tmp_path / "release", lines, levels=["64", "8"])
    page = report(folder)
    browser.size(1600)
    browser.open(page)
    is_silent(browser, page)
    assert browser.run("document.querySelectorAll('#tree > li').length") > 0


def test_not_private_is_said(browser, tmp_path):
    browser.size(1600)
    without = {"epsilon": None}
    for i, (about, said) in enumerate([({"private": False, "certified": None}, "Not private."),
                                       ({"certified": None, "parameters": without}, "release.json states no ε and δ")]):
        browser.open(report(made.release(tmp_path / f"release{i}", themes(), **about), name=f"{i}.html"))
        assert said in browser.run("document.querySelector('#overview').innerText")


def test_left_out_is_said(browser, tmp_path):
    browser.size(1600)
    browser.open(report(made.release(tmp_path / "release", themes(), left_out={"min_confidence": 0.9, "cells": 17})))
    assert "17 released groups are not here: the confidence of the text is below 0.9" in browser.run("document.querySelector('#overview').innerText")


def test_privacy_numbers(browser, tmp_path):
    joint = {"epsilon_fre": 1.00004321, "delta_fre": 3e-8, "epsilon_agg": 2.5, "delta_agg": 4e-8, "accountant": "paper"}
    browser.size(1600)
    browser.open(report(made.release(tmp_path / "release", themes(), parameters=joint, warnings=["<i>mind</i> this"])))
    text = browser.run("document.querySelector('#privacy').innerText")
    assert "1.767 × 10⁻⁸" in text and "8.188 × 10⁻⁸" in text and "9.955 × 10⁻⁸" in text  # rounded up
    assert "1.001" in text and "certified, jointly" in text
    overview = browser.run("document.querySelector('#overview').innerText")
    assert "98.3 %" in overview and "35.6 %" in overview and "1 in 10,000,000" in overview and "<i>mind</i> this" in overview


def press_until(browser, key, condition, most=60):
    for _ in range(most):
        browser.press(key)
        if browser.run(condition):
            return
    raise AssertionError(f"{condition} was never reached by {key}")


def test_keyboard_alone(browser, tmp_path):
    lines, near = made.many(200)
    lines[7]["text"] = "the one and only needle"
    browser.size(1600)
    browser.open(report(made.release(tmp_path / "release", lines, near=near)))
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0
    press_until(browser, "Tab", "document.activeElement.id === 'search'")
    browser.type("NEEDLE")
    assert browser.run("document.querySelectorAll('#tree > li').length") == 1
    assert browser.run("document.querySelector('mark').textContent") == "needle"
    assert browser.run("document.querySelector('.tally').textContent") == "1 line of 200"
    press_until(browser, "Tab", "document.activeElement.tagName === 'SUMMARY'")
    browser.press("Enter")
    browser.settle()
    assert browser.run("document.activeElement.parentElement.open")
    press_until(browser, "Tab", "document.activeElement.id === 'map'", 300)
    browser.settle()
    assert "needle" in browser.run("document.querySelector('.tip').textContent") and browser.run("!document.querySelector('.tip').hidden")
    # The others are visible again once the search is empty: arrows go among them, Enter to a row.
    browser.run("(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); })()")
    browser.settle()
    browser.press("Home")
    seen = {browser.run("document.getElementById('map').getAttribute('aria-activedescendant')")}
    for key in ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"] * 3:
        browser.press(key)
        seen.add(browser.run("document.getElementById('map').getAttribute('aria-activedescendant')"))
    assert len(seen) > 4 and None not in seen
    at = int(browser.run("document.getElementById('map').getAttribute('aria-activedescendant')")[1:])
    assert browser.run(f"document.getElementById('p{at}').getAttribute('aria-label')").startswith(lines[at]["text"])
    browser.press("Enter")
    browser.settle()
    assert lines[at]["text"] in browser.run("document.activeElement.textContent")
    first = browser.run("document.activeElement.textContent")
    browser.press("ArrowDown")
    assert browser.run("document.activeElement.tagName") == "SUMMARY" and browser.run("document.activeElement.textContent") != first
    is_silent(browser, tmp_path / "page.html")


def test_every_place_of_the_keyboard_has_a_name(browser, tmp_path):
    lines = themes()
    (tmp_path / "e.json").write_text(json.dumps(made.evaluation(lines)))
    browser.size(1600)
    browser.open(report(made.release(tmp_path / "release", lines), "--evaluation", tmp_path / "e.json"))
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    of = lambda node, key: (node.get(key) or {}).get("value")
    focusable = [n for n in nodes if not n["ignored"] and any(p["name"] == "focusable" and p["value"]["value"] for p in n.get("properties", []))]
    assert len(focusable) > 20
    assert [of(n, "role") for n in focusable if not of(n, "name") and of(n, "role") != "generic"] == []
    assert {"main", "banner", "navigation", "contentinfo", "search"} <= {of(n, "role") for n in nodes}
    headings = browser.run("[...document.querySelectorAll('h1, h2, h3')].filter(h => h.checkVisibility()).map(h => Number(h.tagName[1]))")
    assert headings[0] == 1 and headings.count(1) == 1 and all(b - a <= 1 for a, b in zip(headings, headings[1:]))


def test_long_texts_wrap_beside_a_point(browser, tmp_path):
    lines = [made.line("word " * 200, 900), made.line("x" * 1000, 800), made.line("short", 700)]
    for width in (360, 1600):
        browser.size(width)
        browser.open(report(made.release(tmp_path / f"release{width}", lines), name=f"{width}.html"))
        for i in range(len(lines)):
            browser.run(f"document.getElementById('p{i}').dispatchEvent(new PointerEvent('pointerover', {{bubbles: true}}))")
            browser.settle()
            left, right = browser.run("(() => { const b = document.querySelector('.tip').getBoundingClientRect(); return [b.left, b.right]; })()")
            assert 0 <= left < right <= width
            assert browser.run("document.documentElement.scrollWidth") == width
            assert shown(lines[i]["text"].strip())[:40] in browser.run("document.querySelector('.tip').textContent")


def test_ten_thousand(browser, tmp_path):
    lines, near = made.many(10000)
    browser.size(1600)
    browser.open(report(made.release(tmp_path / "release", lines, near=near)))
    first = browser.run("document.querySelectorAll('#tree summary').length")
    assert 0 < first <= 180  # rows are made when they are wanted
    assert browser.run("document.querySelectorAll('.point').length") == 10000
    print("opened in", round(browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd")), "ms")
    browser.run("document.querySelector('.rest').scrollIntoView()")
    browser.settle()
    assert browser.run("document.querySelectorAll('#tree summary').length") > first
    browser.run("document.getElementById('search').focus()")
    browser.type(lines[9876]["text"].split()[-1])
    assert lines[9876]["text"] in browser.run("document.querySelector('#tree').textContent")
    browser.run("(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); })()")
    browser.settle()
    least = min(range(len(lines)), key=lambda i: lines[i]["users"])
    browser.run(f"document.getElementById('p{least}').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert lines[least]["text"] in browser.run("document.activeElement.textContent")
    is_silent(browser, tmp_path / "page.html")


def test_public_holds_nothing_private(browser, tmp_path):
    lines = themes()
    numbers = made.Numbers()
    e = made.evaluation(lines, numbers, against=[made.evaluation(lines, numbers, name="SECRET-NAME")])
    folder = made.release(tmp_path / "SECRET-FOLDER", lines)
    (tmp_path / "SECRET-EVALUATION.json").write_text(json.dumps(e))
    private = report(folder, "--evaluation", tmp_path / "SECRET-EVALUATION.json", name="private.html").read_text()
    page = report(folder, "--public")
    public = page.read_text()
    assert len(numbers.given) > 1000
    for number in numbers.given:
        written = {f"{number:.17g}".strip("0.")[:7], str(number).strip("0.")[:7]}  # by C, by JavaScript
        assert any(digits in private for digits in written)  # the search would find it
        assert not any(digits in public for digits in written)
    for secret in ("SECRET", "5ec2e7000000beef", "ef" * 32):
        assert secret not in public
    assert "SECRET-FOLDER" in private and "SECRET-NAME" in private
    browser.size(1600)
    browser.open(page)
    assert browser.run("document.getElementById('quality').hidden")
    assert "SECRET" not in browser.run("document.title + document.body.innerText")
    is_silent(browser, page)
