"""Tests of the protocol, with an encoder that needs no weights: python3 -m unittest"""

import base64
import http.client
import json
import struct
import threading
import unittest

import serve


class Lengths:
    """Encodes a text as its length and 1. It fails on "fail"."""

    dimensions = 2

    def encode(self, texts):
        if "fail" in texts:
            raise RuntimeError("out of memory")
        return [[float(len(text)), 1.0] for text in texts]

    def count(self, texts):
        return sum(len(text.split()) for text in texts)


class TestServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = serve.new_server(Lengths(), 0)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def ask(self, body, path="/v1/embeddings", method="POST"):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port)
        try:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data if method == "POST" else None)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def test_float(self):
        status, got = self.ask({"model": serve.MODEL, "input": ["a b", "abcde"]})
        self.assertEqual(status, 200)
        self.assertEqual(got, {
            "object": "list", "model": serve.MODEL, "usage": {"prompt_tokens": 3, "total_tokens": 3},
            "data": [{"object": "embedding", "index": 0, "embedding": [3, 1]},
                     {"object": "embedding", "index": 1, "embedding": [5, 1]}]})

    def test_one_text_in_base64(self):
        status, got = self.ask({"model": serve.MODEL, "input": "abc", "encoding_format": "base64"})
        self.assertEqual(status, 200)
        self.assertEqual(struct.unpack("<2f", base64.b64decode(got["data"][0]["embedding"])), (3, 1))

    def test_models(self):
        status, got = self.ask(None, "/v1/models", "GET")
        self.assertEqual((status, got["data"][0]["id"]), (200, serve.MODEL))

    def test_rejected(self):
        good = {"model": serve.MODEL, "input": "a"}
        for body, status, param in [
                (b"{", 400, None), ([], 400, None),
                ({"input": "a"}, 400, "model"), ({**good, "model": "other"}, 404, "model"),
                ({**good, "input": []}, 400, "input"), ({**good, "input": [""]}, 400, "input"),
                ({**good, "input": [1, 2]}, 400, "input"), ({"model": serve.MODEL}, 400, "input"),
                ({**good, "input": ["a"] * (serve.MAX_TEXTS + 1)}, 400, "input"),
                ({**good, "encoding_format": "hex"}, 400, "encoding_format"),
                ({**good, "dimensions": 3}, 400, "dimensions")]:
            with self.subTest(str(body)[:60]):
                got_status, got = self.ask(body)
                self.assertEqual(got_status, status)
                self.assertEqual(got["error"]["param"], param)
                self.assertEqual(got["error"]["type"], "invalid_request_error")
                self.assertTrue(got["error"]["message"])
        self.assertEqual(self.ask(good, "/v1/chat/completions")[0], 404)
        self.assertEqual(self.ask(None, "/", "GET")[0], 404)

    def test_failure(self):
        status, got = self.ask({"model": serve.MODEL, "input": "fail"})
        self.assertEqual((status, got["error"]["type"]), (500, "server_error"))


if __name__ == "__main__":
    unittest.main()
