"""A bool that is written in a call has the type of the parameter, so that calls can be inlined."""

from weft.frontend.python.compile import compile_python
from weft.types import uint32


def chosen(x, flag):
    return x * 2 if flag else x + 1


def kernel(a):
    a[0] = chosen(a[1], False)
    a[2] = chosen(a[1], a[3] > 1)


def test_calls_have_the_types_of_their_functions():
    module = compile_python(kernel, (uint32[:],)).module
    calls = [i for f in module.definitions() for i in f.instructions() if i.callee_name == "chosen"]
    wanted = [a.type for a in module.functions["chosen"].args]
    assert [[v.type for v in call.operands if v is not call.callee] for call in calls] == [wanted, wanted]
