"""``WEFT_CPU``: which processor code is made for, and that it is honoured wherever code is made."""

import json
import os
import re
import subprocess
import sys

import pytest

from weft.diag.errors import SettingError
from weft.machine import host as host_module
from weft.machine.host import chosen, demand_runnable, host
from weft.machine.processors import _X86_64, processor
from weft.machine.targets import AVX2, AVX512, ISAS, SSE2, SSE4, Machine, best_isa, misses
from weft.target.machine import TargetSpec

pytestmark = pytest.mark.skipif(host().arch != "x86_64", reason="the names are of x86-64")

PROGRAM = """
import sys
import numpy as np
import weft
from weft import cuda, prange
from weft.loops.llvm_ir import vectorize_ir

@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = np.sin(x[i]) * np.float32(2) + np.float32(1)

@weft.jit
def loop(x):
    for i in prange(x.size):
        x[i] = np.sin(x[i]) * np.float32(2) + np.float32(1)

@weft.vectorize(["float32(float32)"])
def elementwise(v):
    return np.sin(v) * np.float32(2) + np.float32(1)

IR = "define float @f(float %x) { %y = fmul float %x, %x ret float %y }"
made = [kernel.compile("void(float32[::1])").assembly(), loop.compile("void(float32[::1])").assembly(),
        vectorize_ir(IR, "f").assembly]
print("\\n".join(made))
if sys.argv[1:] == ["run"]:
    x = np.linspace(0, 1, 1000).astype(np.float32)
    wanted = np.sin(x) * np.float32(2) + np.float32(1)
    for run in (lambda y: kernel.forall(y.size)(y), loop, lambda y: elementwise(y, out=y)):
        y = x.copy()
        run(y)
        np.testing.assert_allclose(y, wanted, rtol=1e-5)
"""


def ran(cpu: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if k != "WEFT_CHECK"} | {"WEFT_CPU": cpu, **environment}
    return subprocess.run(
        [sys.executable, *arguments], env=variables, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("program") / "program.py"
    file.write_text(PROGRAM)
    return str(file)


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.cpu)
def test_every_door_makes_code_of_the_level_and_runs_it_where_it_can(isa, program: str) -> None:
    """One cache serves all levels: none gets the code of another."""
    runs = isa.features <= host().features
    done = ran(isa.cpu, program, *(["run"] if runs else []))
    assert done.returncode == 0, done.stderr
    widest = {128: "xmm", 256: "ymm", 512: "zmm"}[isa.vector_bits]
    assert max(re.findall(r"%([xyz]mm)", done.stdout)) == widest
    vex = re.search(r"\tv(mul|fmadd|mov)", done.stdout)
    assert (vex is not None) == ("avx" in isa.features)
    marks = set(re.findall(r"_ZGV(\w)N", done.stdout))
    assert marks <= {{128: "b", 256: "d", 512: "e"}[isa.vector_bits]}


def test_code_for_a_better_processor_is_compiled_and_not_run(program: str) -> None:
    # It has instructions that no processor with the host's has.
    better = "diamondrapids"
    if not misses(host(), processor("x86_64", better) or host()):
        pytest.skip("the host has them all")
    done = ran(better, program)
    assert done.returncode == 0 and "zmm" in done.stdout, done.stderr
    done = ran(better, program, "run")
    assert "WEFT_CPU=diamondrapids: code for diamondrapids cannot run here" in done.stderr


def test_info_says_what_code_is_made_for() -> None:
    done = ran("x86-64-v2", "-m", "weft", "info", "--json")
    found = json.loads(done.stdout)
    assert (found["cpu"], found["isa"], found["lanes"]["32-bit"]) == ("x86-64-v2", "sse4", 4)
    assert found["chosen"] and found["runs_here"]
    assert "chosen by WEFT_CPU" in ran("x86-64-v2", "-m", "weft", "info").stdout
    assert "cannot run here" in ran("diamondrapids", "-m", "weft", "info").stdout
    assert "there is no such processor" in ran("pentium", "-m", "weft", "info").stderr


