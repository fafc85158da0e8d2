"""HPKE (RFC 9180, base mode), Oblivious HTTP (RFC 9458) around binary HTTP (RFC 9292), and Ed25519, as docs/wire.md uses
them; the primitives are those of Python's cryptography."""
import hashlib
import hmac

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from voprf import L, P, Refused

AEADS = {1: (AESGCM, 16), 3: (ChaCha20Poly1305, 32)}  # and bytes of a key
KEM = b"KEM\0\x20"


def extract(salt, data):
    return hmac.new(salt or bytes(32), data, hashlib.sha256).digest()


def expand(key, info, n):
    out, t, i = b"", b"", 1
    while len(out) < n:
        t = hmac.new(key, t + info + bytes([i]), hashlib.sha256).digest()
        out, i = out + t, i + 1
    return out[:n]


def public_of(secret):
    return secret.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def secret_key(data):
    return X25519PrivateKey.from_private_bytes(data)


class Hpke:
    """A sender's context: enc, key, nonce, and the exporter's secret."""

    def __init__(self, aead, to, info, ephemeral=None):
        self.aead, key_bytes = AEADS[aead]
        self.suite = b"HPKE\0\x20\0\x01" + aead.to_bytes(2, "big")
        ephemeral = ephemeral or X25519PrivateKey.generate()
        self.enc = public_of(ephemeral)
        dh = ephemeral.exchange(X25519PublicKey.from_public_bytes(to))
        prk = self._extract(KEM, b"", b"eae_prk", dh)
        shared = self._expand(KEM, prk, b"shared_secret", self.enc + to, 32)
        context = b"\0" + self._extract(self.suite, b"", b"psk_id_hash", b"") + self._extract(
            self.suite, b"", b"info_hash", info)
        secret = self._extract(self.suite, shared, b"secret", b"")
        self.key = self._expand(self.suite, secret, b"key", context, key_bytes)
        self.nonce = self._expand(self.suite, secret, b"base_nonce", context, 12)
        self.exporter = self._expand(self.suite, secret, b"exp", context, 32)

    @staticmethod
    def _extract(suite, salt, label, data):
        return extract(salt, b"HPKE-v1" + suite + label + data)

    @staticmethod
    def _expand(suite, key, label, info, n):
        return expand(key, n.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, n)

    def seal(self, aad, plain):
        """The one message: enc || ciphertext."""
        return self.enc + self.aead(self.key).encrypt(self.nonce, plain, aad)

    def export(self, label, n):
        return self._expand(self.suite, self.exporter, b"sec", label, n)


# ---- Oblivious HTTP -----------------------------------------------------------------------------------


def varint(n):
    return bytes([n]) if n < 64 else (0x4000 | n).to_bytes(2, "big")


def binary_request(path, content):
    words = b"".join(varint(len(w)) + w for w in (b"POST", b"https", b"", path))
    return b"\0" + words + b"\0" + varint(len(content)) + content


def binary_response(data):
    """The content of a 200 without fields; zeros may follow."""
    if data[:4] != b"\1\x40\xc8\0" or len(data) < 6 or data[4] >= 0x80:
        raise Refused("the answer inside is no 200")
    size, at = (data[4], 5) if data[4] < 64 else (int.from_bytes(data[4:6], "big") & 0x3fff, 6)
    if len(data) < at + size or any(data[at + size:]):
        raise Refused("the answer inside has a wrong length")
    return data[at:at + size]


def ohttp_request(aead, to, path, content, ephemeral=None):
    """(encapsulated request, what opens the answer: enc and a secret)"""
    header = b"\1\0\x20\0\x01" + aead.to_bytes(2, "big")
    hpke = Hpke(aead, to, b"message/bhttp request\0" + header, ephemeral)
    n = max(12, AEADS[aead][1])
    return header + hpke.seal(b"", binary_request(path, content)), hpke.enc + hpke.export(b"message/bhttp response", n)


def ohttp_response(aead, opener, data):
    kind, key_bytes = AEADS[aead]
    n = max(12, key_bytes)
    enc, secret, nonce = opener[:32], opener[32:], data[:n]
    prk = extract(enc + nonce, secret)
    try:
        plain = kind(expand(prk, b"key", key_bytes)).decrypt(expand(prk, b"nonce", 12), data[n:], b"")
    except InvalidTag:
        raise Refused("an answer that does not open") from None
    return binary_response(plain)


# ---- signatures -----------------------------------------------------------------------------------------

# y of the points of small order (RFC 8032's cofactor is 8), with either sign of x
SMALL = {0, 1, P - 1, 2707385501144840649318225287225658788936804267575313519463743609750303021,
         55188659117513257062467267217118295137698188065244968500265048394206261417927}


def small_order(key):
    return (int.from_bytes(key, "little") & (1 << 255) - 1) % P in {y % P for y in SMALL}


def labelled(label, message):
    return bytes([len(label)]) + label + message


def verify(key, label, message):
    """The signed bytes of a message, head and all; Refused if the signature does not hold."""
    signed, signature = message[:-64], message[-64:]
    frame = labelled(label, len(signed).to_bytes(8, "big") + signed)
    if len(signature) != 64 or small_order(key) or int.from_bytes(signature[32:], "little") >= L:
        raise Refused("a signature or key of a wrong form")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, frame)
    except (InvalidSignature, ValueError):
        raise Refused("a signature does not hold") from None
    return signed

