"""Serves the Python package mem0ai over HTTP with the routes of mem0's REST server, for
catalogue.sh. The store is a folder of its own, and models are those of OPENAI_BASE_URL.

Usage: python mem0_server.py FOLDER PORT
"""

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from mem0 import Memory
from pydantic import BaseModel

folder, port = sys.argv[1], int(sys.argv[2])
memory = Memory.from_config(
    {
        "vector_store": {"provider": "qdrant", "config": {"path": f"{folder}/qdrant", "on_disk": True}},
        "llm": {"provider": "openai", "config": {"model": "gpt-4o-mini"}},
        "embedder": {"provider": "openai", "config": {"model": "text-embedding-3-small", "embedding_dims": 1536}},
        "history_db_path": f"{folder}/history.db",
    }
)
app = FastAPI(title="mem0")


class Message(BaseModel):
    role: str
    content: str


class NewMemory(BaseModel):
    messages: list[Message]
    user_id: str | None = None
    run_id: str | None = None
    metadata: dict[str, Any] | None = None
    infer: bool = True


class Search(BaseModel):
    query: str
    user_id: str | None = None
    filters: dict[str, Any] | None = None
    top_k: int = 10


class Change(BaseModel):
    text: str


@app.post("/memories")
def add_memory(body: NewMemory) -> Any:
    given = body.model_dump(exclude_none=True)
    return memory.add(given.pop("messages"), **given)


@app.get("/memories/{memory_id}")
def get_memory(memory_id: str) -> Any:
    return memory.get(memory_id)


@app.put("/memories/{memory_id}")
def update_memory(memory_id: str, body: Change) -> Any:
    return memory.update(memory_id, data=body.text)


@app.delete("/memories/{memory_id}")
def delete_memory(memory_id: str) -> Any:
    return memory.delete(memory_id)


@app.post("/search")
def search_memories(body: Search) -> Any:
    filters = dict(body.filters or {})
    if body.user_id:
        filters["user_id"] = body.user_id
    return memory.search(body.query, filters=filters, top_k=body.top_k)


@app.delete("/memories")
def delete_all_memories(user_id: str) -> Any:
    return memory.delete_all(user_id=user_id)


uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
