"""`etlab.options`: what is set for this session, from the environment at first."""

import os

from etlab.errors import InvalidArgumentError

THEMES = ("auto", "light", "dark")
_SILENT = ("off", "0", "no", "false")


class Options:
    """The settings of the session; each begins as the environment variable has it.

    Setting one sets the variable, too, so that child processes have the same.
    """

    @property
    def theme(self) -> str:
        """Of views that say none: "auto" follows the page, "light", "dark" (`ETLAB_THEME`)."""
        found = os.environ.get("ETLAB_THEME", "auto").lower()
        return found if found in THEMES else "auto"

    @theme.setter
    def theme(self, name: str) -> None:
        if name not in THEMES:
            raise InvalidArgumentError(
                f"options.theme: expected one of {', '.join(THEMES)}, got {name!r}"
            )
        os.environ["ETLAB_THEME"] = name

    @property
    def progress(self) -> bool:
        """Whether magics show which stage runs (`ETLAB_PROGRESS`)."""
        return os.environ.get("ETLAB_PROGRESS", "").lower() not in _SILENT

    @progress.setter
    def progress(self, shown: bool) -> None:
        os.environ["ETLAB_PROGRESS"] = "on" if shown else "off"

    @property
    def threads(self) -> int:
        """Of all kernels, delegates included; results do not depend on it."""
        from etlab import runtime

        return runtime.thread_count()

    @threads.setter
    def threads(self, count: int) -> None:
        from etlab import runtime

        runtime.set_thread_count(count)

    def __repr__(self) -> str:
        """One line."""
        return f"Options(theme={self.theme!r}, progress={self.progress}, threads={self.threads})"


options = Options()
