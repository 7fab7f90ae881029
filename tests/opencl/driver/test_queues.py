"""Queues and events of the driver: order, waiting, callbacks, several threads."""

from collections.abc import Callable

Host = Callable[..., str]


def test_events_order_commands(host: Host) -> None:
    host("""
import time
a = np.arange(256, dtype=np.int32)
b, c = buffer(a), buffer(0 * a)
gate = cl.UserEvent(context)
copied = cl.enqueue_copy(queue, c, b, wait_for=[gate])
other = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
after = cl.enqueue_marker(other, wait_for=[copied])
heard = []
copied.set_callback(cl.command_execution_status.COMPLETE, heard.append)
queue.flush()
other.flush()
time.sleep(0.05)
assert copied.command_execution_status > 0 and after.command_execution_status > 0 and not heard
gate.set_status(cl.command_execution_status.COMPLETE)
after.wait()
assert copied.command_execution_status == 0
while not heard:
    time.sleep(0.001)
assert (read(c, a) == a).all()

failed = cl.UserEvent(context)
never = cl.enqueue_copy(queue, c, b, wait_for=[failed])
failed.set_status(-5)
refuses(-14, never.wait)
assert never.command_execution_status == -14
queue.finish()
""")


def test_many_threads_share_queues(host: Host) -> None:
    host("""
import threading
a = np.arange(64, dtype=np.int32)
b = buffer(a)
shared = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
wrong = []

def work(number):
    own, c = cl.CommandQueue(context), buffer(0 * a)
    for k in range(200):
        target = own if k % 2 else shared
        event = cl.enqueue_copy(target, c, b)
        if k % 3 == 0:
            target.flush()
        if k % 5 == 0:
            event.wait()
        if k % 50 == 0:
            cl.enqueue_barrier(shared).wait()
    own.finish()
    shared.finish()
    out = np.empty_like(a)
    cl.enqueue_copy(own, out, c)
    wrong.extend([number] if (out != a).any() else [])

threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not wrong
""")


def test_times_are_in_order(host: Host) -> None:
    host("""
timed = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
profile = cl.enqueue_copy(timed, buffer(np.zeros(64)), buffer(np.ones(64))).profile
timed.finish()
assert profile.queued <= profile.submit <= profile.start <= profile.end
refuses(-7, lambda: cl.enqueue_marker(queue).profile.start)
""")
