#!/usr/bin/env python3
"""Writes a home with a program, and packs it.

Usage: make.py PROGRAM STORE closed|killed ARCHIVE

PROGRAM is an evalctl of the version whose format is wanted. The home has the brain ana with
documents, one of them overwritten, one deleted and three of a batch, and a session if the program
has any. A killed program has had no time to complete the files of the last documents, if it does so
later at all.
"""
import json, os, re, signal, subprocess, sys, tarfile, tempfile, threading, urllib.request

program, store, end, archive = sys.argv[1:]
home = tempfile.mkdtemp()
daemon = subprocess.Popen([program, "serve", "--addr", "127.0.0.1:0", "--home", home, "--store", store],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
base = re.search(r"http\S+", daemon.stdout.readline()).group()


def call(method, path, body=None, kind="application/json"):
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(base + "/v1/brains" + path, data, {"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request) as response:
        return response.read()


def put(path, text):
    call("PUT", "/ana/documents?path=" + path, text, "application/octet-stream")


try:
    call("POST", "", {"name": "ana"})
    put("notes/a.md", "one\n")
    put("notes/b.md", "two\n")
    put("gone.md", "deleted later\n")
    try:
        call("POST", "/ana/sessions/s1/messages", {"role": "user", "content": "The otter sleeps."})
    except urllib.error.HTTPError as e:
        assert e.code == 404, e
    put("notes/b.md", "two, second version\n")
    call("DELETE", "/ana/documents?path=gone.md")
    # At the same time, so that the program groups them and is killed before their files are there.
    threads = [threading.Thread(target=put, args=(f"d/{i}.md", f"document {i}\n")) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    call("POST", "/ana/documents/batch-ops", {"reason": "several", "ops": [
        {"type": "write", "path": "batch/x.md", "content_base64": "eAo="},
        {"type": "write", "path": "batch/y.md", "content_base64": "eQo="},
        {"type": "delete", "path": "d/0.md"},
    ]})
finally:
    daemon.send_signal(signal.SIGKILL if end == "killed" else signal.SIGTERM)
    daemon.wait()
with tarfile.open(archive, "w:gz") as tar:
    for name in sorted(os.listdir(home)):
        tar.add(os.path.join(home, name), name)
