// The calls of every tool, in an order in which each finds what those before it have stored. Both
// clients make them.
//
// A call may have a check of the result, or the code of the error it must end with. `on` limits it
// to one transport: over HTTP, the server does not read files of its own machine.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const toolNames = [
  'memory_ask', 'memory_consolidate', 'memory_create_brain', 'memory_extract', 'memory_ingest_file',
  'memory_ingest_url', 'memory_list_brains', 'memory_recall', 'memory_reflect', 'memory_remember',
  'memory_search',
]

const messages = [
  { role: 'user', content: 'My kettle is green. I bought it on 3 May 2024.' },
  { role: 'assistant', content: 'Noted: the kettle is green.' },
]

// calls returns the calls for one brain. folder is for the files to ingest, and page a URL to ingest,
// if the daemon may fetch it.
export function calls(brain, folder, page) {
  const note = join(folder, 'note.txt')
  writeFileSync(note, 'The toaster is red.\n')
  const session_id = `session-${brain}`
  const document = (d) => {
    assert.equal(typeof d.id, 'string')
    assert.equal(d.brain_id, brain)
    assert.match(d.checksum_sha256, /^[0-9a-f]{64}$/)
    assert.match(d.commit_sha, /^[0-9a-f]{7,64}$/)
    assert.ok(d.byte_size > 0)
    assert.equal(d.deleted_at, null)
  }
  const found = (path) => (r) => {
    assert.equal(r.brain_id, brain)
    assert.ok(r.hits.some((h) => h.path === path), `hits: ${r.hits.map((h) => h.path)}`)
    assert.ok(r.hits.every((h) => typeof h.score === 'number' && h.content.length > 0))
  }
  return [
    { tool: 'memory_create_brain', args: { name: `Brain ${brain}`, slug: brain }, check: (r) => {
      assert.equal(r.slug, brain)
      assert.equal(r.visibility, 'private')
    } },
    { tool: 'memory_create_brain', args: { name: 'Again', slug: brain }, code: 'conflict' },
    { tool: 'memory_list_brains', args: {}, check: (r) => {
      assert.ok(r.items.some((b) => b.slug === brain))
    } },
    { tool: 'memory_remember',
      args: { brain, content: '# Kettle\n\nThe kettle is green.\n', path: 'kitchen/kettle.md', tags: ['kitchen', 'colour'] },
      check: (d) => {
        document(d)
        assert.equal(d.title, 'Kettle')
        assert.equal(d.path, 'kitchen/kettle.md')
        assert.equal(d.metadata.tags, 'kitchen,colour')
      } },
    { tool: 'memory_search', args: { brain, query: 'What colour is the kettle?', top_k: 3 }, check: found('kitchen/kettle.md') },
    { tool: 'memory_recall', args: { brain, query: 'kettle' }, check: found('kitchen/kettle.md') },
    { tool: 'memory_ask', args: { brain, query: 'What colour is the kettle?' }, check: (r) => {
      assert.match(r.answer, /green/)
      assert.ok(r.retrieved.length > 0)
      for (const c of r.citations) {
        assert.equal(c.type, 'citation')
        assert.ok(0 <= c.answer_start && c.answer_start <= c.answer_end && c.answer_end <= [...r.answer].length)
      }
    } },
    { tool: 'memory_ingest_file', on: 'stdio', args: { brain, path: note }, check: (r) => {
      assert.equal(r.status, 'ingested')
      assert.equal(r.reused ?? false, false)
      assert.ok(r.chunk_count > 0)
    } },
    { tool: 'memory_ingest_file', on: 'stdio', args: { brain, path: note }, check: (r) => assert.equal(r.reused, true) },
    { tool: 'memory_ingest_file', on: 'http', args: { brain, path: note }, code: 'local_files_unavailable' },
    // A page of this machine, which only daemons with --allow-private-fetch may fetch.
    ...(page ? [{ tool: 'memory_ingest_url', args: { brain, url: page }, check: (r) => {
      assert.equal(r.path, 'server')
      assert.ok(r.result.chunk_count > 0)
      assert.match(r.result.path, /toaster/)
    } }] : [{ tool: 'memory_ingest_url', args: { brain, url: 'http://127.0.0.1:1/' }, code: 'validation_error' }]),
    { tool: 'memory_ingest_url', args: { brain, url: 'file:///etc/passwd' }, code: 'validation_error' },
    { tool: 'memory_extract', args: { brain, messages }, check: (r) => {
      assert.equal(r.mode, 'transcript')
      document(r.document)
    } },
    { tool: 'memory_extract', args: { brain, messages, session_id }, check: (r) => {
      assert.equal(r.mode, 'session')
      assert.deepEqual(r.messages.map((m) => m.role), ['user', 'assistant'])
      assert.ok(r.messages.every((m) => m.session_id === session_id && !('metadata' in m)))
    } },
    { tool: 'memory_recall', args: { brain, query: 'kettle', session_id }, check: (r) => assert.ok(r.chunks.length > 0) },
    { tool: 'memory_reflect', args: { brain, session_id }, check: (r) => {
      assert.equal(r.reflection_status, 'completed')
      assert.equal(typeof r.reflection_attempted, 'boolean')
      assert.ok(!Number.isNaN(Date.parse(r.ended_at)))
    } },
    { tool: 'memory_consolidate', args: { brain }, check: (r) => assert.ok('result' in r) },
    { tool: 'memory_search', args: { brain: 'no-such-brain', query: 'kettle' }, code: 'no_brain' },
    { tool: 'memory_search', args: { brain, query: 'kettle', top_k: 101 }, code: 'validation_error' },
  ]
}

// checkResult checks what a tool has returned.
export function checkResult(call, result) {
  assert.equal(result.content[0]?.type, 'text')
  assert.ok(result.content[0].text.length > 0, 'no text')
  if (call.code) {
    assert.equal(result.isError, true, 'no error')
    assert.equal(result.structuredContent.code, call.code)
    assert.equal(typeof result.structuredContent.message, 'string')
    return
  }
  assert.ok(!result.isError, result.content[0].text)
  call.check(result.structuredContent)
}

// run makes the calls and prints a line for each failure. It returns the number of failures.
export async function run(label, transport, all, make) {
  let failures = 0
  const selected = all.filter((c) => !c.on || c.on === transport)
  for (const call of selected) {
    try {
      checkResult(call, await make(call))
    } catch (e) {
      failures++
      console.error(`FAIL ${label}: ${call.tool} ${JSON.stringify(call.args)}: ${e.message}`)
    }
  }
  const tools = new Set(selected.map((c) => c.tool)).size
  console.log(`${failures ? 'FAIL' : 'ok'}  ${label}: ${selected.length - failures} of ${selected.length} calls of ${tools} tools`)
  return failures
}
