"""Build the playground: one page that holds the package itself, its Python translated and its C compiled.

python playground/build.py build/playground.html
"""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
sys.path.insert(0, str(HERE))

from to_javascript import translated  # noqa: E402

WEIGHTS = SOURCE / "ebformer" / "networks" / "zoo" / "priorformer.safetensors"
REPLACED = {"walk": HERE / "walk.py", "ebformer.networks.zoo": HERE / "zoo.py"}
"""Modules that the page has in the place of the package's own, or beside it."""
LEFT_OUT = {
    "ebformer.atomic", "ebformer.check", "ebformer.drift", "ebformer.estimators.full_bayes", "ebformer.pooling",
    "ebformer.estimators.pretrained", "ebformer.estimators.unseen_zeros", "ebformer.networks.libraries",
    "ebformer.tables.duck", "ebformer.tables.frames", "ebformer.tables.saved_fit",
    "ebformer.tables.shrink", "ebformer.channels.hyperprior", "ebformer.expectation", "ebformer.looks",
    "ebformer.point_null", "ebformer.regression", "ebformer.saved", "ebformer.tables.histories",
    "ebformer.estimators.npmle_em",
}  # fmt: skip
"""What the page has no use for: to call it is an error, to import it is not."""
CHANGED = {"ebformer.tables.observations": ("LIMIT = 30_000", "LIMIT = 6_000")}
"""Numbers that are others in the page: it answers in bins sooner, since a person waits."""
LOOP_FORMULAS = {
    "add": "{a} + {b}", "sub": "{a} - {b}", "mul": "{a} * {b}", "div": "{a} / {b}", "lt": "{a} < {b} ? 1 : 0",
    "le": "{a} <= {b} ? 1 : 0", "gt": "{a} > {b} ? 1 : 0", "ge": "{a} >= {b} ? 1 : 0", "eq": "{a} === {b} ? 1 : 0",
    "divide": "{a} / {b}", "maximum": "{a} !== {a} || {a} > {b} ? {a} : {b}",
    "minimum": "{a} !== {a} || {a} < {b} ? {a} : {b}",
}  # fmt: skip
KERNELS = ("attention", "mlp", "near_block", "em_steps", "em_track", "all_blocks")
LOOPS = ("loops_em_steps", "reweigh", "expand", "newton_step")
SPECIAL = (
    "digamma", "trigamma", "gammaln", "gammainc", "gammaincc", "gammaincinv", "betainc", "betaincc", "betaincinv",
    "ndtr", "ndtri",
)  # fmt: skip


def module_path(name: str) -> Path:
    """Where a module lies, or would."""
    if name in REPLACED:
        return REPLACED[name]
    path = SOURCE.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def modules(start: str) -> dict[str, str]:
    """Every module of the package that one needs, as it is imported anywhere in it: name to text."""
    found: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in found or name in LEFT_OUT or not module_path(name).exists():
            return
        found[name] = module_path(name).read_text(encoding="utf-8")
        if name in CHANGED:
            assert CHANGED[name][0] in found[name], f"{name} has no {CHANGED[name][0]}: say in CHANGED what it has"
            found[name] = found[name].replace(*CHANGED[name])
        for node in ast.walk(ast.parse(found[name])):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ebformer"):
                visit(node.module)
                for alias in node.names:
                    visit(f"{node.module}.{alias.name}")
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith("ebformer"):
                        visit(alias.name)

    visit(start)
    visit("ebformer.networks.zoo")
    found.pop("ebformer", None)
    return found


def native() -> bytes:
    """kernels.c, loops.c and special.c in one WebAssembly module."""
    constants = runpy.run_path(str(SOURCE / "ebformer" / "networks" / "constants.py"))
    renamed = ["-Dem_steps=loops_em_steps", "-Druns_here=loops_runs_here"]
    sources = (
        (SOURCE / "ebformer" / "networks" / "kernels.c", constants["macros"]()),
        (SOURCE / "ebformer" / "estimators" / "npmle" / "loops.c", renamed),
        (HERE / "runtime" / "special.c", []),
    )
    compiler = [*shlex.split(os.environ.get("ZIG_CC") or f"{sys.executable} -m ziglang cc"), "-target", "wasm32-wasi"]
    flags = ["-O3", "-msimd128", "-fno-math-errno"]
    with tempfile.TemporaryDirectory() as room:
        objects = []
        for source, macros in sources:
            objects.append(str(Path(room, source.stem + ".o")))
            subprocess.run([*compiler, *flags, *macros, "-c", str(source), "-o", objects[-1]], check=True)
        exports = [f"-Wl,--export={name}" for name in (*KERNELS, *LOOPS, *SPECIAL, "__heap_base")]
        linked = Path(room, "native.wasm")
        options = ["-mexec-model=reactor", "-O3", "-s", "-Wl,-z,stack-size=1048576", *exports]
        subprocess.run([*compiler, *options, *objects, "-o", str(linked)], check=True)
        return linked.read_bytes()


def with_loops(runtime: str) -> str:
    """numpy.js with a loop of its own for every common operator: a formula is ten times as fast as a call."""
    body = re.search(r"  function elementwise\((.*?)\) \{\n(.*?)\n  \}\n", runtime, re.DOTALL)
    assert body is not None
    made = []
    for name, formula in LOOP_FORMULAS.items():
        written = re.sub(
            r"= f\(([^,()]+(?:\[[^\]]*\])?), ([^,()]+(?:\[[^\]]*\])?)\);",
            lambda found, formula=formula: f"= {formula.format(a=found[1], b=found[2])};",
            body[2],
        )
        assert "f(" not in written.replace("steps_in(", "").replace("room_of(", "")
        made.append(f"{name}({body[1]}) {{\n{written}\n}}")
    return runtime.replace("const loops = {};", "const loops = {" + ",\n".join(made) + "};")


def engine() -> str:
    """The package in JavaScript, without its weights and its compiled part: `start` takes these."""
    files = (HERE / "runtime" / name for name in ("python.js", "numpy.js", "libraries.js"))
    runtime = [
        with_loops(text) if "const loops" in text else text for text in (file.read_text("utf-8") for file in files)
    ]
    translations = [
        f'$.sources.set("{name}",{translated(text, name, module_path(name).name == "__init__.py")});'
        for name, text in modules("walk").items()
    ]
    return "\n".join([*runtime, *translations, (HERE / "engine.js").read_text(encoding="utf-8")])


def page() -> str:
    """The whole page."""
    parts = {
        "STYLE": (HERE / "page.css").read_text(encoding="utf-8"),
        "ENGINE": engine(),
        "PAGE": (HERE / "page.js").read_text(encoding="utf-8"),
        "NATIVE": base64.b64encode(native()).decode(),
        "WEIGHTS": base64.b64encode(WEIGHTS.read_bytes()).decode(),
    }
    parts["SCRIPT"] = "\n".join([parts["ENGINE"], parts["PAGE"]]).replace("</script", "<\\/script")
    for name in ("SCRIPT", "STYLE"):
        parts[f"{name}_HASH"] = base64.b64encode(hashlib.sha256(parts[name].encode()).digest()).decode()
    template = (HERE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def main(output: str) -> None:
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(page(), encoding="utf-8")
    partial.replace(path)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
