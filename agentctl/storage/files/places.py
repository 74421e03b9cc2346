"""Where agents lie: `agents/<Name>/` below a root."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agentctl.names import check_agent_name, is_agent_name
from agentctl.storage.files.disk import Disk, SystemDisk, disk_trouble

AGENTS: Final = "agents"


def agent_folder(root: Path, agent: str) -> str:
    """The full path of an agent's folder.

    Raises:
        UsageError: the name can't be an agent's.
    """
    return f"{Path(root).absolute()}/{AGENTS}/{check_agent_name(agent)}"


def list_agents(root: Path, disk: Disk | None = None) -> list[str]:
    """The agents that have a folder below `root`, sorted.

    Raises:
        DiskTrouble: the folders can't be looked at.
    """
    disk = disk or SystemDisk()
    agents = str(Path(root) / AGENTS)
    try:
        found = [name for name in disk.list_folder(agents) if is_agent_name(name)]
        return sorted(name for name in found if disk.kind(f"{agents}/{name}") == "folder")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise disk_trouble("can't be read", agents, error) from error
