"""What a reload exchanges, what it keeps, and what it says needs a restart."""

from __future__ import annotations

import pytest

from .conftest import STRATEGY, ChildError, source

BASE = "class Base: pass\n"


def test_whoever_depends_on_changed_code_is_exchanged_with_it(environment, living):
    environment.put("base", source("base", BASE, default=True))
    above = source("above", "from t_base import Base\nclass Own(Base): pass\n", default=True)
    environment.put("above", above, requires=("refold-base",))
    environment.put("alone", source("alone", default=True))
    child = living()
    child.list()
    environment.put("base", source("base", BASE, default=True, title="newer"))
    assert child.reload()["changed"] == ["above", "base"]
    code = "import t_above, t_base; answer = issubclass(t_above.Own, t_base.Base)"
    assert child.python(code) is True


def test_a_submodule_that_was_imported_later_is_exchanged_too(environment, living):
    record = environment.put("lazy", source("lazy")).parent / "refold_lazy-1.dist-info" / "RECORD"

    def late(word: str) -> None:
        (environment.site / "t_late.py").write_text(f"WORD = '{word}'")
        record.write_text(record.read_text() + f"t_late.py,sha256={word},1\n")

    late("old")
    child = living()
    child.list()
    assert child.python("import t_late; answer = t_late.WORD") == "old"
    late("new")
    child.reload()
    assert child.python("import t_late; answer = t_late.WORD") == "new"


def test_code_that_the_program_imported_itself_is_never_taken_out(environment, living):
    environment.put("own", source("own", default=True, title="one"))
    child = living()
    child.python("import t_own, sys; sys.first = t_own")
    assert child.list()["rows"]["own"]["problem"] is None
    environment.put("own", source("own", default=True, title="two"), version="2")
    child.reload()
    row = child.list()["rows"]["own"]
    assert (row["title"], row["enabled"]) == ("one", True)
    assert "(2), but this process runs 1: restart to use it" in row["problem"]
    environment.remove("refold-own")
    child.reload()
    assert "own" not in child.list()["rows"]
    assert child.python("import t_own, sys; answer = t_own is sys.first") is True


def test_a_dependency_that_is_no_extension_needs_a_restart_when_it_changes(environment, living):
    environment.put("helped", "import t_help\n" + source("helped", default=True), requires=("help", "refold"))
    environment.put("x", "", distribution="help", module="t_help", entry_points="")
    child = living()
    assert child.list()["rows"]["helped"]["problem"] is None
    environment.put("x", "", version="2", distribution="help", module="t_help", entry_points="")
    child.reload()
    row = child.list()["rows"]["helped"]
    assert row["problem"] == "help 2 is installed, but this process runs 1: restart to use it"
    assert row["enabled"] is True


def test_a_failed_scan_keeps_what_was_loaded(environment, living):
    environment.put("rolling", source("rolling", STRATEGY, default=True))
    child = living()
    child.list()
    environment.put("late", source("late", default=True))
    child.python("""
import sys
class Bad:
    def find_spec(self, *_): return None
    def find_distributions(self, *_): raise OSError("the disk is gone")
sys.meta_path.append(Bad())
""")
    with pytest.raises(ChildError, match=r"OSError: the disk is gone.*stays in force"):
        child.reload()
    assert child.list()["enabled"] == ["rolling"]
    child.python("import sys; sys.meta_path.pop()")
    child.reload()
    assert child.list()["enabled"] == ["late", "rolling"]


def test_old_generations_are_freed(environment, living):
    settings = "import attrs\n@attrs.frozen\nclass Settings:\n    size: int = %d\n"

    def release(number: int) -> None:
        code = settings % number + source("often", STRATEGY, default=True).replace(
            "summary='often'", "summary='often', settings=Settings"
        )
        environment.put("often", code, version=str(number))

    release(0)
    child = living()
    child.list()
    for number in range(1, 11):
        release(number)
        assert child.reload()["changed"] == ["often"]
        assert child.list()["settings"]["often"] == f"Settings(size={number})"
    assert child.alive("t_often") <= 2


TOOL = """
    import t_word.spelling
    @hookimpl
    def tools(): return [Tool("say", "Says.", {}, lambda context, arguments: t_word.spelling.WORD)]
"""
SAYS = "[tool.call(None, {}) for _, tool in %s.tools]"


def word(environment, text: str) -> None:
    """An extension whose tool answers `text`, by way of a submodule that it imported."""
    module = environment.site / "t_word" / "__init__.py"
    module.parent.mkdir(exist_ok=True)
    (module.parent / "spelling.py").write_text(f"WORD = {text!r}")
    environment.put("word", "", version=text).unlink()
    module.write_text(source("word", TOOL, default=True, title=text))
    record = environment.site / f"refold_word-{text}.dist-info" / "RECORD"
    record.write_text(record.read_text().replace("t_word.py,", f"t_word/spelling.py,{text},1\nt_word/__init__.py,"))


