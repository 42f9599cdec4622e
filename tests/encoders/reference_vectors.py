"""Compute the reference vectors of `test_sentences.py` with sentence-transformers.

In a separate environment, with the folder of an encoder's files (config.json, model.safetensors, ...):

pip install "torch<2.14" sentence-transformers
    python tests/encoders/reference_vectors.py FOLDER tests/encoders/minilm-vectors.safetensors
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")
TEXTS = [
    "",
    "crane",
    "b1 is on b2",
    "b2 is on b1",
    "the robot is not at rooma. ball1 is at roomb. the left gripper is free.",
    "Pick up block B17 from the table!",
    "pos-3-4 is connected to pos-3-5; truck_2 is at city1-loc_7",
    "Der Zug fährt über die Brücke nach Köln, naïvely.",
    "电梯在三楼, 乘客在一楼 🚆 ½ µm",
    "a\tb\nc  [SEP] [MASK] <unk>",
    "donaudampfschifffahrtsgesellschaft " + "x" * 120,
    " ".join(f"b{n} is on b{n + 1}." for n in range(25)),
]


def main(folder: str, file: str) -> None:
    from safetensors.numpy import save_file
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu")
    longest = " ".join(["block"] * (model.max_seq_length - 2))  # exactly the maximum number of tokens
    texts = [*TEXTS, longest]
    made_by = {name: version(name) for name in LIBRARIES}
    vectors = model.encode(texts, normalize_embeddings=True, convert_to_numpy=True)
    save_file({"vectors": vectors}, file, {"texts": json.dumps(texts), "made_by": json.dumps(made_by)})


if __name__ == "__main__":
    main(*sys.argv[1:])
