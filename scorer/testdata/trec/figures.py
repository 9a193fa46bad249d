"""Writes figures.txt: what trec_eval computes for qrels.txt and run.txt.

pytrec_eval is trec_eval's own C code as a Python module. The mean, "all", is over every query with
a relevant document. One that the run lacks counts 0, as with trec_eval -c.

    python3 -m venv venv && venv/bin/pip install pytrec-eval-terrier==0.5.11
    venv/bin/python figures.py
"""

import pytrec_eval

CUTS = "1,5,10,15,20,30,100"
MEASURES = {"map", "recip_rank", "ndcg", "set_recall", "Rprec"} | {
    f"{name}.{CUTS}" for name in ("P", "recall", "success", "ndcg_cut", "relative_P", "map_cut")
}


def read(name, value, convert):
    table = {}
    with open(name, encoding="utf-8") as lines:
        for line in lines:
            columns = line.split()
            table.setdefault(columns[0], {})[columns[2]] = convert(columns[value])
    return table


qrels = read("qrels.txt", 3, int)
run = read("run.txt", 4, float)
figures = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
judged = [query for query, gains in qrels.items() if max(gains.values()) > 0]
names = list(next(iter(figures.values())))
with open("figures.txt", "w", encoding="utf-8") as out:
    for query in judged:
        for name in names:
            if query in figures:
                print(name, query, repr(figures[query][name]), file=out)
    for name in names:
        total = sum(figures[query][name] for query in judged if query in figures)
        print(name, "all", repr(total / len(judged)), file=out)
