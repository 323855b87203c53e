"""Write memories to a file, with all that is known of them."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from memories.access import Actor
from memories.errors import Refused
from memories.exporting import export_memories, find_scope, written_aside


class Command(BaseCommand):
    help = "Export a workspace's memories, of all agents and with every revision, as JSON Lines for import_memories."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="Where to; - is standard output.")
        parser.add_argument("--workspace", default="default", help="Whose memories (%(default)s).")
        parser.add_argument("--agent", help="Only what this agent remembered.")
        parser.add_argument("--force", action="store_true", help="Replace the file if it exists.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace, agent = find_scope(options["workspace"], options["agent"])
            with self.opened(options["file"], force=options["force"]) as out, tqdm(unit="memory", disable=None) as bar:
                done = export_memories(
                    out,
                    workspace,
                    agent=agent,
                    actor=Actor("command export_memories"),
                    on_start=bar.reset,
                    on_memory=bar.update,
                )
        except Refused as error:
            raise CommandError(error.message) from None
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be written: {error.strerror}") from None
        self.stderr.write(f"{done.memories:,} memories with {done.revisions:,} revisions", self.style.SUCCESS)
        if done.left_out:
            self.stderr.write(f"{done.left_out:,} references to memories of other agents were left out")
        for memory_id in done.too_long:
            self.stderr.write(f"memory {memory_id} has more history than import_memories reads back in one line")

    @contextlib.contextmanager
    def opened(self, name: str, *, force: bool) -> Iterator[BinaryIO]:
        """Open the file of this name, or standard output."""
        if name != "-":
            with written_aside(Path(name), force=force) as out:
                yield out
        elif (buffer := getattr(self.stdout, "buffer", None)) is not None:
            yield buffer
        else:
            text = io.BytesIO()
            yield text
            self.stdout.write(text.getvalue().decode(), ending="")