def test_whoever_holds_a_composition_works_with_its_code_until_done_and_then_the_code_is_freed(environment, living):
    word(environment, "one")
    child = living()
    child.list()
    child.python("import builtins; builtins.held = registry.composition()")
    word(environment, "two")
    assert child.reload()["changed"] == ["word"]
    assert child.python(f"answer = {SAYS % 'held'}") == ["one"]
    assert child.python(f"answer = {SAYS % 'registry.composition()'}") == ["two"]
    environment.remove("refold-word")
    assert child.reload()["removed"] == ["word"]
    assert child.python(f"answer = {SAYS % 'held'}") == ["one"]
    assert (child.alive("t_word"), child.alive("t_word.spelling")) == (1, 1)
    child.python("import builtins; del builtins.held")
    assert (child.alive("t_word"), child.alive("t_word.spelling")) == (0, 0)


def test_a_reload_waits_for_nobody_even_when_it_is_asked_for_by_code_that_it_exchanges(environment, living):
    reload = """
    import sys
    @hookimpl
    def tools(): return [Tool("renew", "Reloads.", {}, lambda context, arguments: sys.renew())]
    """
    environment.put("own", source("own", reload, default=True, title="one"))
    child = living()
    child.list()
    child.python("import sys; sys.renew = lambda: list(registry.reload().changed)")
    environment.put("own", source("own", reload, default=True, title="two"), version="2")
    assert child.python("answer = [tool.call(None, {}) for _, tool in registry.composition().tools]") == [["own"]]
    assert child.list()["rows"]["own"]["title"] == "two"


def test_two_registries_of_one_process_see_the_same_code(environment, living, tmp_path):
    environment.put("twice", source("twice", default=True, title="one"))
    child = living()
    child.list()
    child.python(f"""
import pathlib, builtins
from refold.registry import Registry
builtins.second = Registry(pathlib.Path({str(tmp_path)!r}), lambda wanted: {{}}, lambda *_: None)
second.load()
""")
    environment.put("twice", source("twice", default=True, title="two"))
    child.reload()
    code = "second.reload(); answer = [each.title for each in second.composition().listing]"
    assert child.python(code) == ["two"]
    assert child.list()["rows"]["twice"]["title"] == "two"


def test_settings_and_choices_in_the_file_count_without_a_reload(environment, living, home):
    code = "import attrs\n@attrs.frozen\nclass Settings:\n    tail_percent: int = 25\n" + source("set", default=True)
    environment.put("set", code.replace("summary='set'", "summary='set', settings=Settings"))
    child = living()
    assert child.list()["settings"]["set"] == "Settings(tail_percent=25)"
    (home / "extensions.json").write_text(
        '{"set": {"tailPercent": 30}, "compaction": {"auto": false}, "gone": {"x": 1}}'
    )
    now = child.list()
    assert now["settings"]["set"] == "Settings(tail_percent=30)"
    assert (now["compaction"]["enable"], now["compaction"]["auto"]) == (True, False)
    assert now["problems"] == []
    (home / "extensions.json").write_text('{"set": {"tailpercent": "30", "tailPercent": true}, "enabled": {"set": 1}}')
    now = child.list()
    assert now["settings"]["set"] == "Settings(tail_percent=25)"
    assert now["enabled"] == ["set"]
    assert now["rows"]["set"]["problem"] == (
        "$.set.tailpercent: unknown key; did you mean tailPercent?; it runs on its defaults;"
        " $.set.tailPercent: is true or false, not a whole number; it runs on its defaults"
    )
    assert [None, "extensions.json $.enabled.set: is a whole number, not true or false; the default is used"] in (
        now["problems"]
    )
    (home / "extensions.json").write_text('{"compactoin": {"auto": false}, "sett": {}, "gone": {}}')
    now = child.list()
    assert now["problems"] == [
        [None, "extensions.json $.compactoin: unknown section; did you mean compaction?"],
        [None, "extensions.json $.sett: unknown section; did you mean set?"],
    ]


def test_a_default_that_comes_back_takes_over_again_from_one_that_was_no_default(environment, living, home):
    environment.put("rolling", source("rolling", STRATEGY, default=True))
    environment.put("lcm", source("lcm", STRATEGY))
    child = living()
    child.list()
    environment.remove("refold-rolling")
    child.reload()
    assert child.list()["strategy"] == "lcm"
    environment.put("rolling", source("rolling", STRATEGY, default=True))
    child.reload()
    assert child.list()["strategy"] == "rolling"
    assert not (home / "extensions.json").exists()


def test_without_any_strategy_a_session_is_still_composed(environment, living):
    now = living().list()
    assert now["strategy"] is None
    assert now["enabled"] == []
    assert now["problems"] == []
