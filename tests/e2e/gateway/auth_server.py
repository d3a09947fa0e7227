"""An authorization server for tests: publishes keys, and signs whatever it is told to."""
import base64
import http.server
import json
import os
import re
import subprocess
import tempfile
import threading
import time


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*args, stdin=None):
    done = subprocess.run(["openssl", *args], input=stdin, capture_output=True, check=True)
    return done.stdout


def raw_of(der):
    """r and s of an ECDSA signature side by side."""
    at, numbers = 2, []
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
        at += 2 + length
    return b"".join(numbers)


class Key:
    def __init__(self, folder, kid, kind):
        self.kid, self.kind = kid, kind
        self.path = os.path.join(folder, kid + ".pem")
        how = {"RSA": ("RSA", "rsa_keygen_bits:2048"), "EC": ("EC", "ec_paramgen_curve:P-256")}[kind]
        openssl("genpkey", "-algorithm", how[0], "-pkeyopt", how[1], "-out", self.path)

    def jwk(self):
        if self.kind == "RSA":
            text = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode()
            number = bytes.fromhex(text.strip().split("=")[1])
            return {"kty": "RSA", "kid": self.kid, "use": "sig", "n": encode(number), "e": "AQAB"}
        text = openssl("pkey", "-in", self.path, "-noout", "-text_pub").decode()
        digits = re.search(r"pub:\s*([0-9a-f:\s]+)", text).group(1)
        point = bytes.fromhex(re.sub(r"[:\s]", "", digits))
        return {"kty": "EC", "crv": "P-256", "kid": self.kid, "use": "sig",
                "x": encode(point[1:33]), "y": encode(point[33:65])}

    def sign(self, data):
        signature = openssl("dgst", "-sha256", "-sign", self.path, stdin=data)
        return signature if self.kind == "RSA" else raw_of(signature)


class AuthServer:
    """Keys are served at jwks; issuer is its name. Counts how often they are asked for."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sirix as ")
        self.published = [self.key("r1", "RSA"), self.key("e1", "EC")]
        self.asked = 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked += 1
                body = json.dumps({"keys": [key.jwk() for key in server.published]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.http.server_port}"
        self.jwks = self.issuer + "/jwks"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def key(self, kid, kind):
        return Key(self.folder.name, kid, kind)

    def token(self, key=None, header=None, **claims):
        """A good token of that audience, but for what is given; None leaves a claim out."""
        key = key or self.published[0]
        head = {"alg": "RS256" if key.kind == "RSA" else "ES256", "typ": "at+jwt", "kid": key.kid,
                **(header or {})}
        body = {"iss": self.issuer, "sub": "alice", "exp": int(time.time()) + 300, **claims}
        parts = [encode(json.dumps({k: v for k, v in part.items() if v is not None}).encode())
                 for part in (head, body)]
        signature = key.sign(".".join(parts).encode()) if head["alg"] != "none" else b"\0"
        return ".".join([*parts, encode(signature)])

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.folder.cleanup()
