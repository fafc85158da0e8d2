#!/usr/bin/env python3
"""A private release of texts that lie in Parquet or JSON Lines, made by Spark where they lie:

    spark-submit spark_release.py INPUT OUT --population 1000000 --threshold 100

INPUT: a file or a folder, one text a row in the column "text", whose it is in the column "user" (--user none: every row is
another user's, as with one-line summaries of packages, which have no author beside them).  OUT: the folder of the release.
It needs pyspark, Java and the package fre_e2t.  docs/spark.md says what happens, and who is trusted."""

import argparse

from pyspark.sql import SparkSession

import fre_e2t.spark


def options():
    parser = argparse.ArgumentParser(description="a private release of texts in Parquet or JSON Lines")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--population", type=int, required=True, help="public upper bound on the number of users")
    parser.add_argument("--threshold", type=int, default=100, help="how many similar texts make a frequent one")
    parser.add_argument("--epsilon", type=float, default=4)
    parser.add_argument("--text", default="text", help="column with the text")
    parser.add_argument("--user", default="user", help="column with the user; none: every row is another user's")
    parser.add_argument("--levels", default="auto", help="grid: wordings alone; auto: themes too")
    return parser.parse_args()


def main():
    given = options()
    session = SparkSession.builder.appName("fre-e2t").getOrCreate()
    fre_e2t.spark.check_installation(session)
    is_json = any(part in given.input for part in (".json", ".ndjson"))
    frame = session.read.json(given.input) if is_json else session.read.parquet(given.input)
    release = fre_e2t.spark.synthesize(frame, epsilon=given.epsilon, text=given.text,
                                       user=False if given.user == "none" else given.user, population=given.population,
                                       threshold=given.threshold, levels=given.levels, output=given.output)
    print(release.statement.splitlines()[0])
    for line in sorted(release.texts, key=lambda line: -line["users"])[:20]:
        print(f"{line['users']:10.0f}  {line['text']}")


if __name__ == "__main__":
    main()
