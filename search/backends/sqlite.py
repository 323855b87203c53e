"""Search on SQLite: FTS5 tables without content, kept by triggers on the tables they index.

Words are searched in a table whose tokens Python has made (search.text), substrings in one of trigrams over folded
text. Both are contentless with contentless_delete, so that a row is taken out by its id alone.
https://sqlite.org/fts5.html
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from django.db import DatabaseError, connection
from django.db.models.sql.compiler import SQLCompiler

from search.backends import fts5_records
from search.backends.base import Condition, Extent, Found, Generation, IndexDamaged, Kind, SearchBackend
from search.corpora import GAP, Corpus
from search.query import And, Node, Not, Or, Term, superset
from search.text import alt_text, fold, function_name, index_text

CHUNK = 500
TRIGRAM = 3
GRAMS = 6
"""Trigrams of a term that are looked up."""
COMPARED = 2000
"""Rows that a copy takes in at a time."""
TRIED = 2000
"""Entries of an index that are looked at in the order of ids before the labels are asked."""
WALKED = 10_000
"""Rows along the index of times that are looked at before all rows of a word are sorted."""
# Characters of a row by which it is looked for to see whether the index is sound.
PROBED = 1000
INCREMENTAL = 2
"""What ``PRAGMA auto_vacuum`` says of a store that can give pages back."""
# One row in so many is read in a scan though it cannot match: whoever scans looks at the clock with each row.
CLOCKED = 256
# What SQLite and FTS5 say of an index that cannot be read; pysqlite3 gives primary result codes only, so words decide.
DAMAGE = re.compile(
    r"database disk image is malformed|invalid fts5 file format|vtable constructor failed|fts5: corrupt|"
    r"no such table: (main\.)?search_|^constraint failed$|missing row \d+ from content table|"
    # Built with a text function that this version no longer has: it cannot be written any more.
    r"no such function: index_text_v",
)


def joined_index_text(*columns: str) -> str:
    """Return what the words index holds of a row: the index text of its columns with a gap between."""
    return GAP.join(index_text(column) for column in columns if column)


def joined_alt_text(*columns: str) -> str:
    return GAP.join(alt for column in columns if column and (alt := alt_text(column)))


def joined_fold(*columns: str) -> str:
    return fold(GAP.join(column for column in columns if column))


def register_functions(raw: Any) -> None:
    """Give a new connection the functions that the triggers call. Without them it cannot write the indexed tables."""
    for kind, function in (("body", joined_index_text), ("alt", joined_alt_text), ("fold", joined_fold)):
        raw.create_function(f"{function_name()}_{kind}", -1, function, deterministic=True)


def is_damage(error: DatabaseError) -> bool:
    """Return whether the error of a statement that touches an index is the index's."""
    return DAMAGE.search(str(error)) is not None


def quote(name: str) -> str:
    return connection.ops.quote_name(name)


