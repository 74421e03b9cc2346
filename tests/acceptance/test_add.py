"""`agentctl add`: one more agent in a project, which runs at once beside the others."""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib

from .support import Project


def test_a_second_and_a_third_agent_run_beside_the_first(project: Project) -> None:
    project.agentctl("new", "shop").expect(0)
    shop = project.root / "shop"
    for agent in ("Clerk", "Cashier"):
        added = project.agentctl("add", agent, cwd=shop).expect(0)
        assert added.out == ""
        assert f"agentctl invoke {agent} request 7" in added.err
    for agent in ("Bot", "Clerk", "Cashier"):
        told = project.agentctl("invoke", agent, "request", "7", cwd=shop).expect(0)
        assert told.out == '"r7"\n'
        assert f"[pay] refund 7, key {agent}-1-1" in told.err
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if not importlib.metadata.entry_points(group="pytest11", name="agentctl"):
        command += ["-p", "agentctl.testing.plugin"]  # a checkout that isn't installed
    ran = project.run_program(tuple(command), cwd=shop, timeout=60).expect(0)
    assert "6 passed" in ran.out


def test_the_rest_of_kavach_toml_stays_as_it_is(shop: Project) -> None:
    shop.edit("kavach.toml", "[agents.Bot]", "# mine\n[agents.Bot]  # and mine")
    before = (shop.root / "kavach.toml").read_bytes()
    shop.agentctl("add", "Clerk").expect(0)
    after = (shop.root / "kavach.toml").read_bytes()
    assert after.startswith(before)
    assert tomllib.loads(after.decode())["agents"].keys() == {"Bot", "Clerk"}
    assert (shop.root / "agents" / "Clerk").stat().st_mode & 0o777 == 0o700


def test_a_dry_run_shows_what_would_be_written_and_writes_nothing(shop: Project) -> None:
    before = shop.tree("")
    told = shop.agentctl("add", "Clerk", "--dry-run").expect(0)
    assert shop.tree("") == before
    assert "would write shop/clerk.py\n" in told.out
    assert "  [agents.Clerk]\n" in told.out
    document = shop.agentctl("add", "Clerk", "--dry-run", "--json").expect(0).json
    assert document["schema"] == "agentctl.add/1"
    assert document["dry_run"] is True
    assert document["files"] == ["shop/clerk.py", "shop/clerk_world.py", "tests/test_clerk.py"]


def test_nothing_is_overwritten(shop: Project) -> None:
    shop.write("shop/clerk.py", "# mine\n")
    before = shop.tree("")
    shop.agentctl("add", "Clerk").expect_error(4, "shop/clerk.py")
    shop.agentctl("add", "Bot").expect_error(4, "Bot", "kavach.toml")
    assert shop.tree("") == before


def test_outside_of_a_project_there_is_nothing_to_add_to(project: Project) -> None:
    project.agentctl("add", "Clerk").expect_error(3, "kavach.toml", "agentctl new")
