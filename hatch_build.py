"""Compile the C files whenever a wheel is built or the work tree is installed.

Without a C compiler the installation goes on: the wheel is then pure Python and numpy runs everything.
"""

from __future__ import annotations

import os
import runpy
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = "src/ebformer/networks/kernels.c", "src/ebformer/estimators/npmle/loops.c"
CONSTANTS = Path(__file__).with_name("src") / "ebformer" / "networks" / "constants.py"
FLAGS = ("-O3", "-fno-math-errno", "-shared", "-fPIC")


class Kernels(BuildHookInterface[Any]):
    """What hatchling calls before it collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for source in (Path(self.root, name) for name in SOURCES):
            try:
                library = compile_kernels(source, source.parent)
            except (OSError, subprocess.CalledProcessError) as error:
                self.app.display_warning(
                    f"{compiler()} did not compile {source.name} ({reason(error)}): numpy will run its loops, slower"
                )
                continue
            for stale in set(source.parent.glob(f"{source.stem}-*.so")) - {library}:
                stale.unlink(missing_ok=True)  # another installation may have been faster
            build_data["artifacts"].append(f"/{library.relative_to(self.root).as_posix()}")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def compile_kernels(source: Path, folder: Path) -> Path:
    """The library, under the name that ebformer.networks.libraries looks for: it tells which source it comes from.

    The numbers that it shares with Python are macros: constants.py is run by itself, for the package cannot be yet.

    It appears whole or not at all: one cut short by a full disk or a kill would crash whoever loads it.
    """
    shared = runpy.run_path(str(CONSTANTS))
    library = folder / shared["library_name"](source.stem, source.read_bytes())
    with tempfile.TemporaryDirectory(dir=folder) as room:
        partial = Path(room, library.name)
        command = [*shlex.split(compiler()), *FLAGS, *shared["macros"](), str(source), "-o", str(partial), "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        return partial.replace(library)


def reason(error: OSError | subprocess.CalledProcessError) -> str:
    """The first line in which the compiler speaks of an error, or else its first line, or else its exit code."""
    if isinstance(error, OSError):
        return str(error)
    said = [line.strip() for line in error.stderr.decode(errors="replace").splitlines() if line.strip()]
    return next((line for line in said if "error:" in line), said[0] if said else f"exit {error.returncode}")


def compiler() -> str:
    return os.environ.get("CC") or "cc"
