"""Keys that seal a log: whoever lacks the key cannot write an entry that passes for the gate's.

An HMAC key seals and checks: whoever can check a log can also forge one. An Ed25519 key seals with
its private half and checks with its public half, so that anybody may check. The seal of an entry is
made of its hash, and the hash depends on all entries before it.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol, TypeAlias

from bylaw.errors import Diagnostic, UsageError

SealMethod: TypeAlias = Literal["none", "hmac-sha256", "ed25519"]
SEAL_DIGITS: Final[dict[SealMethod, int]] = {"none": 0, "hmac-sha256": 64, "ed25519": 128}
"""The methods, and the length of their seals in hexadecimal digits."""
MIN_KEY: Final = 16
"""The shortest HMAC key, in bytes."""

_PURPOSE: Final = b"bylaw audit log entry\n"
"""The purpose of a seal. The same key seals nothing else with these words."""
_PEM: Final = b"-----BEGIN "


class CheckingKey(Protocol):
    """A key with which seals can be checked."""

    @property
    def method(self) -> SealMethod:
        """The kind of seal."""

    @property
    def id(self) -> str:
        """A short name of the key, which gives nothing away."""

    def fits(self, hash: str, seal: str) -> bool:
        """Was this seal made for the hash, with this key?"""


class SealingKey(CheckingKey, Protocol):
    """A key with which entries can be sealed."""

    def seal(self, hash: str) -> str:
        """The seal of an entry with this hash."""


class HmacKey:
    """A secret that both seals and checks."""

    def __init__(self, secret: bytes) -> None:
        import hmac  # slow to import, and most logs have no key

        self._hmac: Final = hmac
        self._secret: Final = secret
        self.method: Final[SealMethod] = "hmac-sha256"
        self.id: Final = hmac.digest(secret, b"bylaw key id", "sha256").hex()[:16]

    def seal(self, hash: str) -> str:
        """The seal of an entry with this hash."""
        return self._hmac.digest(self._secret, _PURPOSE + hash.encode(), "sha256").hex()

    def fits(self, hash: str, seal: str) -> bool:
        """Was this seal made for the hash, with this key?"""
        return self._hmac.compare_digest(self.seal(hash), seal)


class Ed25519PublicKey:
    """The public half of a key pair: it checks."""

    def __init__(self, key: Any) -> None:
        import hashlib

        self._key: Final = key
        self.method: Final[SealMethod] = "ed25519"
        self.id: Final = hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]

    def fits(self, hash: str, seal: str) -> bool:
        """Was this seal made for the hash, with the private half of this key?"""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(bytes.fromhex(seal), _PURPOSE + hash.encode())
        except InvalidSignature:
            return False
        return True


class Ed25519PrivateKey(Ed25519PublicKey):
    """The private half of a key pair: it seals, and checks like the public half."""

    def __init__(self, key: Any) -> None:
        super().__init__(key.public_key())
        self._private: Final = key

    def seal(self, hash: str) -> str:
        """The seal of an entry with this hash."""
        return bytes(self._private.sign(_PURPOSE + hash.encode())).hex()


def sealing_key(key: object) -> SealingKey:
    """The key in these bytes: an Ed25519 private key as PEM, or else an HMAC key."""
    if type(key) is not bytes:
        raise _unusable("the key is not bytes", 'Read it from a file: Path("key").read_bytes().')
    if not key.startswith(_PEM):
        if len(key) < MIN_KEY:
            raise _unusable("the key is too short", f"A key is at least {MIN_KEY} secret bytes.")
        return HmacKey(key)
    serialization, ed25519 = _library()
    try:
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError) as error:
        raise _unusable(f"the private key cannot be read: {error}", _MAKING) from None
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise _unusable("the private key is not an Ed25519 key", _MAKING)
    return Ed25519PrivateKey(private)


def public_key(key: bytes) -> CheckingKey:
    """The Ed25519 public key in a PEM file."""
    serialization, ed25519 = _library()
    try:
        public = serialization.load_pem_public_key(key)
    except ValueError as error:
        raise _unusable(f"the public key cannot be read: {error}", _MAKING) from None
    if not isinstance(public, ed25519.Ed25519PublicKey):
        raise _unusable("the public key is not an Ed25519 key", _MAKING)
    return Ed25519PublicKey(public)


_MAKING: Final = (
    "openssl genpkey -algorithm ed25519 -out gate.pem makes one, and "
    "openssl pkey -in gate.pem -pubout -out gate.pub its public half."
)


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        message = "Ed25519 keys need the package 'cryptography'"
        raise _unusable(message, "pip install 'bylaw[audit]'") from None
    return serialization, ed25519


def _unusable(message: str, help: str) -> UsageError:
    return UsageError(Diagnostic("E415", message, help))
