from pathlib import Path

import pytest


@pytest.fixture
def comparing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare, even in a run that updates golden files."""
    monkeypatch.setattr(request.config.option, "update_golden", False)


@pytest.mark.usefixtures("comparing")
def test_missing_golden_file_fails_and_is_not_written(golden) -> None:
    with pytest.raises(pytest.fail.Exception, match="--update-golden"):
        golden("text", "no-such-file.txt")
    assert not (Path(__file__).parent / "golden" / "no-such-file.txt").exists()


def test_updating_writes_the_file_that_comparing_then_accepts(request, monkeypatch, tmp_path, golden) -> None:
    file = tmp_path / "new.txt"
    monkeypatch.setattr(request.config.option, "update_golden", True)
    golden("text", str(file))
    monkeypatch.setattr(request.config.option, "update_golden", False)
    golden("text\n", str(file))
    with pytest.raises(AssertionError, match="differs"):
        golden("other", str(file))
