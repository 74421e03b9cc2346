"""The world: addresses of the web."""

from __future__ import annotations

from http.client import HTTPException
from urllib.request import urlopen

from agentctl import blocking

from uptime.poller import Api


class Http(Api):
    """Asks by HTTP; an error, or no answer within ten seconds, is a failure."""

    @blocking
    def fetch(self, endpoint: str) -> bool:
        """Ask once."""
        if not endpoint.startswith(("http://", "https://")):
            raise ValueError(f"{endpoint!r} begins with neither http:// nor https://")
        try:
            with urlopen(endpoint, timeout=10):
                ok = True
        except (OSError, HTTPException):  # 400 and above; what answers, but doesn't speak HTTP
            ok = False
        print(f"[poll] {endpoint}: {'up' if ok else 'down'}")
        return ok
