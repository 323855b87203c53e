"""What the background worker does in these tests."""

from django.utils import timezone

from memories.access import principal_of_token
from memories.models import Token
from memories.remember import remember
from memories.schemas import MemoryIn


def write_down(number: int) -> str:
    """Remember one thing, as the first token's agent."""
    token = Token.objects.select_related("agent").order_by("id").first()
    assert token is not None
    receipt = remember(principal_of_token(token), MemoryIn(content=f"by task {number}"), now=timezone.now())
    return f"ok {receipt.memory.pk}"
