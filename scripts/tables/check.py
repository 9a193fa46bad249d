"""Writes a dataset of hostile texts, and compares the tables of its result with the result."""

import json
import os
import sys

import duckdb
import pandas

TEXTS = ["=1+1", "+1", "-1", "@SUM(A1)", "'quoted'", 'a,b;"c"\n=1', "naïve ☃", "NA", "null", "1e5", "2025-01-01", "x\ry\r\nz"]


def write(path):
    os.makedirs(path.replace(".jsonl", ".corpus"))
    with open(path.replace(".jsonl", ".corpus/a.md"), "w") as f:
        f.write("# Kettle\n\nThe kettle is green.\n")
    with open(path, "w") as f:
        for i, text in enumerate(TEXTS):
            question = {"id": f"q{i}", "question": "What colour is the kettle? " + text, "reference_answer": text, "tags": [text]}
            f.write(json.dumps(question) + "\n")


def plain(text):
    """Returns the text of a cell: CSV has an apostrophe before one that may be a formula."""
    return text[1:] if text.startswith("'") else text


def same(what, got, want):
    if got != want:
        sys.exit(f"FAIL {what}: {got!r}, want {want!r}")


def read(result, csv, jsonl, schema):
    with open(result) as f:
        questions = json.load(f)["questions"]
    with open(schema) as f:
        columns = list(json.load(f)["properties"])
    same("questions", len(questions), len(TEXTS))
    tables = {
        "pandas jsonl": pandas.read_json(jsonl, lines=True, dtype=False, precise_float=True),
        "pandas csv": pandas.read_csv(csv, keep_default_na=False, lineterminator="\n", dtype={"reference_answer": str}),
        "duckdb jsonl": duckdb.sql(f"select * from '{jsonl}'").df(),
        "duckdb csv": duckdb.sql(f"select * from read_csv('{csv}', header=true, quote='\"', escape='\"', delim=',')").df(),
    }
    for name, table in tables.items():
        text = plain if "csv" in name else lambda t: t
        same(f"{name} columns", list(table.columns), columns)
        same(f"{name} rows", len(table), len(questions))
        for q, row in zip(questions, table.to_dict("records")):
            same(f"{name} {q['id']}", text(row["reference_answer"]), q["reference_answer"])
            same(f"{name} {q['id']} question", text(row["question"]), q["question"])
            same(f"{name} {q['id']} reason", text(row["reason"]), q["reason"])
            same(f"{name} {q['id']} tags", json.loads(row["tags"]), q["tags"])
            same(f"{name} {q['id']} passed", bool(row["passed"]), q["passed"])
            same(f"{name} {q['id']} score", float(row["score"]), q["score"])
            same(f"{name} {q['id']} latency", float(row["latency_ms"]), q["latency_ms"])
        print(f"ok  {name}: {len(table)} rows of {len(columns)} columns")
    rate = duckdb.sql(f"select avg(passed::int), median(latency_ms) > 0 from '{jsonl}' where outcome = 'scored'").fetchone()
    same("the pass rate in SQL", rate, (1.0, True))
    print("ok  SQL on the table")


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
