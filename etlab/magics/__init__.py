"""IPython magics: `%load_ext etlab` brings them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Register the magics; prints nothing."""
    from etlab.magics.commands import EtlabMagics
    from etlab.magics.settings import SettingsMagics
    from etlab.magics.why import WhyMagics

    shell.register_magics(EtlabMagics, SettingsMagics, WhyMagics)
