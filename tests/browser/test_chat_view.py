"""The chat in a real browser: a question, an answer that comes, stopping it."""

from pathlib import Path

SECONDS = 120_000  # milliseconds that a slow machine may take for one step

CELL = f"""\
import sys
import time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from llm.letters import Letters
from llm.tiny_model import tiny_program
from etlab.llm import Chat, Runner
from etlab.runtime import Runtime
class Slow(Letters):
    def decode(self, tokens, *, keep_special=False):
        time.sleep(0.2)
        return super().decode(tokens, keep_special=keep_special)
template = "{{% for message in messages %}}{{{{ message.content }}}}<end>{{% endfor %}}"
runner = Runner(Runtime.get().load_program(tiny_program()), Slow(chat_template=template))
chat = Chat(runner, ignore_eos=True)
chat.widget()
"""


def test_an_answer_comes_and_stop_ends_it(chromium, lab_of, run_first_cell):
    page = chromium.new_page(viewport={"width": 1200, "height": 1000})
    page.set_default_timeout(SECONDS)
    page.goto(lab_of([CELL]))
    run_first_cell(page)

    page.get_by_placeholder("Say something").fill("^ab")
    page.get_by_role("button", name="Send", exact=True).click()
    page.locator(".etlab-status:visible", has_text="tok/s").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    status = page.locator(".etlab-status:visible", has_text="stopped: ")
    status.wait_for()
    written = int(status.inner_text().removeprefix("stopped: ").split()[0])
    assert 1 <= written < 20  # the context has room for 20
    page.locator("b:visible", has_text="Model").wait_for()

    page.get_by_role("button", name="New", exact=True).click()
    page.locator("p:visible", has_text="Nothing was said yet.").wait_for()
    page.close()
