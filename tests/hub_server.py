"""A hub on this machine: the answers that huggingface_hub asks for, and every way they fail."""

import hashlib
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

LFS_FROM = 1000
"""Bytes from which on a file is in LFS here: another address serves it."""


class Hub:
    """Data sets, and what goes wrong with which request.

    ``faults`` maps a part of a path (with the method before it) to what happens to requests for
    it, one after the other: "stall", "truncate", "garbage", "drop", or a status with headers.
    """

    def __init__(self):
        self.repos = {}
        self.faults = {}
        self.requests, self.tokens = [], []
        self.lock = threading.Lock()
        self.active = self.most_active = 0

    def add(self, repo, files, **info):
        """A data set of files, by path."""
        sha = hashlib.sha1(repo.encode(), usedforsecurity=False).hexdigest()
        self.repos[repo] = {"sha": sha, "files": files, "info": info}

    def fault(self, asked):
        """What happens to this request; None: nothing."""
        with self.lock:
            self.requests.append(asked)
            for part, left in self.faults.items():
                if part in asked and left:
                    return left.pop(0)
        return None


def etag_of(content):
    if len(content) >= LFS_FROM:
        return hashlib.sha256(content).hexdigest()
    blob = b"blob %d\0" % len(content)
    return hashlib.sha1(blob + content, usedforsecurity=False).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub = None

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        asked = f"{self.command} {unquote(self.path)} {self.headers.get('Range', '')}"
        with self.hub.lock:
            self.hub.tokens.append((asked, self.headers.get("Authorization")))
            self.hub.active += 1
            self.hub.most_active = max(self.hub.most_active, self.hub.active)
        try:
            fault = self.hub.fault(asked)
            if isinstance(fault, tuple):
                status, headers = fault
                return self.send(status, b"{}", headers)
            if fault == "drop":
                self.close_connection = True
                return None
            return self.serve(urlsplit(unquote(self.path)).path, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with self.hub.lock:
                self.hub.active -= 1

    def serve(self, path, fault):
        parts = path.strip("/").split("/")
        cdn, api = parts[0] == "cdn", parts[:2] == ["api", "datasets"]
        repo = "/".join(parts[2:4] if api else parts[1:3])
        found = self.hub.repos.get(repo)
        if found is None:
            # The hub does not say whether a data set is private or was never there.
            return self.send(401, b"{}", {"X-Error-Code": "RepoNotFound"})
        if found["info"].get("gated"):
            return self.send(403, b"{}", {"X-Error-Code": "GatedRepo"})
        if api:
            document = self.tree(found) if "tree" in parts else self.info(repo, found)
            return self.send(200, json.dumps(document).encode(), {}, fault)
        name = "/".join(parts[3:] if cdn else parts[5:])
        if name not in found["files"]:
            return self.send(404, b"{}", {"X-Error-Code": "EntryNotFound"})
        return self.file(repo, found, name, cdn=cdn, fault=fault)

    def info(self, repo, found):
        siblings = [{"rfilename": name} for name in found["files"]]
        return {"_id": "1", "id": repo, "sha": found["sha"], "siblings": siblings,
                "private": False, "disabled": False, "gated": False, "downloads": 0, "likes": 0,
                "tags": []}  # fmt: skip

    def tree(self, found):
        rows = [{"type": "directory", "oid": "0", "size": 0, "path": "folder"}]
        for name, content in found["files"].items():
            row = {"type": "file", "path": name, "size": len(content)}
            row["oid"] = hashlib.sha1(
                b"blob %d\0" % len(content) + content, usedforsecurity=False
            ).hexdigest()
            if len(content) >= LFS_FROM:
                row["lfs"] = {"oid": etag_of(content), "size": len(content), "pointerSize": 1}
            rows.append(row)
        return rows

    def file(self, repo, found, name, *, cdn, fault):
        content = found["files"][name]
        headers = {"ETag": f'"{etag_of(content)}"', "X-Repo-Commit": found["sha"],
                   "Accept-Ranges": "bytes"}  # fmt: skip
        if len(content) >= LFS_FROM and not cdn:
            headers |= {"X-Linked-Size": str(len(content)), "X-Linked-Etag": headers["ETag"],
                        "Location": f"{self.hub.other}/cdn/{repo}/{name}"}  # fmt: skip
            return self.send(302, b"", headers)
        start = int((self.headers.get("Range") or "bytes=0-").split("=")[1].split("-")[0])
        if fault == "garbage":
            content = bytes(len(content))
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return self.send(206 if start else 200, content[start:], headers, fault)

    def send(self, status, body, headers, fault=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        half = body[: len(body) // 2]
        if fault == "truncate":
            self.wfile.write(half)
            self.close_connection = True
        elif fault == "stall":
            self.wfile.write(half)
            self.wfile.flush()
            time.sleep(2.5)
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextmanager
def serving():
    """A hub that answers at ``hub.address``."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    hub.other = f"http://localhost:{server.server_port}"  # large files lie at another address
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
