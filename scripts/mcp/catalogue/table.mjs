// The table of docs/any-memory.md, from the result files of replays and benches in a folder.
//
// Usage: node table.mjs FOLDER NAME...
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, ...names] = process.argv.slice(2)
const read = path => JSON.parse(readFileSync(path, 'utf8'))
const share = value => value === undefined ? '–' : value.toFixed(3)
const whole = value => Math.round(value).toLocaleString('en-US')

function cost (result) {
  const { models } = result.mapped
  if (models === 'none') return 'no models'
  return models === 'gateway' && result.cost.total_usd !== null ? `$${result.cost.total_usd.toFixed(4)}` : 'unknown'
}

function rate (name) {
  const benches = join(folder, 'bench')
  const file = existsSync(benches) && readdirSync(benches, { recursive: true }).find(f => f.endsWith(`/${name}.bench.json`))
  if (!file) return '–'
  const { targets, summaries } = read(join(benches, file))
  const { ops } = summaries.find(s => targets[s.target].name === name)
  return ops[0].rate === null ? '–' : whole(ops[0].rate.value)
}

console.log('| system | recall by evidence | recall by document | tokens a question | recall per 1,000 tokens | median search | searches a second | models |')
console.log('|---|---|---|---|---|---|---|---|')
for (const name of names) {
  const path = join(folder, 'replay', `${name}.json`)
  if (!existsSync(path)) continue
  const result = read(path)
  const { evidence, retrieval, latency } = result
  const at = evidence.ks.at(-1)
  console.log('| ' + [
    name, share(evidence.macro[`recall@${at}`]), share(retrieval?.macro[`recall@${at}`]), whole(evidence.returned.tokens),
    share(evidence.returned.recall_per_1000_tokens), `${whole(latency.p50_ms)} ms`, rate(name), cost(result)
  ].join(' | ') + ' |')
}