class SqliteBackend(SearchBackend):
    """FTS5."""

    vendor = "sqlite"

    def is_damage(self, error: DatabaseError) -> bool:
        return is_damage(error)

    def condition(
        self, corpus: Corpus, rows: Any, *, workspace_id: int, partitions: tuple[str, ...] | None, entries: int
    ) -> Condition:
        compiler: SQLCompiler = rows.query.get_compiler(connection=connection)
        compiler.setup_query()
        if sum(count > 0 for count in compiler.query.alias_refcount.values()) > 1:
            raise ValueError("conditions of a search are made without joins")
        sql, parameters = compiler.query.where.as_sql(compiler, connection)
        return Condition(sql, tuple(parameters), workspace_id, partitions, entries)

    # Making and removing

    def create(self, generation: Generation) -> None:
        self._run(f"CREATE VIRTUAL TABLE {quote(generation.table)} USING fts5({_columns(generation.kind)})")
        if generation.kind == "words":
            self._run(f"INSERT INTO {quote(generation.table)}({quote(generation.table)}, rank) VALUES ('automerge', 8)")
        self.repair(generation)

    def is_whole(self, generation: Generation) -> bool:
        wanted = {generation.table, *(f"{generation.table}_{part}" for part in ("data", "idx", "docsize", "config"))}
        return wanted <= dict(self._schema("table", generation)).keys()

    def repair(self, generation: Generation) -> bool:
        found = dict(self._schema("trigger", generation))
        wanted = self._triggers(generation)
        if found == wanted:
            return False
        self.detach(generation)
        for sql in wanted.values():
            self._run(sql)
        return True

    def detach(self, generation: Generation) -> None:
        for name, _ in self._schema("trigger", generation):
            self._run(f"DROP TRIGGER {quote(name)}")

    def is_readable(self, generation: Generation) -> bool:
        return all(self._is_readable(generation, name) for name in dict(self._schema("table", generation)))

    def _is_readable(self, generation: Generation, name: str) -> bool:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT 1 FROM {quote(name)} LIMIT 1")
                cursor.fetchall()
                if name == generation.table:
                    # The pages are in the others; checking the index as such takes long, and says no of a thinned one.
                    return True
                cursor.execute(f"PRAGMA integrity_check({quote(name)})")
                return [row[0] for row in cursor.fetchall()] == ["ok"]
        except DatabaseError as error:
            if not is_damage(error):
                raise
            return False

    def thin(self, generation: Generation, *, most: int) -> bool:
        present = dict(self._schema("table", generation))
        for part, least in (("data", fts5_records.STRUCTURE), ("docsize", None)):
            name = f"{generation.table}_{part}"
            if name not in present:
                continue
            beyond = f"WHERE id > {least}" if least is not None else ""
            with connection.cursor() as cursor:
                cursor.execute(
                    f"DELETE FROM {quote(name)} WHERE id IN (SELECT id FROM {quote(name)} {beyond} LIMIT %s)", [most]
                )
                if cursor.rowcount:
                    return True
        return False

    def drop(self, generation: Generation, *, readable: bool = True) -> None:
        self.detach(generation)
        names = sorted(dict(self._schema("table", generation)), key=len)
        if not readable:
            self._forget(names)
            return
        for name in names:
            # FTS5 drops what it keeps along with the index; without the index it is still to be dropped.
            self._run(f"DROP TABLE IF EXISTS {quote(name)}")

    def _forget(self, names: Sequence[str]) -> None:
        """Take tables that cannot be dropped any more out of the schema; their pages stay until the next VACUUM."""
        if not names:
            return
        marks = ", ".join(["%s"] * len(names))
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA writable_schema = ON")
            try:
                cursor.execute(f"DELETE FROM sqlite_master WHERE tbl_name IN ({marks})", names)
            finally:
                cursor.execute("PRAGMA writable_schema = RESET")

    def generations(self, corpus: Corpus, kind: Kind) -> list[int]:
        # Also where a table of the index's is all that is left of it.
        pattern = re.compile(rf"search_{corpus.name}_{kind}_g(\d+)(_[a-z]+)?")
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'trigger')")
            names = [str(row[0]) for row in cursor.fetchall()]
        return sorted({int(found[1]) for name in names if (found := pattern.fullmatch(name))})

    def give_back(self, *, pages: int, kept: float) -> bool:
        with connection.cursor() as cursor:
            figures = []
            for pragma in ("auto_vacuum", "freelist_count", "page_count"):
                cursor.execute(f"PRAGMA {pragma}")
                figures.append(int(cursor.fetchone()[0]))
            vacuum, free, total = figures
            wanted = min(pages, free - int(kept * total))
            if vacuum != INCREMENTAL or wanted <= 0:
                return False
            cursor.execute(f"PRAGMA incremental_vacuum({wanted})")
            cursor.fetchall()  # a page is given back with each step
            return wanted == pages

    def extent(self, generation: Generation) -> Extent | None:
        data = quote(f"{generation.table}_data")
        wanted = (fts5_records.AVERAGES, fts5_records.STRUCTURE)
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT id, block FROM {data} WHERE id IN (%s, %s)", wanted)
                records = {int(id_): bytes(block) for id_, block in cursor.fetchall()}
                cursor.execute("PRAGMA page_size")
                page = int(cursor.fetchone()[0])
            found = fts5_records.structure(records[fts5_records.STRUCTURE])
            entries = fts5_records.entries_counted(records[fts5_records.AVERAGES])
        except (ValueError, KeyError):
            return None
        except DatabaseError as error:
            if not is_damage(error):
                raise
            return None
        written = found.entries or 1
        return Extent(found.leaves * page, found.segments, entries, min(1.0, found.deleted / written))

    def counts(self, generation: Generation) -> tuple[int, int | None]:
        sizes, table = quote(f"{generation.table}_docsize"), quote(generation.corpus.table)
        rows = "NULL" if self._indexed(generation) else f"(SELECT count(*) FROM {table})"
        return next(
            (int(there), None if wanted is None else int(wanted))
            for there, wanted in self._rows(f"SELECT (SELECT count(*) FROM {sizes}), {rows}", [], generation)
        )

    # Keeping

    def _values(self, generation: Generation, row: str) -> tuple[str, str]:
        """Return the indexed columns and the expressions that fill them from a row of the corpus table."""
        corpus, function = generation.corpus, generation.function
        texts = ", ".join(f"{row}.{quote(column)}" for column in corpus.columns)
        if generation.kind == "trigram":
            return "body", f"{function}_fold({texts})"
        labels = f"printf('w%x p', {row}.workspace_id) || hex({row}.partition)"
        return "body, alt, labels", f"{function}_body({texts}), {function}_alt({texts}), {labels}"

    def _triggers(self, generation: Generation) -> dict[str, str]:
        """Return the triggers by name.

        They delete before they insert, and never INSERT OR REPLACE: under ON CONFLICT DO UPDATE or OR IGNORE SQLite
        puts the outer statement's conflict clause in place of a trigger's own, and old words would stay findable.
        """
        corpus, table = generation.corpus, quote(generation.table)
        columns, values = self._values(generation, "new")
        owner = quote(corpus.table)
        kept = {"workspace_id", "partition", *corpus.columns}
        condition = ""
        if generation.kind == "trigram" and corpus.unindexed is not None:
            column, value = corpus.unindexed
            kept.add(column)
            condition = f" WHERE new.{quote(column)} <> '{value}'"
        insert = f"INSERT INTO {table}(rowid, {columns}) SELECT new.id, {values}{condition};"
        delete = f"DELETE FROM {table} WHERE rowid = "
        changed = ", ".join(quote(column) for column in ["id", *sorted(kept)])
        name = generation.table
        return {
            f"{name}_insert": f"CREATE TRIGGER {quote(f'{name}_insert')} AFTER INSERT ON {owner} BEGIN "
            f"{delete}new.id; {insert} END",
            f"{name}_update": f"CREATE TRIGGER {quote(f'{name}_update')} AFTER UPDATE OF {changed} ON {owner} BEGIN "
            f"{delete}old.id; {delete}new.id; {insert} END",
            f"{name}_delete": f"CREATE TRIGGER {quote(f'{name}_delete')} AFTER DELETE ON {owner} BEGIN "
            f"{delete}old.id; END",
        }

    def fill(self, generation: Generation, *, after: int, until: int, most: int) -> int:
        table = quote(generation.corpus.table)
        ids = self._ids(f"SELECT id FROM {table} WHERE id > %s AND id <= %s ORDER BY id LIMIT %s", [after, until, most])
        if not ids:
            return until
        self._insert(generation, "t.id > %s AND t.id <= %s", [after, ids[-1]])
        return ids[-1] if len(ids) == most else until

    def index_rows(self, generation: Generation, ids: Sequence[int]) -> None:
        for start in range(0, len(ids), CHUNK):
            some = list(ids[start : start + CHUNK])
            marks = ", ".join(["%s"] * len(some))
            self._run(f"DELETE FROM {quote(generation.table)} WHERE rowid IN ({marks})", some)
            self._insert(generation, f"t.id IN ({marks})", some)

    def _insert(self, generation: Generation, where: str, parameters: list[Any]) -> None:
        columns, values = self._values(generation, "t")
        # A statement of its own, so REPLACE is its own too: it may be repeated after a kill.
        self._run(
            f"INSERT OR REPLACE INTO {quote(generation.table)}(rowid, {columns}) "
            f"SELECT t.id, {values} FROM {quote(generation.corpus.table)} t WHERE {where}{self._indexed(generation)}",
            parameters,
        )

    def _indexed(self, generation: Generation) -> str:
        if generation.kind == "words" or generation.corpus.unindexed is None:
            return ""
        column, value = generation.corpus.unindexed
        return f" AND t.{quote(column)} <> '{value}'"

    def missing(self, generation: Generation, *, most: int) -> list[int]:
        sql = f"""
            SELECT t.id FROM {quote(generation.corpus.table)} t
            LEFT JOIN {quote(generation.table + "_docsize")} d ON d.id = t.id
            WHERE d.id IS NULL{self._indexed(generation)}
            ORDER BY t.id
            LIMIT %s
        """
        return [int(row[0]) for row in self._rows(sql, [most], generation)]

    def orphans(self, generation: Generation, *, most: int) -> list[int]:
        sql = f"""
            SELECT d.id FROM {quote(generation.table + "_docsize")} d
            LEFT JOIN {quote(generation.corpus.table)} t ON t.id = d.id{self._indexed(generation)}
            WHERE t.id IS NULL
            ORDER BY d.id
            LIMIT %s
        """
        return [int(row[0]) for row in self._rows(sql, [most], generation)]

    def check(self, generation: Generation) -> str | None:
        try:
            with connection.cursor() as cursor:
                # The reading form: the INSERT form holds the write lock for as long.
                cursor.execute(f"PRAGMA integrity_check({quote(generation.table)})")
                said = [str(row[0]) for row in cursor.fetchall()]
        except DatabaseError as error:
            return str(error)
        return None if said == ["ok"] else "; ".join(said)[:500]

    def differing_words(self, generation: Generation, *, progress: Callable[[int], object]) -> int:
        # A connection of its own: a transaction of Django's would keep others from writing for minutes.
        raw = connection.get_new_connection(connection.get_connection_params())
        try:
            register_functions(raw)
            raw.isolation_level = None
            # The copy goes to a file that SQLite removes with the connection.
            raw.execute("PRAGMA temp_store = FILE")
            raw.execute(f"CREATE VIRTUAL TABLE temp.fresh USING fts5({_columns(generation.kind)})")
            raw.execute("BEGIN")
            self._fill_copy(raw, generation, progress)
            served, fresh = _spread(raw, "main", generation.table), _spread(raw, "temp", "fresh")
            return sum(1 for _ in _differences(served, fresh))
        except raw.DatabaseError as error:
            if not is_damage(error):
                raise
            raise IndexDamaged(generation, str(error)) from error
        finally:
            raw.close()

    def _fill_copy(self, raw: Any, generation: Generation, progress: Callable[[int], object]) -> None:
        columns, values = self._values(generation, "t")
        after = -1
        while True:
            table = quote(generation.corpus.table)
            sql = f"SELECT max(id), count(*) FROM (SELECT id FROM {table} WHERE id > ? ORDER BY id LIMIT ?)"
            last, count = raw.execute(sql, [after, COMPARED]).fetchone()
            if not count:
                return
            raw.execute(
                f"INSERT INTO temp.fresh(rowid, {columns}) SELECT t.id, {values} FROM {table} t "
                f"WHERE t.id > ? AND t.id <= ?{self._indexed(generation)}",
                [after, last],
            )
            after = last
            progress(count)

    def optimize(self, generation: Generation, *, pages: int, anew: bool = False) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT total_changes()")
            before = cursor.fetchone()[0]
            name = quote(generation.table)
            cursor.execute(f"INSERT INTO {name}({name}, rank) VALUES ('usermerge', 2)")
            cursor.execute(f"INSERT INTO {name}({name}, rank) VALUES ('merge', %s)", [-pages if anew else pages])
            cursor.execute("SELECT total_changes()")
            # The two commands are two changes themselves; https://sqlite.org/fts5.html#the_merge_command
            return bool(cursor.fetchone()[0] - before - 2 >= 2)

    # Finding

    def search(
        self,
        generation: Generation,
        root: Node,
        condition: Condition,
        *,
        gap: tuple[int, int] | None,
        by_time: Literal["newest", "oldest"] | None = None,
        oldest_first: bool = False,
        most: int | None = None,
    ) -> Iterator[Found]:
        expression = self._expression(generation, root)
        if expression is None:
            return
        oldest = oldest_first or by_time == "oldest"
        first: Callable[..., list[Found] | None] = _none
        if generation.kind == "words" and condition.is_large:
            first = partial(self._first, generation, expression, condition, gap, oldest=oldest)
        if generation.kind == "words":
            expression = _labelled(expression, condition)
        in_order = partial(self._in_order, generation, expression, condition, gap, oldest=oldest)
        found: list[Found] | None = None
        if most is not None and (by_time is None or generation.corpus.has_time_index):
            found = first(most=most)
        if by_time is not None and most is not None and generation.corpus.has_time_index:
            found = list(in_order(most=most)) if found is None else found
            found = self._first_by_time(
                generation.corpus, condition, found, first, in_order, by_time=by_time, most=most
            )
        yield from in_order(most=most, by_time=by_time is not None) if found is None else found

    def _first_by_time(
        self,
        corpus: Corpus,
        condition: Condition,
        found: list[Found],
        first: Callable[..., list[Found] | None],
        in_order: Callable[..., Iterator[Found]],
        *,
        by_time: Literal["newest", "oldest"],
        most: int,
    ) -> list[Found] | None:
        """Return the first ``most`` rows by time, given those by id; None where it takes sorting all to tell."""

        def in_time(rows: list[Found]) -> list[Found]:
            return sorted(rows, key=lambda one: (one.time, one.id), reverse=by_time == "newest")

        found = in_time(found)
        if len(found) < most or self.is_in_time_order(corpus, condition, found, by_time=by_time, most=WALKED):
            return found
        # Many rows lie between those of a rare word, and all rows that have it are soon sorted.
        many = max(most, TRIED)
        every = first(most=many) if condition.is_large else list(in_order(most=many))
        if every is not None and len(every) < many:
            return in_time(every)[:most]
        return found if self.is_in_time_order(corpus, condition, found, by_time=by_time) else None

    def _in_order(
        self,
        generation: Generation,
        expression: str,
        condition: Condition,
        gap: tuple[int, int] | None,
        *,
        oldest: bool,
        most: int | None,
        by_time: bool = False,
    ) -> Iterator[Found]:
        """Return the rows that the expression finds by id, or by time, which takes sorting all of them."""
        index, table = quote(generation.table), quote(generation.corpus.table)
        time, direction = quote(generation.corpus.time), "ASC" if oldest else "DESC"
        matching, parameters = self._matching(generation, f"{table}.id, {table}.{time}", expression, condition, gap)
        order = f"{table}.{time} {direction}, {table}.id" if by_time else f"{index}.rowid"
        limit = "" if most is None else f" LIMIT {int(most)}"
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"{matching} ORDER BY {order} {direction}{limit}", parameters)
                while chunk := cursor.fetchmany(CHUNK):
                    for id_, moment in chunk:
                        yield Found(id_, str(moment))
        except DatabaseError as error:
            if is_damage(error):
                # The rows were read too. If it is the index's damage, the index alone has it as well.
                for _ in self._rows(f"SELECT rowid FROM {index} WHERE {index} MATCH %s", [expression], generation):
                    pass
            raise

    def _first(
        self,
        generation: Generation,
        expression: str,
        condition: Condition,
        gap: tuple[int, int] | None,
        *,
        oldest: bool,
        most: int,
    ) -> list[Found] | None:
        """Return the first ``most`` rows by id, or all where there are less; None where it takes the labels to tell.

        Walking the long list of a large workspace's label takes longer than looking at the few rows that a rare word
        has anywhere, and where most rows are of one workspace, so are most of a common word's.
        """
        index, table = quote(generation.table), quote(generation.corpus.table)
        time, direction = quote(generation.corpus.time), "ASC" if oldest else "DESC"
        outside = f" AND ({table}.id <= %s OR {table}.id > %s)" if gap is not None else ""
        enough = most + most // 4 + 10
        for tried in dict.fromkeys((min(enough, TRIED), max(enough, TRIED))):
            sql = f"SELECT rowid FROM {index} WHERE {index} MATCH %s ORDER BY rowid {direction} LIMIT {tried}"
            ids = [int(row[0]) for row in self._rows(sql, [expression], generation)]
            among = f"""
                SELECT {table}.id, {table}.{time}
                FROM json_each(%s) AS candidate CROSS JOIN {table} ON {table}.id = candidate.value
                WHERE {condition.sql}{outside}
                LIMIT {int(most)}
            """
            with connection.cursor() as cursor:
                cursor.execute(among, [json.dumps(ids), *condition.parameters, *(gap or ())])
                found = [Found(id_, str(moment)) for id_, moment in cursor.fetchall()]
            if len(found) == most or len(ids) < tried:
                return found
            if 2 * len(found) * max(enough, TRIED) < most * tried:
                # As few as are the workspace's of these, the next ones will not be enough either.
                return None
        return None

    def is_in_time_order(
        self,
        corpus: Corpus,
        condition: Condition,
        found: Sequence[Found],
        *,
        by_time: Literal["newest", "oldest"],
        most: int | None = None,
    ) -> bool:
        if not corpus.has_time_index or condition.partitions is None:
            return False
        newest = by_time == "newest"
        last = min(one.id for one in found) if newest else max(one.id for one in found)
        beyond, direction = ("<", "DESC") if newest else (">", "ASC")
        time, table = quote(corpus.time), quote(corpus.table)
        for partition in condition.partitions:
            # Read along its index from the end that was asked for.
            rows = f"{table} WHERE workspace_id = %s AND partition = %s"
            if most is not None:
                rows = f"(SELECT id, {time} FROM {rows} ORDER BY {time} {direction} LIMIT {int(most)}) WHERE TRUE"
            times = f"SELECT {time} FROM {rows} AND id {beyond} %s ORDER BY {time} {direction} LIMIT 1"
            with connection.cursor() as cursor:
                cursor.execute(times, [condition.workspace_id, partition, last])
                row = cursor.fetchone()
                if row is None and most is not None and self._has_rows(cursor, corpus, condition, partition, most):
                    return False
            if row is not None and (str(row[0]) >= found[-1].time if newest else str(row[0]) <= found[-1].time):
                return False
        return True

    def _has_rows(self, cursor: Any, corpus: Corpus, condition: Condition, partition: str, number: int) -> bool:
        """Return whether a partition has so many rows."""
        sql = f"SELECT 1 FROM {quote(corpus.table)} WHERE workspace_id = %s AND partition = %s LIMIT 1 OFFSET %s"
        cursor.execute(sql, [condition.workspace_id, partition, number - 1])
        return cursor.fetchone() is not None

    def _matching(
        self,
        generation: Generation,
        columns: str,
        expression: str,
        condition: Condition,
        gap: tuple[int, int] | None,
    ) -> tuple[str, list[Any]]:
        table, index = quote(generation.corpus.table), quote(generation.table)
        outside = f" AND ({index}.rowid <= %s OR {index}.rowid > %s)" if gap is not None else ""
        sql = f"""
            SELECT {columns}
            FROM {index} CROSS JOIN {table} ON {table}.id = {index}.rowid
            WHERE {index} MATCH %s{outside} AND {condition.sql}
        """
        return sql, [expression, *(gap or ()), *condition.parameters]

    def frequencies(
        self, generation: Generation, nodes: Sequence[Node], condition: Condition | None, *, most: int
    ) -> list[int]:
        expressions = [self._expression(generation, node) for node in nodes]
        return [
            0 if one is None else self._count(generation, one if condition is None else _labelled(one, condition), most)
            for one in expressions
        ]

    def rows_of(self, generation: Generation, condition: Condition, *, most: int) -> int:
        return self._count(generation, _labels(condition.workspace_id, condition.partitions), most)

    def _count(self, generation: Generation, expression: str, most: int) -> int:
        index = quote(generation.table)
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH %s LIMIT %s)"
        return self._number(sql, [expression, most], generation)

    def _number(self, sql: str, parameters: Sequence[Any], generation: Generation) -> int:
        return next((int(row[0]) for row in self._rows(sql, parameters, generation)), 0)

    def best_visible(
        self,
        generation: Generation,
        root: Node,
        condition: Condition,
        *,
        gap: tuple[int, int] | None,
        most: int,
    ) -> list[int] | None:
        index, table = quote(generation.table), quote(generation.corpus.table)
        outside = f" AND ({table}.id <= %s OR {table}.id > %s)" if gap is not None else ""
        tried = 2 * most
        ranked = f"SELECT rowid FROM {index} WHERE {index} MATCH %s ORDER BY bm25({index}, 1, 0, 0) LIMIT {tried}"
        ids = [int(row[0]) for row in self._rows(ranked, [words_expression(root, "body")], generation)]
        if len(ids) < tried:
            return None
        visible = f"""
            SELECT {table}.id
            FROM json_each(%s) AS candidate CROSS JOIN {table} ON {table}.id = candidate.value
            WHERE {condition.sql}{outside}
        """
        found = set(self._ids(visible, [json.dumps(ids), *condition.parameters, *(gap or ())]))
        best = [id_ for id_ in ids if id_ in found][:most]
        return best if len(best) == most else None

    def best(self, generation: Generation, root: Node, ids: Sequence[int], *, most: int) -> list[int]:
        if not ids:
            return []
        index, wanted = quote(generation.table), set(ids)
        # The body alone: bm25 walks the whole list of every phrase in the MATCH, at weight 0 too.
        sql = f"""
            SELECT rowid FROM {index}
            WHERE {index} MATCH %s AND rowid BETWEEN %s AND %s
            ORDER BY bm25({index}, 1, 0, 0)
        """
        best: list[int] = []
        for (id_,) in self._rows(sql, [words_expression(root, "body"), min(wanted), max(wanted)], generation):
            if id_ in wanted:
                best.append(id_)
                if len(best) >= most:
                    break
        return best

    def _expression(self, generation: Generation, root: Node) -> str | None:
        """Return the MATCH expression; None where the index cannot narrow the rows down."""
        if generation.kind == "words":
            kept = superset(root, lambda term: bool(term.tokens)) if _has_symbols(root) else root
            return None if kept is None else words_expression(kept)
        kept = superset(root, lambda term: len(term.folded) >= TRIGRAM)
        return None if kept is None else _trigrams(kept)

    def lost(self, generation: Generation, ids: Sequence[int]) -> list[int]:
        index, sizes = quote(generation.table), quote(f"{generation.table}_docsize")
        lost = []
        for id_, row in self.texts(generation.corpus, ids).items():
            expression = self._expression_for(generation, row)
            sql = f"SELECT id FROM {sizes} WHERE id = %s"
            parameters: list[Any] = [id_]
            if expression is not None:
                sql += f" AND id IN (SELECT rowid FROM {index} WHERE {index} MATCH %s AND rowid = %s)"
                parameters += [expression, id_]
            if not list(self._rows(sql, parameters, generation)):
                lost.append(id_)
        return lost

    def _expression_for(self, generation: Generation, row: dict[str, Any]) -> str | None:
        """Return what the index finds the row by, a part of its own text; None for a row without words."""
        text = next((row[column] for column in generation.corpus.columns if row[column]), "")
        if generation.kind == "trigram":
            token = fold(text[:PROBED])[:TRIGRAM]
            return _quoted(token) if len(token) == TRIGRAM else None
        # The beginning will do; where it is cut, the last word is cut too.
        written = index_text(text[:PROBED]).split()
        token = max(written if len(text) <= PROBED else written[:-2], key=len, default="")
        return f"body : {_quoted(token)}" if token else None

    def samples(self, generation: Generation, *, gap: tuple[int, int] | None, most: int) -> list[int]:
        table = quote(generation.corpus.table)
        where = [f"TRUE{self._indexed(generation)}"]
        parameters: list[int] = []
        if gap is not None:
            where.append("(t.id <= %s OR t.id > %s)")
            parameters += gap
        sql = f"SELECT t.id FROM {table} t WHERE {' AND '.join(where)} ORDER BY t.id"
        newest = self._ids(f"{sql} DESC LIMIT 1", parameters)
        oldest = self._ids(f"{sql} LIMIT 1", parameters)
        found = dict.fromkeys([*newest, *oldest])
        if newest:
            for _ in range(most - len(found)):
                place = random.randint(oldest[0], newest[0])  # noqa: S311  a sample, no secret
                sql = f"SELECT t.id FROM {table} t WHERE t.id >= %s AND {' AND '.join(where)} ORDER BY t.id LIMIT 1"
                found |= dict.fromkeys(self._ids(sql, [place, *parameters]))
        return list(found)[:most]

    def texts(self, corpus: Corpus, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for start in range(0, len(ids), CHUNK):
            some = list(ids[start : start + CHUNK])
            columns = ", ".join(quote(column) for column in corpus.columns)
            marks = ", ".join(["%s"] * len(some))
            sql = f"SELECT id, {columns} FROM {quote(corpus.table)} WHERE id IN ({marks})"
            with connection.cursor() as cursor:
                cursor.execute(sql, some)
                found |= {row[0]: dict(zip(corpus.columns, row[1:], strict=True)) for row in cursor.fetchall()}
        return found

    def scan(
        self,
        corpus: Corpus,
        condition: Condition,
        *,
        like: str | None,
        newest_first: bool,
        within: tuple[int, int] | None,
    ) -> Iterator[tuple[Found, dict[str, Any]]]:
        table = quote(corpus.table)
        columns = ", ".join(f"{table}.{quote(column)}" for column in corpus.columns)
        where, parameters = [condition.sql], list(condition.parameters)
        if within is not None:
            where.append(f"{table}.id > %s AND {table}.id <= %s")
            parameters += within
        if like is not None:
            # A text that is not ASCII may fold to more than it shows, and is read.
            names = [f"{table}.{quote(column)}" for column in corpus.columns]
            tests = [f"{name} LIKE %s OR octet_length({name}) <> length({name})" for name in names]
            where.append(f"({' OR '.join(tests)} OR {table}.id %% {CLOCKED} = 0)")
            parameters += [f"%{like}%"] * len(corpus.columns)
        direction = "DESC" if newest_first else "ASC"
        time = f"{table}.{quote(corpus.time)}"
        one = f"SELECT {table}.id, {time}, {columns} FROM {table} WHERE {' AND '.join(where)}"
        if condition.partitions and corpus.has_time_index:
            # Each partition is read along its index of times and they are merged; IN would sort all rows first.
            own = [f"{one} AND {table}.partition = %s" for _ in condition.partitions]
            sql = " UNION ALL ".join(own)
            parameters = [value for partition in condition.partitions for value in (*parameters, partition)]
        else:
            sql = one
        sql += f" ORDER BY 2 {direction}, 1 {direction}"
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            while chunk := cursor.fetchmany(100):
                for id_, moment, *texts in chunk:
                    yield Found(id_, str(moment)), dict(zip(corpus.columns, texts, strict=True))

    # Statements

    def _run(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)

    def _ids(self, sql: str, parameters: Sequence[Any]) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return [int(row[0]) for row in cursor.fetchall()]

    def _rows(self, sql: str, parameters: Sequence[Any], generation: Generation) -> Iterator[tuple[Any, ...]]:
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                while chunk := cursor.fetchmany(CHUNK):
                    yield from chunk
        except DatabaseError as error:
            if is_damage(error):
                raise IndexDamaged(generation, str(error)) from error
            raise

    def _schema(self, kind: str, generation: Generation) -> list[tuple[str, str]]:
        """Return name and SQL of the generation's tables or triggers."""
        name = generation.table
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = %s ORDER BY name", [kind])
            return [(found, sql) for found, sql in cursor.fetchall() if found == name or found.startswith(f"{name}_")]


def _none(*, most: int) -> list[Found] | None:
    """Stand in for a look that would not pay."""
    return None


def _columns(kind: Kind) -> str:
    options = "content='', contentless_delete=1"
    if kind == "words":
        # Tokens come ready and parted by blanks; the ascii tokenizer takes everything beyond ASCII as it is.
        return f"body, alt, labels, tokenize='ascii', prefix='1', {options}"
    return f"body, tokenize='trigram case_sensitive 1', detail=none, {options}"


def _labelled(expression: str, condition: Condition) -> str:
    return f"{_labels(condition.workspace_id, condition.partitions)} AND ({expression})"


def _labels(workspace_id: int, partitions: tuple[str, ...] | None) -> str:
    """Return the expression for the labels of a workspace, in these partitions (None: all)."""
    workspace = f'labels : "w{workspace_id:x}"'
    if partitions is None:
        return workspace
    named = [f'labels : "p{partition.encode().hex()}"' for partition in partitions]
    return f"{workspace} AND ({' OR '.join(named) or 'labels : none'})"


def _has_symbols(root: Node) -> bool:
    if isinstance(root, Term):
        return bool(root.symbols)
    return any(_has_symbols(part) for part in (root.parts if isinstance(root, And | Or) else (root.part,)))


def words_expression(root: Node, columns: str = "{body alt}") -> str:
    """Return the tree as an FTS5 expression over the columns. Tokens are quoted, so nothing in them is syntax."""
    if isinstance(root, Term):
        phrase = " ".join(root.tokens).replace('"', '""')
        return f'{columns} : "{phrase}"{" *" if root.prefix else ""}'
    if isinstance(root, Or):
        return "(" + " OR ".join(words_expression(part, columns) for part in root.parts) + ")"
    assert isinstance(root, And)
    wanted = " AND ".join(words_expression(part, columns) for part in root.parts if not isinstance(part, Not))
    for part in root.parts:
        if isinstance(part, Not):
            wanted = f"({wanted}) NOT ({words_expression(part.part, columns)})"
    return f"({wanted})"


def _trigrams(root: Node) -> str:
    """Return the tree as an expression of single trigrams: without positions (detail=none) there are no phrases."""
    if isinstance(root, Term):
        text = root.folded
        places = len(text) - TRIGRAM + 1
        # A few name hardly more rows than all do, and each is another long list to walk; the text decides anyway.
        few = range(places) if places <= GRAMS else (place * (places - 1) // (GRAMS - 1) for place in range(GRAMS))
        grams = dict.fromkeys(text[start : start + TRIGRAM] for start in few)
        return "(" + " AND ".join(map(_quoted, grams)) + ")"
    assert isinstance(root, And | Or)
    joint = " AND " if isinstance(root, And) else " OR "
    return "(" + joint.join(_trigrams(part) for part in root.parts) + ")"


def _quoted(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'


def _spread(raw: Any, schema: str, table: str) -> Iterator[tuple[str, int, int]]:
    """Return each word of an index in order, how often it stands there, and a checksum of all the places."""
    words = f"{schema}_words"
    raw.execute(f"CREATE VIRTUAL TABLE temp.{words} USING fts5vocab({schema}, {quote(table)}, instance)")
    # Without positions there is neither a column nor a place in it.
    place = "doc * 2654435761 + ifnull(offset, 0) * 40503 + ifnull(unicode(col), 0) * 97"
    found: Iterator[tuple[str, int, int]] = raw.execute(
        f"SELECT term, count(*), sum(({place}) % 1000000007) FROM temp.{words} GROUP BY term"
    )
    return found


def _differences(one: Iterator[tuple[str, int, int]], other: Iterator[tuple[str, int, int]]) -> Iterator[str]:
    """Return the words that only one has, or both with other places. Both come in the order of words, as bytes."""
    left, right = next(one, None), next(other, None)
    while left is not None or right is not None:
        if left == right:
            left, right = next(one, None), next(other, None)
        elif right is None or (left is not None and left[0].encode() < right[0].encode()):
            assert left is not None
            yield left[0]
            left = next(one, None)
        elif left is None or right[0].encode() < left[0].encode():
            yield right[0]
            right = next(other, None)
        else:
            yield left[0]
            left, right = next(one, None), next(other, None)
