"""A small hosted memory service, for tests of programs that talk to daemons
they did not write. Everything is in memory. Standard library only.

usage: python3 daemon.py serve --addr HOST:PORT [--die-after ASKS]
       [--die-after-searches SEARCHES] [--die-at ASK] [--effective-mode MODE]
       [--auth TOKEN]

With --die-after it dies once it has answered, with --die-at before it does.
"""

import argparse
import json
import math
import os
import re
import signal
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BRAINS = {}  # slug -> {"name": ..., "documents": {path: text}}
LOCK = threading.Lock()
ASKS = 0
SEARCHES = 0


def terms(text):
    return re.findall(r"\w+", text.lower())


def slug(name):
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:64]


def passages(documents):
    for path, text in documents.items():
        heading = re.search(r"^#\s+(.+)$", text, re.M)
        title = heading.group(1) if heading else path.rsplit("/", 1)[-1]
        for number, part in enumerate(p.strip() for p in re.split(r"\n\s*\n", text)):
            if part:
                yield {"chunk_id": f"{path}#{number}", "document_id": path, "path": path, "title": title, "content": part}


def retrieve(documents, query, top_k):
    found = [(passage, set(terms(passage["content"]))) for passage in passages(documents)]
    wanted = set(terms(query))
    weight = {term: math.log(1 + len(found) / (1 + sum(term in have for _, have in found))) for term in wanted}
    hits = [dict(passage, score=sum(weight[term] for term in wanted & have)) for passage, have in found if wanted & have]
    hits.sort(key=lambda hit: (-hit["score"], hit["path"]))
    return hits[: top_k or 10]


