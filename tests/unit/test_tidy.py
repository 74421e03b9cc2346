"""The house's rules that no other tool holds, over every file of the repository.

Sizes, seams and leftovers. Each rule says in its failure where it is broken and by how much.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FILE_LINES = 400
FUNCTION_LINES = 60
POSITIONAL = 4
PUBLIC_NAMES = 15
LINE = 100

# Written by machines, or data that tests are held against.
NOT_BY_HAND = ("requirements/", "tests/golden/")
MANY_NAMES = {
    "agentctl/engines/changes.py": "one request and one answer a change",
    "agentctl/errors.py": "one tree, drawn at its top",
    "agentctl/records.py": "one small struct for each kind of record",
    "agentctl/value_shapes.py": "one small class for each kind of value",
}

TYPE_VARIABLES = ("TypeVar", "ParamSpec", "TypeVarTuple")

CLOCKS = (
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
)
SEAMS = {
    **dict.fromkeys(
        ("os.fsync", "os.fdatasync", "os.replace", "os.rename"), ("agentctl/storage/",)
    ),
    **dict.fromkeys(CLOCKS, ("agentctl/times.py",)),
    "print": ("agentctl/cli/",),
    "sys.exit": ("agentctl/cli/", "agentctl/__main__.py"),
    # A forked child that comes back into the engine must end without any clean-up (R11).
    "os._exit": ("agentctl/cli/", "agentctl/engines/local/running/program.py"),
}

LEFT_OVER = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
# Names and endings apart: the repository names no such host, not even here.
REGISTRY_HOST = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|debian|crates|anaconda|rubygems|maven|golang)"
    r"\.(?:org|com|io|net)\b"
)
MACHINE_PATH = re.compile(r"(?<![\w.~*-])/(?:root|work|opt|home|Users)/\w")
# What a line says to a checker doesn't count towards its length.
PRAGMA = re.compile(r"  # (?:type: ignore|pyright: ignore|noqa)\b.*")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff]")


def _tracked() -> list[str]:
    """Every tracked file that is there; in an unpacked archive, every file but hidden ones."""
    if (ROOT / ".git").exists():
        out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
        names = [name for name in out.stdout.decode().split("\0") if name]
    else:
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        hidden = ("__pycache__", "build", "dist", "agents")
        names = [
            path.as_posix()
            for path in found
            if not any(part in hidden or part[0] == "." for part in path.parts[:-1])
        ]
    return sorted(name for name in names if (ROOT / name).is_file())


TRACKED = _tracked()
PYTHON = [name for name in TRACKED if name.endswith(".py")]
OURS = [name for name in PYTHON if name.startswith("agentctl/")]
TESTS = [name for name in PYTHON if name.startswith("tests/")]
WRITTEN = [name for name in TRACKED if not name.startswith(NOT_BY_HAND)]


@functools.cache
def _text(name: str) -> str:
    # Not read_text: it would turn a carriage return into a line feed.
    return (ROOT / name).read_bytes().decode()


@functools.cache
def _tree(name: str) -> ast.Module:
    return ast.parse(_text(name), filename=name)


def _functions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _nothing(broken: list[str], rule: str) -> None:
    assert not broken, f"{rule}:\n  " + "\n  ".join(broken)


def test_there_is_something_to_read() -> None:
    assert len(OURS) > 5
    assert len(TESTS) > 1


def test_no_file_got_away() -> None:
    sizes = {name: _text(name).count("\n") for name in WRITTEN}
    long = [f"{name}: {lines}" for name, lines in sizes.items() if lines > FILE_LINES]
    _nothing(long, f"files of more than {FILE_LINES} lines")


def test_every_function_fits_a_screen() -> None:
    long = []
    for name in PYTHON:
        for node in _functions(name):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                long.append(f"{name}:{node.lineno} {node.name}: {lines}")
    _nothing(long, f"functions of more than {FUNCTION_LINES} lines")


def test_arguments_beyond_the_fourth_are_named() -> None:
    many = []
    for name in OURS:
        for node in _functions(name):
            params = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
            if params and params[0] in ("self", "cls"):
                del params[0]
            if len(params) > POSITIONAL:
                many.append(f"{name}:{node.lineno} {node.name}: {len(params)}")
    _nothing(many, f"functions of more than {POSITIONAL} positional parameters")


def _public(name: str) -> list[str]:
    found: set[str] = set()
    for node in _tree(name).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in TYPE_VARIABLES:
                continue
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return sorted(one for one in found if not one.startswith("_"))


def test_a_module_offers_few_names() -> None:
    many = []
    for name in OURS:
        count = len(_public(name))
        if count > PUBLIC_NAMES and not name.endswith("__init__.py") and name not in MANY_NAMES:
            many.append(f"{name}: {count}")
    _nothing(many, f"modules of more than {PUBLIC_NAMES} public names")


def test_lines_fit() -> None:
    long = []
    for name in WRITTEN:
        if name.endswith((".py", ".toml", ".yaml", ".example")) or name.startswith("scripts/"):
            for number, line in enumerate(_text(name).splitlines(), 1):
                if len(PRAGMA.sub("", line)) > LINE:
                    long.append(f"{name}:{number}: {len(line)}")
    _nothing(long, f"lines of more than {LINE} characters")


@pytest.mark.parametrize(
    ("rule", "pattern"),
    [
        ("work left over", LEFT_OVER),
        ("a package registry's host", REGISTRY_HOST),
        ("a path of one machine", MACHINE_PATH),
        ("control characters", CONTROL),
    ],
    ids=["left-over", "registry-host", "machine-path", "control-character"],
)
def test_no_file_holds(rule: str, pattern: re.Pattern[str]) -> None:
    files = TRACKED if pattern in (REGISTRY_HOST, MACHINE_PATH) else WRITTEN
    found = []
    for name in files:
        for number, line in enumerate(_text(name).split("\n"), 1):
            if match := pattern.search(line):
                found.append(f"{name}:{number}: {match[0]!r}")
    _nothing(found, rule)


@pytest.mark.parametrize(
    ("pattern", "bad", "good"),
    [
        (LEFT_OVER, "# TO" + "DO: later", "a method todo()"),
        (REGISTRY_HOST, "see https://pypi" + ".org/simple", "the name on PyPI"),
        (MACHINE_PATH, 'open("/ho' + 'me/ana/x")', "engines/work/item"),
        (CONTROL, "a\x1b[0m", "a\ttab"),
    ],
    ids=["left-over", "registry-host", "machine-path", "control-character"],
)
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str], bad: str, good: str) -> None:
    assert pattern.search(bad)
    assert not pattern.search(good)


def test_no_error_is_swallowed_whole() -> None:
    wide = {"Exception", "BaseException"}
    found = []
    for name in PYTHON:
        for node in ast.walk(_tree(name)):
            if not isinstance(node, ast.ExceptHandler):
                continue
            catches = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in wide
            )
            if catches and all(isinstance(line, ast.Pass) for line in node.body):
                found.append(f"{name}:{node.lineno}")
    _nothing(found, "`except Exception: pass`")


def test_every_module_says_what_it_owns() -> None:
    silent = [name for name in OURS if not ast.get_docstring(_tree(name))]
    _nothing(silent, "modules without a docstring")


def _module(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


MODULES = {_module(name): name for name in OURS}


def _imported(name: str) -> Iterator[str]:
    """Modules of ours that a file imports or names in a string, as for a late import."""
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(":")[0]


def test_every_module_is_used_by_the_program() -> None:
    project = tomllib.loads(_text("pyproject.toml"))["project"]
    entries = [*project["scripts"].values()]
    for group in project["entry-points"].values():
        entries += group.values()
    used = {entry.partition(":")[0] for entry in entries} | {"agentctl", "agentctl.__main__"}
    for name in PYTHON:
        if not name.startswith("tests/"):
            used.update(one for one in _imported(name) if one != _module(name))
    used |= {parent for one in used for parent in _parents(one)}
    dead = [f"{name}" for module, name in MODULES.items() if module not in used]
    _nothing(dead, "modules that nothing imports")


def _parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def test_the_package_itself_never_uses_its_front() -> None:
    # `from agentctl import Agent` loads the sdk; only the faces may have what they like.
    found = []
    for name in OURS:
        if name.startswith(("agentctl/cli/", "agentctl/testing/", "agentctl/__")):
            continue
        for node in ast.walk(_tree(name)):
            if isinstance(node, ast.ImportFrom) and node.module == "agentctl":
                wrong = [a.name for a in node.names if f"agentctl.{a.name}" not in MODULES]
                found += [f"{name}:{node.lineno}: {one}" for one in wrong]
    _nothing(found, "imports from the package's front")


def _names_used(name: str) -> Iterator[tuple[int, str]]:
    """Dotted names as they are used, through `import x`, `from x import y` and `as`."""
    known: dict[str, str] = {}
    tree = _tree(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = ast.unparse(node.value)
            owner = known.get(owner, owner).removeprefix("datetime.")
            yield node.lineno, f"{owner}.{node.attr}"
        elif isinstance(node, ast.Name):
            yield node.lineno, known.get(node.id, node.id)


def test_only_the_right_room_syncs_reads_clocks_prints_and_exits() -> None:
    found = []
    for name in OURS:
        for line, used in _names_used(name):
            if used in SEAMS and not name.startswith(SEAMS[used]):
                found.append(f"{name}:{line}: {used} (only in {', '.join(SEAMS[used])})")
    _nothing(found, "seams crossed")


def _asserts(node: ast.AST, helpers: frozenset[str]) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert):
            return True
        if isinstance(inner, ast.Call):
            called = inner.func
            last = called.attr if isinstance(called, ast.Attribute) else ""
            last = called.id if isinstance(called, ast.Name) else last
            if last in ("raises", "warns", "fail", "run_state_machine_as_test") or last in helpers:
                return True
    return False


def _asserting_helpers() -> frozenset[str]:
    """Names of functions in `tests` that assert, themselves or through another."""
    helpers: frozenset[str] = frozenset()
    nodes = [node for name in TESTS for node in _functions(name)]
    while True:
        more = frozenset(node.name for node in nodes if _asserts(node, helpers))
        if more == helpers:
            return helpers
        helpers = more


def test_every_test_can_fail() -> None:
    asserting = _asserting_helpers()
    empty = []
    for name in TESTS:
        if Path(name).name.startswith("test_"):
            for node in _functions(name):
                if node.name.startswith("test_") and not _asserts(node, asserting):
                    empty.append(f"{name}:{node.lineno} {node.name}")
    _nothing(empty, "tests without an assertion")
