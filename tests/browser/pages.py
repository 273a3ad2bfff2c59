"""What tests ask the page of a view."""


def traits(page, name):
    """A trait as the page has it."""
    return page.evaluate(f"window.model.get('{name}')")
