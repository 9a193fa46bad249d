"""Write vectors.json: stems of NLTK 3.10's PorterStemmer, token F1 by LoCoMo's rules, and NLTK's BLEU-1."""
import json, pathlib, re, string
from collections import Counter
from nltk.stem import PorterStemmer
from nltk.translate.bleu_score import sentence_bleu, SmoothingFunction

stem = PorterStemmer().stem
words = """skies dying innings flies dies ties cats caress ponies agreed feed plastered bled motoring sing conflated troubled
sized hopping tanned falling hissing fizzed failing filing happy sky enjoy spied died relational conditional rational valency
digitizer conformably radically differently vilely analogously vietnamization predication operator feudalism decisiveness
hopefulness callousness formality sensitivity sensibility triplicate formative formalize electricity electrical hopeful goodness
revival allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption
homologou communism activate angularity homologous effective bowdlerize probate rate cease controll roll geology theology
archaeology yellow syzygy toy by a café übergabe hopefully painted paintings university universities 2023 7""".split()
pairs = [
    ("standard", "She adopted two cats.", "two cats"), ("standard", "The cat and the dog", "a dog"), ("standard", "nothing", "rye bread"),
    ("multi-hop", "pottery, camping, painting", "camping, pottery"), ("multi-hop", "They swim", "swimming, hiking, reading"),
    ("open-domain", "likely no", "Likely no; she likes reading"), ("standard", "7 May 2023", "May 7, 2023"), ("standard", "", "x y"),
]
def tokens(text):
    text = "".join(c for c in text.replace(",", "").lower() if c not in set(string.punctuation))
    return [stem(w) for w in re.sub(r"\b(a|an|the|and)\b", " ", text).split()]
def f1(answer, gold):
    a, g = tokens(answer), tokens(gold)
    n = sum((Counter(a) & Counter(g)).values())
    return 2 * n / (len(a) + len(g)) if n else 0
def locomo(category, answer, gold):
    if category == "multi-hop":
        golds = gold.split(",")
        return sum(max(f1(a, g) for a in answer.split(",")) for g in golds) / len(golds)
    return f1(answer, gold.split(";")[0] if category == "open-domain" else gold)
def bleu(answer, gold):
    split = lambda t: re.findall(r"\w+|[^\s\w]", t.lower())
    return float(sentence_bleu([split(gold)], split(answer), weights=(1, 0, 0, 0), smoothing_function=SmoothingFunction().method1)) if answer else 0
out = {"stems": {w: stem(w) for w in words},
       "pairs": [{"category": c, "answer": a, "gold": g, "f1": locomo(c, a, g), "bleu1": bleu(a, g)} for c, a, g in pairs]}
pathlib.Path(__file__).with_name("vectors.json").write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n")
