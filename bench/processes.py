"""What processes cost: seconds, processor time, memory.  Of Linux."""
import os
import pathlib
import subprocess
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")


# ---- processor time of this process and all below it ------------------------------------------------------

def _stat(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / TICK  # parent; with children that ended


def below():
    """Processor time by process, of all that this one has started and itself."""
    seen = {int(name): _stat(name) for name in os.listdir("/proc") if name.isdigit()}
    seen = {pid: stat for pid, stat in seen.items() if stat}
    ours = {os.getpid()}
    while True:
        more = {pid for pid, (parent, _) in seen.items() if parent in ours} - ours
        if not more:
            return {pid: seen[pid][1] for pid in ours if pid in seen}
        ours |= more


def processor_time():
    return sum(below().values())


def memory_peak(pid="self"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def run(words):
    """A program to its end, whose standard output is nobody's: seconds, peak memory, processor time."""
    wall = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{words[0]}: exit code {process.returncode}")
    return {"seconds": time.monotonic() - wall, "peak_bytes": used.ru_maxrss * 1024, "processor": used.ru_utime + used.ru_stime}
