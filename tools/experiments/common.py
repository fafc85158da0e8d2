"""What the experiments share: running the program, keeping what was measured, tables in a page."""
import json
import math
import os
import platform
import subprocess
import sys

INFEASIBLE = 64  # the program's exit code for a budget that can't be met


def run(*words, may_refuse=False):
    """Standard output; None when the budget was refused and that is expected."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, check=False)
    if may_refuse and done.returncode == INFEASIBLE:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}")
    return done.stdout


def keep(path, value):
    """A JSON file that is there whole or not at all."""
    with open(path + ".partial", "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, indent=1)
    os.replace(path + ".partial", path)


def kept(path):
    """What keep wrote; None: nothing."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def cell(value, digits):
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def table_row(cells):
    return "| " + " | ".join(cells) + " |\n"


def table_head(names):
    return table_row(names) + "|" + "--|" * len(names) + "\n"


def replace_section(path, begin, end, text):
    """Puts text between two lines of a page."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    before, has_begin, rest = page.partition(begin + "\n")
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        sys.exit(f"{path}: lacks the markers\n{begin}\n{end}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + begin + "\n" + text + end + after)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")),
                     platform.machine())
    return f"{model}, {os.cpu_count()} processors"
