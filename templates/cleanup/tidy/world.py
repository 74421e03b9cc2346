"""The world: a folder of files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from agentctl import blocking

from tidy.janitor import Files


class Folder(Files):
    """The files in one folder, not those in folders below it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    @blocking
    def list_old(self, before: datetime) -> list[str]:
        """List the files that were last changed before a moment."""
        if not self.path.is_dir():
            return []
        files = [path for path in self.path.iterdir() if path.is_file()]
        limit = before.timestamp()
        return sorted(path.name for path in files if path.stat().st_mtime < limit)

    @blocking
    def delete(self, name: str) -> bool:
        """Delete a file; made again after a crash, it answers that there was none."""
        print(f"[files] delete {name}")
        try:
            (self.path / name).unlink()
        except FileNotFoundError:
            return False
        return True
