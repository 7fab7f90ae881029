import json
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft import cli
from weft.cli import info
from weft.errors import TypingError
from weft.machine.host import chosen
from weft.runtime import settings


def test_text_names_versions_processor_lanes_threads_and_cache(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("WEFT_NUM_THREADS", "7")
    monkeypatch.setattr(settings, "_chosen_threads", None)
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry" / "code.o").write_bytes(bytes(3 << 20))
    assert cli.main(["info"]) == 0
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert rows["weft"] == weft.__version__
    assert rows["LLVM"].startswith("22.")
    assert chosen().cpu in rows["processor"]
    assert f"{chosen().isa.lanes(32)} x 32-bit" in rows["lanes"]
    assert rows["threads"].startswith("7 of ")
    assert rows["cache"] == f"{tmp_path}: 1 file, 3 MiB"
    assert {"libmvec", "svml", "sleef"} < set(rows)


def test_json_has_every_field(capsys) -> None:
    assert cli.main(["info", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) == set(info.Info.__struct_fields__)
    assert data["lanes"]["32-bit"] == chosen().isa.lanes(32)


def test_missing_cache_directory_is_empty(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "none"))
    assert (info.collect().cache_entries, info.collect().cache_bytes) == (0, 0)


def test_module_runs_as_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "weft", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"weft {weft.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["info", "--no-such-option"]])
def test_wrong_usage_ends_with_status_2(arguments, capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: weft" in capsys.readouterr().err


def test_weft_error_is_shown_without_traceback(monkeypatch, capsys) -> None:
    def refuse(options: object) -> int:
        raise TypingError("no such type", hint="use float32")

    monkeypatch.setattr(info, "run", refuse)
    assert cli.main(["info"]) == 1
    assert capsys.readouterr().err == "weft: no such type\n  hint: use float32\n"


def test_closed_pipe_is_not_an_error() -> None:
    command = f"{sys.executable} -m weft info | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_only_the_module_of_the_subcommand_is_imported() -> None:
    code = "import sys; from weft import cli; cli.main(['info']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {name for name in done.stdout.split() if name.startswith("weft.cli.")}
    assert imported == {"weft.cli.info"}


def test_subcommands_have_the_names_of_their_modules(capsys) -> None:
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as caught:
            cli.main([command, "--help"])
        assert caught.value.code == 0 and f"usage: weft {command}" in capsys.readouterr().out
