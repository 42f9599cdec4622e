"""Compute the reference vectors of `test_sentences.py` with sentence-transformers.

In a separate environment, with the folder of an encoder's files (config.json, model.safetensors, ...) and a file of
earlier vectors, whose texts are embedded anew:

    pip install "torch<2.14" sentence-transformers
    python tests/encoders/reference_vectors.py FOLDER tests/encoders/minilm-vectors.safetensors NEW.safetensors
"""

import json
import sys
from importlib.metadata import version

LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")


def main(folder: str, texts_of: str, file: str) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu")
    with safe_open(texts_of, "np") as source:
        texts = json.loads(source.metadata()["texts"])
    texts[-1] = " ".join(["block"] * (model.max_seq_length - 2))  # exactly the maximum number of tokens
    made_by = {name: version(name) for name in LIBRARIES}
    vectors = model.encode(texts, normalize_embeddings=True, convert_to_numpy=True)
    save_file({"vectors": vectors}, file, {"texts": json.dumps(texts), "made_by": json.dumps(made_by)})


if __name__ == "__main__":
    main(*sys.argv[1:])