def best_sentence(hits, question):
    if not hits:
        return "I do not know."
    wanted = set(terms(question))
    sentences = re.split(r"(?<=[.!?])\s+", hits[0]["content"])
    return max(sentences, key=lambda sentence: len(wanted & set(terms(sentence))))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    token = None
    die_after = None
    die_after_searches = None
    die_at = None
    effective_mode = None

    def do_GET(self):
        self.route("GET")

    def do_POST(self):
        self.route("POST")

    def do_PUT(self):
        self.route("PUT")

    def do_DELETE(self):
        self.route("DELETE")

    def route(self, method):
        url = urllib.parse.urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path == "/healthz":
            return self.reply(200, {"ok": True, "version": "python-1.0.0"})
        if not self.allowed():
            return None
        parts = [urllib.parse.unquote(part) for part in url.path.strip("/").split("/")]
        if parts[:2] != ["v1", "brains"] or len(parts) > 4:
            return self.problem(404, "not found")
        try:
            if len(parts) == 2:
                return self.brains(method, raw)
            return self.brain(method, parts[2], parts[3] if len(parts) == 4 else "", url.query, raw)
        except ValueError as error:
            return self.problem(400, str(error))

    def allowed(self):
        if self.token is None or self.headers.get("Authorization") == "Bearer " + self.token:
            return True
        missing = "Authorization" not in self.headers
        self.problem(401 if missing else 403, "unauthorized" if missing else "forbidden")
        return False

    def brains(self, method, raw):
        if method == "GET":
            with LOCK:
                items = [{"id": key, "slug": key, "name": brain["name"]} for key, brain in BRAINS.items()]
            return self.reply(200, {"items": items})
        if method != "POST":
            return self.problem(405, "method not allowed")
        body = json.loads(raw)
        name = body.get("name")
        if not name:
            return self.problem(400, "name is required")
        key = body.get("id") or body.get("slug") or slug(name)
        with LOCK:
            if key in BRAINS:
                return self.problem(409, "brain exists")
            BRAINS[key] = {"name": name, "documents": {}}
        return self.reply(201, {"id": key, "slug": key, "name": name, "visibility": body.get("visibility", "private")})

    def brain(self, method, key, action, query, raw):
        with LOCK:
            brain = BRAINS.get(key)
        if brain is None:
            return self.problem(404, "no such brain")
        if (method, action) == ("GET", ""):
            return self.reply(200, {"id": key, "slug": key, "name": brain["name"]})
        if (method, action) == ("DELETE", ""):
            return self.delete(key)
        if (method, action) == ("PUT", "documents"):
            return self.put(brain, urllib.parse.parse_qs(query).get("path", [""])[0], raw)
        if (method, action) == ("POST", "search"):
            return self.search(key, brain, json.loads(raw))
        if (method, action) == ("POST", "ask"):
            return self.ask(brain, json.loads(raw))
        return self.problem(404, "not found")

    def delete(self, key):
        if self.headers.get("X-Confirm-Delete") != "yes":
            return self.problem(428, "confirmation required")
        with LOCK:
            BRAINS.pop(key, None)
        return self.reply(204, None)

    def put(self, brain, path, raw):
        if not path:
            return self.problem(400, "path is required")
        with LOCK:
            brain["documents"][path] = raw.decode("utf-8", "replace")
        return self.reply(204, None)

    def search(self, key, brain, body):
        started = time.monotonic()
        with LOCK:
            hits = retrieve(brain["documents"], body.get("query", ""), body.get("top_k"))
        took = (time.monotonic() - started) * 1000
        answer = {"query": body.get("query", ""), "brain_id": key, "hits": hits, "took_ms": took}
        if self.effective_mode:
            answer["effective_mode"] = self.effective_mode
        self.reply(200, answer)
        self.count_search()

    def ask(self, brain, body):
        with LOCK:
            late = self.die_at is not None and ASKS + 1 >= self.die_at
        if late:
            os._exit(1)
        question = body.get("query", "")
        with LOCK:
            hits = retrieve(brain["documents"], question, body.get("top_k"))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        thin = [
            {"chunk_id": h["chunk_id"], "document_id": h["document_id"], "score": h["score"], "preview": h["content"][:512]}
            for h in hits
        ]
        self.event(1, "retrieve", {"chunks": thin})
        answer = best_sentence(hits, question)
        words = re.findall(r"\S+\s*", answer)
        for number, word in enumerate(words):
            self.event(number + 2, "answer_delta", {"delta": word})
        if hits:
            self.event(len(words) + 2, "citation", self.citation(hits[0], answer))
        usage = {"input_tokens": len(terms(question)), "output_tokens": len(words)}
        self.event(len(words) + 3, "done", {"answer": answer, "usage": usage})
        self.close_connection = True
        self.count_ask()

    @staticmethod
    def citation(hit, answer):
        return {
            "type": "citation",
            "chunk_id": hit["chunk_id"],
            "document_id": hit["document_id"],
            "answer_start": 0,
            "answer_end": len(answer),
            "quote": answer,
        }

    def count_search(self):
        global SEARCHES
        with LOCK:
            SEARCHES += 1
            last = self.die_after_searches is not None and SEARCHES >= self.die_after_searches
        if last:
            os._exit(1)

    def count_ask(self):
        global ASKS
        with LOCK:
            ASKS += 1
            last = self.die_after is not None and ASKS >= self.die_after
        if last:
            os._exit(1)

    def event(self, number, name, data):
        self.wfile.write(f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def reply(self, status, body):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if body is not None:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def problem(self, status, title):
        self.reply(status, {"status": status, "title": title})


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # the default of 5 delays a burst of clients by a second


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("--addr", required=True)
    parser.add_argument("--die-after", type=int)
    parser.add_argument("--die-after-searches", type=int)
    parser.add_argument("--die-at", type=int)
    parser.add_argument("--effective-mode")
    parser.add_argument("--auth")
    args = parser.parse_args()
    host, _, port = args.addr.rpartition(":")
    Handler.token, Handler.die_after = args.auth, args.die_after
    Handler.die_after_searches, Handler.die_at = args.die_after_searches, args.die_at
    Handler.effective_mode = args.effective_mode
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))  # a shell may have it ignored
    with Server((host, int(port)), Handler) as server:
        server.serve_forever()


main()
