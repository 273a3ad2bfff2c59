import pytest

from etlab.magics.completion import completions


@pytest.mark.parametrize(
    ("magic", "typed", "wanted"),
    [
        ("etexport", "%etexport model --qu", "--quantizer"),
        ("etexport", "%etexport model -q int8-w", "int8-weights"),
        ("etexport", "%etexport model -q 8da4w:gr", "group_size="),
        ("etexport", "%etexport model -p ", "xnnpack"),
        ("etexport", "%etexport model --show del", "delegation"),
        ("etparity", "%etparity --reference ea", "eager"),
        ("etprofile", "%etprofile run --by mo", "module"),
        ("etmem", "%etmem run --algo gr", "greedy"),
        ("etdiff", "%etdiff a b --only op", "operators"),
        ("etlab", "%etlab th", "theme"),
    ],
)
def test_tab_offers_options_and_their_values(session, magic, typed, wanted):
    assert wanted in completions(session, magic, typed)


def test_tab_offers_names_of_the_session_where_an_expression_stands(session):
    assert completions(session, "etexport", "%etexport mod") == []
    assert completions(session, "etexport", "%etexport model --inputs x") == []


def test_the_shell_asks_for_them(session):
    _, matches = session.complete("", "%etexport model -q int8-w", 25)
    assert "int8-weights" in [match.strip() for match in matches]
