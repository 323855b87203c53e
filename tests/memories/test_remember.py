"""The verb remember, through the API."""

from typing import Any

from memories.models import Memory


def test_it_remembers_and_recalls(api_client: Any) -> None:
    receipt = api_client.remember("The kettle is in the left cupboard.", subject="kitchen", tags=["home"])

    assert receipt["action"] == "created"
    assert receipt["revision"] == 1
    recalled = api_client.get("/api/recall").json()
    assert [memory["content"] for memory in recalled["memories"]] == ["The kettle is in the left cupboard."]
    assert recalled["total"] == 1 and recalled["truncated"] is False
    assert Memory.objects.get().partition.startswith("agent:")
    for path in ("/api/brief","/api/stats","/api/memories","/api/memories/%d/history"%receipt["memory"]["id"]):
        r = api_client.get(path); print(r.status_code, r.content.decode())
    for m,p,b in [("GET","/api/nope",None),("PUT","/api/memories",None),("GET","/api/recall?limt=3",None),("GET","/api/recall?limit=-3",None),("POST","/api/memories",'{"content": NaN}'),("POST","/api/memories/",{"content":"x","expires_at":"2026-01-01T00:00:00","foo":1}),("POST","/api/memories/",{"content":"x","foo":1}), ("POST","/api/memories/1/restore",None), ("POST","/api/memories/1/restore",{"revision":0}), ("POST","/api/memories/1/erase",{"reason":"x"}), ("DELETE","/api/memories/%d"%receipt["memory"]["id"],None), ("POST","/api/memories/batch",{"memories":[{"content":"a"},{"content":""},{"x":2}]}), ("GET","/api/docs",None), ("GET","/health/ready/",None), ("POST","/api/memories","[1]"),("POST","/api/memories","")]:
        r = api_client.send(m,p,b); print(m,p,r.status_code, r.content.decode()[:500])
