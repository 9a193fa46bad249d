// Lists and calls every tool with the official TypeScript client.
//
//   node client.mjs BRAIN http URL          with the bearer token in TOKEN, if that is set
//   node client.mjs BRAIN stdio COMMAND [ARG]...
//   node client.mjs BRAIN found URL         checks what an earlier client has stored
//
// With PAGE=1, the daemon may fetch pages of this machine.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ProgressNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { calls, run, toolNames } from './calls.mjs'

const [brain, kind, target, ...args] = process.argv.slice(2)
const label = `client ${kind} ${brain}`
const headers = process.env.TOKEN ? { Authorization: `Bearer ${process.env.TOKEN}` } : {}

const client = new Client({ name: 'evalctl-check', version: '1' })
client.onerror = (e) => console.error(`${label}: ${e.message}`)
await client.connect(kind === 'stdio'
  ? new StdioClientTransport({ command: target, args, env: process.env, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } }))

const folder = mkdtempSync(join(tmpdir(), 'evalctl-mcp-'))
let failures = 0
try {
  failures = kind === 'found' ? await found() : await everything()
} finally {
  rmSync(folder, { recursive: true })
  client.onerror = undefined // closing aborts a stream
  await client.close()
}
process.exitCode = failures ? 1 : 0

async function everything() {
  const call = (c) => client.callTool({ name: c.tool, arguments: c.args })
  return await run(label, kind, calls(brain, folder, process.env.PAGE && await page()), call) +
    await check('tools/list', list) +
    await check('deltas', deltas) + // before progress, which replaces the SDK's handler
    await check('progress', progress) +
    await check('errors', errors)
}

// page serves a page and returns its URL.
async function page() {
  const server = createServer((_, res) => {
    res.setHeader('Content-Type', 'text/html')
    res.end('<title>Toaster</title><nav>Menu</nav><article><h1>Toaster</h1><p>The toaster is red.</p></article>')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return `http://127.0.0.1:${server.address().port}/toaster`
}

async function check(what, f) {
  try {
    await f()
    return 0
  } catch (e) {
    console.error(`FAIL ${label}: ${what}: ${e.message}`)
    return 1
  }
}

async function list() {
  const { tools } = await client.listTools()
  assert.deepEqual(tools.map((t) => t.name).sort(), toolNames)
  for (const t of tools) {
    assert.equal(t.inputSchema.type, 'object')
    assert.ok(t.description.length > 0)
  }
}

// Every delta of many answers reaches onprogress. The SDK forgets onprogress when it reads the reply,
// and passes notifications on later than it reads them, so it drops those that it reads together
// with the reply.
async function deltas() {
  let lost = 0
  for (let i = 0; i < 20; i++) {
    const pieces = []
    const call = { name: 'memory_ask', arguments: { brain, query: 'What colour is the kettle?' } }
    const { structuredContent } = await client.callTool(call, undefined, { onprogress: (p) => pieces.push(p.message) })
    if (pieces.length < 2 || pieces.join('') !== structuredContent.answer) lost++
  }
  assert.equal(lost, 0, `${lost} of 20 answers lost deltas`)
}

// Progress counts from 0, has the token of the call, and its messages add up to the answer.
async function progress() {
  const seen = []
  client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => void seen.push(params))
  const call = async (name, args, token) => {
    seen.length = 0
    const _meta = token === undefined ? undefined : { progressToken: token }
    const { structuredContent } = await client.callTool({ name, arguments: { brain, ...args }, _meta })
    await new Promise((resolve) => setTimeout(resolve, 50))
    return structuredContent
  }
  const question = { query: 'What colour is the kettle?' }
  for (const token of ['a "token"', 17]) {
    const { answer } = await call('memory_ask', question, token)
    assert.ok(seen.length > 0, 'no progress')
    assert.deepEqual(seen.map((p) => p.progress), seen.map((_, i) => i))
    assert.equal(seen.map((p) => p.message).join(''), answer)
    assert.ok(seen.every((p) => p.progressToken === token && p.total === undefined))
  }
  await call('memory_ask', question)
  assert.deepEqual(seen, [], 'progress without a token')
  await call('memory_consolidate', {}, 'silent')
  assert.deepEqual(seen, [], 'progress of memory_consolidate')
}

async function errors() {
  await assert.rejects(client.callTool({ name: 'memory_forget', arguments: {} }), /memory_forget/)
  const empty = await client.callTool({ name: 'memory_search', arguments: { brain, query: '' } })
  assert.equal(empty.isError, true)
  assert.equal(empty.structuredContent.code, 'validation_error')
}

async function found() {
  const search = { brain, query: 'kettle' }
  const all = calls(brain, folder).filter((c) => c.tool === 'memory_search' && c.args.brain === brain && !c.code)
  return run(label, kind, all, () => client.callTool({ name: 'memory_search', arguments: search }))
}
