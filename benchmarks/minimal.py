"""The smallest Textual program with a list of 1,000 rows: what the room is compared with."""

from textual.app import App, ComposeResult
from textual.widgets import DataTable


class Minimal(App[None]):
    """One table; `q` ends it."""

    BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012 - Textual's own way

    def compose(self) -> ComposeResult:
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("number", "text")
        table.add_rows([(number, f"row {number} of a thousand") for number in range(1000)])


if __name__ == "__main__":
    Minimal().run()
