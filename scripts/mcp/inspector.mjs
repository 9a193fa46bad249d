// Lists and calls every tool with the MCP inspector in command-line mode, one process for each call.
//
//   node inspector.mjs BRAIN http URL
//   node inspector.mjs BRAIN stdio COMMAND [ARG]...
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { calls, run, toolNames } from './calls.mjs'

const [brain, kind, ...target] = process.argv.slice(2)
const label = `inspector ${kind} ${brain}`
const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/clients/launcher/build/index.js'))

// inspect returns the JSON that the inspector prints.
function inspect(...flags) {
  const header = kind === 'http' && process.env.TOKEN ? ['--header', `Authorization: Bearer ${process.env.TOKEN}`] : []
  const args = [program, '--cli', ...target, '--transport', kind, ...header, ...flags]
  const { stdout, stderr, status, error } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000, killSignal: 'SIGKILL' })
  if (error) throw error
  try {
    return JSON.parse(stdout)
  } catch {
    throw new Error(`exit ${status}: ${stdout}${stderr}`)
  }
}

const text = (v) => (typeof v === 'string' ? v : JSON.stringify(v))

const folder = mkdtempSync(join(tmpdir(), 'evalctl-mcp-'))
try {
  const { tools } = inspect('--method', 'tools/list')
  assert.deepEqual(tools.map((t) => t.name).sort(), toolNames)
  const failures = await run(label, kind, calls(brain, folder), ({ tool, args }) => inspect(
    '--method', 'tools/call', '--tool-name', tool,
    ...Object.entries(args).flatMap(([k, v]) => ['--tool-arg', `${k}=${text(v)}`])))
  process.exitCode = failures ? 1 : 0
} finally {
  rmSync(folder, { recursive: true })
}
