"""Where agents lie: `agents/<Name>/` below a root."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agentctl.names import check_agent_name, is_agent_name

AGENTS: Final = "agents"


def agent_folder(root: Path, agent: str) -> str:
    """The full path of an agent's folder.

    Raises:
        UsageError: the name can't be an agent's.
    """
    return f"{Path(root).absolute()}/{AGENTS}/{check_agent_name(agent)}"


def list_agents(root: Path) -> list[str]:
    """The agents that have a folder below `root`, sorted."""
    agents = Path(root) / AGENTS
    try:
        found = [one.name for one in agents.iterdir() if one.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in found if is_agent_name(name))
