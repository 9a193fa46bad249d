// A small memory service in camelCase, for tests of programs that talk to
// daemons they did not write. Everything is in memory; only raw/documents/ is
// indexed, a moment after the write. Node's standard library only.
//
// usage: node daemon.mjs serve --addr HOST:PORT [--die-after ASKS]
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const INDEX_DELAY_MS = 50;
const INDEXED = "raw/documents/";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { addr: { type: "string" }, "die-after": { type: "string" } },
});
const address = /^(.+):(\d+)$/.exec(flags.addr ?? "");
if (positionals[0] !== "serve" || !address) {
  console.error("usage: daemon.mjs serve --addr HOST:PORT [--die-after ASKS]");
  process.exit(2);
}
const dieAfter = Number(flags["die-after"] ?? Infinity);
const brains = new Map(); // id -> { documents: Map(path -> text), chunks: Map(path -> [chunk]) }
let asks = 0;

const termsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

function index(brain, path, text) {
  const title = /^#\s+(.+)$/m.exec(text)?.[1] ?? path.split("/").pop();
  const passages = text.split(/\n\s*\n/).filter((passage) => passage.trim() !== "");
  brain.chunks.set(
    path,
    passages.map((passage, n) => ({
      chunkId: `${path}#${n}`,
      documentId: path,
      path,
      title,
      text: passage.trim(),
      summary: "",
      terms: new Set(termsOf(passage)),
    })),
  );
}

function retrieve(brain, query, topK) {
  const chunks = [...brain.chunks.values()].flat();
  const wanted = [...new Set(termsOf(query))];
  const weight = new Map(
    wanted.map((term) => [term, Math.log(1 + chunks.length / (1 + chunks.filter((c) => c.terms.has(term)).length))]),
  );
  const found = chunks
    .map(({ terms, ...chunk }) => ({
      ...chunk,
      score: wanted.reduce((sum, term) => sum + (terms.has(term) ? weight.get(term) : 0), 0),
    }))
    .filter((chunk) => chunk.score > 0)
    .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
    .slice(0, topK > 0 ? topK : 10);
  return found.length > 0 ? found : null;
}

function bestSentence(chunks, question) {
  if (!chunks) return "I do not know.";
  const wanted = new Set(termsOf(question));
  const overlap = (sentence) => new Set(termsOf(sentence).filter((term) => wanted.has(term))).size;
  const sentences = chunks[0].text.split(/(?<=[.!?])\s+/);
  return sentences.reduce((best, sentence) => (overlap(sentence) > overlap(best) ? sentence : best));
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

function sendJson(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function sendText(response, status, text) {
  response.writeHead(status, { "content-type": "text/plain" });
  response.end(text + "\n");
}

function createBrain(response, body) {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/i.test(body.brainId ?? "")) return sendText(response, 400, "bad brainId");
  if (brains.has(body.brainId)) return sendText(response, 409, "brain exists");
  brains.set(body.brainId, { documents: new Map(), chunks: new Map() });
  sendJson(response, 201, { brainId: body.brainId });
}

function putDocument(response, brain, path, text) {
  if (!path) return sendText(response, 400, "no path");
  brain.documents.set(path, text);
  if (path.startsWith(INDEXED)) setTimeout(() => index(brain, path, text), INDEX_DELAY_MS);
  response.writeHead(204).end();
}

function search(response, brain, body) {
  const started = performance.now();
  const chunks = retrieve(brain, body.query ?? "", body.topK);
  sendJson(response, 200, { chunks, tookMs: performance.now() - started, trace: { effectiveMode: "bm25" } });
}

function ask(response, brain, body) {
  const chunks = retrieve(brain, body.question ?? "", body.topK);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event, data) => response.write(`event:${event}\r\ndata:${JSON.stringify(data)}\r\n\r\n`);
  send("retrieve", { chunks, topK: body.topK ?? 10, mode: body.mode ?? "auto" });
  const answer = bestSentence(chunks, body.question ?? "");
  for (const word of answer.match(/\S+\s*/g) ?? []) send("token", { text: word });
  if (chunks) {
    const { chunkId, path, title, score } = chunks[0];
    send("citation", { chunkId, path, title, score });
  }
  send("done", { ok: true });
  response.end(() => {
    if (++asks >= dieAfter) process.exit(1);
  });
}

function removeBrain(request, response, id) {
  if (request.headers["x-confirm-delete"] !== "yes") return sendText(response, 428, "confirmation required");
  brains.delete(id);
  response.writeHead(204).end();
}

async function handle(request, response) {
  const url = new URL(request.url, "http://localhost");
  const [, version, kind, id, rest] = url.pathname.split("/").map(decodeURIComponent);
  const text = await bodyOf(request);
  const route = `${request.method} ${rest ?? (id === undefined ? "" : "brain")}`.trim();
  if (url.pathname === "/healthz") return sendJson(response, 200, { ok: true, version: "node-1.0.0" });
  if (version !== "v1" || kind !== "brains") return sendText(response, 404, "404 page not found");
  if (route === "GET") return sendJson(response, 200, { items: [...brains.keys()].map((brainId) => ({ brainId })) });
  if (route === "POST") return createBrain(response, JSON.parse(text));
  const brain = brains.get(id);
  if (!brain) return sendText(response, 404, "no such brain");
  if (route === "GET brain") return sendJson(response, 200, { brainId: id });
  if (route === "DELETE brain") return removeBrain(request, response, id);
  if (route === "PUT documents") return putDocument(response, brain, url.searchParams.get("path"), text);
  if (route === "POST search") return search(response, brain, JSON.parse(text));
  if (route === "POST ask") return ask(response, brain, JSON.parse(text));
  return sendText(response, 404, "404 page not found");
}

const server = createServer((request, response) => {
  console.error(`${request.method} ${request.url}`);
  handle(request, response).catch((error) => sendText(response, 400, String(error.message)));
});
server.listen(Number(address[2]), address[1], () => console.error(`node daemon on ${flags.addr}`));
process.on("SIGTERM", () => process.exit(0));
