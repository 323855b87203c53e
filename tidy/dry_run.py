"""What a round would propose. Nothing is written, so nobody has to wait for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime

from tidy import config, rounds
from tidy.models import Candidate
from tidy.pairing import BUCKET, Partners, keys_of
from tidy.proposals import Proposal, proposals_for_one, proposals_for_pairs

Place = tuple[int, str]


def dry_run(*, now: datetime, progress: Callable[[int], object] = lambda looked: None) -> list[Proposal]:
    """Return what a round would propose for the memories that have changed, without what was proposed before."""
    used = config.read().config
    # Keys that a round would write before it looks for partners.
    keyed: dict[Place, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    found: dict[str, Proposal] = {}
    after = looked = 0
    while chunk := list(rounds.changed(since=now, after=after)[: rounds.CHUNK]):
        after = chunk[-1].pk
        keys = {memory: keys_of(memory) for memory in chunk}
        for memory, its in keys.items():
            for key in its:
                keyed[memory.workspace_id, memory.partition][key].append(memory.pk)
        for place in dict.fromkeys((memory.workspace_id, memory.partition) for memory in chunk):
            here = {memory: its for memory, its in keys.items() if (memory.workspace_id, memory.partition) == place}
            also = {
                memory: [other for key in its for other in keyed[place][key][:BUCKET] if other != memory.pk]
                for memory, its in here.items()
            }
            for memory, compared in Partners(*place).of_memories(here, also=also).items():
                proposals = proposals_for_one(memory, now=now, config=used)
                proposals += proposals_for_pairs(memory, compared, today=now.date(), config=used)
                found |= {one.fingerprint: one for one in proposals if not _is_known(one)}
        looked += len(chunk)
        progress(len(chunk))
        if looked >= used.roundScanLimit or len(found) >= used.candidateLimit:
            break
    return list(found.values())


def _is_known(proposal: Proposal) -> bool:
    same = Candidate.objects.filter(workspace_id=proposal.sources[0].workspace_id, fingerprint=proposal.fingerprint)
    return same.exclude(status=Candidate.Status.WITHDRAWN).exists()
