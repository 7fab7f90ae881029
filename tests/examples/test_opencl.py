"""The applications in OpenCL C compute what NumPy does."""

import pytest

pytest.importorskip("ziglang")

from examples.opencl.applications import APPLICATIONS, HERE, error_of, run
from weft import opencl


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Launches by the hundred are not checked one by one.
    monkeypatch.setenv("WEFT_CHECK", "0")
    application = APPLICATIONS[name](1e-3)
    run(application, opencl.Program(HERE / f"{name}.cl", application.options))
    assert error_of(application) <= application.tolerance
