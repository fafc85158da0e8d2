"""The relay over HTTP: docs/wire.md, section 9.  A client has no other connection."""
import hashlib
import hmac
import http.client
import ssl
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from voprf import Refused

LATER = {404, 408, 429, 503}
MOST = 64 << 20


class Later(Exception):
    """No answer, or not yet: the same bytes again, after so many seconds at least."""

    def __init__(self, after=0):
        super().__init__("not now")
        self.after = after


def pin_of(der):
    key = x509.load_der_x509_certificate(der).public_key()
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER,
                                           serialization.PublicFormat.SubjectPublicKeyInfo)).digest()


class Pinned(http.client.HTTPSConnection):
    """TLS with whoever has the key of the pin: nothing else of the certificate counts, and nothing is sent before."""

    def __init__(self, host, port, timeout, pin):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        super().__init__(host, port, timeout=timeout, context=context)
        self.pin = pin

    def connect(self):
        super().connect()
        if not hmac.compare_digest(pin_of(self.sock.getpeercert(binary_form=True)), self.pin):
            self.close()
            raise Refused("the relay shows another key than that of relay_pin")


class Relay:
    def __init__(self, terms, collection_id, timeout=30):
        url = urllib.parse.urlsplit(terms["relay_url"])
        self.https, self.host, self.port = url.scheme == "https", url.hostname, url.port
        self.pin, self.timeout = terms["relay_pin"], timeout
        self.path = url.path.rstrip("/") + "/fre/v2/" + collection_id.hex()

    def _connection(self):
        if self.https:
            return Pinned(self.host, self.port, self.timeout, self.pin)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def _ask(self, method, path, body=None):
        c = self._connection()
        try:
            c.putrequest(method, path, skip_accept_encoding=True)
            if body is not None:
                c.putheader("Content-Type", "application/fre-e2t")
                c.putheader("Content-Length", str(len(body)))
            c.endheaders(body)
            answer = c.getresponse()
            data = answer.read(MOST + 1)
        except (OSError, http.client.HTTPException):
            raise Later() from None
        finally:
            c.close()
        if answer.status in LATER:
            after = answer.getheader("Retry-After", "")
            raise Later(int(after) if after.isdigit() else 0)
        if answer.status != 200 or len(data) > MOST:
            raise Refused(f"the relay answers {answer.status}")
        return data

    def post(self, message):
        return self._ask("POST", self.path, message)

    def listed(self):
        return self._ask("GET", self.path + "/list")

    def release(self, part):
        return self._ask("GET", f"{self.path}/release/{part}")
