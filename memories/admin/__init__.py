"""The records of memories in the Django admin: who may come in, what is remembered, what was said and what was done.

Text that agents wrote is only ever shown: escaped, its control and direction marks made visible, cut in lists.
"""

from memories.admin import log, remembered, tenants, tokens, transcripts

__all__ = ["log", "remembered", "tenants", "tokens", "transcripts"]
