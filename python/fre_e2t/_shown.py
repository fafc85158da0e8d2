"""A release as people read it: what belongs together stands together, as the program prints it."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ._errors import string
from ._fre import lib

COLUMNS = 80
_MARKS = {"group": string(lib.FRE_SHOWN_MARK), "theme": string(lib.FRE_SHOWN_MARK_THEMES)}
LEFT, _RIGHT = "style='text-align:left'", "style='text-align:right'"


@dataclass
class Group:
    """Lines that say nearly the same, or are of one theme; the one with the most users first."""

    users: float
    lines: list[dict[str, Any]]


def _users(line: dict[str, Any]) -> float:
    return float(line.get("users") or 0)


def has_themes(lines: Iterable[dict[str, Any]]) -> bool:
    """Are they of a release by levels?"""
    return any(line.get("level", "grid") != "grid" or line.get("theme") is not None for line in lines)


def groups(lines: list[dict[str, Any]]) -> list[Group]:
    """The largest first: by theme where there are levels, which near wordings share; as fre_release_show has it."""
    lines = sorted(lines, key=_users, reverse=True)
    key, theme_of, found = "theme" if has_themes(lines) else "group", {}, {}
    for i, line in enumerate(lines):
        own = line.get(key)
        if key == "theme" and line.get("group") is not None:
            own = theme_of.setdefault(line["group"], own)
        group = found.setdefault(("alone", i) if own is None else own, Group(0, []))
        group.users += _users(line)
        group.lines.append(line)
    return sorted(found.values(), key=lambda group: group.users, reverse=True)


def _is_weak(line: dict[str, Any]) -> bool:
    sure = line.get("confidence")
    return line.get("text") is not None and sure is not None and sure < lib.FRE_SHOWN_WEAK


def _sure(line: dict[str, Any]) -> str:
    sure = line.get("confidence")
    if line.get("text") is None or sure is None:
        return "-"
    return f"{sure:.2f}" + ("?" if _is_weak(line) else "")


def _said(line: dict[str, Any], nothing: str) -> tuple[str, bool]:
    """What is shown of a line, and whether it is its text; nothing: without a word."""
    text, around, near = line.get("text"), line.get("around"), line.get("similarity")
    far = around is not None and near is not None and near < lib.FRE_SHOWN_FAR
    if text is not None and not far:
        return str(text), True
    return f"around: {around}" if around is not None else f"({line.get('unreadable') or nothing})", False


def _nothing(lines: list[dict[str, Any]]) -> str:
    """What stands for a line of which nothing is known but the numbers."""
    sought = any(line.get("text") is not None or line.get("unreadable") for line in lines)
    return "no text was found" if sought else "centroid only"


def _title(lines: list[dict[str, Any]]) -> str:
    cells = f"{len(lines)} cell{'' if len(lines) == 1 else 's'} released"
    if not lines:
        return cells
    return cells + ("; lines of one theme stand together, the largest first" if has_themes(lines) else
                    "; near wordings stand together, the largest first")


def _rest(found: list[Group], kind: str) -> str:
    n = len(found) - lib.FRE_SHOWN_GROUPS
    return f"and {n} smaller {kind}{'' if n == 1 else 's'}" if n > 0 else ""


# ---- as text ----------------------------------------------------------------------------------------

def _width(c: str) -> int:
    return 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1


def _cut(text: str, most: int) -> str:
    """What fits, without what would move the cursor or turn the direction of writing."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if sum(map(_width, clean)) <= most:
        return clean
    n = used = 0
    while used + _width(clean[n]) < most:
        used, n = used + _width(clean[n]), n + 1
    return clean[:n] + "\N{HORIZONTAL ELLIPSIS}"


def _row(users: str, own: str, sure: str, text: str) -> str:
    return f"{users:>7}  {own:>7}  {sure:<10}  {text}".rstrip()


def as_text(lines: list[dict[str, Any]]) -> str:
    """A table of at most 80 columns."""
    kind, found = "theme" if has_themes(lines) else "group", groups(lines)
    out, marked, nothing = [_title(lines)], False, _nothing(lines)
    if lines:
        out += ["", _row(kind, "users", "confidence", "text")]
    for group in found[:lib.FRE_SHOWN_GROUPS]:
        for i, line in enumerate(group.lines[:lib.FRE_SHOWN_LINES]):
            whole = f"{group.users:.0f}" if i == 0 else ""
            out.append(_row(whole, f"{_users(line):.0f}", _sure(line), _cut(_said(line, nothing)[0], COLUMNS - 30)))
            marked = marked or _is_weak(line)
        if len(group.lines) > lib.FRE_SHOWN_LINES:
            out.append(_row("", "", "", f"and {len(group.lines) - lib.FRE_SHOWN_LINES} more"))
    return "\n".join(out + [s for s in (_rest(found, kind), _MARKS[kind] if marked else "") if s])


# ---- as HTML ----------------------------------------------------------------------------------------

def row_html(*found: tuple[str, str], tag: str = "td") -> str:
    """A row of a table, of pairs (HTML, attributes)."""
    return "<tr>" + "".join(f"<{tag} {style}>{inner}</{tag}>" for inner, style in found) + "</tr>"


def _line_html(users: str, line: dict[str, Any], nothing: str) -> str:
    said, is_text = _said(line, nothing)
    shown = html.escape(said) if is_text else f"<em>{html.escape(said)}</em>"
    return row_html((users, _RIGHT), (f"{_users(line):.0f}", _RIGHT), (_sure(line), LEFT),
                  (f"<span style='opacity:.6'>{shown}</span>" if _is_weak(line) else shown, LEFT))


def as_html(lines: list[dict[str, Any]]) -> str:
    """The same table, in the colours of the page that it stands in."""
    kind, found, rows, marked = "theme" if has_themes(lines) else "group", groups(lines), [], False
    nothing = _nothing(lines)
    for group in found[:lib.FRE_SHOWN_GROUPS]:
        rows += [_line_html(f"{group.users:.0f}" if i == 0 else "", line, nothing)
                 for i, line in enumerate(group.lines[:lib.FRE_SHOWN_LINES])]
        marked = marked or any(map(_is_weak, group.lines[:lib.FRE_SHOWN_LINES]))
        if len(group.lines) > lib.FRE_SHOWN_LINES:
            rows.append(row_html(("", _RIGHT), ("", _RIGHT), ("", LEFT), (f"and {len(group.lines) - lib.FRE_SHOWN_LINES} more", LEFT)))
    head = row_html((kind, _RIGHT), ("users", _RIGHT), ("confidence", LEFT), ("text", LEFT), tag="th")
    notes = [s for s in (_rest(found, kind), _MARKS[kind] if marked else "") if s]
    return (f"<p>{_title(lines)}</p>" + (f"<table>{head}{''.join(rows)}</table>" if rows else "")
            + "".join(f"<p>{s}</p>" for s in notes))


def notes_html(notes: list[str]) -> str:
    """Warnings, as a list."""
    return f"<ul>{''.join(f'<li>{html.escape(n)}</li>' for n in notes)}</ul>" if notes else ""


def statement_html(statement: str | None) -> str:
    """The privacy statement, which one opens."""
    if not statement:
        return ""
    return ("<details><summary>Privacy statement</summary><pre style='white-space:pre-wrap'>"
            f"{html.escape(statement)}</pre></details>")
