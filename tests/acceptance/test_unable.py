"""An event that the program can't run any more: its handler is gone (R3, R8)."""

from __future__ import annotations

from .desk import make_desk, serve, until_state
from .support import Project


def test_r8_an_event_whose_handler_is_gone_is_stuck_for_everybody_who_looks(
    project: Project,
) -> None:
    make_desk(project, "Clerk")
    project.agentctl("invoke", "-t", "Clerk", "echo", "kept").expect(0)
    code = (project.root / "crew.py").read_text()
    project.write("crew.py", code.replace("async def echo(", "async def echoed("))
    program = serve(project)
    until_state(project, "Clerk#1", "stuck")
    listed = project.agentctl("invocation", "list", "--status", "stuck").expect(0)
    assert listed.out.startswith("Clerk#1\tstuck")
    assert "no handler" in project.agentctl("invocation", "show", "Clerk#1").expect(0).out
    status = project.agentctl("status", "--json", "--check").expect(1).json
    assert status["agents"][0]["events"]["stuck"] == 1
    project.agentctl("invocation", "retry", "Clerk#1").expect_error(4, "no handler", "echo")
    program.cut_power()
    project.write("crew.py", code)
    project.agentctl("run", "--until-idle").expect(0)
    until_state(project, "Clerk#1", "completed")
