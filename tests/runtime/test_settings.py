from pathlib import Path

import pytest

import weft
from weft.errors import SettingError
from weft.machine.host import core_count
from weft.runtime import settings


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_chosen_threads", None)
    for name in ("WEFT_NUM_THREADS", "WEFT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_threads_are_one_a_core_unless_environment_or_program_say_otherwise(monkeypatch) -> None:
    assert weft.get_num_threads() == core_count()
    monkeypatch.setenv("WEFT_NUM_THREADS", "3")
    assert weft.get_num_threads() == core_count()
    monkeypatch.setattr(settings, "_chosen_threads", None)
    assert weft.get_num_threads() == 3
    weft.set_num_threads(5)
    assert weft.get_num_threads() == 5


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", True])
def test_senseless_number_of_threads_is_refused(value) -> None:
    with pytest.raises(SettingError, match="positive integer"):
        weft.set_num_threads(value)


@pytest.mark.parametrize("value", ["0", "-2", "many"])
def test_senseless_environment_variable_is_refused(monkeypatch, value) -> None:
    monkeypatch.setenv("WEFT_NUM_THREADS", value)
    with pytest.raises(SettingError, match="WEFT_NUM_THREADS"):
        weft.get_num_threads()


def test_cache_directory_follows_the_environment(monkeypatch) -> None:
    assert settings.cache_directory() == Path.home() / ".cache" / "weft"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert settings.cache_directory() == Path("/caches/weft")
    monkeypatch.setenv("WEFT_CACHE_DIR", "~/mine")
    assert settings.cache_directory() == Path.home() / "mine"