def test_processors_less_what_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(name: str) -> Machine:
        monkeypatch.setenv("WEFT_CPU", name)
        return chosen()

    whole, less = named("alderlake"), named("alderlake,-avxvnni")
    assert whole.features - less.features == {"avxvnni"} and less.isa == whole.isa
    assert "-avxvnni" in TargetSpec.chosen().features.split(",")
    assert TargetSpec.chosen().isa == less.isa
    held = named("sapphirerapids,-avx512f")
    assert held.isa.name == "avx2" and not any(f.startswith("avx512") for f in held.features)
    assert TargetSpec.chosen().isa == held.isa and held.isa.core.fast_gathers
    assert named("x86-64-v3,-fma").isa == SSE4
    assert named("x86-64,-sse2").isa == SSE2, "what all have stays"
    if host().isa.mask_registers:
        assert named("host,-avx512f").isa.name == "avx2"
        assert misses(host(), chosen()) == ()


@pytest.mark.parametrize(
    "name",
    [
        "alderlake,-mmx9",
        "alderlake,avxvnni",
        "x86-64-v3,",
        "z80,-fma",
        "z80",
        "x86-64-v5",
        "i386",
        "neon",
        "AVX2",
    ],
)
def test_unknown_names_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", name)
    with pytest.raises(SettingError, match=f"WEFT_CPU={name}: there is no such processor"):
        chosen()


def test_names_of_levels_processors_and_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for isa in (SSE2, SSE4, AVX2, AVX512):
        for name in (isa.cpu, isa.name):
            monkeypatch.setenv("WEFT_CPU", name)
            assert chosen() == Machine("x86_64", isa.cpu, isa.features, isa)
            assert TargetSpec.chosen() == TargetSpec.of_isa(isa)
    for name in ("", "host", "native"):
        monkeypatch.setenv("WEFT_CPU", name)
        assert chosen() is host() and TargetSpec.chosen() == TargetSpec.host()
    monkeypatch.delenv("WEFT_CPU")
    assert chosen() is host()


def test_what_the_host_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "host", lambda: Machine("x86_64", "old", SSE4.features, SSE4))
    monkeypatch.setattr(host_module, "chosen", lambda: Machine("x86_64", "x86-64-v3", AVX2.features, AVX2))
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    with pytest.raises(SettingError, match="cannot run here: old has no avx, avx2, bmi"):
        demand_runnable()


def test_levels_are_found_by_llvm_in_their_processors() -> None:
    assert {name: p.isa.name for name in ("nehalem", "sandybridge", "znver3", "skylake", "znver4")
            if (p := processor("x86_64", name))} == {
        "nehalem": SSE4.name, "sandybridge": SSE4.name, "znver3": AVX2.name, "skylake": AVX2.name, "znver4": AVX512.name
    }  # fmt: skip
    features = processor("x86_64", "znver4")
    assert (
        features is not None and "avx512bf16" in features.features and "avx512fp16" not in features.features
    )


def test_code_for_the_hosts_own_name_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hypervisor may withhold features of a processor; those that no code has unasked do not matter.

    Vector instructions do: on a host that lacks some, code for its own name is refused.
    """
    named = processor("x86_64", host().cpu)
    if named is None or best_isa("x86_64", host().features, host().cpu) != named.isa:
        pytest.skip("the host has another name, or less than its name says")
    assert [feature for feature in misses(host(), named) if not feature.startswith("avx")] == []


def test_llvm_knows_every_processor() -> None:
    code = (
        "import llvmlite.binding as llvm\nllvm.initialize_native_target()\nllvm.initialize_native_asmprinter()\n"
        "llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(features='+help')\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    known = set(re.findall(r"Select the (\S+) processor", said))
    assert known >= _X86_64 and {isa.cpu for isa in ISAS if isa.arch == "x86_64"} <= known


def test_only_what_is_about_the_host_asks_for_it() -> None:
    """All else asks for the machine that code is made for."""
    package = os.path.dirname(os.path.dirname(host_module.__file__))
    asking = set()
    for folder, _, names in os.walk(package):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(folder, name)) as file:
                    if re.search(r"(?<![\w.])host\(\)|TargetSpec\.host\(|host_cpu\(", file.read()):
                        asking.add(os.path.relpath(os.path.join(folder, name), package))
    about = {"cli/info.py", "cuda/host.py", "machine/host.py", "target/llvm.py", "target/machine.py"}
    # What executes code that was made for any machine has to ask whether it can.
    assert asking == {*about, "check/machine_code.py"}
