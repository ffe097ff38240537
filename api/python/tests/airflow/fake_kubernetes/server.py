"""The HTTP API of a cluster."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fake_kubernetes.cluster import Cluster, RejectedError
from fake_kubernetes.script import Failure

Json = dict[str, Any]

_TICK = 0.05  # seconds between polls
_POD = r"/api/v1/namespaces/(?P<namespace>[^/]+)/pods"
_METRICS = r"/apis/metrics.k8s.io/v1beta1/namespaces/(?P<namespace>[^/]+)/pods/(?P<name>[^/]+)"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WATCH_SECONDS = 60.0  # default duration of a watch


@contextmanager
def serve(cluster: Cluster) -> Iterator[str]:
    """Serve a cluster on a free port of localhost and yield the URL."""

    class Handler(_Handler):
        pods = cluster

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="fake-kubernetes")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    pods: Cluster
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._route(
            (_POD, self._list),
            (_POD + r"/(?P<name>[^/]+)", self._get),
            (_POD + r"/(?P<name>[^/]+)/log", self._log),
            (_POD + r"/(?P<name>[^/]+)/resize", self._get),
            (r"/api/v1/namespaces/(?P<namespace>[^/]+)/events", self._events),
            (r"/version/?", self._version),
            (r"/apis/?", self._groups),
            (_METRICS, self._metrics),
        )

    def do_POST(self) -> None:
        self._route((_POD, self._create), (_REVIEWS, self._review))

    def do_PATCH(self) -> None:
        self._route((_POD + r"/(?P<name>[^/]+)", self._patch), (_POD + r"/(?P<name>[^/]+)/resize", self._resize))

    def do_DELETE(self) -> None:
        self._route((_POD + r"/(?P<name>[^/]+)", self._delete))

    def log_message(self, *_: Any) -> None:
        pass  # no access log

    def _route(self, *routes: tuple[str, Callable[..., None]]) -> None:
        parts = urlsplit(self.path)
        self.query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        self.body: Any = json.loads(self.rfile.read(length) or b"{}")
        try:
            for pattern, answer in routes:
                match = re.fullmatch(pattern, parts.path)
                if match is not None:
                    answer(**match.groupdict())
                    return
            raise RejectedError(404, "NotFound", f"the server could not find {self.command} {parts.path}")
        except RejectedError as error:
            self._answer(_status(error), error.code)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _create(self, namespace: str) -> None:
        self._answer(self.pods.create(namespace, self.body), 201)

    def _get(self, namespace: str, name: str) -> None:
        pod = self.pods.get(namespace, name)
        # A pod without a node stays Pending until the caller gives up after its launch timeout. If such a pod waits
        # (Script.waits), this read lasts until the cluster releases it, so that the caller cannot give up earlier.
        while pod.lifecycle.failure() is Failure.UNSCHEDULABLE and self.pods.is_waiting(pod):
            time.sleep(_TICK)
        self._answer(self.pods.render(pod))

    def _list(self, namespace: str) -> None:
        found = self.pods.find(namespace, self.query.get("labelSelector", ""))
        self._answer(_list_of("PodList", [self.pods.render(pod) for pod in found]))

    def _patch(self, namespace: str, name: str) -> None:
        if not isinstance(self.body, dict):
            raise RejectedError(415, "UnsupportedMediaType", "only merge patches are supported")
        self._answer(self.pods.patch(namespace, name, self.body))

    def _resize(self, namespace: str, name: str) -> None:
        if self.headers.get("Content-Type") != "application/strategic-merge-patch+json":
            raise RejectedError(415, "UnsupportedMediaType", "only strategic merge patches are supported")
        self._answer(self.pods.resize(namespace, name, self.body))

    def _version(self) -> None:
        major, minor = self.pods.version
        names = ("gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform")
        self._answer({"major": str(major), "minor": str(minor), **dict.fromkeys(names, f"v{major}.{minor}.0")})

    def _groups(self) -> None:
        names = ["apps", "authorization.k8s.io", *(["metrics.k8s.io"] if self.pods.has_metrics else [])]
        versions = [{"groupVersion": "v1", "version": "v1"}]
        groups = [{"name": name, "versions": versions, "preferredVersion": versions[0]} for name in names]
        self._answer({"apiVersion": "v1", "kind": "APIGroupList", "groups": groups})

    def _review(self) -> None:
        attributes = self.body["spec"]["resourceAttributes"]
        path = "/".join(attributes[name] for name in ("resource", "subresource") if attributes.get(name))
        allowed = f"{attributes['verb']} {path}" not in self.pods.forbidden
        self._answer({**self.body, "status": {"allowed": allowed}}, 201)

    def _metrics(self, namespace: str, name: str) -> None:
        self._answer(self.pods.metrics(namespace, name))

    def _delete(self, namespace: str, name: str) -> None:
        self._answer(self.pods.delete(namespace, name))

    def _log(self, namespace: str, name: str) -> None:
        pod = self.pods.get(namespace, name)
        container = self.query.get("container", pod.lifecycle.base)
        if not pod.lifecycle.has_started(self.pods.age(pod)):
            raise RejectedError(400, "BadRequest", f'container "{container}" is waiting to start')
        sent = 0

        def new_lines() -> list[str]:
            nonlocal sent
            lines = pod.lifecycle.log(self.pods.age(pod)) if container == pod.lifecycle.base else []
            fresh, sent = lines[sent:], len(lines)
            return fresh

        self._begin_stream("text/plain")
        follow = self.query.get("follow", "").lower() == "true"
        while follow and not pod.lifecycle.has_ended(self.pods.age(pod)):
            self._send_lines(new_lines())
            time.sleep(_TICK)
        rest = new_lines()
        if "tailLines" in self.query:
            rest = rest[max(0, len(rest) - int(self.query["tailLines"])) :]
        self._send_lines(rest)
        self._end_stream()

    def _send_lines(self, lines: list[str]) -> None:
        timestamp = ""
        if self.query.get("timestamps", "").lower() == "true":
            timestamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ ")
        for line in lines:
            self._send_chunk(f"{timestamp}{line}\n".encode())

    def _events(self, namespace: str) -> None:
        selector = dict(term.split("=", 1) for term in self.query.get("fieldSelector", "").split(",") if "=" in term)
        name = selector.get("involvedObject.name", "")
        if self.query.get("watch", "").lower() != "true":
            try:
                found = self.pods.events(namespace, name)
            except RejectedError:
                found = []  # a deleted pod has an empty list of events
            self._answer(_list_of("EventList", found))
            return
        delivered = int(self.query.get("resourceVersion") or 0)
        until = time.monotonic() + float(self.query.get("timeoutSeconds") or _WATCH_SECONDS)
        self._begin_stream("application/json")
        while time.monotonic() < until:
            try:
                for event in self.pods.events(namespace, name)[delivered:]:
                    self._send_chunk(json.dumps({"type": "ADDED", "object": event}).encode() + b"\n")
                    delivered += 1
            except RejectedError:
                break
            time.sleep(_TICK)
        self._end_stream()

    def _answer(self, body: Json, code: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _begin_stream(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def _list_of(kind: str, items: list[Json]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"resourceVersion": str(len(items))},
        "items": items,
    }


def _status(error: RejectedError) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": error.reason,
        "message": error.message,
        "code": error.code,
    }
