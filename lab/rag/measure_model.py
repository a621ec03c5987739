"""What the sentence model behind the static table finds itself on nq20: the bound of what a table derived from it can do.

    python lab/rag/measure_model.py --model <model folder> [--data ../shared/data/rag] [--questions 60]

Prints recall@1/3/5/10 by cosine, with and without titles in front of the texts, and with the mean of a question's chunks
taken off. All 241 questions take two cores about 15 minutes. Packages and model as in derive_table.py.
"""
import argparse
import gzip
import json

import numpy as np
from tokenizers import Tokenizer

from derive_table import MAX_PIECES, teach, teacher_session


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", default="../shared/data/rag")
    parser.add_argument("--questions", type=int)
    arguments = parser.parse_args()
    tokenizer = Tokenizer.from_file(arguments.model + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    session = teacher_session(arguments.model)

    def vectors(texts, label):
        encoded = [e.ids for e in tokenizer.encode_batch(texts)]
        return teach(session, [ids if len(ids) <= MAX_PIECES else ids[:MAX_PIECES - 1] + [102] for ids in encoded], label)

    with gzip.open(arguments.data + "/nq20.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines][:arguments.questions]
    questions = vectors([row["question"] for row in rows], "questions")
    for label in ("title and text", "text alone"):
        texts = [(f"{c['title']}\n" if label != "text alone" else "") + c["text"] for row in rows for c in row["chunks"]]
        chunks, start = vectors(texts, label), 0
        places = {"": [], ", mean taken off": []}
        for question, row in zip(questions, rows):
            mine = chunks[start:start + len(row["chunks"])]
            start += len(mine)
            gold = [c["gold"] for c in row["chunks"]].index(True)
            for name, mean in (("", 0), (", mean taken off", mine.mean(0))):
                scores = (mine - mean) @ (question - mean)
                places[name].append(int((scores > scores[gold]).sum()))
        for name, found in places.items():
            shares = [100 * np.mean(np.array(found) < depth) for depth in (1, 3, 5, 10)]
            print(label + name, len(rows), "questions @1/3/5/10", " / ".join(f"{share:.1f}" for share in shares), flush=True)


main()
