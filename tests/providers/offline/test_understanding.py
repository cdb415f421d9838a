"""What an objective is taken for, with names in the folder where it was given."""

from __future__ import annotations

from lumen_rows import each_row

from lumen_tui.providers.offline.playbook_router import NoMatch, PlaybookPlan, SearchRoot, choose
from lumen_tui.providers.offline.vocabulary import nearest

SHOP = SearchRoot("/srv/shop", ("logs", "src", "config", "data", "backups", "README.md"))


@each_row(
    ("objective", "playbook", "path"),
    [
        ("how mnay erors are in logs/app.log", "log-errors", "/srv/shop/logs/app.log"),
        ("Which folder is the largest?", "disk-usage", "/srv/shop"),
        ("files bigger than 2MB in backups", "files", "/srv/shop/backups"),
        ("how many commits?", "git-log", "/srv/shop"),
        ("who last touched src/shop/cart.py", "git-log", "/srv/shop/src/shop/cart.py"),
        ("what's the port in config/app.toml", "look-up", "/srv/shop/config/app.toml"),
        ("average total in data/orders.csv", "csv", "/srv/shop/data/orders.csv"),
        ("any TODO or FIXME in src?", "todo", "/srv/shop/src"),
        ("lines not containing DEBUG in logs/app.log", "search-text", "/srv/shop/logs/app.log"),
        ("how much disk space is left", "free-space", "/srv/shop"),
    ],
)
def test_an_objective_in_natural_words_finds_its_playbook(objective, playbook, path):
    plan = choose(objective, (), SHOP, 1_795_000_000.0)
    assert isinstance(plan, PlaybookPlan), plan
    assert (plan.playbook, plan.path) == (playbook, path)


@each_row(
    "objective",
    [
        "clean up old logs", "which errors in logs/app.log should I worry about", "free up some disk space",
        "errors in logs/app.log except timeouts", "files larger than 1 MB but not in backups", "open port 8080",
        "how many errors?", "which file was least recently changed in backups", "compare config/app.toml",
        "how many errors will logs/app.log have tomorrow", "errors in logs/app.log on 31 November",
        "kill whatever listens on port 8080", "which of the backups is the best", "show me the log",
    ],
)  # fmt: skip
def test_what_is_unsafe_unclear_or_unknowable_is_refused(objective):
    plan = choose(objective, (), SHOP, 1_795_000_000.0)
    assert isinstance(plan, NoMatch) or (plan.terms and plan.playbook == "look-up"), plan


def test_a_refusal_names_the_nearest_playbook_and_what_it_does_not_know():
    plan = choose("errors in logs/app.log except timeouts", (), SHOP)
    assert isinstance(plan, NoMatch)
    assert "log-errors" in plan.reason
    assert "'except'" in plan.reason


@each_row(
    ("pattern", "regex"),
    [("a plain text", ""), ("127.0.0.1", ""), ("f(x)", "")],
)
def test_quoted_text_is_searched_as_it_is_or_asked_about(pattern, regex):
    plan = choose(f'search for "{pattern}" in src', (), SHOP)
    assert isinstance(plan, PlaybookPlan)
    assert (plan.pattern, plan.regex) == (pattern, regex)


def test_an_expression_between_slashes_is_one():
    plan = choose(r"how many lines in logs/app.log match /user=\d+ .*denied/ ?", (), SHOP)
    assert isinstance(plan, PlaybookPlan)
    assert (plan.pattern, plan.regex, plan.path) == (r"user=\d+ .*denied", "yes", "/srv/shop/logs/app.log")


def test_a_slip_is_the_word_that_it_is_near_and_never_one_with_another_beginning():
    known = {"committed", "which", "newest", "errors", "many", "largest"}
    assert nearest("commited", known) == "committed"
    assert nearest("wich", known) == "which"
    assert nearest("mnay", known) == "many"
    assert nearest("fewest", known) == ""
    assert nearest("longest", known) == ""
