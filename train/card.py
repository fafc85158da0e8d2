"""The table of sources for the model's card: lines in the corpus, and their terms."""
import collections
import sys

import corpus


def main():
    count = collections.Counter(source for _, source in corpus.read(sys.argv[1]))
    print("| texts | lines | terms |\n|---|---|---|")
    for source, n in count.most_common():
        s = corpus.SOURCES[source]
        print(f"| {s['title']} | {n:,} | {s['licence']} |")
    print(f"\n{sum(count.values()):,} lines")


if __name__ == "__main__":
    main()
