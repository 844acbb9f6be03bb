"""A reload waits for silence, and nobody is locked against his own worker."""

from __future__ import annotations

import threading

import pytest
from refold.registry.silence import Silence
from refold.values.errors import Busy, Refused


def test_a_reload_waits_until_the_last_one_that_runs_is_done():
    silence, began, done, order = Silence(), threading.Event(), threading.Event(), []

    def turn() -> None:
        with silence.running():
            began.set()
            done.wait(5)
            order.append("turn")

    thread = threading.Thread(target=turn)
    thread.start()
    began.wait(5)
    threading.Timer(0.05, done.set).start()
    with silence.alone(5):
        order.append("reload")
    thread.join()
    assert order == ["turn", "reload"]


def test_a_worker_of_a_running_turn_may_start_while_a_reload_waits():
    silence, waiting = Silence(), threading.Event()
    reloaded = threading.Event()

    def reload() -> None:
        waiting.set()
        with silence.alone(5):
            reloaded.set()

    def work() -> None:
        with silence.running(), silence.running():
            pass

    with silence.running():
        other = threading.Thread(target=reload)
        other.start()
        waiting.wait(5)
        worker = threading.Thread(target=work)
        worker.start()
        worker.join(5)
        assert not worker.is_alive()
        assert not reloaded.is_set()
    other.join(5)
    assert reloaded.is_set()


def test_nothing_starts_while_the_code_is_exchanged():
    silence, started = Silence(), threading.Event()

    def turn() -> None:
        with silence.running():
            started.set()

    with silence.alone(1):
        thread = threading.Thread(target=turn)
        thread.start()
        assert not started.wait(0.05)
    thread.join(5)
    assert started.is_set()


def test_a_reload_inside_a_turn_is_refused_and_one_that_waits_too_long_is_busy():
    silence = Silence()
    with silence.running(), pytest.raises(Refused, match="from inside a turn; nothing was changed"), silence.alone(1):
        pass
    errors: list[Exception] = []

    def reload() -> None:
        try:
            with silence.alone(0.01):
                pass
        except Busy as error:
            errors.append(error)

    with silence.running():
        thread = threading.Thread(target=reload)
        thread.start()
        thread.join(5)
    assert "nothing was reloaded" in str(errors[0])
