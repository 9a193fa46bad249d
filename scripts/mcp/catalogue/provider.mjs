// A model provider for memory services that need one: the routes of OpenAI's API for embeddings and chat.
// An embedding counts the words of a text, so that texts with common words are near each other. A chat
// always gets the same reply, which extracts nothing.
//
// Usage: node provider.mjs PORT
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const dimensions = 1536

function embedding (text) {
  const vector = new Float32Array(dimensions)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const digest = createHash('sha256').update(word).digest()
    vector[digest.readUInt16LE(0) % dimensions] += 1
  }
  const length = Math.hypot(...vector) || 1
  return vector.map(v => v / length)
}

// tokens counts 4 bytes as a token, as English text has about.
const tokens = texts => Math.ceil(texts.reduce((bytes, text) => bytes + Buffer.byteLength(String(text)), 0) / 4)

const usage = (input, output) => ({ prompt_tokens: input, completion_tokens: output, total_tokens: input + output })

function reply (path, body) {
  if (path.endsWith('/embeddings')) {
    const texts = [body.input].flat()
    return {
      object: 'list',
      model: body.model,
      data: texts.map((text, index) => {
        const vector = embedding(String(text))
        const encoded = body.encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
        return { object: 'embedding', index, embedding: encoded }
      }),
      usage: { prompt_tokens: tokens(texts), total_tokens: tokens(texts) }
    }
  }
  const message = { role: 'assistant', content: '{"facts": [], "memory": [], "entities": [], "relationships": []}' }
  return {
    id: 'reply',
    object: 'chat.completion',
    created: 0,
    model: body.model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: usage(tokens((body.messages ?? []).map(m => JSON.stringify(m.content))), tokens([message.content]))
  }
}

createServer((request, response) => {
  const parts = []
  request.on('data', part => parts.push(part))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(parts).toString() || '{}')
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(reply(request.url, body)))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
