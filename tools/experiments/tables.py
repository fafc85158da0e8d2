#!/usr/bin/env python3
"""The tables of docs/results.md that come from experiments/: runs what is not done, and writes them.

usage: tables.py FILE... --work DIR [--program build/fre-e2t] [--data PATH] [--jobs N] [--docs docs/results.md]
                 [--done]

Each FILE is one of experiments/; its "table" (or each of a list) says which columns of the CSV are shown: "rows"
(arguments, a row each combination) and "metrics" (column: heading); means over the other arguments (the seeds) and
standard deviations.  DIR/runs has the runs of all of them, so that tables share runs, and DIR/NAME.csv what
one found.  --done runs nothing.  The section in docs is <!-- made by tools/experiments/tables.py: NAME -->.
"""
import argparse
import csv
import datetime
import json
import os
import shutil
import statistics
import sys

from common import cell, keep, kept, machine, replace_section, run, table_head, table_row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("files", nargs="+")
    p.add_argument("--work", required=True)
    p.add_argument("--program", default=os.path.join(ROOT, "build", "fre-e2t"))
    p.add_argument("--data")
    p.add_argument("--jobs")
    p.add_argument("--docs")
    p.add_argument("--done", action="store_true")
    return p.parse_args()


def rows_of(a, file, name):
    """The CSV's rows, run if need be; and when and where they were."""
    kept_at = os.path.join(a.work, name)
    if not a.done:
        begun = kept(kept_at + ".begun.json") or {
            "date": datetime.date.today().isoformat(), "machine": machine(),
            "version": run(a.program, "--version").decode().strip()}
        keep(kept_at + ".begun.json", begun)
        runs = os.path.join(a.work, "runs")
        run(a.program, "experiment", file, "-o", runs, *(["--data", a.data] if a.data else []),
            *(["--jobs", a.jobs] if a.jobs else []))
        shutil.copyfile(os.path.join(runs, "rows.csv"), kept_at + ".csv")
    with open(kept_at + ".csv", encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f)), kept(kept_at + ".begun.json")


def value(numbers):
    """Mean and standard deviation; of counts with a digit less to read."""
    if not numbers:
        return "-"
    counts = all(n > 1 and n.is_integer() for n in numbers)
    if len(numbers) == 1:
        return cell(numbers[0], 0 if counts else 3)
    digits = 1 if counts else 3
    return cell(statistics.mean(numbers), digits) + f" ± {statistics.stdev(numbers):.{digits}f}"


def column(rows, name):
    return [float(row[name]) for row in rows if row.get(name)]


def sorted_points(rows, names):
    """Combinations of the named arguments, in the order of the rows."""
    return list(dict.fromkeys(tuple(row.get(n) or "" for n in names) for row in rows))


def table(rows, shown):
    text = table_head(shown["rows"] + list(shown["metrics"].values()))
    for point in sorted_points(rows, shown["rows"]):
        mine = [row for row in rows if tuple(row.get(n) or "" for n in shown["rows"]) == point]
        done = [row for row in mine if row["code"] == "0"]
        text += table_row([x or "-" for x in point] + [value(column(done, m)) for m in shown["metrics"]])
    return text


def page(a, file, plan, rows, begun):
    seeds = sorted({row["seed"] for row in rows}, key=lambda s: (len(s), s))
    refused = sum(row["code"] != "0" for row in rows)
    command = f"fre-e2t experiment {os.path.relpath(file, ROOT)} -o DIR" + (" --data PATH" if a.data else "")
    tables = plan["table"] if isinstance(plan["table"], list) else [plan["table"]]
    return (f"{plan['about']} `{command}`; begun {begun['date']}, {begun['version']}, {begun['machine']}; "
            f"{len(rows)} runs, seeds {', '.join(seeds)}: mean ± standard deviation"
            + (f"; {refused} runs have a budget that cannot be met (-)" if refused else "")
            + ".\n\n" + "\n".join((t["about"] + "\n\n" if "about" in t else "") + table(rows, t) for t in tables)
            + "\n")


def main():
    a = arguments()
    os.makedirs(a.work, exist_ok=True)
    for file in a.files:
        with open(file, encoding="utf-8") as f:
            plan = json.load(f)
        rows, begun = rows_of(a, file, plan["name"])
        text = page(a, file, plan, rows, begun)
        print(text, end="")
        if a.docs:
            mark = f"tools/experiments/tables.py: {plan['name']} -->"
            replace_section(a.docs, f"<!-- made by {mark}", f"<!-- end of {mark}", text)


if __name__ == "__main__":
    sys.exit(main())
