"""Makes the virtual environment of the Makefile's targets: warpsight, editable, built from this tree, with one of its extras.

Usage: python3 tools/environment.py FOLDER EXTRA   (EXTRA "nothing": the package alone)

Standard library only, and readable by any Python 3: it has to say so itself when the interpreter is too old.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)  # requires-python in pyproject.toml
FAILED = """
The environment could not be set up; what pip or the compiler said is above. If it is the network, give pip the packages another way:
  PIP_INDEX_URL=https://mirror/simple make ...     a mirror
  PIP_NO_INDEX=1 PIP_FIND_LINKS=folder make ...    a folder of wheels, filled elsewhere with `pip download`"""


def fail(message: str) -> None:
    sys.exit("warpsight: " + message)


def check_host() -> None:
    """Says what is missing before anything is downloaded."""
    if sys.version_info < OLDEST:
        fail("needs Python 3.10 or newer, this is {}.{}; try: make PYTHON=python3.12 ...".format(*sys.version_info[:2]))
    compiler = os.environ.get("CXX", "").split(" ")[0]
    if not any(shutil.which(name) for name in (compiler, "c++", "g++", "clang++") if name):
        fail("needs a C++20 compiler (g++ 10, clang++ 12 or newer); on Debian or Ubuntu: apt install g++")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        fail("needs Python's C headers; on Debian or Ubuntu: apt install python3-dev")


def create(folder: Path) -> None:
    """An empty environment, anew when the interpreter that made the present one is gone or another version."""
    python = folder / "bin/python"
    version = "import sys; print(sys.version_info[:2])"
    if python.exists():
        present = subprocess.run([str(python), "-c", version], stdout=subprocess.PIPE, text=True).stdout
        if present.strip() == str(sys.version_info[:2]):
            return
    if subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)]).returncode:
        fail("python3 -m venv failed; on Debian or Ubuntu: apt install python3-venv")


def install(folder: Path, extra: str) -> None:
    """Builds without isolation: the build tools stay, so that a changed C++ file costs its own compilation and no more."""
    python = str(folder / "bin/python")
    requires = re.search(r"^requires = (\[.*?\])", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert requires, "pyproject.toml names its build requirements"
    pip(python, ast.literal_eval(requires.group(1)))
    hook = "from scikit_build_core.build import get_requires_for_build_editable as f; print(*f())"
    rest = subprocess.run([python, "-c", hook], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if rest:
        pip(python, rest)  # cmake and ninja, where the host has none that will do
    target = str(ROOT) + ("" if extra == "nothing" else f"[{extra}]")
    settings = ("cmake.define.WS_SYMBOLS=ON", "install.strip=false")  # for `make bench`, which says where the time goes
    pip(python, ["--no-build-isolation", *(f"--config-settings={s}" for s in settings), "--editable", target])


def pip(python: str, arguments: "list[str]") -> None:
    command = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *arguments]
    if subprocess.run(command, cwd=str(ROOT)).returncode:
        fail("pip failed on: " + " ".join(arguments) + FAILED)


def main() -> None:
    folder, extra = Path(sys.argv[1]), sys.argv[2]
    check_host()
    print(f"warpsight: setting up {folder} ({extra}); the first time this takes a few minutes", file=sys.stderr)
    create(folder)
    install(folder, extra)


if __name__ == "__main__":
    main()
