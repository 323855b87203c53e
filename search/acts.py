"""What somebody has done to an index: maintenance, and an entry in the audit log."""

from __future__ import annotations

from collections.abc import Callable

from memories import audit
from memories.access import Actor
from search import maintenance, tasks, upkeep, verification
from search.backends.base import Kind
from search.corpora import Corpus
from search.verification import Verdict


def rebuild(corpus: Corpus, kind: Kind, *, actor: Actor) -> None:
    """Begin the index anew beside the one that serves; the worker fills it."""
    maintenance.rebuild(corpus, kind, by=actor.name)
    tasks.go_on()
    _record("rebuild", corpus, kind, actor, "begun")


def pause(corpus: Corpus, kind: Kind, *, actor: Actor) -> bool:
    """Return whether a build was paused."""
    done = maintenance.pause(corpus, kind)
    if done:
        _record("pause", corpus, kind, actor, "paused")
    return done


def resume(corpus: Corpus, kind: Kind, *, actor: Actor) -> bool:
    """Return whether a build goes on."""
    done = maintenance.resume(corpus, kind)
    if done:
        tasks.go_on()
        _record("resume", corpus, kind, actor, "resumed")
    return done


def verify(corpus: Corpus, kind: Kind, *, actor: Actor) -> Verdict:
    """Return what is found of the index; one that is not sound is put right in the background."""
    verdict = verification.verify(corpus, kind)
    _record("verify", corpus, kind, actor, verdict.said)
    return verdict


def compare(corpus: Corpus, kind: Kind, *, actor: Actor, progress: Callable[[int], object]) -> Verdict:
    """Return what is found of the index word by word; one that differs is built anew in the background."""
    verdict = verification.compare(corpus, kind, progress=progress)
    _record("compare", corpus, kind, actor, verdict.said)
    return verdict


def optimize(corpus: Corpus, kind: Kind, *, actor: Actor) -> bool:
    """Return whether the index is merged as far as it goes after some seconds."""
    done = upkeep.optimize(corpus, kind)
    _record("optimize", corpus, kind, actor, "merged" if done else "merged in part")
    return done


def _record(verb: str, corpus: Corpus, kind: Kind, actor: Actor, result: str) -> None:
    audit.record(
        f"index.{verb}",
        actor=actor.name,
        request_id=actor.request_id,
        target=f"index {corpus.name} {kind}",
        result=result,
    )
